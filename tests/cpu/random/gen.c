/* SPDX-License-Identifier: MIT */
/*
 * Random programs: their registers and memory, and statements without control flow.  See gen.h.
 */
#include "gen_build.h"

#include "base/alloc.h"

#include <string.h>

struct gen_inst *gen_add(struct gen *g, enum gen_kind kind)
{
	static struct gen_inst lost;
	struct gen_func *func = g->func;
	if (func->count == func->room) {
		size_t room = func->room ? 2 * func->room : 256;
		struct gen_inst *insts = mem_realloc(func->insts, room * sizeof(*insts));
		if (!insts) {
			g->failed = true;
			return &lost;
		}
		func->insts = insts;
		func->room = room;
	}
	struct gen_inst *inst = &func->insts[func->count++];
	*inst = (struct gen_inst){.kind = (uint8_t)kind};
	inst->form = (uint8_t)gen_below(g, 256);
	return inst;
}

/* Past the last one, registers are used again: the program is wrong then, and is never so big. */
struct gen_arg gen_fresh(struct gen *g, enum gen_bank bank)
{
	unsigned *used = &g->func->used[bank];
	if (*used + 1 >= GEN_REGS) {
		g->failed = true;
		return gen_reg(bank, GEN_REGS - 1);
	}
	return gen_reg(bank, (*used)++);
}

int gen_label(struct gen *g)
{
	return (int)g->func->labels++;
}

void gen_put_label(struct gen *g, int label)
{
	struct gen_inst *inst = gen_add(g, GEN_LABEL);
	inst->keep = true;
	inst->label = (uint16_t)label;
}

void gen_op(struct gen *g, const char *ptx, struct gen_arg dst, struct gen_arg a,
	struct gen_arg b)
{
	struct gen_inst *inst = gen_add(g, GEN_OP);
	inst->keep = true;
	inst->op = (uint16_t)gen_find_op(ptx);
	inst->dst[0] = dst;
	inst->src[0] = a;
	inst->src[1] = b;
}

void gen_jump(struct gen *g, int label, struct gen_arg guard, bool when)
{
	struct gen_inst *inst = gen_add(g, GEN_BRA);
	inst->keep = true;
	inst->label = (uint16_t)label;
	inst->has_guard = guard.kind == GEN_REG;
	inst->guard = guard.reg;
	inst->guard_negated = !when;
}

void gen_ballot(struct gen *g, struct gen_arg dst, struct gen_arg mask, struct gen_arg pred)
{
	struct gen_inst *inst = gen_add(g, GEN_WARP);
	inst->keep = true;
	inst->op = GEN_BALLOT;
	inst->dst[0] = dst;
	inst->src[0] = mask;
	inst->src[1] = pred;
}

struct gen_arg gen_pick(struct gen *g, enum gen_bank bank, bool uniform)
{
	unsigned count = gen_visible[bank];
	if (uniform) {
		return gen_reg(bank, count - GEN_UNIFORM + (unsigned)gen_below(g, GEN_UNIFORM));
	}
	return gen_reg(bank, (unsigned)gen_below(g, count));
}

struct gen_arg gen_result(struct gen *g, enum gen_bank bank)
{
	unsigned count = gen_visible[bank] - (bank == GEN_R ? GEN_UNIFORM : 0);
	return gen_reg(bank, (unsigned)gen_below(g, count));
}

void gen_guard(struct gen *g, struct gen_inst *inst, unsigned percent)
{
	inst->has_guard = gen_chance(g, percent);
	inst->guard = gen_pick(g, GEN_P, false).reg;
	inst->guard_negated = gen_chance(g, 50);
}

static struct gen_arg pick_constant(struct gen *g, enum gen_bank bank)
{
	static const uint64_t ints[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 127,
		128, 255, 256, 1000, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000, UINT64_MAX};
	static const uint32_t singles[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000,
		0x40490fdb, 0x7f800000, 0xff800000, 0x7fffffff, 1, 0x7fffff, 0x800000, 0x7f7fffff,
		0x477fe000, 0x4f000000, 0x5f000000, 0x3eaaaaab, 0xcb000001};
	static const uint64_t doubles[] = {0, 0x8000000000000000, 0x3ff0000000000000,
		0xbfe0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 1,
		0x10000000000000, 0x7fefffffffffffff, 0x41e0000000000000, 0x43e0000000000000,
		0x3fd5555555555555, 0x47efffffe0000000};
	uint64_t any = gen_random(&g->random);
	if (bank == GEN_F) {
		return gen_imm(bank, gen_chance(g, 70) ? singles[any % countof(singles)]
			: gen_canon(bank, any & UINT32_MAX));
	}
	if (bank == GEN_G) {
		return gen_imm(bank, gen_chance(g, 70) ? doubles[any % countof(doubles)]
			: gen_canon(bank, any));
	}
	any = gen_chance(g, 80) ? ints[any % countof(ints)] : any;
	return gen_imm(bank, any & UINT64_MAX >> (64 - gen_bits[bank]));
}

