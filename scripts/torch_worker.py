"""The peer of `scripts/benchmark train_step`: the same training in PyTorch, some steps at a time on command.

torch_worker.py THREADS MODEL plain|foreach: the model is "mlp" or a decoder, "V,C,D,H,N,F,B" (reference/benchmark.md),
and the last word one of the two ways of torch.optim.AdamW. Reads numbers from standard input, takes so many steps and
prints their time and the last loss as one line of JSON. The first line that it prints says what it is.
"""

import gzip
import json
import resource
import sys
import time
from pathlib import Path

import numpy
import torch
from torch import nn

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reports"))
from torch_model import Decoder  # noqa: E402

LIBRARIES = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # in MiB: what has to be loaded for any model
DATA = Path("/usr/share/datasets/fashion-mnist")


def read_idx(name, offset):
    for path, opened in ((DATA / f"{name}.gz", gzip.open), (DATA / name, open)):
        if path.exists():
            with opened(path, "rb") as file:
                return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)
    sys.exit(f"{DATA}: there is no {name}")


def blas_files():
    """Where the matrix products come from: the libraries of this process that are called some BLAS."""
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "blas" in line}
    return sorted(path for path in paths if path.startswith("/"))


def waited():
    """Seconds that the threads of this process were ready to run but without a processor."""
    return sum(int(path.read_text().split()[1]) for path in Path("/proc/self/task").glob("*/schedstat")) / 1e9


def perceptron():
    """(model, inputs, labels, samples of a batch)"""
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    images = torch.from_numpy(read_idx("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(numpy.float32) / 255)
    return model, images, torch.from_numpy(read_idx("train-labels-idx1-ubyte", 8).astype(numpy.int64)), 128


def decoder(vocabulary, context, width, heads, blocks, hidden, batch):
    """The same; three of four tokens are one more than the one before, the others are random."""
    model = Decoder(vocabulary, context, width, heads, blocks, hidden)
    numbers, tokens = numpy.random.default_rng(1).integers(4 * vocabulary, size=1024 * context + 1).tolist(), [0]
    for number in numbers:
        tokens.append((number // 4 if number % 4 == 0 else tokens[-1] + 1) % vocabulary)
    tokens = torch.tensor(tokens[1:])
    return model, tokens[:-1].reshape(1024, context), tokens[1:].reshape(1024, context), batch


class Training:
    def __init__(self, model, inputs, labels, batch, foreach):
        self.model, self.inputs, self.labels, self.batch = model, inputs, labels, batch
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, foreach=foreach)
        self.order, self.next = torch.randperm(len(labels)), 0

    def step(self):
        if self.next + self.batch > len(self.order):
            self.order, self.next = torch.randperm(len(self.order)), 0
        ids = self.order[self.next : self.next + self.batch]
        self.next += self.batch
        loss = nn.functional.cross_entropy(self.model(self.inputs[ids]), self.labels[ids].flatten())
        loss.backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.item()


def main():
    threads, model, way = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    parts = perceptron() if model == "mlp" else decoder(*map(int, model.split(",")))
    training = Training(*parts, way == "foreach")
    training.step()  # so that every library is loaded
    facts = {
        "peer": f"PyTorch {torch.__version__}",
        "peer_libraries": f"{LIBRARIES:.0f} MiB of its memory",
        "blas_file": ", ".join(blas_files()),
    }
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        before, wall, cpu = waited(), time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            loss = training.step()
        times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps({**times, "waited": waited() - before, "loss": loss}), flush=True)


if __name__ == "__main__":
    main()
