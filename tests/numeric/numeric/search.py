# SPDX-License-Identifier: MIT
#
# Places among sorted elements, and how often values occur.

import numpy as np

from numeric.library import Result
from numeric.operands import COMPLEX, HALVES, INTEGERS, REAL, value_dtype
from numeric.table import EPS, Row

ORDERED = REAL * 3 + HALVES + INTEGERS


def draw_values(d, dtype, shape, nan=0.1):
    """Numbers of which some are equal, and some are NaN."""
    values = d.numbers(dtype, shape)
    if values.dtype.kind in "fc":
        values = d.rounded(dtype, np.round(values * 4) / 4)
        values[d.random.random_sample(shape) < (nan if d.chance(0.5) else 0)] = np.nan
    return values


def draw_shape(d):
    return tuple(d.extent(40) for _ in range(d.integer(1, 3)))


# searchsorted: bfloat16 is float32 here, which has the same order.

def draw_searchsorted(d):
    dtype = d.pick(ORDERED + COMPLEX)
    other = dtype if d.chance(0.7) else d.pick(ORDERED)
    values = draw_values(d, dtype, (d.extent(300),))
    sorter = np.argsort(values, kind="stable")
    side = d.integer(0, 1)
    d.options["right"], d.keywords["side"] = side, ["left", "right"][side]
    if d.chance(0.3):
        d.options["sorter"] = d.lay("int64", sorter.astype(np.int64))
        d.keywords["sorter"] = sorter
    else:
        values = values[sorter]
    # A 0-d array would be a scalar, whose type does not count, in old versions of numpy.
    return d.lay(dtype, values), d.lay(other, draw_values(d, other, draw_shape(d)))


def reference_searchsorted(values, wanted, side, sorter=None):
    return np.asarray(np.searchsorted(values, wanted, side, sorter), np.int64)


# digitize: numpy compares neighbours as doubles, which are those of small numbers.

def draw_digitize(d):
    dtype = d.pick(ORDERED)
    bins = np.sort(draw_values(d, dtype, (d.extent(30),), nan=0))
    bins = bins[::-1] if d.chance(0.5) else bins
    if d.chance(0.1) and len(bins) > 2 and bins[0] != bins[-1]:
        d.refused = "KZ_INVALID"
        bins = np.concatenate([bins, bins[:1]])
    d.options["right"] = d.keywords["right"] = d.integer(0, 1)
    other = d.pick(ORDERED)
    return d.lay(other, draw_values(d, other, draw_shape(d))), d.lay(dtype, bins)


def reference_digitize(values, bins, right):
    return np.asarray(np.digitize(values, bins, bool(right)), np.int64)


# histogram: the edges of numpy may be one rounding away from ours, and an element on one of them in
# the other bin, so there are as few binary digits as make edges exact.

# Narrow integers overflow in numpy before a density is made of them.

def draw_weights(d, shape):
    if d.chance(0.5):
        return
    weights = draw_values(d, d.pick(["float64", "float32", "int64"]), shape, nan=0)
    d.keywords["weights"] = weights
    d.options["weights"] = d.lay(weights.dtype.name, weights)


def draw_histogram(d):
    dtype, shape = d.pick(["float32", "float64", "int32", "uint8", "int64"]), draw_shape(d)
    d.options["bins"] = d.keywords["bins"] = 2 ** d.integer(0, 12)
    d.options["low"], d.options["high"] = d.keywords["range"] = (-8.0, 8.0)
    draw_weights(d, shape)
    if d.chance(0.2):
        d.options["density"] = d.keywords["density"] = 1
    return (d.lay(dtype, draw_values(d, dtype, shape)),)


# Ranges of any size: bins narrower than the distance of two numbers, whose edges are equal,
# quotients that overflow, and numbers below the least normal one.  Counts follow from the edges.

def least_and_unit(dtype):
    """The least number above 0, and the distance of 1 from the next number."""
    if dtype == "bfloat16":
        return 2.0 ** -133, 2.0 ** -7
    info = np.finfo(dtype if dtype not in INTEGERS else "float64")
    return float(info.smallest_subnormal), float(info.eps)


