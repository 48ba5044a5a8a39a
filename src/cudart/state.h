/* SPDX-License-Identifier: MIT */
#ifndef CUDART_STATE_H
#define CUDART_STATE_H

/*
 * What each thread has: its device, its last error, its pending call configurations.
 *
 *	cudaError_t code = state_enter();
 *	if (!code) {
 *		code = driver_error(driver.cuMemAlloc_v2(...));
 *	}
 *	return state_leave(code);
 */
#include "cudart/driver.h"

enum { STATE_DEVICES = 64, STATE_CALLS = 32 };

struct state_call {
	dim3 grid;
	dim3 block;
	size_t shared_size;
	cudaStream_t stream;
};

struct state {
	cudaError_t last;
	int device;            /* of cudaSetDevice; a context that is current comes first */
	unsigned resets;       /* those of all devices that this thread has seen */
	unsigned call_count;
	struct state_call calls[STATE_CALLS];
};

extern _Thread_local struct state state;

/* For functions that need no context: the driver is there. */
cudaError_t state_begin(void);
/* The driver is there, and the thread has a context: the one that is current, else the primary one
 * of its device. */
cudaError_t state_enter(void);
/* Each function ends with it: a failure becomes the thread's last error. */
cudaError_t state_leave(cudaError_t code);
/* Clear the thread's last error, unless the context is lost. */
void state_forget(void);

cudaError_t state_device(int *device); /* the one whose context is current, else the chosen one */
cudaError_t state_choose(int device);  /* cudaSetDevice */
cudaError_t state_prepare(int device); /* retain its primary context */
cudaError_t state_reset(void);         /* cudaDeviceReset */

/* The stream that a function for per-thread default streams means by 0. */
static inline cudaStream_t state_per_thread(cudaStream_t stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

#endif
