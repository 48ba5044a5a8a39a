/* SPDX-License-Identifier: MIT */
/* src/lib/core/leaks.c: what was never released, and where it was created. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/object.h"
#include "support/device_test.h"

#include <unistd.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry "
	"k()\n{\n\tret;\n}\n";

static void add_line(void *text, const kz_leak *leak)
{
	char line[200];
	snprintf(line, sizeof(line), "%d %s %d %d; ", (int)leak->count, leak->kind, (int)leak->size,
		leak->line);
	strcat(text, line);
	ck_assert_str_eq(leak->file, leak->line ? __FILE__ : "");
}

/* "2 array 80 17; ", each group with its count, kind, size and line */
static const char *list(void)
{
	static char text[2000];
	text[0] = '\0';
	ok(kz_device_list_leaks(dev, add_line, text, &err));
	return text;
}

/* As a device does that is opened while KUDZU_LEAKS is set. */
static void keep_list(void)
{
	atomic_store(&leaks_on, true);
}

static void *made[4];
static int line;

#define HERE (line = __LINE__)
#define OBJECT(name) static void make_##name(void)

OBJECT(array) { HERE; ok(kz_array_create((kz_array **)&made[0], dev, KZ_F32, KZ_SHAPE(5, 2), &err));
	}
OBJECT(buffer) { HERE; ok(kz_buffer_create((kz_buffer **)&made[0], dev, 40, &err)); }
OBJECT(growing)
{
	HERE; ok(kz_array_create_growable((kz_array **)&made[0], dev, KZ_F32, KZ_SHAPE(1), 10,
		&err));
	ok(kz_array_resize(made[0], 10, &err));
}
OBJECT(event) { HERE; ok(kz_event_create((kz_event **)&made[0], dev, &err)); }
OBJECT(stream) { HERE; ok(kz_stream_create((kz_stream **)&made[0], dev, 0, &err)); }
OBJECT(pinned) { HERE; ok(kz_pinned_create((kz_pinned **)&made[0], dev, 40, &err)); }
OBJECT(managed) { HERE; ok(kz_managed_create((kz_buffer **)&made[0], dev, 40, &err)); }
OBJECT(graph) { HERE; ok(kz_graph_create((kz_graph **)&made[0], dev, &err)); }
OBJECT(exec)
{
	kz_graph *graph = NULL;
	ok(kz_graph_create(&graph, dev, &err));
	HERE; ok(kz_graph_instantiate((kz_exec **)&made[0], graph, &err));
	kz_graph_release(graph);
}
OBJECT(image) { HERE; ok(kz_image_create((kz_image **)&made[0], ptx, sizeof(ptx) - 1, &err)); }
OBJECT(module) { HERE; ok(kz_module_load((kz_module **)&made[0], dev, ptx, sizeof(ptx) - 1, &err));
	}
OBJECT(module_of_an_image)
{
	kz_image *image = NULL;
	ok(kz_image_create(&image, ptx, sizeof(ptx) - 1, &err));
	HERE; ok(kz_module_load_image((kz_module **)&made[0], dev, image, &err));
	kz_image_release(image); /* the module has it yet */
}
OBJECT(elementwise)
{
	HERE; ok(kz_elementwise_create((kz_elementwise **)&made[0], dev, "float *x", "x[i] = 2",
		NULL, &err));
}
OBJECT(reduction)
{
	HERE; ok(kz_reduction_create((kz_reduction **)&made[0], dev, KZ_F32, "0", "a + b", NULL,
		"float *x", NULL, &err));
}
OBJECT(diagnostics) { HERE; ok(kz_diagnostics_create((kz_diagnostics **)&made[0], "", &err)); }
OBJECT(diagnosis) { HERE; ok(kz_diagnose((kz_diagnosis **)&made[0], &err)); }
OBJECT(cuda_array)
{
	HERE; ok(kz_cuda_array_create((kz_cuda_array **)&made[0], dev, KZ_F32, KZ_SHAPE(4), NULL,
		&err));
}

