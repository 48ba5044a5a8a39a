/* SPDX-License-Identifier: MIT */
/* Captures of kernels and of operations on arrays: what a launch computes, what stays alive. */
#include "base/common.h"

#include "support/device_test.h"

#include <pthread.h>

enum { N = 1000 };

static const char source[] =
	"extern \"C\" __global__ void axpy(float *y, const float *x, float a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) { y[i] += a * x[i]; }\n"
	"}\n"
	"__device__ int count;\n"
	"extern \"C\" __global__ void tick() { count++; }\n"
	"extern \"C\" __global__ void set(float *y, float a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) { y[i] = a; }\n"
	"}\n";

static kz_module *module;
static kz_kernel *axpy, *set;
static kz_stream *stream;

static void open_module(int index)
{
	open_kernels(index);
	ok(kz_module_compile(&module, dev, source, NULL, &err));
	ok(kz_module_kernel(&axpy, module, "axpy", &err));
	ok(kz_module_kernel(&set, module, "set", &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
}

static void close_module(void)
{
	kz_stream_release(stream);
	kz_module_release(module);
	teardown();
}

#define CAPTURE_TEST(name) TEST_BETWEEN(open_module(_i), close_module(), name)

static kz_array *filled(float value)
{
	kz_array *array;
	ok(kz_array_full(&array, dev, KZ_F32, KZ_SHAPE(N), &value, sizeof(value), &err));
	return array;
}

/* All elements of an array. */
static void check_all(kz_array *array, double want)
{
	float host[N];
	ok(kz_array_get(array, host, sizeof(host), &err));
	for (int i = 0; i < N; i++) {
		ck_assert_msg((double)host[i] == want, "%d: %g, not %g", i, (double)host[i], want);
	}
}

static void launch_axpy(kz_stream *in, kz_array *y, kz_array *x, float a)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = in;
	ok(kz_launch(
		axpy, kz_dim(4, 1, 1), kz_dim(256, 1, 1), &options, &err, KZ_ARGS(y, x, a, N)));
}

static kz_exec *end_capture(kz_stream *in)
{
	kz_graph *graph;
	kz_exec *exec;
	ok(kz_graph_end(&graph, in, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	return exec;
}

CAPTURE_TEST(a_captured_kernel_runs_at_each_launch)
{
	kz_array *x = filled(2), *y = filled(1);
	ok(kz_graph_begin(stream, NULL, &err));
	ck_assert(kz_stream_is_capturing(stream));
	launch_axpy(stream, y, x, 0.5f);
	kz_exec *exec = end_capture(stream);
	ck_assert(!kz_stream_is_capturing(stream));
	check_all(y, 1);
	for (int i = 1; i <= 3; i++) {
		ok(kz_exec_launch(exec, i == 2 ? stream : NULL, &err));
	}
	check_all(y, 4);
	kz_exec_release(exec);
	release_arrays(x, y);
}

/* Arrays, kz_eval and reductions on the default stream; all temporary memory is released at
 * once. */
CAPTURE_TEST(operations_on_arrays_are_captured_with_their_memory)
{
	kz_stream *home = kz_device_stream(dev);
	kz_array *x = filled(3), *total = NULL, *shifted = NULL, *other[8];
	ok(kz_sum(&total, x, KZ_ALL_AXES, &err));
	int64_t before = memory_stats().live_count;
	ok(kz_graph_begin(home, NULL, &err));
	kz_array *twice, *squares;
	ok(kz_multiply(&twice, 2, x, &err));
	ok(kz_eval(&squares, "twice * twice + 1", NULL, &err, KZ_VARS(twice)));
	kz_reduce_options into = KZ_REDUCE_OPTIONS_INIT;
	into.into = total;
	ok(kz_reduce(NULL, KZ_REDUCE_SUM, squares, KZ_ALL_AXES, &into, &err));
	ok(kz_add(&shifted, squares, 1, &err));
	release_arrays(twice, squares);
	kz_exec *exec = end_capture(home);
	ck_assert_int_gt(memory_stats().live_count, before + 1);
	/* What others get now must not be what the graph writes to. */
	for (int i = 0; i < 8; i++) {
		other[i] = filled((float)i);
	}
	for (int round = 1; round <= 3; round++) {
		float value = (float)round;
		ok(kz_array_fill(x, KZ_ARG(value), &err));
		ok(kz_exec_launch(exec, round == 2 ? stream : NULL, &err));
		double want = 4.0 * round * round + 1;
		check_all(shifted, want + 1);
		float sum;
		ok(kz_array_get(total, &sum, sizeof(sum), &err));
		ck_assert_msg((double)sum == want * N, "%g", (double)sum);
		for (int i = 0; i < 8; i++) {
			check_all(other[i], i);
		}
	}
	kz_exec_release(exec);
	support_release_arrays(other, 8);
	release_arrays(x, total, shifted);
	ck_assert_int_eq(memory_stats().live_count, 0);
}

CAPTURE_TEST(a_graph_keeps_arrays_and_modules_that_were_released)
{
	kz_array *x = filled(2), *y = filled(1);
	kz_module *own;
	kz_kernel *kernel;
	ok(kz_module_compile(&own, dev, "extern \"C\" __global__ void own(float *y, const float *x)"
		"{ y[threadIdx.x] = y[threadIdx.x] + 10 * x[threadIdx.x]; }", NULL, &err));
	ok(kz_module_kernel(&kernel, own, "own", &err));
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = stream;
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(N, 1, 1), &options, &err, KZ_ARGS(y, x)));
	kz_exec *exec = end_capture(stream);
	kz_array_release(x);
	kz_module_release(own);
	kz_array *others[4] = {filled(7), filled(7), filled(7), filled(7)};
	ok(kz_exec_launch(exec, NULL, &err));
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 41);
	check_all(others[0], 7);
	kz_array_release(y); /* while the launch may be in flight, and the graph has it still */
	ok(kz_exec_launch(exec, stream, &err));
	kz_exec_release(exec);
	ok(kz_device_synchronize(dev, &err));
	check_all(others[3], 7);
	support_release_arrays(others, 4);
}

