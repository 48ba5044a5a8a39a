/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_TEXTURE_PARTS_H
#define CPU_RUNTIME_TEXTURE_PARTS_H

/*
 * The steps that a texture fetch of one lane (texture_fetch.c) and that of a warp
 * (texture_lanes.c) share.  Most are inline and choose without branches, so that loops over lanes
 * become vectors.
 */
#include "cpu/runtime/rt_half.h"
#include "cpu/runtime/texture_fetch.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
	WEIGHT_BITS = 8,
	WEIGHT_ONE = 1 << WEIGHT_BITS,
	COORDINATE_ONE = 1 << 21,
	CUBE_FACES = 6,
	RECIPROCAL_BITS = 23,
	QUAD = 4,
	MOST_TAPS = 8
};

/* The integer next to a number below 2^51, ties to even. */
static inline double texture_nearest(double x)
{
	const double large = 0x1.8p52;
	return x + large - large;
}

/* Larger ones are integers already.  (The C library's function is a call without SSE4.1.) */
static inline double texture_floor(double x)
{
	const double near = texture_nearest(x);
	const double below = near - 1, floor = near > x ? below : near;
	return fabs(x) < 0x1p51 ? floor : x;
}

/* What the stored bits of a channel stand for.  Normalized integers have 8 or 16 bits. */
enum decoding {
	DECODE_BITS, DECODE_SIGNED, DECODE_HALF, DECODE_SRGB, DECODE_UNORM, DECODE_SNORM
};

/* The upper 16 bits of the float that each sRGB value is. */
extern const uint16_t texture_srgb[256];

/* What a channel is in a register, but for the least SNORM (texture_finish). */
static inline uint32_t texture_decode(enum decoding decoding, unsigned bits, uint32_t stored)
{
	const unsigned unused = 32u - bits;
	const int32_t extended = (int32_t)(stored << unused) >> unused;
	switch (decoding) {
	case DECODE_SIGNED:
		return (uint32_t)extended;
	case DECODE_HALF:
		return rt_half_to_float(stored);
	case DECODE_SRGB:
		return (uint32_t)texture_srgb[stored] << 16;
	case DECODE_UNORM:
		return rt_float_bits((float)((int32_t)stored
			/ (double)(int32_t)(UINT32_MAX >> unused)));
	case DECODE_SNORM:
		return rt_float_bits((float)(extended / (double)(INT32_MAX >> unused)));
	default:
		return stored;
	}
}

static inline bool texture_is_cube(const struct texture_request *r)
{
	return r->geometry == GEOMETRY_CUBE || r->geometry == GEOMETRY_CUBE_LAYERED;
}

static inline unsigned texture_dimensions(const struct texture_request *r)
{
	switch ((enum geometry)r->geometry) {
	case GEOMETRY_1D:
	case GEOMETRY_1D_LAYERED:
		return 1;
	case GEOMETRY_3D:
		return 3;
	default:
		return 2;
	}
}

/* The texels that a linear filter adds, of one level or two.  Those of a level are whole QUADs. */
struct taps {
	uint32_t values[2 * MOST_TAPS][4]; /* bits of floats or integers */
	uint32_t weights[2 * MOST_TAPS];
	unsigned count;
};

/* The weights of all texels of a level, which are `level` together: that is split along z, each
 * part along x, each of these along y.  They go to every `stride`th word. */
static inline void texture_weigh(uint32_t x, uint32_t y, uint32_t z, uint32_t level, uint32_t *out,
	size_t stride)
{
	const uint32_t upper = (level * z + WEIGHT_ONE / 2) >> WEIGHT_BITS;
	for (unsigned slice = 0; slice < 2; slice++, out += 4 * stride) {
		const uint32_t whole = slice ? upper : level - upper;
		const uint32_t right = (whole * x + WEIGHT_ONE / 2) >> WEIGHT_BITS;
		const uint32_t left = whole - right;
		const uint32_t far = (right * y + WEIGHT_ONE / 2) >> WEIGHT_BITS;
		const uint32_t low = (left * y + WEIGHT_ONE / 2 - 1) >> WEIGHT_BITS;
		out[0] = left - low;
		out[stride] = right - far;
		out[2 * stride] = low;
		out[3 * stride] = far;
	}
}

static inline uint32_t texture_finish_float(double sum)
{
	const uint32_t bits = rt_float_bits((float)sum), sign = bits & 0x80000000;
	return isnan(sum) ? 0x7fffffff : fabs(sum) < FLT_MIN ? sign : bits;
}

/* Small integers are added as multiples of 1 / `steps`, and the sum is one of 1 / `most`. */
static inline void texture_steps(const struct texel_format *format, double *steps, double *most)
{
	const bool is_signed = format->kind == TEXEL_SINT;
	*most = is_signed ? INT16_MAX : UINT16_MAX;
	*steps = is_signed && format->bits == 8 ? INT8_MAX : *most;
}

static inline double texture_weigh_integer(uint32_t weight, uint32_t value, double steps)
{
	return (int32_t)weight * texture_nearest((double)rt_bits_float(value) * steps);
}

static inline uint32_t texture_finish_integers(double sum, double steps, double most)
{
	sum = texture_floor(sum / WEIGHT_ONE / steps * most + 0.5);
	return rt_float_bits((float)(sum / most));
}

/* texture_fetch.c */
enum decoding texture_decoding(const struct texture *t, unsigned channel);
uint32_t texture_border(const struct texture *t, unsigned channel);
enum address_mode texture_mode_of(const struct sampler *sampler, unsigned axis,
	bool is_normalized);
uint32_t texture_add(const struct texture *t, unsigned channel, const struct taps *taps);
/* The last step: what the channels become in registers. */
void texture_finish(const struct texture *t, bool wants_halves, uint32_t out[4]);

#endif
