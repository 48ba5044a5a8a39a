# SPDX-License-Identifier: MIT
#
# Matrices from parts of others, covariances: linalg.h and scan.h.

import warnings

import numpy as np

from numeric.library import Result
from numeric.operands import COMPLEX, HALVES, INEXACT, INTEGERS, promote
from numeric.table import EPS, Row, absolute, apart

ALL = INEXACT * 3 + HALVES + INTEGERS


def draw_triangle(d):
    shape = d.batch() + (d.extent(9), d.extent(9))
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        shape = ()
    return d.array(d.pick(ALL), shape), d.integer(-4, 4) if d.chance(0.6) else 0


def draw_diag(d):
    shape = (d.extent(9),) if d.chance(0.5) else (d.extent(9), d.extent(9))
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        shape = (2, 3, 4)
    return d.array(d.pick(ALL), shape), d.integer(-5, 5) if d.chance(0.6) else 0


def draw_diff(d):
    shape = tuple(d.extent(9) for _ in range(d.integer(1, 4)))
    axis = d.integer(-len(shape), len(shape) - 1)
    n = d.pick([1, 1, 1, 2, 3, 0, 12])
    if d.chance(0.04):
        d.refused = True
        n, axis = (-1, axis) if d.chance(0.5) else (1, len(shape))
    return d.array(d.pick(ALL), shape), n, axis


def reference_diff(a, n, axis):
    # Each difference of halves is rounded to a half, as in numpy.
    return np.diff(a, n=n, axis=axis)


def diff_bound(case):
    a, n, axis = case.values
    dtype = case.result_dtypes()[0]
    # Of bfloat16 numpy keeps more than 8 bits from one difference to the next.
    return [2 ** n * EPS["bfloat16"] * absolute(a).max(initial=0) if dtype == "bfloat16" else 0]


def draw_vander(d):
    x = d.array(d.pick(ALL), (d.extent(9),))
    return x, d.pick([-1, -1, 0, 1, 2, 5, 9]), d.pick([0, 1])


def reference_vander(x, columns, increasing):
    return np.vander(x, None if columns < 0 else columns, bool(increasing))


def vander_bound(case):
    return [apart(case.result_dtypes()[0], case.expected[0].shape[1], absolute(case.expected[0]),
                  case.expected[0])]


# In place

def target(d):
    shape = tuple(d.extent(9) for _ in range(d.integer(1, 3)))
    dtype = d.pick(INEXACT * 3 + HALVES + [each for each in INTEGERS if each != "bool"])
    array = d.lay(dtype, d.numbers(dtype, shape))
    array.written = True
    return array


def draw_scale(d):
    array = target(d)
    factors = [2, 0, 1, 7] if array.dtype in INTEGERS else [0.5, -3.0, 0.0, 1.25, 2]
    if array.dtype in COMPLEX:
        factors.append(1.5 - 0.25j)
    alpha = d.pick(factors)
    if array.dtype in INTEGERS and d.chance(0.1):
        d.refused = "KZ_INVALID"
        alpha = 2.5
    return array, alpha


def reference_scale(array, alpha):
    copy = array.copy()
    if copy.dtype == np.float16:
        return (copy.astype(np.float32) * np.float32(alpha)).astype(np.float16)
    copy *= alpha
    return copy


def draw_scale_along(d):
    array = target(d)
    axis = d.integer(-len(array.shape), len(array.shape) - 1)
    count = array.shape[axis]
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        count += 2
    return array, d.array(array.dtype, (count,)), axis


def reference_scale_along(array, factors, axis):
    if len(factors) != array.shape[axis]:
        raise ValueError("another count")
    return array * factors.reshape([len(factors) if i == axis % array.ndim else 1
                                    for i in range(array.ndim)])


def product_bound(case):
    return [apart(case.operands[0].dtype, 1, absolute(case.expected[0]), case.expected[0])]


def in_place(name):
    def ours(library, array, *rest):
        library.call(name, array, *rest)
        return [Result(array.after, array.dtype)]
    return ours


def own_dtype(case):
    return [case.operands[0].dtype]


