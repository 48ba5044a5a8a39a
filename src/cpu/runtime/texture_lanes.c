/* SPDX-License-Identifier: MIT */
/*
 * Texture fetches of a warp.
 *
 * Most textures have one level, and most fetches neither an offset nor a cube.  These fetches take
 * each step for all lanes before the next step, in loops that the compiler turns into vectors:
 *
 *	coordinates -> positions, integers in texels or 512ths of a texel
 *	            -> indices of the texels along each axis, by the address mode, and weights
 *	            -> texels, decoded
 *	            -> their sum.
 *
 * Positions are exact: coordinates are floats, and what is multiplied is at most 22 bits of a
 * normalized coordinate and 20 of an extent.  All other fetches go lane by lane (texture_fetch.c),
 * which computes positions in f64 and serves as the reference of the tests.
 */
#include "base/common.h"

#include "cpu/runtime/texture_parts.h"

static struct texture_request texture_request_of(const struct texture_lanes *l, unsigned lane)
{
	struct texture_request r = {.geometry = l->geometry, .mode = l->mode,
		.wants_halves = l->wants_halves, .has_integers = l->has_integers,
		.component = l->component, .layer = l->layer[lane], .level = l->level[lane]};
	const unsigned given = l->geometry == GEOMETRY_CUBE || l->geometry == GEOMETRY_CUBE_LAYERED
		? 3 : texture_dimensions(&r);
	for (unsigned i = 0; i < given; i++) {
		r.at[i] = l->at[i][lane];
		r.dx[i] = l->mode == TEXTURE_GRAD ? l->dx[i][lane] : 0;
		r.dy[i] = l->mode == TEXTURE_GRAD ? l->dy[i][lane] : 0;
		r.offset[i] = l->has_offsets ? l->offset[i][lane] : 0;
	}
	return r;
}

enum {
	POSITION_BITS = 9,            /* a linear filter's positions have as many after the point */
	COORDINATE_BITS = 21,
	MOST_EXTENT = 1 << 20,
	MOST_POSITION = 1 << 30,      /* and beyond all texels */
	MOST_COORDINATE = 512         /* as COORDINATE_BITS, this still fits a position */
};
static_assert(1 << COORDINATE_BITS == COORDINATE_ONE, "normalized coordinates have these bits");

/* What lanes read of a texture without levels, and of no other face of a cube. */
struct plain {
	const struct texture *texture;
	const struct image *image;
	unsigned dimensions;
	unsigned steps;               /* texels along an axis: 1, or 2 of a linear filter */
	bool has_border;
	unsigned channels;            /* that are read; all others are 0 */
	uint32_t index[3][2][TEXTURE_LANES];
	uint32_t inside[3][2][TEXTURE_LANES]; /* all bits, or none: the border; if it has_border */
	uint32_t weights[3][TEXTURE_LANES];
	uint32_t layers[TEXTURE_LANES];
	uint32_t tap_weights[MOST_TAPS][TEXTURE_LANES];
	uint32_t values[MOST_TAPS][4][TEXTURE_LANES];
};

/* --- Positions --- */

/* The integer below a number that it is near enough to fit. */
static inline int32_t texture_below(float x)
{
	const int32_t cut = (int32_t)x;
	return cut - ((float)cut > x);
}

/* A NaN is 0. */
static inline float texture_between(float x, float low, float high)
{
	x = isnan(x) ? 0 : x;
	x = x < low ? low : x;
	return x > high ? high : x;
}

/* Coordinates in texels. */
static void texture_place_texels(const union coordinate at[TEXTURE_LANES], bool is_linear,
	int32_t out[TEXTURE_LANES])
{
	const float one = is_linear ? 1 << POSITION_BITS : 1, most = MOST_POSITION / one;
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		out[lane] = texture_below(texture_between(at[lane].f, -most, most) * one);
	}
}

