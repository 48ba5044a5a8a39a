/* SPDX-License-Identifier: MIT */
/*
 * The Mersenne Twister on the host, and the rules by which numpy and PyTorch make numbers of its
 * words.
 *
 * The generator is MT19937 of Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998),
 * with the seeding of their version of 2002.  The rules are those of numpy's RandomState, whose
 * stream numpy has frozen (NEP 19), and of PyTorch's CPU generator.  How many words a rule uses,
 * and in which order, is part of it: a program draws the same numbers as the original only if all
 * draws before used the same words.
 */
#include "base/common.h"

#include "lib/core/object.h"

#include <kudzu/random.h>

#include <math.h>
#include <string.h>

enum { WORDS = 624, SHIFT = 397, PAIRS = 8, GROUP = 2 * PAIRS };

#define TWO_PI 6.283185307179586476925286766559

/* The words */

void kz_mt19937_init(kz_mt19937 *rng, uint32_t seed)
{
	if (!rng) {
		return;
	}
	*rng = (kz_mt19937){.words = {seed}, .used = WORDS};
	for (uint32_t i = 1; i < WORDS; i++) {
		uint32_t last = rng->words[i - 1];
		rng->words[i] = 1812433253u * (last ^ last >> 30) + i;
	}
}

static void mt19937_twist(uint32_t *words)
{
	for (int i = 0; i < WORDS; i++) {
		uint32_t both = (words[i] & 0x80000000u) | (words[(i + 1) % WORDS] & 0x7fffffffu);
		words[i] = words[(i + SHIFT) % WORDS] ^ both >> 1 ^ (both & 1 ? 0x9908b0dfu : 0);
	}
}

uint32_t kz_mt19937_next(kz_mt19937 *rng)
{
	if (!rng) {
		return 0;
	}
	if (rng->used < 0 || rng->used >= WORDS) {
		mt19937_twist(rng->words);
		rng->used = 0;
	}
	uint32_t word = rng->words[rng->used++];
	word ^= word >> 11;
	word ^= word << 7 & 0x9d2c5680u;
	word ^= word << 15 & 0xefc60000u;
	return word ^ word >> 18;
}

/* The first word is the upper one, here and there. */
static uint64_t mt19937_next_64(kz_mt19937 *rng)
{
	uint64_t high = kz_mt19937_next(rng);
	return high << 32 | kz_mt19937_next(rng);
}

/* numpy */

double kz_mt19937_double(kz_mt19937 *rng)
{
	uint32_t high = kz_mt19937_next(rng) >> 5, low = kz_mt19937_next(rng) >> 6;
	return (high * 0x1p26 + low) * 0x1p-53;
}

double kz_mt19937_normal(kz_mt19937 *rng)
{
	double x, y, square;
	if (!rng) {
		return 0;
	}
	if (rng->has_normal) {
		rng->has_normal = 0;
		return rng->normal;
	}
	do {
		x = 2 * kz_mt19937_double(rng) - 1;
		y = 2 * kz_mt19937_double(rng) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	double factor = sqrt(-2 * log(square) / square);
	rng->normal = factor * x;
	rng->has_normal = 1;
	return factor * y;
}

/* An integer of 0 to `most`; of 0 no word is used. */
static uint64_t mt19937_up_to(kz_mt19937 *rng, uint64_t most)
{
	uint64_t mask = most, value;
	if (most == 0) {
		return 0;
	}
	for (int shift = 1; shift < 64; shift *= 2) {
		mask |= mask >> shift;
	}
	do {
		value = mask & (most > UINT32_MAX ? mt19937_next_64(rng) : kz_mt19937_next(rng));
	} while (value > most);
	return value;
}

kz_status kz_mt19937_integers(int64_t *out, kz_mt19937 *rng, int64_t count, int64_t low,
	int64_t high, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = pointer_check(rng, "a generator", err))
	    || (st = count ? pointer_check(out, "a place for numbers", err) : KZ_OK)) {
		return st;
	}
	if (count < 0) {
		return error_set(err, KZ_INVALID, "expected a count of at least 0, got %lld",
			(long long)count);
	}
	if (high <= low) {
		return error_set(err, KZ_INVALID, "expected integers from %lld to below a number "
			"above it, got %lld", (long long)low, (long long)high);
	}
	for (int64_t i = 0; i < count; i++) {
		uint64_t value = mt19937_up_to(rng, (uint64_t)high - 1 - (uint64_t)low);
		out[i] = (int64_t)((uint64_t)low + value);
	}
	return KZ_OK;
}

static void mt19937_swap(char *a, char *b, int64_t size)
{
	char room[64];
	for (int64_t done = 0; done < size; done += (int64_t)sizeof(room)) {
		size_t part = (size_t)(size - done) < sizeof(room) ? (size_t)(size - done)
			: sizeof(room);
		memcpy(room, a + done, part);
		memmove(a + done, b + done, part);
		memcpy(b + done, room, part);
	}
}

