# SPDX-License-Identifier: MIT
#
# Sorts, different elements, quantiles.  bfloat16 is float32 here, which has the same order.

import numpy as np

from numeric.operands import COMPLEX, HALVES, INTEGERS, REAL
from numeric.search import draw_shape, draw_values
from numeric.table import EPS, Row

ORDERED = REAL * 3 + HALVES + INTEGERS


def draw_sort(d):
    dtype, shape = d.pick(ORDERED + COMPLEX), draw_shape(d)
    axis = d.integer(-len(shape), len(shape) - 1)
    return d.lay(dtype, draw_values(d, dtype, shape)), axis


def reference_sort(values, axis):
    return np.sort(values, axis, kind="stable")


def reference_argsort(values, axis):
    return np.argsort(values, axis, kind="stable")


def draw_flat(d):
    dtype = d.pick(ORDERED)
    return (d.lay(dtype, draw_values(d, dtype, draw_shape(d))),)


def reference_unique(values):
    unique, index, inverse, counts = np.unique(values, True, True, True)
    return unique, index, inverse.reshape(values.shape), counts


def draw_two(d):
    first, second = d.pick(ORDERED), d.pick(ORDERED)
    return d.lay(first, draw_values(d, first, draw_shape(d))), \
        d.lay(second, draw_values(d, second, (d.extent(40),)))


def draw_isin(d):
    return (*draw_two(d), d.integer(0, 1))


def reference_isin(values, among, invert):
    return np.isin(values, among, invert=bool(invert), kind="sort")  # by tables it fails for some types


METHODS = ["linear", "lower", "higher", "nearest", "midpoint"]


def draw_quantile(d):
    dtype = d.pick([each for each in ORDERED if each not in HALVES + ["bool"]])
    shape = tuple(d.integer(1, 40) for _ in range(d.integer(1, 3)))
    axis = d.integer(0, len(shape) - 1)
    q = d.pick([0.0, 1.0, 0.5, float(d.random.random_sample())])
    return d.lay(dtype, draw_values(d, dtype, shape, nan=0.02)), q, axis, d.integer(0, 4)


def ours_quantile(library, values, q, axis, method, **options):
    return library.call("kz_quantile", values, q, [axis], method, **options)


def reference_quantile(values, q, axis, method):
    return np.asarray(np.quantile(values, q, axis, method=METHODS[method]))


def quantile_dtype(case):
    dtype = case.operands[0].dtype
    return [dtype if dtype in REAL else "float64"]


def quantile_bound(case):
    """Two roundings of a number between two elements."""
    values = case.operands[0].value.astype(float)
    return [4 * EPS[quantile_dtype(case)[0]] * np.nanmax(np.abs(values), initial=0)]


def own_dtype(case):
    return [case.operands[0].dtype] + ["int64"] * (len(case.expected) - 1)


ROWS = [
    Row("sort", draw_sort, "kz_sort", reference_sort, cases=100, dtype=own_dtype),
    Row("argsort", draw_sort, "kz_argsort", reference_argsort, cases=100,
        dtype=lambda case: ["int64"]),
    Row("unique", draw_flat, "kz_unique", reference_unique, cases=100, dtype=own_dtype),
    Row("isin", draw_isin, "kz_isin", reference_isin, cases=80, dtype=lambda case: ["bool"]),
    Row("quantile", draw_quantile, ours_quantile, reference_quantile, quantile_bound, cases=80,
        dtype=quantile_dtype),
]
