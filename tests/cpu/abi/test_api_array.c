/* SPDX-License-Identifier: MIT */
/* Arrays, texture and surface objects: descriptors, copies, and what is refused. */
#include "cpu/support/api_texture.h"
#include "support/suite.h"

#define LAYERED CUDA_ARRAY3D_LAYERED
#define CUBEMAP CUDA_ARRAY3D_CUBEMAP
#define SURFACE CUDA_ARRAY3D_SURFACE_LDST
#define GATHER CUDA_ARRAY3D_TEXTURE_GATHER
#define U8 CU_AD_FORMAT_UNSIGNED_INT8
#define F32 CU_AD_FORMAT_FLOAT

/* --- Creating --- */

static const struct create_row {
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult want;
} create_rows[] = {
	{{16, 0, 0, U8, 1, 0}, CUDA_SUCCESS},
	{{16, 9, 0, CU_AD_FORMAT_HALF, 4, SURFACE | GATHER}, CUDA_SUCCESS},
	{{16, 9, 5, F32, 2, SURFACE}, CUDA_SUCCESS},
	{{16, 0, 5, F32, 2, LAYERED}, CUDA_SUCCESS},
	{{16, 9, 5, F32, 2, LAYERED | SURFACE}, CUDA_SUCCESS},
	{{16, 16, 6, F32, 2, CUBEMAP}, CUDA_SUCCESS},
	{{16, 16, 12, F32, 2, CUBEMAP | LAYERED}, CUDA_SUCCESS},
	{{4, 0, 0, CU_AD_FORMAT_SNORM_INT16X2, 2, 0}, CUDA_SUCCESS},
	{{131072, 0, 0, U8, 1, 0}, CUDA_SUCCESS},
	{{2, 2, 32768, U8, 1, 0}, CUDA_SUCCESS},
	{{131073, 0, 0, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{32769, 0, 0, U8, 1, SURFACE}, CUDA_ERROR_INVALID_VALUE},
	{{2, 65537, 0, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{32769, 2, 0, U8, 1, GATHER}, CUDA_ERROR_INVALID_VALUE},
	{{4, 4, 4, U8, 1, GATHER}, CUDA_ERROR_INVALID_VALUE},
	{{2, 2, 32769, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{2, 2, 2049, U8, 1, LAYERED}, CUDA_ERROR_INVALID_VALUE},
	{{SIZE_MAX, SIZE_MAX, SIZE_MAX, F32, 4, 0}, CUDA_ERROR_INVALID_VALUE},
	{{0, 0, 0, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{0, 4, 0, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 4, U8, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 4, 0, U8, 1, LAYERED}, CUDA_ERROR_INVALID_VALUE},
	{{4, 5, 6, U8, 1, CUBEMAP}, CUDA_ERROR_INVALID_VALUE},
	{{4, 4, 12, U8, 1, CUBEMAP}, CUDA_ERROR_INVALID_VALUE},
	{{4, 4, 7, U8, 1, CUBEMAP | LAYERED}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 0, U8, 3, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 0, U8, 0, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 0, CU_AD_FORMAT_UNORM_INT8X4, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 0, (CUarray_format)7, 1, 0}, CUDA_ERROR_INVALID_VALUE},
	{{4, 0, 0, (CUarray_format)0xb0, 1, 0}, CUDA_ERROR_NOT_SUPPORTED},
	{{4, 4, 0, U8, 1, CUDA_ARRAY3D_SPARSE}, CUDA_ERROR_NOT_SUPPORTED},
	{{4, 4, 0, U8, 1, 0x4000}, CUDA_ERROR_INVALID_VALUE},
	{{32768, 32768, 2048, F32, 4, LAYERED}, CUDA_ERROR_OUT_OF_MEMORY},
};

START_TEST(arrays_are_created_within_the_limits)
{
	const struct create_row *row = &create_rows[_i];
	CUarray array = (CUarray)1;
	CUDA_ARRAY3D_DESCRIPTOR got;
	ck_assert_int_eq(cuArray3DCreate_v2(&array, &row->d), row->want);
	if (row->want != CUDA_SUCCESS) {
		ck_assert_ptr_null(array);
		return;
	}
	OK(cuArray3DGetDescriptor_v2(&got, array));
	ck_assert_mem_eq(&got, &row->d, sizeof(got));
	OK(cuArrayDestroy(array));
	FAILS(INVALID_HANDLE, cuArrayDestroy(array));
	FAILS(INVALID_HANDLE, cuArray3DGetDescriptor_v2(&got, array));
}
END_TEST

START_TEST(arrays_take_memory_and_give_it_back)
{
	size_t before;
	size_t during;
	size_t after;
	size_t total;
	OK(cuMemGetInfo_v2(&before, &total));
	CUarray array = array_create(1024, 1024, 0, F32, 4, 0);
	OK(cuMemGetInfo_v2(&during, &total));
	ck_assert_uint_ge(before - during, 1 << 24);
	OK(cuArrayDestroy(array));
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(old_and_plain_descriptors_mean_the_same)
{
	const CUDA_ARRAY_DESCRIPTOR d = {5, 3, F32, 2};
	const unsigned old[] = {5, 3, F32, 2};
	CUDA_ARRAY_DESCRIPTOR got;
	unsigned got_old[4];
	CUarray array;
	OK(cuArrayCreate_v2(&array, &d));
	OK(cuArrayGetDescriptor_v2(&got, array));
	ck_assert_mem_eq(&got, &d, sizeof(d));
	OK(cuArrayGetDescriptor(got_old, array));
	ck_assert_mem_eq(got_old, old, sizeof(old));
	OK(cuArrayCreate(&array, old));
	OK(cuArrayGetDescriptor_v2(&got, array));
	ck_assert_mem_eq(&got, &d, sizeof(d));
	FAILS(INVALID_VALUE, cuArrayCreate_v2(NULL, &d));
	FAILS(INVALID_VALUE, cuArrayCreate_v2(&array, NULL));
	FAILS(INVALID_VALUE, cuArrayCreate(&array, NULL));
}
END_TEST

START_TEST(plain_arrays_are_neither_sparse_nor_deferred_nor_planar)
{
	CUDA_ARRAY_MEMORY_REQUIREMENTS memory;
	CUDA_ARRAY_SPARSE_PROPERTIES sparse;
	CUarray plane;
	CUarray array = array_create(4, 4, 0, U8, 1, 0);
	FAILS(INVALID_VALUE, cuArrayGetMemoryRequirements(&memory, array, 0));
	FAILS(INVALID_DEVICE, cuArrayGetMemoryRequirements(&memory, array, 1));
	FAILS(INVALID_VALUE, cuArrayGetSparseProperties(&sparse, array));
	FAILS(INVALID_VALUE, cuArrayGetPlane(&plane, array, 0));
	FAILS(INVALID_HANDLE, cuArrayGetPlane(&plane, NULL, 0));
}
END_TEST

START_TEST(mipmapped_arrays_have_levels)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 3, 5, F32, 1, 0};
	static const size_t extents[4][3] = {{8, 3, 5}, {4, 1, 2}, {2, 1, 1}, {1, 1, 1}};
	CUDA_ARRAY3D_DESCRIPTOR got;
	CUmipmappedArray mipmap;
	CUarray level;
	CUarray again;
	OK(cuMipmappedArrayCreate(&mipmap, &d, 99));
	for (unsigned i = 0; i < 4; i++) {
		OK(cuMipmappedArrayGetLevel(&level, mipmap, i));
		OK(cuMipmappedArrayGetLevel(&again, mipmap, i));
		ck_assert_ptr_eq(level, again);
		OK(cuArray3DGetDescriptor_v2(&got, level));
		ck_assert_uint_eq(got.Width, extents[i][0]);
		ck_assert_uint_eq(got.Height, extents[i][1]);
		ck_assert_uint_eq(got.Depth, extents[i][2]);
	}
	FAILS(INVALID_VALUE, cuMipmappedArrayGetLevel(&again, mipmap, 4));
	FAILS(INVALID_HANDLE, cuArrayDestroy(level));
	OK(cuMipmappedArrayDestroy(mipmap));
	FAILS(INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
	FAILS(INVALID_HANDLE, cuMipmappedArrayGetLevel(&again, mipmap, 0));
	FAILS(INVALID_HANDLE, cuArray3DGetDescriptor_v2(&got, level));
	FAILS(INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, NULL, 1));
}
END_TEST

/* What is left is destroyed with the context. */
START_TEST(contexts_take_their_arrays_along)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 3, 0, F32, 1, 0};
	CUDA_ARRAY3D_DESCRIPTOR got;
	CUmipmappedArray mipmap;
	CUarray level;
	CUarray array = array_create(8, 8, 0, F32, 1, SURFACE);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	surface_of(array);
	OK(cuMipmappedArrayCreate(&mipmap, &d, 3));
	OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
	reset();
	FAILS(INVALID_HANDLE, cuArray3DGetDescriptor_v2(&got, array));
	FAILS(INVALID_HANDLE, cuArray3DGetDescriptor_v2(&got, level));
	FAILS(INVALID_VALUE, cuTexObjectDestroy(t));
}
END_TEST

