# SPDX-License-Identifier: MIT
#
# What the layer stands on: expressions, and the norm of reduce.h over any axes.

import numpy as np

from numeric.operands import HALVES, INEXACT, INTEGERS
from numeric.table import Row, apart


# Expressions: numpy computes the same text.  Comparisons are bool, and a division by a number is
# one, not a product with its reciprocal.

TEXTS = ["2*a + b", "a*b - c", "(a - b) / 3", "where(a > b, a, c)", "a**2 - b**2", "a < b",
         "maximum(a, b) + minimum(b, c)", "(a != b) & (b <= c)", "-a / 7", "sqrt(abs(a)) + b",
         "isclose(a, b)", "isclose(a, b, 0.5, 0.1)", "isclose(a / b, b / c, 0.1, 0.1, True)",
         "nan_to_num(a / b)", "nan_to_num(a / b, 1.5, inf, -3.5)", "nan_to_num(a)"]
FUNCTIONS = {name: getattr(np, name) for name in ("where", "maximum", "minimum", "sqrt",
                                                  "isclose", "inf")}
FUNCTIONS["nan_to_num"] = lambda x, *rest: np.nan_to_num(x, True, *rest)


def draw_eval(d):
    text = d.pick(TEXTS)
    dtype = d.pick(["float32", "float64", "int32", "int64"])
    shape = tuple(d.extent(9) for _ in range(d.integer(1, 3)))
    shapes = [shape, d.fits(shape), d.fits(shape)]
    if d.chance(0.05) and shape[0] > 1:
        d.refused = "KZ_INVALID"
        text, shapes[:2] = "2*a + b", (shape, (shape[0] + 1,) + shape[1:])
    # A 0-d array would be a scalar, whose type does not count, in old versions of numpy.
    shapes = [each if each else (1,) for each in shapes]
    return text, {name: d.array(dtype, each) for name, each in zip("abc", shapes)}, 3


def reference_eval(text, variables, _):
    return eval(text, dict(FUNCTIONS), variables)


# The norm, of any type: those of integers are float64, squares of halves are float32.

def draw_norm(d):
    shape = tuple(d.extent(9) for _ in range(d.integer(1, 4)))
    axes = None if d.chance(0.3) else tuple(
        int(axis) - (len(shape) if d.chance(0.3) else 0)
        for axis in d.random.permutation(len(shape))[:d.integer(1, len(shape))])
    if d.chance(0.3):
        d.options["keepdims"] = d.keywords["keepdims"] = 1
    if d.chance(0.04):
        d.refused = True
        axes = (len(shape),) if d.chance(0.5) else (0, 0)
    return d.array(d.pick(INEXACT * 3 + HALVES + INTEGERS), shape), axes


def ours_norm(library, array, axes, **options):
    return library.call("kz_reduce", library.number("KZ_REDUCE_NORM"), array, axes, **options)


def reference_norm(a, axes, keepdims=0):
    wide = a.astype(np.float32) if a.dtype == np.float16 else a * np.float64(1) \
        if a.dtype.kind in "biu" else a
    norm = np.sqrt(np.sum(np.abs(wide) ** 2, axis=axes, keepdims=bool(keepdims)))
    return norm.astype(a.dtype) if a.dtype == np.float16 else norm


def norm_bound(case):
    return [apart(case.result_dtypes()[0], case.values[0].size, case.expected[0], case.expected[0])]


ROWS = [
    Row("eval", draw_eval, "kz_eval_vars", reference_eval, into="operand"),
    Row("reduce norm", draw_norm, ours_norm, reference_norm, norm_bound, cases=200, into="operand"),
]
