# The figures of runs that part: which digests differ at which step, and how far the losses drift.

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

import style
from figures import STEPS, colours_of, end_labels, frame, heading, log_axis, power_of_ten, right_margin, step_axis, thin
from verdict import differences, parting_step

MOST_ROWS = 30
ALONE = {"ids": "Sample ids", "loss": "Loss"}  # tables of one row
TITLES = {"masks": "Masks", "gradients": "Gradients", "parameters": "Parameters, updated",
          "optimiser": "Optimiser state"}


def onsets(differs):
    """For each column of a table the first row that differs; the number of rows where none does."""
    first = np.full(differs.shape[1], len(differs))
    for low in range(0, len(differs), 256):
        block = differs[low:low + 256]
        new = (first == len(differs)) & block.any(axis=0)
        first[new] = low + block[:, new].argmax(axis=0)
    return first.tolist()


def digest_rows(run_a, run_b):
    """(table, tensor, differs [steps]) in the order in which a step makes them; at most MOST_ROWS, the first to differ.

    A row before each table of several tensors has no tensor and no steps: it is the table's title. Also the number of
    tensors left out.
    """
    rows, onset = [], []
    for table, differs in differences(run_a, run_b).items():
        rows += [(table, name, differs[:, i]) for i, name in enumerate(run_a.names.get(table, [""]))]
        onset += onsets(differs)
    kept = sorted(sorted(range(len(rows)), key=lambda i: (onset[i], i))[:MOST_ROWS])
    titled = []
    for table, name, differs in (rows[i] for i in kept):
        if table in TITLES and (not titled or titled[-1][0] != table):
            titled.append((table, None, None))
        titled.append((table, name, differs))
    return titled, len(rows) - len(kept)


def bars(differs, low, high):
    """(start, width) of each unbroken row of differing steps from `low` to `high`, at most 400 of them."""
    part = differs[low - 1:high].astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], part, [0]))))
    spans = [(low - 0.5 + start, end - start) for start, end in zip(edges[::2], edges[1::2])]
    if len(spans) <= 400:
        return spans
    edges = np.unique(np.linspace(0, len(part), 401).astype(int))  # a bin with any difference is drawn whole
    return [(low - 0.5 + s, e - s) for s, e in zip(edges[:-1], edges[1:]) if part[s:e].any()]


def row_label(table, name, room):
    """The tensor's name; of a long one the end, which tells it from its neighbours."""
    text = ALONE.get(table, name)
    return text if len(text) <= room else "…" + text[-(room - 1):]


def digest_panel(axes, rows, low, high, names, room, cells):
    for at, (table, name, differs) in enumerate(rows):
        if name is None:
            continue
        axes.broken_barh([(low - 0.5, high - low + 1)], (at - 0.41, 0.82), color=style.LIGHT["same"], linewidth=0)
        axes.broken_barh(bars(differs, low, high), (at - 0.41, 0.82), color=style.LIGHT["alarm"], linewidth=0)
    if cells:
        for step in range(low + 1, high + 1):
            axes.axvline(step - 0.5, color=style.LIGHT["paper"], linewidth=1.5)
    texts = [TITLES.get(table, table) if name is None else row_label(table, name, room) for table, name, _ in rows]
    axes.set_yticks(range(len(rows)), texts if names else [""] * len(rows))
    for tick, (table, name, _) in zip(axes.get_yticklabels(), rows):
        if name is None or table in ALONE:
            tick.set(weight="bold", color=style.LIGHT["ink"])
    axes.set_xlim(low - 0.5, high + 0.5)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.grid(False)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.set_xlabel("step", loc="right", labelpad=1)


