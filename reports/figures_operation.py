# The figures of the first difference: which results of the step differ, and how many ULPs lie between the elements.

import re

import numpy as np
from matplotlib.patches import Rectangle

import style
from figures import SUPERSCRIPTS, frame, heading
from figures_difference import digest_panel, row_label
from verdict import differing_digests, result_parts

MOST_ROWS = 40  # with more results than this each is one small mark in a row for its phase
ROW, TITLE, EDGE = 36, 30, 3  # heights of a row of these marks and of its title, room for the ring, in units


def differing_results(run_a, run_b):
    """(lane, module, text, name, differs [shared steps]) of each result that both runs recorded, in a step's order.

    Lanes are the phases and, behind the results of operations, the parameters after the update. Empty when the runs
    have no traced result in common.
    """
    rows = []
    for table in ("trace", "parameters"):
        names, differs = differing_digests(run_a, run_b, table)
        rows += [(*lane_of(name, table), name, differs[:, i]) for i, name in enumerate(names)]
        if not rows:
            return []
    return rows


def lane_of(name, table):
    """(lane, module, text) of a result, for its row or mark."""
    if table == "parameters":
        return "Update", name.rpartition(".")[0] or name, name
    part = result_parts(name)
    if part is None:
        return "Other results", name, name
    shard = f", shard {part['shard']}" if part["shard"] else ""
    if part["phase"] == "gradients":
        lane = "Gradients, sum of shards" if part["operation"] == "sum_of_shards" else "Gradients" + shard
        return lane, part["module"].rpartition(".")[0] or part["module"], part["module"]
    text = re.sub(r"^(shard\.\d+/)?\w+/+", "", name)
    return part["phase"].capitalize() + shard, part["module"] or part["operation"], text


def first_step_of(rows):
    """The first step at which one of the rows differs, and the place of the first such row; None: none does."""
    if not rows:
        return None
    table = np.stack([row[-1] for row in rows])
    hits = np.flatnonzero(table.any(axis=0))
    return (int(hits[0]) + 1, int(table[:, hits[0]].argmax())) if hits.size else None


def lanes_of(rows):
    """Rows of the same lane that stand together, as (lane, rows)."""
    lanes = []
    for row in rows:
        if not lanes or lanes[-1][0] != row[0]:
            lanes.append((row[0], []))
        lanes[-1][1].append(row)
    return lanes


def timeline_figure(run_a, run_b, who):
    """Results of the step in order: red where they differ at the first step that has a difference. None: none has."""
    rows = differing_results(run_a, run_b)
    found = first_step_of(rows)
    if found is None:
        return None
    return rows_of_results(rows, *found, who) if len(rows) <= MOST_ROWS else marks_of_results(rows, *found, who)


def rows_of_results(rows, step, first, who):
    """A row for each result and a cell for each step around the first difference."""
    steps = len(rows[0][-1])
    low, high = max(1, step - 2), min(steps, max(1, step - 2) + 9)
    drawn, at = [], 0
    for lane, members in lanes_of(rows):
        drawn.append((lane, None, None))
        for member in members:
            if member is rows[first]:
                at = len(drawn)
            drawn.append((None, member[2], member[-1]))

    def paint(width):
        narrow = width == style.NARROW
        room = 22 if narrow else 40
        left = 14 + 7.1 * max(len(row_label(None, name, room)) if name else len(lane) for lane, name, _ in drawn)
        right = 12 if narrow else max(12, width - left - 42 * (high - low + 1))
        figure, grid = style.canvas(width, 20 * len(drawn) + 76)
        axes = grid[0][0]
        frame(figure, left, right, 36, 40)
        digest_panel(axes, drawn, low, high, True, room, True)
        axes.set_xticks(range(low, high + 1), [f"{s:,}" if s == step or (s - step) % 4 == 0 else ""
                                               for s in range(low, high + 1)])
        for ticks, place in ((axes.get_xticklabels(), step - low), (axes.get_yticklabels(), at)):
            ticks[place].set(color=style.LIGHT["alarm"], weight="bold")
        if right > 150:
            axes.annotate("the first that differs", (high + 0.5, at), xytext=(10, 0), textcoords="offset points",
                          va="center", color=style.LIGHT["alarm"], annotation_clip=False)
        heading(axes, f"Results of {who}", left)
        return figure
    return paint


