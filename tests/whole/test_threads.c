/* SPDX-License-Identifier: MIT */
/*
 * Many threads, each with a stream of its own, that do all kinds of things at once, with one device
 * and with several.  Each keeps on the host what its array must hold.  The sanitizers look for
 * other errors.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 64, COUNT = 96, DEVICES = 3 };

static const char source[] =
	"__global__ void step(int *a, int by) { a[threadIdx.x] = 3 * a[threadIdx.x] + by; }\n"
	"__global__ void count(int *sum, int by) { atomicAdd(sum, by); }\n";

/* What all threads of a device share. */
static struct place {
	kz_device *dev;
	kz_image *image;
	kz_module *module;
	kz_kernel *step, *count;
	kz_array *sum;
	atomic_int expected; /* what sum must hold */
	kz_event *event;     /* that all record and wait for */
} places[DEVICES];
static int place_count;
static int round_count;

/* What one thread has. */
struct actor {
	pthread_t thread;
	struct place *place;
	kz_stream *stream;
	kz_array *array;
	int32_t host[COUNT];    /* what it holds */
	int32_t back[COUNT];
	uint32_t seed;
	int32_t called, to_call; /* host functions */
};

static uint32_t draw(struct actor *a, uint32_t below)
{
	a->seed = a->seed * 1664525u + 1013904223u;
	return (a->seed >> 16) % below;
}

/* The same on the host as uint32_t, since the numbers overflow. */
static void step_host(struct actor *a, int32_t by)
{
	for (int i = 0; i < COUNT; i++) {
		a->host[i] = (int32_t)(3u * (uint32_t)a->host[i] + (uint32_t)by);
	}
}

static kz_launch_options launch_on(kz_stream *stream)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = stream;
	return options;
}

static kz_op_options op_on(kz_stream *stream)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.stream = stream;
	return options;
}

static void step_on(struct actor *a, kz_kernel *step, kz_stream *stream)
{
	kz_error err = KZ_ERROR_INIT;
	kz_launch_options on = launch_on(stream);
	int32_t by = (int32_t)draw(a, 1000);
	ok(kz_launch(step, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), &on, &err, KZ_ARGS(a->array, by)));
	step_host(a, by);
}

/* --- What threads do --- */

static void do_launch(struct actor *a)
{
	step_on(a, a->place->step, a->stream);
}

static void do_count(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_launch_options on = launch_on(a->stream);
	int32_t by = (int32_t)draw(a, 9);
	ok(kz_launch(a->place->count, kz_dim(2, 1, 1), kz_dim(32, 1, 1), &on, &err,
		KZ_ARGS(a->place->sum, by)));
	atomic_fetch_add(&a->place->expected, 64 * by);
}

static void do_check(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	ok(kz_array_get_async(a->array, a->back, sizeof(a->back), a->stream, &err));
	ok(kz_stream_synchronize(a->stream, &err));
	ck_assert_mem_eq(a->back, a->host, sizeof(a->back));
}

static void do_set(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	ok(kz_stream_synchronize(a->stream, &err)); /* which may read a->back yet */
	for (int i = 0; i < COUNT; i++) {
		a->host[i] = a->back[i] = (int32_t)draw(a, 1 << 16);
	}
	ok(kz_array_set_async(a->array, a->back, sizeof(a->back), a->stream, &err));
}

static void replace(struct actor *a, kz_array *with)
{
	kz_array_release(a->array); /* work on it is in flight */
	a->array = with;
}

static void do_eval(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_op_options on = op_on(a->stream);
	kz_array *next = NULL;
	ok(kz_eval(&next, "3 * x + 5", &on, &err, KZ_VARS(KZ_VAR("x", a->array))));
	replace(a, next);
	step_host(a, 5);
}

static void do_copy(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *next = NULL;
	ok(kz_array_copy_on(&next, a->array, a->stream, &err));
	replace(a, next);
}

static void do_sum(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *sum = NULL;
	int64_t expected = 0, found = 0;
	kz_reduce_options on = KZ_REDUCE_OPTIONS_INIT;
	on.stream = a->stream;
	ok(kz_reduce(&sum, KZ_REDUCE_SUM, a->array, KZ_ALL_AXES, &on, &err));
	ok(kz_array_get(sum, &found, sizeof(found), &err));
	for (int i = 0; i < COUNT; i++) {
		expected += a->host[i];
	}
	ck_assert_int_eq(found, expected);
	kz_array_release(sum);
}