/* ptxas leaves what it likes in the upper half of a register with a comparison of halves, and takes
 * it for zeros.  It takes a bfe of 32 bits for one result of all threads if only its source is the
 * same in all, wherever they look in it. */
static bool is_trap(const char *ptx)
{
	return strcmp(ptx, "bfe.u32") == 0 || strcmp(ptx, "bfe.s32") == 0
		|| strstr(ptx, "set.eq.f16.f16");
}

/* ptxas guards set without what turns its result into a float or widens it, and not testp. */
static bool is_trap_guarded(const char *ptx)
{
	return strstr(ptx, "set.") || strstr(ptx, "testp.");
}

static bool may_use(const struct gen *g, unsigned op)
{
	return g->options->ops[op]
		&& (!(g->program->features & GEN_HAS_CUDA) || gen_ops[op].cuda[0])
		&& (g->program->features & GEN_HAS_TRAPS || !is_trap(gen_ops[op].ptx));
}

static void add_op(struct gen *g)
{
	unsigned op;
	do {
		op = (unsigned)gen_below(g, gen_op_count);
	} while (!may_use(g, op));
	struct gen_inst *inst = gen_add(g, GEN_OP);
	const char *banks = gen_ops[op].banks;
	inst->op = (uint16_t)op;
	inst->dst[0] = gen_result(g, gen_bank_of(banks[0]));
	size_t count = strlen(banks) - 1;
	size_t constant = gen_chance(g, 25) ? gen_below(g, count) : count;
	for (size_t i = 0; i < count; i++) {
		if (banks[1 + i] == 'i') {
			inst->src[i] = gen_imm(GEN_R, gen_below(g, 256));
			continue;
		}
		enum gen_bank bank = gen_bank_of(banks[1 + i]);
		inst->src[i] = i == constant && bank != GEN_P ? pick_constant(g, bank)
			: gen_pick(g, bank, false);
		if (i > 0 && strncmp(gen_ops[op].ptx, "bf", 2) == 0) {
			inst->src[i].value &= 0xff; /* ptxas takes no other positions */
		}
	}
	gen_guard(g, inst, 20);
	if (!(g->program->features & GEN_HAS_TRAPS)) {
		inst->has_guard = inst->has_guard && !is_trap_guarded(gen_ops[op].ptx);
		/* By 64 and more ptxas does not shift some products at all. */
		inst->src[1].value &= strcmp(gen_ops[op].ptx, "shl.b64") == 0 ? 63 : UINT64_MAX;
	}
}

/* On registers that are the same in all threads. */
static void add_uniform_op(struct gen *g)
{
	static const char *const ops[] = {"add.u32", "xor.b32", "mul.lo.s32", "shr.u32",
		"mad.lo.u32", "min.u32"};
	unsigned op = gen_find_op(ops[gen_below(g, countof(ops))]);
	struct gen_inst *inst = gen_add(g, GEN_OP);
	inst->op = (uint16_t)op;
	inst->dst[0] = gen_pick(g, GEN_R, true);
	for (size_t i = 0; gen_ops[op].banks[1 + i]; i++) {
		inst->src[i] =
			gen_chance(g, 30) ? pick_constant(g, GEN_R) : gen_pick(g, GEN_R, true);
	}
}

/* Memory. */