/* Two branches and back; the second axpy reads what the first wrote, in another stream. */
CAPTURE_TEST(streams_join_a_capture_and_are_joined_back)
{
	kz_stream *side;
	kz_event *fork, *join;
	kz_array *a = filled(1), *b = filled(0), *c = filled(0);
	kz_graph *graph;
	kz_exec *exec;
	int64_t nodes, edges;
	ok(kz_stream_create(&side, dev, 0, &err));
	ok(kz_event_create(&fork, dev, &err));
	ok(kz_event_create(&join, dev, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_event_record(fork, stream, &err));
	ok(kz_stream_wait(side, fork, &err));
	ck_assert(kz_stream_is_capturing(side));
	launch_axpy(stream, b, a, 2);
	launch_axpy(side, c, b, 3); /* after the other, by b */
	launch_axpy(stream, b, a, 100); /* after that, by b again */
	ok(kz_event_record(join, side, &err));
	ok(kz_stream_wait(stream, join, &err));
	fails(kz_event_query(join, &err), KZ_STATE,
		"kz_event_query: the event was recorded in a capture");
	ok(kz_graph_end(&graph, stream, &err));
	ck_assert(!kz_stream_is_capturing(side));
	ok(kz_graph_count(&nodes, &edges, graph, &err));
	ck_assert_int_eq(nodes, 3);
	ck_assert_int_eq(edges, 3); /* the third kernel comes after both others */
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(b, 102);
	check_all(c, 6);
	fails(kz_stream_wait(side, join, &err), KZ_STATE, "a capture that has ended");
	ok(kz_event_record(join, side, &err));
	ok(kz_event_synchronize(join, &err));
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_event_release(fork);
	kz_event_release(join);
	kz_stream_release(side);
	release_arrays(a, b, c);
}

CAPTURE_TEST(a_stream_that_is_not_joined_back_ends_the_capture_with_a_reason)
{
	kz_stream *side;
	kz_event *fork;
	kz_graph *graph = (kz_graph *)&err;
	kz_array *a = filled(1), *b = filled(0);
	ok(kz_stream_create(&side, dev, 0, &err));
	ok(kz_event_create(&fork, dev, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_event_record(fork, stream, &err));
	ok(kz_stream_wait(side, fork, &err));
	launch_axpy(side, b, a, 2);
	fails(kz_graph_end(&graph, side, &err), KZ_STATE,
		"has joined the capture of another stream");
	fails(kz_graph_end(&graph, stream, &err), KZ_STATE, "was not joined back");
	ck_assert_ptr_null(graph);
	ck_assert(!kz_stream_is_capturing(stream) && !kz_stream_is_capturing(side));
	launch_axpy(side, b, a, 3);
	launch_axpy(stream, b, a, 4);
	check_all(b, 7);
	kz_event_release(fork);
	kz_stream_release(side);
	release_arrays(a, b);
}

/* Each call that cannot be captured names itself, and the capture goes on. */
CAPTURE_TEST(calls_that_wait_are_refused_by_name)
{
	kz_stream *home = kz_device_stream(dev);
	float host[N] = {0};
	kz_array *a = filled(1), *b = filled(2), *made = NULL, *other = NULL,
		 *indexes = support_counted(dev, KZ_SHAPE(4)), *scores = NULL;
	kz_event *event;
	ok(kz_event_create(&event, dev, &err));
	ok(kz_array_zeros(&scores, dev, KZ_F32, KZ_SHAPE(4, 8), &err));
	ok(kz_graph_begin(home, NULL, &err));
	launch_axpy(NULL, b, a, 1);
	fails(kz_array_get(b, host, sizeof(host), &err), KZ_STATE, "kz_array_get: ");
	fails(kz_array_set(b, host, sizeof(host), &err), KZ_STATE, "kz_array_set: ");
	fails(kz_array_from(&made, dev, KZ_F32, KZ_SHAPE(N), host, sizeof(host), &err), KZ_STATE,
		"kz_array_from: ");
	fails(kz_array_print(a, stdout, &err), KZ_STATE, "kz_array_print: ");
	fails(kz_array_format(b, NULL, 0, NULL, &err), KZ_STATE, "kz_array_format: ");
	fails(kz_array_save(b, "/tmp/never.npy", &err), KZ_STATE, "kz_array_save: ");
	fails(kz_stream_synchronize(home, &err), KZ_STATE, "kz_stream_synchronize: ");
	fails(kz_stream_query(home, &err), KZ_STATE, "kz_stream_query: ");
	fails(kz_device_synchronize(dev, &err), KZ_STATE, "kz_device_synchronize waits");
	fails(kz_reduce_get_as(host, KZ_F32, KZ_REDUCE_MAX, a, NULL, &err), KZ_STATE,
		"kz_reduce_get_as: ");
	fails(kz_array_nonzero(&made, a, &err), KZ_STATE, "kz_array_nonzero: ");
	fails(kz_array_compress(&made, a, a, &err), KZ_STATE, "kz_array_compress: ");
	fails(kz_array_take(&made, a, indexes, 0, KZ_INDEX_CHECK, &err), KZ_STATE,
		"kz_array_take: ");
	fails(kz_array_take_along_axis(&made, a, indexes, 0, KZ_INDEX_CHECK, &err), KZ_STATE,
		"kz_array_take_along_axis: ");
	fails(kz_array_put(a, indexes, b, KZ_INDEX_CHECK, &err), KZ_STATE, "kz_array_put: ");
	fails(kz_array_scatter(a, indexes, b, KZ_SCATTER_ADD, NULL, &err), KZ_STATE,
		"kz_array_scatter: ");
	fails(kz_segment_reduce(&made, a, indexes, KZ_REDUCE_SUM, NULL, &err), KZ_STATE,
		"kz_segment_reduce: ");
	fails(kz_segment_combine(&made, a, indexes, "a", "a", NULL, &err), KZ_STATE,
		"kz_segment_combine: ");
	fails(kz_reduce_by_key(&made, &other, a, a, KZ_REDUCE_SUM, NULL, &err), KZ_STATE,
		"kz_reduce_by_key: ");
	fails(kz_run_length_encode(&made, &other, a, NULL, &err), KZ_STATE,
		"kz_run_length_encode: ");
	fails(kz_run_length_decode(&made, indexes, indexes, NULL, &err), KZ_STATE,
		"kz_run_length_decode: ");
	fails(kz_digitize(&made, a, b, NULL, &err), KZ_STATE, "kz_digitize: ");
	fails(kz_histogram(&made, NULL, a, NULL, &err), KZ_STATE, "kz_histogram: ");
	fails(kz_bincount(&made, indexes, NULL, &err), KZ_STATE, "kz_bincount: ");
	fails(kz_one_hot(&made, indexes, 4, NULL, &err), KZ_STATE, "kz_one_hot: ");
	fails(kz_cross_entropy(&made, NULL, scores, indexes, NULL, &err), KZ_STATE,
		"kz_cross_entropy: ");
	fails(kz_launch(set, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(host, sizeof(host)), 1.0f, N)), KZ_STATE, "which a capture cannot");
	fails(kz_copy_dtoh(host, 4, kz_array_buffer(a), 0, &err), KZ_STATE, "kz_copy_dtoh: ");
	fails(kz_copy_htod(kz_array_buffer(a), 0, host, 4, &err), KZ_STATE, "kz_copy_htod: ");
	fails(kz_graph_begin(home, NULL, &err), KZ_STATE, "captured already");
	ok(kz_event_record(event, stream, &err)); /* not captured */
	fails(kz_stream_wait(home, event, &err), KZ_STATE, "recorded outside of it");
	ck_assert_ptr_null(made);
	launch_axpy(NULL, b, a, 1);
	kz_exec *exec = end_capture(home);
	check_all(b, 2);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(b, 4);
	kz_exec_release(exec);
	kz_event_release(event);
	release_arrays(a, b, indexes, scores);
}

/* Where no index is checked, nothing has to be waited for. */
CAPTURE_TEST(taking_along_an_axis_is_captured)
{
	static const float rows[6] = {1, 2, 3, 4, 5, 6};
	static const int32_t places[2] = {2, 7}, others[2] = {1, 0};
	kz_stream *home = kz_device_stream(dev);
	kz_array *from, *indexes, *wrapped, *clipped;
	float got[2];
	ok(kz_array_from(&from, dev, KZ_F32, KZ_SHAPE(2, 3), rows, sizeof(rows), &err));
	ok(kz_array_from(&indexes, dev, KZ_I32, KZ_SHAPE(2, 1), places, sizeof(places), &err));
	ok(kz_graph_begin(home, NULL, &err));
	ok(kz_array_take_along_axis(&wrapped, from, indexes, 1, KZ_INDEX_WRAP, &err));
	ok(kz_array_take_along_axis(&clipped, from, indexes, 1, KZ_INDEX_CLIP, &err));
	kz_exec *exec = end_capture(home);
	for (int round = 0; round < 2; round++) {
		ok(kz_exec_launch(exec, NULL, &err));
		ok(kz_array_get(wrapped, got, sizeof(got), &err));
		ck_assert(got[0] == (round ? 2.0f : 3.0f) && got[1] == (round ? 4.0f : 5.0f));
		ok(kz_array_get(clipped, got, sizeof(got), &err));
		ck_assert(got[0] == (round ? 2.0f : 3.0f) && got[1] == (round ? 4.0f : 6.0f));
		ok(kz_array_set(indexes, others, sizeof(others), &err));
	}
	kz_exec_release(exec);
	release_arrays(from, indexes, wrapped, clipped);
}

/* What a captured stream did before is waited for; nobody joins the capture by waiting. */
CAPTURE_TEST(other_streams_use_memory_of_a_captured_stream)
{
	kz_array *a = filled(1), *b = filled(0), *result = filled(0);
	int64_t nodes;
	kz_graph *graph;
	for (int i = 0; i < 50; i++) {
		launch_axpy(stream, b, a, 1);
	}
	ok(kz_graph_begin(stream, NULL, &err));
	kz_array *copy;
	ok(kz_add(&copy, b, 1, &err)); /* in the default stream */
	check_all(copy, 51);
	check_all(b, 50);
	launch_axpy(stream, result, b, 1);
	fails(kz_array_get(b, &nodes, sizeof(nodes), &err), KZ_RANGE, "expected");
	float host[N];
	fails(kz_array_get(b, host, sizeof(host), &err), KZ_STATE,
		"kz_array_get: a graph that is being captured uses this memory");
	launch_axpy(NULL, b, a, 1);
	check_all(copy, 51);
	ok(kz_graph_end(&graph, stream, &err));
	ok(kz_graph_count(&nodes, NULL, graph, &err));
	ck_assert_int_eq(nodes, 1);
	check_all(b, 51);
	kz_graph_release(graph);
	release_arrays(a, b, copy, result);
}

CAPTURE_TEST(arguments_change_by_the_name_of_the_node)
{
	kz_array *x = filled(1), *y = filled(0), *z = filled(0);
	kz_exec *exec;
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, 1);
	launch_axpy(stream, y, x, 10);
	exec = end_capture(stream);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 11);
	ok(kz_exec_set_args(exec, "axpy#2", &err, KZ_ARGS(z, x, 100, N)));
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 12);
	check_all(z, 100);
	fails(kz_exec_set_args(exec, "axpy#3", &err, KZ_ARGS(z, x, 1.0f, N)), KZ_NOT_FOUND,
		"no node 'axpy#3'");
	fails(kz_exec_set_args(exec, "axpy", &err, KZ_ARGS(z, x, 1.0f)), KZ_ARGUMENT,
		"'axpy' takes 4 arguments, got 3");
	fails(kz_exec_set_args(exec, "axpy", &err, KZ_ARGS(z, x, 0.1, N)), KZ_ARGUMENT,
		"argument 3 of 'axpy'");
	fails(kz_exec_set_args(exec, "axpy", &err, KZ_ARGS(KZ_OUT(&err, 8), x, 1.0f, N)),
		KZ_ARGUMENT, "belong to one launch");
	fails(kz_exec_set_args(NULL, "axpy", &err, KZ_ARGS()), KZ_INVALID, "an executable graph");
	/* The memory of the argument before is free again, and the new one is kept. */
	int64_t live = memory_stats().live_count;
	kz_array_release(z);
	ck_assert_int_eq(memory_stats().live_count, live);
	ok(kz_exec_set_args(exec, "axpy#2", &err, KZ_ARGS(y, x, 1000.0f, N)));
	ck_assert_int_eq(memory_stats().live_count, live - 1);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 1013);
	kz_exec_release(exec);
	release_arrays(x, y);
}

