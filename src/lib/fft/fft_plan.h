/* SPDX-License-Identifier: MIT */
#ifndef LIB_FFT_FFT_PLAN_H
#define LIB_FFT_FFT_PLAN_H

/*
 * Fourier transforms: how a length is computed, and running it along one axis.
 *
 * A plan belongs to a length, a type and a device, which keeps it.  A length of primes up to 31 is
 * a list of passes: pass k is a butterfly of `points` in Stockham's autosort algorithm, computed by
 * one kernel (kernels/fft.cuh).  Any other length is Bluestein's convolution of a smooth length.
 */
#include "lib/core/memory.h"
#include "lib/ops/kernels.h"

enum { FFT_PASSES = 8, FFT_STAGES = 12, FFT_MOST_RADIX = 31, FFT_DIMS = KZ_MAX_DIMS + 2 };

#define KZ_DIMS FFT_DIMS
#include "kernels/points.cuh"

/* Element q + span (p + rest r) becomes q + span (points p + r): p below rest, q below span. */
struct fft_pass {
	int64_t points;
	int64_t span, rest;
	int64_t roots;      /* in the plan's tables: of the stages */
	int64_t twiddles;   /* exp(-2 pi i p r / (points rest)); none if rest is 1 */
	int stage_count;
	uint8_t radices[FFT_STAGES];
};

/* Plans for many transforms side by side, for few, whose passes must make columns, for many rows,
 * and for a table of exp(-2 pi i k / length), k up to half of the length or to a quarter. */
enum fft_kind { FFT_MANY, FFT_ALONE, FFT_ROWS, FFT_ROOTS, FFT_QUARTER };

struct fft_key {
	int64_t length;
	kz_dtype dtype;     /* KZ_C64 or KZ_C128 */
	int32_t kind;       /* an enum fft_kind */
};

struct fft_plan {
	struct fft_plan *next;
	struct fft_key key;
	int pass_count;
	struct fft_pass passes[FFT_PASSES];
	int64_t padded;     /* Bluestein: the length of the convolution; else 0.  A short one is one
	                       pass */
	int64_t chirp, filter; /* in the tables: exp(-i pi j^2 / length), then its conjugate's
	                          transform */
	CUdeviceptr tables;
};

/* The plan of a length from 1 on, made if there is none.  Borrowed from the device. */
kz_status fft_plan_get(const struct fft_plan **out, struct kz_device *dev,
	const struct fft_key *key, kz_error *err);

/* One side of a transform along an axis; strides in bytes. */
struct fft_side {
	enum fft_form form;
	int64_t part;
	struct memory *memory;
	CUdeviceptr address;
	int64_t step;             /* of the axis */
	int64_t strides[FFT_DIMS]; /* of the other axes */
};

struct fft_job {
	struct kz_device *device;
	struct kz_stream *stream;
	kz_dtype dtype;
	int64_t length;
	bool is_inverse;
	double scale;
	int cosine_type;          /* of dct_run: 1 to 4, and whether it is orthogonal */
	bool is_ortho;
	int ndim;                 /* of the other axes */
	int64_t dims[FFT_DIMS];
	struct fft_side in, out;  /* the same elements, or others */
};

/* Put a transform along one axis into a stream.  There are elements. */
kz_status fft_run(const struct fft_job *job, kz_error *err);

/* A temporary array of transforms of this length, in the order of those of job->out. */
kz_status fft_scratch(struct kz_array **out, struct fft_side *side, const struct fft_job *job,
	int64_t length, kz_error *err);

/* fft_real.c */

/* From job->length real numbers to the first half of their spectrum, and back.  The real side has
 * the form FFT_REALS; dtype is complex. */
kz_status fft_run_real(const struct fft_job *job, kz_error *err);
kz_status fft_run_to_real(const struct fft_job *job, kz_error *err);

/* dct.c */

/* The cosine transform of job->cosine_type, times job->scale.  Both sides have the form FFT_REALS,
 * and may be the same elements; dtype is complex. */
kz_status dct_run(const struct fft_job *job, kz_error *err);

/* fft_kernel.c */

enum { FFT_PLACES = 256 }; /* threads of a block */

/* Of fft_kernel.c; `each` is the most points that a thread has in one pass. */
const struct schedule *fft_schedule(const struct kz_device *dev);

/* Launch a kernel with `length` threads along the axis for each row of a job.  The caller says
 * which kernel and its parameters, of which the places are a part: they are filled in.  Threads
 * side by side lie along the axis (*is_along, a part of the wanted kernel's key) or along another
 * one whose steps are shorter.  KZ_UNSUPPORTED: a grid has 2^31 - 1 blocks. */
kz_status fft_places_launch(struct kernels_run *run, struct kz_places *places, int32_t *is_along,
	const struct fft_job *job, int64_t length, kz_error *err);

/* Launch one pass from one side to the other, which may be the same elements if `rest` and `span`
 * are 1. */
kz_status fft_pass_launch(const struct fft_job *job, const struct fft_plan *plan,
	const struct fft_pass *pass, kz_error *err);

#endif
