#!/usr/bin/python3
# PyTorch runs as Assay run folders: a recorder for any training script, and the command that repeats an Assay run.
"""As a library, Recorder writes what a training in PyTorch does; reports/README.md has an example.

As a command, record_torch.py RUN --out FOLDER trains the model of an Assay run again in PyTorch: the initial parameters
and the batches are made anew in NumPy (rebuild.py), the learning rates are the run's, the rest is PyTorch's.
FOLDER/names.toml maps its names to the run's: assay compare RUN FOLDER --map FOLDER/names.toml --policy close:1e-3,1e-6
"""

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from itertools import zip_longest
from pathlib import Path

sys.dont_write_bytecode = True
import numpy as np
import torch

from numerics import digest, digest_of_set
from read_run import ReportError, read_run
from rebuild import Experiment
from torch_model import ACTIVATIONS, SLOTS, make_model, make_names
from write_run import RunWriter

NO_CONTENT = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)  # their result is that of their last child


def array_of(tensor):
    return tensor.detach().cpu().numpy()


def names_text(tables):
    """The TOML text of tables of names: a JSON string is a string of TOML too."""
    text = "# Names of this run = names of the run that it is compared with; for assay compare --map.\n"
    for table, names in tables.items():
        text += f"\n[{table}]\n" + "".join(f"{json.dumps(b)} = {json.dumps(a)}\n" for b, a in names.items())
    return text


