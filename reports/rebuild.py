# What a run began from, made again in NumPy: its data, the batch of each step, its initial parameters.
"""A run's configuration and its digests are all that this reads of it, so that what agrees was computed twice."""

import gzip
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numerics import digest, he_normal, normal, shuffled, stream_key, uniform
from read_run import ReportError

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
BYTES = 256  # the vocabulary of a text


@dataclass
class Samples:
    inputs: np.ndarray  # float32 [N, features], or tokens, int64 [N, context]
    labels: np.ndarray  # int64 [N], or [N, context]

    def __getitem__(self, which):
        return Samples(self.inputs[which], self.labels[which])

    def __len__(self):
        return len(self.labels)


def require(run, what, expected, found):
    if expected != found:
        raise ReportError("RUN-3", f"rebuild {run.path}: {what}", expected, found)


def require_data(run, what, name, content):
    require(run, f"SHA-256 of {what}", run.provenance.get(f"data.{name}", "(none)"),
            hashlib.sha256(content).hexdigest())
    return content


def read_data(run, path):
    """The bytes of a file, whose SHA-256 must be the run's."""
    try:
        return require_data(run, path, path.name, path.read_bytes())
    except OSError as error:
        raise ReportError("RUN-3", f"read {path}", "the data of the run", error.strerror) from None


def read_idx(run, folder, name):
    """An IDX file of bytes or float32."""
    path = Path(folder) / f"{name}.gz"
    raw = read_data(run, path if path.exists() else Path(folder) / name)
    data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    rank = data[3]
    shape = np.frombuffer(data, ">i4", rank, 4)
    return np.frombuffer(data, {0x08: "u1", 0x0D: ">f4"}[data[2]], offset=4 + 4 * rank).reshape(shape)


def read_idx_samples(run, folder, images, labels):
    images = read_idx(run, folder, images)
    inputs = images.reshape(len(images), -1).astype(np.float32)
    if images.dtype == np.uint8:
        inputs /= np.float32(255)
    return Samples(inputs, read_idx(run, folder, labels).astype(np.int64))


def make_synthetic(run, config, name, part):
    count, features, classes = (config[f"data.synthetic.{key}"] for key in ("samples", "features", "classes"))
    labels = np.arange(count, dtype=np.int64) % classes
    centres = uniform(stream_key(0, "data.synthetic.centres"), classes * features).reshape(classes, features)
    u = uniform(stream_key(0, "data.synthetic.samples"), count * features, part).reshape(count, features)
    noise = np.float32(config["data.synthetic.noise"])
    inputs = centres[labels] + noise * (np.float32(2) * u - np.float32(1))
    require_data(run, f"the synthetic {name} set", f"synthetic.{name}",
                 inputs.tobytes() + labels.astype("<i4").tobytes())
    return Samples(inputs, labels)


def read_bible(run):
    """The verses, a line each, without the reference that the program prints before them."""
    command = ["bible", "-p", "/usr/lib", "-f", "gen1:1-rev22:21"]
    try:
        printed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ReportError("RUN-3", "run bible", "its verses (Debian package bible-kjv)", str(error)) from None
    text = b"".join(line.partition(b" ")[2] for line in printed.splitlines(keepends=True))
    return require_data(run, "the Bible", "bible-kjv", text)


def cut_text(text, context, test):
    """(train, test): sample i has context bytes from i·context on, its labels those one further."""
    count = (len(text) - 1) // context
    tokens = np.frombuffer(text, np.uint8).astype(np.int64)
    all_of_it = Samples(*(tokens[begin:begin + count * context].reshape(count, context) for begin in (0, 1)))
    return all_of_it[:count - test], all_of_it[count - test:]


class Experiment:
    """The same data, batches and initial parameters as the run's.

    `train`, `validation` and `test` are Samples. Errors: RUN-3 for data that are not the run's, or a batch whose ids
    have another digest than the run recorded.

        experiment = Experiment(read_run("runs/0001", "A"))
        for step in range(1, 11):
            batch = experiment.train[experiment.ids(step)]
    """

    def __init__(self, run):
        self.run, self.config = run, run.config
        kind, path = self.config["data.kind"], Path(self.config["data.path"])
        if kind == "synthetic":
            train, test = (make_synthetic(run, self.config, *part) for part in (("train", 0), ("test", 1)))
        elif kind in ("text", "bible_kjv"):
            text = read_bible(run) if kind == "bible_kjv" else read_data(run, path)
            train, test = cut_text(text, self.config["data.context"], self.config["data.test"])
        else:
            train, test = (read_idx_samples(run, path, *names) for names in (FILES[:2], FILES[2:]))
        if self.config["data.limit"]:
            train, test = (samples[:self.config["data.limit"]] for samples in (train, test))
        kept = len(train) - self.config["data.validation"]
        self.train, self.validation, self.test = train[:kept], train[kept:], test
        self.order_key = stream_key(self.config["experiment.seed"], "data.order")
        self.epoch, self.order = None, None

    def place(self, step):
        """(epoch, position in it) of a step, from 0."""
        return divmod(step - 1, -(-len(self.train) // self.config["train.batch"]))

    def ids(self, step):
        """The samples of a step, int64 [batch], proved by the digest that the run has of them."""
        epoch, position = self.place(step)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, shuffled(len(self.train), self.order_key, epoch)
        batch = self.config["train.batch"]
        ids = self.order[position * batch:(position + 1) * batch]
        if step <= self.run.last_step:
            recorded = int(self.run.steps["ids_digest"][step - 1])
            require(self.run, f"digest of the sample ids of step {step}", f"{recorded:016x}", f"{digest(ids):016x}")
        return ids

    def initial_parameters(self):
        """(name, float32 array) of each parameter, in the model's order."""
        key = lambda name: stream_key(self.config["experiment.seed"], name)
        zeros = lambda name, width: (f"{name}.bias", np.zeros(width, np.float32))

        def linear(name, fan_in, out):
            return (f"{name}.weight", he_normal((out, fan_in), key(f"{name}.weight"))), zeros(name, out)

        def norm(name):
            return (f"{name}.scale", np.ones(width, np.float32)), zeros(name, width)

        def embedding(name, rows):
            values = normal(key(f"{name}.weight"), rows * width) * np.float32(0.02)
            return f"{name}.weight", values.reshape(rows, width)

        if self.config["model.kind"] == "mlp":
            widths = self.config["model.layers"]
            layers = enumerate(zip(widths[:-1], widths[1:]), 1)
            return [parameter for i, extents in layers for parameter in linear(f"fc{i}", *extents)]
        width, hidden = self.config["model.width"], self.config["model.hidden"]
        parameters = [embedding("token_embedding", BYTES), embedding("position_embedding", self.config["data.context"])]
        for block in (f"blocks.{i}" for i in range(self.config["model.blocks"])):
            parameters += norm(f"{block}.attention_norm")
            for name in "query", "key", "value", "output":
                parameters += linear(f"{block}.attention.{name}", width, width)
            parameters += norm(f"{block}.feed_forward_norm")
            parameters += linear(f"{block}.feed_forward.expand", width, hidden)
            parameters += linear(f"{block}.feed_forward.project", hidden, width)
        parameters += norm("final_norm")
        head = linear("language_model_head", width, BYTES)
        return parameters + list(head[1:] if self.config["model.tied"] else head)
