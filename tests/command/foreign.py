"""Runs of other frameworks: what Python makes anew of a run, what it writes, and a run that PyTorch repeats."""

import contextlib
import importlib.util
import io
import os
import re
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
from command import ROOT, CommandTest, run_assay

sys.path.insert(0, str(ROOT / "reports"))
import h5py
import numpy as np

import numerics
from read_run import ReportError, check_file, read_run
from rebuild import Experiment
from write_run import RunWriter

if importlib.util.find_spec("torch"):
    import record_torch


class Anew(CommandTest):
    """Random numbers, order, initial values and digests: NumPy's against those of the command."""

    def test_NUM_4_philox_gives_the_published_words(self):
        # Salmon et al., Random123, kat_vectors: philox4x32-10.
        words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
        self.assertEqual(numerics.random_blocks(0, 1, 0).tolist(), [words])

    def test_NUM_5_initial_parameters_have_the_digests_of_the_run(self):
        # A rate that moves no weight: what stands after the step is what stood before it.
        self.trained("--set", "optimiser.kind='sgd'", "--set", "optimiser.learning_rate=1e-30")
        run = read_run(self.out, "A")
        initial = Experiment(run).initial_parameters()
        self.assertEqual([name for name, _ in initial], run.names["parameters"])
        for (name, array), found in zip(initial, run.digests_of("parameters", 1)):
            if name.endswith("weight"):
                self.assertEqual(f"{numerics.digest(array):016x}", f"{int(found):016x}", name)

    def test_ids_of_each_step_have_the_digests_of_the_run(self):
        # 96 samples in batches of 20: the last batch of each epoch is short, and the order differs between epochs.
        self.trained("--set", "train.batch=20", "--set", "train.steps=12")
        experiment = Experiment(read_run(self.out, "A"))
        ids = [experiment.ids(step) for step in range(1, 13)]
        self.assertEqual([len(batch) for batch in ids], [20, 20, 20, 20, 16] * 2 + [20, 20])
        self.assertEqual(sorted(np.concatenate(ids[:5])), list(range(96)))
        self.assertNotEqual(ids[0].tolist(), ids[5].tolist())

    def test_ids_of_another_order_are_refused_with_both_digests(self):
        run = read_run(self.trained(), "A")
        run.steps["ids_digest"][1] += np.uint64(1)
        experiment = Experiment(run)
        experiment.ids(1)
        with self.assertRaisesRegex(ReportError, "RUN-3: .*sample ids of step 2: expected [0-9a-f]{16}, found"):
            experiment.ids(2)

    def test_other_data_are_refused(self):
        run = read_run(self.trained(), "A")
        run.config["data.synthetic.noise"] = 0.25
        with self.assertRaisesRegex(ReportError, "RUN-3: .*SHA-256 of the synthetic train set: expected"):
            Experiment(run)

    def test_digests_of_checkpoints_and_of_the_result_are_those_of_the_run(self):
        self.trained()
        run = read_run(self.out, "A")
        for path in sorted((self.out / "checkpoints").iterdir()):
            check_file(path)
            with h5py.File(path) as file:
                step = int(file.attrs["step"])
                arrays = {name: dataset[()] for name, dataset in file["parameters"].items()}
                state = {name: dataset[()] for name, dataset in file["optimiser"].items()}
            for table, values in ("parameters", arrays), ("optimiser", state):
                self.assertEqual([numerics.digest(values[name]) for name in run.names[table]],
                                 run.digests_of(table, step), path.name)
        self.assertEqual(numerics.digest_of_set([(n, arrays[n]) for n in run.names["parameters"]]),
                         run.result["parameters_digest"])

    def test_a_digest_sees_every_NaN_alike_and_the_sign_of_zero(self):
        for kind in np.float32, np.float64:
            other = np.array([np.nan], kind)
            other.view(f"u{other.itemsize}")[:] += 1
            self.assertEqual(numerics.digest(np.array([np.nan], kind)), numerics.digest(-other))
            self.assertNotEqual(numerics.digest(kind(0)), numerics.digest(kind(-0.0)))
        with self.assertRaisesRegex(TypeError, "float16"):
            numerics.digest(np.zeros(2, np.float16))


CONFIGURATION = {"toml": "", "overrides": [], "resolved": '{"schedule.kind": "constant"}'}


