/* SPDX-License-Identifier: MIT */
/*
 * A process that forks: before it uses a device both processes can, and afterwards the child is
 * told so by each call, at once, whatever the parent was doing.  What the child releases stays the
 * parent's.
 */
#include "base/common.h"

#include "support/device_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add_one(.param .u64 x)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<4>;\n"
	"\tld.param.u64 %rd1, [x];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n"
	"\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r2, [%rd3];\n\tadd.s32 %r2, %r2, 1;\n"
	"\tst.global.u32 [%rd3], %r2;\n\tret;\n}\n";

enum { COUNT = 32, PATIENCE_S = 100 };

/* What the parent has. */
static struct {
	kz_stream *stream;
	kz_array *array;
	kz_buffer *buffer;
	kz_pinned *pinned;
	kz_event *event;
	kz_graph *graph;
	kz_exec *exec;
	kz_module *module;
	kz_kernel *kernel;
} own;

static bool is_stub; /* the stub: its kernels do nothing, and its streams are empty */

static void create_own(void)
{
	ok(kz_stream_create(&own.stream, dev, 0, &err));
	ok(kz_array_zeros(&own.array, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	own.buffer = create_buffer(64);
	ok(kz_pinned_create(&own.pinned, dev, 64, &err));
	ok(kz_event_create(&own.event, dev, &err));
	ok(kz_module_load(&own.module, dev, ptx, sizeof(ptx) - 1, &err));
	ok(kz_module_kernel(&own.kernel, own.module, "add_one", &err));
	ok(kz_graph_begin(own.stream, NULL, &err));
	ok(kz_event_record(own.event, own.stream, &err));
	ok(kz_graph_end(&own.graph, own.stream, &err));
	ok(kz_graph_instantiate(&own.exec, own.graph, &err));
	ok(kz_event_record(own.event, own.stream, &err));
	ok(kz_launch(own.kernel, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), NULL, &err,
		KZ_ARGS(own.array)));
	ok(kz_stream_synchronize(own.stream, &err));
}

static void release_own(void)
{
	kz_exec_release(own.exec);
	kz_graph_release(own.graph);
	kz_module_release(own.module);
	kz_event_release(own.event);
	kz_pinned_release(own.pinned);
	kz_buffer_release(own.buffer);
	kz_array_release(own.array);
	kz_stream_release(own.stream);
}

/* The parent goes on. */
static void check_own(void)
{
	int32_t host[COUNT];
	ok(kz_launch(own.kernel, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), NULL, &err,
		KZ_ARGS(own.array)));
	ok(kz_array_get(own.array, host, sizeof(host), &err));
	for (int i = 0; !is_stub && i < COUNT; i++) {
		ck_assert_int_eq(host[i], 2);
	}
	ok(kz_event_synchronize(own.event, &err));
	ok(kz_exec_launch(own.exec, own.stream, &err));
	ok(kz_device_synchronize(dev, &err));
}

/* --- Children, which have no Check to complain to --- */

static int complaints;
static kz_error why;

/* Check's own handler ends the parent, too. */
static void limit_time(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(PATIENCE_S);
}

static void complain(int line, const char *what)
{
	fprintf(stderr, "test_forks.c:%d: %s: %s\n", line, what, why.message);
	complaints++;
}

/* The call is refused because of the fork. */
#define REFUSED(call) do { \
	kz_status refused = (call); \
	if (refused != KZ_STATE || !strstr(why.message, "this process was forked") || !why.hint) { \
		complain(__LINE__, #call); \
	} \
	kz_error_clear(&why); \
} while (0)

