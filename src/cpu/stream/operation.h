/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_OPERATION_H
#define CPU_STREAM_OPERATION_H

/* Work that is no launch of a graph: whether it is quick, and how it is done; see work_run.h. */
#include "cpu/stream/work.h"

bool operation_is_quick(const struct work *work);
void operation_run(struct context *context, const struct work *work);

/* Copy a struct box; both ends are mapped. */
void operation_copy_box(void *box);

#endif