void kz_mt19937_shuffle(void *items, kz_mt19937 *rng, int64_t count, int64_t item_size)
{
	for (int64_t i = items && rng && item_size > 0 ? count - 1 : 0; i > 0; i--) {
		int64_t other = (int64_t)mt19937_up_to(rng, (uint64_t)i);
		mt19937_swap((char *)items + i * item_size, (char *)items + other * item_size,
			item_size);
	}
}

void kz_mt19937_permutation(int64_t *out, kz_mt19937 *rng, int64_t count)
{
	for (int64_t i = 0; out && i < count; i++) {
		out[i] = i;
	}
	kz_mt19937_shuffle(out, rng, count, (int64_t)sizeof(*out));
}

/* PyTorch.  Its compiler fuses the product and the sum of uniform numbers, except for processors
 * that cannot. */

static float mt19937_torch_f32(kz_mt19937 *rng)
{
	return (float)(kz_mt19937_next(rng) & 0xffffffu) * 0x1p-24f;
}

static double mt19937_torch_f64(kz_mt19937 *rng)
{
	return (double)(mt19937_next_64(rng) & 0x1fffffffffffffu) * 0x1p-53;
}

void kz_mt19937_torch_uniform_f32(float *out, kz_mt19937 *rng, int64_t count, float low,
	float high)
{
	for (int64_t i = 0; out && rng && i < count; i++) {
		float x = mt19937_torch_f32(rng);
		out[i] = isfinite(high - low) ? fmaf(x, high - low, low) : (1 - x) * low + x * high;
	}
}

void kz_mt19937_torch_uniform_f64(double *out, kz_mt19937 *rng, int64_t count, double low,
	double high)
{
	for (int64_t i = 0; out && rng && i < count; i++) {
		double x = mt19937_torch_f64(rng);
		out[i] = isfinite(high - low) ? fma(x, high - low, low) : (1 - x) * low + x * high;
	}
}

/* One number, by Box and Muller's method in doubles, of all types. */
static double mt19937_torch_normal(kz_mt19937 *rng)
{
	if (rng->has_normal) {
		rng->has_normal = 0;
		return rng->normal;
	}
	double turn = mt19937_torch_f64(rng);
	double radius = sqrt(-2 * log1p(-mt19937_torch_f64(rng)));
	rng->normal = radius * sin(TWO_PI * turn);
	rng->has_normal = 1;
	return radius * cos(TWO_PI * turn);
}

/* Sixteen uniform numbers become normal: eight pairs whose members are eight apart. */
static void mt19937_torch_group_f32(float *group)
{
	for (int i = 0; i < PAIRS; i++) {
		float radius = sqrtf(-2 * logf(1 - group[i]));
		float angle = (float)TWO_PI * group[i + PAIRS];
		group[i] = radius * cosf(angle);
		group[i + PAIRS] = radius * sinf(angle);
	}
}

static void mt19937_torch_group_f64(double *group)
{
	for (int i = 0; i < PAIRS; i++) {
		double radius = sqrt(-2 * log(1 - group[i]));
		double angle = TWO_PI * group[i + PAIRS];
		group[i] = radius * cos(angle);
		group[i + PAIRS] = radius * sin(angle);
	}
}

void kz_mt19937_torch_normal_f32(float *out, kz_mt19937 *rng, int64_t count)
{
	for (int64_t i = 0; out && rng && count < GROUP && i < count; i++) {
		out[i] = (float)mt19937_torch_normal(rng);
	}
	if (!out || !rng || count < GROUP) {
		return;
	}
	kz_mt19937_torch_uniform_f32(out, rng, count, 0, 1);
	for (int64_t i = 0; i + GROUP <= count; i += GROUP) {
		mt19937_torch_group_f32(out + i);
	}
	if (count % GROUP) { /* the last sixteen are drawn again */
		kz_mt19937_torch_uniform_f32(out + count - GROUP, rng, GROUP, 0, 1);
		mt19937_torch_group_f32(out + count - GROUP);
	}
}

void kz_mt19937_torch_normal_f64(double *out, kz_mt19937 *rng, int64_t count)
{
	for (int64_t i = 0; out && rng && count < GROUP && i < count; i++) {
		out[i] = mt19937_torch_normal(rng);
	}
	if (!out || !rng || count < GROUP) {
		return;
	}
	kz_mt19937_torch_uniform_f64(out, rng, count, 0, 1);
	for (int64_t i = 0; i + GROUP <= count; i += GROUP) {
		mt19937_torch_group_f64(out + i);
	}
	if (count % GROUP) {
		kz_mt19937_torch_uniform_f64(out + count - GROUP, rng, GROUP, 0, 1);
		mt19937_torch_group_f64(out + count - GROUP);
	}
}