static void texture_place_integers(const union coordinate at[TEXTURE_LANES],
	int32_t out[TEXTURE_LANES])
{
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		const int32_t x = at[lane].i;
		out[lane] = x < -MOST_POSITION ? -MOST_POSITION
			: x > MOST_POSITION ? MOST_POSITION : x;
	}
}

/* Reduce coordinates by multiples of both periods, 1 and 2.  Most warps have none that needs it. */
static void texture_reduce(const union coordinate at[TEXTURE_LANES], float out[TEXTURE_LANES])
{
	const uint32_t most = rt_float_bits(MOST_COORDINATE);
	uint32_t count = 0;
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		out[lane] = at[lane].f;
		count += (rt_float_bits(at[lane].f) & INT32_MAX) >= most;
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES && count > 0; lane++) {
		if ((rt_float_bits(out[lane]) & INT32_MAX) >= most) {
			const double x = (double)out[lane];
			out[lane] = isfinite(x) ? (float)(x - 2 * texture_floor(x / 2)) : 0;
		}
	}
}

/* Normalized coordinates: first those that are not, in 21 bits, then in texels. */
static void texture_place_normalized(const union coordinate at[TEXTURE_LANES],
	enum address_mode mode, uint32_t extent, bool is_linear, int32_t out[TEXTURE_LANES])
{
	const unsigned shift = COORDINATE_BITS - (is_linear ? POSITION_BITS : 0);
	const int32_t bias = (int32_t)(extent << (COORDINATE_BITS - shift));
	int32_t fixed[TEXTURE_LANES];
	if (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR) {
		const int32_t period = mode == ADDRESS_WRAP ? COORDINATE_ONE : 2 * COORDINATE_ONE;
		float x[TEXTURE_LANES];
		texture_reduce(at, x);
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			fixed[lane] = texture_below(x[lane] * COORDINATE_ONE) & (period - 1);
		}
	} else {
		// Below -1 and above 2 is beyond all texels, too.
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			fixed[lane] = texture_below(texture_between(at[lane].f, -1, 2)
				* COORDINATE_ONE);
		}
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		const uint32_t positive = (uint32_t)(fixed[lane] + COORDINATE_ONE);
		out[lane] = (int32_t)((uint64_t)positive * extent >> shift) - bias;
	}
}

/* --- Indices and weights --- */

/* The texels from `first` on along an axis, the `step`th of each lane. */
static void texture_index_lanes(struct plain *p, unsigned i, unsigned step, enum address_mode mode,
	int32_t n, const int32_t first[TEXTURE_LANES])
{
	uint32_t *out = p->index[i][step];
	switch (mode) {
	// Positions are within a period, so that texels are at most one outside of it.
	case ADDRESS_WRAP:
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			const int32_t index = first[lane] + (int32_t)step;
			out[lane] = (uint32_t)(index < 0 ? n - 1 : index >= n ? 0 : index);
		}
		break;
	case ADDRESS_MIRROR:
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			const int32_t index = first[lane] + (int32_t)step;
			const int32_t back = 2 * n - 1 - index;
			const bool is_beyond = index < 0 || back < 0;
			out[lane] = (uint32_t)(is_beyond ? 0 : index < n ? index : back);
		}
		break;
	case ADDRESS_CLAMP:
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			const int32_t index = first[lane] + (int32_t)step;
			out[lane] = (uint32_t)(index < 0 ? 0 : index >= n ? n - 1 : index);
		}
		break;
	case ADDRESS_BORDER:
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			const int32_t index = first[lane] + (int32_t)step;
			const bool is_inside = index >= 0 && index < n;
			p->inside[i][step][lane] = is_inside ? UINT32_MAX : 0;
			out[lane] = is_inside ? (uint32_t)index : 0;
		}
		break;
	}
}

/* Where the texels of a linear filter begin, 128 256ths below the position, and the weight of the
 * upper one: none, where both are the one at an edge. */
