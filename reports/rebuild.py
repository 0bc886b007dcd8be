# What a run of an MLP began from, made again in NumPy: its data, the batch of each step, its initial parameters.
"""A run's configuration and its digests are all that this reads of it, so that what agrees was computed twice."""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numerics import digest, he_normal, shuffled, stream_key, uniform
from read_run import ReportError

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@dataclass
class Samples:
    inputs: np.ndarray  # float32 [N, features]
    labels: np.ndarray  # int64 [N]

    def __getitem__(self, which):
        return Samples(self.inputs[which], self.labels[which])

    def __len__(self):
        return len(self.labels)


def require(run, what, expected, found):
    if expected != found:
        raise ReportError("RUN-3", f"rebuild {run.path}: {what}", expected, found)


def read_idx(run, folder, name):
    """An IDX file of bytes or float32, whose SHA-256 must be the run's."""
    path = Path(folder) / f"{name}.gz"
    path = path if path.exists() else Path(folder) / name
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ReportError("RUN-3", f"read {path}", "the data of the run", error.strerror) from None
    require(run, f"SHA-256 of {path}", run.provenance.get(f"data.{path.name}", "(none)"),
            hashlib.sha256(raw).hexdigest())
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
    sha = hashlib.sha256(inputs.tobytes() + labels.astype("<i4").tobytes()).hexdigest()
    require(run, f"SHA-256 of the synthetic {name} set", run.provenance.get(f"data.synthetic.{name}", "(none)"), sha)
    return Samples(inputs, labels)


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
        if self.config["data.kind"] == "synthetic":
            train, test = (make_synthetic(run, self.config, *part) for part in (("train", 0), ("test", 1)))
        else:
            train, test = (read_idx_samples(run, self.config["data.path"], *names) for names in (FILES[:2], FILES[2:]))
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
        widths, parameters = self.config["model.layers"], []
        for layer, (fan_in, out) in enumerate(zip(widths[:-1], widths[1:]), 1):
            name = f"fc{layer}.weight"
            parameters.append((name, he_normal((out, fan_in), stream_key(self.config["experiment.seed"], name))))
            parameters.append((f"fc{layer}.bias", np.zeros(out, np.float32)))
        return parameters
