/* SPDX-License-Identifier: MIT */
/* Texture and surface instructions, at both widths, with objects made by the driver. */
#include "cpu/support/api_texture.h"
#include "support/suite.h"

#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define INTEGERS CU_TRSF_READ_AS_INTEGER

/* A texel says where it is. */
static float value_at(unsigned x, unsigned y, unsigned z)
{
	return (float)(x + 16 * y + 256 * z);
}

static CUarray numbered(size_t width, size_t height, size_t depth, unsigned flags)
{
	float data[6 * 8 * 8];
	size_t n = 0;
	CUarray array = array_create(width, height, depth, CU_AD_FORMAT_FLOAT, 1, flags);
	for (unsigned z = 0; z < (depth ? depth : 1); z++) {
		for (unsigned y = 0; y < (height ? height : 1); y++) {
			for (unsigned x = 0; x < width; x++) {
				data[n++] = value_at(x, y, z);
			}
		}
	}
	array_fill(array, data, 4);
	return array;
}

/* Every geometry finds its texel: in is x, y, z and, in %r8, a layer. */
static const struct geometry_row {
	const char *instruction;
	size_t width, height, depth;
	unsigned flags, sampling;
	struct lane_in in;
	float want;
} geometry_rows[] = {
	{"tex.1d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1}];", 8, 0, 0, 0, 0,
		{.f = {5.75f}}, 5},
	{"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, %r1];", 8, 0, 0, 0, 0,
		{.i = {6}}, 6},
	{"tex.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];", 8, 4, 0, 0, 0,
		{.f = {2.5f, 3.5f}}, 2 + 48},
	{"tex.2d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1,%r2}];", 8, 4, 0, 0, NORMALIZED,
		{.i = {7, 1}}, 7 + 16},
	{"tex.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}], {1, -2};", 8, 4, 0, 0, 0,
		{.f = {2.5f, 3.5f}}, 3 + 16},
	{"tex.3d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2,%f3,%f3}];", 4, 4, 4, 0,
		NORMALIZED, {.f = {.25f, .5f, .75f}}, 1 + 32 + 768},
	{"tex.a1d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%r8,%f1}];", 8, 0, 3,
		CUDA_ARRAY3D_LAYERED, 0, {.f = {4.5f, 0, 0, 0, 0, 0, 0, 3e-45f}}, 4 + 512},
	{"tex.a2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%r8,%f1,%f2,%f2}];", 8, 4, 3,
		CUDA_ARRAY3D_LAYERED, 0, {.f = {4.5f, 2.5f, 0, 0, 0, 0, 0, 1e-45f}}, 4 + 32 + 256},
	{"tex.a2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {99,%f1,%f2,%f2}];", 8, 4, 3,
		CUDA_ARRAY3D_LAYERED, 0, {.f = {4.5f, 2.5f}}, 4 + 32 + 512},
	{"tex.cube.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2,%f3,%f3}];", 4, 4, 6,
		CUDA_ARRAY3D_CUBEMAP, NORMALIZED, {.f = {.3f, -.2f, -1}}, 1 + 32 + 5 * 256},
	{"tex.cube.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2,%f3,%f3}];", 4, 4, 6,
		CUDA_ARRAY3D_CUBEMAP, NORMALIZED, {.f = {.3f, 2, 1.5f}}, 2 + 48 + 2 * 256},
	{"tex.level.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}], %f3;", 8, 4, 0, 0, 0,
		{.f = {2.5f, 3.5f, 2}}, 2 + 48},
	{"tex.grad.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}], {%f3,%f4}, {%f4,%f3};",
		8, 4, 0, 0, 0, {.f = {2.5f, 3.5f, 2, 1}}, 2 + 48},
	{"tex.2d.v4.u32.f32 {%r11,_,_,_}|%p1, [%rd1, {%f1,%f2}]; @!%p1 mov.u32 %r11, 0;", 8, 4, 0,
		0, 0, {.f = {2.5f, 3.5f}}, 2 + 48},
};

