# SPDX-License-Identifier: MIT
#
# Equations, inverses and determinants.
#
# A matrix is made of its singular values, so that its condition number is known and not too large.
# Results that numpy's definition leaves open, as the sign of a singular vector, are not compared;
# their identities are.  Norms here are Frobenius norms of single matrices.

import numpy as np

from numeric.operands import COMPLEX, HALVES, INEXACT, INTEGERS
from numeric.matmul import TURN
from numeric.table import FACTOR, Row, eps

CONDITIONS = {4: [1.5, 30, 1000], 8: [1.5, 100, 1e6]}  # by the bytes of a real number


# Matrices

def bytes_of(dtype):
    return np.empty(0, dtype).real.itemsize


def gauss(d, dtype, shape):
    values = d.random.standard_normal(shape)
    return values + 1j * d.random.standard_normal(shape) if dtype in COMPLEX else values


def unitary(d, dtype, batch, n):
    return np.linalg.qr(gauss(d, dtype, batch + (n, n)))[0]


def singular_values(d, dtype, batch, count):
    condition = d.pick(CONDITIONS[bytes_of(dtype)])
    values = condition ** -d.random.uniform(0, 1, batch + (count,))
    return values * d.pick([1.0, 0.01, 50.0])


def general(d, dtype, batch, m, n, rank=None):
    """(batch, m, n) of full rank, or of a lower one."""
    count = min(m, n)
    if count == 0:
        return np.zeros(batch + (m, n), dtype)
    values = singular_values(d, dtype, batch, count)
    if rank is not None:
        values[..., rank:] = 0
    left = unitary(d, dtype, batch, m)[..., :count] * values[..., None, :]
    return (left @ hermitian(unitary(d, dtype, batch, n))[..., :count, :]).astype(dtype)


def positive(d, dtype, batch, n):
    """(batch, n, n), hermitian and positive definite."""
    if n == 0:
        return np.zeros(batch + (n, n), dtype)
    basis = unitary(d, dtype, batch, n)
    values = singular_values(d, dtype, batch, n)
    made = (basis * values[..., None, :]) @ hermitian(basis)
    return ((made + hermitian(made)) / 2).astype(dtype)


def symmetric(d, dtype, batch, n):
    made = gauss(d, dtype, batch + (n, n))
    return (made + hermitian(made)).astype(dtype)


def half_of(matrix, lower=True):
    """The other half of a hermitian matrix becomes something that nobody may read."""
    n = matrix.shape[-1]
    other = np.triu(np.ones((n, n), bool), 1) if lower else np.tril(np.ones((n, n), bool), -1)
    return np.where(other, np.asarray(np.nan, matrix.dtype), matrix)


def hermitian(matrix):
    return np.conj(np.swapaxes(matrix, -1, -2))


def order(d, most=12):
    if d.chance(0.05):
        return d.integer(30, 90)
    return d.extent(most)


def square(d, make=general, dtypes=INEXACT, most=12):
    dtype, n = d.pick(dtypes), order(d, most)
    return d.matrices(dtype, d.batch(), lambda batch: make(d, dtype, batch, n, n) if make is general
                      else make(d, dtype, batch, n))


def rectangle(d, dtypes=INEXACT, rank=False, most=12):
    dtype, m, n = d.pick(dtypes), order(d, most), order(d, most)
    low = d.integer(0, min(m, n)) if rank and d.chance(0.5) else None
    return d.matrices(dtype, d.batch(), lambda batch: general(d, dtype, batch, m, n, low))


# Norms and bounds

def norm(matrix):
    return np.sqrt(np.sum(np.abs(matrix.astype(complex)) ** 2, axis=(-2, -1)))


def condition(matrix):
    """The condition number of each matrix; 1 for empty ones."""
    if 0 in matrix.shape[-2:]:
        return np.ones(matrix.shape[:-2])
    values = np.linalg.svd(matrix.astype(complex), compute_uv=False)
    return np.where(values[..., -1] > 0, values[..., 0] / values[..., -1], 1)


def off(case, scale, n=None):
    """FACTOR n eps scale for each matrix of a batch, to be compared with matrices."""
    a = case.values[0]
    return FACTOR * ((n or max(a.shape[-2:])) + 4) * eps(case.result_dtypes()[0]) * scale


def each(scale):
    """A number for each matrix of a batch, beside the matrices."""
    return np.asarray(scale)[..., None, None]


