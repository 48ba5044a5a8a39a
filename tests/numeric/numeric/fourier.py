# SPDX-License-Identifier: MIT
#
# Fourier transforms.  The reference is numpy's of float64; a result errs by a few roundings of the
# norm of what is transformed for each halving of the length (Higham, section 24.1).

import numpy as np
import scipy.fft

from numeric.operands import COMPLEX, HALVES, INEXACT, INTEGERS, REAL, promote
from numeric.table import Row, apart

NORMS = {"backward": 0, "ortho": 1, "forward": 2}
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 30, 64, 97]


def work(dtype):
    """What it is computed in."""
    return "complex64" if dtype in ("float32", "complex64", "float16", "bfloat16") else "complex128"


def result_dtype(is_real=False):
    def dtype(case):
        name = work(case.operands[0].dtype)
        return [{"complex64": "float32", "complex128": "float64"}[name] if is_real else name]
    return dtype


def draw_transform(dtypes):
    def draw(d):
        ndim = d.integer(1, 4)
        count = d.integer(1, min(ndim, 3))
        axes = list(d.random.permutation(ndim)[:count])
        shape = [d.integer(1, 4) for _ in range(ndim)]
        for axis in axes:
            shape[axis] = d.pick(LENGTHS) if count < 3 else d.pick(LENGTHS[:10])
        lengths = [d.pick(LENGTHS[:12]) for _ in axes] if d.chance(0.3) else None
        if lengths is None and shape[axes[-1]] == 1:
            shape[axes[-1]] = 2  # of irfft one element alone has no length
        norm = d.pick(list(NORMS))
        named = [int(axis) - ndim if d.chance(0.3) else int(axis) for axis in axes]
        d.options.update(norm=NORMS[norm], lengths=lengths or [])
        d.keywords.update(norm=norm, s=lengths)
        return [d.array(d.pick(dtypes), tuple(shape)), named]
    return draw


def ours(name):
    def run(library, x, axes, lengths=(), **options):
        return library.call(name, x, axes, lengths=library.shape("kz_shape", list(lengths)),
                            **options)
    return run


def reference(function, is_real=False):
    def run(x, axes, norm, s):
        wide = x.astype(complex if x.dtype.kind == "c" else float)
        value = function(wide, s=s, axes=axes, norm=norm)
        single = work(x.dtype.name) == "complex64"
        return value.astype(("float32" if single else "float64") if is_real else
                            ("complex64" if single else "complex128"))
    return run


def bound(case):
    """The values of one transform are all near its norm; so is the bound of their errors."""
    value = case.expected[0]
    scale = np.sqrt(np.mean(np.abs(value.astype(complex)) ** 2)) * 4 if value.size else 0
    scale = max(scale, np.max(np.abs(value), initial=0))
    dtype = "complex64" if value.dtype.name in ("float32", "complex64") else "complex128"
    return [apart(dtype, 2 * np.log2(max(value.size, 2)), scale)]


def draw_shift(d):
    shape = tuple(d.integer(0, 7) for _ in range(d.integer(1, 3)))
    axes = [int(axis) for axis in d.random.permutation(len(shape))[:d.integer(1, len(shape))]]
    return [d.array(d.pick(INEXACT + INTEGERS), shape), axes]


def draw_frequencies(d):
    return [d.integer(1, 300), d.pick([1.0, 0.25, -3.0, 1e-3])]


# Cosine transforms

def draw_cosine(d):
    """As draw_transform; type 1 needs two elements."""
    kind = d.integer(1, 4)
    values, axes = draw_transform(REAL * 3 + HALVES + ["int32", "bool"])(d)
    lengths = d.keywords["s"]
    extents = lengths or [values.shape[axis] for axis in axes]
    if kind == 1 and min(extents) < 2:
        kind = 2
    d.keywords.update(type=kind)
    return [values, kind, axes]


def run_cosine(name):
    def run(library, x, kind, axes, lengths=(), **options):
        return library.call(name, x, kind, axes, lengths=library.shape("kz_shape", list(lengths)),
                            **options)
    return run


