# The figures of training: loss, accuracy, gradient norm and learning rate, speed.
"""Each painter takes the width in units and returns a figure. Runs with the same bits share one line in all colours."""

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

import style
from verdict import groups_of_same_bits, stretches

SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
DASH = 9.0
STEPS = [1, 2, 5, 10]  # ticks at round numbers only


def power_of_ten(value, _=None):
    return "10" + str(int(round(np.log10(value)))).translate(SUPERSCRIPTS) if value > 0 else ""


def smooth(values, window):
    """Centred mean over `window` steps, shorter at the ends; values that are not finite stay gaps."""
    good = np.isfinite(values)
    total = np.concatenate(([0.0], np.cumsum(np.where(good, values, 0.0))))
    count = np.concatenate(([0], np.cumsum(good)))
    at, half = np.arange(len(values)), window // 2
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    mean = (total[high] - total[low]) / np.maximum(count[high] - count[low], 1)
    return np.where(good, mean, np.nan)


def window_for(steps):
    return max(1, steps // 40) | 1


def thin(x, y, buckets=600):
    """At most two points a bucket, the lowest and the highest, so that no spike is lost."""
    if len(x) <= 2 * buckets:
        return x, y
    keep = {0, len(x) - 1}
    for part in np.array_split(np.arange(len(x)), buckets):
        keep.update((int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])))
    keep = sorted(keep)
    return x[keep], y[keep]


def braid(axes, x, y, bunch, colours, **options):
    """One line whose dashes take the colours of the runs in turn."""
    n = len(bunch)
    for k, run in enumerate(bunch):
        dashes = "solid" if n == 1 else (0, (DASH, DASH * (n - 1)))
        shift = {} if n == 1 else {"linestyle": (DASH * (n - k), dashes[1]), "dash_capstyle": "butt"}
        axes.plot(x, y, color=colours[run.label], **{"linestyle": "solid", **shift, **options})


def colours_of(runs):
    return {run.label: style.series_colour(i) for i, run in enumerate(runs)}


def labels(bunch):
    """"A = B = C" for runs with the same bits."""
    names = [run.label for run in bunch]
    if len(names) > 4:
        names = names[:1] + ["…"] + names[-1:]
    return " = ".join(names)


def frame(figure, left, right, top, bottom, **spacing):
    """Margins in units, so that a narrow figure keeps the type and loses only length."""
    width, height = figure.get_size_inches() * 72
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height, **spacing)


def heading(axes, title, left, note=""):
    """The title above the axes, flush with the figure's edge, `left` units before the axes."""
    text = axes.annotate(title, (0, 1), xycoords="axes fraction", xytext=(-left, 14), textcoords="offset points",
                         weight="bold", fontsize=13)
    if note:
        axes.annotate(note, (1, 0), xycoords=text, xytext=(8, 0), textcoords="offset points", va="bottom",
                      color=style.LIGHT["soft"])


