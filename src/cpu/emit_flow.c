/* SPDX-License-Identifier: MIT */

/*
 * Control: branches, exits, barriers, and the yields that make a kernel a coroutine.
 *
 * To yield is to store the registers that are still needed to the frame, to note the reason in the
 * warp, and to return the number of a new resume point; there the registers are loaded again.
 * Every yield lays out the frame for itself, so the frame is as large as the hungriest one needs.
 *
 * With one worker running all threads of a block in turn, a thread that spins on memory would wait
 * for ever.  So a branch back to the start of a loop that may wait yields as well: one that looks at
 * what an atomic operation found, that has a load which sees other threads' stores (volatile,
 * relaxed, acquire, .cv), or any load and a fence.
 */
#include "../base/common.h"

#include "../base/alloc.h"
#include "cfg.h"
#include "emit.h"

#include <string.h>

static bool has_bit(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

static size_t live_size(struct emit *e)
{
	return (e->func->reg_count / 64 + 1) * sizeof(uint64_t);
}

static void live_before_block(struct emit *e, size_t block)
{
	memset(e->live, 0, live_size(e));
	memcpy(e->live, e->func->blocks[block].live_in, (e->func->reg_count + 63) / 64 * 8);
}

static void live_after_inst(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_block *block = &e->func->blocks[e->block];
	memset(e->live, 0, live_size(e));
	memcpy(e->live, block->live_out, (e->func->reg_count + 63) / 64 * 8);
	for (size_t i = block->end; &e->func->insts[i - 1] != inst; i--) {
		cfg_live_before(e->live, &e->func->insts[i - 1]);
	}
}

/* Move one slot to or from its place in the frame, which follows *offset. */
static void move_slot(struct emit *e, LLVMValueRef slot, LLVMTypeRef type, bool save,
	size_t *offset)
{
	bool is_pred = type == e->i1;
	LLVMTypeRef kept = is_pred ? e->i8 : type;
	size_t size = is_pred ? 1 : type == e->f32 ? 4 : type == e->f64 ? 8
		: LLVMGetIntTypeWidth(type) / 8;

	*offset = round_up(*offset, size);
	LLVMValueRef place = emit_at(e, e->frame, emit_int(e, 64, *offset), kept);
	*offset += size;
	if (save) {
		LLVMValueRef value = LLVMBuildLoad2(e->builder, type, slot, "");
		LLVMBuildStore(e->builder, ir_zext(e, value, kept), place);
	} else {
		LLVMValueRef value = LLVMBuildLoad2(e->builder, kept, place, "");
		LLVMBuildStore(e->builder, ir_trunc(e, value, type), slot);
	}
}

static void move_live(struct emit *e, bool save)
{
	size_t offset = 0;
	for (size_t i = 0; i < e->func->reg_count; i++) {
		LLVMTypeRef type = emit_type(e, e->func->regs[i].type);
		if (has_bit(e->live, i)) {
			move_slot(e, e->regs[i], type, save, &offset);
		}
	}
	if (e->carry) {
		move_slot(e, e->carry, e->i1, save, &offset);
	}
	if (offset > e->frame_size) {
		e->frame_size = round_up(offset, 16);
	}
}

static void note_yield(struct emit *e, enum rt_yield why)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, yield), emit_int(e, 32, why));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
		emit_int(e, 32, (uint64_t)e->inst->line));
}

/* Leave with the registers in e->live; building goes on at the place to resume at. */
static void yield_live(struct emit *e, enum rt_yield why)
{
	LLVMValueRef point = emit_int(e, 32, ++e->resume_count);
	LLVMBasicBlockRef resume = emit_block(e, "resume");

	note_yield(e, why);
	move_live(e, true);
	LLVMBuildRet(e->builder, point);
	LLVMAddCase(e->entry_end, point, resume);
	emit_enter(e, resume);
	move_live(e, false);
}

static void yield_here(struct emit *e, enum rt_yield why)
{
	live_after_inst(e, e->inst);
	yield_live(e, why);
}

