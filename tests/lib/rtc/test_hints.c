/* SPDX-License-Identifier: MIT */
/* Common mistakes, made; NVRTC finds them, and the hint says what to do.  Other errors get none. */
#include "base/common.h"

#include "lib/rtc/compile.h"
#include "lib/rtc/cuda_headers.h"
#include "lib/rtc/hints.h"
#include "lib/rtc/nvrtc.h"
#include "support/compile_test.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

#define K "__global__ void k"

static kz_error err;

static void clear(void)
{
	kz_error_clear(&err);
}

/* Compile what does not compile, and see what the hint has in it. */
static void expect_hint_of(const struct rtc_request *request, const char *hint)
{
	struct rtc_image image;
	const char *source = request->source;
	ck_assert_msg(support_compile(&image, request, &err) == KZ_COMPILE, "%s\ngives: %s", source,
		err.message);
	if (hint) {
		ck_assert_msg(err.hint && strstr(err.hint, hint), "%s\ngives: %s\nhint: %s", source,
			err.log, err.hint ? err.hint : "none");
	} else {
		ck_assert_msg(!err.hint, "%s\ngives: %s\nhint: %s", source, err.log, err.hint);
	}
}

static void expect_hint(const char *source, const char *arch, const char *hint)
{
	struct rtc_request request = {.source = source, .arch = arch ? arch : "compute_75"};
	expect_hint_of(&request, hint);
}