START_TEST(every_geometry_finds_its_texel)
{
	const struct geometry_row *row = &geometry_rows[_i / 2];
	struct lane_out out[40];
	struct lane_in in[40];
	use_width(_i % 2);
	CUarray array = numbered(row->width, row->height, row->depth, row->flags);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
		row->sampling);
	for (size_t i = 0; i < countof(in); i++) {
		in[i] = row->in;
	}
	OK(run_instruction(instruction_kernel(row->instruction), t, in, out, countof(in)));
	for (size_t i = 0; i < countof(in); i++) {
		ck_assert_msg(out[i].f[0] == row->want, "%s: %g, not %g", row->instruction,
			(double)out[i].f[0], (double)row->want);
	}
}
END_TEST

START_TEST(lanes_that_differ_read_different_texels)
{
	struct lane_in in[64];
	struct lane_out out[64];
	use_width(_i);
	CUarray array = numbered(8, 8, 0, 0);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUfunction k = instruction_kernel("and.b32 %r9, %r0, 1; setp.eq.u32 %p1, %r9, 0;\n"
		"@%p1 tex.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];");
	for (unsigned i = 0; i < 64; i++) {
		in[i].f[0] = (float)(i % 8) + .5f;
		in[i].f[1] = (float)(i / 8) + .5f;
	}
	OK(run_instruction(k, t, in, out, 64));
	for (unsigned i = 0; i < 64; i++) {
		ck_assert_float_eq(out[i].f[0], i % 2 ? 0 : value_at(i % 8, i / 8, 0));
		ck_assert_float_eq(out[i].f[3], 0);
	}
}
END_TEST

START_TEST(linear_filtering_and_gathering_see_four_texels)
{
	const struct lane_in in = {.f = {3, 2}};
	struct lane_out out;
	use_width(_i);
	CUarray array = numbered(8, 8, 0, CUDA_ARRAY3D_TEXTURE_GATHER);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
	OK(run_instruction(instruction_kernel(
		"tex.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];"), t, &in, &out, 1));
	ck_assert_float_eq(out.f[0], 2.5f + 16 * 1.5f);
	OK(run_instruction(instruction_kernel(
		"tld4.r.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];"), t, &in, &out,
		1));
	ck_assert_float_eq(out.f[0], value_at(2, 2, 0));
	ck_assert_float_eq(out.f[1], value_at(3, 2, 0));
	ck_assert_float_eq(out.f[2], value_at(3, 1, 0));
	ck_assert_float_eq(out.f[3], value_at(2, 1, 0));
	OK(run_instruction(instruction_kernel(
		"tld4.a.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];"), t, &in, &out,
		1));
	ck_assert_float_eq(out.f[2], 0);
}
END_TEST

START_TEST(halves_come_as_16_bits_and_as_pairs)
{
	const uint16_t half[8] = {0x3c00, 0xc000, 0x3555, 0x7bff};
	const struct lane_in in = {.f = {.5f}};
	struct lane_out out;
	use_width(_i);
	CUarray array = array_create(2, 0, 0, CU_AD_FORMAT_HALF, 4, 0);
	array_fill(array, half, 8);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	OK(run_instruction(instruction_kernel(
		"tex.1d.v2.f16x2.f32 {%r11,%r12}, [%rd1, {%f1}];"), t, &in, &out, 1));
	ck_assert_uint_eq(out.u[0], 0xc0003c00);
	ck_assert_uint_eq(out.u[1], 0x7bff3555);
	OK(run_instruction(instruction_kernel("tex.1d.v4.f16.f32 {%h1,%h2,%h3,%h4}, [%rd1, {%f1}];"
		"cvt.u32.u16 %r11, %h2;"), t, &in, &out, 1));
	ck_assert_uint_eq(out.u[0], 0xc000);
	OK(run_instruction(instruction_kernel(
		"tex.1d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1}];"), t, &in, &out, 1));
	ck_assert_float_eq(out.f[1], -2);
	ck_assert_float_eq(out.f[3], 65504);
}
END_TEST

