/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_WORK_H
#define CPU_STREAM_WORK_H

/*
 * One thing that a stream does, as plain data: a call fills it in, checks it, and gives it to
 * stream_enqueue.  It may be run any number of times, and what it points to is either borrowed from
 * the caller (the parameters of a kernel, a list of operations) or, after work_clone, part of it.
 */
#include "cpu/object/context.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"
#include "cpu/object/cu_module.h"

enum work_kind {
	WORK_EMPTY,
	WORK_KERNEL,
	WORK_COPY,
	WORK_FILL,
	WORK_HOST,      /* a function of cuLaunchHostFunc */
	WORK_CALLBACK,  /* a function of cuStreamAddCallback */
	WORK_RECORD,    /* of an event */
	WORK_WAIT,      /* for an event, as it was recorded when the wait was enqueued */
	WORK_FREE,      /* memory of cuMemAllocAsync */
	WORK_VALUES,    /* wait for or write values in memory: cuStreamBatchMemOp */
	WORK_GRAPH,     /* a launch of a graph */
	WORK_COPIES,    /* a batch of copies, which is a node of a graph */
	WORK_CONDITION  /* a conditional node of a graph, which graph_run.c runs */
};

/* One end of a copy. */
struct end {
	enum side { SIDE_DEVICE, SIDE_HOST, SIDE_ANY } side;
	uint64_t address;
	size_t pitch;      /* from row to row */
	size_t slice;      /* from slice to slice */
};

/* A copy of a box: depth times height rows of width bytes. */
struct box {
	struct end to;
	struct end from;
	size_t width;
	size_t height;
	size_t depth;
};

/* A fill: `height` rows of `width` elements of `size` bytes each. */
struct fill {
	CUdeviceptr to;
	size_t pitch;
	uint32_t value;
	size_t size;
	size_t width;
	size_t height;
};

/* A kernel, its grid and its parameters. */
struct kernel_work {
	struct function *function;
	const struct jit_code *code; /* for such blocks */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t dynamic_shared;
	bool is_cooperative;
	uint8_t shared_mode;    /* CUsharedMemoryMode of the launch; 0: that of the kernel */
	uint64_t timeout;       /* in nanoseconds; 0: the device's */
	const void *params;
	size_t param_size;
};

struct work {
	enum work_kind kind;
	bool is_external;       /* of WORK_RECORD and WORK_WAIT: in a capture, a node */
	union {
		struct kernel_work kernel;
		struct box copy;
		struct fill fill;
		struct {
			const struct box *list;
			size_t count;
		} copies;
		struct {
			CUhostFn function;
			void *data;
		} host;
		struct {
			CUstreamCallback function;
			CUstream stream;
			void *data;
		} callback;
		CUevent event;
		CUdeviceptr address;
		struct graph_run *run;
		struct {
			const CUstreamBatchMemOpParams *list;
			size_t count;
		} values;
	};
};

/* Blocks of a kernel's grid. */
static inline uint64_t work_blocks(const struct kernel_work *kernel)
{
	return (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
}

/* The bytes from the first to past the last that a box touches at one end; false on overflow. */
static inline bool work_span(const struct box *box, const struct end *end, size_t *out)
{
	size_t rows;
	size_t slices;
	return size_mul(&rows, end->pitch, box->height - 1)
		&& size_mul(&slices, end->slice, box->depth - 1)
		&& size_add(out, rows, slices) && size_add(out, *out, box->width);
}

#endif
