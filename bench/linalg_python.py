# SPDX-License-Identifier: MIT
"""What numpy takes for the products and solvers of bench_matmul and bench_solve, by its own BLAS.

usage: linalg_python.py

Debian's numpy uses the same OpenBLAS.  The time is the clock's, on all threads that OpenBLAS takes.
"""
import json
import time

import numpy as np

ROUNDS = 11
BATCH_SECONDS = 4e-3


def batch(run, calls):
    """Microseconds of one call."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls * 1e6


def measure(case, run, rounds=ROUNDS):
    first = batch(run, 1) * 1e-6
    calls = max(1, int(BATCH_SECONDS / first))
    samples = sorted(batch(run, calls) for _ in range(rounds))
    print(json.dumps({
        "case": case, "what": f"numpy {np.__version__}", "unit": "us",
        "median": float(f"{samples[rounds // 2]:.6g}"), "low": float(f"{samples[rounds // 4]:.6g}"),
        "high": float(f"{samples[rounds - 1 - rounds // 4]:.6g}"), "rounds": rounds},
        separators=(",", ":")), flush=True)


def matrix(dtype, rows, columns):
    return np.random.RandomState(1).random_sample((rows, columns)).astype(dtype)


def product(dtype, m, k, n, rounds=ROUNDS):
    a, b = matrix(dtype, m, k), matrix(dtype, k, n)
    out = np.empty((m, n), dtype)
    measure(f"matmul: {dtype}, ({m}, {k}) by ({k}, {n})", lambda: np.matmul(a, b, out=out), rounds)


for name in ("float32", "float64"):
    for extent in (64, 256, 1024, 2048):
        product(name, extent, extent, extent)
for name in ("float32", "float64"):
    product(name, 2048, 2048, 1)
    product(name, 1, 2048, 2048)
product("float64", 5000, 5000, 5000, 1)

general = matrix("float64", 500, 500) + 500 * np.eye(500)
symmetric = general + general.T
right = matrix("float64", 500, 1)
measure("solve: inv, float64, 500", lambda: np.linalg.inv(general))
measure("solve: solve, float64, 500", lambda: np.linalg.solve(general, right))
measure("solve: svd, float64, 500", lambda: np.linalg.svd(general))
measure("solve: eigh, float64, 500", lambda: np.linalg.eigh(symmetric))
large = matrix("float64", 5000, 5000) + 5000 * np.eye(5000)
measure("solve: inv, float64, 5000", lambda: np.linalg.inv(large), 1)