static void texture_split_lanes(struct plain *p, unsigned i, enum address_mode mode, int32_t n,
	const int32_t position[TEXTURE_LANES], int32_t first[TEXTURE_LANES])
{
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		const int32_t fixed = (position[lane] - (WEIGHT_ONE - 1)) >> 1;
		first[lane] = fixed >> WEIGHT_BITS;
		p->weights[i][lane] = (uint32_t)fixed % WEIGHT_ONE;
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES && mode == ADDRESS_CLAMP; lane++) {
		const bool is_between = first[lane] >= 0 && first[lane] < n - 1;
		p->weights[i][lane] = is_between ? p->weights[i][lane] : 0;
	}
}

static void texture_place_lanes(struct plain *p, const struct texture_lanes *l, unsigned i,
	uint32_t extent)
{
	const bool is_linear = p->steps > 1;
	const bool is_normalized = p->texture->sampler.is_normalized && !l->has_integers;
	const enum address_mode mode = texture_mode_of(&p->texture->sampler, i, is_normalized);
	int32_t position[TEXTURE_LANES], first[TEXTURE_LANES];
	if (l->has_integers) {
		texture_place_integers(l->at[i], position);
	} else if (is_normalized) {
		texture_place_normalized(l->at[i], mode, extent, is_linear, position);
	} else {
		texture_place_texels(l->at[i], is_linear, position);
	}
	if (is_linear) {
		texture_split_lanes(p, i, mode, (int32_t)extent, position, first);
	}
	for (unsigned step = 0; step < p->steps; step++) {
		texture_index_lanes(p, i, step, mode, (int32_t)extent,
			is_linear ? first : position);
	}
	if (p->has_border && mode != ADDRESS_BORDER) {
		memset(p->inside[i], 0xff, sizeof(p->inside[i])); // all bits
	}
}

/* --- Texels --- */

/* Where a channel of each lane is in memory: without branches, since every index is inside. */
static void texture_load_lanes(const uint8_t *const texels[TEXTURE_LANES], unsigned channel,
	unsigned bits, uint32_t out[TEXTURE_LANES])
{
	for (unsigned lane = 0; lane < TEXTURE_LANES && bits == 8; lane++) {
		out[lane] = texels[lane][channel];
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES && bits == 16; lane++) {
		uint16_t half;
		memcpy(&half, texels[lane] + channel * sizeof(half), sizeof(half));
		out[lane] = half;
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES && bits == 32; lane++) {
		memcpy(&out[lane], texels[lane] + channel * sizeof(*out), sizeof(*out));
	}
}

static void texture_decode_lanes(enum decoding decoding, unsigned bits, uint32_t out[TEXTURE_LANES])
{
	switch (decoding) {
	case DECODE_BITS:
		break;
#define DECODE(decoding)                                                                           \
	case decoding:                                                                             \
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {                            \
			out[lane] = texture_decode(decoding, bits, out[lane]);                     \
		}                                                                                  \
		break;
	DECODE(DECODE_SIGNED)
	DECODE(DECODE_HALF)
	DECODE(DECODE_SRGB)
	DECODE(DECODE_UNORM)
	DECODE(DECODE_SNORM)
#undef DECODE
	}
}

/* One of the texels of each lane, the second one along each axis whose bit is in `tap`. */
static void texture_read_plain_tap(struct plain *p, unsigned tap)
{
	const struct texture *t = p->texture;
	const struct image *image = p->image;
	const size_t pitches[3] = {texel_size(&t->format), image->pitch, image->slice_size};
	const uint8_t *texels[TEXTURE_LANES];
	uint32_t inside[TEXTURE_LANES];
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		texels[lane] = image->data + p->layers[lane] * image->slice_size;
		inside[lane] = UINT32_MAX;
	}
	for (unsigned i = 0; i < p->dimensions; i++) {
		const unsigned step = tap >> i & 1;
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			texels[lane] += p->index[i][step][lane] * pitches[i];
		}
		for (unsigned lane = 0; lane < TEXTURE_LANES && p->has_border; lane++) {
			inside[lane] &= p->inside[i][step][lane];
		}
	}
	for (unsigned c = 0; c < p->channels; c++) {
		uint32_t *out = p->values[tap][c];
		if (c < t->format.channels) {
			texture_load_lanes(texels, c, t->format.bits, out);
			texture_decode_lanes(texture_decoding(t, c), t->format.bits, out);
		} else {
			memset(out, 0, sizeof(p->values[tap][c]));
		}
		const uint32_t border = p->has_border ? texture_border(t, c) : 0;
		for (unsigned lane = 0; lane < TEXTURE_LANES && p->has_border; lane++) {
			out[lane] = (out[lane] & inside[lane]) | (border & ~inside[lane]);
		}
	}
}