static const struct {
	unsigned words;   /* of 8 bytes, that a thread may use */
	bool writable;
	unsigned vector;  /* bytes that may be accessed at once */
} spaces[GEN_SPACES] = {
	[GEN_OWN] = {GEN_OWN_BYTES / 8, true, 16},
	[GEN_STRIPED] = {GEN_OWN_BYTES / 8, true, 8},
	[GEN_LOCAL] = {GEN_OWN_BYTES / 8, true, 16},
	[GEN_SHARED] = {GEN_SHARED_BYTES / 8, true, 16},
	[GEN_INPUT] = {GEN_INPUTS, false, 16},
	[GEN_CONST] = {GEN_CONSTANTS, false, 16},
};

static struct gen_place pick_place_in(struct gen *g, enum gen_space space, unsigned size)
{
	struct gen_place place = {.form = (uint8_t)gen_below(g, 256), .generic = gen_chance(g, 20),
		.space = (uint8_t)space};
	unsigned words = spaces[space].words;
	place.index = gen_chance(g, 50) && size <= 8 ? gen_pick(g, GEN_R, gen_chance(g, 20))
		: gen_imm(GEN_R, gen_below(g, words) & (size > 8 ? ~1ull : ~0ull));
	place.offset = (uint8_t)(size < 8 ? gen_below(g, 8 / size) * size : 0);
	return place;
}

static struct gen_place pick_place(struct gen *g, bool written, unsigned size)
{
	enum gen_space space;
	do {
		space = (enum gen_space)gen_below(g, GEN_SPACES);
	} while (spaces[space].vector < size || (written && !spaces[space].writable)
		 || (g->in_func && space != GEN_LOCAL && space != GEN_CONST));
	return pick_place_in(g, space, size);
}

static enum gen_bank bank_for(struct gen *g, enum gen_type type)
{
	static const enum gen_bank narrow[] = {GEN_H, GEN_R, GEN_D};
	switch (type) {
	case GEN_F32:
		return GEN_F;
	case GEN_F64:
		return GEN_G;
	case GEN_B64:
		return GEN_D;
	case GEN_B32:
	case GEN_S32:
		return narrow[1 + gen_below(g, 2)];
	default:
		return narrow[gen_below(g, 3)];
	}
}

static void add_access(struct gen *g, bool store)
{
	bool cuda = g->program->features & GEN_HAS_CUDA;
	struct gen_inst *inst = gen_add(g, store ? GEN_ST : GEN_LD);
	enum gen_type type = cuda ? GEN_B64 : (enum gen_type)gen_below(g, GEN_F64 + 1);
	unsigned size = gen_type_size(type);
	inst->type = (uint8_t)type;
	inst->count = (uint8_t)(cuda || gen_chance(g, 70) ? 1
			: size > 4 || gen_chance(g, 50)   ? 2
							  : 4);
	inst->place = pick_place(g, store, size * inst->count);
	enum gen_bank bank = bank_for(g, type);
	for (unsigned i = 0; i < inst->count; i++) {
		inst->src[i] = gen_pick(g, bank, false);
		inst->dst[i] = gen_result(g, bank);
	}
	for (unsigned i = 1; i < inst->count && !store; i++) {
		// Not one register twice, which PTX does not allow.
		unsigned first = inst->dst[0].reg;
		unsigned room = gen_visible[bank] - (bank == GEN_R ? GEN_UNIFORM : 0);
		inst->dst[i].reg = (uint8_t)((first + i) % room);
	}
	gen_guard(g, inst, 20);
}

/* Atomics on a thread's own memory, whose old value is known. */
static void add_own_atomic(struct gen *g)
{
	struct gen_inst *inst = gen_add(g, GEN_ATOM);
	inst->op = (uint16_t)gen_below(g, GEN_ATOMS);
	bool narrow = gen_chance(g, 50) || inst->op == GEN_INC || inst->op == GEN_DEC;
	enum gen_bank bank = narrow ? GEN_R : GEN_D;
	inst->type = (uint8_t)(narrow ? gen_chance(g, 50) ? GEN_B32 : GEN_S32 : GEN_B64);
	inst->dst[0] =
		gen_chance(g, 80) ? gen_result(g, bank) : (struct gen_arg){.kind = GEN_NONE};
	inst->src[0] = gen_chance(g, 25) ? pick_constant(g, bank) : gen_pick(g, bank, false);
	inst->src[1] = gen_pick(g, bank, false);
	do {
		inst->place = pick_place(g, true, narrow ? 4 : 8);
	} while (inst->place.space == GEN_LOCAL);
	if (g->program->features & GEN_HAS_CUDA) {
		inst->place.offset = 0;
	}
	gen_guard(g, inst, 20);
}

