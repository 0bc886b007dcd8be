"""The peer of `scripts/benchmark train_step`: the same training in PyTorch, some steps at a time on command.

Reads "plain N" or "foreach N" (the two ways of torch.optim.AdamW) from standard input, takes N steps and prints their
time and the last loss as one line of JSON. The first line that it prints says what it is.
"""

import gzip
import json
import sys
import time
from pathlib import Path

import numpy
import torch

DATA = Path("/usr/share/datasets/fashion-mnist")
BATCH = 128


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


class Training:
    def __init__(self, images, labels, foreach):
        self.images, self.labels = images, labels
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(784, 512),
            torch.nn.ReLU(),
            torch.nn.Linear(512, 512),
            torch.nn.ReLU(),
            torch.nn.Linear(512, 10),
        )
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01, foreach=foreach)
        self.order, self.next = torch.randperm(len(labels)), 0

    def step(self):
        if self.next + BATCH > len(self.order):
            self.order, self.next = torch.randperm(len(self.order)), 0
        ids = self.order[self.next : self.next + BATCH]
        self.next += BATCH
        loss = torch.nn.functional.cross_entropy(self.model(self.images[ids]), self.labels[ids])
        loss.backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.item()


def main():
    torch.set_num_threads(int(sys.argv[1]))
    images = torch.from_numpy(read_idx("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(numpy.float32) / 255)
    labels = torch.from_numpy(read_idx("train-labels-idx1-ubyte", 8).astype(numpy.int64))
    trainings = {"plain": Training(images, labels, False), "foreach": Training(images, labels, True)}
    trainings["plain"].step()  # so that every library is loaded
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "blas_file": ", ".join(blas_files())}), flush=True)
    for line in sys.stdin:
        kind, steps = line.split()
        before, wall, cpu = waited(), time.perf_counter(), time.process_time()
        for _ in range(int(steps)):
            loss = trainings[kind].step()
        times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps({**times, "waited": waited() - before, "loss": loss}), flush=True)


if __name__ == "__main__":
    main()