START_TEST(linear_memory_is_a_texture_with_zeros_around)
{
	const float data[] = {1, 2, 3, 4};
	static const int at[] = {0, 3, 4, -1};
	static const float want[] = {1, 4, 0, 0};
	struct lane_in in[4] = {{.i = {0}}};
	struct lane_out out[4];
	CUtexObject t;
	CUdeviceptr memory = alloc(sizeof(data));
	const CUDA_TEXTURE_DESC sampling = {.flags = INTEGERS, .filterMode = 1};
	const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, sizeof(data)}};
	use_width(_i);
	OK(cuMemcpyHtoD_v2(memory, data, sizeof(data)));
	OK(cuTexObjectCreate(&t, &resource, &sampling, NULL));
	for (size_t i = 0; i < 4; i++) {
		in[i].i[0] = at[i];
	}
	OK(run_instruction(instruction_kernel(
		"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1}];"), t, in, out, 4));
	for (size_t i = 0; i < 4; i++) {
		ck_assert_float_eq(out[i].f[0], want[i]);
	}
	ck_assert_float_eq(out[1].f[3], 0);
	ck_assert_float_eq(out[2].f[3], 0);
}
END_TEST

START_TEST(pitched_memory_is_a_texture)
{
	uint8_t data[3][64];
	const struct lane_in in = {.f = {4.5f, 2.5f}};
	struct lane_out out;
	CUtexObject t;
	CUdeviceptr memory = alloc(sizeof(data));
	const CUDA_TEXTURE_DESC sampling = {.addressMode = {1, 1, 1}};
	const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D,
		.res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 2, 10, 3, 64}};
	use_width(_i);
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i / 64][i % 64] = (uint8_t)i;
	}
	OK(cuMemcpyHtoD_v2(memory, data, sizeof(data)));
	OK(cuTexObjectCreate(&t, &resource, &sampling, NULL));
	OK(run_instruction(instruction_kernel(
		"tex.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}];"), t, &in, &out, 1));
	ck_assert_float_eq(out.f[0], 136 / 255.f);
	ck_assert_float_eq(out.f[1], 137 / 255.f);
	ck_assert_float_eq(out.f[2], 0);
	ck_assert_float_eq(out.f[3], 0);
}
END_TEST

START_TEST(levels_are_chosen_and_mixed)
{
	static const float lods[] = {0, .25f, 1, 1.5f, 7};
	static const float wants[] = {10, 12.5f, 20, 25, 30};
	const CUDA_ARRAY3D_DESCRIPTOR d = {4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
	const CUDA_TEXTURE_DESC sampling = {.flags = NORMALIZED, .mipmapFilterMode = 1,
		.filterMode = 1, .maxMipmapLevelClamp = 9};
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
	struct lane_in in[5];
	struct lane_out out[5];
	CUtexObject t;
	use_width(_i);
	OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &d, 99));
	for (unsigned level = 0; level < 3; level++) {
		CUarray array;
		float data[16];
		OK(cuMipmappedArrayGetLevel(&array, resource.res.mipmap.hMipmappedArray, level));
		for (size_t i = 0; i < 16; i++) {
			data[i] = 10 * (float)(level + 1);
		}
		array_fill(array, data, 4);
	}
	OK(cuTexObjectCreate(&t, &resource, &sampling, NULL));
	for (size_t i = 0; i < 5; i++) {
		in[i] = (struct lane_in){.f = {.3f, .6f, lods[i]}};
	}
	OK(run_instruction(instruction_kernel(
		"tex.level.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1,%f2}], %f3;"), t, in,
		out, 5));
	for (size_t i = 0; i < 5; i++) {
		ck_assert_float_eq(out[i].f[0], wants[i]);
	}
	in[0] = (struct lane_in){.f = {.5f, .5f, .5f, 0}}; /* half of 4 texels: level 1 */
	OK(run_instruction(instruction_kernel("tex.grad.2d.v4.u32.f32 {%r11,%r12,%r13,%r14}, "
		"[%rd1, {%f1,%f2}], {%f3,%f4}, {%f4,%f4};"), t, in, out, 1));
	ck_assert_float_eq(out[0].f[0], 20);
}
END_TEST

/* --- Surfaces --- */

