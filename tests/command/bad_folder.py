"""`assay run` into a folder that cannot take the run: exit status 2, the path named, what was there still whole."""

import os
import shutil
import subprocess
import unittest

from command import ASSAY, CommandTest


class BadFolder(CommandTest):
    def test_FILE_7_a_run_is_not_overwritten_without_being_told_to(self):
        before = self.bytes_of(self.trained())
        self.assert_refused(self.train(), self.out)
        self.assertEqual(self.bytes_of(self.out), before)

    def test_FILE_2_a_file_in_place_of_the_folder_is_refused(self):
        self.out.write_text("mine")
        self.assert_refused(self.train(), self.out)
        self.assertEqual(self.out.read_text(), "mine")

    def test_FILE_2_a_folder_below_a_file_is_refused(self):
        (self.folder / "file").write_text("mine")
        self.assert_refused(self.train(out=self.folder / "file" / "run"), "file/run")

    def test_FILE_2_a_folder_that_cannot_be_made_is_refused(self):
        self.assert_refused(self.train(out="/proc/assay-run"), "/proc/assay-run")

    def test_FILE_2_an_unwritable_folder_is_refused(self):
        self.out.mkdir()
        self.out.chmod(0o555)
        self.addCleanup(self.out.chmod, 0o755)
        command, user = ASSAY, {}
        if os.geteuid() == 0:  # root writes everywhere: another user runs a copy that it can reach
            self.folder.chmod(0o755)
            command, user = shutil.copy(ASSAY, self.folder / "assay"), {"user": 65534, "group": 65534}
        done = subprocess.run(
            [command, "run", self.experiment, "--out", self.out], capture_output=True, text=True, cwd="/", **user
        )
        self.assert_refused(done, self.out)
        self.assert_nothing_written()

    def test_FILE_2_a_limit_on_the_size_of_files_is_reported_and_leaves_nothing_half_written(self):
        self.trained(out=self.folder / "usual")
        sizes = sorted(path.stat().st_size for path in (self.folder / "usual").rglob("*.h5"))
        # From 1: the thread sanitizer writes a file of its own when a program starts, and dies of a limit of 0.
        for limit in (1, 100, 512, sizes[0] - 1, sizes[-1] - 1):
            out = self.folder / f"limited-{limit}"
            with self.subTest(limit=limit):
                done = self.train(out=out, file_size=limit)
                self.assert_refused(done, out)
                self.assert_whole(out)

    def test_FILE_2_a_full_disk_is_reported_and_leaves_nothing_half_written(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "assay-test", disk], capture_output=True, text=True
        )
        if mounted.returncode:
            raise unittest.SkipTest(
                "mounting a small tmpfs is not allowed here; a limit on the size of files stands for it"
            )
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        done = self.train(out=disk / "run")
        self.assert_refused(done, disk)
        if (disk / "run").exists():
            self.assert_whole(disk / "run")
