# The numbers of Assay in NumPy, for programs that have nothing else of it: random streams (N6) and digests (N9).
"""Written from reference/numerics.md alone; tests/command/foreign.py holds it against runs of the command."""

import hashlib

import numpy as np

u64 = np.uint64
LOW = u64(0xFFFFFFFF)
QUIET = {np.dtype("<f4"): 0x7FC00000, np.dtype("<f8"): 0x7FF8000000000000}  # every NaN counts as this one


def digest(values):
    """N9 of an array: Σ mix(2³²·i + wordᵢ + …) modulo 2⁶⁴; bytes and 32-bit elements are one word, 64-bit ones two.

    digest(np.float32([1, 2])) is what a run holds of a tensor [2] with these values.
    """
    values = np.ascontiguousarray(values).reshape(-1)
    if values.dtype in QUIET:
        bits = values.view(f"<u{values.itemsize}")
        values = np.where(np.isnan(values), bits.dtype.type(QUIET[values.dtype]), bits)
    elif values.dtype.kind not in "iu" or values.itemsize == 2:
        raise TypeError(f"N9 has no digest of {values.dtype}")
    words = values if values.itemsize == 1 else values.view("<u4")
    z = (np.arange(words.size, dtype=u64) << u64(32)) + words.astype(u64) + u64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
    return int(np.sum(z ^ (z >> u64(31)), dtype=u64))


def digest_of_set(tensors):
    """SHA-256 (N9) of a list of (name, array)."""
    number = lambda value: int(value).to_bytes(8, "little")
    sha = hashlib.sha256()
    for name, array in tensors:
        for text in (name.encode(), str(array.dtype).encode()):
            sha.update(number(len(text)) + text)
        sha.update(b"".join(map(number, (array.ndim, *array.shape, digest(array)))))
    return sha.hexdigest()


def stream_key(seed, name):
    """FNV-1a-64 over the seed and the name."""
    value = 0xCBF29CE484222325
    for byte in seed.to_bytes(8, "little") + name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def random_blocks(key, count, draw):
    """Words [count, 4] of blocks 0 … of one draw: Philox4x32-10."""
    index = np.arange(count, dtype=u64)
    c = [index & LOW, index >> u64(32), np.full(count, draw % 2**32, u64), np.full(count, draw >> 32, u64)]
    low, high = key % 2**32, key >> 32
    for _ in range(10):
        a, b = c[0] * u64(0xD2511F53), c[2] * u64(0xCD9E8D57)
        c = [(b >> u64(32)) ^ c[1] ^ u64(low), b & LOW, (a >> u64(32)) ^ c[3] ^ u64(high), a & LOW]
        low, high = (low + 0x9E3779B9) % 2**32, (high + 0xBB67AE85) % 2**32
    return np.stack(c, axis=1)


def uniform(key, count, draw=0):
    """float32 [count] from [0, 1)."""
    words = random_blocks(key, (count + 3) // 4, draw).reshape(-1)[:count]
    return (words >> u64(8)).astype(np.float32) * np.float32(2.0**-24)


def normal(key, count, draw=0):
    """float32 [count]. log and cos are rounded from binary64, which is the correct rounding but for about one number in
    2²⁸; so far no other one was met."""
    words = (random_blocks(key, (count + 1) // 2, draw).reshape(-1, 2)[:count] >> u64(8)).astype(np.float64)
    log = np.log((words[:, 0] + 1) * 2.0**-24).astype(np.float32)
    angle = np.float32(float.fromhex("0x1.921fb6p+2")) * (words[:, 1] * 2.0**-24).astype(np.float32)
    return np.sqrt(np.float32(-2) * log) * np.cos(angle.astype(np.float64)).astype(np.float32)


def he_normal(shape, key):
    """float32 [out, in], variance 2/in."""
    out, fan_in = shape
    return (normal(key, out * fan_in) * np.float32(np.sqrt(2 / fan_in))).reshape(shape)


def shuffled(count, key, draw):
    """0 … count − 1 in the order of N6's shuffle; count below 2³²."""
    words, limit = random_blocks(key, count, draw), np.arange(1, count + 1, dtype=u64)
    targets = ((words[:, 1] * limit + (words[:, 0] * limit >> u64(32))) >> u64(32)).tolist()
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = targets[i]
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)
