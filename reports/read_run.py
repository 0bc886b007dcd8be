# Run folders read into memory: every file is checked before HDF5 opens it, nothing is written.
"""A run is `run.h5` with its closed segments `steps-NNNNNN.h5`; the manual of the format is in reference/formats."""

import hashlib
import json
import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")  # a running run, or a read-only disk, can be reported on
import h5py
import numpy as np

MAGIC = b"ASSAYH5\n"
FORMAT_VERSION = 1
USER_BLOCK = 512
DIGEST_TABLES = ("gradients", "parameters", "optimiser", "masks")
STEP_COLUMNS = ("step", "epoch", "loss", "gradient_norm", "learning_rate", "finite", "loss_digest", "ids_digest")


class ReportError(Exception):
    """A refused file: `ID: operation: expected …, found …`, as the library's own errors read."""

    def __init__(self, contract, operation, expected, found):
        super().__init__(f"{contract}: {operation}: expected {expected}, found {found}")


@dataclass(eq=False)
class Run:
    """One run. Arrays have one row per step [S] or per validation [V]; digest tables stay in the files."""

    path: str
    label: str
    status: str
    last_step: int
    toml: str
    overrides: list
    config: dict  # "train.steps" -> value, every key with its value after defaults and overrides
    provenance: dict
    result: dict
    steps: dict
    names: dict  # table -> column names
    validation: dict
    seconds: np.ndarray
    segments: list  # (first row, end, path) of the files that hold the rows

    def read_digests(self, table, low, out):
        """Fills `out`, u64 [rows, columns], with the rows of a digest table from row `low` on."""
        for first, end, path in self.segments:
            begin, stop = max(low, first), min(low + len(out), end)
            if begin < stop and out.size:
                try:
                    with h5py.File(path, "r") as file:
                        file[f"steps/{table}"].read_direct(out, np.s_[begin - first:stop - first],
                                                           np.s_[begin - low:stop - low])
                except (OSError, KeyError, ValueError, TypeError) as error:
                    raise ReportError("FILE-3", f"read {path}", f"rows of /steps/{table}", str(error)) from error

    def digests_of(self, table, step):
        """One row of a digest table, whole numbers."""
        out = np.zeros((1, len(self.names[table])), np.uint64)
        self.read_digests(table, step - 1, out)
        return out[0].tolist()

    def rename(self, path):
        """Gives the columns the names that a map has for them, such as `assay compare --map` accepts."""
        with open(path, "rb") as file:
            tables = tomllib.load(file)
        for table in ("parameters", "optimiser", "masks", "trace"):
            self.names[table] = [tables.get(table, {}).get(name, name) for name in self.names[table]]
        self.names["gradients"] = self.names["parameters"]

    @property
    def name(self):
        return Path(self.path).resolve().name

    @property
    def complete(self):
        return self.status == "complete"

    @property
    def first_bad_step(self):
        """The first step whose loss is not finite, or None."""
        bad = np.flatnonzero(~np.isfinite(self.steps["loss"]) | (self.steps["finite"] == 0))
        return int(self.steps["step"][bad[0]]) if bad.size else None


def check_file(path):
    """Refuses a file whose user block, length or SHA-256 is not right, before libhdf5 sees it. Returns the SHA-256."""
    operation = f"read {path}"
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            block = file.read(USER_BLOCK)
            digest, memory = hashlib.sha256(), memoryview(bytearray(1 << 20))
            while count := file.readinto(memory):
                digest.update(memory[:count])
    except OSError as error:
        raise ReportError("FILE-3", operation, "a readable file", error.strerror) from None
    if size < USER_BLOCK or block[:8] != MAGIC:
        raise ReportError("FILE-6", operation, "a file that begins with ASSAYH5", f"{block[:8]!r}, {size} bytes")
    version = int.from_bytes(block[8:12], "little")
    if version != FORMAT_VERSION:
        raise ReportError("FILE-3", operation, f"format_version {FORMAT_VERSION}", f"format_version {version}")
    length = int.from_bytes(block[16:24], "little")
    if length != size - USER_BLOCK:
        raise ReportError("FILE-6", operation, f"{length} bytes after the user block", f"{size - USER_BLOCK}")
    if digest.hexdigest() != block[24:56].hex():
        raise ReportError("FILE-6", operation, f"SHA-256 {block[24:56].hex()}", digest.hexdigest())
    return digest.hexdigest()