def identity(like, n):
    return np.broadcast_to(np.eye(n), like.shape[:-2] + (n, n))


def orthonormal(case, name, q):
    """The columns of q: Q'Q = I."""
    n = q.shape[-1]
    return (f"{name}'{name} = I", wide(hermitian(q)) @ wide(q), identity(q, n),
            off(case, 1, max(q.shape[-2:])))


def wide(matrix):
    return matrix.astype(complex if matrix.dtype.kind == "c" else float)


def same(text, left, right, allowed):
    return text, left, right, each(allowed)


# solve, inv, det, slogdet

def solvable(d, dtype, batch, n):
    """Of any type.  Those of integers are made so that their diagonal is large."""
    if dtype in INTEGERS:
        values = d.random.randint(0, 2 if dtype == "bool" else 5, batch + (n, n))
        values = np.triu(values) if dtype == "bool" else values
        values[..., np.arange(n), np.arange(n)] = 1 if dtype == "bool" else 60
        return values.astype(dtype)
    return d.rounded(dtype, general(d, "float32" if dtype in HALVES else dtype, batch, n, n))


def with_singular(d, dtype, batch, n):
    """One of the matrices has a column of zeros."""
    values = solvable(d, dtype, batch, n)
    values[(0,) * len(batch) + (slice(None), d.integer(0, n - 1))] = 0
    return values


def computed(a):
    """As the solvers convert it: halves are float32 and integers float64."""
    return a.astype(np.float32 if a.dtype == np.float16 else np.float64
                    if a.dtype.kind in "biu" else a.dtype)


def solver_dtype(case):
    common = np.result_type(*[computed(each.value) for each in case.operands])
    return [common.name]


SOLVED = INEXACT * 5 + HALVES + ["int32", "uint8", "bool"]


def draw_solve(d):
    dtype, n = d.pick(SOLVED), order(d)
    other = d.pick(INEXACT + ["int32"]) if d.chance(0.1) else dtype
    batch = d.batch()
    make = solvable
    if n and d.chance(0.05):
        d.refused, make = "KZ_NUMERIC", with_singular
    a = d.matrices(dtype, d.fits(batch), lambda batch: make(d, dtype, batch, n))
    columns = d.extent(5)
    if d.chance(0.06) and not d.refused:
        d.refused = "KZ_INVALID"
        return a, d.array(other, (n + 1, columns))
    if d.chance(0.3) or d.refused:
        return a, d.array(other, (n,))
    return a, d.array(other, d.fits(batch) + (n, columns))


def draw_square(singular=None):
    def draw(d):
        dtype, n = d.pick(SOLVED), order(d)
        make = solvable
        if n and d.chance(0.05):
            d.refused, make = singular or False, with_singular
        elif d.chance(0.03):
            d.refused = "KZ_INVALID"
            return [d.array(dtype, (n, n + 1))]
        return [d.matrices(dtype, d.batch(), lambda batch: make(d, dtype, batch, n))]
    return draw


def reference_inv(a):
    return np.linalg.inv(computed(a))


def reference_det(a):
    return np.linalg.det(computed(a))


def reference_slogdet(a):
    return tuple(np.linalg.slogdet(computed(a)))


def reference_solve(a, b):
    """numpy's, as of version 2: a 1-d b is a vector, all else are matrices."""
    a, x = computed(a), columns(computed(b))
    x = np.linalg.solve(a, x.reshape((1,) * (a.ndim - x.ndim) + x.shape))
    return x[..., 0] if b.ndim == 1 else x


def columns(b):
    return b[:, None] if b.ndim == 1 else b


def solve_bound(case, a=None):
    b = case.values[1]
    a = computed(case.values[0]) if a is None else a
    x = case.expected[0][..., None] if b.ndim == 1 else case.expected[0]
    sizes = np.sqrt(np.sum(np.abs(x) ** 2, axis=-2, keepdims=True))
    allowed = np.broadcast_to(off(case, each(condition(a)) * sizes), x.shape)
    return [allowed[..., 0] if b.ndim == 1 else allowed]


def solve_holds(case, a=None):
    b = case.values[1]
    a = computed(case.values[0]) if a is None else a
    x = case.ours[0][..., None] if b.ndim == 1 else case.ours[0]
    left = wide(a) @ wide(x)
    right = np.broadcast_to(columns(b), left.shape)
    yield same("A x = b", left, right, off(case, norm(a) * norm(x) + norm(right)))


