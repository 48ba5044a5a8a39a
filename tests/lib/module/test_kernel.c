/* SPDX-License-Identifier: MIT */
/* Launches on every device found: what is checked before, how arguments arrive, what a fault
 * does. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
	"struct point { int x; double y; };\n"
	"extern \"C\" __global__ void saxpy(float a, const float *x, float *y, int n)\n"
	"{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }\n"
	"__global__ void none() {}\n"
	"__global__ void mixed(double *out, signed char a, unsigned long long b, bool c, point p)\n"
	"{ out[0] = a; out[1] = b; out[2] = c; out[3] = p.x + p.y; }\n"
	"__global__ void fill(int *out, int n, int value)\n"
	"{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = value; }\n"
	"__global__ void shared(int *out)\n"
	"{ extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; __syncthreads();\n"
	"  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }\n"
	"__global__ void box(int *out, int w, int h, int d)\n"
	"{ int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"  int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
	"  int z = blockIdx.z * blockDim.z + threadIdx.z;\n"
	"  if (x < w && y < h && z < d)\n"
	"    atomicAdd(&out[(z * h + y) * w + x], x + 100 * y + 10000 * z); }\n"
	"__global__ void wild(int *p) { p[1LL << 40] = 1; }\n";

static kz_device *dev;
static kz_module *mod;
static kz_error err;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	mod = NULL;
	dev = support_open(index);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
}

static void teardown(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
}

static kz_kernel *find(const char *name)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	return kernel;
}

static const kz_dim3 one = {1, 1, 1};

/* The launch fails with this status and message, and the next one works. */
static void refused(kz_status st, kz_status want, const char *message)
{
	ck_assert_int_eq(st, want);
	ck_assert_msg(strstr(err.message, message) != NULL, "'%s' lacks '%s'", err.message,
		message);
	kz_error_clear(&err);
	ok(kz_launch(find("none"), one, one, NULL, &err, KZ_ARGS()));
	ok(kz_device_synchronize(dev, &err));
}

DEVICE_TEST(every_kind_of_argument_arrives)
{
	struct {
		int x;
		double y;
	} point = {3, 0.25};
	double out[4] = {0};
	ok(kz_launch(find("mixed"), one, one, NULL, &err,
		KZ_ARGS(KZ_OUT(out, sizeof(out)), -5, 1ull << 40, 1, KZ_VALUE(point))));
	ck_assert(out[0] == -5 && out[1] == 1099511627776.0 && out[2] == 1 && out[3] == 3.25);
}

DEVICE_TEST(a_wrong_argument_count_shows_the_signature)
{
	refused(kz_launch(find("saxpy"), one, one, NULL, &err, KZ_ARGS(1.0f, 2)), KZ_ARGUMENT,
		"'saxpy' takes 4 arguments, got 2: saxpy(float, const float *, float *, int)");
	refused(kz_launch(find("none"), one, one, NULL, &err, KZ_ARGS(1)), KZ_ARGUMENT,
		"'none' takes 0 arguments, got 1");
}

DEVICE_TEST(a_wrong_argument_names_itself_and_both_types)
{
	kz_array *x = NULL;
	float host[4] = {0};
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(4), &err));
	refused(kz_launch(find("saxpy"), one, one, NULL, &err, KZ_ARGS(1.0, x, x, 4)), KZ_ARGUMENT,
		"argument 1 of 'saxpy': expected float (4 bytes), got double");
	refused(kz_launch(find("saxpy"), one, one, NULL, &err, KZ_ARGS(1.0f, host, x, 4)),
		KZ_ARGUMENT, "argument 2 of 'saxpy': expected const float *, got a host pointer");
	refused(kz_launch(find("saxpy"), one, one, NULL, &err, KZ_ARGS(1.0f, x, x, 1ll << 33)),
		KZ_ARGUMENT, "argument 4 of 'saxpy': 8589934592 does not fit int (4 bytes)");
	kz_array_release(x);
}

