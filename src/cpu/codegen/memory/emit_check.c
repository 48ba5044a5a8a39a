/* SPDX-License-Identifier: MIT */
/*
 * Checks: before an access a kernel asks whether it may be made.
 *
 * An access is fine where it is aligned and lies in a range of addresses that is known to be fine.
 * Where the distances between the lanes are known, that is one test for all of them.
 * If an address was made from a variable (ir/origin.h), this is the variable.  Else it is what
 * rt_calls.check found last for this line of PTX.  Only if some lane leaves that range does the
 * warp note what it is about to access (rt_warp.at, gathers, access), and calls rt_calls.check.
 * That function knows all memory, so this file decides how fast a check is, but not what it finds.
 * The result is the first lane that must not go on; it traps.
 *
 * With KUDZU_CHECK=init, memory that nothing has written has a value of its own (mem/unwritten.h).
 * After a load whose value is not only copied (ir/uses.h), a lane that got this value asks, too.
 *
 * For the checks of races and of barriers a kernel tells rt_calls.watch of every access to memory
 * that threads share, and of fences and copies.
 *
 * LLVM does not move accesses across these calls.  KUDZU_CHECK turns this on, and so does
 * KUDZU_CPU_DEVICES, since a kernel must not access the memory of every device; a launch that may
 * access all of it runs code without checks (object/function.c).  Otherwise the report of a fault
 * says less (emit_note_access).
 */
#include "base/common.h"

#include "base/checks.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"
#include "base/checks.h"
#include "cpu/ir/origin.h"
#include "cpu/ir/uses.h"
#include "cpu/ptx/ptx_mma.h"

#include <string.h>

/* What an instruction does at an operand. */
struct check_site {
	const struct ptx_operand *place;
	enum ptx_space space;
	uint32_t size;          /* bytes for each lane; 0: it is not known */
	enum rt_access kind;
	const struct ptx_var *var; /* where it has to stay; NULL: anywhere */
	uint32_t slot;          /* of rt_warp.ranges */
	int64_t before;         /* from the operand to the first byte, where loads are joined */
	uint32_t more;          /* rows right behind that of the lanes, likewise */
	uint32_t align;
	uint32_t lines;         /* of a matrix: of which lane i accesses line i; 0: each lane has
	                           an address of its own */
	unsigned element_bits;  /* of a matrix whose lines are as far apart as the instruction says,
	                           in elements; 0: each lane has the address of its line */
	LLVMValueRef bytes;     /* in the place of `size`, if that is not known before it runs */
};

/* Where an access may go that needs no question. */
struct check_range {
	LLVMValueRef begin;     /* of each lane */
	LLVMValueRef size;      /* a scalar */
};

static bool check_find_kind(const struct ptx_inst *inst, enum rt_access *kind)
{
	switch (inst->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
		*kind = RT_READS;
		return true;
	case PTX_OP_ST:
		*kind = RT_WRITES;
		return true;
	case PTX_OP_ATOM:
	case PTX_OP_ATOM_CAS:
	case PTX_OP_ATOM_WIDE:
	case PTX_OP_ATOM_CAS_WIDE:
	case PTX_OP_ATOM_HALF:
	case PTX_OP_ATOM_VECTOR:
	case PTX_OP_ATOM_VECTOR_HALF:
	case PTX_OP_RED:
	case PTX_OP_RED_HALF:
	case PTX_OP_RED_VECTOR:
	case PTX_OP_RED_VECTOR_HALF:
		*kind = RT_CHANGES;
		return true;
	default:
		return false;
	}
}

/* What an instruction other than a load or store does at its address.  ldmatrix and stmatrix: eight
 * lanes for each matrix have the addresses of its rows.  Loads and stores of wmma: the matrix
 * begins at the address of all lanes, and its rows or columns are shared out among these. */
static void check_describe_site(const struct ptx_inst *inst, struct check_site *site)
{
	struct mma mma;
	enum ptx_type type;
	size_t count = 0;
	switch (inst->op) {
	case PTX_OP_MBARRIER_INIT:
	case PTX_OP_MBARRIER_INVAL:
	case PTX_OP_MBARRIER_TX:
	case PTX_OP_MBARRIER_ARRIVE:
	case PTX_OP_MBARRIER_ARRIVE_TX:
	case PTX_OP_MBARRIER_WAIT:
	case PTX_OP_MBARRIER_PARITY:
	case PTX_OP_CP_ARRIVE:
		site->size = sizeof(uint64_t);
		site->kind = RT_WRITES;
		return;
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
		(void)mma_operand(inst, 0, &type, &count);
		site->lines = 8 * (uint32_t)count;
		site->size = MMA_ROW;
		break;
	case PTX_OP_WMMA_LOAD:
	case PTX_OP_WMMA_LOAD_BITS:
	case PTX_OP_WMMA_STORE:
		(void)mma_of(&mma, inst);
		site->lines = mma_lines(&mma, mma_moved(inst));
		site->element_bits = mma_bits(mma.types[mma_moved(inst)]);
		site->size = mma_line_length(&mma, mma_moved(inst)) * site->element_bits / 8;
		break;
	default:
		return;
	}
	site->align = MMA_ROW;
	site->kind = inst->op == PTX_OP_STMATRIX || inst->op == PTX_OP_WMMA_STORE ? RT_WRITES
		: RT_READS;
}

