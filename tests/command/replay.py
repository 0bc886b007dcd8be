"""`assay replay`: verdicts, JSON and refusals on small golden files, the manual's example, and ONNX's node tests."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
from command import ROOT, CommandTest, run_assay

sys.path.insert(0, str(ROOT / "scripts"))
import golden  # noqa: E402

NODES = Path("/usr/share/libonnx-testdata/data/node")
HAVE_NODES = NODES.exists() and importlib.util.find_spec("onnx") is not None


def convert(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "scripts/onnx_to_golden.py", *map(str, arguments)], capture_output=True, text=True
    )


def doubled(name, x, expected=None, operation="Twice"):
    record = golden.Record(name, operation)
    value = record.input("x", x)
    value = record.call("add", value, value)
    record.expect("y", value, 2 * x)
    if expected is not None:
        record.expected["y"] = expected
    return record


class Replay(CommandTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "golden.h5"
        self.x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)

    def write(self, *records):
        golden.write(self.file, "this test", records)

    def write_failing(self):
        wrong = 2 * self.x
        wrong[1, 0] = np.nextafter(np.float32(8), np.float32(9))
        wrong[1, 1] = 0
        unsupported = golden.Record("loops", "Loop", unsupported="no such operation")
        bent = doubled("bent", self.x, 2 * self.x[0], operation="Other")
        self.write(doubled("good", self.x), doubled("bad", self.x, wrong), unsupported, bent)

    def test_a_file_that_holds_has_a_row_for_each_operation(self):
        self.write(doubled("one", self.x), doubled("two", self.x, operation="Again"))
        for device in ("cpu", "simulated", "reference"):
            done = run_assay("replay", self.file, "--device", device)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"2 records of this test, on {device}\n", done.stdout)
            rows = [line.split() for line in done.stdout.splitlines()[2:]]
            self.assertEqual(
                rows,
                [
                    ["operation", "passed", "failed", "unsupported"],
                    ["Again", "1", "0", "0"],
                    ["Twice", "1", "0", "0"],
                    ["all", "2", "0", "0"],
                ],
            )

    def test_a_failed_record_is_told_with_its_first_element(self):
        self.write_failing()
        done = run_assay("replay", self.file)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^Loop +0 +0 +1 +no such operation$")
        self.assertRegex(done.stdout, r"(?m)^Twice +1 +1 +0$")
        self.assertRegex(done.stdout, r"(?m)^all +1 +2 +1$")
        self.assertTrue(
            done.stdout.endswith(
                "\n\nFAILED  bad (Twice): y[1, 0]: expected 8.00000095, found 8, 1 ULP apart; tolerance bitwise\n"
                "FAILED  bent (Other): y: expected shape [3], found [2, 3]\n"
            ),
            done.stdout,
        )

    def test_json_says_the_same(self):
        self.write_failing()
        alone = run_assay("replay", self.file, "--json")
        self.assertEqual(alone.returncode, 1, alone.stderr)
        verdict = json.loads(alone.stdout)
        self.assertEqual(
            {key: verdict[key] for key in ("file", "source", "device", "holds", "passed", "failed", "unsupported")},
            {"file": str(self.file), "source": "this test", "device": "cpu"}
            | {"holds": False, "passed": 1, "failed": 2, "unsupported": 1},
        )
        self.assertEqual(
            verdict["operations"][0],
            {"operation": "Loop", "passed": 0, "failed": 0, "unsupported": 1, "reasons": {"no such operation": 1}},
        )
        records = {row["record"]: row for row in verdict["records"]}
        self.assertEqual(list(records), ["good", "bad", "loops", "bent"])
        self.assertEqual(
            records["bad"],
            {
                "record": "bad",
                "operation": "Twice",
                "verdict": "failed",
                "tolerance": "bitwise",
                "reason": None,
                "difference": {
                    "output": "y",
                    "index": [1, 0],
                    "expected": float(np.nextafter(np.float32(8), np.float32(9))),
                    "found": 8.0,
                    "ulp": 1,
                },
            },
        )
        self.assertEqual(records["loops"]["reason"], "no such operation")
        self.assertIsNone(records["loops"]["tolerance"])
        self.assertEqual(records["bent"]["reason"], "y: expected shape [3], found [2, 3]")
        to_file = run_assay("replay", self.file, "--json", self.folder / "verdict.json")
        self.assertEqual(json.loads((self.folder / "verdict.json").read_text()), verdict)
        self.assertIn("FAILED  bad", to_file.stdout)

    def test_files_devices_and_operations_that_are_not_there_are_refused(self):
        self.write(doubled("good", self.x))
        whole = self.file.read_bytes()
        self.assert_refused(run_assay("replay", self.file, "--device", "abacus"), "XFER-8", "abacus")
        self.assert_refused(run_assay("replay", self.folder / "none.h5"), "FILE-6", "none.h5")
        self.assertEqual(run_assay("replay").returncode, 2)
        self.file.write_bytes(whole[:-1])
        self.assert_refused(run_assay("replay", self.file), "FILE-6", "golden.h5")
        self.file.write_bytes(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
        self.assert_refused(run_assay("replay", self.file), "FILE-6", "SHA-256")
        record = doubled("good", self.x)
        record.calls[0]["operation"] = "addd"
        self.write(record)
        self.assert_refused(run_assay("replay", self.file), "FILE-3", "/records/good", "one of add", '"addd"')
        record = doubled("good", self.x)
        record.calls[0]["attributes"] = {"axis": 1}
        self.write(record)
        self.assert_refused(run_assay("replay", self.file), "FILE-3", "no attribute of add", '"axis"')

    def test_the_example_of_the_manual_holds(self):
        manual = (ROOT / "reference/formats/golden.md").read_text()
        (example,) = re.findall(r"^```python\n(.*?)^```", manual, re.MULTILINE | re.DOTALL)
        subprocess.run([sys.executable, "-c", example], cwd=self.folder, check=True)
        done = run_assay("replay", self.file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^softmax +1 +0 +0$")

    def test_the_help_has_an_example(self):
        done = run_assay("replay", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("assay replay onnx.h5 --device simulated", done.stdout)


class Tolerances(unittest.TestCase):
    def test_equal_bits_are_asked_for_where_only_one_operation_rounds(self):
        x = np.array([0.1, 0.7], np.float32)
        record = golden.Record("a", "A")
        product = record.call("multiply", record.input("x", x), record.input("y", x[::-1].copy()))
        record.expect("z", record.call("reshape", product, shape=[2, 1]), (x * x[::-1])[:, None])
        self.assertEqual(record.tolerance(), "bitwise")

    def test_sums_have_the_bound_of_every_order_and_exact_ones_none(self):
        cases = {(1, 2, 3, 4): "bitwise", (0, 0, 0.1): "bitwise", (0.1, 0.2, 0.4): "close:0,1.67e-07"}
        for x, tolerance in cases.items():
            x = np.array(x, np.float32)
            record = golden.Record("a", "A")
            record.expect("y", record.call("sum", record.input("x", x), axes=[0]), x.sum())
            self.assertEqual(record.tolerance(), tolerance)

    def test_an_elementary_function_has_ulps_until_something_follows(self):
        x = np.array([0.5, 0.25], np.float32)
        record = golden.Record("a", "A")
        value = record.call("exp", record.input("x", x))
        record.expect("y", value, np.exp(x))
        self.assertEqual(record.tolerance(), "ulp:4")
        record.expect("z", record.call("subtract", value, record.input("one", np.float32(1))), np.exp(x) - 1)
        self.assertTrue(record.tolerance().startswith("close:0,"))

    def test_what_cancels_after_an_elementary_function_is_not_measured_in_ulps(self):
        record = golden.Record("a", "A")
        value = record.call("exp", record.input("x", np.array([0.5], np.float32)))
        record.expect("y", record.call("subtract", value, value), np.zeros(1, np.float32))
        with self.assertRaisesRegex(ValueError, "says nothing"):
            record.tolerance()

    def test_a_recorded_result_that_float64_excludes_is_refused(self):
        x = np.array([0.5, 0.25], np.float32)
        for wrong in (np.exp(x) * np.float32(1 + 1e-6), np.exp(x)[:1], np.exp(x).astype(np.float64)):
            record = golden.Record("a", "A")
            with self.assertRaisesRegex(ValueError, "a: y.* is recorded as"):
                record.expect("y", record.call("exp", record.input("x", x)), wrong)

    def test_a_tolerance_that_says_nothing_is_refused(self):
        x = np.array([1, 1e-9, -1], np.float32)
        record = golden.Record("a", "A")
        record.expect("y", record.call("sum", record.input("x", x), axes=[0]), np.float32(0))
        with self.assertRaisesRegex(ValueError, "says nothing"):
            record.tolerance()


class Onnx(CommandTest):
    def test_a_folder_without_tests_is_refused(self):
        done = convert("--out", self.folder / "onnx.h5", "--data", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected */model.onnx", done.stderr)
        self.assertFalse((self.folder / "onnx.h5").exists())

    @unittest.skipUnless(HAVE_NODES, "needs libonnx-testdata and python3-onnx")
    def test_a_damaged_test_is_refused_by_name(self):
        for damaged in ("model.onnx", "test_data_set_0/output_0.pb"):
            tests = self.folder / damaged.split("/")[0]
            shutil.copytree(NODES / "test_exp", tests / "test_exp")
            (tests / "test_exp" / damaged).write_bytes(b"\xff" * 40)
            done = convert("--out", self.folder / "onnx.h5", "--data", tests)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("onnx_to_golden: expected ", done.stderr)
            self.assertIn("test_exp", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(HAVE_NODES, "needs libonnx-testdata and python3-onnx")
    def test_no_node_test_of_an_operation_that_exists_fails(self):
        file = self.folder / "onnx.h5"
        done = convert("--out", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("932 records, ", done.stdout)
        for device in ("cpu", "simulated", "reference"):
            done = run_assay("replay", file, "--device", device, "--json")
            self.assertEqual(done.returncode, 0, done.stdout[:2000] + done.stderr)
            verdict = json.loads(done.stdout)
            self.assertEqual((verdict["failed"], verdict["passed"] + verdict["unsupported"]), (0, 932))
            self.assertGreaterEqual(verdict["passed"], 303)
            self.assertTrue(all(row["reason"] for row in verdict["records"] if row["verdict"] == "unsupported"))
