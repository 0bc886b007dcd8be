"""READMEs tell the truth: the paths they name exist, and the examples marked `<!-- run -->` run."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from repository import ROOT, PlantedMistake, files_of

TOP = ("src", "experiments", "reference", "tests", "reports", "scripts", ".ci")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
QUOTED = re.compile(r"`([^`\n]+)`")
EXAMPLE = re.compile(r"^<!-- run -->\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def missing_paths(root):
    """Links of Markdown files, and quoted paths that begin with a folder of the repository."""
    problems = []
    for path in files_of(root):
        if path.suffix != ".md":
            continue
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in LINK.findall(text):
            if "://" not in link and not (path.parent / link).exists():
                problems.append(f"{path.relative_to(root)}: the link {link} leads nowhere")
        for words in QUOTED.findall(text):
            name = words.split()[0]
            if name.split("/")[0] in TOP and "/" in name and not re.search(r"[A-Z]{3,}", name):
                if not list(root.glob(name.rstrip("/").split(":")[0])):
                    problems.append(f"{path.relative_to(root)}: there is no {name}")
    return problems


def examples_of(root):
    return [
        (path, example)
        for path in files_of(root)
        if path.suffix == ".md"
        for example in EXAMPLE.findall(path.read_text())
    ]


def failing_examples(root, assay):
    """Runs each example in an empty folder that sees the repository's folders, with `assay` on PATH."""
    problems = []
    for path, example in examples_of(root):
        with tempfile.TemporaryDirectory() as folder:
            for name in TOP:
                if (root / name).exists():
                    (Path(folder) / name).symlink_to(root / name)
            environment = {**os.environ, "PATH": f"{Path(assay).parent}:{os.environ['PATH']}"}
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", example],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            if done.returncode:
                problems.append(
                    f"{path.relative_to(root)}: exit status {done.returncode} of\n{example}{done.stdout}{done.stderr}"
                )
    return problems


class Readme(PlantedMistake):
    def test_the_paths_in_all_readmes_exist(self):
        self.assertEqual(missing_paths(ROOT), [])

    @unittest.skipUnless(os.environ.get("ASSAY"), "needs the built command: run by meson test")
    def test_the_marked_examples_run(self):
        self.assertTrue(examples_of(ROOT))
        self.assertEqual(failing_examples(ROOT, os.environ["ASSAY"]), [])

    def test_the_main_readme_opens_with_the_two_commands(self):
        block = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL).group(1)
        self.assertEqual([line.split()[0] for line in block.splitlines()], ["scripts/quickstart", "scripts/test"])

    def test_a_path_that_does_not_exist_is_found(self):
        self.plant("src/base/error.hpp", "")
        self.plant(
            "README.md",
            "`src/base/error.hpp`, `src/*/error.hpp`, `src/gone.hpp` and [this](src) or [that](tests/x.md)\n",
        )
        self.assertEqual(
            missing_paths(self.tree),
            ["README.md: the link tests/x.md leads nowhere", "README.md: there is no src/gone.hpp"],
        )

    def test_an_example_that_fails_is_found(self):
        self.plant(
            "README.md", "<!-- run -->\n```sh\ntrue\n```\n\n<!-- run -->\n```sh\nfalse\n```\n\n```sh\nfalse\n```\n"
        )
        problems = failing_examples(self.tree, "/bin/true")
        self.assertEqual(len(problems), 1)
        self.assertIn("exit status 1 of\nfalse\n", problems[0])
