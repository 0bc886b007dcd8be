"""What a user has: the installed tree alone builds their program, whose checks hold, or name what is broken.

The program is compiled by the command of reference/conformance.md, in a folder that knows nothing of the repository.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ["BUILD"]
MANUAL = (ROOT / "reference/conformance.md").read_text()
COMPILE = re.search(r"^g\+\+ .*example\.cpp.*$", MANUAL, re.MULTILINE).group(0)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tree, cls.own = Path(folder.name) / "tree", Path(folder.name) / "own"
        command = ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.tree]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.own.mkdir()
        for path in (ROOT / "tests/conformance").glob("*.[ch]pp"):
            shutil.copy(path, cls.own)
        (package,) = cls.tree.rglob("assay.pc")
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": str(package.parent), "LC_ALL": "C"}

    def installed(self, name):
        return [path for path in self.tree.rglob(name) if path.is_file()]

    def compiled(self, name):
        command = COMPILE.replace("g++", os.environ.get("CXX", "g++"), 1).replace("example", name)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.own,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr[-4000:]}")
        return self.own / name

    def run_program(self, name):
        return subprocess.run([self.compiled(name), "--color_output=no"], capture_output=True, text=True, timeout=300)

    def test_headers_library_command_and_test_program_are_installed(self):
        for name in ("libassay.a", "assay", "assay_contracts", "module.hpp", "operation.hpp", "optimiser.hpp"):
            self.assertTrue(self.installed(name), name)
        self.assertEqual(self.installed("graph.hpp"), [])

    def test_pkg_config_points_into_the_tree_wherever_it_is(self):
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "assay"], env=self.environment, capture_output=True, text=True
        ).stdout.split()
        own = [flag for flag in flags if "/assay" in flag or flag.startswith("-L")]
        self.assertTrue(any(Path(flag[2:]).resolve().is_relative_to(self.tree.resolve()) for flag in own), flags)
        self.assertNotIn(str(ROOT), " ".join(flags))
        self.assertIn("-ffp-contract=off", flags)

    def test_the_example_keeps_the_contracts(self):
        done = self.run_program("example")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_broken_thing_is_named_by_its_id(self):
        done = self.run_program("broken")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_wrong_gradient_in_the_example_fails_it(self):
        right = (self.own / "gated_linear.hpp").read_text()
        wrong = right.replace("kernels::multiply(upstream, a)", "upstream")
        self.assertNotEqual(right, wrong)
        (self.own / "mistaken_linear.hpp").write_text(wrong)
        text = (self.own / "example.cpp").read_text().replace("gated_linear.hpp", "mistaken_linear.hpp")
        (self.own / "mistaken.cpp").write_text(text)
        done = self.run_program("mistaken")
        self.assertNotEqual(done.returncode, 0)
        for subject in ("gate", "gated_linear"):
            for device in ("cpu", "simulated"):
                self.assertIn(f"{subject} on {device}: CHECK-1: the gradients are the central differences", done.stdout)
        self.assertEqual(set(re.findall(r" on \w+: ([A-Z]+-\d+): ", done.stdout)), {"CHECK-1"})


if __name__ == "__main__":
    unittest.main()
