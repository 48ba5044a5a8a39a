/* SPDX-License-Identifier: MIT */
/*
 * src/lib/array/texture.c: kernels read textures, against the formulas of the CUDA C programming
 * guide ("Texture Fetching").  Coordinates are multiples of 1/256 of a texel where weights matter,
 * so that their 8 bits of fraction are exact.
 */
#include "lib/array/textures.h"

/* --- The reference --- */

struct place {
	int at[2];     /* of the texels, -1: the border */
	double weight; /* of the second one */
};

/* The texels along an axis of n, by the guide: coordinates are changed, not indexes. */
static struct place place_of(double x, int n, int32_t address, bool linear, bool normalized)
{
	struct place p = {{0, 0}, 0};
	x = normalized ? x * n : x;
	double at = linear ? x - 0.5 : x;
	p.weight = linear ? at - floor(at) : 0;
	for (int i = 0; i < 2; i++) {
		double index = floor(at) + i;
		double turn = floor(index / n);
		switch (address) {
		case KZ_TEXTURE_WRAP:
			index -= turn * n;
			break;
		case KZ_TEXTURE_MIRROR:
			index = fmod(fabs(turn), 2) == 0 ? index - turn * n
				: n - 1 - (index - turn * n);
			break;
		case KZ_TEXTURE_BORDER:
			index = index < 0 || index >= n ? -1 : index;
			break;
		default:
			index = index < 0 ? 0 : index >= n ? n - 1 : index;
		}
		p.at[i] = (int)index;
	}
	return p;
}

/* Weights have 8 bits, and all texels' are 256 together, so each of several axes may round:
 * *slack. */
static double expected_at(struct place x, struct place y, struct place z, float border,
	double *slack)
{
	double sum = 0;
	*slack = 1e-4;
	for (int i = 0; i < 8; i++) {
		int at[] = {x.at[i & 1], y.at[i >> 1 & 1], z.at[i >> 2]};
		double weight = (i & 1 ? x.weight : 1 - x.weight)
			* (i & 2 ? y.weight : 1 - y.weight) * (i & 4 ? z.weight : 1 - z.weight);
		bool is_border = at[0] < 0 || at[1] < 0 || at[2] < 0;
		double texel = (double)(is_border ? border : texels[at[2]][at[1]][at[0]]);
		sum += weight * texel;
		*slack += weight > 0 && weight < 1 ? fabs(texel) * 2 / 256 : 0;
	}
	return sum;
}

/* Coordinates inside and on both sides of 0..n, multiples of 1/256 of a texel.  Not in the middle
 * between the two that may be the nearest, nor at the edges of texels if they are normalized, which
 * they may miss by a rounding. */
static void draw_coordinates(float *out, int n, bool normalized)
{
	for (int i = 0; i < POINTS; i++) {
		double x = (floor((double)any_float(-3 * 256, 4 * 256) * n)
			+ (normalized ? 0.25 : 0)) / 256;
		out[i] = (float)(normalized ? x / n : x);
	}
}

static const struct place nowhere = {{0, 0}, 0};
/* One axis is a row, at whose edge a linear filter takes half of what is beyond it. */
static const struct place at_edge = {{-1, 0}, 0.5};

/* --- Filters and address modes --- */

static const struct {
	int32_t address, filter, normalized;
} modes[] = {
	{KZ_TEXTURE_CLAMP, KZ_TEXTURE_POINT, 0}, {KZ_TEXTURE_CLAMP, KZ_TEXTURE_LINEAR, 0},
	{KZ_TEXTURE_BORDER, KZ_TEXTURE_POINT, 0}, {KZ_TEXTURE_BORDER, KZ_TEXTURE_LINEAR, 0},
	{KZ_TEXTURE_CLAMP, KZ_TEXTURE_POINT, 1}, {KZ_TEXTURE_CLAMP, KZ_TEXTURE_LINEAR, 1},
	{KZ_TEXTURE_BORDER, KZ_TEXTURE_LINEAR, 1}, {KZ_TEXTURE_WRAP, KZ_TEXTURE_POINT, 1},
	{KZ_TEXTURE_WRAP, KZ_TEXTURE_LINEAR, 1}, {KZ_TEXTURE_MIRROR, KZ_TEXTURE_POINT, 1},
	{KZ_TEXTURE_MIRROR, KZ_TEXTURE_LINEAR, 1},
};