/* --- Copying --- */

START_TEST(rows_are_copied_to_arrays_and_back)
{
	const uint16_t data[6] = {1, 2, 3, 4, 5, 6};
	uint16_t back[6] = {0};
	CUarray a = array_create(6, 0, 0, CU_AD_FORMAT_UNSIGNED_INT16, 1, 0);
	CUarray b = array_create(8, 1, 0, CU_AD_FORMAT_SIGNED_INT16, 1, 0);
	CUdeviceptr memory = alloc(sizeof(data));
	OK(cuMemcpyHtoA_v2(a, 0, data, sizeof(data)));
	OK(cuMemcpyAtoA_v2(b, 4, a, 2, 8));
	OK(cuMemcpyAtoD_v2(memory, b, 4, 8));
	OK(cuMemcpyDtoA_v2(a, 0, memory, 4));
	OK(cuMemcpyHtoAAsync_v2(a, 10, data, 2, NULL));
	OK(cuMemcpyAtoHAsync_v2(back, a, 0, 4, NULL));
	OK(cuMemcpyAtoH_v2(back + 2, a, 4, 8));
	ck_assert_uint_eq(back[0], 2);
	ck_assert_uint_eq(back[1], 3);
	ck_assert_uint_eq(back[2], 3);
	ck_assert_uint_eq(back[5], 1);
}
END_TEST

