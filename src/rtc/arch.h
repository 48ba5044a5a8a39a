/* SPDX-License-Identifier: MIT */
#ifndef RTC_ARCH_H
#define RTC_ARCH_H

/* What runs where: 89 stands for compute capability 8.9. */
#include "base/common.h"

/* Whether a device runs a cubin of an architecture. */
bool arch_cubin_runs(int arch, int device_cc);

#endif