OBJECT(sparse)
{
	kz_array *parts[3];
	/* the stub runs no kernels */
	const kz_sparse_options how = {.size = sizeof(how), .trusted = 1};
	ok(kz_array_create(&parts[0], dev, KZ_F32, KZ_SHAPE(2), &err));
	ok(kz_array_create(&parts[1], dev, KZ_I32, KZ_SHAPE(2), &err));
	ok(kz_array_create(&parts[2], dev, KZ_I32, KZ_SHAPE(2), &err));
	HERE; ok(kz_sparse_create_coo((kz_sparse **)&made[0], 2, 2, parts[0], parts[1], parts[2],
		&how, &err));
	support_release_arrays(parts, 3); /* the matrix has their memory yet */
}

typedef void release_fn(void *object);
#define RELEASE(release) ((release_fn *)(void (*)(void))(release))

static const struct {
	void (*make)(void);
	const char *kind;
	int size;
	release_fn *release;
} objects[] = {
	{make_array, "array", 40, RELEASE(kz_array_release)},
	{make_growing, "array", 40, RELEASE(kz_array_release)},
	{make_buffer, "buffer", 40, RELEASE(kz_buffer_release)},
	{make_managed, "buffer", 40, RELEASE(kz_buffer_release)},
	{make_pinned, "pinned buffer", 40, RELEASE(kz_pinned_release)},
	{make_event, "event", 0, RELEASE(kz_event_release)},
	{make_stream, "stream", 0, RELEASE(kz_stream_release)},
	{make_graph, "graph", 0, RELEASE(kz_graph_release)},
	{make_exec, "executable graph", 0, RELEASE(kz_exec_release)},
	{make_image, "image", 0, RELEASE(kz_image_release)},
	{make_module, "module", 0, RELEASE(kz_module_release)},
	{make_module_of_an_image, "module", 0, RELEASE(kz_module_release)},
	{make_elementwise, "elementwise kernel", 0, RELEASE(kz_elementwise_release)},
	{make_reduction, "reduction kernel", 0, RELEASE(kz_reduction_release)},
	{make_diagnostics, "list of diagnostics", 0, RELEASE(kz_diagnostics_release)},
	{make_diagnosis, "diagnosis", 0, RELEASE(kz_diagnosis_release)},
	{make_cuda_array, "CUDA array", 0, RELEASE(kz_cuda_array_release)},
	{make_sparse, "sparse matrix", 0, RELEASE(kz_sparse_release)},
};

START_TEST(each_kind_of_object_is_named_with_its_line)
{
	char want[100];
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub("");
	keep_list();
	objects[_i].make();
	snprintf(want, sizeof(want), "1 %s %d %d; ", objects[_i].kind, objects[_i].size, line);
	ck_assert_str_eq(list(), want);
	objects[_i].release(made[0]);
	ck_assert_str_eq(list(), "");
	support_close_stub(dev);
}
END_TEST

KERNEL_TEST(what_a_kernel_needs_is_named)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_prepared *prepared = NULL;
	char want[200];
	keep_list();
	ok(kz_module_compile(&mod, dev, "extern \"C\" __global__ void k() {}", NULL, &err));
	int first = __LINE__ - 1;
	ok(kz_module_kernel(&kernel, mod, "k", &err));
	int second = __LINE__ + 1;
	ok(kz_prepared_create(&prepared, kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS()));
	snprintf(want, sizeof(want), "1 module 0 %d; 1 prepared launch 0 %d; ", first, second);
	ck_assert_str_eq(list(), want);
	kz_module_release(mod); /* the launch keeps it, and has a place of its own */
	snprintf(want, sizeof(want), "1 prepared launch 0 %d; ", second);
	ck_assert_str_eq(list(), want);
	kz_prepared_release(prepared);
	ck_assert_str_eq(list(), "");
}

/* Intermediate results, kernels that were compiled and kept, views of views: none of them is a
 * leak. */
