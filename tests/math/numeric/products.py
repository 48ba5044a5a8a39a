# SPDX-License-Identifier: MIT
#
# Products: what adds products of elements.

import numpy as np

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
    if d.chance(0.06):
        m, k, n = d.integer(60, 140), d.integer(60, 140), d.integer(60, 140)
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


# dot and vdot: the type of a sum of the common type

def sum_dtype(case):
    common = promote(*case.dtypes)
    return [common if common == "bfloat16" else np.sum(np.empty(1, common)).dtype.name]


def draw_dot(d):
    first, second = dtypes(d, 2)
    n = d.extent(300)
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
    return d.array(first, (n,)), d.array(second, (n + 1 if d.refused else n,))


def widened(a, b):
    common = np.result_type(a, b)
    return (each.astype(np.sum(np.empty(1, common)).dtype) for each in (a, b))


def reference_dot(a, b):
    return np.dot(*widened(a, b))


def draw_vdot(d):
    first, second = dtypes(d, 2)
    shape = tuple(d.extent(12) for _ in range(d.integer(1, 3)))
    return d.array(first, shape), d.array(second, shape)


def reference_vdot(a, b):
    return np.vdot(*widened(a, b))


def dot_bound(case):
    a, b = case.values
    return [apart(case.result_dtypes()[0], a.size, np.sum(absolute(a) * absolute(b)),
                  case.expected[0])]


ROWS = [
    Row("matmul", draw_matmul, "kz_matmul", np.matmul, matmul_bound, cases=600, into=True),
    Row("dot", draw_dot, "kz_dot", reference_dot, dot_bound, dtype=sum_dtype, cases=150, into=True),
    Row("vdot", draw_vdot, "kz_vdot", reference_vdot, dot_bound, dtype=sum_dtype, cases=150,
        into=True),
]
