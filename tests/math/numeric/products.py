# SPDX-License-Identifier: MIT
#
# Products: what adds products of elements.

import numpy as np

from numeric.library import Result
from numeric.operands import HALVES, INEXACT, INTEGERS, promote
from numeric.table import Row, absolute, apart


def dtypes(d, count):
    """Types of operands: mostly one for all, some of them halves and integers."""
    one = d.pick(INEXACT * 4 + HALVES * 2 + INTEGERS)
    if d.chance(0.85):
        return [one] * count
    return [one] + [d.pick(INEXACT + HALVES + INTEGERS) for _ in range(count - 1)]


# matmul

def draw_matmul(d):
    first, second = dtypes(d, 2)
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
    return c, alpha, d.array(dtype, d.fits(batch) + a), turns[0], d.array(dtype, d.fits(batch) + b), \
        turns[1], beta, d.chance(0.15)


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


# Products of products.h: the types are numpy's, so integers wrap.

def scaled(function):
    """The bound of a product, function(*values).  Of two operands of summed extents n and others x
    and y, the sizes are nx, ny, and xy of the result."""
    def bound(case):
        a, b = case.values[:2]
        n = (a.size * b.size / max(1, case.expected[0].size)) ** 0.5
        return [apart(case.result_dtypes()[0], n, function(absolute(a), absolute(b),
                      *case.values[2:]), case.expected[0])]
    return bound


def draw_ranks(d, least=0):
    """Two operands of any ranks; types differ only where no operand is a scalar."""
    ranks = [d.integer(least, 3), d.integer(least, 3)]
    types = dtypes(d, 2) if min(ranks) else [dtypes(d, 1)[0]] * 2
    return types, [[d.extent(7) for _ in range(rank)] for rank in ranks]


def draw_dot(d, of_b=-2):
    types, (a, b) = draw_ranks(d)
    if a and b:
        axis = max(-len(b), of_b)
        b[axis] = a[-1]
        if d.chance(0.04):
            d.refused = "KZ_INVALID"
            b[axis] += 1
    if d.chance(0.1) and not d.refused:
        a = b = [d.extent(300)]
    return d.array(types[0], tuple(a)), d.array(types[1], tuple(b))


def draw_inner(d):
    return draw_dot(d, -1)


def draw_vdot(d):
    first, second = dtypes(d, 2)
    shape = tuple(d.extent(12) for _ in range(d.integer(1, 3)))
    other = (int(np.prod(shape)),) if d.chance(0.2) else shape
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        other = (other[0] + 1,) + (2,) * (len(other) - 1)
    return d.array(first, shape), d.array(second, other)


def vdot_bound(case):
    a, b = case.values
    return [apart(case.result_dtypes()[0], a.size, np.vdot(absolute(a), absolute(b)),
                  case.expected[0])]


def draw_outer(d):
    types, (a, b) = draw_ranks(d)
    return d.array(types[0], tuple(a)), d.array(types[1], tuple(b))


def draw_tensordot(d):
    types, (a, b) = draw_ranks(d, 1)
    count = d.integer(0, min(len(a), len(b)))
    b[:count] = a[len(a) - count:]
    return d.array(types[0], tuple(a)), d.array(types[1], tuple(b)), count


def draw_tensordot_axes(d):
    types, (a, b) = draw_ranks(d, 1)
    count = d.integer(1, min(len(a), len(b)))
    of_a, of_b = ([int(axis) for axis in d.random.permutation(len(each))[:count]]
                  for each in (a, b))
    for x, y in zip(of_a, of_b):
        b[y] = a[x]
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        b[of_b[0]] += 1
    of_a = [axis - len(a) if d.chance(0.2) else axis for axis in of_a]
    return d.array(types[0], tuple(a)), d.array(types[1], tuple(b)), of_a, of_b


def reference_tensordot_axes(a, b, of_a, of_b):
    return np.tensordot(a, b, (of_a, of_b))


# Chains and powers

def draw_mdot(d):
    count = d.integer(2, 5)
    extents = [d.extent(12) for _ in range(count + 1)]
    shapes = [(extents[i], extents[i + 1]) for i in range(count)]
    if d.chance(0.2):
        shapes[0] = shapes[0][1:]
    if d.chance(0.2):
        shapes[-1] = shapes[-1][:1]
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        shapes[1] = (shapes[1][0] + 1,) + shapes[1][1:]
    dtype = d.pick(INEXACT * 2 + INTEGERS)
    return [[d.array(dtype, shape) for shape in shapes]]


