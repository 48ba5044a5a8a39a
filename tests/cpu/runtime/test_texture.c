/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/runtime/texture_fetch.c and surface.c against a second implementation of the formulas of
 * the CUDA C programming guide: in f64, and with address modes that act on coordinates, not on
 * indices.
 */
#include "base/common.h"

#include "cpu/runtime/rt_half.h"
#include "cpu/runtime/texture_fetch.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 7, H = 5, D = 3 };

static float texels[D][H][W];
static const float outside = -1000;

static uint32_t bits_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Random floats, every call another one. */
static float any_float(float low, float high)
{
	static uint64_t state = 0x9e3779b97f4a7c15;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (float)(state >> 40) / (float)(1 << 24);
}

static struct texture make_texture(enum address_mode mode, bool is_linear, bool is_normalized)
{
	struct texture t = {.format = {TEXEL_FLOAT, 32, 1, false}, .level_count = 1,
		.levels = {{(uint8_t *)texels, W, H, D, sizeof(texels[0][0]), sizeof(texels[0])}},
		.sampler = {.address = {mode, mode, mode}, .is_linear = is_linear,
			.is_normalized = is_normalized, .max_level = 99}};
	for (size_t i = 0; i < D * H * W; i++) {
		(&texels[0][0][0])[i] = any_float(-10, 10);
	}
	t.sampler.border[0] = bits_of(outside);
	return t;
}

/* --- The reference --- */

struct taps {
	int at[2];       /* indices, -1: the border */
	double alpha;    /* weight of the second */
};

