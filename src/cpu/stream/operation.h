/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_OPERATION_H
#define CPU_STREAM_OPERATION_H

/* All work but launches of graphs: whether it is quick, and how it is done; see work_run.h. */
#include "cpu/exec/launch.h"
#include "cpu/stream/work.h"

/*
 * How much there is to do, as launch.h counts; UINT64_MAX if it may wait for other work, or if it
 * is not known to end.  A kernel without loops ends.  One with loops that do not wait may go on for
 * ever, too; it counts as one that ends once it has done so.
 */
uint64_t operation_work(const struct work *work);
static inline bool operation_is_quick(const struct work *work)
{
	return operation_work(work) <= LAUNCH_CALL_WORK;
}

/* The context has failed or ends: nothing more is to run in it. */
bool operation_must_stop(struct context *context);

void operation_run(struct context *context, const struct work *work);

/* Copy a struct box; both ends are mapped. */
void operation_copy_box(void *box);

#endif
