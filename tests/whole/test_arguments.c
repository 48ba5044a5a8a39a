/* SPDX-License-Identifier: MIT */
/* A message about an argument that is missing names the function and the argument. */
#include "base/common.h"

#include "support/device_test.h"
#include "support/suite.h"

static kz_array *a, *none, *out, *more;
static kz_buffer *buffer, *no_buffer;
static kz_stream *no_stream;
static kz_graph *graph, *no_graph;
static char host[64];
static int wrong;

#define MISSING(X) \
	X(kz_array_get, "array", (none, host, 4, &err)) \
	X(kz_array_set, "array", (none, host, 4, &err)) \
	X(kz_array_get_strided, "array", (none, host, 4, NULL, 0, &err)) \
	X(kz_array_get_async, "array", (none, host, 4, NULL, &err)) \
	X(kz_array_get_async, "stream", (a, host, 8, no_stream, &err)) \
	X(kz_array_astype, "array", (&out, none, KZ_F32, &err)) \
	X(kz_array_astype_on, "array", (&out, none, KZ_F32, NULL, &err)) \
	X(kz_array_copy, "array", (&out, none, &err)) \
	X(kz_array_assign, "to", (none, a, &err)) \
	X(kz_array_assign, "from", (a, none, &err)) \
	X(kz_array_assign_on, "to", (none, a, NULL, &err)) \
	X(kz_array_fill, "to", (none, KZ_ARG(1), &err)) \
	X(kz_array_fill, "value", (a, KZ_ARG(none), &err)) \
	X(kz_array_fill_on, "value", (a, KZ_ARG(none), NULL, &err)) \
	X(kz_array_scale, "array", (none, KZ_ARG(1), &err)) \
	X(kz_array_scale, "alpha", (a, KZ_ARG(none), &err)) \
	X(kz_array_scale_on, "alpha", (a, KZ_ARG(none), NULL, &err)) \
	X(kz_scale_along, "array", (none, a, 0, &err)) \
	X(kz_scale_along, "factors", (a, none, 0, &err)) \
	X(kz_scale_along_on, "factors", (a, none, 0, NULL, &err)) \
	X(kz_apply_into, "into", (none, KZ_OP_ADD, &err, KZ_ARGS(a, a))) \
	X(kz_eval_into, "into", (none, "a", &err, KZ_VARS(a))) \
	X(kz_array_zeros, "dev", (&out, NULL, KZ_F32, KZ_SHAPE(1), &err)) \
	X(kz_array_create, "dev", (&out, NULL, KZ_F32, KZ_SHAPE(1), &err)) \
	X(kz_array_transpose, "array", (&out, none, KZ_AXES(), &err)) \
	X(kz_array_reshape, "array", (&out, none, KZ_SHAPE(1), &err)) \
	X(kz_array_concatenate, "arrays", (&out, KZ_ARRAYS(a, none), 0, NULL, &err)) \
	X(kz_array_take, "array", (&out, none, a, 0, KZ_INDEX_CHECK, &err)) \
	X(kz_array_take, "indexes", (&out, a, none, 0, KZ_INDEX_CHECK, &err)) \
	X(kz_array_put, "indexes", (a, none, a, KZ_INDEX_CHECK, &err)) \
	X(kz_array_nonzero, "array", (&out, none, &err)) \
	X(kz_array_compress, "mask", (&out, a, none, &err)) \
	X(kz_sum, "array", (&out, none, KZ_ALL_AXES, &err)) \
	X(kz_cumsum, "array", (&out, none, 0, &err)) \
	X(kz_gemm, "c", (none, KZ_ARG(1), a, KZ_MATRIX_AS_IS, a, KZ_MATRIX_AS_IS, KZ_ARG(0), NULL, \
		&err)) \
	X(kz_gemm, "a", (a, KZ_ARG(1), none, KZ_MATRIX_AS_IS, a, KZ_MATRIX_AS_IS, KZ_ARG(0), NULL, \
		&err)) \
	X(kz_gemm, "b", (a, KZ_ARG(1), a, KZ_MATRIX_AS_IS, none, KZ_MATRIX_AS_IS, KZ_ARG(0), NULL, \
		&err)) \
	X(kz_matmul, "a", (&out, none, a, NULL, &err)) \
	X(kz_matmul, "b", (&out, a, none, NULL, &err)) \
	X(kz_matmul_op, "a", (&out, none, KZ_MATRIX_TRANSPOSED, a, KZ_MATRIX_AS_IS, NULL, &err)) \
	X(kz_matmul_op, "b", (&out, a, KZ_MATRIX_TRANSPOSED, none, KZ_MATRIX_AS_IS, NULL, &err)) \
	X(kz_cov, "x", (&out, none, NULL, &err)) \
	X(kz_corrcoef, "x", (&out, none, NULL, &err)) \
	X(kz_dot, "b", (&out, a, none, NULL, &err)) \
	X(kz_solve, "array", (&out, none, a, NULL, &err)) \
	X(kz_inv, "array", (&out, none, NULL, &err)) \
	X(kz_linalg_norm, "array", (&out, none, KZ_NORM_P, 0, KZ_ALL_AXES, NULL, &err)) \
	X(kz_fft, "array", (&out, none, KZ_AXES(-1), NULL, &err)) \
	X(kz_fftshift, "array", (&out, none, KZ_AXES(-1), NULL, &err)) \
	X(kz_convolve, "a", (&out, none, a, KZ_CONVOLVE_FULL, NULL, &err)) \
	X(kz_tril, "array", (&out, none, 0, NULL, &err)) \
	X(kz_softmax, "x", (&out, none, -1, NULL, &err)) \
	X(kz_trapz, "y", (&out, none, NULL, &err)) \
	X(kz_sort, "array", (&out, none, -1, NULL, &err)) \
	X(kz_sort_compare, "array", (&out, none, "a < b", -1, NULL, &err)) \
	X(kz_sort_compare, "less", (&out, a, NULL, -1, NULL, &err)) \
	X(kz_sort_by_key, "keys", (&out, &more, none, a, -1, NULL, &err)) \
	X(kz_searchsorted, "sorted", (&out, none, a, NULL, &err)) \
	X(kz_unique, "array", (&out, NULL, NULL, NULL, none, NULL, &err)) \
	X(kz_copy_htod, "buffer", (no_buffer, 0, host, 4, &err)) \
	X(kz_copy_dtod, "buffer", (buffer, 0, no_buffer, 0, 4, &err)) \
	X(kz_fill, "buffer", (no_buffer, 0, 4, "a", 1, NULL, &err)) \
	X(kz_fill, "pattern", (buffer, 0, 4, NULL, 1, NULL, &err)) \
	X(kz_buffer_create, "dev", (&buffer, NULL, 4, &err)) \
	X(kz_stream_synchronize, "stream", (no_stream, &err)) \
	X(kz_device_synchronize, "dev", (NULL, &err)) \
	X(kz_device_set_limit, "dev", (NULL, KZ_LIMIT_STACK_SIZE, 4, &err)) \
	X(kz_event_elapsed_ms, "start", (&seconds, NULL, NULL, &err)) \
	X(kz_graph_add_host, "graph", (NULL, no_graph, KZ_AFTER(), NULL, NULL, &err)) \
	X(kz_graph_add_htod, "to", (NULL, graph, KZ_AFTER(), no_buffer, 0, host, 4, &err)) \
	X(kz_module_global, "mod", (&buffer, NULL, "x", &err)) \
	X(kz_launch, "kernel", (NULL, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS())) \
	X(kz_kernel_optimize, "kernel", (NULL, &err)) \
	X(kz_compile, "source", (&image, NULL, NULL, &err)) \
	X(kz_module_compile, "source", (&mod, dev, NULL, NULL, &err)) \
	X(kz_layout_check, "source", (NULL, NULL, layout, &err)) \
	X(kz_layout_check, "layout", ("", NULL, layout, &err)) \
	X(kz_dlpack_import_take, "tensor", (&out, dev, NULL, &err)) \
	X(kz_dlpack_import_take, "tensor", (&out, dev, (void *)bad_tensor, &err)) \
	X(kz_module_load_file, "path", (&mod, dev, NULL, &err)) \
	X(kz_texture_create, "array", (&texture, NULL, NULL, &err))

static void check(kz_status st, const char *function, const char *argument)
{
	char want[100];
	snprintf(want, sizeof(want), "%s: argument '%s': expected ", function, argument);
	if (st != KZ_INVALID || strncmp(err.message, want, strlen(want)) != 0) {
		wrong++;
		fprintf(stderr, "%s: %s\n", function, err.message);
	}
	kz_error_clear(&err);
}

STUB_TEST(a_message_about_a_missing_argument_names_function_and_argument, "")
{
	kz_buffer *const kept = create_buffer(16);
	kz_module *mod;
	kz_image *image;
	kz_texture *texture;
	double seconds;
	const kz_layout layout = {.type = NULL};
	const int64_t bad_tensor[16] = {0, 9}; /* of no device that there is */
	ok(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(1, 2), &err));
	ok(kz_graph_create(&graph, dev, &err));
#define X(function, argument, args) \
	buffer = kept; \
	check(function args, #function, argument);
	MISSING(X)
#undef X
	ck_assert_int_eq(wrong, 0);
	kz_graph_release(graph);
	kz_array_release(a);
	kz_buffer_release(kept);
}

/* Operands are numbered, and variables have names; what a pointer is for has a hint. */
STUB_TEST(an_operand_that_is_no_array_is_named_and_has_a_hint, "")
{
	float numbers[2] = {1, 2};
	buffer = create_buffer(16);
	ok(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(2), &err));
	fails(kz_add(&out, a, none, &err), KZ_INVALID, "kz_add: operand 2: expected an array, got "
		"NULL");
	fails(kz_add_into(a, none, a, &err), KZ_INVALID, "kz_add_into: operand 1: expected an "
		"array, got NULL");
	fails(kz_eval(&out, "2 * b", NULL, &err, KZ_VARS(KZ_VAR("b", none))), KZ_INVALID,
		"kz_eval: variable 'b': expected an array, got NULL");
	fails(kz_array_fill(a, KZ_ARG(none), &err), KZ_INVALID,
		"kz_array_fill: argument 'value': expected");
	fails(kz_add(&out, a, buffer, &err), KZ_INVALID, "kz_add: operand 2: expected an array or "
		"a number, got a buffer");
	ck_assert_int_eq(kz_add(&out, a, numbers, &err), KZ_INVALID);
	ck_assert_str_eq(err.message, "kz_add: operand 2: expected an array or a number, got a "
		"pointer to host memory");
	ck_assert_ptr_nonnull(strstr(err.hint, "kz_array_from"));
	kz_error_clear(&err);
	ck_assert_int_eq(kz_eval(&out, "x + 1", NULL, &err, KZ_VARS(KZ_VAR("x", numbers))),
		KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(err.hint, "kz_array_from"));
	kz_error_clear(&err);
	kz_array_release(a);
	kz_buffer_release(buffer);
}

/* What helpers for shapes, axes, dtypes and options find names the function that was called, not
 * one that it calls, and an earlier failure stays as it was. */
STUB_TEST(a_mistake_that_a_helper_finds_names_the_function_that_was_called, "")
{
	kz_compile_options few = KZ_COMPILE_OPTIONS_INIT;
	kz_array *three = NULL, *parts[2];
	kz_module *mod;
	kz_image *image;
	few.max_registers = -1;
	ok(kz_array_create(&a, dev, KZ_F32, KZ_SHAPE(1, 2), &err));
	ok(kz_array_create(&three, dev, KZ_F32, KZ_SHAPE(3), &err));
#define CALLS(X) \
	X(kz_array_create(&out, dev, (kz_dtype)77, KZ_SHAPE(1), &err), \
		"kz_array_create: 77 is not a dtype") \
	X(kz_array_zeros(&out, dev, KZ_F32, KZ_SHAPE(-1), &err), \
		"kz_array_zeros: extent 0 of the shape is -1") \
	X(kz_array_ones_on(&out, dev, KZ_F32, KZ_SHAPE(2, -1), NULL, &err), \
		"kz_array_ones_on: extent 1 of the shape is -1") \
	X(kz_array_slice(&out, a, KZ_AT(5), &err), \
		"kz_array_slice: index 5 is out of range for axis 0 of shape (1, 2)") \
	X(kz_array_split(parts, 2, a, 9, &err), \
		"kz_array_split: axis 9 is out of range for shape (1, 2)") \
	X(kz_array_swapaxes(&out, a, 0, 9, &err), \
		"kz_array_swapaxes: axis 9 is out of range for shape (1, 2)") \
	X(kz_array_reshape(&out, a, KZ_SHAPE(5), &err), \
		"kz_array_reshape: cannot reshape (1, 2) into (5,)") \
	X(kz_array_take(&out, a, a, 0, (kz_index_mode)9, &err), \
		"kz_array_take: 9 is not a kz_index_mode") \
	X(kz_sum(&out, a, KZ_AXES(9), &err), "kz_sum: axis 9 is out of range for shape (1, 2)") \
	X(kz_cumsum(&out, a, 9, &err), "kz_cumsum: axis 9 is out of range for shape (1, 2)") \
	X(kz_sort(&out, a, 9, NULL, &err), "kz_sort: axis 9 is out of range for shape (1, 2)") \
	X(kz_add(&out, a, three, &err), \
		"kz_add: shapes (1, 2) and (3,) do not broadcast: 2 against 3 in axis -1") \
	X(kz_add_into(a, a, three, &err), \
		"kz_add_into: shapes (1, 2) and (3,) do not broadcast: 2 against 3 in axis -1") \
	X(kz_fft(&out, a, KZ_AXES(9), NULL, &err), \
		"kz_fft: axis 9 is out of range for shape (1, 2)") \
	X(kz_compile(&image, "", &few, &err), \
		"kz_compile: expected max_registers of 0 or more, got -1") \
	X(kz_module_compile(&mod, dev, "", &few, &err), \
		"kz_module_compile: expected max_registers of 0 or more, got -1")
#define X(call, text) \
	ck_assert_int_ne(call, KZ_OK); \
	ck_assert_str_eq(err.message, text); \
	kz_error_clear(&err);
	CALLS(X)
#undef X
#undef CALLS
	ck_assert_int_eq(kz_array_slice(&out, a, KZ_AT(5), &err), KZ_RANGE);
	ck_assert_int_eq(kz_sort(&out, a, 9, NULL, &err), KZ_RANGE);
	ck_assert_str_eq(err.message,
		"kz_array_slice: index 5 is out of range for axis 0 of shape (1, 2)");
	kz_error_clear(&err);
	kz_array_release(a);
	kz_array_release(three);
}

SUITE(arguments)
{
	Suite *s = suite_create("arguments");
	TCase *tc = suite_add_case(s, "names");
	tcase_add_test(tc, a_message_about_a_missing_argument_names_function_and_argument);
	tcase_add_test(tc, an_operand_that_is_no_array_is_named_and_has_a_hint);
	tcase_add_test(tc, a_mistake_that_a_helper_finds_names_the_function_that_was_called);
	return s;
}
