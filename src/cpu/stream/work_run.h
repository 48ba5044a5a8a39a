/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_WORK_RUN_H
#define CPU_STREAM_WORK_RUN_H

/* What can be done with work of any kind, launches of graphs included: copy it, judge it, run
 * it. */
#include "base/stack.h"
#include "cpu/stream/graph_run.h"
#include "cpu/stream/operation.h"

/* A copy on the heap that borrows nothing, but for the memory that a copy or a fill is about.  With
 * `stage`, a copy's source is read now.  NULL when memory runs out. */
struct work *work_clone(const struct work *work, bool stage);
/* Free a clone; NULL is fine.  Not with the lock of queue.h. */
void work_free(struct work *work);

/* Whether the calling thread has the stack for it; else it leaves it to the stream's own thread. */
static inline bool work_has_stack(const struct work *work)
{
	return (work->kind != WORK_KERNEL && work->kind != WORK_GRAPH)
		|| stack_has_room(LAUNCH_STACK);
}

/* Whether the calling thread may do it: it does not wait for other work.  For a graph, with the
 * lock of queue.h. */
static inline bool work_is_quick(const struct work *work)
{
	return (work->kind == WORK_GRAPH ? graph_run_is_quick(work->run) : operation_is_quick(work))
		&& work_has_stack(work);
}

/*
 * Do it on the calling thread, to its end.  What fails poisons the context; in a poisoned one
 * nothing is done, but that callbacks are told, memory is freed and fences are made.  WORK_RECORD
 * and WORK_WAIT are the streams' own and do nothing here.
 */
void work_run(struct context *context, const struct work *work);

#endif
