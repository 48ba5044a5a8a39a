# SPDX-License-Identifier: MIT
#
# Sparse matrices beside scipy.sparse: conversions, products, conjugate gradients.

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from numeric.operands import COMPLEX, HALVES, INEXACT, promote
from numeric.table import EPS, Row, absolute, apart

FORMATS = ["KZ_SPARSE_CSR", "KZ_SPARSE_COO"]
OPS = ["KZ_MATRIX_AS_IS", "KZ_MATRIX_TRANSPOSED", "KZ_MATRIX_ADJOINT"]


# A matrix is drawn as (format, rows, columns), data, rows or pointers, columns.

def draw_matrix(d, dtypes=INEXACT, square=False):
    rows = d.extent(40)
    columns = rows if square else d.extent(40)
    count = d.integer(0, 4 * (rows + columns)) if rows and columns else 0
    index = d.pick(["int32", "int64"])
    format = d.pick(FORMATS)
    row_of = d.random.randint(0, max(rows, 1), count)
    if format == "KZ_SPARSE_CSR":
        places = np.searchsorted(np.sort(row_of), np.arange(rows + 1))
    else:
        places = row_of
    column_of = d.random.randint(0, max(columns, 1), count)
    if count and d.chance(0.06):
        d.refused = "KZ_RANGE"
        column_of[d.integer(0, count - 1)] = d.pick([-1, columns])
    return ((format, rows, columns), d.array(d.pick(dtypes), (count,)),
            d.lay(index, places.astype(index)), d.lay(index, column_of.astype(index)))


def reference_matrix(what, data, places, column_of):
    format, rows, columns = what
    if format == "KZ_SPARSE_CSR":
        places = np.repeat(np.arange(rows), np.diff(places))
    return scipy.sparse.coo_matrix((wide(data), (places, column_of)), shape=(rows, columns))


def wide(values):
    """scipy has no halves."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def make(library, what, data, places, column_of):
    format, rows, columns = what
    if format == "KZ_SPARSE_CSR":
        return library.call("kz_sparse_create_csr", rows, columns, data, column_of, places)[0]
    return library.call("kz_sparse_create_coo", rows, columns, data, places, column_of)[0]


def release(library, *handles):
    for handle in handles:
        library.function("kz_sparse_release")(handle.address)


# Products

def draw_product(d):
    matrix = draw_matrix(d, INEXACT * 4 + HALVES)
    op = d.pick(OPS)
    extent = matrix[0][2] if op == OPS[0] else matrix[0][1]
    shape = (extent,) if d.chance(0.5) else (extent, d.pick([0, 1, 2, 5, 16, 33, 40]))
    dtype = matrix[1].dtype if d.chance(0.7) else d.pick(INEXACT + HALVES)
    return matrix + (op, d.array(dtype, shape))


def turned(matrix, op):
    return matrix if op == OPS[0] else matrix.T if op == OPS[1] else matrix.conj().T


def ours_product(library, what, data, places, column_of, op, x, **options):
    sparse = make(library, what, data, places, column_of)
    try:
        return library.call("kz_sparse_matmul", sparse, library.number(op), x, **options)
    finally:
        release(library, sparse)


def reference_product(what, data, places, column_of, op, x):
    result = turned(reference_matrix(what, data, places, column_of), op) @ wide(x)
    return result.astype(np.result_type(data.dtype, x.dtype))


def product_dtype(case):
    return [promote(case.operands[0].dtype, case.operands[3].dtype)]


def product_bound(case):
    what, data, places, column_of, op, x = case.values
    scale = turned(reference_matrix(what, absolute(data), places, column_of), op) @ absolute(x)
    return [apart(case.result_dtypes()[0], len(data), scale, case.expected[0])]


# Conversions

def draw_conversion(d):
    return draw_matrix(d) + (d.pick(FORMATS), d.pick(OPS))


def ours_conversion(library, what, data, places, column_of, format, op):
    """To a format, transposed there, and to a dense array."""
    handles = [make(library, what, data, places, column_of)]
    try:
        handles += library.call("kz_sparse_convert", handles[-1], library.number(format))
        handles += library.call("kz_sparse_transpose", handles[-1], library.number(op))
        return (library.call("kz_sparse_to_dense", handles[-1])
                + library.call("kz_sparse_diagonal", handles[-1]))
    finally:
        release(library, *handles)


def reference_conversion(what, data, places, column_of, format, op):
    matrix = turned(reference_matrix(what, data, places, column_of), op)
    return matrix.toarray(), matrix.tocsr().diagonal()


def conversion_bound(case):
    what, data, places, column_of, _, op = case.values
    scale = turned(reference_matrix(what, absolute(data), places, column_of), op)
    eps = EPS[case.operands[0].dtype] * 40
    return [eps * scale.toarray(), eps * scale.tocsr().diagonal()]


def draw_dense(d):
    dtype = d.pick(INEXACT)
    shape = (d.extent(20), d.extent(20))
    values = d.numbers(dtype, shape) * d.random.randint(0, 2, shape)
    return d.lay(dtype, values.astype(dtype)), d.pick(FORMATS)


def ours_dense(library, array, format):
    sparse = library.call("kz_sparse_from_dense", array, library.number(format))[0]
    try:
        return library.call("kz_sparse_to_dense", sparse)
    finally:
        release(library, sparse)


# Conjugate gradients

def draw_cg(d):
    dtype = d.pick(["float64", "complex128"])
    n = d.integer(1, 30)
    values = d.numbers(dtype, (n, n)) * (d.random.random_sample((n, n)) < 0.2)
    matrix = values @ values.conj().T + np.diag(d.random.uniform(1, 20, n))
    return (d.lay(dtype, matrix.astype(dtype)), d.pick(FORMATS), d.array(dtype, (n,)),
            d.pick([0, 1]), d.pick([1e-10, 1e-12]))


def ours_cg(library, array, format, b, preconditioner, rtol):
    sparse = library.call("kz_sparse_from_dense", array, library.number(format))[0]
    try:
        return library.call("kz_sparse_cg", sparse, b, None, preconditioner=preconditioner,
                            rtol=rtol)
    finally:
        release(library, sparse)


def reference_cg(array, format, b, preconditioner, rtol):
    matrix = scipy.sparse.csr_matrix(array)
    inverse = scipy.sparse.diags(1 / matrix.diagonal()) if preconditioner else None
    x, failed = scipy.sparse.linalg.cg(matrix, b, atol=0, M=inverse, **{tolerance_name(): rtol})
    assert failed == 0
    return x


def tolerance_name():
    """scipy 1.12 calls it rtol."""
    newer = tuple(int(each) for each in scipy.__version__.split(".")[:2]) >= (1, 12)
    return "rtol" if newer else "tol"


def cg_bound(case):
    array, _, b, _, rtol = case.values
    smallest = np.linalg.eigvalsh(array)[0]
    return [4 * rtol * np.linalg.norm(b) / smallest]


ROWS = [
    Row("sparse matmul", draw_product, ours_product, reference_product, product_bound,
        dtype=product_dtype, cases=200, into=True),
    Row("sparse convert", draw_conversion, ours_conversion, reference_conversion, conversion_bound),
    Row("sparse from dense", draw_dense, ours_dense, lambda array, format: array),
    Row("sparse cg", draw_cg, ours_cg, reference_cg, cg_bound, cases=60),
]