class Recorder:
    """Writes the training of `model` by `optimiser` into the run folder `folder`.

    `loss` is the module of the loss, if it is one, to be traced with the others. `names` maps names of this run to
    those of another one, as tables parameters, optimiser and trace; it is written as names.toml. `config` has every key
    of the configuration with its value ("train.batch": 64): two runs are compared when these agree. `provenance` is
    added to what PyTorch tells. Of the steps in `tensors` every result is kept whole, of all others its digest. Modules
    that work in place (ReLU(inplace=True)) cannot be traced; results that are not float32 are left out.

    Errors: FILE-7 when the folder holds a run, FILE-2, FILE-9 for a step that computes other results than the first.
    """

    def __init__(self, model, optimiser, folder, loss=None, names=None, config=None, provenance=None, tensors=(1,)):
        self.model, self.optimiser, self.names, self.kept_steps = model, optimiser, names or {}, frozenset(tensors)
        self.parameters = list(model.named_parameters())
        where = f"pytorch {self.parameters[0][1].device}"
        self.config = {"run.device": where, **(config or {})}
        self.writer = RunWriter(
            folder, {"toml": "", "overrides": [], "resolved": json.dumps(self.config, sort_keys=True)},
            {"framework": "pytorch", "framework_version": torch.__version__, "device": where, "numerics": "pytorch",
             "threads": str(torch.get_num_threads()), "command_line": shlex.join(sys.argv),
             "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **(provenance or {})},
            {"parameters": [name for name, _ in self.parameters]})
        self.results, self.began, self.start = [], time.monotonic(), time.monotonic()
        self.hooks = []
        for name, module in [*model.named_modules(), ("", loss)]:
            if module is not None and not isinstance(module, NO_CONTENT):
                self.hooks.extend(self.hook(name, module))

    def hook(self, path, module):
        """Operands are numbered from 0: the module's inputs, then its own parameters."""
        place, first_parameter = f"{path}/{type(module).__name__}", 0

        def forward(_, inputs, result):
            nonlocal first_parameter
            first_parameter = len(inputs)
            if torch.is_grad_enabled():
                self.record(f"forward/{place}", result)

        def backward(_, by_input, by_result):
            for i, gradient in enumerate(by_input):
                self.record(f"backward/{place}:{i}", gradient)

        yield module.register_forward_hook(forward)
        yield module.register_full_backward_hook(backward)
        for i, parameter in enumerate(module.parameters(recurse=False)):
            if parameter.requires_grad:
                yield parameter.register_hook(lambda gradient, i=i: self.record(
                    f"backward/{place}:{first_parameter + i}", gradient))

    def record(self, name, result):
        """Keeps a result of the step, none of an evaluation; `trace` tells several of one name apart."""
        if not self.model.training:
            return
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
                self.results.append((name, array_of(tensor).copy()))

    def trace(self):
        """(name, array) of what the step has computed; the second result of a name is called name#2."""
        seen, results = Counter(), self.results
        self.results = []
        for name, array in results:
            seen[name] += 1
            yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), array

    def state(self):
        """(name, array) of the optimiser's state; a parameter without a state yet has zeros."""
        state = [(name, parameter, self.optimiser.state.get(parameter, {})) for name, parameter in self.parameters]
        slots = dict.fromkeys(slot for _, parameter, entries in state for slot, value in entries.items()
                              if isinstance(value, torch.Tensor) and value.shape == parameter.shape)
        return [(f"{slot}.{name}", array_of(entries.get(slot, torch.zeros_like(parameter))))
                for slot in slots for name, parameter, entries in state]

    def step(self, loss, ids=(), epoch=0, gradient_norm=None):
        """Records a step: after `optimiser.step()`, while the gradients are still there. `ids` are the numbers of the
        samples, `gradient_norm` that before a clipping, if there was one."""
        step = self.writer.last_step + 1
        gradients = [np.zeros(p.shape, np.float32) if p.grad is None else array_of(p.grad) for _, p in self.parameters]
        norm = np.sqrt(sum(np.sum(np.square(g.astype(np.float64))) for g in gradients))
        trace, state = list(self.trace()), self.state()
        for table, columns in ("trace", trace), ("optimiser", state):
            names = [name for name, _ in columns]
            if step == 1:
                self.writer.names[table] = names
            for i, (before, now) in enumerate(zip_longest(self.writer.names[table], names)):
                if before != now:
                    raise ReportError("FILE-9", f"record step {step}: column {i} of {table}", str(before), str(now))
        digests = lambda arrays: [digest(array) for array in arrays]
        self.writer.append(
            step=step, epoch=epoch, loss=loss.item(), loss_digest=digest(array_of(loss)),
            gradient_norm=float(norm if gradient_norm is None else gradient_norm),
            learning_rate=self.optimiser.param_groups[0]["lr"], ids_digest=digest(np.array(ids, np.int64)),
            finite=all(np.isfinite(g).all() for g in gradients), gradients=digests(gradients),
            parameters=digests(array_of(p) for _, p in self.parameters), optimiser=digests(a for _, a in state), masks=[],
            trace=digests(a for _, a in trace), seconds=time.monotonic() - self.began)
        if step in self.kept_steps:
            self.writer.save_tensors(trace)
        self.began = time.monotonic()

    def validation(self, loss, accuracy):
        self.writer.append_validation(loss, accuracy)

    def checkpoint(self, train=None):
        """A checkpoint of the last step; `train` are whole numbers by name: seed, epoch, position …"""
        self.writer.save_checkpoint([(n, array_of(p)) for n, p in self.parameters], self.state(),
                                    type(self.optimiser).__name__.lower(), self.config["run.device"], train or {})

    def finish(self, test_loss, test_accuracy):
        """Ends a run that came to its planned end, with what it reached on the test set."""
        ours = self.names.get("parameters", {})
        self.close("complete", {
            "steps": self.writer.last_step, "test_loss": float(test_loss), "test_accuracy": float(test_accuracy),
            "parameters_digest": digest_of_set([(ours.get(n, n), array_of(p)) for n, p in self.parameters]),
            "seconds": time.monotonic() - self.start})

    def close(self, status="interrupted", result=None):
        """Ends the recording before the planned end."""
        if self.hooks is None:
            return
        for handle in self.hooks:
            handle.remove()
        self.hooks = None
        self.writer.close_segment(status, result)
        if self.names:
            (self.writer.folder / "names.toml").write_text(names_text(self.names))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# The command: a model that an Assay run trained

SUPPORTED = {"model.kind": ("mlp", "decoder"), "model.dropout": (0,), "model.activation": tuple(ACTIVATIONS),
             "loss.kind": ("cross_entropy",), "optimiser.kind": tuple(SLOTS), "train.shards": (1,)}


def check_supported(run):
    for key, values in SUPPORTED.items():
        if run.config.get(key) not in values:
            raise ReportError("RUN-3", f"repeat {run.path} in PyTorch: {key}", " or ".join(map(str, values)),
                              str(run.config.get(key)))


def make_criterion(config):
    return torch.nn.CrossEntropyLoss(label_smoothing=config["loss.label_smoothing"])


