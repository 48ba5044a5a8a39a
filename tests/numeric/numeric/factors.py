# SPDX-License-Identifier: MIT
#
# Factors, singular values, eigenvalues, least squares, and numbers that describe a matrix.
#
# Results that the definition leaves open, as the sign of a singular vector, are not compared: their
# identities are, and their types and shapes.

import numpy as np

from numeric.operands import HALVES, INEXACT, INTEGERS
from numeric.solvers import bytes_of, columns, computed, condition, each, general, half_of, \
    hermitian, identity, norm, off, order, orthonormal, positive, same, symmetric, wide
from numeric.table import EPS, FACTOR, Row, eps

TYPES = INEXACT * 4 + HALVES + ["int32", "uint8"]
TRIANGLES = ["KZ_LOWER", "KZ_UPPER"]
CUTOFF = {4: 1e-5, 8: 1e-10}  # far from the singular values that are not 0


def made(d, dtype, batch, m, n, rank=None):
    """Matrices of any type."""
    if dtype in INTEGERS:
        return d.numbers(dtype, batch + (m, n))
    return d.rounded(dtype, general(d, "float32" if dtype in HALVES else dtype, batch, m, n, rank))


def rectangle(d, types=TYPES, rank=False, least=0):
    dtype, m, n = d.pick(types), max(least, order(d)), max(least, order(d))
    low = d.integer(0, min(m, n)) if rank and d.chance(0.4) else None
    return d.matrices(dtype, d.batch(), lambda batch: made(d, dtype, batch, m, n, low))


def with_nan(d, a):
    """One element is NaN, which may not make an iteration endless."""
    if a.dtype in INEXACT and a.value.size and d.chance(0.04):
        values = a.value.copy()
        values[tuple(d.integer(0, extent - 1) for extent in a.shape)] = np.nan
        d.refused = "KZ_NUMERIC"
        return d.lay(a.dtype, values)
    return a


def finite(function):
    def reference(a, *rest):
        if not np.isfinite(wide(a)).all():
            raise np.linalg.LinAlgError("NaN")
        return function(computed(a), *rest)
    return reference


def own_types(case):
    return [each.dtype.name for each in case.expected]


def real_of(dtype):
    return np.empty(0, dtype).real.dtype


def numbered(name, *at):
    """The C function, with the constants at these places of its inputs."""
    def ours(library, *inputs, **options):
        inputs = [library.number(x) if i in at else x for i, x in enumerate(inputs)]
        return library.call(name, *inputs, **options)
    return ours


# lu, cholesky, qr

