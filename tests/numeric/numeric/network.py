# SPDX-License-Identifier: MIT
#
# What networks are made of: network.h, and take_along_axis.  The references compute in float64.

import numpy as np

from numeric.operands import COMPLEX, HALVES, REAL
from numeric.table import EPS, FACTOR, Row

INDEXES = ["int64", "int32", "uint8", "int8", "uint32"]


def result_dtype(dtype):
    return dtype if dtype in REAL + HALVES else "float64"


def draw_scores(d, shape):
    """Numbers whose exponentials overflow now and then; some are infinite or NaN."""
    dtype = d.pick(REAL * 3 + HALVES + ["int32"])
    scale = d.pick([1, 1, 20, 200])

    def make(shape):
        values = np.asarray(d.random.standard_normal(shape) * scale)
        if dtype not in ("int32", "float16") and values.size and d.chance(0.1):
            at = tuple(d.integer(0, extent - 1) for extent in shape)
            values[at] = d.pick([np.inf, -np.inf, np.nan])
        return d.rounded(dtype, values)
    return d.array(dtype, shape, make)


def draw_softmax(d):
    shape = [d.extent(9) for _ in range(d.integer(1, 3))]
    axis = d.integer(-len(shape), len(shape) - 1)
    shape[axis] = d.integer(1, 60)
    if d.chance(0.04):
        d.refused = "KZ_RANGE"
        axis = len(shape)
    return draw_scores(d, tuple(shape)), axis


