/* SPDX-License-Identifier: MIT */
/* Calls that name a stream: all of their work goes there, and they compute what the plain forms
 * do. */
#include "base/common.h"

#include "support/device_test.h"

#include <string.h>

/* What the calls are made with.  `plane` is a view with gaps, so that some have to copy first. */
static struct {
	kz_array *line;    /* (60,) int32: 0, 1, 2 ... */
	kz_array *plane;   /* (6, 10), transposed */
	kz_array *indexes; /* (4,) uint64 */
	kz_array *along;   /* (1, 10) int32 */
	kz_array *factors; /* (4,) int32 */
	kz_array *matrix;  /* (10, 6) int32 */
	kz_array *real;    /* as plane: (6, 10) float32 */
	kz_array *mask;    /* as plane: some are 0 */
	kz_random *rng;
} in;

static void create_input(void)
{
	const uint64_t indexes[4] = {3, 0, 5, 1};
	const int32_t along[10] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3};
	in.line = support_counted(dev, KZ_SHAPE(60));
	in.factors = support_counted(dev, KZ_SHAPE(4));
	in.matrix = support_counted(dev, KZ_SHAPE(10, 6));
	ok(kz_array_transpose(&in.plane, in.matrix, KZ_AXES(), &err));
	ok(kz_array_from(&in.indexes, dev, KZ_U64, KZ_SHAPE(4), indexes, sizeof(indexes), &err));
	ok(kz_array_from(&in.along, dev, KZ_I32, KZ_SHAPE(1, 10), along, sizeof(along), &err));
	ok(kz_array_astype(&in.real, in.plane, KZ_F32, &err));
	ok(kz_remainder(&in.mask, in.plane, 3, &err));
	ok(kz_random_create(&in.rng, dev, 1, 0, &err));
}

static void release_input(void)
{
	release_arrays(in.line, in.plane, in.indexes, in.along, in.factors, in.matrix, in.real,
		in.mask);
	kz_random_release(in.rng);
}

/* A call in a stream, or, without one, its plain form.  Calls that change an array get a copy. */

#define CALL(name, plain, on) \
	static kz_status do_##name(kz_array **out, kz_stream *s) \
	{ \
		return s ? on : plain; \
	}

#define CHANGE(name, plain, on) \
	static kz_status do_##name(kz_array **out, kz_stream *s) \
	{ \
		kz_array *a = *out; \
		return s ? on : plain; \
	}

#define OPTIONS(name, call) \
	static kz_status do_##name(kz_array **out, kz_stream *s) \
	{ \
		kz_op_options o = KZ_OP_OPTIONS_INIT; \
		o.stream = s; \
		return call; \
	}

static const double half = 0.5;

CALL(zeros, kz_array_zeros(out, dev, KZ_I32, KZ_SHAPE(7), &err),
	kz_array_zeros_on(out, dev, KZ_I32, KZ_SHAPE(7), s, &err))
CALL(ones, kz_array_ones(out, dev, KZ_F64, KZ_SHAPE(7), &err),
	kz_array_ones_on(out, dev, KZ_F64, KZ_SHAPE(7), s, &err))
CALL(full, kz_array_full(out, dev, KZ_F64, KZ_SHAPE(7), &half, 8, &err),
	kz_array_full_on(out, dev, KZ_F64, KZ_SHAPE(7), &half, 8, s, &err))
CALL(zeros_like, kz_array_zeros_like(out, in.plane, KZ_F32, &err),
	kz_array_zeros_like_on(out, in.plane, KZ_F32, s, &err))
CALL(ones_like, kz_array_ones_like(out, in.plane, 0, &err),
	kz_array_ones_like_on(out, in.plane, 0, s, &err))
CALL(full_like, kz_array_full_like(out, in.plane, KZ_F64, &half, 8, &err),
	kz_array_full_like_on(out, in.plane, KZ_F64, &half, 8, s, &err))