static kz_texture_options options_of(size_t mode)
{
	kz_texture_options how = KZ_TEXTURE_OPTIONS_INIT;
	for (int i = 0; i < 3; i++) {
		how.address[i] = modes[mode].address;
	}
	how.filter = modes[mode].filter;
	how.normalized = modes[mode].normalized;
	how.border[0] = 7.5f;
	return how;
}

/* Read a texture of ndim axes at random places, and compare. */
static void compare_reads(kz_texture *texture, int ndim, size_t mode)
{
	static const char *const names[] = {"read1", "read2", "read3"};
	static float at[3][POINTS], got[POINTS];
	kz_array *x[3] = {NULL}, *out = array_of(KZ_F32, KZ_SHAPE(POINTS), got);
	const int extents[] = {W, H, D};
	for (int i = 0; i < 3; i++) {
		draw_coordinates(at[i], extents[i], modes[mode].normalized);
		x[i] = array_of(KZ_F32, KZ_SHAPE(POINTS), at[i]);
	}
	kz_arg args[6];
	size_t count = 0;
	args[count++] = KZ_ARG(texture);
	for (int i = 0; i < ndim; i++) {
		args[count++] = KZ_ARG(x[i]);
	}
	args[count++] = KZ_ARG(out);
	args[count++] = KZ_ARG((int)POINTS);
	launch(names[ndim - 1], POINTS, (kz_args){args, count});
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int i = 0; i < POINTS; i++) {
		struct place p[3] = {nowhere, nowhere, nowhere};
		for (int k = 0; k < ndim; k++) {
			p[k] = place_of((double)at[k][i], extents[k], modes[mode].address,
				modes[mode].filter, modes[mode].normalized);
		}
		if (ndim == 1 && modes[mode].filter == KZ_TEXTURE_LINEAR
		    && modes[mode].address == KZ_TEXTURE_BORDER) {
			p[1] = at_edge;
		}
		double slack;
		double want = expected_at(p[0], p[1], p[2], 7.5f, &slack);
		ck_assert_msg(fabs((double)got[i] - want) < slack,
			"mode %zu, %d-d, (%g, %g, %g): got %g, expected %g", mode, ndim,
			(double)at[0][i], (double)at[1][i], (double)at[2][i], (double)got[i], want);
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(x[i]);
	}
	kz_array_release(out);
}

TEXTURE_TEST(cuda_arrays_are_read_as_the_guide_says)
{
	fill_texels();
	for (int ndim = 1; ndim <= 3; ndim++) {
		kz_cuda_array *array = cuda_array_of(KZ_F32, shape_of(ndim), texels,
			(kz_cuda_array_options)KZ_CUDA_ARRAY_OPTIONS_INIT);
		for (size_t mode = 0; mode < countof(modes); mode++) {
			kz_texture_options how = options_of(mode);
			kz_texture *texture = NULL;
			ok(kz_texture_create(&texture, array, &how, &err));
			compare_reads(texture, ndim, mode);
			kz_texture_release(texture);
		}
		kz_cuda_array_release(array);
	}
}

TEXTURE_TEST(memory_of_arrays_is_read_as_the_guide_says)
{
	fill_texels();
	kz_array *wide = array_of(KZ_F32, KZ_SHAPE(H, W), texels[0]);
	for (size_t mode = 0; mode < countof(modes); mode++) {
		kz_texture_options how = options_of(mode);
		kz_texture *texture = NULL;
		ok(kz_texture_from(&texture, wide, &how, &err));
		compare_reads(texture, 2, mode);
		kz_texture_release(texture);
	}
	kz_array_release(wide);
}

/* Rows with gaps, and a texture that outlives its array. */
TEXTURE_TEST(rows_may_have_gaps)
{
	fill_texels();
	kz_array *all = array_of(KZ_F32, KZ_SHAPE(D * H / 2, 2 * W), texels), *part = NULL;
	float x[] = {0.5f, 3.5f}, y[] = {2.5f, 1.5f}, got[2] = {0};
	kz_array *xs = array_of(KZ_F32, KZ_SHAPE(2), x), *ys = array_of(KZ_F32, KZ_SHAPE(2), y);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(2), got);
	kz_texture *texture = NULL;
	ok(kz_array_slice(&part, all, KZ_AT(KZ_ALL, KZ_SLICE(0, W)), &err));
	ok(kz_texture_from(&texture, part, NULL, &err));
	kz_array_release(part);
	kz_array_release(all);
	launch("read2", 2, KZ_ARGS(texture, xs, ys, out, 2));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert(got[0] == texels[0][4][0] && got[1] == texels[0][2][3]);
	kz_texture_release(texture);
	kz_array_release(xs);
	kz_array_release(ys);
	kz_array_release(out);
}

