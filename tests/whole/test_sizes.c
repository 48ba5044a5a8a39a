/* SPDX-License-Identifier: MIT */
/*
 * Sizes are checked before work, by every public function: sizes.def has calls that need more than
 * any memory, though their operands are views of one element, and each fails at once.
 *
 * A call that hangs, or that computes before it notices, is named when the time for one call is
 * over.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <signal.h>
#include <unistd.h>

enum { LIMIT_S = 30, SOME = 1 << 20 };

static kz_error error, *err = &error;
static kz_device *dev;
static kz_buffer *buffer, *growable;
static kz_array *v, *i, *b, *u, *m, *classes, *right, *w, *column, *row;
static kz_array *one, *few, *places, *square, *growing;
static kz_elementwise *elementwise;
static kz_status copy_vector(void *data, kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *why)
{
	(void)data;
	return kz_array_assign_on(to, from, stream, why);
}

static const kz_operator copying = {.size = sizeof(copying), .apply = copy_vector};
static kz_random *rng;
static kz_sparse *coo;
static kz_graph *graph;
static kz_op_options into_few;
static float host[16];
static int64_t count, side, size;
static struct {
	kz_buffer *buffer;
	kz_array *array, *arrays[4];
	kz_pinned *pinned;
	kz_cuda_array *texels;
	kz_texture *texture;
	kz_sparse *sparse;
} made;

#define HUGE(function, arguments) ALSO(function, call, arguments)
#define ALSO(function, how, arguments) \
	static kz_status how##_##function(void) \
	{ \
		return function arguments; \
	}
#define NO(why, functions)
#include "sizes.def"
#undef ALSO
#undef NO

static const struct {
	const char *name;
	kz_status (*call)(void);
} rows[] = {
#define ALSO(function, how, arguments) {#function " (" #how ")", how##_##function},
#define NO(why, functions)
#include "sizes.def"
#undef HUGE
#undef ALSO
#undef NO
};

static const char *now; /* the call */

static void sizes_end_call(int number)
{
	static const char text[] = " takes too long\n";
	(void)number;
	if (write(STDERR_FILENO, now, strlen(now)) < 0
	    || write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
		_exit(2);
	}
	_exit(1);
}

static kz_array *broadcast(kz_dtype dtype, kz_shape shape)
{
	kz_array *array, *wide;
	ck_assert_int_eq(kz_array_zeros(&array, dev, dtype, KZ_SHAPE(1), err), KZ_OK);
	ck_assert_msg(kz_array_broadcast_to(&wide, array, shape, err) == KZ_OK, "%s",
		error.message);
	kz_array_release(array);
	return wide;
}

static void make_operands(kz_dtype dtype)
{
	const kz_sparse_options trusted = {.size = sizeof(trusted), .trusted = 1};
	v = broadcast(dtype, KZ_SHAPE(count));
	i = broadcast(KZ_I64, KZ_SHAPE(count / 8));
	b = broadcast(KZ_BOOL, KZ_SHAPE(count));
	u = broadcast(KZ_U8, KZ_SHAPE(INT64_MAX));
	m = broadcast(dtype, KZ_SHAPE(side, side));
	classes = broadcast(KZ_I64, KZ_SHAPE(side));
	right = broadcast(KZ_F32, KZ_SHAPE(2, count / 8));
	w = broadcast(KZ_F32, KZ_SHAPE(SOME));
	column = broadcast(KZ_F32, KZ_SHAPE(SOME, 1));
	row = broadcast(KZ_F32, KZ_SHAPE(1, SOME));
	ck_assert(!kz_array_zeros(&one, dev, KZ_F32, KZ_SHAPE(1), err)
		&& !kz_array_zeros(&few, dev, KZ_F32, KZ_SHAPE(4), err)
		&& !kz_array_zeros(&places, dev, KZ_I64, KZ_SHAPE(4), err)
		&& !kz_array_eye(&square, dev, KZ_F32, 2, 2, 0, err)
		&& !kz_buffer_create(&buffer, dev, 64, err)
		&& !kz_buffer_create_growable(&growable, dev, 0, 64, err)
		&& !kz_array_create_growable(&growing, dev, KZ_F32, KZ_SHAPE(8), 8, err)
		&& !kz_elementwise_create(&elementwise, dev, "float *x", "x[i] = 2", NULL, err)
		&& !kz_random_create(&rng, dev, 1, 0, err)
		&& !kz_sparse_create_coo(&coo, count, count, few, places, places, &trusted, err)
		&& !kz_graph_create(&graph, dev, err));
	into_few = (kz_op_options){.size = sizeof(into_few), .into = few};
}

