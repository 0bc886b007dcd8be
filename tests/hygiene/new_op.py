"""scripts/new_op writes six files and edits two lines, and what it writes builds, passes, and can fail."""

import difflib
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from repository import ROOT, files_of

NAME = "leaky_step"
NEW = [
    f"reference/{NAME}.hpp",
    f"src/autograd/{NAME}.hpp",
    f"src/kernels/cpu/{NAME}.cpp",
    f"src/kernels/cuda/{NAME}.cu",
    f"src/kernels/{NAME}.hpp",
    f"tests/contract/{NAME}_test.cpp",
]
COMPILER = os.environ.get("CXX", "ccache g++" if shutil.which("ccache") else "g++").split()


def flags(kind, *names, **environment):
    command, environment = ["pkg-config", kind, *names], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()


class NewOp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name) / "assay"
        for path in files_of(ROOT, "src", "reference", "tests"):
            target = self.copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def new_op(self, name=NAME):
        return subprocess.run([ROOT / "scripts/new_op", "--root", self.copy, name], capture_output=True, text=True)

    def test_it_writes_six_files_and_edits_two_lines(self):
        before = {path.relative_to(self.copy): path.read_text(errors="replace") for path in files_of(self.copy)}
        done = self.new_op()
        self.assertEqual(done.returncode, 0, done.stderr)
        after = {path.relative_to(self.copy): path.read_text(errors="replace") for path in files_of(self.copy)}
        self.assertEqual(sorted(str(path) for path in after.keys() - before.keys()), sorted(NEW))
        added = []
        for path in before:
            for line in difflib.ndiff(before[path].splitlines(), after[path].splitlines()):
                added += [(str(path), line[2:])] if line.startswith("+ ") else []
        self.assertEqual([path for path, _ in added], ["src/autograd/ops.hpp", "src/kernels/meson.build"])
        self.assertTrue(all(NAME in line for _, line in added), added)

    def test_it_refuses_a_bad_name_and_an_op_that_exists(self):
        for name, words in (("Relu", "found"), ("a-b", "found"), ("relu", "exists already")):
            done = self.new_op(name)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    @unittest.skipUnless(os.environ.get("BUILD"), "needs the built library: run by meson test")
    def test_the_new_op_builds_and_its_contract_test_passes_and_can_fail(self):
        self.assertEqual(self.new_op().returncode, 0)
        program = self.build_contract_test()
        done = subprocess.run([program, "--log_level=test_suite"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"CHECK_1_{NAME}_matches_the_oracle", done.stdout)

        oracle = self.copy / f"reference/{NAME}.hpp"
        oracle.write_text(oracle.read_text().replace("return value;", "return 2 * value;"))
        done = subprocess.run([self.build_contract_test()], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0, "the contract test does not see that kernel and oracle differ")

    def build_contract_test(self):
        """The op's kernels and its test, linked with the library that is built already."""
        names = ["eigen3", "hdf5", "tomlplusplus", "nlohmann_json", "zlib", "libcrypto"]
        options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-DBOOST_TEST_DYN_LINK"]
        options += [f"-I{self.copy}/src", f"-I{self.copy}", f"-I{self.copy}/tests", *flags("--cflags", *names)]
        sources = []
        for isa in ("baseline", "avx2", "avx512"):
            sources.append((f"src/kernels/cpu/{NAME}.cpp", [f"-DASSAY_ISA={isa}"]))
            sources.append((f"src/kernels/cuda/{NAME}.cu", [f"-DASSAY_ISA=simulated_{isa}", "-x", "c++"]))
        for build in ("hypothesis", "contracted"):
            sources.append((f"src/kernels/cpu/{NAME}.cpp", ["-DASSAY_HYPOTHESIS", f"-DASSAY_ISA={build}"]))
        sources += [(f"tests/contract/{NAME}_test.cpp", []), ("tests/main.cpp", [])]
        objects = []
        for number, (source, more) in enumerate(sources):
            objects.append(self.copy / f"{number}.o")
            self.compile(*options, *more, "-c", self.copy / source, "-o", objects[-1])
        build = Path(os.environ["BUILD"])
        (library,) = build.glob("src/libassay.*a")
        own = flags("--libs", "assay", PKG_CONFIG_PATH=str(build / "meson-private"))
        libraries = [library if flag == "-lassay" else flag for flag in own] + flags("--libs", *names)
        program = self.copy / "contract_test"
        self.compile(*objects, *libraries, "-lboost_unit_test_framework", "-lmpfr", "-pthread", "-o", program)
        return program

    def compile(self, *arguments):
        done = subprocess.run([*COMPILER, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