def vander_dtype(case):
    return [promote(case.operands[0].dtype, "int64")]


# cov and corrcoef: the mean is subtracted, which costs as many digits as it is larger than the rest

def draw_cov(d):
    dtype = d.pick(ALL)
    kind = d.pick(INTEGERS + INEXACT)
    observations = d.extent(30)
    shapes = [(d.extent(7), observations), (d.integer(1, 3), observations)]
    if d.chance(0.15):
        shapes[d.integer(0, 1)] = (observations,)
    if d.chance(0.5):
        d.options["columns"] = 1
        shapes = [shape[::-1] for shape in shapes]
    if d.chance(0.4) and 0 not in shapes[0]:
        d.options["y"] = d.lay(kind, d.numbers(kind, shapes[1]))
        if d.chance(0.1):
            d.refused = "KZ_INVALID"
            d.options["y"] = d.lay("float32", d.numbers("float32", (observations + 1,)))
    if d.chance(0.5):
        d.options["ddof"] = d.integer(0, 2)
    x = d.lay(dtype, d.numbers(dtype, shapes[0]))
    is_complex = np.dtype(cov_dtype_of(d, x)).kind == "c"
    if d.chance(0.3):
        d.options["dtype"] = d.pick(COMPLEX if is_complex else INEXACT)
    d.keywords = {"options": d.options}
    return (x,)


def cov_dtype_of(d, x):
    return d.options.get("dtype") or promote(
        *[each.dtype for each in (x, d.options.get("y")) if each is not None], "float64")


def cov_dtype(case):
    return [cov_dtype_of(case.draw, case.operands[0])]


def rows_of(x, options):
    return x.T if options.get("columns") and x.ndim > 1 else np.atleast_2d(x)


def cov_operands(x, options):
    y = options.get("y")
    return [rows_of(x, options)] + ([] if y is None else [rows_of(y.value, options)])


def reference_cov(x, options):
    dtype = options.get("dtype")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.cov(*cov_operands(x, options), ddof=options.get("ddof", 1), dtype=dtype)


def reference_corrcoef(x, options):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.corrcoef(*cov_operands(x, options), dtype=options.get("dtype"))


def cov_bound(case):
    rows = np.concatenate(cov_operands(case.values[0], case.draw.options)).astype(complex)
    largest = np.abs(rows).max(initial=0)
    return [apart(case.result_dtypes()[0], rows.shape[1], 2 * largest ** 2)]


def corrcoef_bound(case):
    rows = np.concatenate(cov_operands(case.values[0], case.draw.options)).astype(complex)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread = (np.abs(rows).max(axis=1, initial=0) / np.std(rows, axis=1)) ** 2
    spread = np.nan_to_num(spread, posinf=0)
    return [apart(case.result_dtypes()[0], rows.shape[1],
                  np.squeeze(spread[:, None] + spread[None, :]))]


def cov_holds(case):
    ours = np.atleast_2d(case.ours[0])
    yield "the result, transposed and conjugated", ours.conj().T, ours, 0


ROWS = [
    Row("tril", draw_triangle, "kz_tril", np.tril, into="operand"),
    Row("triu", draw_triangle, "kz_triu", np.triu, into="operand"),
    Row("diag", draw_diag, "kz_diag", np.diag, into=True),
    Row("diff", draw_diff, "kz_diff", reference_diff, diff_bound, cases=150, into=True),
    Row("vander", draw_vander, "kz_vander", reference_vander, vander_bound, dtype=vander_dtype,
        into=True),
    Row("scale", draw_scale, in_place("kz_array_scale"), reference_scale, product_bound,
        dtype=own_dtype),
    Row("scale_along", draw_scale_along, in_place("kz_scale_along"), reference_scale_along,
        product_bound, dtype=own_dtype),
    Row("cov", draw_cov, "kz_cov", reference_cov, cov_bound, cov_holds, cov_dtype, into=True),
    Row("corrcoef", draw_cov, "kz_corrcoef", reference_corrcoef, corrcoef_bound, cov_holds,
        cov_dtype, into=True),
]
