/* SPDX-License-Identifier: MIT */
/*
 * Transforms of real numbers, which have half of a spectrum, along one axis (kernels/fft_real.cuh).
 *
 * An even length is a complex transform of half of it.  An odd one is a complex transform of all.
 */
#include "base/common.h"

#include "lib/fft/fft_plan.h"

#include "lib/array/array.h"
#include "kernels/fft_real.cuh"
#include "lib/ops/device_code.h"

#include <string.h>

enum half_job { HALF_UNTANGLE, HALF_TANGLE, HALF_HEAD, HALF_MIRROR };

struct half_class {
	kz_dtype dtype;
	int32_t job, is_along;
};

static void fft_real_write_source(struct str *source, const void *context)
{
	const struct half_class *class = context;
	str_addf(source, "typedef %s kz_real;\n#define KZ_JOB %d\n#define KZ_DIMS %d\n%s",
		class->dtype == KZ_C64 ? "float" : "double", class->job, FFT_DIMS,
		class->is_along ? "#define KZ_ALONG\n" : "");
	str_add(source, device_points);
	str_add(source, device_fft_real);
}

/* From in to out of the job, whose length is that of real numbers. */
static kz_status fft_real_launch(const struct fft_job *job, enum half_job which, int64_t threads,
	int64_t length, kz_error *err)
{
	static const struct kernel_family family = {
		"fft", fft_real_write_source,
		{[SCHEDULE_MANY] = {FFT_PLACES}, [SCHEDULE_ONE] = {FFT_PLACES}},
	};
	struct half_class class = {job->dtype, (int32_t)which, 0};
	struct fft_key roots = {job->length, job->dtype, FFT_ROOTS};
	const struct fft_plan *plan = NULL;
	struct kz_half shape = {.length = length};
	kz_status st = which <= HALF_TANGLE ? fft_plan_get(&plan, job->device, &roots, err) : KZ_OK;
	if (st) {
		return st;
	}
	CUdeviceptr address[3] = {job->out.address, job->in.address, plan ? plan->tables : 0};
	void *params[] = {&address[0], &address[1], &address[2], &shape};
	struct kernels_run run = {.want = {&family, &class, sizeof(class)}, .params = params};
	return fft_places_launch(&run, &shape.places, &class.is_along, job, threads, err);
}

/* Pairs of real numbers along the axis, as points where these lie so. */
static void fft_real_pair(struct fft_side *side, const struct fft_job *job)
{
	int64_t size = dtype_size(job->dtype);
	uint64_t bits = side->address;
	for (int i = 0; i < job->ndim; i++) {
		bits |= (uint64_t)side->strides[i];
	}
	side->form = 2 * side->step == size && bits % (uint64_t)size == 0 ? FFT_POINTS : FFT_PAIRS;
	side->part = side->step;
	side->step *= 2;
}

kz_status fft_run_real(const struct fft_job *job, kz_error *err)
{
	struct fft_job whole = *job, last = *job;
	struct kz_array *scratch = NULL;
	int64_t half = job->length / 2;
	kz_status st;
	if (job->length % 2 == 0) {
		whole.length = half;
		fft_real_pair(&whole.in, job);
		last.in = last.out;
		st = fft_run(&whole, err);
		return st ? st : fft_real_launch(&last, HALF_UNTANGLE, half / 2 + 1, half, err);
	}
	if ((st = fft_scratch(&scratch, &whole.out, job, job->length, err))) {
		return st;
	}
	last.in = whole.out;
	if (!(st = fft_run(&whole, err))) {
		st = fft_real_launch(&last, HALF_HEAD, half + 1, job->length, err);
	}
	kz_array_release(scratch);
	return st;
}

kz_status fft_run_to_real(const struct fft_job *job, kz_error *err)
{
	struct fft_job first = *job, whole = *job;
	struct kz_array *scratch = NULL;
	bool is_even = job->length % 2 == 0;
	int64_t half = job->length / 2, length = is_even ? half : job->length;
	kz_status st = fft_scratch(&scratch, &first.out, job, length, err);
	if (st) {
		return st;
	}
	whole.length = length;
	whole.in = first.out;
	if (is_even) {
		fft_real_pair(&whole.out, job);
	}
	if (!(st = fft_real_launch(&first, is_even ? HALF_TANGLE : HALF_MIRROR,
		is_even ? half / 2 + 1 : length, length, err))) {
		st = fft_run(&whole, err);
	}
	kz_array_release(scratch);
	return st;
}