def softmax(x, axis=-1):
    x = x.astype(float)
    grown = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return grown / np.sum(grown, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = x.astype(float)
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


def softmax_dtype(case):
    return [result_dtype(case.operands[0].dtype)]


def computed_eps(case):
    """Of the computation, and of the result's rounding if that is a half."""
    dtype = result_dtype(case.operands[0].dtype)
    return (EPS["float32"], EPS[dtype]) if dtype in HALVES else (EPS[dtype], 0)


def distance(x, axis):
    """How far elements are below the largest one: what their exponentials' errors grow with."""
    x = x.astype(float)
    below = np.max(x, axis=axis, keepdims=True) - x
    return np.where(np.isfinite(below), below, 0)


def softmax_bound(case):
    x, axis = case.values
    eps, rounding = computed_eps(case)
    wide = FACTOR * eps * (x.shape[axis] + 4 + distance(x, axis)) + rounding
    # Float32 has no smaller numbers; those of halves are as they are rounded.
    least = {"float16": 2.0 ** -24, "float64": 1e-300}.get(case.result_dtypes()[0], 1e-37)
    return [wide * case.expected[0] + least]


def log_softmax_bound(case):
    x, axis = case.values
    eps, rounding = computed_eps(case)
    size = np.abs(np.where(np.isfinite(case.expected[0]), case.expected[0], 0))
    return [FACTOR * eps * (x.shape[axis] + 4 + distance(x, axis)) + rounding * size]


def softmax_holds(case):
    x, axis = case.values
    eps, rounding = computed_eps(case)
    total = np.sum(case.ours[0].astype(float), axis=axis)
    known = np.isfinite(total)
    yield "the sum is 1", total[known], np.ones(total.shape)[known], \
        (eps + rounding) * FACTOR * (x.shape[axis] + 4)


# one_hot and cross_entropy

def draw_classes(d, shape, count):
    dtype = d.pick(INDEXES)

    def make(shape):
        classes = d.random.randint(0, count, shape).astype(dtype)
        if d.refused:
            classes[(0,) * len(shape)] = count
        return classes
    return d.array(dtype, shape, make)


def draw_one_hot(d):
    shape = tuple(d.extent(9) for _ in range(d.integer(0, 2)))
    count = d.integer(1, 12)
    if d.chance(0.06) and 0 not in shape:
        d.refused = "KZ_RANGE"
    if d.chance(0.4):
        d.options["dtype"] = d.keywords["dtype"] = d.pick(REAL + COMPLEX + ["float16", "int32"])
    return draw_classes(d, shape, count), count


def reference_one_hot(classes, count, dtype="float32"):
    return np.eye(count, dtype=dtype)[classes.astype(np.int64)]


def draw_cross_entropy(d):
    shape, count = (d.integer(1, 30),) if d.chance(0.8) else (2, d.integer(1, 9)), d.integer(1, 12)
    if d.chance(0.06):
        d.refused = "KZ_RANGE"
    elif d.chance(0.2):
        d.options["unchecked"] = 1
    return draw_scores(d, shape + (count,)), draw_classes(d, shape, count)


def reference_cross_entropy(scores, classes):
    classes = classes.astype(np.int64)[..., None]
    loss = -np.mean(np.take_along_axis(log_softmax(scores), classes, -1))
    gradient = (softmax(scores) - np.eye(scores.shape[-1])[classes[..., 0]]) / classes.size
    return loss, gradient


def cross_entropy_bound(case):
    scores = case.values[0]
    eps, rounding = computed_eps(case)
    loss, gradient = case.expected
    grown = FACTOR * eps * (scores.shape[-1] + 4 + distance(scores, -1))
    size = np.abs(np.where(np.isfinite(log_softmax(scores)), log_softmax(scores), 0))
    terms = size.size / max(1, scores.shape[-1])
    return [np.max(grown, initial=0) + FACTOR * eps * terms * np.max(size, initial=0)
            + rounding * np.abs(loss), grown / terms + rounding * np.abs(gradient) + 1e-37
            + (2.0 ** -24 if case.result_dtypes()[0] == "float16" else 0)]


# take_along_axis

MODES = {"KZ_INDEX_CHECK": None, "KZ_INDEX_WRAP": "wrap", "KZ_INDEX_CLIP": "clip"}


def draw_take(d):
    shape = [d.integer(1, 6) for _ in range(d.integer(1, 3))]
    axis = d.integer(-len(shape), len(shape) - 1)
    mode = d.pick(list(MODES))
    low, high = (-shape[axis], shape[axis]) if MODES[mode] is None else (-20, 20)
    taken = list(d.fits(tuple(shape)))
    taken = [1] * (len(shape) - len(taken)) + taken
    taken[axis] = d.extent(7)
    indexes = d.array(d.pick(["int64", "int32", "int8"]), tuple(taken),
                      lambda shape: d.random.randint(low, high, shape).astype(np.int8))
    return d.array(d.pick(REAL + COMPLEX + HALVES + ["int16", "bool"]), tuple(shape)), indexes, \
        axis, mode


def ours_take(library, array, indexes, axis, mode):
    return library.call("kz_array_take_along_axis", array, indexes, axis, library.number(mode))


def reference_take(a, indexes, axis, mode):
    n, indexes = a.shape[axis], indexes.astype(np.int64)
    if MODES[mode] == "wrap":
        indexes = indexes % n
    elif MODES[mode] == "clip":
        indexes = np.clip(indexes, 0, n - 1)
    # Extents other than the axis broadcast both ways.
    shapes = [list(a.shape), list(indexes.shape)]
    for shape in shapes:
        shape[axis] = 1
    both = list(np.broadcast_shapes(*map(tuple, shapes)))
    whole = [both[:axis % a.ndim] + [each.shape[axis]] + both[axis % a.ndim + 1:]
             for each in (a, indexes)]
    return np.take_along_axis(np.broadcast_to(a, whole[0]), np.broadcast_to(indexes, whole[1]),
                              axis)


ROWS = [
    Row("softmax", draw_softmax, "kz_softmax", softmax, softmax_bound, softmax_holds, softmax_dtype,
        into="operand"),
    Row("log_softmax", draw_softmax, "kz_log_softmax", log_softmax, log_softmax_bound,
        dtype=softmax_dtype, into="operand"),
    Row("one_hot", draw_one_hot, "kz_one_hot", reference_one_hot, into=True),
    Row("cross_entropy", draw_cross_entropy, "kz_cross_entropy", reference_cross_entropy,
        cross_entropy_bound, dtype=lambda case: softmax_dtype(case) * 2, cases=150),
    Row("take_along_axis", draw_take, ours_take, reference_take,
        dtype=lambda case: [case.operands[0].dtype]),
]
