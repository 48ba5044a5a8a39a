# SPDX-License-Identifier: MIT
"""The peers of bench_numpy: NumPy, numexpr and JAX, on as many threads as the argument says.

Orders are lines with tabs: "case NAME COUNT" makes the operands and answers the result's sum with
weights; "time PEER CALLS" answers the seconds of one call, or "none".
"""
import os
import sys
import time

THREADS = sys.argv[1] if len(sys.argv) > 1 else "1"
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = THREADS
if THREADS == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np

try:
    import numexpr
except ImportError:
    numexpr = None
try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

TYPES = {"float16": "f2", "float32": "f4", "float64": "f8", "int32": "i4", "int64": "i8",
         "int8": "i1", "uint8": "u1", "bool_": "?"}
SQUARES = ("take rows", "take columns", "matrix times vector", "argmax of rows",
           "argmin of columns", "flip rows", "flip columns", "std of rows", "std of columns",
           "sum of rows", "sum of columns", "max of rows", "min of columns", "any of columns",
           "outer", "transpose", "mean of rows")
CUBES = ("transpose (2, 0, 1)",)

# Name: with numpy, which is np or jnp; operands a, b, i.  Those of numpy's ufuncs have their result
# there already.
NEW = {
    "take": lambda np, a, b, i: np.take(a, i),
    "take rows": lambda np, a, b, i: np.take(a, i, axis=0),
    "take columns": lambda np, a, b, i: np.take(a, i, axis=1),
    "matrix times vector": lambda np, a, b, i: np.matmul(a, b),
    "argmax": lambda np, a, b, i: np.argmax(a),
    "argmax of rows": lambda np, a, b, i: np.argmax(a, axis=1),
    "argmin of columns": lambda np, a, b, i: np.argmin(a, axis=0),
    "std of all": lambda np, a, b, i: np.std(a),
    "std of rows": lambda np, a, b, i: np.std(a, axis=1),
    "std of columns": lambda np, a, b, i: np.std(a, axis=0),
    "sum": lambda np, a, b, i: np.sum(a),
    "sum of rows": lambda np, a, b, i: np.sum(a, axis=1),
    "sum of columns": lambda np, a, b, i: np.sum(a, axis=0),
    "mean": lambda np, a, b, i: np.mean(a),
    "mean of rows": lambda np, a, b, i: np.mean(a, axis=1),
    "max": lambda np, a, b, i: np.max(a),
    "max of rows": lambda np, a, b, i: np.max(a, axis=1),
    "min of columns": lambda np, a, b, i: np.min(a, axis=0),
    "var": lambda np, a, b, i: np.var(a),
    "count_nonzero": lambda np, a, b, i: np.count_nonzero(a),
    "all": lambda np, a, b, i: np.all(a),
    "any of columns": lambda np, a, b, i: np.any(a, axis=0),
    "nanmin": lambda np, a, b, i: np.nanmin(a),
    "where": lambda np, a, b, i: np.where(b, a, a.dtype.type(7)),
    "concatenate": lambda np, a, b, i: np.concatenate((a, b)),
    "tile": lambda np, a, b, i: np.tile(a, 2),
    "dot": lambda np, a, b, i: np.dot(a, b),
    "outer": lambda np, a, b, i: np.outer(b, b),
    "a * b + 2.5 * a - 1": lambda np, a, b, i: a * b + a.dtype.type(2.5) * a - a.dtype.type(1),
}
# The shapes of these results depend on values, which jax.jit does not do.
NUMPY = {
    "nonzero": lambda a, b, i, out: np.nonzero(b)[0],
    "compress": lambda a, b, i, out: a[b],
    "put": lambda a, b, i, out: np.put(out, i, a),
}
COPIES = {
    "transpose (2, 0, 1)": lambda np, a: np.transpose(a, (2, 0, 1)),
    "transpose": lambda np, a: np.transpose(a),
    "fill": lambda np, a: np.full_like(a, 7) if np is jnp else 7,
    "flip": lambda np, a: np.flip(a, 0),
    "flip rows": lambda np, a: np.flip(a, 0),
    "flip columns": lambda np, a: np.flip(a, 1),
}
NUMEXPR = {
    "floor_divide": "a // b", "floor_divide by 7": "a // 7", "remainder": "a % b", "sin": "sin(a)",
    "exp": "exp(a)", "tanh": "tanh(a)", "log": "log(a)", "log1p": "log1p(a)", "expm1": "expm1(a)",
    "arctan": "arctan(a)", "power": "a ** b", "add": "a + b", "subtract": "a - b", "multiply": "a * b",
    "divide": "a / b", "arctan2": "arctan2(a, b)", "bitwise_and": "a & b", "add by 7": "a + 7",
    "negative": "-a", "absolute": "abs(a)", "sqrt": "sqrt(a)", "square": "a * a", "reciprocal": "1 / a",
    "floor": "floor(a)", "cos": "cos(a)", "tan": "tan(a)", "sinh": "sinh(a)", "arcsinh": "arcsinh(a)",
    "log10": "log10(a)", "less": "a < b", "equal": "a == b", "not_equal": "a != b", "arccos": "arccos(a)",
    "arcsin": "arcsin(a)", "sum": "sum(a)", "max": "max(a)", "where": "where(b, a, 7)",
    "a * b + 2.5 * a - 1": "a * b + 2.5 * a - 1",
}