START_TEST(boxes_are_copied_between_arrays_and_memory)
{
	uint32_t data[3][4][5];
	uint32_t back[2][2][3];
	CUarray array = array_create(5, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, _i ? LAYERED : 0);
	for (uint32_t i = 0; i < 60; i++) {
		(&data[0][0][0])[i] = i;
	}
	array_fill(array, data, 4);
	CUDA_MEMCPY3D_PEER copy = {
		.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcXInBytes = 8,
		.srcY = 1,
		.srcZ = 1, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 12,
		.dstHeight = 2, .dstContext = context, .WidthInBytes = 12, .Height = 2, .Depth = 2
	};
	OK(cuMemcpy3DPeer(&copy));
	for (uint32_t i = 0; i < 12; i++) {
		ck_assert_uint_eq((&back[0][0][0])[i],
			data[1 + i / 6][1 + i / 3 % 2][2 + i % 3]);
	}
	copy.dstContext = NULL;
	FAILS(INVALID_CONTEXT, cuMemcpy3DPeer(&copy));
	FAILS(INVALID_VALUE, cuMemcpy3DPeer(NULL));
	// "dstHeight must be greater than or equal to Height + dstY."
	copy.srcContext = context;
	copy.dstContext = context;
	copy.dstY = 1;
	FAILS(INVALID_VALUE, cuMemcpy3DPeer(&copy));
	copy.Height = 1;
	OK(cuMemcpy3DPeer(&copy));
}
END_TEST

START_TEST(copies_outside_of_arrays_are_refused)
{
	uint32_t data[64];
	CUarray array = array_create(5, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
	const CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = data,
		.srcPitch = 32, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array,
		.dstXInBytes = 4, .dstY = 1, .WidthInBytes = 16, .Height = 3};
	CUDA_MEMCPY2D bad[7] = {good, good, good, good, good, good, good};
	CUarray row = array_create(4, 0, 0, U8, 1, 0);
	bad[0].dstXInBytes = 8;
	bad[1].dstXInBytes = 2;
	bad[2].WidthInBytes = 15;
	bad[3].dstY = 2;
	bad[4].dstArray = NULL;
	bad[5].dstXInBytes = SIZE_MAX - 3;
	bad[6].dstArray = (CUarray)context;
	OK(cuMemcpy2D_v2(&good));
	for (size_t i = 0; i < countof(bad); i++) {
		FAILS(INVALID_VALUE, cuMemcpy2D_v2(&bad[i]));
	}
	FAILS(INVALID_VALUE, cuMemcpyHtoA_v2(array, 0, data, 4)); /* not one row */
	FAILS(INVALID_VALUE, cuMemcpyHtoA_v2(row, 1, data, 4));
	FAILS(INVALID_VALUE, cuMemcpyAtoH_v2(NULL, row, 0, 4));
	FAILS(INVALID_VALUE, cuMemcpyAtoH_v2(data, NULL, 0, 4));
	FAILS(INVALID_VALUE, cuMemcpyAtoD_v2(16, row, 0, 4));
	FAILS(INVALID_VALUE, cuMemcpyAtoA_v2(row, 0, NULL, 0, 1));
}
END_TEST