KERNEL_TEST(operations_leave_only_their_results)
{
	kz_array *a = NULL, *b = NULL, *c = NULL, *sum = NULL;
	char want[200];
	int lines[4];
	keep_list();
	lines[0] = __LINE__; ok(kz_array_ones(&a, dev, KZ_F32, KZ_SHAPE(4, 4), &err));
	lines[1] = __LINE__; ok(kz_multiply(&b, 2, a, &err));
	lines[2] = __LINE__; ok(kz_eval(&c, "a + 2 * b", NULL, &err, KZ_VARS(a, b)));
	lines[3] = __LINE__; ok(kz_sum(&sum, c, KZ_ALL_AXES, &err));
	snprintf(want, sizeof(want), "1 array 64 %d; 1 array 64 %d; 1 array 64 %d; 1 array 4 %d; ",
		lines[0], lines[1], lines[2], lines[3]);
	ck_assert_str_eq(list(), want);
	release_arrays(a, b, c, sum);
	ck_assert_str_eq(list(), "");
}

/* Objects of one line are one group; the largest group is first. */
DEVICE_TEST(objects_are_grouped_by_kind_and_line)
{
	kz_array *rows[3] = {NULL};
	kz_buffer *buffer = NULL;
	char want[200];
	keep_list();
	ok(kz_buffer_create(&buffer, dev, 50, &err));
	int first = __LINE__ - 1;
	for (int i = 0; i < 3; i++) {
		ok(kz_array_create(&rows[i], dev, KZ_I8, KZ_SHAPE(10 * i + 10), &err));
	}
	snprintf(want, sizeof(want), "3 array 60 %d; 1 buffer 50 %d; ", __LINE__ - 2, first);
	ck_assert_str_eq(list(), want);
	ck_assert_ptr_eq(kz_array_retain(rows[0]), rows[0]);
	release_arrays(rows[0], rows[1], rows[2]);
	snprintf(want, sizeof(want), "1 buffer 50 %d; 1 array 10 %d; ", first, __LINE__ - 6);
	ck_assert_str_eq(list(), want);
	kz_array_release(rows[0]);
	kz_buffer_release(buffer);
	ck_assert_str_eq(list(), "");
}

/* A pointer to a function and a macro over several lines are places like others. */
DEVICE_TEST(a_call_by_a_pointer_has_its_line)
{
	kz_status (*volatile create)(kz_buffer **, kz_device *, int64_t, kz_error *) =
		kz_buffer_create;
	kz_buffer *first = NULL, *second = NULL;
	char want[200];
	keep_list();
	ok(kz_buffer_create(&first, dev, 10, &err));
	ok(create(&second, dev, 5, &err));
	snprintf(want, sizeof(want), "1 buffer 10 %d; 1 buffer 5 %d; ", __LINE__ - 2, __LINE__ - 1);
	ck_assert_str_eq(list(), want);
	release_buffers(first, second);
}

/* Results that are put over a handle */

static void add_loss(void *text, const kz_leak *leak)
{
	sprintf((char *)text + strlen(text), "%d of %d by %s at %d; ", (int)leak->count, leak->line,
		leak->lost_call, leak->lost_line);
	ck_assert_str_eq(leak->lost_file, leak->lost_line ? __FILE__ : "");
}

static const char *list_losses(void)
{
	static char text[2000];
	text[0] = '\0';
	ok(kz_device_list_leaks(dev, add_loss, text, &err));
	return text;
}

/* Each puts its result over its operand, at `line`. */
#define LOSS(name) static void lose_##name(kz_array **a)

LOSS(add) { HERE; ok(kz_add(a, *a, 1, &err)); }
LOSS(apply) { HERE; ok(kz_apply(a, KZ_OP_ADD, NULL, &err, KZ_ARGS(*a, 1))); }
LOSS(eval) { HERE; ok(kz_eval(a, "a * 2", NULL, &err, KZ_VARS(KZ_VAR("a", *a)))); }
LOSS(sum) { HERE; ok(kz_sum(a, *a, KZ_AXES(0), &err)); }
LOSS(astype) { HERE; ok(kz_array_astype(a, *a, KZ_F64, &err)); }
LOSS(transpose) { HERE; ok(kz_array_transpose(a, *a, KZ_AXES(), &err)); }
LOSS(slice) { HERE; ok(kz_array_slice(a, *a, KZ_AT(KZ_SLICE(0, 1)), &err)); }
LOSS(matmul) { HERE; ok(kz_matmul(a, *a, *a, NULL, &err)); }
LOSS(sort) { HERE; ok(kz_sort(a, *a, -1, NULL, &err)); }
LOSS(inv) { HERE; ok(kz_inv(a, *a, NULL, &err)); }
LOSS(tril) { HERE; ok(kz_tril(a, *a, 0, NULL, &err)); }
LOSS(fft) { HERE; ok(kz_fft(a, *a, KZ_AXES(-1), NULL, &err)); }
LOSS(stack) { HERE; ok(kz_array_stack(a, KZ_ARRAYS(*a, *a), 0, NULL, &err)); }
LOSS(cumsum) { HERE; ok(kz_cumsum(a, *a, 0, &err)); }
LOSS(create) { HERE; ok(kz_array_create(a, dev, KZ_F32, KZ_SHAPE(2), &err)); }
LOSS(softmax) { HERE; ok(kz_softmax(a, *a, -1, NULL, &err)); }

static const struct {
	void (*lose)(kz_array **a);
	const char *call;
} losses[] = {
	{lose_add, "kz_add"}, {lose_apply, "kz_add"}, {lose_eval, "kz_eval"}, {lose_sum, "kz_sum"},
	{lose_astype, "kz_array_astype"}, {lose_transpose, "kz_array_transpose"},
	{lose_slice, "kz_array_slice"}, {lose_matmul, "kz_matmul"}, {lose_sort, "kz_sort"},
	{lose_inv, "kz_inv"}, {lose_tril, "kz_tril"}, {lose_fft, "kz_fft"},
	{lose_stack, "kz_array_stack"}, {lose_cumsum, "kz_cumsum"},
	{lose_create, "kz_array_create"},
	{lose_softmax, "kz_softmax"},
};

START_TEST(a_result_over_a_handle_is_named_with_its_line)
{
	kz_array *a = NULL, *old;
	char want[200];
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(0);
	keep_list();
	ok(kz_array_eye(&a, dev, KZ_F32, 2, 2, 0, &err));
	int made_at = __LINE__ - 1;
	old = a;
	losses[_i].lose(&a);
	ck_assert_ptr_ne(a, old);
	snprintf(want, sizeof(want), "1 of %d by %s at %d; ", made_at, losses[_i].call, line);
	ck_assert_msg(strstr(list_losses(), want), "%s: not '%s'", list_losses(), want);
	kz_array_release(a);
	kz_array_release(old);
	ck_assert_str_eq(list(), "");
	support_close(dev);
}
END_TEST

/* A variable that was never set may hold what an earlier call left in its place, even an operand;
 * and the old handle may be in another variable. */
KERNEL_TEST(a_handle_that_is_released_after_all_was_not_lost)
{
	kz_array *a = NULL, *b = NULL, *kept;
	char want[200];
	keep_list();
	ok(kz_array_ones(&a, dev, KZ_F32, KZ_SHAPE(4), &err));
	for (int i = 0; i < 3; i++) {
		memset(&b, 0xa5, sizeof(b)); /* no object is there */
		memcpy(&b, i ? &a : &b, sizeof(b));
		ok(kz_add(&b, a, 1, &err));
		kz_array_release(a);
		a = b;
	}
	snprintf(want, sizeof(want), "1 of %d by  at 0; ", __LINE__ - 4);
	ck_assert_str_eq(list_losses(), want);
	kept = a;
	ok(kz_add_into(a, a, 1, &err));
	ok(kz_eval_into(a, "a + 1", &err, KZ_VARS(a)));
	ck_assert_str_eq(list_losses(), want);
	ok(kz_add(&a, a, 1, &err));
	kz_array_release(kept);
	snprintf(want, sizeof(want), "1 of %d by  at 0; ", __LINE__ - 2);
	ck_assert_str_eq(list_losses(), want);
	kz_array_release(a);
}

KERNEL_TEST(losses_of_one_line_are_a_group)
{
	kz_array *a = NULL, *lost[4];
	char want[400], text[1000] = "";
	keep_list();
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(1), &err));
	int made_at = __LINE__ - 1;
	for (int i = 0; i < 3; i++) {
		lost[i] = a;
		ok(kz_square(&a, a, &err));
	}
	int at = __LINE__ - 2;
	snprintf(want, sizeof(want), "2 of %d by kz_square at %d; ", at, at);
	ck_assert_ptr_nonnull(strstr(list_losses(), want));
	snprintf(want, sizeof(want), "1 of %d by kz_square at %d; ", made_at, at);
	ck_assert_ptr_nonnull(strstr(list_losses(), want));
	lost[3] = a;
	ok(kz_apply(&a, KZ_OP_ADD, NULL, &err, KZ_ARGS(a, 1)));
	int added_at = __LINE__ - 1;
	FILE *to = fmemopen(text, sizeof(text), "w");
	ok(kz_device_print_leaks(dev, to, &err));
	fclose(to);
	snprintf(want, sizeof(want), "1 array, 4 bytes, created at %s:%d; kz_square at %s:%d put "
		"its result into the same variable\n", __FILE__, made_at, __FILE__, at);
	ck_assert_msg(strstr(text, want), "%s", text);
	snprintf(want, sizeof(want), "%s:%d; kz_add at %s:%d put its result into the same "
		"variable\n", __FILE__, at, __FILE__, added_at);
	ck_assert_msg(strstr(text, want), "%s", text);
	support_release_arrays(lost, 4);
	kz_array_release(a);
}

KERNEL_TEST(a_loss_that_there_is_no_memory_for_stays_unknown)
{
	kz_array *a = NULL, *old;
	keep_list();
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(1), &err));
	old = a;
	mem_fail_after(0);
	ok(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(1), &err));
	ck_assert(mem_has_failed());
	mem_fail_after(-1);
	ck_assert_ptr_null(strstr(list_losses(), "kz_array_create"));
	release_arrays(old, a);
}

/* The file */

static const char *read_file(const char *path)
{
	static char text[4000];
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

START_TEST(the_file_has_what_is_live_at_the_close)
{
	char path[] = "/tmp/kudzu-leaks-XXXXXX", want[1000];
	kz_array *a = NULL;
	close(mkstemp(path));
	setenv("KUDZU_LEAKS", path, 1);
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(_i);
	const char *name = strcmp(kz_device_name(dev), "cpu") == 0 ? "cpu" : "cuda:0";
	ok(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(4), &err));
	int at = __LINE__ - 1;
	kz_device_close(dev);
	int length = snprintf(want, sizeof(want), "%s: closed; live objects:\n%s: 1 array, 16 "
		"bytes, created at %s:%d\n", name, name, __FILE__, at);
	ck_assert_str_eq(read_file(path), want);
	kz_array_release(a); /* after the close is fine */
	length += snprintf(want + length, sizeof(want) - (size_t)length,
		"%s: all of its objects were released after that\n", name);
	ck_assert_str_eq(read_file(path), want);
	dev = support_open_any(_i);
	kz_device_close(dev);
	snprintf(want + length, sizeof(want) - (size_t)length,
		"%s: closed; live objects:\n%s: none\n", name, name);
	ck_assert_str_eq(read_file(path), want);
	unsetenv("KUDZU_LEAKS");
	unlink(path);
}
END_TEST

