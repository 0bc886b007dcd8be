"""What the tests of the command share: running it, a small experiment, and what a refusal must look like."""

import os
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSAY = os.environ.get("ASSAY", str(ROOT / "build/release/src/app/assay"))
THOROUGH = os.environ.get("THOROUGH", "true") == "true"  # not in builds that are many times slower

EXPERIMENT = """
[experiment]
name = "small"
seed = 5

[data]
kind = "synthetic"
validation = 32

[data.synthetic]
samples = 128
features = 16
classes = 4

[model]
layers = [16, 8, 4]

[train]
batch = 16
steps = 6

[checkpoint]
every = 2
"""


def run_assay(*arguments, file_size=None, **options):
    """Runs the command; `file_size` limits in bytes what it may write into one file."""
    if file_size is not None:
        options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    return subprocess.run(
        [ASSAY, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        stdin=subprocess.DEVNULL,
        **options,
    )


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.experiment = self.folder / "small.toml"
        self.experiment.write_text(EXPERIMENT)
        self.out = self.folder / "run"

    def train(self, *more, out=None, **options):
        return run_assay("run", self.experiment, "--threads", 1, "--out", out or self.out, *more, **options)

    def trained(self, *more, out=None):
        done = self.train(*more, out=out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out or self.out

    def assert_refused(self, done, *words):
        """Exit status 2, one error that has the words, and no sign of a crash."""
        self.assertEqual(done.returncode, 2, f"{done.args}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
        for word in ("expected", "found", *words):
            self.assertIn(str(word), done.stderr)
        for sign in ("terminate called", "Sanitizer", "runtime error", "HDF5-DIAG"):
            self.assertNotIn(sign, done.stderr)

    def assert_nothing_written(self, folder=None):
        folder = folder or self.out
        left = (
            sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) if folder.exists() else []
        )
        self.assertEqual(left, [])

    def assert_whole(self, folder):
        """Each file of a run folder can be read, and nothing half written lies beside them."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.assertEqual(path.suffix, ".h5", path)
                done = run_assay("inspect", path)
                self.assertEqual(done.returncode, 0, f"{path}: {done.stderr}")

    def bytes_of(self, folder):
        return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