/* --- Objects --- */

START_TEST(objects_tell_what_they_were_made_from)
{
	CUarray array = array_create(8, 8, 0, U8, 4, SURFACE);
	const CUDA_RESOURCE_DESC resource = of_array(array);
	const CUDA_TEXTURE_DESC sampling = {.flags = CU_TRSF_SRGB, .maxAnisotropy = 16,
		.borderColor = {1, 2, 3, 4}};
	const CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_SINT_2X16, .width = 8,
		.height = 8};
	CUDA_RESOURCE_DESC got_resource;
	CUDA_TEXTURE_DESC got_sampling;
	CUDA_RESOURCE_VIEW_DESC got_view;
	CUtexObject t;
	CUtexObject plain;
	OK(cuTexObjectCreate(&t, &resource, &sampling, &view));
	OK(cuTexObjectCreate(&plain, &resource, &sampling, NULL));
	OK(cuTexObjectGetResourceDesc(&got_resource, t));
	ck_assert_ptr_eq(got_resource.res.array.hArray, array);
	OK(cuTexObjectGetTextureDesc(&got_sampling, t));
	ck_assert_mem_eq(&got_sampling, &sampling, sizeof(sampling));
	OK(cuTexObjectGetResourceViewDesc(&got_view, t));
	ck_assert_int_eq(got_view.format, view.format);
	OK(cuTexObjectGetResourceViewDesc(&got_view, plain));
	ck_assert_int_eq(got_view.format, CU_RES_VIEW_FORMAT_NONE);
	OK(cuSurfObjectGetResourceDesc(&got_resource, surface_of(array)));
	ck_assert_ptr_eq(got_resource.res.array.hArray, array);
	FAILS(INVALID_VALUE, cuSurfObjectGetResourceDesc(&got_resource, t));
	FAILS(INVALID_VALUE, cuSurfObjectDestroy(t));
	OK(cuTexObjectDestroy(t));
	FAILS(INVALID_VALUE, cuTexObjectDestroy(t));
	FAILS(INVALID_VALUE, cuTexObjectGetTextureDesc(&got_sampling, t));
	FAILS(INVALID_VALUE, cuTexObjectGetTextureDesc(NULL, plain));
}
END_TEST

/* Each row changes one thing in good descriptors of a texture of an array. */
static const struct texture_row {
	const char *what;
	CUresult code;
} texture_rows[] = {
	{"nothing", CUDA_SUCCESS},
	{"linear filter of integers", CUDA_SUCCESS},
	{"address mode of an axis that the array does not have", CUDA_SUCCESS},
	{"address mode", CUDA_ERROR_INVALID_VALUE},
	{"filter mode", CUDA_ERROR_INVALID_VALUE},
	{"flags", CUDA_ERROR_INVALID_VALUE},
	{"resource flags", CUDA_ERROR_INVALID_VALUE},
	{"resource type", CUDA_ERROR_INVALID_VALUE},
	{"array", CUDA_ERROR_INVALID_VALUE},
	{"seamless", CUDA_ERROR_INVALID_VALUE},
	{"mipmap of an array", CUDA_ERROR_INVALID_VALUE},
	{"view size", CUDA_ERROR_INVALID_VALUE},
	{"view format", CUDA_ERROR_INVALID_VALUE},
	{"view without a format", CUDA_ERROR_INVALID_VALUE},
	{"view of another element size", CUDA_ERROR_INVALID_VALUE},
	{"compressed view", CUDA_ERROR_NOT_SUPPORTED},
	{"view level", CUDA_ERROR_INVALID_VALUE},
	{"view layer", CUDA_ERROR_INVALID_VALUE},
};

