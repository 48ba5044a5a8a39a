/* SPDX-License-Identifier: MIT */
/*
 * Non-temporal stores (W = 32), for launches that access more memory than the cache holds.
 *
 * They are for memory that a kernel writes once and never reads: rows of adjacent lanes, stored
 * outside of loops, through a pointer from which nothing is loaded, a parameter or a variable.  Two
 * parameters may be the same pointer, so each call compares them.  These stores must be aligned,
 * and are slow unless they fill whole lines of the cache.  So each store is made twice, and one
 * test selects: the address has none of the bits of a mask.  The mask has all bits in a small
 * launch.
 *
 * The processor may reorder non-temporal stores.  The threads of a block do not notice, for one
 * thread of the processor runs them all.  But a kernel that can tell other blocks or the host about
 * its stores, by an atomic operation, a fence or a volatile store, has none of them.  A launch ends
 * with a fence.
 *
 * A thread alone (W = 1) says itself what it writes once and in whole lines: by vectors of 16 bytes
 * with the operator .cs, as __stcs makes them.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

#define LINE 64u
#define STREAM 16u
enum { MOST_ORIGINS = 8, MOST_PAIRS = 12, MOST_INSTS = 2000 };

/* Where a pointer comes from: it is not a pointer, it is at an offset among the parameters or in a
 * variable (plus 1), or it is not known. */
#define NO_POINTER 0u
#define VARIABLE (1u << 16)
#define UNKNOWN UINT32_MAX

struct emit_nontemporal {
	uint32_t *origins; /* of registers */
	uint32_t loads[MOST_ORIGINS];
	uint32_t stores[MOST_ORIGINS];
	unsigned load_count, store_count;
	uint64_t load_bytes[MOST_ORIGINS]; /* of a thread, from each, as far as that is known */
	uint64_t store_bytes;
	LLVMValueRef mask; /* NULL until there is one */
};

/* --- Where pointers come from --- */

static uint32_t nontemporal_join(uint32_t a, uint32_t b)
{
	return a == b || b == NO_POINTER ? a : a == NO_POINTER ? b : UNKNOWN;
}

static uint32_t nontemporal_var_origin(const struct ptx_var *var)
{
	return var->index < UNKNOWN - VARIABLE ? VARIABLE + (uint32_t)var->index : UNKNOWN;
}

static uint32_t nontemporal_operand_origin(const struct emit_nontemporal *b,
	const struct ptx_operand *operand)
{
	uint32_t origin = operand->kind == PTX_ADDRESS && operand->var
		? nontemporal_var_origin(operand->var)
								       : NO_POINTER;
	bool reads =
		operand->kind == PTX_REG || (operand->kind == PTX_ADDRESS && operand->has_base);
	return reads ? nontemporal_join(origin, b->origins[operand->reg]) : origin;
}

/* The origin of element `part` of a loaded vector. */
static uint32_t nontemporal_loaded_origin(const struct ptx_inst *inst, size_t part)
{
	const struct ptx_operand *from = &inst->operands[1];
	uint64_t offset = from->var ? from->var->offset + (uint64_t)from->value + part * 8 : 0;
	if (ptx_type_bits(inst->types[0]) != 64 || inst->types[0] == PTX_F64) {
		return NO_POINTER;
	}
	return inst->space == PTX_PARAM && from->var && !from->var->is_argument && !from->has_base
			&& offset < VARIABLE - 1
		? (uint32_t)offset + 1
		: UNKNOWN;
}

/* Any other result is not a pointer, but a distance. */
static uint32_t nontemporal_result_origin(const struct emit_nontemporal *b,
	const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_ADD:
	case PTX_OP_SELP:
		return nontemporal_join(nontemporal_operand_origin(b, &inst->operands[1]),
			nontemporal_operand_origin(b, &inst->operands[2]));
	case PTX_OP_MAD:
		return nontemporal_operand_origin(b, &inst->operands[3]);
	case PTX_OP_SUB:
	case PTX_OP_MOV:
	case PTX_OP_CVTA:
		return nontemporal_operand_origin(b, &inst->operands[1]);
	default:
		return NO_POINTER;
	}
}