static kz_graph *captured_pair(kz_array *y, kz_array *x, float a, float b)
{
	kz_graph *graph;
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, a);
	launch_axpy(stream, y, x, b);
	ok(kz_graph_end(&graph, stream, &err));
	return graph;
}

CAPTURE_TEST(a_graph_of_the_same_shape_updates_an_executable_one)
{
	kz_array *x = filled(1), *y = filled(0), *z = filled(0);
	kz_graph *first = captured_pair(y, x, 1, 2), *second = captured_pair(z, x, 10, 20), *third;
	kz_exec *exec;
	ok(kz_graph_instantiate(&exec, first, &err));
	kz_graph_release(first);
	ok(kz_exec_update(exec, second, &err));
	kz_graph_release(second);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 0);
	check_all(z, 30);
	ok(kz_exec_set_args(exec, "axpy", &err, KZ_ARGS(y, x, 5.0f, N)));
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 5);
	check_all(z, 50);
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, 1);
	ok(kz_graph_end(&third, stream, &err));
	fails(kz_exec_update(exec, third, &err), KZ_INVALID, "the same nodes and edges, 2 and 1");
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(z, 70);
	kz_graph_release(third);
	kz_exec_release(exec);
	release_arrays(x, y, z);
}

CAPTURE_TEST(a_clone_has_the_nodes_and_their_names)
{
	kz_array *x = filled(1), *y = filled(0);
	kz_graph *graph = captured_pair(y, x, 1, 2), *clone;
	kz_exec *exec;
	ok(kz_node_set_name(kz_graph_node(graph, "axpy#2"), "last", &err));
	fails(kz_node_set_name(kz_graph_node(graph, "last"), "axpy", &err), KZ_INVALID,
		"has the name");
	fails(kz_node_set_name(kz_graph_node(graph, "last"), "", &err), KZ_INVALID, "an empty one");
	ok(kz_graph_clone(&clone, graph, &err));
	kz_graph_release(graph);
	release_arrays(x);
	ck_assert_str_eq(kz_node_name(kz_graph_node(clone, "last")), "last");
	ck_assert_ptr_null(kz_graph_node(clone, "axpy#2"));
	ok(kz_graph_instantiate(&exec, clone, &err));
	kz_graph_release(clone);
	ok(kz_exec_set_args(exec, "last", &err, KZ_ARGS(y, y, 1.0f, N)));
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 2);
	kz_exec_release(exec);
	kz_array_release(y);
}

