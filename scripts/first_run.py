"""What scripts/quickstart does once the packages are there: build, train three times, compare, report, sum up."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from terminal import Stages, StageFailed, duration, heading, paint, table

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
ASSAY = BUILD / "src" / "app" / "assay"
EXPERIMENT = Path("experiments/fashion_mnist/smoke.toml")
REQUIRED_ACCURACY = 0.85
REFERENCE_STEPS = 20
REFERENCE_POLICY = "close:1e-3,1e-4"


def new_folder(parent):
    """The first free numbered folder, made by this call alone even when two calls run at once."""
    parent.mkdir(exist_ok=True)
    number = 1 + max((int(path.name) for path in parent.iterdir() if path.name.isdigit()), default=0)
    while True:
        try:
            (parent / f"{number:04d}").mkdir()
            return parent / f"{number:04d}"
        except FileExistsError:
            number += 1


def build(stages):
    if not (BUILD / "build.ninja").exists():
        cache = "ccache " if shutil.which("ccache") else ""
        compilers = {"CC": os.environ.get("CC", f"{cache}gcc"), "CXX": os.environ.get("CXX", f"{cache}g++")}
        stages.run(
            "configure",
            ["meson", "setup", BUILD, ROOT, "--buildtype=release", "-Dtests=false", "--unity=on", "--unity-size=8"],
            env={**os.environ, **compilers},
        )
    stages.run("build", ["ninja", "-C", BUILD, "src/app/assay"])


def run_command(folder, threads, *more, device="cpu"):
    return [ASSAY, "run", EXPERIMENT, "--device", device, "--threads", str(threads), "--out", folder, *more]


def cuda_device():
    """("cuda", what it is) where there is a GPU to use, else ("simulated", why there is none)."""
    text = subprocess.run([ASSAY, "devices"], capture_output=True, text=True, check=True).stdout
    usable, detail = re.search(r"^cuda +(usable|not usable) +(.*)$", text, re.MULTILINE).groups()
    return ("cuda" if usable == "usable" else "simulated"), detail


def attributes(folder, group):
    """Attributes of a group of a finished run's record."""
    import h5py

    with h5py.File(folder / "run.h5") as file:
        return dict(file[group].attrs)


def result_of(folder):
    return attributes(folder, "result")


def last_checkpoint(folder):
    return max((int(path.stem.split("-")[1]) for path in (folder / "checkpoints").glob("step-*.h5")), default=0)


