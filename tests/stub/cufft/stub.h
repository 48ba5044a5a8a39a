/* SPDX-License-Identifier: MIT */
#ifndef CUFFT_STUB_H
#define CUFFT_STUB_H

/*
 * libcufft-stub.so: cuFFT for tests, which transforms on the memory of the CPU device by the
 * definition.
 *
 * Calls check their arguments, then put a job into the plan's stream.  The job computes in the work
 * space: a caller that gives too little, or gives the same to two streams, gets wrong results.  As
 * cuFFT may, a transform to real numbers overwrites its input, and gives NaN where the spectrum is
 * not one of real numbers.
 *
 * CUFFT_STUB_FAIL="cufftExecC2C:6" makes the function of that name return the code.
 */
#include "lib/fft/cufft.h"

#include <stdatomic.h>

/* The exported symbol cufft_stub. */
struct cufft_stub {
	/* What the test sets: cuLaunchHostFunc of the device's driver. */
	int (*launch)(CUstream stream, void (*function)(void *data), void *data);
	int plans;      /* that there are */
	int made;       /* that cufftMakePlanMany64 was asked for */
	int launches;
	int mistakes;   /* plans that were destroyed while work with them was under way */
	struct cufft_layout last; /* the last that was asked for */
	CUstream stream;          /* of the last launch, as the rest */
	const void *in, *out;
	int direction;
};

#endif
