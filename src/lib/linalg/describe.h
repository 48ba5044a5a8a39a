/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_DESCRIBE_H
#define LIB_LINALG_DESCRIBE_H

/* The libraries for linear algebra, as `kudzu doctor` shows them. */
#include "lib/module/diagnose.h"

/* It is diagnose_libraries: a finding for each library of the devices that there are. */
diagnose_fn describe_libraries;

/* Advice on the kernels that OpenBLAS picked, NULL if they are the best for the processor. */
const char *describe_slow_core(const char *core, bool has_avx512);

#endif
