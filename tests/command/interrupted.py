"""Runs killed at random moments and resumed have the bits of the run that nobody touched (scripts/kill_and_resume)."""

import os
import signal
import subprocess
import time
import unittest

from command import ASSAY, ROOT, THOROUGH, CommandTest, run_assay

KILLS = os.environ.get("KILLS", "3")


class Interrupted(CommandTest):
    @unittest.skipUnless(os.path.isdir("/usr/share/datasets/fashion-mnist"), "needs the package dataset-fashion-mnist")
    def test_FILE_1_a_killed_and_resumed_run_has_the_bits_of_the_whole_run(self):
        shorter = [] if THOROUGH else ["--steps", "40", "--checkpoint-every", "8"]
        done = subprocess.run(
            [ROOT / "scripts/kill_and_resume", "--times", KILLS, "--assay", ASSAY, *shorter],
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_RUN_5_an_interrupt_saves_and_exits_and_a_resume_has_the_same_bits(self):
        long = ["--set", "train.steps=3000", "--set", "checkpoint.every=300"]
        whole = self.trained(*long, out=self.folder / "whole")
        process = subprocess.Popen(
            [ASSAY, "run", self.experiment, "--threads", "1", *long, "--out", self.out],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not list(self.out.glob("checkpoints/step-*.h5")):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, -signal.SIGINT, "it died of the signal instead of saving")
        self.assertIn("--resume", errors, "it does not say how to go on")
        self.assert_whole(self.out)
        self.trained(*long, "--resume")
        self.assertEqual(run_assay("compare", whole, self.out, "--policy", "bitwise").returncode, 0)
