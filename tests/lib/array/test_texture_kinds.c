/* SPDX-License-Identifier: MIT */
/*
 * src/lib/array/cuda_array.c and texture.c: layers, cubes, mipmaps and surfaces.
 */
#include "lib/array/textures.h"

TEXTURE_TEST(layers_are_apart)
{
	static float got[D * H * W];
	fill_texels();
	for (int ndim = 2; ndim <= 3; ndim++) {
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_texture *texture = NULL;
		how.kind = KZ_CUDA_ARRAY_LAYERED;
		kz_shape shape = shape_of(ndim);
		int count = ndim == 2 ? H * W : D * H * W;
		kz_cuda_array *array = cuda_array_of(KZ_F32, shape, texels, how);
		kz_array *out = array_of(KZ_F32, KZ_SHAPE(count), got);
		ok(kz_texture_create(&texture, array, NULL, &err));
		if (ndim == 2) {
			launch("layer1", count, KZ_ARGS(texture, out, (int)W, count));
		} else {
			launch("layer2", count, KZ_ARGS(texture, out, (int)W, (int)H, count));
		}
		ok(kz_array_get(out, got, count * 4, &err));
		ck_assert_mem_eq(got, texels, (size_t)count * 4);
		kz_texture_release(texture);
		kz_cuda_array_release(array);
		kz_array_release(out);
	}
}

/* The six directions hit the middles of the faces, in the order of the guide's table. */
TEXTURE_TEST(faces_of_cubes_follow_the_guides_order)
{
	static const float at[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1},
		{0, 0, -1}};
	float in[12], got[6];
	for (int i = 0; i < 12; i++) {
		in[i] = (float)(i * i);
	}
	for (int layers = 1; layers <= 2; layers++) {
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_texture *texture = NULL;
		how.kind = layers > 1 ? KZ_CUDA_ARRAY_CUBE_LAYERED : KZ_CUDA_ARRAY_CUBE;
		kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(6 * layers, 1, 1), in, how);
		kz_array *places = array_of(KZ_F32, KZ_SHAPE(6, 3), at);
		kz_array *out = array_of(KZ_F32, KZ_SHAPE(6), got);
		ok(kz_texture_create(&texture, array, NULL, &err));
		if (layers == 1) {
			launch("faces", 6, KZ_ARGS(texture, places, out, 6));
		} else {
			launch("faces_of", 6, KZ_ARGS(texture, places, 1, out, 6));
		}
		ok(kz_array_get(out, got, sizeof(got), &err));
		ck_assert_mem_eq(got, in + 6 * (layers - 1), sizeof(got));
		kz_texture_release(texture);
		kz_cuda_array_release(array);
		kz_array_release(places);
		kz_array_release(out);
	}
}

TEXTURE_TEST(levels_of_a_mipmap_are_halves)
{
	static float got[H * W];
	fill_texels();
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
	kz_cuda_array *array = NULL;
	kz_texture *texture = NULL;
	how.levels = 3;
	read.normalized = 1;
	ok(kz_cuda_array_create(&array, dev, KZ_F32, KZ_SHAPE(H, W), &how, &err));
	for (int level = 0; level < 3; level++) {
		kz_array *part = array_of(KZ_F32, KZ_SHAPE(H >> level, W >> level), texels[level]);
		ok(kz_cuda_array_set(array, level, part, &err));
		kz_array_release(part);
	}
	ok(kz_texture_create(&texture, array, &read, &err));
	for (int level = 0; level < 3; level++) {
		int count = (H >> level) * (W >> level);
		kz_array *out = array_of(KZ_F32, KZ_SHAPE(H >> level, W >> level), got);
		launch("level", count, KZ_ARGS(texture, (float)level, out, W >> level, count));
		ok(kz_array_get(out, got, count * 4, &err));
		ck_assert_mem_eq(got, texels[level], (size_t)count * 4);
		kz_array_release(out);
	}
	kz_texture_release(texture);
	kz_cuda_array_release(array);
}

/* Halfway between two levels both count the same.  At the middle of a texel of level 1 is the one
 * after the middle of four texels of level 0. */