/* The places that an instruction accesses, two at most; their number. */
static size_t check_find_sites(const struct emit *e, const struct ptx_inst *inst,
	struct check_site out[2])
{
	size_t count = 0;
	enum rt_access kind;
	if (inst->op == PTX_OP_CP_ASYNC) {
		const uint32_t size = (uint32_t)inst->operands[2].value;
		const size_t policy = ptx_has(&inst->mods, PTX_MOD_CACHE_HINT);
		out[count++] = (struct check_site){&inst->operands[0], PTX_SHARED, size, RT_WRITES};
		if (inst->operand_count - policy < 4) { // else it may read less
			out[count++] = (struct check_site){&inst->operands[1], PTX_GLOBAL, size,
				RT_READS};
		}
	} else if (check_find_kind(inst, &kind)) {
		const bool is_first = inst->operands[0].kind == PTX_ADDRESS
			&& inst->operands[0].bracketed; // of st and red
		out[count++] = (struct check_site){&inst->operands[is_first ? 0 : 1], inst->space,
			ptx_access_size(inst), kind};
	} else if (strchr(ptx_rows[inst->op].operands, 'm')) {
		for (size_t i = 0; i < inst->operand_count && count == 0; i++) {
			if (inst->operands[i].kind == PTX_ADDRESS && inst->operands[i].bracketed) {
				out[count] = (struct check_site){&inst->operands[i], inst->space,
					0, RT_READS};
				check_describe_site(inst, &out[count++]);
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		out[i].align = out[i].align > 0 ? out[i].align : out[i].size & -out[i].size;
		out[i].var = origin_of(e->origins, out[i].place);
		out[i].space = out[i].place->var ? out[i].place->var->space : out[i].space;
	}
	return count;
}

/* Whether an access cannot be wrong: it is at a fixed place of a variable. */
static bool check_is_clear(const struct check_site *site)
{
	const struct ptx_operand *place = site->place;
	const struct ptx_var *var = place->var;
	return var && !place->has_base && place->value >= 0 && site->size > 0 && site->lines == 0
		&& (uint64_t)place->value + site->size <= var->size
		&& (uint64_t)place->value % site->size == 0 && var->align % site->size == 0;
}

/* The address of the lane that is being made, as a number. */
static LLVMValueRef check_lane_address(struct emit *e, const struct check_site *site)
{
	enum ptx_space space = site->space;
	return LLVMBuildPtrToInt(e->builder, emit_address(e, site->place, &space, e->i8), e->s.i64,
		"");
}

static uint32_t check_var_number(const struct emit *e, const struct ptx_var *var)
{
	size_t i = 0;
	if (!var) {
		return RT_NO_VAR;
	}
	if (var->space == PTX_GLOBAL || var->space == PTX_CONST) {
		return RT_MODULE_VAR | (uint32_t)var->index;
	}
	if (var->space == PTX_PARAM) {
		return RT_PARAM_VAR | (uint32_t)var->index;
	}
	while (i < e->func->var_count && e->func->vars[i] != var) {
		i++;
	}
	return (uint32_t)i;
}

/* Of a variable: its own, and where it has no size what the launch asked for. */
static struct check_range check_range_of_var(struct emit *e, const struct ptx_var *var)
{
	struct check_range range = {emit_var(e, var), emit_scalar(e, 64, var->size)};
	if (var->space == PTX_SHARED) {
		range.begin = ir_add(e, range.begin,
			emit_splat(e, emit_pointer_bits(e, emit_shared_base(e))));
	}
	if (ptx_is_dynamic(var)) {
		range.size = ir_zext(e, emit_field(e, emit_launch_base(e),
			offsetof(struct rt_launch, dynamic_shared), e->s.i32), e->s.i64);
	} else if (var->space == PTX_LOCAL) {
		range.size = ir_add(e, range.size, emit_field(e, emit_launch_base(e),
			offsetof(struct rt_launch, stack_size), e->s.i64));
	}
	return range;
}

/* What was found last for a site. */
static struct check_range check_range_found(struct emit *e, const struct check_site *site)
{
	const size_t at = site->slot * sizeof(struct rt_range);
	LLVMValueRef all = emit_field(e, e->warp, offsetof(struct rt_warp, ranges), e->ptr);
	return (struct check_range){
		emit_splat(e, emit_field(e, all, at + offsetof(struct rt_range, begin), e->s.i64)),
		emit_field(e, all, at + offsetof(struct rt_range, size), e->s.i64)};
}

/* The lanes, as a scalar, that may not simply go on. */
static LLVMValueRef check_doubtful(struct emit *e, const struct check_site *site, LLVMValueRef at,
	LLVMValueRef lanes)
{
	struct check_range range = site->var ? check_range_of_var(e, site->var)
		: check_range_found(e, site);
	LLVMValueRef left[] = {range.size, emit_scalar(e, 64, site->size - 1)};
	LLVMValueRef room = ir_intrinsic(e, "llvm.usub.sat", &e->s.i64, 1, left, 2);
	LLVMValueRef is_bad = ir_icmp(e, LLVMIntUGE, ir_sub(e, at, range.begin),
		emit_splat(e, room));
	if (site->align > 1) {
		LLVMValueRef rest = ir_mask(e, at, site->align - 1);
		is_bad = ir_or(e, is_bad, ir_icmp(e, LLVMIntNE, rest,
			LLVMConstNull(LLVMTypeOf(at))));
	}
	return emit_is_vector(e) ? ir_and(e, emit_lane_bits(e, is_bad), lanes)
		: ir_select(e, is_bad, lanes, emit_u32(e, 0));
}

/* Note what the lanes are about to access. */
static void check_note(struct emit *e, const struct check_site *site, LLVMValueRef at,
	LLVMValueRef lanes)
{
	LLVMValueRef lane = emit_is_vector(e) ? emit_u32(e, 0) : emit_lane_number(e);
	LLVMValueRef offset = ir_add(e, emit_scalar(e, 64, offsetof(struct rt_warp, at)),
		ir_zext(e, ir_shl(e, lane, emit_u32(e, 3)), e->s.i64));
	LLVMValueRef place = emit_at(e, e->warp, offset, LLVMTypeOf(at));
	LLVMSetAlignment(LLVMBuildStore(e->builder, at, place), sizeof(uint64_t));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, gathers), lanes);
	emit_set_field(e, e->warp, offsetof(struct rt_warp, access), site->bytes ? site->bytes
		: emit_u32(e, site->size));
}

