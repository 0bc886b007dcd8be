"""`assay generate`: the same bytes everywhere, where they end, and what is refused."""

import json
import os
import shutil
import subprocess

from command import ASSAY, CommandTest, run_assay

TEXT = """
[data]
kind = "text"
path = "{path}"
context = 16
test = 4
validation = 8

[model]
kind = "decoder"
width = 16
heads = 2
blocks = 2
hidden = 32

[optimiser]
learning_rate = 0.01

[train]
batch = 16
steps = 60
epochs = 0
validate_every = 20

[checkpoint]
every = 20
"""


class Generate(CommandTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text.txt"
        self.text.write_text("the cat sat on the mat. the dog sat on the log.\n" * 60)

    def train_text(self):
        self.experiment.write_text(TEXT.format(path=self.text))
        return self.trained()

    def bytes_behind(self, source, prompt, *options, **environment):
        command = [ASSAY, "generate", str(source), "--prompt", prompt, *map(str, options)]
        done = subprocess.run(command, capture_output=True, timeout=300, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.speed = done.stderr.decode()
        return done.stdout

    def test_KV_5_the_bytes_are_the_same_everywhere_and_need_no_data(self):
        run = self.train_text()
        self.text.unlink()
        options = ["--tokens", 60, "--temperature", 0.8, "--top-k", 40, "--top-p", 0.95, "--seed", 7]
        text = self.bytes_behind(run, "the ", *options)
        self.assertEqual(len(text), 60)
        self.assertRegex(self.speed, r"\n60 tokens in [0-9.]+ s, [0-9]+ tokens/s on cpu\n")
        for place in [{"ASSAY_THREADS": "1"}, {"ASSAY_THREADS": "3"}, {"ASSAY_ISA": "baseline"}]:
            self.assertEqual(self.bytes_behind(run, "the ", *options, **place), text)
        self.assertEqual(self.bytes_behind(run, "the ", *options, "--device", "simulated"), text)
        self.assertNotEqual(self.bytes_behind(run, "the ", *options[:-1], 8), text)
        greedy = ["--tokens", 40, "--temperature", 0]
        self.assertEqual(self.bytes_behind(run, "the ", *greedy), self.bytes_behind(run, "the ", *greedy, "--seed", 9))

    def test_it_ends_behind_a_stop(self):
        run = self.train_text()
        options = ["--tokens", 40, "--temperature", 0.5]
        text = self.bytes_behind(run, "the ", *options)
        stop = text[10:12]
        stopped = self.bytes_behind(run, "the ", *options, "--stop", "\u00ff\u00ff", "--stop", os.fsdecode(stop))
        self.assertEqual(stopped, text[: text.index(stop) + 2])

    def test_last_and_best_checkpoint_and_a_file(self):
        run = self.train_text()
        files = {path: self.bytes_behind(path, "the ") for path in sorted((run / "checkpoints").iterdir())}
        self.assertEqual(len(set(files.values())), 3)
        self.assertEqual(self.bytes_behind(run, "the "), list(files.values())[-1])
        self.assertIn(self.bytes_behind(run, "the ", "--checkpoint", "best"), files.values())

    def test_it_learns(self):
        text = self.bytes_behind(self.train_text(), "the cat sat ", "--tokens", 30, "--temperature", 0)
        self.assertTrue(set(text) <= set(self.text.read_bytes()), text)

    def test_RUN_7_a_run_with_adapters_needs_its_base_and_is_exported_whole(self):
        base = self.train_text()
        tuned, file = self.folder / "tuned", self.folder / "tuned.safetensors"
        adapters = ["--set", f"model.base={base}", "--set", "adapter.layers=['query', 'expand']", "--set", "adapter.rank=4"]
        for more in ([], ["--set", "quantise.layers=['query', 'value']"]):
            self.trained(*adapters, *more, "--set", "train.steps=20", out=tuned)
            text = self.bytes_behind(tuned, "the ", "--temperature", 0)
            self.assertEqual(len(text), 256)
            done = run_assay("export", tuned, "--out", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("38 tensors of step 20", done.stdout)
            header = json.loads(file.read_bytes()[8 : 8 + int.from_bytes(file.read_bytes()[:8], "little")])
            self.assertNotIn("adapter", " ".join(header))
            shutil.rmtree(tuned)
        self.trained(*adapters, "--set", "train.steps=20", out=tuned)
        shutil.rmtree(base)
        self.assert_refused(run_assay("generate", tuned, "--prompt", "the "), "FILE-6", base)

    def test_what_is_no_decoder_of_bytes_or_no_run_is_refused(self):
        run = self.trained()
        refused = run_assay("generate", run, "--prompt", "the ")
        self.assert_refused(refused, "RUN-1", f"{run}: model.kind", "expected decoder", "found mlp")
        self.assertEqual(refused.stdout, "")
        self.assert_refused(run_assay("generate", self.folder, "--prompt", "the "), "FILE-6", self.folder, "found none")
        self.assert_refused(run_assay("generate", self.experiment, "--prompt", "the "), "FILE-6", "small.toml")

    def test_KV_5_options_that_mean_nothing_are_refused(self):
        run = self.train_text()
        for options, words in [
            (["--prompt", ""], ["generate: prompts", "lengths 0"]),
            (["--prompt", "a", "--temperature", -1], ["temperature", "found -1"]),
            (["--prompt", "a", "--top-k", -1], ["top-k", "found -1"]),
            (["--prompt", "a", "--top-p", 0], ["top-p", "found 0"]),
            (["--prompt", "a", "--tokens", -1], ["found -1"]),
            (["--prompt", "a", "--stop", ""], ["found an empty one"]),
        ]:
            self.assert_refused(run_assay("generate", run, *options), "KV-5", *words)
        done = run_assay("generate", run, "--prompt", "a", "--device", "gpu")
        self.assert_refused(done, "XFER-8", "gpu")
        done = run_assay("generate", run)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--prompt", done.stderr)
