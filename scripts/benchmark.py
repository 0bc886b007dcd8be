"""What scripts/benchmark does once the packages are there: build, measure in rounds, judge, print."""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import benchmark_compare
from suite import RELEASE, ROOT, configure
from terminal import Stages, StageFailed, heading, paint

PROGRAM = RELEASE.folder / "tests" / "benchmark_cases"
TORCH_WORKER = ROOT / "scripts" / "torch_worker.py"
# How far the control, ours once more, may be from ours: the median of its speed over ours from 1, and its quartiles
# from each other.
CONTROL_LIMIT, SPREAD_LIMIT = 0.03, 0.08
# How much of the time the threads of a side may have waited for a processor, where the wall clock counts.
WAIT_LIMIT = 0.03
SECONDS, QUICK_SECONDS = 0.02, 0.005  # that one measurement lasts at least
FLOATS, QUICK_FLOATS = 1 << 26, 1 << 24  # of one operand on which bandwidth is measured
# OpenBLAS does not know many a virtual machine and falls back on kernels for the oldest processors.
CORE_TYPES = {"avx512": "SkylakeX", "avx2": "Haswell", "baseline": "Prescott"}
SIDES = ("ours", "peer", "control")
OURS = "ours with"  # how the name of a peer begins that is not one: ours in another way
FIGURES = {
    "tokens/s": lambda work, seconds: work / seconds,
    "GF/s": lambda work, seconds: work / seconds / 1e9,
    "GB/s": lambda work, seconds: work / seconds / 1e9,
    "ns/element": lambda work, seconds: seconds / work * 1e9,
    "ms/step": lambda work, seconds: seconds / work * 1e3,
}

# What train_step trains: the model as the workers take it (V,C,D,H,N,F,B of a decoder), the work of a step, its unit.
TRAININGS = {
    "MLP, batch 128": ("mlp", 1, "ms/step"),
    "decoder 20k": ("96,32,32,2,1,128,8", 8 * 32, "tokens/s"),
    "decoder 867k": ("256,64,128,4,4,512,8", 8 * 64, "tokens/s"),
    "decoder 5M": ("512,128,256,8,6,1024,4", 4 * 128, "tokens/s"),
}


class Failed(Exception):
    """Nothing can be said, for the reason that the text gives."""


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


def waited_share(times):
    return statistics.median(waited / wall for waited, wall in zip(times["waited"], times["wall"]))


def judge(sample):
    """The row of one case from its seconds per call in each round."""
    ours, peer, control = (sample[side][sample["clock"]] for side in SIDES)
    low, ratio, high = quartiles([b / a for a, b in zip(ours, peer)])
    control_low, control_ratio, control_high = quartiles([a / b for a, b in zip(ours, control)])
    steady = abs(control_ratio - 1) <= CONTROL_LIMIT and control_high - control_low <= SPREAD_LIMIT
    if sample["clock"] == "wall":
        steady = steady and all(waited_share(sample[side]) <= WAIT_LIMIT for side in SIDES)
    if sample["unit"] == "x":
        figures = {"ours": ratio, "peer": 1.0}
    else:
        figure = FIGURES[sample["unit"]]
        figures = {
            "ours": figure(sample["work"], statistics.median(ours)),
            "peer": figure(sample["work"], statistics.median(peer)),
        }
    return {
        "case": sample["case"],
        "ratio": ratio,
        **figures,
        "unit": sample["unit"],
        "against": sample["against"],
        "control": control_ratio,
        "control_spread": [control_low, control_high],
        "spread": [low, high],
        "clock": sample["clock"],
        "verdict": "ok" if steady else "unsteady",
        **({"peak_memory": sample["peak_memory"]} if "peak_memory" in sample else {}),
        **({"price": 1 / ratio} if sample["against"] == "fast" else {}),
    }


def geometric_means(rows):
    """Of the ratios of all steady cases (None when there are none), and for each peer; ours with ours is left out."""
    ratios = {}
    for row in rows:
        if row["verdict"] == "ok" and not row["against"].startswith(OURS):
            ratios.setdefault(row["against"], []).append(row["ratio"])
    means = {peer: statistics.geometric_mean(values) for peer, values in ratios.items()}
    return statistics.geometric_mean(sum(ratios.values(), [])) if ratios else None, means


def show(row):
    verdict = f"  price {row['price']:.3f}" if "price" in row else ""
    if "peak_memory" in row:
        verdict = f"  peak {row['peak_memory']['ours']:.0f} and {row['peak_memory']['peer']:.0f} MiB"
    if row["verdict"] != "ok":
        verdict += "  " + paint("unsteady", "31;1")
    print(
        f"  {row['case']:<30} {row['ratio']:7.3f}  [{row['spread'][0]:.3f}, {row['spread'][1]:.3f}]"
        f"  {row['ours']:9.3f} {row['peer']:9.3f} {row['unit']:<10}"
        f"  {row['control']:.3f}  [{row['control_spread'][0]:.3f}, {row['control_spread'][1]:.3f}]{verdict}",
        flush=True,
    )