static void add_cell_atomic(struct gen *g)
{
	struct gen_inst *inst = gen_add(g, GEN_ATOM);
	unsigned cell = (unsigned)gen_below(g, GEN_CELLS);
	bool wide = strstr(gen_cells[cell].type, "64") != NULL;
	enum gen_bank bank = wide ? GEN_D : GEN_R;
	inst->op = gen_cells[cell].op;
	inst->type = (uint8_t)(wide ? GEN_B64 : gen_cells[cell].type[0] == 's' ? GEN_S32 : GEN_B32);
	inst->src[0] = inst->op == GEN_INC ? gen_imm(bank, GEN_INC_BOUND)
		: gen_chance(g, 25) ? pick_constant(g, bank) : gen_pick(g, bank, false);
	inst->place = (struct gen_place){.generic = gen_chance(g, 20),
		.space = gen_chance(g, 50) ? GEN_GLOBAL_CELL : GEN_SHARED_CELL,
		.index = gen_imm(GEN_R, cell)};
	gen_guard(g, inst, 20);
}

static struct gen_place pick_atomic_place(struct gen *g, unsigned size)
{
	struct gen_place place;
	do {
		place = pick_place(g, true, size);
	} while (place.space == GEN_LOCAL);
	return place;
}

static void add_float_atomic(struct gen *g)
{
	bool wide = gen_chance(g, 50);
	enum gen_bank bank = wide ? GEN_G : GEN_F;
	struct gen_inst *inst = gen_add(g, GEN_FLOAT_ATOM);
	inst->type = (uint8_t)(wide ? GEN_F64 : GEN_F32);
	inst->dst[0] = gen_result(g, bank);
	inst->src[0] = gen_pick(g, bank, false);
	inst->src[1] = gen_pick(g, bank, false);
	inst->place = pick_atomic_place(g, wide ? 8 : 4);
	if (g->program->features & GEN_HAS_CUDA) {
		inst->place.offset = 0;
	}
	gen_guard(g, inst, 20);
}

static void add_swap(struct gen *g)
{
	struct gen_inst *inst = gen_add(g, GEN_SWAP);
	inst->op = (uint16_t)gen_below(g, 2);
	for (unsigned i = 0; i < 4; i++) {
		inst->src[i] = gen_pick(g, GEN_D, false);
	}
	inst->dst[0] = gen_result(g, GEN_D);
	inst->dst[1] = gen_reg(GEN_D, (inst->dst[0].reg + 1) % gen_visible[GEN_D]);
	inst->place = pick_atomic_place(g, 16);
	gen_guard(g, inst, 20);
}

static void add_copy(struct gen *g)
{
	unsigned size = 4u << gen_below(g, 3);
	struct gen_inst *inst = gen_add(g, GEN_COPY);
	inst->count = (uint8_t)size;
	inst->op = (uint16_t)(gen_chance(g, 30) ? gen_below(g, size + 1) : size);
	inst->from = pick_place_in(g, gen_chance(g, 50) ? GEN_INPUT : GEN_OWN, size);
	inst->place = pick_place_in(g, GEN_SHARED, size);
	inst->place.index = gen_imm(GEN_R, size > 8 ? 0 : gen_below(g, GEN_SHARED_BYTES / 8));
	inst->place.generic = false;
	inst->from.generic = false;
	gen_guard(g, inst, 20);
}

static void add_space_test(struct gen *g)
{
	static const uint8_t asked[] = {GEN_OWN, GEN_LOCAL, GEN_SHARED, GEN_CONST};
	struct gen_inst *inst = gen_add(g, GEN_IN_SPACE);
	inst->op = asked[gen_below(g, countof(asked))];
	inst->place.space = (uint8_t)gen_below(g, GEN_SPACES);
	inst->dst[0] = gen_result(g, GEN_P);
	gen_guard(g, inst, 20);
}

static void add_idle(struct gen *g)
{
	struct gen_inst *inst = gen_add(g, GEN_IDLE);
	inst->op = (uint16_t)gen_below(g, GEN_IDLES - (g->in_func ? GEN_IDLE_KERNEL : 0));
	gen_guard(g, inst, 20);
}

