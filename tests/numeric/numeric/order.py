# SPDX-License-Identifier: MIT
#
# Sorts, different elements, quantiles.  bfloat16 is float32 here, which has the same order.

import ctypes

import numpy as np

from numeric.library import Result
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


# Partitions have one result only where elements are equal to those that were asked for.

def draw_partition(d):
    dtype, shape = d.pick(ORDERED + COMPLEX), tuple(d.integer(1,
                                                              40) for _ in range(d.integer(1, 3)))
    axis = d.integer(-len(shape), len(shape) - 1)
    if d.chance(0.3) and dtype not in COMPLEX:  # as long as a selection wants it
        shape = tuple(d.integer(16384, 70000) if k == axis % len(shape) else min(extent, 2)
                      for k, extent in enumerate(shape))
    extent = shape[axis]
    kth = [d.integer(-extent, extent - 1) for _ in range(d.integer(1, 5))]
    return d.lay(dtype, draw_values(d, dtype, shape)), tuple(kth), axis


def sort_parts(values, kth, axis):
    """What lies between places is sorted: the whole is, if each part has what it should."""
    places = sorted({place % values.shape[axis] for place in kth})
    ends = [0] + [end for place in places for end in (place, place + 1)]
    parts = np.split(values, ends, axis)
    return np.concatenate([np.sort(part, axis, kind="stable") for part in parts], axis)


def ours_partition(library, values, kth, axis):
    places = (ctypes.c_int64 * len(kth))(*kth)
    split, = library.call("kz_partition", values, places, len(kth), axis)
    order, = library.call("kz_argpartition", values, places, len(kth), axis)
    taken = np.take_along_axis(values.value, order.value, axis)
    return [Result(sort_parts(split.value, kth, axis), split.dtype),
            Result(sort_parts(taken, kth, axis), values.dtype),
            Result(np.sort(order.value, axis), order.dtype)]


def reference_partition(values, kth, axis):
    whole = sort_parts(np.partition(values, kth, axis), kth, axis)
    return whole, whole, np.sort(np.argpartition(values, kth, axis), axis)


def draw_topk(d):
    dtype = d.pick(ORDERED + COMPLEX)
    shape = (d.integer(1, 3), d.integer(1, 40) if d.chance(0.5) else d.integer(16384, 70000))
    shape = (1, 40) if dtype in COMPLEX else shape
    count = d.integer(0, min(shape[1], d.pick([3, 500, shape[1]])))
    return d.lay(dtype, draw_values(d, dtype, shape)), count


def ours_topk(library, values, count):
    return library.call("kz_topk", values, count, 1, 0)


def reference_topk(values, count):
    order = np.argsort(values, 1, kind="stable")[:, :count]
    return np.take_along_axis(values, order, 1), order


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
    return np.isin(values, among, invert=bool(invert),
                   kind="sort")  # by tables it fails for some types


METHODS = ["linear", "lower", "higher", "nearest", "midpoint"]


def draw_quantile(d):
    dtype = d.pick([each for each in ORDERED if each not in HALVES + ["bool"]])
    shape = tuple(d.integer(1, 40) for _ in range(d.integer(1, 3)))
    axis = d.integer(0, len(shape) - 1)
    if d.chance(0.3):
        shape, axis = (d.integer(1, 3), d.integer(16384, 70000)), 1
    q = d.pick([0.0, 1.0, 0.5, float(d.random.random_sample())])
    return d.lay(dtype, draw_values(d, dtype, shape, nan=0.02)), q, axis, d.integer(0, 4)


def ours_quantile(library, values, q, axis, method, **options):
    return library.call("kz_quantile", values, q, [axis], method, **options)


def reference_quantile(values, q, axis, method):
    if values.dtype.kind in "iu" and values.dtype.itemsize < 8:
        values = values.astype(float)  # the midpoint of two int32 overflows in numpy 2.5
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


def partition_dtype(case):
    return [case.operands[0].dtype] * 2 + ["int64"]


ROWS = [
    Row("sort", draw_sort, "kz_sort", reference_sort, cases=100, dtype=own_dtype),
    Row("argsort", draw_sort, "kz_argsort", reference_argsort, cases=100,
        dtype=lambda case: ["int64"]),
    Row("partition", draw_partition, ours_partition, reference_partition, cases=80,
        dtype=partition_dtype),
    Row("topk", draw_topk, ours_topk, reference_topk, cases=80, dtype=own_dtype),
    Row("unique", draw_flat, "kz_unique", reference_unique, cases=100, dtype=own_dtype),
    Row("isin", draw_isin, "kz_isin", reference_isin, cases=80, dtype=lambda case: ["bool"]),
    Row("quantile", draw_quantile, ours_quantile, reference_quantile, quantile_bound, cases=80,
        dtype=quantile_dtype),
]