/* Ask about these lanes, and trap the first one that must not go on. */
static void check_ask(struct emit *e, const struct check_site *site, LLVMValueRef at,
	LLVMValueRef doubtful)
{
	LLVMValueRef none = emit_u32(e, 0);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef ask = emit_block(e, "ask");
	LLVMBasicBlockRef asked = emit_block(e, "asked");
	emit_expect_first(e, LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, doubtful, none),
		asked, ask));
	emit_enter(e, ask);
	check_note(e, site, at, doubtful);
	LLVMValueRef args[] = {
		emit_u32(e, rt_pack_access(site->kind, site->space == PTX_SHARED, site->align,
			site->slot)),
		emit_u32(e, check_var_number(e, site->var))};
	LLVMValueRef denied = emit_call_once(e, offsetof(struct rt_calls, check), e->s.i32, args,
		countof(args));
	LLVMBuildBr(e->builder, asked);
	emit_enter(e, asked);
	LLVMValueRef lanes = LLVMBuildPhi(e->builder, e->s.i32, "");
	LLVMAddIncoming(lanes, (LLVMValueRef[]){none, denied}, (LLVMBasicBlockRef[]){before, ask},
		2);
	LLVMValueRef mask = e->mask;
	e->mask = lanes;
	emit_trap_if(e, ir_icmp(e, LLVMIntNE, lanes, none));
	e->mask = mask;
}

/* Lanes, by a bit for each, that are side by side or at one place; and where their lane 0 is or
 * would be, from where lane 0 is. */
struct check_run {
	uint32_t lanes;
	enum rt_pattern pattern;
	int64_t offset;
};

enum { CHECK_RUNS = 4 };

/* Two half warps at one row, as in a block of 16 x 16. */
static bool check_are_twins(const struct check_run runs[2], uint32_t size)
{
	return runs[0].pattern == RT_WATCH_ROW && runs[1].pattern == RT_WATCH_ROW
		&& runs[0].lanes == 0xffff && runs[1].lanes == 0xffff0000
		&& runs[1].offset + 16 * (int64_t)size == runs[0].offset;
}