/* A part of it, through a view. */
static void do_view(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *part = NULL;
	int32_t value = (int32_t)draw(a, 100);
	int from = (int)draw(a, COUNT - 1);
	ok(kz_array_slice(&part, a->array, KZ_AT(KZ_SLICE(from, KZ_OMIT)), &err));
	ok(kz_array_fill_on(part, KZ_ARG(value), a->stream, &err));
	kz_array_release(part);
	for (int i = from; i < COUNT; i++) {
		a->host[i] = value;
	}
}

/* In another stream, which goes at once, and back. */
static void do_stream(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_stream *other = NULL;
	ok(kz_stream_create(&other, a->place->dev, (int)draw(a, 2) - 1, &err));
	step_on(a, a->place->step, other);
	kz_stream_release(other);
	step_on(a, a->place->step, a->stream);
}

static void do_event(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_event *own = NULL;
	ok(kz_event_create(&own, a->place->dev, &err));
	ok(kz_event_record(own, a->stream, &err));
	ok(kz_event_record(a->place->event, a->stream, &err));
	ok(kz_stream_wait(a->stream, a->place->event, &err));
	ok(kz_event_synchronize(draw(a, 2) ? own : a->place->event, &err));
	kz_event_release(own);
}

static void call(void *user)
{
	((struct actor *)user)->called++;
}

static void do_host(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	ok(kz_stream_host(a->stream, call, a, &err));
	a->to_call++;
}

static void do_graph(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_capture_options relaxed = KZ_CAPTURE_OPTIONS_INIT;
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	ok(kz_graph_begin(a->stream, &relaxed, &err));
	step_on(a, a->place->step, a->stream);
	ok(kz_stream_host(a->stream, call, a, &err));
	ok(kz_graph_end(&graph, a->stream, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	ok(kz_exec_launch(exec, a->stream, &err));
	kz_exec_release(exec);
	a->to_call++;
}

/* A module that goes while its kernel may run. */
static void do_module(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *module = NULL;
	kz_kernel *step = NULL;
	ok(kz_module_load_image(&module, a->place->dev, a->place->image, &err));
	ok(kz_module_kernel(&step, module, "step", &err));
	step_on(a, step, a->stream);
	kz_module_release(module);
}

static void do_compile(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *module = NULL;
	kz_kernel *step = NULL;
	ok(kz_module_compile(&module, a->place->dev, source, NULL, &err));
	ok(kz_module_kernel(&step, module, "step", &err));
	step_on(a, step, a->stream);
	kz_module_release(module);
}

static void do_trim(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	ok(kz_device_trim(a->place->dev, 0, &err));
}

static void do_memory(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_pinned *pinned = NULL;
	kz_buffer *buffer = NULL;
	int32_t value = (int32_t)draw(a, 1000), *host;
	ok(kz_pinned_create(&pinned, a->place->dev, 64, &err));
	ok(kz_buffer_create_on(&buffer, a->place->dev, 4 + draw(a, 100000), a->stream, &err));
	ok(kz_fill(buffer, 0, 4, &value, 4, a->stream, &err));
	host = kz_pinned_pointer(pinned);
	ok(kz_copy_dtoh_async(host, 4, buffer, 0, a->stream, &err));
	ok(kz_stream_synchronize(a->stream, &err));
	ck_assert_int_eq(*host, value);
	kz_buffer_release(buffer);
	kz_pinned_release(pinned);
}

static void do_device(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *again = NULL;
	kz_memory_stats stats;
	ok(kz_device_open(&again, kz_device_name(a->place->dev), &err));
	ck_assert_ptr_eq(again, a->place->dev);
	kz_device_memory_stats(again, &stats);
	ck_assert_int_gt(stats.live_count, 0);
	kz_device_close(again);
}

/* To another device, where there is one, and back. */
static void do_travel(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *there = NULL, *back = NULL;
	ok(kz_array_to(&there, a->array, places[draw(a, (uint32_t)place_count)].dev, &err));
	ok(kz_array_to(&back, there, a->place->dev, &err));
	kz_array_release(there);
	replace(a, back);
}

/* Each failure is the caller's own, whatever the others do. */
static void do_mistake(struct actor *a)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *none = NULL;
	kz_kernel *kernel = NULL;
	kz_launch_options on = launch_on(a->stream);
	fails(kz_launch(a->place->step, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), &on, &err,
		KZ_ARGS(a->array)), KZ_ARGUMENT, "step");
	fails(kz_module_kernel(&kernel, a->place->module, "stop", &err), KZ_NOT_FOUND, "stop");
	fails(kz_array_zeros(&none, a->place->dev, KZ_I8, KZ_SHAPE(INT64_C(1) << 60), &err),
		KZ_DEVICE_MEMORY, "1152921504606846976");
}

