/* SPDX-License-Identifier: MIT */
/* Texture and surface objects: what a kernel reads and writes through them. */
#include "base/common.h"

#include "program.h"

#include "cudart/api_array.h"
#include "support/suite.h"

#include <string.h>

cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
	size_t width, size_t height, unsigned flags);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
	size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
	size_t width, size_t height, int kind);
cudaError_t cudaCreateTextureObject(CUtexObject *out, const struct cudaResourceDesc *resource,
	const struct cudaTextureDesc *sampling, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(CUtexObject texture);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out, CUtexObject texture);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out, CUtexObject texture);
cudaError_t cudaCreateSurfaceObject(CUsurfObject *out, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(CUsurfObject surface);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out, CUsurfObject surface);

enum { WIDTH = 8, HEIGHT = 4 };

/* read(texture, out): the words at the coordinates in out[4] and out[5] go to out[0..3].
 * write(surface): the word at (3, 2) becomes 77. */
static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry read(.param .u64 texture, .param .u64 out)\n"
	"{\n"
	"	.reg .b64 %t, %o;\n"
	"	.reg .f32 %x, %y;\n"
	"	.reg .b32 %a, %b, %c, %d;\n"
	"	ld.param.u64 %t, [texture];\n"
	"	ld.param.u64 %o, [out];\n"
	"	ld.global.f32 %x, [%o+16];\n"
	"	ld.global.f32 %y, [%o+20];\n"
	"	tex.2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%x, %y}];\n"
	"	st.global.v4.b32 [%o], {%a, %b, %c, %d};\n"
	"	ret;\n"
	"}\n"
	".visible .entry write(.param .u64 surface)\n"
	"{\n"
	"	.reg .b64 %s;\n"
	"	.reg .b32 %x, %y, %v;\n"
	"	ld.param.u64 %s, [surface];\n"
	"	mov.b32 %x, 12;\n"
	"	mov.b32 %y, 2;\n"
	"	mov.b32 %v, 77;\n"
	"	sust.b.2d.b32.trap [%s, {%x, %y}], {%v};\n"
	"	ret;\n"
	"}\n";

static struct program program;
static const dim3 one = {1, 1, 1};
static const struct cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc bytes = {8, 8, 0, 0, cudaChannelFormatKindUnsigned};

static void register_kernel(void (*host)(void), const char *name)
{
	__cudaRegisterFunction(program.handle, (const char *)(uintptr_t)host, NULL, name, -1, NULL,
		NULL, NULL, NULL, NULL);
}

static void setup(void)
{
	memset(&program, 0, sizeof(program));
	program_put(&program, 1, 75, text, sizeof(text));
	program.wrapper.magic = 0x466243b1;
	program.wrapper.version = 1;
	program.wrapper.data = program.image;
	program.handle = __cudaRegisterFatBinary(&program.wrapper);
	register_kernel(program_add, "read");
	register_kernel(program_count, "write");
	__cudaRegisterFatBinaryEnd(program.handle);
}

/* What the kernel reads at (x, y). */
static void read_at(unsigned out[4], CUtexObject texture, float x, float y)
{
	struct {
		unsigned out[4];
		float at[2];
	} host = {.at = {x, y}}, *memory;
	void *values[] = {&texture, &memory};
	program_ok(cudaMalloc((void **)&memory, sizeof(host)));
	program_ok(cudaMemcpy(memory, &host, sizeof(host), cudaMemcpyHostToDevice));
	program_ok(cudaLaunchKernel(program_add, one, one, values, 0, NULL));
	program_ok(cudaMemcpy(&host, memory, sizeof(host), cudaMemcpyDeviceToHost));
	program_ok(cudaFree(memory));
	memcpy(out, host.out, sizeof(host.out));
}

static cudaArray_t array_of(const struct cudaChannelFormatDesc *desc, const void *from,
	size_t row, unsigned flags)
{
	cudaArray_t array;
	program_ok(cudaMallocArray(&array, desc, WIDTH, HEIGHT, flags));
	program_ok(cudaMemcpy2DToArray(array, 0, 0, from, row, row, HEIGHT,
		cudaMemcpyHostToDevice));
	return array;
}