static const struct {
	const char *source;
	const char *hint;
} mistakes[] = {
	{"#include <iostream>\n", "cuda::std"},
	{"#include <vector>\n", "cuda::std"},
	{"#include <map>\n", "<cmath>"},
	{"#include <sys/types.h>\n", "for the host"},
	{"#include <unistd.h>\n", "for the host"},
	{"#include <signal.h>\n", "for the host"},
	{"#include \"mine.h\"\n", "include folders"},
	{K "() {}\nint main() { return 0; }", "main stays"},
	{"int f(int a) { return a; }\n" K "(int *a) { *a = f(1); }",
		"__device__ before a function"},
	{"void k(int *a) { *a = 1; }", "write __global__ before a kernel"},
	{"extern \"C\" void k(int *a) { *a = 1; }", "write __global__ before a kernel"},
	{K "(int *a) { auto f = [=](auto x) { *a = x; }; f(1); }", "-default-device"},
	{"__host__ int f(int a) { return a; }", "write __device__ instead"},
	{K "() {}\n__global__ void l() { k<<<1, 1>>>(); }", "kz_launch"},
	{K "() { float *p; cudaMalloc(&p, 4); }", "as arguments"},
	{K "() { fprintf(stderr, \"x\"); }", "with printf only"},
	{K "() { std::cout << 1; }", "with printf only"},
	{K "() { std::vector<int> v; }", "cuda::std"},
	{K "(int *a) { *a = std::max(1, 2); }", "cuda::std"},
	{K "() { exit(1); }", "__trap()"},
	{K "() { throw 1; }", "__trap()"},
	{K "(int *a) { *a = rand(); }", "curand_kernel.h"},
	{K "() { curandState s; }", "<curand_kernel.h>"},
	{K "() { cuFloatComplex c; }", "<cuComplex.h>"},
	{K "(float *a) { *a = CUDART_PI_F; }", "<math_constants.h>"},
	{K "() { cooperative_groups::this_grid().sync(); }", "<cooperative_groups.h>"},
	{"namespace cg = cooperative_groups;\n" K "() {}", "<cooperative_groups.h>"},
	{K "() { nvcuda::wmma::fragment<int> f; }", "<mma.h>"},
	{K "() { cub::BlockReduce<int, 32> r; }", "CUB header"},
	{K "(int *a) { *a = cuda::std::min(1, 2); }", "<cuda/std/"},
	{K "() { half x; }", "<cuda_fp16.h>"},
	{K "(half *a) { *a = *a; }", "<cuda_fp16.h>"},
	{K "(__nv_bfloat16 *a) { *a = *a; }", "<cuda_bf16.h>"},
	{K "(uint *a) { *a = 1; }", "unsigned int"},
	{K "(number *a) { *a = 1; }", "not known"},
	{K "(int *a) { *a = __shfl_down(*a, 1); }", "_sync"},
	{K "(int *a) { *a = __reduce_add_sync(~0u, *a); }", "8.0"},
	{K "(int *a) { a[threadidx.x] = 1; }", "'threadIdx'"},
	{K "(int *a) { a[threadId.x] = 1; }", "'threadIdx'"},
	{K "(int *a) { a[blockdim.x] = 1; }", "'blockDim'"},
	{K "(int *a) { __syncthread(); }", "'__syncthreads'"},
	{"__gloabl__ void k(int *a) {}", "'__global__'"},
	{"_global_ void k(int *a) {}", "'__global__'"},
	{K "(int *a) { int *p = malloc(4); *a = *p; }", "(float *)malloc"},
	{"struct P { int x, y; };\n" K "(int *a) { P p = (P){1, 2}; *a = p.x; }",
		"compound literals"},
	{K "(int *a) { int *p = (int[]){1, 2}; *a = *p; }", "compound literals"},
	{"struct P { int x, y; };\n" K "(int *a) { P p = {.x = 1, .y = 2}; *a = p.x; }", "c++20"},
	{K "(int *a) { int p[3] = {[1] = 2}; *a = p[1]; }", "designators"},
	{K "(int *a, int n) { int x[n]; x[0] = 1; *a = x[0]; }", "constant size"},
	{K "(int *a) { *a = _Generic(1, int: 2); }", "overload"},
	{K "(int *new) { *new = 1; }", "cannot be names"},
	{K "(int *a) { int class = 1; *a = class; }", "cannot be names"},
	{"struct P { int x; }\n" K "(P *a) { a->x = 1; }", "semicolon"},
	{"__global__ int k() { return 1; }", "pointer"},
	{"int g;\n" K "(int *a) { *a = g; }", "__device__ or __constant__"},
	{"extern \"C\" { template<class T> __global__ void k(T *a) {} }", "cannot be extern"},
	{K "(int *a) { int i = threadIdx; a[i] = 1; }", "threadIdx.x"},
	{K "(int *a) { __shared__ int s = 1; *a = s; }", "__syncthreads()"},
	{K "(int *a) { __shared__ int s[]; *a = s[0]; }", "extern __shared__"},
	{K "(int *a) { extern __shared__ int s[]; *a = s[1]; }\n"
	 "__global__ void l(float *a) { extern __shared__ float s[]; *a = s[1]; }", "same memory"},
	{"extern __shared__ float s[];\nextern __shared__ int s[];\n" K "(int *a) { *a = s[1]; }",
		"same memory"},
	{"texture<float, 1> t;\n" K "(float *a) { *a = tex1Dfetch(t, 0); }", "cudaTextureObject_t"},
	{"surface<void, 2> t;\n" K "(float *a) { *a = 1; }", "cudaSurfaceObject_t"},
	{K "(int *a) { int i = blockIdx * blockDim + threadIdx; a[i] = 1; }", "threadIdx.x"},
	{K "(int *a) { a[threadIdx] = 1; }", "threadIdx.x"},
	{K "(int *a) { auto f = [] __device__ (int x) { return x; }; *a = f(1); }",
		"leave __device__ out"},
	{"template<class T> concept C = true;\n" K "() {}", "c++20"},
	{K "(int *a) { if (threadIdx.x < BLOCK_SIZE) *a = 1; }", "defines"},
	{K "(long long *a) { atomicAdd(a, 1); }", "cast the pointer"},
	{K "(size_t *a) { *a = min(*a, 1); }", "one type"},
	{K "(float4 *a) { *a = *a + *a; }", "one by one"},
	{K "(float *a) { *a = *a % 2; }", "fmod"},
	{"\xef\xbb\xbf" K "() {}", "byte order mark"},
	{K "(int *\xc3\xa4) { *\xc3\xa4 = 1; }", "beyond ASCII"},
	{K "() { printf(\xe2\x80\x9chello\xe2\x80\x9d); }", "beyond ASCII"},
};

