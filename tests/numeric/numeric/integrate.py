# SPDX-License-Identifier: MIT
#
# Integrals of samples.  Integers are integrated as float64 and halves as float32, so that the
# references do not wrap or overflow where numpy's would.

import ctypes

import numpy as np
import scipy.integrate

from numeric.library import Result
from numeric.operands import COMPLEX, HALVES, INEXACT, promote
from numeric.table import Row, absolute, apart

trapezoid = getattr(np, "trapezoid", None) or np.trapz  # numpy 2 has the first one only
EVEN = {"first": 1, "last": 2, "avg": 0}


def result_dtype(case):
    common = promote(*(each.dtype for each in case.operands))
    return [common if common == "bfloat16" or np.dtype(common).kind in "fc" else "float64"]


def widened(value):
    """What the integral is computed in."""
    return value.astype({"f2": "float32"}.get(value.dtype.str[1:], "float64")) \
        if value.dtype.kind in "biu" or value.dtype == np.float16 else value


def together(y, x):
    """Samples and points, both as precise as their common type."""
    y, x = widened(y), widened(x)
    common = np.result_type(y, x)
    return y.astype(common), x.astype(np.empty(0, common).real.dtype)


def computed(function, y, keywords):
    if "x" in keywords:
        y, x = together(y, keywords["x"])
        return np.asarray(function(y, **dict(keywords, x=x)))
    return np.asarray(function(widened(y), **keywords))


def rounded(function):
    """A reference that computes in a wide type and gives the one of the operands."""
    def reference(y, **keywords):
        value = computed(function, y, keywords)
        common = np.result_type(y, *[keywords[key] for key in ("x",) if key in keywords])
        return value.astype(np.float16) if common == np.float16 else value
    return reference


# References

def reference_trapz(y, axis=-1, dx=1.0, x=None):
    return trapezoid(y, x, dx=dx, axis=axis)


def reference_simps(y, axis=-1, dx=1.0, x=None, even="avg"):
    """Simpson's rule; for an even number of samples the last or first interval is a trapezoid."""
    y = np.moveaxis(y, axis, -1)
    x = None if x is None else np.moveaxis(x, axis, -1) if x.ndim > 1 else x
    n = y.shape[-1]

    def rule(function, part):
        if len(range(n)[part]) < 2:
            return np.zeros(y.shape[:-1], y.dtype)
        return function(y[..., part], x=None if x is None else x[..., part], dx=dx, axis=-1)

    if y.size == 0:  # scipy 1.18 refuses some of them
        return np.zeros(y.shape[:-1], y.dtype)
    if n % 2 == 1:
        return rule(scipy.integrate.simpson, slice(None))
    if n == 2:
        return rule(trapezoid, slice(None))
    first = rule(scipy.integrate.simpson, slice(0, n - 1)) + rule(trapezoid, slice(n - 2, n))
    last = rule(scipy.integrate.simpson, slice(1, n)) + rule(trapezoid, slice(0, 2))
    return {"first": first, "last": last, "avg": (first + last) / 2}[even]


def reference_trapz2d(z, dx=1.0, dy=1.0):
    return trapezoid(trapezoid(z, dx=dx), dx=dy)


def reference_simps2d(z, dx=1.0, dy=1.0, even="avg"):
    return reference_simps(reference_simps(z, dx=dx, even=even), dx=dy, even=even)


def reference_cumulative(y, axis=-1, dx=1.0, x=None, initial=None):
    sums = scipy.integrate.cumulative_trapezoid(y, x=x, dx=dx, axis=axis)
    if initial is None:
        return sums
    shape = list(sums.shape)
    shape[axis] = 1
    return np.concatenate([np.full(shape, initial, sums.dtype), sums], axis=axis)


# Operands

def samples(d, ndim, most=40):
    """An array to integrate along a random axis."""
    dtype = d.pick(INEXACT * 4 + HALVES + ["int32", "uint8"])
    shape = [d.extent(6) for _ in range(d.pick(ndim))]
    axis = d.integer(0, len(shape) - 1)
    shape[axis] = d.integer(1, most) if not d.chance(0.05) else d.integer(1, 2)
    if len(shape) > 1 or d.chance(0.5):
        named = axis - len(shape) if d.chance(0.3) else axis
        d.options["axis"] = d.keywords["axis"] = named
    if d.chance(0.05):
        d.refused = "KZ_RANGE"
        d.options["axis"] = d.keywords["axis"] = len(shape)
    return d.array(dtype, tuple(shape)), axis


