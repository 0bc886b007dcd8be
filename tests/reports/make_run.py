# Run folders for the tests of the report: the format of the harness, written with h5py, plausible numbers, no training.
"""make_run.py FOLDER writes one set of example runs under FOLDER, with a comparisons file for each set of them."""

import hashlib
import json
import sys
from pathlib import Path

import h5py
import numpy as np

PARAMETERS = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
TRACE = ("forward/fc1/linear", "forward/fc2/linear", "forward//cross_entropy", "backward//cross_entropy:0",
         "backward/fc2/linear:0", "backward/fc2/linear:1", "backward/fc2/linear:2", "backward/fc1/linear:1")
TOML = """# A classifier of garments: 784-128-10.
[data]
name = "fashion_mnist"

[model]
hidden = [128]
dropout = 0.2

[train]
steps = {steps}
batch = 128
seed = 7

[optimiser]
kind = "adamw"
learning_rate = 0.001
"""
INTEGERS = ("step", "epoch", "loss_digest", "ids_digest")


def seal(path):
    """Fills the user block: magic, format version, length and SHA-256 of all that follows; returns the SHA-256."""
    data = Path(path).read_bytes()
    body = data[512:]
    head = b"ASSAYH5\n" + (1).to_bytes(4, "little") + bytes(4) + len(body).to_bytes(8, "little")
    digest = hashlib.sha256(body)
    Path(path).write_bytes((head + digest.digest()).ljust(512, b"\0") + body)
    return digest.hexdigest()