def conclude(result, as_json):
    """Adds the means to `result`, prints them or all as JSON, and returns the exit status."""
    rows = result["rows"]
    result["geometric_mean"], means = geometric_means(rows)
    result["geometric_means"] = means
    unsteady = [row["case"] for row in rows if row["verdict"] == "unsteady"]
    print()
    for peer, mean in means.items():
        of_this = [row for row in rows if row["against"] == peer]
        steady = sum(row["verdict"] == "ok" for row in of_this)
        print(f"  geometric mean against {peer}: {mean:.3f}, of {steady} of {len(of_this)} cases")
    if as_json:
        print(json.dumps(result, indent=1), file=sys.__stdout__)
    if unsteady:
        print(
            f"benchmark: {len(unsteady)} of {len(rows)} cases were not judged, because our own speed changed within "
            f"a round or threads had to wait for a processor ({', '.join(unsteady[:4])}{', …' if len(unsteady) > 4 else ''}); "
            "repeat it on a quiet machine",
            file=sys.stderr,
        )
    return 1 if unsteady else 0


def build(stages):
    configure(stages, RELEASE, strict=False)
    stages.run("release: build the benchmarks", ["ninja", "-C", RELEASE.folder, "tests/benchmark_cases"])


def about():
    done = subprocess.run([PROGRAM, "about"], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return json.loads(done.stdout)


def provenance():
    """What is measured on what, and the environment in which our and the peer's processes run."""
    facts = about()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(facts["threads"])}
    chosen = environment.setdefault("OPENBLAS_CORETYPE", CORE_TYPES[facts["isa"]])
    by = "from the environment" if "OPENBLAS_CORETYPE" in os.environ else f"chosen for {facts['isa']}"
    facts["openblas_coretype"] = f"{chosen}, {by}"
    facts["date"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    facts["load_at_start"] = os.getloadavg()
    return facts, environment


def memory_for(floats):
    """Fewer than `floats`, where six operands of that size would take more than half of the memory that is left."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    available = int(lines["MemAvailable"].split()[0]) * 1024
    while 6 * 4 * floats > available / 2:
        floats //= 2
    return floats


def samples_of_program(options, facts, environment):
    """The cases of gemm, elementwise, price or cuda, each as soon as it was measured."""
    seconds = QUICK_SECONDS if options.quick else SECONDS
    floats = memory_for(QUICK_FLOATS if options.quick else FLOATS)
    if options.what == "elementwise":
        facts["floats_of_one_operand"] = floats
    command = [PROGRAM, options.what, options.rounds, seconds, floats, options.case]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    with process:
        for line in process.stdout:
            sample = json.loads(line)
            if "provenance" in sample:
                facts.update(sample["provenance"])
            elif "peer" not in sample:
                process.kill()
                raise Failed(f"{sample['case']}: nothing to compare with: {sample['against']}")
            else:
                yield sample
        error = process.stderr.read().strip()
    if process.returncode:
        raise Failed(error or f"{PROGRAM} ended with status {process.returncode}")


class Worker:
    """A process that sleeps until it is told to take training steps."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.losses = []

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.process.args[0]} ended with status {self.process.wait()}")
        return json.loads(line)

    def steps(self, number):
        """Seconds per step by each clock."""
        print(number, file=self.process.stdin, flush=True)
        answer = self.read()
        self.losses.append(answer.pop("loss"))
        return {clock: seconds / number for clock, seconds in answer.items()}

    def require_training(self):
        """The loss of the first step, and the median of the last measurements."""
        if not statistics.median(self.losses[-3:]) < self.losses[0]:
            raise Failed(f"{self.process.args}: the loss went from {self.losses[0]} to {self.losses[-1]}")

    def peak_memory(self):
        """The most that the process has held so far, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def take_turns(ours, peer, rounds, pause):
    """The times of ours, the peer and ours again in each round, every second round backwards."""
    sides = list(zip(SIDES, (ours, peer, ours)))
    times = {name: {} for name, _ in sides}
    for number in range(rounds):
        for name, side in sides if number % 2 == 0 else sides[::-1]:
            time.sleep(pause)
            for clock, seconds in side().items():
                times[name].setdefault(clock, []).append(seconds)
    return times


def samples_of_training(options, facts, environment):
    for name, (model, work, unit) in TRAININGS.items():
        with_digests = f"{name.split(',')[0]} with digests"
        if options.case not in name and options.case not in with_digests:
            continue
        # The threads of a peer may spin for a while after their work, on the processors that ours need next.
        clock, pause = ("cpu", 0) if facts["threads"] == 1 else ("wall", 0.05)
        with contextlib.ExitStack() as processes:
            start = lambda *command: processes.enter_context(contextlib.closing(Worker(command, environment)))
            torch = lambda way: start(sys.executable, TORCH_WORKER, facts["threads"], model, way)
            plain, digests = (start(PROGRAM, "train_step", model, level) for level in ("none", "step"))
            ways = {f"AdamW(foreach={way == 'foreach'})": torch(way) for way in ("plain", "foreach")}
            for worker in ways.values():
                told = worker.read()
            workers = [plain, digests, *ways.values()]
            for worker in workers:
                worker.steps(1)
                worker.steps(5)
            # A step takes milliseconds: the fewest that make up a measurement five times as long as usual.
            number = 1 + int(5 * (QUICK_SECONDS if options.quick else SECONDS) / plain.steps(5)["wall"])
            run = lambda worker: lambda: worker.steps(number)
            both = take_turns(*map(run, ways.values()), 3, pause)
            times = {way: both[side][clock] for way, side in zip(ways, SIDES)}
            best = min(times, key=lambda way: statistics.median(times[way]))
            facts.update({**told, f"peer of {name}": best})
            cases = ((name, "PyTorch", plain, ways[best]), (with_digests, "ours without digests", digests, plain))
            for case, against, ours, peer in cases:
                if options.case in case:
                    sample = {"case": case, "unit": unit, "against": against, "work": work, "clock": clock}
                    sample.update(take_turns(run(ours), run(peer), options.rounds, pause))
                    yield {**sample, "peak_memory": {"ours": ours.peak_memory(), "peer": peer.peak_memory()}}
            for worker in workers:
                worker.require_training()


def finished(options, facts, rows):
    """The result of all cases, with what they were measured on, which is printed."""
    if not rows:
        raise Failed(f'no case of {options.what} holds "{options.case}"')
    facts["load_at_end"] = os.getloadavg()
    print()
    for name, value in facts.items():
        print(f"  {name:<22} {value}")
    return {"benchmark": options.what, "provenance": facts, "rows": rows}


def run(options):
    build(Stages(ROOT / "build" / "logs"))
    facts, environment = provenance()
    print()
    heading(f"Assay benchmark {options.what}: our speed over the peer's, the median of {options.rounds} rounds")
    print(f"  {'case':<30} {'ratio':>7}  {'quartiles':<14}  {'ours':>9} {'peer':>9} {'unit':<10}  control", flush=True)
    rows = []
    samples = samples_of_training if options.what == "train_step" else samples_of_program
    for sample in samples(options, facts, environment):
        rows.append(judge(sample))
        show(rows[-1])
    return finished(options, facts, rows)


def run_compare(options):
    """Prints seconds and memory; the exit status is 1 when a limit is not held."""
    stages = Stages(ROOT / "build" / "logs")
    build(stages)
    stages.run("release: build the command", ["ninja", "-C", RELEASE.folder, "src/app/assay"])
    facts = {**about(), "load_at_start": os.getloadavg()}
    print()
    heading(f"Assay benchmark compare: two runs, page cache warm, the median of {options.rounds} rounds")
    print(f"  {'case':<42} {'seconds':>8} {'of CPU':>8} {'MB':>6}  limit", flush=True)
    found = []
    for row in benchmark_compare.rows(PROGRAM, RELEASE.folder / "src" / "app" / "assay", options, Failed):
        found.append(row)
        limit = f"{row['limit']:g}" if row["limit"] else "none"
        if row["limit"] and row["seconds"] > row["limit"]:
            limit += "  " + paint("not held", "31;1")
        print(f"  {row['case']:<42} {row['seconds']:8.2f} {row['processor_seconds']:8.2f} {row['most_megabytes']:6.0f}"
              f"  {limit}", flush=True)
    result = finished(options, facts, found)
    if options.json:
        print(json.dumps(result, indent=1), file=sys.__stdout__)
    return 1 if any(row["limit"] and row["seconds"] > row["limit"] for row in found) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("gemm", "elementwise", "price", "train_step", "cuda", "compare"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", default="")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 5 if options.quick else 11
    if options.rounds < 3:
        parser.error(f"--rounds: expected at least 3, found {options.rounds}")
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        try:
            return run_compare(options) if options.what == "compare" else conclude(run(options), options.json)
        except (Failed, StageFailed) as failure:
            print(f"benchmark: {failure}", file=sys.stderr)
            if isinstance(failure, StageFailed):
                print(f"full output: {failure.log}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
