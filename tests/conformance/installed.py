"""What a user has: the installed tree alone builds their program, whose checks hold, or name what is broken.

The program is compiled by the commands of reference/conformance.md, in a folder that knows nothing of the repository.
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
DEVICES = ("cpu", "simulated")
COMPILE = re.search(r"^for kernels in .*?^g\+\+ .*?$", MANUAL, re.MULTILINE | re.DOTALL).group(0)


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
        for pattern in ("*.[ch]pp", "*.cu"):
            for path in (ROOT / "tests/conformance").glob(pattern):
                shutil.copy(path, cls.own)
        (package,) = cls.tree.rglob("assay.pc")
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": str(package.parent), "LC_ALL": "C"}

    def installed(self, name):
        return [path for path in self.tree.rglob(name) if path.is_file()]

    def run_program(self, folder, name, kernels="rms_norm rmsprop"):
        command = COMPILE.replace("rms_norm rmsprop", kernels).replace("example", name)
        command = command.replace("g++", os.environ.get("CXX", "g++"))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr[-4000:]}")
        return subprocess.run([folder / name, "--color_output=no"], capture_output=True, text=True, timeout=300)

    def test_headers_library_command_and_test_program_are_installed(self):
        for name in ("libassay.a", "assay", "assay_contracts", "module.hpp", "operation.hpp", "optimiser.hpp", "rows.cuh"):
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
        done = self.run_program(self.own, "example")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_broken_thing_is_named_by_its_id(self):
        done = self.run_program(self.own, "broken", "broken")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_in_the_example_fail_it_by_their_ids(self):
        own = shutil.copytree(self.own, self.own.parent / "mistaken", ignore=shutil.ignore_patterns("*.o"))
        for name, right, wrong in (
            ("gated_linear.hpp", "kernels::multiply(upstream, a)", "upstream"),
            ("rms_norm.cu", "  __syncthreads();\n", ""),
            ("rmsprop.cu", "if (all_finite != 1) return;", ""),
        ):
            text = (own / name).read_text()
            self.assertEqual(text.count(right), 1, name)
            (own / name).write_text(text.replace(right, wrong))
        done = self.run_program(own, "example")
        self.assertNotEqual(done.returncode, 0)
        found = set(re.findall(r"(\w+ on \w+: [A-Z]+-\d+): ", done.stdout))
        wrong_gradients = {f"{what} on {device}" for what in ("gate", "gated_linear") for device in DEVICES}
        self.assertEqual(
            found,
            {f"{what}: CHECK-1" for what in wrong_gradients}
            | {f"rms_norm on {device}: CHECK-1" for device in DEVICES}
            | {f"rmsprop on {device}: OPT-3" for device in DEVICES}
            | {"rms_norm on simulated: NUM-8"},
        )


if __name__ == "__main__":
    unittest.main()
