"""What no file may hold: fast-math flags, libm in the library, over 600 lines; and its first line says what it is."""

import re

from repository import CODE, ROOT, PlantedMistake, code_of, files_of, lines_of

# Written in pieces, so that this file does not hold what it looks for.
FAST_MATH = re.compile(
    "|".join(["ffast" + "-math", "use_fast" + "_math", "O" + "fast", "funsafe" + "-math", "fp-model" + "=fast"])
)
CONTRACTION = re.compile("ffp-" + "contract=(?!off)")
LIBM = re.compile(
    r"std::(?:exp|log|tanh|erf|sin|cos|tan|pow|log1p|expm1|exp2|log2|log10|cbrt|hypot|tgamma|lgamma)[fl]?\("
)
UNFINISHED = re.compile(
    r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "not " + "implemented"]) + r")\b"
)
STRANGE = re.compile(r"/wo" + r"rk/|/tmp/me" + r"mo|\bses" + r"sion\b|issue #?\d+", re.IGNORECASE)
TEXT = CODE | {".md", ".toml", ".txt", ".build", ""}
MOST_LINES = 600


def matches(root, pattern, paths):
    return [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(lines_of(path), 1)
        if pattern.search(line)
    ]


def texts_of(root, *folders):
    return [
        path
        for path in files_of(root, *folders)
        if path.suffix in TEXT and path.name != "LICENSE" and path.stat().st_size < 1 << 20
    ]


def fast_math(root):
    return matches(root, FAST_MATH, texts_of(root))


def contractions(root):
    return matches(root, CONTRACTION, [path for path in texts_of(root) if path.suffix != ".md"])


def libm_calls(root):
    """Calls in code, not in comments; the profile fast (libm.hpp) and figures for people (compare, app) may use libm."""
    found = []
    for path in code_of(root, "src"):
        here = path.relative_to(root)
        if here.parts[1] in ("compare", "app") or str(here) == "src/numerics/libm.hpp" or path.suffix == ".py":
            continue
        for number, line in enumerate(lines_of(path), 1):
            if LIBM.search(line.split("//")[0]):
                found.append(f"{path.relative_to(root)}:{number}: {line.strip()}")
    return found


def long_files(root):
    return [
        f"{path.relative_to(root)}: {len(lines_of(path))} lines"
        for path in code_of(root)
        if len(lines_of(path)) > MOST_LINES
    ]


def without_first_line(root):
    """Code whose first line (after #!) is no comment in words."""
    found = []
    for path in code_of(root) + [
        path for path in files_of(root, "scripts", "src", "tests", ".ci") if path.suffix == ""
    ]:
        lines = lines_of(path)
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or not re.match(r'^(//|#(?!\s*(include|pragma|if|define))|r?""")\W*\w+', lines[0]):
            found.append(str(path.relative_to(root)))
    return found


class Sources(PlantedMistake):
    def test_no_flag_lets_the_compiler_change_values(self):
        self.assertEqual(fast_math(ROOT), [])

    def test_only_one_build_of_the_kernels_is_contracted(self):
        (line,) = contractions(ROOT)
        self.assertRegex(line, r"^src/kernels/meson\.build:\d+: foreach build, args : \{.*'contracted': \[[^]]*\]\}$")

    def test_the_library_calls_no_libm(self):
        self.assertEqual(libm_calls(ROOT), [])

    def test_no_file_is_longer_than_600_lines(self):
        self.assertEqual(long_files(ROOT), [])

    def test_every_file_says_first_what_it_is(self):
        self.assertEqual(without_first_line(ROOT), [])

    def test_nothing_is_marked_as_unfinished(self):
        self.assertEqual(matches(ROOT, UNFINISHED, texts_of(ROOT)), [])

    def test_the_text_speaks_of_the_project_only(self):
        self.assertEqual(matches(ROOT, STRANGE, texts_of(ROOT)), [])

    def test_a_fast_math_flag_is_found(self):
        self.plant("meson.build", "# A.\nadd_project_arguments('-ffast" + "-math')\n")
        self.assertEqual(len(fast_math(self.tree)), 1)

    def test_a_contraction_is_found(self):
        self.plant("src/meson.build", "# A.\na = ['-ffp-contract=off', '-ffp-" + "contract=fast']\n")
        self.assertEqual(len(contractions(self.tree)), 1)

    def test_a_libm_call_is_found_except_in_compare_in_fast_and_in_comments(self):
        self.plant("src/nn/a.cpp", "// std::exp(x)\nfloat a = std::expf(x);\n")
        self.plant("src/compare/a.cpp", "double a = std::log(x);\n")
        self.plant("src/numerics/libm.hpp", "float a = std::log(x);\n")
        self.assertEqual(libm_calls(self.tree), ["src/nn/a.cpp:2: float a = std::expf(x);"])

    def test_a_long_file_is_found(self):
        self.plant("src/a.cpp", "\n" * 601)
        self.assertEqual(long_files(self.tree), ["src/a.cpp: 601 lines"])

    def test_a_file_without_first_line_is_found(self):
        self.plant("src/a.cpp", "#include <vector>\n")
        self.plant("src/b.cpp", "// Reads IDX files.\n")
        self.plant("scripts/c", "#!/bin/sh\necho\n")
        self.assertEqual(without_first_line(self.tree), ["src/a.cpp", "scripts/c"])

    def test_an_unfinished_mark_is_found(self):
        path = self.plant("src/a.cpp", "// TO" + "DO: more\n")
        self.assertEqual(len(matches(self.tree, UNFINISHED, [path])), 1)

    def test_a_path_of_a_workplace_is_found(self):
        path = self.plant("README.md", "see /wo" + "rk/x\n")
        self.assertEqual(len(matches(self.tree, STRANGE, [path])), 1)