static bool nontemporal_is_load(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU;
}

/* Add the origins of the results of an instruction; true if that changed one. */
static bool nontemporal_note_origin(struct emit_nontemporal *b, const struct ptx_inst *inst)
{
	const struct ptx_operand *to = inst->operands;
	bool changed = false;
	if (inst->op == PTX_OP_ST || inst->operand_count < 2) {
		return false;
	}
	size_t count = to->kind == PTX_VECTOR ? to->count : 1;
	for (size_t i = 0; i < count; i++) {
		const struct ptx_operand *part = to->kind == PTX_VECTOR ? &to->elements[i] : to;
		if (part->kind == PTX_REG) {
			uint32_t *origin = &b->origins[part->reg];
			uint32_t all = nontemporal_join(*origin,
				nontemporal_is_load(inst) ? nontemporal_loaded_origin(inst, i)
				: nontemporal_result_origin(b, inst));
			changed |= all != *origin;
			*origin = all;
		}
	}
	return changed;
}

static void nontemporal_find_origins(struct emit_nontemporal *b, const struct ptx_func *func)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			changed |= nontemporal_note_origin(b, &func->insts[i]);
		}
	}
}

/* --- Which stores --- */

/* Whether no thread outside the block can learn of a store before the launch has ended. */
static bool nontemporal_inst_is_quiet(const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST:
		return !ptx_is_strong(inst);
	case PTX_OP_BRA:
	case PTX_OP_RET:
	case PTX_OP_EXIT:
		return true;
	default:
		return ptx_needs_no_memory(inst->op);
	}
}

static bool nontemporal_is_to_global(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_ST && inst->space == PTX_GLOBAL;
}

static bool nontemporal_has_origin(const uint32_t *origins, unsigned count, uint32_t origin)
{
	bool found = false;
	for (unsigned i = 0; i < count; i++) {
		found |= origins[i] == origin;
	}
	return found;
}

/* The index of an origin in a list, to which a new one is added; MOST_ORIGINS: the list is full. */
static unsigned nontemporal_origin_index(uint32_t *origins, unsigned *count, uint32_t origin)
{
	unsigned at = 0;
	while (at < *count && origins[at] != origin) {
		at++;
	}
	if (at == *count && at < MOST_ORIGINS) {
		origins[(*count)++] = origin;
	}
	return at;
}

/* Bytes of each lane, in operand `value`. */
static uint64_t nontemporal_access_size(const struct ptx_inst *inst, size_t value)
{
	const struct ptx_operand *operand = &inst->operands[value];
	size_t count = operand->kind == PTX_VECTOR ? operand->count : 1;
	return count * ptx_type_size(inst->types[0]);
}

/* Whether each lane has its own element, and each warp others. */
static bool nontemporal_is_row(const struct emit *e, const struct ptx_inst *inst, size_t address)
{
	struct uniformity at = uniformity_of_address(&e->uniformity, inst,
		&inst->operands[address]);
	return !uniformity_is_uniform(&at) && !emit_is_in_loop(e);
}

/* False: the origin of a load is not known, there are too many loads, or other blocks may wait for
 * a store. */
static bool nontemporal_note_load(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_nontemporal *b = e->nontemporal;
	bool is_elsewhere = inst->space != PTX_GLOBAL && inst->space != PTX_GENERIC;
	if (!nontemporal_is_load(inst) || is_elsewhere) {
		return nontemporal_inst_is_quiet(inst);
	}
	uint32_t origin = nontemporal_operand_origin(b, &inst->operands[1]);
	unsigned at = nontemporal_origin_index(b->loads, &b->load_count, origin);
	if (!nontemporal_inst_is_quiet(inst) || origin == NO_POINTER || origin == UNKNOWN
		|| at == MOST_ORIGINS) {
		return false;
	}
	b->load_bytes[at] += nontemporal_is_row(e, inst, 1) ? nontemporal_access_size(inst, 0) : 0;
	return true;
}