def draw_ends(d, dtype):
    if dtype == "bool":
        return False, d.chance(0.5)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        low, high = sorted(d.pick([info.min, info.max, info.max - 1, info.max // 1024, 0, 3])
                           for _ in range(2))
        return low, min(low + d.integer(0, 5), info.max) if d.chance(0.4) else high
    info = np.finfo(value_dtype(dtype))
    sizes = [least_and_unit(dtype)[0], float(info.tiny), float(info.max) / 8, 1.0, 0.1, 37.7]
    low, high = sorted(d.pick([-1, 1]) * d.pick(sizes) * d.pick([1, 3, d.random.random_sample()])
                       for _ in range(2))
    if d.chance(0.4):
        high = low + abs(low) * d.pick([1e-2, 1e-6, 1e-15]) * d.integer(0, 5)
    return tuple(float(each) for each in d.rounded(dtype, np.array([low, high])))


def draw_histogram_of_any_range(d):
    dtype, shape = d.pick(REAL * 3 + HALVES * 2 + INTEGERS), (d.extent(300),)
    low, high = draw_ends(d, dtype)
    places = d.random.random_sample(shape)
    places = np.where(places < 0.2, 0, np.where(places > 0.8, 1, places))
    if dtype in INTEGERS:
        values = np.array([min(low + int(each * (high - low)), high) for each in places], dtype)
    else:
        values = d.rounded(dtype, low + places * (high - low))
    d.options["bins"] = d.keywords["bins"] = d.pick([1, 2, 3, 10, 1000])
    if d.chance(0.5) and (low, high) != (0, 0):
        d.options["low"], d.options["high"] = d.keywords["ends"] = float(low), float(high)
        if values.dtype.kind == "f" and d.chance(0.5):
            values[d.random.random_sample(shape) < 0.1] = d.pick([np.nan, np.inf, -np.inf])
    return (d.lay(dtype, values),)


def reference_of_any_range(values, bins, ends=None):
    """Edges at equal distances; the counts need those that were rounded."""
    low, high = ends or ((float(values.min()), float(values.max())) if values.size else (0, 1))
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    parts = np.arange(bins + 1) / np.longdouble(bins)
    return np.zeros(bins, np.int64), np.longdouble(low) + (np.longdouble(high) - low) * parts


def edges_dtype(case):
    dtype = case.operands[0].dtype
    return ["int64", "float64" if dtype in INTEGERS else dtype]


def holds_of_any_range(case):
    counts, edges = case.ours
    least, unit = least_and_unit(case.operands[0].dtype)
    apart = 2 * unit * np.abs(case.expected[1].astype(float)).max() + least
    yield "the edges", edges, case.expected[1], apart
    yield "the count of edges that descend", np.count_nonzero(edges[1:] < edges[:-1]), 0, 0
    yield "the counts", counts, np.histogram(case.values[0] * 1, edges)[0], 0


def draw_histogram_between(d):
    dtype, shape = d.pick(ORDERED), draw_shape(d)
    edges = np.sort(draw_values(d, dtype, (d.integer(2, 30),), nan=0))
    if d.chance(0.1) and edges[0] != edges[-1]:
        d.refused = "KZ_INVALID"
        edges = edges[::-1]
    d.options["edges"], d.keywords["bins"] = d.lay(dtype, edges), edges
    draw_weights(d, shape)
    other = d.pick(ORDERED[:-len(INTEGERS)] + INTEGERS[1:])
    return (d.lay(other, draw_values(d, other, shape)),)


def reference_histogram(values, density=0, **keywords):
    known = ~np.isnan(values)
    if keywords.get("weights") is not None:
        keywords["weights"] = keywords["weights"][known]
    counts, edges = np.histogram(values[known], density=bool(density), **keywords)
    return counts, np.asarray(edges)


def sums_bound(case):
    """Sums of weights, in another order; counts are exact."""
    weights = case.draw.keywords.get("weights")
    if weights is None and not case.draw.keywords.get("density"):
        return [0] * len(case.expected)
    size = 1 if weights is None else np.abs(weights.astype(float)).sum()
    largest = np.abs(case.expected[0].astype(float)).max(initial=0)
    unit = EPS.get(case.expected[0].dtype.name, 0)
    return [unit * largest + 1e-12 * (size + largest)] + [0] * (len(case.expected) - 1)


def draw_bincount(d):
    dtype = d.pick(INTEGERS[:-1])
    most = {"bool": 1, "int8": 127, "uint8": 255}.get(dtype, d.pick([9, 1022, 1023, 5000]))
    shape = (d.extent(3000),)
    values = d.random.randint(0, most + 1, shape).astype(dtype)
    if d.chance(0.1) and values.dtype.kind == "i" and values.size:
        d.refused = "KZ_RANGE"
        values[d.integer(0, values.size - 1)] = -1
    if values.size:
        draw_weights(d, shape)
    d.options["minlength"] = d.keywords["minlength"] = d.pick([0, 20, 2000])
    return (d.lay(dtype, values),)


def reference_bincount(values, weights=None, minlength=0):
    return np.bincount(values.astype(np.int64), weights, minlength)


# scatter: add.at and others combine in the order of the indexes, so floats are the same, too.  0.0
# and
# -0.0 are equal, and numpy takes either as the lesser one.

OPS = ["ADD", "MIN", "MAX"]


def draw_scatter(d):
    dtype, op = d.pick([each for each in ORDERED if each != "bfloat16"]), d.pick(OPS)
    shape = tuple(d.integer(1, 9) for _ in range(d.integer(1, 3)))
    axis = d.integer(-len(shape), len(shape) - 1)
    extent, at = shape[axis], axis % len(shape)
    indexes = d.random.randint(-extent, extent, (d.extent(30),) if d.chance(0.7) else (4,
                                                                                       d.extent(9)))
    if d.chance(0.1) and indexes.size:
        d.refused = "KZ_RANGE"
        indexes.flat[d.integer(0, indexes.size - 1)] = d.pick([extent, -extent - 1])
    taken = shape[:at] + indexes.shape + shape[at + 1:]
    array = d.lay(dtype, d.numbers(dtype, shape), plain=0.5)
    while not array.is_distinct():
        array = d.lay(dtype, array.value)
    d.options["axis"] = d.keywords["axis"] = axis
    return array, d.lay("int64", indexes.astype(np.int64)), d.lay(dtype,
                                                                  d.numbers(dtype, taken)), op


def ours_scatter(library, array, indexes, values, op, **options):
    array.written = True
    library.call("kz_array_scatter", array, indexes, values, library.number("KZ_SCATTER_" + op),
                 **options)
    return [Result(array.after, array.dtype)]


def reference_scatter(array, indexes, values, op, axis):
    result = array.copy()
    moved = np.moveaxis(result, axis, 0)
    at = axis % array.ndim
    source = np.moveaxis(values, range(at, at + indexes.ndim), range(indexes.ndim))
    {"ADD": np.add, "MIN": np.minimum, "MAX": np.maximum}[op].at(moved, indexes, source)
    return result


# Segments and runs.  numpy.ufunc.reduceat takes a segment without elements for one of one, so
# segments are reduced one by one.

REDUCTIONS = {"SUM": np.sum, "PROD": np.prod, "MIN": np.min, "MAX": np.max}


def draw_op(d):
    """Small numbers, whose sums and products are exact, and what they are reduced by."""
    dtype, op = d.pick([each for each in ORDERED + COMPLEX if each != "bfloat16"]), d.pick(list(REDUCTIONS))
    if dtype in COMPLEX:
        op = d.pick(["SUM", "PROD"])
    values = d.random.randint(0, 2 if op == "PROD" else 9, (d.extent(400),))
    return op, d.lay(dtype, values.astype(dtype))


def reduced(op, values, first, end):
    part = values[first:end]
    if end > first or op in ("SUM", "PROD"):
        return REDUCTIONS[op](part)
    kind = values.dtype.kind
    ends = (False, True) if kind == "b" else (-np.inf, np.inf) if kind == "f" else \
        (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max)
    return ends[op == "MIN"]


def result_type(op, values):
    return REDUCTIONS[op](np.ones(1, values.dtype)).dtype


def draw_segments(d):
    op, values = draw_op(d)
    count = values.value.size
    offsets = np.sort(d.random.randint(0, count + 1, (d.integer(1, 60),)))
    if d.chance(0.1) and len(offsets) > 1 and offsets[0] != offsets[-1]:
        d.refused = "KZ_INVALID"
        offsets = offsets[::-1]
    return values, d.lay("int64", offsets.astype(np.int64)), op


def ours_segments(library, values, offsets, op, **options):
    return library.call("kz_segment_reduce", values, offsets, library.number("KZ_REDUCE_" + op),
                        **options)


def reference_segments(values, offsets, op):
    if np.any(np.diff(offsets) < 0):
        raise ValueError("offsets that fall")
    return np.array([reduced(op, values, first, end) for first, end in zip(offsets, offsets[1:])],
                    result_type(op, values))


def draw_by_key(d):
    op, values = draw_op(d)
    keys = np.repeat(d.random.randint(0, 3, (400,)),
                     d.random.randint(0, 9, (400,)))[:values.value.size]
    keys = np.concatenate([keys, np.zeros(values.value.size - len(keys), int)])
    return d.lay("int16", keys.astype(np.int16)), values, op


def ours_by_key(library, keys, values, op, **options):
    return library.call("kz_reduce_by_key", keys, values, library.number("KZ_REDUCE_" + op),
                        **options)


def runs_of(keys):
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else \
        np.zeros(0, int)
    return np.concatenate([begins, [keys.size]]).astype(np.int64)


def reference_by_key(keys, values, op):
    offsets = runs_of(keys)
    return keys[offsets[:-1]], reference_segments(values, offsets, op)


def draw_line(d):
    dtype = d.pick(ORDERED + COMPLEX)
    return (d.lay(dtype, draw_values(d, dtype, (d.extent(300),))),)


def reference_encode(values):
    offsets = runs_of(values)
    return values[offsets[:-1]], np.diff(offsets)


def draw_decode(d):
    (values,) = draw_line(d)
    lengths = d.random.randint(0, d.pick([1, 2, 9]), values.shape).astype(np.int32)
    if d.chance(0.1) and lengths.size:
        d.refused = "KZ_RANGE"
        lengths[d.integer(0, lengths.size - 1)] = -1
    return values, d.lay("int32", lengths)


def own_dtype(case):
    return [case.operands[0].dtype] + ["int64"] * (len(case.expected) - 1)


ROWS = [
    Row("searchsorted", draw_searchsorted, "kz_searchsorted", reference_searchsorted, cases=120),
    Row("digitize", draw_digitize, "kz_digitize", reference_digitize, cases=80),
    Row("histogram", draw_histogram, "kz_histogram", reference_histogram, sums_bound, cases=80,
        dtype=lambda case: [each.dtype.name for each in case.expected]),
    Row("histogram of any range", draw_histogram_of_any_range, "kz_histogram",
        reference_of_any_range,
        holds=holds_of_any_range, compares=False, cases=200, dtype=edges_dtype),
    Row("histogram between", draw_histogram_between, "kz_histogram", reference_histogram,
        sums_bound,
        cases=80, dtype=lambda case: [case.expected[0].dtype.name,
                                       case.draw.options["edges"].dtype]),
    Row("bincount", draw_bincount, "kz_bincount", reference_bincount, sums_bound, cases=80),
    Row("scatter", draw_scatter, ours_scatter, reference_scatter, cases=100,
        dtype=lambda case: [case.operands[0].dtype]),
    Row("segment_reduce", draw_segments, ours_segments, reference_segments, cases=100),
    Row("reduce_by_key", draw_by_key, ours_by_key, reference_by_key, cases=80),
    Row("run_length_encode", draw_line, "kz_run_length_encode", reference_encode, dtype=own_dtype),
    Row("run_length_decode", draw_decode, "kz_run_length_decode", np.repeat, dtype=own_dtype),
]
