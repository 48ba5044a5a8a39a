/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: textures and surfaces.  A texel says where it is, so that sums are exact. */
#include "cpu/support/api_texture.h"

#include "corpus.h"

#include <math.h>

enum { N = 8 };

static float line[N], plane[N][N], volume[N][N][N];

static void fill_images(void)
{
	for (int i = 0; i < N * N * N; i++) {
		(&volume[0][0][0])[i] = (float)(3 * i + 1);
	}
	for (int i = 0; i < N * N; i++) {
		(&plane[0][0])[i] = (float)(5 * i + 2);
	}
	for (int i = 0; i < N; i++) {
		line[i] = (float)(7 * i + 3);
	}
}

static CUarray image(size_t height, size_t depth, const void *data, unsigned flags)
{
	CUarray array = array_create(N, height, depth, CU_AD_FORMAT_FLOAT, 1, flags);
	array_fill(array, data, 4);
	return array;
}

static CUtexObject line_texture(void)
{
	CUtexObject t = 0;
	const CUDA_TEXTURE_DESC sampling = {.flags = 0};
	const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {corpus_put(line, sizeof(line)), CU_AD_FORMAT_FLOAT, 1,
			sizeof(line)}};
	OK(cuTexObjectCreate(&t, &resource, &sampling, NULL));
	return t;
}

static float cube_at(int x, int y)
{
	/* (x, y, 1): the face in front while y is not longer than 1, then the one above. */
	if (y <= 1) {
		return volume[4][y == 0 ? N / 2 : 0][N / 2];
	}
	return volume[2][(int)floor((1.0 / y + 1) / 2 * N)][(int)floor(((double)x / y + 1) / 2
		* N)];
}

/* Rows write o[x] and columns o[y]; element 0 is written by all. */
static void run_textures(void)
{
	float got[N];
	int32_t quad[N][4];
	fill_images();
	CUtexObject t1 = line_texture();
	CUtexObject t2 = texture_of(image(N, 0, plane, 0), CU_TR_ADDRESS_MODE_CLAMP,
		CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject t3 = texture_of(image(N, N, volume, 0), CU_TR_ADDRESS_MODE_CLAMP,
		CU_TR_FILTER_MODE_POINT, 0);
	CUdeviceptr o = corpus_room(sizeof(got));
	CUdeviceptr q = corpus_room(sizeof(quad));
	void *args[] = {&t1, &t2, &t3, &o, &q};
	const struct corpus_size row = {{1, 1, 1}, {N, 1, 1}, 0, false};
	const struct corpus_size column = {{1, 1, 1}, {1, N, 1}, 0, false};
	corpus_launch("tx", row, args);
	corpus_peek(o, got, sizeof(got));
	corpus_get(q, quad, sizeof(quad));
	for (int x = 0; x < N; x++) {
		float want = 2 * line[x] + 2 * plane[0][x] + volume[1][0][x];
		int32_t bits[4] = {0, 0, 0, 0};
		memcpy(bits, &plane[0][x], 4);
		ck_assert_msg(x == 0 || got[x] == want
			|| (got[x] == want - line[x]
				&& driver_lacks("tex1D reads no linear memory")),
			"%s: %d: %g, not %g", corpus_where(), x, (double)got[x], (double)want);
		ck_assert_mem_eq(quad[x], bits, sizeof(bits));
	}
	corpus_launch("tx", column, args);
	corpus_peek(o, got, sizeof(got));
	for (int y = 1; y < N; y++) {
		bool reads = !driver_lacks("a volume is neither layers nor a cube");
		float want = 2 * plane[y][0] + (reads ? volume[2][y][0] + cube_at(0, y) : 0);
		ck_assert_msg(got[y] == want, "%s: %d: %g, not %g", corpus_where(), y,
			(double)got[y], (double)want);
	}
}

static void run_surfaces(void)
{
	float got[N];
	float after[N][N];
	fill_images();
	plane[0][0] = 0;
	for (int x = 1; x < N; x++) {
		plane[0][x] = (float)((1 << 22) + 77 * x);
	}
	CUarray a2 = image(N, 0, plane, CUDA_ARRAY3D_SURFACE_LDST);
	CUarray a3 = image(N, N, volume, CUDA_ARRAY3D_SURFACE_LDST);
	CUsurfObject s = surface_of(a2);
	CUsurfObject s3 = surface_of(a3);
	CUdeviceptr o = corpus_room(sizeof(got));
	void *args[] = {&s, &s3, &o};
	const struct corpus_size row = {{1, 1, 1}, {N, 1, 1}, 0, false};
	corpus_launch("sf", row, args);
	corpus_peek(o, got, sizeof(got));
	array_read(a2, after, 4);
	array_read(a3, volume, 4);
	for (int x = 0; x < N; x++) {
		float twice = 2 * plane[0][x];
		uint8_t bytes[4];
		memcpy(bytes, &twice, 4);
		ck_assert_msg(x == 0 || got[x] == bytes[0], "%s: %d", corpus_where(), x);
		ck_assert_float_eq(after[0][x], twice);
		ck_assert_float_eq(after[1][x], plane[1][x]);
		ck_assert_float_eq(volume[1][0][x], plane[0][x]);
		ck_assert_float_eq(volume[0][0][x], (float)(3 * x + 1));
	}
}

const struct corpus_case corpus_texture[] = {
	{.source = "09_tex", .kernel = "tx", .run = run_textures},
	{.source = "09_tex", .kernel = "sf", .run = run_surfaces},
	{.source = NULL},
};
