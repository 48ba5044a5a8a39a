/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_GENERATORS_H
#define SUPPORT_GENERATORS_H

/*
 * References for cuRAND's generators XORWOW (Marsaglia) and MRG32k3a (L'Ecuyer): the states that a
 * seed gives, one step, and powers of the matrix of one step, for what is skipped.
 */
#include <stdint.h>

/* The bits of XORWOW's state without its counter. */
enum { XORWOW_BITS = 160 };

struct xorwow {
	uint32_t v[5];
};

struct xorwow xorwow_seed(uint64_t seed, uint32_t *counter);
struct xorwow xorwow_step(struct xorwow s);
/* A matrix over GF(2): column i is the state that bit i becomes. */
void xorwow_matrix(struct xorwow m[XORWOW_BITS]);
void xorwow_square(struct xorwow m[XORWOW_BITS]);
struct xorwow xorwow_apply(const struct xorwow m[XORWOW_BITS], struct xorwow s);

/* The two components of MRG32k3a: their moduli, and the matrix of one step of three words, the
 * oldest first. */
extern const uint64_t mrg_moduli[2];
void mrg_seed(uint64_t s[2][3], uint64_t seed);
void mrg_matrices(uint64_t m[2][3][3]);
void mrg_square(uint64_t m[2][3][3]);
void mrg_apply(uint64_t m[2][3][3], uint64_t s[2][3]);

#endif