def points(d, y, axis):
    """Where the samples are: at equal distances, at those of a 1-d array or of one for each."""
    how = d.pick(["dx", "dx", "1-d", "all"])
    if how == "dx" or d.refused:
        if d.chance(0.8):
            d.options["dx"] = d.keywords["dx"] = d.pick([0.5, 0.001, 3.0, -2.0])
        return
    shape = y.shape if how == "all" else (y.shape[axis],)

    def make(shape):
        steps = d.random.uniform(0.5, 1.5, shape) * (1 if d.chance(0.8) else -1)
        return d.rounded(dtype, np.cumsum(steps, axis if how == "all" else 0) - 3)

    # Mostly as precise as the samples; each pair of types has a kernel of its own.
    dtype = "float64" if y.dtype in ("float64", "complex128") else "float32"
    if d.chance(0.1):
        dtype = "float64"
    x = d.lay(dtype, make(shape))
    d.options["x"], d.keywords["x"] = x, x.value


def draw_trapz(d):
    y, axis = samples(d, [1, 1, 2, 3])
    points(d, y, axis)
    return [y]


def with_even(draw):
    def draw_even(d):
        y = draw(d)
        if d.chance(0.7):
            d.keywords["even"] = d.pick(list(EVEN))
            d.options["even"] = EVEN[d.keywords["even"]]
        return y
    return draw_even


def draw_cumulative(d):
    y = draw_trapz(d)
    if d.chance(0.5):
        d.keywords["initial"] = d.options["initial"] = d.pick([0.0, 2.5])
        d.options["with_initial"] = 1
    return y


def draw_plane(d, batches=True):
    shape = (d.batch() if batches else ()) + (d.integer(1, 30), d.integer(1, 30))
    for name in ("dx", "dy"):
        if d.chance(0.6):
            d.options[name] = d.keywords[name] = d.pick([0.5, 0.001, 3.0])
    return [d.array(d.pick(INEXACT * 3 + HALVES + ["int32", "uint8"]), shape)]


def draw_matrix(d):
    return draw_plane(d, batches=False)


# The form that gives a number on the host.

def to_host(name):
    def ours(library, y, **options):
        value = np.zeros((), complex if y.dtype in COMPLEX else float)
        library.call(name, value, value.dtype.name, y, **options)
        return [Result(value, value.dtype.name)]
    return ours


def on_host(function):
    def reference(y, **keywords):
        value = computed(function, y, keywords)
        return value.astype(complex if value.dtype.kind == "c" else float)
    return reference


def host_dtype(case):
    return ["complex128" if case.values[0].dtype.kind == "c" else "float64"]


def draw_line(d):
    y = d.array(d.pick(INEXACT * 3 + HALVES + ["int32"]), (d.integer(1, 300),))
    points(d, y, 0)
    return [y]


# Bounds: the terms are those of the integral of |y| over positive steps.

def bound(function, on_host=False):
    def allowed(case):
        keywords = dict(case.draw.keywords)
        keywords.update({name: abs(keywords[name]) for name in ("dx", "dy") if name in keywords})
        if "x" in keywords:
            # The largest steps that are drawn; rounding moves a point by less than a step.
            along = keywords.get("axis", -1) if keywords["x"].ndim > 1 else 0
            keywords["x"] = np.cumsum(np.full(keywords["x"].shape, 1.5), axis=along)
        y = case.values[0]
        scale = np.abs(function(absolute(y), **keywords))
        dtype = result_dtype(case)[0]
        if on_host and dtype in HALVES:
            dtype = "float32"
        return [apart(dtype, sum(y.shape[-2:]), scale, case.expected[0])]
    return allowed


# A size compiles nothing.

def draw_sizes(d):
    return [[d.lay("float32", d.numbers("float32", (d.integer(2, 3000),)), plain=1)
             for _ in range(4)]]


def ours_compiles(library, arrays):
    """How many kernels were compiled after the first size."""
    counts = []
    for array in arrays:
        library.call("kz_trapz", array)
        stats = library.headers.type("kz_kernel_stats")()
        library.function("kz_device_kernel_stats")(library.device, ctypes.byref(stats))
        counts.append(stats.compiled_count)
    return [Result(np.array(counts[-1] - counts[0]), "int64")]


def reference_compiles(_):
    return np.int64(0)


def row(name, draw, function, cases=100, **more):
    return Row(name, draw, "kz_" + name, rounded(function), bound(function), dtype=result_dtype,
               cases=cases, into=True, **more)


def host_row(name, draw, function):
    return Row(name + "_get", draw, to_host(f"kz_{name}_get_as"), on_host(function),
               bound(function, on_host=True), dtype=host_dtype, cases=60)


ROWS = [
    row("trapz", draw_trapz, reference_trapz, cases=200),
    row("simps", with_even(draw_trapz), reference_simps, cases=200),
    row("trapz2d", draw_plane, reference_trapz2d),
    row("simps2d", with_even(draw_plane), reference_simps2d),
    row("cumulative_trapezoid", draw_cumulative, reference_cumulative, cases=150),
    Row("trapz compiles", draw_sizes, ours_compiles, reference_compiles, cases=20,
        dtype=lambda case: ["int64"]),
    host_row("trapz", draw_line, reference_trapz),
    host_row("simps", with_even(draw_line), reference_simps),
    host_row("trapz2d", draw_matrix, reference_trapz2d),
    host_row("simps2d", with_even(draw_matrix), reference_simps2d),
]
