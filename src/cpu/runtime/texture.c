/* SPDX-License-Identifier: MIT */
/*
 * Reading textures, by the formulas of the CUDA C programming guide ("Texture Fetching").
 *
 * Coordinates become texel positions in f64, where the product of an f32 and an extent is exact.
 * A point sample is the texel that holds the position.  A linear one takes the texels around
 * position - 0.5, whose weights have 8 bits of fraction; the weighted sum is computed in f64 and
 * rounded once.  Address modes apply to the texels' indices, which is the same as applying them to
 * the coordinate, and serves both.  What the guide leaves open: the fraction is rounded to
 * nearest, NaN is 0, and cubes clamp at the edges of a face unless they are seamless.
 */
#include "base/common.h"

#include "cpu/runtime/texture.h"

#include <math.h>
#include <string.h>

enum { WEIGHT_BITS = 8, WEIGHT_ONE = 1 << WEIGHT_BITS, CUBE_FACES = 6 };

/* Positions beyond this are all the same: outside. */
static const double FAR = 1 << 30;

/* --- Texels --- */

bool texture_reads_integers(const struct texture *t)
{
	return t->format.kind != TEXEL_FLOAT && !t->format.is_normalized
		&& (t->format.bits == 32 || t->sampler.reads_integers);
}

static uint32_t texture_float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float bits_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t half_to_float(uint32_t half)
{
	uint32_t sign = (half & 0x8000u) << 16;
	uint32_t exponent = half >> 10 & 31;
	uint32_t fraction = half & 0x3ffu;
	if (exponent == 31) {
		return sign | 0x7f800000u | fraction << 13;
	}
	if (exponent == 0) {
		return sign | texture_float_bits(ldexpf((float)fraction, -24));
	}
	return sign | (exponent + 112) << 23 | fraction << 13;
}

static float linear_of_srgb(float c)
{
	return c <= 0.04045f ? (float)(c / 12.92) : (float)pow((c + 0.055) / 1.055, 2.4);
}

/* Decode a channel from its stored bits. */
static uint32_t texture_decode(const struct texture *t, unsigned channel, uint32_t stored)
{
	const struct texel_format *format = &t->format;
	unsigned unused = 32u - format->bits;
	int32_t extended = (int32_t)(stored << unused) >> unused;
	double most = (double)(UINT32_MAX >> (unused + (format->kind == TEXEL_SINT)));
	if (format->kind == TEXEL_FLOAT) {
		return format->bits == 16 ? half_to_float(stored) : stored;
	}
	if (texture_reads_integers(t)) {
		return format->kind == TEXEL_SINT ? (uint32_t)extended : stored;
	}
	if (format->kind == TEXEL_SINT) {
		return texture_float_bits((float)fmax(extended / most, -1));
	}
	float value = (float)(stored / most);
	return texture_float_bits(t->sampler.is_srgb && channel < 3 ? linear_of_srgb(value)
		: value);
}

static void read_texel(const struct texture *t, const struct image *image, const uint32_t at[3],
	uint32_t out[4])
{
	unsigned size = t->format.bits / 8u;
	const uint8_t *texel = image->data + at[2] * image->slice_size + at[1] * image->pitch
		+ (size_t)at[0] * texel_size(&t->format);
	memset(out, 0, 4 * sizeof(*out));
	for (unsigned c = 0; c < t->format.channels; c++) {
		uint32_t stored = 0;
		memcpy(&stored, texel + c * size, size);
		out[c] = texture_decode(t, c, stored);
	}
}

/* --- Axes --- */

/* The texels that a coordinate of one axis selects. */
struct axis {
	enum address_mode mode;
	uint32_t extent;
	int64_t first;      /* index of the texel, or of the lower of two */
	uint32_t weight;    /* of the upper one, of WEIGHT_ONE; 0 if there is none */
};

