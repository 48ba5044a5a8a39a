/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_DEBUG_H
#define CPU_CODEGEN_VALUES_EMIT_DEBUG_H

/* What debuggers are told of a kernel for one lane; nothing unless the order asks for it. */
#include "cpu/codegen/values/emit.h"

/* False: no memory.  The function exists, and has no block yet. */
bool emit_debug_init(struct emit *e);
/* In the entry: where variables are found from. */
void emit_debug_enter(struct emit *e);
/* A thread begins. */
void emit_debug_start(struct emit *e);
/* What follows is of this instruction. */
void emit_debug_at(struct emit *e, const struct ptx_inst *inst);
/* The thread is about to wait. */
void emit_debug_wait(struct emit *e);
/* The function is complete. */
void emit_debug_end(struct emit *e);
void emit_debug_finish(struct emit *e);

/* Bytes of the debug area, which the frame begins with. */
static inline size_t emit_debug_size(const struct emit *e)
{
	return e->debug ? round_up(sizeof(struct ptx_debug_head) + e->func->debug_size, 16) : 0;
}

#endif
