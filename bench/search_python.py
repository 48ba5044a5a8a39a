# SPDX-License-Identifier: MIT
"""kz_searchsorted, kz_digitize, kz_histogram and kz_bincount of 16 Mi elements beside numpy, in turns.

usage: KUDZU_CPU_THREADS=1 bench/search_python.py [BUILD]

The library is called through ctypes, as in tests/math/check_numpy.  A line has the best times of both in
milliseconds, and their ratio.
"""
import ctypes
import os
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests/math"))
from numeric.library import DTYPES, Library

COUNT, ROUNDS = 1 << 24, 5
LIBRARY = Library(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/release", ROOT + "/include")


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


def measure(name, function, arguments, theirs):
    def ours():
        out = ctypes.c_void_p()
        LIBRARY.ok(LIBRARY.function(function)(ctypes.byref(out), *arguments, LIBRARY.err))
        LIBRARY.ok(LIBRARY.function("kz_device_synchronize")(LIBRARY.device, LIBRARY.err))
        LIBRARY.function("kz_array_release")(out)

    ours()
    times = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    a, b = (1e3 * min(column) for column in zip(*times))
    print(f"{name:44} {a:9.2f} {b:9.2f} {a / b:6.3f}", flush=True)


def main():
    random = np.random.RandomState(1)
    print(f"{'ms':44} {'kudzu':>9} {'numpy':>9}  ratio")
    for dtype in ("int64", "int32", "uint8"):
        whole = random.randint(0, 256, COUNT).astype(dtype)
        measure(f"bincount into 256, {dtype}", "kz_bincount", (upload(whole), None),
                lambda: np.bincount(whole))
    whole = random.randint(0, 256, COUNT)
    weights = random.random_sample(COUNT)
    how = options("kz_bincount_options", weights=upload(weights))
    measure("bincount into 256, int64, with weights", "kz_bincount",
            (upload(whole), ctypes.byref(how)), lambda: np.bincount(whole, weights))
    values = random.random_sample(COUNT).astype(np.float32)
    here = upload(values)
    how = options("kz_histogram_options", bins=256, low=0.0, high=1.0)
    measure("histogram into 256, float32; numpy bincount", "kz_histogram",
            (None, here, ctypes.byref(how)), lambda: np.bincount(whole))
    edges = np.linspace(0, 1, 257).astype(np.float32) ** 2
    how = options("kz_histogram_options", edges=upload(edges))
    measure("histogram between 257 edges, float32", "kz_histogram", (None, here, ctypes.byref(how)),
            lambda: np.histogram(values, edges))
    measure("digitize by 257 edges, float32", "kz_digitize", (here, upload(edges), None),
            lambda: np.digitize(values, edges))
    for needles, name in ((values, "random"), (np.sort(values), "sorted")):
        for length in (1 << 10, 1 << 20, 1 << 24):
            table = np.sort(random.random_sample(length).astype(np.float32))
            measure(f"searchsorted of {name} float32 in {length}", "kz_searchsorted",
                    (upload(table), upload(needles), None), lambda: np.searchsorted(table, needles))


main()
