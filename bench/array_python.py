# SPDX-License-Identifier: MIT
"""What Python takes for the operations of bench_array: its lines beside ours.

usage: array_python.py numpy        on one thread, in the time of the processor
       array_python.py cupy         on a GPU, and what the host does for a launch, a compile, an array

Elementwise operations go into results that are there already.
"""
import importlib
import json
import sys
import time

MODULE = sys.argv[1]
IS_GPU = MODULE == "cupy"
np = importlib.import_module(MODULE)

ROUNDS = 15
BATCH_SECONDS = 4e-3
COUNTS = [1 << 20, 1 << 24, 1 << 26, 1 << 28] if IS_GPU else [1 << 16, 1 << 20, 1 << 24]

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
    """The largest square that it holds."""
    side = int(array.size**0.5)
    return array[:side * side].reshape(side, side)


def settle():
    """All that was asked for is done."""
    if IS_GPU:
        np.cuda.Device().synchronize()


def batch(run, operands, calls):
    """Microseconds of one call, after one that is not measured."""
    clock = time.perf_counter if IS_GPU else time.process_time
    run(*operands)
    settle()
    start = clock()
    for _ in range(calls):
        run(*operands)
    settle()
    return (clock() - start) / calls * 1e6


def report(case, samples):
    samples.sort()
    print(json.dumps({
        "case": case, "what": f"{MODULE} {np.__version__}" + ("" if IS_GPU else ", 1 thread"),
        "unit": "us", "median": float(f"{samples[ROUNDS // 2]:.6g}"),
        "low": float(f"{samples[3]:.6g}"), "high": float(f"{samples[ROUNDS - 4]:.6g}"),
        "rounds": ROUNDS}, separators=(",", ":")), flush=True)


def measure(case, run, operands):
    first = batch(run, operands, 3) * 1e-6
    calls = 1 if first >= BATCH_SECONDS else int(BATCH_SECONDS / max(first, 1e-7)) + 1
    report(case, [batch(run, operands, calls) for _ in range(ROUNDS)])


def measure_item(name, types, run, count):
    values = (1 + np.arange(count) * 37 % 1000 / 1000).astype("f4").astype(types[0])
    measure(f"array: {name}, {count}", run, (values, values.copy(), np.zeros(count, types[1])))


SIX = """extern "C" __global__ void six%d(float a, const float *x, float *y, int n, long long step, double b)
{
    y[threadIdx.x] = a * x[threadIdx.x] + (float)b + %d;
}
"""


def compile_one(numbers=iter(range(1 << 20))):
    """A kernel that nobody has seen."""
    number = next(numbers)
    np.RawKernel(SIX % (number, number), f"six{number}").compile()


def measure_host():
    """What bench_array, bench_launch, bench_compile and bench_pool measure of ours."""
    import numpy

    a = np.arange(16, dtype="f4")
    out = np.empty(16, "f4")
    kernel = np.RawKernel(SIX % (0, 0), "six0")
    args = (numpy.float32(2), a, out, numpy.int32(16), numpy.int64(1), numpy.float64(0.5))
    measure("launch", lambda: kernel((1,), (16,), args), ())
    measure("array: a + b, float32, 16", lambda: np.add(a, a, out=out), ())
    measure("array: 2 * a to a new array, float32, 16", lambda: 2 * a, ())
    measure("array: sum(a) to the host, float32, 16", lambda: float(np.sum(a)), ())
    measure("pool", lambda: np.empty(1024, "f4"), ())
    measure("compile saxpy", compile_one, ())


if IS_GPU:
    measure_host()
for item in ITEMS:
    for size in COUNTS:
        measure_item(item[0], item[1:3], item[3], size)
