/* SPDX-License-Identifier: MIT */
/*
 * Reading textures, by the formulas of the CUDA C programming guide ("Texture Fetching"), and where
 * these leave something open as NVIDIA's GPUs do it (tests/data/textures has samples of one).
 *
 * Normalized coordinates have 21 bits of fraction, the rest is cut off.  Coordinates become texel
 * positions in f64, which is exact.  A point sample is the texel that holds the position.  A linear
 * one takes the texels around position - 0.5.  The weights of all of them are integers, 256
 * together (texture_weigh).  Texels of small integers are added as integers of 16 bits, halves and
 * sRGB give halves.  Address modes apply to the texels' indices, which is the same as applying them
 * to the coordinate, and serves both.
 */
#include "base/common.h"

#include "cpu/runtime/texture_parts.h"

/* Positions beyond this are all the same: outside. */
static const double FAR = 1 << 30;

static double texture_within(double value, double low, double high)
{
	value = value < low ? low : value;
	value = value > high ? high : value;
	return isnan(value) ? 0 : value;
}

/* --- Texels --- */

bool texture_reads_integers(const struct texture *t)
{
	return t->format.kind != TEXEL_FLOAT && !t->format.is_normalized
		&& (t->format.bits == 32 || t->sampler.reads_integers);
}

const uint16_t texture_srgb[256] = {
#include "cpu/runtime/srgb.def"
};

static bool texture_is_srgb(const struct texture *t, unsigned channel)
{
	return t->sampler.is_srgb && t->format.kind == TEXEL_UINT && t->format.bits == 8
		&& channel < 3;
}

enum decoding texture_decoding(const struct texture *t, unsigned channel)
{
	const bool is_signed = t->format.kind == TEXEL_SINT;
	if (t->format.kind == TEXEL_FLOAT) {
		return t->format.bits == 16 ? DECODE_HALF : DECODE_BITS;
	}
	if (texture_reads_integers(t)) {
		return is_signed ? DECODE_SIGNED : DECODE_BITS;
	}
	return is_signed ? DECODE_SNORM : texture_is_srgb(t, channel) ? DECODE_SRGB : DECODE_UNORM;
}

/* The least integer of a signed channel is -1, as the one above it. */
static void texture_clamp(const struct texture *t, uint32_t out[4])
{
	for (unsigned c = 0; c < 4 && t->format.kind == TEXEL_SINT && !texture_reads_integers(t);
		c++) {
		out[c] = rt_bits_float(out[c]) < -1 ? rt_float_bits(-1) : out[c];
	}
}

/* The border is kept as a texel: integers have the bits of a channel, floats are rounded to what it
 * can hold, a half down. */
uint32_t texture_border(const struct texture *t, unsigned channel)
{
	const struct texel_format *format = &t->format;
	const uint32_t bits = t->sampler.border[channel];
	const unsigned unused = 32u - format->bits;
	const double least = format->kind == TEXEL_SINT ? -1 : 0;
	const double most = UINT32_MAX >> (unused + (format->kind == TEXEL_SINT));
	const double value = texture_within((double)rt_bits_float(bits), least, 1);
	if (texture_reads_integers(t)) {
		return format->kind == TEXEL_SINT ? (uint32_t)((int32_t)(bits << unused) >> unused)
			: bits << unused >> unused;
	}
	if (format->kind == TEXEL_FLOAT) {
		return bits;
	}
	if (texture_is_srgb(t, channel)) {
		const double code = value <= 0.0031308 ? 12.92 * value
			: 1.055 * pow(value, 1 / 2.4) - 0.055;
		return (uint32_t)texture_srgb[(int)rint(most * code)] << 16;
	}
	return rt_float_bits((float)((ceil(value * most - 0.5) + 0.0) / most));
}

static uint32_t texture_stored(const uint8_t *texel, unsigned channel, unsigned bits)
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