/* What kz_error_print prints of a launch of nothing, and the line of that call. */
static const char *print_failure(int *at)
{
	static char text[1000];
	kz_array *a = NULL;
	kz_error_clear(&err);
	*at = __LINE__ + 1;
	ck_assert_int_eq(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(-1), &err), KZ_INVALID);
	kz_error_format(&err, text, sizeof(text));
	kz_error_clear(&err);
	return text;
}

START_TEST(an_error_names_the_call_that_failed)
{
	char want[200];
	int at;
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub("");
	ck_assert_ptr_null(strstr(print_failure(&at), "from:"));
	support_close_stub(dev);
	setenv("KUDZU_LEAKS", "/dev/null", 1);
	dev = support_open_stub("");
	const char *text = print_failure(&at);
	snprintf(want, sizeof(want), "\n  from: %s:%d\n", __FILE__, at);
	ck_assert_msg(strstr(text, want), "%s", text);
	support_close_stub(dev);
	unsetenv("KUDZU_LEAKS");
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_told)
{
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("");
	setenv("KUDZU_LEAKS", "/nowhere/leaks.txt", 1);
	fails(kz_device_open(&dev, "cuda:0", &err), KZ_NOT_FOUND,
		"KUDZU_LEAKS: cannot write the report");
	ck_assert_ptr_null(dev);
	unsetenv("KUDZU_LEAKS");
}
END_TEST

START_TEST(without_a_list_there_is_none)
{
	err = (kz_error)KZ_ERROR_INIT;
	char text[100] = "";
	support_stub("");
	ok(kz_device_open(&dev, "cuda:0", &err));
	fails(kz_device_list_leaks(dev, add_line, text, &err), KZ_STATE, "set KUDZU_LEAKS");
	fails(kz_device_list_leaks(NULL, add_line, text, &err), KZ_INVALID, "a device");
	fails(kz_device_list_leaks(dev, NULL, NULL, &err), KZ_INVALID, "a function");
	support_close_stub(dev);
}
END_TEST

/* An object that there is no memory to list is created, and the list says that it is short. */
STUB_TEST(a_list_without_memory_says_so, "")
{
	kz_event *event = NULL;
	char text[100] = "";
	keep_list();
	for (long n = 0; !event; n++) {
		mem_fail_after(n);
		(void)!kz_event_create(&event, dev, NULL);
		mem_fail_after(-1);
	}
	fails(kz_device_list_leaks(dev, add_line, text, &err), KZ_NO_MEMORY,
		"1 objects are missing from");
	mem_fail_after(0);
	ck_assert_int_eq(kz_device_list_leaks(dev, add_line, text, NULL), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_event_release(event);
}

SUITE(leaks)
{
	Suite *s = suite_create("leaks");
	int count = support_device_count();
	TCase *tc = suite_add_case(s, "list");
	tcase_add_loop_test(tc, each_kind_of_object_is_named_with_its_line, 0, countof(objects));
	tcase_add_tests(tc, count, what_a_kernel_needs_is_named,
		operations_leave_only_their_results);
	tcase_add_tests(tc, count + 1, objects_are_grouped_by_kind_and_line,
		a_call_by_a_pointer_has_its_line);
	tcase_add_test(tc, without_a_list_there_is_none);
	tcase_add_test(tc, a_list_without_memory_says_so);
	tc = suite_add_case(s, "losses");
	tcase_add_loop_test(tc, a_result_over_a_handle_is_named_with_its_line, 0, countof(losses));
	tcase_add_tests(tc, count, a_handle_that_is_released_after_all_was_not_lost,
		losses_of_one_line_are_a_group,
		a_loss_that_there_is_no_memory_for_stays_unknown);
	tc = suite_add_case(s, "file");
	tcase_add_test(tc, an_error_names_the_call_that_failed);
	tcase_add_loop_test(tc, the_file_has_what_is_live_at_the_close, 0, count + 1);
	tcase_add_test(tc, a_file_that_cannot_be_written_is_told);
	return s;
}