CALL(imag, kz_array_imag(out, in.plane, &err), kz_array_imag_on(out, in.plane, s, &err))
CALL(reshape, kz_array_reshape(out, in.plane, KZ_SHAPE(4, -1), &err),
	kz_array_reshape_on(out, in.plane, KZ_SHAPE(4, -1), s, &err))
CALL(ravel, kz_array_ravel(out, in.plane, &err), kz_array_ravel_on(out, in.plane, s, &err))
CALL(contiguous, kz_array_contiguous(out, in.plane, &err),
	kz_array_contiguous_on(out, in.plane, s, &err))
CALL(astype, kz_array_astype(out, in.plane, KZ_F32, &err),
	kz_array_astype_on(out, in.plane, KZ_F32, s, &err))
CALL(copy, kz_array_copy(out, in.line, &err), kz_array_copy_on(out, in.line, s, &err))
CALL(take, kz_array_take(out, in.plane, in.indexes, 0, KZ_INDEX_CHECK, &err),
	kz_array_take_on(out, in.plane, in.indexes, 0, KZ_INDEX_CHECK, s, &err))
CALL(take_wrapped, kz_array_take(out, in.plane, in.indexes, 0, KZ_INDEX_WRAP, &err),
	kz_array_take_on(out, in.plane, in.indexes, 0, KZ_INDEX_WRAP, s, &err))
CALL(take_each, kz_array_take_each(out, KZ_ARRAYS(in.plane), in.indexes, 0, KZ_INDEX_CHECK, &err),
	kz_array_take_each_on(out, KZ_ARRAYS(in.plane), in.indexes, 0, KZ_INDEX_CHECK, s, &err))
CALL(take_along, kz_array_take_along_axis(out, in.plane, in.along, 0, KZ_INDEX_CHECK, &err),
	kz_array_take_along_axis_on(out, in.plane, in.along, 0, KZ_INDEX_CHECK, s, &err))
CALL(nonzero, kz_array_nonzero(out, in.mask, &err), kz_array_nonzero_on(out, in.mask, s, &err))
CALL(compress, kz_array_compress(out, in.plane, in.mask, &err),
	kz_array_compress_on(out, in.plane, in.mask, s, &err))
CALL(cumsum, kz_cumsum(out, in.plane, 0, &err), kz_cumsum_on(out, in.plane, 0, s, &err))
CALL(cumprod, kz_cumprod(out, in.plane, 1, &err), kz_cumprod_on(out, in.plane, 1, s, &err))
CALL(arange, kz_array_arange(out, dev, 0, KZ_ARG(3), KZ_ARG(90), KZ_ARG(7), &err),
	kz_array_arange_on(out, dev, 0, KZ_ARG(3), KZ_ARG(90), KZ_ARG(7), s, &err))
CALL(arange_real, kz_array_arange(out, dev, 0, KZ_ARG(3), KZ_ARG(9), KZ_ARG(0.5), &err),
	kz_array_arange_on(out, dev, 0, KZ_ARG(3), KZ_ARG(9), KZ_ARG(0.5), s, &err))
CALL(linspace, kz_array_linspace(out, dev, 0, KZ_ARG(3), KZ_ARG(9), 11, 1, &err),
	kz_array_linspace_on(out, dev, 0, KZ_ARG(3), KZ_ARG(9), 11, 1, s, &err))
CALL(eye, kz_array_eye(out, dev, KZ_F32, 4, 5, 1, &err),
	kz_array_eye_on(out, dev, KZ_F32, 4, 5, 1, s, &err))
CHANGE(assign, kz_array_assign(a, in.along, &err), kz_array_assign_on(a, in.along, s, &err))
CHANGE(fill, kz_array_fill(a, KZ_ARG(7), &err), kz_array_fill_on(a, KZ_ARG(7), s, &err))
CHANGE(put, kz_array_put(a, in.indexes, in.along, KZ_INDEX_CHECK, &err),
	kz_array_put_on(a, in.indexes, in.along, KZ_INDEX_CHECK, s, &err))
