/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_LIVE_H
#define LIB_CORE_LIVE_H

/* Memory that is in use: what it is called, and which of it a kernel missed. */
#include "lib/core/device.h"

/* Whether a block of a pool is in use, not free or parked; under the lock of the pool. */
static inline bool live_is(const struct segment *segment, const struct free_block *block)
{
	return block->number || (block->memory && !segment->is_counted);
}

/* What there is to say of a block in use. */
kz_live_memory live_entry(const struct mempool *pool, const struct free_block *block);
/* "an array of 100 float32", "a buffer" */
const char *live_describe(char *text, size_t size, const kz_live_memory *memory);

/* The error of a kernel that accessed a wrong address: its log names the array or buffer that is
 * nearest, in the place of the pool's segment.  Takes the locks of the pools. */
void live_name_missed(struct kz_device *dev, kz_error *err);

#endif
