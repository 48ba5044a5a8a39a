/* SPDX-License-Identifier: MIT */
/* src/lib/module/prepared.c: launches whose arguments are bound once. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/suite.h"
#include "support/support.h"

#include <pthread.h>
#include <string.h>

static const char source[] =
	"struct point { int x; double y; };\n"
	"__global__ void saxpy(float a, const float *x, float *y, int n)\n"
	"{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }\n"
	"__global__ void none() {}\n"
	"__global__ void mixed(double *out, signed char a, unsigned long long b, bool c, point p)\n"
	"{ out[0] = a; out[1] = b; out[2] = c; out[3] = p.x + p.y; }\n"
	"__global__ void count(unsigned *sum) { atomicAdd(sum, 1u); }\n"
	"__global__ void shared(int *out)\n"
	"{ extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; __syncthreads();\n"
	"  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }\n";

static kz_device *dev;
static kz_module *mod;
static kz_error err;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
}

static void teardown(void)
{
	kz_module_release(mod);
	support_close(dev);
}

static kz_kernel *find(const char *name)
{
	kz_kernel *kernel = NULL;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	return kernel;
}

static const kz_dim3 one = {1, 1, 1};

static kz_array *from_floats(const float *host, int64_t count)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(count), host, 4 * count, &err));
	return array;
}

DEVICE_TEST(launches_again_with_one_argument_changed)
{
	const float x[4] = {1, 2, 3, 4};
	float y[4] = {10, 20, 30, 40};
	kz_prepared *step = NULL;
	kz_array *a = from_floats(x, 4), *b = from_floats(y, 4);
	ok(kz_prepared_create(&step, find("saxpy"), one, kz_dim(4, 1, 1), NULL, &err,
		KZ_ARGS(2.0f, a, b, 4)));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_prepared_set(step, 0, KZ_ARG(100.0f), &err));
	ok(kz_prepared_set(step, 3, KZ_ARG(2LL), &err)); /* an int: the value fits */
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_array_get(b, y, sizeof(y), &err));
	ck_assert(y[0] == 114 && y[1] == 228 && y[2] == 42 && y[3] == 56);
	kz_prepared_release(step);
	release_arrays(a, b);
}

DEVICE_TEST(arguments_are_copied)
{
	struct {
		int x;
		double y;
	} point = {3, 0.25};
	double out[4];
	kz_prepared *step = NULL;
	kz_buffer *buffer = NULL;
	ok(kz_buffer_create(&buffer, dev, sizeof(out), &err));
	ok(kz_prepared_create(&step, find("mixed"), one, one, NULL, &err,
		KZ_ARGS(buffer, -5, 1ull << 40, 1, KZ_VALUE(point))));
	point.x = 1000;
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_copy_dtoh(out, sizeof(out), buffer, 0, &err));
	ck_assert(out[0] == -5 && out[1] == 1099511627776.0 && out[2] == 1 && out[3] == 3.25);
	ok(kz_prepared_set(step, 4, KZ_VALUE(point), &err));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_copy_dtoh(out, sizeof(out), buffer, 0, &err));
	ck_assert(out[0] == -5 && out[3] == 1000.25);
	kz_prepared_release(step);
	kz_buffer_release(buffer);
}

DEVICE_TEST(a_wrong_argument_leaves_the_old_one)
{
	const float ones[2] = {1, 1};
	float y[2] = {0, 0};
	int64_t wide = 1;
	kz_prepared *step = NULL;
	kz_array *a = from_floats(ones, 2), *b = from_floats(y, 2), *ints = NULL;
	ok(kz_array_zeros(&ints, dev, KZ_I32, KZ_SHAPE(2), &err));
	ok(kz_prepared_create(&step, find("saxpy"), one, kz_dim(2, 1, 1), NULL, &err,
		KZ_ARGS(3.0f, a, b, 2)));
	fails(kz_prepared_set(step, 0, KZ_ARG(0.1), &err), KZ_ARGUMENT,
		"argument 1 of 'saxpy': expected float");
	fails(kz_prepared_set(step, 1, KZ_ARG(ints), &err), KZ_ARGUMENT,
		"expected const float *, got an array of int32");
	fails(kz_prepared_set(step, 1, KZ_ARG(y), &err), KZ_ARGUMENT, "got a host pointer");
	fails(kz_prepared_set(step, 2, KZ_OUT(y, sizeof(y)), &err), KZ_ARGUMENT,
		"argument 3 of 'saxpy': a prepared launch copies no host memory");
	fails(kz_prepared_set(step, 3, KZ_ARG(1LL << 40), &err), KZ_ARGUMENT, "does not fit int");
	fails(kz_prepared_set(step, 3, KZ_VALUE(wide), &err), KZ_ARGUMENT,
		"got a value of 8 bytes");
	fails(kz_prepared_set(step, 4, KZ_ARG(1), &err), KZ_RANGE,
		"index 4 is out of range for 'saxpy' of 4 arguments");
	fails(kz_prepared_set(step, -1, KZ_ARG(1), &err), KZ_RANGE, "index -1 is out of range");
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_array_get(b, y, sizeof(y), &err));
	ck_assert(y[0] == 3 && y[1] == 3);
	kz_prepared_release(step);
	release_arrays(a, b, ints);
}

