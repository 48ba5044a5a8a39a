/* SPDX-License-Identifier: MIT */
/*
 * src/lib/array/cuda_array.c and texture.c: kernels read textures, against the formulas of the CUDA
 * C programming guide ("Texture Fetching").  Coordinates are multiples of 1/256 of a texel where
 * weights matter, so that their 8 bits of fraction are exact.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 16, H = 8, D = 4, POINTS = 500 };

static const char source[] =
	"typedef cudaTextureObject_t tex_t;\n"
	"#define I int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) { return; }\n"
	"extern \"C\" {\n"
	"__global__ void fetch1(tex_t t, const float *x, float *out, int n)\n"
	"{ I out[i] = tex1Dfetch<float>(t, (int)floorf(x[i])); }\n"
	"__global__ void read1(tex_t t, const float *x, float *out, int n)\n"
	"{ I out[i] = tex1D<float>(t, x[i]); }\n"
	"__global__ void read2(tex_t t, const float *x, const float *y, float *out, int n)\n"
	"{ I out[i] = tex2D<float>(t, x[i], y[i]); }\n"
	"__global__ void read3(tex_t t, const float *x, const float *y, const float *z, "
	"float *out,\n"
	"	int n)\n"
	"{ I out[i] = tex3D<float>(t, x[i], y[i], z[i]); }\n"
	"__global__ void layer1(tex_t t, float *out, int w, int n)\n"
	"{ I out[i] = tex1DLayered<float>(t, i % w + 0.5f, i / w); }\n"
	"__global__ void layer2(tex_t t, float *out, int w, int h, int n)\n"
	"{ I out[i] = tex2DLayered<float>(t, i % w + 0.5f, i / w % h + 0.5f, i / w / h); }\n"
	"__global__ void faces(tex_t t, const float *at, float *out, int n)\n"
	"{ I out[i] = texCubemap<float>(t, at[3 * i], at[3 * i + 1], at[3 * i + 2]); }\n"
	"__global__ void faces_of(tex_t t, const float *at, int layer, float *out, int n)\n"
	"{ I out[i] = texCubemapLayered<float>(t, at[3 * i], at[3 * i + 1], at[3 * i + 2], layer); "
	"}\n"
	"__global__ void level(tex_t t, float lod, float *out, int w, int n)\n"
	"{ I out[i] = tex2DLod<float>(t, (i % w + 0.5f) / w, (i / w + 0.5f) / (n / w), lod); }\n"
	"__global__ void level1(tex_t t, float lod, float *out, int w, int h, int n)\n"
	"{ I out[i] = tex1DLod<float>(t, (i + 0.5f) / w, lod); }\n"
	"__global__ void level3(tex_t t, float lod, float *out, int w, int h, int n)\n"
	"{ I out[i] = tex3DLod<float>(t, (i % w + 0.5f) / w, (i / w % h + 0.5f) / h,\n"
	"	(i / w / h + 0.5f) * w * h / n, lod); }\n"
	"__global__ void level_layers1(tex_t t, float lod, float *out, int w, int h, int n)\n"
	"{ I out[i] = tex1DLayeredLod<float>(t, (i % w + 0.5f) / w, i / w, lod); }\n"
	"__global__ void level_layers2(tex_t t, float lod, float *out, int w, int h, int n)\n"
	"{ I out[i] = tex2DLayeredLod<float>(t, (i % w + 0.5f) / w, (i / w % h + 0.5f) / h, "
	"i / w / h, lod); }\n"
	"__global__ void level_faces(tex_t t, float lod, float *out, int w, int h, int n)\n"
	"{ I float s = i & 1 ? -1 : 1;\n"
	"  out[i] = texCubemapLod<float>(t, i / 2 == 0 ? s : 0, i / 2 == 1 ? s : 0, "
	"i / 2 == 2 ? s : 0, lod); }\n"
	"__global__ void slope(tex_t t, float step, float *out, int w, int n)\n"
	"{ I int h = n / w; out[i] = tex2DGrad<float>(t, (i % w + 0.5f) / w, (i / w + 0.5f) / h,\n"
	"	make_float2(step, 0), make_float2(0, step * w / h)); }\n"
	"__global__ void gather(tex_t t, const float *x, const float *y, float4 *out, int n)\n"
	"{ I out[2 * i] = tex2Dgather<float4>(t, x[i], y[i], 0);\n"
	"  out[2 * i + 1] = tex2Dgather<float4>(t, x[i], y[i], 1); }\n"
	"__global__ void beyond(cudaSurfaceObject_t s, float *out, int n)\n"
	"{ I out[i] = surf1Dread<float>(s, (i - 1) * 4, cudaBoundaryModeClamp);\n"
	"  out[n + i] = surf1Dread<float>(s, (i - 1) * 4, cudaBoundaryModeZero); }\n"
	"#define XY i % w * 4, i / w % h\n"
	"#define XYZ XY, i / w / h\n"
	"__global__ void invert1(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surf1Dread(&v, s, i * 4); surf1Dwrite(-v, s, i * 4); }\n"
	"__global__ void invert2(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surf2Dread(&v, s, XY); surf2Dwrite(-v, s, XY); }\n"
	"__global__ void invert3(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surf3Dread(&v, s, XYZ); surf3Dwrite(-v, s, XYZ); }\n"
	"__global__ void invert_layers(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surf2DLayeredread(&v, s, XYZ); surf2DLayeredwrite(-v, s, XYZ); }\n"
	"__global__ void invert_layers1(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surf1DLayeredread(&v, s, XY); surf1DLayeredwrite(-v, s, XY); }\n"
	"__global__ void invert_cube(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surfCubemapread(&v, s, XYZ); surfCubemapwrite(-v, s, XYZ); }\n"
	"__global__ void invert_cubes(cudaSurfaceObject_t s, int w, int h, int n)\n"
	"{ I float v; surfCubemapLayeredread(&v, s, XYZ); surfCubemapLayeredwrite(-v, s, XYZ); }\n"
	"#define COPY(name, type) __global__ void copy_##name(tex_t t, type *out, int w, "
	"int n) \\\n"
	"{ I out[i] = tex2D<type>(t, i % w + 0.5f, i / w + 0.5f); } \\\n"
	"__global__ void move_##name(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, "
	"int n) \\\n"
	"{ I type v = surf2Dread<type>(from, i % w * (int)sizeof(type), i / w); \\\n"
	"  surf2Dwrite(v, to, (w - 1 - i % w) * (int)sizeof(type), i / w); }\n"
	"#define COPIES(name, type) COPY(name##1, type) COPY(name##2, type##2) COPY(name##4, "
	"type##4)\n"
	"COPIES(int8, char) COPIES(int16, short) COPIES(int32, int) COPIES(uint8, uchar)\n"
	"COPIES(uint16, ushort) COPIES(uint32, uint) COPIES(float32, float)\n"
	"__global__ void as_float(tex_t t, float4 *out, int w, int n)\n"
	"{ I out[i] = tex2D<float4>(t, i % w + 0.5f, i / w + 0.5f); }\n"
	"}\n";
static const char types[] = "typedef unsigned char uchar; typedef unsigned short ushort;\n"
	"typedef unsigned int uint;\n";

static kz_module *mod;

static void open_module(int index)
{
	char text[sizeof(source) + sizeof(types)];
	open_kernels(index);
	snprintf(text, sizeof(text), "%s%s", types, source);
	ok(kz_module_compile(&mod, dev, text, NULL, &err));
}

static void close_module(void)
{
	kz_module_release(mod);
	teardown();
}

#define TEXTURE_TEST(name) TEST_BETWEEN(open_module(_i), close_module(), name)

/* --- Helpers --- */

