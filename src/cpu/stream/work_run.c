/* SPDX-License-Identifier: MIT */
/*
 * Work of any kind: what a stream's queue keeps, judges and runs.  A copy of work is one block of
 * memory with all that the original borrows, so that the call that made it can return.
 */
#include "base/common.h"

#include "cpu/stream/work_run.h"

#include "base/alloc.h"

#include <string.h>

static size_t work_borrowed_size(const struct work *work, bool stage)
{
	size_t size = 0;
	switch (work->kind) {
	case WORK_KERNEL:
		return work->kernel.param_size;
	case WORK_VALUES:
		return work->values.count * sizeof(*work->values.list);
	case WORK_COPY:
		// The span of the source was found to fit, so this does.
		size = work->copy.width * work->copy.height * work->copy.depth;
		return stage ? size : 0;
	default:
		return size;
	}
}

/* Make the copy's source a packed copy of it in the work's own bytes. */
static void work_stage_copy(struct box *box, void *bytes)
{
	struct box in = *box;
	in.to.address = (uintptr_t)bytes;
	in.to.pitch = box->width;
	in.to.slice = box->width * box->height;
	operation_copy_box(&in);
	box->from = in.to;
	box->from.side = SIDE_HOST;
}

struct work *work_clone(const struct work *work, bool stage)
{
	const size_t head = round_up(sizeof(*work), 64);
	size_t extra = work_borrowed_size(work, stage);
	size_t size;
	struct work *clone = size_add(&size, head, extra) ? mem_alloc(size) : NULL;
	if (!clone) {
		return NULL;
	}
	uint8_t *bytes = (uint8_t *)clone + head;
	*clone = *work;
	if (work->kind == WORK_KERNEL) {
		clone->kernel.params = bytes;
		memcpy(bytes, work->kernel.params, extra);
	} else if (work->kind == WORK_VALUES) {
		clone->values.list = (const CUstreamBatchMemOpParams *)bytes;
		memcpy(bytes, work->values.list, extra);
	} else if (work->kind == WORK_COPY && stage) {
		work_stage_copy(&clone->copy, bytes);
	} else if (work->kind == WORK_GRAPH) {
		graph_run_retain(clone->run);
	}
	return clone;
}

void work_free(struct work *work)
{
	if (work && work->kind == WORK_GRAPH) {
		graph_run_release(work->run);
	}
	mem_free(work);
}

void work_run(struct context *context, const struct work *work)
{
	if (work->kind == WORK_GRAPH) {
		graph_run_execute(work->run, context);
	} else {
		operation_run(context, work);
	}
}
