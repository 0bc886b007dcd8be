"""What scripts/device_check makes of checks that pass, fail, are missing or late, and which bundles it takes."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from repository import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import device_bundle  # noqa: E402
import device_check  # noqa: E402
import device_checks  # noqa: E402

GPU = "NVIDIA Test 1, 8.0 GiB, compute capability 9.0, driver 1.2 (CUDA 13.0), runtime 13.0"
DIGEST = re.search(r"`assay selftest` prints `([0-9a-f]{64})`", (ROOT / "README.md").read_text()).group(1)
# Stands in for all three programs; WRONG in the environment names what is to go wrong.
PROGRAM = f"""#!{sys.executable} -IS
import json, os, signal, sys, time
from pathlib import Path
name, arguments, wrong = Path(sys.argv[0]).name, sys.argv[1:], os.environ.get("WRONG", "")
option = lambda name: arguments[arguments.index(name) + 1]
status = 0
if name == "benchmark_cases":
    if wrong == "timings":
        sys.exit("out of order")
    case = {{"case": "NN 8x8x8", "unit": "GF/s", "work": 1e9, "clock": "wall"}}
    seconds = lambda value: {{"wall": [value] * 3, "cpu": [0] * 3, "waited": [0] * 3}}
    print(json.dumps({{"provenance": {{"gpu": "NVIDIA Test 1"}}}}))
    same = {{"ours": seconds(2.0), "control": seconds(2.0)}}
    print(json.dumps({{**case, **same, "peer": seconds(1.0), "against": "cuBLAS"}}))
    print(json.dumps({{**case, **same, "against": "none: no libcublas"}}))
elif name == "assay_contracts":
    print("*** No errors detected")
elif arguments[0] == "devices":
    print("simulated   usable      GPU semantics")
    print("cuda        " + ("not usable  no NVIDIA driver" if wrong == "gpu" else "usable      {GPU}"))
elif arguments[0] == "selftest":
    other = wrong == "digest" and option("--device") != "cpu"
    if "--parts" in arguments:
        print(("1" if other else "0") * 16 + "  exp of bit patterns")
        print("2" * 16 + "  add")
    print("f" * 64 if other or wrong == "readme" else "{DIGEST}")
elif arguments[0] == "contracts":
    if wrong == "hang":
        time.sleep(60)
    row = {{"id": "XFER-2", "verdict": "pass", "failed": []}}
    skipped = {{"id": "XFER-3", "verdict": "skip" if wrong == "skip" else "pass", "failed": []}}
    if wrong == "contracts":
        row.update(verdict="fail", failed=[{{"case": "cuda/XFER_2", "message": "1 != 2"}}])
    print(json.dumps({{"contracts": [row, skipped]}}))
    status = wrong in ("contracts", "skip")
elif arguments[0] == "run":
    checkpoints = Path(option("--out")) / "checkpoints"
    stop = []
    signal.signal(signal.SIGINT, lambda *_: stop.append(1))
    checkpoints.mkdir(parents=True, exist_ok=True)
    (checkpoints / "step-10.h5").touch()
    if checkpoints.parent.name.startswith("resumed") and "--resume" not in arguments and wrong != "too fast":
        while not stop:
            time.sleep(0.001)
        print("go on with --resume")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
elif arguments[0] == "compare":
    status = wrong == "training"
    print(json.dumps({{"holds": not status, "steps_compared": 60, "refused": None,
                       "first_divergence": {{"step": 7}} if status else None}}))
sys.exit(int(status))
"""
SANITIZER = """#!/bin/sh
case "$WRONG" in
  sanitizer) printf '========= %s\\n' COMPUTE-SANITIZER 'Invalid read' 'ERROR SUMMARY: 1 error'; exit 86 ;;
  refused) printf '========= %s\\n' COMPUTE-SANITIZER 'Error: Device not supported'; exit 1 ;;
