/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_LOWER_H
#define CPU_IR_LOWER_H

/* Bring a checked function into the form that cfg.c and emit*.c take. */
#include "cpu/ptx/ptx.h"

/* False: no memory.  A function that is in that form stays. */
bool lower_func(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif
