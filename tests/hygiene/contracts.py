"""Manual, tests and saboteurs speak of the same contracts; each has a saboteur, and each saboteur a site."""

import re
import unittest
from collections import Counter

from repository import ROOT, PlantedMistake, files_of

CASE = re.compile(r"\b(?:CONTRACT|BOOST_AUTO_TEST_CASE)\(([A-Z][A-Z0-9]*)_(\d+)_")
CASE_OF_SOURCES = re.compile(r"\bdef test_([A-Z][A-Z0-9]*)_(\d+)_")
TO_COME = re.compile(r"^Still to come: .*$", re.MULTILINE)
HEADING = re.compile(r"^## ([A-Z][A-Z0-9]*)-(\d+)\b", re.MULTILINE)
SABOTEUR = re.compile(r'\{"(\w+)",\s*"([A-Z0-9\- ]+)",')
OF_SOURCES = re.compile(r'kept_by_the_source = "([A-Z0-9\- ]*)"')
SITE = re.compile(r'sabotaged\("(\w+)"\)')


def ids(pattern, root, *folders, suffix):
    return {
        f"{group}-{number}"
        for path in files_of(root, *folders)
        if path.suffix == suffix
        for group, number in pattern.findall(path.read_text())
    }


def saboteurs(root):
    """Name and ids of each row of the list."""
    return SABOTEUR.findall((root / "src/base/saboteurs.hpp").read_text())


def of_sources(root):
    """The ids of promises about the source itself, which no switch can break."""
    return set(" ".join(OF_SOURCES.findall((root / "src/base/saboteurs.hpp").read_text())).split())


def that_must_not_build(root):
    names = [path.stem.split("_") for path in files_of(root, "tests/compile_fail")]
    return {f"{words[0]}-{words[1]}" for words in names}


def to_come(root):
    """Rows that a page announces: what of them holds already may be tested."""
    lines = [line for path in files_of(root, "reference/contracts") for line in TO_COME.findall(path.read_text())]
    return set(re.findall(r"\b[A-Z][A-Z0-9]*-\d+\b", "\n".join(lines)))


def disagreements(root):
    tested = ids(CASE, root, "tests", suffix=".cpp") | ids(CASE_OF_SOURCES, root, "tests/hygiene", suffix=".py")
    manual = ids(HEADING, root, "reference/contracts", suffix=".md")
    groups = {row.split("-")[0] for row in manual}
    problems = [f"{row}: the manual has it and no test case is named by it" for row in manual - tested]
    problems += [
        f"{row}: a test case is named by it and the manual lacks it"
        for row in tested - manual - to_come(root)
        if row.split("-")[0] in groups
    ]
    problems += [
        f"{name}: breaks {row}, which no test case is named by"
        for name, rows in saboteurs(root)
        for row in rows.split()
        if row not in tested
    ]
    broken = {row for _, rows in saboteurs(root) for row in rows.split()}
    kept = of_sources(root)
    problems += [f"{row}: no saboteur breaks it" for row in manual - broken - kept]
    problems += [f"{row}: kept by the source, and a saboteur breaks it" for row in kept & broken]
    problems += [
        f"{row}: tests/compile_fail breaks it and kept_by_the_source lacks it"
        for row in that_must_not_build(root) - kept
    ]
    return sorted(problems)


def rows_and_sites(root):
    """What the list of saboteurs and their sites say of each other that is not so.

    The kernels of the cpu are built once, for programs with and without saboteurs, so no site there ever acts.
    """
    sites = {
        name
        for path in files_of(root, "src")
        if path.suffix in (".cpp", ".hpp") and path.name != "sabotage.hpp" and "kernels/cpu" not in str(path)
        for name in SITE.findall(path.read_text())
    }
    names = Counter(name for name, _ in saboteurs(root))
    problems = [f"{name}: no site" for name in names if name not in sites]
    problems += [f"{name}: a site and no row" for name in sites if name not in names]
    return sorted(problems + [f"{name}: {count} rows" for name, count in names.items() if count > 1])