CHANGE(put_each, kz_array_put_each(KZ_ARRAYS(a), in.indexes, KZ_ARRAYS(in.along), KZ_INDEX_CHECK,
	&err), kz_array_put_each_on(KZ_ARRAYS(a), in.indexes, KZ_ARRAYS(in.along), KZ_INDEX_CHECK,
	s, &err))
CHANGE(scale, kz_array_scale(a, KZ_ARG(3), &err), kz_array_scale_on(a, KZ_ARG(3), s, &err))
CHANGE(scale_along, kz_scale_along(a, in.factors, 0, &err),
	kz_scale_along_on(a, in.factors, 0, s, &err))
OPTIONS(apply, kz_apply(out, KZ_OP_ADD, &o, &err, KZ_ARGS(in.plane, 1)))
OPTIONS(eval, kz_eval(out, "a * 2 + b", &o, &err, KZ_VARS(KZ_VAR("a", in.plane),
	KZ_VAR("b", in.along))))
OPTIONS(stack, kz_array_stack(out, KZ_ARRAYS(in.plane, in.plane), 1, &o, &err))
OPTIONS(roll, kz_array_roll(out, in.plane, 1, 0, &o, &err))
OPTIONS(matmul, kz_matmul(out, in.matrix, in.plane, &o, &err))
OPTIONS(matmul_of_types, kz_matmul(out, in.matrix, in.real, &o, &err))
OPTIONS(matmul_op, kz_matmul_op(out, in.matrix, KZ_MATRIX_ADJOINT, in.plane, KZ_MATRIX_ADJOINT, &o,
	&err))
OPTIONS(inner, kz_inner(out, in.line, in.line, &o, &err))
OPTIONS(dot, kz_dot(out, in.matrix, in.plane, &o, &err))
OPTIONS(vdot, kz_vdot(out, in.plane, in.real, &o, &err))
OPTIONS(outer, kz_outer(out, in.plane, in.factors, &o, &err))
OPTIONS(kron, kz_kron(out, in.factors, in.plane, &o, &err))
OPTIONS(einsum, kz_einsum(out, "ij,kj->ik", KZ_ARRAYS(in.plane, in.real), &o, &err))
OPTIONS(mdot, kz_mdot(out, KZ_ARRAYS(in.matrix, in.plane, in.matrix), &o, &err))
OPTIONS(tril, kz_tril(out, in.plane, 0, &o, &err))
OPTIONS(diag, kz_diag(out, in.factors, 1, &o, &err))
OPTIONS(diff, kz_diff(out, in.plane, 2, 0, &o, &err))
OPTIONS(vander, kz_vander(out, in.factors, -1, 0, &o, &err))
OPTIONS(trace, kz_trace(out, in.plane, 0, &o, &err))
OPTIONS(softmax, kz_softmax(out, in.plane, 0, &o, &err))
OPTIONS(log_softmax, kz_log_softmax(out, in.real, 1, &o, &err))
OPTIONS(uniform, kz_random_seek(in.rng, 0, &err) ? KZ_INVALID : kz_random_draw(out, in.rng,
	KZ_RANDOM_UNIFORM, KZ_F32, KZ_SHAPE(100), 1, 2, &o, &err))
OPTIONS(integers, kz_random_seek(in.rng, 0, &err) ? KZ_INVALID : kz_random_integers(out, in.rng,
	KZ_I8, KZ_SHAPE(100), 0, 9, &o, &err))
OPTIONS(concatenate, kz_array_concatenate(out, KZ_ARRAYS(in.plane, in.real), 0, &o, &err))
OPTIONS(tile, kz_array_tile(out, in.plane, KZ_SHAPE(2, 2), &o, &err))
OPTIONS(repeat, kz_array_repeat(out, in.plane, 3, 1, &o, &err))
OPTIONS(one_hot, kz_one_hot(out, in.along, 6, &o, &err))
OPTIONS(rank, kz_matrix_rank(out, in.line, -1, &o, &err))

static kz_status do_scan(kz_array **out, kz_stream *s)
{
	kz_scan_options o = KZ_SCAN_OPTIONS_INIT;
	o.stream = s;
	o.axis = 0;
	return kz_scan(out, in.plane, "a > b ? a : b", "0", &o, &err);
}