TEXTURE_TEST(memory_of_one_axis_is_fetched)
{
	float x[] = {0, 5, W - 1, -1, W}, got[5] = {0};
	fill_texels();
	kz_array *line = array_of(KZ_F32, KZ_SHAPE(W), texels);
	kz_array *xs = array_of(KZ_F32, KZ_SHAPE(5), x), *out = array_of(KZ_F32, KZ_SHAPE(5), got);
	kz_texture *texture = NULL;
	ok(kz_texture_from(&texture, line, NULL, &err));
	launch("fetch1", 5, KZ_ARGS(texture, xs, out, 5));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert(got[0] == texels[0][0][0] && got[1] == texels[0][0][5]);
	ck_assert(got[2] == texels[0][0][W - 1] && got[3] == 0 && got[4] == 0);
	kz_texture_release(texture);
	kz_array_release(line);
	kz_array_release(xs);
	kz_array_release(out);
}

/* Weights have 8 bits of fraction. */
TEXTURE_TEST(weights_are_multiples_of_a_256th)
{
	float line[] = {0, 256}, x[64], y[64], got[64];
	for (int i = 0; i < 64; i++) {
		x[i] = any_float(0.5f, 1.5f);
		y[i] = 0.5f;
	}
	kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(1, 2), line,
		(kz_cuda_array_options)KZ_CUDA_ARRAY_OPTIONS_INIT);
	kz_array *xs = array_of(KZ_F32, KZ_SHAPE(64), x), *ys = array_of(KZ_F32, KZ_SHAPE(64), y);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(64), x);
	kz_texture_options how = options_of(1);
	kz_texture *texture = NULL;
	ok(kz_texture_create(&texture, array, &how, &err));
	launch("read2", 64, KZ_ARGS(texture, xs, ys, out, 64));
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int i = 0; i < 64; i++) {
		ck_assert(got[i] == floorf(got[i]));
		ck_assert(fabsf(got[i] - 256 * (x[i] - 0.5f)) <= 1);
	}
	kz_texture_release(texture);
	kz_cuda_array_release(array);
	kz_array_release(xs);
	kz_array_release(ys);
	kz_array_release(out);
}

/* --- Formats --- */

TEXTURE_TEST(texels_of_all_formats_come_back)
{
	unsigned char in[H * W * 16], got[sizeof(in)] = {0};
	for (size_t i = 0; i < sizeof(in); i++) {
		in[i] = (unsigned char)any_float(0, 127); /* no NaN, which might change */
	}
	for (size_t f = 0; f < countof(formats); f++) {
		for (int channels = 1; channels <= 4; channels *= 2) {
			char name[32];
			int64_t size = W * H * channels * kz_dtype_size(formats[f].dtype);
			kz_shape shape = channels > 1 ? KZ_SHAPE(H, W, channels) : KZ_SHAPE(H, W);
			kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
			kz_texture *texture = NULL;
			how.channels = channels;
			kz_cuda_array *array = cuda_array_of(formats[f].dtype, shape, in, how);
			kz_array *out = array_of(formats[f].dtype, shape, got);
			snprintf(name, sizeof(name), "copy_%s%d", formats[f].name, channels);
			ok(kz_texture_create(&texture, array, NULL, &err));
			launch(name, W * H, KZ_ARGS(texture, kz_array_buffer(out), (int)W, W * H));
			ok(kz_array_get(out, got, size, &err));
			ck_assert_mem_eq(got, in, (size_t)size);
			kz_texture_release(texture);
			kz_cuda_array_release(array);
			kz_array_release(out);
		}
	}
}

