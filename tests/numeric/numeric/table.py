# SPDX-License-Identifier: MIT
#
# A row of the table: a function, its operands, numpy's reference, and how far they may be apart.

import zlib

import numpy as np

from numeric.library import Refused
from numeric.operands import Draw, Operand, promote

# The unit of rounding errors: the distance from 1 to the next number.
EPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23, "float64": 2.0 ** -52,
       "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}

# How far two results may be apart: FACTOR * n * eps * scale.
#
# A sum of n products in any order errs by at most n u sum(|a| |b|), where u = eps / 2 is the unit
# roundoff (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); a complex product
# by sqrt(8) u instead of u (section 3.6).  Both sides err, so they are apart by at most twice that,
# which is 2.83 n eps.  For factors and solutions n is the larger extent and scale has the condition
# number, by which the backward error of n u grows (section 7.2, 9.3, 19.3, 20.1); its constants are
# of the same size.
FACTOR = 4


def eps(dtype):
    return EPS.get(dtype, 0.0)


def apart(dtype, n, scale, expected=None):
    """The bound; halves are summed as float32 and rounded once."""
    if dtype in ("float16", "bfloat16"):
        return FACTOR * (n + 4) * EPS["float32"] * scale + 2 * eps(dtype) * np.abs(expected)
    return FACTOR * (n + 4) * eps(dtype) * scale


def absolute(value):
    """|value|, wide enough to be added."""
    return np.abs(value.astype(complex if value.dtype.kind == "c" else float))


def exact(case):
    return [0] * len(case.expected)


class Row:
    """
    name      of the function; "trapz x" for a variant
    draw      draw(d) returns the inputs in the order of the C function; d.options are its options,
              d.keywords those of the reference
    ours      the C function, or ours(library, *inputs, **options), which returns results
    numpy     numpy(*values) returns what ours should: an array, or a tuple of arrays
    bound     bound(case) returns a list of how far each result may be from numpy's
    holds     holds(case) yields identities: (text, left side, right side, allowed)
    dtype     dtype(case) returns a list of the types of the results; else they are numpy's
    compares  False for results that are not unique, as eigenvectors, which `holds` checks
    into      whether the options may have an array for the result and a stream; "operand": the
              array may be one of the operands
    """

    def __init__(self, name, draw, ours, numpy, bound=exact, holds=None, dtype=None, cases=100,
                 compares=True, into=False):
        self.name, self.draw, self.ours, self.numpy = name, draw, ours, numpy
        self.bound, self.holds, self.dtype, self.cases = bound, holds, dtype, cases
        self.compares, self.into = compares, into


class Wrong(Exception):
    """The case failed; the text says how."""


class Missing(Exception):
    """The function needs a library that there is not."""