def cosine(function):
    def run(x, kind, axes, norm, s, type):
        value = function(x.astype(float), type=type, s=s, axes=axes, norm=norm)
        return value.astype("float32" if work(x.dtype.name) == "complex64" else "float64")
    return run


# Sequences

MODES = ["full", "same", "valid"]


SHORT = 2048  # bytes of a sequence whose products are added directly


def draw_sequences(d):
    """Integers and bool alone, or floats beside them; some beyond SHORT."""
    dtypes = INTEGERS if d.chance(0.4) else INEXACT * 3 + HALVES + ["int32", "bool"]
    lengths = [1, 2, 3, 8, 9, d.integer(1, 200), d.integer(1, 200), d.integer(250, 700)]
    return [d.array(d.pick(dtypes), (d.pick(lengths),)) for _ in range(2)] + [d.integer(0, 2)]


def is_exact(dtype):
    return dtype in INTEGERS


def sequence_work(a, b):
    if is_exact(a) and is_exact(b):
        return promote(a, b)
    return promote(*["float64" if is_exact(each) else "float32" if each in HALVES else each
                     for each in (a, b)])


def sequence_dtype(case):
    return [sequence_work(*(each.dtype for each in case.operands))]


def sequences(function):
    def run(a, b, mode):
        both = all(is_exact(each.dtype.name) for each in (a, b))
        wide = [each.astype(promote(a.dtype.name, b.dtype.name) if both else
                            complex if each.dtype.kind == "c" else float) for each in (a, b)]
        with np.errstate(over="ignore"):
            return function(*wide, MODES[mode])
    return run


def sequence_bound(case):
    """Sums of integers are exact.  Of others a direct sum errs by a rounding of the operands' norms
    for each product, and both spectra by roundings of their norms."""
    dtype = sequence_dtype(case)[0]
    if is_exact(dtype):
        return [0]
    a, b = (np.linalg.norm(each.astype(complex)) for each in case.values[:2])
    single = dtype in ("float32", "complex64")
    lengths = [each.shape[0] for each in case.operands]
    direct = min(lengths) * np.dtype(dtype).itemsize <= SHORT
    return [apart("complex64" if single else "complex128",
                  min(lengths) if direct else 2 * np.log2(sum(lengths)), a * b)]


def row(name, function, dtypes, is_real=False, cases=60):
    return Row(name, draw_transform(dtypes), ours("kz_" + name), reference(function, is_real),
               bound,
               dtype=result_dtype(is_real), cases=cases, into=True)


ROWS = [
    row("fft", np.fft.fftn, INEXACT * 3 + HALVES + INTEGERS),
    row("ifft", np.fft.ifftn, COMPLEX * 3 + REAL),
    row("rfft", np.fft.rfftn, REAL * 3 + HALVES + ["int32", "bool"]),
    row("irfft", np.fft.irfftn, COMPLEX * 3 + REAL, is_real=True),
    Row("dct", draw_cosine, run_cosine("kz_dct"), cosine(scipy.fft.dctn), bound,
        dtype=result_dtype(is_real=True), cases=100, into=True),
    Row("idct", draw_cosine, run_cosine("kz_idct"), cosine(scipy.fft.idctn), bound,
        dtype=result_dtype(is_real=True), cases=100, into=True),
    Row("fftshift", draw_shift, "kz_fftshift", np.fft.fftshift, cases=60, into=True),
    Row("ifftshift", draw_shift, "kz_ifftshift", np.fft.ifftshift, cases=60, into=True),
    Row("fftfreq", draw_frequencies, "kz_fftfreq", np.fft.fftfreq, cases=40),
    Row("rfftfreq", draw_frequencies, "kz_rfftfreq", np.fft.rfftfreq, cases=40),
    Row("convolve", draw_sequences, "kz_convolve", sequences(np.convolve), sequence_bound,
        dtype=sequence_dtype, cases=150, into=True),
    Row("correlate", draw_sequences, "kz_correlate", sequences(np.correlate), sequence_bound,
        dtype=sequence_dtype, cases=150, into=True),
]
