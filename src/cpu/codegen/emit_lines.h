/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_EMIT_LINES_H
#define CPU_CODEGEN_EMIT_LINES_H

/* Line numbers of PTX in the object, for a profile.  All do nothing unless order->has_lines. */
#include "cpu/codegen/values/emit.h"

void emit_lines_begin(struct emit *e, bool has_lines); /* e->fn has been made */
/* What is built from now on is of this instruction; NULL: of none. */
void emit_lines_set(struct emit *e, const struct ptx_inst *inst);
void emit_lines_end(struct emit *e);

#endif