static float any_float(float low, float high)
{
	static uint64_t state = 0x9e3779b97f4a7c15;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (float)(state >> 40) / (float)(1 << 24);
}

static float texels[D][H][W];

static void fill_texels(void)
{
	for (int i = 0; i < D * H * W; i++) {
		(&texels[0][0][0])[i] = any_float(-10, 10);
	}
}

static kz_array *array_of(kz_dtype dtype, kz_shape shape, const void *host)
{
	kz_array *array = NULL;
	int64_t size = kz_dtype_size(dtype);
	for (int64_t i = 0; i < shape.ndim; i++) {
		size *= shape.dims[i];
	}
	ok(kz_array_from(&array, dev, dtype, shape, host, size, &err));
	return array;
}

static kz_cuda_array *cuda_array_of(kz_dtype dtype, kz_shape shape, const void *host,
	kz_cuda_array_options how)
{
	kz_cuda_array *out = NULL;
	kz_array *array = array_of(dtype, shape, host);
	ok(kz_cuda_array_from(&out, array, &how, &err));
	kz_array_release(array);
	return out;
}

static void launch(const char *name, int64_t count, kz_args args)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	ok(kz_launch_1d(kernel, count, NULL, &err, args));
}

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

static kz_shape shape_of(int ndim)
{
	return ndim == 1 ? KZ_SHAPE(W) : ndim == 2 ? KZ_SHAPE(H, W) : KZ_SHAPE(D, H, W);
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

static const struct {
	kz_dtype dtype;
	const char *name;
} formats[] = {
	{KZ_I8, "int8"}, {KZ_I16, "int16"}, {KZ_I32, "int32"}, {KZ_U8, "uint8"},
	{KZ_U16, "uint16"}, {KZ_U32, "uint32"}, {KZ_F32, "float32"},
};

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

/* --- Layers, cubes, mipmaps, surfaces --- */

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
 * behind the middle of four texels of level 0. */
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

/* --- Arguments and mistakes --- */

TEXTURE_TEST(kernels_take_textures_for_their_handles_only)
{
	kz_array *line = array_of(KZ_F32, KZ_SHAPE(W), texels);
	kz_kernel *fetch = NULL;
	kz_texture *texture = NULL;
	kz_surface *none = NULL;
	ok(kz_module_kernel(&fetch, mod, "fetch1", &err));
	ok(kz_texture_from(&texture, line, NULL, &err));
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(line, line, line, 1)), KZ_ARGUMENT,
		"argument 1 of 'fetch1': expected unsigned long long (8 bytes), got an array");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(texture, texture, line, 1)), KZ_ARGUMENT,
		"argument 2 of 'fetch1': expected const float *, got a texture");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(texture, line, line, texture)),
		KZ_ARGUMENT, "argument 4 of 'fetch1': expected int (4 bytes), got a texture");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(none, line, line, 1)), KZ_ARGUMENT,
		"argument 1 of 'fetch1': the kz_surface is NULL");
	kz_texture_release(texture);
	kz_array_release(line);
}

