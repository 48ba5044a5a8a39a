/* SPDX-License-Identifier: MIT */
/* Graphs of copies, fills, host functions and memory; how they are printed; failures of the
 * driver. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <string.h>

enum { SIZE = 4096 };

static kz_graph *graph;

static void open_graph(int index)
{
	open_kernels(index);
	ok(kz_graph_create(&graph, dev, &err));
}

static void close_graph(void)
{
	kz_graph_release(graph);
	teardown();
}

#define GRAPH_TEST(name) TEST_BETWEEN(open_graph(_i), close_graph(), name)

static void launch_once(void)
{
	kz_exec *exec;
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_launch(exec, NULL, &err));
	kz_exec_release(exec);
	ok(kz_device_synchronize(dev, &err));
}

static void check_bytes(kz_buffer *buffer, int64_t from, int64_t to, int want)
{
	static unsigned char host[SIZE];
	ok(kz_copy_dtoh(host, SIZE, buffer, 0, &err));
	for (int64_t i = from; i < to; i++) {
		ck_assert_msg(
			host[i] == want, "byte %lld: %d, not %d", (long long)i, host[i], want);
	}
}

GRAPH_TEST(copies_and_fills_run_in_the_order_of_their_edges)
{
	kz_buffer *a = create_buffer(SIZE), *b = create_buffer(SIZE);
	unsigned char in[SIZE], out[SIZE];
	kz_node *in_node, *fill, *across;
	int64_t nodes, edges;
	memset(in, 5, SIZE);
	memset(out, 0, SIZE);
	ok(kz_fill(b, 0, SIZE, "\1", 1, NULL, &err));
	ok(kz_graph_add_htod(&in_node, graph, KZ_AFTER(), a, 0, in, SIZE, &err));
	ok(kz_graph_add_fill(
		&fill, graph, KZ_AFTER(in_node), a, 100, 8, "\7\7\7\7\7\7\7\7", 8, &err));
	ok(kz_graph_add_dtod(&across, graph, KZ_AFTER(fill), b, 10, a, 0, 200, &err));
	ok(kz_graph_add_dtoh(NULL, graph, KZ_AFTER(across, fill), out, SIZE, b, 0, &err));
	ck_assert_str_eq(kz_node_name(across), "copy#2");
	ok(kz_graph_count(&nodes, &edges, graph, &err));
	ck_assert_int_eq(nodes, 4);
	ck_assert_int_eq(edges, 4);
	memset(in, 6, SIZE); /* host memory is read when the graph runs */
	kz_buffer_release(a);
	launch_once();
	check_bytes(b, 0, 10, 1);
	check_bytes(b, 10, 110, 6);
	check_bytes(b, 110, 118, 7);
	check_bytes(b, 118, 210, 6);
	check_bytes(b, 210, SIZE, 1);
	ck_assert_int_eq(out[9], 1);
	ck_assert_int_eq(out[112], 7);
	kz_buffer_release(b);
}

static void count_up(void *user)
{
	++*(int *)user;
}

GRAPH_TEST(host_functions_and_child_graphs_run_at_each_launch)
{
	int calls = 0;
	kz_graph *child;
	kz_node *first;
	kz_buffer *a = create_buffer(SIZE);
	ok(kz_graph_create(&child, dev, &err));
	ok(kz_graph_add_fill(NULL, child, KZ_AFTER(), a, 0, SIZE, "\3", 1, &err));
	ok(kz_graph_add_host(&first, graph, KZ_AFTER(), count_up, &calls, &err));
	ok(kz_graph_add_child(NULL, graph, KZ_AFTER(first), child, &err));
	fails(kz_graph_add_child(NULL, graph, KZ_AFTER(first), graph, &err), KZ_INVALID,
		"its own nodes");
	fails(kz_graph_add_host(NULL, graph, KZ_AFTER(), NULL, NULL, &err), KZ_INVALID,
		"a function");
	kz_graph_release(child);
	launch_once();
	launch_once();
	ck_assert_int_eq(calls, 2);
	check_bytes(a, 0, SIZE, 3);
	kz_buffer_release(a);
}

GRAPH_TEST(a_graph_allocates_and_frees_memory_of_its_own)
{
	kz_buffer *own = NULL, *none = NULL, *out = create_buffer(SIZE);
	kz_node *alloc, *fill, *copy;
	kz_exec *exec;
	kz_graph *clone;
	ok(kz_graph_add_alloc(&alloc, &own, graph, KZ_AFTER(), SIZE, &err));
	ok(kz_graph_add_fill(&fill, graph, KZ_AFTER(alloc), own, 0, SIZE, "\4", 1, &err));
	ok(kz_graph_add_dtod(&copy, graph, KZ_AFTER(fill), out, 0, own, 0, SIZE, &err));
	fails(kz_graph_instantiate(&exec, graph, &err), KZ_INVALID, "memory that it does not free");
	ok(kz_graph_add_free(NULL, graph, KZ_AFTER(copy), own, &err));
	fails(kz_fill(own, 0, SIZE, "\1", 1, NULL, &err), KZ_STATE, "only nodes of that graph");
	fails(kz_graph_add_free(NULL, graph, KZ_AFTER(copy), out, &err), KZ_INVALID,
		"a buffer of kz_graph_add_alloc");
	fails(kz_graph_clone(&clone, graph, &err), KZ_UNSUPPORTED, "cannot be copied");
	fails(kz_graph_add_alloc(NULL, &none, graph, KZ_AFTER(), 0, &err), KZ_INVALID,
		"1 byte or more");
	ck_assert_ptr_null(none);
	kz_buffer_release(own);
	launch_once();
	launch_once();
	check_bytes(out, 0, SIZE, 4);
	kz_buffer_release(out);
}