CAPTURE_TEST(a_launch_in_a_capture_is_a_node_of_it)
{
	kz_array *x = filled(1), *y = filled(0);
	kz_graph *inner = captured_pair(y, x, 1, 2);
	kz_exec *exec, *outer;
	ok(kz_graph_instantiate(&exec, inner, &err));
	kz_graph_release(inner);
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, 10);
	ok(kz_exec_launch(exec, stream, &err));
	ok(kz_exec_launch(exec, stream, &err));
	outer = end_capture(stream);
	kz_exec_release(exec);
	release_arrays(x);
	ok(kz_exec_launch(outer, NULL, &err));
	check_all(y, 16);
	kz_exec_release(outer);
	kz_array_release(y);
}

/* Changes of the executable graph are in the copy that the capture takes, and those of the graph
 * are not. */
CAPTURE_TEST(a_launch_in_a_capture_is_of_what_the_graph_has_become)
{
	kz_array *x = filled(1), *y = filled(0);
	kz_graph *inner = captured_pair(y, x, 1, 2), *second = captured_pair(y, x, 100, 200);
	kz_exec *exec, *outer;
	ok(kz_graph_instantiate(&exec, inner, &err));
	ok(kz_exec_set_args(exec, "axpy#2", &err, KZ_ARGS(y, x, 5.0f, N)));
	ok(kz_exec_set_args(exec, "axpy#2", &err, KZ_ARGS(y, x, 7.0f, N)));
	ok(kz_graph_add_host(NULL, inner, KZ_AFTER(), free, NULL, &err));
	kz_graph_release(inner);
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_exec_launch(exec, stream, &err));
	outer = end_capture(stream);
	ok(kz_exec_launch(outer, NULL, &err));
	check_all(y, 8);
	kz_exec_release(outer);
	kz_exec_release(exec);
	inner = captured_pair(y, x, 1, 2);
	ok(kz_graph_instantiate(&exec, inner, &err));
	ok(kz_exec_update(exec, second, &err));
	kz_graph_release(inner);
	kz_graph_release(second);
	ok(kz_exec_set_args(exec, "axpy", &err, KZ_ARGS(y, x, 1000.0f, N)));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_exec_launch(exec, stream, &err));
	outer = end_capture(stream);
	kz_exec_release(exec);
	ok(kz_exec_launch(outer, NULL, &err));
	check_all(y, 1208);
	kz_exec_release(outer);
	release_arrays(x, y);
}

