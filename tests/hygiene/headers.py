"""Every header compiles alone: one that its own source includes first does in the build, the others do here."""

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from repository import ROOT, PlantedMistake, files_of, lines_of

COMPILER = os.environ.get("CXX", "g++").split()


def proven_by_the_build(root, header):
    """Whether the source beside the header includes it before anything else."""
    include_root = root / "src" if header.is_relative_to(root / "src") else root
    source = header.with_suffix(".cpp")
    if not source.exists():
        return False
    first = next((line for line in lines_of(source) if line.lstrip().startswith("#include")), "")
    return first.strip() == f'#include "{header.relative_to(include_root)}"'


def flags():
    found = subprocess.run(
        ["pkg-config", "--cflags", "eigen3", "hdf5", "tomlplusplus", "nlohmann_json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [flag for flag in found if flag.startswith("-I")]


def errors_of(root, headers):
    """First error line of each header that does not compile as the only include of a source file."""
    options = [
        "-std=c++20",
        "-fsyntax-only",
        "-DASSAY_ISA=baseline",
        "-I",
        root / "src",
        "-I",
        root,
        "-I",
        root / "tests",
        *flags(),
    ]

    def compile_one(header):
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
            source.write(f'#include "{header}"\n')
            source.flush()
            done = subprocess.run([*COMPILER, *options, source.name], capture_output=True, text=True)
        found = re.findall(r".*error:.*", done.stderr)
        return f"{header.relative_to(root)}: {(found or [done.stderr])[0]}" if done.returncode else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [error for error in pool.map(compile_one, headers) if error]


class Headers(PlantedMistake):
    def test_every_header_compiles_alone(self):
        files = files_of(ROOT, "src", "reference", "tests/support")
        headers = [path for path in files if path.suffix in (".hpp", ".cuh")]
        self.assertTrue(headers)
        self.assertEqual(errors_of(ROOT, [path for path in headers if not proven_by_the_build(ROOT, path)]), [])

    def test_a_header_that_needs_another_include_is_found(self):
        good = self.plant("src/good.hpp", "#include <vector>\nstd::vector<int> a();\n")
        bad = self.plant("src/bad.hpp", "std::vector<int> b();\n")
        self.assertRegex("; ".join(errors_of(self.tree, [good, bad])), r"^src/bad\.hpp: [^;]*error: .*std")

    def test_only_a_source_that_includes_its_header_first_proves_it(self):
        header = self.plant("src/base/a.hpp", "int a();\n")
        self.plant("src/base/a.cpp", '// A.\n#include "base/a.hpp"\n#include <vector>\n')
        self.assertTrue(proven_by_the_build(self.tree, header))
        self.plant("src/base/a.cpp", '#include <vector>\n#include "base/a.hpp"\n')
        self.assertFalse(proven_by_the_build(self.tree, header))
