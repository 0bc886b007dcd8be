"""Nothing is left out of the build: every source and test is named in a meson.build, every op has its contract test."""

import re

from repository import ROOT, PlantedMistake, files_of

# Not tests by themselves: what tests share.
SHARED = {"run.py", "repository.py", "command.py", "make_run.py"}


def meson_text(root, path):
    """Text of the meson.build files from the folder of `path` up to the root."""
    texts = []
    folder = path.parent
    while folder.is_relative_to(root):
        if (folder / "meson.build").exists():
            texts.append((folder / "meson.build").read_text())
        folder = folder.parent
    return "\n".join(texts)


def ops(root):
    """The op list of src/kernels/meson.build."""
    match = re.search(r"^ops\s*=\s*\[(.*?)\]", (root / "src/kernels/meson.build").read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"'([a-z0-9_]+)'", match.group(1)) if match else []


def unlisted(root):
    problems = []
    for path in files_of(root, "src", "tests"):
        tools = path.suffix == ".py" and (path.name in SHARED or path.is_relative_to(root / "src"))
        must_not_build = path.parent == root / "tests/compile_fail"
        if path.suffix not in (".cpp", ".cu", ".py") or tools or must_not_build:
            continue
        text = meson_text(root, path)
        stem = path.stem.removesuffix("_test")
        named = re.search(rf"['/]{re.escape(path.name)}'", text) or re.search(
            rf"'({re.escape(path.stem)}|{re.escape(stem)})'", text
        )
        if not named and stem not in ops(root):
            problems.append(f"{path.relative_to(root)}: no meson.build names it")
    return problems


def ops_without_test(root):
    return [
        f"{op}: there is no tests/contract/{op}_test.cpp"
        for op in ops(root)
        if not (root / f"tests/contract/{op}_test.cpp").exists()
    ]


def switched_off(root):
    """Boost.Test cases that are disabled without a reason that a run could print."""
    return [
        str(path.relative_to(root))
        for path in files_of(root, "tests")
        if path.suffix == ".cpp" and re.search(r"\bdisabled\s*\(", path.read_text())
    ]


class Listed(PlantedMistake):
    def test_every_source_and_test_is_in_a_meson_build(self):
        self.assertEqual(unlisted(ROOT), [])

    def test_every_op_has_a_contract_test(self):
        self.assertTrue(ops(ROOT))
        self.assertEqual(ops_without_test(ROOT), [])

    def test_no_test_is_switched_off_without_a_reason(self):
        self.assertEqual(switched_off(ROOT), [])

    def test_a_forgotten_test_file_is_found(self):
        self.plant("src/kernels/meson.build", "ops = ['relu']\n")
        self.plant("tests/unit/meson.build", "unit = files('shape_test.cpp')\n")
        self.plant("tests/unit/shape_test.cpp", "")
        self.plant("tests/unit/forgotten_test.cpp", "")
        self.plant("tests/contract/relu_test.cpp", "")
        self.assertEqual(unlisted(self.tree), ["tests/unit/forgotten_test.cpp: no meson.build names it"])

    def test_an_op_without_contract_test_is_found(self):
        self.plant("src/kernels/meson.build", "ops = [\n  'relu',\n  'softmax',\n]\n")
        self.plant("tests/contract/relu_test.cpp", "")
        self.assertEqual(ops_without_test(self.tree), ["softmax: there is no tests/contract/softmax_test.cpp"])

    def test_a_disabled_case_is_found(self):
        self.plant("tests/unit/a_test.cpp", "BOOST_AUTO_TEST_CASE(a, *boost::unit_test::disabled()) {}\n")
        self.assertEqual(switched_off(self.tree), ["tests/unit/a_test.cpp"])
