/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_CHECK_H
#define CPU_PTX_CHECK_H

/* Is a parsed module one that this device can run? */
#include "cpu/ptx/ptx.h"

/* False, with the first thing that is wrong or unsupported in diag.  If a function that is not a
 * kernel has something unsupported, ptx_func.refusal says so: it only matters to the kernels that
 * call it. */
bool check_module(struct ptx_module *module, struct ptx_diag *diag);
/* The same of one that was parsed later. */
bool check_function(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif
