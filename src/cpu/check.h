/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_H
#define CPU_CHECK_H

/* Is a parsed module one that this device can run? */
#include "ptx.h"

/* False, with the first thing that is wrong or unsupported in diag. */
bool check_module(const struct ptx_module *module, struct ptx_diag *diag);

#endif