/* Where the lanes are, if that is known when the kernel is compiled; 0 runs: it is not. */
static size_t check_find_runs(const struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site, struct check_run out[CHECK_RUNS])
{
	size_t count = 0;
	if (!emit_is_vector(e) || inst->op == PTX_OP_CP_ASYNC) { // it has addresses in two spaces
		return 0;
	}
	const struct uniformity at = uniformity_of_address(&e->uniformity, inst, site->place);
	if (!at.is_known || at.is_vector) {
		return 0;
	}
	if (!at.offsets) {
		out[0] = (struct check_run){UINT32_MAX, RT_WATCH_PLACE, 0};
		return 1;
	}
	for (unsigned i = 0; i < e->width; count++) {
		const int64_t first = at.offsets[i] - at.offsets[0];
		const int64_t step = i + 1 < e->width && at.offsets[i + 1] == at.offsets[i] ? 0
			: (int64_t)site->size;
		if (count == CHECK_RUNS) {
			return 0;
		}
		out[count] = (struct check_run){0, step == 0 ? RT_WATCH_PLACE : RT_WATCH_ROW,
			first - step * i};
		for (int64_t next = first;
		     i < e->width && at.offsets[i] - at.offsets[0] == next; i++) {
			out[count].lanes |= 1u << i;
			next += step;
		}
	}
	if (count == 2 && check_are_twins(out, site->size)) {
		out[0].pattern = RT_WATCH_TWINS;
		out[0].lanes = UINT32_MAX;
		return 1;
	}
	return count;
}

/* The lanes, as a scalar, that may not simply go on, where it is known how far each is from lane 0:
 * one test for all, and one for each lane only if that fails. */
static LLVMValueRef check_doubtful_at_once(struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site, LLVMValueRef at, LLVMValueRef lanes)
{
	const struct uniformity known = uniformity_of_address(&e->uniformity, inst, site->place);
	int64_t least = 0, most = 0;
	for (unsigned i = 0; known.offsets && i < e->width; i++) {
		const int64_t offset = known.offsets[i] - known.offsets[0];
		least = offset < least ? offset : least;
		most = offset > most ? offset : most;
	}
	const uint64_t whole = (uint64_t)(most - least) + site->size;
	LLVMValueRef none = emit_u32(e, 0), first = none;
	struct check_range range = site->var ? check_range_of_var(e, site->var)
		: check_range_found(e, site);
	LLVMValueRef begin = LLVMBuildExtractElement(e->builder, range.begin, first, "");
	LLVMValueRef from = LLVMBuildExtractElement(e->builder, at, first, "");
	from = ir_add(e, from, emit_scalar(e, 64, (uint64_t)least));
	LLVMValueRef left[] = {range.size, emit_scalar(e, 64, whole - 1)};
	LLVMValueRef room = ir_intrinsic(e, "llvm.usub.sat", &e->s.i64, 1, left, 2);
	LLVMValueRef is_bad = ir_icmp(e, LLVMIntUGE, ir_sub(e, from, begin), room);
	if (site->align > 1) {
		is_bad = ir_or(e, is_bad, ir_icmp(e, LLVMIntNE, ir_mask(e, from, site->align - 1),
			emit_scalar(e, 64, 0)));
	}
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef each = emit_block(e, "each"), done = emit_block(e, "done");
	emit_expect_first(e, LLVMBuildCondBr(e->builder, ir_not(e, is_bad), done, each));
	emit_enter(e, each);
	LLVMValueRef doubtful = check_doubtful(e, site, at, lanes);
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
	LLVMBuildBr(e->builder, done);
	emit_enter(e, done);
	LLVMValueRef result = LLVMBuildPhi(e->builder, e->s.i32, "");
	LLVMAddIncoming(result, (LLVMValueRef[]){none, doubtful},
		(LLVMBasicBlockRef[]){before, end}, 2);
	return result;
}

/* Whether that is so. */
static bool check_has_distances(const struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site)
{
	if (!emit_is_vector(e) || site->lines > 0 || inst->op == PTX_OP_CP_ASYNC
	    || (site->var && site->var->space == PTX_LOCAL)) {
		return false;
	}
	const struct uniformity at = uniformity_of_address(&e->uniformity, inst, site->place);
	int64_t all = 0;
	for (unsigned i = 0; at.offsets && i < e->width; i++) {
		all |= at.offsets[i] - at.offsets[0];
	}
	return at.is_known && !at.is_vector && (all & (site->align - 1)) == 0;
}