/* Found by the assembler. */
static const struct {
	const char *source;
	const char *hint;
} late_mistakes[] = {
	{K "(int *a) { __shared__ int s[30000]; s[*a] = 1; __syncthreads(); *a = s[0]; }",
		"at the launch"},
	{"__device__ int f(int);\n" K "(int *a) { *a = f(1); }", "relocatable"},
};

START_TEST(a_common_mistake_gets_a_hint)
{
	expect_hint(mistakes[_i].source, NULL, mistakes[_i].hint);
}
END_TEST

START_TEST(a_mistake_that_the_assembler_finds_gets_a_hint)
{
	expect_hint(late_mistakes[_i].source, "sm_90", late_mistakes[_i].hint);
}
END_TEST

static const char *const headers[] = {
	"#include <cub/cub.cuh>\n" K "() {}",
	"#include <thrust/device_vector.h>\n" K "() {}",
};

static const char *const host_headers[] = {
	"#include <cuda.h>\n" K "() {}",
	"#include <nvrtc.h>\n" K "() {}",
};

/* In a header of the program's own, as cuda.h and cuda_profiler_api.h have them. */
static const char *const host_functions[] = {
	"int start(void);\n",
	"__host__ int start(void);\n",
};

START_TEST(device_wide_headers_get_a_hint)
{
	const struct nvrtc *nvrtc;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	expect_hint(headers[_i], NULL, nvrtc->include_count ? "block" : "");
}
END_TEST

START_TEST(a_file_that_the_headers_of_cuda_lack_gets_a_hint)
{
	static const char *const lacking[] = {
		"#include <cuda_nonsense.h>\n",
		"#include <cuda/std/nonsense>\n",
		"#include <cub/nonsense.cuh>\n",
		"#include <nv/nonsense>\n",
	};
	const struct nvrtc *nvrtc;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	for (size_t i = 0; i < countof(lacking); i++) {
		expect_hint(lacking[i], NULL, nvrtc->include_count ? "but not this file"
			: "KUDZU_CUDA_INCLUDE");
		kz_error_clear(&err);
	}
}
END_TEST

/* A header of each part of CUDA's headers, and the package of the part. */
static const char *const packages[][2] = {
	{"cuda_fp16.h", "nvidia-cuda-runtime "}, {"cooperative_groups.h", "nvidia-cuda-runtime "},
	{"cooperative_groups/reduce.h", "nvidia-cuda-runtime "}, {"mma.h", "nvidia-cuda-runtime "},
	{"math_constants.h", "nvidia-cuda-runtime "}, {"crt/mma.h", "nvidia-cuda-crt "},
	{"nv/target", "nvidia-cuda-cccl "}, {"cuda/std/tuple", "nvidia-cuda-cccl "},
	{"cub/block/block_reduce.cuh", "nvidia-cuda-cccl "}, {"curand_kernel.h", "nvidia-curand "},
	{"cuda_runtime.h", "leave it out"}, {"cuda_runtime_api.h", "leave it out"},
};

START_TEST(a_header_of_cuda_that_is_missing_gets_its_package)
{
	char source[100];
	struct nvrtc *nvrtc;
	ck_assert_int_eq(nvrtc_open((const struct nvrtc **)&nvrtc, &err), KZ_OK);
	nvrtc->include_count = 0;
	snprintf(source, sizeof(source), "#include <%s>\n", packages[_i][0]);
	expect_hint(source, NULL, packages[_i][1]);
}
END_TEST

/* The parts that are there are not asked for. */
START_TEST(only_the_missing_part_is_named)
{
	static const char message[] = "cannot open source file \"nv/target\" (no directories in "
		"search list)";
	struct hint_error error = {
		.message = message,
		.message_len = strlen(message),
		.cuda_parts = 1 << CUDA_PART_RUNTIME,
	};
	ck_assert_ptr_nonnull(strstr(hints_find(&error), "nvidia-cuda-cccl"));
	error.cuda_parts = 1 << CUDA_PART_CCCL;
	ck_assert_ptr_nonnull(strstr(hints_find(&error), "but not this file"));
}
END_TEST

START_TEST(headers_for_the_host_get_a_hint)
{
	const struct nvrtc *nvrtc;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	expect_hint(host_headers[_i], NULL, nvrtc->include_count ? "leave it out" : "");
}
END_TEST