static void texture_read_texel(const struct texture *t, const struct image *image,
	const uint32_t at[3], uint32_t out[4])
{
	const uint8_t *texel = image->data + at[2] * image->slice_size + at[1] * image->pitch
		+ (size_t)at[0] * texel_size(&t->format);
	memset(out, 0, 4 * sizeof(*out));
	for (unsigned c = 0; c < t->format.channels; c++) {
		const unsigned bits = t->format.bits;
		out[c] = texture_decode(texture_decoding(t, c), bits,
			texture_stored(texel, c, bits));
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
static bool texture_resolve(const struct axis *axis, int64_t index, uint32_t *out)
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
static double texture_position(double x, const struct axis *axis, bool is_normalized)
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
static int32_t texture_place(double at, bool is_linear, uint32_t *weight)
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
static bool texture_is_edge(const struct axis *axis, int64_t first)
{
	return axis->mode == ADDRESS_CLAMP && !axis->crosses
		&& (first < 0 || first >= axis->extent - 1);
}

static void texture_place_axis(struct axis *axis, double at, bool is_linear, int32_t offset)
{
	axis->first = (int64_t)texture_place(at, is_linear, &axis->weight) + offset;
	if (texture_is_edge(axis, axis->first)) {
		axis->weight = 0;
	}
	for (unsigned step = 0; step <= is_linear; step++) {
		axis->is_inside[step] = texture_resolve(axis, axis->first + step, &axis->at[step]);
	}
}

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

/* --- Cubes --- */

/* Per face: the axis that is largest and its sign, then the axes of s and t and their signs. */
static const struct face {
	uint8_t axis[3];
	int8_t sign[3];
} faces[CUBE_FACES] = {
	{{0, 2, 1}, {1, -1, -1}}, {{0, 2, 1}, {-1, 1, -1}},
	{{1, 0, 2}, {1, 1, 1}}, {{1, 0, 2}, {-1, 1, -1}},
	{{2, 0, 1}, {1, 1, -1}}, {{2, 0, 1}, {-1, -1, -1}},
};

static unsigned texture_find_face(const double v[3])
{
	unsigned axis = 2;
	if (fabs(v[0]) > fabs(v[1]) && fabs(v[0]) > fabs(v[2])) {
		axis = 0;
	} else if (fabs(v[1]) > fabs(v[2])) {
		axis = 1;
	}
	return 2 * axis + (v[axis] < 0);
}

/* Turn a vector to a face: along its axis, then s and t. */
static void texture_turn_to_face(const struct face *face, const double v[3], double out[3])
{
	for (unsigned i = 0; i < 3; i++) {
		out[i] = v[face->axis[i]] * face->sign[i];
	}
}

/* The point where a vector meets the cube: the face, and s and t from 0 to 1. */
static unsigned texture_project(const double v[3], double st[2])
{
	double turned[3] = {0};
	unsigned face = texture_find_face(v);
	texture_turn_to_face(&faces[face], v, turned);
	// The reciprocal is a float, of which the last bits are cut off.
	int exponent;
	double fraction = frexp(1 / turned[0], &exponent);
	double reciprocal = ldexp(floor(ldexp(fraction, RECIPROCAL_BITS)),
		exponent - RECIPROCAL_BITS);
	st[0] = (turned[1] * reciprocal + 1) / 2;
	st[1] = (turned[2] * reciprocal + 1) / 2;
	return face;
}

/* The texel beyond the edge of a face, which is on the adjacent face. */
static unsigned texture_cross_edge(unsigned face, const int64_t index[2], uint32_t extent,
	uint32_t at[2])
{
	double v[3] = {0};
	double st[2];
	const struct face *from = &faces[face];
	v[from->axis[0]] = from->sign[0];
	for (unsigned i = 0; i < 2; i++) {
		v[from->axis[i + 1]] = from->sign[i + 1]
			* ((2 * (double)index[i] + 1) / extent - 1);
	}
	unsigned to = texture_project(v, st);
	for (unsigned i = 0; i < 2; i++) {
		at[i] = (uint32_t)texture_within(floor(st[i] * extent), 0, (double)extent - 1);
	}
	return to;
}

/* --- Sampling one level --- */

static uint32_t texture_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t texture_slice_of(const struct texture_request *r, const struct image *image)
{
	uint32_t cubes = image->slices / CUBE_FACES;
	switch ((enum geometry)r->geometry) {
	case GEOMETRY_1D_LAYERED:
	case GEOMETRY_2D_LAYERED:
		return texture_min(r->layer, image->slices - 1);
	case GEOMETRY_CUBE_LAYERED:
		return cubes > 0 ? texture_min(r->layer, cubes - 1) * CUBE_FACES : 0;
	default:
		return 0;
	}
}

static void texture_place_cube(struct footprint *f, const struct texture_request *r, bool is_linear)
{
	double v[3] = {r->at[0].f, r->at[1].f, r->at[2].f};
	double st[2];
	f->face = texture_project(v, st);
	f->crosses = f->texture->sampler.is_seamless && is_linear;
	for (unsigned i = 0; i < 2; i++) {
		f->axes[i].crosses = f->crosses;
		f->axes[i].mode = f->crosses ? ADDRESS_CLAMP : f->texture->sampler.address[i];
		texture_place_axis(&f->axes[i], texture_position(st[i], &f->axes[i], true),
			is_linear, r->offset[i]);
	}
}

/* Without normalized coordinates the modes that repeat clamp. */
enum address_mode texture_mode_of(const struct sampler *sampler, unsigned axis,
	bool is_normalized)
{
	enum address_mode mode = sampler->address[axis];
	return is_normalized || mode == ADDRESS_BORDER ? mode : ADDRESS_CLAMP;
}

static void texture_place_all(struct footprint *f, const struct texture *t,
	const struct image *image, const struct texture_request *r)
{
	const uint32_t extents[3] = {image->width, image->height, image->slices};
	bool is_linear = r->mode == TEXTURE_GATHER || (t->sampler.is_linear && !r->has_integers);
	bool is_normalized = t->sampler.is_normalized && !r->has_integers;
	*f = (struct footprint){.texture = t, .image = image, .dimensions = texture_dimensions(r),
		.slice = texture_slice_of(r, image)};
	for (unsigned i = 0; i < 3; i++) {
		f->axes[i].extent = extents[i];
		f->axes[i].mode = texture_mode_of(&t->sampler, i, is_normalized);
	}
	f->is_linear = is_linear;
	if (texture_is_cube(r)) {
		texture_place_cube(f, r, is_linear);
		return;
	}
	// One dimension is a row of an image, at 0, which is the edge: a linear filter takes half
	// of what is beyond it.  Only a border differs from the row.
	if (r->geometry == GEOMETRY_1D && is_linear && f->axes[1].mode == ADDRESS_BORDER) {
		texture_place_axis(&f->axes[f->dimensions++], 0, is_linear, 0);
	}
	for (unsigned i = 0; i < texture_dimensions(r); i++) {
		double at = r->has_integers ? r->at[i].i : r->at[i].f;
		texture_place_axis(&f->axes[i], texture_position(at, &f->axes[i], is_normalized),
			is_linear, r->offset[i]);
	}
}

/* The texel at `step` (0 or 1 along each axis) of a footprint. */
static void texture_read_tap(const struct footprint *f, const unsigned step[3], uint32_t out[4])
{
	uint32_t at[3] = {0, 0, f->slice};
	int64_t index[3] = {0};
	bool is_inside = true;
	unsigned beyond = 0;
	for (unsigned i = 0; i < f->dimensions; i++) {
		index[i] = f->axes[i].first + step[i];
		beyond += index[i] < 0 || index[i] >= f->axes[i].extent;
		is_inside &= f->axes[i].is_inside[step[i]];
		at[i] = f->axes[i].at[step[i]];
	}
	// Both axes leave the face at a corner, where three faces meet.  Clamp to a texel of one.
	unsigned face = f->crosses && beyond == 1
		? texture_cross_edge(f->face, index, f->image->width, at) : f->face;
	at[2] = texture_min(at[2] + face, f->image->slices - 1);
	if (is_inside) {
		texture_read_texel(f->texture, f->image, at, out);
	} else {
		for (unsigned c = 0; c < 4; c++) {
			out[c] = texture_border(f->texture, c);
		}
	}
}

/* Collect the texels of a level.  One of weight 0 does not take part, even if it is a NaN. */
static void texture_collect(const struct footprint *f, uint32_t level, struct taps *taps)
{
	uint32_t weights[MOST_TAPS];
	const unsigned count = f->dimensions > 2 ? MOST_TAPS : QUAD;
	texture_weigh(f->axes[0].weight, f->axes[1].weight, f->axes[2].weight, level, weights, 1);
	for (unsigned tap = 0; tap < count; tap++, taps->count++) {
		unsigned step[3] = {tap & 1, tap >> 1 & 1, tap >> 2};
		bool counts = tap < 1u << f->dimensions && weights[tap] > 0;
		taps->weights[taps->count] = counts ? weights[tap] : 0;
		if (counts) {
			texture_read_tap(f, step, taps->values[taps->count]);
		} else {
			memset(taps->values[taps->count], 0, sizeof(taps->values[0]));
		}
	}
}

static uint32_t texture_add_integers(const struct taps *taps, unsigned channel,
	const struct texel_format *format)
{
	double steps, most, sum = 0;
	texture_steps(format, &steps, &most);
	for (unsigned i = 0; i < taps->count; i++) {
		sum += texture_weigh_integer(taps->weights[i], taps->values[i][channel], steps);
	}
	return texture_finish_integers(sum, steps, most);
}

/* 2 to the power of an exponent of a normal number. */
static double texture_power(int exponent)
{
	const uint64_t bits = (uint64_t)(exponent + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
	double power;
	memcpy(&power, &bits, sizeof(power));
	return power;
}

/* The exponent of a float, which is a normal f64; of 0 any will do. */
static int texture_exponent(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits == 0 ? 0 : (int)(bits >> (DBL_MANT_DIG - 1)) - DBL_MAX_EXP + 2;
}

/* Add halves, QUAD at a time: with the exponent of the largest and `bits` of fraction, the rest of
 * each cut off. */
static uint32_t texture_add_halves(const struct taps *taps, unsigned channel, int bits)
{
	double sum = 0;
	for (unsigned first = 0; first < taps->count; first += QUAD) {
		double values[QUAD];
		double largest = 0;
		for (unsigned i = 0; i < QUAD; i++) {
			values[i] = (double)rt_bits_float(taps->values[first + i][channel]);
			double size = fabs(values[i]);
			largest = size > largest && size <= DBL_MAX ? size : largest;
		}
		const int digits = bits + 1 - texture_exponent(largest);
		const double scale = texture_power(digits), unit = texture_power(-digits);
		for (unsigned i = 0; i < QUAD; i++) {
			bool finite = fabs(values[i]) <= DBL_MAX;
			sum += taps->weights[first + i] * (finite
				? (double)(int64_t)(values[i] * scale) * unit : values[i])
				/ WEIGHT_ONE;
		}
	}
	// Exactly between two halves: the one farther from 0.
	return isnan(sum) ? 0x7fffe000
		: rt_half_to_float(rt_float_to_half((float)(sum * (1 + 0x1p-22))));
}

static uint32_t texture_add_floats(const struct taps *taps, unsigned channel)
{
	double sum = 0;
	for (unsigned i = 0; i < taps->count; i++) {
		sum += (double)taps->weights[i] / WEIGHT_ONE
			* (double)rt_bits_float(taps->values[i][channel]);
	}
	return texture_finish_float(sum);
}

/* Add texels that are read as integers.  Sums of 32 bits are not rounded, but cut off. */
static uint32_t texture_add_plain(const struct taps *taps, unsigned channel,
	const struct texel_format *format)
{
	const bool is_signed = format->kind == TEXEL_SINT;
	int64_t sum = format->bits < 32 ? WEIGHT_ONE / 2 : 0;
	for (unsigned i = 0; i < taps->count; i++) {
		uint32_t bits = taps->values[i][channel];
		sum += taps->weights[i] * (is_signed ? (int64_t)(int32_t)bits : (int64_t)bits);
	}
	return (uint32_t)(sum >> WEIGHT_BITS);
}

uint32_t texture_add(const struct texture *t, unsigned channel, const struct taps *taps)
{
	const struct texel_format *format = &t->format;
	if (texture_reads_integers(t)) {
		return texture_add_plain(taps, channel, format);
	}
	if (texture_is_srgb(t, channel)) {
		return texture_add_halves(taps, channel, 7);
	}
	if (format->kind == TEXEL_FLOAT) {
		return format->bits == 16 ? texture_add_halves(taps, channel, 14)
			: texture_add_floats(taps, channel);
	}
	return texture_add_integers(taps, channel, format);
}

/* PTX ISA, tld4: counter-clockwise, beginning at the lower left. */
static void texture_gather(const struct footprint *f, unsigned component, uint32_t out[4])
{
	static const unsigned steps[4][3] = {{0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 0}};
	for (unsigned i = 0; i < 4; i++) {
		uint32_t texel[4];
		texture_read_tap(f, steps[i], texel);
		out[i] = texel[component];
	}
}

/* --- Levels --- */

/* About the length of a vector: the largest component and 3/8 of the others. */
static double texture_vector_length(const double v[3])
{
	const double largest = fmax(fmax(fabs(v[0]), fabs(v[1])), fabs(v[2]));
	return isinf(largest) ? largest
		: largest + 0.375 * (fabs(v[0]) + fabs(v[1]) + fabs(v[2]) - largest);
}

/* The number of texels of level 0 that a step of one pixel covers. */
static double texture_footprint_length(const struct texture *t, const struct texture_request *r,
	const float step[3])
{
	const struct image *image = &t->levels[0];
	const uint32_t extents[3] = {image->width, image->height, image->slices};
	double d[3] = {step[0], step[1], step[2]};
	if (texture_is_cube(r)) {
		const double v[3] = {r->at[0].f, r->at[1].f, r->at[2].f};
		double at[3];
		double by[3];
		const struct face *face = &faces[texture_find_face(v)];
		texture_turn_to_face(face, v, at);
		texture_turn_to_face(face, d, by);
		for (unsigned i = 0; i < 2; i++) {
			d[i] = (by[i + 1] - at[i + 1] / at[0] * by[0]) / at[0] / 2 * extents[i];
		}
		d[2] = 0;
		return texture_vector_length(d);
	}
	for (unsigned i = 0; i < 3; i++) {
		d[i] = i >= texture_dimensions(r) ? 0 : t->sampler.is_normalized ? d[i] * extents[i]
			: d[i];
	}
	return texture_vector_length(d);
}

/* Levels have as many bits as weights; the rest is cut off. */
static double texture_cut(double level)
{
	return floor(texture_within(level, -FAR, FAR) * WEIGHT_ONE) / WEIGHT_ONE;
}

static double texture_level(const struct texture *t, const struct texture_request *r)
{
	double level = 0;
	if (r->mode == TEXTURE_LEVEL) {
		level = texture_cut(r->has_integers ? r->level.i : (double)r->level.f);
	} else if (r->mode == TEXTURE_GRAD) {
		level = texture_cut(log2(fmax(texture_footprint_length(t, r, r->dx),
			texture_footprint_length(t, r, r->dy))) + 0.5 / WEIGHT_ONE);
	}
	if (r->mode != TEXTURE_BASE) {
		level += texture_cut((double)t->sampler.bias);
	}
	level = fmax(fmin(level, texture_cut((double)t->sampler.max_level)),
		texture_cut((double)t->sampler.min_level));
	return texture_within(level, 0, (double)t->level_count - 1);
}

/* Select the two levels around a level of detail.  The weight has as many bits as the weights of
 * texels. */
static uint32_t texture_place_level(const struct texture *t, const struct texture_request *r,
	uint32_t *weight)
{
	*weight = 0;
	if (t->level_count == 1 || r->mode == TEXTURE_GATHER) {
		return 0;
	}
	double level = texture_level(t, r);
	if (!t->sampler.is_mip_linear || texture_reads_integers(t)) {
		return (uint32_t)floor(level + 0.5);
	}
	uint32_t fixed = (uint32_t)floor(level * WEIGHT_ONE);
	*weight = fixed & (WEIGHT_ONE - 1);
	if (t->sampler.has_steep_levels) {
		*weight = (uint32_t)texture_within(2 * (double)*weight - WEIGHT_ONE / 2.0, 0,
			WEIGHT_ONE);
	}
	return fixed >> WEIGHT_BITS;
}

static void texture_read_bits(const struct texture *t, const struct texture_request *r,
	uint32_t out[4])
{
	static const unsigned first[3];
	struct footprint f;
	uint32_t weight;
	struct taps taps;
	taps.count = 0;
	uint32_t level = texture_place_level(t, r, &weight);
	texture_place_all(&f, t, &t->levels[level], r);
	if (r->mode == TEXTURE_GATHER) {
		texture_gather(&f, r->component & 3, out);
		return;
	}
	if (weight == 0 && !f.is_linear) {
		texture_read_tap(&f, first, out);
		return;
	}
	texture_collect(&f, WEIGHT_ONE - weight, &taps);
	if (weight > 0) {
		texture_place_all(&f, t, &t->levels[level + 1], r);
		texture_collect(&f, weight, &taps);
	}
	for (unsigned c = 0; c < 4; c++) {
		out[c] = texture_add(t, c, &taps);
	}
}

void texture_finish(const struct texture *t, bool wants_halves, uint32_t out[4])
{
	texture_clamp(t, out);
	for (unsigned c = 0; c < 4 && wants_halves; c++) {
		out[c] = texture_reads_integers(t) ? out[c] & 0xffff
			: rt_float_to_half(rt_bits_float(out[c]));
	}
}

void texture_read(const struct texture *t, const struct texture_request *r, uint32_t out[4])
{
	texture_read_bits(t, r, out);
	texture_finish(t, r->wants_halves, out);
}
