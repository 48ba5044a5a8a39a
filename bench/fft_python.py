# SPDX-License-Identifier: MIT
"""Fourier transforms on the CPU device beside scipy's (pocketfft), in turns, results compared.

usage: fft_python.py BUILD [THREADS]      BUILD has libkudzu.so; one thread without THREADS

Both get a new result for each transform.  The time is the clock's.
"""
import ctypes
import os
import sys
import time

BUILD = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
os.environ["KUDZU_CPU_THREADS"] = str(THREADS)
os.environ["KUDZU_DEVICE"] = "cpu"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/numeric"))
sys.dont_write_bytecode = True

import numpy as np
import scipy
import scipy.fft

from numeric.library import Library
from numeric.operands import Draw
from report import report

ROUNDS, WARM = 15, 1

# Name, type, shape, axes, function.
ITEMS = [
    ("2^20", "complex64", (1 << 20,), [0], "fft"),
    ("(1024, 1024)", "complex64", (1024, 1024), [0, 1], "fft"),
    ("(128, 128, 128)", "complex64", (128, 128, 128), [0, 1, 2], "fft"),
    ("2^20", "complex128", (1 << 20,), [0], "fft"),
    ("rows of (1000, 1000)", "complex64", (1000, 1000), [1], "fft"),
    ("rows of (1000, 1000)", "complex128", (1000, 1000), [1], "fft"),
    ("rows of (8333, 120)", "complex64", (8333, 120), [1], "fft"),
    ("rows of (1371, 729)", "complex64", (1371, 729), [1], "fft"),
    ("rows of (1302, 768)", "complex64", (1302, 768), [1], "fft"),
    ("rows of (333, 3000)", "complex64", (333, 3000), [1], "fft"),
    ("rows of (33, 30030)", "complex64", (33, 30030), [1], "fft"),
    ("rows of (58823, 17), a prime", "complex64", (58823, 17), [1], "fft"),
    ("rows of (3984, 251), a prime", "complex64", (3984, 251), [1], "fft"),
    ("rows of (991, 1009), a prime", "complex64", (991, 1009), [1], "fft"),
    ("rows of (99, 10007), a prime", "complex64", (99, 10007), [1], "fft"),
    ("columns of (1000, 1000)", "complex64", (1000, 1000), [0], "fft"),
    ("1000003, a prime", "complex64", (1000003,), [0], "fft"),
    ("2^20", "float32", (1 << 20,), [0], "rfft"),
    ("rows of (1000, 1000)", "float32", (1000, 1000), [1], "rfft"),
    ("columns of (1000, 1000)", "float32", (1000, 1000), [0], "rfft"),
    ("columns of (1009, 991), a prime", "complex64", (1009, 991), [0], "fft"),
    ("2^20, type 2", "float32", (1 << 20,), [0], "dct"),
    ("rows of (1000, 1000), type 2", "float32", (1000, 1000), [1], "dct"),
    ("columns of (1000, 1000), type 2", "float32", (1000, 1000), [0], "dct"),
    ("rows of (58823, 17), type 2", "float32", (58823, 17), [1], "dct"),
    ("(1024, 1024), type 2", "float32", (1024, 1024), [0, 1], "dct"),
]


def measure(library, name, dtype, shape, axes, function):
    case = f"{function}: {name}, {dtype}, {THREADS} thread{'s' if THREADS > 1 else ''}"
    random = np.random.RandomState(1)
    host = random.standard_normal(shape) + (1j * random.standard_normal(shape) if dtype[0] == "c" else 0)
    host = host.astype(dtype)
    _, array = library.upload(Draw(1).lay(dtype, host, plain=1))
    ours, release = library.function("kz_" + function), library.function("kz_array_release")
    kind = [2] if function == "dct" else []
    kz_axes, out = library.shape("kz_axes", axes), ctypes.c_void_p()
    scipys = {"fft": scipy.fft.fftn, "rfft": scipy.fft.rfftn, "dct": scipy.fft.dctn}[function]

    def run_ours():
        library.ok(ours(ctypes.byref(out), array, *kind, kz_axes, None, library.err))
        library.ok(library.function("kz_device_synchronize")(library.device, library.err))

    run_ours()
    expected = scipys(host, axes=axes)
    error = np.linalg.norm(library.download(out).value - expected) / np.linalg.norm(expected)
    assert error < 1e-6, f"{case}: wrong by {error}"
    release(out)
    times, ratios = [], []
    end = time.perf_counter() + WARM  # the best code of a kernel is there after some launches
    while time.perf_counter() < end:
        run_ours()
        release(out)
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run_ours()
        middle = time.perf_counter()
        scipys(host, axes=axes, workers=THREADS)
        end = time.perf_counter()
        release(out)
        times.append((middle - start) * 1e3)
        ratios.append((middle - start) / (end - middle))
    report(case, "a call", "ms", times)
    report(case, f"over scipy {scipy.__version__}", "ratio", ratios)
    release(array)


LIBRARY = Library(BUILD, os.path.join(ROOT, "include"))
for item in ITEMS:
    measure(LIBRARY, *item)