START_TEST(a_kernel_reads_an_array)
{
	unsigned from[HEIGHT][WIDTH], out[4];
	for (unsigned i = 0; i < HEIGHT * WIDTH; i++) {
		from[i / WIDTH][i % WIDTH] = 100 + i;
	}
	const struct cudaResourceDesc resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.array = array_of(&words, from, sizeof(*from), 0)};
	const struct cudaTextureDesc sampling = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP,
		CU_TR_ADDRESS_MODE_BORDER}};
	CUtexObject texture;
	program_ok(cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
	read_at(out, texture, 5.5f, 2.5f);
	ck_assert_uint_eq(out[0], from[2][5]);
	read_at(out, texture, 100, 1);
	ck_assert_uint_eq(out[0], from[1][WIDTH - 1]);
	read_at(out, texture, 1, 100);
	ck_assert_uint_eq(out[0], 0);
	struct cudaResourceDesc is;
	struct cudaTextureDesc how;
	program_ok(cudaGetTextureObjectResourceDesc(&is, texture));
	ck_assert_int_eq(is.resType, CU_RESOURCE_TYPE_ARRAY);
	ck_assert_ptr_eq(is.res.array.array, resource.res.array.array);
	program_ok(cudaGetTextureObjectTextureDesc(&how, texture));
	ck_assert_mem_eq(&how, &sampling, sizeof(how));
	program_ok(cudaDestroyTextureObject(texture));
}
END_TEST

/* Bytes become fractions, and coordinates are fractions of the size. */
START_TEST(a_kernel_reads_memory_as_normalized_numbers)
{
	unsigned char from[HEIGHT][WIDTH][2];
	unsigned out[4];
	void *memory;
	size_t pitch;
	for (int i = 0; i < HEIGHT * WIDTH; i++) {
		from[i / WIDTH][i % WIDTH][0] = (unsigned char)(5 * i);
		from[i / WIDTH][i % WIDTH][1] = (unsigned char)(3 * i + 1);
	}
	program_ok(cudaMallocPitch(&memory, &pitch, sizeof(*from), HEIGHT));
	for (int i = 0; i < HEIGHT; i++) {
		program_ok(cudaMemcpy((char *)memory + (size_t)i * pitch, from[i], sizeof(*from),
			cudaMemcpyHostToDevice));
	}
	struct cudaResourceDesc resource = {.resType = CU_RESOURCE_TYPE_PITCH2D};
	resource.res.pitch2D.devPtr = memory;
	resource.res.pitch2D.desc = bytes;
	resource.res.pitch2D.width = WIDTH;
	resource.res.pitch2D.height = HEIGHT;
	resource.res.pitch2D.pitchInBytes = pitch;
	const struct cudaTextureDesc sampling = {.readMode = cudaReadModeNormalizedFloat,
		.normalizedCoords = 1};
	CUtexObject texture;
	program_ok(cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
	read_at(out, texture, 3.5f / WIDTH, 1.5f / HEIGHT);
	float value[2];
	memcpy(value, out, sizeof(value));
	ck_assert_float_eq_tol(value[0], (float)from[1][3][0] / 255, 1e-6f);
	ck_assert_float_eq_tol(value[1], (float)from[1][3][1] / 255, 1e-6f);
	struct cudaResourceDesc is;
	program_ok(cudaGetTextureObjectResourceDesc(&is, texture));
	ck_assert_mem_eq(&is.res.pitch2D.desc, &bytes, sizeof(bytes));
	ck_assert_uint_eq(is.res.pitch2D.pitchInBytes, pitch);
	resource.res.pitch2D.desc.f = cudaChannelFormatKindNone;
	program_fails(cudaCreateTextureObject(&texture, &resource, &sampling, NULL),
		cudaErrorInvalidChannelDescriptor);
	resource.resType = 9;
	program_fails(cudaCreateTextureObject(&texture, &resource, &sampling, NULL),
		cudaErrorInvalidValue);
}
END_TEST

START_TEST(a_kernel_writes_through_a_surface)
{
	unsigned from[HEIGHT][WIDTH] = {{0}}, to[HEIGHT][WIDTH];
	const struct cudaResourceDesc resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.array = array_of(&words, from, sizeof(*from),
			CUDA_ARRAY3D_SURFACE_LDST)};
	struct cudaResourceDesc is;
	CUsurfObject surface;
	program_ok(cudaCreateSurfaceObject(&surface, &resource));
	void *values[] = {&surface};
	program_ok(cudaLaunchKernel(program_count, one, one, values, 0, NULL));
	program_ok(cudaMemcpy2DFromArray(to, sizeof(*to), resource.res.array.array, 0, 0,
		sizeof(*to), HEIGHT, cudaMemcpyDeviceToHost));
	from[2][3] = 77;
	ck_assert_mem_eq(to, from, sizeof(to));
	program_ok(cudaGetSurfaceObjectResourceDesc(&is, surface));
	ck_assert_ptr_eq(is.res.array.array, resource.res.array.array);
	program_ok(cudaDestroySurfaceObject(surface));
}
END_TEST

SUITE(cudart_texture)
{
	Suite *suite = suite_create("cudart_texture");
	TCase *tc = suite_add_case(suite, "objects");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_kernel_reads_an_array);
	tcase_add_test(tc, a_kernel_reads_memory_as_normalized_numbers);
	tcase_add_test(tc, a_kernel_writes_through_a_surface);
	return suite;
}