CAPTURE_TEST(a_graph_that_cannot_be_a_child_is_refused_and_the_capture_goes_on)
{
	kz_array *x = filled(1), *y = filled(0);
	kz_graph *inner;
	kz_node *node;
	kz_buffer *buffer;
	kz_exec *exec, *outer;
	ok(kz_graph_create(&inner, dev, &err));
	ok(kz_graph_add_alloc(&node, &buffer, inner, KZ_AFTER(), 1024, &err));
	ok(kz_graph_add_free(NULL, inner, KZ_AFTER(node), buffer, &err));
	ok(kz_graph_instantiate(&exec, inner, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, 10);
	fails(kz_exec_launch(exec, stream, &err), KZ_UNSUPPORTED, "cannot be part of another");
	launch_axpy(stream, y, x, 10);
	outer = end_capture(stream);
	ok(kz_exec_launch(outer, NULL, &err));
	check_all(y, 20);
	kz_exec_release(outer);
	kz_exec_release(exec);
	kz_buffer_release(buffer);
	kz_graph_release(inner);
	release_arrays(x, y);
}

CAPTURE_TEST(explicit_kernels_run_in_the_order_of_their_edges)
{
	kz_graph *graph, *other;
	kz_node *first, *second, *third;
	kz_exec *exec;
	kz_array *x = filled(1), *y = filled(5);
	kz_dim3 grid = kz_dim(4, 1, 1), block = kz_dim(256, 1, 1);
	ok(kz_graph_create(&graph, dev, &err));
	ok(kz_graph_create(&other, dev, &err));
	ok(kz_graph_add_kernel(&first, graph, KZ_AFTER(), set, grid, block, NULL, &err,
		KZ_ARGS(y, 2.0f, N)));
	ok(kz_graph_add_kernel(&second, graph, KZ_AFTER(first), axpy, grid, block, NULL, &err,
		KZ_ARGS(y, x, 3.0f, N)));
	ok(kz_graph_add_kernel(&third, graph, KZ_AFTER(first, second), axpy, grid, block, NULL,
		&err, KZ_ARGS(y, y, 1, N)));
	ck_assert_str_eq(kz_node_name(third), "axpy#2");
	fails(kz_graph_add_kernel(&third, graph, KZ_AFTER(first, second, first), axpy, grid, block,
		NULL, &err, KZ_ARGS(y, x, 2.0f, N)), KZ_INVALID, "got 'set' twice");
	fails(kz_graph_add_kernel(&third, other, KZ_AFTER(first), axpy, grid, block, NULL, &err,
		KZ_ARGS(y, x, 3.0f, N)), KZ_INVALID, "'set' is of another");
	ck_assert_ptr_null(third);
	fails(kz_graph_add_kernel(NULL, graph, KZ_AFTER(NULL), axpy, grid, block, NULL, &err,
		KZ_ARGS(y, x, 3.0f, N)), KZ_INVALID, "expected a node, got NULL");
	fails(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), axpy, grid, kz_dim(5000, 1, 1), NULL,
		      &err, KZ_ARGS(y, x, 3.0f, N)),
		KZ_LAUNCH, "block of 5000");
	fails(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), axpy, grid, block, NULL, &err,
		KZ_ARGS(y, x, 3.0f)), KZ_ARGUMENT, "takes 4 arguments");
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	kz_graph_release(other);
	kz_array_release(x);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 10);
	ok(kz_exec_set_args(exec, "set", &err, KZ_ARGS(y, 0.0f, N)));
	ok(kz_exec_launch(exec, stream, &err));
	check_all(y, 6);
	kz_exec_release(exec);
	kz_array_release(y);
}

CAPTURE_TEST(a_kernel_without_parameters_is_a_node)
{
	kz_kernel *tick;
	kz_graph *graph;
	kz_exec *exec;
	int32_t count = 0;
	ok(kz_module_kernel(&tick, module, "tick", &err));
	ok(kz_graph_create(&graph, dev, &err));
	ok(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), tick, kz_dim(1, 1, 1), kz_dim(1, 1, 1),
		NULL, &err, KZ_ARGS()));
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_set_args(exec, "tick", &err, KZ_ARGS()));
	ok(kz_exec_launch(exec, NULL, &err));
	ok(kz_exec_launch(exec, NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_module_get_global(module, "count", &count, sizeof(count), &err));
	ck_assert_int_eq(count, 2);
	kz_exec_release(exec);
	kz_graph_release(graph);
}

static void *end_elsewhere(void *arg)
{
	kz_error *error = arg;
	kz_graph *graph;
	(void)!kz_graph_end(&graph, stream, error);
	return NULL;
}