/* What rt_calls.watch is told of an access. */
static uint32_t check_watch_word(const struct ptx_inst *inst, const struct check_site *site)
{
	const struct ptx_mods *mods = &inst->mods;
	uint32_t word = (uint32_t)site->kind;
	switch (inst->op) {
	case PTX_OP_CP_ASYNC:
		return word | (site->kind == RT_WRITES ? RT_ACCESS_ASYNC : 0);
	case PTX_OP_MBARRIER_INIT:
		return RT_WRITES | RT_ACCESS_MBARRIER;
	case PTX_OP_MBARRIER_INVAL:
		return RT_WRITES | RT_ACCESS_MBARRIER | RT_ACCESS_ENDS;
	case PTX_OP_MBARRIER_TX:
	case PTX_OP_MBARRIER_ARRIVE:
	case PTX_OP_MBARRIER_ARRIVE_TX:
	case PTX_OP_CP_ARRIVE:
		return RT_CHANGES | RT_ACCESS_STRONG | RT_ACCESS_CTA | RT_ACCESS_RELEASE
			| RT_ACCESS_MBARRIER;
	case PTX_OP_MBARRIER_WAIT:
	case PTX_OP_MBARRIER_PARITY:
		return RT_READS | RT_ACCESS_STRONG | RT_ACCESS_CTA | RT_ACCESS_MBARRIER;
	default:
		break;
	}
	const bool is_volatile = ptx_has(mods, PTX_MOD_VOLATILE) || ptx_has(mods, PTX_MOD_CV);
	word |= is_volatile ? RT_ACCESS_VOLATILE
		: site->kind == RT_CHANGES || ptx_is_strong(inst) ? RT_ACCESS_STRONG : 0;
	word |= ptx_has(mods, PTX_MOD_CTA) ? RT_ACCESS_CTA : 0;
	word |= (inst->op == PTX_OP_ATOM_CAS || inst->op == PTX_OP_ATOM_CAS_WIDE)
		&& !ptx_has(mods, PTX_MOD_ACQUIRE) && !ptx_has(mods, PTX_MOD_ACQ_REL)
		&& !ptx_has(mods, PTX_MOD_SC) ? RT_ACCESS_LOCKS : 0;
	return word | (ptx_has(mods, PTX_MOD_RELEASE) || ptx_has(mods, PTX_MOD_ACQ_REL)
		|| ptx_has(mods, PTX_MOD_SC) ? RT_ACCESS_RELEASE : 0);
}

static bool check_is_watched(const struct emit *e, const struct check_site *site)
{
	return e->watches && site->size > 0 && site->lines == 0 // the exchange tells of matrices
		&& (site->space == PTX_GENERIC || site->space == PTX_GLOBAL
			|| site->space == PTX_SHARED);
}

static LLVMValueRef check_lanes(struct emit *e)
{
	return emit_is_vector(e) ? emit_active(e) : ir_shl(e, emit_u32(e, 1), emit_lane_number(e));
}

static void check_tell(struct emit *e, uint32_t word, uint32_t pattern)
{
	LLVMValueRef args[] = {emit_u32(e, word), emit_u32(e, pattern)};
	emit_call_once(e, offsetof(struct rt_calls, watch), LLVMVoidTypeInContext(e->context), args,
		countof(args));
}

/* Fences, and groups of copies: what is no access. */
static void check_watch_others(struct emit *e, const struct ptx_inst *inst)
{
	uint32_t word, argument = 0;
	switch (inst->op) {
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE:
		word = RT_FENCES | (ptx_has(&inst->mods, PTX_MOD_CTA) ? RT_ACCESS_CTA : 0);
		break;
	case PTX_OP_CP_COMMIT:
		word = RT_COMMITS;
		break;
	case PTX_OP_CP_WAIT:
		word = RT_WAITS;
		argument = (uint32_t)inst->operands[0].value;
		break;
	case PTX_OP_CP_WAIT_ALL:
	case PTX_OP_CP_ARRIVE:
		word = RT_WAITS;
		argument = UINT32_MAX;
		break;
	default:
		return;
	}
	emit_set_field(e, e->warp, offsetof(struct rt_warp, gathers), check_lanes(e));
	emit_set_field(e, e->warp, offsetof(struct rt_warp, access), emit_u32(e, argument));
	check_tell(e, word, RT_WATCH_ANY);
}

/* The lanes that access a line of a matrix, as a scalar; and from the address that all lanes have
 * to that of each. */
static LLVMValueRef check_matrix_lanes(struct emit *e, const struct check_site *site,
	LLVMValueRef lanes)
{
	LLVMValueRef has = ir_icmp(e, LLVMIntULT, emit_sreg(e, PTX_SREG_LANEID),
		emit_int(e, 32, site->lines));
	return emit_is_vector(e) ? ir_and(e, emit_lane_bits(e, has), lanes)
		: ir_select(e, has, lanes, emit_u32(e, 0));
}

static LLVMValueRef check_matrix_offsets(struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site)
{
	struct mma mma;
	(void)mma_of(&mma, inst);
	LLVMValueRef stride = ir_zext(e, emit_matrix_stride(e, inst, &mma), e->i64);
	LLVMValueRef bits = ir_mul(e, stride, emit_int(e, 64, site->element_bits));
	return ir_mul(e, ir_lshr_by(e, bits, 3), ir_zext(e, emit_sreg(e, PTX_SREG_LANEID),
		e->i64));
}

/* The addresses of the lanes, as numbers. */
static LLVMValueRef check_addresses(struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site)
{
	struct ptx_inst as = *inst;
	as.space = site->space;
	return emit_is_vector(e) ? emit_lane_addresses(e, &as, site->place)
		: check_lane_address(e, site);
}

/* What flatten.c makes of a call accesses frames of its own, and the second half of an instruction
 * that waits has nothing to ask. */