static int resolve(int i, int n, enum address_mode mode)
{
	while (mode == ADDRESS_WRAP && i < 0) {
		i += n;
	}
	if (mode == ADDRESS_WRAP) {
		return i % n;
	}
	if (mode == ADDRESS_MIRROR && i < 0) {
		return -1 - i;
	}
	if (mode == ADDRESS_MIRROR && i >= n) {
		return 2 * n - 1 - i;
	}
	if (mode == ADDRESS_BORDER) {
		return i < 0 || i >= n ? -1 : i;
	}
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static struct taps find_taps(double x, int n, const struct texture *t)
{
	enum address_mode mode = t->sampler.address[0];
	double whole = floor(x);
	if (t->sampler.is_normalized && mode == ADDRESS_WRAP) {
		x -= whole;
	} else if (t->sampler.is_normalized && mode == ADDRESS_MIRROR) {
		x = fmod(fabs(whole), 2) == 0 ? x - whole : 1 - (x - whole);
	}
	if (!t->sampler.is_normalized && mode != ADDRESS_BORDER) {
		mode = ADDRESS_CLAMP;
	}
	x = t->sampler.is_normalized ? x * n : x;
	if (!t->sampler.is_linear) {
		int i = resolve((int)floor(x), n, mode);
		return (struct taps){{i, i}, 0};
	}
	double below = floor(x - 0.5);
	return (struct taps){{resolve((int)below, n, mode), resolve((int)below + 1, n, mode)},
		rint((x - 0.5 - below) * 256) / 256};
}

static double texel_at(int x, int y, int z)
{
	return x < 0 || y < 0 || z < 0 ? (double)outside : (double)texels[z][y][x];
}

/* GPUs round the weights of all texels, once for each dimension, so that all are 256 together:
 * *slack. */
static double reference(const struct texture *t, const float at[3], unsigned dimensions,
	double *slack)
{
	const struct taps none = {{0, 0}, 0};
	const struct taps edge = {{-1, 0}, 0.5}; /* one dimension lies at the edge of the second */
	const bool at_edge = t->sampler.is_linear && t->sampler.address[1] == ADDRESS_BORDER;
	struct taps x = find_taps(at[0], W, t);
	struct taps y = dimensions > 1 ? find_taps(at[1], H, t) : at_edge ? edge : none;
	struct taps z = dimensions > 2 ? find_taps(at[2], D, t) : none;
	double sum = 0;
	*slack = 0;
	for (int i = 0; i < 8; i++) {
		double weight = (i & 1 ? x.alpha : 1 - x.alpha) * (i & 2 ? y.alpha : 1 - y.alpha)
			* (i & 4 ? z.alpha : 1 - z.alpha);
		double texel = texel_at(x.at[i & 1], y.at[i >> 1 & 1], z.at[i >> 2]);
		sum += weight * texel;
		*slack += weight > 0 && weight < 1 ? fabs(texel) * dimensions / 256 : 0;
	}
	return sum;
}

static float read_at(const struct texture *t, enum geometry geometry, const float at[3])
{
	struct texture_request r = {.geometry = geometry};
	uint32_t out[4];
	for (int i = 0; i < 3; i++) {
		r.at[i].f = at[i];
	}
	texture_read(t, &r, out);
	return float_of(out[0]);
}

/* --- Sampling --- */

/* 4 modes, point and linear, normalized or not, 1 to 3 dimensions. */
START_TEST(samples_are_what_the_guide_says)
{
	static const enum geometry geometries[] = {GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D};
	bool is_normalized = _i / 8 % 2;
	unsigned dimensions = (unsigned)_i / 16 + 1;
	struct texture t = make_texture((enum address_mode)(_i % 4), _i / 4 % 2, is_normalized);
	for (int i = 0; i < 2000; i++) {
		float reach = is_normalized ? 2.5f : 12;
		float at[3] = {any_float(-reach, reach), any_float(-reach, reach),
			any_float(-reach, reach)};
		double slack;
		double want = reference(&t, at, dimensions, &slack);
		float got = read_at(&t, geometries[dimensions - 1], at);
		ck_assert_msg(fabs(got - want) <= slack + 1e-6 * fmax(1, fabs(want)),
			"(%a, %a, %a): %.9g, not %.9g", (double)at[0], (double)at[1],
			(double)at[2], (double)got, want);
	}
}
END_TEST

START_TEST(weights_have_8_bits)
{
	struct texture t = make_texture(ADDRESS_CLAMP, true, false);
	texels[0][0][2] = 0;
	texels[0][0][3] = 256;
	for (int i = 0; i <= 256; i++) {
		float at[3] = {2.5f + (float)i / 256};
		ck_assert_float_eq(read_at(&t, GEOMETRY_1D, at), (float)i);
		at[0] += 0.499f / 256; /* rounds back */
		ck_assert_float_eq(i < 256 ? read_at(&t, GEOMETRY_1D, at) : 256,
			(float)i);
	}
}
END_TEST

START_TEST(texels_of_weight_0_do_not_take_part)
{
	struct texture t = make_texture(ADDRESS_CLAMP, true, false);
	texels[0][1][1] = NAN;
	texels[0][1][2] = INFINITY;
	const float at[3] = {2, .5f};
	ck_assert_float_eq(read_at(&t, GEOMETRY_2D, at), (texels[0][0][1] + texels[0][0][2]) / 2);
}
END_TEST

START_TEST(wild_coordinates_stay_inside)
{
	static const float wild[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, -0.f, 1e9f};
	static const enum geometry all[] = {GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D,
		GEOMETRY_1D_LAYERED, GEOMETRY_2D_LAYERED, GEOMETRY_CUBE, GEOMETRY_CUBE_LAYERED};
	struct texture t = make_texture((enum address_mode)(_i % 4), _i / 4 % 2, _i / 8);
	t.level_count = 1;
	for (size_t g = 0; g < countof(all); g++) {
		for (size_t i = 0; i < 512; i++) {
			struct texture_request r = {.geometry = all[g], .layer = UINT32_MAX,
				.at = {{wild[i % 8]}, {wild[i / 8 % 8]}, {wild[i / 64]}},
				.mode = i % 4, .offset = {INT32_MAX, INT32_MIN, 1}};
			uint32_t out[4];
			r.has_integers = i % 2;
			t.sampler.is_seamless = g % 2;
			texture_read(&t, &r, out);
			float got = float_of(out[0]);
			ck_assert(got == outside || (got >= -1000 && got <= 10));
		}
	}
}
END_TEST

START_TEST(nan_is_0)
{
	struct texture t = make_texture((enum address_mode)_i, false, true);
	const float at[3] = {NAN, 0.5f};
	ck_assert_float_eq(read_at(&t, GEOMETRY_2D, at), texels[0][2][0]);
}
END_TEST

START_TEST(coordinates_that_are_integers_are_texels)
{
	struct texture t = make_texture(ADDRESS_WRAP, true, true);
	struct texture_request r = {.geometry = GEOMETRY_2D, .has_integers = true};
	uint32_t out[4];
	for (int32_t y = -2; y < H + 2; y++) {
		for (int32_t x = -2; x < W + 2; x++) {
			r.at[0].i = x;
			r.at[1].i = y;
			texture_read(&t, &r, out);
			ck_assert_float_eq(float_of(out[0]), texels[0][resolve(y, H, ADDRESS_CLAMP)]
				[resolve(x, W, ADDRESS_CLAMP)]);
		}
	}
}
END_TEST

START_TEST(gathering_takes_the_four_texels_around)
{
	struct texture t = make_texture(ADDRESS_WRAP, false, true);
	struct texture_request r = {.geometry = GEOMETRY_2D, .mode = TEXTURE_GATHER};
	uint32_t out[4];
	for (int i = 0; i < 500; i++) {
		r.at[0].f = any_float(-2, 2);
		r.at[1].f = any_float(-2, 2);
		t.sampler.is_linear = true;
		struct taps x = find_taps(r.at[0].f, W, &t);
		struct taps y = find_taps(r.at[1].f, H, &t);
		if (x.alpha == 1 || y.alpha == 1) {
			continue; /* rounds to the next texels */
		}
		t.sampler.is_linear = i % 2;
		texture_read(&t, &r, out);
		ck_assert_float_eq(float_of(out[0]), texels[0][y.at[1]][x.at[0]]);
		ck_assert_float_eq(float_of(out[1]), texels[0][y.at[1]][x.at[1]]);
		ck_assert_float_eq(float_of(out[2]), texels[0][y.at[0]][x.at[1]]);
		ck_assert_float_eq(float_of(out[3]), texels[0][y.at[0]][x.at[0]]);
	}
}
END_TEST

/* --- Formats --- */

static float half_value(uint32_t half)
{
	double fraction = (half & 1023) / 1024.0;
	int exponent = (int)(half >> 10 & 31);
	double size = exponent == 0 ? ldexp(fraction, -14) : exponent < 31
		? ldexp(1 + fraction, exponent - 15) : fraction == 0 ? INFINITY : NAN;
	return (float)(half & 0x8000 ? -size : size);
}

static uint32_t read_one(struct texel_format format, const void *texel, struct sampler sampler,
	unsigned channel)
{
	const struct texture_request r = {.geometry = GEOMETRY_1D};
	const struct texture t = {.format = format, .sampler = sampler, .level_count = 1,
		.levels = {{(uint8_t *)(uintptr_t)texel, 1, 1, 1, 16, 16}}};
	uint32_t out[4];
	texture_read(&t, &r, out);
	return out[channel];
}

START_TEST(every_16_bit_value_is_read_as_it_should)
{
	const struct sampler plain = {.is_linear = false};
	const struct sampler raw = {.reads_integers = true};
	for (uint32_t v = 0; v < 65536; v++) {
		uint16_t stored = (uint16_t)v;
		int16_t s = (int16_t)stored;
		float unorm = float_of(read_one((struct texel_format){TEXEL_UINT, 16, 1, false},
			&stored, plain, 0));
		float snorm = float_of(read_one((struct texel_format){TEXEL_SINT, 16, 1, true},
			&stored, raw, 0));
		float half = float_of(read_one((struct texel_format){TEXEL_FLOAT, 16, 1, false},
			&stored, raw, 0));
		ck_assert_float_eq(unorm, (float)(v / 65535.0));
		ck_assert_float_eq(snorm, (float)fmax(s / 32767.0, -1));
		ck_assert(half == half_value(v) || (isnan(half) && isnan(half_value(v))));
		ck_assert_uint_eq(read_one((struct texel_format){TEXEL_UINT, 16, 1, false}, &stored,
			raw, 0), v);
		ck_assert_int_eq((int32_t)read_one((struct texel_format){TEXEL_SINT, 16, 1, false},
			&stored, raw, 0), s);
	}
}
END_TEST

START_TEST(every_8_bit_value_is_read_as_it_should)
{
	for (uint32_t v = 0; v < 256; v++) {
		uint8_t stored[4] = {(uint8_t)v, 0, 0, (uint8_t)v};
		const struct sampler srgb = {.is_srgb = true};
		double c = v / 255.0;
		double linear = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
		const struct texel_format unsigned_8 = {TEXEL_UINT, 8, 4, false};
		const struct texel_format signed_8 = {TEXEL_SINT, 8, 4, false};
		float got = float_of(read_one(unsigned_8, stored, srgb, 0));
		ck_assert_double_le(fabs(got - linear), 0.006 * linear); /* as GPUs have it */
		ck_assert_float_eq(float_of(read_one(unsigned_8, stored, srgb, 3)), (float)c);
		ck_assert_float_eq(float_of(read_one(signed_8, stored, (struct sampler){0}, 3)),
			(float)fmax((int8_t)v / 127.0, -1));
	}
}
END_TEST

/* As GPUs have it, alpha too. */
START_TEST(missing_channels_are_0)
{
	const uint32_t texel[4] = {5, 6, 7, 8};
	const struct sampler none = {.is_linear = false};
	const struct texel_format integers = {TEXEL_SINT, 32, 2, false};
	const struct texel_format floats = {TEXEL_FLOAT, 32, 1, false};
	ck_assert_uint_eq(read_one(integers, texel, none, 1), 6);
	ck_assert_uint_eq(read_one(integers, texel, none, 2), 0);
	ck_assert_uint_eq(read_one(integers, texel, none, 3), 0);
	ck_assert_uint_eq(read_one(floats, texel, none, 1), 0);
	ck_assert_uint_eq(read_one(floats, texel, none, 3), 0);
}
END_TEST

/* The nearest half: by looking at all of them. */
START_TEST(floats_round_to_the_nearest_half)
{
	for (uint32_t h = 0; h < 0x7bff; h++) {
		double low = half_value(h);
		double high = half_value(h + 1);
		float middle = (float)((low + high) / 2);
		ck_assert_uint_eq(rt_float_to_half((float)low), h);
		ck_assert_uint_eq(rt_float_to_half(nextafterf(middle, 0)), h);
		ck_assert_uint_eq(rt_float_to_half(nextafterf(middle, INFINITY)), h + 1);
		ck_assert_uint_eq(rt_float_to_half(middle), h + (h & 1));
		ck_assert_uint_eq(rt_float_to_half((float)-high), (h + 1) | 0x8000);
	}
	ck_assert_uint_eq(rt_float_to_half(65519.99f), 0x7bff);
	ck_assert_uint_eq(rt_float_to_half(65520), 0x7c00);
	ck_assert_uint_eq(rt_float_to_half(-INFINITY), 0xfc00);
	ck_assert_uint_eq(rt_float_to_half(NAN), 0x7fff);
	ck_assert_uint_eq(rt_float_to_half(-0.f), 0x8000);
}
END_TEST

/* --- Cubes --- */

/* The guide's table, the other way round: the vector of a face's s and t. */
static void direction(unsigned face, float s, float t, float out[3])
{
	const float all[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1},
		{-s, -t, -1}};
	memcpy(out, all[face], sizeof(all[face]));
}

