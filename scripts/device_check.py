"""What scripts/device_check does: checks and measures cuda with the programs of a bundle, within a deadline."""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from device_bundle import FOLDER, ROOT, CannotRun, glibc_here, opened, pack
from device_checks import REHEARSED, CheckFailed, Machine, Outcome, TimedOut, checks_for
from terminal import StageFailed, duration, heading, paint, table

RESULTS = ROOT / "reference" / "device_results"
COLOUR = {"pass": "32", "fail": "31;1", "not available": "33", "not run": "33"}


def perform(check, machine, left):
    """The outcome of one check with `left` seconds until the deadline."""
    if left < check.needs:
        return Outcome("not run", f"{max(left, 0):.0f} s were left until the deadline, and it needs {check.needs:.0f}")
    limit = min(check.limit, left)
    try:
        return check.run(machine, limit)
    except TimedOut:
        if limit < check.limit:
            return Outcome("not run", f"cut off by the deadline after {limit:.0f} s")
        return Outcome("fail" if check.proves else "not run", f"not finished within {limit:.0f} s")
    except CheckFailed as failure:
        return Outcome("fail", str(failure))


def run_checks(checks, machine, deadline):
    """Rows of all checks, with a line for each as it goes; `deadline` is a time of the monotonic clock."""
    rows = []
    for check in checks:
        print(f"  {check.name:<34} ", end="", flush=True)
        begin = time.monotonic()
        outcome = perform(check, machine, deadline - begin)
        seconds = time.monotonic() - begin
        mark = paint(f"{outcome.verdict:<14}", COLOUR[outcome.verdict])
        print(f"{mark}{duration(seconds):>10}   {outcome.evidence[:100]}", flush=True)
        row = {"name": check.name, "verdict": outcome.verdict, "seconds": round(seconds, 3)}
        rows.append({**row, "evidence": outcome.evidence})
    return rows


def verdict_of(rows):
    verdicts = {row["verdict"] for row in rows}
    return "fail" if "fail" in verdicts else "incomplete" if "not run" in verdicts else "pass"


def cpu_model():
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match.group(1) if match else "unknown"


def provenance(manifest, description):
    facts = {key: manifest[key] for key in ("commit", "dirty", "sources", "compiler", "build_type", "nvcc", "packed")}
    gpu = re.match(r"(.+), ([\d.]+ GiB), compute capability ([\d.]+), (driver .+), runtime ([\d.]+)$", description)
    named = ("gpu", "gpu_memory", "compute_capability", "driver", "cuda_runtime")
    facts.update(dict(zip(named, gpu.groups())) if gpu else {"device": description})
    facts.update({"cpu": cpu_model(), "cores": os.cpu_count(), "glibc": glibc_here()})
    facts["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return facts


def place_for(facts):
    gpu = re.sub(r"[^a-z0-9]+", "-", facts["gpu"].lower()).strip("-")
    return RESULTS / f"{gpu}-{facts['commit'][:12]}{'-dirty' if facts['dirty'] else ''}.json"


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    new.replace(path)


def show(result):
    print()
    rows = [(row["name"], row["verdict"], duration(row["seconds"]), row["evidence"][:160]) for row in result["checks"]]
    table(rows, ("check", "verdict", "took", "evidence"))
    timings = (result["timings"] or {}).get("rows", [])
    if timings:
        print()
        ratio = lambda row: f"{row['ratio']:.3f}" if row["ratio"] else "-"
        spread = lambda row: "{:.3f} … {:.3f}".format(*row["spread"]) if row["spread"] else "-"
        figure = lambda value: "-" if value is None else f"{value:.3f}"
        lines = [
            (row["case"], row["against"][:40], ratio(row), spread(row), figure(row["ours"]), figure(row["peer"]))
            + (row["unit"], row["verdict"])
            for row in timings
        ]
        table(lines, ("timing", "against", "ratio", "quartiles", "exact", "peer", "unit", ""))
    words = {"pass": "nothing failed", "fail": "failed", "incomplete": "not all of it was run"}[result["verdict"]]
    where = " (a rehearsal on simulated)" if result["rehearsal"] else ""
    print(f"\n  {words}, {duration(result['seconds'])}{where}")


def check_machine(options, manifest, bundle, begin):
    device = REHEARSED if options.rehearse else "cuda"
    with tempfile.TemporaryDirectory(prefix="assay-device-check-") as folder:
        machine = Machine(bundle, Path(folder), device)
        facts = provenance(manifest, machine.described())
        what = f"Assay device check{', rehearsal' if machine.rehearsal else ''}"
        heading(f"{what}: {facts.get('gpu', device)}, commit {facts['commit'][:12]}, at most {options.deadline:.0f} s")
        rows = run_checks(checks_for(device), machine, begin + options.deadline)
        return {
            "format": 1,
            "rehearsal": machine.rehearsal,
            "verdict": verdict_of(rows),
            "device": device,
            "deadline": options.deadline,
            "seconds": round(time.monotonic() - begin, 3),
            "provenance": facts,
            "checks": rows,
            "timings": machine.timings,
        }


def main(arguments=None, bundle=FOLDER):
    begin = time.monotonic()
    parser = argparse.ArgumentParser(prog="device_check", description=__doc__)
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--may-pack", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--deadline", type=float, default=480.0)
    options = parser.parse_args(arguments)
    try:
        if options.pack:
            pack(bundle)
            return 0
        try:
            manifest = opened(bundle)
        except CannotRun as reason:
            if not options.may_pack:
                raise
            print(f"{reason}\nPacking it first, because what it takes is installed here.", flush=True)
            manifest, begin = pack(bundle), time.monotonic()
        result = check_machine(options, manifest, bundle, begin)
    except CannotRun as reason:
        print(f"device_check: {reason}", file=sys.stderr)
        return 2
    except StageFailed as failure:
        print(f"device_check: {failure}\nfull output: {failure.log}", file=sys.stderr)
        return 2
    show(result)
    out = options.out or (None if options.rehearse else place_for(result["provenance"]))
    if out:
        write(out, result)
        print(f"  {out}")
    return 0 if result["verdict"] == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())