DEVICE_TEST(what_kz_launch_refuses_is_refused_at_the_beginning)
{
	kz_prepared *step = (kz_prepared *)&err;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	float host[4] = {0};
	kz_array *a = from_floats(host, 4);
	kz_kernel *saxpy = find("saxpy");
	fails(kz_prepared_create(&step, saxpy, one, one, NULL, &err, KZ_ARGS(1.0f, a, a)),
		KZ_ARGUMENT, "'saxpy' takes 4 arguments, got 3");
	ck_assert_ptr_null(step);
	fails(kz_prepared_create(&step, saxpy, one, one, NULL, &err, KZ_ARGS(1.0f, a, 7, 4)),
		KZ_ARGUMENT, "argument 3 of 'saxpy'");
	fails(kz_prepared_create(&step, saxpy, one, one, NULL, &err,
		KZ_ARGS(1.0f, KZ_IN(host, sizeof(host)), a, 4)), KZ_ARGUMENT,
		"copies no host memory");
	fails(kz_prepared_create(&step, saxpy, kz_dim(0, 1, 1), one, NULL, &err,
		KZ_ARGS(1.0f, a, a, 4)), KZ_LAUNCH, "grid of 0 x 1 x 1");
	fails(kz_prepared_create(&step, saxpy, one, kz_dim(1 << 20, 1, 1), NULL, &err,
		KZ_ARGS(1.0f, a, a, 4)), KZ_LAUNCH, "block of 1048576 x 1 x 1");
	options.shared_size = -1;
	fails(kz_prepared_create(&step, saxpy, one, one, &options, &err, KZ_ARGS(1.0f, a, a, 4)),
		KZ_LAUNCH, "-1 bytes of dynamic shared memory");
	options.size = 3;
	fails(kz_prepared_create(&step, saxpy, one, one, &options, &err, KZ_ARGS(1.0f, a, a, 4)),
		KZ_INVALID, "kz_launch_options has size 3");
	fails(kz_prepared_create(&step, NULL, one, one, NULL, &err, KZ_ARGS()), KZ_INVALID,
		"expected a kernel, got NULL");
	fails(kz_prepared_create(NULL, saxpy, one, one, NULL, &err, KZ_ARGS()), KZ_INVALID,
		"kz_prepared_create: out is NULL");
	fails(kz_prepared_set(NULL, 0, KZ_ARG(1), &err), KZ_INVALID, "expected a prepared launch");
	fails(kz_prepared_set_grid(NULL, one, one, &err), KZ_INVALID, "expected a prepared launch");
	fails(kz_prepared_launch(NULL, NULL, &err), KZ_INVALID, "expected a prepared launch");
	kz_prepared_release(NULL);
	kz_array_release(a);
}

DEVICE_TEST(the_grid_can_change_and_a_bad_one_leaves_the_old_one)
{
	unsigned host = 0;
	kz_prepared *step = NULL;
	kz_array *sum = NULL;
	ok(kz_array_zeros(&sum, dev, KZ_U32, KZ_SHAPE(), &err));
	ok(kz_prepared_create(&step, find("count"), kz_dim(2, 1, 1), kz_dim(3, 1, 1), NULL, &err,
		KZ_ARGS(sum)));
	fails(kz_prepared_set_grid(step, kz_dim(1, 0, 1), one, &err), KZ_LAUNCH,
		"grid of 1 x 0 x 1");
	fails(kz_prepared_set_grid(step, one, kz_dim(1, 1, -1), &err), KZ_LAUNCH,
		"block of 1 x 1 x -1");
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_prepared_set_grid(step, kz_dim(2, 5, 1), kz_dim(1, 1, 10), &err));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_array_get(sum, &host, sizeof(host), &err));
	ck_assert_uint_eq(host, 6 + 100);
	kz_prepared_release(step);
	kz_array_release(sum);
}

