# SPDX-License-Identifier: MIT
#
# Products of linalg.h.  As in numpy integers wrap, and bool is "and" and "or".  Halves are added
# as float32 and rounded once, which numpy does within one product only.

import numpy as np

from numeric.operands import INTEGERS, any_dtypes
from numeric.table import Row, absolute, apart


def arrays_of(values):
    """The arrays among the inputs, in one list."""
    flat = []
    for each in values:
        flat.extend(each if isinstance(each, (list, tuple)) else [each])
    return [each for each in flat if isinstance(each, np.ndarray)]


def mapped(change, values):
    return [change(each) if isinstance(each, np.ndarray) else [change(x) for x in each]
            if isinstance(each, (list, tuple)) and arrays_of([each]) else each for each in values]


def wide(function):
    """A reference of the common type, for which 0-d arrays count; that of halves is float32."""
    def reference(*values):
        common = np.result_type(*[each.dtype for each in arrays_of(values)])
        wider = np.float32 if common == np.float16 else common
        return np.asarray(function(*mapped(lambda x: x.astype(wider), values))).astype(common)
    return reference


def bound(function, terms):
    """The products of absolute values, added in the same way; terms(*values) are added."""
    def allowed(case):
        values = case.values
        scale = np.asarray(function(*mapped(absolute, values)))
        return [apart(case.result_dtypes()[0], terms(*values), scale, case.expected[0])]
    return allowed


def row(name, draw, function, terms, cases=100, ours=None):
    return Row(name, draw, ours or "kz_" + name, wide(function), bound(function, terms),
               cases=cases, into="operand")


# dot, vdot, inner, outer, kron

def shape(d, least=0, most=3, extent=9):
    return tuple(d.extent(extent) for _ in range(d.integer(least, most)))


def draw_dot(d):
    first, second = any_dtypes(d, 2)
    k = d.extent(40)
    a, b = shape(d, most=2) + (k,), shape(d, most=1) + (k, d.extent(9))
    if d.chance(0.4):
        b = (k,)
    if d.chance(0.3):
        a = (k,)
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        a = a[:-1] + (k + 1,)
    elif d.chance(0.08):
        a = ()
    elif d.chance(0.08):
        b = ()
    return d.array(first, a), d.array(second, b)


def last(a, b):
    return min(a.shape[-1], b.shape[-1] if b.ndim == 1 else b.shape[-2]) if a.ndim and b.ndim else 1


def draw_vdot(d):
    first, second = any_dtypes(d, 2)
    a = shape(d, 1, 3, 12)
    b = a
    if d.chance(0.2):
        b = (int(np.prod(a)),)
    if d.chance(0.04):
        d.refused = "KZ_INVALID"
        b = (int(np.prod(a)) + 1,)
    return d.array(first, a), d.array(second, b)


def draw_inner(d):
    first, second = any_dtypes(d, 2)
    k = d.extent(30)
    a, b = shape(d, most=2) + (k,), shape(d, most=2) + (k,)
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        b = b[:-1] + (k + 1,)
    elif d.chance(0.08):
        a = ()
    return d.array(first, a), d.array(second, b)


def draw_two(d):
    first, second = any_dtypes(d, 2)
    return d.array(first, shape(d, 0, 3, 6)), d.array(second, shape(d, 0, 3, 6))


def one(*_):
    return 1


# tensordot

def draw_tensordot(d):
    first, second = any_dtypes(d, 2)
    count = d.integer(0, 2)
    shared = tuple(d.extent(6) for _ in range(count))
    a, b = shape(d, most=2, extent=6) + shared, shared + shape(d, most=2, extent=6)
    if count and d.chance(0.05):
        d.refused = "KZ_INVALID"
        b = (b[0] + 1,) + b[1:]
    return d.array(first, a), d.array(second, b), count


def draw_tensordot_axes(d):
    first, second = any_dtypes(d, 2)
    a = shape(d, 1, 4, 5)
    count = d.integer(0, len(a))
    a_axes = [int(axis) for axis in d.random.permutation(len(a))[:count]]
    b = [d.extent(5) for _ in range(d.integer(count, count + 2))]
    b_axes = [int(axis) for axis in d.random.permutation(len(b))[:count]]
    for i, j in zip(a_axes, b_axes):
        b[j] = a[i]
    if count and d.chance(0.05):
        d.refused = "KZ_INVALID"
        b[b_axes[0]] += 1
    if d.chance(0.3):
        a_axes = [axis - len(a) for axis in a_axes]
    return d.array(first, a), d.array(second, tuple(b)), tuple(a_axes), tuple(b_axes)


def tensordot_axes(a, b, a_axes, b_axes):
    return np.tensordot(a, b, (list(a_axes), list(b_axes)))


# einsum: random labels, some of them twice in an operand, some summed, some broadcast

KNOWN = ["ij,jk->ik", "ij,kj->ik", "ii", "ii->i", "ij->", "ij->j", "i,i", "i,j->ij", "bij,bjk->bik",
         "bqhd,bkhd->bhqk", "...ij,...jk->...ik", "i...->...", "ij,jk,kl->il", "ij,jk,ki->",
         "ijk,jil->kl", "abc,bd,dce,ef->af", "ia,ja,ka->ijk", "i,ij,j", "ij,jk,kl,lm->im"]