enum { EDGE = 4 };

static struct texture make_cube(float faces[12][EDGE][EDGE], bool is_linear)
{
	struct texture t = {.format = {TEXEL_FLOAT, 32, 1, false}, .level_count = 1,
		.levels = {{(uint8_t *)faces, EDGE, EDGE, 12, sizeof(faces[0][0]),
			sizeof(faces[0])}},
		.sampler = {.is_normalized = true, .is_linear = is_linear}};
	return t;
}

START_TEST(every_texel_of_a_cube_is_found)
{
	static float faces[12][EDGE][EDGE];
	struct texture t = make_cube(faces, _i);
	for (unsigned i = 0; i < 12 * EDGE * EDGE; i++) {
		(&faces[0][0][0])[i] = (float)i;
	}
	for (unsigned i = 0; i < 12 * EDGE * EDGE; i++) {
		struct texture_request r = {.geometry = GEOMETRY_CUBE_LAYERED,
			.layer = i / (6 * EDGE * EDGE)};
		uint32_t out[4];
		float v[3];
		float x = (float)(i % EDGE) + .5f;
		float y = (float)(i / EDGE % EDGE) + .5f;
		direction(i / (EDGE * EDGE) % 6, 2 * x / EDGE - 1, 2 * y / EDGE - 1, v);
		for (int k = 0; k < 3; k++) {
			r.at[k].f = v[k] * 3;
		}
		texture_read(&t, &r, out);
		ck_assert_float_eq(float_of(out[0]), (float)i);
	}
}
END_TEST