/* Without a reference, the pool would give the memory of `a` to `other`. */
DEVICE_TEST(it_keeps_what_it_needs)
{
	const float x[4] = {1, 2, 3, 4}, zeros[4] = {0};
	float y[4];
	kz_prepared *step = NULL;
	kz_stream *stream = NULL;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	kz_array *a = from_floats(x, 4), *b = from_floats(zeros, 4);
	ok(kz_stream_create(&stream, dev, 0, &err));
	options.stream = stream;
	ok(kz_prepared_create(&step, find("saxpy"), one, kz_dim(4, 1, 1), &options, &err,
		KZ_ARGS(1.0f, a, b, 4)));
	kz_array_release(a);
	kz_stream_release(stream);
	kz_module_release(mod);
	mod = NULL;
	kz_array *other = from_floats(zeros, 4);
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_array_get(b, y, sizeof(y), &err));
	ck_assert_mem_eq(y, x, sizeof(x));
	ok(kz_prepared_set(step, 1, KZ_ARG(other), &err)); /* gives `a` back */
	kz_memory_stats stats;
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 2);
	release_arrays(b, other);
	kz_prepared_release(step);
}

DEVICE_TEST(shared_memory_beyond_the_usual_is_asked_for_once)
{
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	kz_prepared *step = NULL;
	kz_array *out = NULL;
	int host[8] = {0};
	kz_kernel *shared = find("shared");
	ok(kz_kernel_describe(shared, &info, &err));
	options.shared_size = info.dynamic_shared_size;
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(8), &err));
	ok(kz_prepared_create(&step, shared, one, kz_dim(8, 1, 1), &options, &err, KZ_ARGS(out)));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_array_get(out, host, sizeof(host), &err));
	ck_assert(host[0] == 7 && host[7] == 0);
	kz_prepared_release(step);
	kz_array_release(out);
}

DEVICE_TEST(launches_in_two_streams_are_ordered_by_their_arrays)
{
	enum { COUNT = 1 << 16, TIMES = 20 };
	static float host[COUNT];
	kz_stream *streams[2] = {NULL};
	kz_prepared *step = NULL;
	kz_array *x = NULL, *y = NULL;
	ok(kz_array_ones(&x, dev, KZ_F32, KZ_SHAPE(COUNT), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(COUNT), &err));
	for (int i = 0; i < 2; i++) {
		ok(kz_stream_create(&streams[i], dev, 0, &err));
	}
	ok(kz_prepared_create(&step, find("saxpy"), kz_dim(COUNT / 256, 1, 1), kz_dim(256, 1, 1),
		NULL, &err, KZ_ARGS(1.0f, x, y, COUNT)));
	for (int i = 0; i < TIMES; i++) {
		ok(kz_prepared_launch(step, i % 3 ? streams[i % 2] : NULL, &err));
	}
	ok(kz_array_get(y, host, sizeof(host), &err));
	for (int i = 0; i < COUNT; i++) {
		ck_assert(host[i] == TIMES);
	}
	kz_prepared_release(step);
	release_arrays(x, y);
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
}

DEVICE_TEST(a_launch_allocates_nothing)
{
	kz_array *sum = NULL;
	kz_prepared *step = NULL;
	ok(kz_array_zeros(&sum, dev, KZ_U32, KZ_SHAPE(), &err));
	ok(kz_prepared_create(&step, find("count"), one, one, NULL, &err, KZ_ARGS(sum)));
	mem_fail_after(0);
	kz_status st = kz_prepared_launch(step, NULL, &err);
	ck_assert(!mem_has_failed());
	mem_fail_after(-1);
	ok(st);
	kz_prepared_release(step);
	kz_array_release(sum);
}

