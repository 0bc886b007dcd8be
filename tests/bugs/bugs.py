"""The bug catalogue: each public mistake is planted in a run, and compare names where it is, whose it is and why."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "command"))
from command import CommandTest, run_assay  # noqa: E402

EXPERIMENT = """
[experiment]
name = "bug"
seed = 3

[data]
kind = "synthetic"
validation = 16

[data.synthetic]
samples = 96
features = 16
classes = 4

[model]
layers = [16, 12, 4]

[optimiser]
kind = "adamw"
learning_rate = 0.01
weight_decay = 0.1

[train]
batch = 16
steps = 5
validate_every = 2

[checkpoint]
every = 2
"""

DECODER = """
[experiment]
name = "bug"
seed = 3

[data]
kind = "text"
path = "FOLDER/text.txt"
context = 12
test = 4

[model]
kind = "decoder"
width = 12
heads = 3
blocks = 2
hidden = 24

[train]
batch = 4
steps = 3
"""
TEXT = " ".join(str(i * i) for i in range(200))


@dataclass
class Bug:
    """`saboteur` plants it in the second run; the rest is what compare has to say of it."""

    saboteur: str
    seen_in: str  # where the public has met it
    step: int
    phase: str
    module: str
    operation: str
    cause: str = ""  # a pattern; none: not among the hypotheses
    referee: str = "B"
    settings: tuple = ()
    experiment: str = EXPERIMENT


BUGS = [
    Bug(
        "rectifier_is_forgotten_on_simulated",
        "a backward kernel of one device that leaves out the mask of a fused activation",
        1, "backward", "fc1", "linear", settings=("run.device=simulated",),
    ),
    Bug(
        "linear_serves_the_last_weight",
        "a cached copy of a weight that an optimiser's write does not reach",
        2, "forward", "fc1", "linear", "stale operand: fc1.weight of step 0",
    ),
    Bug(
        "barriers_of_products_are_passed",
        "a tile in shared memory that is read before all of it is written",
        1, "forward", "fc1", "linear",
        settings=("run.device=simulated", "data.synthetic.features=200", "model.layers=[200,12,4]"),
    ),
    Bug(
        "training_is_contracted",
        "nvcc's -fmad and GCC's -ffp-contract, both on unless told otherwise",
        1, "update", "fc1.weight", "adamw", "contraction on",
    ),
    Bug(
        "products_round_to_tf32",
        "matrix products of Ampere under PyTorch 1.7 to 1.11, where TF32 was on unless told otherwise",
        1, "forward", "fc1", "linear", "rounded to TF32",
    ),
    Bug(
        "products_in_two_halves",
        "split-K: as many parts of the inner axis as fill the processor",
        1, "forward", "fc1", "linear", "sums in (blocks of 8|2 parts)", referee="both within bound",
    ),
    Bug(
        "evaluation_draws",
        "random numbers that an evaluation uses up",
        3, "draws", "dropout1", "dropout", "other mask: draw 3 of the stream dropout1 instead of 2",
        settings=("model.dropout=0.25", "checkpoint.every=0", "checkpoint.keep_best=false"),
    ),
    Bug(
        "epsilon_inside_the_root",
        "Adam's epsilon beside the second moment instead of its root",
        1, "update", "fc1.weight", "adamw",
    ),
    Bug(
        "adamw_decays_coupled",
        "weight decay as a gradient in Adam (Loshchilov and Hutter 2019)",
        1, "update", "first_moment.fc1.weight", "adamw",
    ),
    Bug(
        "shards_added_in_a_row",
        "gradients of workers added in the order of their arrival",
        1, "gradients", "fc1.weight", "sum_of_shards", "other summation order: shards added one by one, ascending",
        referee="both within bound", settings=("train.shards=4",),
    ),
    Bug(
        "last_row_is_not_written",
        "a grid that is one block short",
        1, "forward", "fc1", "linear", "uninitialised memory: its last 1 rows",
    ),
    Bug(
        "gradient_takes_the_next_label",
        "an index that is off by one row",
        1, "backward", "", "cross_entropy",
    ),
    Bug(
        "variance_of_a_sample",
        "PyTorch's torch.var, which divides by n - 1 unless told otherwise, in a normalisation written by hand",
        1, "forward", "blocks.0.attention_norm", "layer_norm", experiment=DECODER,
    ),
    Bug(
        "attention_sees_the_next_key",
        "a causal mask that begins one diagonal too high",
        1, "forward", "blocks.0.attention", "attention", experiment=DECODER,
    ),
]


class Bugs(CommandTest):
    def setUp(self):
        super().setUp()
        self.bug_experiment = self.folder / "bug.toml"
        (self.folder / "text.txt").write_text(TEXT)

    def run_with(self, out, bug, planted, *settings):
        self.bug_experiment.write_text(bug.experiment.replace("FOLDER", str(self.folder)))
        command = [os.environ["ASSAY_BUGS"], "run", self.bug_experiment, "--trace", "op", "--out", out]
        for setting in [*bug.settings, *settings]:
            command += ["--set", setting]
        environment = {**os.environ, **({"ASSAY_SABOTEUR": bug.saboteur} if planted else {})}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def verdict(self, *more):
        done = run_assay("compare", self.folder / "a", *more, "--referee", "--json")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self, bug):
        self.run_with(self.folder / "a", bug, False)
        self.run_with(self.folder / "b", bug, True)
        said = self.verdict(self.folder / "b")
        first, why = said["first_divergence"], said["explanation"]
        self.assertEqual(
            (first["step"], first["phase"], first["module"] or "", first["operation"]),
            (bug.step, bug.phase, bug.module, bug.operation),
            first,
        )
        self.assertEqual(why["wrong"], "B", why)
        self.assertTrue(why["a"]["exact"], why)
        if not bug.cause:
            self.assertIsNone(why["b"]["cause"], why)
        else:
            self.assertRegex(why["b"]["cause"] or "", bug.cause)
        # The values, for the element and the referee: what the run kept when it is asked to.
        if why["element"] is None and not why["result"].endswith("/table"):
            kept = json.dumps([why["result"]])
            self.run_with(self.folder / "kept", bug, True, f"trace.tensors={kept}")
            why = self.verdict(self.folder / "kept")["explanation"]
        if not why["result"].endswith("/table"):
            self.assertIsNotNone(why["element"], why)
            self.assertGreater(why["element"]["ulp"], 0)
            self.assertEqual(sum(why["histogram"]), why["elements"])
            self.assertEqual(why["referee"]["verdict"], bug.referee, why)


def test_of(bug):
    return lambda self: self.check(bug)


for one in BUGS:
    setattr(Bugs, f"test_CMP_2_{one.saboteur}", test_of(one))
