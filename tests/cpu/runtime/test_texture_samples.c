/* SPDX-License-Identifier: MIT */
/*
 * Samples that a GPU took, bit for bit.  tests/data/textures/samples has a line for each: what the
 * texture is, the seed of its texels, the coordinates (with the layer or the level after them),
 * and the bits that tex gave.  docs/cpu-device.md says which GPU it was.
 */
#include "base/common.h"

#include "cpu/runtime/texture_fetch.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 1000, MOST_TEXELS = 4096 };

static char samples[MOST_SAMPLES][256];
static int sample_count;

static void read_samples(void)
{
	FILE *file = fopen(KZ_TEST_DIR "/data/textures/samples", "r");
	ck_assert_ptr_nonnull(file);
	for (sample_count = 0; sample_count < MOST_SAMPLES
		&& fgets(samples[sample_count], sizeof(samples[0]), file); sample_count++) {
	}
	fclose(file);
}

static const struct shape {
	const char *name;
	enum geometry geometry;
	uint32_t width, height, slices, levels;
} shapes[] = {
	{"1d", GEOMETRY_1D, 7, 1, 1, 1},            {"2d", GEOMETRY_2D, 7, 5, 1, 1},
	{"3d", GEOMETRY_3D, 7, 5, 3, 1},            {"2dl", GEOMETRY_2D_LAYERED, 7, 5, 3, 1},
	{"cube", GEOMETRY_CUBE, 4, 4, 6, 1},        {"mip", GEOMETRY_2D, 16, 16, 1, 5},
};

static const struct texel_format formats[] = {
	{TEXEL_FLOAT, 32, 0, false}, {TEXEL_FLOAT, 16, 0, false}, {TEXEL_UINT, 8, 0, false},
	{TEXEL_SINT, 8, 0, false},   {TEXEL_UINT, 16, 0, false},  {TEXEL_SINT, 16, 0, false},
	{TEXEL_UINT, 32, 0, false},  {TEXEL_SINT, 32, 0, false},
};

/* One line. */
struct sample {
	char shape[8], kind, read[8], modes[3][8], filter[8], coordinates[8], srgb[8];
	unsigned bits, channels;
	uint32_t seed;
	float at[3];
	uint32_t out[4];
};

static struct sample parse_sample(const char *line)
{
	struct sample s = {.kind = 0};
	int used = 0;
	ck_assert_int_eq(sscanf(line, "%7s %c%ux%u %7s %7[^,],%7[^,],%7[^/ ] %7s %7s %7s %u :%n",
		s.shape, &s.kind, &s.bits, &s.channels, s.read, s.modes[0], s.modes[1], s.modes[2],
		s.filter, s.coordinates, s.srgb, &s.seed, &used), 12);
	const char *next = line + used;
	char *end;
	for (int i = 0; i < 3 && *next != ':'; i++) {
		s.at[i] = strtof(next, &end);
		next = end + strspn(end, " ");
	}
	next++;
	for (unsigned i = 0; i < s.channels; i++) {
		s.out[i] = (uint32_t)strtoul(next, &end, 16);
		next = end;
	}
	return s;
}

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	x ^= x >> 15;
	x *= 0x846ca68b;
	return x ^ x >> 16;
}

static void fill_texels(uint8_t *to, const struct texel_format *format, size_t count, uint32_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t h = mix(seed * 7919 + (uint32_t)i + 1);
		uint32_t half = (h & 0x8000) | (10 + (h >> 16) % 8) << 10 | (h & 1023);
		float real = (float)((int)(h & 16383) - 8192) / 1024;
		if (format->kind == TEXEL_FLOAT) {
			memcpy(&h, &real, sizeof(h));
			h = format->bits == 16 ? half : h;
		}
		memcpy(to + i * (format->bits / 8), &h, format->bits / 8);
	}
}

static enum address_mode mode_named(const char *name)
{
	static const char *const names[] = {"wrap", "clamp", "mirror", "border"};
	size_t i = 0;
	while (i + 1 < countof(names) && strcmp(names[i], name) != 0) {
		i++;
	}
	return (enum address_mode)i;
}

