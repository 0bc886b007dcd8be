# The page and the JSON file: what a reader sees, in order, from runs and comparisons.

import json
import math
import re
import shlex
from pathlib import Path

import jinja2
import numpy as np
from markupsafe import Markup, escape

import figures
import figures_difference
import figures_growth
import figures_operation
import style
import verdict

FOLDER = Path(__file__).parent
PROVENANCE_ORDER = ("device", "numerics", "threads", "isa", "cpu_model", "hostname", "assay_version", "git_commit",
                    "git_dirty", "compiler", "compiler_flags", "build_type", "hdf5_version", "started", "command_line",
                    "data_digest")
MOST_DIGEST_FIGURES = 4


def finite(value):
    """`value` for JSON, where a number that is not finite is null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(runs, comparisons, shown):
    rows = []
    for run in runs:
        last = {key: float(run.steps[key][-1]) for key in ("loss", "gradient_norm", "learning_rate")} \
            if run.last_step else {}
        validation = {key: float(run.validation[key][-1]) for key in ("loss", "accuracy")} \
            if len(run.validation["step"]) else {}
        rows.append({"label": run.label, "path": run.path, "status": run.status, "steps": run.last_step,
                     "first_not_finite_step": run.first_bad_step, "result": run.result, "last_step": last,
                     "last_validation": validation,
                     "median_step_seconds": float(np.median(run.seconds)) if len(run.seconds) else None})
    report = {"format": "assay-report", "format_version": 1,
              "verdict": {"state": verdict.kind(comparisons), "sentence": verdict.sentence(runs, comparisons),
                          "remarks": verdict.remarks(runs)},
              "runs": rows, "comparisons": comparisons,
              "figures": [{"name": figure["name"], "caption": figure["caption"]}
                          for section in shown.values() for figure in section]}
    return (json.dumps(finite(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def table_rows(columns, keys):
    """(key, values, same): one value for each run; None where a run has no such key."""
    rows = []
    for key in keys:
        values = [column.get(key) for column in columns]
        rows.append({"key": key, "values": values, "same": all(value == values[0] for value in values)})
    return rows


def provenance_rows(runs):
    keys = sorted({key for run in runs for key in run.provenance})
    order = {key: i for i, key in enumerate(PROVENANCE_ORDER)}
    return table_rows([run.provenance for run in runs], sorted(keys, key=lambda key: (order.get(key, 99), key)))


def configuration_rows(runs):
    columns = [{key: json.dumps(value, ensure_ascii=False) for key, value in run.config.items()} for run in runs]
    return table_rows(columns, sorted({key for column in columns for key in column}))


def commands(runs, comparisons, nulls):
    """(comment, command) lines that make the runs, the comparisons and this page again."""
    lines = []
    commits = sorted({run.provenance.get("git_commit", "") for run in runs} - {""})
    for commit in commits:
        of = [run for run in runs if run.provenance.get("git_commit") == commit]
        dirty = [run.label for run in of if run.provenance.get("git_dirty", "").lower() in ("true", "1", "yes")]
        note = "the sources" + ("" if len(commits) == 1 else " of " + ", ".join(run.label for run in of))
        if dirty:
            note += "; " + ", ".join(dirty) + " had changes that no commit holds"
        lines.append((note, f"git checkout {commit}"))
    for run in runs:
        lines.append((f"{run.label} again, and whether its bits agree", f"assay run {shlex.quote(run.path)}"))
    with_nulls = "".join(f" --null {shlex.quote(run.path)}" for run in nulls)
    policy = ""
    for run, row in zip(runs[1:], comparisons):
        policy = "" if row["policy"] == "bitwise" else f" --policy {row['policy']}"
        referee = " --referee" if row.get("explanation") else ""
        lines.append((f"{runs[0].label} against {run.label}",
                      f"assay compare {shlex.quote(runs[0].path)} {shlex.quote(run.path)}{policy}{referee}{with_nulls}"))
    lines.append(("this page", "assay report " + " ".join(shlex.quote(run.path) for run in runs) +
                  f"{policy}{with_nulls} --out report"))
    return lines


def number(value):
    return "–" if finite(value) is None else f"{value:.6g}"


def float32_text(value):
    """A float32 so that no other float32 reads the same."""
    return "not finite" if value is None else f"{value:.9g}"


def operation_rows(first, run, row):
    """What is known of the first result whose bits differ: rows of one value for both sides, or of one for each."""
    why = verdict.explained(row)
    if not why:
        return None
    sides, result, element, rows = (why["a"], why["b"]), why["result"], why["element"], []

    def add(key, *values):
        rows.append({"key": key, "values": list(values), "same": len(values) == 1})

    shape = "\u00a0×\u00a0".join(map(str, why["shape"]))
    add("Result", f"{result}, {shape or 'one number'}")
    add("Computed again from", f"the checkpoint of step {why['began_at']:,}" if why["began_at"]
        else "the initial values")
    add("Bits", *("those of numerics exact" if side["exact"] else "others than numerics exact" if side["recorded"]
                  else "not recorded" for side in sides))
    add("Cause", *(side["cause"] or ("–" if side["exact"] or not side["recorded"] else "none of the hypotheses gives them")
                   for side in sides))
    hidden = [r.label for r, side in zip((first, run), sides) if not side["values"]]
    if element:
        add(f"First element {element['index']}", *(float32_text(element[side]) for side in "ab"))
        first_ulp = "a NaN on one side" if element["ulp"] >= 2**63 else f"{element['ulp']:,} ULP"
        add("Distance", f"first element {first_ulp}, worst {figures_operation.worst_distance(why['histogram'])}; "
            f"{why['different']:,} of {why['elements']:,} elements differ")
    elif hidden:
        foreign = any("framework" in r.provenance for r in (first, run) if r.label in hidden)
        add("Elements", f"not known, since this build does not compute the bits of {' and '.join(hidden)}; " +
            ("its run can keep them in tensors/" if foreign else
             f"a run with --set 'trace.tensors=[\"{result}\"]' keeps them"))
    if why["referee"]:
        add("ULPs from float64", *(ulps_text(side.get("ulps_from_float64")) for side in sides))
        add("Share of the bound", *(share_text(side.get("share_of_bound")) for side in sides))
        outside = {"A": f"{first.label} outside of the bound", "B": f"{run.label} outside of the bound",
                   "unknown": "unknown, for want of values"}
        verdict_text = outside.get(why["referee"]["verdict"], why["referee"]["verdict"])
        add("Referee", f"{verdict_text}; the bound is {why['referee']['bound']}, u\u00a0=\u00a02⁻²⁴")
    add("Wrong side", verdict.wrong_side(first, run, why))
    seconds = row.get("seconds_per_step") or {}
    if seconds.get("a") and seconds.get("b"):
        add("Price: median step", *(f"{1000 * seconds[side]:.3g} ms" for side in "ab"))
    return rows


def ulps_text(ulps):
    return "–" if finite(ulps) is None else f"{ulps:.2g}" if ulps < 10 else f"{ulps:,.0f}"


def share_text(share):
    if finite(share) is None:
        return "–"
    return f"{100 * share:.3g} %" if share < 10 else f"{share:,.3g} times"


def verdict_rows(runs, comparisons):
    rows = []
    for run, row in zip(runs[1:], comparisons):
        state = "refused" if row["refused"] else "holds" if row["holds"] else "differs"
        first = row["first_divergence"]
        metrics = {key: pair for key, pair in (row.get("metrics") or {}).items() if pair}
        tensors = [tensor for tensor in row.get("tensors") or [] if not tensor["equal"]]
        tensors.sort(key=lambda tensor: -(tensor["max_ulp"] or 0))
        rows.append({"run": run, "row": row, "state": state, "first": first, "metrics": metrics, "tensors": tensors,
                     "place": verdict.place(first) if first else None,
                     "unavailable": (row.get("explanation") or {}).get("unavailable"),
                     "operation": operation_rows(runs[0], run, row)})
    return rows


def price_rows(runs, comparisons):
    """(run, milliseconds a step of the first run, of this one, their ratio) where both have times."""
    rows = []
    for run, row in zip(runs[1:], comparisons):
        seconds = row.get("seconds_per_step") or {}
        if seconds.get("a") and seconds.get("b"):
            rows.append({"run": run, "a": 1000 * seconds["a"], "b": 1000 * seconds["b"],
                         "ratio": seconds["a"] / seconds["b"]})
    return rows


def caption_of_loss(runs):
    window = figures.window_for(max(run.last_step for run in runs))
    text = "The loss of each step's batch."
    if window > 1:
        text = f"Thin: the loss of each step's batch. Thick: the centred mean over {window} steps."
    if any(len(bunch) > 1 for _, _, bunch in verdict.stretches(runs)):
        text += " Runs with the same bits are drawn as one line whose dashes take their colours in turn."
    return text


def caption_of_results(run_a, run_b):
    text = "Results of operations in the order in which the step computes them, then the parameters that it leaves. " \
        f"Red: the bits of {run_a.label} and {run_b.label} differ. Grey: they are the same."
    alone = set(run_a.names["trace"]) ^ set(run_b.names["trace"])
    return text + (f" {verdict.plural(len(alone), 'result')} that one run alone recorded: left out." if alone else "")


def draw_figures(runs, comparisons, nulls):
    """Sections of (name, inline SVG, caption) and the files of the figures."""
    shown, files = {"operation": [], "parting": [], "growth": [], "training": [], "speed": []}, {}

    def add(section, name, painter, label, caption):
        if painter:
            body, made = style.draw(name, painter, label)
            shown[section].append({"name": name, "svg": body, "caption": caption})
            files.update(made)

    parted = [(verdict.parting_step(runs[0], run), run) for run in runs[1:] if verdict.differences(runs[0], run)]
    parted = [(step, run) for step, run in parted if step]
    first = min(parted, key=lambda pair: pair[0]) if parted else None
    mark = (first[0], f"{first[1].label} parts, step {first[0]:,}") if first else None
    for run, row in list(zip(runs[1:], comparisons))[:MOST_DIGEST_FIGURES]:
        who = f"{runs[0].label} and {run.label}"
        add("operation", f"results-{run.label}", None if row["refused"] else
            figures_operation.timeline_figure(runs[0], run, who),
            f"Results of the step that differ between {who}", caption_of_results(runs[0], run))
        add("operation", f"ulps-{run.label}", figures_operation.histogram_figure(verdict.explained(row)),
            f"Elements of the first differing result of {who} by distance",
            f"{verdict.explained(row).get('result')}: how many of its elements are how many units in the last place "
            f"apart in {who}.")
    for group in verdict.groups_of_same_bits([run for _, run in parted])[:MOST_DIGEST_FIGURES]:
        who = f"{runs[0].label} and {figures.labels(group)}"
        add("parting", f"digests-{group[0].label}", figures_difference.digest_figure(runs[0], group[0], who),
            f"Steps and tensors whose digests differ between {who}",
            f"Filled red: the digest of this tensor at this step differs between {who}. "
            "From top to bottom in the order in which a step makes them.")
    add("parting", "drift", figures_difference.drift_figure(runs, nulls) if parted else None,
        "Absolute difference of the training loss, step by step",
        f"Absolute difference of the loss of each step's batch from {runs[0].label}; 0 means the same value." +
        (" Grey: the null runs." if nulls else ""))
    for run, row in zip(runs[1:], comparisons):
        if figures_growth.worth_drawing(growth := row.get("growth")):
            add("growth", f"growth-{run.label}", figures_growth.growth_figure(runs, run, growth),
                f"Distance of the parameters of {run.label} by step", figures_growth.caption(runs, run, growth))
            add("growth", f"layers-{run.label}", figures_growth.layers_figure(runs, run, growth),
                f"Distance of each parameter of {run.label} by step",
                "The same for each parameter: weights as a line, biases dashed.")
    if any(run.last_step for run in runs):
        add("training", "loss", figures.loss_figure(runs, mark), "Training loss by step", caption_of_loss(runs))
        if any(len(run.validation["step"]) or "test_accuracy" in run.result for run in runs):
            add("training", "accuracy", figures.accuracy_figure(runs), "Validation accuracy by step",
                "Dots: accuracy on the validation set. Diamond: accuracy on the test set after the last step.")
        add("training", "pace", figures.pace_figure(runs), "Gradient norm and learning rate by step",
            "The norm of all gradients together, and the learning rate in use.")
    if any(len(run.seconds) for run in runs):
        add("speed", "speed", figures.speed_figure(runs), "Milliseconds a step",
            "Dot: median. Bar: the middle half of all steps. Line: 5 to 95 %. Times are no part of any comparison.")
    return shown, files


def breaks(text):
    """`text` for HTML, where long names may break after a point, a stroke or a slash, and "step 7" may not."""
    words = re.split(r"(\s+)", re.sub(r"\bstep (?=\d)", "step\u00a0", text))
    return Markup("").join(Markup("<wbr>").join(map(escape, re.split(r"(?<=[._/-])(?=\w)", word)))
                           if len(word) > 24 else escape(word) for word in words)


def build(runs, comparisons, nulls=()):
    """Every file of the report by its name: index.html, report.json, figures/…"""
    shown, drawn = draw_figures(runs, comparisons, nulls)
    files = {f"figures/{name}": data for name, data in drawn.items()}
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["percent"] = lambda value: f"{100 * value:.2f} %" if finite(value) is not None else "not finite"
    environment.filters["breaks"] = breaks
    environment.filters["number"] = number
    css = (FOLDER / "page.css").read_text(encoding="utf-8")
    css = css.replace("/*light*/", style.css_variables(0)).replace("/*dark*/", style.css_variables(1))
    html = environment.get_template("template.html").render(
        css=Markup(css.replace("BREAK", str(style.BREAK))), runs=runs,
        state=verdict.kind(comparisons), sentence=verdict.sentence(runs, comparisons),
        remarks=verdict.remarks(runs), rows=verdict_rows(runs, comparisons), shown=shown,
        price=price_rows(runs, comparisons),
        provenance=provenance_rows(runs), configuration=configuration_rows(runs),
        commands=commands(runs, comparisons, nulls),
        colour={run.label: i % len(style.SERIES) for i, run in enumerate(runs)},
        plural=verdict.plural, files=sorted(files))
    return {**files, "report.json": as_json(runs, comparisons, shown), "index.html": html.encode()}
