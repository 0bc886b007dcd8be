"""Builds each configuration, runs its tests and counts the test cases in the JUnit files that every test writes."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from terminal import Stages, StageFailed, duration, heading, paint

ROOT = Path(__file__).resolve().parent.parent
SELFTEST_THREADS = (1, 2, 3, 7)
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


@dataclass
class Configuration:
    """One way to build; `repository` adds the checks that look at files only and so need one build."""

    name: str
    options: list
    compiler: tuple = ("gcc", "g++")
    repository: bool = False
    timeout_multiplier: int = 4
    prefix: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    unity: bool = True  # headers are read once for eight sources, which halves the time of a build
    only: list = field(default_factory=list)  # tests by name; none: all

    @property
    def folder(self):
        return ROOT / "build" / self.name


# Lines and functions for a sanitizer's report: where variables are would double the time of a build.
DEBUG = ["--buildtype=debug", "-Doptimization=1", "-Dcpp_args=-g1"]
RELEASE = Configuration("release", ["--buildtype=release"], repository=True)
OTHERS = [
    Configuration(
        "address",
        [*DEBUG, "-Db_sanitize=address,undefined", "-Dcuda=disabled"],
        timeout_multiplier=10,
        environment={"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"},
    ),
    Configuration(
        "thread",
        [*DEBUG, "-Db_sanitize=thread", "-Dcuda=disabled"],
        timeout_multiplier=20,
        prefix=["setarch", "-R"],  # the run time of GCC 12 gives up on kernels that randomise 32 bits of an address
        environment={"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
        # A fiber costs this sanitizer milliseconds, and simulated kernels have millions.
        only=["cpu", "cpu_numerics", "public"],
    ),
    # As on a machine without the CUDA toolkit: nothing else is searched than a folder that is given. Each source is
    # compiled alone, as developers do.
    Configuration(
        "clang", ["--buildtype=release", "-Dcuda-home=/nowhere"], compiler=("clang", "clang++"), unity=False
    ),
]


@dataclass
class Totals:
    passed: int = 0
    failures: list = field(default_factory=list)  # (configuration, test, message)
    skips: Counter = field(default_factory=Counter)  # reason -> number

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def text(self):
        return f"{self.passed} passed, {len(self.failures)} failed, {self.skips.total()} skipped"


def read_junit(path, configuration):
    """Test cases of one file. One that the command line did not select is marked 'disabled' and counts as nothing."""
    totals = Totals()
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{path.stem.removesuffix('.junit')}: {case.get('classname')}/{case.get('name')}"
        broken = [part for part in case if part.tag in ("failure", "error")]
        skipped = case.find("skipped")
        if broken:
            totals.failures.append((configuration, name, (broken[0].text or broken[0].get("message") or "").strip()))
        elif skipped is None:
            totals.passed += 1
        else:
            reason = skipped.get("message") or case.findtext("system-out", "")
            match = re.search(r"reason: '(?:precondition failed: )?(.*)'", reason, re.DOTALL)
            reason = match.group(1) if match else reason
            if reason != "disabled":
                totals.skips[f"{configuration}: {reason.strip()}"] += 1
    return totals


def configure(stages, configuration, strict):
    folder = configuration.folder
    cache = ["ccache"] if shutil.which("ccache") else []
    compilers = {
        "CC": " ".join([*cache, configuration.compiler[0]]),
        "CXX": " ".join([*cache, configuration.compiler[1]]),
    }
    configured = (folder / "build.ninja").exists()
    options = [*configuration.options, f"-Dwerror={str(strict).lower()}", "-Dtests=true"]
    options += ["--unity=on", "--unity-size=8"] if configuration.unity else []
    stages.run(
        f"{configuration.name}: configure",
        ["meson", "setup", *(["--reconfigure"] if configured else []), folder, ROOT, *options],
        env={**os.environ, **compilers},
        note=lambda text: "CUDA " + re.search(r"^\s+cuda\s*: (.*)$", text, re.MULTILINE).group(1),
    )


def build(stages, configuration, strict):
    configure(stages, configuration, strict)
    stages.run(f"{configuration.name}: build", ["ninja", "-C", configuration.folder])


def test(stages, configuration, slow):
    """Runs the tests of one build; returns their totals."""
    folder, name = configuration.folder, configuration.name
    results = folder / "meson-logs" / "testlog.json"
    for old in [results, *(folder / "tests").glob("**/*.junit.xml")]:
        old.unlink(missing_ok=True)
    command = [*configuration.prefix, "meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs"]
    command += ["--timeout-multiplier", configuration.timeout_multiplier]
    command += [] if configuration.repository else ["--no-suite", "repository"]
    command += [] if slow else ["--no-suite", "slow"]
    command += configuration.only
    totals = Totals()

    def count(_):
        for path in sorted((folder / "tests").glob("**/*.junit.xml")):
            if path.stat().st_size > 0:  # else the program died, which the list of results says
                totals.add(read_junit(path, name))
        # A program that died before it could write its file, or failed outside of its cases.
        for line in results.read_text().splitlines() if results.exists() else []:
            result = json.loads(line)
            label = result["name"].split(" / ")[-1]
            known = any(entry[1].startswith(f"{label}: ") for entry in totals.failures)
            if result["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not known:
                end = "\n".join((result.get("stdout", "") + result.get("stderr", "")).strip().splitlines()[-12:])
                ending = f"{result['result']}, exit status {result.get('returncode')}"
                totals.failures.append((name, f"{label}: the program", f"{ending}\n{end}"))
        return totals.text()

    environment = {**os.environ, **configuration.environment}
    begin = time.monotonic()
    log = stages.folder / f"{name}-tests.log"
    status, _ = stages.run(f"{name}: tests", command, accept=range(256), note=count, env=environment)
    if status != 0 and not totals.failures:
        totals.failures.append(
            (name, "meson test", f"exit status {status} after {duration(time.monotonic() - begin)}; see {log}")
        )
    return totals


def sabotage(stages):
    """Each promise of the manual must be seen to fail when it is broken on purpose."""
    groups = sorted(path.stem for path in (ROOT / "reference/contracts").glob("*.md") if path.stem != "README")
    result = stages.folder / "sabotage.junit.xml"
    result.unlink(missing_ok=True)
    totals = Totals()

    def count(_):
        if result.exists():
            totals.add(read_junit(result, RELEASE.name))
        return totals.text()

    command = [RELEASE.folder / "src/app/assay", "contracts", *groups, "--sabotage", "--junit", result]
    status, text = stages.run("release: sabotage", command, accept=range(-64, 256), note=count)
    if status != 0 and not totals.failures:
        totals.failures.append((RELEASE.name, "assay contracts --sabotage", f"exit status {status}\n{text[-2000:]}"))
    return totals


def has_gpu(configuration):
    """Whether the device cuda of that build can be used on this machine."""
    command = [*configuration.prefix, configuration.folder / "src/app/assay", "devices"]
    environment = {**os.environ, **configuration.environment}
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, env=environment).stdout
    return re.search(r"^cuda +usable ", text, re.MULTILINE) is not None


def selftest(stages, configurations):
    """`assay selftest` must print one digest: every build, thread count, instruction set and device."""
    totals, places, reasons = Totals(), {}, {}
    settings = [(threads, None, "cpu") for threads in SELFTEST_THREADS]
    settings += [(2, isa, "cpu") for isa in INSTRUCTION_SETS] + [(2, None, "simulated")]
    begin = time.monotonic()
    for configuration in configurations:
        on_gpu = [(2, None, "cuda")] if has_gpu(configuration) else []
        for threads, isa, device in settings + on_gpu:
            if configuration.only and device not in configuration.only:
                continue
            place = f"{configuration.name}, {device}, {threads} threads" + (f", {isa}" if isa else "")
            command = [
                *configuration.prefix,
                configuration.folder / "src/app/assay",
                "selftest",
                "--threads",
                str(threads),
                "--device",
                device,
            ]
            environment = {**os.environ, **configuration.environment, **({"ASSAY_ISA": isa} if isa else {})}
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
            if done.returncode == 2 and isa:
                totals.skips[f"selftest: {done.stderr.strip()}"] += 1
                continue
            digest = done.stdout.strip() if done.returncode == 0 else f"none, exit status {done.returncode}"
            places.setdefault(digest, []).append(place)
            reasons[place] = done.stderr.strip()
    usual = max(places, key=lambda digest: len(places[digest]))
    for digest, where in places.items():
        if digest == usual and re.fullmatch("[0-9a-f]{64}", digest):
            totals.passed += len(where)
        else:
            message = f"digest {digest}; most have {usual}"
            totals.failures += [("selftest", place, f"{message}\n{reasons[place]}") for place in where]
    note = f"{usual[:16]}... from {totals.passed} of builds x threads, instruction sets and devices"
    stages.done("selftest", time.monotonic() - begin, not totals.failures, note)
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every build and the slow tests")
    arguments = parser.parse_args()

    stages = Stages(ROOT / "build" / "logs")
    configurations = [RELEASE]
    if arguments.all:
        RELEASE.options.append("-Dsabotage=true")
        configurations += OTHERS
    heading(f"Assay tests: {', '.join(configuration.name for configuration in configurations)}")
    totals, built = Totals(), []
    for configuration in configurations:
        try:
            build(stages, configuration, strict=arguments.all)
        except StageFailed as failure:
            totals.failures.append(
                (configuration.name, "build", f"{failure}\n{last_errors(failure.log)}\nlog: {failure.log}")
            )
            continue
        built.append(configuration)
        totals.add(test(stages, configuration, slow=arguments.all and configuration is RELEASE))
    if arguments.all and RELEASE in built:
        totals.add(sabotage(stages))
    if built:
        totals.add(selftest(stages, built))

    if totals.failures:
        print()
        heading("Failed")
        for configuration, name, message in totals.failures[:40]:
            print(f"  {paint(configuration, '31')} {name}")
            lines = [line for line in message.splitlines() if line.strip()]
            print("".join(f"      {line}\n" for line in lines[:14]), end="")
        if len(totals.failures) > 40:
            print(f"  … and {len(totals.failures) - 40} more")
        print(f"  full output: {stages.folder}/")
    if totals.skips:
        print()
        heading("Skipped, and why")
        for reason, number in sorted(totals.skips.items()):
            print(f"  {number:>5}  {reason}")
    print(f"\nAll of it took {duration(time.monotonic() - stages.started)}.")
    print(totals.text(), flush=True)
    return 1 if totals.failures or not totals.passed else 0


def last_errors(log):
    lines = Path(log).read_text(errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"\b(error|ERROR|FAILED)\b", line)]
    return "\n".join((errors or lines)[-8:])


if __name__ == "__main__":
    sys.exit(main())