START_TEST(textures_of_arrays_are_checked)
{
	CUarray array = array_create(8, 4, 0, U8, 4, 0);
	CUDA_RESOURCE_DESC r = of_array(array);
	CUDA_TEXTURE_DESC s = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
	CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_UINT_4X8, .width = 8,
		.height = 4};
	CUtexObject t;
	switch (_i) {
	case 1: s.flags = CU_TRSF_READ_AS_INTEGER; break;
	case 2: s.addressMode[2] = (CUaddress_mode)4; break;
	case 3: s.addressMode[1] = (CUaddress_mode)4; break;
	case 4: s.mipmapFilterMode = (CUfilter_mode)2; break;
	case 5: s.flags = 0x80; break;
	case 6: r.flags = 1; break;
	case 7: r.resType = (CUresourcetype)4; break;
	case 8: r.res.array.hArray = NULL; break;
	case 9: s.flags = CU_TRSF_SEAMLESS_CUBEMAP; break;
	case 10: r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY; break;
	case 11: v.width = 9; break;
	case 12: v.format = (CUresourceViewFormat)99; break;
	case 13: v.format = CU_RES_VIEW_FORMAT_NONE; break;
	case 14: v.format = CU_RES_VIEW_FORMAT_UINT_4X16; break;
	case 15: v.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1; break;
	case 16: v.lastMipmapLevel = 1; break;
	case 17: v.lastLayer = 1; break;
	default: break;
	}
	ck_assert_msg(cuTexObjectCreate(&t, &r, &s, &v) == texture_rows[_i].code, "%s",
		texture_rows[_i].what);
	FAILS(INVALID_VALUE, cuTexObjectCreate(NULL, &r, &s, NULL));
	FAILS(INVALID_VALUE, cuTexObjectCreate(&t, NULL, &s, NULL));
	FAILS(INVALID_VALUE, cuTexObjectCreate(&t, &r, NULL, NULL));
}
END_TEST

START_TEST(textures_of_memory_are_checked)
{
	CUdeviceptr memory = alloc(4096);
	const CUDA_TEXTURE_DESC s = {.flags = 0};
	const CUDA_RESOURCE_VIEW_DESC v = {.width = 8};
	const CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {memory, F32, 1, 4096}};
	const CUDA_RESOURCE_DESC pitch = {.resType = CU_RESOURCE_TYPE_PITCH2D,
		.res.pitch2D = {memory, F32, 1, 16, 64, 64}};
	CUDA_RESOURCE_DESC bad[14] = {linear, linear, linear, linear, linear, linear, linear, pitch,
		pitch, pitch, pitch, pitch, pitch, pitch};
	CUtexObject t;
	bad[0].res.linear.devPtr = 0;
	bad[1].res.linear.devPtr += 4;
	bad[2].res.linear.sizeInBytes = 8192;
	bad[3].res.linear.sizeInBytes = 3;
	bad[4].res.linear.sizeInBytes = SIZE_MAX;
	bad[5].res.linear.numChannels = 3;
	bad[6].res.linear.format = (CUarray_format)0;
	bad[7].res.pitch2D.pitchInBytes = 65;
	bad[8].res.pitch2D.pitchInBytes = 32;
	bad[9].res.pitch2D.height = 65;
	bad[10].res.pitch2D.width = 0;
	bad[11].res.pitch2D.height = SIZE_MAX;
	bad[12].res.pitch2D.devPtr += 4096;
	bad[13].res.pitch2D.pitchInBytes = SIZE_MAX - 31;
	OK(cuTexObjectCreate(&t, &linear, &s, NULL));
	OK(cuTexObjectCreate(&t, &pitch, &s, NULL));
	for (size_t i = 0; i < countof(bad); i++) {
		ck_assert_msg(cuTexObjectCreate(&t, &bad[i], &s, NULL) == CUDA_ERROR_INVALID_VALUE,
			"%zu", i);
		ck_assert_uint_eq(t, 0);
	}
	FAILS(INVALID_VALUE, cuTexObjectCreate(&t, &linear, &s, &v));
}
END_TEST

START_TEST(views_of_levels_are_checked)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 8, 0, F32, 1, 0};
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
	CUDA_TEXTURE_DESC s = {.flags = 0};
	CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 8,
		.height = 8,
		.firstMipmapLevel = 1, .lastMipmapLevel = 3};
	CUtexObject t;
	OK(cuMipmappedArrayCreate(&r.res.mipmap.hMipmappedArray, &d, 4));
	OK(cuTexObjectCreate(&t, &r, &s, NULL));
	OK(cuTexObjectCreate(&t, &r, &s, &v));
	s.flags = CU_TRSF_NORMALIZED_COORDINATES;
	OK(cuTexObjectCreate(&t, &r, &s, &v));
	v.firstMipmapLevel = 4;
	FAILS(INVALID_VALUE, cuTexObjectCreate(&t, &r, &s, &v));
}
END_TEST