DEVICE_TEST(an_array_that_is_not_contiguous_is_refused)
{
	kz_array *x = NULL, *turned = NULL, *column = NULL, *wide = NULL;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_transpose(&turned, x, KZ_AXES(), &err));
	ok(kz_array_slice(&column, x, KZ_AT(KZ_ALL, 1), &err));
	ok(kz_array_broadcast_to(&wide, x, KZ_SHAPE(2, 2, 3), &err));
	const struct {
		kz_array *array;
		const char *message;
	} rows[] = {
		{turned, "argument 2 of 'saxpy': expected a contiguous array, got one with a "
			"stride of 12 bytes along axis 1, where row-major order has 4"},
		{column, "stride of 12 bytes along axis 0, where row-major order has 4"},
		{wide, "stride of 0 bytes along axis 0, where row-major order has 24"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		refused(kz_launch(find("saxpy"), one, kz_dim(2, 1, 1), NULL, &err,
			KZ_ARGS(1.0f, rows[i].array, x, 2)), KZ_ARGUMENT, rows[i].message);
	}
	kz_array_release(x), kz_array_release(turned);
	kz_array_release(column), kz_array_release(wide);
}

DEVICE_TEST(a_row_a_contiguous_copy_and_a_strided_array_are_read_in_place)
{
	const float host[6] = {0, 1, 2, 3, 4, 5}, sums[6] = {0, 3, 1, 7, 6, 10};
	float got[6];
	kz_array *x = NULL, *y = NULL, *turned = NULL, *whole = NULL, *from = NULL, *into = NULL;
	kz_kernel *saxpy = find("saxpy");
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(2, 3), host, sizeof(host), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_slice(&from, x, KZ_AT(KZ_SLICE(1, 2, 1)), &err));
	ok(kz_array_slice(&into, y, KZ_AT(1), &err));
	ok(kz_array_transpose(&turned, x, KZ_AXES(), &err));
	ok(kz_array_contiguous(&whole, turned, &err));
	ok(kz_launch(saxpy, one, kz_dim(3, 1, 1), NULL, &err, KZ_ARGS(1.0f, from, into, 3)));
	ok(kz_launch(saxpy, one, kz_dim(6, 1, 1), NULL, &err, KZ_ARGS(1.0f, whole, y, 6)));
	ok(kz_array_get(y, got, sizeof(got), &err));
	ck_assert_mem_eq(got, sums, sizeof(sums));
	ok(kz_launch(saxpy, one, kz_dim(6, 1, 1), NULL, &err,
		KZ_ARGS(1.0f, KZ_STRIDED(turned), KZ_STRIDED(turned), 6)));
	ok(kz_array_get(x, got, sizeof(got), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert(got[i] == 2 * host[i]);
	}
	kz_array_release(x), kz_array_release(y), kz_array_release(turned);
	kz_array_release(whole), kz_array_release(from), kz_array_release(into);
}

DEVICE_TEST(a_grid_or_block_beyond_the_device_is_refused)
{
	static const struct {
		kz_dim3 grid, block;
		const char *message;
	} rows[] = {
		{{0, 1, 1}, {1, 1, 1}, "grid of 0 x 1 x 1 for 'none'"},
		{{1, -1, 1}, {1, 1, 1}, "grid of 1 x -1 x 1"},
		{{1, 1, 65536}, {1, 1, 1}, "grid of 1 x 1 x 65536"},
		{{(int64_t)1 << 32, 1, 1}, {1, 1, 1}, "grid of 4294967296 x 1 x 1"},
		{{1, 1, 1}, {0, 1, 1}, "block of 0 x 1 x 1"},
		{{1, 1, 1}, {1025, 1, 1}, "block of 1025 x 1 x 1"},
		{{1, 1, 1}, {1, 1, 65}, "block of 1 x 1 x 65"},
		{{1, 1, 1}, {32, 64, 1},
			"block of 32 x 64 x 1 = 2048 threads: 'none' can have 1024"},
		{{1, 1, 1}, {INT64_MAX, INT64_MAX, INT64_MAX}, "block of 9223372036854775807"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		refused(kz_launch(find("none"), rows[i].grid, rows[i].block, NULL, &err, KZ_ARGS()),
			KZ_LAUNCH, rows[i].message);
	}
}

DEVICE_TEST(shared_memory_is_asked_for_up_to_the_limit)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	int out[64];
	ok(kz_device_describe(dev, &info, &err));
	options.shared_size = info.shared_per_block_optin;
	ok(kz_launch(find("shared"), one, kz_dim(64, 1, 1), &options, &err,
		KZ_ARGS(KZ_OUT(out, sizeof(out)))));
	for (int i = 0; i < 64; i++) {
		ck_assert_int_eq(out[i], 63 - i);
	}
	options.shared_size = info.shared_per_block_optin + 1;
	refused(kz_launch(find("none"), one, one, &options, &err, KZ_ARGS()), KZ_LAUNCH,
		"bytes of dynamic shared memory for 'none'");
	options.shared_size = -1;
	refused(kz_launch(find("none"), one, one, &options, &err, KZ_ARGS()), KZ_LAUNCH,
		"-1 bytes of dynamic shared memory");
}

