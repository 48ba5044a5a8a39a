/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_SCHEDULE_H
#define LIB_OPS_SCHEDULE_H

/*
 * How the work of a kernel is cut for a device.
 *
 * A GPU runs many threads of a block at once.  The CPU device runs them one after the other: there
 * a block of one thread that walks over more elements is fastest.  A family of kernels (kernels.h)
 * has a schedule for each of the two, and takes its numbers from the one that schedule_of chooses.
 */
#include "lib/core/device.h"

struct schedule {
	int threads;  /* of a block */
	int tile;     /* elements of a block, in a family that cuts its work into tiles */
	int each;     /* elements of a thread, in a family that counts these */
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

/* What kernels/NAME.cuh are told of the device: KZ_SERIAL where a block has one thread. */
static inline const char *schedule_define(const struct kz_device *dev)
{
	return schedule_kind(dev) == SCHEDULE_ONE ? "#define KZ_SERIAL\n" : "";
}

#endif