GRAPH_TEST(nodes_that_cannot_be_are_refused)
{
	kz_buffer *a = create_buffer(SIZE);
	kz_node *node = (kz_node *)&err;
	fails(kz_graph_add_dtod(&node, graph, KZ_AFTER(), a, 0, a, SIZE, 1, &err), KZ_RANGE,
		"do not lie in a buffer");
	fails(kz_graph_add_htod(NULL, graph, KZ_AFTER(), a, 0, NULL, 1, &err), KZ_INVALID,
		"got NULL");
	fails(kz_graph_add_htod(NULL, graph, KZ_AFTER(), a, 0, a, 0, &err), KZ_INVALID, "0 bytes");
	fails(kz_graph_add_htod(NULL, NULL, KZ_AFTER(), a, 0, a, 1, &err), KZ_INVALID, "a graph");
	fails(kz_graph_add_dtoh(NULL, graph, KZ_AFTER(), &node, 1, NULL, 0, &err), KZ_INVALID,
		"a buffer");
	fails(kz_graph_add_fill(NULL, graph, KZ_AFTER(), a, 0, SIZE, "\1\2\3\4\5\6\7\10", 8, &err),
		KZ_INVALID, "a pattern of 1, 2 or 4 bytes");
	fails(kz_graph_add_fill(NULL, graph, KZ_AFTER(), a, 2, 4, "\1\2\3\4", 4, &err), KZ_INVALID,
		"got offset 2, size 4");
	fails(kz_graph_add_fill(NULL, graph, KZ_AFTER(), a, 0, 0, "\1", 1, &err), KZ_INVALID,
		"some bytes to fill");
	fails(kz_graph_instantiate(NULL, graph, &err), KZ_INVALID, "out is NULL");
	fails(kz_graph_clone(NULL, graph, &err), KZ_INVALID, "out is NULL");
	fails(kz_graph_end(NULL, kz_device_stream(dev), &err), KZ_INVALID, "out is NULL");
	kz_graph *none = graph;
	fails(kz_graph_end(&none, kz_device_stream(dev), &err), KZ_STATE,
		"the stream is not captured");
	ck_assert_ptr_null(none);
	fails(kz_graph_begin(NULL, NULL, &err), KZ_INVALID, "a stream");
	kz_capture_options options = {0};
	fails(kz_graph_begin(kz_device_stream(dev), &options, &err), KZ_INVALID,
		"KZ_CAPTURE_OPTIONS_INIT");
	fails(kz_exec_launch(NULL, NULL, &err), KZ_INVALID, "an executable graph");
	ck_assert_ptr_null(kz_graph_node(graph, "copy"));
	ck_assert_ptr_null(kz_graph_node(NULL, "copy"));
	ck_assert_str_eq(kz_node_name(NULL), "");
	kz_graph_release(NULL);
	kz_exec_release(NULL);
	kz_buffer_release(a);
}

GRAPH_TEST(a_graph_is_printed_as_dot)
{
	static char text[2048];
	static const char want[] =
		"digraph graph_of_work {\n"
		"\tn_0 [label=\"to \\\"a\\\"\"];\n"
		"\tn_1 [label=\"fill\"];\n"
		"\tn_2 [label=\"child\"];\n"
		"\tsubgraph cluster_n_2 {\n"
		"\tlabel=\"child\";\n"
		"\tn_2_0 [label=\"host\"];\n"
		"\t}\n"
		"\tn_0 -> n_1;\n"
		"\tn_0 -> n_2;\n"
		"\tn_1 -> n_2;\n"
		"}\n";
	kz_buffer *a = create_buffer(SIZE);
	kz_graph *child;
	kz_node *first, *second;
	ok(kz_graph_create(&child, dev, &err));
	ok(kz_graph_add_host(NULL, child, KZ_AFTER(), count_up, a, &err));
	ok(kz_graph_add_htod(&first, graph, KZ_AFTER(), a, 0, text, 8, &err));
	ok(kz_node_set_name(first, "to \"a\"", &err));
	ok(kz_graph_add_fill(&second, graph, KZ_AFTER(first), a, 0, 8, "\1", 1, &err));
	ok(kz_graph_add_child(NULL, graph, KZ_AFTER(first, second), child, &err));
	FILE *to = fmemopen(text, sizeof(text), "w");
	ok(kz_graph_print(graph, to, &err));
	fclose(to);
	ck_assert_str_eq(text, want);
	fails(kz_graph_print(graph, NULL, &err), KZ_INVALID, "a FILE");
	to = fopen("/dev/full", "w");
	setvbuf(to, NULL, _IONBF, 0);
	fails(kz_graph_print(graph, to, &err), KZ_IO, "cannot print a graph");
	fclose(to);
	kz_graph_release(child);
	kz_buffer_release(a);
}

/* A capture, a graph and a launch; the driver gets all back whatever fails. */
static kz_status whole(kz_stream *stream, kz_buffer *buffer)
{
	kz_graph *made = NULL;
	kz_exec *exec = NULL;
	kz_status st = kz_graph_begin(stream, NULL, &err);
	if (!st) {
		st = kz_fill(buffer, 0, SIZE, "\1", 1, stream, &err);
		kz_status ended = kz_graph_end(&made, stream, st ? NULL : &err);
		st = st ? st : ended;
	}
	st = st ? st : kz_graph_instantiate(&exec, made, &err);
	st = st ? st : kz_exec_launch(exec, stream, &err);
	kz_exec_release(exec);
	kz_graph_release(made);
	ck_assert(!kz_stream_is_capturing(stream));
	return st;
}

START_TEST(a_failure_of_the_driver_leaves_nothing_behind)
{
	static const char *const calls[] = {"cuStreamBeginCapture", "cuStreamEndCapture",
		"cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuMemsetD8Async", "cuEventRecord"};
	char script[64];
	kz_stream *stream;
	snprintf(script, sizeof(script), "fail=%s:1", calls[_i]);
	open_stub("");
	kz_buffer *buffer = create_buffer(SIZE);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(whole(stream, buffer));
	support_stub(script);
	ck_assert_int_eq(whole(stream, buffer), KZ_INVALID);
	ck_assert_int_eq(support_stub_live(STUB_GRAPH), 0);
	kz_error_clear(&err);
	support_stub("");
	ok(whole(stream, buffer));
	kz_stream_release(stream);
	kz_buffer_release(buffer);
	close_stub();
}
END_TEST

START_TEST(a_capture_ends_with_its_device)
{
	kz_stream *stream;
	kz_graph *made = (kz_graph *)&err;
	open_stub("");
	kz_buffer *buffer = create_buffer(SIZE);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_fill(buffer, 0, SIZE, "\1", 1, stream, &err));
	support_stub("fail=cuMemsetD8Async:700");
	ck_assert(kz_fill(buffer, 0, SIZE, "\1", 1, NULL, &err) == KZ_FAULT);
	kz_error_clear(&err);
	ck_assert(kz_graph_end(&made, stream, &err) == KZ_FAULT);
	ck_assert_ptr_null(made);
	kz_error_clear(&err);
	ck_assert(!kz_stream_is_capturing(stream));
	kz_stream_release(stream);
	kz_buffer_release(buffer);
	kz_memory_stats stats = memory_stats();
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}
END_TEST

/* Each node is there with its memory, or it is not there. */
GRAPH_TEST(a_failed_allocation_adds_no_node)
{
	bool done = false;
	for (long n = 0; !done; n++) {
		kz_buffer *a = create_buffer(SIZE);
		int64_t before, after;
		ok(kz_graph_count(&before, NULL, graph, &err));
		mem_fail_after(n);
		kz_status st =
			kz_graph_add_fill(NULL, graph, KZ_AFTER(), a, 0, SIZE, "\1", 1, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st != KZ_OK, failed);
		kz_error_clear(&err);
		ok(kz_graph_count(&after, NULL, graph, &err));
		ck_assert_int_eq(after, before + !failed);
		kz_buffer_release(a);
		done = !failed;
	}
	launch_once();
}

DEVICE_TEST(a_failed_allocation_leaves_nothing_behind)
{
	kz_buffer *buffer = create_buffer(SIZE);
	kz_stream *stream;
	bool done = false;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(whole(stream, buffer));
	for (long n = 0; !done; n++) {
		mem_fail_after(n);
		kz_status st = whole(stream, buffer);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st != KZ_OK, failed);
		done = !failed;
		kz_error_clear(&err);
	}
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

SUITE(graph)
{
	Suite *suite = suite_create("graph");
	TCase *tcase = suite_add_case(suite, "nodes");
	int devices = support_device_count();
	tcase_add_tests(tcase, devices, copies_and_fills_run_in_the_order_of_their_edges,
		host_functions_and_child_graphs_run_at_each_launch,
		a_graph_allocates_and_frees_memory_of_its_own, nodes_that_cannot_be_are_refused,
		a_graph_is_printed_as_dot, a_failed_allocation_adds_no_node);
	tcase = suite_add_case(suite, "failures");
	tcase_add_loop_test(tcase, a_failure_of_the_driver_leaves_nothing_behind, 0, 6);
	tcase_add_test(tcase, a_capture_ends_with_its_device);
	tcase_add_tests(tcase, devices + 1, a_failed_allocation_leaves_nothing_behind);
	return suite;
}