TEXTURE_TEST(levels_of_a_mipmap_are_filtered)
{
	static float got[H * W / 4];
	fill_texels();
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
	kz_cuda_array *array = NULL;
	how.levels = 2;
	read.normalized = 1;
	ok(kz_cuda_array_create(&array, dev, KZ_F32, KZ_SHAPE(H, W), &how, &err));
	for (int level = 0; level < 2; level++) {
		kz_array *part = array_of(KZ_F32, KZ_SHAPE(H >> level, W >> level), texels[level]);
		ok(kz_cuda_array_set(array, level, part, &err));
		kz_array_release(part);
	}
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(H / 2, W / 2), got);
	for (int kind = 0; kind < 2; kind++) {
		kz_texture *texture = NULL;
		read.mipmap_filter = kind == 0 ? KZ_TEXTURE_LINEAR : KZ_TEXTURE_POINT;
		read.min_level = read.max_level = (float)kind;
		ok(kz_texture_create(&texture, array, &read, &err));
		launch("level", H * W / 4,
			KZ_ARGS(texture, kind == 0 ? 0.5f : 0.0f, out, W / 2, H * W / 4));
		ok(kz_array_get(out, got, sizeof(got), &err));
		for (int i = 0; i < H * W / 4; i++) {
			float fine = texels[0][i / (W / 2) * 2 + 1][i % (W / 2) * 2 + 1];
			float coarse = (&texels[1][0][0])[i];
			ck_assert_float_eq_tol(got[i], kind == 0 ? (fine + coarse) / 2 : coarse,
				1e-5);
		}
		kz_texture_release(texture);
	}
	kz_array_release(out);
	kz_cuda_array_release(array);
}

/* At an edge both faces count the same, without it the one that is chosen. */
TEXTURE_TEST(cubes_may_be_filtered_across_edges)
{
	static const float at[] = {1, 1, 0}, in[] = {3, 0, 5, 0, 0, 0};
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.kind = KZ_CUDA_ARRAY_CUBE;
	kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(6, 1, 1), in, how);
	kz_array *place = array_of(KZ_F32, KZ_SHAPE(3), at),
		*out = array_of(KZ_F32, KZ_SHAPE(1), at);
	for (int seamless = 0; seamless < 2; seamless++) {
		float got = 0;
		kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
		kz_texture *texture = NULL;
		read.filter = KZ_TEXTURE_LINEAR;
		read.seamless = seamless;
		ok(kz_texture_create(&texture, array, &read, &err));
		launch("faces", 1, KZ_ARGS(texture, place, out, 1));
		ok(kz_array_get(out, &got, sizeof(got), &err));
		ck_assert(seamless ? got == 4 : got == 3 || got == 5);
		kz_texture_release(texture);
	}
	kz_array_release(place);
	kz_array_release(out);
	kz_cuda_array_release(array);
}

static const struct {
	const char *kernel;
	int kind, levels;
	int64_t depth, height, width; /* 0: no such axis */
} surfaces[] = {
	{"invert1", KZ_CUDA_ARRAY_PLAIN, 1, 0, 0, W}, {"invert2", KZ_CUDA_ARRAY_PLAIN, 1, 0, H, W},
	{"invert3", KZ_CUDA_ARRAY_PLAIN, 1, D, H, W},
	{"invert_layers", KZ_CUDA_ARRAY_LAYERED, 1, D, H, W},
	{"invert_layers1", KZ_CUDA_ARRAY_LAYERED, 1, 0, H, W},
	{"invert2", KZ_CUDA_ARRAY_PLAIN, 2, 0, H, W},
	{"invert_cube", KZ_CUDA_ARRAY_CUBE, 1, 6, 4, 4},
	{"invert_cubes", KZ_CUDA_ARRAY_CUBE_LAYERED, 1, 12, 4, 4},
};

static kz_shape shape_from(int64_t depth, int64_t height, int64_t width)
{
	return depth ? KZ_SHAPE(depth, height, width) : height ? KZ_SHAPE(height, width)
		: KZ_SHAPE(width);
}

/* The last level of each, from array to array. */
TEXTURE_TEST(surfaces_are_read_and_written)
{
	static float got[D * H * W];
	fill_texels();
	for (size_t i = 0; i < countof(surfaces); i++) {
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_cuda_array *array = NULL;
		kz_surface *surface = NULL;
		how.surface = 1;
		how.kind = surfaces[i].kind;
		how.levels = surfaces[i].levels;
		const int64_t depth = surfaces[i].depth, height = surfaces[i].height,
			width = surfaces[i].width;
		int last = how.levels - 1, w = (int)width >> last,
			h = (int)(height ? height : 1) >> last;
		int count = w * h * (int)(depth ? depth : 1);
		kz_array *host = array_of(KZ_F32, shape_from(depth, height >> last, width >> last),
			texels);
		ok(kz_cuda_array_create(&array, dev, KZ_F32, shape_from(depth, height, width), &how,
			&err));
		ok(kz_cuda_array_set(array, last, host, &err));
		ok(kz_surface_create(&surface, array, last, &err));
		launch(surfaces[i].kernel, count, KZ_ARGS(surface, w, h, count));
		ok(kz_cuda_array_get(host, array, last, &err));
		ok(kz_array_get(host, got, count * 4, &err));
		for (int k = 0; k < count; k++) {
			ck_assert_msg(got[k] == -(&texels[0][0][0])[k], "surface %zu, texel %d", i,
				k);
		}
		kz_surface_release(surface);
		kz_cuda_array_release(array);
		kz_array_release(host);
	}
}

