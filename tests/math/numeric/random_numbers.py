# SPDX-License-Identifier: MIT
#
# Random numbers: those of the device beside Philox written here, those of the host beside numpy's
# RandomState and the rules of PyTorch.

import ctypes

import numpy as np

from numeric.library import Result
from numeric.table import EPS, Row

MASK = np.uint64(0xffffffff)


# Philox4x32-10, from the paper (Salmon, Moraes, Dror and Shaw, SC11): the counter and the key are
# lists of words, least significant first.

def philox(counters, seed):
    """Four arrays of words: word i of each counter."""
    words = [counters & MASK, counters >> np.uint64(32), counters * np.uint64(0),
             counters * np.uint64(0)]
    keys = [np.uint64(seed & 0xffffffff), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(b >> np.uint64(32)) ^ words[1] ^ keys[0], b & MASK,
                 (a >> np.uint64(32)) ^ words[3] ^ keys[1], a & MASK]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & MASK, (keys[1] + np.uint64(0xBB67AE85)) & MASK]
    return words


def bits(shape, seed, offset, per):
    """The words of `per` numbers of each counter, for positions from offset on."""
    count = int(np.prod(shape, dtype=np.int64))
    first = offset // per
    last = (offset + max(count, 1) - 1) // per
    counters = np.arange(last - first + 1, dtype=np.uint64) + np.uint64(first)
    with np.errstate(over="ignore"):
        words = np.stack(philox(counters, seed), axis=-1).reshape(-1, 4 // per)
    return words[offset - first * per:][:count]


def doubles(words):
    """The upper word first."""
    return (words[:, 0] << np.uint64(32)) | words[:, 1]


def reference_uniform(dtype, shape, seed, offset):
    if dtype == "float32":
        values = (bits(shape, seed, offset, 4)[:, 0] >> np.uint64(8)).astype(np.float32) \
            * np.float32(2.0 ** -24)
    else:
        values = (doubles(bits(shape, seed, offset, 2)) >> np.uint64(11)) * 2.0 ** -53
    return values.reshape(shape).astype(dtype)


def reference_normal(dtype, shape, seed, offset):
    """Box and Muller; the pair begins at an even position."""
    count = int(np.prod(shape, dtype=np.int64))
    start = offset - offset % 2
    pairs = count + offset - start
    if dtype == "float32":
        # Words are rounded to 24 bits, which decides about radii near 0.
        words = bits((pairs + pairs % 2,), seed, start, 4)[:, 0].astype(np.float32).reshape(-1, 2)
        words[:, 0] += np.float32(1)
        radius, turn = (words.astype(float) * 2.0 ** -32).T
    else:
        words = doubles(bits((pairs + pairs % 2,), seed, start, 2)).reshape(-1, 2)
        radius = ((words[:, 0] >> np.uint64(11)) + np.uint64(1)) * 2.0 ** -53
        turn = (words[:, 1] >> np.uint64(11)) * 2.0 ** -53
    radius = np.sqrt(-2 * np.log(radius))
    angle = 2 * np.pi * turn
    values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)
    return values[offset - start:][:count].reshape(shape).astype(dtype)


def reference_integers(dtype, shape, low, high, seed, offset):
    words = doubles(bits(shape, seed, offset, 2))
    values = [low + (int(word) * (high - low) >> 64) for word in words]
    return np.array(values, dtype).reshape(shape)


def place(d):
    """A shape, a seed and an offset."""
    shape = tuple(d.extent(20) for _ in range(d.integer(0, 3)))
    if d.chance(0.1):
        shape = (d.integer(4000, 9000),)
    seed = d.pick([0, 7, 2**32 + 5, 2**64 - 1, d.integer(0, 2**31)])
    offset = d.pick([0, 0, 1, 2, 3, d.integer(0, 10**6), 2**32 - 2, 2**40 + 1])
    return shape, seed, offset


def draw_floats(d):
    shape, seed, offset = place(d)
    return d.pick(["float32", "float64"]), shape, seed, offset


def draw_integers(d):
    shape, seed, offset = place(d)
    dtype = d.pick(["int64", "int32", "uint8", "int8", "uint32"])
    info = np.iinfo(dtype)
    low = d.pick([0, 1, 5] + ([-3] if info.min < 0 else []) + [int(info.min)])
    high = d.pick([low + 1, low + 6, int(info.max)])
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        high = low
    return dtype, shape, low, high, seed, offset


def reference_integers_checked(dtype, shape, low, high, seed, offset):
    if high <= low:
        raise ValueError("low >= high")
    return reference_integers(dtype, shape, low, high, seed, offset)