def step_axis(axes, runs, narrow):
    last = max(run.last_step for run in runs)
    axes.set_xlim(0 if last > 1 else 0.5, max(last, 1.5))
    axes.xaxis.set_major_locator(MaxNLocator(4 if narrow else 7, integer=True, min_n_ticks=1, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.set_xlabel("step", loc="right", labelpad=1)


def log_axis(axes, low, high, lowest_tick=0.0):
    """A log scale from `low` to `high` with at most seven powers of ten marked, none below `lowest_tick`."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    first = int(np.ceil(np.log10(max(low, lowest_tick)) - 1e-9))
    last = int(np.floor(np.log10(high) + 1e-9))
    ticks = 10.0 ** np.arange(first, last + 1, max(1, -(-(last - first) // 6)))
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(power_of_ten))


def end_labels(axes, items, gap=9):
    """Labels at the right of the points (x, y, text, colour), pushed apart until none covers another."""
    items = [item for item in reversed(items) if np.isfinite(item[1])]  # the first on top where values are equal
    pixel = axes.transData.transform
    wanted = sorted(((pixel((x, y))[1], x, y, text, colour) for x, y, text, colour in items), key=lambda i: i[:1])
    places = [w[0] for w in wanted]
    for _ in range(60):
        for i in range(len(places) - 1):
            close = 16 - (places[i + 1] - places[i])
            if close > 0:
                places[i], places[i + 1] = places[i] - close / 2, places[i + 1] + close / 2
    for (at, x, y, text, colour), place in zip(wanted, places):
        axes.annotate(text, (x, y), xytext=(gap, place - at), textcoords="offset points", va="center",
                      color=colour, annotation_clip=False)


def curve(axes, runs, column, narrow, raw=True):
    """`column` of all runs: the raw values thin, their centred mean on top."""
    colours = colours_of(runs)
    few = window_for(max(run.last_step for run in runs)) == 1
    drawn = stretches(runs)
    for low, high, bunch in drawn:
        run = bunch[0]
        alone = all(b is bunch or e <= low or s >= high for s, e, b in drawn)
        x, y = run.steps["step"], run.steps[column]
        mean = smooth(y, window_for(run.last_step)) if raw else y
        rows = slice(low - 1, high)
        if raw and not few:
            axes.plot(*thin(x[rows], y[rows]), linewidth=0.7, alpha=0.38,
                      color=style.LIGHT["soft"] if len(bunch) > 1 else colours[run.label])
        depth = max(runs.index(member) for member in bunch)
        width = 2.4 if alone else max(3.6 - 1.2 * depth, 1.4)  # lines that cover each other grow thinner upwards
        braid(axes, *thin(x[rows], mean[rows]), bunch, colours, linewidth=width, zorder=3 + 0.01 * depth,
              **({"marker": "o", "markersize": 5} if few else {}))


def line_ends(runs):
    """(longest run, label, colour) of each group of runs with the same bits; the label names those that get as far."""
    colours, found = colours_of(runs), []
    for group in groups_of_same_bits(runs):
        last = max(run.last_step for run in group)
        there = [run for run in group if run.last_step == last]
        found.append((there[0], labels(there), style.LIGHT["ink"] if len(there) > 1 else colours[there[0].label]))
    return found


def ends(runs, value):
    """Items for end_labels: the last value of each line."""
    return [(run.last_step, value(run), text, colour) for run, text, colour in line_ends(runs) if run.last_step]


def mark_stops(axes, runs, value):
    """A ring where a run ends before the longest one, a cross where its loss stops being finite."""
    colours, last = colours_of(runs), max(run.last_step for run in runs)
    for run in runs:
        bad = run.first_bad_step
        at = bad - 1 if bad else run.last_step
        if not bad and run.last_step in (0, last):
            continue
        y = value(run)[at - 1] if at else np.nan
        if not np.isfinite(y):
            continue
        axes.plot([at], [y], "X" if bad else "o", color=colours[run.label], markersize=9 if bad else 8, zorder=6,
                  markeredgecolor=style.LIGHT["paper"], markeredgewidth=1.2, clip_on=False)
        axes.annotate(f"{run.label} not finite from step {bad:,}" if bad else f"{run.label} ends at step {at:,}",
                      (at, y), xytext=(8, 14), textcoords="offset points", color=colours[run.label])


def parting_mark(axes, step, text):
    axes.axvline(step, color=style.LIGHT["alarm"], linewidth=1.2, zorder=2)
    low, high = axes.get_xlim()
    right = step > low + 0.6 * (high - low)
    axes.annotate(text, (step, 1), xycoords=("data", "axes fraction"), xytext=(-6 if right else 6, -4),
                  textcoords="offset points", ha="right" if right else "left", va="top", color=style.LIGHT["alarm"])


def right_margin(items, least=12):
    return max([least] + [14 + 7.6 * len(item[2]) for item in items])


def loss_figure(runs, first_parting):
    """Training loss of all runs. `first_parting` is (step, text) of the earliest difference, or None."""
    def paint(width):
        narrow = width == style.NARROW
        figure, grid = style.canvas(width, 300 if narrow else 380)
        axes = grid[0][0]
        means = {run.label: smooth(run.steps["loss"], window_for(run.last_step)) for run in runs}
        items = ends(runs, lambda run: means[run.label][-1])
        frame(figure, 40, right_margin(items), 36, 40)
        curve(axes, runs, "loss", narrow)
        step_axis(axes, runs, narrow)
        values = np.concatenate([run.steps["loss"] for run in runs])
        values = values[np.isfinite(values)]
        if values.size and values.min() > 0 and values.max() > 60 * values.min():
            log_axis(axes, 0.8 * values.min(), 1.3 * values.max())
        elif values.size:
            axes.set_ylim(min(0, 1.1 * values.min()), 1.06 * values.max() or 1)
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        if first_parting:
            parting_mark(axes, *first_parting)
        mark_stops(axes, runs, lambda run: means[run.label])
        end_labels(axes, items)
        heading(axes, "Training loss", 40)
        return figure
    return paint


def accuracy_figure(runs):
    """Validation accuracy where it was measured, and the test accuracy at the end."""
    def paint(width):
        narrow, colours = width == style.NARROW, colours_of(runs)
        figure, grid = style.canvas(width, 270 if narrow else 300)
        axes = grid[0][0]
        items, values = [], []
        for low, high, bunch in stretches(runs):
            at, accuracy = bunch[0].validation["step"], 100 * bunch[0].validation["accuracy"]
            rows = np.flatnonzero((at >= low) & (at <= high))
            if rows.size and rows[0] > 0 and low > 1:
                rows = np.insert(rows, 0, rows[0] - 1)
            depth = runs.index(bunch[0])
            braid(axes, at[rows], accuracy[rows], bunch, colours, marker="o", markersize=5.5 - 0.8 * min(depth, 3),
                  linewidth=max(2.6 - 0.6 * depth, 1.4), zorder=3 + depth, clip_on=False)
            values.extend(accuracy[rows])
        one = len(line_ends(runs)) == 1
        for run, text, colour in line_ends(runs):
            score = run.result.get("test_accuracy")
            if score is not None and np.isfinite(score):
                values.append(100 * score)
                beside = axes.transData + ScaledTranslation(16 / 72, 0, figure.dpi_scale_trans)
                axes.plot([run.last_step], [100 * score], "D", color=colour, markersize=7.5, zorder=9, clip_on=False,
                          markeredgecolor=style.LIGHT["paper"], markeredgewidth=1.2, transform=beside)
                wide_text = f"{text}  test {100 * score:.2f} %"
                text = wide_text if not narrow else f"{100 * score:.2f}" if one else f"{text}  {100 * score:.2f}"
                items.append((run.last_step, 100 * score, text, colour))
            elif len(run.validation["accuracy"]):
                items.append((int(run.validation["step"][-1]), 100 * float(run.validation["accuracy"][-1]),
                              text, colour))
        frame(figure, 48, right_margin(items) + 17, 36, 40)
        step_axis(axes, runs, narrow)
        good = np.array([v for v in values if np.isfinite(v)])
        if good.size:
            room = max(0.12 * (good.max() - good.min()), 1.0)
            axes.set_ylim(max(good.min() - room, 0), min(good.max() + room, 100.0))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g} %"))
        end_labels(axes, items, 26)
        heading(axes, "Validation accuracy", 48)
        return figure
    return paint


def pace_figure(runs):
    """Gradient norm and learning rate, side by side."""
    def paint(width):
        narrow = width == style.NARROW
        figure, grid = style.canvas(width, 470 if narrow else 250, *((2, 1) if narrow else (1, 2)))
        norm, rate = grid.ravel()
        means = {run.label: smooth(run.steps["gradient_norm"], window_for(run.last_step)) for run in runs}
        items = ends(runs, lambda run: means[run.label][-1])
        right = right_margin(items)
        frame(figure, 40, right, 36, 40, **({"hspace": 0.55} if narrow else {"wspace": (right + 46) / (
            (width - 40 - right - (right + 46)) / 2)}))
        curve(norm, runs, "gradient_norm", narrow)
        curve(rate, runs, "learning_rate", narrow, raw=False)
        for axes in (norm, rate):
            step_axis(axes, runs, True)
        values = np.concatenate([run.steps["gradient_norm"] for run in runs])
        values = values[np.isfinite(values) & (values > 0)]
        if values.size and values.max() > 100 * values.min():
            log_axis(norm, 0.8 * values.min(), 1.3 * values.max())
        else:
            norm.set_ylim(bottom=0)
            norm.yaxis.set_major_locator(MaxNLocator(4, steps=STEPS))
        rate.set_ylim(0, 1.06 * max(run.steps["learning_rate"].max() for run in runs if run.last_step) or 1)
        rate.yaxis.set_major_locator(MaxNLocator(4, steps=STEPS))
        rate.yaxis.set_major_formatter(FuncFormatter(short_number))
        end_labels(norm, items)
        end_labels(rate, ends(runs, lambda run: run.steps["learning_rate"][-1]))
        heading(norm, "Gradient norm", 40)
        heading(rate, "Learning rate", 40)
        return figure
    return paint


def short_number(value, _=None):
    """0.00025 as 2.5·10⁻⁴."""
    if value == 0 or 0.01 <= abs(value) < 10000:
        return f"{value:g}"
    exponent = int(np.floor(np.log10(abs(value)) + 1e-9))
    mantissa = f"{value / 10.0 ** exponent:.3g}"
    return ("" if mantissa == "1" else mantissa + "·") + "10" + str(exponent).translate(SUPERSCRIPTS)


def speed_figure(runs):
    """Milliseconds a step: the median as a dot, the middle half as a bar, 5 to 95 % as a line."""
    timed = [run for run in runs if len(run.seconds)]

    def paint(width):
        narrow, colours = width == style.NARROW, colours_of(runs)
        figure, grid = style.canvas(width, 84 + 34 * len(timed))
        axes = grid[0][0]
        frame(figure, 30, 110 if narrow else 150, 40, 40)
        longest = 0.0
        for row, run in enumerate(timed):
            low, q1, median, q3, high = np.percentile(1000 * run.seconds, (5, 25, 50, 75, 95))
            longest, colour = max(longest, high), colours[run.label]
            axes.plot([low, high], [row, row], color=colour, linewidth=1.4)
            axes.plot([q1, q3], [row, row], color=colour, linewidth=7, alpha=0.45)
            axes.plot([median], [row], "o", color=colour, markersize=9, markeredgecolor=style.LIGHT["paper"])
            rate = f"{median:.3g} ms" if narrow else f"{median:.3g} ms, {1000 / median:,.0f} steps/s"
            axes.annotate(rate, (1, row), xycoords=("axes fraction", "data"), xytext=(10, 0),
                          textcoords="offset points", va="center", color=colour)
        axes.set_ylim(len(timed) - 0.4, -0.6)
        axes.set_yticks(range(len(timed)), [run.label for run in timed])
        axes.grid(axis="x"), axes.grid(visible=False, axis="y")
        axes.set_xlim(0, 1.05 * longest)
        axes.xaxis.set_major_locator(MaxNLocator(4 if narrow else 7, steps=STEPS))
        axes.set_xlabel("ms a step", loc="right", labelpad=1)
        heading(axes, "Step time", 30)
        return figure
    return paint