typedef void deed(struct actor *a);

static deed *const everything[] = {do_launch, do_count, do_check, do_set, do_eval, do_copy, do_sum,
	do_view, do_stream, do_event, do_host, do_module, do_compile, do_memory, do_device,
	do_travel, do_mistake};
static deed *const launches[] = {do_launch, do_count, do_check};
static deed *const lives[] = {do_stream, do_event, do_module, do_memory, do_copy};
static deed *const captures[] = {do_launch, do_check, do_host, do_view, do_graph};
static deed *const waits[] = {do_module, do_trim, do_memory, do_launch};

struct role {
	deed *const *deeds;
	uint32_t count;
};

/* What even and odd threads do. */
static const struct role roles[][2] = {
	{{everything, countof(everything)}, {everything, countof(everything)}},
	{{launches, countof(launches)}, {lives, countof(lives)}},
	{{captures, countof(captures)}, {captures, countof(captures)}},
	{{captures, countof(captures)}, {waits, countof(waits)}},
};
enum { ROLES = countof(roles) };
static const struct role *role;

static void *act(void *arg)
{
	kz_error err = KZ_ERROR_INIT;
	struct actor *a = arg;
	const struct role *mine = &role[a->seed % 2];
	ok(kz_stream_create(&a->stream, a->place->dev, 0, &err));
	ok(kz_array_zeros_on(&a->array, a->place->dev, KZ_I32, KZ_SHAPE(COUNT), a->stream, &err));
	for (int i = 0; i < round_count; i++) {
		mine->deeds[draw(a, mine->count)](a);
	}
	do_check(a);
	ck_assert_int_eq(a->called, a->to_call);
	kz_array_release(a->array);
	kz_stream_release(a->stream);
	return NULL;
}

/* --- The places --- */

static void place_begin(struct place *place, const char *name)
{
	kz_error err = KZ_ERROR_INIT;
	ok(kz_device_open(&place->dev, name, &err));
	ok(kz_compile(&place->image, source, NULL, &err));
	ok(kz_module_load_image(&place->module, place->dev, place->image, &err));
	ok(kz_module_kernel(&place->step, place->module, "step", &err));
	ok(kz_module_kernel(&place->count, place->module, "count", &err));
	ok(kz_array_zeros(&place->sum, place->dev, KZ_I32, KZ_SHAPE(1), &err));
	ok(kz_event_create(&place->event, place->dev, &err));
	ok(kz_device_synchronize(place->dev, &err));
}

static void place_end(struct place *place)
{
	kz_error err = KZ_ERROR_INIT;
	int32_t sum = 0;
	ok(kz_array_get(place->sum, &sum, sizeof(sum), &err));
	ck_assert_int_eq(sum, atomic_load(&place->expected));
	kz_event_release(place->event);
	kz_array_release(place->sum);
	kz_module_release(place->module);
	kz_image_release(place->image);
	support_close(place->dev);
}

static void run_actors(const struct role which[2])
{
	static struct actor actors[THREADS];
	const char *seed = getenv("KUDZU_TEST_SEED");
	uint32_t first = seed ? (uint32_t)atol(seed) : 1;
	role = which;
	round_count = support_how_many(10000, 60, 12);
	for (uint32_t i = 0; i < THREADS; i++) {
		actors[i].place = &places[i % (uint32_t)place_count];
		actors[i].seed = 2 * first * THREADS + i / (uint32_t)place_count;
		ck_assert_int_eq(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(actors[i].thread, NULL);
	}
}

START_TEST(threads_with_their_own_streams_share_a_device)
{
	support_use_real();
	place_count = 1;
	place_begin(&places[0], support_device_name(_i / ROLES));
	run_actors(roles[_i % ROLES]);
	place_end(&places[0]);
}
END_TEST

/* Those that there are; where the CPU device is alone, two of it. */
START_TEST(threads_with_their_own_streams_share_several_devices)
{
	const int count = support_device_count();
	const bool is_alone = count == 1 && strcmp(support_device_name(0), "cpu") == 0;
	support_use_real();
	if (is_alone) {
		setenv("KUDZU_CPU_DEVICES", "2", 1);
	}
	for (int i = 0; i < count; i++) {
		place_begin(&places[place_count++], support_device_name(i));
	}
	if (is_alone) {
		place_begin(&places[place_count++], "cpu:1");
	}
	run_actors(roles[0]);
	for (int i = 0; i < place_count; i++) {
		place_end(&places[i]);
	}
}
END_TEST

/* --- Faults --- */

static const char faulty[] =
	"__global__ void tame(int *a) { a[threadIdx.x] = 7; }\n"
	"__global__ void wild(int *a)\n"
	"{\n"
	"	if (threadIdx.x == 5)\n"
	"		a[1LL << 30] = 1;\n"
	"}\n"
	"__global__ void mad(int *a)\n"
	"{\n"
	"	a[-(1LL << 30)] = 1;\n"
	"}\n";

static kz_error err;
static kz_device *dev;
static kz_module *module;
static kz_stream *a, *b;
static kz_array *of_a, *of_b;
static kz_event *passed;

static void open_faulty(int index)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.line_info = 1;
	options.name = "faulty.cu";
	dev = support_open(index);
	ok(kz_module_compile(&module, dev, faulty, &options, &err));
	ok(kz_stream_create(&a, dev, 0, &err));
	ok(kz_stream_create(&b, dev, 0, &err));
	ok(kz_array_zeros_on(&of_a, dev, KZ_I32, KZ_SHAPE(32), a, &err));
	ok(kz_array_zeros_on(&of_b, dev, KZ_I32, KZ_SHAPE(32), b, &err));
	ok(kz_event_create(&passed, dev, &err));
	ok(kz_device_synchronize(dev, &err));
}

static void close_faulty(void)
{
	kz_event_release(passed);
	release_arrays(of_a, of_b);
	kz_stream_release(a);
	kz_stream_release(b);
	kz_module_release(module);
	kz_device_close(dev);
}

static kz_status run(const char *name, kz_stream *stream, kz_array *array)
{
	kz_kernel *kernel = NULL;
	kz_launch_options on = launch_on(stream);
	kz_status st = kz_module_kernel(&kernel, module, name, &err);
	return st ? st : kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(32, 1, 1), &on, &err,
		KZ_ARGS(array));
}

static kz_status wait_for_b(void)
{
	return kz_stream_synchronize(b, &err);
}

static kz_status wait_for_event(void)
{
	kz_status st = kz_event_record(passed, b, &err);
	return st ? st : kz_event_synchronize(passed, &err);
}

static kz_status wait_for_device(void)
{
	return kz_device_synchronize(dev, &err);
}

static kz_status get(void)
{
	int32_t host[32];
	return kz_array_get(of_b, host, sizeof(host), &err);
}

/* What has come about in the stream is met by the next call that asks. */
static kz_status ask(void)
{
	kz_status st;
	while ((st = kz_stream_query(b, &err)) == KZ_NOT_READY) {
	}
	return st;
}

static kz_status (*const calls[])(void) = {wait_for_b, wait_for_event, wait_for_device, get, ask};

static bool has_lines; /* as with KUDZU_CHECK */

/* What the driver says of the kernel, if it says something. */
static void check_cause(const char *kernel, const char *thread, int line)
{
	ck_assert_int_eq(err.status, KZ_FAULT);
	/* A GPU may find that the address is in no space that an instruction has: 717. */
	ck_assert(err.code == 700 || err.code == 717);
	if (strcmp(kz_device_name(dev), "cpu") != 0) {
		return;
	}
	ck_assert_msg(err.log && strstr(err.log, kernel) && strstr(err.log, thread),
		"%s and %s are not in: %s", kernel, thread, err.log);
	ck_assert_ptr_null(strstr(err.log, "tame"));
	ck_assert_msg(!has_lines || (err.line == line && strstr(err.file, "faulty.cu")),
		"expected line %d, got %d: %s", line, err.line, err.log);
}

/* Stream b runs its own kernel, after that of stream a, and only b is ever asked. */
START_TEST(a_fault_in_another_stream_names_that_streams_kernel)
{
	const int at = _i % (2 * (int)countof(calls));
	has_lines = at % 2;
	setenv("KUDZU_CHECK", has_lines ? "memory" : "", 1);
	open_faulty(_i / (2 * (int)countof(calls)));
	ok(run("wild", a, of_a));
	kz_status st = kz_event_record(passed, a, &err);
	st = st ? st : kz_stream_wait(b, passed, &err);
	st = st ? st : run("tame", b, of_b);
	st = st ? st : calls[at / 2]();
	ck_assert_int_eq(st, KZ_FAULT);
	check_cause("kernel 'wild'", "thread (5,0,0)", 5);
	kz_error_clear(&err);
	close_faulty();
}
END_TEST

/* Two streams fault, one after the other: all later calls tell of the first. */
START_TEST(the_first_of_two_faults_is_the_cause)
{
	static const char *const kernels[] = {"wild", "mad"};
	open_faulty(_i);
	ok(run("wild", a, of_a));
	kz_status st = kz_event_record(passed, a, NULL);
	st = st ? st : kz_stream_wait(b, passed, NULL);
	st = st ? st : run(kernels[1], b, of_b);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_stream_synchronize(b, &err), KZ_FAULT);
	for (size_t i = 0; i < 2 * countof(calls); i++) {
		check_cause("kernel 'wild'", "thread (5,0,0)", 5);
		kz_error_clear(&err);
		ck_assert_int_eq(calls[i % countof(calls)](), KZ_FAULT);
		ck_assert_ptr_nonnull(strstr(err.message, "was lost by an earlier failure"));
	}
	kz_error_clear(&err);
	close_faulty();
}
END_TEST

static atomic_bool is_over;
static atomic_int mistakes;

/* Failures of the driver, which logs them, too. */
static void *make_mistakes(void *unused)
{
	while (!atomic_load(&is_over)) {
		kz_buffer *buffer = NULL;
		if (kz_buffer_create(&buffer, dev, INT64_C(1) << 60, NULL) == KZ_OK) {
			return &mistakes;
		}
		atomic_fetch_add(&mistakes, 1);
	}
	(void)unused;
	return NULL;
}

START_TEST(a_fault_is_named_while_other_threads_fail)
{
	pthread_t threads[8];
	const int times = support_how_many(400, 40, 10);
	for (int i = 0; i < times; i++) {
		atomic_store(&is_over, false);
		open_faulty(_i);
		for (size_t k = 0; k < countof(threads); k++) {
			ck_assert_int_eq(pthread_create(&threads[k], NULL, make_mistakes, NULL), 0);
		}
		int before = atomic_load(&mistakes);
		while (atomic_load(&mistakes) < before + 20) {
		}
		kz_status st = run("wild", a, of_a);
		ck_assert_int_eq(st ? st : kz_stream_synchronize(a, &err), KZ_FAULT);
		atomic_store(&is_over, true);
		for (size_t k = 0; k < countof(threads); k++) {
			pthread_join(threads[k], NULL);
		}
		if (strstr(err.message, "was lost by an earlier failure") == NULL) {
			check_cause("kernel 'wild'", "thread (5,0,0)", 5);
		}
		kz_error_clear(&err);
		ck_assert_int_eq(kz_device_check(dev, &err), KZ_FAULT);
		check_cause("kernel 'wild'", "thread (5,0,0)", 5);
		kz_error_clear(&err);
		close_faulty();
	}
}
END_TEST

/* A GPU that faulted may need a new process, and Check forks for each test. */
SUITE(threads)
{
	Suite *s = suite_create("threads");
	TCase *tc = suite_add_case(s, "mixed");
	const int count = support_device_count();
	tcase_add_loop_test(tc, threads_with_their_own_streams_share_a_device, 0,
		count * ROLES);
	tcase_add_loop_test(tc, threads_with_their_own_streams_share_several_devices, 0, count > 0);
	tc = suite_add_case(s, "faults");
	tcase_add_loop_test(tc, a_fault_in_another_stream_names_that_streams_kernel, 0,
		count * 2 * (int)countof(calls));
	tcase_add_tests(tc, count, the_first_of_two_faults_is_the_cause,
		a_fault_is_named_while_other_threads_fail);
	return s;
}