/* On the edge between two faces each has half the weight, or all of it without seams. */
START_TEST(seamless_cubes_filter_across_edges)
{
	static float faces[12][EDGE][EDGE];
	static const unsigned faces_of[3][2] = {{0, 1}, {2, 3}, {4, 5}};
	struct texture t = make_cube(faces, true);
	for (unsigned i = 0; i < 12 * EDGE * EDGE; i++) {
		(&faces[0][0][0])[i] = (float)(1 << i / (EDGE * EDGE));
	}
	for (int i = 0; i < 12; i++) {
		float v[3] = {0};
		int a = i % 3;
		int b = (a + 1) % 3;
		v[a] = i / 3 % 2 ? -1 : 1;
		v[b] = i / 6 ? -1 : 1;
		v[3 - a - b] = .1f;
		float one = (float)(1 << faces_of[a][v[a] < 0]);
		float other = (float)(1 << faces_of[b][v[b] < 0]);
		t.sampler.is_seamless = true;
		ck_assert_float_eq(read_at(&t, GEOMETRY_CUBE, v), (one + other) / 2);
		t.sampler.is_seamless = false;
		float got = read_at(&t, GEOMETRY_CUBE, v);
		ck_assert(got == one || got == other);
	}
}
END_TEST

/* --- Levels --- */

