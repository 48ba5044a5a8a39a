# SPDX-License-Identifier: MIT
"""What numpy takes for the operations of bench_array, on one thread: its lines beside ours.

Into results that are there already; the time is that of the processor.
"""
import json
import time

import numpy as np

ROUNDS = 15
BATCH_SECONDS = 4e-3
COUNTS = [1 << 16, 1 << 20, 1 << 24]

# Name, types of the operands and the result, operation.
ITEMS = [
    ("a + b, float32", "f4", "f4", lambda a, b, out: np.add(a, b, out=out)),
    ("a + b, float64", "f8", "f8", lambda a, b, out: np.add(a, b, out=out)),
    ("a + b, float16", "f2", "f2", lambda a, b, out: np.add(a, b, out=out)),
    ("a + b, int8", "i1", "i1", lambda a, b, out: np.add(a, b, out=out)),
    ("a + b, int32", "i4", "i4", lambda a, b, out: np.add(a, b, out=out)),
    ("a * b, complex64", "c8", "c8", lambda a, b, out: np.multiply(a, b, out=out)),
    ("2 * a, float32", "f4", "f4", lambda a, b, out: np.multiply(2, a, out=out)),
    ("a / b, float32", "f4", "f4", lambda a, b, out: np.divide(a, b, out=out)),
    ("a < b, float32", "f4", "?", lambda a, b, out: np.less(a, b, out=out)),
    ("sqrt(a), float64", "f8", "f8", lambda a, b, out: np.sqrt(a, out=out)),
    ("exp(a), float32", "f4", "f4", lambda a, b, out: np.exp(a, out=out)),
    ("sin(a), float32", "f4", "f4", lambda a, b, out: np.sin(a, out=out)),
    ("sin(a), float64", "f8", "f8", lambda a, b, out: np.sin(a, out=out)),
    ("a ** b, float32", "f4", "f4", lambda a, b, out: np.power(a, b, out=out)),
    ("float32 to float64", "f4", "f8", lambda a, b, out: np.copyto(out, a)),
    ("copy, float32", "f4", "f4", lambda a, b, out: np.copyto(out, a)),
    ("transpose, float32", "f4", "f4", lambda a, b, out: np.copyto(square(out), square(a).T)),
    ("sum(a), float32", "f4", "f4", lambda a, b, out: np.sum(a)),
    ("sum(a), float64", "f8", "f8", lambda a, b, out: np.sum(a)),
    ("sum(a), int32", "i4", "i8", lambda a, b, out: np.sum(a)),
    ("max(a), float32", "f4", "f4", lambda a, b, out: np.max(a)),
    ("dot(a, b), float32", "f4", "f4", lambda a, b, out: np.dot(a, b)),
    ("sums of rows, float32", "f4", "f4", lambda a, b, out: np.sum(square(a), axis=1)),
    ("sums of columns, float32", "f4", "f4", lambda a, b, out: np.sum(square(a), axis=0)),
]


def square(array):
    side = int(array.size**0.5)
    return array.reshape(side, side)


def batch(run, operands, calls):
    """Microseconds of one call, after one that is not measured."""
    run(*operands)
    start = time.process_time()
    for _ in range(calls):
        run(*operands)
    return (time.process_time() - start) / calls * 1e6


def measure(name, types, run, count):
    values = (1 + np.arange(count) * 37 % 1000 / 1000).astype("f4").astype(types[0])
    operands = (values, values.copy(), np.zeros(count, types[1]))
    first = batch(run, operands, 3) * 1e-6
    calls = 1 if first >= BATCH_SECONDS else int(BATCH_SECONDS / max(first, 1e-7)) + 1
    samples = sorted(batch(run, operands, calls) for _ in range(ROUNDS))
    print(json.dumps({
        "case": f"array: {name}, {count}", "what": f"numpy {np.__version__}, 1 thread",
        "unit": "us", "median": float(f"{samples[ROUNDS // 2]:.6g}"),
        "low": float(f"{samples[3]:.6g}"), "high": float(f"{samples[ROUNDS - 4]:.6g}"),
        "rounds": ROUNDS}, separators=(",", ":")), flush=True)


for item in ITEMS:
    for size in COUNTS:
        measure(item[0], item[1:3], item[3], size)
