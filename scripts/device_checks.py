"""The checks of scripts/device_check: each runs programs of a bundle and says what came of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

import benchmark
from device_bundle import EXPERIMENT, ROOT, CannotRun, environment_for, toolkits, unpack

REHEARSED = "simulated"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PRODUCTS = "*matmul*,*linear*,*products*"  # of the suite cuda; what is before a comma shares its suite


@dataclass
class Outcome:
    """What a check found; "not run" is for those that the deadline left out or cut off."""

    verdict: str  # pass | fail | not available | not run
    evidence: str


class TimedOut(Exception):
    """A program was ended, because its time was over."""


class CheckFailed(Exception):
    """The reason for which a check has failed."""


@dataclass
class Check:
    name: str
    run: object  # (Machine, seconds) -> Outcome
    limit: float  # seconds after which it is ended
    needs: float  # seconds that have to be left to begin with it
    proves: bool = True  # a promise: whoever takes longer than the limit has not kept it


@dataclass
class Done:
    status: int
    text: str
    errors: str

    @property
    def words(self):
        """The last line that says something."""
        lines = [line.strip() for line in (self.errors + "\n" + self.text).splitlines() if line.strip()]
        return f"exit status {self.status}" + (f": {lines[-1][:300]}" if lines else "")


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
    process.wait()


class Clock:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


class Machine:
    """The programs of a bundle on this machine, and what several checks share."""

    def __init__(self, bundle, folder, device):
        self.bundle, self.folder, self.device = bundle, folder, device
        unpack(bundle, folder)
        self.rehearsal = device == REHEARSED
        self.environment = {**environment_for(folder), "ASSAY_SOURCE_ROOT": str(ROOT)}
        if not self.rehearsal:
            self.environment["REQUIRE_CUDA_DEVICE"] = "1"
        self.timings = None
        self.runs = {}

    def program(self, name):
        return self.folder / "bin" / name

    def start(self, command, **options):
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,
            **options,
        )

    def call(self, command, limit):
        """Runs a command to its end. Errors: TimedOut."""
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            text, errors = process.communicate(timeout=max(limit, 0.01))
        except subprocess.TimeoutExpired:
            raise TimedOut
        finally:
            end(process)
        return Done(process.returncode, text, errors)

    def assay(self, *arguments, limit=60.0):
        return self.call([self.program("assay"), *arguments], limit)

    def described(self):
        """What `assay devices` says of the device. Errors: CannotRun."""
        done = self.assay("devices")
        lines = [line.split(None, 1) for line in done.text.splitlines()]
        found = next((rest for name, rest in lines if name == self.device), None)
        if done.status != 0 or found is None:
            raise CannotRun(f"the program of the bundle does not work here: {done.words}")
        if found.startswith("not usable"):
            reason = found[len("not usable") :].strip()
            raise CannotRun(
                f"{self.device} cannot be used: {reason}; reference/cuda.md says what helps, and "
                "--rehearse goes through the same checks without a GPU"
            )
        return found[len("usable") :].strip()

    def selftest(self, device, limit):
        """(digest, part -> digest). Errors: TimedOut, CheckFailed."""
        done = self.assay("selftest", "--device", device, "--parts", limit=limit)
        lines = done.text.split("\n")[:-1]
        if done.status != 0 or not lines:
            raise CheckFailed(f"selftest on {device}: {done.words}")
        return lines[-1], {name: digest for digest, name in (line.split("  ", 1) for line in lines[:-1])}

    def training(self, device, out, *more):
        command = [self.program("assay"), "run", self.bundle / EXPERIMENT, "--device", device, "--out", out]
        command += ["--threads", min(4, os.cpu_count() or 1), "--set", f"data.path={self.bundle / 'data'}"]
        if self.rehearsal:
            small = ("data.validation=100", "data.limit=1000", "train.steps=60", "checkpoint.every=10")
            command += [word for setting in (*small, "train.validate_every=0") for word in ("--set", setting)]
        return [*command, *more]

    def trained(self, device, clock):
        """The folder of a whole run there, trained once. Errors: TimedOut, CheckFailed."""
        if device not in self.runs:
            out = self.folder / f"run-{device}"
            shutil.rmtree(out, ignore_errors=True)
            done = self.call(self.training(device, out), clock.left())
            if done.status != 0:
                raise CheckFailed(f"training on {device}: {done.words}")
            self.runs[device] = out
        return self.runs[device]

    def compared(self, a, b, clock):
        done = self.assay("compare", a, b, "--policy", "bitwise", "--json", limit=clock.left())
        if done.status not in (0, 1) or not done.text:
            raise CheckFailed(f"compare: {done.words}")
        verdict = json.loads(done.text)
        if done.status == 0 and verdict["holds"] is True:
            return Outcome("pass", f"bitwise, {verdict['steps_compared']} steps and their digests, checkpoints, result")
        return Outcome("fail", f"differs: {verdict['refused'] or json.dumps(verdict['first_divergence'])}")


def check_digest(machine, limit):
    clock = Clock(limit)
    on_cpu, parts = machine.selftest("cpu", clock.left())
    digest, found = machine.selftest(machine.device, clock.left())
    printed = re.search(r"`assay selftest` prints `([0-9a-f]{64})`", (ROOT / "README.md").read_text())
    if digest != on_cpu:
        differ = [name for name in parts if parts[name] != found.get(name)]
        return Outcome("fail", f"{digest}, on the cpu {on_cpu}; parts that differ: {', '.join(differ)}")
    if not printed or digest != printed.group(1):
        return Outcome("fail", f"{digest} on both, and README.md has {printed.group(1) if printed else 'none'}")
    return Outcome("pass", f"{digest}, as on the cpu and in README.md")


def check_contracts(machine, limit):
    ids = ["XFER"] if machine.rehearsal else []
    done = machine.assay("contracts", *ids, "--device", machine.device, "--json", limit=limit)
    try:
        rows = json.loads(done.text)["contracts"]
    except (ValueError, KeyError):
        return Outcome("fail", f"no verdicts: {done.words}")
    bad = [row for row in rows if row["verdict"] != "pass"]
    if done.status == 0 and not bad:
        return Outcome("pass", f"{len(rows)} ids pass on {machine.device}")
    words = [f"{row['id']} {row['verdict']}" + "".join(f": {case['message']}" for case in row["failed"]) for row in bad]
    return Outcome("fail", f"{len(bad)} of {len(rows)} ids: " + "; ".join(words[:12]) or done.words)


def check_training(machine, limit):
    clock = Clock(limit)
    return machine.compared(machine.trained("cpu", clock), machine.trained(machine.device, clock), clock)


def interrupted(machine, device, out, clock):
    """Trains, and interrupts it as Ctrl-C does once it has a checkpoint. Errors: TimedOut, CheckFailed."""
    for _ in range(3):  # it may be over before
        shutil.rmtree(out, ignore_errors=True)
        with open(machine.folder / "interrupted.log", "w+") as log:
            process = machine.start(machine.training(device, out), stdout=log, stderr=log)
            try:
                while process.poll() is None and not list(out.glob("checkpoints/step-*.h5")):
                    if clock.left() < 0:
                        raise TimedOut
                    time.sleep(0.002)
                process.send_signal(signal.SIGINT)
                process.wait(timeout=max(clock.left(), 0.01))
            except subprocess.TimeoutExpired:
                raise TimedOut
            finally:
                end(process)
            log.seek(0)
            text = log.read()
        if process.returncode not in (0, -signal.SIGINT):  # of the signal it dies only when its work is done
            raise CheckFailed(f"training on {device}: {Done(process.returncode, text, '').words}")
        if "--resume" in text:
            return
    raise CheckFailed(f"three times the training on {device} ended before it could be interrupted")


def check_resumed(saved_on, resumed_on):
    def check(machine, limit):
        clock, out = Clock(limit), machine.folder / f"resumed-{resumed_on}"
        whole = machine.trained("cpu", clock)
        interrupted(machine, saved_on, out, clock)
        step = max(int(path.stem.split("-")[1]) for path in out.glob("checkpoints/step-*.h5"))
        done = machine.call(machine.training(resumed_on, out, "--resume"), clock.left())
        if done.status != 0:
            raise CheckFailed(f"resuming on {resumed_on}: {done.words}")
        outcome = machine.compared(whole, out, clock)
        outcome.evidence += f"; on {saved_on} until step {step}, then on {resumed_on}, against all of it on the cpu"
        return outcome

    return check


def find_sanitizer():
    folders = [os.environ.get("PATH", "")]
    for toolkit in toolkits():
        folders += [f"{toolkit}/bin", f"{toolkit}/compute-sanitizer"]
    return shutil.which("compute-sanitizer", path=":".join(folders))


def judged(done, expected):
    """The outcome of compute-sanitizer over a program that is to print `expected`."""
    text = done.text + "\n" + done.errors
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: .*", text)
    reports = [line[9:].strip() for line in text.splitlines() if line.startswith("=========") and line[9:].strip()]
    if summary and not re.match(r"\w+ SUMMARY: 0 \w+(?: displayed \(0 errors, 0 warnings\))?\s*$", summary.group(0)):
        return Outcome("fail", f"{summary.group(0)}; {'; '.join(reports[1:6])}")
    if summary and expected in done.text and done.status == 0:
        return Outcome("pass", f"{summary.group(0)}, and the program printed what it prints without it")
    if expected in done.text and not summary:
        return Outcome("not available", f"it printed no summary: {done.words}")
    refused = re.compile(r"not support|Unable|No attachable|Internal|privilege|Error:")
    refusal = [line for line in reports if refused.search(line)]
    if refusal or not summary:
        return Outcome("not available", f"it does not work on this machine: {(refusal or [done.words])[0]}")
    return Outcome("fail", f"no error reported, but the program did not do its work: {done.words}")


def check_sanitizer(tool, products=False):
    def check(machine, limit):
        if machine.rehearsal:
            return Outcome("not available", "rehearsal")
        sanitizer, clock = find_sanitizer(), Clock(limit)
        if not sanitizer:
            return Outcome("not available", "no compute-sanitizer on PATH or in the CUDA toolkit")
        if products:
            command = [machine.program("assay_contracts"), f"--run_test={machine.device}/{PRODUCTS}"]
            command += ["--color_output=no", "--log_sink=stdout", "--report_sink=stdout"]
            expected = "No errors detected"
        else:
            command = [machine.program("assay"), "selftest", "--device", machine.device]
            expected = machine.selftest("cpu", clock.left())[0]
        prefix = [sanitizer, "--tool", tool, "--error-exitcode", "86", "--print-limit", "5"]
        return judged(machine.call([*prefix, *command], clock.left()), expected)

    return check


def timing_row(sample):
    """As a row of scripts/benchmark --json; without a peer, whose place says why, there is no ratio."""
    row = benchmark.judge({"peer": sample["ours"], **sample})
    if "peer" not in sample:
        row.update({"ratio": None, "spread": None, "peer": None})
    return row


def check_timings(machine, limit):
    if machine.rehearsal:
        return Outcome("not available", "rehearsal")
    command = [machine.program("benchmark_cases"), "cuda", 7, 0.02, 1]
    process = machine.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    late = threading.Event()
    alarm = threading.Timer(limit, lambda: (late.set(), end(process)))
    alarm.start()
    machine.timings = {"provenance": {}, "rows": []}
    try:
        for line in process.stdout:
            sample = json.loads(line)
            if "provenance" in sample:
                machine.timings["provenance"].update(sample["provenance"])
            else:
                machine.timings["rows"].append(timing_row(sample))
        errors = process.stderr.read()
    except ValueError:  # half a line
        errors = ""
    finally:
        alarm.cancel()
        end(process)
    rows = machine.timings["rows"]
    if late.is_set():
        return Outcome("not run", f"stopped after {limit:.0f} s with {len(rows)} cases, which are kept")
    if process.returncode != 0:
        return Outcome("fail", Done(process.returncode, "", errors).words)
    unsteady = sum(row["verdict"] != "ok" for row in rows)
    return Outcome("pass", f"{len(rows)} cases" + (f", {unsteady} of them unsteady" if unsteady else ""))


def checks_for(device):
    """In the order of their weight, so that a short deadline leaves out the last ones."""
    tiny = device == REHEARSED
    seconds = lambda usual: min(usual, 60) if tiny else usual
    checks = [
        Check("self-test digest", check_digest, seconds(30), 5),
        Check("contracts", check_contracts, seconds(180), 10),
        Check(f"training, cpu = {device}", check_training, seconds(90), 10),
        Check(f"saved on {device}, resumed on cpu", check_resumed(device, "cpu"), seconds(60), 10),
        Check(f"saved on cpu, resumed on {device}", check_resumed("cpu", device), seconds(60), 10),
    ]
    sanitizers = [Check(f"{tool}, self-test", check_sanitizer(tool), seconds(60), 10, False) for tool in TOOLS]
    checks += [*sanitizers[:2], Check("timings", check_timings, seconds(120), 20, False), *sanitizers[2:]]
    for tool in TOOLS[:2]:
        checks.append(Check(f"{tool}, products", check_sanitizer(tool, products=True), seconds(60), 10, False))
    return checks
