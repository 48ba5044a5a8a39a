/* SPDX-License-Identifier: MIT */
/*
 * Discrete cosine transforms along one axis: a Fourier transform between two kernels
 * (kernels/dct.cuh).
 *
 * Types 2 and 3 are transforms of n real numbers in another order, J. Makhoul, "A fast cosine
 * transform in one and two dimensions" (1980).  Type 1 is one of 2 (n - 1) real numbers, type 4 of
 * even n one of n / 2 complex numbers.  Type 4 of odd n is one of 2 n, of which half are 0.
 */
#include "base/common.h"

#include "lib/fft/fft_plan.h"

#include "lib/array/array.h"
#include "kernels/dct.cuh"
#include "lib/ops/device_code.h"

enum { DCT_ODD_4 = 5 };

struct dct_class {
	kz_dtype dtype;
	int32_t type, is_after, is_ortho, is_along;
};

/* What a type consists of, for a length. */
struct dct_steps {
	kz_status (*run)(const struct fft_job *job, kz_error *err);
	int64_t length;          /* of the Fourier transform */
	int64_t before, after;   /* elements that it reads and writes */
	bool before_is_real, after_is_real;
	int64_t threads;         /* of the last kernel */
	int64_t roots;           /* of this length; 0: none */
};

static struct dct_steps dct_steps_of(int type, int64_t n)
{
	int64_t half = n / 2 + 1;
	switch (type) {
	case 1: return (struct dct_steps){fft_run_real, 2 * (n - 1), 2 * (n - 1), n, true, false, n,
		0};
	case 2: return (struct dct_steps){fft_run_real, n, n, half, true, false, half, 4 * n};
	case 3: return (struct dct_steps){fft_run_to_real, n, half, n, false, true, n, 4 * n};
	case 4: return (struct dct_steps){fft_run, n / 2, n / 2, n / 2, false, false, n / 2, 8 * n};
	default: return (struct dct_steps){fft_run, 2 * n, 2 * n, 2 * n, false, false, n, 8 * n};
	}
}

static void dct_write_source(struct str *source, const void *context)
{
	const struct dct_class *class = context;
	str_addf(source, "typedef %s kz_real;\n#define KZ_TYPE %d\n#define KZ_DIMS %d\n"
		"%s%s%s", class->dtype == KZ_C64 ? "float" : "double", class->type,
		FFT_DIMS, class->is_after ? "#define KZ_AFTER\n" : "",
		class->is_ortho ? "#define KZ_ORTHO\n" : "", class->is_along ? "#define KZ_ALONG\n"
		: "");
	str_add(source, device_points);
	str_add(source, device_dct);
}

/* From job->in to job->out. */
static kz_status dct_launch(const struct fft_job *job, int type, bool is_after, int64_t threads,
	const struct fft_plan *plan, kz_error *err)
{
	static const struct kernel_family family = {
		"dct", dct_write_source,
		{[SCHEDULE_MANY] = {FFT_PLACES}, [SCHEDULE_ONE] = {FFT_PLACES}},
	};
	struct dct_class class = {job->dtype, type, is_after, job->is_ortho, 0};
	struct kz_dct shape = {.length = job->length, .scale = job->scale};
	CUdeviceptr address[3] = {job->out.address, job->in.address, plan ? plan->tables : 0};
	void *params[] = {&address[0], &address[1], &address[2], &shape};
	struct kernels_run run = {.want = {&family, &class, sizeof(class)}, .params = params};
	return fft_places_launch(&run, &shape.places, &class.is_along, job, threads, err);
}

static kz_status dct_scratch(struct kz_array **out, struct fft_side *side,
	const struct fft_job *job, int64_t length, bool is_real, kz_error *err)
{
	struct fft_job of = *job;
	of.dtype = is_real ? dtype_part(job->dtype) : job->dtype;
	kz_status st = fft_scratch(out, side, &of, length, err);
	if (!st && is_real) {
		side->form = FFT_REALS;
	}
	return st;
}

kz_status dct_run(const struct fft_job *job, kz_error *err)
{
	int type = job->cosine_type == 4 && job->length % 2 ? DCT_ODD_4 : job->cosine_type;
	struct dct_steps steps = dct_steps_of(type, job->length);
	struct fft_key key = {steps.roots, job->dtype, FFT_QUARTER};
	struct fft_job before = *job, middle = *job, after = *job;
	struct kz_array *scratch[2] = {NULL, NULL};
	const struct fft_plan *plan = NULL;
	bool is_in_place = steps.run == fft_run;
	kz_status st;
	if ((steps.roots && (st = fft_plan_get(&plan, job->device, &key, err)))
	    || (st = dct_scratch(&scratch[0], &before.out, job, steps.before, steps.before_is_real,
		err))
	    || (!is_in_place && (st = dct_scratch(&scratch[1], &after.in, job, steps.after,
			steps.after_is_real, err)))) {
		goto out;
	}
	after.in = is_in_place ? before.out : after.in;
	middle.in = before.out;
	middle.out = after.in;
	middle.length = steps.length;
	middle.is_inverse = steps.run == fft_run_to_real;
	middle.scale = steps.after_is_real ? job->scale : 1;
	if (!(st = dct_launch(&before, type, false, steps.before, plan, err))
	    && !(st = steps.run(&middle, err))) {
		st = dct_launch(&after, type, true, steps.threads, plan, err);
	}
out:
	kz_array_release(scratch[0]);
	kz_array_release(scratch[1]);
	return st;
}
