/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_SSA_H
#define CPU_IR_SSA_H

/*
 * SSA form: every value of a kernel is written once.
 *
 * Each place where an instruction reads or writes a register gets the number of a value
 * (ptx_operand.value_of, ptx_inst.guard_value), and blocks get phis.  The registers themselves
 * become webs: all values that phis and guarded writes join are one register, and values of a
 * register that never meet are registers of their own.  No two values of a web are live at once, so
 * a web can still be kept in one place, as a variable.
 */
#include "cpu/ptx/ptx.h"

/* Bring a function as flatten.c leaves it into SSA form: lower it, cut it into blocks, number its
 * values.  False, with the reason in diag: it can be tried again. */
bool ssa_prepare(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

/* The last step.  Of a lowered function with basic blocks.  Computes the live sets again, for the
 * webs.  False: no memory, or too big. */
bool ssa_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif
