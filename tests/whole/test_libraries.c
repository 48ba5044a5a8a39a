/* SPDX-License-Identifier: MIT */
/*
 * The headers of CUDA that kernels include: they compile with what a plain install has, without a
 * folder being named, and what they compute is right, on every device found.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/rtc/nvrtc.h"
#include "support/support.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
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

/* The first is a vector of Random123 (kat_vectors). */
DEVICE_TEST(curand_draws_the_numbers_of_its_generator)
{
	static const uint32_t known[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
	uint32_t values[32][4] = {{0}}, zeros[4] = {0};
	philox(zeros, 0, 0);
	ck_assert_mem_eq(zeros, known, sizeof(known));
	if (has_header("curand_kernel.h")) {
		run(numbers, "draw", 1, 32, values, sizeof(values));
		for (uint32_t i = 0; i < 32; i++) {
			uint32_t expected[4] = {0, 0, i, 0};
			philox(expected, 0x56789abc, 0x1234);
			ck_assert_mem_eq(values[i], expected, sizeof(expected));
		}
	}
}

/* Marsaglia's xorwow (Journal of Statistical Software 8, 2003), seeded as cuRAND seeds it. */
static void xorwow(uint32_t *out, int count, int skip, uint64_t seed)
{
	const uint32_t t0 = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
	const uint32_t t1 = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
	uint32_t d = 6615241u + t1 + t0;
	uint32_t v[5] = {123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1,
		5783321u + t0};
	for (int i = -skip; i < count; i++) {
		const uint32_t t = v[0] ^ v[0] >> 2, last = v[4];
		memmove(v, v + 1, 4 * sizeof(*v));
		v[4] = (last ^ last << 4) ^ (t ^ t << 1);
		d += 362437u;
		if (i >= 0) {
			out[i] = v[4] + d;
		}
	}
}

static const char default_numbers[] =
	"#include <curand_kernel.h>\n"
	C "draw(unsigned *x)\n"
	"{\n"
	"	curandState state;\n"
	"	curand_init(0x123456789abcdefull, 0, 37 * threadIdx.x, &state);\n"
	"	for (int i = 0; i < 4; i++) x[4 * threadIdx.x + i] = curand(&state);\n"
	"}\n";

DEVICE_TEST(curand_skips_to_an_offset_of_xorwow)
{
	uint32_t values[32][4] = {{0}}, expected[4];
	if (has_header("curand_kernel.h")) {
		run(default_numbers, "draw", 1, 32, values, sizeof(values));
		for (int i = 0; i < 32; i++) {
			xorwow(expected, 4, 37 * i, 0x123456789abcdef);
			ck_assert_mem_eq(values[i], expected, sizeof(expected));
		}
	}
}

static const char standard[] =
	"#include <cuda/std/array>\n"
	"#include <cuda/std/complex>\n"
	"#include <cuda/std/limits>\n"
	"#include <cuda/std/optional>\n"
	"#include <cuda/std/span>\n"
	"#include <cuda/std/tuple>\n"
	"#include <cuda/std/type_traits>\n"
	"#include <cuda/std/atomic>\n"
	"template<class T> __device__ T top() { return cuda::std::numeric_limits<T>::max(); }\n"
	"__device__ cuda::std::optional<int> find(cuda::std::span<const int> all, int what)\n"
	"{\n"
	"	for (size_t i = 0; i < all.size(); i++) { if (all[i] == what) return int(i); }\n"
	"	return cuda::std::nullopt;\n"
	"}\n"
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
	"	cuda::std::span<const int> part(list.data(), 3);\n"
	"	x[5] = find(part.subspan(1), 6).value_or(-1); x[6] = find(part, 7).has_value();\n"
	"}\n";

DEVICE_TEST(the_standard_library_of_kernels_works)
{
	double values[7] = {0};
	static const double expected[7] = {-3, 4, 15, 8.5, 32767, 1, 0};
	if (has_header("cuda/std/array")) {
		run(standard, "use", 1, 1, values, sizeof(values));
		for (int i = 0; i < 7; i++) {
			ck_assert_double_eq(values[i], expected[i]);
		}
	}
}

/* --- Small floats --- */

/* Bits of the significand, the least number above 0 as a power of 2, and the largest number;
 * conversions to 8 bits stop there, others go to infinity. */
static const struct small_float {
	const char *header, *type;
	int digits, least;
	double most;
	bool has_arithmetic;
} small_floats[] = {
	{"cuda_fp16.h", "__half", 11, -24, 65504, true},
	{"cuda_bf16.h", "__nv_bfloat16", 8, -133, 0x1.fep127, true},
	{"cuda_fp8.h", "__nv_fp8_e4m3", 4, -9, 448, false},
	{"cuda_fp8.h", "__nv_fp8_e5m2", 3, -16, 57344, false},
};

/* The nearest number, or the even one of two (IEEE 754). */
static double small_round(const struct small_float *f, double x)
{
	int exponent;
	(void)frexp(x, &exponent);
	const int unit = exponent - f->digits > f->least ? exponent - f->digits : f->least;
	const double near = ldexp(nearbyint(ldexp(x, -unit)), unit);
	return isnan(x) || fabs(near) <= f->most ? near
		: copysign(f->has_arithmetic ? INFINITY : f->most, x);
}

enum { SMALL = 256, RESULTS = 5 };

/* Numbers of all sizes; sums and products of the first half are exact in double. */
static void small_operands(const struct small_float *f, float x[SMALL][3])
{
	uint64_t state = 99;
	for (int i = 0; i < SMALL; i++) {
		for (int k = 0; k < 3; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			int32_t bits = (int32_t)(state >> 44) - (1 << 19);
			int scale = i < SMALL / 2 ? -12 : (int)(state >> 33) % 40 - 36;
			x[i][k] = (float)small_round(f, ldexp(bits, scale));
			x[i][k] = i >= SMALL / 2 && k == 0 ? (float)ldexp(bits, scale) : x[i][k];
		}
	}
}

static const char small_kernel[] =
	"#include <%s>\n"
	"using T = %s;\n"
	C "compute(float *x)\n"
	"{\n"
	"	float *out = x + 3 * blockDim.x + 5 * threadIdx.x;\n"
	"	T a = T(x[3 * threadIdx.x]), b = T(x[3 * threadIdx.x + 1]), "
	"c = T(x[3 * threadIdx.x + 2]);\n"
	"	out[0] = float(a);\n"
	"#if %d\n"
	"	out[1] = float(a + b); out[2] = float(a * b); out[3] = float(__hfma(a, b, c)); "
	"out[4] = a < b;\n"
	"#endif\n"
	"}\n";

static void small_check(const struct small_float *f, const float x[3], const float got[RESULTS])
{
	const double a = small_round(f, (double)x[0]), b = (double)x[1], c = (double)x[2];
	const double expected[RESULTS] = {a, small_round(f, a + b), small_round(f, a * b),
		small_round(f, a * b + c), a < b};
	for (int i = 0; i < (f->has_arithmetic ? RESULTS : 1); i++) {
		bool same = isnan(got[i]) ? isnan(expected[i]) : (double)got[i] == expected[i];
		ck_assert_msg(same, "%s, result %d of %a, %a, %a: expected %a, got %a",
			f->type, i, (double)x[0], b, c, expected[i], (double)got[i]);
	}
}

DEVICE_TEST(small_floats_are_rounded_once)
{
	for (size_t i = 0; i < countof(small_floats); i++) {
		const struct small_float *f = &small_floats[i];
		static struct { float x[SMALL][3], out[SMALL][RESULTS]; } data;
		char source[2048];
		if (has_header(f->header)) {
			small_operands(f, data.x);
			snprintf(source, sizeof(source), small_kernel, f->header, f->type,
				f->has_arithmetic);
			run(source, "compute", 1, SMALL, &data, sizeof(data));
			for (int k = 0; k < SMALL; k++) {
				small_check(f, data.x[k], data.out[k]);
			}
			kz_module_release(mod);
			mod = NULL;
		}
	}
}

/* --- Matrices --- */

static const char matrices[] =
	"#include <mma.h>\n"
	"using namespace nvcuda;\n"
	C "multiply(float *x)\n"
	"{\n"
	"	__shared__ half a[256], b[256];\n"
	"	for (int i = threadIdx.x; i < 256; i += 32) {\n"
	"		a[i] = __float2half(x[i]);\n"
	"		b[i] = __float2half(x[256 + i]);\n"
	"	}\n"
	"	__syncthreads();\n"
	"	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;\n"
	"	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;\n"
	"	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;\n"
	"	wmma::load_matrix_sync(left, a, 16);\n"
	"	wmma::load_matrix_sync(right, b, 16);\n"
	"	wmma::load_matrix_sync(sum, x + 512, 16, wmma::mem_row_major);\n"
	"	wmma::mma_sync(sum, left, right, sum);\n"
	"	wmma::store_matrix_sync(x + 512, sum, 16, wmma::mem_row_major);\n"
	"}\n";

/* Of integers, whose products and sums are exact in any order; the second factor is turned
 * around. */
DEVICE_TEST(a_warp_multiplies_matrices)
{
	static float x[3][16][16];
	double expected[16][16];
	for (int i = 0; i < 3 * 256; i++) {
		(&x[0][0][0])[i] = (float)((int)((unsigned)i * 2654435761u >> 26) - 32);
	}
	for (int i = 0; i < 256; i++) {
		expected[i / 16][i % 16] = (double)x[2][i / 16][i % 16];
		for (int k = 0; k < 16; k++) {
			expected[i / 16][i % 16] += (double)x[0][i / 16][k]
				* (double)x[1][i % 16][k];
		}
	}
	if (has_header("mma.h")) {
		run(matrices, "multiply", 1, 32, x, sizeof(x));
		for (int i = 0; i < 256; i++) {
			ck_assert_double_eq((double)x[2][i / 16][i % 16], expected[i / 16][i % 16]);
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
		curand_draws_the_numbers_of_its_generator, curand_skips_to_an_offset_of_xorwow,
		the_standard_library_of_kernels_works, small_floats_are_rounded_once,
		a_warp_multiplies_matrices);
	return suite;
}