static void add_rare(struct gen *g)
{
	bool cuda = g->program->features & GEN_HAS_CUDA;
	switch (gen_below(g, cuda ? 3 : 5)) {
	case 0:
		add_float_atomic(g);
		break;
	case 1:
		add_space_test(g);
		break;
	case 2:
		add_idle(g);
		break;
	case 3:
		add_swap(g);
		break;
	default:
		add_copy(g);
		break;
	}
}

static void add_lock(struct gen *g)
{
	struct gen_inst *inst = gen_add(g, GEN_LOCK);
	inst->src[0] = gen_pick(g, GEN_R, false);
}

/* Meetings of threads. */

static void add_barrier(struct gen *g, enum gen_bar op)
{
	struct gen_arg guard = {.kind = GEN_NONE};
	if (op != GEN_BAR_SYNC && op <= GEN_BAR_OR && gen_chance(g, 30)) {
		guard = gen_fresh(g, GEN_P);
		gen_op(g, "setp.lo.u32", guard, gen_pick(g, GEN_R, true), gen_pick(g, GEN_R, true));
	}
	struct gen_inst *inst = gen_add(g, GEN_BAR);
	inst->has_guard = guard.kind == GEN_REG;
	inst->guard = guard.reg;
	inst->keep = true;
	inst->op = (uint16_t)op;
	inst->dst[0] = gen_result(g, op == GEN_BAR_POPC ? GEN_R : GEN_P);
	inst->src[0] = gen_pick(g, GEN_P, false);
	inst->label = (uint16_t)gen_below(g, 15);
	inst->type = (uint8_t)gen_below(g, 2);
	inst->count = !g->may_exit && gen_chance(g, 30);
}

static void add_exchange_access(struct gen *g, enum gen_kind kind, struct gen_arg index)
{
	struct gen_inst *inst = gen_add(g, kind);
	inst->type = GEN_B64;
	inst->count = 1;
	inst->place = (struct gen_place){.space = GEN_EXCHANGE, .form = inst->form, .index = index,
		.generic = gen_chance(g, 20)};
	inst->src[0] = gen_pick(g, GEN_D, false);
	inst->dst[0] = gen_result(g, GEN_D);
}

/* Each thread writes a word; each reads some other thread's, or the one after the last. */
static void add_exchange(struct gen *g)
{
	struct gen_arg index = gen_fresh(g, GEN_R);
	add_exchange_access(g, GEN_ST, gen_special(GEN_TID));
	add_barrier(g, GEN_BAR_SYNC);
	gen_op(g, gen_chance(g, 50) ? "add.u32" : "xor.b32", index, gen_special(GEN_TID),
		gen_chance(g, 50) ? gen_imm(GEN_R, gen_below(g, 70)) : gen_pick(g, GEN_R, false));
	gen_op(g, "or.b32 %xr0, $b, 1; rem.u32 $d, $a, %xr0;", index, index,
		gen_special(GEN_NTHREADS));
	add_exchange_access(g, GEN_LD, index);
	add_barrier(g, GEN_BAR_SYNC);
}

static void add_shared_result(struct gen *g)
{
	add_barrier(g, GEN_BAR_SYNC);
	struct gen_inst *inst = gen_add(g, GEN_LD);
	inst->type = GEN_B64;
	inst->count = 1;
	inst->place = (struct gen_place){.space = GEN_SHARED_CELL,
		.index = gen_imm(GEN_R, gen_below(g, GEN_CELLS))};
	inst->dst[0] = gen_result(g, GEN_D);
	add_barrier(g, GEN_BAR_SYNC);
}

static void add_meeting(struct gen *g)
{
	switch (gen_below(g, 5)) {
	case 0:
		add_barrier(g, (enum gen_bar)gen_below(g, GEN_BAR_OR + 1));
		break;
	case 4:
		add_barrier(g, g->may_exit || g->program->features & GEN_HAS_CUDA ? GEN_BAR_SYNC
			: gen_chance(g, 50) ? GEN_BAR_MBARRIER : GEN_BAR_SPLIT);
		break;
	case 1:
		add_shared_result(g);
		break;
	default:
		add_exchange(g);
		break;
	}
}

