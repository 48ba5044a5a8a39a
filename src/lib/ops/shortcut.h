/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_SHORTCUT_H
#define LIB_OPS_SHORTCUT_H

/* Operations on arrays that are alike go the way of the first such call: no expression is built for
 * them, and no kernel looked for. */
#include "lib/ops/elementwise.h"
#include "lib/ops/plan.h"

/* A call, as far as it decides about the way. */
struct shortcut {
	uint64_t key; /* 0: it is none of those that are kept */
	struct kz_device *device;
	const struct kz_array *like; /* all arrays have its shape */
};

/* Look at a call; whether it may be one of those that are kept.  All that `how` may have is a
 * target and a stream. */
bool shortcut_read(struct shortcut *call, kz_op op, const struct elementwise *how,
	const kz_args *args);
/* Run it, if there was one like it: else false. */
bool shortcut_run(kz_status *st, kz_array **out, const struct shortcut *call,
	const struct elementwise *how, const kz_args *args, kz_error *err);
/* Keep what a call came to that was read before. */
void shortcut_keep(const struct shortcut *call, const struct expr *expr,
	const struct elementwise_done *done);

#endif