def kill_part_way(stages, folder, least_step):
    """Starts the training once more, kills it after a checkpoint of at least that step; returns the last one's step."""
    name, begin = "train, kill -9 part way", time.monotonic()
    log = stages.folder / "train-killed.log"
    with open(log, "wb") as output:
        command = [str(part) for part in run_command(folder, 1)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        while process.poll() is None and last_checkpoint(folder) < least_step:
            time.sleep(0.02)
        time.sleep(0.1)
        process.kill()
        killed = process.wait() == -signal.SIGKILL
    step = last_checkpoint(folder)
    good = killed and step >= least_step
    stages.done(name, time.monotonic() - begin, good, f"its last checkpoint: step {step}")
    if not good:
        raise StageFailed(name, "it ended before it could be killed", log)
    return step


def compare(stages, name, a, b, policy="bitwise"):
    """Whether `assay compare` says that the policy holds, and its words."""
    status, text = stages.run(
        f"compare {name}",
        [ASSAY, "compare", a, b, "--policy", policy, "--json"],
        accept=(0, 1),
        note=lambda text: f"{policy} holds" if '"holds": true' in text or '"holds":true' in text else "differs",
        cwd=ROOT,
    )
    verdict = json.loads(text[text.index("{") :])
    holds = status == 0 and verdict["holds"] is True
    return holds, policy if holds else f"differs: {json.dumps(verdict.get('first_divergence'))}"


def selftest(stages):
    """(whether one digest came out, on what) of `assay selftest` with each instruction set that this processor has."""
    name, begin, digests, ran = "selftest, each instruction set", time.monotonic(), set(), []
    for isa in ("baseline", "avx2", "avx512"):
        for threads in (1, 3):
            command = [ASSAY, "selftest", "--threads", str(threads)]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASSAY_ISA": isa})
            if done.returncode == 2 and isa != "baseline":
                break  # this processor lacks it
            digests.add(done.stdout.strip() if done.returncode == 0 else done.stderr.strip())
        else:
            ran.append(isa)
    stages.done(name, time.monotonic() - begin, len(digests) == 1, ", ".join(sorted(digests))[:16] + "...")
    return len(digests) == 1, f"{', '.join(ran)}, each with 1 and 3 threads: {' / '.join(sorted(digests))[:16]}..."


def main():
    os.chdir(ROOT)
    folder = new_folder(ROOT / "runs").relative_to(ROOT)
    heading(f"Assay quickstart, in {folder}/")
    stages = Stages(folder / "logs")
    claims = []  # (claim, verdict, evidence, held)

    def claim(text, held, evidence):
        claims.append((text, "proven" if held else "FAILED", evidence))

    try:
        build(stages)
        one, two, resumed = folder / "threads-1", folder / "threads-2", folder / "resumed"
        accuracy = lambda path: lambda _: f"test accuracy {result_of(path)['test_accuracy']:.4f}"
        stages.run("train, 1 thread", run_command(one, 1), note=accuracy(one))
        stages.run("train, 2 threads", run_command(two, 2), note=accuracy(two))
        steps = int(result_of(one)["steps"])
        step = kill_part_way(stages, resumed, steps // 3)
        stages.run("resume it", run_command(resumed, 1, "--resume"), note=accuracy(resumed))

        evidence = f"{steps} steps: every digest of every step, and the final tensors"
        for name, a, b, text in (
            ("1 with 2 threads", one, two, "same bits on 1 and on 2 threads"),
            ("uninterrupted with resumed", one, resumed, "same bits when killed and resumed"),
            ("2 threads with resumed", two, resumed, "same bits: 2 threads, and killed and resumed"),
        ):
            holds, words = compare(stages, name, a, b)
            claim(text, holds, evidence if holds else words)
        claims[1] = (*claims[1][:2], f"{claims[1][2]}; killed after step {step}")
        if attributes(one, "provenance")["isa"] == "avx512":
            avx2, avx2_only = folder / "avx2", {**os.environ, "ASSAY_ISA": "avx2"}
            stages.run("train, AVX2 kernels", run_command(avx2, 1), note=accuracy(avx2), env=avx2_only)
            holds, words = compare(stages, "AVX-512 with AVX2", one, avx2)
            claim("same bits from AVX-512 and from AVX2 kernels", holds, evidence if holds else words)

        device, gpu = cuda_device()
        other = folder / device
        stages.run(f"train, device {device}", run_command(other, 1, device=device), note=accuracy(other))
        holds, words = compare(stages, f"cpu with {device}", one, other)
        if device == "cuda":
            claim("same bits on a GPU", holds, f"{evidence if holds else words}; {gpu}")
        else:
            claim("same bits from the kernels of CUDA, run lane by lane on the cpu", holds, evidence if holds else words)

        short = ["--set", f"train.steps={REFERENCE_STEPS}"]
        cpu, reference = folder / "cpu-short", folder / "reference-short"
        stages.run(f"train {REFERENCE_STEPS} steps, cpu", run_command(cpu, 1, *short))
        stages.run(
            f"train {REFERENCE_STEPS} steps, reference",
            run_command(reference, 1, *short, device="reference"),
        )
        holds, words = compare(stages, "cpu with float64 reference", cpu, reference, REFERENCE_POLICY)
        claim("close to the float64 reference", holds, f"{REFERENCE_STEPS} steps, {words}")

        claim("every operation alike on all instruction sets", *selftest(stages))
        reached = float(result_of(one)["test_accuracy"])
        claim(
            f"test accuracy of at least {REQUIRED_ACCURACY}",
            reached >= REQUIRED_ACCURACY,
            f"{reached:.4f} on 10,000 test images",
        )
        stages.run("report", [ASSAY, "report", one, two, resumed, other, "--out", folder / "report"])
        index = folder / "report" / "index.html"
        if not index.exists():
            raise StageFailed("report", f"there is no {index}", stages.folder / "report.log")
    except StageFailed as failure:
        print(f"\n{paint('failed', '31;1')}  {failure}\n", file=sys.stderr)
        lines = failure.log.read_text(errors="replace").splitlines()
        print("".join(f"    {line}\n" for line in lines[-12:]), end="", file=sys.stderr)
        print(f"\nFull output: {failure.log}", file=sys.stderr)
        return 1

    not_run = [] if device == "cuda" else [("same bits on a GPU", "not run", gpu)]
    not_run += [
        ("same bits on another CPU", "not run", "one machine here; compare run folders from two with assay compare"),
        ("all contracts of the library", "not run", "scripts/test does that"),
    ]
    print()
    table([*claims, *not_run], ("what", "here", "seen on, or why not"))
    print(f"\n  All of it took {duration(time.monotonic() - stages.started)}. The report:\n\n    {(ROOT / index)}\n")
    heading("To go on")
    assay = ASSAY.relative_to(ROOT)
    print(f"    {assay} run experiments/fashion_mnist/full.toml --out runs/mine   # or a file of your own")
    print(f"    {assay} compare {one} {resumed} --policy bitwise")
    print("    scripts/test")
    failed = [row for row in claims if row[1] != "proven"]
    if failed:
        print("\n" + paint("failed", "31;1") + "  " + "; ".join(row[0] for row in failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