TEXTURE_TEST(a_texture_may_be_released_behind_its_launch)
{
	fill_texels();
	float x[W], got[W];
	for (int i = 0; i < W; i++) {
		x[i] = (float)i;
	}
	kz_array *line = array_of(KZ_F32, KZ_SHAPE(W), texels),
		*xs = array_of(KZ_F32, KZ_SHAPE(W), x);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(W), got);
	kz_stream *stream = NULL;
	kz_kernel *fetch = NULL;
	kz_texture *texture = NULL;
	kz_launch_options on = KZ_LAUNCH_OPTIONS_INIT;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_module_kernel(&fetch, mod, "fetch1", &err));
	ok(kz_texture_from(&texture, line, NULL, &err));
	on.stream = stream;
	ok(kz_launch_1d(fetch, W, &on, &err, KZ_ARGS(texture, xs, out, (int)W)));
	kz_texture_release(texture);
	kz_array_release(line);
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, texels, sizeof(got));
	kz_stream_release(stream);
	kz_array_release(xs);
	kz_array_release(out);
}

DEVICE_TEST(what_cannot_be_an_array_is_refused)
{
	kz_cuda_array *out = (kz_cuda_array *)&err;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	fails(kz_cuda_array_create(NULL, dev, KZ_F32, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"out is NULL");
	fails(kz_cuda_array_create(&out, NULL, KZ_F32, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"expected a device");
	ck_assert_ptr_null(out);
	fails(kz_cuda_array_create(&out, dev, KZ_F64, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"got float64");
	fails(kz_cuda_array_create(&out, dev, 77, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"not a dtype");
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(2, 2, 2, 2), NULL, &err), KZ_INVALID,
		"(depth, height, width), got (2, 2, 2, 2)");
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4, 0), NULL, &err), KZ_INVALID,
		"(4, 0)");
	how.channels = 3;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4), &how, &err), KZ_INVALID,
		"1, 2 or 4 channels, got 3");
	how.channels = 1;
	how.kind = KZ_CUDA_ARRAY_CUBE;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6, 4, 5), &how, &err), KZ_INVALID,
		"(6, width, width), got (6, 4, 5)");
	how.kind = KZ_CUDA_ARRAY_LAYERED;
	how.gather = 1;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4, 4), &how, &err), KZ_INVALID,
		"tex2Dgather reads plain");
	how.kind = 9;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6), &how, &err), KZ_INVALID,
		"got 9");
	how.kind = 0;
	how.size = 3;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6), &how, &err), KZ_INVALID,
		"kz_cuda_array_options has size 3, expected ");
}

