# What the comparisons say, in words: the sentence on top, the rows of the verdict table, where a step differs.
"""Pure functions of runs and comparisons; a comparison is one row of comparisons.json, as `assay compare` writes it."""

import functools
import os
import re

import numpy as np

from read_run import DIGEST_TABLES, ReportError

ROWS = 1000  # of a digest table that are read at a time

PLACES = {
    "gradients": "gradient of {}", "parameters": "parameter {} after the update", "optimiser": "optimiser state {}",
    "masks": "dropout mask {}", "loss": "the loss", "ids": "the sample ids", "epoch": "the epoch",
    "gradient_norm": "the gradient norm", "learning_rate": "the learning rate",
    "finite": "whether all gradients are finite", "random": "the state of random stream {}",
    "train": "the state of training {}", "validation": "validation {}", "result": "the result {}"}
RESULT = re.compile(r"(?:shard\.(?P<shard>\d+)/)?(?P<phase>\w+)/(?P<module>[^/]*)/(?P<operation>[^/:#]+)"
                    r"(?::(?P<operand>\d+))?(?:#(?P<call>\d+))?")
FIELDS = ("a", "b", "policy", "holds", "steps_compared", "first_divergence", "refused")


def check_comparisons(comparisons, runs, path):
    """Attaches each comparison to its runs; refuses a list that is not the first run against each other one."""
    operation = f"read {path}"
    if not isinstance(comparisons, list) or len(comparisons) != len(runs) - 1:
        found = f"{len(comparisons)}" if isinstance(comparisons, list) else "no list"
        raise ReportError("FILE-3", operation, f"{len(runs) - 1} comparisons for {len(runs)} runs", found)
    for run, row in zip(runs[1:], comparisons):
        missing = [key for key in FIELDS if key not in row]
        if missing:
            raise ReportError("FILE-3", operation, f"the key {missing[0]} in each comparison", "none")
        if [os.path.realpath(row[side]) for side in "ab"] != [os.path.realpath(r.path) for r in (runs[0], run)]:
            raise ReportError("FILE-3", operation, f"a comparison of {runs[0].path} with {run.path}",
                              f"{row['a']} with {row['b']}")


def result_parts(name):
    """The parts of a result's name, as reference/formats/run.md has them; None for a text that is no such name."""
    match = RESULT.fullmatch(name)
    return match.groupdict() if match else None


def place_of_result(name):
    """"backward/fc2/linear:1" in words."""
    part = result_parts(name)
    if part is None:
        return f"at {name}"
    shard = f" of shard {part['shard']}" if part["shard"] else ""
    if part["operation"] == "table":
        return PLACES.get(part["phase"], part["phase"] + " {}").format(part["module"])
    if part["phase"] == "gradients":
        if part["operation"] == "sum_of_shards":
            return f"at the gradient of {part['module']}, summed over the shards"
        return f"at the gradient of {part['module']}{shard or ' of shard 0'}"
    of = f" of {part['module']}" if part["module"] else ""
    call = f", call {part['call']}" if part["call"] else ""
    operand = f" (gradient by operand {part['operand']})" if part["operand"] else ""
    return f"in the {part['phase']} pass{shard}, at the operation {part['operation']}{of}{call}{operand}"


def place(divergence):
    """Where a difference stands, without its step: "gradient of fc1.weight"."""
    if divergence["table"] == "trace":
        return place_of_result(divergence["tensor"])
    pattern = PLACES.get(divergence["table"], divergence["table"].replace("{", "").replace("}", "") + " {}")
    return pattern.format(divergence.get("tensor") or "").strip()


def agree(policy):
    return "have the same bits" if policy == "bitwise" else f"agree within {policy}"


def explained(row):
    """The explanation of a comparison when a replay found one, else an empty one."""
    explanation = row.get("explanation") or {}
    return {} if "unavailable" in explanation else explanation