def make_optimiser(config, parameters):
    kind, decay = config["optimiser.kind"], config["optimiser.weight_decay"]
    if kind == "sgd":
        # 0 in float32: at a momentum of 0 PyTorch would keep no velocity, which the run has.
        momentum = max(config["optimiser.momentum"], 1e-300)
        return torch.optim.SGD(parameters, 1, momentum, weight_decay=decay, nesterov=config["optimiser.nesterov"])
    make, betas = torch.optim.Adam if kind == "adam" else torch.optim.AdamW, ("optimiser.beta1", "optimiser.beta2")
    return make(parameters, 1, [config[key] for key in betas], config["optimiser.epsilon"], decay)


def clip(parameters, limit):
    """The global norm of the gradients, which are shortened to the limit when it is above (0: never)."""
    norm = np.sqrt(sum(float(p.grad.double().square().sum()) for p in parameters))
    if 0 < limit < norm:
        for parameter in parameters:
            parameter.grad.mul_(float(np.float32(limit / norm)))
    return norm


def evaluate(model, criterion, samples, batch):
    """Mean loss and share of right answers over all labels."""
    model.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for begin in range(0, len(samples), batch):
            part = samples[begin:begin + batch]
            logits, labels = model(torch.from_numpy(part.inputs)), torch.from_numpy(part.labels).flatten()
            loss += criterion(logits, labels).item() * len(labels)
            right += int((logits.argmax(1) == labels).sum())
    model.train()
    return loss / samples.labels.size, right / samples.labels.size


def train(experiment, model, criterion, optimiser, steps):
    """Takes the first steps of the run, and gives (ids, loss, norm of all gradients) after each."""
    config, parameters = experiment.config, list(model.parameters())
    for step in range(1, steps + 1):
        ids = experiment.ids(step)
        batch = experiment.train[ids]
        optimiser.param_groups[0]["lr"] = float(experiment.run.steps["learning_rate"][step - 1])
        optimiser.zero_grad()
        loss = criterion(model(torch.from_numpy(batch.inputs)), torch.from_numpy(batch.labels).flatten())
        loss.backward()
        norm = clip(parameters, config["train.clip_norm"])
        optimiser.step()
        yield ids, loss, norm


def repeat(run, out, steps):
    """Trains the first `steps` steps of the run in PyTorch, into the folder `out`."""
    check_supported(run)
    experiment, config = Experiment(run), run.config
    model, criterion = make_model(experiment), make_criterion(config)
    evaluation_batch = config["train.evaluation_batch"]
    optimiser = make_optimiser(config, list(model.parameters()))
    resolved = {**config, "run.device": "pytorch cpu", "trace.level": "op"}
    provenance = {key: text for key, text in run.provenance.items() if key.startswith("data")}
    validated = set(run.validation["step"].tolist())
    saved = {int(path.stem[5:]) for path in (Path(run.path) / "checkpoints").glob("step-*.h5")}
    with Recorder(model, optimiser, out, criterion, make_names(config, model), resolved, provenance) as recorder:
        for step, (ids, loss, norm) in enumerate(train(experiment, model, criterion, optimiser, steps), 1):
            recorder.step(loss, ids, experiment.place(step)[0], norm)
            if step in validated:
                recorder.validation(*evaluate(model, criterion, experiment.validation, evaluation_batch))
            if step in saved:
                epoch, position = experiment.place(step + 1)
                recorder.checkpoint({"seed": config["experiment.seed"], "epoch": epoch, "position": position})
        if run.complete and steps == run.last_step:
            recorder.finish(*evaluate(model, criterion, experiment.test, evaluation_batch))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="record_torch.py", description="Repeats an Assay run in PyTorch.",
                                     epilog="example: record_torch.py runs/0001 --out runs/torch")
    parser.add_argument("run", metavar="RUN", help="the folder of an Assay run that recorded its digests")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="folder for the new run and its names.toml")
    parser.add_argument("--steps", type=int, metavar="N", help="only the first N steps (default: all of the run)")
    options = parser.parse_args(arguments)
    try:
        run = read_run(options.run, "A")
        if options.steps is not None and not 1 <= options.steps <= run.last_step:
            raise ReportError("RUN-3", "--steps", f"1 to {run.last_step}, the steps of {run.path}", str(options.steps))
        repeat(run, options.out, options.steps or run.last_step)
    except ReportError as error:
        print(f"record_torch.py: {error}", file=sys.stderr)
        return 2
    print(f"{options.out}; compare with: assay compare {shlex.quote(options.run)} {shlex.quote(options.out)} "
          f"--map {shlex.quote(options.out + '/names.toml')} --policy close:1e-3,1e-6")
    return 0


if __name__ == "__main__":
    sys.exit(main())
