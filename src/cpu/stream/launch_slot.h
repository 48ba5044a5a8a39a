/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_LAUNCH_SLOT_H
#define CPU_STREAM_LAUNCH_SLOT_H

/* What runs a kernel of a stream: a launcher, and all that must stay until the kernel has ended. */
#include "cpu/stream/work.h"

struct launch_slot;

/* One for such a kernel of a context; NULL when memory runs out.  The caller holds the lock of
 * queue.h, so that no launch has to take a lock for this alone. */
struct launch_slot *launch_slot_take(struct context *context,
	const struct kernel_work *kernel);
void launch_slot_give(struct launch_slot *slot); /* NULL is fine */

/* Run a kernel to its end.  SUCCESS also where it failed and poisoned the context; else it could
 * not begin.  NOT_READY if it may leave: then launch_slot_go_on, on any thread, runs the rest, and
 * what `work` borrows may go. */
CUresult launch_slot_run(struct launch_slot *slot, const struct work *work, bool may_leave);
CUresult launch_slot_go_on(struct launch_slot *slot);
/* What a launch has to do, see launch.h. */
uint64_t launch_slot_work(const struct kernel_work *kernel);
/* The memory that all blocks of a grid take together; SIZE_MAX: more than there can be. */
size_t launch_slot_resident_size(const struct context *context, const struct kernel_work *kernel);

/* For a device: what the launch slots need, and a watchdog if KUDZU_CPU_TIMEOUT says so.  A later
 * limit starts one, too. */
void launch_slots_open(struct device *device);
void launch_slots_close(struct device *device);
/* A number for the kernels of a context that run, if none of their blocks has ended yet; 0
 * otherwise, and if no kernel runs.  With the lock of queue.h. */
uint64_t launch_slots_standing(const struct context *context);
/* End the kernels of a context; to be called until none is left, with the lock of queue.h. */
void launch_slots_cancel(const struct context *context);
/* The limit for launches from now on, in nanoseconds, 0: none; false when no thread can be made. */
bool launch_slots_set_timeout(struct device *device, uint64_t timeout);
/* What sets the device's limit, for messages. */
const char *launch_slots_limit_name(const struct device *device);
/* End the kernels that run longer than they may; how many those are.  In *wait, the nanoseconds
 * after which it should be called again; UINT64_MAX: when a launch with a limit of its own
 * begins. */
unsigned launch_slots_cancel_late(const struct device *device, uint64_t *wait);

#endif
