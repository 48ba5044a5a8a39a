/* SPDX-License-Identifier: MIT */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

/*
 * How the pools ask the driver for segments, and give them back.
 */
#include "core/device.h"

/* The context is current.  What goes back is idle, or goes behind the work in `last`. */
struct source {
	const char *call;
	CUresult (*reserve)(const struct kz_device *dev, CUdeviceptr *address, size_t size);
	void (*give_back)(const struct kz_device *dev, CUdeviceptr address, struct kz_stream *last);
	bool is_ordered; /* the memory exists behind the default stream */
};

/* Where a pool's next segment comes from. */
const struct source *source_choose(const struct mempool *pool);

/* Pin memory of the program's, and let it go. */
CUresult source_pin(const struct kz_device *dev, void *memory, size_t size);
void source_unpin(const struct kz_device *dev, void *memory);

#endif