/* --- Sums --- */

/* The weights of the texels.  Returns those that some lane reads, as bits. */
static uint32_t texture_weigh_lanes(struct plain *p, unsigned count)
{
	uint32_t read = 0;
	for (unsigned i = p->dimensions; i < 3; i++) {
		memset(p->weights[i], 0, sizeof(p->weights[i]));
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		texture_weigh(p->weights[0][lane], p->weights[1][lane], p->weights[2][lane],
			WEIGHT_ONE, &p->tap_weights[0][lane], TEXTURE_LANES);
	}
	for (unsigned tap = 0; tap < count; tap++) {
		uint32_t any = 0;
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			any |= p->tap_weights[tap][lane];
		}
		read |= (uint32_t)(any != 0) << tap;
	}
	return read;
}

/* A texel of weight 0 does not take part, even if it is a NaN. */
static void texture_drop_lanes(struct plain *p, unsigned tap)
{
	for (unsigned c = 0; c < p->channels; c++) {
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			p->values[tap][c][lane] &= p->tap_weights[tap][lane] > 0 ? UINT32_MAX : 0;
		}
	}
}

static void texture_add_floats_lanes(const struct plain *p, unsigned channel, uint32_t taps,
	uint32_t out[TEXTURE_LANES])
{
	double sum[TEXTURE_LANES] = {0};
	for (; taps != 0; taps &= taps - 1) {
		const unsigned tap = (unsigned)__builtin_ctz(taps);
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			sum[lane] += (double)(int32_t)p->tap_weights[tap][lane] / WEIGHT_ONE
				* (double)rt_bits_float(p->values[tap][channel][lane]);
		}
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		out[lane] = texture_finish_float(sum[lane]);
	}
}

static void texture_add_integers_lanes(const struct plain *p, unsigned channel, uint32_t taps,
	uint32_t out[TEXTURE_LANES])
{
	double steps, most;
	double sum[TEXTURE_LANES] = {0};
	texture_steps(&p->texture->format, &steps, &most);
	for (; taps != 0; taps &= taps - 1) {
		const unsigned tap = (unsigned)__builtin_ctz(taps);
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			sum[lane] += texture_weigh_integer(p->tap_weights[tap][lane],
				p->values[tap][channel][lane], steps);
		}
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		out[lane] = texture_finish_integers(sum[lane], steps, most);
	}
}

/* The sum of the taps of each lane. */
static void texture_add_lanes(const struct plain *p, unsigned channel, uint32_t taps,
	uint32_t set, uint32_t out[TEXTURE_LANES])
{
	const struct texture *t = p->texture;
	const enum decoding decoding = texture_decoding(t, channel);
	if (t->format.kind == TEXEL_FLOAT && decoding == DECODE_BITS) {
		texture_add_floats_lanes(p, channel, taps, out);
		return;
	}
	if (decoding == DECODE_UNORM || decoding == DECODE_SNORM) {
		texture_add_integers_lanes(p, channel, taps, out);
		return;
	}
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		struct taps one;
		one.count = p->dimensions > 2 ? MOST_TAPS : QUAD;
		for (unsigned tap = 0; tap < one.count; tap++) {
			const bool is_read = taps >> tap & 1;
			one.weights[tap] = is_read ? p->tap_weights[tap][lane] : 0;
			one.values[tap][channel] = is_read ? p->values[tap][channel][lane] : 0;
		}
		out[lane] = texture_add(t, channel, &one);
	}
}