static void release_operands(void)
{
	release_arrays(v, i, b, u, m, classes, right, w, column, row, one, few, places, square,
		growing);
	kz_buffer_release(buffer);
	kz_buffer_release(growable);
	kz_elementwise_release(elementwise);
	kz_random_release(rng);
	kz_sparse_release(coo);
	kz_graph_release(graph);
}

static const struct {
	kz_dtype dtype;
	int64_t side;
} scales[] = {{KZ_F32, INT64_C(1) << 22}, {KZ_F32, INT64_C(1) << 30}, {KZ_U8, INT64_C(1) << 31}};

START_TEST(a_call_that_needs_more_than_any_memory_fails_at_once)
{
	dev = support_open(_i / (int)countof(scales));
	side = scales[_i % (int)countof(scales)].side;
	count = side * side;
	make_operands(scales[_i % (int)countof(scales)].dtype);
	ck_assert_int_eq(kz_npy_size(u), INT64_MAX);
	signal(SIGALRM, sizes_end_call);
	for (size_t k = 0; k < countof(rows); k++) {
		now = rows[k].name;
		alarm(LIMIT_S);
		kz_status st = rows[k].call();
		alarm(0);
		ck_assert_msg(st == KZ_INVALID || st == KZ_ARGUMENT || st == KZ_RANGE
			|| st == KZ_DEVICE_MEMORY || st == KZ_NO_MEMORY, "%s: status %d: %s", now,
			(int)st, error.message);
		kz_error_clear(err);
	}
	release_operands();
	support_close(dev);
}
END_TEST

/* Once, or in a list of those that have no such call. */
static int times_listed(const char *name)
{
	static const char *const calls[] = {
#define HUGE(function, arguments) #function,
#define ALSO(function, how, arguments)
#define NO(why, functions) " " functions " ",
#include "sizes.def"
#undef HUGE
#undef ALSO
#undef NO
	};
	char spaced[80];
	int times = 0;
	snprintf(spaced, sizeof(spaced), " %s ", name);
	for (size_t k = 0; k < countof(calls); k++) {
		times += calls[k][0] == ' ' ? strstr(calls[k], spaced) != NULL
			: !strcmp(calls[k], name);
	}
	return times;
}

START_TEST(each_function_of_the_table_of_failures_is_in_this_one)
{
#define CALLS(function, reaches, arguments) #function,
#define NEVER(function, why) #function,
	static const char *const names[] = {
#include "failures.def"
	};
#undef CALLS
#undef NEVER
	for (size_t k = 0; k < countof(names); k++) {
		ck_assert_msg(times_listed(names[k]) == 1, "expected %s in tests/whole/sizes.def, "
			"once", names[k]);
	}
}
END_TEST

SUITE(sizes)
{
	Suite *suite = suite_create("sizes");
	TCase *tc = suite_add_case(suite, "huge");
	tcase_set_timeout(tc, 2 * LIMIT_S);
	tcase_add_tests(tc, support_device_count() * (int)countof(scales),
		a_call_that_needs_more_than_any_memory_fails_at_once);
	tc = suite_add_case(suite, "table");
	tcase_add_test(tc, each_function_of_the_table_of_failures_is_in_this_one);
	return suite;
}
