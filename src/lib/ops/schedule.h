/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_SCHEDULE_H
#define LIB_OPS_SCHEDULE_H

/*
 * How the work of a kernel is cut for a device.
 *
 * A GPU runs many threads of a block at once.  The CPU device runs them one after the other: there
 * a block of one thread that walks over more elements is fastest.  A family of kernels (kernels.h)
 * has a schedule for each of the two, and takes its numbers from the one that schedule_of chooses.
 * The text of its kernels has them as macros, whose names stand beside the members.
 */
#include "lib/core/device.h"

struct schedule {
	int threads;  /* of a block: KZ_THREADS */
	int tile;     /* elements of a block, in a family that cuts its work into tiles:
	                 KZ_TILE_SIZE */
	int each;     /* elements of a thread, in a family that counts these: KZ_PER_THREAD */
};

/* For a device that runs many threads at once, and for one that runs a thread at a time. */
enum schedule_kind { SCHEDULE_MANY, SCHEDULE_ONE, SCHEDULES };

static inline enum schedule_kind schedule_kind(const struct kz_device *dev)
{
	return dev->serial ? SCHEDULE_ONE : SCHEDULE_MANY;
}

static inline const struct schedule *schedule_of(const struct schedule schedules[SCHEDULES],
	const struct kz_device *dev)
{
	return &schedules[schedule_kind(dev)];
}

#endif
