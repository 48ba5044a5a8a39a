/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_MEMORY_EMIT_MEMORY_H
#define CPU_CODEGEN_MEMORY_EMIT_MEMORY_H

/* Memory: the ways in which a warp loads and stores. */
#include "cpu/codegen/values/emit_access.h"

/* emit_vector.c: a warp reads or writes `count` adjacent elements in each lane, from the addresses
 * `at` (i64 of lanes) on. */
struct emit_vector {
	struct emit_member *member;     /* whose access it is, if there is a team */
	enum ptx_type type;
	unsigned count;
	LLVMValueRef at;
	LLVMValueRef values[8];
};
/* The accesses of several warps are made together, with one test for all, where that is
 * possible. */
void emit_vector_load(struct emit *e, struct emit_vector *all, unsigned warps);
void emit_vector_store(struct emit *e, struct emit_vector *all, unsigned warps);
/* Whether the kernel is small enough for an access of each lane, which takes long to compile. */
bool emit_is_small(const struct emit *e);
/* Pointers to what each lane is to access at `at`, MOST_PER_LANE bytes at most, and a note for the
 * message of a fault.  Lanes that do not run get a place that nobody reads. */
enum { MOST_PER_LANE = 16 };
void emit_lane_places(struct emit *e, LLVMValueRef *places, LLVMValueRef at);
/* emit_mem.c: whether a load or store of all lanes is an access of this kind; its description; and
 * the use of its result. */
bool emit_is_vector_access(struct emit *e, const struct ptx_inst *inst);
void emit_begin_vector(struct emit *e, const struct ptx_inst *inst, struct emit_vector *out);
void emit_end_vector(struct emit *e, const struct ptx_inst *inst, const struct emit_vector *wide);
/* emit_strided.c: the same where the distances of the addresses are known; false: they do not
 * suit. */
bool emit_is_strided(struct emit *e, const struct ptx_inst *inst, unsigned count, bool loads);
bool emit_strided_load(struct emit *e, const struct ptx_inst *inst, LLVMValueRef *values,
	unsigned count);
bool emit_strided_store(struct emit *e, const struct ptx_inst *inst, const LLVMValueRef *values,
	unsigned count);

/* emit_nontemporal.c: store a vector of so many bytes, of all lanes, anywhere; past the cache where
 * that is good.  init returns false if memory runs out. */
bool emit_nontemporal_init(struct emit *e);
void emit_nontemporal_finish(struct emit *e);
void emit_store_row(struct emit *e, LLVMValueRef value, LLVMValueRef place, unsigned size);
/* Whether no thread outside a block can learn of its stores before the launch has ended. */
bool emit_nontemporal_is_quiet(const struct ptx_func *func);
/* Whether a store of one thread is one of 16 bytes that goes past the cache if it is aligned; make
 * it. */
bool emit_is_stream(struct emit *e, const struct ptx_inst *inst);
void emit_store_stream(struct emit *e, LLVMValueRef *values, unsigned count, LLVMValueRef place);

/* emit_prefetch.c: load a vector of `size` bytes, of lanes side by side. */
LLVMValueRef emit_load_row(struct emit *e, LLVMTypeRef type, LLVMValueRef place, unsigned size);

/* emit_check.c: before an instruction, if the kernel asks. */
void emit_check(struct emit *e, const struct ptx_inst *inst);
/* Whether the check `sync` has to know of each access of a function: an asynchronous copy may not
 * be done, threads may trust that they run in step, or misuse an mbarrier. */
bool emit_check_follows(const struct ptx_func *func);
/* The lane that is being made is to access as many bytes as a register says, i32, at an address
 * that has to be a multiple of `align`. */
struct emit_bytes {
	const struct ptx_operand *place;
	enum ptx_space space;
	enum rt_access kind;
	LLVMValueRef size;
	uint32_t align;
	uint32_t watch; /* what rt_calls.watch is told besides the kind */
};
void emit_check_bytes(struct emit *e, const struct ptx_inst *inst, struct emit_bytes bytes);
/* Whether it loads what may be unwritten and must not be.  Then keep the addresses from before it,
 * and look at what it has loaded. */
bool emit_check_uses(const struct emit *e, const struct ptx_inst *inst);
LLVMValueRef emit_check_address(struct emit *e, const struct ptx_inst *inst);
void emit_check_loaded(struct emit *e, const struct ptx_inst *inst, LLVMValueRef at);

#endif
