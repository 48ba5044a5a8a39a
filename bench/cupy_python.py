# SPDX-License-Identifier: MIT
"""Sorts, scans, counts and random numbers of 16 Mi elements on a GPU beside CuPy's, in turns in one
process.

usage: KUDZU_DEVICE=cuda:0 bench/cupy_python.py BUILD [CASE]    CASE is part of the name of a case

The library is called through ctypes, as in tests/numeric/check_numpy.  Results are compared first,
but for random numbers.  Both get a new result for each call, from their pools.  The time is the
clock's, from a call until the device has done its work; the goal is a ratio of 1.
"""
import ctypes
import os
import sys
import time

import cupy
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests/numeric"))
from numeric.library import DTYPES, Library  # noqa: E402
from report import report  # noqa: E402

COUNT, ROUNDS, BEFORE = 1 << 24, 15, 5
LIBRARY = Library(os.path.abspath(sys.argv[1]), os.path.join(ROOT, "include"))
WANTED = sys.argv[2] if len(sys.argv) > 2 else ""
AXIS = ctypes.c_int64(0)


def call(name, *arguments):
    LIBRARY.ok(LIBRARY.function(name)(*arguments, LIBRARY.err))


def upload(host):
    out = ctypes.c_void_p()
    call("kz_array_from", ctypes.byref(out), LIBRARY.device, DTYPES.index(host.dtype.name),
         LIBRARY.shape("kz_shape", host.shape), host.ctypes.data, host.nbytes)
    return out


def measure(case, theirs, function, *arguments, outs=1, compare=True):
    """`arguments` follow the places of `outs` results, of which the first is compared."""
    if WANTED not in case:
        return

    def ours():
        out = ctypes.c_void_p()
        call(function, ctypes.byref(out), *[None] * (outs - 1), *arguments)
        call("kz_device_synchronize", LIBRARY.device)
        return out

    def cupys():
        out = theirs()
        cupy.cuda.Device().synchronize()
        return out

    out = ours()
    if compare:
        expected = cupy.asnumpy(cupys())
        found = LIBRARY.download(out).value.reshape(expected.shape)
        close = np.array_equal if expected.dtype.kind in "iu" else np.allclose
        assert close(found, expected), case
    LIBRARY.function("kz_array_release")(out)
    times, ratios = [], []
    for turn in range(BEFORE + ROUNDS):
        start = time.perf_counter()
        out = ours()
        middle = time.perf_counter()
        cupys()
        end = time.perf_counter()
        LIBRARY.function("kz_array_release")(out)
        if turn >= BEFORE:
            times.append((middle - start) * 1e3)
            ratios.append((middle - start) / (end - middle))
    report(case + ", GPU", "kudzu", "ms", times)
    report(case + ", GPU", f"kudzu over cupy {cupy.__version__}", "ratio", ratios)


def measure_sorts(random):
    for dtype in ("uint32", "float64", "float32"):
        host = random.random_sample(COUNT).astype(dtype) if dtype[0] == "f" else \
            random.randint(0, 1 << 32, COUNT, dtype)
        array, here = upload(host), cupy.asarray(host)
        measure(f"sort {dtype}", lambda: cupy.sort(here), "kz_sort", array, AXIS, None)
    measure("argsort float32", lambda: cupy.argsort(here), "kz_argsort", array, AXIS, None,
            compare=False)
    middle = (ctypes.c_int64 * 1)(COUNT // 2)
    measure("partition float32", lambda: cupy.partition(here, COUNT // 2), "kz_partition", array,
            middle, ctypes.c_int64(1), AXIS, None, compare=False)
    for length in (1024, 1 << 16):
        rows = host.reshape(-1, length)
        those = cupy.asarray(rows)
        measure(f"sort rows of {length} float32", lambda: cupy.sort(those), "kz_sort",
                upload(rows), ctypes.c_int64(1), None)
    wide = host.astype(np.float64)
    those = cupy.asarray(wide)
    measure("cumsum float64", lambda: cupy.cumsum(those), "kz_cumsum", upload(wide), AXIS)
    few = random.randint(0, 1000000, COUNT, np.int32)
    some = cupy.asarray(few)
    measure("unique int32, a million", lambda: cupy.unique(some), "kz_unique", upload(few), None,
            outs=4)


def measure_counts(random):
    whole = random.randint(0, 256, COUNT)
    values = random.random_sample(COUNT).astype(np.float32)
    here, there = cupy.asarray(whole), cupy.asarray(values)
    measure("bincount into 256, int64", lambda: cupy.bincount(here), "kz_bincount", upload(whole),
            None)
    how = LIBRARY.headers.type("kz_histogram_options")()
    LIBRARY.function("kz_struct_init")(ctypes.byref(how), ctypes.sizeof(how),
                                       b"kz_histogram_options")
    how.bins, how.low, how.high = 256, 0.0, 1.0
    measure("histogram into 256, float32", lambda: cupy.histogram(there, 256, (0.0, 1.0))[0],
            "kz_histogram",
            upload(values), ctypes.byref(how), outs=2, compare=False)


def measure_random():
    rng = ctypes.c_void_p()
    call("kz_random_create", ctypes.byref(rng), LIBRARY.device, ctypes.c_uint64(1), 0)
    theirs = cupy.random.Generator(cupy.random.Philox4x3210(1))
    for number, name in enumerate(("random", "standard_normal")):
        measure(f"{name} float32", lambda: getattr(theirs, name)(COUNT, dtype=np.float32),
                "kz_random_draw",
                rng, number, DTYPES.index("float32"), LIBRARY.shape("kz_shape", (COUNT,)),
                ctypes.c_double(0), ctypes.c_double(1), None, compare=False)
    LIBRARY.function("kz_random_release")(rng)


def main():
    random = np.random.RandomState(1)
    measure_sorts(random)
    measure_counts(random)
    measure_random()


main()
