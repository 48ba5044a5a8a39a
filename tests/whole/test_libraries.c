/* SPDX-License-Identifier: MIT */
/*
 * The headers of CUDA that kernels include: they compile with what a plain install has, without a
 * folder being named, and what they compute is right, on every device found.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "rtc/nvrtc.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define C "extern \"C\" __global__ void "

static kz_error err;
static kz_device *dev;
static kz_module *mod;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	mod = NULL;
	dev = support_open(index);
}

static void teardown(void)
{
	kz_module_release(mod);
	support_close(dev);
	kz_error_clear(&err);
}

static bool has_header(const char *name)
{
	const struct nvrtc *nvrtc;
	bool found = false;
	ok(nvrtc_open(&nvrtc, &err));
	for (size_t i = 0; i < nvrtc->include_count && !found; i++) {
		char *path = file_join(nvrtc->include_dirs[i], name);
		found = file_is_regular(path);
		mem_free(path);
	}
	if (!found) {
		fprintf(stderr, "skipped: <%s> is not installed\n", name);
	}
	return found;
}

/* Compile, and run one kernel with `blocks` blocks of `threads`; its argument is data. */
static void run(const char *source, const char *kernel_name, int64_t blocks, int64_t threads,
	void *data, int64_t size)
{
	kz_kernel *kernel = NULL;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.cooperative = blocks > 1;
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, kernel_name, &err));
	ok(kz_launch(kernel, kz_dim(blocks, 1, 1), kz_dim(threads, 1, 1), &options, &err,
		KZ_ARGS(KZ_INOUT(data, size))));
}

static const char block_reduce[] =
	"#include <cub/block/block_reduce.cuh>\n"
	C "sum(int *x)\n"
	"{\n"
	"	using reduce = cub::BlockReduce<int, 128>;\n"
	"	__shared__ typename reduce::TempStorage room;\n"
	"	int all = reduce(room).Sum(x[threadIdx.x]);\n"
	"	if (threadIdx.x == 0) x[0] = all;\n"
	"}\n";

DEVICE_TEST(cub_sums_a_block)
{
	int values[128];
	int sum = 0;
	for (int i = 0; i < 128; i++) {
		values[i] = i * i - 37 * i;
		sum += values[i];
	}
	if (has_header("cub/block/block_reduce.cuh")) {
		run(block_reduce, "sum", 1, 128, values, sizeof(values));
		ck_assert_int_eq(values[0], sum);
	}
}

static const char radix_sort[] =
	"#include <cub/block/block_radix_sort.cuh>\n"
	"#include <cub/block/block_scan.cuh>\n"
	C "sort(unsigned *x)\n"
	"{\n"
	"	using order = cub::BlockRadixSort<unsigned, 64, 2>;\n"
	"	using scan = cub::BlockScan<unsigned, 64>;\n"
	"	__shared__ typename order::TempStorage room;\n"
	"	__shared__ typename scan::TempStorage more;\n"
	"	unsigned keys[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]}, before;\n"
	"	order(room).Sort(keys);\n"
	"	scan(more).ExclusiveSum(keys[0] + keys[1], before);\n"
	"	x[2 * threadIdx.x] = before + keys[0];\n"
	"	x[2 * threadIdx.x + 1] = before + keys[0] + keys[1];\n"
	"}\n";

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return x < y ? -1 : x > y;
}

DEVICE_TEST(cub_sorts_and_scans_a_block)
{
	unsigned values[128], expected[128];
	for (unsigned i = 0; i < 128; i++) {
		values[i] = expected[i] = i * 2654435761u >> 8;
	}
	qsort(expected, 128, sizeof(expected[0]), compare);
	for (int i = 1; i < 128; i++) {
		expected[i] += expected[i - 1];
	}
	if (has_header("cub/block/block_radix_sort.cuh")) {
		run(radix_sort, "sort", 1, 64, values, sizeof(values));
		ck_assert_mem_eq(values, expected, sizeof(values));
	}
}

static const char groups[] =
	"#include <cooperative_groups.h>\n"
	"#include <cooperative_groups/reduce.h>\n"
	"namespace cg = cooperative_groups;\n"
	C "step(int *x)\n"
	"{\n"
	"	cg::grid_group grid = cg::this_grid();\n"
	"	auto tile = cg::tiled_partition<8>(cg::this_thread_block());\n"
	"	int i = grid.thread_rank(), n = grid.size();\n"
	"	int sum = cg::reduce(tile, x[i], cg::plus<int>());\n"
	"	grid.sync();\n"
	"	x[i] = sum;\n"
	"	grid.sync();\n"
	"	int other = x[(i + 32) % n];\n"
	"	grid.sync();\n"
	"	x[i] += 1000 * other;\n"
	"}\n";