def draw_einsum(d):
    return draw_known(d) if d.chance(0.25) else draw_labels(d)


def draw_known(d):
    text = d.pick(KNOWN)
    extents = {label: d.integer(1, 9) for label in text if label.isalpha()}
    terms = text.split("->")[0].split(",")
    dots, operands = d.batch(), []
    for dtype, term in zip(any_dtypes(d, len(terms)), terms):
        before, ellipsis, after = term.partition("...")
        shape = [extents[label] for label in before]
        shape += d.fits(dots) if ellipsis else ()
        operands.append(d.array(dtype, tuple(shape) + tuple(extents[label] for label in after)))
    return text, operands


def draw_labels(d):
    labels = d.pick(["ijkl", "abcz", "iJKl"])
    extents = {label: d.extent(5) for label in labels}
    count = d.pick([1, 2, 2, 2, 3, 3, 4])
    kinds = any_dtypes(d, count)
    dots = tuple(d.integer(1, 3) for _ in range(d.integer(1, 2))) if d.chance(0.25) else None
    subscripts, operands = [], []
    for dtype in kinds:
        text = [d.pick(labels) for _ in range(d.integer(0, 3))]
        shape = [extents[label] for label in text]
        for i, label in enumerate(text):
            if d.chance(0.04) and text.count(label) == 1 and count > 1:
                shape[i] = 1
        if dots is not None and d.chance(0.7):
            at = d.integer(0, len(text))
            text.insert(at, "...")
            shape[at:at] = d.fits(dots)
        subscripts.append("".join(text))
        operands.append(d.array(dtype, tuple(shape)))
    text = ",".join(subscripts)
    if d.chance(0.75):
        used = sorted(set(text) - set(",."))
        kept = [str(label) for label in d.random.permutation(used)[:d.integer(0, len(used))]] \
            if used else []
        if "..." in text:
            kept.insert(d.integer(0, len(kept)), "...")
        text += "->" + "".join(kept)
    if d.chance(0.1):
        text = text.replace(",", " , ").replace("->", " -> ")
    if d.chance(0.03):
        d.refused = True
        text = d.pick([text + ",", text + ("->" if "->" in text else "->1"), "i" + text + "->"])
    return text, operands


def einsum(text, operands):
    return np.einsum(text, *operands)


def einsum_bound(case):
    text, values = case.values
    scale = np.einsum(text, *map(absolute, values))
    # The sums together have at most as many terms as there are combinations of labels.
    terms = np.einsum(text, *[np.ones(each.shape) for each in values])
    return [apart(case.result_dtypes()[0], terms + 4 * len(values), scale, case.expected[0])]


# Chains

def draw_mdot(d):
    count = d.pick([2, 3, 3, 4, 5])
    extents = [d.integer(1, 12) for _ in range(count + 1)]
    shapes = list(zip(extents, extents[1:]))
    if d.chance(0.2):
        shapes[0] = shapes[0][1:]
    if d.chance(0.2):
        shapes[-1] = shapes[-1][:1]
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        shapes[1] = (shapes[1][0] + 1,) + shapes[1][1:]
    kinds = any_dtypes(d, count)
    return [[d.array(dtype, each) for dtype, each in zip(kinds, shapes)]]


def mdot(arrays):
    return np.linalg.multi_dot(arrays)


def mdot_terms(arrays):
    return sum(each.shape[-1] if each.ndim > 1 else each.size for each in arrays)


def draw_matrix_power(d):
    n, power = d.extent(8), d.pick([0, 1, 2, 3, 3, 5, 7])
    dtype = any_dtypes(d, 1)[0]
    columns = n
    if d.chance(0.05):
        d.refused = "KZ_INVALID"
        columns = n + 1
    return d.array(dtype, d.batch() + (n, columns),
                   make=lambda shape: small(d, dtype, shape)), power


def small(d, dtype, shape):
    """Numbers whose powers fit a half."""
    numbers = d.numbers(dtype, shape)
    return numbers if dtype in INTEGERS else d.rounded(dtype, numbers * 0.5)


def matrix_power_terms(a, power):
    return a.shape[-1] * power


ROWS = [
    row("dot", draw_dot, np.dot, last, cases=200),
    row("vdot", draw_vdot, np.vdot, lambda a, b: a.size, cases=100),
    row("inner", draw_inner, np.inner, lambda a, b: a.shape[-1] if a.ndim else 1),
    row("outer", draw_two, np.outer, one),
    row("kron", draw_two, np.kron, one),
    row("tensordot", draw_tensordot, np.tensordot, lambda a, b, n: int(np.prod(b.shape[:n]))),
    row("tensordot_axes", draw_tensordot_axes, tensordot_axes, lambda a, b, *_: a.size),
    Row("einsum", draw_einsum, "kz_einsum", wide(einsum), einsum_bound, cases=400, into="operand"),
    row("mdot", draw_mdot, mdot, mdot_terms),
    row("matrix_power", draw_matrix_power, np.linalg.matrix_power, matrix_power_terms),
]
