/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_RUNNER_H
#define CPU_STREAM_RUNNER_H

/* What runs a kernel of a stream: a launcher, and all that must stay until the kernel has ended. */
#include "cpu/stream/work.h"

struct runner;

/* One for a kernel of a context; NULL when memory runs out.  Who takes one or gives it back holds
 * the lock of queue.h, which no launch then has to take for this alone. */
struct runner *runner_take(struct context *context);
void runner_give(struct runner *runner); /* NULL is fine */

/* Run a kernel to its end.  SUCCESS also where it failed and poisoned the context; else it could not
 * begin. */
CUresult runner_run(struct runner *runner, const struct work *work);
/* What a launch has to do, see launch.h. */
uint64_t runner_work(const struct kernel_work *kernel);

/* For a device: what the runners need, and a watchdog if KUDZU_CPU_TIMEOUT says so. */
void runners_open(struct device *device);
void runners_close(struct device *device);
/* End the kernels of a context; to be called until there are none, with the lock of queue.h. */
void runners_cancel(const struct context *context);

#endif
