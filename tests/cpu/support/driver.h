/* SPDX-License-Identifier: MIT */
#ifndef TESTS_DRIVER_H
#define TESTS_DRIVER_H

/*
 * Whose driver the tests of the driver API run on.  check_cpu holds the CPU device; check_driver is
 * linked with libcuda.so.1 as other programs are, and is for NVIDIA's: what holds on one must hold
 * on the other.  Tests of what only our device promises, or knows how to do, say so and return:
 *
 *	if (driver_lacks("the words of its log are ours")) {
 *		return;
 *	}
 */
#include "base/common.h"

#include "base/cuda_abi.h"

/* Ours is in the program. */
extern const bool driver_is_ours;

/* The reason for tests that do all twice. */
#define DRIVER_WIDTHS "its warps have one width"

/* False with our driver; else true, and says why. */
static inline bool driver_lacks(const char *reason)
{
	(void)reason;
	return !driver_is_ours;
}

/* Whether it runs PTX for this compute capability, 90; ours, all of it. */
bool driver_runs(int cc);
/* How many kernels it has compiled so far, where it tells. */
unsigned long driver_compiled(void);

/* Keep a context of the first device until the process ends: other drivers take long to
 * make one. */
void driver_keep(void);

/* Whether a fault would be the end of all tests to come: of a process, where they share one. */
bool driver_ends_with_a_fault(void);

/* Have launches go past the cache as if that were small, or not; where that can be told. */
void driver_go_past_cache(bool always);

/* Let kernels use memory of the host by its address. */
void driver_share(void *memory, size_t size);

/* Load PTX as it is; but where that is not for the device's own architecture, as if it were. */
CUresult driver_try(CUmodule *out, const char *text);

/* Load PTX, given without its first lines, for the device's own architecture, in a
 * context that is kept, or the current one.  Ends the test if the device is too old for it. */
CUmodule driver_load(const char *text);

#endif