/* Apply the address mode to an index.  False if the texel is the border. */
static bool resolve(const struct axis *axis, int64_t index, uint32_t *out)
{
	int64_t n = axis->extent;
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
		if (index < 0 || index >= n) {
			return false;
		}
		break;
	case ADDRESS_CLAMP:
		index = index < 0 ? 0 : index >= n ? n - 1 : index;
		break;
	}
	*out = (uint32_t)index;
	return true;
}

static double within(double value, double low, double high)
{
	return isnan(value) ? 0 : value < low ? low : value > high ? high : value;
}

/* The position in texels.  Where the axis repeats, the coordinate is reduced before it is
 * scaled. */
static double position(double x, const struct axis *axis, bool is_normalized)
{
	if (is_normalized && axis->mode == ADDRESS_WRAP) {
		x -= floor(x);
	} else if (is_normalized && axis->mode == ADDRESS_MIRROR) {
		x -= 2 * floor(x / 2);
	}
	return within(is_normalized ? x * axis->extent : x, -FAR, FAR);
}

static void texture_place_axis(struct axis *axis, double at, bool is_linear, int32_t offset)
{
	int64_t fixed = (int64_t)floor((at - 0.5) * WEIGHT_ONE + 0.5);
	axis->first = (is_linear ? fixed >> WEIGHT_BITS : (int64_t)floor(at)) + offset;
	axis->weight = is_linear ? (uint32_t)fixed & (WEIGHT_ONE - 1) : 0;
}

/* --- Cubes --- */

/* Per face: the axis that is largest and its sign, then those of s and of t. */
static const struct face {
	uint8_t axis[3];
	int8_t sign[3];
} faces[CUBE_FACES] = {
	{{0, 2, 1}, {1, -1, -1}}, {{0, 2, 1}, {-1, 1, -1}},
	{{1, 0, 2}, {1, 1, 1}}, {{1, 0, 2}, {-1, 1, -1}},
	{{2, 0, 1}, {1, 1, -1}}, {{2, 0, 1}, {-1, -1, -1}},
};

static unsigned find_face(const double v[3])
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
static unsigned project(const double v[3], double st[2])
{
	double turned[3] = {0};
	unsigned face = find_face(v);
	texture_turn_to_face(&faces[face], v, turned);
	st[0] = (turned[1] / turned[0] + 1) / 2;
	st[1] = (turned[2] / turned[0] + 1) / 2;
	return face;
}

/* The texel beyond the edge of a face, which is on the adjacent face. */
static unsigned cross_edge(unsigned face, const int64_t index[2], uint32_t extent, uint32_t at[2])
{
	double v[3] = {0};
	double st[2];
	const struct face *from = &faces[face];
	v[from->axis[0]] = from->sign[0];
	for (unsigned i = 0; i < 2; i++) {
		v[from->axis[i + 1]] = from->sign[i + 1]
			* ((2 * (double)index[i] + 1) / extent - 1);
	}
	unsigned to = project(v, st);
	for (unsigned i = 0; i < 2; i++) {
		at[i] = (uint32_t)within(floor(st[i] * extent), 0, (double)extent - 1);
	}
	return to;
}

/* --- Sampling one level --- */

/* The texels of one level that a request reads. */
struct footprint {
	const struct texture *texture;
	const struct image *image;
	struct axis axes[3];
	unsigned dimensions;   /* 1, 2 or 3 */
	uint32_t slice;        /* of 1 and 2 dimensions; of a cube, its first face */
	unsigned face;
	bool crosses;          /* a seamless cube */
};

static bool is_cube(const struct texture_request *r)
{
	return r->geometry == GEOMETRY_CUBE || r->geometry == GEOMETRY_CUBE_LAYERED;
}

static unsigned dimensions_of(const struct texture_request *r)
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

static void place_cube(struct footprint *f, const struct texture_request *r, bool is_linear)
{
	double v[3] = {r->at[0].f, r->at[1].f, r->at[2].f};
	double st[2];
	f->face = project(v, st);
	f->crosses = f->texture->sampler.is_seamless && is_linear;
	for (unsigned i = 0; i < 2; i++) {
		f->axes[i].mode = ADDRESS_CLAMP;
		texture_place_axis(&f->axes[i], position(st[i], &f->axes[i], true), is_linear,
			r->offset[i]);
	}
}

/* Without normalized coordinates the modes that repeat clamp. */
static enum address_mode texture_mode_of(const struct sampler *sampler, unsigned axis,
	bool is_normalized)
{
	enum address_mode mode = sampler->address[axis];
	return is_normalized || mode == ADDRESS_BORDER ? mode : ADDRESS_CLAMP;
}

static void place_all(struct footprint *f, const struct texture *t, const struct image *image,
	const struct texture_request *r)
{
	const uint32_t extents[3] = {image->width, image->height, image->slices};
	bool is_linear = r->mode == TEXTURE_GATHER
		|| (t->sampler.is_linear && !r->has_integers && !texture_reads_integers(t));
	bool is_normalized = t->sampler.is_normalized && !r->has_integers;
	*f = (struct footprint){.texture = t, .image = image, .dimensions = dimensions_of(r),
		.slice = texture_slice_of(r, image)};
	for (unsigned i = 0; i < 3; i++) {
		f->axes[i].extent = extents[i];
		f->axes[i].mode = texture_mode_of(&t->sampler, i, is_normalized);
	}
	if (is_cube(r)) {
		place_cube(f, r, is_linear);
		return;
	}
	for (unsigned i = 0; i < f->dimensions; i++) {
		double at = r->has_integers ? r->at[i].i : r->at[i].f;
		texture_place_axis(&f->axes[i], position(at, &f->axes[i], is_normalized), is_linear,
			r->offset[i]);
	}
}

/* The texel at `step` (0 or 1 along each axis) of a footprint. */
static void read_tap(const struct footprint *f, const unsigned step[3], uint32_t out[4])
{
	uint32_t at[3] = {0, 0, f->slice};
	int64_t index[3] = {0};
	bool is_inside = true;
	unsigned beyond = 0;
	for (unsigned i = 0; i < f->dimensions; i++) {
		index[i] = f->axes[i].first + step[i];
		beyond += index[i] < 0 || index[i] >= f->axes[i].extent;
		is_inside &= resolve(&f->axes[i], index[i], &at[i]);
	}
	// Both axes leave the face at a corner, where three faces meet.  Clamp to a texel of one.
	unsigned face = f->crosses && beyond == 1
		? cross_edge(f->face, index, f->image->width, at) : f->face;
	at[2] = texture_min(at[2] + face, f->image->slices - 1);
	if (is_inside) {
		read_texel(f->texture, f->image, at, out);
	} else {
		memcpy(out, f->texture->sampler.border, 4 * sizeof(*out));
	}
}

static bool is_point(const struct footprint *f)
{
	return f->axes[0].weight == 0 && f->axes[1].weight == 0 && f->axes[2].weight == 0;
}

/* The weighted sum.  A texel of weight 0 does not take part, even if it is a NaN. */
static void filter(const struct footprint *f, double out[4])
{
	memset(out, 0, 4 * sizeof(*out));
	for (unsigned tap = 0; tap < 1u << f->dimensions; tap++) {
		unsigned step[3] = {tap & 1, tap >> 1 & 1, tap >> 2};
		double weight = 1;
		for (unsigned i = 0; i < countof(step) && i < f->dimensions; i++) {
			uint32_t upper = f->axes[i].weight;
			weight *= (double)(step[i] ? upper : WEIGHT_ONE - upper) / WEIGHT_ONE;
		}
		uint32_t bits[4] = {0};
		if (weight != 0) {
			read_tap(f, step, bits);
			for (unsigned c = 0; c < 4; c++) {
				out[c] += weight * bits_float(bits[c]);
			}
		}
	}
}

/* PTX ISA, tld4: counter-clockwise, beginning at the lower left. */
static void texture_gather(const struct footprint *f, unsigned component, uint32_t out[4])
{
	static const unsigned steps[4][3] = {{0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 0}};
	for (unsigned i = 0; i < 4; i++) {
		uint32_t texel[4];
		read_tap(f, steps[i], texel);
		out[i] = texel[component];
	}
}

/* --- Levels --- */

static double length(const double v[3])
{
	return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* The number of texels of level 0 that a step of one pixel covers. */
static double footprint_length(const struct texture *t, const struct texture_request *r,
	const float step[3])
{
	const struct image *image = &t->levels[0];
	const uint32_t extents[3] = {image->width, image->height, image->slices};
	double d[3] = {step[0], step[1], step[2]};
	if (is_cube(r)) {
		const double v[3] = {r->at[0].f, r->at[1].f, r->at[2].f};
		double at[3];
		double by[3];
		const struct face *face = &faces[find_face(v)];
		texture_turn_to_face(face, v, at);
		texture_turn_to_face(face, d, by);
		for (unsigned i = 0; i < 2; i++) {
			d[i] = (by[i + 1] - at[i + 1] / at[0] * by[0]) / at[0] / 2 * extents[i];
		}
		d[2] = 0;
		return length(d);
	}
	for (unsigned i = 0; i < 3; i++) {
		d[i] = i >= dimensions_of(r) ? 0 : t->sampler.is_normalized ? d[i] * extents[i]
			: d[i];
	}
	return length(d);
}

static double level_of(const struct texture *t, const struct texture_request *r)
{
	double level = 0;
	if (r->mode == TEXTURE_LEVEL) {
		level = r->has_integers ? r->level.i : r->level.f;
	} else if (r->mode == TEXTURE_GRAD) {
		level = log2(fmax(footprint_length(t, r, r->dx), footprint_length(t, r, r->dy)));
	}
	level = within(level, -FAR, FAR) + (double)t->sampler.bias;
	level = within(level, t->sampler.min_level, t->sampler.max_level);
	return within(level, 0, (double)t->level_count - 1);
}

/* Select the two levels around a level of detail.  The weight has as many bits as those of
 * texels. */
static uint32_t place_level(const struct texture *t, const struct texture_request *r,
	uint32_t *weight)
{
	*weight = 0;
	if (t->level_count == 1 || r->mode == TEXTURE_GATHER) {
		return 0;
	}
	double level = level_of(t, r);
	if (!t->sampler.is_mip_linear || texture_reads_integers(t)) {
		return (uint32_t)floor(level + 0.5);
	}
	uint32_t fixed = (uint32_t)floor(level * WEIGHT_ONE + 0.5);
	*weight = fixed & (WEIGHT_ONE - 1);
	return fixed >> WEIGHT_BITS;
}

static void read_bits(const struct texture *t, const struct texture_request *r, uint32_t out[4])
{
	static const unsigned first[3];
	struct footprint f;
	uint32_t weight;
	double sum[4];
	uint32_t level = place_level(t, r, &weight);
	place_all(&f, t, &t->levels[level], r);
	if (r->mode == TEXTURE_GATHER) {
		texture_gather(&f, r->component & 3, out);
		return;
	}
	if (weight == 0 && is_point(&f)) {
		read_tap(&f, first, out);
		return;
	}
	filter(&f, sum);
	if (weight > 0) {
		double upper[4];
		double part = (double)weight / WEIGHT_ONE;
		place_all(&f, t, &t->levels[level + 1], r);
		filter(&f, upper);
		for (unsigned c = 0; c < 4; c++) {
			sum[c] = sum[c] * (1 - part) + upper[c] * part;
		}
	}
	for (unsigned c = 0; c < 4; c++) {
		out[c] = texture_float_bits((float)sum[c]);
	}
}

void texture_read(const struct texture *t, const struct texture_request *r, uint32_t out[4])
{
	read_bits(t, r, out);
	for (unsigned c = 0; c < 4 && r->wants_halves; c++) {
		out[c] = texture_reads_integers(t) ? out[c] & 0xffff
			: texel_half(bits_float(out[c]));
	}
}
