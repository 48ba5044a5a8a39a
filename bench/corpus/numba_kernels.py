# SPDX-License-Identifier: MIT
"""numba-cuda kernels of the kinds that its documentation shows, for collect.py."""
import math

from numba import cuda, float32, float64, int32, uint8, void

TILE = 16
HALF = math.sqrt(0.5)


def mandelbrot(image, x0, y0, dx, dy, limit):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        c = complex(x0 + x * dx, y0 + y * dy)
        z = 0j
        for step in range(limit):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                image[y, x] = step
                return
        image[y, x] = limit


def matmul(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and first + tx < a.shape[1]:
            left[ty, tx] = a[y, first + tx]
        if x < b.shape[1] and first + ty < b.shape[0]:
            right[ty, tx] = b[first + ty, x]
        cuda.syncthreads()
        for at in range(TILE):
            total += left[ty, at] * right[at, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def bodies(position, velocity, dt):
    i = cuda.grid(1)
    if i >= position.shape[0]:
        return
    ax = ay = az = 0.0
    for j in range(position.shape[0]):
        dx = position[j, 0] - position[i, 0]
        dy = position[j, 1] - position[i, 1]
        dz = position[j, 2] - position[i, 2]
        r = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + 1e-9)
        ax += dx * r * r * r
        ay += dy * r * r * r
        az += dz * r * r * r
    velocity[i, 0] += ax * dt
    velocity[i, 1] += ay * dt
    velocity[i, 2] += az * dt


def option_prices(call, put, price, strike, years, rate, volatility):
    i = cuda.grid(1)
    if i < price.shape[0]:
        root = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility ** 2) * years[i]) / root
        d2 = d1 - root
        paid = strike[i] * math.exp(-rate * years[i])
        call[i] = 0.5 * (price[i] * math.erfc(-d1 * HALF) - paid * math.erfc(-d2 * HALF))
        put[i] = 0.5 * (paid * math.erfc(d2 * HALF) - price[i] * math.erfc(d1 * HALF))


def life(old, new):
    x, y = cuda.grid(2)
    h, w = old.shape
    if x < w and y < h:
        near = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                near += old[(y + dy) % h, (x + dx) % w]
        near -= old[y, x]
        new[y, x] = 1 if near == 3 or (near == 2 and old[y, x] == 1) else 0


def scan(data, sums):
    part = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = data[i] if i < data.shape[0] else 0
    step = 1
    while step < 256:
        cuda.syncthreads()
        other = part[t - step] if t >= step else 0
        cuda.syncthreads()
        part[t] += other
        step *= 2
    if i < data.shape[0]:
        data[i] = part[t]
    if t == 255:
        sums[cuda.blockIdx.x] = part[t]


# Name, function, types of the parameters.
KERNELS = [
    ("mandelbrot", mandelbrot, void(int32[:, :], float64, float64, float64, float64, int32)),
    ("matmul", matmul, void(float32[:, :], float32[:, :], float32[:, :])),
    ("bodies", bodies, void(float64[:, :], float64[:, :], float64)),
    ("option-prices", option_prices, void(*[float64[:]] * 5, float64, float64)),
    ("life", life, void(uint8[:, :], uint8[:, :])),
    ("scan", scan, void(int32[:], int32[:])),
]
