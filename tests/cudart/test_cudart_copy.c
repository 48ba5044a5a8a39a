/* SPDX-License-Identifier: MIT */
/* Copies and fills of several dimensions, arrays, pools, hints and peers. */
#include "base/common.h"

#include "program.h"

#include "cudart/api_array.h"
#include "support/suite.h"

#include <string.h>

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
	size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
	size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from,
	size_t from_x, size_t from_y, size_t width, size_t height, int kind);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t size,
	int kind);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_t from, size_t x, size_t y, size_t size,
	int kind);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaDeviceCanAccessPeer(int *out, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent);
cudaError_t cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned flags);
cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
	size_t width, size_t height, unsigned flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
	unsigned *flags, cudaArray_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *out,
	const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned level_count,
	unsigned flags);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *out, cudaMipmappedArray_t array,
	unsigned level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const CUmemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *out);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t pool,
	cudaStream_t stream);
cudaError_t cudaIpcGetMemHandle(CUipcMemHandle *out, void *memory);
cudaError_t cudaMemRangeGetAttribute(void *out, size_t out_size, int attribute, const void *memory,
	size_t size);
#if KZ_CUDART == 12
cudaError_t cudaMemAdvise(const void *memory, size_t size, int advice, int device);
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t size, int device, cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *indexes, size_t attribute_count, size_t *failed,
	cudaStream_t stream);
#else
cudaError_t cudaMemAdvise(const void *memory, size_t size, int advice, CUmemLocation location);
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t size, CUmemLocation location,
	unsigned flags, cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *indexes, size_t attribute_count,
	cudaStream_t stream);
#endif

enum { WIDTH = 24, HEIGHT = 5, DEPTH = 3, SIZE = WIDTH * HEIGHT * DEPTH };

static const struct cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc pairs = {16, 16, 0, 0, cudaChannelFormatKindSigned};

static void fill(unsigned char *out, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		out[i] = (unsigned char)(7 * i + 1);
	}
}