DEVICE_TEST(a_kernel_has_preferences)
{
	kz_kernel *kernel = find("none");
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	static const int64_t wrong[][2] = {{KZ_KERNEL_CARVEOUT, -2}, {KZ_KERNEL_CARVEOUT, 101},
		{KZ_KERNEL_CACHE, -1}, {KZ_KERNEL_CACHE, 4}, {KZ_KERNEL_CARVEOUT, INT64_MAX}};
	for (size_t i = 0; i < countof(wrong); i++) {
		refused(kz_kernel_set_option(kernel, (kz_kernel_option)wrong[i][0], wrong[i][1],
			&err), KZ_INVALID, wrong[i][0] == KZ_KERNEL_CARVEOUT
			? "expected -1 to 100 for KZ_KERNEL_CARVEOUT, got "
			: "expected 0 to 3 for KZ_KERNEL_CACHE, got ");
	}
	refused(kz_kernel_set_option(kernel, (kz_kernel_option)9, 0, &err), KZ_INVALID,
		"expected a kz_kernel_option, got 9");
	refused(kz_kernel_set_option(NULL, KZ_KERNEL_CACHE, 0, &err), KZ_INVALID,
		"expected a kernel");
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert_int_eq(info.carveout, -1);
	ok(kz_kernel_set_option(kernel, KZ_KERNEL_CARVEOUT, 50, &err));
	ok(kz_kernel_set_option(kernel, KZ_KERNEL_CACHE, KZ_CACHE_SHARED, &err));
	ok(kz_kernel_describe(kernel, &info, &err));
	ck_assert_int_eq(info.carveout, 50);
	ok(kz_kernel_set_option(kernel, KZ_KERNEL_CARVEOUT, -1, &err));
	ok(kz_launch(kernel, one, one, NULL, &err, KZ_ARGS()));
}

/* A kernel sees what the one before it wrote, as it waits for that. */
DEVICE_TEST(a_programmatic_launch_sees_what_came_before)
{
	static const char dependent[] =
		"extern \"C\" __global__ void add(int *x)\n"
		"{\n"
		"	asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
		"	*x = 3 * *x + 1;\n"
		"}\n";
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	kz_compile_options newer = KZ_COMPILE_OPTIONS_INIT;
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	kz_array *x = NULL;
	kz_module *other = NULL;
	kz_kernel *add = NULL;
	int value = -1;
	ok(kz_device_describe(dev, &info, &err));
	if (info.compute_capability < 90 && strcmp(support_device_name(_i), "cpu") != 0) {
		return;
	}
	newer.arch = "compute_90";
	ok(kz_module_compile(&other, dev, dependent, &newer, &err));
	ok(kz_module_kernel(&add, other, "add", &err));
	ok(kz_array_zeros(&x, dev, KZ_I32, KZ_SHAPE(1), &err));
	options.programmatic = 1;
	options.cluster[0] = options.cluster[1] = options.cluster[2] = 1;
	for (int i = 0; i < 5; i++) {
		ok(kz_launch(add, one, one, &options, &err, KZ_ARGS(x)));
	}
	ok(kz_array_get(x, &value, sizeof(value), &err));
	ck_assert_int_eq(value, 121);
	kz_array_release(x);
	kz_module_release(other);
}

