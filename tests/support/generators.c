/* SPDX-License-Identifier: MIT */
/* XORWOW and MRG32k3a; see generators.h. */
#include "support/generators.h"

#include <string.h>

/* XORWOW */

struct xorwow xorwow_seed(uint64_t seed, uint32_t *counter)
{
	const uint32_t t0 = 1099087573 * ((uint32_t)seed ^ 0xaad26b49);
	const uint32_t t1 = 2591861531 * ((uint32_t)(seed >> 32) ^ 0xf7dcefdd);
	*counter = 6615241 + t1 + t0;
	return (struct xorwow){{123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1,
		5783321 + t0}};
}

struct xorwow xorwow_step(struct xorwow s)
{
	uint32_t t = s.v[0] ^ s.v[0] >> 2;
	memmove(s.v, s.v + 1, 4 * sizeof(*s.v));
	s.v[4] = s.v[3] ^ s.v[3] << 4 ^ t ^ t << 1;
	return s;
}

void xorwow_matrix(struct xorwow m[XORWOW_BITS])
{
	for (int i = 0; i < XORWOW_BITS; i++) {
		struct xorwow unit = {{0}};
		unit.v[i / 32] = 1u << i % 32;
		m[i] = xorwow_step(unit);
	}
}

struct xorwow xorwow_apply(const struct xorwow m[XORWOW_BITS], struct xorwow s)
{
	struct xorwow out = {{0}};
	for (int i = 0; i < XORWOW_BITS; i++) {
		for (int k = 0; s.v[i / 32] >> i % 32 & 1 && k < 5; k++) {
			out.v[k] ^= m[i].v[k];
		}
	}
	return out;
}

void xorwow_square(struct xorwow m[XORWOW_BITS])
{
	struct xorwow old[XORWOW_BITS];
	memcpy(old, m, sizeof(old));
	for (int i = 0; i < XORWOW_BITS; i++) {
		m[i] = xorwow_apply(old, old[i]);
	}
}

/* MRG32k3a */

const uint64_t mrg_moduli[2] = {4294967087, 4294944443};

void mrg_seed(uint64_t s[2][3], uint64_t seed)
{
	const uint64_t x = (uint32_t)seed ^ 0x55555555, y = (uint32_t)(seed >> 32) ^ 0xaaaaaaaa;
	for (int k = 0; k < 3; k++) {
		s[0][k] = seed ? (k == 1 ? y : x) * 12345 % mrg_moduli[0] : 12345;
		s[1][k] = seed ? (k == 1 ? x : y) * 12345 % mrg_moduli[1] : 12345;
	}
}

void mrg_matrices(uint64_t m[2][3][3])
{
	const uint64_t steps[2][3][3] = {
		{{0, 1, 0}, {0, 0, 1}, {mrg_moduli[0] - 810728, 1403580, 0}},
		{{0, 1, 0}, {0, 0, 1}, {mrg_moduli[1] - 1370589, 0, 527612}}};
	memcpy(m, steps, sizeof(steps));
}

void mrg_square(uint64_t m[2][3][3])
{
	uint64_t out[2][3][3] = {{{0}}};
	for (int i = 0; i < 54; i++) {
		const int p = i / 27, r = i / 9 % 3, c = i / 3 % 3, k = i % 3;
		out[p][r][c] = (out[p][r][c] + m[p][r][k] * m[p][k][c] % mrg_moduli[p])
			% mrg_moduli[p];
	}
	memcpy(m, out, sizeof(out));
}

void mrg_apply(uint64_t m[2][3][3], uint64_t s[2][3])
{
	uint64_t out[2][3] = {{0}};
	for (int i = 0; i < 18; i++) {
		const int p = i / 9, r = i / 3 % 3, k = i % 3;
		out[p][r] = (out[p][r] + m[p][r][k] * s[p][k] % mrg_moduli[p]) % mrg_moduli[p];
	}
	memcpy(s, out, sizeof(out));
}
