/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_CHECK_KERNEL_H
#define CPU_CHECK_CHECK_KERNEL_H

/*
 * cpu/check looks for the bugs of kernels that KUDZU_CHECK names.  report.h has what it found.
 *
 * This header has the question that kernels ask before their accesses.
 */
#include "base/checks.h"
#include "cpu/mem/device_memory.h"
#include "cpu/ptx/ptx.h"
#include "cpu/runtime/rt.h"

/* The kernel of a launch, as checks see it: rt_launch.check. */
struct check_kernel {
	const char *name;
	const char *text;              /* PTX; NULL: it is not known */
	const struct ptx_module *module;
	const struct ptx_func *func;
	struct device_memory *memory;
	unsigned checks;               /* a set */
};

/* check_access.c: what rt_host.check is. */
uint32_t access_check(struct rt_warp *warp, uint32_t access, uint32_t var);

#endif