DEVICE_TEST(a_cluster_that_cannot_be_is_refused)
{
	static const int32_t wrong[][3] = {{-1, 1, 1}, {2, 0, 1}, {1, 1, 256}, {0, 0, 1}};
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	for (size_t i = 0; i < countof(wrong); i++) {
		memcpy(options.cluster, wrong[i], sizeof(options.cluster));
		refused(kz_launch(find("none"), kz_dim(4, 4, 4), one, &options, &err, KZ_ARGS()),
			KZ_LAUNCH, "expected three extents from 1 to 255, or all 0 for none");
	}
	memcpy(options.cluster, (int32_t[3]){2, 1, 1}, sizeof(options.cluster));
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		refused(kz_launch(find("none"), kz_dim(4, 1, 1), one, &options, &err, KZ_ARGS()),
			KZ_UNSUPPORTED, "a cluster of 2 x 1 x 1 blocks for 'none': cpu has "
			"clusters of one block only");
	}
}

START_TEST(clusters_and_dependent_launches_are_attributes)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	kz_prepared *prepared = NULL;
	kz_graph *graph = NULL;
	dev = support_open_stub("");
	ok(kz_module_load(&mod, dev, ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry none()\n{\nret;\n}\n", 70, &err));
	memcpy(options.cluster, (int32_t[3]){2, 1, 4}, sizeof(options.cluster));
	ok(kz_launch(find("none"), kz_dim(4, 1, 8), one, &options, &err, KZ_ARGS()));
	options.programmatic = options.cooperative = 1;
	ok(kz_launch(find("none"), kz_dim(4, 1, 8), one, &options, &err, KZ_ARGS()));
	ok(kz_prepared_create(&prepared, find("none"), kz_dim(4, 1, 8), one, &options, &err,
		KZ_ARGS()));
	ok(kz_prepared_launch(prepared, NULL, &err));
	ok(kz_prepared_set_grid(prepared, kz_dim(4, 1, 6), one, &err));
	fails(kz_prepared_launch(prepared, NULL, &err), KZ_LAUNCH, "grid of 4 x 1 x 6 for 'none': "
		"clusters of 2 x 1 x 4 blocks do not divide it");
	ck_assert_int_eq(support_stub_calls("cuLaunchKernelEx"), 3);
	ck_assert_int_eq(support_stub_calls("cuLaunchKernel"), 0);
	ok(kz_graph_create(&graph, dev, &err));
	fails(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), find("none"), one, one, &options, &err,
		KZ_ARGS()), KZ_UNSUPPORTED, "capture a launch that is cooperative");
	kz_graph_release(graph);
	kz_prepared_release(prepared);
	kz_module_release(mod);
	support_close_stub(dev);
}
END_TEST

DEVICE_TEST(bad_calls_are_refused)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	refused(kz_launch(NULL, one, one, NULL, &err, KZ_ARGS()), KZ_INVALID,
		"expected a kernel, got NULL");
	refused(kz_launch_args(find("saxpy"), one, one, NULL, NULL, 4, &err), KZ_INVALID,
		"the argument list is NULL");
	options.size = 1;
	refused(kz_launch(find("none"), one, one, &options, &err, KZ_ARGS()), KZ_INVALID,
		"kz_launch_options has size 1, expected 64: initialize it with "
		"KZ_LAUNCH_OPTIONS_INIT");
	ck_assert_str_eq(kz_kernel_name(NULL), "");
	ck_assert_str_eq(kz_kernel_signature(NULL), "");
	ck_assert_ptr_null(kz_kernel_handle(NULL));
}

DEVICE_TEST(host_memory_is_copied_in_and_out)
{
	float x[5] = {1, 2, 3, 4, 5}, y[5] = {10, 20, 30, 40, 50};
	ok(kz_launch(find("saxpy"), one, kz_dim(32, 1, 1), NULL, &err,
		KZ_ARGS(2.0f, KZ_IN(x, sizeof(x)), KZ_INOUT(y, sizeof(y)), 5)));
	for (int i = 0; i < 5; i++) {
		ck_assert(y[i] == 2 * x[i] + (float)(10 * (i + 1)));
	}
	int out[4] = {7, 7, 7, 7};
	ok(kz_launch(find("fill"), one, kz_dim(4, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(out, sizeof(out)), 2, 5)));
	ck_assert(out[0] == 5 && out[1] == 5 && out[2] == 0 && out[3] == 0);
}

DEVICE_TEST(the_callers_rounding_mode_stays_out_of_kernels)
{
	float x[1] = {0x1p-30f}, y[1] = {1};
	kz_kernel *saxpy = find("saxpy");
	fesetround(FE_UPWARD);
	kz_status st = kz_launch(saxpy, one, one, NULL, &err,
		KZ_ARGS(1.0f, KZ_IN(x, sizeof(x)), KZ_INOUT(y, sizeof(y)), 1));
	int mode = fegetround();
	fesetround(FE_TONEAREST);
	ok(st);
	ck_assert_int_eq(mode, FE_UPWARD);
	ck_assert(y[0] == 1);
}

DEVICE_TEST(a_1d_launch_covers_every_element)
{
	enum { N = 3001 };
	static int out[N];
	ok(kz_launch_1d(find("fill"), N, NULL, &err, KZ_ARGS(KZ_OUT(out, sizeof(out)), (int)N, 4)));
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(out[i], 4);
	}
	ok(kz_launch_1d(find("fill"), 0, NULL, &err, KZ_ARGS(NULL, 0, 4)));
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = 1 << 30;
	refused(kz_launch_1d(find("fill"), N, &options, &err, KZ_ARGS(NULL, 0, 4)), KZ_LAUNCH,
		"bytes of dynamic shared memory");
	refused(kz_launch_1d(find("fill"), -1, NULL, &err, KZ_ARGS(NULL, 0, 4)), KZ_LAUNCH,
		"'fill' over -1 elements, expected 0 or more");
}

static void launch_box(int w, int h, int d, bool flat)
{
	static int out[4096];
	memset(out, 0, sizeof(out));
	ck_assert_int_le(w * h * d, 4096);
	kz_args args = KZ_ARGS(KZ_INOUT(out, sizeof(out)), w, h, d);
	ok(flat ? kz_launch_2d(find("box"), w, h, NULL, &err, args)
		: kz_launch_3d(find("box"), w, h, d, NULL, &err, args));
	for (int i = 0; i < 4096; i++) {
		int x = i % w, y = i / w % h, z = i / (w * h);
		ck_assert_int_eq(out[i], i < w * h * d ? x + 100 * y + 10000 * z : 0);
	}
}

DEVICE_TEST(a_2d_or_3d_launch_covers_every_element_once)
{
	launch_box(65, 33, 1, true);
	launch_box(1, 4096, 1, true);
	launch_box(3000, 1, 1, true);
	launch_box(7, 9, 11, false);
	launch_box(1, 1, 900, false);
	launch_box(33, 2, 3, false);
	kz_args nothing = KZ_ARGS(NULL, 0, 0, 0);
	ok(kz_launch_2d(find("box"), 5, 0, NULL, &err, nothing));
	ok(kz_launch_3d(find("box"), 0, 5, 5, NULL, &err, nothing));
	refused(kz_launch_2d(find("box"), 5, -2, NULL, &err, nothing), KZ_LAUNCH,
		"'box' over -2 elements along y, expected 0 or more");
	refused(kz_launch_3d(find("box"), 0, 5, -1, NULL, &err, nothing), KZ_LAUNCH,
		"'box' over -1 elements along z, expected 0 or more");
	refused(kz_launch_2d(find("box"), 1, INT64_MAX, NULL, &err, nothing), KZ_LAUNCH, "grid of");
	refused(kz_launch_2d(NULL, 1, 1, NULL, &err, nothing), KZ_INVALID, "expected a kernel");
}

/* As many blocks as are there at once make a cooperative grid.  One more does not on a GPU; on the
 * CPU device memory is the limit. */
DEVICE_TEST(occupancy_is_what_runs_at_once)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	int64_t blocks = -1;
	double share = -1;
	ok(kz_device_describe(dev, &info, &err));
	ok(kz_kernel_occupancy(&blocks, &share, find("none"), 64, 0, &err));
	ck_assert(blocks >= 1 && share > 0 && share <= 1);
	options.cooperative = 1;
	ok(kz_launch(find("none"), kz_dim(blocks * info.multiprocessors, 1, 1), kz_dim(64, 1, 1),
		&options, &err, KZ_ARGS()));
	kz_status st = kz_launch(find("none"), kz_dim(blocks * info.multiprocessors + 1, 1, 1),
		kz_dim(64, 1, 1), &options, &err, KZ_ARGS());
	ck_assert_int_eq(st == KZ_OK, (strcmp(support_device_name(_i), "cpu") == 0));
	kz_error_clear(&err);
	ok(kz_kernel_occupancy(&blocks, NULL, find("saxpy"), 1024, info.shared_per_block_optin,
		&err));
	ck_assert_int_ge(blocks, 1);
	refused(kz_kernel_occupancy(&blocks, &share, find("none"), 0, 0, &err), KZ_LAUNCH,
		"block of 0 threads: 'none' can have 1 to 1024");
	ck_assert(blocks == 0 && share == 0);
	refused(kz_kernel_occupancy(&blocks, &share, find("none"), 1025, 0, &err), KZ_LAUNCH,
		"1025");
	refused(kz_kernel_occupancy(&blocks, &share, find("none"), 64, -1, &err), KZ_LAUNCH,
		"-1 bytes of dynamic shared memory");
	refused(kz_kernel_occupancy(&blocks, &share, NULL, 64, 0, &err), KZ_INVALID,
		"expected a kernel");
	refused(kz_kernel_occupancy(NULL, &share, find("none"), 64, 0, &err), KZ_INVALID,
		"out is NULL");
}

DEVICE_TEST(a_hundred_parameters_are_fine_in_the_function_form)
{
	enum { N = 100 };
	char text[4096] = "__global__ void many(int *out";
	kz_arg args[N + 1];
	kz_module *many = NULL;
	kz_kernel *kernel = NULL;
	int out[N];
	for (int i = 0; i < N; i++) {
		sprintf(text + strlen(text), ", int a%d", i);
		args[i + 1] = KZ_ARG(i * i);
	}
	strcat(text, ") {");
	for (int i = 0; i < N; i++) {
		sprintf(text + strlen(text), "out[%d]=a%d;", i, i);
	}
	strcat(text, "}");
	args[0] = KZ_OUT(out, sizeof(out));
	ok(kz_module_compile(&many, dev, text, NULL, &err));
	ok(kz_module_kernel(&kernel, many, "many", &err));
	ok(kz_launch_args(kernel, one, one, NULL, args, N + 1, &err));
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(out[i], i * i);
	}
	kz_module_release(many);
}

DEVICE_TEST(work_on_one_array_is_ordered_across_streams)
{
	enum { N = 1 << 16 };
	kz_stream *streams[2] = {NULL};
	kz_array *x = NULL, *y = NULL;
	static float host[N];
	const float ones = 1;
	ok(kz_array_full(&x, dev, KZ_F32, KZ_SHAPE(N), &ones, sizeof(ones), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(N), &err));
	ok(kz_stream_create(&streams[0], dev, 0, &err));
	ok(kz_stream_create(&streams[1], dev, 0, &err));
	for (int i = 0; i < 20; i++) {
		kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
		options.stream = streams[i % 2];
		ok(kz_launch_1d(find("saxpy"), N, &options, &err, KZ_ARGS(1.0f, x, y, (int)N)));
	}
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
	ok(kz_array_get(y, host, sizeof(host), &err));
	for (int i = 0; i < N; i++) {
		ck_assert(host[i] == 20);
	}
	release_arrays(x, y);
}

START_TEST(a_wild_pointer_is_a_sticky_error_and_the_device_opens_again)
{
	kz_array *x = NULL;
	float host[4];
	setup(_i);
	const bool is_cpu = strcmp(kz_device_name(dev), "cpu") == 0;
	ok(kz_array_zeros(&x, dev, KZ_I32, KZ_SHAPE(4), &err));
	kz_status st = kz_launch(find("wild"), one, one, NULL, &err, KZ_ARGS(x));
	st = st ? st : kz_device_synchronize(dev, &err);
	ck_assert_int_eq(st, KZ_FAULT);
	ck_assert_int_eq(err.code, 700);
	ck_assert_str_eq(err.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
	ck_assert_uint_ne(err.flags & KZ_ERROR_STICKY, 0);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_array_get(x, host, sizeof(host), &err), KZ_FAULT);
	ck_assert_int_eq(err.code, 700);
	kz_error_clear(&err);
	kz_array_release(x);
	teardown();
	if (is_cpu) {
		setup(_i);
		ok(kz_launch(find("none"), one, one, NULL, &err, KZ_ARGS()));
		ok(kz_device_synchronize(dev, &err));
		teardown();
	}
}
END_TEST

