# SPDX-License-Identifier: MIT
#
# Random operands: values, and memory of random strides that holds them.
#
# An Operand has its values as a numpy array, and the same values as a view of other memory: axes
# in any order, some of them reversed, stepped, or repeated with a stride of 0.  The gaps of that
# memory hold NaN, or the largest integer, so that a result shows if one was read.
#
# numpy has no bfloat16.  Its values are float32 here, and uint16 in memory.

import numpy as np

REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INEXACT = REAL + COMPLEX
HALVES = ["float16", "bfloat16"]
INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def raw_dtype(dtype):
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def value_dtype(dtype):
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def from_raw(raw, dtype):
    if dtype != "bfloat16":
        return raw
    return (np.atleast_1d(raw).astype(np.uint32) << 16).view(np.float32).reshape(raw.shape)


def to_raw(value, dtype):
    if dtype != "bfloat16":
        return value
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32).reshape(value.shape)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def promote(*dtypes):
    """The common type, as kz_dtype_promote has it."""
    wide = [dtype for dtype in dtypes if dtype != "bfloat16"]
    if len(wide) == len(dtypes):
        return np.result_type(*wide).name
    if all(dtype in ("bool", "int8", "uint8") for dtype in wide):
        return "bfloat16"
    return np.result_type(np.float32, *wide).name


def any_dtypes(d, count):
    """Types of operands: mostly one for all, some of them halves and integers; at most two."""
    one = d.pick(INEXACT * 4 + HALVES * 2 + INTEGERS)
    if d.chance(0.85):
        return [one] * count
    other = d.pick(INEXACT + HALVES + INTEGERS)
    return [one, other] + [d.pick([one, other]) for _ in range(count - 2)]


class Operand:
    def __init__(self, dtype, value, raw, view):
        self.dtype, self.value, self.raw, self.view = dtype, value, raw, view
        self.shape, self.strides = view.shape, view.strides
        self.offset = view.__array_interface__["data"][0] - raw.__array_interface__["data"][0]
        if view.size == 0:
            self.offset = 0
        self.written = False
        self.after = None

    def is_distinct(self):
        """No two elements share memory."""
        return all(stride or extent < 2 for stride, extent in zip(self.strides, self.shape))

    def look_at(self, raw):
        """Compare with the memory after a call, which may write to this view or to nothing."""
        if self.written:
            position = np.lib.stride_tricks.as_strided(
                raw.reshape(-1)[self.offset // raw.itemsize:], self.shape, self.strides) \
                if self.view.size else np.empty(self.shape, raw.dtype)
            self.after = from_raw(position.copy(), self.dtype)
            position[...] = self.view
        assert raw.tobytes() == self.raw.tobytes(), \
            "memory between the elements was written" if self.written else "an operand was changed"

    def describe(self):
        return f"{self.dtype} {self.shape} strides {self.strides}"


class Draw:
    """The random choices of one case.  numpy promises RandomState's numbers forever."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.options = {}     # of the C function
        self.keywords = {}    # of the reference
        self.refused = False  # True or a status, where numpy and we have to refuse the inputs

    def chance(self, p):
        return self.random.random_sample() < p

    def pick(self, options):
        return options[self.random.randint(len(options))]

    def integer(self, low, high):
        return int(self.random.randint(low, high + 1))

    def extent(self, high):
        """1 to high, small ones and 0 now and then."""
        if self.chance(0.04):
            return 0
        return self.integer(1, 3) if self.chance(0.25) else self.integer(1, high)

    def batch(self, ndim=2, high=3):
        return tuple(self.integer(1, high) for _ in range(self.pick([0, 0, 1, ndim])))

    def fits(self, batch):
        """An extent list that broadcasts with this one."""
        kept = batch[self.integer(0, len(batch)):] if self.chance(0.3) else batch
        return tuple(1 if self.chance(0.2) else extent for extent in kept)

    def numbers(self, dtype, shape):
        if dtype == "bool":
            return self.random.randint(0, 2, shape).astype(bool)
        kind = value_dtype(dtype)
        if kind.kind in "iu":
            info = np.iinfo(kind)
            low, high = max(-9, int(info.min)), 10
            if self.chance(0.15):
                low, high = max(int(info.min), -2**31), min(int(info.max), 2**31 - 1)
            return self.random.randint(low, high, shape, np.int64).astype(kind)
        values = self.random.standard_normal(shape)
        if kind.kind == "c":
            values = values + 1j * self.random.standard_normal(shape)
        return self.rounded(dtype, np.asarray(values))

    def rounded(self, dtype, values):
        values = np.asarray(values).astype(value_dtype(dtype))
        return from_raw(to_raw(values, dtype), dtype)

    def lay(self, dtype, value, plain=0.35):
        """An operand with these elements.  Axes of stride 0 and more than 1 element keep it."""
        value = np.asarray(value)
        repeated = [stride == 0 and extent > 1
                    for stride, extent in zip(value.strides, value.shape)]
        once = value[tuple(slice(0, 1) if each else slice(None) for each in repeated)]
        kind = raw_dtype(dtype)
        gap = {"f": np.nan, "c": complex(np.nan, np.nan), "b": True}.get(kind.kind)
        if dtype == "bfloat16":
            gap = 0x7fff
        elif gap is None:
            gap = np.iinfo(kind).max
        order, steps = list(range(value.ndim)), [1] * value.ndim
        if not self.chance(plain):
            order = list(self.random.permutation(value.ndim))
            steps = [self.pick([1, 1, 1, -1, 2, -3]) for _ in order]
        extents = [0 if extent == 0 else (extent - 1) * abs(step) + 1 + (abs(step) > 1)
                   for extent, step in zip(once.shape, steps)]
        raw = np.full([extents[axis] for axis in order], gap, kind)
        view = raw.transpose(np.argsort(order)) if order else raw
        view = view[tuple(slice(0, (extent - 1) * step + 1, step) if step > 0
                          else slice((extent - 1) * -step, None, step)
                          for extent, step in zip(once.shape, steps)) + (Ellipsis,)] \
            if value.size else np.empty(once.shape, kind)
        view[...] = to_raw(once, dtype)
        view = np.broadcast_to(view, value.shape)
        return Operand(dtype, value, raw, view)

    def repeat(self, shape, p=0.1):
        """The same shape, and one with extents of 1 in place of the axes that shall be repeated."""
        return tuple(1 if extent > 1 and self.chance(p) else extent for extent in shape)

    def array(self, dtype, shape, make=None, plain=0.35):
        """An operand of random numbers; make(shape) gives others."""
        once = self.repeat(shape)
        values = make(once) if make else self.numbers(dtype, once)
        return self.lay(dtype, np.broadcast_to(values, shape), plain)

    def matrices(self, dtype, batch, make, plain=0.35):
        """An operand of matrices: make(batch) gives them; batches may be repeated."""
        once = self.repeat(batch)
        values = np.asarray(make(once))
        shape = tuple(batch) + values.shape[len(once):]
        return self.lay(dtype, np.broadcast_to(values, shape), plain)

    def into(self, dtype, shape):
        """An array for a result: any strides, no element twice."""
        target = self.lay(dtype, self.numbers(dtype, shape), plain=0.2)
        target.written = True
        return target