DEVICE_TEST(arrays_that_do_not_fit_are_refused)
{
	kz_cuda_array *texels_of = NULL;
	kz_array *a = array_of(KZ_F32, KZ_SHAPE(H, W), texels), *b = NULL;
	kz_array *ints = array_of(KZ_I32, KZ_SHAPE(H, W), texels);
	ok(kz_cuda_array_create(&texels_of, dev, KZ_F32, KZ_SHAPE(H, W), NULL, &err));
	fails(kz_cuda_array_set(texels_of, 1, a, &err), KZ_RANGE,
		"level 1 of a CUDA array of 1 level");
	fails(kz_cuda_array_set(texels_of, 0, ints, &err), KZ_INVALID,
		"of float32, got one of int32");
	fails(kz_cuda_array_get(NULL, texels_of, 0, &err), KZ_INVALID, "expected an array");
	ok(kz_array_slice(&b, a, KZ_AT(KZ_SLICE(0, 4)), &err));
	fails(kz_cuda_array_set(texels_of, 0, b, &err), KZ_INVALID, "shape (8, 16), got (4, 16)");
	kz_array_release(b);
	kz_array_release(a);
	kz_array_release(ints);
	kz_cuda_array_release(texels_of);
	kz_cuda_array_release(NULL);
}

static void refuse_options(kz_cuda_array *array, kz_texture_options how, const char *why)
{
	kz_texture *out = NULL;
	fails(kz_texture_create(&out, array, &how, &err), KZ_INVALID, why);
	ck_assert_ptr_null(out);
}