static kz_status do_scan_into(kz_array **out, kz_stream *s)
{
	kz_scan_options o = KZ_SCAN_OPTIONS_INIT;
	o.stream = s;
	o.into = *out;
	return kz_scan(NULL, in.plane, "a + b", "0", &o, &err);
}

#define SEARCH(name, call) \
	static kz_status do_##name(kz_array **out, kz_stream *s) \
	{ \
		kz_search_options o = KZ_SEARCH_OPTIONS_INIT; \
		o.stream = s; \
		return call; \
	}
SEARCH(searchsorted, kz_searchsorted(out, in.line, in.real, &o, &err))
SEARCH(digitize, kz_digitize(out, in.plane, in.factors, &o, &err))

static kz_status do_cov(kz_array **out, kz_stream *s)
{
	kz_cov_options o = KZ_COV_OPTIONS_INIT;
	o.stream = s;
	o.y = in.plane;
	return kz_cov(out, in.plane, &o, &err);
}

static kz_status do_corrcoef(kz_array **out, kz_stream *s)
{
	kz_cov_options o = KZ_COV_OPTIONS_INIT;
	o.stream = s;
	o.columns = 1;
	return kz_corrcoef(out, in.matrix, &o, &err);
}

static kz_status do_histogram(kz_array **out, kz_stream *s)
{
	kz_histogram_options o = KZ_HISTOGRAM_OPTIONS_INIT;
	o.stream = s;
	o.weights = in.plane;
	o.density = 1;
	return kz_histogram(out, NULL, in.real, &o, &err);
}

static kz_status do_histogram_between(kz_array **out, kz_stream *s)
{
	kz_histogram_options o = KZ_HISTOGRAM_OPTIONS_INIT;
	o.stream = s;
	o.edges = in.factors;
	return kz_histogram(out, NULL, in.real, &o, &err);
}

static kz_status do_scatter(kz_array **out, kz_stream *s)
{
	kz_scatter_options o = KZ_SCATTER_OPTIONS_INIT;
	o.stream = s;
	return kz_array_scatter(*out, in.indexes, in.along, KZ_SCATTER_ADD, &o, &err);
}

#define SEGMENT(name, call) \
	static kz_status do_##name(kz_array **out, kz_stream *s) \
	{ \
		kz_segment_options o = KZ_SEGMENT_OPTIONS_INIT; \
		kz_array *other = NULL; \
		o.stream = s; \
		kz_status st = call; \
		kz_array_release(other); \
		return st; \
	}
SEGMENT(segments, kz_segment_reduce(out, in.line, in.factors, KZ_REDUCE_SUM, &o, &err))
SEGMENT(segments_combined,
	kz_segment_combine(out, in.line, in.factors, "a > b ? a : b", "0", &o, &err))
SEGMENT(by_key, kz_reduce_by_key(&other, out, in.factors, in.factors, KZ_REDUCE_MAX, &o, &err))
SEGMENT(encode, kz_run_length_encode(out, &other, in.line, &o, &err))
SEGMENT(decode, kz_run_length_decode(out, in.factors, in.factors, &o, &err))

static kz_status do_bincount(kz_array **out, kz_stream *s)
{
	kz_bincount_options o = KZ_BINCOUNT_OPTIONS_INIT;
	o.stream = s;
	o.minlength = 70;
	return kz_bincount(out, in.line, &o, &err);
}

static kz_status do_reduce(kz_array **out, kz_stream *s)
{
	kz_reduce_options o = KZ_REDUCE_OPTIONS_INIT;
	o.stream = s;
	return kz_reduce(out, KZ_REDUCE_VAR, in.plane, KZ_AXES(0), &o, &err);
}

static kz_status do_norm(kz_array **out, kz_stream *s)
{
	kz_reduce_options o = KZ_REDUCE_OPTIONS_INIT;
	o.stream = s;
	return kz_linalg_norm(out, in.plane, KZ_NORM_P, 0, KZ_AXES(0), &o, &err);
}