/* Whether the kernel never reads the memory that an instruction stores to. */
static bool nontemporal_suits(const struct emit *e, const struct ptx_inst *inst)
{
	const struct emit_nontemporal *b = e->nontemporal;
	uint32_t origin = nontemporal_is_to_global(inst)
		? nontemporal_operand_origin(b, &inst->operands[0]) : NO_POINTER;
	return origin != NO_POINTER && origin != UNKNOWN
		&& !nontemporal_has_origin(b->loads, b->load_count, origin)
		&& nontemporal_is_row(e, inst, 0);
}

static bool nontemporal_note_store(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_nontemporal *b = e->nontemporal;
	if (!nontemporal_suits(e, inst)) {
		return true;
	}
	b->store_bytes += nontemporal_access_size(inst, 1);
	return nontemporal_origin_index(b->stores, &b->store_count,
		nontemporal_operand_origin(b, &inst->operands[0])) < MOST_ORIGINS;
}

static bool nontemporal_note_all(struct emit *e,
	bool (*note)(struct emit *e, const struct ptx_inst *inst))
{
	bool good = true;
	for (size_t i = 0; i < e->func->block_count && good; i++) {
		const struct ptx_block *block = &e->func->blocks[i];
		e->block = i;
		for (size_t k = block->first; k < block->end && good; k++) {
			good = note(e, &e->func->insts[k]);
		}
	}
	return good;
}

static bool nontemporal_writes_global(const struct ptx_func *func)
{
	bool writes = false;
	for (size_t i = 0; i < func->inst_count && !writes; i++) {
		writes = nontemporal_is_to_global(&func->insts[i]);
	}
	return writes;
}

bool emit_nontemporal_init(struct emit *e)
{
	if (!emit_does(e, PASS_NONTEMPORAL) || e->width != RT_MAX_WIDTH
	    || e->func->inst_count > MOST_INSTS || !nontemporal_writes_global(e->func)) {
		return true;
	}
	struct emit_nontemporal *b = mem_zalloc(1, sizeof(*b));
	e->nontemporal = b;
	if (!b || !(b->origins = mem_zalloc(e->func->reg_count + 1, sizeof(*b->origins)))) {
		return false;
	}
	nontemporal_find_origins(b, e->func);
	if (!nontemporal_note_all(e, nontemporal_note_load)
		|| !nontemporal_note_all(e, nontemporal_note_store) || b->store_count == 0
		|| b->store_count * b->load_count > MOST_PAIRS) {
		emit_nontemporal_finish(e);
	}
	return true;
}

void emit_nontemporal_finish(struct emit *e)
{
	if (e->nontemporal) {
		mem_free(e->nontemporal->origins);
		mem_free(e->nontemporal);
		e->nontemporal = NULL;
	}
}

/* --- Their code --- */

/* Whether the pointers are different ones, if both are parameters. */
static LLVMValueRef nontemporal_pointers_differ(struct emit *e, uint32_t store, uint32_t load)
{
	return store >= VARIABLE || load >= VARIABLE
		? NULL
		: ir_icmp(e, LLVMIntNE, emit_param(e, store - 1, e->s.i64),
			emit_param(e, load - 1, e->s.i64));
}

/* The bytes that a thread moves.  A thread that reads more of an array than it writes reads
 * elements that others read, too. */
static uint64_t nontemporal_moved_bytes(const struct emit_nontemporal *b)
{
	uint64_t bytes = b->store_bytes;
	for (unsigned i = 0; i < b->load_count; i++) {
		bytes += b->load_bytes[i] < b->store_bytes ? b->load_bytes[i] : b->store_bytes;
	}
	return bytes < UINT32_MAX ? bytes : UINT32_MAX - 1;
}

/* The bits that an address must not have; computed once in each call. */
static LLVMValueRef nontemporal_mask(struct emit *e)
{
	struct emit_nontemporal *b = e->nontemporal;
	if (b->mask) {
		return b->mask;
	}
	LLVMBasicBlockRef back = emit_call_visit(e);
	LLVMValueRef is_much = ir_icmp(e, LLVMIntULT, emit_cached_bytes(e),
		emit_u32(e, nontemporal_moved_bytes(b)));
	for (unsigned i = 0; i < b->store_count * b->load_count; i++) {
		LLVMValueRef both = nontemporal_pointers_differ(e, b->stores[i / b->load_count],
			b->loads[i % b->load_count]);
		is_much = both ? ir_and(e, is_much, both) : is_much;
	}
	b->mask =
		ir_select(e, is_much, emit_scalar(e, 64, LINE - 1), emit_scalar(e, 64, UINT64_MAX));
	emit_entry_leave(e, back);
	return b->mask;
}