static bool check_is_of_program(const struct ptx_inst *inst)
{
	const char *spelling = ptx_rows[inst->op].spelling;
	return !inst->is_second && inst->text
		&& strncmp(inst->text, spelling, strlen(spelling)) == 0;
}

/* --- Loads side by side --- */

static bool check_is_same_line(const struct ptx_loc *a, const struct ptx_loc *b)
{
	return a && b && a->file == b->file && a->line == b->line && a->at == b->at;
}

/* Whether a later instruction loads from the same pointer as the first one, in the same lanes, for
 * the same line of the source. */
static bool check_is_beside(const struct emit *e, const struct ptx_inst *first,
	const struct ptx_inst *inst)
{
	const struct ptx_operand *a = &first->operands[1], *b = &inst->operands[1];
	struct check_site sites[2] = {{0}};
	return inst->op == first->op && inst->space == first->space && check_is_of_program(inst)
		&& a->has_base && b->has_base && !a->var && !b->var && a->reg == b->reg
		&& a->value_of == b->value_of && first->has_guard == inst->has_guard
		&& (!inst->has_guard || (first->guard_value == inst->guard_value
			&& first->guard == inst->guard
			&& first->guard_negated == inst->guard_negated))
		&& check_is_same_line(first->loc, inst->loc)
		&& check_find_sites(e, inst, sites) == 1 && sites[0].size % 4 == 0
		&& check_watch_word(inst, &sites[0]) == RT_READS
		&& (b->value - a->value) % 4 == 0;
}

/* The words from a load on, and before it, that this and later loads of the block read, before
 * anything else touches memory: a bit for each, that of the load is CHECK_MIDDLE. */
enum { CHECK_MIDDLE = 16 };
static uint32_t check_find_words(const struct emit *e, const struct ptx_inst *first,
	const struct ptx_inst **last)
{
	const struct ptx_inst *end = &e->func->insts[e->func->blocks[e->block].end];
	uint32_t words = 0;
	const struct ptx_inst *inst = first;
	for (; inst < end && (ptx_computes(inst->op) || inst->op == PTX_OP_LD); inst++) {
		if (inst->op != PTX_OP_LD || !check_is_beside(e, first, inst)) {
			continue;
		}
		const int64_t at = (inst->operands[1].value - first->operands[1].value) / 4;
		const uint32_t count = ptx_access_size(inst) / 4;
		if (at >= -CHECK_MIDDLE && at + count <= CHECK_MIDDLE) {
			words |= ((1u << count) - 1) << (at + CHECK_MIDDLE);
		}
	}
	*last = inst;
	return words;
}

/* How many rows, each right behind the one before, later loads of the block read likewise. */
static uint32_t check_find_rows(const struct emit *e, const struct ptx_inst *first,
	const struct ptx_inst *last, uint32_t size, int64_t pitch)
{
	uint32_t rows = 0, count = 0;
	for (const struct ptx_inst *inst = first + 1; inst < last; inst++) {
		const int64_t at = inst->op == PTX_OP_LD && check_is_beside(e, first, inst)
			? inst->operands[1].value - first->operands[1].value : 0;
		if (at > 0 && at % pitch == 0 && at / pitch < 31 && ptx_access_size(inst) == size) {
			rows |= 1u << at / pitch;
		}
	}
	while (rows >> (count + 1) & 1) {
		count++;
	}
	return count;
}

/* The first of the loads that read words or rows side by side from one pointer tells the runtime of
 * all of them: its site becomes all that they read.  True: an earlier load has told of this one. */
static bool check_join_loads(struct emit *e, const struct ptx_inst *inst, struct check_site *site)
{
	struct emit_watched *w = &e->watched[site->place->reg % countof(e->watched)];
	const int64_t value = site->place->value;
	struct check_run runs[CHECK_RUNS];
	const struct ptx_inst *last;
	if (inst->op != PTX_OP_LD || !check_is_beside(e, inst, inst)) {
		return false;
	}
	if (w->first && inst > w->first && inst < w->last && check_is_beside(e, w->first, inst)
	    && value >= w->begin && value + site->size <= w->end
	    && (w->pitch == 0 || ((value - w->begin) % w->pitch == 0
			&& site->size == ptx_access_size(w->first)))) {
		return true;
	}
	const uint32_t words = check_find_words(e, inst, &last);
	uint32_t begin = CHECK_MIDDLE, end = CHECK_MIDDLE + site->size / 4;
	while (end < 32 && end - begin < CHECK_MIDDLE && words >> end & 1) {
		end++;
	}
	while (begin > 0 && end - begin < CHECK_MIDDLE && words >> (begin - 1) & 1) {
		begin--;
	}
	struct check_site joined = *site;
	joined.size = (end - begin) * 4;
	if (joined.size > site->size && (check_find_runs(e, inst, site, runs) == 0
		|| check_find_runs(e, inst, &joined, runs) > 0)) {
		joined.before = ((int64_t)begin - CHECK_MIDDLE) * 4;
		*site = joined;
		*w = (struct emit_watched){inst, last, value + site->before,
			value + site->before + site->size, 0};
		return false;
	}
	if (e->width == RT_GROUP && check_find_runs(e, inst, site, runs) == 1
	    && runs[0].pattern != RT_WATCH_PLACE) {
		const int64_t pitch = (int64_t)site->size
			* (runs[0].pattern == RT_WATCH_TWINS ? RT_GROUP / 2 : RT_GROUP);
		site->more = check_find_rows(e, inst, last, site->size, pitch);
		if (site->more > 0) {
			*w = (struct emit_watched){inst, last, value,
				value + site->more * pitch + site->size, pitch};
		}
	}
	return false;
}