/* Half of each row, from an array without gaps. */
static kz_status do_copy_box(kz_array **out, kz_stream *s)
{
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	box.to = (kz_copy_side){.buffer = kz_array_buffer(*out), .pitch = 80, .x = 16};
	box.from.buffer = kz_array_buffer(in.line);
	box.width = 40;
	box.height = 6;
	return s ? kz_copy_3d_on(&box, s, &err) : kz_copy_3d(&box, &err);
}

static kz_status do_fill_rows(kz_array **out, kz_stream *s)
{
	return kz_fill_2d(kz_array_buffer(*out), 8, 80, 40, 6, "12345678", 8, s, &err);
}

/* To a CUDA array and back. */
static kz_status do_texels(kz_array **out, kz_stream *s)
{
	kz_cuda_array *texels = NULL;
	kz_array *back = NULL;
	kz_status st;
	if ((st = kz_array_zeros_on(&back, dev, KZ_I32, KZ_SHAPE(10, 6), s, &err))
	    || (st = kz_cuda_array_create(&texels, dev, KZ_I32, KZ_SHAPE(10, 6), NULL, &err))) {
		return st;
	}
	st = s ? kz_cuda_array_set_on(texels, 0, in.matrix, s, &err)
		: kz_cuda_array_set(texels, 0, in.matrix, &err);
	if (!st) {
		st = s ? kz_cuda_array_get_on(back, texels, 0, s, &err)
			: kz_cuda_array_get(back, texels, 0, &err);
	}
	kz_cuda_array_release(texels);
	*out = back;
	return st;
}

static const struct call {
	const char *name;
	kz_status (*run)(kz_array **out, kz_stream *stream);
	int changes; /* the extent 0 of the part of `plane` that it changes; 0: it makes an array */
} calls[] = {
#define ROW(name) {#name, do_##name, 0},
#define CHANGES(name, rows) {#name, do_##name, rows},
	ROW(zeros) ROW(ones) ROW(full) ROW(zeros_like) ROW(ones_like) ROW(full_like) ROW(imag)
	ROW(reshape) ROW(ravel) ROW(contiguous) ROW(astype) ROW(copy) ROW(take) ROW(take_wrapped)
	ROW(take_each) ROW(take_along) ROW(nonzero) ROW(compress) ROW(cumsum) ROW(cumprod)
	ROW(arange)
	ROW(arange_real) ROW(linspace) ROW(eye) ROW(scan) ROW(reduce) ROW(norm) ROW(apply) ROW(eval)
	ROW(stack) ROW(roll) ROW(matmul) ROW(matmul_of_types) ROW(matmul_op) ROW(inner)
	ROW(dot) ROW(vdot) ROW(outer) ROW(kron) ROW(einsum) ROW(mdot) ROW(tril) ROW(diag) ROW(diff)
	ROW(vander) ROW(trace) ROW(softmax) ROW(log_softmax) ROW(uniform) ROW(integers)
	ROW(concatenate) ROW(tile) ROW(repeat) ROW(one_hot) ROW(rank) ROW(texels)
	ROW(cov) ROW(corrcoef)
	ROW(searchsorted) ROW(digitize) ROW(histogram) ROW(histogram_between) ROW(bincount) ROW(
		segments)
	ROW(segments_combined) ROW(by_key) ROW(encode) ROW(decode)
	CHANGES(scatter, 6) CHANGES(assign, 6) CHANGES(fill, 6) CHANGES(put, 6)
	CHANGES(put_each, 6) CHANGES(scale, 6)
	CHANGES(scale_along, 4) CHANGES(scan_into, 6) CHANGES(copy_box, 6) CHANGES(fill_rows, 6)
#undef ROW
#undef CHANGES
};

/* What a call changes: a copy of the first rows, of int64; NULL for one that makes an array. */
static kz_array *create_target(const struct call *call)
{
	kz_array *rows = NULL, *copy = NULL;
	if (call->changes) {
		ok(kz_array_slice(&rows, in.plane, KZ_AT(KZ_SLICE(0, call->changes)), &err));
		ok(kz_array_astype(&copy, rows, KZ_I64, &err));
		kz_array_release(rows);
	}
	return copy;
}

