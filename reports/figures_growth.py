# The figures of growth: how far two runs are apart at each common checkpoint, beside their null runs.
"""A growth is the `growth` object of a comparison; distances are ‖a − b‖ / ‖a‖, and 0 is a gap on the log scale."""

import numpy as np

import style
from figures import colours_of, end_labels, frame, heading, log_axis, right_margin, step_axis

MOST_LINES = 8


def distances(row):
    """The relative distances of one row of a growth; a gap where they are 0 or not finite."""
    values = np.array([np.nan if value is None else value for value in row["relative"]], float)
    values[values <= 0] = np.nan
    return values


def doubling(row):
    """"doubles in 31 steps", or that it does not."""
    found = row["doubling_time"]
    return f"doubles in {float('%.2g' % found['steps']):,g} steps" if found else "does not double"


def nulls_of(growth, kind):
    return [null for null in growth["nulls"] if null["kind"] == kind and null["steps"]]


def envelope(nulls, choose):
    """(steps, values): the smallest or largest distance of several null runs at each step that one of them has."""
    steps = np.unique(np.concatenate([null["steps"] for null in nulls]))
    table = np.full((len(nulls), len(steps)), np.nan)
    for line, null in zip(table, nulls):
        line[np.searchsorted(steps, null["steps"])] = distances(null["all"])
    kept = np.isfinite(table).any(axis=0)
    return steps[kept], choose(table[:, kept], axis=0)


def worth_drawing(growth):
    return growth and any(np.isfinite(distances(row)).any() for row in (growth["all"], *growth["parameters"]))


def scale(axes, runs, curves, narrow):
    values = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
    step_axis(axes, runs, narrow)
    log_axis(axes, values.min() / 3, 3 * values.max())


def growth_figure(runs, run, growth):
    """The distance of all parameters, the band of the one-ULP runs, the limit of rounding, the nearest other seed."""
    one_ulp, seeds = nulls_of(growth, "one ULP"), nulls_of(growth, "other seed")

    def paint(width):
        narrow, colour, soft = width == style.NARROW, colours_of(runs)[run.label], style.LIGHT["soft"]
        figure, grid = style.canvas(width, 300 if narrow else 340)
        axes, line = grid[0][0], distances(growth["all"])
        curves, items = [line], [(growth["steps"][-1], line[-1], run.label, colour)]
        marks = ".-" if len(line) <= 60 else "-"
        scale_with, drawn = [line], []
        if one_ulp:
            steps, high = envelope(one_ulp, np.nanmax)
            low = envelope(one_ulp, np.nanmin)[1]
            limit = growth["rounding_factor"] * np.maximum.accumulate(high) if high.size else high
            drawn.append(lambda: (
                axes.fill_between(steps, low / 1.04, high * 1.04, color=style.LIGHT["axis"], alpha=0.45, linewidth=0),
                axes.plot(steps, limit, color=soft, linewidth=1.1, linestyle=(0, (4, 3)))))
            scale_with += [low, limit]
            if high.size:
                items += [(steps[-1], limit[-1], "rounding", soft), (steps[-1], high[-1], "one ULP", soft)]
        if seeds:
            at, nearest = envelope(seeds, np.nanmin)
            drawn.append(lambda: axes.plot(at, nearest, color=soft, linewidth=1.1, linestyle=(0, (1, 2))))
            scale_with.append(nearest)
            if nearest.size:
                items.append((at[-1], nearest[-1], "other seeds" if len(seeds) > 1 else "other seed", soft))
        scale(axes, runs, scale_with, narrow)
        for draw in drawn:
            draw()
        axes.plot(growth["steps"], line, marks, color=colour, linewidth=2.2, markersize=5)
        frame(figure, 48, right_margin(items), 36, 40)
        end_labels(axes, items)
        heading(axes, f"Distance of the parameters of {run.label} from {runs[0].label}", 48,
                "" if narrow else doubling(growth["all"]))
        return figure
    return paint


def lines_of(growth):
    """(name, distances, label) for each line: every parameter, or of many the furthest of each group of modules.

    Modules are grouped by the first parts of their path, as many of them as keep the groups few.
    """
    rows = growth["parameters"]
    if len(rows) > MOST_LINES:
        paths = [row["name"].split(".")[:-1] or [row["name"]] for row in rows]
        depths = [d for d in range(1, max(map(len, paths)) + 1) if len({tuple(p[:d]) for p in paths}) <= MOST_LINES]
        groups = {}
        for row, path in zip(rows, paths):
            groups.setdefault(".".join(path[:max(depths, default=1)]), []).append(row)
        rows = [{**max(group, key=lambda row: row["relative"][-1] or 0), "name": f"{name} (furthest of {len(group)})"}
                for name, group in groups.items()]
    return [(row["name"], distances(row), doubling(row)) for row in rows]


def layers_figure(runs, run, growth):
    """The distance of each parameter; weights are drawn whole, what is no weight dashed."""
    lines = [line for line in lines_of(growth) if np.isfinite(line[1]).any()]

    def paint(width):
        narrow = width == style.NARROW
        figure, grid = style.canvas(width, 320 if narrow else 360)
        axes, items = grid[0][0], []
        modules = list(dict.fromkeys(name.rpartition(".")[0] for name, _, _ in lines))
        scale(axes, runs, [values for _, values, _ in lines], narrow)
        for name, values, label in lines:
            colour = style.series_colour(modules.index(name.rpartition(".")[0]))
            axes.plot(growth["steps"], values, color=colour, linewidth=1.8,
                      linestyle=(0, (4, 2)) if name.endswith(".bias") else "solid")
            good = np.flatnonzero(np.isfinite(values))[-1]
            items.append((growth["steps"][good], values[good], name if narrow else f"{name} {label}", colour))
        frame(figure, 48, right_margin(items), 36, 40)
        end_labels(axes, items)
        heading(axes, f"Distance of each parameter of {run.label} from {runs[0].label}", 48)
        return figure
    return paint


def caption(runs, run, growth):
    text = f"‖a − b‖ / ‖a‖ of all parameters at each common checkpoint of {runs[0].label} and {run.label}."
    if nulls_of(growth, "one ULP"):
        text += f" Grey: the runs whose initial values are one ULP beside those of {runs[0].label}; dashed: " \
                f"{growth['rounding_factor']:g} times the largest of them so far, up to which a distance is rounding."
    if nulls_of(growth, "other seed"):
        text += " Dotted: the nearest run of another seed."
    return text