/* Each format and number of channels, with its rows turned around. */
TEXTURE_TEST(surfaces_have_all_formats)
{
	static unsigned char in[H * W * 16], got[sizeof(in)];
	for (size_t i = 0; i < sizeof(in); i++) {
		in[i] = (unsigned char)any_float(0, 127);
	}
	for (size_t i = 0; i < 3 * countof(formats); i++) {
		char name[32];
		const kz_dtype dtype = formats[i / 3].dtype;
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_surface *from = NULL, *to = NULL;
		how.surface = 1;
		how.channels = 1 << i % 3;
		const size_t size = (size_t)(how.channels * kz_dtype_size(dtype));
		kz_shape shape = how.channels > 1 ? KZ_SHAPE(H, W, how.channels) : KZ_SHAPE(H, W);
		kz_cuda_array *a = cuda_array_of(dtype, shape, in, how),
			*b = cuda_array_of(dtype, shape, in, how);
		kz_array *out = array_of(dtype, shape, got);
		snprintf(name, sizeof(name), "move_%s%d", formats[i / 3].name, (int)how.channels);
		ok(kz_surface_create(&from, a, 0, &err));
		ok(kz_surface_create(&to, b, 0, &err));
		launch(name, W * H, KZ_ARGS(from, to, (int)W, W * H));
		ok(kz_cuda_array_get(out, b, 0, &err));
		ok(kz_array_get(out, got, (int64_t)(W * H * size), &err));
		for (size_t k = 0; k < W * H; k++) {
			ck_assert_mem_eq(got + k * size, in + (k / W * W + W - 1 - k % W) * size,
				size);
		}
		kz_surface_release(from);
		kz_surface_release(to);
		kz_cuda_array_release(a);
		kz_cuda_array_release(b);
		kz_array_release(out);
	}
}

TEXTURE_TEST(surfaces_clamp_or_give_zeros_beyond_their_edges)
{
	static const float in[4] = {5, 6, 7, 8};
	static const float expected[2][6] = {{5, 5, 6, 7, 8, 8}, {0, 5, 6, 7, 8, 0}};
	float got[12] = {0};
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_surface *surface = NULL;
	how.surface = 1;
	kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(4), in, how);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(12), got);
	ok(kz_surface_create(&surface, array, 0, &err));
	launch("beyond", 6, KZ_ARGS(surface, out, 6));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, expected, sizeof(got));
	kz_surface_release(surface);
	kz_cuda_array_release(array);
	kz_array_release(out);
}

/* --- Mipmaps of all kinds, parts of CUDA arrays --- */

static const struct {
	const char *kernel;
	int kind;
	int64_t depth, height, width, depth1, height1, width1; /* of levels 0 and 1 */
} mipmaps[] = {
	{"level1", KZ_CUDA_ARRAY_PLAIN, 0, 0, W, 0, 0, W / 2},
	{"level3", KZ_CUDA_ARRAY_PLAIN, D, H, W, D / 2, H / 2, W / 2},
	{"level_layers1", KZ_CUDA_ARRAY_LAYERED, 0, H, W, 0, H, W / 2},
	{"level_layers2", KZ_CUDA_ARRAY_LAYERED, D, H, W, D, H / 2, W / 2},
	{"level_faces", KZ_CUDA_ARRAY_CUBE, 6, 2, 2, 6, 1, 1},
};

TEXTURE_TEST(mipmaps_are_of_all_kinds)
{
	static float got[D * H * W];
	fill_texels();
	for (size_t i = 0; i < countof(mipmaps); i++) {
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
		kz_cuda_array *array = NULL;
		kz_texture *texture = NULL;
		how.kind = mipmaps[i].kind;
		how.levels = 2;
		read.normalized = 1;
		const int64_t d = mipmaps[i].depth1, h = mipmaps[i].height1, w = mipmaps[i].width1;
		const int count = (int)((d ? d : 1) * (h ? h : 1) * w);
		kz_array *half = array_of(KZ_F32, shape_from(d, h, w), texels);
		kz_array *out = array_of(KZ_F32, KZ_SHAPE(count), got);
		ok(kz_cuda_array_create(&array, dev, KZ_F32,
			shape_from(mipmaps[i].depth, mipmaps[i].height,
			mipmaps[i].width), &how, &err));
		ok(kz_cuda_array_set(array, 1, half, &err));
		ok(kz_texture_create(&texture, array, &read, &err));
		launch(mipmaps[i].kernel, count,
			KZ_ARGS(texture, 1.0f, out, (int)w, (int)(h ? h : 1), count));
		ok(kz_array_get(out, got, count * 4, &err));
		ck_assert_msg(memcmp(got, texels, (size_t)count * 4) == 0, "%s", mipmaps[i].kernel);
		kz_texture_release(texture);
		kz_cuda_array_release(array);
		kz_array_release(half);
		kz_array_release(out);
	}
}