static const struct level_row {
	bool is_mip_linear;
	float bias, min, max, level;
	double want;
} level_rows[] = {
	{false, 0, 0, 9, 0, 0},      {false, 0, 0, 9, .49f, 0},  {false, 0, 0, 9, .5f, 1},
	{false, 0, 0, 9, 99, 3},     {false, 0, 0, 9, -5, 0},    {false, 1, 0, 9, .6f, 2},
	{false, -1, 0, 9, 1.4f, 0},  {false, 0, 2, 9, 0, 2},     {false, 0, 0, 1, 3, 1},
	{true, 0, 0, 9, .25f, .25},  {true, 0, 0, 9, 2.75f, 2.75}, {true, 0, 0, 9, 3.5f, 3},
	{true, .5f, 0, 9, 1, 1.5},   {true, 0, 1.25f, 9, 0, 1.25}, {true, 0, 0, 0, 2, 0},
	{true, 0, 0, 9, NAN, 0},     {true, 0, 0, 9, INFINITY, 3},
	{true, 0, 0, 9, 3.f / 512, 1 / 256.},
	{true, .3f, 0, 9, .44083333f, 188 / 256.}, {true, 0, 3, 1, 0, 3},
};

START_TEST(levels_follow_bias_clamp_and_filter)
{
	const struct level_row *row = &level_rows[_i];
	static float data[4][64];
	struct texture t = {.format = {TEXEL_FLOAT, 32, 1, false}, .level_count = 4,
		.sampler = {.is_normalized = true, .is_mip_linear = row->is_mip_linear,
			.bias = row->bias, .min_level = row->min, .max_level = row->max}};
	const struct texture_request r = {.geometry = GEOMETRY_2D, .mode = TEXTURE_LEVEL,
		.level.f = row->level};
	uint32_t out[4];
	for (unsigned i = 0; i < 4; i++) {
		t.levels[i] = (struct image){(uint8_t *)data[i], 8 >> i, 8 >> i, 1, 32 >> i, 256};
		for (unsigned k = 0; k < 64; k++) {
			data[i][k] = (float)i;
		}
	}
	texture_read(&t, &r, out);
	ck_assert_double_eq(float_of(out[0]), row->want);
}
END_TEST

