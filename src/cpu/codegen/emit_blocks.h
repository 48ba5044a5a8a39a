/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_EMIT_BLOCKS_H
#define CPU_CODEGEN_EMIT_BLOCKS_H

/* A kernel: its blocks, and the instructions in them. */
#include "cpu/codegen/jit_llvm.h"
#include "cpu/codegen/values/emit.h"

/* Add the function that is ordered to the LLVM module, for a processor with these features (LLVM's
 * names).  *frame_size is the size of its frame. */
bool emit_kernel(size_t *frame_size, LLVMModuleRef ir, const struct jit_order *order,
	const char *features, struct ptx_diag *diag);

/* emit_inst.c: make an instruction, under its guard. */
void emit_inst(struct emit *e, const struct ptx_inst *inst);

/* emit_if.c: a branch at whose sides a converged warp stays together; false if this one is
 * not such a branch. */
bool emit_if(struct emit *e, const struct ptx_inst *inst);

/* emit_interleave.c: all warps of a block in step. */
/* For so many warps; 0 or 1: none.  False: no memory. */
bool emit_interleave_init(struct emit *e, unsigned count);
void emit_interleave_finish(struct emit *e);
/* Where a warp begins: all of them may.  And how they do. */
void emit_interleave_start(struct emit *e);
void emit_interleave_begin(struct emit *e);

/* emit_blocks.c: converged blocks, diverged ones, and what goes between. */
void emit_blocks(struct emit *e);

#endif
