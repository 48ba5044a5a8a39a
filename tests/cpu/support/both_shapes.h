/* SPDX-License-Identifier: MIT */
#ifndef BOTH_SHAPES_H
#define BOTH_SHAPES_H

/* Tests of kernels that we generate: on every device, in the form for the CPU and that for GPUs.  A
 * usual run tries each DEVICE_TEST in one of the two; see support_is_way_tried(). */
#include "lib/core/memory.h"
#include "support/suite.h"
#include "support/support.h"

static kz_error err;
static kz_device *dev;

static inline int both_shapes_count(void)
{
	return 2 * support_device_count();
}

/* Whether round `k` of `of` is tried in the form that a DEVICE_TEST tries, as support_is_tried()
 * says. */
static inline bool both_shapes_try(size_t k, size_t of, int usual, int brief)
{
	return support_is_tried((int)k, (int)of, usual, brief);
}

#undef DEVICE_TEST
#define DEVICE_TEST EITHER_WAY_TEST

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

/* The form for GPUs, on a CPU device whose threads run in the order of a seed, by 0 in the usual
 * one, and are checked for races. */
static inline void setup_race(int seed)
{
	char text[12];
	snprintf(text, sizeof(text), "%d", seed);
	setenv("KUDZU_CPU_SCHEDULE", seed ? text : "", 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&dev, "cpu", &err));
	dev->serial = false;
	ok(kz_device_set_option(dev, KZ_OPTION_CHECK, KZ_CHECK_RACE, &err));
}

static inline void both_shapes_take_race(void *user, const kz_report *report)
{
	(void)user;
	ck_abort_msg("%s", report->text);
}

static inline void teardown_race(void)
{
	ok(kz_device_synchronize(dev, &err));
	ok(kz_device_reports(dev, both_shapes_take_race, NULL, &err));
	teardown();
}

#endif