static void try_everything(bool has_kernels)
{
	char host[64] = {0};
	kz_stream *stream;
	kz_array *array;
	kz_buffer *buffer;
	kz_pinned *pinned;
	kz_event *event;
	kz_module *module;
	kz_graph *graph;
	REFUSED(kz_device_check(dev, &why));
	REFUSED(kz_device_synchronize(dev, &why));
	REFUSED(kz_device_memory(dev, NULL, NULL, &why));
	REFUSED(kz_stream_create(&stream, dev, 0, &why));
	REFUSED(kz_stream_synchronize(own.stream, &why));
	REFUSED(kz_stream_query(own.stream, &why));
	REFUSED(kz_array_zeros(&array, dev, KZ_I32, KZ_SHAPE(COUNT), &why));
	REFUSED(kz_array_get(own.array, host, sizeof(int32_t[COUNT]), &why));
	REFUSED(kz_array_fill(own.array, KZ_ARG(1), &why));
	REFUSED(kz_buffer_create(&buffer, dev, 64, &why));
	REFUSED(kz_copy_htod(own.buffer, 0, host, 64, &why));
	REFUSED(kz_copy_dtoh(host, 64, own.buffer, 0, &why));
	REFUSED(kz_pinned_create(&pinned, dev, 64, &why));
	REFUSED(kz_event_create(&event, dev, &why));
	REFUSED(kz_event_record(own.event, own.stream, &why));
	REFUSED(kz_module_load(&module, dev, ptx, sizeof(ptx) - 1, &why));
	REFUSED(kz_launch(own.kernel, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), NULL, &why,
		KZ_ARGS(own.array)));
	REFUSED(kz_graph_begin(own.stream, NULL, &why));
	REFUSED(kz_graph_create(&graph, dev, &why));
	REFUSED(kz_exec_launch(own.exec, own.stream, &why));
	if (has_kernels) {
		REFUSED(kz_add(&array, own.array, own.array, &why));
		REFUSED(kz_eval(&array, "2 * a", NULL, &why, KZ_VARS(KZ_VAR("a", own.array))));
	}
}

/* Exit handlers run, where nothing forbids that: exit() takes the lock of the C library's loader,
 * which a thread of the parent may have had; and the leak sanitizer looks for what those threads
 * had. */
#ifdef __SANITIZE_ADDRESS__
enum { CAN_EXIT = false };
#else
enum { CAN_EXIT = true };
#endif
static bool has_threads;

/* A thread of the parent may have a lock of the thread sanitizer's allocator, which GCC's does not
 * take before it forks: the child would wait for it forever. */
#ifdef __SANITIZE_THREAD__
enum { CAN_HAVE_THREADS = false };
#else
enum { CAN_HAVE_THREADS = true };
#endif

static void run_child(const char *name)
{
	kz_device *again = NULL;
	long calls = is_stub ? support_stub_calls(NULL) : 0;
	limit_time();
	REFUSED(kz_device_open(&again, name, &why));
	REFUSED(kz_device_open(&again, NULL, &why));
	REFUSED(kz_try_gpu(&again, 0, &why));
	if (own.stream) {
		try_everything(!is_stub);
		release_own();
		kz_device_close(dev);
	}
	REFUSED(kz_device_open(&again, name, &why));
	if (is_stub && support_stub_calls(NULL) != calls) {
		complain(__LINE__, "a call of the driver");
	}
	if (has_threads || !CAN_EXIT) {
		_exit(complaints != 0);
	}
	exit(complaints != 0);
}

static void await(pid_t child)
{
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x",
		(unsigned)status);
}

/* --- What the parent may be doing --- */

static atomic_bool is_over;
static atomic_int rounds;
static kz_stream *gated;

static void hold(void *unused)
{
	(void)unused;
	while (!atomic_load(&is_over)) {
		usleep(100);
	}
}

static void nothing(void)
{
}

/* Work that has not begun, after a function that waits for the parent. */
static void enqueue(void)
{
	ok(kz_stream_create(&gated, dev, 0, &err));
	if (!is_stub) {
		ok(kz_stream_host(gated, hold, NULL, &err));
	}
	kz_launch_options on = KZ_LAUNCH_OPTIONS_INIT;
	on.stream = gated;
	kz_array *array = NULL;
	ok(kz_array_zeros_on(&array, dev, KZ_I32, KZ_SHAPE(COUNT), gated, &err));
	ok(kz_launch(own.kernel, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), &on, &err, KZ_ARGS(array)));
	kz_array_release(array);
}