def marks_of_results(rows, step, first, who):
    """A mark for each result of the one step, in rows that wrap, a block for each lane."""
    lanes = lanes_of(rows)

    def paint(width):
        figure, grid = style.canvas(width, 10)
        axes = grid[0][0]
        pitch = min(max((width - 2 * EDGE) // max(len(members) for _, members in lanes), 14), 28)
        mark, fit, y = min(pitch - 3, 18), int((width - 2 * EDGE) // pitch), 40
        for lane, members in lanes:
            differ = sum(bool(row[-1][step - 1]) for row in members)
            title = axes.annotate(lane, (0, y), weight="bold", va="center")
            axes.annotate(f"{differ} of {len(members)} differ" if differ else f"all {len(members)} equal", (1, 0.5),
                          xycoords=title, xytext=(8, 0), textcoords="offset points", va="center", fontsize=11.5,
                          color=style.LIGHT["alarm" if differ else "soft"])
            y += 20
            for start in range(0, len(members), fit):
                chunk = members[start:start + fit]
                for k, row in enumerate(chunk):
                    colour = style.LIGHT["alarm" if row[-1][step - 1] else "same"]
                    axes.add_patch(Rectangle((EDGE + pitch * k, y - mark / 2), mark, mark, color=colour, linewidth=0))
                    if row is rows[first]:
                        axes.add_patch(Rectangle((EDGE + pitch * k - 2, y - mark / 2 - 2), mark + 4, mark + 4,
                                                 fill=False, edgecolor=style.LIGHT["ink"], linewidth=1.8))
                module_labels(axes, chunk, pitch, y + mark / 2 + 9, rows[first], width)
                y += ROW
            y += TITLE - 20
        height = y - TITLE / 2 + 4
        figure.set_size_inches(width / 72, height / 72)
        figure.subplots_adjust(0, 0, 1, 1)
        axes.set_xlim(0, width), axes.set_ylim(height, 0)
        axes.axis("off")
        axes.text(0, 10, f"Results of {who} at step {step:,}", weight="bold", fontsize=13, va="center")
        return figure
    return paint


def module_labels(axes, chunk, pitch, y, first, width):
    """Under a row of marks the module of each stretch of them, where there is room; the first difference in full.

    Of paths of three names and more ("blocks.3.mlp.fc1") the first two.
    """
    taken, labels = [], []
    modules = [".".join(row[1].split(".")[:2]) for row in chunk]
    for k, row in enumerate(chunk):
        if row is first:
            labels.insert(0, (EDGE + pitch * k, row[2], True))
        elif k == 0 or modules[k - 1] != modules[k]:
            labels.append((EDGE + pitch * k, modules[k], False))
    for x, text, is_first in labels:
        long = 6.6 * len(text) * (1.12 if is_first else 1)
        if is_first:
            x = max(0, min(x, width - long))
        if x + long > width or any(x < end + 7 and start < x + long + 7 for start, end in taken):
            continue
        taken.append((x, x + long))
        axes.text(x, y, text, va="center", fontsize=11, weight="bold" if is_first else "normal",
                  color=style.LIGHT["alarm" if is_first else "soft"])


def ulps_between(low, high):
    """"4–7", of large ones "2¹⁶–2²⁰"; the last stretch has no end."""
    if high <= low + 0.5:
        return f"{low:,}"
    if high >= 2**32 - 1:
        return f"{power_of_two(low)} and more"
    return f"{low:,}–{high:,}" if high < 100000 else f"{power_of_two(low)}–{power_of_two(high + 1)}"


def power_of_two(value):
    return "2" + str(int(np.log2(value))).translate(SUPERSCRIPTS)


def histogram_rows(histogram, most=16):
    """(label, elements) from equal to the furthest, NaN last; neighbours are joined until at most `most` remain."""
    last = max((i for i, count in enumerate(histogram[1:-1], 1) if count), default=0)
    joined = max(1, -(-last // most))
    rows = [("equal", histogram[0])]
    for i in range(1, last + 1, joined):
        end = min(i + joined, len(histogram) - 1)
        rows.append((ulps_between(2 ** (i - 1), 2 ** (end - 1) - 1), sum(histogram[i:end])))
    return rows + ([("NaN", histogram[-1])] if histogram[-1] else [])


def worst_distance(histogram):
    """The stretch in which the largest distance lies, as text; None when all elements are equal."""
    if histogram[-1]:
        return "a NaN on one side"
    last = max((i for i, count in enumerate(histogram[1:-1], 1) if count), default=0)
    text = f"{ulps_between(2 ** (last - 1), 2**last - 1)} ULP".replace(" and more ULP", " ULP and more")
    return text if last else None


def histogram_figure(explanation):
    """How many elements of the first differing result are how many ULPs apart. None: the values are not known."""
    rows = histogram_rows(explanation.get("histogram") or [0, 0])
    total = sum(count for _, count in rows)
    if not total:
        return None

    def paint(width):
        left = 16 + 7.4 * max(len(label) for label, _ in rows)
        figure, grid = style.canvas(width, 21 * len(rows) + 48)
        axes = grid[0][0]
        frame(figure, left, 118, 40, 8)
        for y, (label, count) in enumerate(rows):
            colour = style.LIGHT["axis" if label == "equal" else "alarm"]
            axes.barh(y, count, 0.72, color=colour, linewidth=0)
            if count:
                share = 100 * count / total
                text = f"{count:,} ({share:.1f} %)" if share >= 0.05 else f"{count:,}"
                axes.annotate(text, (count, y), xytext=(7, 0), textcoords="offset points", va="center",
                              annotation_clip=False)
        axes.set_xlim(0, max(count for _, count in rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.set_xticks([])
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
        heading(axes, "Elements by distance in ULP", left)
        return figure
    return paint