/* A texture as the line says, over `data`, one level of MOST_TEXELS words after the other. */
static struct texture make_texture(const struct sample *s, const struct shape *shape,
	uint32_t (*data)[MOST_TEXELS])
{
	static const float border[] = {.25f, .5f, .75f, 1};
	struct texture t = {.level_count = shape->levels, .sampler = {
		.is_linear = strcmp(s->filter, "linear") == 0, .is_srgb = s->srgb[0] == 's',
		.is_normalized = strcmp(s->coordinates, "norm") == 0, .max_level = 10,
		.reads_integers = strcmp(s->read, "int") == 0}};
	t.sampler.is_mip_linear = t.sampler.is_linear;
	memcpy(t.sampler.border, border, sizeof(border));
	for (size_t i = 0; i < countof(formats); i++) {
		const char kind = "usf"[formats[i].kind];
		t.format = kind == s->kind && formats[i].bits == s->bits ? formats[i] : t.format;
	}
	t.format.channels = (uint8_t)s->channels;
	for (size_t i = 0; i < 3; i++) {
		t.sampler.address[i] = mode_named(s->modes[i]);
	}
	for (uint32_t i = 0; i < shape->levels; i++) {
		const uint32_t width = shape->width >> i, height = shape->levels > 1
			? shape->height >> i : shape->height;
		const size_t pitch = width * texel_size(&t.format);
		t.levels[i] = (struct image){(uint8_t *)data[i], width, height, shape->slices,
			pitch, pitch * height};
		fill_texels((uint8_t *)data[i], &t.format, (size_t)shape->width * shape->height
			* shape->slices * s->channels, shape->levels > 1 ? s->seed * 10 + i
			: s->seed);
	}
	return t;
}

/* By one lane of a warp, among others that read far outside. */
static void read_by_lane(const struct texture *t, const struct texture_request *r, unsigned lane,
	uint32_t out[4])
{
	static struct texture_lanes lanes;
	lanes = (struct texture_lanes){.geometry = r->geometry, .mode = r->mode};
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < TEXTURE_LANES; i++) {
			lanes.at[k][i].f = (float)i * 1e9f - 1e10f;
		}
		lanes.at[k][lane] = r->at[k];
	}
	lanes.layer[lane] = r->layer;
	lanes.level[lane] = r->level;
	texture_read_lanes(t, &lanes, UINT32_MAX);
	for (unsigned c = 0; c < 4; c++) {
		out[c] = lanes.out[c][lane];
	}
}

START_TEST(samples_are_those_of_a_gpu)
{
	static uint32_t data[5][MOST_TEXELS];
	read_samples();
	ck_assert_int_ge(sample_count, 400);
	for (int i = 0; i < sample_count; i++) {
		const struct sample s = parse_sample(samples[i]);
		const struct shape *shape = shapes;
		while (strcmp(shape->name, s.shape) != 0) {
			shape++;
		}
		const struct texture t = make_texture(&s, shape, data);
		struct texture_request r = {.geometry = shape->geometry,
			.mode = shape->levels > 1 ? TEXTURE_LEVEL : TEXTURE_BASE,
			.layer = (uint32_t)(int32_t)s.at[2], .level.f = s.at[2]};
		uint32_t out[4];
		for (int k = 0; k < 3; k++) {
			r.at[k].f = s.at[k];
		}
		if (_i) {
			read_by_lane(&t, &r, (unsigned)i % TEXTURE_LANES, out);
		} else {
			texture_read(&t, &r, out);
		}
		for (unsigned c = 0; c < s.channels; c++) {
			ck_assert_msg(out[c] == s.out[c], "channel %u is %08x here, in line %d: %s",
				c, out[c], i + 1, samples[i]);
		}
	}
}
END_TEST

SUITE(texture_samples)
{
	Suite *suite = suite_create("texture_samples");
	TCase *tc = suite_add_case(suite, "samples");
	tcase_add_loop_test(tc, samples_are_those_of_a_gpu, 0, 2);
	return suite;
}
