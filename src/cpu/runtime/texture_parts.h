/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_TEXTURE_PARTS_H
#define CPU_RUNTIME_TEXTURE_PARTS_H

/*
 * The steps of a texture fetch, from a coordinate to the sum of texels.  texture_fetch.c takes them
 * for one lane and every kind of texture, texture_lanes.c for a warp and the plain kinds.  Most are
 * inline and choose without branches, so that loops over lanes become vectors.
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

/* Positions beyond this are all the same: outside. */
static const double FAR = 1 << 30;

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

static inline double texture_within(double value, double low, double high)
{
	value = value < low ? low : value;
	value = value > high ? high : value;
	return isnan(value) ? 0 : value;
}

static inline uint32_t texture_stored(const uint8_t *texel, unsigned channel, unsigned bits)
{
	uint32_t word;
	uint16_t half;
	switch (bits) {
	case 8:
		return texel[channel];
	case 16:
		memcpy(&half, texel + channel * sizeof(half), sizeof(half));
		return half;
	default:
		memcpy(&word, texel + channel * sizeof(word), sizeof(word));
		return word;
	}
}

/* --- Axes --- */

/* The texels that a coordinate of one axis selects. */
struct axis {
	enum address_mode mode;
	uint32_t extent;
	int64_t first;      /* index of the texel, or of the lower of two */
	uint32_t weight;    /* of the upper one, of WEIGHT_ONE; 0 if there is none */
	bool crosses;       /* the texels beyond the edges belong to another face */
	uint32_t at[2];     /* of each texel: the index once the address mode is applied, */
	bool is_inside[2];  /* and whether it is not the border's */
};

/* Apply the address mode to an index.  False if the texel is the border. */
static inline bool texture_resolve(const struct axis *axis, int64_t index, uint32_t *out)
{
	int64_t n = axis->extent;
	if (index >= 0 && index < n) {
		*out = (uint32_t)index;
		return true;
	}
	switch (axis->mode) {
	case ADDRESS_WRAP:
		index %= n;
		index += index < 0 ? n : 0;
		break;
	case ADDRESS_MIRROR:
		index %= 2 * n;
		index += index < 0 ? 2 * n : 0;
		index = index < n ? index : 2 * n - 1 - index;
		break;
	case ADDRESS_BORDER:
		*out = 0;
		return false;
	case ADDRESS_CLAMP:
		index = index < 0 ? 0 : n - 1;
		break;
	}
	*out = (uint32_t)index;
	return true;
}

/* The position in texels.  Where the axis repeats, the coordinate is reduced before it is
 * scaled. */
static inline double texture_position(double x, const struct axis *axis, bool is_normalized)
{
	const double period = axis->mode == ADDRESS_WRAP ? 1 : axis->mode == ADDRESS_MIRROR ? 2 : 0;
	if (!is_normalized) {
		return texture_within(x, -FAR, FAR);
	}
	x = texture_floor(x * COORDINATE_ONE) / COORDINATE_ONE;
	if (period > 0) {
		x -= period * texture_floor(x / period);
	}
	return texture_within(x * axis->extent, -FAR, FAR);
}

/* The texel at a position, or the lower of two and the weight of the upper one. */
static inline int32_t texture_place(double at, bool is_linear, uint32_t *weight)
{
	if (!is_linear) {
		*weight = 0;
		return (int32_t)texture_floor(at);
	}
	const double fixed = texture_floor((at - 0.5) * WEIGHT_ONE + 0.5);
	const double first = texture_floor(fixed / WEIGHT_ONE);
	*weight = (uint32_t)(int32_t)(fixed - first * WEIGHT_ONE);
	return (int32_t)first;
}

/* Whether both texels from `first` on are the one at an edge. */
static inline bool texture_is_edge(const struct axis *axis, int64_t first)
{
	return axis->mode == ADDRESS_CLAMP && !axis->crosses
		&& (first < 0 || first >= axis->extent - 1);
}

/* --- Sampling one level --- */

/* The texels of one level that a request reads. */
struct footprint {
	const struct texture *texture;
	const struct image *image;
	struct axis axes[3];
	unsigned dimensions;   /* 1, 2 or 3 */
	bool is_linear;
	uint32_t slice;        /* of 1 and 2 dimensions; of a cube, its first face */
	unsigned face;
	bool crosses;          /* a seamless cube */
};

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

/* texture_fetch.c: a channel from its stored bits; of the border. */
uint32_t texture_decode(const struct texture *t, unsigned channel, uint32_t stored);
uint32_t texture_border(const struct texture *t, unsigned channel);
uint32_t texture_slice_of(const struct texture_request *r, const struct image *image);
void texture_place_all(struct footprint *f, const struct texture *t, const struct image *image,
	const struct texture_request *r);
uint32_t texture_add(const struct texture *t, unsigned channel, const struct taps *taps);
/* The last step: what the channels become in registers. */
void texture_finish(const struct texture *t, bool wants_halves, uint32_t out[4]);

#endif