def mix(*parts):
    """A u64 that stands for a digest of `parts`."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little")


def make_steps(steps, seed, part_at, nan_at, names):
    """The columns of /steps. From `part_at` on the gradients, then everything after them, differ by rounding."""
    rng, s = np.random.default_rng(seed), np.arange(1, steps + 1)
    loss = 0.42 + 1.9 * np.exp(-s / 70) + 0.25 * np.exp(-s / 500) + rng.normal(0, 0.045, steps)
    norm = 0.8 + 2.6 * np.exp(-s / 120) + np.abs(rng.normal(0, 0.18, steps))
    if part_at:
        late = s > part_at
        loss = np.where(late, loss + 3e-8 * np.exp(np.minimum((s - part_at) / 34, 13)) * rng.normal(0, 1, steps), loss)
        norm = np.where(late, norm * (1 + 1e-7 * rng.normal(0, 1, steps)), norm)
    if nan_at:
        loss[nan_at - 1:], norm[nan_at - 1:] = np.nan, np.nan
    warm = np.minimum(s / (0.1 * max(steps, 10)), 1)
    rate = 1e-3 * warm * 0.5 * (1 + np.cos(np.pi * np.clip((s / steps - 0.1) / 0.9, 0, 1)))

    def table(columns, first, lag):
        changed = lambda step, i: part_at and step >= part_at + (0 if i == first and lag == 0 else max(lag, 1))
        return np.array([[mix(seed, c, int(k), bool(changed(k, i))) for i, c in enumerate(columns)] for k in s],
                        np.uint64).reshape(steps, len(columns))

    return {
        "step": s, "epoch": (s - 1) // 469, "loss": loss, "gradient_norm": norm, "learning_rate": rate,
        "finite": np.isfinite(loss).astype("u1"),
        "loss_digest": np.array([mix(float(x)) for x in loss], np.uint64),
        "ids_digest": np.array([mix(seed, int(k)) for k in s], np.uint64),
        "gradients": table(["g" + n for n in names["parameters"]], 0, 0),
        "parameters": table(names["parameters"], 0, 1), "optimiser": table(names["optimiser"], 0, 1),
        "masks": np.array([[mix(seed, m, int(k)) for m in names["masks"]] for k in s], np.uint64).reshape(steps, -1)}


def as_dataset(key, values):
    if key in INTEGERS or np.ndim(values) == 2:
        return np.asarray(values, "<u8")
    return np.asarray(values, "u1" if key == "finite" else "<f8")


def make_run(folder, steps=938, planned=None, seed=7, part_at=None, nan_at=None, status="complete", threads=1,
             parameters=PARAMETERS, overrides=(), format_version=1, speed=0.0021, provenance=None, trace=None,
             trace_from=0):
    """Writes one run folder of `steps` steps, in up to three segments, and returns its path.

    `trace` names traced results; from `part_at` on those from the place `trace_from` differ, at later steps all. None:
    the layout of a run without a trace.
    """
    folder = Path(folder)
    folder.mkdir(parents=True)
    names = {"parameters": list(parameters), "masks": ["dropout1"],
             "optimiser": [f"{m}.{p}" for m in ("first_moment", "second_moment") for p in parameters]}
    planned = planned or steps
    columns = {k: v[:steps] for k, v in make_steps(planned, seed, part_at, nan_at, names).items()}
    if trace is not None:
        names["trace"] = list(trace)
        changed = lambda step, i: bool(part_at and (step > part_at or step == part_at and i >= trace_from))
        columns["trace"] = np.array([[mix(seed, name, step, changed(step, i)) for i, name in enumerate(trace)]
                                     for step in range(1, steps + 1)], np.uint64).reshape(steps, len(trace))
    at = np.unique(np.append(np.arange(117, steps, 117), steps if steps else []))
    rng = np.random.default_rng(seed + threads)
    groups = {"steps": columns,
              "validation": {"step": at, "loss": 0.36 + 0.9 * np.exp(-at / 260),
                             "accuracy": 0.881 - 0.21 * np.exp(-at / 210)},
              "timing": {"seconds": speed * (1 + rng.gamma(1.2, 0.06, steps))}}

    bounds = np.unique(np.linspace(0, steps, 4).astype(int))
    sources, segments = {}, []
    for number, (low, high) in enumerate(zip(bounds[:-1], bounds[1:]), 1):
        name = f"steps-{number:06d}.h5"
        with h5py.File(folder / name, "w", userblock_size=512) as file:
            for group, datasets in groups.items():
                where = datasets.get("step", columns["step"])
                for key, values in datasets.items():
                    rows = as_dataset(key, values)[(where > low) & (where <= high)]
                    file.create_dataset(f"{group}/{key}", data=rows)
                    sources.setdefault((group, key), []).append((name, rows))
        segments.append((name, high, seal(folder / name)))

    with h5py.File(folder / "run.h5", "w", userblock_size=512) as file:
        file.attrs.update({"format": "assay-run", "format_version": format_version, "numerics_version": 0,
                           "status": status, "last_step": steps})
        for group, datasets in groups.items():
            for key, values in datasets.items():
                whole, row = as_dataset(key, values), 0
                layout = h5py.VirtualLayout(whole.shape, whole.dtype)
                for name, rows in sources.get((group, key), []):
                    if rows.size:
                        layout[row:row + len(rows)] = h5py.VirtualSource(name, f"{group}/{key}", rows.shape, rows.dtype)
                    row += len(rows)
                file.create_virtual_dataset(f"{group}/{key}", layout)
        file.create_dataset("segments/file", data=[s[0] for s in segments], dtype=h5py.string_dtype())
        file.create_dataset("segments/sha256", data=[s[2] for s in segments], dtype=h5py.string_dtype())
        file["segments/last_step"] = np.array([s[1] for s in segments], "<u8")
        resolved = {"data": {"name": "fashion_mnist"}, "device": "cpu", "numerics": "exact", "threads": threads,
                    "model": {"dropout": 0.2, "hidden": [128]},
                    "optimiser": {"kind": "adamw", "learning_rate": 0.001, "weight_decay": 0.01},
                    "train": {"batch": 128, "seed": seed, "steps": planned}}
        for override in overrides:
            resolved.update([override.split("=")])
        file["config/toml"] = TOML.format(steps=planned)
        file["config/resolved"] = json.dumps(resolved, sort_keys=True)
        file.create_dataset("config/overrides", data=list(overrides), dtype=h5py.string_dtype())
        for key, values in names.items():
            file.create_dataset(f"names/{key}", data=values, dtype=h5py.string_dtype())
        facts = {"assay_version": "0.1.0", "git_commit": "3f9c2d1a7be04c55", "git_dirty": "false",
                 "compiler": "g++ 12.2.0", "compiler_flags": "-std=c++20 -O3 -ffp-contract=off -fno-math-errno "
                 "-fno-trapping-math", "build_type": "release", "cpu_model": "AMD EPYC 7B13", "isa": "avx2",
                 "threads": str(threads), "device": "cpu", "numerics": "exact", "hostname": "bench-3",
                 "started": f"2025-03-0{threads}T10:12:44Z", "hdf5_version": "1.10.8",
                 "command_line": "assay run experiments/fashion_mnist/smoke.toml "
                 f"--threads {threads} --out {folder.name}",
                 "data_digest": hashlib.sha256(b"data").hexdigest(),
                 "data.train-images-idx3-ubyte.gz": hashlib.sha256(b"train").hexdigest()}
        facts.update(provenance or {})
        file.create_group("provenance").attrs.update(facts)
        if status == "complete":
            wobble = 0.0011 if part_at else 0.0
            file.create_group("result").attrs.update({
                "steps": steps, "test_loss": float("nan") if nan_at else 0.3712 + wobble,
                "test_accuracy": 0.1 if nan_at else 0.8742 - wobble,
                "parameters_digest": hashlib.sha256(repr((seed, part_at, nan_at)).encode()).hexdigest(),
                "seconds": float(groups["timing"]["seconds"].sum())})
    seal(folder / "run.h5")
    (folder / "checkpoints").mkdir()
    return str(folder)


def comparison(a, b, steps, **changes):
    """One row of comparisons.json; by default it holds bit for bit."""
    row = {"a": str(a), "b": str(b), "policy": "bitwise", "holds": True, "steps_compared": steps,
           "first_divergence": None, "refused": None,
           "metrics": {"test_accuracy": {"a": 0.8742, "b": 0.8742}, "test_loss": {"a": 0.3712, "b": 0.3712}},
           "tensors": [{"name": n, "equal": True, "max_ulp": 0, "max_abs": 0.0, "max_rel": 0.0} for n in PARAMETERS]}
    row.update(changes)
    return row


def parted(a, b, steps, at, tensor="fc1.weight"):
    tensors = [{"name": n, "equal": False, "max_ulp": u, "max_abs": d, "max_rel": r} for n, u, d, r in
               zip(PARAMETERS, (91822, 2210, 40911, 377), (3.1e-4, 2.2e-5, 1.4e-4, 8e-6), (0.02, 1e-3, 8e-3, 4e-4))]
    return comparison(a, b, steps, holds=False, tensors=tensors,
                      metrics={"test_accuracy": {"a": 0.8742, "b": 0.8731}, "test_loss": {"a": 0.3712, "b": 0.3723}},
                      first_divergence={"step": at, "table": "gradients", "tensor": tensor,
                                        "a": "9c1f03ab77e21d05", "b": "1d7700c2e4b19a6f"})


def explanation(result="backward/fc2/linear:1", wrong="B", reason="it promises numerics exact, and has other bits "
                "than exact gives here", **changes):
    """What a replay says of a pair; by default B, of which all is known, is wrong."""
    histogram = [1000, 200, 60, 18] + [0] * 30
    histogram[12] = 2
    return {"result": result, "shape": [10, 128], "began_at": 100,
            "a": {"recorded": True, "exact": True, "values": "this build", "cause": None, "ulps_from_float64": 0.4,
                  "share_of_bound": 0.011},
            "b": {"recorded": True, "exact": False, "values": "the cause", "cause": "the sum runs from the last term to the first",
                  "ulps_from_float64": 2047.4, "share_of_bound": 12.5},
            "elements": 1280, "different": 280,
            "element": {"index": [0, 3], "a": 0.12049275636672974, "b": 0.12049277871847153, "ulp": 3},
            "histogram": histogram, "referee": {"verdict": "B", "bound": "(n + 1) u times the sum of the terms' sizes"},
            "wrong": wrong, "reason": reason, **changes}


def traced(a, b, steps, at, name="backward/fc2/linear:1", explained=None):
    """A pair that parts at a traced result."""
    first = {"step": at, "table": "trace", "tensor": name, "a": "5c0b7c64e931d9f7", "b": "f5ef5e1d73960486",
             "also": [], "phase": name.split("/")[0], "module": "fc2", "operation": "linear"}
    return {**parted(a, b, steps, at), "first_divergence": first, "explanation": explained or explanation(name),
            "seconds_per_step": {"a": 0.0021, "b": 0.0014}}


def course(steps, start, doubling, ceiling, parameters=PARAMETERS):
    """The curve of a growth that doubles in `doubling` steps up to `ceiling`; the first parameter does not move."""
    def rows(name, factor):
        relative = [factor * min(start * 2 ** (step / doubling), ceiling) for step in steps]
        return {"name": name, "relative": relative, "median_ulp": [3] * len(steps), "max_ulp": [99] * len(steps),
                "doubling_time": {"steps": doubling, "from": steps[0], "to": steps[-1], "r_squared": 0.99}
                if factor else None}
    return {"steps": steps, "all": rows("all", 1), "loss": {"largest": 0.1, "step": 5, "last": 0.01},
            "parameters": [rows(name, factor) for factor, name in enumerate(parameters)]}


def growth(steps, ulps=(), seeds=(), parameters=PARAMETERS):
    """A growth of a comparison with these null runs, judged as rounding."""
    nulls = [{"run": str(run), "kind": "one ULP", "metrics": {}, **course(steps, 4e-8 * (i + 1), 60, 2e-3)}
             for i, run in enumerate(ulps)]
    nulls += [{"run": str(run), "kind": "other seed", "metrics": {}, **course(steps, 1.3 + i / 9, 1e9, 9)}
              for i, run in enumerate(seeds)]
    limit = {"steps": len(steps), "step": steps[3], "distance": 3e-7, "limit": 6e-7}
    return {**course(steps, 1e-7, 52, 3e-3, parameters), "verdict": "rounding" if ulps else None,
            "reason": "at every step at most 10 x the largest one-ULP distance so far" if ulps else
            "no null band: give --null", "rounding_factor": 10.0, "rounding": limit if ulps else None,
            "seeds": {**limit, "limit": 1.3} if seeds else None, "nulls": nulls,
            "bands": [{"metric": "test_loss", "b": 0.37, "low": 0.35, "high": 0.4, "runs": 1 + len(seeds),
                       "outside": False}] if len(seeds) > 1 else []}


def write_examples(root):
    """The sets equal, parted, grown, explained, interrupted, single, nan and alone, each with a comparisons.json."""
    root = Path(root)
    made = {}

    def write(name, runs, rows):
        (root / name / "comparisons.json").write_text(json.dumps(rows, indent=1))
        made[name] = runs

    e = root / "equal"
    runs = [make_run(e / "one-thread"), make_run(e / "two-threads", threads=2, speed=0.0012),
            make_run(e / "killed-and-resumed", threads=3, speed=0.0011)]
    write("equal", runs, [comparison(runs[0], r, 938) for r in runs[1:]])
    p = root / "parted"
    runs = [make_run(p / "exact"), make_run(p / "other-compiler", part_at=412, provenance={
        "compiler": "clang++ 14.0.6", "compiler_flags": "-std=c++20 -O3 -march=native", "isa": "avx512"},
        overrides=["numerics=fast"])]
    write("parted", runs, [parted(*runs, 938, 412)])
    g = root / "grown"
    runs = [make_run(g / "exact"), make_run(g / "fast", part_at=2, speed=0.0013)]
    ulps = [make_run(g / f"one-ulp-{i}", part_at=1 + i) for i in (0, 2)]
    seeds = [make_run(g / f"seed-{i}", seed=i) for i in (2, 3)]
    write("grown", runs, [{**parted(*runs, 938, 2), "growth": growth(list(range(20, 938, 20)), ulps, seeds),
                           "seconds_per_step": {"a": 0.0021, "b": 0.0014}}])
    x = root / "explained"
    runs = [make_run(x / "exact", steps=200, trace=TRACE),
            make_run(x / "broken", steps=200, part_at=118, trace=TRACE, trace_from=5,
                     provenance={"device": "simulated"})]
    write("explained", runs, [traced(*runs, 200, 118)])
    i = root / "interrupted"
    runs = [make_run(i / "whole"), make_run(i / "stopped", steps=400, planned=938, status="interrupted")]
    write("interrupted", runs, [comparison(*runs, 400, metrics={})])
    s = root / "single"
    runs = [make_run(s / "one-step", steps=1), make_run(s / "one-step-again", steps=1, threads=2)]
    write("single", runs, [comparison(*runs, 1)])
    n = root / "nan"
    runs = [make_run(n / "steady"), make_run(n / "blows-up", nan_at=120, part_at=118)]
    write("nan", runs, [parted(*runs, 938, 118)])
    runs = [make_run(root / "alone" / "only")]
    write("alone", runs, [])
    return made


if __name__ == "__main__":
    for kind, folders in write_examples(sys.argv[1]).items():
        print(kind, *folders)