static void check_watch(struct emit *e, const struct ptx_inst *inst, struct check_site *site,
	LLVMValueRef at, LLVMValueRef lanes)
{
	struct check_run runs[CHECK_RUNS];
	uint32_t word = check_watch_word(inst, site);
	word |= e->is_idle && !(word & RT_ACCESS_MBARRIER) ? RT_ACCESS_IDLE : 0;
	if (check_join_loads(e, inst, site)) {
		return;
	}
	const size_t count = check_find_runs(e, inst, site, runs);
	LLVMValueRef before = emit_scalar(e, 64, (uint64_t)site->before);
	at = ir_add(e, at, emit_is_vector(e) ? emit_splat(e, before) : before);
	if (count == 0) {
		check_note(e, site, at, lanes);
		check_tell(e, word, RT_WATCH_ANY);
	}
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef first = LLVMBuildExtractElement(e->builder, at, emit_u32(e, 0), "");
		first = ir_add(e, first, emit_scalar(e, 64, (uint64_t)runs[i].offset));
		check_note(e, site, first, ir_and(e, lanes, emit_u32(e, runs[i].lanes)));
		check_tell(e, word, runs[i].pattern + site->more * RT_WATCH_MORE);
	}
}

/* Whether an operation, which is not a plain load, uses what it reads. */
static bool check_uses_old(const struct emit *e, const struct ptx_inst *inst,
	const struct check_site *site)
{
	const bool is_atomic = site->kind == RT_CHANGES;
	return e->questions && e->checks & check_bit(CHECK_INIT)
		&& (is_atomic || (site->lines > 0 && site->kind == RT_READS))
		&& ((is_atomic && !uses_exchanges(inst)) || uses_of_load(e->uses, inst));
}

static void check_place(struct emit *e, const struct ptx_inst *inst, const struct check_site *site)
{
	LLVMValueRef at = check_addresses(e, inst, site);
	LLVMValueRef lanes = check_lanes(e);
	if (site->lines > 0) {
		lanes = check_matrix_lanes(e, site, lanes);
	}
	if (site->element_bits > 0) {
		at = ir_add(e, at, check_matrix_offsets(e, inst, site));
	}
	const bool asks = e->questions && !check_is_clear(site);
	if (asks && site->size > 0) {
		check_ask(e, site, at, check_has_distances(e, inst, site)
			? check_doubtful_at_once(e, inst, site, at, lanes)
			: check_doubtful(e, site, at, lanes));
	}
	if (check_uses_old(e, inst, site)) {
		struct check_site uses = *site;
		uses.kind = RT_USES;
		check_ask(e, &uses, at, lanes);
	}
	if (check_is_watched(e, site)) {
		struct check_site told = *site;
		check_watch(e, inst, &told, at, lanes);
	} else if (site->size == 0 || !e->questions) {
		check_note(e, site, at, lanes);
	}
}

bool emit_check_follows(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		const unsigned op = func->insts[i].op;
		if (op == PTX_OP_CP_ASYNC || op == PTX_OP_MBARRIER_INIT
		    || ptx_has(&func->insts[i].mods, PTX_MOD_VOLATILE)) {
			return true;
		}
	}
	return false;
}

/* The slot of a place.  Places with one base register have one: they mostly access the same
 * allocation. */
static uint32_t check_slot(struct emit *e, const struct ptx_operand *place)
{
	struct emit_asked *last = &e->asked_at[place->reg % countof(e->asked_at)];
	const unsigned base = place->has_base ? place->reg + 1 : 0;
	if (base == 0 || last->base != base) {
		*last = (struct emit_asked){base, e->asked++ % RT_RANGES};
	}
	return last->slot;
}

void emit_check(struct emit *e, const struct ptx_inst *inst)
{
	struct check_site sites[2] = {{0}};
	const size_t count = check_is_of_program(inst) ? check_find_sites(e, inst, sites) : 0;
	emit_set_field(e, e->warp, offsetof(struct rt_warp, line),
		emit_u32(e, (uint64_t)inst->line));
	for (size_t i = 0; i < count; i++) {
		sites[i].slot = check_slot(e, sites[i].place);
		if (!check_is_clear(&sites[i]) || check_is_watched(e, &sites[i])
		    || check_uses_old(e, inst, &sites[i])) {
			check_place(e, inst, &sites[i]);
		}
	}
	if (e->watches) {
		check_watch_others(e, inst);
	}
}

