# SPDX-License-Identifier: MIT
#
# Products of matrices: matmul, matmul_op and gemm.

import numpy as np

from numeric.library import Result
from numeric.operands import HALVES, INEXACT, INTEGERS, any_dtypes
from numeric.table import Row, absolute, apart


# matmul

def draw_matmul(d):
    first, second = any_dtypes(d, 2)
    m, k, n = d.extent(20), d.extent(40), d.extent(20)
    if d.chance(0.25):
        # Large enough for a library.
        m, k, n = d.integer(40, 140), d.integer(40, 140), d.integer(40, 140)
    batch = d.batch()
    a, b = d.fits(batch) + (m, k), d.fits(batch) + (k, n)
    if d.chance(0.15):
        a = (k,)
    if d.chance(0.15):
        b = (k,)
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        a = a[:-1] + (k + 1 if k != 1 else 3,)
    return d.array(first, a), d.array(second, b)


def matmul_bound(case):
    a, b = case.values
    return [apart(case.result_dtypes()[0], a.shape[-1], np.matmul(absolute(a), absolute(b)),
                  case.expected[0])]


# gemm: c = alpha op(a) op(b) + beta c

TURN = {"KZ_MATRIX_AS_IS": lambda x: x, "KZ_MATRIX_TRANSPOSED": lambda x: np.swapaxes(x, -1, -2),
        "KZ_MATRIX_ADJOINT": lambda x: np.conj(np.swapaxes(x, -1, -2))}


def draw_gemm(d):
    dtype = d.pick(INEXACT * 4 + HALVES + ["int32", "uint8"])
    m, k, n = d.extent(20), d.extent(30), d.extent(20)
    if d.chance(0.25):
        # Large enough for a library.
        m, k, n = d.integer(40, 140), d.integer(40, 140), d.integer(40, 140)
    batch = d.batch()
    turns = [d.pick(list(TURN)) for _ in "ab"]
    a, b = (m, k), (k, n)
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        b = (k + 1, n)
    a, b = (turned if turn == "KZ_MATRIX_AS_IS" else turned[::-1]
            for turn, turned in zip(turns, (a, b)))
    wider = {"float32": "float64", "complex64": "complex128", "float16": "float32"}
    target = wider.get(dtype, dtype) if d.chance(0.1) else dtype
    factors = [0, 1, -1, 2] if target in INTEGERS else [0.0, 1.0, 1.0, -0.5, 3.25]
    if target.startswith("u"):
        factors = [0, 1, 2]
    if target.startswith("complex"):
        factors.append(0.5 - 2j)
    alpha, beta = d.pick(factors[1:]), d.pick(factors)
    shape = batch + (m, n)
    values = d.numbers(target, shape)
    if beta == 0 and values.dtype.kind in "fc":
        values = d.rounded(target, np.full(shape, np.nan))
    c = d.lay(target, values)
    c.written = True
    a, b = (d.array(dtype, d.fits(batch) + extents) for extents in (a, b))
    return c, alpha, a, turns[0], b, turns[1], beta, d.chance(0.15)


def ours_gemm(library, c, alpha, a, turn_a, b, turn_b, beta, on_stream):
    library.call("kz_gemm", c, alpha, a, library.number(turn_a), b, library.number(turn_b), beta,
                 library.stream if on_stream else None)
    return [Result(c.after, c.dtype)]


def reference_gemm(c, alpha, a, turn_a, b, turn_b, beta, _):
    product = np.matmul(TURN[turn_a](a), TURN[turn_b](b))
    product = np.broadcast_to(product, np.broadcast_shapes(c.shape, product.shape))
    if product.shape != c.shape:
        raise ValueError("the product does not fit")
    if c.dtype.kind in "iu":
        return alpha * product + beta * c
    kind = complex if c.dtype.kind == "c" else float
    total = alpha * product.astype(kind) + (beta * c.astype(kind) if beta else 0)
    return total.astype(c.dtype)


def gemm_bound(case):
    c, alpha, a, turn_a, b, turn_b, beta, _ = case.values
    product = abs(alpha) * np.matmul(TURN[turn_a](absolute(a)), TURN[turn_b](absolute(b)))
    added = abs(beta) * absolute(c) if beta else 0
    # The product of halves is rounded before it is scaled.
    return [apart(case.operands[1].dtype, TURN[turn_a](a).shape[-1], product + added,
                  product + added)]


# matmul_op: op(a) op(b)

def turned(op, x):
    x = np.swapaxes(x, -1, -2) if x.ndim > 1 and op != "KZ_MATRIX_AS_IS" else x
    return np.conj(x) if op == "KZ_MATRIX_ADJOINT" and x.dtype.kind == "c" else x


def draw_matmul_op(d):
    a, b = draw_matmul(d)
    ops = [d.pick(list(TURN)) for _ in "ab"]
    a, b = (x if op == "KZ_MATRIX_AS_IS" or len(x.shape) < 2 else
            d.array(x.dtype, x.shape[:-2] + x.shape[:-3:-1]) for op, x in zip(ops, (a, b)))
    return a, ops[0], b, ops[1]


def ours_matmul_op(library, a, op_a, b, op_b, **options):
    return library.call("kz_matmul_op", a, library.number(op_a), b, library.number(op_b), **options)


def reference_matmul_op(a, op_a, b, op_b):
    return np.matmul(turned(op_a, a), turned(op_b, b))


def matmul_op_bound(case):
    a, op_a, b, op_b = case.values
    a, b = turned(op_a, absolute(a)), turned(op_b, absolute(b))
    return [apart(case.result_dtypes()[0], a.shape[-1], np.matmul(a, b), case.expected[0])]


ROWS = [
    Row("matmul", draw_matmul, "kz_matmul", np.matmul, matmul_bound, cases=600, into="operand"),
    Row("matmul op", draw_matmul_op, ours_matmul_op, reference_matmul_op, matmul_op_bound,
        cases=150, into="operand"),
    Row("gemm", draw_gemm, ours_gemm, reference_gemm, gemm_bound, cases=300,
        dtype=lambda case: [case.operands[0].dtype]),
]