class Case:
    """One case of a row."""

    def __init__(self, row, seed, number):
        self.row, self.number = row, number
        self.draw = Draw(zlib.crc32(f"{seed} {row.name} {number}".encode()))
        self.inputs = []
        self.expected = []

    @property
    def operands(self):
        flat = []
        for each in self.inputs:
            flat.extend(each.values() if isinstance(each, dict) else
                        each if isinstance(each, (list, tuple)) else [each])
        flat.extend(self.draw.options.values())
        return [each for each in flat if isinstance(each, Operand)]

    @property
    def dtypes(self):
        return [operand.dtype for operand in self.operands]

    @property
    def values(self):
        return [value_of(each) for each in self.inputs]

    @property
    def eps(self):
        return eps(self.result_dtypes()[0])

    def result_dtypes(self):
        if self.row.dtype:
            return self.row.dtype(self)
        halves = self.dtypes and promote(*self.dtypes) == "bfloat16"
        return ["bfloat16" if halves and each.dtype == np.float32 else each.dtype.name
                for each in self.expected]

    def run(self, library, spoil=False):
        """Raise Wrong if the case fails.  With `spoil` return whether a result was changed."""
        self.inputs = list(self.row.draw(self.draw))
        if self.draw.refused:
            return None if spoil else self.run_refused(library)
        expected = self.row.numpy(*self.values, **self.draw.keywords)
        self.expected = [np.asarray(each) for each in
                         (expected if isinstance(expected, tuple) else (expected,))]
        options = dict(self.draw.options)
        into = None
        if self.row.into and self.draw.chance(0.15):
            into = options["into"] = self.into()
        if self.row.into and self.draw.chance(0.15):
            options["stream"] = library.stream
        try:
            results = self.call(library, options)
        except Refused as refused:
            raise (Missing if refused.status == "KZ_UNSUPPORTED" else Wrong)(
                f"refused, {refused}") from None
        if len(results) != len(self.expected):
            raise Wrong(f"{len(results)} results, numpy has {len(self.expected)}")
        spoiled = spoil and self.spoil(results)
        self.compare(results)
        if into is not None and into.after.tobytes() != results[0].value.tobytes():
            raise Wrong("`into` is not the result")
        return spoiled

    def into(self):
        dtype, shape = self.result_dtypes()[0], self.expected[0].shape
        fit = [each for each in self.operands if each.dtype == dtype and each.shape == shape
               and each.is_distinct()]
        if self.row.into == "operand" and fit and self.draw.chance(0.7):
            fit[0].written = True
            return fit[0]
        return self.draw.into(dtype, shape)

    def spoil(self, results):
        """Change one element of a result, by a tenth of the largest one."""
        filled = [each for each in results if each.value.size]
        if not filled:
            return False
        value = self.draw.pick(filled).value
        at = tuple(self.draw.integer(0, extent - 1) for extent in value.shape)
        if value.dtype.kind in "biu":
            value[at] ^= value.dtype.type(1)
        else:
            largest = np.abs(value[np.isfinite(value)]).max(initial=0)
            value[at] += 0.1 * largest + 0.1 if np.isfinite(value[at]) else 0
            return bool(np.isfinite(value[at]))
        return True

    def call(self, library, options):
        ours = self.row.ours
        try:
            if isinstance(ours, str):
                return library.call(ours, *self.inputs, **options)
            return ours(library, *self.inputs, **options)
        except AssertionError as broken:
            raise Wrong(str(broken)) from None

    def run_refused(self, library):
        """Operands that do not fit: numpy raises an exception and we refuse them."""
        try:
            self.row.numpy(*self.values, **self.draw.keywords)
            raise Wrong("numpy accepts these operands: the check is wrong")
        except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            pass
        wanted = self.draw.refused
        try:
            self.call(library, dict(self.draw.options))
        except Refused as refused:
            if refused.status == "KZ_UNSUPPORTED":
                raise Missing(f"refused, {refused}") from None
            if isinstance(wanted, str) and refused.status != wanted:
                raise Wrong(f"refused with {refused}, expected {wanted}") from None
            return
        raise Wrong("accepted, where numpy raises an exception")

    def compare(self, results):
        self.ours = [result.value for result in results]
        for index, (result, expected, dtype) in enumerate(zip(results, self.expected,
                                                              self.result_dtypes())):
            which = f"result {index} " if len(results) > 1 else ""
            if result.dtype != dtype:
                raise Wrong(f"{which}is {result.dtype}, numpy has {dtype}")
            if result.value.shape != expected.shape:
                raise Wrong(f"{which}has the shape {result.value.shape}, numpy {expected.shape}")
        if self.row.compares:
            for index, allowed in enumerate(self.row.bound(self)):
                near(f"result {index}" if len(results) > 1 else "the result",
                     self.ours[index], self.expected[index], allowed)
        for text, left, right, allowed in (self.row.holds(self) if self.row.holds else ()):
            near(text, left, right, allowed)

    def describe(self):
        lines = []
        for each in self.inputs:
            held = [each, *each] if isinstance(each, (list, tuple)) else [each]
            if not any(isinstance(x, (Operand, dict)) for x in held):
                lines.append(repr(each))
        lines.extend(each.describe() for each in self.operands
                     if all(each is not option for option in self.draw.options.values()))
        lines.extend(f"{key} = {each.describe() if isinstance(each, Operand) else each}"
                     for key, each in self.draw.options.items())
        return lines


def value_of(each):
    if isinstance(each, Operand):
        return each.value
    if isinstance(each, (list, tuple)):
        return type(each)(value_of(x) for x in each)
    if isinstance(each, dict):
        return {key: value_of(x) for key, x in each.items()}
    return each


def near(what, ours, numpy, allowed):
    """Raise Wrong where two arrays are further apart than allowed; NaN agrees with NaN."""
    ours, numpy = np.asarray(ours), np.asarray(numpy)
    if ours.shape != numpy.shape:
        raise Wrong(f"{what} has the shape {ours.shape}, expected {numpy.shape}")
    if ours.dtype.kind in "biu" and numpy.dtype.kind in "biu":
        bad, distance = ours != numpy, None
    else:
        wide = [each.astype(complex if each.dtype.kind == "c" else float) for each in (ours, numpy)]
        distance = np.abs(wide[0] - wide[1])
        agree = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
        bad = ~(agree | (distance <= allowed))
    if not bad.any():
        return
    at = tuple(int(each) for each in np.argwhere(bad)[0])
    text = f"{what} at {list(at)} of {list(ours.shape)} is {ours[at]!s}, expected {numpy[at]!s}"
    if distance is not None:
        limit = np.broadcast_to(np.asarray(allowed, float), ours.shape)[at]
        text += f", apart {distance[at]:.3g}, allowed {limit:.3g}"
    raise Wrong(f"{text}; {int(bad.sum())} of {bad.size} differ")