def wrong_side(run_a, run_b, explanation):
    """Which run is wrong and why, as a clause; None without an explanation."""
    label = {"A": run_a.label, "B": run_b.label}
    wrong = explanation.get("wrong")
    if wrong in label:
        return f"{label[wrong]} is wrong: {explanation['reason']}"
    if wrong in ("neither", "both"):
        return f"{wrong} {'is' if wrong == 'neither' else 'are'} wrong: {explanation['reason']}"
    if wrong is None:
        return None
    hidden = [run.label for run, side in ((run_a, "a"), (run_b, "b")) if not explanation[side]["values"]]
    if hidden:
        return f"which is wrong is unknown: this build does not compute the bits of {' and '.join(hidden)}"
    return f"which is wrong is unknown: {explanation['reason']}"


def plural(count, noun):
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def part(run_a, run_b, row, brief=False):
    """One differing pair as a clause; `brief`: without the reason why a side is wrong."""
    if row["refused"]:
        return f"{run_b.label} was not compared with {run_a.label}: {row['refused']}"
    if row["first_divergence"]:
        wrong = wrong_side(run_a, run_b, explained(row)) if row["policy"] == "bitwise" else None
        return f"{run_a.label} and {run_b.label} part at step {row['first_divergence']['step']:,}, " + \
            place(row["first_divergence"]) + (f" ({wrong.split(': ')[0]})" if wrong and brief else
                                              f"; {wrong}" if wrong else "")
    return f"{run_a.label} and {run_b.label} do not hold under {row['policy']}, though none of the " \
        f"{plural(row['steps_compared'], 'step')} compared differs"


def sentence(runs, comparisons):
    """The verdict in one sentence, without a full stop."""
    if not comparisons:
        return f"One run of {plural(runs[0].last_step, 'step')}, compared with no other"
    failed = [(run, row) for run, row in zip(runs[1:], comparisons) if not row["holds"]]
    if not failed:
        who = f"{runs[0].label} and {runs[1].label}" if len(runs) == 2 else f"All {len(runs)} runs"
        policies = sorted({row["policy"] for row in comparisons})
        spans = [row["steps_compared"] for row in comparisons]
        shared = any(run.last_step != runs[0].last_step for run in runs)
        steps = f"the {plural(min(spans), 'step')} they share" if shared else \
            f"all {min(spans):,} steps" if min(spans) > 1 else "their one step"
        return f"{who} {agree(' and '.join(policies))} in {steps}"
    if len(failed) <= 2:
        return "; ".join(part(runs[0], run, row, len(failed) > 1) for run, row in failed)
    parted = [pair for pair in failed if pair[1]["first_divergence"]]
    first = min(parted, key=lambda pair: pair[1]["first_divergence"]["step"]) if parted else failed[0]
    return f"{len(failed)} of {len(comparisons)} runs differ from {runs[0].label}; first, " + part(runs[0], *first)


def remarks(runs):
    """What a reader must know beside the verdict: what a device was, unfinished runs and losses that are not finite."""
    notes = []
    for run in runs:
        if run.provenance.get("device") == "cuda":
            notes.append(f"{run.label} ran on a GPU: {run.provenance.get('gpu', 'its name is not recorded')}")
        if run.provenance.get("device") == "simulated":
            notes.append(f"{run.label} ran on no GPU: its kernels are those of CUDA, run lane by lane on the CPU")
        if not run.complete:
            state = "was interrupted at" if run.status == "interrupted" else "was still running; its file ends at"
            notes.append(f"{run.label} {state} step {run.last_step:,}")
        if run.first_bad_step is not None:
            notes.append(f"the loss of {run.label} is not finite from step {run.first_bad_step:,}")
    return notes


def kind(comparisons):
    """"holds", "differs", "refused" or "none": the state that the mark beside the verdict shows."""
    if not comparisons:
        return "none"
    if any(not row["holds"] and not row["refused"] for row in comparisons):
        return "differs"
    return "refused" if any(row["refused"] for row in comparisons) else "holds"