CAPTURE_TEST(another_thread_ends_only_a_relaxed_capture)
{
	pthread_t thread;
	kz_array *x = filled(1), *y = filled(0);
	ok(kz_graph_begin(stream, NULL, &err));
	pthread_create(&thread, NULL, end_elsewhere, &err);
	pthread_join(thread, NULL);
	ck_assert_int_eq(err.status, KZ_STATE);
	ck_assert_ptr_nonnull(strstr(err.message, "another thread began the capture"));
	kz_error_clear(&err);
	launch_axpy(stream, y, x, 2);
	kz_exec *exec = end_capture(stream);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 2);
	kz_exec_release(exec);
	release_arrays(x, y);
}

struct begun {
	kz_stream *stream, *joined;
	kz_array *x, *y;
	kz_error err;
};

/* A thread that begins a capture of two streams and ends. */
static void *begin_elsewhere(void *arg)
{
	struct begun *begun = arg;
	kz_event *event = NULL;
	if (!kz_graph_begin(begun->stream, NULL, &begun->err)
	    && !kz_event_create(&event, dev, &begun->err)
	    && !kz_event_record(event, begun->stream, &begun->err)
	    && !kz_stream_wait(begun->joined, event, &begun->err)) {
		launch_axpy(begun->joined, begun->y, begun->x, 2);
	}
	kz_event_release(event);
	return NULL;
}

/* By an abort, or by the release of the stream. */
CAPTURE_TEST(a_capture_whose_thread_has_ended_can_be_ended)
{
	kz_graph *graph = NULL;
	for (int round = 0; round < 2; round++) {
		pthread_t thread;
		struct begun begun = {.x = filled(1), .y = filled(0), .err = KZ_ERROR_INIT};
		ok(kz_stream_create(&begun.stream, dev, 0, &err));
		ok(kz_stream_create(&begun.joined, dev, 0, &err));
		pthread_create(&thread, NULL, begin_elsewhere, &begun);
		pthread_join(thread, NULL);
		ck_assert_msg(begun.err.status == KZ_OK, "%s", begun.err.message);
		fails(kz_device_synchronize(dev, &err), KZ_STATE, "end the capture first");
		fails(kz_graph_end(&graph, begun.stream, &err), KZ_STATE, "or abort it");
		fails(kz_graph_abort(begun.joined, &err), KZ_STATE,
			"has joined the capture of another");
		if (round == 0) {
			ok(kz_graph_abort(begun.stream, &err));
			launch_axpy(begun.stream, begun.y, begun.x, 3);
		}
		kz_stream_release(begun.stream);
		ck_assert(!kz_stream_is_capturing(begun.joined));
		ok(kz_device_synchronize(dev, &err));
		check_all(begun.y, round == 0 ? 3 : 0);
		kz_stream_release(begun.joined);
		release_arrays(begun.x, begun.y);
	}
}

/* The device's own stream has no release; the device's last handle ends its capture. */
START_TEST(a_device_that_is_closed_leaves_no_capture)
{
	open_kernels(_i);
	ok(kz_graph_begin(kz_device_stream(dev), NULL, &err));
	kz_device_close(dev);
	open_kernels(_i);
	ok(kz_device_synchronize(dev, &err));
	teardown();
}
END_TEST

CAPTURE_TEST(an_aborted_capture_leaves_nothing)
{
	kz_array *x = filled(1), *y = filled(0);
	ok(kz_graph_begin(stream, NULL, &err));
	launch_axpy(stream, y, x, 2);
	ok(kz_graph_abort(stream, &err));
	ok(kz_graph_abort(stream, &err));
	ck_assert(!kz_stream_is_capturing(stream));
	launch_axpy(stream, y, x, 3);
	check_all(y, 3);
	release_arrays(x, y);
}

/* Compiling, loading and unloading a module, and asking the driver for memory, end no capture. */
CAPTURE_TEST(a_capture_survives_compilers_and_empty_pools)
{
	kz_array *x = filled(1), *y = filled(0), *big;
	kz_module *more;
	ok(kz_device_trim(dev, 0, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_module_compile(&more, dev, "extern \"C\" __global__ void more(float *y)"
		"{ y[threadIdx.x] += 0.5f; }", NULL, &err));
	kz_kernel *kernel;
	ok(kz_module_kernel(&kernel, more, "more", &err));
	ok(kz_array_zeros(&big, dev, KZ_F32, KZ_SHAPE(1 << 20), &err));
	kz_array_release(big);
	ok(kz_device_trim(dev, 0, &err));
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = stream;
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(N, 1, 1), &options, &err, KZ_ARGS(y)));
	kz_module_release(more);
	kz_module *unused;
	ok(kz_module_compile(&unused, dev,
		"extern \"C\" __global__ void unused(int *y) { *y = 3; }", NULL, &err));
	kz_module_release(unused);
	launch_axpy(stream, y, x, 1);
	kz_exec *exec = end_capture(stream);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 1.5);
	kz_exec_release(exec);
	release_arrays(x, y);
}

CAPTURE_TEST(a_prepared_launch_can_be_captured)
{
	kz_array *x = filled(1), *y = filled(0);
	kz_prepared *prepared;
	ok(kz_prepared_create(&prepared, axpy, kz_dim(4, 1, 1), kz_dim(256, 1, 1), NULL, &err,
		KZ_ARGS(y, x, 2.0f, N)));
	ok(kz_prepared_launch(prepared, stream, &err)); /* the memory was last used in this
	                                                   stream */
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_prepared_launch(prepared, stream, &err));
	kz_exec *exec = end_capture(stream);
	kz_prepared_release(prepared);
	kz_array_release(x);
	kz_array *other = filled(9);
	ok(kz_exec_launch(exec, NULL, &err));
	check_all(y, 4);
	kz_exec_release(exec);
	release_arrays(y, other);
}

