/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_CHECKER_H
#define CPU_PTX_CHECKER_H

/* What the files of check.c share: the instruction at hand. */
#include "cpu/ptx/check.h"

struct checker {
	const struct ptx_func *func;
	const struct ptx_inst *inst;
	struct ptx_diag *diag;
};

/* check_operand.c: all operands against the row of ptx.def. */
bool check_operands(struct checker *c);
/* Say what is wrong with the current instruction; returns false. */
bool check_fail(struct checker *c, const char *format, ...) printf_like(2, 3);
/* Elements that .v2 .v4 .v8 ask for; 1 without. */
size_t checker_vector(const struct ptx_inst *inst);

/* check_call.c: a call against the callee's parameters. */
bool check_call(const struct ptx_func *func, const struct ptx_inst *inst, struct ptx_diag *diag);

#endif
