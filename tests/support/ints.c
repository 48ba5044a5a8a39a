/* SPDX-License-Identifier: MIT */
/* See ints.h. */
#include "base/common.h"

#include "ints.h"

#include <stdlib.h>

static uint32_t bytes_of(uint32_t p, uint32_t q, int width, uint32_t (*op)(uint32_t, uint32_t))
{
	uint32_t mask = (uint32_t)(((uint64_t)1 << width) - 1);
	uint32_t out = 0;
	for (int i = 0; i < 32; i += width) {
		out |= (op(p >> i & mask, q >> i & mask) & mask) << i;
	}
	return out;
}

static uint32_t op_add(uint32_t a, uint32_t b)
{
	return a + b;
}

static uint32_t op_absdiff(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t op_greater(uint32_t a, uint32_t b)
{
	return a > b ? UINT32_MAX : 0;
}

static uint64_t reverse(uint64_t v, int bits)
{
	uint64_t out = 0;
	for (int i = 0; i < bits; i++) {
		out |= (v >> i & 1) << (bits - 1 - i);
	}
	return out;
}

static uint32_t byte_perm(uint32_t p, uint32_t q, uint32_t selector)
{
	uint64_t both = (uint64_t)q << 32 | p;
	uint32_t out = 0;
	for (int i = 0; i < 4; i++) {
		out |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	}
	return out;
}

static int32_t mul24(int32_t a, int32_t b)
{
	int32_t low_a = (int32_t)((uint32_t)a << 8) >> 8, low_b = (int32_t)((uint32_t)b << 8) >> 8;
	return (int32_t)((int64_t)low_a * low_b);
}

static uint32_t dot_bytes(uint32_t a, uint32_t b, bool is_signed)
{
	uint32_t sum = 0;
	for (int i = 0; i < 32; i += 8) {
		uint32_t x = a >> i & 0xff, y = b >> i & 0xff;
		sum += is_signed ? (uint32_t)((int8_t)x * (int8_t)y) : x * y;
	}
	return sum;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* x[i] of the kernel: sums wrap, so everything is added modulo 2^32. */
static uint32_t int_sum(const struct ints *v)
{
	int32_t a = v->x[0], b = v->x[1];
	uint32_t ua = (uint32_t)a, p = v->u[0], q = v->u[1];
	uint64_t m = (uint64_t)v->l[0], r = v->ul[0];
	unsigned sh = ua & 31, sc = (uint32_t)b > 32 ? 32 : (uint32_t)b;
	uint32_t diff = a > b ? ua - (uint32_t)b : (uint32_t)b - ua;
	uint32_t s = (uint32_t)(a / b) + (uint32_t)(a % b) + (uint32_t)(((int64_t)a * b) >> 32);
	s += (uint32_t)mul24(a, b) + (uint32_t)abs(a) + (uint32_t)(a < b ? a : b);
	s += (uint32_t)(a > b ? a : b) + diff + p;
	s += (uint32_t)(((int64_t)a + b) >> 1) + (uint32_t)(((int64_t)a + b + 1) >> 1);
	s += (a ? (uint32_t)__builtin_clz(ua) : 32) + (uint32_t)__builtin_popcount(p);
	s += (uint32_t)__builtin_ffs(a) + (uint32_t)reverse(p, 32) + byte_perm(p, q, 0x1234);
	s += (uint32_t)(((uint64_t)q << 32 | p) << sh >> 32);
	s += (uint32_t)(((uint64_t)q << 32 | p) >> sc);
	s += (ua << b) + (uint32_t)(a >> b) + (p >> q);
	s += (m ? (uint32_t)__builtin_clzll(m) : 64) + (uint32_t)__builtin_popcountll(r);
	s += (uint32_t)__builtin_ffsll((int64_t)m) + bytes_of(p, q, 8, op_add);
	return s + bytes_of(p, q, 8, op_absdiff) + bytes_of(p, q, 16, op_greater);
}

static uint32_t unsigned_sum(const struct ints *v)
{
	int32_t a = v->x[0], b = v->x[1];
	uint32_t p = v->u[0], q = v->u[1];
	uint32_t s = p / q + p % q + (uint32_t)((uint64_t)p * q >> 32);
	s += (uint32_t)((uint64_t)(p & 0xffffff) * (q & 0xffffff)) + op_absdiff(p, q) + p;
	s += dot_bytes((uint32_t)a, (uint32_t)b, true) + (uint32_t)a + dot_bytes(p, q, false) + p;
	int32_t lo = (int16_t)a, hi = (int16_t)(a >> 16);
	return s + (uint32_t)(lo * (int8_t)b + hi * (int8_t)(b >> 8)) + (uint32_t)a;
}

void ints_compute(struct ints *v)
{
	const struct ints in = *v;
	int32_t a = in.x[0], b = in.x[1];
	int64_t m = in.l[0], o = in.l[1];
	uint64_t r = in.ul[0], t = in.ul[1];
	__extension__ typedef __int128 i128;
	__extension__ typedef unsigned __int128 u128;
	v->x[0] = (int32_t)int_sum(&in);
	v->u[0] = unsigned_sum(&in);
	v->l[0] = (int64_t)((uint64_t)(m / o) + (uint64_t)(m % o) + (uint64_t)(((i128)m * o) >> 64)
		+ magnitude(m) + ((uint64_t)m << a) + (uint64_t)((int64_t)a * b));
	v->ul[0] = r / t + r % t + (uint64_t)((u128)r * t >> 64) + reverse(r, 64)
		+ (uint64_t)in.u[0] * in.u[1];
	v->h[0] = (int16_t)(in.h[0] * in.h[1] + a);
	v->c[0] = (uint8_t)(in.c[0] / in.c[1] + in.c[2]);
	v->x[2] = v->h[0] >> 2;
	v->l[2] = (int64_t)(((i128)m * o + (i128)(u128)r) >> 64);
	v->ul[3] = (uint64_t)((u128)r * t % 1000003);
}

static uint64_t wide(uint32_t (*random)(void))
{
	uint64_t high = random();
	return high << 32 | random();
}

struct ints ints_random(uint32_t (*random)(void))
{
	struct ints v = {
		.x = {(int32_t)(random() & 31), 1 + (int32_t)(random() % 31), 0},
		.u = {random(), 1 + random() % 31},
		.l = {(int64_t)wide(random), (int64_t)(wide(random) >> (random() & 63) | 1), 0},
		.ul = {wide(random), wide(random) >> (random() & 63) | 1, 0, 0},
		.h = {(int16_t)random(), (int16_t)random()},
		.c = {(uint8_t)random(), (uint8_t)(random() | 1), (uint8_t)random()},
	};
	return v;
}