/* Conditional nodes */

static const char deciding[] =
	"extern \"C\" __device__ void cudaGraphSetConditional(unsigned long long c, "
	"unsigned int value);\n"
	"extern \"C\" __global__ void step(int *n, unsigned long long c)\n"
	"{\n"
	"	n[1] += n[0];\n"
	"	cudaGraphSetConditional(c, --n[0] > 0);\n"
	"}\n"
	"extern \"C\" __global__ void choose(const int *n, unsigned long long c)\n"
	"{\n"
	"	if (threadIdx.x == 3) { cudaGraphSetConditional(c, n[0]); }\n"
	"}\n"
	"extern \"C\" __global__ void add(int *n, int more) { n[1] += more; }\n";

static kz_module *decider;
static kz_kernel *step, *choose, *add;
static kz_graph *outer;
static kz_buffer *numbers;

static void open_decider(int index)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	open_module(index);
	options.arch = "compute_75";
	ok(kz_module_compile(&decider, dev, deciding, &options, &err));
	ok(kz_module_kernel(&step, decider, "step", &err));
	ok(kz_module_kernel(&choose, decider, "choose", &err));
	ok(kz_module_kernel(&add, decider, "add", &err));
	ok(kz_graph_create(&outer, dev, &err));
	numbers = create_buffer(8);
}

static void close_decider(void)
{
	kz_buffer_release(numbers);
	kz_graph_release(outer);
	kz_module_release(decider);
	close_module();
}

#define CONDITION_TEST(name) TEST_BETWEEN(open_decider(_i), close_decider(), name)

/* Launch with n[0], and return n[1], which is 0 before. */
static int decide(kz_exec *exec, int first)
{
	int host[2] = {first, 0};
	ok(kz_copy_htod(numbers, 0, host, sizeof(host), &err));
	ok(kz_exec_launch(exec, NULL, &err));
	ok(kz_copy_dtoh(host, sizeof(host), numbers, 0, &err));
	return host[1];
}

static void add_to(kz_graph *graph, int more)
{
	ok(kz_graph_add_kernel(NULL, graph, KZ_AFTER(), add, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL,
		&err, KZ_ARGS(numbers, more)));
}

static kz_node *choose_in(kz_graph *graph, uint64_t condition)
{
	kz_node *node;
	ok(kz_graph_add_kernel(&node, graph, KZ_AFTER(), choose, kz_dim(1, 1, 1), kz_dim(40, 1, 1),
		NULL, &err, KZ_ARGS(numbers, condition)));
	return node;
}

CONDITION_TEST(a_while_node_runs_its_body_until_a_kernel_ends_it)
{
	uint64_t condition;
	kz_graph *body, *clone, *other;
	kz_node *loop, *last;
	kz_exec *exec;
	ok(kz_graph_condition(&condition, outer, 1, &err));
	ok(kz_graph_create(&other, dev, &err));
	fails(kz_graph_add_while(NULL, &body, other, KZ_AFTER(), condition, &err), KZ_INVALID,
		"has made for this graph");
	fails(kz_graph_add_while(NULL, &body, outer, KZ_AFTER(), 0, &err), KZ_INVALID,
		"for this graph");
	kz_graph_release(other);
	ok(kz_graph_add_while(&loop, &body, outer, KZ_AFTER(), condition, &err));
	fails(kz_graph_add_if(NULL, &other, NULL, outer, KZ_AFTER(), condition, &err), KZ_INVALID,
		"got the condition of 'while'");
	ok(kz_graph_add_kernel(&last, outer, KZ_AFTER(loop), add, kz_dim(1, 1, 1), kz_dim(1, 1, 1),
		NULL, &err, KZ_ARGS(numbers, 1000)));
	ok(kz_graph_add_kernel(NULL, body, KZ_AFTER(), step, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL,
		&err, KZ_ARGS(numbers, condition)));
	fails(kz_graph_instantiate(&exec, body, &err), KZ_INVALID,
		"the body of a conditional node");
	fails(kz_graph_clone(&clone, outer, &err), KZ_UNSUPPORTED, "cannot be copied");
	kz_graph_release(body); /* nothing happens */
	ok(kz_graph_instantiate(&exec, outer, &err));
	ck_assert_int_eq(decide(exec, 100), 5050 + 1000);
	ck_assert_int_eq(decide(exec, 3), 6 + 1000);
	ck_assert_int_eq(decide(exec, 0), 1000);
	ok(kz_exec_set_args(exec, "add", &err, KZ_ARGS(numbers, 1)));
	ck_assert_int_eq(decide(exec, 4), 11);
	kz_exec_release(exec);
}

CONDITION_TEST(an_if_node_runs_one_of_two_bodies)
{
	uint64_t outside, inside;
	kz_graph *then, *otherwise, *within;
	kz_exec *exec;
	ok(kz_graph_condition(&outside, outer, 0, &err));
	ok(kz_graph_condition(&inside, outer, 0, &err));
	kz_node *first = choose_in(outer, outside);
	ok(kz_graph_add_if(NULL, &then, &otherwise, outer, KZ_AFTER(first), outside, &err));
	add_to(then, 10);
	add_to(otherwise, 20);
	first = choose_in(then, inside);
	ok(kz_graph_add_if(NULL, &within, NULL, then, KZ_AFTER(first), inside, &err));
	add_to(within, 1);
	ok(kz_graph_instantiate(&exec, outer, &err));
	ck_assert_int_eq(decide(exec, 1), 11);
	ck_assert_int_eq(decide(exec, 0), 20);
	ck_assert_int_eq(decide(exec, 5), 11);
	kz_exec_release(exec);
}