void emit_check_bytes(struct emit *e, const struct ptx_inst *inst, struct emit_bytes bytes)
{
	struct check_site site = {.place = bytes.place, .space = bytes.space, .kind = bytes.kind,
		.align = bytes.align, .bytes = bytes.size};
	if (!e->asks || !check_is_of_program(inst)) {
		return;
	}
	LLVMValueRef at = check_lane_address(e, &site);
	LLVMValueRef has_any = ir_icmp(e, LLVMIntNE, bytes.size, emit_u32(e, 0));
	LLVMValueRef lanes = ir_select(e, has_any, check_lanes(e), emit_u32(e, 0));
	site.var = origin_of(e->origins, site.place);
	site.slot = e->asked++ % RT_RANGES;
	if (e->questions) {
		check_ask(e, &site, at, lanes);
	}
	if (e->watches) {
		check_note(e, &site, at, lanes);
		check_tell(e, (uint32_t)bytes.kind | bytes.watch, RT_WATCH_ANY);
	}
}

/* --- Unwritten memory --- */

/* Whether elements have the value of what was never written, in some of these halves.  Bytes and
 * halves of a word are compared with all that are in it, and rt_calls.check looks at the word. */
static LLVMValueRef check_is_unwritten(struct emit *e, LLVMValueRef value, unsigned halves)
{
	const unsigned bits = ir_width(value);
	LLVMValueRef is = LLVMConstNull(e->i1);
	for (unsigned at = 0; at < (bits > 32 ? bits : 32); at += bits < 32 ? bits : 32) {
		if (bits > 32 && !(halves >> at / 32 & 1)) {
			continue;
		}
		LLVMValueRef part = bits > 32 ? ir_trunc(e, ir_lshr_by(e, value, at), e->i32)
			: value;
		const uint64_t word = bits < 32 ? CHECK_UNWRITTEN >> at & ((1u << bits) - 1)
			: CHECK_UNWRITTEN;
		is = ir_or(e, is, ir_icmp(e, LLVMIntEQ, part,
			emit_const(e, LLVMTypeOf(part), word)));
	}
	return is;
}

/* Whether a load is at a fixed place of a variable.  The compiler may have moved it in front of the
 * condition that it is under in the source, as it cannot fault, unless what it loads is surely used
 * where it is now. */
static bool check_is_early(const struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *place = &inst->operands[1];
	return place->var && !place->has_base && place->var->space == PTX_SHARED
		&& !ptx_has(&inst->mods, PTX_MOD_VOLATILE)
		&& !uses_surely(e->func, &e->func->blocks[e->block], inst);
}

bool emit_check_uses(const struct emit *e, const struct ptx_inst *inst)
{
	return (inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU) && check_is_of_program(inst)
		&& !check_is_early(e, inst)
		&& e->checks & check_bit(CHECK_INIT) && inst->space != PTX_PARAM
		&& inst->space != PTX_CONST && inst->types[0] != PTX_PRED
		&& ptx_type_size(inst->types[0]) <= sizeof(uint64_t)
		&& uses_of_load(e->uses, inst);
}

LLVMValueRef emit_check_address(struct emit *e, const struct ptx_inst *inst)
{
	struct check_site sites[2] = {{0}};
	(void)check_find_sites(e, inst, sites);
	return check_addresses(e, inst, &sites[0]);
}

void emit_check_loaded(struct emit *e, const struct ptx_inst *inst, LLVMValueRef at)
{
	static const enum ptx_type types[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64};
	const struct ptx_operand *to = &inst->operands[0];
	const bool is_vector = to->kind == PTX_VECTOR;
	const enum ptx_type type = types[__builtin_ctz((unsigned)ptx_type_size(inst->types[0]))];
	struct check_site sites[2] = {{0}};
	LLVMValueRef is = LLVMConstNull(e->i1);
	(void)check_find_sites(e, inst, sites);
	for (size_t i = 0; i < (is_vector ? to->count : 1); i++) {
		const struct ptx_operand *element = is_vector ? &to->elements[i] : to;
		const unsigned halves = element->kind == PTX_REG ? e->uses[element->reg] : 0;
		if (halves != 0) {
			is = ir_or(e, is, check_is_unwritten(e, emit_use(e, element, type),
				halves));
		}
	}
	LLVMValueRef lanes = check_lanes(e);
	sites[0].kind = RT_USES;
	check_ask(e, &sites[0], at, emit_is_vector(e) ? ir_and(e, emit_lane_bits(e, is), lanes)
		: ir_select(e, is, lanes, emit_u32(e, 0)));
}
