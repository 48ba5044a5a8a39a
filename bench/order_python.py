# SPDX-License-Identifier: MIT
"""Sorts, searches, counts and random numbers of 16 Mi elements beside numpy's, in turns in one
process.

usage: KUDZU_CPU_THREADS=1 bench/order_python.py BUILD [CASE]    CASE is part of the name of a case

The library is called through ctypes, as in tests/numeric/check_numpy.  Results are compared first,
but for random numbers.  numpy computes these on one thread.  The time is the clock's.
"""
import ctypes
import os
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests/numeric"))
from numeric.library import DTYPES, Library
from report import report

COUNT, ROUNDS = 1 << 24, 7
LIBRARY = Library(sys.argv[1], os.path.join(ROOT, "include"))
WANTED = sys.argv[2] if len(sys.argv) > 2 else ""
THREADS = os.environ.get("KUDZU_CPU_THREADS", str(os.cpu_count()))


def upload(host):
    out = ctypes.c_void_p()
    LIBRARY.ok(LIBRARY.function("kz_array_from")(
        ctypes.byref(out), LIBRARY.device, DTYPES.index(host.dtype.name),
        LIBRARY.shape("kz_shape", host.shape), host.ctypes.data, host.nbytes, LIBRARY.err))
    return out


def options(name, **values):
    struct = LIBRARY.headers.type(name)()
    LIBRARY.function("kz_struct_init")(ctypes.byref(struct), ctypes.sizeof(struct), name.encode())
    for key, value in values.items():
        setattr(struct, key, value)
    return struct


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def measure(name, function, arguments, theirs, outs=1, compare=True):
    """`arguments` follow the places of `outs` results, of which the first is compared."""
    case = f"{name}, {THREADS} thread{'s' if THREADS != '1' else ''}"
    if WANTED not in case:
        return

    def ours():
        out = ctypes.c_void_p()
        LIBRARY.ok(LIBRARY.function(function)(ctypes.byref(out), *[None] * (outs - 1), *arguments,
                                              LIBRARY.err))
        LIBRARY.ok(LIBRARY.function("kz_device_synchronize")(LIBRARY.device, LIBRARY.err))
        return out

    def release(out):
        LIBRARY.function("kz_array_release")(out)

    first = ours()
    if compare:
        expected = np.asarray(theirs())
        assert np.array_equal(LIBRARY.download(first).value.reshape(expected.shape), expected), case
    release(first)
    times, ratios = [], []
    for turn in range(ROUNDS + 3):  # the best code of a kernel is there after some launches
        begin = time.perf_counter()
        out = ours()
        mine = time.perf_counter() - begin
        release(out)
        begin = time.perf_counter()
        theirs()
        if turn >= 3:
            times.append(1e3 * mine)
            ratios.append(mine / (time.perf_counter() - begin))
    report(case, "kudzu", "ms", times)
    report(case, "kudzu over numpy", "ratio", ratios)


def measure_sorts(random):
    axis = ctypes.c_int64(0)
    for dtype in ("uint32", "float64", "float32"):
        host = random.random_sample(COUNT).astype(dtype) if dtype[0] == "f" else \
            random.randint(0, 1 << 32, COUNT, dtype)
        array = upload(host)
        measure(f"sort {dtype}", "kz_sort", (array, axis, None), lambda: np.sort(host))
    measure("argsort float32", "kz_argsort", (array, axis, None),
            lambda: np.argsort(host, kind="stable"))
    few = random.randint(0, 1000000, COUNT, np.int32)
    measure("unique int32, a million", "kz_unique", (upload(few), None), lambda: np.unique(few),
            outs=4)
    measure("the greatest 100 of float32", "kz_topk",
            (array, ctypes.c_int64(100), axis, 1, None),
            lambda: np.sort(np.partition(host, COUNT - 100)[-100:])[::-1], outs=2)
    measure("median float32", "kz_quantile",
            (array, ctypes.c_double(0.5), LIBRARY.shape("kz_axes", [0]), 0, None),
            lambda: np.median(host))
    rows = host.reshape(-1, 1 << 15)
    matrix = upload(rows)
    measure("the greatest 100 of rows of 32768 float32", "kz_topk",
            (matrix, ctypes.c_int64(100), ctypes.c_int64(1), 1, None),
            lambda: np.sort(np.partition(rows, -100)[:, -100:])[:, ::-1], outs=2)
    measure("medians of rows of 32768 float32", "kz_quantile",
            (matrix, ctypes.c_double(0.5), LIBRARY.shape("kz_axes", [1]), 0, None),
            lambda: np.median(rows, 1))
    for name, place in (("the middle", COUNT // 2), ("100", 100)):
        kth = ctypes.c_int64(place)
        for function in ("partition", "argpartition"):
            measure(f"{function} of float32 by {name}", f"kz_{function}",
                    (array, ctypes.byref(kth), ctypes.c_int64(1), axis, None),
                    lambda: getattr(np, function)(host, place), compare=False)


def measure_random():
    rng = ctypes.c_void_p()
    LIBRARY.ok(LIBRARY.function("kz_random_create")(ctypes.byref(rng), LIBRARY.device,
                                                    ctypes.c_uint64(1), 0,
                                                    LIBRARY.err))
    numpys = np.random.Generator(np.random.Philox(1))
    for number, (name, theirs) in enumerate((("uniform", numpys.random),
                                             ("normal", numpys.standard_normal))):
        measure(f"{name} float32", "kz_random_draw",
                (rng, number, DTYPES.index("float32"), LIBRARY.shape("kz_shape", (COUNT,)),
                 ctypes.c_double(0), ctypes.c_double(1), None),
                lambda: theirs(COUNT, np.float32), compare=False)
    LIBRARY.function("kz_random_release")(rng)


def measure_counts(random):
    for dtype in ("int64", "int32", "uint8"):
        whole = random.randint(0, 256, COUNT).astype(dtype)
        measure(f"bincount into 256, {dtype}", "kz_bincount", (upload(whole), None),
                lambda: np.bincount(whole))
    whole = random.randint(0, 256, COUNT)
    weights = random.random_sample(COUNT)
    how = options("kz_bincount_options", weights=upload(weights))
    measure("bincount into 256, int64, with weights", "kz_bincount",
            (upload(whole), ctypes.byref(how)), lambda: np.bincount(whole, weights), compare=False)
    values = random.random_sample(COUNT).astype(np.float32)
    here = upload(values)
    how = options("kz_histogram_options", bins=256, low=0.0, high=1.0)
    measure("histogram into 256, float32; numpy bincount", "kz_histogram",
            (here, ctypes.byref(how)), lambda: np.bincount(whole), outs=2, compare=False)
    edges = np.linspace(0, 1, 257).astype(np.float32) ** 2
    how = options("kz_histogram_options", edges=upload(edges))
    measure("histogram between 257 edges, float32", "kz_histogram", (here, ctypes.byref(how)),
            lambda: np.histogram(values, edges)[0], outs=2)
    measure("digitize by 257 edges, float32", "kz_digitize", (here, upload(edges), None),
            lambda: np.digitize(values, edges))
    for needles, name in ((values, "random"), (np.sort(values), "sorted")):
        for length in (1 << 10, 1 << 20, 1 << 24):
            table = np.sort(random.random_sample(length).astype(np.float32))
            measure(f"searchsorted of {name} float32 in {length}", "kz_searchsorted",
                    (upload(table), upload(needles), None), lambda: np.searchsorted(table, needles))


def main():
    random = np.random.RandomState(1)
    measure_sorts(random)
    measure_random()
    measure_counts(random)


main()
