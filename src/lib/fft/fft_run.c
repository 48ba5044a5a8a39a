/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms along one axis: the passes of a plan, between temporary arrays, and
 * Bluestein's algorithm (kernels/chirp.cuh), "A linear filtering approach to the computation of
 * discrete Fourier transform" (1970).
 */
#include "base/common.h"

#include "lib/fft/fft_plan.h"

#include "lib/array/array.h"
#include "kernels/chirp.cuh"
#include "lib/ops/device_code.h"

#include <stdlib.h>
#include <string.h>

enum { FFT_WIDE = 32, FFT_ROW = 512 };

kz_status fft_scratch(struct kz_array **out, struct fft_side *side, const struct fft_job *job,
	int64_t length, kz_error *err)
{
	int64_t size = dtype_size(job->dtype), count = length, stride;
	kz_status st;
	/* Axes with shorter steps than the transformed one stay inside it. */
	int64_t inner = size;
	for (int i = 0; i < job->ndim; i++) {
		count *= job->dims[i];
		inner *= llabs(job->out.strides[i]) < llabs(job->out.step) ? job->dims[i] : 1;
	}
	stride = inner * length;
	int64_t within = size;
	for (int i = job->ndim; i-- > 0;) {
		bool is_inner = llabs(job->out.strides[i]) < llabs(job->out.step);
		side->strides[i] = is_inner ? within : stride;
		within *= is_inner ? job->dims[i] : 1;
		stride *= is_inner ? 1 : job->dims[i];
	}
	side->form = FFT_POINTS;
	side->part = 0;
	side->step = inner;
	kz_shape shape = {1, {count}};
	if ((st = array_create_on(out, job->device, job->dtype, &shape, job->stream, err))) {
		return st;
	}
	side->memory = (*out)->buffer->memory;
	side->address = array_address(*out);
	return KZ_OK;
}

static kz_status fft_run_passes(const struct fft_job *job, const struct fft_plan *plan,
	kz_error *err)
{
	struct kz_array *scratch[2] = {NULL, NULL};
	struct fft_side sides[2];
	kz_status st = KZ_OK;
	int last = plan->pass_count - 1;
	for (int i = 0; !st && i < last && i < 2; i++) {
		st = fft_scratch(&scratch[i], &sides[i], job, job->length, err);
	}
	for (int i = 0; !st && i <= last; i++) {
		struct fft_job step = *job;
		step.in = i == 0 ? job->in : sides[(i - 1) % 2];
		step.out = i == last ? job->out : sides[i % 2];
		step.scale = i == last ? job->scale : 1;
		st = fft_pass_launch(&step, plan, &plan->passes[i], err);
	}
	kz_array_release(scratch[0]);
	kz_array_release(scratch[1]);
	return st;
}

/* Bluestein */

struct chirp_class {
	kz_dtype dtype;
	int32_t step, is_inverse, is_along;
	int32_t in, out; /* enum fft_form */
};

static void fft_chirp_write_source(struct str *source, const void *context)
{
	const struct chirp_class *class = context;
	str_addf(source, "typedef %s kz_real;\n#define KZ_STEP %d\n#define KZ_DIMS %d\n"
		"#define KZ_IN_FORM %d\n#define KZ_OUT_FORM %d\n"
		"%s%s", class->dtype == KZ_C64 ? "float" : "double", class->step,
		FFT_DIMS, class->in, class->out, class->is_inverse ? "#define KZ_INVERSE\n" : "",
		class->is_along ? "#define KZ_ALONG\n" : "");
	str_add(source, device_points);
	str_add(source, device_chirp);
}

/* Step 0, 1 or 2 of chirp.cuh from one side to the other. */
static kz_status fft_chirp_launch(const struct fft_job *job, int step, int64_t length,
	int64_t inner, CUdeviceptr factors, kz_error *err)
{
	static const struct kernel_family family = {
		"fft", fft_chirp_write_source,
		{[SCHEDULE_MANY] = {FFT_PLACES}, [SCHEDULE_ONE] = {FFT_PLACES}},
	};
	struct chirp_class class = {job->dtype, step, step != 1 && job->is_inverse, 0,
		(int32_t)job->in.form, (int32_t)job->out.form};
	struct kz_chirp shape = {.inner = inner, .in_part = job->in.part, .out_part = job->out.part,
		.scale = job->scale};
	CUdeviceptr address[2] = {job->out.address, job->in.address};
	void *params[] = {&address[0], &address[1], &factors, &shape};
	struct kernels_run run = {.want = {&family, &class, sizeof(class)}, .params = params};
	return fft_places_launch(&run, &shape.places, &class.is_along, job, length, err);
}

static kz_status fft_run_chirp(const struct fft_job *job, const struct fft_plan *plan,
	kz_error *err)
{
	struct fft_job first = *job, middle = *job, last = *job;
	struct kz_array *scratch = NULL;
	struct fft_side side;
	CUdeviceptr tables = plan->tables;
	int64_t size = dtype_size(job->dtype);
	CUdeviceptr chirp = tables + (CUdeviceptr)(plan->chirp * size);
	kz_status st = fft_scratch(&scratch, &side, job, plan->padded, err);
	if (st) {
		return st;
	}
	first.out = side;
	middle.in = middle.out = side;
	middle.length = plan->padded;
	middle.scale = 1;
	last.in = side;
	struct fft_job forward = middle, backward = middle;
	forward.is_inverse = false;
	backward.is_inverse = true;
	if (!(st = fft_chirp_launch(&first, 0, plan->padded, job->length, chirp, err))
	    && !(st = fft_run(&forward, err))
	    && !(st = fft_chirp_launch(&middle, 1, plan->padded, plan->padded,
		tables + (CUdeviceptr)(plan->filter * size), err))
	    && !(st = fft_run(&backward, err))) {
		st = fft_chirp_launch(&last, 2, job->length, job->length, chirp, err);
	}
	kz_array_release(scratch);
	return st;
}

kz_status fft_run(const struct fft_job *job, kz_error *err)
{
	int64_t widest = 1;
	for (int i = 0; i < job->ndim; i++) {
		widest = job->dims[i] > widest ? job->dims[i] : widest;
	}
	bool is_row = job->length >= FFT_ROW && llabs(job->in.step) <= dtype_size(job->dtype)
		&& job->out.step == dtype_size(job->dtype);
	struct fft_key key = {job->length, job->dtype, widest < FFT_WIDE ? FFT_ALONE
		: is_row ? FFT_ROWS : FFT_MANY};
	const struct fft_plan *plan;
	kz_status st = fft_plan_get(&plan, job->device, &key, err);
	return st ? st : plan->padded && !plan->pass_count ? fft_run_chirp(job, plan, err)
		: fft_run_passes(job, plan, err);
}
