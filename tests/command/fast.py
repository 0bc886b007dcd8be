"""`--numerics fast`: it runs, says so, is recorded, is compared with exact, and is refused where it has no meaning."""

import json
import shutil

import h5py
from command import ROOT, CommandTest, run_assay

# Rounded differently by libm within a few steps, whatever its version: 1 / (1 + exp(-x)) is two roundings more.
MODEL = ("--set", "model.activation=sigmoid")


class Fast(CommandTest):
    def trained_fast(self, *more):
        done = self.train(*MODEL, "--numerics", "fast", *more, out=self.folder / "fast")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_RUN_4_a_fast_run_says_so_and_records_it(self):
        done = self.trained_fast()
        self.assertIn("numerics fast", done.stderr)
        self.assertRegex(done.stdout, r"numerics +fast")
        with h5py.File(self.folder / "fast" / "run.h5") as file:
            self.assertEqual(file["provenance"].attrs["numerics"], "fast")
            self.assertEqual(json.loads(file["config/resolved"].asstr()[()])["run.numerics"], "fast")

    def test_RUN_2_a_repeated_fast_run_is_fast_again(self):
        self.trained_fast()
        done = run_assay("run", self.folder / "fast", "--out", self.folder / "again")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # fast promises no bits
        self.assertIn("numerics fast", done.stderr)
        self.assertIn("Repeats", done.stdout)

    def test_an_exact_run_says_nothing_about_it(self):
        done = self.train(*MODEL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("numerics", done.stderr + done.stdout)

    def test_CMP_2_exact_and_fast_are_compared_and_the_first_difference_is_named(self):
        self.trained_fast()
        exact = self.trained(*MODEL)
        done = run_assay("compare", exact, self.folder / "fast", "--policy", "bitwise")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"DIFFERS  bitwise: at step \d of 6")
        self.assertRegex(done.stdout, r"first difference +step \d: (loss|gradients of fc\d\.\w+)")
        self.assertIn("numerics fast", done.stdout)
        self.assertRegex(done.stdout, r"note +B computed under numerics fast, the other under exact")
        done = run_assay("compare", exact, self.folder / "fast", "--policy", "close:1e-3,1e-3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_CMP_5_a_float64_run_says_how_far_exact_and_fast_are_from_it(self):
        self.trained_fast()
        exact, reference = self.trained(*MODEL), self.folder / "reference"
        self.assertEqual(self.train(*MODEL, "--device", "reference", out=reference).returncode, 0)
        done = run_assay("compare", exact, self.folder / "fast", "--referee", reference, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        referee = json.loads(done.stdout)["referee_run"]
        self.assertEqual(referee["run"], str(reference))
        self.assertIn(referee["further"], ("A", "B", "neither"))
        for side in "ab":
            self.assertEqual(referee[side]["steps"], [2, 4, 6])
            self.assertTrue(all(0 < distance < 1e-5 for distance in referee[side]["all"]["relative"]), referee[side])
        self.assert_refused(run_assay("compare", exact, exact, "--referee", exact), "CMP-4", "device is cpu")

    def test_CMP_4_an_exact_run_is_not_resumed_as_fast_nor_a_fast_one_as_exact(self):
        before = self.bytes_of(self.trained("--set", "train.steps=6"))
        self.assert_refused(self.train("--resume", "--numerics", "fast"), "CMP-4", "run.numerics", "exact", "fast")
        self.assertEqual(self.bytes_of(self.out), before)
        self.trained_fast()
        refused = self.train(*MODEL, "--resume", out=self.folder / "fast")
        self.assert_refused(refused, "CMP-4", "run.numerics", "exact", "fast")

    def test_RUN_1_the_reference_device_has_no_fast_profile(self):
        done = self.train("--numerics", "fast", "--device", "reference")
        self.assert_refused(done, "RUN-1", "run.numerics", "reference", "fast")
        self.assert_nothing_written()

    def test_RUN_1_another_profile_is_refused(self):
        self.assert_refused(self.train("--numerics", "quick"), "RUN-1", "run.numerics", "exact, fast", "quick")
        self.assert_nothing_written()

    def test_CMP_4_an_older_run_goes_on_with_the_default_of_a_newer_key(self):
        shutil.copytree(ROOT / "tests/data/format-1", self.out)
        done = run_assay("run", self.out, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_RUN_1_tf32_without_fast_is_refused(self):
        self.assert_refused(self.train("--set", "run.tf32=true"), "RUN-1", "run.tf32", "exact")
        self.assert_nothing_written()