DEVICE_TEST(options_that_do_not_go_together_are_refused)
{
	kz_cuda_array *floats = NULL, *ints = NULL;
	kz_surface *surface = NULL;
	const kz_texture_options plain = KZ_TEXTURE_OPTIONS_INIT;
	kz_texture_options how = plain;
	ok(kz_cuda_array_create(&floats, dev, KZ_F32, KZ_SHAPE(H, W), NULL, &err));
	ok(kz_cuda_array_create(&ints, dev, KZ_U8, KZ_SHAPE(H, W), NULL, &err));
	how.address[1] = KZ_TEXTURE_WRAP;
	refuse_options(floats, how, "need normalized coordinates");
	how.address[1] = 4;
	refuse_options(floats, how, "a kz_texture_address, got 4");
	how = plain;
	how.size = 3;
	refuse_options(floats, how, "initialize it with KZ_TEXTURE_OPTIONS_INIT");
	how = plain;
	how.filter = 2;
	refuse_options(floats, how, "a kz_texture_filter, got 2");
	how.filter = KZ_TEXTURE_LINEAR;
	refuse_options(ints, how, "filters floats, got uint8");
	how = plain;
	how.as_float = 1;
	refuse_options(floats, how, "got float32");
	how = plain;
	how.srgb = 1;
	refuse_options(floats, how, "sRGB texels are uint8");
	how = plain;
	how.seamless = 1;
	refuse_options(floats, how, "needs a cube");
	how = plain;
	how.anisotropy = 17;
	refuse_options(floats, how, "up to 16, got 17");
	how = plain;
	how.layer_count = 1;
	refuse_options(floats, how, "of kind KZ_CUDA_ARRAY_LAYERED");
	how = plain;
	how.dtype = KZ_U16;
	refuse_options(floats, how, "expected texels of 4 bytes, as the CUDA array has, got 1 of "
		"uint16");
	how.dtype = KZ_F64;
	refuse_options(floats, how, "got float64");
	how = plain;
	how.level_count = 2;
	fails(kz_texture_create(&(kz_texture *){NULL}, floats, &how, &err), KZ_RANGE,
		"2 levels from 0 of a CUDA array that has 1");
	how.first_level = -1;
	fails(kz_texture_create(&(kz_texture *){NULL}, floats, &how, &err), KZ_RANGE, "from -1");
	how.size = 3;
	refuse_options(floats, how, "KZ_TEXTURE_OPTIONS_INIT");
	fails(kz_surface_create(&surface, floats, 0, &err), KZ_INVALID, "with the option surface");
	fails(kz_surface_create(&surface, NULL, 0, &err), KZ_INVALID, "expected a CUDA array");
	kz_cuda_array_release(floats);
	kz_cuda_array_release(ints);
	kz_texture_release(NULL);
	kz_surface_release(NULL);
}

DEVICE_TEST(memory_that_cannot_be_a_texture_is_refused)
{
	kz_texture *out = NULL;
	kz_texture_options how = KZ_TEXTURE_OPTIONS_INIT;
	kz_array *all = array_of(KZ_F32, KZ_SHAPE(D, H, W), texels), *part = NULL;
	fails(kz_texture_from(&out, all, NULL, &err), KZ_INVALID,
		"got an array of shape (4, 8, 16)");
	how.channels = 2;
	fails(kz_texture_from(&out, all, &how, &err), KZ_INVALID, "2 channels, side by side");
	ok(kz_array_slice(&part, all, KZ_AT(0, 0), &err));
	how.channels = 1;
	how.normalized = 1;
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID,
		"1-d array's memory cannot have a filter");
	kz_array_release(part);
	how.normalized = 0;
	how.mipmap_filter = KZ_TEXTURE_LINEAR;
	fails(kz_texture_from(&out, all, &how, &err), KZ_INVALID, "got an array of shape");
	ok(kz_array_slice(&part, all, KZ_AT(0), &err));
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID, "cannot be a cube or a mipmap");
	how.mipmap_filter = 0;
	how.first_layer = 1;
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID,
		"only a texture of a CUDA array can choose");
	kz_array_release(part);
	kz_array_release(all);
}

KERNEL_TEST(memory_that_is_not_aligned_is_refused)
{
	kz_texture *out = NULL;
	kz_array *all = array_of(KZ_F32, KZ_SHAPE(W, H + 1), texels), *part = NULL;
	ck_assert_int_eq(kz_texture_from(&out, all, NULL, &err), KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(kz_error_hint(&err), "kz_cuda_array_from"));
	ck_assert_ptr_nonnull(strstr(err.message,
		"the row pitch of the array is 36, expected a multiple of 32"));
	kz_error_clear(&err);
	ok(kz_array_slice(&part, all, KZ_AT(0, KZ_SLICE(1, 4)), &err));
	fails(kz_texture_from(&out, part, NULL, &err), KZ_INVALID, "the address of the array is");
	kz_array_release(part);
	kz_array_release(all);
}