def inv_bound(case):
    a = computed(case.values[0])
    return [each(off(case, condition(a) * norm(case.expected[0])))]


def inv_holds(case):
    a, x = computed(case.values[0]), case.ours[0]
    yield same("A inv(A) = I", wide(a) @ wide(x), identity(a, a.shape[-1]),
               off(case, norm(a) * norm(x)))


def determined(a):
    """How a determinant changes with a random error of the matrix; 0 for a singular matrix.

    It is the Frobenius norm of the inverse, times the norm of the matrix.
    """
    if 0 in a.shape[-2:]:
        return np.zeros(a.shape[:-2])
    values = np.linalg.svd(a.astype(complex), compute_uv=False)
    singular = values[..., -1] <= 1e-12 * values[..., 0]
    return np.where(singular, 0, np.sqrt(np.sum((values[..., :1] / values) ** 2, axis=-1)))


def det_bound(case):
    return [off(case, determined(computed(case.values[0])) * np.abs(case.expected[0]))]


def slogdet_bound(case):
    a = computed(case.values[0])
    size = np.where(np.isfinite(case.expected[1]), np.abs(case.expected[1]), 0)
    allowed = off(case, determined(a) + size)
    return [allowed if a.dtype.kind == "c" else 0, allowed]


# triangular solve: nobody reads the other half, nor a diagonal of ones

def triangle(d, dtype, batch, n, lower, unit):
    made = gauss(d, dtype, batch + (n, n)) / max(1, n)
    made = (np.tril if lower else np.triu)(made)
    index = np.arange(n)
    made[..., index, index] = np.nan if unit else d.pick([1.0, 2.0]) * np.sign(
        d.random.uniform(-1, 1, batch + (n,))) + (0.5j if dtype in COMPLEX else 0)
    return half_of(made.astype(dtype), lower)


def filled(a, lower, unit):
    """The triangular matrix that is meant."""
    below = np.tri(a.shape[-1], dtype=bool)
    a = np.where(below if lower else below.T, a, np.zeros((), a.dtype))
    if unit:
        index = np.arange(a.shape[-1])
        a[..., index, index] = 1
    return a


def draw_triangular(d):
    dtype, n = d.pick(INEXACT), order(d)
    batch = d.batch()
    lower, unit = d.chance(0.5), d.chance(0.2)

    def make(batch):
        made = triangle(d, dtype, batch, n, lower, unit)
        if d.refused:
            made[(0,) * len(batch) + (n - 1, n - 1)] = 0
        return made

    if n and not unit and d.chance(0.05):
        d.refused = "KZ_NUMERIC"
    a = d.matrices(dtype, d.fits(batch), make)
    b = d.array(dtype, (n,) if d.chance(0.3) or d.refused else d.fits(batch) + (n, d.extent(5)))
    return a, b, lower, d.pick(list(TURN)), unit


def ours_triangular(library, a, b, lower, turn, unit, **options):
    return library.call("kz_solve_triangular", a, b,
                        library.number("KZ_LOWER" if lower else "KZ_UPPER"),
                        library.number(turn), int(unit), **options)


def meant(a, lower, turn, unit):
    return TURN[turn](filled(a, lower, unit))


def reference_triangular(a, b, lower, turn, unit):
    return reference_solve(meant(a, lower, turn, unit), b)


def triangular_bound(case):
    a, b, *how = case.values
    return solve_bound(case, meant(a, *how))


def triangular_holds(case):
    a, b, *how = case.values
    return solve_holds(case, meant(a, *how))


ROWS = [
    Row("solve", draw_solve, "kz_solve", reference_solve, solve_bound, solve_holds, solver_dtype,
        cases=200, into=True),
    Row("inv", draw_square("KZ_NUMERIC"), "kz_inv", reference_inv, inv_bound, inv_holds,
        solver_dtype, cases=200, into=True),
    Row("det", draw_square(), "kz_det", reference_det, det_bound, dtype=solver_dtype, into=True),
    Row("slogdet", draw_square(), "kz_slogdet", reference_slogdet, slogdet_bound,
        dtype=lambda case: [each.dtype.name for each in case.expected]),
    Row("solve_triangular", draw_triangular, ours_triangular, reference_triangular,
        triangular_bound, triangular_holds, cases=200, into=True),
]