def digest_figure(run_a, run_b, who):
    """Steps across, tensors down: red where the digests of the two runs differ. Whole run, and around the first."""
    rows, left_out = digest_rows(run_a, run_b)
    steps = min(run_a.last_step, run_b.last_step)
    first = parting_step(run_a, run_b)
    low, high = max(1, first - 4), min(steps, first + 5)

    def paint(width):
        narrow = width == style.NARROW
        pitch = 20 if len(rows) <= 24 else 17
        room = 26 if narrow else 40
        longest = max(len(TITLES[t]) if n is None else len(ALONE.get(t, n)) for t, n, _ in rows)
        left = 14 + 7.1 * min(room + 1, longest)
        tall = pitch * len(rows)
        foot = 40 + (20 if left_out else 0)
        if narrow:
            figure, grid = style.canvas(width, 2 * tall + 128 + foot, 2, 1)
            frame(figure, left, 10, 36, foot, hspace=92 / tall)
        else:
            inner = width - left - 12 - 40
            figure, grid = style.canvas(width, tall + 36 + foot, 1, 2, gridspec_kw={"width_ratios": [1.25, 1]})
            frame(figure, left, 12, 36, foot, wspace=40 / (inner / 2))
        whole, near = grid.ravel()
        digest_panel(whole, rows, 1, steps, True, room, False)
        digest_panel(near, rows, low, high, narrow, room, True)
        near.set_xticks(range(low, high + 1), [f"{s:,}" if s == first or (s - first) % 4 == 0 else ""
                                               for s in range(low, high + 1)])
        for tick, step in zip(near.get_xticklabels(), range(low, high + 1)):
            if step == first:
                tick.set(color=style.LIGHT["alarm"], weight="bold")
        heading(whole, f"Digests of {who}", left, "" if narrow else "all steps")
        heading(near, f"Around step {first:,}", left if narrow else 0)
        if left_out:
            figure.text(0, 6 / (figure.get_size_inches()[1] * 72), f"and {left_out} tensors that differ later or never",
                        color=style.LIGHT["soft"], fontsize=11.5)
        return figure
    return paint


def distances_of_loss(runs, first):
    """(run, |loss − loss of the first run| by step) of each run whose losses differ from the first run's."""
    pairs = []
    for run in runs:
        n = min(run.last_step, first.last_step)
        with np.errstate(invalid="ignore"):
            distance = np.abs(run.steps["loss"][:n] - first.steps["loss"][:n])
        if n and (np.nan_to_num(distance) > 0).any():
            pairs.append((run, distance))
    return pairs


def drift_figure(runs, nulls=()):
    """Distance of each run's loss from the first run's, on a log scale; zero has a line of its own at the foot.

    Null runs, whose labels tell their kind, are drawn thin and grey behind the others.
    """
    pairs, behind = distances_of_loss(runs[1:], runs[0]), distances_of_loss(nulls, runs[0])
    if not pairs:
        return None

    def paint(width):
        narrow, colours = width == style.NARROW, colours_of(runs)
        figure, grid = style.canvas(width, 260 if narrow else 270)
        axes = grid[0][0]
        positive = np.concatenate([d[np.isfinite(d) & (d > 0)] for _, d in pairs + behind])
        bottom = 10.0 ** np.floor(np.log10(positive.min()))
        zero = bottom / 10
        items = []
        step_axis(axes, runs, narrow)
        log_axis(axes, zero / 2, positive.max() * 2, bottom)
        for run, distance in behind + pairs:
            at, colour = run.steps["step"][:len(distance)], colours.get(run.label, style.LIGHT["axis"])
            axes.plot(*thin(at, np.where(distance == 0, zero, distance)), color=colour,
                      linewidth=1.1 if run.label in colours else 0.7)
            good = np.flatnonzero(np.isfinite(distance))
            if not any(item[2] == run.label for item in items):
                items.append((int(at[good[-1]]), max(float(distance[good[-1]]), zero), run.label,
                              colours.get(run.label, style.LIGHT["soft"])))
        frame(figure, 48, right_margin(items), 36, 40)
        axes.set_yticks([zero, *axes.get_yticks()])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: "0" if v < bottom / 2 else power_of_ten(v)))
        end_labels(axes, items)
        heading(axes, f"Distance of the loss from {runs[0].label}", 48)
        return figure
    return paint