START_TEST(surfaces_need_arrays_that_allow_them)
{
	CUDA_RESOURCE_DESC r = of_array(array_create(8, 8, 0, F32, 1, 0));
	CUsurfObject s = 1;
	FAILS(INVALID_VALUE, cuSurfObjectCreate(&s, &r));
	ck_assert_uint_eq(s, 0);
	r = of_array(array_create(8, 8, 0, F32, 1, SURFACE));
	OK(cuSurfObjectCreate(&s, &r));
	OK(cuSurfObjectDestroy(s));
	FAILS(INVALID_VALUE, cuSurfObjectDestroy(s));
	r.flags = 1;
	FAILS(INVALID_VALUE, cuSurfObjectCreate(&s, &r));
	r.flags = 0;
	r.resType = CU_RESOURCE_TYPE_LINEAR;
	FAILS(INVALID_VALUE, cuSurfObjectCreate(&s, &r));
	FAILS(INVALID_VALUE, cuSurfObjectCreate(&s, NULL));
	FAILS(INVALID_VALUE, cuSurfObjectCreate(NULL, &r));
}
END_TEST

START_TEST(limits_are_told_and_references_are_refused)
{
	size_t width;
	void *reference;
	OK(cuDeviceGetTexture1DLinearMaxWidth(&width, F32, 4, 0));
	ck_assert_uint_eq(width, 1 << 28);
	FAILS(INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(&width, F32, 3, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetTexture1DLinearMaxWidth(&width, F32, 4, 1));
	FAILS(NOT_SUPPORTED, cuTexRefCreate(&reference));
}
END_TEST

/* Whichever allocation fails, nothing is left behind and the call says so. */
START_TEST(creating_survives_failing_allocations)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 8, 0, F32, 1, SURFACE};
	const CUDA_TEXTURE_DESC s = {.flags = 0};
	const CUDA_RESOURCE_DESC r = of_array(array_create(8, 8, 0, F32, 1, SURFACE));
	CUarray array;
	CUmipmappedArray mipmap;
	CUtexObject t;
	mem_fail_after(0);
	ck_assert_int_eq(cuArray3DCreate_v2(&array, &d), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(array);
	mem_fail_after(0);
	ck_assert_int_eq(cuMipmappedArrayCreate(&mipmap, &d, 3), CUDA_ERROR_OUT_OF_MEMORY);
	mem_fail_after(0);
	ck_assert_int_eq(cuTexObjectCreate(&t, &r, &s, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	mem_fail_after(0);
	ck_assert_int_eq(cuSurfObjectCreate(&t, &r), CUDA_ERROR_OUT_OF_MEMORY);
	mem_fail_after(-1);
}
END_TEST

SUITE(api_array)
{
	Suite *suite = suite_create("api_array");
	TCase *tc = add_case(suite, "array", setup, teardown);
	tcase_add_loop_test(tc, arrays_are_created_within_the_limits, 0, countof(create_rows));
	tcase_add_tests(tc, 1, arrays_take_memory_and_give_it_back,
		old_and_plain_descriptors_mean_the_same,
		plain_arrays_are_neither_sparse_nor_deferred_nor_planar,
		mipmapped_arrays_have_levels, contexts_take_their_arrays_along);
	tc = add_case(suite, "copy", setup, teardown);
	tcase_add_test(tc, rows_are_copied_to_arrays_and_back);
	tcase_add_loop_test(tc, boxes_are_copied_between_arrays_and_memory, 0, 2);
	tcase_add_test(tc, copies_outside_of_arrays_are_refused);
	tc = add_case(suite, "object", setup, teardown);
	tcase_add_test(tc, objects_tell_what_they_were_made_from);
	tcase_add_loop_test(tc, textures_of_arrays_are_checked, 0, countof(texture_rows));
	tcase_add_tests(tc, 1, textures_of_memory_are_checked,
		views_of_levels_are_checked,
		surfaces_need_arrays_that_allow_them, limits_are_told_and_references_are_refused,
		creating_survives_failing_allocations);
	return suite;
}
