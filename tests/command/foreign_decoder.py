"""Runs of a decoder: what Python makes anew of one, what PyTorch repeats, and how scripts/torch_parity judges it."""

import contextlib
import importlib.machinery
import importlib.util
import io
import re
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
from command import ROOT, CommandTest, run_assay

sys.path.insert(0, str(ROOT / "reports"))
import numpy as np

import numerics
from read_run import ReportError, read_run
from rebuild import Experiment

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import record_torch

    loader = importlib.machinery.SourceFileLoader("torch_parity", str(ROOT / "scripts/torch_parity"))
    torch_parity = importlib.util.module_from_spec(importlib.util.spec_from_loader("torch_parity", loader))
    loader.exec_module(torch_parity)

DECODER = """
[experiment]
seed = 3

[data]
kind = "text"
path = "PATH"
context = 9
test = 4
validation = 6

[model]
kind = "decoder"
width = 16
heads = 2
blocks = 2
hidden = 12
activation = "gelu"

[optimiser]
kind = "sgd"
learning_rate = 0.001
momentum = 0.9

[train]
batch = 5
steps = 7

[checkpoint]
every = 3
keep_best = false
"""


class DecoderTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "words.txt"
        words = np.random.default_rng(1).choice(["the ", "sea ", "is ", "calm\n", "\xe9\xff ", "to-day "], 80)
        self.text.write_bytes("".join(words).encode("latin-1"))
        self.experiment.write_text(DECODER.replace("PATH", str(self.text)))


class Anew(DecoderTest):
    def test_NUM_5_initial_parameters_have_the_digests_of_the_run(self):
        for tied in "false", "true":
            out = self.trained("--set", "optimiser.learning_rate=1e-30", "--set", f"model.tied={tied}",
                               out=self.folder / tied)
            run = read_run(out, "A")
            initial = Experiment(run).initial_parameters()
            self.assertEqual([name for name, _ in initial], run.names["parameters"])
            for (name, array), found in zip(initial, run.digests_of("parameters", 1)):
                if not name.endswith("bias"):  # 0 moves, however small the rate
                    self.assertEqual(f"{numerics.digest(array):016x}", f"{found:016x}", name)

    def test_tokens_are_the_bytes_of_the_file_and_labels_the_bytes_behind_them(self):
        experiment, data = Experiment(read_run(self.trained(), "A")), self.text.read_bytes()
        count = (len(data) - 1) // 9
        self.assertEqual((len(experiment.train), len(experiment.validation), len(experiment.test)), (count - 10, 6, 4))
        self.assertEqual(experiment.train.inputs.tobytes(), np.frombuffer(data, np.uint8)[:(count - 10) * 9]
                         .astype(np.int64).tobytes())
        self.assertEqual(bytes(experiment.test.labels[-1].tolist()), data[count * 9 - 8:count * 9 + 1])
        self.assertLess(max(map(max, map(experiment.ids, range(1, 8)))), count - 10)  # and each had its digest

    def test_another_text_is_refused(self):
        run = read_run(self.trained(), "A")
        self.text.write_bytes(self.text.read_bytes() + b"!")
        with self.assertRaisesRegex(ReportError, "RUN-3: .*SHA-256 of .*words.txt: expected [0-9a-f]{64}, found"):
            Experiment(run)

    def test_the_bible_is_the_runs(self):
        run = read_run(self.trained("--set", "data.kind='bible_kjv'"), "A")
        experiment = Experiment(run)
        self.assertTrue(bytes(experiment.train.inputs[:3].flatten().tolist()).startswith(b"In the beginning God"))


