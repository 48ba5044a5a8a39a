# SPDX-License-Identifier: MIT
"""Warp kernels of the kinds that its examples show, with their gradients, for collect.py."""
import warp as wp


@wp.func
def spring(a: wp.vec3, b: wp.vec3, rest: float, stiffness: float):
    between = b - a
    length = wp.length(between)
    return between * (stiffness * (length - rest) / wp.max(length, 1.0e-6))


@wp.kernel(module="unique")
def cloth(x: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3),
          pairs: wp.array2d(dtype=int), rest: wp.array(dtype=float), stiffness: float):
    i = wp.tid()
    a = pairs[i, 0]
    b = pairs[i, 1]
    pull = spring(x[a], x[b], rest[i], stiffness)
    wp.atomic_add(force, a, pull)
    wp.atomic_sub(force, b, pull)


@wp.kernel(module="unique")
def rigid_bodies(position: wp.array(dtype=wp.vec3), rotation: wp.array(dtype=wp.quat),
                 speed: wp.array(dtype=wp.vec3), spin: wp.array(dtype=wp.vec3),
                 inertia: wp.array(dtype=wp.mat33), torque: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    q = rotation[i]
    w = wp.quat_rotate_inv(q, spin[i])
    change = wp.inverse(inertia[i]) * (wp.quat_rotate_inv(q, torque[i])
                                       - wp.cross(w, inertia[i] * w))
    spin[i] = wp.quat_rotate(q, w + change * dt)
    turned = q + wp.quat(spin[i], 0.0) * q * 0.5 * dt
    rotation[i] = wp.normalize(turned)
    position[i] = position[i] + speed[i] * dt


@wp.kernel(module="unique")
def decompose(a: wp.array(dtype=wp.mat33), u: wp.array(dtype=wp.mat33),
              s: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    left = wp.mat33()
    values = wp.vec3()
    right = wp.mat33()
    wp.svd3(a[i], left, values, right)
    u[i] = left
    s[i] = values
    v[i] = right


@wp.kernel(module="unique")
def noise(out: wp.array2d(dtype=float), scale: float, seed: int):
    y, x = wp.tid()
    state = wp.rand_init(seed)
    p = wp.vec3(float(x) * scale, float(y) * scale, 0.5)
    out[y, x] = wp.noise(state, p) + 0.5 * wp.curlnoise(state, p)[0]


@wp.func
def distance(p: wp.vec3):
    ball = wp.length(p - wp.vec3(0.0, 1.0, 0.0)) - 1.0
    q = wp.vec2(wp.length(wp.vec2(p[0], p[2])) - 2.0, p[1] - 0.5)
    return wp.min(wp.min(ball, wp.length(q) - 0.4), p[1])


@wp.kernel(module="unique")
def march(image: wp.array2d(dtype=wp.vec3), width: float, height: float):
    y, x = wp.tid()
    ray = wp.normalize(wp.vec3(float(x) / width - 0.5, float(y) / height - 0.5, -1.0))
    p = wp.vec3(0.0, 1.5, 6.0)
    for _ in range(96):
        step = distance(p)
        if step < 1.0e-3:
            break
        p = p + ray * step
    h = 1.0e-3
    normal = wp.normalize(wp.vec3(
        distance(p + wp.vec3(h, 0.0, 0.0)) - distance(p - wp.vec3(h, 0.0, 0.0)),
        distance(p + wp.vec3(0.0, h, 0.0)) - distance(p - wp.vec3(0.0, h, 0.0)),
        distance(p + wp.vec3(0.0, 0.0, h)) - distance(p - wp.vec3(0.0, 0.0, h))))
    image[y, x] = normal * wp.max(wp.dot(normal, wp.vec3(0.6, 0.7, 0.4)), 0.1)


def modules():
    """Name and module of each kernel."""
    for kernel in (cloth, rigid_bodies, decompose, noise, march):
        yield kernel.key, kernel.module