static void texture_read_plain(struct plain *p, struct texture_lanes *l, uint32_t set)
{
	const struct image *image = p->image;
	const uint32_t extents[3] = {image->width, image->height, image->slices};
	for (unsigned i = 0; i < p->dimensions; i++) {
		texture_place_lanes(p, l, i, extents[i]);
	}
	const bool is_layered = l->geometry == GEOMETRY_1D_LAYERED
		|| l->geometry == GEOMETRY_2D_LAYERED;
	const uint32_t last = is_layered ? image->slices - 1 : 0;
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		p->layers[lane] = l->layer[lane] < last ? l->layer[lane] : last;
	}
	const bool is_linear = p->steps > 1;
	const uint32_t taps = is_linear ? texture_weigh_lanes(p, 1u << p->dimensions) : 1;
	for (uint32_t left = taps; left != 0; left &= left - 1) {
		const unsigned tap = (unsigned)__builtin_ctz(left);
		texture_read_plain_tap(p, tap);
		if (is_linear) {
			texture_drop_lanes(p, tap);
		}
	}
	for (unsigned c = 0; c < 4; c++) {
		if (c >= p->channels) {
			memset(l->out[c], 0, sizeof(l->out[c]));
		} else if (is_linear) {
			texture_add_lanes(p, c, taps, set, l->out[c]);
		} else {
			memcpy(l->out[c], p->values[0][c], sizeof(l->out[c]));
		}
	}
}

/* For some lanes, if they are not too few, and if the texture and the fetch are plain. */
static bool texture_try_plain(const struct texture *t, struct texture_lanes *l, uint32_t set)
{
	enum { FEW = 4 };
	const struct texture_request r = {.geometry = l->geometry};
	const struct image *image = &t->levels[0];
	const bool is_linear = t->sampler.is_linear && !l->has_integers;
	const bool is_scaled = is_linear || (t->sampler.is_normalized && !l->has_integers);
	const uint32_t limit = is_scaled ? MOST_EXTENT : MOST_POSITION;
	struct plain p;
	if (__builtin_popcount(set) <= FEW || t->level_count > 1 || l->mode == TEXTURE_GATHER
	    || l->has_offsets || texture_is_cube(&r) || image->width > limit
	    || image->height > limit || image->slices > limit) {
		return false;
	}
	p.texture = t;
	p.image = image;
	p.dimensions = texture_dimensions(&r);
	p.steps = is_linear ? 2 : 1;
	p.has_border = false;
	for (unsigned i = 0; i < p.dimensions; i++) {
		p.has_border |= t->sampler.address[i] == ADDRESS_BORDER;
	}
	// Half of a row of one dimension is the border that the second one has.
	if (l->geometry == GEOMETRY_1D && is_linear && t->sampler.address[1] == ADDRESS_BORDER) {
		return false;
	}
	p.channels = p.has_border ? 4 : t->format.channels;
	texture_read_plain(&p, l, set);
	return true;
}

void texture_read_lanes(const struct texture *t, struct texture_lanes *l, uint32_t set)
{
	const bool is_read = texture_try_plain(t, l, set);
	const bool is_done = is_read && !l->wants_halves
		&& texture_decoding(t, 0) != DECODE_SNORM;
	for (uint32_t left = is_done ? 0 : set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		uint32_t out[4];
		for (unsigned c = 0; c < 4; c++) {
			out[c] = l->out[c][lane];
		}
		if (is_read) {
			texture_finish(t, l->wants_halves, out);
		} else {
			const struct texture_request r = texture_request_of(l, lane);
			texture_read(t, &r, out);
		}
		for (unsigned c = 0; c < 4; c++) {
			l->out[c][lane] = out[c];
		}
	}
}
