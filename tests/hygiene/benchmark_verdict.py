"""What scripts/benchmark makes of measurements: the right ratio, and no judgement when the control moved."""

import contextlib
import io
import json
import subprocess
import sys
import unittest
from unittest import mock

from repository import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import benchmark  # noqa: E402


def sample(ours, peer, control, case="NN 64x64x64", unit="GF/s", against="OpenBLAS", clock="cpu", waited=0.0):
    """A case in which each call does 10⁹ operations; the clock that is not meant shows nonsense."""
    other = {"cpu": "wall", "wall": "cpu"}[clock]
    sides = {"ours": ours, "peer": peer, "control": control}
    times = {
        side: {clock: seconds, other: [77.0] * len(seconds), "waited": [waited] * len(seconds)}
        for side, seconds in sides.items()
    }
    return {"case": case, "unit": unit, "against": against, "work": 1e9, "clock": clock, **times}


def concluded(samples, as_json=True):
    """(exit status, JSON, standard error) for these measurements."""
    result = {"benchmark": "gemm", "provenance": {}, "rows": [benchmark.judge(one) for one in samples]}
    out, error = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "__stdout__", out), contextlib.redirect_stderr(error):
        with contextlib.redirect_stdout(io.StringIO()):
            status = benchmark.conclude(result, as_json)
    return status, json.loads(out.getvalue()), error.getvalue()


QUIET = [1.00, 1.01, 0.99, 1.00, 1.02]
STEADY = sample(ours=[2.0, 2.0, 2.0, 2.0, 2.0], peer=[4.0, 1.0, 3.0, 9.0, 2.0], control=[2 * x for x in QUIET])


class Verdict(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_rounds_and_the_spread_their_quartiles(self):
        status, result, error = concluded([STEADY])
        (row,) = result["rows"]
        self.assertEqual((status, error), (0, ""))
        self.assertEqual((row["verdict"], row["ratio"], row["spread"]), ("ok", 1.5, [1.0, 2.0]))
        self.assertEqual((row["ours"], row["unit"]), (0.5, "GF/s"))  # 10⁹ operations in 2 s
        self.assertAlmostEqual(row["peer"], 1 / 3)
        self.assertEqual(result["geometric_mean"], 1.5)

    def test_the_ratio_is_taken_round_by_round(self):
        # Both sides slow down together: within each round ours is twice as fast.
        row = benchmark.judge(sample(ours=[1, 5, 2], peer=[2, 10, 4], control=[1, 5, 2]))
        self.assertEqual((row["ratio"], row["spread"], row["verdict"]), (2, [2, 2], "ok"))

    def test_a_control_whose_median_moved_is_not_judged(self):
        for factor in (0.96, 1.04):
            moved = sample(ours=[1] * 5, peer=[2] * 5, control=[factor] * 5, case="moved")
            status, result, error = concluded([STEADY, moved])
            self.assertEqual((status, result["rows"][1]["verdict"]), (1, "unsteady"))
            self.assertRegex(error, r"1 of 2 cases were not judged.*\(moved\); repeat it on a quiet machine")
            self.assertEqual(result["geometric_mean"], 1.5, "an unsteady case counts in no mean")

    def test_a_control_that_jumps_about_its_median_is_not_judged(self):
        status, result, _ = concluded([sample(ours=[1] * 5, peer=[2] * 5, control=[0.95, 1.05, 1.0, 0.95, 1.05])])
        self.assertEqual((status, result["rows"][0]["verdict"]), (1, "unsteady"))
        self.assertIsNone(result["geometric_mean"])

    def test_the_clock_is_the_one_that_the_measurement_names(self):
        row = benchmark.judge(sample(ours=[1] * 3, peer=[3] * 3, control=[1] * 3, clock="wall"))
        self.assertEqual((row["ratio"], row["clock"]), (3, "wall"))

    def test_by_the_wall_clock_threads_that_waited_for_a_processor_are_not_judged(self):
        for clock, waited, verdict in (("wall", 0.02, "ok"), ("wall", 0.05, "unsteady"), ("cpu", 0.05, "ok")):
            row = benchmark.judge(sample(ours=[1] * 3, peer=[3] * 3, control=[1] * 3, clock=clock, waited=waited))
            self.assertEqual(row["verdict"], verdict, (clock, waited))

    def test_a_training_step_tells_tokens_a_second_and_the_memory_of_both_sides(self):
        memory = {"ours": 30.0, "peer": 240.0}
        of_step = sample(ours=[2] * 3, peer=[4] * 3, control=[2] * 3, case="decoder 20k", unit="tokens/s")
        row = benchmark.judge({**of_step, "peak_memory": memory})
        self.assertEqual((row["ours"], row["peer"], row["peak_memory"]), (0.5e9, 0.25e9, memory))
        self.assertNotIn("peak_memory", benchmark.judge(of_step))

    def test_means_are_one_a_peer_and_ours_beside_ours_is_in_none(self):
        same = {"ours": [1.0] * 3, "control": [1.0] * 3}
        rows = [
            benchmark.judge(sample(peer=[peer] * 3, against=against, **same))
            for peer, against in ((2.0, "copy"), (8.0, "copy"), (3.0, "libm"), (9.0, "ours with 1 thread"))
        ]
        mean, means = benchmark.geometric_means(rows)
        self.assertAlmostEqual(means["copy"], 4)
        self.assertAlmostEqual(means["libm"], 3)
        self.assertAlmostEqual(mean, 48 ** (1 / 3))
        self.assertEqual(len(means), 2)


class Command(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([ROOT / "scripts/benchmark", *arguments], capture_output=True, text=True)

    def test_the_help_states_the_limits_that_are_applied(self):
        done = self.run_script("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"more than {benchmark.CONTROL_LIMIT * 100:.0f} % from 1", " ".join(done.stdout.split()))
        self.assertIn(f"more than {benchmark.SPREAD_LIMIT * 100:.0f} % apart", " ".join(done.stdout.split()))
        self.assertIn(f"more than {benchmark.WAIT_LIMIT * 100:.0f} % of the time", " ".join(done.stdout.split()))

    def test_what_cannot_be_meant_is_refused(self):
        for arguments in ((), ("speed",), ("gemm", "price"), ("gemm", "--case"), ("gemm", "--fast")):
            done = self.run_script(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("benchmark: ", done.stderr)