def normal_bound(case):
    # The angle has an error of half a unit in a turn; the radius is at most 9.
    return [16 * EPS[case.inputs[0]]]


# MT19937.  RandomState(seed) draws one kind of numbers after another from one generator.

def generator(library, seed):
    rng = library.headers.type("kz_mt19937")()
    library.function("kz_mt19937_init")(ctypes.byref(rng), seed)
    return ctypes.byref(rng)


def ours_host(library, seed, steps):
    rng, out = generator(library, seed), []
    for step, *rest in steps:
        count = rest[0]
        if step == "words":
            values = np.array([library.function("kz_mt19937_next")(rng) for _ in range(count)],
                              np.uint32)
        elif step in ("double", "normal"):
            values = np.array([library.function("kz_mt19937_" + step)(rng) for _ in range(count)])
        elif step == "integers":
            values = np.zeros(count, np.int64)
            library.ok(library.function("kz_mt19937_integers")(
                values.ctypes.data, rng, count, rest[1], rest[2], library.err))
        elif step == "permutation":
            values = np.zeros(count, np.int64)
            library.function("kz_mt19937_permutation")(values.ctypes.data, rng, count)
        else:
            values = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
            library.function("kz_mt19937_shuffle")(values.ctypes.data, rng, count, 12)
        out.append(values)
    return [Result(each, each.dtype.name) for each in out]


def reference_host(seed, steps):
    rng, out = np.random.RandomState(seed), []
    for step, *rest in steps:
        count = rest[0]
        if step == "words":
            values = rng.randint(0, 2**32, count, np.uint32)
        elif step == "double":
            values = rng.random_sample(count)
        elif step == "normal":
            values = rng.standard_normal(count)
        elif step == "integers":
            values = rng.randint(rest[1], rest[2], count, np.int64)
        elif step == "permutation":
            values = rng.permutation(count)
        else:
            values = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
            rng.shuffle(values)
        out.append(values)
    return tuple(out)


def draw_host(d):
    steps = []
    for _ in range(d.integer(1, 5)):
        kind = d.pick(["words", "double", "normal", "integers", "permutation", "shuffle"])
        step = [kind, d.integer(0, 700) if d.chance(0.2) else d.integer(0, 20)]
        if kind == "integers":
            low = d.pick([0, -5, -2**63, 2**40])
            step += [low, low + d.pick([1, 2, 150, 2**31, 2**32, 2**32 + 1, 2**50])]
        steps.append(tuple(step))
    return d.pick([0, 33, 2**32 - 1, d.integer(0, 2**31 - 1)]), steps


# torch.rand and Tensor.uniform_, from the words of the same generator.

def ours_torch(library, seed, dtype, count, low, high):
    values = np.zeros(count, dtype)
    library.function("kz_mt19937_torch_uniform_f" + dtype[-2:])(
        values.ctypes.data, generator(library, seed), count, low, high)
    return [Result(values, dtype)]


def reference_torch(seed, dtype, count, low, high):
    rng = np.random.RandomState(seed)
    if dtype == "float32":
        unit = (rng.randint(0, 2**32, count, np.uint32) & 0xffffff) * 2.0 ** -24
        low, high = np.float32(low), np.float32(high)
        # x (high - low) + low rounded once: the product has 48 bits, and float64 holds 53.
        return (unit * float(high - low) + float(low)).astype(np.float32)
    words = rng.randint(0, 2**32, (count, 2), np.uint32).astype(np.uint64)
    unit = (((words[:, 0] << np.uint64(32)) | words[:, 1]) & np.uint64(2**53 - 1)) * 2.0 ** -53
    return unit * (high - low) + low


def torch_bound(case):
    return [EPS[case.inputs[1]] * (abs(case.inputs[3]) + abs(case.inputs[4]))]


def draw_torch(d):
    low, high = d.pick([(0.0, 1.0), (-0.5, 0.5), (-0.1, 0.1), (3.0, 10.0)])
    return d.integer(0, 2**31 - 1), d.pick(["float32", "float64"]), d.integer(0, 400), low, high


ROWS = [
    Row("random_uniform", draw_floats, "kz_random_uniform", reference_uniform, into=True),
    Row("random_normal", draw_floats, "kz_random_normal", reference_normal, normal_bound,
        into=True),
    Row("random_integers", draw_integers, "kz_random_integers", reference_integers_checked,
        into=True),
    Row("mt19937", draw_host, ours_host, reference_host, cases=150),
    Row("mt19937_torch_uniform", draw_torch, ours_torch, reference_torch, torch_bound, cases=60),
]