static void setup_call(int index)
{
	support_no_libraries();
	open_kernels(index % support_device_count());
	create_input();
}

/* The plain form is not what is tested here: other suites compare it with references. */
START_TEST(a_call_in_a_stream_computes_what_its_plain_form_does)
{
	const struct call *call = &calls[_i / support_device_count()];
	char host[2][4096];
	kz_array *out[2] = {NULL};
	kz_stream *stream = NULL;
	setup_call(_i);
	ok(kz_stream_create(&stream, dev, 0, &err));
	for (int i = 0; i < 2; i++) {
		out[i] = create_target(call);
		ok(call->run(&out[i], i ? stream : NULL));
		ck_assert_int_le(kz_array_size(out[i]), (int64_t)sizeof(host[i]));
		ok(kz_array_get(out[i], host[i], kz_array_size(out[i]), &err));
	}
	ck_assert_uint_eq(kz_array_dtype(out[0]), kz_array_dtype(out[1]));
	ck_assert_int_eq(kz_array_size(out[0]), kz_array_size(out[1]));
	ck_assert_int_gt(kz_array_size(out[0]), 0);
	ck_assert_mem_eq(host[0], host[1], (size_t)kz_array_size(out[0]));
	kz_stream_release(stream);
	release_arrays(out[0], out[1]);
	release_input();
	teardown();
}
END_TEST

static void setup_stub_call(const char *script)
{
	support_no_libraries();
	open_stub(script);
	/* Kernels do nothing there: what they leave alone is 0. */
	kz_buffer *zeros = create_buffer(1 << 20);
	ok(kz_fill(zeros, 0, 1 << 20, "", 1, NULL, &err));
	kz_buffer_release(zeros);
	create_input();
}

START_TEST(all_work_goes_into_the_stream_that_is_named)
{
	const struct call *call = &calls[_i];
	kz_stream *stream = NULL;
	setup_stub_call("streams=1");
	ok(kz_stream_create(&stream, dev, 0, &err));
	kz_array *out = create_target(call);
	long before = support_stub_work(NULL, NULL);
	ok(call->run(&out, stream));
	long work = support_stub_work(NULL, NULL) - before;
	ck_assert_int_gt(work, 0);
	ck_assert_msg(work == support_stub_work(NULL, kz_stream_handle(stream)),
		"%s: %ld of %ld calls are in the stream", call->name,
		support_stub_work(NULL, kz_stream_handle(stream)), work);
	kz_array_release(out);
	release_input();
	kz_stream_release(stream);
	close_stub();
}
END_TEST

START_TEST(a_stream_of_another_device_is_refused)
{
	const struct call *call = &calls[_i];
	kz_device *other = NULL;
	setup_stub_call("devices=2;streams=1");
	ok(kz_device_open(&other, "cuda:1", &err));
	kz_array *out = create_target(call);
	long before = support_stub_work(NULL, NULL);
	fails(call->run(&out, kz_device_stream(other)), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	ck_assert_int_eq(support_stub_work(NULL, NULL), before);
	ck_assert(call->changes || !out);
	kz_array_release(out);
	release_input();
	kz_device_close(other);
	close_stub();
}
END_TEST

SUITE(streams)
{
	Suite *s = suite_create("streams");
	TCase *tc = suite_add_case(s, "each device");
	const int count = (int)countof(calls);
	tcase_set_timeout(tc, 60);
	const int times = count * support_device_count();
	tcase_add_sample(tc, a_call_in_a_stream_computes_what_its_plain_form_does, times, times / 2,
		times / 6);
	tc = suite_add_case(s, "stub");
	tcase_set_timeout(tc, 60);
	tcase_add_sample(tc, all_work_goes_into_the_stream_that_is_named, count, count / 4,
		count / 12);
	tcase_add_loop_test(tc, a_stream_of_another_device_is_refused, 0, count);
	return s;
}