def reference_lu(a):
    """Its shapes and types."""
    a = computed(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    return (np.zeros(a.shape[:-2] + (m, m), real_of(a.dtype)),
            np.zeros(a.shape[:-2] + (m, k), a.dtype), np.zeros(a.shape[:-2] + (k, n), a.dtype))


def lu_holds(case):
    a, (p, l, u) = computed(case.values[0]), case.ours
    size = norm(l) * norm(u)
    yield same("P L U = A", wide(p) @ wide(l) @ wide(u), wide(a), off(case, size))
    yield "P has a one in each row", np.sum(p == 1, axis=-1), np.ones(p.shape[:-1], int), 0
    yield "P'P = I", hermitian(p) @ p, identity(p, p.shape[-1]), 0
    k = l.shape[-1]
    yield "L is lower", np.triu(l, 1), np.zeros_like(l), 0
    yield "L has ones", np.diagonal(l, 0, -2, -1), np.ones(l.shape[:-2] + (k,)), 0
    yield "U is upper", np.tril(u, -1), np.zeros_like(u), 0
    # LAPACK compares the sizes of complex numbers as |re| + |im|.
    yield "pivots are the largest", np.maximum(np.abs(l), 1.5), np.full(l.shape, 1.5), 1e-3


def draw_cholesky(d):
    dtype, n, triangle = d.pick(INEXACT), order(d), d.pick(TRIANGLES)
    sign = 1
    if n and d.chance(0.05):
        d.refused, sign = "KZ_NUMERIC", -1
    batch = d.batch()
    return d.matrices(dtype, batch, lambda batch: half_of(
        sign * positive(d, dtype, batch, n), triangle == "KZ_LOWER")), triangle


def whole(a, triangle):
    """The Hermitian matrix of which one triangle is read."""
    a = a if triangle == "KZ_LOWER" else hermitian(a)
    below = np.tri(a.shape[-1], dtype=bool)
    lower = np.where(below, a, np.zeros((), a.dtype))
    strict = np.where(below.T, np.zeros((), a.dtype), a)
    index = np.arange(a.shape[-1])
    lower[..., index, index] = lower[..., index, index].real
    return lower + hermitian(strict)


def reference_cholesky(a, triangle):
    lower = np.linalg.cholesky(whole(computed(a), triangle))
    return lower if triangle == "KZ_LOWER" else hermitian(lower)


def cholesky_bound(case):
    a = whole(computed(case.values[0]), case.inputs[1])
    return [each(off(case, condition(a) * norm(case.expected[0])))]


def cholesky_holds(case):
    triangle = case.inputs[1]
    a, f = whole(computed(case.values[0]), triangle), case.ours[0]
    l = f if triangle == "KZ_LOWER" else hermitian(f)
    yield same("L L' = A", wide(l) @ wide(hermitian(l)), wide(a), off(case, norm(a)))
    yield "L is lower", np.triu(l, 1), np.zeros_like(l), 0


QR_MODES = {"KZ_QR_REDUCED": "reduced", "KZ_QR_COMPLETE": "complete", "KZ_QR_R": "r"}


def draw_qr(d):
    return rectangle(d), d.pick(list(QR_MODES))


def reference_qr(a, mode):
    """Its shapes and types."""
    a = computed(a)
    m, n = a.shape[-2:]
    k = m if mode == "KZ_QR_COMPLETE" else min(m, n)
    r = np.zeros(a.shape[:-2] + (k, n), a.dtype)
    return r if mode == "KZ_QR_R" else (np.zeros(a.shape[:-2] + (m, k), a.dtype), r)


def qr_holds(case):
    a, r = computed(case.values[0]), case.ours[-1]
    if len(case.ours) == 2:
        q = case.ours[0]
        yield same("Q R = A", wide(q) @ wide(r), wide(a), off(case, norm(a)))
        yield orthonormal(case, "Q", q)
    yield same("R'R = A'A", wide(hermitian(r)) @ wide(r), wide(hermitian(a)) @ wide(a),
               off(case, norm(a) ** 2))
    yield "R is upper", np.tril(r, -1), np.zeros_like(r), 0


# svd

def draw_svd(d):
    return with_nan(d, rectangle(d, rank=True)), int(d.chance(0.5))


def draw_svdvals(d):
    return [with_nan(d, rectangle(d, rank=True))]


def reference_svd(a, full):
    """Its shapes and types; the singular values are compared in svd_holds."""
    m, n = a.shape[-2:]
    k = min(m, n)
    return (np.zeros(a.shape[:-2] + (m, m if full else k), a.dtype),
            np.zeros(a.shape[:-2] + (k,), real_of(a.dtype)),
            np.zeros(a.shape[:-2] + (n if full else k, n), a.dtype))


# pca: the sign rule makes components unique where their variances are apart

def draw_pca(d):
    dtype = d.pick(["float32", "float64", "complex64", "complex128", "int32"])
    m, n = d.integer(3, 30), d.integer(1, 20)
    values = np.linspace(1, 3, min(m - 1, n))
    made = d.random.standard_normal((m, n)) + 1j * d.random.standard_normal((m, n))
    made = made if dtype.startswith("complex") else made.real
    made = made - made.mean(axis=0)
    u, _, vh = np.linalg.svd(made, full_matrices=False)
    made = (u[:, :len(values)] * values) @ vh[:len(values)] + d.random.uniform(-2, 2, n)
    made = np.round(made * 10000) if dtype == "int32" else made
    return d.lay(dtype, made.astype(dtype)), d.integer(1, len(values))


def reference_pca(x, count):
    kind = {"float32": "float32", "complex64": "complex64"}.get(x.dtype.name)
    kind = kind or ("complex128" if x.dtype.kind == "c" else "float64")
    x = x.astype(complex if x.dtype.kind == "c" else float)
    mean = x.mean(axis=0)
    u, s, vh = np.linalg.svd(x - mean, full_matrices=False)
    largest = np.take_along_axis(vh, np.abs(vh).argmax(axis=1)[:, None], 1)
    phase = largest / np.abs(largest)
    scores, loadings = u * s * phase[:, 0], vh * phase.conj()
    variances = s ** 2 / (len(x) - 1)
    real = "float32" if kind in ("float32", "complex64") else "float64"
    return (scores[:, :count].astype(kind), loadings[:count].astype(kind),
            variances[:count].astype(real), mean.astype(kind))


def pca_bound(case):
    size = max(1.0, float(np.abs(case.values[0]).max()))
    error = 4000 * eps(case.result_dtypes()[0])
    return [error * size, error, error * size ** 2, error * size]


def svdvals(a):
    return np.linalg.svd(a, compute_uv=False)


def svd_holds(case):
    a, (u, s, vh) = computed(case.values[0]), case.ours
    k = s.shape[-1]
    product = (wide(u[..., :k]) * s[..., None, :]) @ wide(vh[..., :k, :])
    yield same("U S V' = A", product, wide(a), off(case, norm(a)))
    yield orthonormal(case, "U", u)
    yield orthonormal(case, "V", hermitian(vh))
    yield "S descends", np.sort(s, axis=-1)[..., ::-1], s, 0
    yield "S is numpy's", s, svdvals(a), off(case, norm(a))[..., None]


def svdvals_bound(case):
    return [off(case, norm(computed(case.values[0])))[..., None]]


# eigh, eig

def draw_eigh(d):
    dtype, n, triangle = d.pick(INEXACT), order(d), d.pick(TRIANGLES)
    return d.matrices(dtype, d.batch(), lambda batch: half_of(
        symmetric(d, dtype, batch, n), triangle == "KZ_LOWER")), triangle


def reference_eigh(a, triangle):
    a = whole(a, triangle)
    return np.linalg.eigvalsh(a), np.zeros(a.shape, a.dtype)


def reference_eigvalsh(a, triangle):
    return np.linalg.eigvalsh(whole(a, triangle))


def eigvalsh_bound(case):
    return [off(case, norm(whole(case.values[0], case.inputs[1])))[..., None]]


def eigh_holds(case):
    a, (w, v) = whole(case.values[0], case.inputs[1]), case.ours
    yield same("A V = V W", wide(a) @ wide(v), wide(v) * w[..., None, :], off(case, norm(a)))
    yield orthonormal(case, "V", v)
    yield "W ascends", np.sort(w, axis=-1), w, 0
    yield "W is numpy's", w, case.expected[0], eigvalsh_bound(case)[0]


def draw_eig(d):
    """Any matrices, symmetric ones, and those with pairs of complex eigenvalues."""
    dtype, n = d.pick(INEXACT * 4 + ["int32", "float16"]), order(d)

    def make(batch):
        values = made(d, dtype, batch, n, n)
        if d.chance(0.2):
            values = values + np.swapaxes(values, -1, -2)
        return d.rounded(dtype, values) if dtype not in INTEGERS else values.astype(dtype)
    return [with_nan(d, d.matrices(dtype, d.batch(), make))]


def complex_of(dtype):
    return "complex64" if bytes_of(dtype) == 4 else "complex128"


def reference_eig(a):
    """Its shapes and types."""
    kind = complex_of(a.dtype)
    return np.zeros(a.shape[:-1], kind), np.zeros(a.shape, kind)


def reference_eigvals(a):
    return np.zeros(a.shape[:-1], complex_of(a.dtype))


def eig_holds(case):
    a, (w, v) = computed(case.values[0]), case.ours
    yield same("A V = V W", wide(a) @ wide(v), wide(v) * w[..., None, :], off(case, norm(a)))
    yield "|v| = 1", np.sum(np.abs(wide(v)) ** 2, axis=-2), np.ones(w.shape), each(off(case, 1))[0]
    yield from eigvals_holds(case)


def eigvals_holds(case):
    """Each eigenvalue is near one of numpy's, as near as the condition of the vectors allows."""
    a, w = wide(computed(case.values[0])), case.ours[0]
    if w.size == 0:
        return
    n = w.shape[-1]
    expected, v = np.linalg.eig(a)
    paired = [pair(*both) for both in zip(w.reshape(-1, n), expected.reshape(-1, n))]
    yield "W is numpy's", np.array(paired).reshape(w.shape), expected, \
        off(case, condition(v) * norm(a))[..., None]
    yield "the sum of W is the trace", np.sum(w.astype(complex), axis=-1), \
        np.trace(a, axis1=-2, axis2=-1).astype(complex), n * off(case, norm(a))


def pair(values, expected):
    """The values in the order of the expected ones."""
    left, found = list(values), []
    for one in expected:
        found.append(left.pop(int(np.argmin(np.abs(np.array(left) - one)))))
    return found


# lstsq, pinv, matrix_rank

def draw_pinv(d):
    a = rectangle(d, types=INEXACT, rank=True)
    return a, CUTOFF[bytes_of(a.dtype)]


def pinv_bound(case):
    a = case.values[0]
    return [each(off(case, effective(a) * norm(case.expected[0])))]


def pinv_holds(case):
    a, x = wide(case.values[0]), wide(case.ours[0])
    grown = norm(a) * norm(x) + 1
    yield same("A X A = A", a @ x @ a, a, off(case, grown * norm(a)))
    yield same("X A X = X", x @ a @ x, x, off(case, grown * norm(x)))
    yield same("(A X)' = A X", hermitian(a @ x), a @ x, off(case, grown))
    yield same("(X A)' = X A", hermitian(x @ a), x @ a, off(case, grown))


def effective(a):
    """The condition number of each matrix, among the singular values that count."""
    if 0 in a.shape[-2:]:
        return np.ones(a.shape[:-2])
    values = np.linalg.svd(wide(a), compute_uv=False)
    largest = values[..., :1]
    least = np.min(np.where(values > CUTOFF[bytes_of(a.dtype)] * largest, values, np.inf), axis=-1)
    return np.where(np.isfinite(least), largest[..., 0] / least, 1)


def draw_lstsq(d):
    dtype, m, n = d.pick(INEXACT), max(1, order(d)), max(1, order(d))
    low = d.integer(1, min(m, n)) if d.chance(0.3) else None
    a = d.matrices(dtype, (), lambda batch: general(d, dtype, batch, m, n, low))
    rows = m
    if d.chance(0.05):
        d.refused, rows = "KZ_INVALID", m + 1
    return a, d.array(dtype, (rows,) if d.chance(0.4) else (rows, d.integer(1, 4))), \
        CUTOFF[bytes_of(dtype)]


def reference_lstsq(a, b, rcond):
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    return x, residuals, np.int64(rank), s


def lstsq_bound(case):
    """Higham, section 20.1: the residual counts with the square of the condition number."""
    a, b, _ = case.values
    x, grown = case.expected[0], effective(a)
    size = np.sqrt((np.abs(wide(a)) ** 2).sum())
    sizes = [np.sqrt((np.abs(each) ** 2).sum()) for each in
             (wide(x), wide(b) - wide(a) @ wide(x), wide(b))]
    return [off(case, grown * sizes[0] + grown ** 2 * sizes[1] / size),
            off(case, grown * (sizes[2] + size * sizes[0]) ** 2), 0, off(case, size)]


def lstsq_holds(case):
    a, b, _ = case.values
    x = columns(case.ours[0])
    left = wide(hermitian(a)) @ (wide(a) @ wide(x) - columns(wide(b)))
    yield same("A' (A x - b) = 0", left, np.zeros_like(left),
               off(case, norm(a) * (norm(a) * norm(x) + norm(columns(b)))))


def draw_rank(d):
    a = rectangle(d, types=INEXACT, rank=True)
    largest = np.linalg.norm(wide(a.value).reshape(-1)) if a.value.size else 1
    return a, -1.0 if d.chance(0.3) else float(CUTOFF[bytes_of(a.dtype)] * largest)


def reference_rank(a, tolerance):
    if 0 in a.shape[-2:]:
        return np.zeros(a.shape[:-2], np.int64)
    return np.asarray(np.linalg.matrix_rank(a, None if tolerance < 0 else tolerance), np.int64)


# trace, norm, cond

def draw_trace(d):
    dtype = d.pick(INEXACT * 2 + HALVES + INTEGERS)
    return d.array(dtype, d.batch() + (d.extent(9), d.extent(9))), \
        d.integer(-4, 4) if d.chance(0.5) else 0


def reference_trace(a, offset):
    if a.dtype == np.float16:
        return np.asarray(np.trace(a.astype(np.float32), offset, -2, -1)).astype(np.float16)
    return np.trace(a, offset, -2, -1)


def trace_bound(case):
    a, offset = case.values
    dtype = case.result_dtypes()[0]
    wider = a.astype(complex if a.dtype.kind == "c" else float)
    scale = np.trace(np.abs(wider), offset, -2, -1)
    unit = EPS["float32"] if dtype in HALVES else eps(dtype)
    rounding = eps(dtype) * np.abs(case.expected[0]) if dtype in HALVES else 0
    return [FACTOR * (a.shape[-1] + 4) * unit * scale + rounding]


VECTOR_ORDERS = [2.0, 1.0, np.inf, -np.inf, 0.0, 3.0, -1.0, 0.5]
MATRIX_ORDERS = ["fro", "nuc", 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf]
KINDS = {None: "KZ_NORM_DEFAULT", "fro": "KZ_NORM_FROBENIUS", "nuc": "KZ_NORM_NUCLEAR"}


def draw_norm(d):
    shape = tuple(d.extent(8) for _ in range(d.integer(1, 4)))
    axes = [int(axis) for axis in d.random.permutation(len(shape))]
    which = d.pick(["vector", "matrix", "all"])
    if which == "matrix" and len(shape) > 1:
        axes, how = tuple(axes[:2]), d.pick(MATRIX_ORDERS + [None])
    elif which == "all":
        axes, how = None, None
    else:
        axes, how = (axes[0],), d.pick(VECTOR_ORDERS + [None])
    if d.chance(0.3):
        d.options["keepdims"], d.keywords["keepdims"] = 1, True
    if 0 in shape:
        how = None  # versions of numpy differ in what the largest of no elements is
    return d.array(d.pick(INEXACT * 4 + ["int32", "uint8", "bool"]), shape), how, axes


def ours_norm(library, a, how, axes, **options):
    kind = KINDS.get(how, "KZ_NORM_P")
    return library.call("kz_linalg_norm", a, library.number(kind),
                        float(how) if kind == "KZ_NORM_P" else 0.0, axes, **options)


def reference_norm(a, how, axes, keepdims=False):
    a = computed(a)
    if axes is None:
        value = np.linalg.norm(a.reshape(-1))
        return np.reshape(value, (1,) * a.ndim if keepdims else ())
    value = np.linalg.norm(a, how, axes[0] if len(axes) == 1 else axes, keepdims)
    return np.asarray(value, real_of(a.dtype))


def norm_bound(case):
    a, how, axes = case.values
    scale = np.abs(case.expected[0])
    if axes and len(axes) == 2 and how in ("nuc", 2.0, -2.0):
        scale = scale + reference_norm(a, "fro", axes, case.draw.keywords.get("keepdims", False))
    scale = np.where(np.isfinite(scale), scale, 0)
    return [FACTOR * (a.size + 8) * case.eps * scale]


def draw_cond(d):
    dtype, n = d.pick(INEXACT), max(1, order(d))
    how = d.pick([None, None] + MATRIX_ORDERS[:1] + MATRIX_ORDERS[2:])
    m = d.integer(1, 9) if how in (None, 2.0, -2.0) and d.chance(0.4) else n
    return d.matrices(dtype, d.batch(), lambda batch: general(d, dtype, batch, m, n)), how


def ours_cond(library, a, how, **options):
    kind = KINDS.get(how, "KZ_NORM_P")
    return library.call("kz_cond", a, library.number(kind),
                        float(how) if kind == "KZ_NORM_P" else 0.0, **options)


def reference_cond(a, how):
    return np.asarray(np.linalg.cond(a, how)).real.astype(real_of(a.dtype))


def cond_bound(case):
    return [off(case, condition(case.values[0]) * np.abs(case.expected[0]))]


def open_row(name, draw, ours, reference, holds, cases=120):
    """A row whose results are not unique."""
    return Row(name, draw, ours, reference, holds=holds, dtype=own_types, compares=False,
               cases=cases)


ROWS = [
    open_row("lu", lambda d: [rectangle(d)], "kz_lu", reference_lu, lu_holds),
    Row("cholesky", draw_cholesky, numbered("kz_cholesky", 1), reference_cholesky, cholesky_bound,
        cholesky_holds, own_types, cases=120, into=True),
    open_row("qr", draw_qr, numbered("kz_qr", 1), reference_qr, qr_holds),
    open_row("svd", draw_svd, "kz_svd", finite(reference_svd), svd_holds),
    Row("pca", draw_pca, "kz_pca", reference_pca, pca_bound, cases=60),
    Row("svdvals", draw_svdvals, "kz_svdvals", finite(svdvals), svdvals_bound, dtype=own_types,
        into=True),
    open_row("eigh", draw_eigh, numbered("kz_eigh", 1), reference_eigh, eigh_holds),
    Row("eigvalsh", draw_eigh, numbered("kz_eigvalsh", 1), reference_eigvalsh, eigvalsh_bound,
        dtype=own_types, into=True),
    open_row("eig", draw_eig, "kz_eig", finite(reference_eig), eig_holds),
    open_row("eigvals", draw_eig, "kz_eigvals", finite(reference_eigvals), eigvals_holds),
    Row("lstsq", draw_lstsq, "kz_lstsq", reference_lstsq, lstsq_bound, lstsq_holds, own_types,
        cases=120),
    Row("pinv", draw_pinv, "kz_pinv", np.linalg.pinv, pinv_bound, pinv_holds, own_types, into=True),
    Row("matrix_rank", draw_rank, "kz_matrix_rank", reference_rank),
    Row("trace", draw_trace, "kz_trace", reference_trace, trace_bound, into=True),
    Row("norm", draw_norm, ours_norm, reference_norm, norm_bound, dtype=own_types, cases=200),
    Row("cond", draw_cond, ours_cond, reference_cond, cond_bound, dtype=own_types),
]
