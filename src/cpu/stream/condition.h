/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CONDITION_H
#define CPU_STREAM_CONDITION_H

/*
 * Conditions: the values that conditional nodes of graphs look at.  Kernels set them by
 * cudaGraphSetConditional, which gets the handle as a number.
 */
#include "base/common.h"
#include "base/cuda_abi.h"

#include <stdatomic.h>

struct condition {
	struct condition *next;  /* of the same graph */
	atomic_uint refs;
	void *handle;
	uint32_t value;          /* written and read atomically */
	uint32_t initial;
	bool is_assigned;        /* the initial value, at each launch */
	bool is_taken;           /* a node has it; under the lock of graphs */
};

/* NULL when memory runs out. */
struct condition *condition_create(uint32_t initial, bool is_assigned);
struct condition *condition_retain(struct condition *condition); /* NULL is fine */
void condition_release(struct condition *condition);             /* NULL is fine */
/* NULL: not the handle of a living one. */
struct condition *condition_find(CUgraphConditionalHandle handle);
/* What struct rt_host needs: where the value is. */
uint32_t *condition_find_value(uint64_t handle);

#endif
