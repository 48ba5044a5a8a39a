# SPDX-License-Identifier: MIT
#
# Random numbers: those of the device beside Philox written here, those of the host beside numpy's
# RandomState and the rules of PyTorch.

import ctypes
import warnings

import numpy as np
from scipy import stats

from numeric.library import Handle, Result
from numeric.table import EPS, Row

MASK = np.uint64(0xffffffff)


# Philox4x32-10, from the paper (Salmon, Moraes, Dror and Shaw, SC11): the counter and the key are
# lists of words, least significant first.

def philox(offsets, seed, stream, attempt):
    """Four arrays of words: word i at each offset."""
    words = [offsets & MASK, offsets >> np.uint64(32), offsets * np.uint64(0) + np.uint64(stream),
             offsets * np.uint64(0) + np.uint64(attempt)]
    keys = [np.uint64(seed & 0xffffffff), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(b >> np.uint64(32)) ^ words[1] ^ keys[0], b & MASK,
                 (a >> np.uint64(32)) ^ words[3] ^ keys[1], a & MASK]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & MASK, (keys[1] + np.uint64(0xBB67AE85)) & MASK]
    return words


def bits(count, place, per, attempt=0):
    """The words of `count` numbers, of which an offset has `per`."""
    seed, stream, offset = place
    with np.errstate(over="ignore"):
        offsets = np.arange(-(-count // per), dtype=np.uint64) + np.uint64(offset)
        words = np.stack(philox(offsets, seed, stream, attempt), axis=-1)
    return words.reshape(-1, 4 // per)[:count]


def doubles(words):
    """The upper word first."""
    return (words[:, 0] << np.uint64(32)) | words[:, 1]


def upper_unit(count, dtype, place):
    """Numbers of (0, 1]."""
    if dtype == "float64":
        return ((doubles(bits(count, place, 2)) >> np.uint64(11)) + np.uint64(1)) * 2.0 ** -53
    # A word is rounded to 24 bits, which decides about numbers near 0.
    return (bits(count, place, 4)[:, 0].astype(np.float32) + np.float32(1)).astype(float) * 2.0 ** -32


def reference_uniform(dtype, shape, low, high, *place):
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "float64":
        unit = (doubles(bits(count, place, 2)) >> np.uint64(11)) * 2.0 ** -53
        return (low + (high - low) * unit).reshape(shape)
    digits = {"float16": 11, "float32": 24}[dtype]
    unit = ((bits(count, place, 4)[:, 0] >> np.uint64(32 - digits)) * 2.0 ** -digits).astype(np.float32)
    low, high = np.float32(low), np.float32(high)
    return (low + (high - low) * unit).reshape(shape).astype(dtype)


def reference_normal(dtype, shape, mean, deviation, *place):
    """Box and Muller: pairs of neighbours."""
    count = int(np.prod(shape, dtype=np.int64))
    even = count + count % 2
    radius = np.sqrt(-2 * np.log(upper_unit(even, dtype, place)[::2]))
    if dtype == "float64":
        turn = (doubles(bits(even, place, 2)) >> np.uint64(11))[1::2] * 2.0 ** -53
    else:
        turn = bits(even, place, 4)[1::2, 0].astype(np.float32).astype(float) * 2.0 ** -32
    angle = 2 * np.pi * turn
    values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)
    return (mean + deviation * values[:count]).reshape(shape).astype(dtype)


def reference_exponential(dtype, shape, mean, _, *place):
    count = int(np.prod(shape, dtype=np.int64))
    return (-mean * np.log(upper_unit(count, dtype, place))).reshape(shape).astype(dtype)


def reference_integers(dtype, shape, low, high, *place):
    """Lemire: the low half of the product decides whether a word is taken."""
    if high <= low:
        raise ValueError("low >= high")
    count, values, limit = int(np.prod(shape, dtype=np.int64)), [], (1 << 64) % (high - low)
    for i, word in enumerate(doubles(bits(count, place, 2))):
        product, attempt = int(word) * (high - low), 1 + i % 2
        while product % (1 << 64) < limit:
            here = (place[0], place[1], place[2] + i // 2)
            product = int(doubles(bits(1, here, 2, attempt))[0]) * (high - low)
            attempt += 2
        values.append(low + (product >> 64))
    return np.array(values, dtype).reshape(shape)


def ours_random(name, *constants):
    """A call with a generator of its own, of which the last three inputs are the place."""
    def ours(library, *inputs, **options):
        *inputs, seed, stream, offset = inputs
        rng = library.call("kz_random_create", seed, stream)[0]
        try:
            library.ok(library.function("kz_random_seek")(rng.address, offset, library.err))
            return library.call(name, rng, *(library.number(each) for each in constants), *inputs,
                                **options)
        finally:
            library.function("kz_random_release")(rng.address)
    return ours


def place(d):
    """A shape, then a seed, a stream and an offset."""
    shape = tuple(d.extent(20) for _ in range(d.integer(0, 3)))
    if d.chance(0.1):
        shape = (d.integer(4000, 9000),)
    seed = d.pick([0, 7, 2**32 + 5, 2**64 - 1, d.integer(0, 2**31)])
    stream = d.pick([0, 0, 1, 2**32 - 1])
    offset = d.pick([0, 0, 1, 2, 3, d.integer(0, 10**6), 2**32 - 2, 2**40 + 1])
    return shape, seed, stream, offset


def drawing(dtypes, parameters):
    def draw(d):
        shape, *where = place(d)
        return (d.pick(dtypes), shape, *d.pick(parameters), *where)
    return draw


def draw_integers(d):
    shape, *where = place(d)
    dtype = d.pick(["int64", "int32", "uint8", "int8", "uint32"])
    info = np.iinfo(dtype)
    low = d.pick([0, 1, 5] + ([-3] if info.min < 0 else []) + [int(info.min)])
    high = d.pick([low + 1, low + 6, int(info.max), low + 2**63 + 1 if dtype == "int64" and low < 0
                   else int(info.max)])
    high = min(high, int(info.max))
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        high = low
    return dtype, shape, low, high, *where


def normal_bound(case):
    # The angle has an error of half a unit in a turn; the radius is at most 9.
    dtype, _, mean, deviation = case.inputs[:4]
    return [16 * EPS[dtype] * max(deviation, abs(mean), 1e-300)]


def exponential_bound(case):
    return [4 * EPS[case.inputs[0]] * 40 * case.inputs[2]]


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


# Sobol sequences, beside scipy's.

def ours_sobol(library, shape, dtype, offset):
    options = library.headers.type("kz_random_options")()
    options.size = ctypes.sizeof(options)
    options.generator = library.number("KZ_GENERATOR_SOBOL")
    options.dimensions = shape[-1]
    rng = ctypes.c_void_p()
    library.ok(library.function("kz_random_create_with")(
        ctypes.byref(rng), library.device, ctypes.byref(options), library.err))
    try:
        library.ok(library.function("kz_random_seek")(rng, offset, library.err))
        return library.call("kz_random_draw", Handle(rng.value),
                            library.number("KZ_RANDOM_UNIFORM"), dtype, shape, 0.0, 1.0)
    finally:
        library.function("kz_random_release")(rng)


def reference_sobol(shape, dtype, offset):
    points = stats.qmc.Sobol(shape[-1], scramble=False, bits=32)
    if offset:  # scipy 1.10 refuses 0
        points.fast_forward(offset)
    with warnings.catch_warnings():  # of a number of points that is no power of 2
        warnings.simplefilter("ignore")
        values = points.random(shape[0])
    return (np.floor(values * 2.0 ** 24) * 2.0 ** -24 if dtype == "float32" else values).astype(dtype)


def draw_sobol(d):
    return ((d.integer(1, 40), d.pick([1, 2, 10, 511, 512, d.integer(1, 512)])),
            d.pick(["float32", "float64"]), d.pick([0, 1, d.integer(0, 5000)]))


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
    Row("random_uniform", drawing(["float16", "float32", "float64"], [(0.0, 1.0), (-3.0, 5.0)]),
        ours_random("kz_random_draw", "KZ_RANDOM_UNIFORM"), reference_uniform, into=True),
    Row("random_normal", drawing(["float32", "float64"], [(0.0, 1.0), (4.0, 0.5), (1.0, 0.0)]),
        ours_random("kz_random_draw", "KZ_RANDOM_NORMAL"), reference_normal, normal_bound,
        into=True),
    Row("random_exponential", drawing(["float32", "float64"], [(1.0, 0.0), (2.5, 0.0)]),
        ours_random("kz_random_draw", "KZ_RANDOM_EXPONENTIAL"), reference_exponential,
        exponential_bound, into=True),
    Row("random_integers", draw_integers, ours_random("kz_random_integers"), reference_integers,
        into=True),
    Row("sobol", draw_sobol, ours_sobol, reference_sobol, cases=40),
    Row("mt19937", draw_host, ours_host, reference_host, cases=150),
    Row("mt19937_torch_uniform", draw_torch, ours_torch, reference_torch, torch_bound, cases=60),
]