def is_binary(name):
    return getattr(np, name).nin == 2


def values(name, count, dtype):
    numbers = 1 + np.arange(count) * 37 % 1000 / 1000
    return (numbers - (name in ("arcsin", "arccos")) if dtype[0] == "f" else np.floor(60 * numbers))


def make(name, dtype, count):
    """The operands a, b, the indexes and a result."""
    bools = ("less", "equal", "not_equal", "isnan", "signbit", "logical_not")
    side = count
    if name in SQUARES:
        side = int(count**0.5)
        shape = (side, side)
    elif name in CUBES:
        side = int((count + 0.5)**(1 / 3))
        shape = (side, side, side)
    else:
        shape = (count,)
    total = int(np.prod(shape))
    a = values(name, total, dtype).astype(dtype).reshape(shape)
    wide = 1 + (np.arange(total) * 3 + 1) * 37 % 1000 / 1000
    b = (wide if dtype[0] == "f" else np.floor(60 * wide)).astype(dtype).reshape(shape)
    if name in ("nonzero", "compress", "where"):
        b = (np.arange(total) * 7919 % 3 == 0).astype(dtype if name == "nonzero" else "?")
    elif name in ("matrix times vector", "outer"):
        b = b.ravel()[:side].copy()
    to = "?" if name in bools else TYPES[name[3:]] if name.startswith("to ") else dtype
    return a, b, np.arange(side) * 7919 % side, a.astype(to)


def numpy_call(name, a, b, i, out):
    if name in NEW:
        return lambda: NEW[name](np, a, b, i)
    if name in NUMPY:
        def call():
            made = NUMPY[name](a, b, i, out)
            return out if made is None else made
        return call
    if name in COPIES:
        def call():
            np.copyto(out, COPIES[name](np, a))
            return out
        return call
    if name.startswith("to "):
        return lambda: a.astype(TYPES[name[3:]])
    if name.endswith(" by 7"):
        ufunc = getattr(np, name[:-5])
        return lambda: ufunc(a, 7, out=out)
    ufunc = getattr(np, name)
    return (lambda: ufunc(a, b, out=out)) if is_binary(name) else (lambda: ufunc(a, out=out))


def numexpr_call(name, a, b, out):
    # It computes with int64 where types are mixed, has no float16, and its // of floats is C's.
    if not numexpr or name not in NUMEXPR or a.dtype == np.float16:
        return None
    if "floor" in name and a.dtype.kind == "f":
        return None
    to = {} if name in ("sum", "max") else {"out": out, "casting": "same_kind"}
    try:
        numexpr.evaluate(NUMEXPR[name], {"a": a, "b": b}, {}, **to)
    except Exception:
        return None
    return lambda: numexpr.re_evaluate({"a": a, "b": b})


def jax_call(name, a, b, i):
    if not jax or name in NUMPY:
        return None
    if name in NEW:
        run = jax.jit(lambda a, b, i: NEW[name](jnp, a, b, i))
    elif name in COPIES:
        run = jax.jit(lambda a, b, i: COPIES[name](jnp, a))
    elif name.startswith("to "):
        run = jax.jit(lambda a, b, i: a.astype(TYPES[name[3:]]))
    elif name.endswith(" by 7"):
        run = jax.jit(lambda a, b, i: getattr(jnp, name[:-5])(a, 7))
    elif is_binary(name):
        run = jax.jit(lambda a, b, i: getattr(jnp, name)(a, b))
    else:
        run = jax.jit(lambda a, b, i: getattr(jnp, name)(a))
    operands = [jnp.asarray(x) for x in (a, b, i)]
    return lambda: run(*operands).block_until_ready()


def measure(call, calls):
    clock = time.process_time if THREADS == "1" else time.perf_counter
    call()
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls


def weigh(result):
    flat = np.asarray(result).ravel().astype("f8")
    return float((flat * (np.arange(flat.size) % 7 + 1)).sum())


for name, module in (("numexpr", numexpr), ("jax", jax)):
    if not module:
        print(f"{name} is not installed: without it", file=sys.stderr)
PEERS = {}
for line in sys.stdin:
    order, first, number = line.rstrip("\n").split("\t")
    if order == "case":
        name, dtype = first.rsplit(", ", 1)
        a, b, i, out = make(name, TYPES[dtype], int(number))
        PEERS = {"numpy": numpy_call(name, a, b, i, out)}
        answer = repr(weigh(PEERS["numpy"]()))
        PEERS["numexpr"] = numexpr_call(name, a, b, out)
        PEERS["jax"] = jax_call(name, a, b, i)
    else:
        call = PEERS.get(first)
        answer = repr(measure(call, int(number))) if call else "none"
    print(answer, flush=True)