static const struct surface_row {
	const char *instruction;
	struct lane_in in;
	uint32_t want[2];
} surface_rows[] = {
	{"suld.b.2d.b32.trap {%r11}, [%rd1, {%r1,%r2}];", {.i = {4, 2}}, {21}},
	{"suld.b.2d.b32.zero {%r11}, [%rd1, {%r1,%r2}];", {.i = {4, 9}}, {0}},
	{"suld.b.2d.b32.zero {%r11}, [%rd1, {%r1,%r2}];", {.i = {-4, 0}}, {0}},
	{"suld.b.2d.b32.clamp %r11, [%rd1, {%r1,%r2}];", {.i = {400, -1}}, {3}},
	{"suld.b.2d.v2.b32.clamp {%r11,%r12}, [%rd1, {%r1,%r2}];", {.i = {400, 3}}, {32, 33}},
	{"suld.b.2d.v2.b16.trap {%h1,%h2}, [%rd1, {%r1,%r2}]; cvt.u32.u16 %r11, %h1;"
		"cvt.u32.u16 %r12, %h2;", {.i = {8, 1}}, {12, 0}},
	{"suld.b.2d.b8.trap {%h1}, [%rd1, {%r1,%r2}]; cvt.u32.u16 %r11, %h1;", {.i = {8, 1}}, {12}},
	{"suld.b.2d.b64.trap %rd5, [%rd1, {%r1,%r2}]; mov.b64 {%r11, %r12}, %rd5;",
		{.i = {8, 1}}, {12, 13}},
	{"sust.b.2d.b32.trap [%rd1, {%r1,%r2}], {%r3}; suld.b.2d.b32.trap %r11, [%rd1, {%r1,%r2}];",
		{.i = {4, 2, -7}}, {(uint32_t)-7}},
	{"sust.b.2d.v2.b32.clamp [%rd1, {%r1,%r2}], {%r3,%r4};"
		"suld.b.2d.v2.b32.trap {%r11,%r12}, [%rd1, {8,0}];", {.i = {8, -5, 7, 8}}, {7, 8}},
	{"sust.b.2d.b32.zero [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {0,0}];",
		{.i = {-4, 0, 5}}, {0}},
	{"sust.p.2d.b32.trap [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {12,0}];",
		{.i = {3, 0, 77}}, {77}},
	{"sured.b.add.2d.u32.trap [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {4,2}];",
		{.i = {4, 2, 100}}, {121}},
	{"sured.b.min.2d.s32.trap [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {4,2}];",
		{.i = {4, 2, -100}}, {(uint32_t)-100}},
	{"sured.b.max.2d.u32.trap [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {4,2}];",
		{.i = {4, 2, 5}}, {21}},
	{"sured.p.or.2d.b32.trap [%rd1, {%r1,%r2}], %r3; suld.b.2d.b32.trap %r11, [%rd1, {4,2}];",
		{.i = {1, 2, 32}}, {53}},
	{"cvt.s64.s32 %rd5, %r3; sured.b.add.2d.u64.trap [%rd1, {%r1,%r2}], %rd5;"
		"suld.b.2d.v2.b32.trap {%r11, %r12}, [%rd1, {0,0}];", {.i = {0, 0, -1}},
		{UINT32_MAX, 0}},
	{"suq.width.b32 %r11, [%rd1]; suq.height.b32 %r12, [%rd1];", {.i = {0}}, {4, 4}},
	{"suq.channel_data_type.b32 %r11, [%rd1]; suq.array_size.b32 %r12, [%rd1];", {.i = {0}},
		{0x10dc, 0}},
};

START_TEST(surfaces_are_read_and_written)
{
	const struct surface_row *row = &surface_rows[_i / 2];
	uint32_t data[4][4];
	struct lane_out out;
	use_width(_i % 2);
	CUarray array = array_create(4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1,
		CUDA_ARRAY3D_SURFACE_LDST);
	for (uint32_t i = 0; i < 16; i++) {
		data[i / 4][i % 4] = i % 4 + i / 4 * 10;
	}
	array_fill(array, data, 4);
	OK(run_instruction(instruction_kernel(row->instruction), surface_of(array), &row->in,
		&out, 1));
	ck_assert_msg(out.u[0] == row->want[0] && out.u[1] == row->want[1], "%s: %u %u",
		row->instruction, out.u[0], out.u[1]);
}
END_TEST