DEVICE_TEST(every_failing_allocation_becomes_an_error)
{
	kz_prepared *step = NULL;
	kz_array *sum = NULL;
	kz_status st = KZ_NO_MEMORY;
	kz_kernel *kernel = find("count");
	long n;
	ok(kz_array_zeros(&sum, dev, KZ_U32, KZ_SHAPE(), &err));
	for (n = 0; st == KZ_NO_MEMORY && n < 100; n++) {
		mem_fail_after(n);
		st = kz_prepared_create(&step, kernel, one, one, NULL, &err, KZ_ARGS(sum));
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert_int_eq(!st, step != NULL);
		kz_error_clear(&err);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 1);
	kz_prepared_release(step);
	kz_array_release(sum);
}

enum { THREADS = 4, LAUNCHES = 200 };

struct thread {
	pthread_t thread;
	kz_prepared *step;
	kz_stream *stream;
	kz_status st;
};

static void *launch_often(void *user)
{
	struct thread *self = user;
	for (int i = 0; i < LAUNCHES && !self->st; i++) {
		self->st = kz_prepared_launch(self->step, self->stream, NULL);
	}
	return NULL;
}

DEVICE_TEST(threads_launch_one_in_streams_of_their_own)
{
	struct thread threads[THREADS] = {{.st = KZ_OK}};
	unsigned host = 0;
	kz_array *sum = NULL;
	kz_prepared *step = NULL;
	ok(kz_array_zeros(&sum, dev, KZ_U32, KZ_SHAPE(), &err));
	ok(kz_prepared_create(&step, find("count"), one, one, NULL, &err, KZ_ARGS(sum)));
	for (int i = 0; i < THREADS; i++) {
		threads[i].step = step;
		ok(kz_stream_create(&threads[i].stream, dev, 0, &err));
		ck_assert_int_eq(pthread_create(&threads[i].thread, NULL, launch_often,
			&threads[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		ck_assert_int_eq(threads[i].st, KZ_OK);
		kz_stream_release(threads[i].stream);
	}
	ok(kz_array_get(sum, &host, sizeof(host), &err));
	ck_assert_uint_eq(host, THREADS * LAUNCHES);
	kz_prepared_release(step);
	kz_array_release(sum);
}

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry k(.param .u64 p)\n{\n\tret;\n}\n";

START_TEST(a_launch_is_one_call_in_the_stream_that_it_names)
{
	kz_device *other = NULL;
	kz_stream *stream = NULL;
	kz_kernel *k = NULL;
	kz_prepared *step = NULL;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub("devices=2;streams=1;fail=cuLaunchKernel:719@4");
	ok(kz_device_open(&other, "cuda:1", &err));
	ok(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err));
	ok(kz_module_kernel(&k, mod, "k", &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	options.stream = kz_device_stream(other);
	fails(kz_prepared_create(&step, k, one, one, &options, &err, KZ_ARGS(NULL)), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	options.stream = stream;
	ok(kz_prepared_create(&step, k, one, one, &options, &err, KZ_ARGS(NULL)));
	fails(kz_prepared_launch(step, kz_device_stream(other), &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	ok(kz_prepared_launch(step, NULL, &err));
	ok(kz_prepared_launch(step, kz_device_stream(dev), &err));
	ok(kz_prepared_launch(step, kz_device_stream(dev), &err));
	ck_assert_int_eq(support_stub_work("cuLaunchKernel", kz_stream_handle(stream)), 1);
	ck_assert_int_eq(support_stub_work(NULL, kz_stream_handle(kz_device_stream(dev))), 2);
	ck_assert_int_eq(support_stub_work(NULL, NULL), 3);
	fails(kz_prepared_launch(step, NULL, &err), KZ_FAULT, "cuLaunchKernel");
	kz_prepared_release(step);
	kz_stream_release(stream);
	kz_module_release(mod);
	kz_device_close(dev);
	kz_device_close(other);
}
END_TEST

SUITE(prepared)
{
	Suite *s = suite_create("prepared");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), launches_again_with_one_argument_changed,
		arguments_are_copied, a_wrong_argument_leaves_the_old_one,
		what_kz_launch_refuses_is_refused_at_the_beginning,
		the_grid_can_change_and_a_bad_one_leaves_the_old_one, it_keeps_what_it_needs,
		shared_memory_beyond_the_usual_is_asked_for_once,
		launches_in_two_streams_are_ordered_by_their_arrays, a_launch_allocates_nothing,
		every_failing_allocation_becomes_an_error,
		threads_launch_one_in_streams_of_their_own);
	tc = suite_add_case(s, "stub");
	tcase_add_test(tc, a_launch_is_one_call_in_the_stream_that_it_names);
	return s;
}
