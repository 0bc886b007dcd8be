"""Damaged or foreign checkpoints: each flipped bit and each cut is refused by name; a resume uses the last good one."""

import random
import shutil

from command import THOROUGH, CommandTest, run_assay

SEED = 20240229
FLIPS = 1000 if THOROUGH else 100
MAGIC = 8


class BadCheckpoint(CommandTest):
    def setUp(self):
        super().setUp()
        self.trained()
        self.files = sorted((self.out / "checkpoints").glob("step-*.h5"))
        self.assertGreaterEqual(len(self.files), 2)
        self.newest = self.files[-1]
        self.good = self.newest.read_bytes()

    def test_FILE_6_each_of_the_sampled_flipped_bits_is_refused_by_name(self):
        dice = random.Random(SEED)
        for _ in range(FLIPS):
            # A file without its magic is a foreign one, which inspect may read; resume has a case of its own for it.
            at, bit = dice.randrange(MAGIC, len(self.good)), dice.randrange(8)
            content = bytearray(self.good)
            content[at] ^= 1 << bit
            self.newest.write_bytes(content)
            done = run_assay("inspect", self.newest)
            with self.subTest(byte=at, bit=bit):
                self.assert_refused(done, self.newest.name)
                self.assertEqual(done.stdout, "")

    def test_FILE_6_a_checkpoint_cut_at_any_length_is_refused_by_name(self):
        dice, size = random.Random(SEED), len(self.good)
        lengths = {0, 1, 7, 8, 11, 12, 24, 55, 56, 511, 512, 513, size - 1} | {
            dice.randrange(size) for _ in range(FLIPS // 10)
        }
        for length in sorted(lengths):
            self.newest.write_bytes(self.good[:length])
            done = run_assay("inspect", self.newest)
            with self.subTest(length=length):
                self.assert_refused(done, self.newest.name)
                self.assertEqual(done.stdout, "")

    def test_FILE_2_a_resume_names_the_damaged_checkpoint_and_uses_the_one_before(self):
        whole = self.folder / "whole"
        shutil.copytree(self.out, whole)
        for at in (0, MAGIC - 1, 30, len(self.good) // 2, len(self.good) - 1):
            shutil.rmtree(self.out)
            shutil.copytree(whole, self.out)
            content = bytearray(self.good)
            content[at] ^= 4
            self.newest.write_bytes(content)
            with self.subTest(byte=at):
                done = self.train("--resume")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(self.newest.name, done.stderr)
                self.assertEqual(run_assay("compare", whole, self.out, "--policy", "bitwise").returncode, 0)
                self.assert_whole(self.out)

    def test_FILE_3_a_checkpoint_of_another_architecture_is_refused_with_tensor_and_shapes(self):
        other = self.folder / "other"
        self.trained("--set", "model.layers=[16, 9, 4]", out=other)
        for path in self.files:
            path.unlink()
        shutil.copy(other / "checkpoints" / self.newest.name, self.newest)
        before = self.bytes_of(self.out)
        done = self.train("--resume")
        self.assert_refused(done, self.newest.name)
        self.assertRegex(done.stderr, r"fc1\.weight|model\.layers|\.weight")
        self.assertEqual(self.bytes_of(self.out), before)

    def test_RUN_1_a_resume_with_another_architecture_is_refused(self):
        before = self.bytes_of(self.out)
        self.assert_refused(self.train("--resume", "--set", "model.layers=[16, 9, 4]"), "model.layers")
        self.assertEqual(self.bytes_of(self.out), before)

    def test_FILE_6_a_damaged_run_file_or_segment_is_refused_by_compare(self):
        other = self.folder / "other"
        shutil.copytree(self.out, other)
        for path in (other / "run.h5", sorted(other.glob("steps-*.h5"))[0]):
            good = path.read_bytes()
            for content in (good[: len(good) // 2], good[:-1] + bytes([good[-1] ^ 1]), b""):
                path.write_bytes(content)
                with self.subTest(file=path.name, size=len(content)):
                    self.assert_refused(run_assay("compare", self.out, other), path.name)
            path.write_bytes(good)
        self.assertEqual(run_assay("compare", self.out, other).returncode, 0)