CONDITION_TEST(a_switch_node_runs_the_body_of_the_index)
{
	uint64_t condition;
	kz_graph *bodies[3], *other = NULL;
	kz_exec *exec;
	ok(kz_graph_condition(&condition, outer, 7, &err));
	kz_node *first = choose_in(outer, condition);
	ok(kz_graph_add_switch(NULL, bodies, 3, outer, KZ_AFTER(first), condition, &err));
	for (int i = 0; i < 3; i++) {
		add_to(bodies[i], 10 + i);
	}
	ok(kz_graph_instantiate(&exec, outer, &err));
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(decide(exec, i), 10 + i);
	}
	ck_assert_int_eq(decide(exec, 3), 0);
	kz_exec_release(exec);
	fails(kz_graph_add_switch(NULL, bodies, 0, outer, KZ_AFTER(), condition, &err), KZ_INVALID,
		"1 to 65536 bodies");
	ck_assert(
		kz_graph_add_while(NULL, &other, outer, KZ_AFTER(), condition, &err) == KZ_INVALID);
	ck_assert_ptr_null(other);
	kz_error_clear(&err);
	ck_assert(kz_graph_add_while(NULL, &other, outer, KZ_AFTER(), 12345, &err) == KZ_INVALID);
	kz_error_clear(&err);
}

CONDITION_TEST(a_body_takes_no_host_functions_nor_children_with_them)
{
	uint64_t condition;
	kz_graph *body, *inner, *middle;
	ok(kz_graph_condition(&condition, outer, 1, &err));
	ok(kz_graph_add_if(NULL, &body, NULL, outer, KZ_AFTER(), condition, &err));
	fails(kz_graph_add_host(NULL, body, KZ_AFTER(), free, NULL, &err), KZ_INVALID,
		"cannot call functions");
	kz_buffer *buffer;
	static char host[16];
	kz_pinned *pinned;
	ok(kz_buffer_create(&buffer, dev, sizeof(host), &err));
	ok(kz_pinned_create(&pinned, dev, sizeof(host), &err));
	fails(kz_graph_add_htod(NULL, body, KZ_AFTER(), buffer, 0, host, sizeof(host), &err),
		KZ_INVALID, "only if it is pinned");
	fails(kz_graph_add_dtoh(NULL, body, KZ_AFTER(), host, sizeof(host), buffer, 0, &err),
		KZ_INVALID, "only if it is pinned");
	ok(kz_graph_add_htod(NULL, body, KZ_AFTER(), buffer, 0, kz_pinned_pointer(pinned),
		sizeof(host), &err));
	ok(kz_graph_add_htod(NULL, outer, KZ_AFTER(), buffer, 0, host, sizeof(host), &err));
	ok(kz_graph_create(&inner, dev, &err));
	ok(kz_graph_create(&middle, dev, &err));
	add_to(inner, 1);
	ok(kz_graph_add_child(NULL, body, KZ_AFTER(), inner, &err));
	ok(kz_graph_add_host(NULL, inner, KZ_AFTER(), free, NULL, &err));
	fails(kz_graph_add_child(NULL, body, KZ_AFTER(), inner, &err), KZ_INVALID,
		"cannot have this child");
	ok(kz_graph_add_child(NULL, middle, KZ_AFTER(), inner, &err));
	fails(kz_graph_add_child(NULL, body, KZ_AFTER(), middle, &err), KZ_INVALID,
		"cannot have this child");
	ok(kz_graph_add_child(NULL, outer, KZ_AFTER(), middle, &err));
	kz_graph_release(middle);
	kz_graph_release(inner);
	kz_pinned_release(pinned);
	kz_buffer_release(buffer);
}

SUITE(capture)
{
	Suite *suite = suite_create("capture");
	TCase *tcase = suite_add_case(suite, "capture");
	int devices = support_device_count();
	tcase_add_tests(tcase, devices, a_captured_kernel_runs_at_each_launch,
		operations_on_arrays_are_captured_with_their_memory,
		a_graph_keeps_arrays_and_modules_that_were_released,
		streams_join_a_capture_and_are_joined_back,
		a_stream_that_is_not_joined_back_ends_the_capture_with_a_reason,
		calls_that_wait_are_refused_by_name, taking_along_an_axis_is_captured,
		other_streams_use_memory_of_a_captured_stream,
		another_thread_ends_only_a_relaxed_capture,
		a_capture_whose_thread_has_ended_can_be_ended,
		a_device_that_is_closed_leaves_no_capture, an_aborted_capture_leaves_nothing,
		a_capture_survives_compilers_and_empty_pools, a_prepared_launch_can_be_captured);
	tcase = suite_add_case(suite, "graphs");
	tcase_add_tests(tcase, devices, arguments_change_by_the_name_of_the_node,
		a_graph_of_the_same_shape_updates_an_executable_one,
		a_clone_has_the_nodes_and_their_names, a_launch_in_a_capture_is_a_node_of_it,
		a_launch_in_a_capture_is_of_what_the_graph_has_become,
		a_graph_that_cannot_be_a_child_is_refused_and_the_capture_goes_on,
		explicit_kernels_run_in_the_order_of_their_edges,
		a_kernel_without_parameters_is_a_node);
	tcase = suite_add_case(suite, "conditions");
	tcase_add_tests(tcase, devices, a_while_node_runs_its_body_until_a_kernel_ends_it,
		an_if_node_runs_one_of_two_bodies, a_switch_node_runs_the_body_of_the_index,
		a_body_takes_no_host_functions_nor_children_with_them);
	return suite;
}