class Contracts(PlantedMistake):
    def test_manual_tests_and_saboteurs_agree(self):
        self.assertTrue(ids(HEADING, ROOT, "reference/contracts", suffix=".md"))
        self.assertEqual(disagreements(ROOT), [])

    def test_each_saboteur_stands_once_in_the_list_and_has_a_site(self):
        self.assertTrue(saboteurs(ROOT))
        self.assertEqual(rows_and_sites(ROOT), [])

    def test_disagreements_are_found(self):
        self.plant("reference/contracts/REG.md", "# REG\n\n## REG-1\n\n## REG-2\n")
        self.plant("tests/contract/a_test.cpp", "CONTRACT(REG_1_a) {}\nBOOST_AUTO_TEST_CASE(REG_3_b) {}\n")
        self.plant("src/base/saboteurs.hpp", '{"one", "REG-1 REG-4", "…"},\n')
        self.assertEqual(
            disagreements(self.tree),
            [
                "REG-2: no saboteur breaks it",
                "REG-2: the manual has it and no test case is named by it",
                "REG-3: a test case is named by it and the manual lacks it",
                "one: breaks REG-4, which no test case is named by",
            ],
        )

    def test_a_row_that_is_still_to_come_may_be_tested(self):
        self.plant("reference/contracts/REG.md", "Still to come: REG-2 (later).\n\n## REG-1\n")
        self.plant("tests/contract/a_test.cpp", "CONTRACT(REG_1_a) {}\nCONTRACT(REG_2_b) {}\nCONTRACT(REG_3_c) {}\n")
        self.plant("src/base/saboteurs.hpp", '{"one", "REG-1", "…"},\n')
        self.assertEqual(disagreements(self.tree), ["REG-3: a test case is named by it and the manual lacks it"])

    def test_a_check_of_sources_may_be_the_case_of_a_promise(self):
        self.plant("reference/contracts/REG.md", "## REG-1\n\n## REG-2\n")
        self.plant("tests/hygiene/a.py", "def test_REG_1_a(self):\ndef test_a_REG_2(self):\n")
        self.plant("src/base/saboteurs.hpp", 'kept_by_the_source = "REG-1 REG-2";\n')
        self.assertEqual(disagreements(self.tree), ["REG-2: the manual has it and no test case is named by it"])

    def test_a_promise_of_the_source_has_no_saboteur_and_its_file_is_of_such_a_promise(self):
        self.plant("reference/contracts/REG.md", "## REG-1\n")
        self.plant("tests/contract/a_test.cpp", "CONTRACT(REG_1_a) {}\nCONTRACT(ACC_7_b) {}\n")
        self.plant("tests/compile_fail/REG_1_a.cpp", "")
        self.plant("src/base/saboteurs.hpp", 'kept_by_the_source = "REG-1";\n')
        self.assertEqual(disagreements(self.tree), [])
        self.plant("tests/compile_fail/ACC_7_b.cpp", "")
        self.plant("src/base/saboteurs.hpp", '{"one", "REG-1", "…"},\nkept_by_the_source = "REG-1";\n')
        self.assertEqual(
            disagreements(self.tree),
            [
                "ACC-7: tests/compile_fail breaks it and kept_by_the_source lacks it",
                "REG-1: kept by the source, and a saboteur breaks it",
            ],
        )

    def test_a_row_without_site_and_a_site_without_row_are_found(self):
        self.plant("src/base/saboteurs.hpp", '{"one", "REG-1", "…"},\n{"two", "REG-1", "…"},\n{"two", "REG-2", "…"},\n')
        self.plant("src/kernels/cpu/add.cpp", 'if (!sabotaged("one")) add();\n')
        self.plant("src/nn/module.cpp", 'if (!sabotaged("two") && !sabotaged("three")) check();\n')
        self.assertEqual(rows_and_sites(self.tree), ["one: no site", "three: a site and no row", "two: 2 rows"])


if __name__ == "__main__":
    unittest.main()