def mdot_bound(case):
    arrays = case.values[0]
    n = sum(max(array.shape) for array in arrays)
    return [apart(case.result_dtypes()[0], n, np.linalg.multi_dot([absolute(a) for a in arrays]),
                  case.expected[0])]


def draw_matrix_power(d):
    n = d.extent(8)
    shape = d.batch() + (n, n)
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        shape = shape[:-1] + (n + 1,)
    return d.array(d.pick(INEXACT * 2 + INTEGERS), shape), d.integer(0, 7)


def matrix_power_bound(case):
    a, power = case.values
    return [apart(case.result_dtypes()[0], a.shape[-1] * power,
                  np.linalg.matrix_power(absolute(a), power), case.expected[0])]


# einsum

SUBSCRIPTS = ["ij", "ji", "ii", "ii->i", "ij->", "ij->j", "i...->...", "...ij->...ji", "iij->j",
              "ij,jk", "ij,jk->ki", "ij,kj->ik", "ij,ij->", "ij,ij->i", "i,j", "i,j->ji", "i,i",
              "bij,bjk->bik", "bij,bj->bi", "bij,bjk->ikb", "...ij,...jk->...ik", "...i,i...->...",
              "aB,Bc", "ijk,jil->kl", "ijkl,klj->i", "ij,jk,kl->il", "ij,jk,ki->", "i,ij,j",
              "i,,j", "ij,i,j->", "ij,jk,kl,lm->im", "abc,bd,dce,ef->af", "ii,ij->j",
              " i j , j k -> i k", "ij,jk,k...->...i", "ia,ja,ka->ijk", "i...,j...->ij...", "abcd,bd,ac"]


def draw_einsum(d):
    text = d.pick(SUBSCRIPTS)
    extents = {letter: d.extent(7) for letter in text if letter.isalpha()}
    batch = d.batch()
    types = dtypes(d, 1) * 4 if ",," in text else None
    types = types or [d.pick(INEXACT * 2 + INTEGERS)] * 4
    shapes = []
    for term in text.split("->")[0].replace(" ", "").split(","):
        before, dots, after = term.partition("...")
        shapes.append(tuple(extents[each] for each in before) + (d.fits(batch) if dots else ())
                      + tuple(extents[each] for each in after))
    if d.chance(0.04) and shapes[-1]:
        d.refused = "KZ_INVALID"
        shapes[-1] += (1,) * 9
        text = text.replace("...", "")
    return text, [d.array(dtype, shape) for dtype, shape in zip(types, shapes)]


def reference_einsum(text, arrays):
    return np.einsum(text, *arrays)


def einsum_bound(case):
    text, arrays = case.values
    n = sum(array.size for array in arrays)
    return [apart(case.result_dtypes()[0], n, np.einsum(text, *(absolute(a) for a in arrays)),
                  case.expected[0])]


ROWS = [
    Row("matmul", draw_matmul, "kz_matmul", np.matmul, matmul_bound, cases=600, into="operand"),
    Row("gemm", draw_gemm, ours_gemm, reference_gemm, gemm_bound, cases=300,
        dtype=lambda case: [case.operands[0].dtype]),
    Row("dot", draw_dot, "kz_dot", np.dot, scaled(np.dot), cases=200, into="operand"),
    Row("vdot", draw_vdot, "kz_vdot", np.vdot, vdot_bound, cases=150, into="operand"),
    Row("inner", draw_inner, "kz_inner", np.inner, scaled(np.inner), cases=150, into="operand"),
    Row("outer", draw_outer, "kz_outer", np.outer, scaled(np.outer), cases=80, into="operand"),
    Row("kron", draw_outer, "kz_kron", np.kron, scaled(np.kron), cases=120, into="operand"),
    Row("tensordot", draw_tensordot, "kz_tensordot", np.tensordot, scaled(np.tensordot), cases=150,
        into="operand"),
    Row("tensordot axes", draw_tensordot_axes, "kz_tensordot_axes", reference_tensordot_axes,
        scaled(reference_tensordot_axes), cases=200, into="operand"),
    Row("mdot", draw_mdot, "kz_mdot", lambda arrays: np.linalg.multi_dot(arrays), mdot_bound,
        cases=120, into="operand"),
    Row("matrix_power", draw_matrix_power, "kz_matrix_power", np.linalg.matrix_power,
        matrix_power_bound, cases=120, into="operand"),
    Row("einsum", draw_einsum, "kz_einsum", reference_einsum, einsum_bound, cases=400,
        into="operand"),
]