class Written(CommandTest):
    """Run folders written from Python and read by the command."""

    NAMES = {"parameters": ["w", "b"], "optimiser": ["v.w"], "masks": [], "trace": ["forward/0/Linear"]}

    def write(self, folder, steps=3, loss=lambda step: 1 / step, names=NAMES, status="interrupted", checkpoints=True):
        run = RunWriter(folder, CONFIGURATION, {"device": "abacus"}, names)
        weight = np.arange(6, dtype=np.float32).reshape(2, 3)
        for step in range(1, steps + 1):
            row = {table: [numerics.digest(weight) + step] * len(run.names[columns]) for table, columns in
                   (("parameters", "parameters"), ("gradients", "parameters"), ("optimiser", "optimiser"),
                    ("masks", "masks"), ("trace", "trace"))}
            run.append(step=step, epoch=0, loss=loss(step), gradient_norm=1.0, learning_rate=0.1, finite=True,
                       loss_digest=step, ids_digest=step, seconds=0.5, **row)
            if step == 2:
                run.append_validation(0.5, 0.75)
            if step == 2 and checkpoints:
                parameters = [("w", weight), ("b", weight[0])]
                run.save_checkpoint(parameters, [("v.w", 2 * weight)], "sgd", "abacus", {"epoch": 0})
                run.save_tensors([("forward/0/Linear", weight)])
        run.close_segment(status, None if status != "complete" else {
            "steps": steps, "test_loss": 0.25, "test_accuracy": 0.75, "parameters_digest": "ab", "seconds": 1.5})
        return folder

    def test_every_file_is_read_and_the_run_equals_itself_and_its_copy(self):
        self.write(self.out, status="complete")
        time.sleep(1.1)  # no file holds a time, which would be one in seconds
        self.write(self.folder / "b", status="complete")
        self.assert_whole(self.out)
        self.assertEqual(len(list(self.out.rglob("*.h5"))), 5)
        self.assertEqual(self.bytes_of(self.out), self.bytes_of(self.folder / "b"))
        done = run_assay("compare", self.out, self.folder / "b")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 steps x 6 tensor digests, 1 validation, 1 checkpoint", done.stdout)
        self.assertIn("abacus", done.stdout)

    def test_the_views_of_run_h5_hold_every_row(self):
        run = read_run(self.write(self.out), "A")
        self.assertEqual(run.steps["loss"].tolist(), [1, 1 / 2, 1 / 3])
        self.assertEqual(run.validation["step"].tolist(), [2])
        with h5py.File(self.out / "run.h5") as file:
            self.assertEqual(list(file.attrs), ["format", "format_version", "numerics_version", "status", "last_step"])
            self.assertEqual(list(file["steps"])[:4], ["step", "epoch", "loss", "gradient_norm"])
            self.assertEqual(file["steps/trace"].shape, (3, 1))
            self.assertEqual(list(file["names/trace"].asstr()), ["forward/0/Linear"])
        with h5py.File(self.out / "tensors/step-00000002.h5") as file:
            self.assertEqual(file.attrs["format"], "assay-tensors")
            self.assertEqual(file["forward/0/Linear"].dtype, np.float32)
            self.assertEqual(list(file["names"].asstr()), ["forward/0/Linear"])

    def test_a_difference_is_named(self):
        self.write(self.out)
        self.write(self.folder / "b", loss=lambda step: 1 / step + (step == 3))
        done = run_assay("compare", self.out, self.folder / "b", "--policy", "close:1e-3,1e-6")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("step 3: loss", done.stdout)

    def test_a_report_has_the_names_of_the_first_run(self):
        self.write(self.out)
        names = {"parameters": ["kernel", "b"], "optimiser": ["v.kernel"], "masks": [], "trace": ["forward/0/Dense"]}
        run = self.write(self.folder / "b", loss=lambda step: 1 / step + (step == 3), names=names, checkpoints=False)
        (self.folder / "names.toml").write_text('[parameters]\nkernel = "w"\n[optimiser]\n"v.kernel" = "v.w"\n'
                                                '[trace]\n"forward/0/Dense" = "forward/0/Linear"\n')
        done = run_assay("report", self.out, run, "--out", self.folder / "page")
        self.assertIn("parameter 1 is w in A, kernel in B", (self.folder / "page/index.html").read_text(), done.stderr)
        done = run_assay("report", self.out, run, "--out", self.folder / "page", "--map", self.folder / "names.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "page/index.html").read_text()
        self.assertIn("part at step 3", page)
        self.assertNotIn("kernel", page)
        self.assertNotIn("that one run alone recorded", page)
        done = run_assay("report", self.out, self.out, "--out", self.folder / "page", "--map", self.folder / "names.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("CMP-4", done.stderr)

    def test_a_run_without_digests_needs_no_tables(self):
        self.write(self.out, steps=1, names={})
        self.assert_whole(self.out)
        done = run_assay("compare", self.out, self.out, "--policy", "close:0,0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rows_that_do_not_fit_and_folders_that_hold_a_run_are_refused(self):
        self.write(self.out)
        with self.assertRaisesRegex(ReportError, "FILE-7: .*a folder without a run"):
            RunWriter(self.out, CONFIGURATION, {}, {})
        run = RunWriter(self.folder / "b", CONFIGURATION, {}, {"parameters": ["w"]})
        row = dict(epoch=0, loss=1, gradient_norm=1, learning_rate=1, finite=1, loss_digest=1, ids_digest=1, seconds=0,
                   parameters=[1], gradients=[1], optimiser=[], masks=[], trace=[])
        with self.assertRaisesRegex(ReportError, "FILE-9: .*expected step 1, found 2"):
            run.append(step=2, **row)
        with self.assertRaisesRegex(ReportError, "FILE-9: .*expected 1 digests of gradients, found 0"):
            run.append(step=1, **{**row, "gradients": []})
        (self.folder / "file").write_text("")
        run.folder = self.folder / "file"
        with self.assertRaisesRegex(ReportError, "FILE-2: write .*run.h5"):
            run.close_segment()


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch (Debian package python3-torch)")
class Torch(CommandTest):
    def repeat(self, *more, run=None):
        """(exit status, standard error) of the command; its run is in the folder torch."""
        self.torch, errors = self.folder / "torch", io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            code = record_torch.main([str(run or self.out), "--out", str(self.torch), *map(str, more)])
        return code, errors.getvalue()

    def compare(self, policy, *more, names=None):
        return run_assay("compare", self.out, self.torch, "--policy", policy, "--map",
                         names or self.torch / "names.toml", *more)

    def test_a_repeated_run_agrees_within_a_tolerance_and_parts_in_bits_at_its_first_step(self):
        settings = {
            "adamw": ["optimiser.weight_decay=0.1"],
            "adam relu": ["optimiser.kind='adam'", "optimiser.weight_decay=0.1", "model.layers=[16,8,8,4]"],
            "adamw gelu": ["model.activation='gelu'", "model.layers=[16,8,8,4]", "train.clip_norm=0.1"],
            "sgd tanh": ["optimiser.kind='sgd'", "model.activation='tanh'", "loss.label_smoothing=0.1"],
            "sgd sigmoid": ["optimiser.kind='sgd'", "optimiser.momentum=0.9", "optimiser.nesterov=true",
                            "optimiser.weight_decay=0.1", "model.activation='sigmoid'"],
        }
        top = self.folder
        for name, keys in settings.items():
            with self.subTest(name):
                self.folder = top / name
                self.out = self.folder / "ours"
                self.trained("--set", "schedule.kind='one_cycle'", "--set", "train.steps=12", "--set", "train.batch=20",
                             "--set", "optimiser.learning_rate=0.01", "--set", "checkpoint.keep_best=false",
                             *(w for key in keys for w in ("--set", key)))
                self.assertEqual(self.repeat(), (0, ""))
                done = self.compare("close:1e-3,1e-6")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("3 validations, 3 checkpoints (last: step 12)", done.stdout)
                done = self.compare("bitwise")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("first difference  step 1:", done.stdout)
                self.check_trace()

    def check_trace(self):
        """The map covers names of the trace, each second one behind its first; the trace has the gradients before a
        clipping; the whole tensors of step 1 have its digests."""
        experiment = Experiment(read_run(self.out, "A"))
        config, model = experiment.config, record_torch.make_model(experiment)
        names = record_torch.make_names(config, model)["trace"]
        with h5py.File(self.torch / "run.h5") as file:
            trace = dict(zip(file["names/trace"].asstr(), file["steps/trace"][0].tolist()))
            gradients = dict(zip(file["names/parameters"].asstr(), file["steps/gradients"][0].tolist()))
        self.assertLessEqual(set(names), set(trace))
        occurrences = Counter()
        for name in (names[name] for name in trace if name in names):
            base, _, number = name.partition("#")
            occurrences[base] += 1
            self.assertEqual(int(number or 1), occurrences[base], name)
        self.assertEqual(trace["backward/0/Linear:1"] == gradients["0.weight"], config["train.clip_norm"] == 0)
        with h5py.File(self.torch / "tensors/step-00000001.h5") as file:
            self.assertEqual({name: numerics.digest(file[name][()]) for name in trace}, trace)

    def test_provenance_tells_the_framework_and_the_configuration_is_the_runs(self):
        self.trained()
        self.repeat()
        ours, torch = read_run(self.out, "A"), read_run(self.torch, "B")
        self.assertEqual(torch.provenance["framework"], "pytorch")
        self.assertRegex(torch.provenance["framework_version"], r"^\d+\.\d+")
        self.assertEqual(torch.provenance["data_digest"], ours.provenance["data_digest"])
        self.assertEqual({**torch.config, "run.device": "cpu", "trace.level": "step"}, ours.config)
        self.assertEqual(torch.steps["ids_digest"].tolist(), ours.steps["ids_digest"].tolist())
        self.assertEqual(torch.steps["learning_rate"].tolist(), ours.steps["learning_rate"].tolist())

    def test_the_first_steps_alone_are_an_interrupted_run(self):
        self.trained()
        self.assertEqual(self.repeat("--steps", 3), (0, ""))
        done = self.compare("close:1e-3,1e-6")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the 3 steps of both agree, but B ends there (interrupted)", done.stdout)

    def test_a_map_that_does_not_fit_is_refused_with_its_file_and_key(self):
        self.trained()
        self.repeat()
        names = self.folder / "other.toml"
        names.write_text((self.torch / "names.toml").read_text().replace('"0.bias"', '"7.bias"'))
        self.assert_refused(self.compare("bitwise", names=names), "CMP-4", names, 'parameters."7.bias"')
        self.assert_refused(self.compare("bitwise", names=self.folder / "none.toml"), "FILE-3", "none.toml")

    def test_what_pytorch_would_compute_otherwise_is_refused_by_key(self):
        for number, (setting, found) in enumerate({"model.dropout=0.5": "0.5", "loss.kind='mse'": "mse",
                                                   "train.shards=2": "2"}.items()):
            out = self.trained("--set", setting, out=self.folder / f"run{number}")
            code, error = self.repeat(run=out)
            self.assertEqual(code, 2)
            self.assertIn(f"{setting.split('=')[0]}: expected", error)
            self.assertIn(f"found {found}", error)
            self.assert_nothing_written(self.torch)
        code, error = self.repeat("--steps", 7, run=self.trained())
        self.assertEqual((code, "expected 1 to 6" in error), (2, True), error)

    def test_the_example_of_the_manual_records_a_script(self):
        text = (ROOT / "reports/README.md").read_text()
        example = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
        self.assertLessEqual(len(example.splitlines()), 18)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        exec(example, {})
        self.assert_whole(Path("runs/mine"))
        run = read_run("runs/mine", "A")
        self.assertEqual((run.status, run.last_step), ("interrupted", 8))
        self.assertIn("exp_avg.0.weight", run.names["optimiser"])

    def test_a_script_that_ends_by_an_error_leaves_the_steps_before_it(self):
        import torch

        model = torch.nn.Linear(3, 2)
        optimiser = torch.optim.SGD(model.parameters(), 0.1, 0.9)
        with self.assertRaises(ZeroDivisionError):
            with record_torch.Recorder(model, optimiser, self.out) as recorder:
                for step in range(3):
                    optimiser.zero_grad()
                    loss = model(torch.full((4, 3), 1.0)).square().sum() / (2 - step if step < 2 else 1 // 0)
                    loss.backward()
                    optimiser.step()
                    recorder.step(loss)
        run = read_run(self.out, "A")
        self.assertEqual((run.status, run.last_step), ("interrupted", 2))
        self.assertEqual(run.names["optimiser"], ["momentum_buffer.weight", "momentum_buffer.bias"])
        self.assertEqual(len(model._forward_hooks), 0)

    def test_a_step_of_other_results_than_the_first_is_refused(self):
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        with record_torch.Recorder(model, optimiser, self.out) as recorder:
            for calls in 1, 1, 2:
                x = torch.ones(4, 3)
                for _ in range(calls):
                    x = model(x)
                x.sum().backward()
                optimiser.step()
                if calls == 1:
                    recorder.step(x.sum())
                    with torch.no_grad():  # no part of the next step
                        model(x)
            with self.assertRaisesRegex(ReportError, "FILE-9: record step 3: column 2 of trace: expected "
                                        "backward/1/ReLU:0, found forward/0/Linear#2"):
                recorder.step(x.sum())