DEVICE_TEST(cooperative_groups_add_up_tiles_and_meet_in_the_grid)
{
	int values[64], sums[64] = {0};
	for (int i = 0; i < 64; i++) {
		values[i] = i;
		for (int k = i / 8 * 8; k < i / 8 * 8 + 8; k++) {
			sums[i] += k;
		}
	}
	if (has_header("cooperative_groups.h")) {
		run(groups, "step", 2, 32, values, sizeof(values));
		for (int i = 0; i < 64; i++) {
			ck_assert_int_eq(values[i], sums[i] + 1000 * sums[(i + 32) % 64]);
		}
	}
}

/* Philox4x32-10 by its definition. */
static void philox(uint32_t counter[4], uint32_t key0, uint32_t key1)
{
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * counter[0];
		uint64_t b = (uint64_t)0xCD9E8D57 * counter[2];
		uint32_t c1 = counter[1], c3 = counter[3];
		counter[0] = (uint32_t)(b >> 32) ^ c1 ^ key0;
		counter[1] = (uint32_t)b;
		counter[2] = (uint32_t)(a >> 32) ^ c3 ^ key1;
		counter[3] = (uint32_t)a;
		key0 += 0x9E3779B9;
		key1 += 0xBB67AE85;
	}
}

static const char numbers[] =
	"#include <curand_kernel.h>\n"
	C "draw(unsigned *x)\n"
	"{\n"
	"	curandStatePhilox4_32_10_t state;\n"
	"	curand_init(0x123456789abcull, threadIdx.x, 0, &state);\n"
	"	for (int i = 0; i < 4; i++) x[4 * threadIdx.x + i] = curand(&state);\n"
	"}\n";

DEVICE_TEST(curand_draws_the_numbers_of_its_generator)
{
	uint32_t values[32][4] = {{0}};
	if (has_header("curand_kernel.h")) {
		run(numbers, "draw", 1, 32, values, sizeof(values));
		for (uint32_t i = 0; i < 32; i++) {
			uint32_t expected[4] = {0, 0, i, 0};
			philox(expected, 0x56789abc, 0x1234);
			ck_assert_mem_eq(values[i], expected, sizeof(expected));
		}
	}
}

static const char standard[] =
	"#include <cuda/std/array>\n"
	"#include <cuda/std/complex>\n"
	"#include <cuda/std/limits>\n"
	"#include <cuda/std/tuple>\n"
	"#include <cuda/std/type_traits>\n"
	"#include <cuda/std/atomic>\n"
	"template<class T> __device__ T top() { return cuda::std::numeric_limits<T>::max(); }\n"
	C "use(double *x)\n"
	"{\n"
	"	cuda::std::complex<double> a(1, 2), b = a * a;\n"
	"	cuda::std::array<int, 3> list = {4, 5, 6};\n"
	"	auto pair = cuda::std::make_tuple(7, 8.5);\n"
	"	cuda::std::atomic<int> count(0);\n"
	"	static_assert(cuda::std::is_same<decltype(top<short>()), short>::value, \"\");\n"
	"	for (int i : list) count += i;\n"
	"	x[0] = b.real(); x[1] = b.imag(); x[2] = count;\n"
	"	x[3] = cuda::std::get<1>(pair); x[4] = top<short>();\n"
	"}\n";

DEVICE_TEST(the_standard_library_of_kernels_works)
{
	double values[5] = {0};
	static const double expected[5] = {-3, 4, 15, 8.5, 32767};
	if (has_header("cuda/std/array")) {
		run(standard, "use", 1, 1, values, sizeof(values));
		for (int i = 0; i < 5; i++) {
			ck_assert_double_eq(values[i], expected[i]);
		}
	}
}

SUITE(libraries)
{
	Suite *suite = suite_create("libraries");
	TCase *tc = suite_add_case(suite, "headers");
	int count = support_device_count();
	tcase_add_tests(tc, count, cub_sums_a_block, cub_sorts_and_scans_a_block,
		cooperative_groups_add_up_tiles_and_meet_in_the_grid,
		curand_draws_the_numbers_of_its_generator, the_standard_library_of_kernels_works);
	return suite;
}