static bool has_warp_op(unsigned features, unsigned op)
{
	if (op <= GEN_UNI) {
		return features & GEN_HAS_VOTE;
	}
	if (op <= GEN_SHFL_IDX) {
		return features & GEN_HAS_SHFL;
	}
	if (op <= GEN_MATCH_ALL) {
		return features & GEN_HAS_MATCH;
	}
	if (op >= GEN_REDUX_FMIN && op <= GEN_ELECT && features & GEN_HAS_CUDA) {
		return false;
	}
	if (op == GEN_REDUX_FMIN || op == GEN_REDUX_FMAX) {
		return features & GEN_HAS_REDUX_F32;
	}
	return op == GEN_WARPSYNC || op == GEN_ELECT || features & GEN_HAS_REDUX;
}

/* A warp operation.  What a shuffle reads from who is not in the mask is hidden by the printers, so
 * its mask must name only threads that are there: a ballot comes first. */
static void add_warp_op(struct gen *g, const struct gen_scope *scope)
{
	struct gen_arg mask = gen_reg(GEN_R, (unsigned)scope->mask);
	unsigned op;
	do {
		op = (unsigned)gen_below(g, GEN_WARPS);
	} while (!has_warp_op(g->program->features, op));
	bool shuffle = op >= GEN_SHFL_UP && op <= GEN_SHFL_IDX;
	if (op >= GEN_SHFL_UP && op <= GEN_MATCH_ALL) {
		struct gen_arg always = gen_fresh(g, GEN_P);
		struct gen_arg here = gen_fresh(g, GEN_R);
		gen_op(g, "setp.eq.s32", always, mask, mask);
		gen_ballot(g, here, mask, always);
		mask = here;
	}
	struct gen_arg guard = {.kind = GEN_NONE};
	if (g->program->features & GEN_HAS_VOTE && gen_chance(g, 25)) {
		struct gen_arg some = gen_fresh(g, GEN_R);
		guard = gen_pick(g, GEN_P, false);
		gen_ballot(g, some, mask, guard);
		mask = some;
	}
	struct gen_inst *inst = gen_add(g, GEN_WARP);
	inst->keep = true;
	inst->op = (uint16_t)op;
	inst->has_guard = guard.kind == GEN_REG;
	inst->guard = guard.reg;
	inst->src[0] = mask;
	bool is_float = op == GEN_REDUX_FMIN || op == GEN_REDUX_FMAX;
	bool is_pred = op >= GEN_ALL && op <= GEN_UNI;
	bool wide = op >= GEN_MATCH_ANY && op <= GEN_MATCH_ALL && gen_chance(g, 50);
	inst->dst[0] = gen_result(g, is_pred ? GEN_P : is_float ? GEN_F : GEN_R);
	inst->dst[1] = gen_result(g, GEN_P);
	inst->src[1] = gen_pick(g, op <= GEN_UNI ? GEN_P : wide ? GEN_D : is_float ? GEN_F : GEN_R,
		false);
	if (shuffle) {
		static const unsigned char segments[] = {0, 16, 24, 28, 30};
		unsigned segment = segments[gen_chance(g, 50) ? 0 : gen_below(g, 5)];
		inst->src[2] = op == GEN_SHFL_IDX && gen_chance(g, 50) ? gen_pick(g, GEN_R, false)
			: gen_imm(GEN_R, gen_below(g, 32));
		inst->src[3] = gen_imm(GEN_R, segment << 8 | (op == GEN_SHFL_UP ? 0 : 31));
	}
}

void gen_simple(struct gen *g, const struct gen_scope *scope)
{
	uint64_t pick = gen_below(g, 100);
	if (g->in_func && pick < 10) {
		add_access(g, pick < 5);
	} else if (g->in_func && pick < 13) {
		add_idle(g);
	} else if (g->in_func) {
		add_op(g);
	} else if (pick < 8 && scope->mask >= 0) {
		add_warp_op(g, scope);
	} else if (pick < 14 && scope->uniform) {
		add_meeting(g);
	} else if (pick < 18 && scope->uniform) {
		add_uniform_op(g);
	} else if (pick < 28) {
		add_access(g, false);
	} else if (pick < 38) {
		add_access(g, true);
	} else if (pick < 42) {
		add_own_atomic(g);
	} else if (pick < 47) {
		add_cell_atomic(g);
	} else if (pick < 48 && scope->depth < 2) {
		add_lock(g);
	} else if (pick < 52) {
		add_rare(g);
	} else if (pick < 60 && g->program->func_count > 1) {
		gen_call(g);
	} else {
		for (uint64_t count = 1 + gen_below(g, 3); count > 0; count--) {
			add_op(g);
		}
	}
}