START_TEST(rows_are_copied_between_pitches)
{
	unsigned char from[SIZE], to[SIZE];
	void *memory;
	size_t pitch;
	fill(from, sizeof(from));
	program_ok(cudaMallocPitch(&memory, &pitch, WIDTH, HEIGHT));
	ck_assert_uint_ge(pitch, WIDTH);
	program_ok(cudaMemcpy2D(memory, pitch, from, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
	memset(to, 0, sizeof(to));
	program_ok(cudaMemcpy2DAsync_ptsz(to, WIDTH + 2, memory, pitch, WIDTH, HEIGHT,
		cudaMemcpyDeviceToHost, NULL));
	program_ok(cudaDeviceSynchronize());
	for (int y = 0; y < HEIGHT; y++) {
		ck_assert_mem_eq(to + y * (WIDTH + 2), from + y * WIDTH, WIDTH);
		ck_assert_uint_eq(to[y * (WIDTH + 2) + WIDTH], 0);
	}
	program_ok(cudaFree(memory));
}
END_TEST

START_TEST(a_copy_that_cannot_be_is_refused)
{
	unsigned char bytes[SIZE] = {0};
	struct cudaMemcpy3DParms p = {.srcPtr = {bytes, 4, 4, 1}, .dstPtr = {bytes, 4, 4, 1},
		.extent = {4, 1, 1}, .kind = 9};
	program_fails(cudaMemcpy2D(bytes, 3, bytes, WIDTH, 4, 2, cudaMemcpyDefault),
		cudaErrorInvalidPitchValue);
	program_fails(cudaMemcpy2D(bytes, 4, bytes, WIDTH, 4, 2, 5),
		cudaErrorInvalidMemcpyDirection);
	program_fails(cudaMemcpy3D(&p), cudaErrorInvalidMemcpyDirection);
	p.kind = cudaMemcpyDefault;
	p.srcPtr.ptr = NULL;
	program_fails(cudaMemcpy3D(&p), cudaErrorInvalidValue);
	program_fails(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
	program_fails(cudaGetLastError(), cudaErrorInvalidValue);
	program_ok(cudaMemcpy2D(bytes, 4, bytes, WIDTH, 4, 0, cudaMemcpyDefault));
}
END_TEST

/* A box of an array of pairs, whose offsets and extent count elements, and of memory, where they
 * count bytes. */
START_TEST(a_box_is_copied_through_an_array)
{
	unsigned char from[SIZE], to[SIZE];
	cudaArray_t array;
	fill(from, sizeof(from));
	memset(to, 0, sizeof(to));
	program_ok(cudaMalloc3DArray(&array, &pairs, (struct cudaExtent){WIDTH / 4, HEIGHT, DEPTH},
		0));
	struct cudaMemcpy3DParms p = {.srcPtr = {from, WIDTH, WIDTH, HEIGHT}, .dstArray = array,
		.extent = {WIDTH / 4, HEIGHT, DEPTH}, .kind = cudaMemcpyHostToDevice};
	program_ok(cudaMemcpy3D(&p));
	p = (struct cudaMemcpy3DParms){.srcArray = array, .srcPos = {2, 1, 1},
		.dstPtr = {to, WIDTH, WIDTH, HEIGHT}, .dstPos = {8, 0, 0}, .extent = {3, 2, 2},
		.kind = cudaMemcpyDeviceToHost};
	program_ok(cudaMemcpy3D(&p));
	for (int z = 0; z < DEPTH; z++) {
		for (int y = 0; y < HEIGHT; y++) {
			for (int x = 0; x < WIDTH; x++) {
				const bool is_in = x >= 8 && x < 20 && y < 2 && z < 2;
				const int source = ((z + 1) * HEIGHT + y + 1) * WIDTH + x;
				ck_assert_uint_eq(to[(z * HEIGHT + y) * WIDTH + x],
					is_in ? from[source] : 0);
			}
		}
	}
	program_ok(cudaFreeArray(array));
	program_ok(cudaFreeArray(NULL));
}
END_TEST

START_TEST(arrays_are_copied_in_rows)
{
	unsigned from[HEIGHT][WIDTH], to[HEIGHT][WIDTH];
	cudaArray_t arrays[2];
	fill((unsigned char *)from, sizeof(from));
	for (int i = 0; i < 2; i++) {
		program_ok(cudaMallocArray(&arrays[i], &words, WIDTH, HEIGHT, 0));
	}
	program_ok(cudaMemcpy2DToArray(arrays[0], 0, 0, from, sizeof(*from), sizeof(*from), HEIGHT,
		cudaMemcpyHostToDevice));
	program_ok(cudaMemcpy2DArrayToArray(arrays[1], 0, 0, arrays[0], 8, 1, 16, 2,
		cudaMemcpyDeviceToDevice));
	program_ok(cudaMemcpy2DFromArray(to, sizeof(*to), arrays[1], 0, 0, 16, 2,
		cudaMemcpyDeviceToHost));
	ck_assert_mem_eq(to[0], &from[1][2], 16);
	ck_assert_mem_eq(to[1], &from[2][2], 16);
	program_fails(cudaMemcpy2DToArray(arrays[0], 0, 0, from, 8, 16, 1, cudaMemcpyHostToDevice),
		cudaErrorInvalidPitchValue);
}
END_TEST

/* Two rows and a half, from the middle of a row on. */
START_TEST(bytes_go_on_in_the_next_row_of_an_array)
{
	unsigned from[HEIGHT * WIDTH], to[HEIGHT * WIDTH];
	const size_t size = 5 * WIDTH / 2 * sizeof(*from);
	cudaArray_t array;
	fill((unsigned char *)from, sizeof(from));
	program_ok(cudaMallocArray(&array, &words, WIDTH, HEIGHT, 0));
	program_ok(cudaMemcpyToArray(array, 0, 0, from, sizeof(from), cudaMemcpyHostToDevice));
	program_ok(cudaMemcpyToArray(array, 40, 1, from, size, cudaMemcpyHostToDevice));
	program_ok(cudaMemcpyFromArray(to, array, 0, 0, sizeof(to), cudaMemcpyDeviceToHost));
	memmove(from + WIDTH + 10, from, size);
	unsigned clean[WIDTH + 10];
	fill((unsigned char *)clean, sizeof(clean));
	memcpy(from, clean, sizeof(clean));
	ck_assert_mem_eq(to, from, sizeof(to));
}
END_TEST

START_TEST(an_array_tells_what_it_is)
{
	struct cudaChannelFormatDesc desc;
	struct cudaExtent extent;
	unsigned flags;
	cudaArray_t array;
	const struct cudaChannelFormatDesc half = cudaCreateChannelDesc(16, 16, 16, 16,
		cudaChannelFormatKindFloat);
	program_ok(cudaMalloc3DArray(&array, &half, (struct cudaExtent){4, 3, 2},
		CUDA_ARRAY3D_LAYERED));
	program_ok(cudaArrayGetInfo(&desc, &extent, &flags, array));
	ck_assert_mem_eq(&desc, &half, sizeof(desc));
	ck_assert_uint_eq(extent.width, 4);
	ck_assert_uint_eq(extent.height, 3);
	ck_assert_uint_eq(extent.depth, 2);
	ck_assert_uint_eq(flags, CUDA_ARRAY3D_LAYERED);
}
END_TEST

START_TEST(channels_that_no_format_has_are_refused)
{
	static const struct cudaChannelFormatDesc wrong[] = {
		{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
		{8, 8, 8, 0, cudaChannelFormatKindUnsigned},
		{8, 0, 8, 0, cudaChannelFormatKindUnsigned},
		{8, 0, 0, 0, cudaChannelFormatKindFloat},
		{64, 0, 0, 0, cudaChannelFormatKindSigned},
		{0, 0, 0, 0, cudaChannelFormatKindUnsigned},
		{8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1},
		{32, 0, 0, 0, cudaChannelFormatKindNone},
	};
	cudaArray_t array;
	program_fails(cudaMallocArray(&array, &wrong[_i], 4, 4, 0),
		cudaErrorInvalidChannelDescriptor);
}
END_TEST

START_TEST(levels_of_a_mipmapped_array_become_smaller)
{
	cudaMipmappedArray_t array;
	program_ok(cudaMallocMipmappedArray(&array, &words, (struct cudaExtent){16, 8, 0}, 3, 0));
	for (unsigned i = 0; i < 3; i++) {
		struct cudaExtent extent;
		cudaArray_t level;
		program_ok(cudaGetMipmappedArrayLevel(&level, array, i));
		program_ok(cudaArrayGetInfo(NULL, &extent, NULL, level));
		ck_assert_uint_eq(extent.width, 16u >> i);
		ck_assert_uint_eq(extent.height, 8u >> i);
	}
	program_ok(cudaFreeMipmappedArray(array));
}
END_TEST

START_TEST(fills_keep_to_their_box)
{
	unsigned char to[SIZE];
	struct cudaPitchedPtr memory;
	program_ok(cudaMalloc3D(&memory, (struct cudaExtent){WIDTH, HEIGHT, DEPTH}));
	ck_assert_uint_eq(memory.xsize, WIDTH);
	ck_assert_uint_eq(memory.ysize, HEIGHT);
	program_ok(cudaMemset3D(memory, 1, (struct cudaExtent){WIDTH, HEIGHT, DEPTH}));
	program_ok(cudaMemset3D(memory, 2, (struct cudaExtent){3, 2, 2}));
	program_ok(cudaMemset2D((char *)memory.ptr + 8, memory.pitch, 3, 2, 4));
	struct cudaMemcpy3DParms p = {.srcPtr = memory, .dstPtr = {to, WIDTH, WIDTH, HEIGHT},
		.extent = {WIDTH, HEIGHT, DEPTH}, .kind = cudaMemcpyDeviceToHost};
	program_ok(cudaMemcpy3D(&p));
	for (int i = 0; i < SIZE; i++) {
		const int x = i % WIDTH, y = i / WIDTH % HEIGHT, z = i / WIDTH / HEIGHT;
		ck_assert_uint_eq(to[i], z == 0 && y < 4 && (x == 8 || x == 9) ? 3u
			: x < 3 && y < 2 && z < 2 ? 2u : 1u);
	}
	program_fails(cudaMemset2D(memory.ptr, 4, 0, 5, 2), cudaErrorInvalidPitchValue);
}
END_TEST

START_TEST(peers_are_devices)
{
	unsigned char from[16], to[16];
	void *memory;
	int can = 1;
	fill(from, sizeof(from));
	program_ok(cudaMalloc(&memory, sizeof(from)));
	program_ok(cudaMemcpyPeer(memory, 0, from, 0, sizeof(from)));
	program_ok(cudaMemcpyPeer(to, 0, memory, 0, sizeof(to)));
	program_ok(cudaDeviceSynchronize());
	ck_assert_mem_eq(to, from, sizeof(to));
	program_fails(cudaMemcpyPeer(memory, 99, from, 0, 1), cudaErrorInvalidDevice);
	struct cudaMemcpy3DPeerParms p = {.srcPtr = {from, 4, 4, 1}, .dstPtr = {memory, 4, 4, 1},
		.extent = {4, 1, 1}, .dstDevice = -1};
	program_fails(cudaMemcpy3DPeer(&p), cudaErrorInvalidDevice);
	p.dstDevice = 0;
	program_ok(cudaMemcpy3DPeer(&p));
	program_ok(cudaDeviceCanAccessPeer(&can, 0, 0));
	ck_assert_int_eq(can, 0);
	program_fails(cudaDeviceEnablePeerAccess(99, 0), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(memory_comes_from_pools)
{
	cudaMemPool_t pools[2];
	void *memory[2];
	const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	uint64_t used = 0;
	program_ok(cudaDeviceGetDefaultMemPool(&pools[0], 0));
	program_ok(cudaMemPoolCreate(&pools[1], &properties));
	for (int i = 0; i < 2; i++) {
		program_ok(cudaMallocFromPoolAsync(&memory[i], 1 << 20, pools[i], NULL));
		program_ok(cudaMemPoolGetAttribute(pools[i], CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
			&used));
		ck_assert_uint_ge(used, 1 << 20);
		program_ok(cudaFreeAsync(memory[i], NULL));
	}
	program_ok(cudaDeviceSynchronize());
	program_ok(cudaMemPoolDestroy(pools[1]));
}
END_TEST

START_TEST(managed_memory_takes_hints)
{
	unsigned *memory;
	int read_mostly = 0;
	program_ok(cudaMallocManaged((void **)&memory, 4096, CU_MEM_ATTACH_GLOBAL));
#if KZ_CUDART == 12
	program_ok(cudaMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	program_ok(cudaMemPrefetchAsync(memory, 4096, -1, NULL));
#else
	program_ok(cudaMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY,
		(CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}));
	program_ok(cudaMemPrefetchAsync(memory, 4096,
		(CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}, 0, NULL));
#endif
	program_ok(cudaMemRangeGetAttribute(&read_mostly, sizeof(read_mostly),
		CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4096));
	ck_assert_int_eq(read_mostly, 1);
}
END_TEST

START_TEST(a_batch_copies_all_of_it)
{
	unsigned from[2] = {11, 22}, to[2] = {0, 0};
	void *memory;
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[] = {4, 4}, first = 0;
	cudaStream_t stream;
	program_ok(cudaMalloc(&memory, 8));
	program_ok(cudaStreamCreate(&stream));
	void *there[] = {(char *)memory + 4, memory}, *here[] = {&from[0], &from[1]};
#if KZ_CUDART == 12
	size_t failed;
	program_ok(cudaMemcpyBatchAsync(there, here, sizes, 2, &attributes, &first, 1, &failed,
		stream));
#else
	program_ok(cudaMemcpyBatchAsync(there, here, sizes, 2, &attributes, &first, 1, stream));
#endif
	program_ok(cudaStreamSynchronize(stream));
	program_ok(cudaMemcpy(to, memory, 8, cudaMemcpyDeviceToHost));
	ck_assert_uint_eq(to[0], 22);
	ck_assert_uint_eq(to[1], 11);
}
END_TEST

START_TEST(memory_has_a_handle_for_other_processes)
{
	CUipcMemHandle handles[2];
	void *memory;
	memset(handles, 0, sizeof(handles));
	program_ok(cudaMalloc(&memory, 256));
	program_ok(cudaIpcGetMemHandle(&handles[0], memory));
	ck_assert_mem_ne(&handles[0], &handles[1], sizeof(handles[0]));
	program_fails(cudaIpcGetMemHandle(&handles[0], &handles[1]), cudaErrorInvalidValue);
}
END_TEST

SUITE(cudart_copy)
{
	Suite *suite = suite_create("cudart_copy");
	TCase *tc = suite_add_case(suite, "boxes");
	tcase_add_test(tc, rows_are_copied_between_pitches);
	tcase_add_test(tc, a_copy_that_cannot_be_is_refused);
	tcase_add_test(tc, a_box_is_copied_through_an_array);
	tcase_add_test(tc, fills_keep_to_their_box);
	tcase_add_test(tc, peers_are_devices);
	tcase_add_test(tc, a_batch_copies_all_of_it);
	tc = suite_add_case(suite, "arrays");
	tcase_add_test(tc, arrays_are_copied_in_rows);
	tcase_add_test(tc, bytes_go_on_in_the_next_row_of_an_array);
	tcase_add_test(tc, an_array_tells_what_it_is);
	tcase_add_loop_test(tc, channels_that_no_format_has_are_refused, 0, 8);
	tcase_add_test(tc, levels_of_a_mipmapped_array_become_smaller);
	tc = suite_add_case(suite, "memory");
	tcase_add_test(tc, memory_comes_from_pools);
	tcase_add_test(tc, managed_memory_takes_hints);
	tcase_add_test(tc, memory_has_a_handle_for_other_processes);
	return suite;
}