/* What makes a loop one that may wait. */
struct signs {
	bool waits;
	bool loads;
	bool fences;
};

static bool is_any_of(const struct ptx_inst *inst, const enum ptx_mod *mods, size_t count)
{
	bool is = false;
	for (size_t i = 0; i < count; i++) {
		is |= ptx_has(&inst->mods, mods[i]);
	}
	return is;
}

/* `live`: the registers that are read after the instruction; NULL: all. */
static void note_signs(struct signs *signs, const struct ptx_inst *inst, const uint64_t *live)
{
	static const enum ptx_mod strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
		PTX_MOD_MMIO, PTX_MOD_CV};
	const struct ptx_operand *result = inst->operands;
	switch (inst->op) {
	case PTX_OP_ATOM:
	case PTX_OP_ATOM_CAS:
		signs->waits |= result->kind == PTX_REG && (!live || has_bit(live, result->reg));
		break;
	case PTX_OP_LD:
		signs->waits |= is_any_of(inst, strong, countof(strong));
		signs->loads |= inst->space == PTX_GENERIC || inst->space == PTX_GLOBAL
			|| inst->space == PTX_SHARED;
		break;
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE:
		signs->fences = true;
		break;
	default:
		break;
	}
}

static bool may_wait(const struct signs *signs)
{
	return signs->waits || (signs->loads && signs->fences);
}

static void note_block(struct emit *e, struct signs *signs, const struct ptx_block *block)
{
	memcpy(e->live, block->live_out, (e->func->reg_count + 63) / 64 * 8);
	for (size_t i = block->end; i-- > block->first;) {
		note_signs(signs, &e->func->insts[i], e->live);
		cfg_live_before(e->live, &e->func->insts[i]);
	}
}

/* May the natural loop of the edge from `latch` back to `header` wait?  `stack` and `seen` have
 * room for every block. */
static bool loop_waits(struct emit *e, size_t latch, size_t header, size_t *stack, bool *seen)
{
	const struct ptx_block *blocks = e->func->blocks;
	struct signs signs = {.waits = false};
	size_t depth = 0;
	memset(seen, 0, e->func->block_count * sizeof(*seen));
	seen[header] = true;
	note_block(e, &signs, &blocks[header]);
	if (!seen[latch]) {
		seen[latch] = true;
		stack[depth++] = latch;
	}

	while (depth > 0 && !may_wait(&signs)) {
		const struct ptx_block *block = &blocks[stack[--depth]];
		note_block(e, &signs, block);
		for (size_t i = 0; i < block->pred_count; i++) {
			if (!seen[block->pred[i]]) {
				seen[block->pred[i]] = true;
				stack[depth++] = block->pred[i];
			}
		}
	}
	return may_wait(&signs);
}

static bool is_back_edge(const struct ptx_func *func, size_t from, size_t to)
{
	return func->blocks[to].rpo <= func->blocks[from].rpo;
}

static void find_in_block(struct emit *e, size_t index, size_t *stack, bool *seen)
{
	const struct ptx_block *block = &e->func->blocks[index];
	for (size_t k = 0; k < block->succ_count && block->rpo != SIZE_MAX; k++) {
		size_t to = block->succ[k];
		if (is_back_edge(e->func, index, to) && !e->spins[to]) {
			e->spins[to] = loop_waits(e, index, to, stack, seen);
		}
	}
}

/* Fill in e->spins, the headers of loops that wait; false when memory runs out. */
bool emit_find_spins(struct emit *e)
{
	const struct ptx_func *func = e->func;
	struct signs signs = {.waits = false};
	for (size_t i = 0; i < func->inst_count; i++) {
		note_signs(&signs, &func->insts[i], NULL);
	}
	if (!may_wait(&signs)) {
		return true;
	}

	size_t *stack = mem_zalloc(func->block_count, sizeof(*stack));
	bool *seen = mem_zalloc(func->block_count, sizeof(*seen));
	bool ok = stack && seen;
	for (size_t i = 0; i < func->block_count && ok; i++) {
		find_in_block(e, i, stack, seen);
	}
	mem_free(stack);
	mem_free(seen);
	return ok;
}