static void pick_shape(struct gen *g)
{
	static const unsigned char shapes[][3] = {{1, 1, 1}, {7, 1, 1}, {31, 1, 1}, {32, 1, 1},
		{33, 1, 1}, {64, 1, 1}, {100, 1, 1}, {3, 5, 7}, {16, 4, 1}, {32, 2, 2}, {96, 1, 1},
		{8, 8, 2}};
	struct gen_program *p = g->program;
	const unsigned char *shape = shapes[gen_below(g, countof(shapes))];
	for (int i = 0; i < 3; i++) {
		p->block[i] = shape[i];
	}
	p->grid[0] = 1 + (uint32_t)gen_below(g, 3);
	p->grid[1] = 1 + (uint32_t)gen_below(g, 2);
	p->param = (uint32_t)gen_random(&g->random);
	for (size_t i = 0; i < GEN_INPUTS; i++) {
		uint64_t any = gen_random(&g->random);
		p->input[i] = any % 3 ? any : any >> 3 & 63;
	}
	for (size_t i = 0; i < GEN_CONSTANTS; i++) {
		p->constants[i] = gen_random(&g->random);
	}
}

static void init_register(struct gen *g, enum gen_bank bank, unsigned i)
{
	static const char *const ops[GEN_BANKS] = {[GEN_P] = "setp.gt.u32", [GEN_H] = "cvt.u16.u32",
		[GEN_R] = "mul.lo.s32", [GEN_F] = "cvt.rn.f32.s32", [GEN_G] = "cvt.rn.f64.s32"};
	struct gen_arg none = {.kind = GEN_NONE};
	struct gen_arg reg = gen_reg(bank, i);
	if (bank == GEN_D && g->in_func) {
		gen_op(g, "mul.wide.s32", reg, gen_reg(GEN_R, 0), gen_imm(GEN_R, 77777 + i));
	} else if (bank == GEN_D) {
		struct gen_inst *inst = gen_add(g, GEN_LD);
		inst->keep = true;
		inst->type = GEN_B64;
		inst->count = 1;
		inst->place = (struct gen_place){.space = GEN_INPUT,
			.index = gen_special((enum gen_special)(i % 3))};
		inst->dst[0] = reg;
	} else if (bank == GEN_R && i >= gen_visible[GEN_R] - GEN_UNIFORM) {
		static const enum gen_special same[] = {GEN_CTA, GEN_PARAM, GEN_NTHREADS};
		gen_op(g, "add.u32", reg, gen_special(same[i % 3]),
			gen_imm(GEN_R, gen_below(g, 9)));
	} else if (bank == GEN_R && i < 3) {
		gen_op(g, "mov.u32", reg, gen_special((enum gen_special)i), none);
	} else if (bank == GEN_R) {
		gen_op(g, ops[bank], reg, gen_special((enum gen_special)(i % 2)),
			gen_imm(GEN_R, 0x10001 * i));
	} else if (bank == GEN_F && i % 2) {
		gen_op(g, "mov.b32", reg, gen_reg(GEN_R, i), none);
	} else if (bank == GEN_G && i % 2) {
		gen_op(g, "mov.b64", reg, gen_reg(GEN_D, i), none);
	} else {
		gen_op(g, ops[bank], reg, gen_reg(GEN_R, i % 4), bank == GEN_P
			? gen_imm(GEN_R, gen_below(g, 32)) : none);
	}
}

/* Every visible register gets a value; in a function the parameters have theirs. */
static void init_registers(struct gen *g)
{
	static const enum gen_bank order[] = {GEN_R, GEN_D, GEN_P, GEN_H, GEN_F, GEN_G};
	for (size_t k = 0; k < countof(order); k++) {
		bool param = g->in_func && (order[k] == GEN_R || order[k] == GEN_D);
		for (unsigned i = param; i < gen_visible[order[k]]; i++) {
			init_register(g, order[k], i);
		}
	}
}

static void open_func(struct gen *g, unsigned index)
{
	g->func = &g->program->funcs[index];
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		g->func->used[bank] = gen_visible[bank] + (bank == GEN_R ? GEN_SPECIALS : 0);
	}
}

