"""200 pairs of runs that must agree: 40 steps of ten experiments, each on 20 other threads, instruction sets, devices."""

import itertools
import os

from bugs import EXPERIMENT
from command import CommandTest, run_assay

EXPERIMENTS = [
    (),
    ("experiment.seed=11",),
    ("experiment.seed=12", "model.dropout=0.25"),
    ("experiment.seed=13", "train.shards=4"),
    ("experiment.seed=14", "model.activation=gelu", "train.clip_norm=0.5"),
    ("experiment.seed=15", "model.activation=tanh", "optimiser.kind=adam"),
    ("experiment.seed=16", "model.activation=sigmoid", "optimiser.kind=sgd", "optimiser.momentum=0.9"),
    ("experiment.seed=17", "loss.kind=mse"),
    ("experiment.seed=18", "loss.label_smoothing=0.1", "model.layers=[16,33,17,4]"),
    ("experiment.seed=19", "model.dropout=0.5", "train.shards=2", "model.activation=gelu", "train.clip_norm=0.1"),
]
SETTINGS = [
    *itertools.product(("cpu",), (1, 2, 3, 7), ("baseline", "avx2", "avx512")),
    *itertools.product(("simulated",), (1, 3), ("baseline", "avx2", "avx512")),
    ("cpu", 1, ""),
    ("simulated", 2, ""),
]


def has(instruction_set):
    flags = open("/proc/cpuinfo").read()
    return {"avx2": " avx2 " in flags, "avx512": " avx512vl " in flags}.get(instruction_set, True)


class CleanPairs(CommandTest):
    def run_on(self, name, experiment, device, threads, instruction_set):
        out = self.folder / name
        settings = ["train.steps=40", "checkpoint.every=20", "checkpoint.keep=2", "trace.level=op", *experiment]
        arguments = [word for setting in settings for word in ("--set", setting)]
        environment = {**os.environ, **({"ASSAY_ISA": instruction_set} if instruction_set else {})}
        done = run_assay(
            "run", self.folder / "bug.toml", "--device", device, "--threads", threads, "--out", out, *arguments,
            env=environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_CMP_1_pairs_that_compute_the_same_raise_no_alarm(self):
        (self.folder / "bug.toml").write_text(EXPERIMENT)
        pairs = 0
        for number, experiment in enumerate(EXPERIMENTS):
            first = self.run_on(f"{number}", experiment, "cpu", 2, "")
            for setting in SETTINGS:
                if not has(setting[2]):
                    continue
                other = self.run_on("-".join(map(str, (number, *setting))), experiment, *setting)
                done = run_assay("compare", first, other, "--referee")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                pairs += 1
        print(f"{pairs} pairs, no alarm")
