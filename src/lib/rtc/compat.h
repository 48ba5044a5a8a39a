/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_COMPAT_H
#define LIB_RTC_COMPAT_H

/* Compatibility: which cubins a device runs, and which versions of the PTX ISA a driver knows. */
#include "base/common.h"

struct ptx_release {
	int ptx;     /* 90: PTX ISA 9.0 */
	int cuda;    /* as cuDriverGetVersion says it: 13000 */
	int driver;  /* branch of the Linux driver: 580; 0: not known here */
};

/* The release that brought a version of PTX; NULL for one that is not in the table. */
const struct ptx_release *compat_release(int ptx);

/* The newest version of PTX that a driver knows, 0 if it is older than the table. */
int compat_newest_ptx(int cuda);

/* Whether a device runs a cubin of an architecture; 89 stands for compute capability 8.9. */
bool compat_cubin_runs(int arch, int device_cc);

#endif
