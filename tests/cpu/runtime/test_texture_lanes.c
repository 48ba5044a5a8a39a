/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/runtime/texture_lanes.c against texture_fetch.c, bit for bit: every format, geometry,
 * filter and address mode, at random coordinates and at those next to the edges.
 */
#include "base/common.h"

#include "cpu/runtime/texture_fetch.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { MOST_WIDTH = 1 << 20, TEXELS = MOST_WIDTH * 4 / 16 };

static uint32_t words[TEXELS];

static uint32_t any(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 32);
}

static const struct {
	struct texel_format format;
	bool reads_integers, is_srgb;
} kinds[] = {
	{{TEXEL_FLOAT, 32, 0, false}, false, false}, {{TEXEL_FLOAT, 16, 0, false}, false, false},
	{{TEXEL_UINT, 8, 0, false}, false, false},   {{TEXEL_UINT, 8, 0, false}, true, false},
	{{TEXEL_UINT, 8, 0, false}, false, true},    {{TEXEL_SINT, 8, 0, false}, false, false},
	{{TEXEL_SINT, 8, 0, false}, true, false},    {{TEXEL_UINT, 16, 0, false}, false, false},
	{{TEXEL_UINT, 16, 0, false}, true, false},   {{TEXEL_SINT, 16, 0, false}, false, false},
	{{TEXEL_SINT, 16, 0, false}, true, false},   {{TEXEL_UINT, 32, 0, false}, true, false},
	{{TEXEL_SINT, 32, 0, false}, true, false},   {{TEXEL_UINT, 8, 0, true}, true, false},
	{{TEXEL_SINT, 16, 0, true}, true, false},
};

static const struct extents {
	uint32_t width, height, slices;
} shapes[] = {{7, 5, 3}, {1, 1, 1}, {64, 2, 4}, {MOST_WIDTH, 1, 1}, {1, 2, 1}};

/* Of any kind and shape, over the words. */
static struct texture any_texture(size_t kind)
{
	static const uint8_t channels[] = {1, 2, 4};
	struct texture t = {.format = kinds[kind].format, .level_count = 1, .sampler = {
		.reads_integers = kinds[kind].reads_integers, .is_srgb = kinds[kind].is_srgb,
		.is_linear = any() % 2, .is_normalized = any() % 2, .max_level = 10}};
	t.format.channels = channels[any() % 3];
	const enum address_mode mode = any() % 4;
	for (size_t i = 0; i < 3; i++) {
		t.sampler.address[i] = any() % 4 ? mode : any() % 4;
	}
	for (size_t c = 0; c < 4; c++) {
		const float border = (float)(any() % 64) / 16 - 2;
		memcpy(&t.sampler.border[c], &border, sizeof(border));
	}
	// The widest one has texels of a byte.
	struct extents e = shapes[any() % countof(shapes)];
	e.width = e.width == MOST_WIDTH && texel_size(&t.format) > 1 ? 16 : e.width;
	const size_t pitch = (size_t)e.width * texel_size(&t.format) + any() % 2 * 16;
	t.levels[0] = (struct image){(uint8_t *)words, e.width, e.height, e.slices, pitch,
		pitch * e.height};
	return t;
}

static float any_coordinate(float extent)
{
	static const float wild[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, -1e-45f,
		-0.f, 1e9f, 511.99f, -512, 2097152.5f, -1, 2, 0x1p31f, -0x1p-30f};
	const uint32_t choice = any();
	const float share = (float)(any() >> 8) / (1 << 24);
	switch (choice % 8) {
	case 0:
		return wild[choice / 8 % countof(wild)];
	case 1: // just at, below or above a half of a texel
	case 2:
		return nextafterf(floorf(share * 4 * extent) / 2 - extent / 2,
			(float)(choice / 8 % 3) * extent);
	case 3:
		return (share - .5f) * 2000 * extent;
	default:
		return (share * 3 - 1) * extent;
	}
}

static struct texture_lanes any_lanes(const struct texture *t)
{
	static const enum geometry geometries[] = {GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D,
		GEOMETRY_1D_LAYERED, GEOMETRY_2D_LAYERED};
	const struct image *image = &t->levels[0];
	const uint32_t extents[] = {image->width, image->height, image->slices};
	struct texture_lanes l = {.geometry = geometries[any() % countof(geometries)],
		.mode = any() % 3, .wants_halves = any() % 8 == 0, .has_integers = any() % 4 == 0};
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		l.layer[lane] = any() % 8 ? any() % 4 : UINT32_MAX;
		for (unsigned i = 0; i < 3; i++) {
			const float x = any_coordinate((float)extents[i])
				/ (float)(t->sampler.is_normalized && any() % 16 ? extents[i] : 1);
			const int32_t near = (int32_t)(any() % (2 * extents[i] + 4)) - 2;
			l.at[i][lane].f = x;
			if (l.has_integers) {
				l.at[i][lane].i = any() % 16 ? near : (int32_t)any();
			}
		}
	}
	return l;
}

static void compare_lanes(const struct texture *t, struct texture_lanes *l, uint32_t set)
{
	memset(l->out, 0xee, sizeof(l->out));
	texture_read_lanes(t, l, set);
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		struct texture_request r = {.geometry = l->geometry, .mode = l->mode,
			.wants_halves = l->wants_halves, .has_integers = l->has_integers,
			.layer = l->layer[lane]};
		uint32_t out[4];
		for (unsigned i = 0; i < 3; i++) {
			r.at[i] = l->at[i][lane];
		}
		texture_read(t, &r, out);
		for (unsigned c = 0; c < 4 && (set >> lane & 1); c++) {
			ck_assert_msg(l->out[c][lane] == out[c], "lane %u, channel %u: %08x, not "
				"%08x; geometry %u, at (%a, %a, %a), modes %u %u %u, %s, %s, %s",
				lane, c, l->out[c][lane], out[c], l->geometry,
				(double)r.at[0].f, (double)r.at[1].f, (double)r.at[2].f,
				t->sampler.address[0], t->sampler.address[1],
				t->sampler.address[2], t->sampler.is_linear ? "linear" : "point",
				t->sampler.is_normalized ? "normalized" : "texels",
				l->has_integers ? "integers" : "floats");
		}
	}
}

START_TEST(a_warp_reads_what_its_lanes_read)
{
	for (size_t i = 0; i < TEXELS; i++) {
		words[i] = any();
	}
	for (size_t i = 0; i < 1500; i++) {
		const struct texture t = any_texture((size_t)_i);
		struct texture_lanes l = any_lanes(&t);
		const uint32_t few = any() % 2 ? 0x10842108 : 0x00f00f00;
		compare_lanes(&t, &l, i % 3 == 0 ? UINT32_MAX : i % 3 == 1 ? any() | 0x155
			: any() & few);
	}
}
END_TEST

SUITE(texture_lanes)
{
	Suite *suite = suite_create("texture_lanes");
	TCase *tc = suite_add_case(suite, "lanes");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_warp_reads_what_its_lanes_read, 0, countof(kinds));
	return suite;
}