static void nontemporal_plain_store(struct emit *e, LLVMValueRef value, LLVMValueRef place)
{
	LLVMSetAlignment(LLVMBuildStore(e->builder, value, place), 1);
}

/* Store past the cache if the address has no bit of a mask, which includes the alignment; returns
 * the branch. */
static LLVMValueRef nontemporal_select_store(struct emit *e, LLVMValueRef value, LLVMValueRef place,
	LLVMValueRef mask, unsigned align)
{
	LLVMBasicBlockRef past = emit_block(e, "past"), plain = emit_block(e, "plain");
	LLVMBasicBlockRef after = emit_block(e, "stored");
	LLVMMetadataRef one = LLVMValueAsMetadata(emit_u32(e, 1));
	LLVMValueRef bits = ir_and(e, LLVMBuildPtrToInt(e->builder, place, e->s.i64, ""), mask);
	LLVMValueRef branch = LLVMBuildCondBr(e->builder,
		ir_icmp(e, LLVMIntEQ, bits, emit_scalar(e, 64, 0)), past, plain);
	emit_enter(e, past);
	LLVMValueRef store = LLVMBuildStore(e->builder, value, place);
	LLVMSetAlignment(store, align);
	emit_set_metadata(e, store, "nontemporal", LLVMMDNodeInContext2(e->context, &one, 1));
	LLVMBuildBr(e->builder, after);
	emit_enter(e, plain);
	nontemporal_plain_store(e, value, place);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, after);
	return branch;
}

/* Small launches count each branch, large ones wait for memory. */
static void nontemporal_expect_seldom(struct emit *e, LLVMValueRef branch)
{
	static const char name[] = "branch_weights";
	LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, name, sizeof(name) - 1),
		LLVMValueAsMetadata(emit_u32(e, 1)), LLVMValueAsMetadata(emit_u32(e, 1000))};
	emit_set_metadata(
		e, branch, "prof", LLVMMDNodeInContext2(e->context, parts, countof(parts)));
}

void emit_store_row(struct emit *e, LLVMValueRef value, LLVMValueRef place, unsigned size)
{
	if (!e->nontemporal || e->mask || size % LINE != 0 || !nontemporal_suits(e, e->inst)) {
		nontemporal_plain_store(e, value, place);
		return;
	}
	nontemporal_expect_seldom(e,
		nontemporal_select_store(e, value, place, nontemporal_mask(e), LINE));
}

/* --- A store that the kernel itself calls a stream (W = 1) --- */

bool emit_nontemporal_is_quiet(const struct ptx_func *func)
{
	bool quiet = true;
	for (size_t i = 0; i < func->inst_count && quiet; i++) {
		quiet = nontemporal_inst_is_quiet(&func->insts[i]);
	}
	return quiet;
}

bool emit_is_stream(struct emit *e, const struct ptx_inst *inst)
{
	return e->width == 1 && emit_does(e, PASS_NONTEMPORAL) && nontemporal_is_to_global(inst)
		&& ptx_has(&inst->mods, PTX_MOD_CS) && nontemporal_access_size(inst, 1) == STREAM
		&& emit_nontemporal_is_quiet(e->func);
}

void emit_store_stream(struct emit *e, LLVMValueRef *values, unsigned count, LLVMValueRef place)
{
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(values[0]), count);
	LLVMValueRef value = LLVMGetUndef(type);
	for (unsigned i = 0; i < count; i++) {
		value = LLVMBuildInsertElement(e->builder, value, values[i], emit_u32(e, i), "");
	}
	place = LLVMBuildBitCast(e->builder, place, LLVMPointerType(type, 0), "");
	nontemporal_select_store(e, value, place, emit_scalar(e, 64, STREAM - 1), STREAM);
}
