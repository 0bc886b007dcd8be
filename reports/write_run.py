# Run folders written into: sealed files, segments, checkpoints and kept tensors, laid out as reference/formats says.
"""The counterpart of read_run.py. Knows files and nothing of how their numbers came to be."""

import hashlib
import os
from pathlib import Path

os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
import h5py
import numpy as np

from numerics import digest
from read_run import FORMAT_VERSION, MAGIC, USER_BLOCK, ReportError

NUMBERS = {"step": "<u8", "epoch": "<u8", "loss": "<f8", "gradient_norm": "<f8", "learning_rate": "<f8",
           "finite": "u1", "loss_digest": "<u8", "ids_digest": "<u8"}
VALIDATION = {"step": "<u8", "loss": "<f8", "accuracy": "<f8"}
NAMES_OF = {"parameters": "parameters", "gradients": "parameters", "optimiser": "optimiser", "masks": "masks",
            "trace": "trace"}  # digest table -> list of its columns


def creation(kind):
    """Properties of a new file or group: it keeps the order in which it is filled, and no times."""
    order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
    properties = h5py.h5p.create(kind)
    properties.set_link_creation_order(order)
    properties.set_attr_creation_order(order)
    properties.set_obj_track_times(False)
    return properties


def write_sealed(path, fill):
    """Writes a sealed HDF5 file: `fill(file)` makes it beside `path`, then it takes that name. Returns its SHA-256."""
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            properties = creation(h5py.h5p.FILE_CREATE)
            properties.set_userblock(USER_BLOCK)
            with h5py.File(h5py.h5f.create(os.fsencode(partial), h5py.h5f.ACC_TRUNC, properties)) as file:
                fill(file)
            with open(partial, "r+b") as file:
                body = file.read()[USER_BLOCK:]
                sha = hashlib.sha256(body)
                head = MAGIC + FORMAT_VERSION.to_bytes(4, "little") + bytes(4) + len(body).to_bytes(8, "little")
                file.seek(0)
                file.write((head + sha.digest()).ljust(USER_BLOCK, b"\0"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ReportError("FILE-2", f"write {path}", "a file that can be written", str(error)) from None
    return sha.hexdigest()


def group_at(file, name, attributes=None):
    """The group at a path, with those above it, made where it is not there."""
    group = file
    for part in filter(None, name.split("/")):
        group = group[part] if part in group else h5py.Group(
            h5py.h5g.create(group.id, part.encode(), gcpl=creation(h5py.h5p.GROUP_CREATE)))
    set_attributes(group, attributes or {})
    return group


def set_attributes(target, values):
    for name, value in values.items():
        target.attrs[name] = np.uint64(value) if isinstance(value, int) else value


def write_format(file, kind, **more):
    set_attributes(file, {"format": f"assay-{kind}", "format_version": FORMAT_VERSION, "numerics_version": 0, **more})


def write_strings(group, name, texts):
    group.create_dataset(name, data=list(texts), shape=(len(texts),), dtype=h5py.string_dtype())


def write_view(group, name, kind, tail, parts):
    """A virtual dataset over that of the same name in `parts`, (file, rows) each. What cannot be read is 0 or NaN."""
    shape_of = lambda rows: (rows, *tail)
    space = h5py.h5s.create_simple(shape_of(sum(rows for _, rows in parts)))
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    properties.set_fill_value(np.array(np.nan if kind == "<f8" else 0, kind))
    begin = 0
    for file, rows in parts:
        if rows and 0 not in tail:
            space.select_hyperslab((begin, *(0 for _ in tail)), shape_of(rows))
            source = f"{group.name}/{name}".encode()
            properties.set_virtual(space, file.encode(), source, h5py.h5s.create_simple(shape_of(rows)))
        begin += rows
    space.select_all()
    h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(np.dtype(kind)), space, properties)


def write_configuration(file, configuration):
    group = group_at(file, "config")
    group["toml"] = configuration["toml"]
    write_strings(group, "overrides", configuration["overrides"])
    group["resolved"] = configuration["resolved"]


class RunWriter:
    """A run folder that grows: rows are held until `close_segment`, which makes them part of run.h5.

    `configuration` has the texts `toml` and `resolved` (JSON) and the list `overrides`; `names` the lists `parameters`,
    `optimiser`, `masks` and `trace`, which may be filled until the first row. Errors: FILE-7 when the folder holds a
    run, FILE-2, FILE-9 for a row of another step than the next or with another number of digests than names.

        run = RunWriter("runs/foreign", configuration, {"device": "abacus"}, names)
        run.append(step=1, epoch=0, loss=2.3, …, parameters=[digest(weight)], …)
        run.close_segment("interrupted")
    """

    def __init__(self, folder, configuration, provenance, names):
        self.folder, self.configuration, self.provenance = Path(folder), configuration, provenance
        self.names = {table: names.get(table, []) for table in ("parameters", "optimiser", "masks", "trace")}
        self.segments, self.rows, self.validations, self.last_step = [], [], [], 0
        if (self.folder / "run.h5").exists():
            raise ReportError("FILE-7", f"create a run in {folder}", "a folder without a run", "a run")

    def append(self, **row):
        """The next step: every number of /steps, `seconds`, and a list of digests for each table."""
        operation = f"append to {self.folder / 'run.h5'}"
        if row["step"] != self.last_step + 1:
            raise ReportError("FILE-9", operation, f"step {self.last_step + 1}", f"{row['step']}")
        for table, list_name in NAMES_OF.items():
            if len(row[table]) != len(self.names[list_name]):
                raise ReportError("FILE-9", operation, f"{len(self.names[list_name])} digests of {table}",
                                  f"{len(row[table])}")
        self.rows.append(row)
        self.last_step = row["step"]

    def append_validation(self, loss, accuracy):
        """A validation after the last step, before its segment is closed."""
        self.validations.append({"step": self.last_step, "loss": loss, "accuracy": accuracy})

    def columns(self):
        """(group, dataset, type, width or None for a plain column, rows that it is of) for each column of a segment."""
        for name, kind in NUMBERS.items():
            yield "steps", name, kind, None, self.rows
        for table, list_name in NAMES_OF.items():
            yield "steps", table, "<u8", len(self.names[list_name]), self.rows
        yield "timing", "seconds", "<f8", None, self.rows
        for name, kind in VALIDATION.items():
            yield "validation", name, kind, None, self.validations

    def close_segment(self, status="running", result=None):
        """Writes the rows held as a segment, then run.h5. A result belongs to the status "complete"."""
        if self.rows or self.validations:
            name = f"steps-{len(self.segments) + 1:06d}.h5"
            sha = write_sealed(self.folder / name, self.fill_segment)
            self.segments.append({"file": name, "last_step": self.last_step, "steps": len(self.rows),
                                  "validations": len(self.validations), "sha256": sha})
        self.rows, self.validations = [], []
        write_sealed(self.folder / "run.h5", lambda file: self.fill_run(file, status, result))

    def fill_segment(self, file):
        write_format(file, "steps")
        for group, name, kind, width, rows in self.columns():
            values = np.array([row[name] for row in rows], kind)
            group_at(file, group)[name] = values if width is None else values.reshape(len(rows), width)

    def fill_run(self, file, status, result):
        write_format(file, "run", status=status, last_step=self.last_step)
        write_configuration(file, self.configuration)
        group_at(file, "provenance", {key: str(text) for key, text in sorted(self.provenance.items())})
        for table, columns in self.names.items():
            write_strings(group_at(file, "names"), table, columns)
        for group, name, kind, width, _ in self.columns():
            counts = [s["validations" if group == "validation" else "steps"] for s in self.segments]
            parts = [(segment["file"], count) for segment, count in zip(self.segments, counts)]
            write_view(group_at(file, group), name, kind, () if width is None else (width,), parts)
        group = group_at(file, "segments")
        for key in ("file", "sha256"):
            write_strings(group, key, [s[key] for s in self.segments])
        for key in ("last_step", "steps", "validations"):
            group[key] = np.array([s[key] for s in self.segments], "<u8")
        if result is not None:
            group_at(file, "result", result)

    def save_checkpoint(self, parameters, optimiser, optimiser_kind, device, train):
        """The state after the last step: `parameters` and `optimiser` are lists of (name, array), `train` are whole
        numbers by name. Closes the segment first, so that a checkpoint never stands for steps that no file holds."""
        self.close_segment()

        def fill(file):
            write_format(file, "checkpoint", step=self.last_step, device=device)
            write_configuration(file, self.configuration)
            group = group_at(file, "parameters")
            for name, array in parameters:
                group[name] = array
                set_attributes(group[name], {"axes": "", "version": 0, "digest": digest(array)})
            write_strings(group_at(file, "names"), "parameters", [name for name, _ in parameters])
            group = group_at(file, "optimiser", {"kind": optimiser_kind, "step_count": self.last_step})
            for name, array in optimiser:
                group[name] = array
            write_strings(group_at(file, "random"), "streams", [])
            file["random/draws"] = np.zeros(0, "<u8")
            group_at(file, "train", train)

        write_sealed(self.folder / "checkpoints" / f"step-{self.last_step:08d}.h5", fill)

    def save_tensors(self, tensors):
        """Whole results of the last step, as a list of (name, array)."""
        def fill(file):
            write_format(file, "tensors", step=self.last_step)
            for name, array in tensors:
                above, _, last = name.rpartition("/")
                group_at(file, above)[last] = np.asarray(array, "<f4")
            write_strings(file, "names", [name for name, _ in tensors])

        write_sealed(self.folder / "tensors" / f"step-{self.last_step:08d}.h5", fill)
