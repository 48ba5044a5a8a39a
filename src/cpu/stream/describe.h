/* SPDX-License-Identifier: MIT */
#ifndef CPU_DESCRIBE_H
#define CPU_DESCRIBE_H

/*
 * From what the program gives to a struct work, with all checks: for the calls that enqueue it and
 * for the nodes of graphs.  What the work points to is the caller's.
 */
#include "cpu/exec/launch.h"
#include "cpu/stream/work.h"

struct parameters {
	_Alignas(64) uint8_t bytes[LAUNCH_MAX_PARAMS];
};

/* work->kernel has the grid, the block, the dynamic shared memory, and whether it is cooperative;
 * this is all the rest. */
CUresult work_describe_kernel(const char *call, struct context *context, CUfunction handle,
	void **values, void **extra, struct parameters *parameters, struct work *work);
CUresult work_describe_copy(const char *call, struct context *context, const CUDA_MEMCPY3D *copy,
	struct work *out);
CUresult work_describe_fill(const char *call, struct context *context, const struct fill *fill,
	struct work *out);
CUresult work_describe_values(const char *call, struct context *context, unsigned count,
	const CUstreamBatchMemOpParams *list, unsigned flags, struct work *out);

/* Attributes of launches are hints that may be ignored, or ask for what is not there. */
CUresult work_check_attribute(const char *call, const CUlaunchAttribute *attribute);

#endif
