# SPDX-License-Identifier: MIT
"""Products and conversions of sparse matrices, ours beside scipy's, in turns in one process.

usage: sparse_python.py BUILD [CASE]    BUILD has libkudzu.so; CASE is part of the name of a case

Results are compared first.  scipy computes these on one thread.  The time is the clock's.
"""
import ctypes
import os
import sys
import time

import numpy as np
import scipy
import scipy.sparse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/numeric"))
sys.dont_write_bytecode = True
from numeric.library import DTYPES, Library  # noqa: E402
from report import report  # noqa: E402

ROUNDS = 11


class Ours:
    """The library's calls without what check_numpy does around them."""

    def __init__(self, build):
        self.library = Library(os.path.abspath(build), os.path.join(ROOT, "include"))

    def call(self, name, *arguments):
        self.library.ok(self.library.function(name)(*arguments, self.library.err))

    def made(self, name, *arguments):
        out = ctypes.c_void_p()
        self.call(name, ctypes.byref(out), *arguments)
        return out

    def array(self, values):
        values = np.ascontiguousarray(values)
        return self.made("kz_array_from", self.library.device, DTYPES.index(values.dtype.name),
                         self.library.shape("kz_shape", values.shape), values.ctypes.data,
                         values.nbytes)

    def csr(self, matrix):
        parts = [self.array(each) for each in (matrix.data, matrix.indices, matrix.indptr)]
        out = self.made("kz_sparse_create_csr", *matrix.shape, *parts, None)
        for part in parts:
            self.library.function("kz_array_release")(part)
        return out

    def into(self, values):
        """Options with an array for the result, and that array."""
        options = self.library.headers.type("kz_op_options")()
        self.library.function("kz_struct_init")(ctypes.byref(options), ctypes.sizeof(options),
                                                b"kz_op_options")
        array = self.array(values)
        options.into = array.value
        return options, array

    def wait(self):
        self.call("kz_device_synchronize", self.library.device)

    def get(self, array, like):
        out = np.empty_like(like)
        self.call("kz_array_get", array, out.ctypes.data, out.nbytes)
        return out


def measure(case, ours, theirs):
    """In turns, each a few times in a row."""
    def clock(run):
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3

    times, ratios = [], []
    for _ in range(ROUNDS):
        mine, scipys = min(clock(ours) for _ in range(3)), min(clock(theirs) for _ in range(3))
        times.append(mine)
        ratios.append(mine / scipys)
    report(case, "kudzu", "ms", times)
    report(case, f"over scipy {scipy.__version__}", "ratio", ratios)


def product(ours, name, matrix, op, x):
    expected = (matrix.T if op else matrix) @ x
    sparse, right = ours.csr(matrix), ours.array(x)
    options, array = ours.into(np.zeros_like(expected))

    def run():
        ours.call("kz_sparse_matmul", None, sparse, op, right, ctypes.byref(options))
        ours.wait()

    run()
    np.testing.assert_allclose(ours.get(array, expected), expected, rtol=1e-4,
                               atol=1e-4 * abs(expected).max())
    measure(name, run, lambda: (matrix.T if op else matrix) @ x)
    ours.library.function("kz_sparse_release")(sparse)
    for each in (right, array):
        ours.library.function("kz_array_release")(each)


def conversion(ours, name, matrix):
    coo = matrix.tocoo()
    order = np.random.RandomState(4).permutation(coo.nnz)
    parts = [each[order] for each in (coo.data, coo.row, coo.col)]
    coo = scipy.sparse.coo_matrix((parts[0], (parts[1], parts[2])), shape=coo.shape)
    arrays = [ours.array(each) for each in parts]
    sparse = ours.made("kz_sparse_create_coo", *matrix.shape, *arrays, None)

    def run():
        made = ours.made("kz_sparse_convert", sparse, 0, None)
        ours.wait()
        ours.library.function("kz_sparse_release")(made)

    measure(name, run, lambda: coo.tocsr().sum_duplicates())
    ours.library.function("kz_sparse_release")(sparse)
    for each in arrays:
        ours.library.function("kz_array_release")(each)


def uniform(rows, each, dtype):
    random = np.random.RandomState(1)
    columns = np.sort(random.randint(0, rows, (rows, each)), axis=1).astype(np.int32).ravel()
    return scipy.sparse.csr_matrix(
        (random.standard_normal(rows * each).astype(dtype), columns,
         np.arange(0, rows * each + 1, each, dtype=np.int32)), shape=(rows, rows))


def poisson(side, dtype):
    line = scipy.sparse.diags([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)],
                              [-1, 0, 1])
    one = scipy.sparse.identity(side)
    return (scipy.sparse.kron(one, line) + scipy.sparse.kron(line, one)).tocsr().astype(dtype)


def skewed(rows, dtype):
    """Lengths of rows by a power law."""
    random = np.random.RandomState(2)
    lengths = np.minimum(random.zipf(1.6, rows), rows // 2)
    count = int(lengths.sum())
    return scipy.sparse.csr_matrix(
        (random.standard_normal(count).astype(dtype),
         random.randint(0, rows, count).astype(np.int32),
         np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), shape=(rows, rows))


def main():
    ours, part = Ours(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    matrices = [
        ("Poisson 1000^2 f64", lambda: poisson(1000, "float64")),
        ("Poisson 1000^2 f32", lambda: poisson(1000, "float32")),
        ("200,000 rows of 20 f64", lambda: uniform(200000, 20, "float64")),
        ("20,000 rows of 500 f64", lambda: uniform(20000, 500, "float64")),
        ("power law, 200,000 rows f64", lambda: skewed(200000, "float64")),
        ("200,000 rows of 10 c128", lambda: uniform(200000, 10, "complex128")),
    ]
    for name, make in matrices:
        matrix = make()
        right = np.random.RandomState(3).standard_normal((matrix.shape[0], 16)).astype(matrix.dtype)
        column = right[:, 0].copy()
        cases = [
            ("a x", lambda case: product(ours, case, matrix, 0, column)),
            ("a^T x", lambda case: product(ours, case, matrix, 1, column)),
            ("a x of 16 columns", lambda case: product(ours, case, matrix, 0, right)),
            ("COO to CSR", lambda case: conversion(ours, case, matrix)),
        ]
        for what, run in cases:
            case = f"sparse: {what}, {name}"
            if part in case:
                run(case)


main()