@unittest.skipUnless(HAS_TORCH, "needs PyTorch (Debian package python3-torch)")
class Torch(DecoderTest):
    def quietly(self, program, *arguments):
        """(exit status, standard output, standard error)"""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = program.main([str(word) for word in arguments])
        return code, output.getvalue(), errors.getvalue()

    def test_a_repeated_run_agrees_within_a_tolerance_and_maps_each_result_of_a_module(self):
        settings = {"gelu": [], "tied relu": ["model.tied=true", "model.activation='relu'"],
                    "materialised tanh": ["model.attention='materialised'", "model.activation='tanh'"]}
        for name, keys in settings.items():
            with self.subTest(name):
                out, torch = self.folder / name, self.folder / f"{name} torch"
                self.trained("--set", "trace.level='op'", *(word for key in keys for word in ("--set", key)), out=out)
                self.assertEqual(self.quietly(record_torch, out, "--out", torch)[::2], (0, ""))
                compared = ("compare", out, torch, "--map", torch / "names.toml", "--policy")
                # The first norm divides by a deviation of 0.03: gradients of the embeddings have norms of about 10.
                done = run_assay(*compared, "close:1e-3,1e-3")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("3 checkpoints (last: step 7)", done.stdout)
                self.assertIn("step 1: forward, operation layer_norm of module blocks.0.attention_norm",
                              run_assay(*compared, "bitwise").stdout)
                self.check_trace(out, torch)

    def check_trace(self, out, torch):
        """Names of the map exist on both sides, and none is left out but those of what is no module."""
        experiment = Experiment(read_run(out, "A"))
        names = record_torch.make_names(experiment.config, record_torch.make_model(experiment))
        ours, theirs = (set(read_run(folder, "A").names["trace"]) for folder in (out, torch))
        self.assertLessEqual(set(names["trace"]), theirs)
        self.assertLessEqual(set(names["trace"].values()), ours)
        left = {re.sub(r"blocks\.\d", "blocks.N", name) for name in ours - set(names["trace"].values())}
        self.assertEqual({name for name in left if "layer_norm" in name or "gelu" in name or "tanh" in name}, set())

    def test_dropout_is_refused(self):
        out = self.trained("--set", "model.dropout=0.5")
        for program, more in ((record_torch, ("--out", self.folder / "torch")), (torch_parity, ())):
            code, _, error = self.quietly(program, out, *more)
            self.assertEqual((code, "model.dropout: expected 0, found 0.5" in error), (2, True), error)

    def parity(self):
        """A run whose gradients are kept, their names being those that the refusal of another run gives."""
        adam = ("--set", "optimiser.kind='adam'", "--set", "trace.level='op'", "--set", "train.steps=50")
        code, _, error = self.quietly(torch_parity, self.trained(*adam, out=self.folder / "without"))
        self.assertEqual((code, "no token_embedding.weight" in error), (2, True), error)
        names = re.search(r"(trace\.tensors) = (\[.*\])", error)
        return self.trained(*adam, "--set", f"{names[1]}={names[2]}", out=self.folder / "with")

    def test_parity_holds_tensor_by_tensor_and_a_line_that_does_not_is_named(self):
        out = self.parity()
        code, table, error = self.quietly(torch_parity, out)
        self.assertEqual((code, error), (0, ""), table)
        run = read_run(out, "A")
        for name in run.names["parameters"]:
            self.assertEqual(len(re.findall(rf"^{re.escape(name)} ", table, re.MULTILINE)), 1, name)
        self.assertRegex(table, r"token_embedding.weight, 2\d\d unused rows +0 ")
        self.assertIn("loss, the farthest of 50", table)

        run.steps["loss"][2] *= 1.002
        with mock.patch.object(torch_parity, "read_run", return_value=run):
            self.assertEqual(self.lines_that_fail(out), ["step 3"])
        kept = torch_parity.our_gradients(read_run(out, "A"))
        whole = np.linalg.norm(np.concatenate([gradient.flatten() for gradient in kept]))
        for name, change in {"final_norm.scale": lambda a: a * (1 + 3e-5),
                             "blocks.1.attention.key.bias": lambda a: a + 2e-6 * whole}.items():
            other = [change(a) if name == own else a for own, a in zip(run.names["parameters"], kept)]
            with mock.patch.object(torch_parity, "our_gradients", return_value=other):
                self.assertEqual(self.lines_that_fail(out), [name])

    def lines_that_fail(self, out):
        code, table, _ = self.quietly(torch_parity, out)
        failed = [line for line in table.splitlines() if line.endswith("does not hold")]
        self.assertEqual(code, 1 if failed else 0)
        return [re.match(r"\S+( \d+)?", line)[0] for line in failed]

    def test_a_run_without_traced_gradients_is_refused(self):
        code, _, error = self.quietly(torch_parity, self.trained())
        self.assertEqual((code, 'expected a run with trace.level "op", found "step"' in error), (2, True), error)
        clipped = self.trained("--set", "train.clip_norm=1", out=self.folder / "clipped")
        code, _, error = self.quietly(torch_parity, clipped)
        self.assertEqual((code, "train.clip_norm: expected 0, found 1" in error), (2, True), error)