static kz_status make_all(kz_cuda_array **array, kz_texture **texture, kz_surface **surface,
	const kz_array *from)
{
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.surface = 1;
	kz_status st = kz_cuda_array_from(array, from, &how, &err);
	st = st ? st : kz_texture_create(texture, *array, NULL, &err);
	return st ? st : kz_surface_create(surface, *array, 0, &err);
}

/* Make one of each, while a call of the driver or a request for memory may fail. */
static kz_status make_and_release(const kz_array *from)
{
	kz_cuda_array *array = NULL;
	kz_texture *texture = NULL;
	kz_surface *surface = NULL;
	kz_status st = make_all(&array, &texture, &surface, from);
	ck_assert_int_eq(st == KZ_OK, surface != NULL);
	kz_cuda_array_release(array);
	kz_texture_release(texture);
	kz_surface_release(surface);
	return st;
}

static void failed_call(const char *script, kz_status want, const char *call)
{
	open_stub(script);
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	ck_assert_int_eq(make_and_release(from), want);
	ck_assert_str_eq(err.call, call);
	kz_error_clear(&err);
	kz_array_release(from);
	close_stub();
}

START_TEST(failures_of_the_driver_are_reported)
{
	failed_call("fail=cuArray3DCreate:2", KZ_DEVICE_MEMORY, "cuArray3DCreate");
	failed_call("fail=cuMemcpy3DAsync:1", KZ_INVALID, "cuMemcpy3DAsync");
	failed_call("fail=cuTexObjectCreate:2", KZ_DEVICE_MEMORY, "cuTexObjectCreate");
	failed_call("fail=cuSurfObjectCreate:2", KZ_DEVICE_MEMORY, "cuSurfObjectCreate");
}
END_TEST

STUB_TEST(an_old_driver_has_no_textures, "missing=cuTexObjectCreate")
{
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	kz_texture *texture = NULL;
	fails(kz_texture_from(&texture, from, NULL, &err), KZ_UNSUPPORTED, "cuTexObjectCreate");
	kz_array_release(from);
}

STUB_TEST(without_memory_nothing_stays_behind, "")
{
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	kz_status st = KZ_NO_MEMORY;
	for (long n = 0; st != KZ_OK; n++) {
		mem_fail_after(n);
		st = make_and_release(from);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st != KZ_OK, failed);
		kz_error_clear(&err);
	}
	kz_array_release(from);
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
	tc = suite_add_case(s, "kinds");
	tcase_add_tests(tc, support_device_count(), layers_are_apart,
		faces_of_cubes_follow_the_guides_order, levels_of_a_mipmap_are_halves,
		levels_of_a_mipmap_are_filtered, cubes_may_be_filtered_across_edges,
		surfaces_are_read_and_written, surfaces_have_all_formats,
		surfaces_clamp_or_give_zeros_beyond_their_edges, mipmaps_are_of_all_kinds,
		levels_are_chosen_as_the_options_say, layers_are_chosen);
	tc = suite_add_case(s, "arguments");
	tcase_add_tests(tc, support_device_count(), kernels_take_textures_for_their_handles_only,
		a_texture_may_be_released_behind_its_launch);
	tc = suite_add_case(s, "mistakes");
	tcase_add_tests(tc, support_device_count(), memory_that_is_not_aligned_is_refused);
	tcase_add_tests(tc, support_device_count() + 1, what_cannot_be_an_array_is_refused,
		arrays_that_do_not_fit_are_refused, options_that_do_not_go_together_are_refused,
		memory_that_cannot_be_a_texture_is_refused);
	tcase_add_test(tc, failures_of_the_driver_are_reported);
	tcase_add_test(tc, an_old_driver_has_no_textures);
	tcase_add_test(tc, without_memory_nothing_stays_behind);
	return s;
}
