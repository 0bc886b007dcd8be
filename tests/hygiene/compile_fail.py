"""What must not compile does not, for the reason that its file names, and does once the break is left out.

Each tests/compile_fail/GROUP_n_sentence.cpp breaks one promise that the compiler keeps. With -DASSAY_KEEPS it has to
compile; without, an error has to match the pattern of its line `// refused:`.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from repository import ROOT, PlantedMistake

FOLDER = "tests/compile_fail"
COMPILER = os.environ.get("CXX", "ccache g++" if shutil.which("ccache") else "g++").split()
NAME = re.compile(r"[A-Z][A-Z0-9]*_\d+_[a-z0-9_]+")


OPTIONS = ["-std=c++20", f"-I{ROOT / 'src'}", f"-I{ROOT}"]


def errors_of(path, *options):
    """The errors of compiling a file; empty when it compiles."""
    command = [*COMPILER, *OPTIONS, "-fsyntax-only", *options, path]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.stderr if done.returncode else ""


def problems_of(path):
    problems = []
    pattern = re.search(r"^// refused: (.+)$", path.read_text(), re.MULTILINE)
    if not NAME.fullmatch(path.stem):
        problems.append("its name is not GROUP_n_sentence")
    if not pattern:
        return problems + ["no line `// refused: PATTERN` says with which error"]
    if errors_of(path, "-DASSAY_KEEPS"):
        problems.append(f"does not compile with -DASSAY_KEEPS:\n{errors_of(path, '-DASSAY_KEEPS')}")
    errors = "\n".join(line for line in errors_of(path).splitlines() if "error:" in line)
    if not errors:
        problems.append("compiles, although it breaks the promise")
    elif not re.search(pattern.group(1), errors):
        problems.append(f"refused with another error than {pattern.group(1)}:\n{errors}")
    return problems


class CompileFail(PlantedMistake):
    @classmethod
    def setUpClass(cls):
        """Headers that many of the files begin with are compiled once; g++ finds them in front of the sources."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        for header in ("nn/linear.hpp", "device/buffer.hpp"):
            compiled = Path(folder.name) / (header + ".gch")
            compiled.parent.mkdir()
            command = [*COMPILER, *OPTIONS, "-x", "c++-header", ROOT / "src" / header, "-o", compiled]
            subprocess.run(command, check=True)
        OPTIONS.insert(0, f"-I{folder.name}")

    def test_what_must_not_compile_does_not(self):
        files = sorted((ROOT / FOLDER).glob("*.cpp"))
        self.assertTrue(files)
        for path in files:
            with self.subTest(file=path.name):
                self.assertEqual(problems_of(path), [])

    def planted(self, broken, kept="", refused="was not declared|undeclared"):
        text = f"// A.\n// refused: {refused}\nvoid test() {{\n#ifdef ASSAY_KEEPS\n{kept}\n#else\n{broken}\n#endif\n}}\n"
        return problems_of(self.plant(f"{FOLDER}/REG_1_a.cpp", text))

    def test_a_file_that_breaks_nothing_is_found(self):
        self.assertEqual(self.planted("absent();"), [])
        self.assertEqual(self.planted("int a = 0; a++;"), ["compiles, although it breaks the promise"])

    def test_a_file_that_never_compiles_is_found(self):
        self.assertRegex(self.planted("absent();", "absent();")[0], "^does not compile with -DASSAY_KEEPS")

    def test_another_error_than_the_named_one_is_found(self):
        self.assertRegex(self.planted("absent();", refused="deleted")[0], "^refused with another error than deleted")

    def test_a_file_without_id_or_pattern_is_found(self):
        self.assertEqual(len(problems_of(self.plant(f"{FOLDER}/copied.cpp", "// A.\n"))), 2)


if __name__ == "__main__":
    unittest.main()