START_TEST(layers_and_slices_of_surfaces)
{
	static const struct {
		const char *instruction;
		size_t height;
		unsigned flags;
		int32_t want;
	} rows[] = {
		{"suld.b.3d.b32.trap %r11, [%rd1, {%r1,%r2,%r3,%r3}];", 2, 0, 22},
		{"suld.b.a2d.b32.trap %r11, [%rd1, {%r3,%r1,%r2,%r2}];", 2, CUDA_ARRAY3D_LAYERED,
			22},
		{"suld.b.a1d.b32.trap %r11, [%rd1, {%r3,%r1}];", 0, CUDA_ARRAY3D_LAYERED, 9},
	};
	const struct lane_in in = {.i = {4, 1, 2}};
	int32_t data[24];
	struct lane_out out;
	use_width(_i % 2);
	CUarray array = array_create(4, rows[_i / 2].height, 3, CU_AD_FORMAT_SIGNED_INT32, 1,
		rows[_i / 2].flags | CUDA_ARRAY3D_SURFACE_LDST);
	for (int32_t i = 0; i < 24; i++) {
		data[i] = i + 1;
	}
	array_fill(array, data, 4);
	OK(run_instruction(instruction_kernel(rows[_i / 2].instruction), surface_of(array), &in,
		&out, 1));
	ck_assert_int_eq(out.i[0], rows[_i / 2].want + (rows[_i / 2].height ? 0 : 1));
}
END_TEST

static const struct query_row {
	const char *query;
	uint32_t want;
} query_rows[] = {
	{"width", 8}, {"height", 4}, {"depth", 1}, {"array_size", 3}, {"num_mipmap_levels", 4},
	{"num_samples", 1}, {"normalized_coords", 1}, {"force_unnormalized_coords", 0},
	{"filter_mode", 1}, {"addr_mode_0", 2}, {"addr_mode_2", 3}, {"channel_order", 0x10b2},
	{"channel_data_type", 0x10d3}, {"level.width", 4}, {"level.height", 2},
};

START_TEST(textures_answer_queries)
{
	const struct query_row *row = &query_rows[_i / 2];
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 4, 3, CU_AD_FORMAT_UNSIGNED_INT16, 2,
		CUDA_ARRAY3D_LAYERED};
	const CUDA_TEXTURE_DESC sampling = {.addressMode = {2, 0, 3}, .filterMode = 1,
		.flags = NORMALIZED};
	const struct lane_in in = {.i = {1}};
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
	struct lane_out out;
	CUtexObject t;
	char text[128];
	use_width(_i % 2);
	OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &d, 9));
	OK(cuTexObjectCreate(&t, &resource, &sampling, NULL));
	snprintf(text, sizeof(text), "txq.%s.b32 %%r11, [%%rd1]%s;", row->query,
		strncmp(row->query, "level", 5) == 0 ? ", %r1" : "");
	OK(run_instruction(instruction_kernel(text), t, &in, &out, 1));
	ck_assert_uint_eq(out.u[0], row->want);
}
END_TEST

/* --- Failures within kernels --- */

static const struct fault_row {
	const char *instruction;
	int object;         /* 0: none, 1: garbage, 2: a destroyed texture, 3: a surface */
	struct lane_in in;
	CUresult code;
	const char *text;
} fault_rows[] = {
	{"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1}];", 0, {.i = {0}},
		CUDA_ERROR_ILLEGAL_ADDRESS, "0x0 is not a live texture object (PTX line"},
	{"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1}];", 1, {.i = {0}},
		CUDA_ERROR_ILLEGAL_ADDRESS, "is not a live texture object"},
	{"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1}];", 2, {.i = {0}},
		CUDA_ERROR_ILLEGAL_ADDRESS, "is not a live texture object"},
	{"tex.1d.v4.u32.s32 {%r11,%r12,%r13,%r14}, [%rd1, {%r1}];", 3, {.i = {0}},
		CUDA_ERROR_ILLEGAL_ADDRESS, "is not a live texture object"},
	{"txq.width.b32 %r11, [%rd1];", 1, {.i = {0}}, CUDA_ERROR_ILLEGAL_ADDRESS,
		"is not a live texture object"},
	{"suld.b.1d.b32.zero %r11, [%rd1, {%r1}];", 2, {.i = {0}}, CUDA_ERROR_ILLEGAL_ADDRESS,
		"is not a live surface object"},
	{"suld.b.1d.b32.trap %r11, [%rd1, {%r1}];", 3, {.i = {64}}, CUDA_ERROR_LAUNCH_FAILED,
		"access outside of a surface (PTX line"},
	{"sust.b.2d.b32.trap [%rd1, {0, %r1}], %r1;", 3, {.i = {-1}}, CUDA_ERROR_LAUNCH_FAILED,
		"access outside of a surface"},
	{"suld.b.1d.b32.zero %r11, [%rd1, {%r1}];", 3, {.i = {2}},
		CUDA_ERROR_MISALIGNED_ADDRESS, "not a multiple of its size"},
	{"sured.p.add.1d.b64.zero [%rd1, {%r1}], %rd1;", 3, {.i = {0}}, CUDA_ERROR_LAUNCH_FAILED,
		"reduction of another size"},
};