def check_segments(folder, file):
    """Checks all segments that run.h5 lists, side by side; the first error in their order counts."""
    names, digests = strings(file["segments/file"]), strings(file["segments/sha256"])
    paths = [Path(folder) / name for name in names]
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        for path, digest, found in zip(paths, digests, pool.map(check_file, paths)):
            if found != digest:
                raise ReportError("FILE-3", f"read {path}", f"SHA-256 {digest}, as run.h5 lists it", found)
    ends = [int(step) for step in file["segments/last_step"][()]]
    return list(zip([0] + ends, ends, paths))


def text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if isinstance(value, np.generic) else value


def strings(dataset):
    return [text(value) for value in dataset[()]]


def flatten(value, prefix=""):
    """Nested tables as dotted keys; an empty table stays as a value, so that no key is lost."""
    if not isinstance(value, dict) or not value:
        return {prefix: value}
    flat = {}
    for key in sorted(value):
        flat.update(flatten(value[key], f"{prefix}.{key}" if prefix else key))
    return flat


def column_of(file, name, operation):
    if name not in file:
        raise ReportError("FILE-3", operation, f"dataset /{name}", "none")
    return file[name]


def read_column(file, name, operation):
    return column_of(file, name, operation)[()]


def read_run(folder, label):
    """The run in `folder`. Errors FILE-3: no run, a missing or damaged file, a newer format."""
    path = Path(folder) / "run.h5"
    if not path.is_file():
        found = "a folder without run.h5" if Path(folder).is_dir() else "no folder"
        raise ReportError("FILE-3", f"read {folder}", "a run folder, which holds run.h5", found)
    check_file(path)
    operation = f"read {path}"
    try:
        with h5py.File(path, "r") as file:
            return read_open_run(file, folder, label, operation)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ReportError("FILE-3", operation, "the layout of an assay-run file", str(error)) from error


def read_open_run(file, folder, label, operation):
    kind, version = text(file.attrs.get("format", "")), int(file.attrs.get("format_version", -1))
    if kind != "assay-run":
        raise ReportError("FILE-3", operation, "format assay-run", f"format {kind!r}")
    if version != FORMAT_VERSION:
        raise ReportError("FILE-3", operation, f"format_version {FORMAT_VERSION}", f"format_version {version}")
    segments = check_segments(folder, file)

    names = {"parameters": strings(file["names/parameters"])}
    names["gradients"] = names["parameters"]
    for table in ("optimiser", "masks"):
        names[table] = strings(file[f"names/{table}"])
    traced = "names/trace" in file and "steps/trace" in file
    names["trace"] = strings(file["names/trace"]) if traced else []

    last_step = int(file.attrs["last_step"])
    steps = {column: read_column(file, f"steps/{column}", operation) for column in STEP_COLUMNS}
    tables = DIGEST_TABLES + (("trace",) if traced else ())
    for column in STEP_COLUMNS + tables:
        shape = column_of(file, f"steps/{column}", operation).shape
        if shape[0] != last_step:
            raise ReportError("FILE-3", operation, f"{last_step} rows in /steps/{column}", f"{shape[0]}")
        if column in tables and shape[1] != len(names[column]):
            raise ReportError("FILE-3", operation, f"{len(names[column])} columns in /steps/{column}", f"{shape[1]}")
    if not np.array_equal(steps["step"], np.arange(1, last_step + 1)):
        raise ReportError("FILE-3", operation, f"steps 1 to {last_step} in /steps/step", "another sequence")

    return Run(
        path=str(folder), label=label, status=text(file.attrs["status"]), last_step=last_step,
        toml=text(file["config/toml"][()]), overrides=strings(file["config/overrides"]),
        config=flatten(json.loads(text(file["config/resolved"][()]))),
        provenance={key: str(text(value)) for key, value in sorted(file["provenance"].attrs.items())},
        result={key: text(value) for key, value in sorted(file["result"].attrs.items())} if "result" in file else {},
        steps=steps, names=names,
        validation={key: read_column(file, f"validation/{key}", operation) for key in ("step", "loss", "accuracy")},
        seconds=read_column(file, "timing/seconds", operation), segments=segments)