DEVICE_TEST(every_failing_allocation_of_a_launch_becomes_an_error)
{
	int out[4];
	kz_status st = KZ_NO_MEMORY;
	long n;
	kz_kernel *fill = find("fill");
	for (n = 0; st == KZ_NO_MEMORY && n < 1000; n++) {
		mem_fail_after(n);
		st = kz_launch(fill, one, kz_dim(4, 1, 1), NULL, &err,
			KZ_ARGS(KZ_OUT(out, sizeof(out)), 4, 9));
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 2);
	ck_assert_int_eq(out[3], 9);
}

START_TEST(host_memory_in_a_capture_is_refused_and_the_capture_goes_on)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n\tret;\n}\n";
	int out = 0;
	kz_kernel *k;
	CUgraph graph;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("");
	ok(kz_device_open(&dev, "cuda", &err));
	ok(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err));
	ok(kz_module_kernel(&k, mod, "k", &err));
	CUstream stream = kz_stream_handle(kz_device_stream(dev));
	ck_assert_int_eq(dev->drv->CtxSetCurrent(dev->context), CUDA_SUCCESS);
	ck_assert_int_eq(dev->drv->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	long waits = support_stub_calls("cuStreamSynchronize");
	fails(kz_launch(k, one, one, NULL, &err, KZ_ARGS(KZ_OUT(&out, sizeof(out)))), KZ_STATE,
		"which a capture cannot");
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), waits);
	ck_assert_int_eq(dev->drv->StreamEndCapture(stream, &graph), CUDA_SUCCESS);
	teardown();
}
END_TEST

DEVICE_TEST(a_launch_allocates_nothing)
{
	kz_array *x = NULL;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(4), &err));
	kz_kernel *saxpy = find("saxpy");
	mem_fail_after(0);
	kz_status st = kz_launch(saxpy, one, one, NULL, &err, KZ_ARGS(1.0f, x, x, 4));
	ck_assert(!mem_has_failed());
	mem_fail_after(-1);
	ok(st);
	kz_array_release(x);
}

SUITE(kernel)
{
	Suite *s = suite_create("kernel");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), every_kind_of_argument_arrives,
		a_wrong_argument_count_shows_the_signature,
		a_wrong_argument_names_itself_and_both_types,
		an_array_that_is_not_contiguous_is_refused,
		a_row_a_contiguous_copy_and_a_strided_array_are_read_in_place,
		a_grid_or_block_beyond_the_device_is_refused,
		shared_memory_is_asked_for_up_to_the_limit, a_kernel_has_preferences,
		a_programmatic_launch_sees_what_came_before, a_cluster_that_cannot_be_is_refused,
		bad_calls_are_refused,
		host_memory_is_copied_in_and_out, the_callers_rounding_mode_stays_out_of_kernels,
		a_1d_launch_covers_every_element, a_2d_or_3d_launch_covers_every_element_once,
		occupancy_is_what_runs_at_once,
		a_hundred_parameters_are_fine_in_the_function_form,
		work_on_one_array_is_ordered_across_streams,
		every_failing_allocation_of_a_launch_becomes_an_error, a_launch_allocates_nothing);
	tc = suite_add_case(s, "stub");
	tcase_add_test(tc, clusters_and_dependent_launches_are_attributes);
	tcase_add_test(tc, host_memory_in_a_capture_is_refused_and_the_capture_goes_on);
	tc = suite_add_case(s, "fault");
	tcase_set_tags(tc, "fault");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_wild_pointer_is_a_sticky_error_and_the_device_opens_again, 0,
		support_device_count());
	return s;
}