static void capture(void)
{
	ok(kz_stream_create(&gated, dev, 0, &err));
	ok(kz_graph_begin(gated, NULL, &err));
}

static void begin_trace(void)
{
	ok(kz_trace_begin("/dev/null", &err));
}

static kz_status open_and_close(void)
{
	kz_device *again = NULL;
	kz_status st = kz_device_open(&again, kz_device_name(dev), NULL);
	kz_device_close(again);
	return st;
}

static kz_status churn(void)
{
	kz_stream *stream = NULL;
	kz_array *array = NULL;
	kz_pinned *pinned = NULL;
	kz_status st;
	if (!(st = kz_stream_create(&stream, dev, 0, NULL))
	    && !(st = kz_array_zeros_on(&array, dev, KZ_I32, KZ_SHAPE(COUNT), stream, NULL))) {
		st = kz_pinned_create(&pinned, dev, 100, NULL);
	}
	kz_pinned_release(pinned);
	kz_array_release(array);
	kz_stream_release(stream);
	return st;
}

static kz_status launch(void)
{
	kz_array *array = NULL;
	kz_status st;
	if (!(st = kz_array_zeros(&array, dev, KZ_I32, KZ_SHAPE(COUNT), NULL))
	    && !(st = kz_launch(own.kernel, kz_dim(1, 1, 1), kz_dim(COUNT, 1, 1), NULL, NULL,
			KZ_ARGS(array)))) {
		st = kz_device_synchronize(dev, NULL);
	}
	kz_array_release(array);
	return st;
}

static kz_status load_module(void)
{
	kz_module *module = NULL;
	kz_status st = kz_module_load(&module, dev, ptx, sizeof(ptx) - 1, NULL);
	kz_module_release(module);
	return st;
}

static kz_status make_mistakes(void)
{
	int32_t host;
	return kz_copy_dtoh(&host, 4, own.buffer, -1, NULL) == KZ_OK ? KZ_UNKNOWN : KZ_OK;
}

/* One call of them all in each round of a thread. */
static const struct state {
	const char *name;
	void (*begin)(void);
	kz_status (*loop)(void); /* of threads */
} states[] = {
	{"nothing", nothing, NULL}, {"work is queued", enqueue, NULL},
	{"a capture goes on", capture, NULL},
	{"a trace is on", begin_trace, NULL},
	{"threads open and close", nothing, open_and_close},
	{"threads create and release", nothing, churn}, {"threads launch", nothing, launch},
	{"threads load modules", nothing, load_module},
	{"threads make mistakes", nothing, make_mistakes},
};

static void *run_loop(void *loop)
{
	kz_status (*const *call)(void) = loop;
	kz_status st = KZ_OK;
	while (!st && !atomic_load(&is_over)) {
		st = (*call)();
		atomic_fetch_add(&rounds, 1);
	}
	return st ? loop : NULL;
}

/* What a state has begun. */
static void end_state(void)
{
	atomic_store(&is_over, true);
	if (gated && kz_stream_is_capturing(gated)) {
		ok(kz_graph_abort(gated, &err));
	} else if (gated) {
		ok(kz_stream_synchronize(gated, &err)); /* or the next state would hold() it
		                                           again */
	}
	kz_stream_release(gated);
}

static void begin(int index)
{
	is_stub = index == support_device_count();
	setup(index);
	if (is_stub) {
		support_stub_calls(NULL); /* a child cannot look it up */
	}
}

#define CHILD_TEST(name) TEST_BETWEEN(begin(_i), teardown(), name)

