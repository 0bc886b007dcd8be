# The figures of runs that part: which digests differ at which step, and how far the losses drift.

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

import style
from figures import STEPS, colours_of, end_labels, frame, heading, log_axis, power_of_ten, right_margin, step_axis, thin
from verdict import differences, parting_step

MOST_ROWS = 40
TITLES = {"ids": "sample ids", "loss": "loss", "masks": "mask", "gradients": "gradient", "parameters": "parameter",
          "optimiser": ""}  # the state's own name says it


def digest_rows(run_a, run_b):
    """(table, tensor, differs [steps]) in the order in which a step makes them; at most MOST_ROWS, the first to differ.

    Also the number of rows left out.
    """
    rows = []
    for table, differs in differences(run_a, run_b).items():
        names = run_a.names.get(table, [""])
        rows += [(table, name, differs[:, i]) for i, name in enumerate(names)]
    onset = [int(d.argmax()) if d.any() else len(d) for _, _, d in rows]
    kept = sorted(sorted(range(len(rows)), key=lambda i: (onset[i], i))[:MOST_ROWS])
    return [rows[i] for i in kept], len(rows) - len(kept)


def bars(differs, low, high):
    """(start, width) of each unbroken row of differing steps from `low` to `high`, at most 400 of them."""
    part = differs[low - 1:high].astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], part, [0]))))
    spans = [(low - 0.5 + start, end - start) for start, end in zip(edges[::2], edges[1::2])]
    if len(spans) <= 400:
        return spans
    edges = np.unique(np.linspace(0, len(part), 401).astype(int))  # a bin with any difference is drawn whole
    return [(low - 0.5 + s, e - s) for s, e in zip(edges[:-1], edges[1:]) if part[s:e].any()]


def short(name, room):
    return name if len(name) <= room else name[:room // 2 - 1] + "…" + name[-(room - room // 2):]


def digest_panel(axes, rows, low, high, names, room, cells):
    for at, (table, name, differs) in enumerate(rows):
        axes.broken_barh([(low - 0.5, high - low + 1)], (at - 0.41, 0.82), color=style.LIGHT["same"], linewidth=0)
        axes.broken_barh(bars(differs, low, high), (at - 0.41, 0.82), color=style.LIGHT["alarm"], linewidth=0)
        if at and rows[at - 1][0] != table:
            axes.axhline(at - 0.5, color=style.LIGHT["axis"], linewidth=0.8)
    if cells:
        for step in range(low + 1, high + 1):
            axes.axvline(step - 0.5, color=style.LIGHT["paper"], linewidth=1.5)
    texts = [short(f"{TITLES.get(table, table)} {name}".strip(), room) for table, name, _ in rows]
    axes.set_yticks(range(len(rows)), texts if names else [""] * len(rows))
    axes.set_xlim(low - 0.5, high + 0.5)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.grid(False)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.set_xlabel("step", loc="right", labelpad=1)


def digest_figure(run_a, run_b):
    """Steps across, tensors down: red where the digests of the two runs differ. Whole run, and around the first."""
    rows, left_out = digest_rows(run_a, run_b)
    steps = min(run_a.last_step, run_b.last_step)
    first = parting_step(run_a, run_b)
    low, high = max(1, first - 4), min(steps, first + 5)

    def paint(width):
        narrow = width == style.NARROW
        pitch = 21 if len(rows) <= 20 else 17
        room = 24 if narrow else 36
        left = 20 + 7.0 * min(room, max(len(f"{TITLES.get(t, t)} {n}") for t, n, _ in rows))
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
        heading(whole, f"Digests of {run_a.label} and {run_b.label}", left, "" if narrow else "all steps")
        heading(near, f"Around step {first:,}", left if narrow else 0)
        if left_out:
            figure.text(0.01, 6 / (figure.get_size_inches()[1] * 72), f"and {left_out} tensors that differ later or never",
                        color=style.LIGHT["soft"], fontsize=11.5)
        return figure
    return paint


def drift_figure(runs):
    """Distance of each run's loss from the first run's, on a log scale; zero has a line of its own at the foot."""
    pairs = []
    for run in runs[1:]:
        n = min(run.last_step, runs[0].last_step)
        with np.errstate(invalid="ignore"):
            distance = np.abs(run.steps["loss"][:n] - runs[0].steps["loss"][:n])
        if n and (np.nan_to_num(distance) > 0).any():
            pairs.append((run, distance))
    if not pairs:
        return None

    def paint(width):
        narrow, colours = width == style.NARROW, colours_of(runs)
        figure, grid = style.canvas(width, 260 if narrow else 270)
        axes = grid[0][0]
        positive = np.concatenate([d[np.isfinite(d) & (d > 0)] for _, d in pairs])
        bottom = 10.0 ** np.floor(np.log10(positive.min()))
        zero = bottom / 10
        items = []
        step_axis(axes, runs, narrow)
        log_axis(axes, zero / 2, positive.max() * 2, bottom)
        for run, distance in pairs:
            at = run.steps["step"][:len(distance)]
            axes.plot(*thin(at, np.where(distance == 0, zero, distance)), color=colours[run.label], linewidth=1.1)
            good = np.flatnonzero(np.isfinite(distance))
            items.append((int(at[good[-1]]), max(float(distance[good[-1]]), zero), run.label, colours[run.label]))
        frame(figure, 48, right_margin(items), 36, 40)
        axes.set_yticks([zero, *axes.get_yticks()])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: "0" if v < bottom / 2 else power_of_ten(v)))
        end_labels(axes, items)
        heading(axes, f"Distance of the loss from {runs[0].label}", 48)
        return figure
    return paint
