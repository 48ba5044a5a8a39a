/* SPDX-License-Identifier: MIT */
/*
 * Threads of the program with small stacks: src/base/stack.c, and who uses it.  Calls that need
 * compilers, code of kernels, host libraries or long chains of our own functions have room in 64
 * KiB.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include "base/stack.h"

#include <pthread.h>
#include <ucontext.h>

/* A library that is not optimized, or that a sanitizer watches, takes several times as much. */
#ifdef KZ_TEST_RELEASE
enum { STACK = 64 << 10 };
#else
enum { STACK = 512 << 10 };
#endif

static kz_error err = KZ_ERROR_INIT;
static kz_device *dev;
static kz_array *m, *v, *results[4];
static kz_status (*call)(void);

/* The numbers are those of a matrix that has an inverse. */
static void make_operands(void)
{
	static double numbers[24 * 24];
	for (int i = 0; i < 24 * 24; i++) {
		numbers[i] = i % 25 == 0 ? 3 : i % 7 * 0.01;
	}
	kz_array *flat = support_array_of(dev, KZ_F32, numbers, 24 * 24);
	ok(kz_array_reshape(&m, flat, KZ_SHAPE(24, 24), &err));
	ok(kz_array_slice(&v, flat, KZ_AT(KZ_SLICE(0, 500)), &err));
	kz_array_release(flat);
}

static kz_status call_add(void) { return kz_add(&results[0], v, 1, &err); }
static kz_status call_fft(void) { return kz_fft(&results[0], v, KZ_AXES(0), NULL, &err); }
static kz_status call_rfft(void) { return kz_rfft(&results[0], v, KZ_AXES(0), NULL, &err); }
static kz_status call_convolve(void)
{
	return kz_convolve(&results[0], v, v, KZ_CONVOLVE_FULL, NULL, &err);
}
static kz_status call_sort(void) { return kz_sort(&results[0], v, 0, NULL, &err); }
static kz_status call_simps(void) { return kz_simps2d(&results[0], m, NULL, &err); }
static kz_status call_svdvals(void) { return kz_svdvals(&results[0], m, NULL, &err); }
static kz_status call_solve(void) { return kz_solve(&results[0], m, m, NULL, &err); }
static kz_status call_eigh(void) { return kz_eigh(&results[0], &results[1], m, KZ_LOWER, NULL,
	&err); }
static kz_status call_einsum(void)
{
	return kz_einsum(&results[0], "ij,jk,kl->il", KZ_ARRAYS(m, m, m), NULL, &err);
}
static kz_status call_mismatch(void)
{
	kz_status st = kz_eval(&results[0], "exp(v) * 2 + m", NULL, &err, KZ_VARS(v, m));
	return st == KZ_INVALID ? KZ_OK : KZ_UNKNOWN;
}

/* Parameters that do not fit among those of most kernels, compiled by NVRTC. */
static kz_status call_launch(void)
{
	static const char source[] = "struct s { float all[500]; };\n"
		"__global__ void k(float *to, s from) { to[threadIdx.x] = from.all[threadIdx.x]; }";
	static struct {
		float all[500];
	} all;
	kz_module *module = NULL;
	kz_kernel *kernel;
	kz_status st = kz_module_compile(&module, dev, source, NULL, &err);
	st = st ? st : kz_module_kernel(&kernel, module, "k", &err);
	st = st ? st : kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, &err,
		KZ_ARGS(v, KZ_VALUE(all)));
	kz_module_release(module);
	return st;
}

static const struct {
	kz_status (*call)(void);
	bool is_compiled; /* each time, and not found in the cache */
} rows[] = {{call_add, true}, {call_fft, true}, {call_rfft, false}, {call_convolve, false},
	{call_sort, false}, {call_simps, false}, {call_svdvals, false}, {call_solve, false},
	{call_eigh, false}, {call_einsum, false}, {call_mismatch, false}, {call_launch, false}};

static void *run_call(void *arg)
{
	kz_status *st = arg;
	*st = call();
	*st = *st ? *st : kz_device_synchronize(dev, &err);
	return NULL;
}

/* Only where the driver is ours: another may need more. */
START_TEST(a_thread_with_a_stack_of_64_kib_may_call_everything)
{
	pthread_attr_t attributes;
	pthread_t thread;
	kz_status st = KZ_UNKNOWN;
	if (rows[_i].is_compiled) {
		setenv("KUDZU_CACHE", "0", 1);
	}
	ok(kz_device_open(&dev, "cpu", &err));
	make_operands();
	call = rows[_i].call;
	pthread_attr_init(&attributes);
	ck_assert_int_eq(pthread_attr_setstacksize(&attributes, STACK), 0);
	ck_assert_int_eq(pthread_create(&thread, &attributes, run_call, &st), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	ck_assert_msg(st == KZ_OK, "%s", err.message);
	release_arrays(m, v, results[0], results[1]);
	support_close(dev);
}
END_TEST

static void *ask_for_room(void *arg)
{
	bool *has = arg;
	has[0] = stack_has_room(1 << 12);
	has[1] = stack_has_room(STACK);
	has[2] = stack_has_room(SIZE_MAX);
	return NULL;
}

START_TEST(a_thread_knows_how_much_stack_is_left)
{
	pthread_attr_t attributes;
	pthread_t thread;
	bool has[3];
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	ck_assert_int_eq(pthread_create(&thread, &attributes, ask_for_room, has), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	ck_assert(has[0] && !has[1] && !has[2]);
	ck_assert_int_eq(stack_run(ask_for_room, has), 0);
	ck_assert(has[0] && has[1] && !has[2]);
}
END_TEST

/* A coroutine may have any stack, of which nobody knows the size. */
static ucontext_t own, other;
static bool has_room;

static void run_coroutine(void)
{
	has_room = stack_has_room(1);
}

START_TEST(a_stack_that_is_not_the_threads_has_no_room)
{
	static char stack[STACK];
	ck_assert(stack_has_room(1));
	ck_assert_int_eq(getcontext(&other), 0);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = &own;
	makecontext(&other, run_coroutine, 0);
	has_room = true;
	ck_assert_int_eq(swapcontext(&own, &other), 0);
	ck_assert(!has_room);
}
END_TEST

SUITE(stacks)
{
	Suite *suite = suite_create("stacks");
	TCase *tc = suite_add_case(suite, "room");
	tcase_add_test(tc, a_thread_knows_how_much_stack_is_left);
	tcase_add_test(tc, a_stack_that_is_not_the_threads_has_no_room);
	tc = suite_add_case(suite, "threads");
	tcase_add_tests(tc, countof(rows), a_thread_with_a_stack_of_64_kib_may_call_everything);
	return suite;
}