/* A mipmap of 3 levels, whose texels are texels[level]. */
static kz_cuda_array *mipmap_of_3(void)
{
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_cuda_array *array = NULL;
	how.levels = 3;
	fill_texels();
	ok(kz_cuda_array_create(&array, dev, KZ_F32, KZ_SHAPE(H, W), &how, &err));
	for (int level = 0; level < 3; level++) {
		kz_array *part = array_of(KZ_F32, KZ_SHAPE(H >> level, W >> level), texels[level]);
		ok(kz_cuda_array_set(array, level, part, &err));
		kz_array_release(part);
	}
	return array;
}

/* How the level is chosen: by the call or by the distance of pixels, with a bias, limits and a
 * view. */
static const struct {
	const char *kernel;
	float value; /* a level, or a distance of pixels */
	int32_t first, count;
	float bias, min, max;
	int expected;
} choices[] = {
	{"level", 1, 0, 0, 0, 0, 0, 1}, {"level", 0, 0, 0, 2, 0, 0, 2},
	{"level", 2, 0, 0, -1, 0, 0, 1},
	{"level", 0, 0, 0, 0, 1, 2, 1}, {"level", 9, 0, 0, 0, 0, 1, 1},
	{"level", 0, 1, 0, 0, 0, 0, 1},
	{"level", 1, 1, 2, 0, 0, 0, 2}, {"level", 2, 0, 2, 0, 0, 0, 1},
	{"level", 0, 2, 1, 0, 0, 0, 2},
	{"slope", 1.0f / W, 0, 0, 0, 0, 0, 0}, {"slope", 2.0f / W, 0, 0, 0, 0, 0, 1},
	{"slope", 4.0f / W, 0, 0, 0, 0, 0, 2}, {"slope", 4.0f / W, 0, 0, -1, 0, 0, 1},
	{"slope", 2.0f / W, 1, 2, 0, 0, 0, 1},
};

TEXTURE_TEST(levels_are_chosen_as_the_options_say)
{
	static float got[H * W];
	kz_cuda_array *array = mipmap_of_3();
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(H * W), got);
	for (size_t i = 0; i < countof(choices); i++) {
		kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
		kz_texture *texture = NULL;
		const int level = choices[i].expected, count = (H >> level) * (W >> level);
		read.normalized = 1;
		read.first_level = choices[i].first;
		read.level_count = choices[i].count;
		read.level_bias = choices[i].bias;
		read.min_level = choices[i].min;
		read.max_level = choices[i].max;
		read.anisotropy = (int)i; /* these footprints are as long as they are wide */
		ok(kz_texture_create(&texture, array, &read, &err));
		launch(choices[i].kernel, count,
			KZ_ARGS(texture, choices[i].value, out, W >> level, count));
		ok(kz_array_get(out, got, sizeof(got), &err));
		ck_assert_msg(memcmp(got, texels[level], (size_t)count * 4) == 0, "choice %zu", i);
		kz_texture_release(texture);
	}
	kz_array_release(out);
	kz_cuda_array_release(array);
}

TEXTURE_TEST(layers_are_chosen)
{
	static float got[2 * H * W];
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
	kz_texture *texture = NULL;
	fill_texels();
	how.kind = KZ_CUDA_ARRAY_LAYERED;
	read.first_layer = 1;
	read.layer_count = 2;
	kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(D, H, W), texels, how);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(2 * H * W), got);
	ok(kz_texture_create(&texture, array, &read, &err));
	launch("layer2", 2 * H * W, KZ_ARGS(texture, out, (int)W, (int)H, 2 * H * W));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, texels[1], sizeof(got));
	kz_texture_release(texture);
	kz_cuda_array_release(array);
	kz_array_release(out);
}
SUITE(texture_kinds)
{
	Suite *s = suite_create("texture_kinds");
	TCase *tc = suite_add_case(s, "kinds");
	tcase_add_tests(tc, support_device_count(), layers_are_apart,
		faces_of_cubes_follow_the_guides_order, levels_of_a_mipmap_are_halves,
		levels_of_a_mipmap_are_filtered, cubes_may_be_filtered_across_edges,
		surfaces_are_read_and_written, surfaces_have_all_formats,
		surfaces_clamp_or_give_zeros_beyond_their_edges, mipmaps_are_of_all_kinds,
		levels_are_chosen_as_the_options_say, layers_are_chosen);
	return s;
}