CHILD_TEST(a_child_is_refused_whatever_its_parent_does)
{
	const int forks = support_how_many(200, 10, 5);
	const char *name = kz_device_name(dev);
	create_own();
	for (size_t i = 0; i < countof(states); i++) {
		if (states[i].loop && !CAN_HAVE_THREADS) {
			continue;
		}
		pthread_t threads[3];
		void *failed = NULL;
		size_t count = states[i].loop ? countof(threads) : 0;
		atomic_store(&is_over, false);
		has_threads = count > 0;
		gated = NULL;
		states[i].begin();
		for (size_t k = 0; k < count; k++) {
			ck_assert_int_eq(pthread_create(&threads[k], NULL, run_loop,
				(void *)&states[i].loop), 0);
		}
		for (int k = 0; k < (count ? forks : 1); k++) {
			int before = atomic_load(&rounds);
			while (count && atomic_load(&rounds) == before) {
			}
			pid_t child = fork();
			if (child == 0) {
				run_child(name);
			}
			await(child);
		}
		end_state();
		for (size_t k = 0; k < count; k++) {
			pthread_join(threads[k], &failed);
			ck_assert_msg(!failed, "%s", states[i].name);
		}
	}
	ok(kz_trace_end(&err));
	check_own();
	release_own();
}

CHILD_TEST(a_child_of_a_child_is_refused)
{
	create_own();
	pid_t child = fork();
	if (child == 0) {
		pid_t grandchild = fork();
		int status = -1;
		if (grandchild == 0) {
			run_child(kz_device_name(dev));
		}
		waitpid(grandchild, &status, 0);
		_exit(status != 0);
	}
	await(child);
	check_own();
	release_own();
}

CHILD_TEST(a_child_is_refused_after_its_parent_has_closed_the_device)
{
	char name[16];
	snprintf(name, sizeof(name), "%s", kz_device_name(dev));
	kz_device_close(dev);
	own.stream = NULL;
	pid_t child = fork();
	if (child == 0) {
		run_child(name);
	}
	await(child);
	ok(kz_device_open(&dev, name, &err));
}

/* --- Before the first use --- */

static void use_device(int index)
{
	begin(index);
	create_own();
	check_own();
	release_own();
	teardown();
}

START_TEST(parent_and_children_use_a_device_that_none_used_before)
{
	pid_t children[3];
	for (size_t i = 0; i < countof(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			limit_time();
			use_device(_i);
			_exit(0);
		}
	}
	use_device(_i);
	for (size_t i = 0; i < countof(children); i++) {
		await(children[i]);
	}
}
END_TEST

/* A parent that has the CUDA driver alone: the other one is the child's. */
START_TEST(a_child_can_use_a_driver_that_its_parent_did_not_use)
{
	dev = support_open_stub("");
	pid_t child = fork();
	if (child == 0) {
		kz_device *parents = dev;
		limit_time();
		REFUSED(kz_device_open(&dev, "cuda", &why));
		REFUSED(kz_device_open(&dev, NULL, &why));
		kz_device_close(parents);
		if (support_device_count() > 0 && strcmp(support_device_name(0), "cpu") == 0) {
			use_device(0);
		}
		_exit(complaints != 0);
	}
	await(child);
	support_close_stub(dev);
}
END_TEST

/* cuInit has failed: there is nothing that could be broken in the child. */
START_TEST(a_driver_that_did_not_start_is_none_that_was_used)
{
	support_stub("init=100");
	ck_assert_int_eq(kz_cuda_device_count(), 0);
	pid_t child = fork();
	if (child == 0) {
		support_stub("");
		dev = NULL;
		int failed = kz_device_open(&dev, "cuda", NULL) != KZ_OK;
		kz_device_close(dev);
		_exit(failed);
	}
	await(child);
}
END_TEST

SUITE(forks)
{
	Suite *s = suite_create("forks");
	TCase *tc = suite_add_case(s, "after the first use");
	tcase_add_tests(tc, support_device_count() + 1, a_child_is_refused_whatever_its_parent_does,
		a_child_of_a_child_is_refused,
		a_child_is_refused_after_its_parent_has_closed_the_device);
	tc = suite_add_case(s, "before the first use");
	tcase_add_tests(tc, support_device_count() + 1,
		parent_and_children_use_a_device_that_none_used_before);
	tcase_add_tests(tc, 1, a_child_can_use_a_driver_that_its_parent_did_not_use,
		a_driver_that_did_not_start_is_none_that_was_used);
	return s;
}