void emit_goto(struct emit *e, size_t block)
{
	if (e->spins[block] && is_back_edge(e->func, e->block, block)) {
		live_before_block(e, block);
		yield_live(e, RT_YIELD_SPIN);
	}
	LLVMBuildBr(e->builder, e->blocks[block]);
}

void emit_bra(struct emit *e, const struct ptx_inst *inst)
{
	emit_goto(e, (size_t)inst->operands[0].value);
}

/* An index beyond the list is undefined in PTX; here it takes the first target. */
void emit_brx(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *list = &inst->operands[1];
	LLVMValueRef index = emit_use(e, &inst->operands[0], PTX_U32);
	LLVMBasicBlockRef first = emit_block(e, "target");
	LLVMValueRef branch = LLVMBuildSwitch(e->builder, index, first, (unsigned)list->count);

	for (size_t i = 0; i < list->count; i++) {
		LLVMBasicBlockRef target = i ? emit_block(e, "target") : first;
		LLVMAddCase(branch, emit_int(e, 32, i), target);
		emit_enter(e, target);
		emit_goto(e, (size_t)list->elements[i].value);
	}
}

void emit_exit(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	LLVMBuildRet(e->builder, emit_int(e, 32, RT_DONE));
}

/* Nothing resumes after this, but the number must not say that the warp is done. */
void emit_trap(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	note_yield(e, RT_YIELD_TRAP);
	LLVMBuildRet(e->builder, emit_int(e, 32, UINT32_MAX));
}

void emit_nanosleep(struct emit *e, const struct ptx_inst *inst)
{
	(void)inst;
	yield_here(e, RT_YIELD_SPIN);
}

/* The barrier's number and the threads expected, 0 for all. */
static void set_barrier(struct emit *e, const struct ptx_operand *id,
	const struct ptx_operand *count, enum rt_barrier_red red)
{
	LLVMValueRef threads = count ? emit_use(e, count, PTX_U32) : emit_int(e, 32, 0);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_id), emit_use(e, id, PTX_U32));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_count), threads);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_red), emit_int(e, 32, red));
}

void emit_bar_sync(struct emit *e, const struct ptx_inst *inst)
{
	set_barrier(e, &inst->operands[0], inst->operand_count > 1 ? &inst->operands[1] : NULL,
		RT_RED_NONE);
	yield_here(e, RT_YIELD_BARRIER);
}

void emit_bar_arrive(struct emit *e, const struct ptx_inst *inst)
{
	set_barrier(e, &inst->operands[0], &inst->operands[1], RT_RED_NONE);
	yield_here(e, RT_YIELD_ARRIVE);
}

void emit_bar_red(struct emit *e, const struct ptx_inst *inst)
{
	enum rt_barrier_red red = ptx_has(&inst->mods, PTX_MOD_POPC) ? RT_RED_POPC
		: ptx_has(&inst->mods, PTX_MOD_AND) ? RT_RED_AND : RT_RED_OR;
	size_t field = offsetof(struct rt_warp, bar_value);
	size_t last = inst->operand_count - 1;

	LLVMValueRef mine = ir_zext(e, emit_use(e, &inst->operands[last], PTX_PRED), e->i32);
	set_barrier(e, &inst->operands[1], last > 2 ? &inst->operands[2] : NULL, red);
	emit_set_field(e, e->warp, field, mine);
	yield_here(e, RT_YIELD_BARRIER);

	LLVMValueRef result = emit_field(e, e->warp, field, e->i32);
	if (red == RT_RED_POPC) {
		emit_def(e, &inst->operands[0], PTX_U32, result);
	} else {
		emit_def(e, &inst->operands[0], PTX_PRED,
			ir_icmp(e, LLVMIntNE, result, emit_int(e, 32, 0)));
	}
}

void emit_bar_warp_sync(struct emit *e, const struct ptx_inst *inst)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, bar_value),
		emit_use(e, &inst->operands[0], PTX_U32));
	yield_here(e, RT_YIELD_WARP);
}