def groups_of_same_bits(runs):
    """Runs in groups whose digests agree over the steps that they share with the first of the group."""
    groups = []
    for run in runs:
        for group in groups:
            if same_bits(group[0], run):
                group.append(run)
                break
        else:
            groups.append([run])
    return groups


@functools.lru_cache(maxsize=None)
def differing_digests(run_a, run_b, table):
    """Where a digest table differs: (the columns that both runs have, bool [shared steps, columns]).

    Columns are in the order of A. Read a block of rows at a time, once for each pair.
    """
    columns_a, columns_b = run_a.names[table], run_b.names[table]
    place = {name: i for i, name in enumerate(columns_b)}
    shared = [name for name in columns_a if name in place]
    pick_a, pick_b = [i for i, name in enumerate(columns_a) if name in place], [place[name] for name in shared]
    n = min(run_a.last_step, run_b.last_step)
    differs = np.zeros((n, len(shared)), bool)  # pages of blocks without a difference take no memory
    if not shared:
        return shared, differs
    a, b = (np.empty((min(ROWS, n), len(columns)), np.uint64) for columns in (columns_a, columns_b))
    for low in range(0, n, ROWS):
        rows = min(ROWS, n - low)
        run_a.read_digests(table, low, a[:rows])
        run_b.read_digests(table, low, b[:rows])
        x, y = (a[:rows], b[:rows]) if columns_a == columns_b else (a[:rows, pick_a], b[:rows, pick_b])
        if not np.array_equal(x, y):
            np.not_equal(x, y, out=differs[low:low + rows])
    return shared, differs


@functools.lru_cache(maxsize=None)
def differences(run_a, run_b):
    """Where digests differ: table -> bool [shared steps, columns], in the order in which a step makes them.

    Empty when the two runs do not have the same tensors.
    """
    if any(run_a.names[t] != run_b.names[t] for t in DIGEST_TABLES):
        return {}
    n = min(run_a.last_step, run_b.last_step)

    def single(column):
        return (run_a.steps[column][:n] != run_b.steps[column][:n]).reshape(n, 1)

    def table(name):
        return differing_digests(run_a, run_b, name)[1]

    return {"ids": single("ids_digest"), "masks": table("masks"), "loss": single("loss_digest"),
            "gradients": table("gradients"), "parameters": table("parameters"), "optimiser": table("optimiser")}


@functools.lru_cache(maxsize=None)
def parting_step(run_a, run_b):
    """The first step at which any digest differs; None when none does over the shared steps."""
    tables = differences(run_a, run_b)
    if not tables:
        return 1
    rows = [table.any(axis=1) for table in tables.values()]
    hits = [int(row.argmax()) for row in rows if row.any()]
    return min(hits) + 1 if hits else None


def same_bits(run_a, run_b):
    """True when every digest agrees over the steps that both runs hold."""
    return min(run_a.last_step, run_b.last_step) > 0 and parting_step(run_a, run_b) is None


def stretches(runs):
    """(low, high, bunch): between the steps low and high the runs of the bunch have the same bits.

    Runs travel with the first run until they part from it or end.
    """
    parting = {run.label: parting_step(runs[0], run) for run in runs}
    events = {*(run.last_step for run in runs), *(step - 1 for step in parting.values() if step)}
    events = sorted(event for event in events if event > 0)
    found = []
    for low, high in zip([0] + events[:-1], events):
        alive = [run for run in runs if run.last_step >= high]
        trunk = [run for run in alive if not parting[run.label] or high < parting[run.label]]
        others = [run for run in alive if run not in trunk]
        bunches = ([trunk] if runs[0] in trunk else groups_of_same_bits(trunk)) + groups_of_same_bits(others)
        found += [(max(low, 1), high, bunch) for bunch in bunches if bunch]
    joined = []
    for low, high, bunch in found:  # neighbours of the same bunch become one stretch
        same = [i for i, (_, end, b) in enumerate(joined) if end == low and b == bunch]
        if same:
            joined[same[0]] = (joined[same[0]][0], high, bunch)
        else:
            joined.append((low, high, bunch))
    return joined