START_TEST(a_lane_without_a_texture_is_named)
{
	struct lane_in in[32] = {{.f = {0}}};
	struct lane_out out[32];
	use_width(_i);
	CUarray array = array_create(16, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUfunction k = instruction_kernel("setp.eq.u32 %p1, %r0, 5; @%p1 mov.u64 %rd1, 0;\n"
		"tex.1d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1}];");
	ck_assert_int_eq(run_instruction(k, t, in, out, 32), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_log("thread (5,0,0)");
	reset();
}
END_TEST

START_TEST(wrong_objects_and_places_fail_the_launch)
{
	const struct fault_row *row = &fault_rows[_i / 2];
	struct lane_in in[40];
	struct lane_out out[40];
	use_width(_i % 2);
	CUarray array = array_create(16, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	uint64_t objects[] = {0, 0x123456789abcdef0, t, surface_of(array)};
	OK(cuTexObjectDestroy(t));
	CUfunction k = instruction_kernel(row->instruction);
	for (size_t i = 0; i < countof(in); i++) {
		in[i] = row->in;
	}
	ck_assert_int_eq(run_instruction(k, objects[row->object], in, out, countof(in)), row->code);
	check_log(row->text);
	ck_assert_int_eq(cuCtxSynchronize(), row->code);
	reset();
}
END_TEST

START_TEST(a_destroyed_array_is_no_access)
{
	const struct lane_in in = {.f = {.5f}};
	struct lane_out out;
	use_width(_i);
	CUarray array = numbered(8, 0, 0, 0);
	CUtexObject t = texture_of(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUfunction k = instruction_kernel(
		"tex.1d.v4.u32.f32 {%r11,%r12,%r13,%r14}, [%rd1, {%f1}];");
	OK(run_instruction(k, t, &in, &out, 1));
	OK(cuArrayDestroy(array));
	FAILS(ILLEGAL_ADDRESS, run_instruction(k, t, &in, &out, 1));
}
END_TEST

SUITE(api_texture)
{
	Suite *suite = suite_create("api_texture");
	TCase *tc = add_case(suite, "tex", setup, teardown);
	tcase_add_loop_test(tc, every_geometry_finds_its_texel, 0, 2 * countof(geometry_rows));
	tcase_add_tests(tc, 2, lanes_that_differ_read_different_texels,
		linear_filtering_and_gathering_see_four_texels, halves_come_as_16_bits_and_as_pairs,
		linear_memory_is_a_texture_with_zeros_around, pitched_memory_is_a_texture,
		levels_are_chosen_and_mixed);
	tcase_add_loop_test(tc, textures_answer_queries, 0, 2 * countof(query_rows));
	tc = add_case(suite, "surface", setup, teardown);
	tcase_add_loop_test(tc, surfaces_are_read_and_written, 0, 2 * countof(surface_rows));
	tcase_add_loop_test(tc, layers_and_slices_of_surfaces, 0, 6);
	tc = add_case(suite, "fault", setup, teardown);
	tcase_add_loop_test(tc, a_lane_without_a_texture_is_named, 0, 2);
	tcase_add_loop_test(tc, wrong_objects_and_places_fail_the_launch, 0,
		2 * countof(fault_rows));
	tcase_add_loop_test(tc, a_destroyed_array_is_no_access, 0, 2);
	return suite;
}