START_TEST(gradients_choose_the_level_of_their_length)
{
	static float data[4] = {0, 1, 2, 3};
	struct texture t = {.format = {TEXEL_FLOAT, 32, 1, false}, .level_count = 4,
		.sampler = {.is_normalized = true, .is_mip_linear = true, .max_level = 9}};
	struct texture_request r = {.geometry = GEOMETRY_2D, .mode = TEXTURE_GRAD};
	uint32_t out[4];
	for (unsigned i = 0; i < 4; i++) {
		t.levels[i] = (struct image){(uint8_t *)&data[i], 16 >> i, 8 >> i, 1, 0, 0};
	}
	/* No size that a texel may have at this place is read but the first. */
	for (int i = 0; i < 200; i++) {
		r.dx[0] = any_float(0, .5f);
		r.dx[1] = any_float(0, .5f);
		r.dy[0] = any_float(0, .5f);
		r.dy[1] = any_float(0, .5f);
		double x = hypot(r.dx[0] * 16., r.dx[1] * 8.);
		double y = hypot(r.dy[0] * 16., r.dy[1] * 8.);
		double want = fmin(fmax(log2(fmax(x, y)), 0), 3);
		texture_read(&t, &r, out);
		ck_assert_double_le(fabs(float_of(out[0]) - want), .12); /* GPUs estimate lengths */
	}
}
END_TEST

/* --- Surfaces --- */

/* One byte per texel, so that every x is aligned. */
START_TEST(surfaces_keep_within_their_bounds)
{
	uint8_t data[2][3][5];
	const struct surface s = {{TEXEL_UINT, 8, 1, false}, {&data[0][0][0], 5, 3, 2, 5, 15}, 0};
	for (uint32_t i = 0; i < sizeof(data); i++) {
		(&data[0][0][0])[i] = (uint8_t)(i + 1);
	}
	for (int32_t i = 0; i < 9 * 7 * 6; i++) {
		int32_t at[3] = {i % 9 - 2, i / 9 % 7 - 2, i / 63 - 2};
		struct surface_request r = {.geometry = GEOMETRY_3D, .op = SURFACE_LOAD,
			.bounds = (uint32_t)_i, .size = 1, .count = 1, .at = {at[0], at[1], at[2]}};
		int x = resolve(at[0], 5, ADDRESS_CLAMP);
		int y = resolve(at[1], 3, ADDRESS_CLAMP);
		int z = resolve(at[2], 2, ADDRESS_CLAMP);
		bool is_inside = x == at[0] && y == at[1] && z == at[2];
		enum surface_result got = surface_access(&s, &r);
		ck_assert_int_eq(got, is_inside || _i != SURFACE_TRAP ? SURFACE_DONE
			: SURFACE_OUTSIDE);
		ck_assert_uint_eq(r.data[0], is_inside || _i == SURFACE_CLAMP ? data[z][y][x] : 0);
	}
}
END_TEST

/* An access of two texels, of three in a row. */
START_TEST(clamping_keeps_the_alignment)
{
	uint32_t data[4] = {1, 2, 3, 4};
	const struct surface s = {{TEXEL_UINT, 32, 1, false}, {(uint8_t *)data, 3, 1, 1, 16, 16},
		0};
	struct surface_request r = {.op = SURFACE_LOAD, .bounds = SURFACE_CLAMP, .size = 4,
		.count = 2, .at = {800}};
	ck_assert_int_eq(surface_access(&s, &r), SURFACE_DONE);
	ck_assert_uint_eq(r.data[0], 1);
	r.at[0] = 4;
	ck_assert_int_eq(surface_access(&s, &r), SURFACE_MISALIGNED);
	r.count = 4;
	r.at[0] = 0;
	ck_assert_int_eq(surface_access(&s, &r), SURFACE_OUTSIDE); /* wider than the row */
}
END_TEST