esac
[ "$2" = racecheck ] && summary='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
shift 6
"$@"
echo "========= ${summary:-ERROR SUMMARY: 0 errors}"
"""


class DeviceCheck(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bundle, self.out = self.folder / "bundle", self.folder / "result.json"
        # No toolkit of this machine has a say.
        (self.folder / "tools").mkdir()
        place = {"PATH": f"{self.folder / 'tools'}:/usr/bin:/bin", "CUDA_HOME": "", "CUDA_PATH": ""}
        here = mock.patch.object(device_checks, "find_sanitizer", self.found)
        for patch in (mock.patch.dict(os.environ, place), here):
            patch.start()
            self.addCleanup(patch.stop)

    def found(self):
        return shutil.which("compute-sanitizer", path=str(self.folder / "tools"))

    def make_bundle(self, programs=None, limit=device_bundle.LIMIT, **facts):
        shutil.rmtree(self.bundle, ignore_errors=True)
        made = self.folder / "programs"
        shutil.rmtree(made, ignore_errors=True)
        for part in ("bin", "lib"):
            (made / part).mkdir(parents=True)
        for name in ("assay", "assay_contracts", "benchmark_cases"):
            (made / "bin" / name).write_bytes(programs[name].read_bytes() if programs else PROGRAM.encode())
        device_bundle.compress(made, self.bundle)
        known = {"commit": "a" * 40, "dirty": False, "sources": device_bundle.sources_digest(), "compiler": "gcc"}
        known.update({"build_type": "release", "nvcc": "13.0", "glibc": "2.2", "packed": "", **facts})
        return device_bundle.close(self.bundle, known, limit)

    def check(self, *arguments, wrong=""):
        """(exit status, standard output, standard error, the result or None)."""
        self.out.unlink(missing_ok=True)
        out, error = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, {"WRONG": wrong}):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                status = device_check.main([*arguments, "--out", str(self.out)], self.bundle)
        result = json.loads(self.out.read_text()) if self.out.exists() else None
        return status, out.getvalue(), error.getvalue(), result

    def verdicts(self, result):
        return {row["name"]: row["verdict"] for row in result["checks"]}

    def evidence(self, result, name):
        return next(row["evidence"] for row in result["checks"] if row["name"] == name)

    def sanitizer(self):
        path = self.folder / "tools" / "compute-sanitizer"
        path.write_text(SANITIZER)
        path.chmod(0o755)


class Verdicts(DeviceCheck):
    def test_a_rehearsal_runs_the_promises_on_simulated_and_says_what_it_is(self):
        self.make_bundle()
        self.sanitizer()
        status, out, error, result = self.check("--rehearse")
        self.assertEqual((status, error, result["verdict"]), (0, "", "pass"))
        self.assertEqual((result["rehearsal"], result["device"], result["timings"]), (True, "simulated", None))
        verdicts = self.verdicts(result)
        self.assertEqual(list(verdicts)[:3], ["self-test digest", "contracts", "training, cpu = simulated"])
        self.assertEqual(set(list(verdicts.values())[:5]), {"pass"})
        self.assertEqual(set(list(verdicts.values())[5:]), {"not available"})
        self.assertEqual(self.evidence(result, "timings"), "rehearsal")
        self.assertIn("rehearsal", out)
        self.assertNotIn("gpu", result["provenance"])

    def test_a_rehearsal_writes_nothing_unless_it_is_told_where(self):
        self.make_bundle()
        with mock.patch.object(device_check, "write") as write, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(device_check.main(["--rehearse"], self.bundle), 0)
        write.assert_not_called()

    def test_a_check_that_fails_gives_exit_status_1_and_its_reason(self):
        self.make_bundle()
        for wrong, name, words in (
            ("digest", "self-test digest", "parts that differ: exp of bit patterns"),
            ("readme", "self-test digest", "README.md has"),
            ("contracts", "contracts", "1 of 2 ids: XFER-2 fail: 1 != 2"),
            ("skip", "contracts", "XFER-3 skip"),
            ("training", "training, cpu = simulated", 'differs: {"step": 7}'),
            ("training", "saved on simulated, resumed on cpu", "differs"),
            ("too fast", "saved on cpu, resumed on simulated", "ended before it could be interrupted"),
        ):
            with self.subTest(wrong=wrong):
                status, out, _, result = self.check("--rehearse", wrong=wrong)
                self.assertEqual((status, result["verdict"]), (1, "fail"))
                self.assertEqual(self.verdicts(result)[name], "fail")
                self.assertIn(words, self.evidence(result, name))

    def test_on_a_GPU_a_missing_sanitizer_is_not_available_and_timings_are_kept(self):
        self.make_bundle()
        status, out, _, result = self.check()
        self.assertEqual((status, result["rehearsal"], result["device"]), (0, False, "cuda"))
        for tool in device_checks.TOOLS:
            self.assertEqual(self.verdicts(result)[f"{tool}, self-test"], "not available")
        self.assertIn("no compute-sanitizer", self.evidence(result, "memcheck, self-test"))
        facts = result["provenance"]
        self.assertEqual((facts["gpu"], facts["driver"], facts["cuda_runtime"]),
                         ("NVIDIA Test 1", "driver 1.2 (CUDA 13.0)", "13.0"))  # fmt: skip
        self.assertEqual(device_check.place_for(facts).name, f"nvidia-test-1-{'a' * 12}.json")
        beside, alone = result["timings"]["rows"]
        self.assertEqual((beside["ratio"], beside["ours"], beside["peer"], beside["against"]), (0.5, 0.5, 1, "cuBLAS"))
        self.assertEqual((alone["ratio"], alone["ours"], alone["peer"]), (None, 0.5, None))
        self.assertIn("0.500", out)

    def test_a_sanitizer_passes_fails_or_is_refused_by_the_machine(self):
        self.make_bundle()
        self.sanitizer()
        for wrong, verdict, words in (
            ("", "pass", "0 errors"),
            ("sanitizer", "fail", "1 error; Invalid read"),
            ("refused", "not available", "Device not supported"),
        ):
            with self.subTest(wrong=wrong):
                status, _, _, result = self.check(wrong=wrong)
                self.assertEqual(self.verdicts(result)["memcheck, self-test"], verdict)
                self.assertIn(words, self.evidence(result, "memcheck, self-test"))
                self.assertEqual(status, verdict == "fail")
                self.assertEqual(self.verdicts(result)["racecheck, products"], verdict)

    def test_timings_that_cannot_be_taken_have_failed(self):
        self.make_bundle()
        status, _, _, result = self.check(wrong="timings")
        self.assertEqual((status, self.verdicts(result)["timings"]), (1, "fail"))
        self.assertIn("out of order", self.evidence(result, "timings"))

    def test_without_a_GPU_it_ends_with_2_and_what_to_do(self):
        self.make_bundle()
        status, _, error, result = self.check(wrong="gpu")
        self.assertEqual((status, result), (2, None))
        for words in ("no NVIDIA driver", "reference/cuda.md", "--rehearse"):
            self.assertIn(words, error)


class Deadline(DeviceCheck):
    def test_what_does_not_fit_is_not_run_and_that_is_no_success(self):
        self.make_bundle()
        status, _, _, result = self.check("--rehearse", "--deadline", "0")
        self.assertEqual((status, result["verdict"]), (1, "incomplete"))
        self.assertEqual(set(self.verdicts(result).values()), {"not run"})
        self.assertIn("0 s were left until the deadline", self.evidence(result, "contracts"))

    def test_a_check_is_cut_off_by_the_deadline_and_fails_at_its_own_limit(self):
        self.make_bundle()
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        machine = device_checks.Machine(self.bundle, unpacked, "simulated")
        cases = ((9, 0.4, True, "not run"), (0.4, 9, True, "fail"), (0.4, 9, False, "not run"))
        for limit, left, proves, verdict in cases:
            check = device_checks.Check("contracts", device_checks.check_contracts, limit, 0, proves)
            begin = time.monotonic()
            with mock.patch.dict(machine.environment, {"WRONG": "hang"}):
                outcome = device_check.perform(check, machine, left)
            self.assertLess(time.monotonic() - begin, 5)
            self.assertEqual(outcome.verdict, verdict, outcome)

    def test_the_checks_of_a_GPU_begin_with_the_promises(self):
        checks = device_checks.checks_for("cuda")
        self.assertEqual([check.proves for check in checks], sorted((check.proves for check in checks), reverse=True))


class Bundles(DeviceCheck):
    def assert_refused(self, *words):
        status, _, error, result = self.check("--rehearse")
        self.assertEqual((status, result), (2, None))
        for word in words:
            self.assertIn(word, error)

    def test_none_is_refused_with_how_to_pack_one(self):
        self.assert_refused("no whole bundle", "scripts/device_check --pack")

    def test_one_of_other_sources_is_refused(self):
        self.make_bundle(sources="0" * 64)
        self.assert_refused("of other sources, commit aaaaaaaaaaaa", "scripts/device_check --pack")

    def test_a_damaged_or_incomplete_one_is_refused(self):
        self.make_bundle()
        program = self.bundle / "bin/assay.gz"
        program.write_bytes(program.read_bytes()[:-1])
        self.assert_refused("bin/assay.gz is not what the manifest says")
        program.unlink()
        self.assert_refused("no whole bundle", "bin/assay.gz")
        (self.bundle / "manifest.json").write_text("{}")
        self.assert_refused("manifest.json cannot be read")

    def test_one_for_a_later_glibc_is_refused(self):
        self.make_bundle(glibc="9.1")
        self.assert_refused("needs glibc 9.1")

    def test_one_that_is_too_large_is_not_closed_and_says_what_is_large(self):
        with self.assertRaisesRegex(device_bundle.CannotRun, r"may have 0\.0; the largest: bin/assay.*\.gz 0\.0 MB"):
            self.make_bundle(limit=1000)
        self.assertFalse((self.bundle / "manifest.json").exists())

    def test_sources_are_known_by_their_names_and_contents(self):
        for name in ("meson.build", "meson_options.txt", "src/a.cpp"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text("x")
        digests = [device_bundle.sources_digest(self.folder)]
        (self.folder / "src/a.cpp").write_text("y")
        digests.append(device_bundle.sources_digest(self.folder))
        (self.folder / "src/a.cpp").rename(self.folder / "src/b.cpp")
        digests.append(device_bundle.sources_digest(self.folder))
        (self.folder / "src/README.md").write_text("no part of a program")
        self.assertEqual(len(set(digests)), 3)
        self.assertEqual(device_bundle.sources_digest(self.folder), digests[-1])

    @unittest.skipUnless(os.environ.get("BUILD"), "needs the built programs: run by meson test")
    @unittest.skipUnless(device_bundle.DATA.is_dir(), "needs the package dataset-fashion-mnist")
    def test_the_programs_of_this_build_pass_a_rehearsal(self):
        build = Path(os.environ["BUILD"])
        programs = {"assay": build / "src/app/assay", "assay_contracts": build / "tests/assay_contracts"}
        self.make_bundle({**programs, "benchmark_cases": programs["assay"]})
        (self.bundle / "data").symlink_to(device_bundle.DATA)
        experiment = self.bundle / device_bundle.EXPERIMENT
        experiment.parent.mkdir(parents=True)
        shutil.copyfile(ROOT / device_bundle.EXPERIMENT, experiment)
        status, out, error, result = self.check("--rehearse")
        self.assertEqual((status, error), (0, ""), out)
        products = [programs["assay_contracts"], f"--run_test=simulated/{device_checks.PRODUCTS}"]
        self.assertEqual(subprocess.run(products, capture_output=True).returncode, 0, "the filter finds no case")


class Command(unittest.TestCase):
    def test_what_cannot_be_meant_is_refused_and_the_help_names_the_exit_statuses(self):
        for arguments in (("--fast",), ("--out",)):
            done = subprocess.run([ROOT / "scripts/device_check", *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        done = subprocess.run([ROOT / "scripts/device_check", "--help"], capture_output=True, text=True)
        self.assertIn("Exit status: 0", done.stdout)
