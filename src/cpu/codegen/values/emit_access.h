/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_ACCESS_H
#define CPU_CODEGEN_VALUES_EMIT_ACCESS_H

/* Places in memory: fields, where things begin, addresses. */
#include "cpu/codegen/values/emit.h"

/* emit_access.c: `base` points to i8; fields and offsets are scalars */
LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMTypeRef type);
/* Gives the store. */
LLVMValueRef emit_set_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMValueRef value);
LLVMValueRef emit_at(struct emit *e, LLVMValueRef base, LLVMValueRef offset, LLVMTypeRef type);
LLVMValueRef emit_pointer_bits(struct emit *e, LLVMValueRef pointer); /* a scalar, i64 */
/* Where things begin, loaded once in a call. */
LLVMValueRef emit_launch_base(struct emit *e);   /* struct rt_launch */
LLVMValueRef emit_params_base(struct emit *e);
LLVMValueRef emit_shared_base(struct emit *e);
LLVMValueRef emit_local_base(struct emit *e);    /* of lane 0 */
LLVMValueRef emit_exchange_base(struct emit *e); /* struct rt_exchange */
LLVMValueRef emit_calls_base(struct emit *e);    /* struct rt_calls */
LLVMValueRef emit_local_stride(struct emit *e);  /* bytes from lane to lane, a scalar */
LLVMValueRef emit_local_offset(struct emit *e);  /* from lane 0's to each lane's */
/* A variable of the module: loaded in the entry each time, early-cse keeps one. */
LLVMValueRef emit_global_base(struct emit *e, const struct ptx_var *var);
LLVMValueRef emit_cached_bytes(struct emit *e);  /* rt_launch.cached_bytes */
LLVMValueRef emit_param(struct emit *e, size_t offset, LLVMTypeRef type); /* of the kernel */
/* What LLVM is told of an access.  The memory model's words, as LLVM says them; NotAtomic if there
 * are none. */
LLVMAtomicOrdering emit_order(const struct ptx_inst *inst);
void emit_set_metadata(struct emit *e, LLVMValueRef access, const char *kind, LLVMMetadataRef node);
void emit_note_space(struct emit *e, enum ptx_space space, LLVMValueRef access);
/* The first way of a branch is the usual one: what does not fit in registers is moved to the
 * other. */
void emit_expect_first(struct emit *e, LLVMValueRef branch);
/* What the message of a fault is told.  Set warp->lane, or with 64 bits warp->step, too. */
void emit_note_lane(struct emit *e, LLVMValueRef lane);
/* Which access a fault is of: of all lanes, lane 0's at `base`.  Whether that is worth it. */
void emit_note_access(struct emit *e, LLVMValueRef base, unsigned step);
bool emit_notes_access(const struct emit *e);
/* Whose memory and registers are meant from now on: a member of the team; NULL: those of the
 * warp. */
void emit_use_member(struct emit *e, struct emit_member *member);

/* emit_operand.c: addresses */
LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var); /* its PTX address, i64 */
/* Where a variable begins: a base pointer, and the offset from it.  Lanes are scalars. */
LLVMValueRef emit_var_base(struct emit *e, const struct ptx_var *var, uint64_t *offset);
LLVMValueRef emit_is_shared(struct emit *e, LLVMValueRef address); /* is a generic one */
/* Elements from one row or column to the next of a load or store of wmma: operand 2, or as many as
 * there are. */
struct mma;
LLVMValueRef emit_matrix_stride(struct emit *e, const struct ptx_inst *inst,
	const struct mma *mma);
/* Does an address lie in the `size` bytes from `base`?  All are of lanes. */
LLVMValueRef emit_is_within(struct emit *e, LLVMValueRef address, LLVMValueRef base,
	LLVMValueRef size);
LLVMValueRef emit_all_bits(struct emit *e, LLVMValueRef pointer); /* the same for all lanes */
/* A memory operand as a host pointer to `type`, and the space that it really is in. */
LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *operand,
	enum ptx_space *space, LLVMTypeRef type);
/* The same as numbers, for all lanes. */
LLVMValueRef emit_lane_addresses(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand);

#endif
