# SPDX-License-Identifier: MIT
"""Triton kernels of the kinds that its tutorials teach, for collect.py."""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, at < columns, -float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + at, value / tl.sum(value, 0), at < columns)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        at = first + inner
        left = tl.load(a + rows[:, None] * k + at[None, :],
                       (rows[:, None] < m) & (at[None, :] < k), 0.0)
        right = tl.load(b + at[:, None] * n + columns[None, :],
                        (at[:, None] < k) & (columns[None, :] < n), 0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty),
             (rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def layer_norm(x, weight, bias, out, mean, rstd, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        total += tl.load(x + row * columns + first + at, first + at < columns, 0.0).to(tl.float32)
    average = tl.sum(total, 0) / columns
    square = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        value = tl.load(x + row * columns + first + at, first + at < columns, 0.0).to(tl.float32)
        off = tl.where(first + at < columns, value - average, 0.0)
        square += off * off
    scale = 1 / tl.sqrt(tl.sum(square, 0) / columns + epsilon)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    for first in range(0, columns, BLOCK):
        inside = first + at < columns
        value = tl.load(x + row * columns + first + at, inside, 0.0).to(tl.float32)
        value = (value - average) * scale * tl.load(weight + first + at, inside)
        tl.store(out + row * columns + first + at, value + tl.load(bias + first + at, inside),
                 inside)


@triton.jit
def layer_norm_backward(dx, dy, dw, x, weight, mean, rstd, lock, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, inside, 0.0).to(tl.float32)
    slope = tl.load(dy + row * columns + at, inside, 0.0).to(tl.float32)
    scale = tl.load(rstd + row)
    hat = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    part = tl.where(inside, tl.load(weight + at, inside).to(tl.float32) * slope, 0.0)
    c1 = tl.sum(hat * part, 0) / columns
    c2 = tl.sum(part, 0) / columns
    tl.store(dx + row * columns + at, (part - (hat * c1 + c2)) * scale, inside)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(dw + at, tl.load(dw + at, inside) + slope * hat, inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def dropout(x, out, count, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, inside) / (1 - p), 0.0), inside)


@triton.jit
def attention(q, k, v, out, count, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    head = tl.program_id(1) * count * D
    depth = tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + depth[None, :], rows[:, None] < count, 0.0)
    most = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    result = tl.zeros((M, D), tl.float32)
    for first in range(0, count, N):
        at = first + tl.arange(0, N)
        keys = tl.load(k + head + at[None, :] * D + depth[:, None], at[None, :] < count, 0.0)
        score = tl.dot(query, keys) * scale
        score = tl.where((rows[:, None] >= at[None, :]) & (at[None, :] < count), score, -1e30)
        higher = tl.maximum(most, tl.max(score, 1))
        part = tl.exp2(score - higher[:, None])
        old = tl.exp2(most - higher)
        values = tl.load(v + head + at[:, None] * D + depth[None, :], at[:, None] < count, 0.0)
        result = result * old[:, None] + tl.dot(part.to(values.dtype), values)
        total = total * old + tl.sum(part, 1)
        most = higher
    tl.store(out + head + rows[:, None] * D + depth[None, :], result / total[:, None],
             rows[:, None] < count)


@triton.jit
def histogram(x, out, count, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, at < count, 0), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, at < columns, 0.0)
    tl.store(out + row + at, tl.cumsum(value, 0), at < columns)


@triton.jit
def sort(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, at < columns, float("inf"))
    tl.store(out + row + at, tl.sort(value), at < columns)


@triton.jit
def gelu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count)
    tl.store(out + at, 0.5 * value * (1 + tl.erf(value * 0.70710678)), at < count)


@triton.jit
def rotary(x, cosine, sine, out, length, D: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, D // 2)
    c = tl.load(cosine + row % length * (D // 2) + half)
    s = tl.load(sine + row % length * (D // 2) + half)
    low = tl.load(x + row * D + half)
    high = tl.load(x + row * D + D // 2 + half)
    tl.store(out + row * D + half, low * c - high * s)
    tl.store(out + row * D + D // 2 + half, high * c + low * s)


# Name, kernel, types of all parameters in order, values of the constant ones.
KERNELS = [
    ("add", add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    ("softmax", softmax, "*fp32 *fp32 i32 i32", {"BLOCK": 2048}),
    ("matmul-f32", matmul, "*fp32 *fp32 *fp32 i32 i32 i32", {"M": 32, "N": 32, "K": 16}),
    ("matmul-f16", matmul, "*fp16 *fp16 *fp16 i32 i32 i32", {"M": 64, "N": 64, "K": 32}),
    ("layer-norm", layer_norm, "*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32 fp32", {"BLOCK": 1024}),
    ("layer-norm-backward", layer_norm_backward,
     "*fp16 *fp16 *fp32 *fp16 *fp16 *fp32 *fp32 *i32 i32", {"BLOCK": 1024}),
    ("dropout", dropout, "*fp32 *fp32 i32 fp32 i32", {"BLOCK": 1024}),
    ("attention", attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 64, "N": 32, "D": 64}),
    ("histogram", histogram, "*i32 *i32 i32", {"BLOCK": 1024, "BINS": 256}),
    ("running-sum", running_sum, "*fp32 *fp32 i32", {"BLOCK": 2048}),
    ("sort", sort, "*fp32 *fp32 i32", {"BLOCK": 512}),
    ("gelu", gelu, "*fp32 *fp32 i32", {"BLOCK": 1024}),
    ("rotary", rotary, "*fp16 *fp16 *fp16 *fp16 i32", {"D": 128}),
]
