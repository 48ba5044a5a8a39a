/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_LOWER_H
#define CPU_IR_LOWER_H

/* Lowering: bring a checked function into the form that cfg.c and the generator take. */
#include "cpu/ptx/ptx.h"

/* False: no memory.  A function that is lowered already does not change. */
bool lower_func(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif
