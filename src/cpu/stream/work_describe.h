/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_WORK_DESCRIBE_H
#define CPU_STREAM_WORK_DESCRIBE_H

/*
 * From what the program gives to a struct work, with all checks: for the calls that enqueue it and
 * for the nodes of graphs.  What the work points to is the caller's.
 */
#include "cpu/exec/launch.h"
#include "cpu/stream/work.h"

/* The parameters of a kernel as a call gives them, in one of two forms, and room for their bytes.
 * The most that there can be would fill a small stack.  Set all but `few`. */
struct parameters {
	void **values;
	void **extra;
	void *many; /* NULL at first and if `few` is enough; the caller frees it */
	_Alignas(64) uint8_t few[1024];
};

/* The caller has put the grid, the block and the dynamic shared memory into work->kernel, and
 * whether the launch is cooperative; this adds the rest. */
CUresult work_describe_kernel(const char *call, struct context *context, CUfunction handle,
	struct parameters *parameters, struct work *work);
CUresult work_describe_copy(const char *call, struct context *context, const CUDA_MEMCPY3D *copy,
	struct work *out);
CUresult work_describe_fill(const char *call, struct context *context, const struct fill *fill,
	struct work *out);
/* The first version of the functions allows a flag that the second does not, and has no barriers;
 * else they are the same. */
enum values_version { VALUES_1, VALUES_2 };
struct values_list {
	enum values_version version;
	unsigned count;
	const CUstreamBatchMemOpParams *operations;
	unsigned flags;
};
CUresult work_describe_values(const char *call, struct context *context,
	const struct values_list *list, struct work *out);

/* Parts of these, for calls that may be about nothing: the box of a copy, whether what a box
 * touches may be touched, and the same for a fill. */
CUresult work_plan_box(const char *call, const CUDA_MEMCPY3D *copy, struct box *out);
CUresult work_check_box(const char *call, struct context *context, const struct box *box);
CUresult work_check_fill(const char *call, struct context *context, const struct fill *fill);
/* The same, and whether the context's device has access to memory of pools and to mapped memory.
 * A copy between two contexts needs no access. */
CUresult work_check_own_box(const char *call, struct context *context, const struct box *box);
CUresult work_check_own_fill(const char *call, struct context *context, const struct fill *fill);

/* Attributes of launches are hints that may be ignored, or ask for features that the CPU device
 * does not have. */
CUresult work_check_attribute(const char *call, const CUlaunchAttribute *attribute);

#endif
