"""Golden files (reference/formats/golden.md): records of operations, what float64 says of them, and the sealed file."""

import hashlib
import json
import math
import os
import struct
from pathlib import Path

import h5py
import numpy as np

U = 2.0**-24  # half a unit in the last place of float32, relative
ELEMENTARY_ULPS = 4  # what a recorded exp, log, tanh or sigmoid may be off; ours are correctly rounded
ELEMENTARY = 2 * ELEMENTARY_ULPS * U


class Value:
    """What a call gives in float64, and how far float32 may be from it: `error`, per element, any order of addition."""

    def __init__(self, name, array, error=0.0):
        self.name = name
        self.array = np.asarray(array)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.array.shape)


def rounded_once(value):
    """The error of one rounding, and 0 where there is nothing to round."""
    with np.errstate(over="ignore"):
        return np.where(value == value.astype(np.float32), 0.0, U * np.abs(value))


def sum_error(x, axes):
    """The error of adding float32 numbers in any order; 0 where every partial sum is exact."""
    axes = tuple(axes)
    count = math.prod(x.array.shape[axis] for axis in axes)
    total = np.abs(x.array).sum(axes)
    exact = np.count_nonzero(x.array, axes) <= 1
    if np.all(x.array == np.rint(x.array)):
        exact |= total < 2**24
    return np.where(exact, 0.0, max(count - 1, 0) * U * total)


# Each rule gives the value in float64, its error, and what the call itself adds to it: "rounding" (one correctly
# rounded operation), "elementary" (one elementary function) or "several"; where it adds nothing the last is moot.
def add(a, b):
    value = a.array + b.array
    return value, a.error + b.error, rounded_once(value), "rounding"


def subtract(a, b):
    value = a.array - b.array
    return value, a.error + b.error, rounded_once(value), "rounding"


def multiply(a, b):
    value = a.array * b.array
    inherited = np.abs(a.array) * b.error + np.abs(b.array) * a.error + a.error * b.error
    return value, inherited, rounded_once(value), "rounding"


def divide(a, b):
    value = a.array / b.array
    return value, (a.error + np.abs(value) * b.error) / (np.abs(b.array) - b.error), rounded_once(value), "rounding"


def relu(x):
    return np.maximum(x.array, 0), x.error, 0.0, ""


def exp(x):
    value = np.exp(x.array)
    return value, value * np.expm1(x.error), np.where(x.array == 0, 0, ELEMENTARY * value), "elementary"


def log(x):
    value = np.log(x.array)
    return value, x.error / (x.array - x.error), ELEMENTARY * np.abs(value), "elementary"


def tanh(x):
    value = np.tanh(x.array)
    return value, x.error, ELEMENTARY * np.abs(value), "elementary"


def sigmoid(x):
    value = 1 / (1 + np.exp(-x.array))
    return value, x.error / 4, ELEMENTARY * value, "elementary"


def softmax_parts(x):
    """x − m, and of exp(x − m) and of its sum the value and the relative error."""
    shifted = x.array - x.array.max(-1, keepdims=True)
    parts = np.exp(shifted)
    off = U * np.abs(shifted) + 2 * x.error.max(-1, keepdims=True) + ELEMENTARY
    total = parts.sum(-1, keepdims=True)
    return shifted, parts, off, total, off.max(-1, keepdims=True) + x.array.shape[-1] * U


def softmax(x):
    _, parts, off, total, total_off = softmax_parts(x)
    value = parts / total
    return value, 0.0, value * (off + total_off + U), "several"


def log_softmax(x):
    shifted, _, _, total, total_off = softmax_parts(x)
    value = shifted - np.log(total)
    own = U * np.abs(shifted) + total_off + ELEMENTARY * np.log(total) + U * np.abs(value)
    return value, 2 * x.error.max(-1, keepdims=True), own, "several"


def cross_entropy(x, labels, ignore_index=-100):
    logarithms = Value("", *log_softmax(x)[:1], sum(log_softmax(x)[1:3]))
    rows = np.flatnonzero(labels.array != ignore_index)
    losses = -logarithms.array[rows, labels.array[rows]]
    value = losses.sum() / len(rows)
    own = logarithms.error[rows, labels.array[rows]].sum() + len(rows) * U * np.abs(losses).sum()
    return value, 0.0, own / len(rows) + U * abs(value), "several"


def sum_over(x, axes):
    axes = tuple(axes)
    own = sum_error(x, axes)
    count = math.prod(x.array.shape[axis] for axis in axes)
    return x.array.sum(axes), x.error.sum(axes), own, "rounding" if count == 2 else "several"


def mean(x, axes):
    total, inherited, own, _ = sum_over(x, axes)
    count = math.prod(x.array.shape[axis] for axis in axes)
    value = total / count
    return value, inherited / count, own / count + rounded_once(value), "several" if own.any() else "rounding"


def maximum(x, axis):
    return x.array.max(axis), x.error.max(axis), 0.0, ""


def matmul(a, b):
    own = a.array.shape[-1] * U * (np.abs(a.array) @ np.abs(b.array))
    inherited = np.abs(a.array) @ b.error + a.error @ (np.abs(b.array) + b.error)
    return a.array @ b.array, inherited, own, "several"


def linear(x, weight, bias):
    value, inherited, own, _ = matmul(x, Value("", weight.array.T, weight.error.T))
    whole = value + bias.array
    return whole, inherited + bias.error, own + U * np.abs(whole), "several"