START_TEST(functions_of_the_host_in_an_include_folder_get_a_hint)
{
	static const char *const names[] = {"mine/include/start.h"};
	struct rtc_request request = {
		.source = "#include \"mine/include/start.h\"\n" K "() {}",
		.arch = "compute_75",
		.header_names = names,
		.header_texts = &host_functions[_i],
		.header_count = countof(names),
	};
	expect_hint_of(&request, "leave it out");
}
END_TEST

static const char *const others[] = {
	"x",
	"#error no\n",
	K "(int *a) { *a = x; }",
	K "(int *a) { *a = _; }",
	K "(int *a) { *a = Max; }",
	K "(int *a) { thread(1); count += 2; }",
	K "(int *a) { foo(1); }",
	K "(int *a) { *a = ; }",
	K "(int *a) { *a = 1 }",
	K "(int *a) { if (*a == 1 { *a = 2; } }",
	K "(int *a) {",
	K "(const int *a) { a[0] = 1; }",
	K "(void *a) { a[0] = 1; }",
	"__device__ int f(int a, int b) { return a; }\n" K "(int *a) { *a = f(1); }",
	"struct A { A a; };",
	"struct A { int x; };\n" K "(A *a) { a->y = 1; }",
	"struct A { int x; };\n" K "(A *a) { *a = *a + *a; }",
	K "(int *a) { char *s = a; }",
	K "(int *a) { return 1; }",
	K "(int *a) { break; }",
	K "(int *a) { int x; int x; }",
	K "(int a) { int min = 1; min(a, 2); }",
	"template<class T> __device__ T f(T a, T b);\n" K "(int *a) { f(1, 2.0); }",
	"static_assert(1 == 2, \"no\");",
	"namespace a { __device__ int x; }\n" K "(int *p) { *p = a::y; }",
};

START_TEST(another_error_gets_none)
{
	expect_hint(others[_i], NULL, NULL);
}
END_TEST

/* Of compilers that are not here. */
START_TEST(texts_of_other_versions_get_a_hint)
{
	static const char message[] =
		"no instance of overloaded function \"atomicAdd\" matches the argument list\n"
		"            argument types are: (double *, double)\n";
	struct hint_error error = {.message = message, .message_len = strlen(message)};
	ck_assert_ptr_nonnull(strstr(hints_find(&error), "atomics are for"));
}
END_TEST

START_TEST(a_caret_behind_its_line_does_no_harm)
{
	static const char *const texts[] = {"expected an expression", "expected a \")\"",
		"is undefined"};
	for (size_t i = 0; i < countof(texts); i++) {
		for (size_t len = 0; len < 4; len++) {
			struct hint_error error = {
				.message = texts[i],
				.message_len = strlen(texts[i]),
				.line = "new ",
				.line_len = len,
				.caret = 9,
			};
			hints_find(&error);
		}
	}
}
END_TEST

SUITE(hints)
{
	Suite *suite = suite_create("hints");
	TCase *tc = suite_add_case(suite, "hints");
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, a_common_mistake_gets_a_hint, 0, (int)countof(mistakes));
	tcase_add_loop_test(tc, a_mistake_that_the_assembler_finds_gets_a_hint, 0,
		(int)countof(late_mistakes));
	tcase_add_loop_test(tc, device_wide_headers_get_a_hint, 0, (int)countof(headers));
	tcase_add_loop_test(tc, headers_for_the_host_get_a_hint, 0, (int)countof(host_headers));
	tcase_add_loop_test(tc, functions_of_the_host_in_an_include_folder_get_a_hint, 0,
		(int)countof(host_functions));
	tcase_add_loop_test(tc, another_error_gets_none, 0, (int)countof(others));
	tcase_add_loop_test(tc, a_header_of_cuda_that_is_missing_gets_its_package, 0,
		(int)countof(packages));
	tcase_add_tests(tc, 1, a_file_that_the_headers_of_cuda_lack_gets_a_hint,
		only_the_missing_part_is_named,
		texts_of_other_versions_get_a_hint, a_caret_behind_its_line_does_no_harm);
	return suite;
}