/* Everything that a function computes shows in what it returns. */
static void fold_registers(struct gen *g)
{
	static const char *const casts[GEN_BANKS] = {[GEN_H] = "cvt.u32.u16",
		[GEN_F] = "cvt.rni.s32.f32", [GEN_G] = "cvt.rzi.s32.f64"};
	struct gen_arg none = {.kind = GEN_NONE};
	struct gen_arg narrow = gen_reg(GEN_R, 0);
	struct gen_arg part = gen_fresh(g, GEN_R);
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		for (unsigned i = 0; i < gen_visible[bank] && casts[bank]; i++) {
			gen_op(g, casts[bank], part, gen_reg((enum gen_bank)bank, i), none);
			gen_op(g, "mul.lo.s32", narrow, narrow, gen_imm(GEN_R, 31));
			gen_op(g, "add.u32", narrow, narrow, part);
		}
	}
	for (unsigned i = 1; i < gen_visible[GEN_R]; i++) {
		gen_op(g, "mul.lo.s32", narrow, narrow, gen_imm(GEN_R, 31));
		gen_op(g, "add.u32", narrow, narrow, gen_reg(GEN_R, i));
	}
	struct gen_arg wide = gen_reg(GEN_D, 0);
	for (unsigned i = 1; i < gen_visible[GEN_D] && g->func->wide; i++) {
		gen_op(g, "mul.lo.u64", wide, wide, gen_imm(GEN_D, 31));
		gen_op(g, "add.s64", wide, wide, gen_reg(GEN_D, i));
	}
	gen_op(g, "cvt.u64.u32", gen_reg(GEN_D, 1), narrow, none);
	gen_op(g, "add.s64", wide, wide, gen_reg(GEN_D, 1));
}

/* A function has the registers of a thread, too, but only touches what is its own, and there are
 * no memory and no meetings in it. */
static void add_func(struct gen *g, unsigned index)
{
	struct gen_scope scope = {.mask = -1, .leave = -1, .again = -1};
	open_func(g, index);
	g->in_func = true;
	g->left = 6;
	init_registers(g);
	uint64_t recursive = gen_below(g, 3);
	if (!(g->program->features & GEN_HAS_TRAPS)) {
		recursive = 0; /* after which ptxas takes a warp for together that is not; or
		                  crashes */
	}
	if (recursive == 1) {
		gen_recursion(g);
	}
	gen_statements(g, &scope);
	if (recursive == 2) {
		gen_recursion(g);
	}
	fold_registers(g);
	g->in_func = false;
}

static void add_kernel(struct gen *g)
{
	struct gen_scope scope = {.uniform = true, .mask = -1, .leave = -1, .again = -1};
	open_func(g, 0);
	g->left = 4 + (unsigned)(gen_below(g, 8) * gen_below(g, 8));
	init_registers(g);
	if (g->program->features & GEN_HAS_VOTE) {
		struct gen_arg mask = gen_fresh(g, GEN_R);
		struct gen_arg all = gen_special(GEN_EXIST);
		gen_op(g, "mov.u32", mask, gen_chance(g, 50) ? all : gen_imm(GEN_R, UINT32_MAX),
			(struct gen_arg){.kind = GEN_NONE});
		scope.mask = mask.reg;
	}
	while (g->left > 0) {
		size_t from = g->func->count;
		gen_statements(g, &scope);
		gen_span(g, from);
	}
}

bool gen_create(struct gen_program *out, uint64_t seed, const struct gen_options *options)
{
	memset(out, 0, sizeof(*out));
	out->seed = seed;
	out->features = options->features;
	struct gen g = {.program = out, .options = options, .random = seed};
	pick_shape(&g);
	g.may_exit = gen_chance(&g, 40);
	out->func_count = 1 + (options->features & GEN_HAS_CALL ? gen_below(&g, GEN_FUNCS) : 0);
	for (unsigned i = 1; i < out->func_count; i++) {
		out->funcs[i].wide = gen_chance(&g, 50);
	}
	for (unsigned i = 1; i < out->func_count; i++) {
		add_func(&g, i);
	}
	add_kernel(&g);
	if (g.failed) {
		gen_free(out);
	}
	return !g.failed;
}

void gen_free(struct gen_program *program)
{
	for (size_t i = 0; i < GEN_FUNCS; i++) {
		mem_free(program->funcs[i].insts);
		program->funcs[i].insts = NULL;
	}
}