def dropout(x, mask, p):
    scale = 1 / (1 - p)
    value = np.where(mask.array, x.array * scale, 0)
    exact_scale = scale == np.float32(scale)
    own = rounded_once(value) if exact_scale else 2 * U * np.abs(value)
    return value, np.where(mask.array, x.error * scale, 0), own, "rounding" if exact_scale else "several"


def embedding(table, ids):
    return table.array[ids.array], table.error[ids.array], 0.0, ""


def transpose(x, axis_a, axis_b):
    return x.array.swapaxes(axis_a, axis_b), x.error.swapaxes(axis_a, axis_b), 0.0, ""


def reshape(x, shape):
    return x.array.reshape(shape), x.error.reshape(shape), 0.0, ""


def slice_of(x, axis, begin, end):
    part = (slice(None),) * axis + (slice(begin, end),)
    return x.array[part], x.error[part], 0.0, ""


RULES = {
    rule.__name__: rule
    for rule in (add, subtract, multiply, divide, relu, exp, log, tanh, sigmoid, softmax, log_softmax, cross_entropy)
    + (mean, maximum, matmul, linear, dropout, embedding, transpose, reshape)
} | {"sum": sum_over, "slice": slice_of}


class Record:
    """One test: inputs, calls on them, results that they must have."""

    def __init__(self, name, operation, unsupported=""):
        self.name, self.operation, self.unsupported = name, operation, unsupported
        self.inputs, self.calls, self.expected = {}, [], {}
        self.steps = []  # what each call that rounds adds
        self.error = 0.0  # the largest of any result
        self.signed_zeros = True  # whether +0 where −0 is recorded is wrong
        self.in_ulps = True  # whether no result is further off than that of an elementary function

    def input(self, name, array):
        self.inputs[name] = array
        return Value(name, array.astype(np.float64) if array.dtype == np.float32 else array)

    def call(self, operation, *operands, **attributes):
        value, inherited, own, step = RULES[operation](*operands, **attributes)
        if np.any(own):
            self.steps.append(step)
        output = f"#{len(self.calls) + 1}"
        inputs = [operand.name for operand in operands]
        self.calls.append({"operation": operation, "inputs": inputs, "attributes": attributes, "output": output})
        return Value(output, value, inherited + own)

    def expect(self, name, value, array):
        """`array` is the recorded result that `value` must have; ValueError where float64 excludes it."""
        for call in self.calls:
            call["inputs"] = [name if each == value.name else each for each in call["inputs"]]
            call["output"] = name if call["output"] == value.name else call["output"]
        if array.shape != value.array.shape or array.dtype != np.float32:
            raise ValueError(f"{self.name}: {name} is recorded as {array.dtype} {array.shape}, not {value.array.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = value.array.astype(np.float32)
            far = ~((np.abs(array - value.array) <= value.error * 1.01) | (array == narrow))
        far &= ~(np.isnan(array) & np.isnan(narrow))
        if far.any():
            at = tuple(np.argwhere(far)[0])
            raise ValueError(
                f"{self.name}: {name}{list(at)} is recorded as {array[at]}, float64 gives {value.array[at]} "
                f"with an error of at most {value.error[at]}"
            )
        self.error = max(self.error, np.max(value.error, initial=0.0))
        self.in_ulps &= bool(np.all(value.error <= ELEMENTARY * np.abs(value.array)))
        self.expected[name] = array

    def tolerance(self):
        """Equal bits where IEEE 754 leaves no choice, else the two errors, of the recorded result and of ours."""
        if self.steps in ([], ["rounding"]):
            return "bitwise" if self.signed_zeros else "close:0,0"
        if self.steps == ["elementary"] and self.in_ulps:
            return f"ulp:{ELEMENTARY_ULPS}"
        largest = max(np.abs(array).max(initial=0.0) for array in self.expected.values())
        if 2 * self.error > largest / 10:
            raise ValueError(f"{self.name}: a tolerance of {2 * self.error} says nothing of results up to {largest}")
        return f"close:0,{2 * self.error:.3g}"


def seal(path):
    """Fills the first 512 bytes of a file, which HDF5 left free."""
    content = path.read_bytes()[512:]
    block = b"ASSAYH5\n" + struct.pack("<IIQ", 1, 0, len(content)) + hashlib.sha256(content).digest()
    with open(path, "r+b") as file:
        file.write(block.ljust(512, b"\0"))
        file.flush()
        os.fsync(file.fileno())


def write(path, source, records):
    """Writes a golden file: the old one, or the whole new one."""
    partial = Path(f"{path}.partial")
    try:
        with h5py.File(partial, "w", userblock_size=512, track_order=True) as file:
            file.attrs["format"] = "assay-golden"
            file.attrs["format_version"] = 1
            file.attrs["numerics_version"] = 0
            file.attrs["source"] = source
            groups = file.create_group("records", track_order=True)
            for record in records:
                group = groups.create_group(record.name, track_order=True)
                group.attrs["operation"] = record.operation
                if record.unsupported:
                    group.attrs["unsupported"] = record.unsupported
                    continue
                group.attrs["calls"] = json.dumps(record.calls)
                group.attrs["tolerance"] = record.tolerance()
                for kind in ("inputs", "expected"):
                    arrays = group.create_group(kind, track_order=True)
                    for name, array in getattr(record, kind).items():
                        arrays[name] = array
        seal(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