static const struct store_row {
	struct texel_format format;
	float real;            /* for floats and normalized ones, */
	uint32_t bits;         /* else this */
	uint32_t want;
} store_rows[] = {
	{{TEXEL_UINT, 8, 1, false}, 0, 200, 200},      {{TEXEL_UINT, 8, 1, false}, 0, 300, 255},
	{{TEXEL_UINT, 16, 1, false}, 0, 70000, 65535}, {{TEXEL_UINT, 32, 1, false}, 0, ~0u, ~0u},
	{{TEXEL_SINT, 8, 1, false}, 0, -3u, 0xfd},     {{TEXEL_SINT, 8, 1, false}, 0, -300u, 0x80},
	{{TEXEL_SINT, 16, 1, false}, 0, 40000, 32767}, {{TEXEL_SINT, 32, 1, false}, 0, -5u, -5u},
	{{TEXEL_FLOAT, 16, 1, false}, -2, 0, 0xc000},
	{{TEXEL_FLOAT, 32, 1, false}, 1, 0, 0x3f800000},
	{{TEXEL_UINT, 8, 1, true}, .5f, 0, 128},       {{TEXEL_UINT, 8, 1, true}, 2, 0, 255},
	{{TEXEL_UINT, 16, 1, true}, -1, 0, 0},         {{TEXEL_SINT, 8, 1, true}, -1, 0, 0x81},
	{{TEXEL_SINT, 16, 1, true}, -9, 0, 0x8001},    {{TEXEL_SINT, 8, 1, true}, NAN, 0, 0},
};

START_TEST(formatted_stores_convert)
{
	const struct store_row *row = &store_rows[_i];
	uint32_t data[2] = {0, 0};
	const struct surface s = {row->format, {(uint8_t *)data, 1, 1, 1, 4, 4}, 0};
	struct surface_request r = {.geometry = GEOMETRY_1D, .op = SURFACE_STORE,
		.is_formatted = true, .size = 4, .count = 1};
	uint32_t bits = row->bits ? row->bits : bits_of(row->real);
	memcpy(r.data, &bits, sizeof(bits));
	ck_assert_int_eq(surface_access(&s, &r), SURFACE_DONE);
	ck_assert_uint_eq(data[0], row->want);
	ck_assert_uint_eq(data[1], 0);
}
END_TEST

SUITE(texture)
{
	Suite *suite = suite_create("texture");
	TCase *tc = suite_add_case(suite, "sample");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, samples_are_what_the_guide_says, 0, 48);
	tcase_add_tests(tc, 1, weights_have_8_bits, texels_of_weight_0_do_not_take_part);
	tcase_add_loop_test(tc, wild_coordinates_stay_inside, 0, 16);
	tcase_add_loop_test(tc, nan_is_0, 0, 4);
	tcase_add_tests(tc, 1, coordinates_that_are_integers_are_texels,
		gathering_takes_the_four_texels_around, every_16_bit_value_is_read_as_it_should,
		every_8_bit_value_is_read_as_it_should, missing_channels_are_0,
		floats_round_to_the_nearest_half);
	tcase_add_loop_test(tc, every_texel_of_a_cube_is_found, 0, 2);
	tcase_add_test(tc, seamless_cubes_filter_across_edges);
	tcase_add_loop_test(tc, levels_follow_bias_clamp_and_filter, 0, countof(level_rows));
	tcase_add_test(tc, gradients_choose_the_level_of_their_length);
	tc = suite_add_case(suite, "surface");
	tcase_add_loop_test(tc, surfaces_keep_within_their_bounds, 0, 3);
	tcase_add_test(tc, clamping_keeps_the_alignment);
	tcase_add_loop_test(tc, formatted_stores_convert, 0, countof(store_rows));
	return suite;
}
