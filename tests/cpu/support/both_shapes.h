/* SPDX-License-Identifier: MIT */
#ifndef BOTH_SHAPES_H
#define BOTH_SHAPES_H

/* Tests of kernels that we generate: on every device, in the form for the CPU and that for GPUs. */
#include "lib/core/memory.h"
#include "support/support.h"

static kz_error err;
static kz_device *dev;

static inline int both_shapes_count(void)
{
	return 2 * support_device_count();
}

/* Whether round `k` of `of` is tried: in all shapes of kernels together, as many are as
 * support_is_tried() says. */
static inline bool both_shapes_try(int index, size_t k, size_t of, int usual, int brief)
{
	return support_is_tried((int)((size_t)index * of + k), both_shapes_count() * (int)of, usual, brief);
}

static inline void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index / 2);
	dev->serial = index % 2 == 0;
}

static inline void teardown(void)
{
	support_close(dev);
}

#endif
