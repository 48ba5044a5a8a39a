/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TEXTURES_H
#define TESTS_TEXTURES_H

/* What the suites of textures share: kernels that read them, texels, arrays of these. */
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

static inline void open_module(int index)
{
	char text[sizeof(source) + sizeof(types)];
	open_kernels(index);
	snprintf(text, sizeof(text), "%s%s", types, source);
	ok(kz_module_compile(&mod, dev, text, NULL, &err));
}

static inline void close_module(void)
{
	kz_module_release(mod);
	teardown();
}

#define TEXTURE_TEST(name) TEST_BETWEEN(open_module(_i), close_module(), name)

static inline float any_float(float low, float high)
{
	static uint64_t state = 0x9e3779b97f4a7c15;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (float)(state >> 40) / (float)(1 << 24);
}

static float texels[D][H][W];

static inline void fill_texels(void)
{
	for (int i = 0; i < D * H * W; i++) {
		(&texels[0][0][0])[i] = any_float(-10, 10);
	}
}

static inline kz_array *array_of(kz_dtype dtype, kz_shape shape, const void *host)
{
	kz_array *array = NULL;
	int64_t size = kz_dtype_size(dtype);
	for (int64_t i = 0; i < shape.ndim; i++) {
		size *= shape.dims[i];
	}
	ok(kz_array_from(&array, dev, dtype, shape, host, size, &err));
	return array;
}

static inline kz_cuda_array *cuda_array_of(kz_dtype dtype, kz_shape shape, const void *host,
	kz_cuda_array_options how)
{
	kz_cuda_array *out = NULL;
	kz_array *array = array_of(dtype, shape, host);
	ok(kz_cuda_array_from(&out, array, &how, &err));
	kz_array_release(array);
	return out;
}

static inline void launch(const char *name, int64_t count, kz_args args)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	ok(kz_launch_1d(kernel, count, NULL, &err, args));
}

static inline kz_shape shape_of(int ndim)
{
	return ndim == 1 ? KZ_SHAPE(W) : ndim == 2 ? KZ_SHAPE(H, W) : KZ_SHAPE(D, H, W);
}

static const struct {
	kz_dtype dtype;
	const char *name;
} formats[] = {
	{KZ_I8, "int8"}, {KZ_I16, "int16"}, {KZ_I32, "int32"}, {KZ_U8, "uint8"},
	{KZ_U16, "uint16"}, {KZ_U32, "uint32"}, {KZ_F32, "float32"},
};

#endif