/* Of numbers that halves hold exactly. */
TEXTURE_TEST(halves_are_read_as_floats)
{
	static const uint16_t halves[4] = {0x3c00, 0xc000, 0x0001, 0x7bff};
	static const float want[4] = {1, -2, 0x1p-24f, 65504};
	float got[4];
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_texture *texture = NULL;
	how.channels = 4;
	kz_cuda_array *array = cuda_array_of(KZ_F16, KZ_SHAPE(1, 1, 4), halves, how);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(4), got);
	ok(kz_texture_create(&texture, array, NULL, &err));
	launch("as_float", 1, KZ_ARGS(texture, out, 1, 1));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	kz_texture_release(texture);
	kz_cuda_array_release(array);
	kz_array_release(out);
}

static double linear_of(double c)
{
	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

TEXTURE_TEST(integers_are_read_as_floats)
{
	int8_t in[4] = {-128, -127, 64, 127};
	uint8_t pixels[4] = {0, 10, 200, 255};
	for (int kind = 0; kind < 3; kind++) {
		float got[4];
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
		kz_texture *texture = NULL;
		how.channels = 4;
		read.as_float = kind < 2;
		read.srgb = kind == 2;
		kz_cuda_array *array = kind == 0 ? cuda_array_of(KZ_I8, KZ_SHAPE(1, 1, 4), in, how)
			: cuda_array_of(KZ_U8, KZ_SHAPE(1, 1, 4), pixels, how);
		kz_array *out = array_of(KZ_F32, KZ_SHAPE(4), got);
		ok(kz_texture_create(&texture, array, &read, &err));
		launch("as_float", 1, KZ_ARGS(texture, out, 1, 1));
		ok(kz_array_get(out, got, sizeof(got), &err));
		for (int i = 0; i < 4; i++) {
			double c = kind == 0 ? fmax(in[i] / 127.0, -1) : pixels[i] / 255.0;
			c = kind == 2 && i < 3 ? linear_of(c) : c;
			ck_assert_double_eq_tol((double)got[i], c, 1e-3 * (kind == 2) + 1e-6);
		}
		kz_texture_release(texture);
		kz_cuda_array_release(array);
		kz_array_release(out);
	}
}
/* Each format is read as each other one of its size, bit by bit. */
TEXTURE_TEST(texels_are_read_as_another_type)
{
	unsigned char in[H * W * 16], got[sizeof(in)];
	for (size_t i = 0; i < sizeof(in); i++) {
		in[i] = (unsigned char)any_float(0, 127);
	}
	for (size_t i = 0; i < 9 * countof(formats) * countof(formats); i++) {
		const size_t own = i % countof(formats),
			as = i / countof(formats) % countof(formats);
		const int channels = 1 << i / countof(formats) / countof(formats) % 3;
		kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
		kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
		kz_texture *texture = NULL;
		char name[32];
		how.channels = 1 << i / countof(formats) / countof(formats) / 3;
		read.dtype = formats[as].dtype;
		read.channels = channels;
		int64_t size = how.channels * kz_dtype_size(formats[own].dtype);
		if (size == channels * kz_dtype_size(formats[as].dtype)) {
			kz_cuda_array *array = cuda_array_of(formats[own].dtype, how.channels > 1
				? KZ_SHAPE(H, W, how.channels) : KZ_SHAPE(H, W), in, how);
			kz_array *out = array_of(KZ_U8, KZ_SHAPE(H * W * size), got);
			ok(kz_texture_create(&texture, array, &read, &err));
			snprintf(name, sizeof(name), "copy_%s%d", formats[as].name, channels);
			launch(name, W * H, KZ_ARGS(texture, kz_array_buffer(out), (int)W, W * H));
			ok(kz_array_get(out, got, H * W * size, &err));
			ck_assert_mem_eq(got, in, (size_t)(H * W * size));
			kz_texture_release(texture);
			kz_cuda_array_release(array);
			kz_array_release(out);
		}
	}
}

/* PTX ISA, tld4: the four texels that a linear filter takes, from the lower left
 * counter-clockwise. */
TEXTURE_TEST(four_texels_are_gathered)
{
	static float at[2][POINTS], got[POINTS][2][4];
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.gather = 1;
	how.channels = 2;
	fill_texels();
	kz_cuda_array *array = cuda_array_of(KZ_F32, KZ_SHAPE(H, W / 2, 2), texels[0], how);
	kz_array *x[2], *out = array_of(KZ_F32, KZ_SHAPE(POINTS, 2, 4), got);
	for (size_t mode = 0; mode < countof(modes); mode++) {
		kz_texture_options read = options_of(mode);
		kz_texture *texture = NULL;
		for (int k = 0; k < 2; k++) {
			draw_coordinates(at[k], k ? H : W / 2, read.normalized);
			x[k] = array_of(KZ_F32, KZ_SHAPE(POINTS), at[k]);
		}
		read.border[1] = -3;
		ok(kz_texture_create(&texture, array, &read, &err));
		launch("gather", POINTS, KZ_ARGS(texture, x[0], x[1], out, (int)POINTS));
		ok(kz_array_get(out, got, sizeof(got), &err));
		for (int i = 0; i < 8 * POINTS; i++) {
			static const int right[4] = {0, 1, 1, 0}, down[4] = {1, 1, 0, 0};
			const int point = i / 8, channel = i / 4 % 2;
			struct place px = place_of((double)at[0][point], W / 2, read.address[0],
				KZ_TEXTURE_LINEAR, read.normalized);
			struct place py = place_of((double)at[1][point], H, read.address[1],
				KZ_TEXTURE_LINEAR, read.normalized);
			const int u = px.at[right[i % 4]], v = py.at[down[i % 4]];
			float want = u < 0 || v < 0 ? read.border[channel]
				: texels[0][v][2 * u + channel];
			ck_assert_msg(got[point][channel][i % 4] == want,
				"mode %zu, (%g, %g), texel %d: got %g, expected %g", mode,
				(double)at[0][point], (double)at[1][point], i % 4,
				(double)got[point][channel][i % 4], (double)want);
		}
		kz_array_release(x[0]);
		kz_array_release(x[1]);
		kz_texture_release(texture);
	}
	kz_array_release(out);
	kz_cuda_array_release(array);
}

/* Texels that are read as integers have integers around them. */
TEXTURE_TEST(a_border_has_the_type_of_what_is_read)
{
	static const int32_t ints[4] = {1, 2, 3, 4}, around[6] = {1, 2, 3, 4, -70000, -70000};
	static const float floats[4] = {1, 2, 3, 4}, color[8] = {1, 2, 3, 4, -70000, 0.5f, 0, 9};
	int32_t got[6];
	float got_floats[8];
	kz_texture_options read = KZ_TEXTURE_OPTIONS_INIT;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_texture *texture = NULL;
	read.address[0] = KZ_TEXTURE_BORDER;
	read.border[0] = -70000;
	kz_cuda_array *array = cuda_array_of(KZ_I32, KZ_SHAPE(1, 4), ints, how);
	kz_array *out = array_of(KZ_I32, KZ_SHAPE(6), got);
	ok(kz_texture_create(&texture, array, &read, &err));
	launch("copy_int321", 6, KZ_ARGS(texture, out, 6, 6));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, around, sizeof(got));
	kz_texture_release(texture);
	texture = NULL;
	read.border[1] = 0.5f;
	fails(kz_texture_create(&texture, array, &read, &err), KZ_INVALID,
		"expected an integer border");
	kz_array_release(out);
	kz_cuda_array_release(array);
	how.channels = 4;
	read.border[3] = 9;
	array = cuda_array_of(KZ_F32, KZ_SHAPE(1, 1, 4), floats, how);
	out = array_of(KZ_F32, KZ_SHAPE(8), got_floats);
	ok(kz_texture_create(&texture, array, &read, &err));
	launch("copy_float324", 2, KZ_ARGS(texture, kz_array_buffer(out), 2, 2));
	ok(kz_array_get(out, got_floats, sizeof(got_floats), &err));
	ck_assert_mem_eq(got_floats, color, sizeof(color));
	kz_texture_release(texture);
	kz_array_release(out);
	kz_cuda_array_release(array);
}
SUITE(textures)
{
	Suite *s = suite_create("textures");
	TCase *tc = suite_add_case(s, "filters");
	tcase_add_tests(tc, support_device_count(), cuda_arrays_are_read_as_the_guide_says,
		memory_of_arrays_is_read_as_the_guide_says, rows_may_have_gaps,
		memory_of_one_axis_is_fetched, weights_are_multiples_of_a_256th);
	tc = suite_add_case(s, "texels");
	tcase_add_tests(tc, support_device_count(), texels_of_all_formats_come_back,
		halves_are_read_as_floats, integers_are_read_as_floats,
		texels_are_read_as_another_type, four_texels_are_gathered,
		a_border_has_the_type_of_what_is_read);
	return s;
}
