/* SPDX-License-Identifier: MIT */
#ifndef LIB_FFT_CUFFT_H
#define LIB_FFT_CUFFT_H

/*
 * Fourier transforms on a GPU by cuFFT.  Our own kernels (fft_run.c) do what it does not do:
 *
 *	no library             KUDZU_CUFFT=none, none found, or not a GPU of NVIDIA's driver
 *	a captured stream      the graph would use a plan longer than its device keeps it
 *	a capture anywhere     no plan is made or dropped then; the existing ones are used
 *	the type               cuFFT has no transform from real numbers to a full spectrum
 *	the axes               more than three that are longer than 1, or none
 *	the strides            cufft_fit: neither 0 nor backwards; axes nested in each other; the
 *	                       rest of the array one batch; addresses that complex numbers may have
 *	the size               cufft_declines: what cuFFT itself says that it does not have
 *	a full cache           all plans are in use by other threads
 *
 * Everything else is cuFFT's.  What bench/bench_cufft.c shows to be faster by our kernels belongs
 * into this list.  A failure of cuFFT is an error.
 */
#include "lib/core/memory.h"
#include "lib/linalg/cuda_library.h"

#include <kudzu/shape.h>

/* What goes from where to where: complex numbers, real ones to half of their spectrum, and back;
 * real numbers to such, by cosines, which cuFFT does not do. */
enum fft_domain { FFT_FULL, FFT_TO_HALF, FFT_FROM_HALF, FFT_COSINE };

struct cufft_job {
	struct kz_stream *stream;
	enum fft_domain domain;
	bool is_inverse;
	kz_dtype dtype;         /* complex; what is real has its parts' */
	double scale;
	kz_axes axes;           /* the axis of real numbers is the last of the list */
	struct kz_array *in;    /* any strides; of FFT_FULL it may be real */
	struct kz_array *out;   /* row-major without gaps, of other memory; it has elements */
};

/* Put a transform into a stream, if cuFFT does it; else *done is false, and nothing has
 * happened. */
kz_status cufft_run(bool *done, const struct cufft_job *job, kz_error *err);

/* The rest is for tests. */

enum { CUFFT_RANK = 3, CUFFT_PLANS = 64 };

/* The arguments of cufftMakePlanMany64.  Transform b has its element (i, j, k) at
 * ((i embed[1] + j) embed[2] + k) stride + b dist. */
struct cufft_side {
	long long embed[CUFFT_RANK], stride, dist;
};
struct cufft_layout {
	long long type, rank, batch; /* a cufftType */
	long long n[CUFFT_RANK];
	struct cufft_side in, out;
};

struct cufft_plan {
	struct cufft_plan *next;
	struct cufft_layout layout;
	cufftHandle handle;     /* -1: cuFFT has no such transform */
	size_t work_size;
	int users;              /* threads that are about to launch it */
};

/* Of a device.  A plan is of one context, and one thread at a time may call cuFFT with it.  Its
 * work space is of one call, so that streams can run it side by side. */
struct cufft_table {
	struct device_table base;
	struct kz_device *device;
	const struct cuda_library *library; /* NULL: our kernels do it all */
	pthread_mutex_t lock;   /* guards the rest, and all calls of cuFFT */
	struct cufft_plan *plans; /* the one that was used last is first */
	int count;
};

kz_status cufft_table_get(struct cufft_table **out, struct kz_device *dev, kz_error *err);

/* Fill in a layout whose type is set, of the axes in this order.  False: cuFFT cannot read or write
 * such arrays. */
bool cufft_fit(struct cufft_layout *layout, const struct kz_array *in, const struct kz_array *out,
	const int64_t *axes, int rank);

#endif
