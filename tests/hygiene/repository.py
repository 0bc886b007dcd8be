"""What the checks of the repository share: its root, its files, and a small tree to plant a mistake in."""

import os
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {".git", "runs", "__pycache__", ".cache"}
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h", ".py", ".sh"}


def files_of(root, *folders):
    """Files below `root` (or only below its `folders`), sorted, without build folders and runs."""
    found = []
    for start in folders or ("",):
        for folder, subfolders, names in os.walk(Path(root) / start):
            at_root = Path(folder) == Path(root)
            subfolders[:] = [
                name
                for name in subfolders
                if name not in SKIPPED_FOLDERS and not (at_root and name.startswith("build"))
            ]
            found += [Path(folder) / name for name in names]
    return sorted(path for path in found if not path.name.endswith(".pyc"))


def code_of(root, *folders):
    return [path for path in files_of(root, *folders) if path.suffix in CODE]


def lines_of(path):
    return path.read_text(errors="replace").splitlines()


class PlantedMistake(unittest.TestCase):
    """Gives each case an empty tree: a check that finds nothing in the repository must find what is planted here."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)

    def plant(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file
