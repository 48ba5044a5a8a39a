/* SPDX-License-Identifier: MIT */
/*
 * Interprets a generated program: each thread runs until it must wait for others or ends; when all
 * threads of a block have done so, those whose partners have come go on.  See gen.h.
 */
#include "gen.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MAX_STEPS 20000000

enum state { RUNNING, AT_BARRIER, AT_WARP, ENDED, EXITED };

struct thread {
	enum state state;
	size_t pc;
	uint64_t regs[GEN_BANKS][GEN_REGS];
	uint8_t local[GEN_OWN_BYTES];
};

struct run {
	const struct gen_program *program;
	struct gen_layout layout;
	uint8_t *output;
	const char *why;
	long steps;
	bool backwards;
	size_t *labels[GEN_FUNCS];
	uint32_t cta;
	struct thread threads[GEN_MAX_THREADS]; /* of the block that runs */
	uint8_t shared[GEN_MAX_THREADS * GEN_SHARED_BYTES];
	uint64_t exchange[GEN_MAX_THREADS + 1];
	uint64_t cells[GEN_CELLS];
};

void gen_layout(struct gen_layout *out, const struct gen_program *p)
{
	memset(out, 0, sizeof(*out));
	out->block = p->block[0] * p->block[1] * p->block[2];
	out->threads = out->block * p->grid[0] * p->grid[1];
	out->striped = out->own + GEN_OWN_BYTES * out->threads;
	out->registers = out->striped + GEN_OWN_BYTES * out->threads;
	out->cells = out->registers + 8 * GEN_BANKS * out->threads;
	out->lock = out->cells + sizeof(uint64_t) * GEN_CELLS;
	out->shared_cells = out->lock + 2 * sizeof(uint64_t);
	out->size = out->shared_cells + sizeof(uint64_t) * GEN_CELLS * p->grid[0] * p->grid[1];
}

void gen_init_output(const struct gen_program *program, uint8_t *output)
{
	struct gen_layout layout;
	uint64_t state = program->seed;
	gen_layout(&layout, program);
	for (size_t i = 0; i < layout.size; i += 8) {
		uint64_t any = gen_random(&state);
		memcpy(output + i, &any, 8);
	}
	for (size_t i = 0; i < GEN_CELLS; i++) {
		memcpy(output + layout.cells + 8 * i, &gen_cells[i].start, 8);
	}
	memset(output + layout.lock, 0, 16);
}

static uint64_t cut(enum gen_bank bank, uint64_t value)
{
	return value & UINT64_MAX >> (64 - gen_bits[bank]);
}

static uint64_t get(const struct thread *t, const struct gen_arg *arg)
{
	return arg->kind == GEN_REG ? t->regs[arg->bank][arg->reg] : arg->value;
}

static void set(struct thread *t, const struct gen_arg *arg, uint64_t value)
{
	if (arg->kind == GEN_REG) {
		t->regs[arg->bank][arg->reg] = cut((enum gen_bank)arg->bank, value);
	}
}

/* Memory. */

static uint8_t *place(struct run *run, struct thread *t, const struct gen_place *place)
{
	size_t tid = (size_t)(t - run->threads);
	size_t gtid = run->cta * run->layout.block + tid;
	uint64_t index = get(t, &place->index);
	size_t own = 8 * (index % (GEN_OWN_BYTES / 8)) + place->offset;
	switch ((enum gen_space)place->space) {
	case GEN_OWN:
		return run->output + run->layout.own + GEN_OWN_BYTES * gtid + own;
	case GEN_STRIPED:
		return run->output + run->layout.striped + place->offset
			+ 8 * (index % (GEN_OWN_BYTES / 8) * run->layout.threads + gtid);
	case GEN_LOCAL:
		return t->local + own;
	case GEN_SHARED:
		return run->shared + GEN_SHARED_BYTES * tid + 8 * (index % (GEN_SHARED_BYTES / 8))
			+ place->offset;
	case GEN_EXCHANGE:
		return (uint8_t *)&run->exchange[index];
	case GEN_INPUT:
		return (uint8_t *)&run->program->input[index % GEN_INPUTS] + place->offset;
	case GEN_CONST:
		return (uint8_t *)&run->program->constants[index % GEN_CONSTANTS] + place->offset;
	case GEN_GLOBAL_CELL:
		return run->output + run->layout.cells + 8 * index;
	default:
		return (uint8_t *)&run->cells[index];
	}
}

static uint64_t load(const uint8_t *from, enum gen_type type)
{
	uint64_t value = 0;
	memcpy(&value, from, gen_type_size(type));
	switch (type) {
	case GEN_S8:
		return (uint64_t)(int8_t)value;
	case GEN_S16:
		return (uint64_t)(int16_t)value;
	case GEN_S32:
		return (uint64_t)(int32_t)value;
	default:
		return value;
	}
}

static void access(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	enum gen_type type = (enum gen_type)inst->type;
	unsigned size = gen_type_size(type);
	uint8_t *at = place(run, t, &inst->place);
	for (unsigned i = 0; i < inst->count; i++) {
		if (inst->kind == GEN_LD) {
			set(t, &inst->dst[i], load(at + i * size, type));
		} else {
			uint64_t value = get(t, &inst->src[i]);
			value = gen_canon((enum gen_bank)inst->src[i].bank, value);
			memcpy(at + i * size, &value, size);
		}
	}
}

static uint64_t atomic(enum gen_atom op, enum gen_type type, uint64_t old, uint64_t a, uint64_t b)
{
	bool sign = type == GEN_S32;
	bool less = sign ? (int32_t)a < (int32_t)old : a < old;
	switch (op) {
	case GEN_ADD:
		return old + a;
	case GEN_MIN:
		return less ? a : old;
	case GEN_MAX:
		return less ? old : a;
	case GEN_AND:
		return old & a;
	case GEN_OR:
		return old | a;
	case GEN_XOR:
		return old ^ a;
	case GEN_EXCH:
		return a;
	case GEN_INC:
		return old >= a ? 0 : old + 1;
	case GEN_DEC:
		return old == 0 || old > a ? a : old - 1;
	default:
		return old == a ? b : old;
	}
}

static void run_atomic(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	uint8_t *at = place(run, t, &inst->place);
	unsigned size = gen_type_size((enum gen_type)inst->type);
	uint64_t old = 0;
	memcpy(&old, at, size);
	uint64_t value = atomic((enum gen_atom)inst->op, (enum gen_type)inst->type, old,
		get(t, &inst->src[0]), get(t, &inst->src[1]));
	memcpy(at, &value, size);
	set(t, &inst->dst[0], old);
}

static void run_lock(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	uint64_t value;
	uint8_t *at = run->output + run->layout.lock + 8;
	memcpy(&value, at, 8);
	value += get(t, &inst->src[0]);
	memcpy(at, &value, 8);
}

/* A space that stands for its kind of memory. */
static unsigned memory_of(unsigned space)
{
	switch ((enum gen_space)space) {
	case GEN_LOCAL:
	case GEN_CONST:
		return space;
	case GEN_SHARED:
	case GEN_EXCHANGE:
	case GEN_SHARED_CELL:
		return GEN_SHARED;
	default:
		return GEN_OWN;
	}
}

static float flushed(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

/* Floats are canonical in memory and registers: it does not matter which NaN an addition gives.
 * PTX ISA 9.7.13: sums of f32 in global memory flush subnormals, those in shared memory do not. */
static void run_float_atomic(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	bool wide = inst->type == GEN_F64;
	enum gen_bank bank = wide ? GEN_G : GEN_F;
	uint8_t *at = place(run, t, &inst->place);
	uint64_t old = gen_canon(bank, get(t, &inst->src[0]));
	uint64_t more = get(t, &inst->src[1]);
	if (wide) {
		double a, b;
		memcpy(&a, &old, 8);
		memcpy(&b, &more, 8);
		a += b;
		memcpy(&more, &a, 8);
	} else {
		float a, b;
		memcpy(&a, &old, 4);
		memcpy(&b, &more, 4);
		a = memory_of(inst->place.space) == GEN_SHARED ? a + b
			: flushed(flushed(a) + flushed(b));
		more = 0;
		memcpy(&more, &a, 4);
	}
	more = gen_canon(bank, more);
	memcpy(at, &more, gen_type_size((enum gen_type)inst->type));
	set(t, &inst->dst[0], old);
}

static void run_swap(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	uint8_t *at = place(run, t, &inst->place);
	uint64_t old[2], values[4];
	memcpy(old, at, 16);
	for (unsigned i = 0; i < 4; i++) {
		values[i] = get(t, &inst->src[i]);
	}
	if (!inst->op || (old[0] == values[2] && old[1] == values[3])) {
		memcpy(at, values, 16);
	}
	set(t, &inst->dst[0], old[0]);
	set(t, &inst->dst[1], old[1]);
}

static void run_copy(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	uint8_t bytes[16] = {0};
	memcpy(bytes, place(run, t, &inst->from), inst->op);
	memcpy(place(run, t, &inst->place), bytes, inst->count);
}

/* One thread. */

static void init_local(struct thread *t, uint64_t factor)
{
	for (uint64_t i = 0; i < GEN_OWN_BYTES / 8; i++) {
		uint64_t value = factor * (i + 1);
		memcpy(&t->local[8 * i], &value, 8);
	}
}

static void run_thread(struct run *run, struct thread *t, unsigned func);

static void run_call(struct run *run, struct thread *t, const struct gen_inst *inst)
{
	bool other = inst->src[2].kind == GEN_REG && !get(t, &inst->src[2]);
	unsigned func = other ? inst->label : inst->op;
	struct thread callee;
	memset(&callee, 0, sizeof(callee));
	uint64_t *regs = callee.regs[GEN_R];
	set(&callee, &(struct gen_arg){GEN_REG, GEN_R, 0, 0}, get(t, &inst->src[0]));
	set(&callee, &(struct gen_arg){GEN_REG, GEN_D, 0, 0}, get(t, &inst->src[1]));
	for (unsigned i = 0; i < GEN_SPECIALS; i++) {
		regs[gen_visible[GEN_R] + i] = cut(GEN_R, regs[0] + i);
	}
	init_local(&callee, regs[0]);
	run_thread(run, &callee, func);
	bool wide = run->program->funcs[func].wide;
	set(t, &inst->dst[0], callee.regs[wide ? GEN_D : GEN_R][0]);
}

static void run_op(struct thread *t, const struct gen_inst *inst)
{
	set(t, &inst->dst[0], gen_ops[inst->op].run(get(t, &inst->src[0]), get(t, &inst->src[1]),
		get(t, &inst->src[2]), get(t, &inst->src[3])));
}

static void run_inst(struct run *run, struct thread *t, const struct gen_inst *inst,
	const size_t *labels)
{
	switch ((enum gen_kind)inst->kind) {
	case GEN_OP:
		run_op(t, inst);
		break;
	case GEN_LD:
	case GEN_ST:
		access(run, t, inst);
		break;
	case GEN_ATOM:
		run_atomic(run, t, inst);
		break;
	case GEN_LOCK:
		run_lock(run, t, inst);
		break;
	case GEN_FLOAT_ATOM:
		run_float_atomic(run, t, inst);
		break;
	case GEN_SWAP:
		run_swap(run, t, inst);
		break;
	case GEN_COPY:
		run_copy(run, t, inst);
		break;
	case GEN_IN_SPACE:
		set(t, &inst->dst[0], memory_of(inst->place.space) == inst->op);
		break;
	case GEN_BRA:
		t->pc = labels[inst->label];
		break;
	case GEN_SWITCH:
		t->pc = labels[inst->targets[get(t, &inst->src[0]) % inst->count]];
		break;
	case GEN_EXIT:
		t->state = EXITED;
		break;
	case GEN_BAR:
		t->state = AT_BARRIER;
		break;
	case GEN_WARP:
		t->state = AT_WARP;
		break;
	case GEN_CALL:
		run_call(run, t, inst);
		break;
	case GEN_NOP:
	case GEN_LABEL:
	case GEN_IDLE:
		break;
	}
}

/* Until it waits or ends.  A thread that waits stands behind the instruction. */
static void run_thread(struct run *run, struct thread *t, unsigned func)
{
	const struct gen_func *f = &run->program->funcs[func];
	while (t->state == RUNNING && run->steps++ < MAX_STEPS) {
		if (t->pc == f->count) {
			t->state = ENDED;
			return;
		}
		const struct gen_inst *inst = &f->insts[t->pc++];
		if (!inst->has_guard || (t->regs[GEN_P][inst->guard] != 0) != inst->guard_negated) {
			run_inst(run, t, inst, run->labels[func]);
		}
	}
}

static const struct gen_inst *waits_at(const struct run *run, const struct thread *t)
{
	return &run->program->funcs[0].insts[t->pc - 1];
}

/* Warps.  `who` are the lanes of the mask that have not ended. */

static uint64_t shuffle(const struct run *run, const struct thread *warp, uint32_t lane,
	uint32_t who, bool *valid)
{
	const struct gen_inst *inst = waits_at(run, &warp[lane]);
	int self = (int)lane;
	int by = (int)(get(&warp[lane], &inst->src[2]) & 31);
	int clamp = (int)(inst->src[3].value & 31);
	int segment = (int)(inst->src[3].value >> 8 & 31);
	int last = (self & segment) | (clamp & ~segment);
	int from;
	switch (inst->op) {
	case GEN_SHFL_UP:
		from = self - by;
		*valid = from >= last;
		break;
	case GEN_SHFL_DOWN:
		from = self + by;
		*valid = from <= last;
		break;
	case GEN_SHFL_BFLY:
		from = self ^ by;
		*valid = from <= last;
		break;
	default:
		from = (self & segment) | (by & ~segment);
		*valid = from <= last;
		break;
	}
	from = *valid ? from : self;
	return who >> from & 1 ? get(&warp[from], &inst->src[1]) : 0;
}

/* redux of f32: -0 is less than 0; a NaN counts only if `strict` or if there is nothing else. */
static uint64_t reduce_floats(bool most, bool strict, uint64_t a, uint64_t b)
{
	bool a_nan = gen_canon(GEN_F, a) == 0x7fffffff;
	bool b_nan = gen_canon(GEN_F, b) == 0x7fffffff;
	float x, y;
	memcpy(&x, &a, 4);
	memcpy(&y, &b, 4);
	if (a_nan || b_nan) {
		return strict || (a_nan && b_nan) ? 0x7fffffff : a_nan ? b : a;
	}
	bool less = x < y || (x == y && a >> 31);
	return less == !most ? a : b;
}

static uint64_t reduce(const struct gen_inst *inst, uint64_t a, uint64_t b)
{
	switch (inst->op) {
	case GEN_REDUX_FMIN:
	case GEN_REDUX_FMAX:
		return reduce_floats(inst->op == GEN_REDUX_FMAX, inst->form & 1, a, b);
	case GEN_REDUX_ADD:
		return a + b;
	case GEN_REDUX_MIN:
		return (int32_t)a < (int32_t)b ? a : b;
	case GEN_REDUX_MAX:
		return (int32_t)a > (int32_t)b ? a : b;
	case GEN_REDUX_UMIN:
		return a < b ? a : b;
	case GEN_REDUX_UMAX:
		return a > b ? a : b;
	case GEN_REDUX_AND:
		return a & b;
	case GEN_REDUX_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

/* The result for one lane; *pred is the second one. */
static uint64_t warp_result(const struct run *run, const struct thread *warp, uint32_t lane,
	uint32_t who, bool *pred)
{
	const struct gen_inst *inst = waits_at(run, &warp[lane]);
	uint64_t mine = get(&warp[lane], &inst->src[1]);
	uint64_t ballot = 0;
	uint64_t same = 0;
	uint64_t total = mine;
	for (uint32_t i = 0; i < 32; i++) {
		uint64_t value = who >> i & 1 ? get(&warp[i], &inst->src[1]) : 0;
		ballot |= (uint64_t)(value == 1) << i;
		same |= (uint64_t)(who >> i & 1 && value == mine) << i;
		total = who >> i & 1 && i != lane ? reduce(inst, total, value) : total;
	}
	*pred = same == who;
	switch (inst->op) {
	case GEN_BALLOT:
		return ballot;
	case GEN_ALL:
		return ballot == who;
	case GEN_ANY:
		return ballot != 0;
	case GEN_UNI:
		return same == who;
	case GEN_MATCH_ANY:
		return same;
	case GEN_ELECT:
		return 1;
	case GEN_MATCH_ALL:
		return same == who ? who : 0;
	case GEN_SHFL_UP:
	case GEN_SHFL_DOWN:
	case GEN_SHFL_BFLY:
	case GEN_SHFL_IDX:
		return shuffle(run, warp, lane, who, pred);
	default:
		return total;
	}
}

/* Let those go on who have met at one operation of the warp. */
static bool release_warp(struct run *run, size_t first, size_t lane)
{
	struct thread *warp = &run->threads[first];
	const struct gen_inst *inst = waits_at(run, &warp[lane]);
	uint32_t mask = (uint32_t)get(&warp[lane], &inst->src[0]);
	uint32_t who = 0;
	uint64_t results[32];
	bool preds[32];
	for (uint32_t i = 0; i < 32 && first + i < run->layout.block; i++) {
		struct thread *t = &warp[i];
		if (!(mask >> i & 1) || t->state == ENDED || t->state == EXITED) {
			continue;
		}
		if (t->state != AT_WARP || t->pc != warp[lane].pc
		    || get(t, &inst->src[0]) != mask) {
			return false;
		}
		who |= 1u << i;
	}
	for (uint32_t i = 0; i < 32; i++) {
		if (who >> i & 1) {
			results[i] = warp_result(run, warp, i, who, &preds[i]);
		}
	}
	bool has_pred = (inst->op >= GEN_SHFL_UP && inst->op <= GEN_SHFL_IDX)
		|| inst->op == GEN_MATCH_ALL;
	for (uint32_t i = 0; i < 32; i++) {
		if (!(who >> i & 1)) {
			continue;
		}
		if (inst->op != GEN_WARPSYNC) {
			set(&warp[i], &inst->dst[0], results[i]);
		}
		if (has_pred) {
			set(&warp[i], &inst->dst[1], preds[i]);
		}
		warp[i].state = RUNNING;
	}
	return true;
}

static bool release_warps(struct run *run)
{
	bool any = false;
	for (size_t i = 0; i < run->layout.block; i++) {
		if (run->threads[i].state == AT_WARP) {
			any |= release_warp(run, i / 32 * 32, i % 32);
		}
	}
	return any;
}

/* All threads that have not ended are at a barrier; it is the same one. */
static bool release_barrier(struct run *run)
{
	uint64_t count = 0;
	uint64_t live = 0;
	const struct gen_inst *first = NULL;
	for (size_t i = 0; i < run->layout.block; i++) {
		struct thread *t = &run->threads[i];
		if (t->state == ENDED || t->state == EXITED) {
			continue;
		}
		if (t->state != AT_BARRIER) {
			return false;
		}
		const struct gen_inst *inst = waits_at(run, t);
		first = first ? first : inst;
		if (inst->label != first->label || inst->op != first->op) {
			return false;
		}
		live++;
		count += get(t, &inst->src[0]) & 1;
	}
	for (size_t i = 0; i < run->layout.block; i++) {
		struct thread *t = &run->threads[i];
		if (t->state == AT_BARRIER) {
			const struct gen_inst *inst = waits_at(run, t);
			uint64_t results[] = {[GEN_BAR_POPC] = count, [GEN_BAR_AND] = count == live,
				[GEN_BAR_OR] = count > 0};
			if (inst->op != GEN_BAR_SYNC && inst->op <= GEN_BAR_OR) {
				set(t, &inst->dst[0], results[inst->op]);
			}
			t->state = RUNNING;
		}
	}
	return live > 0;
}

/* A block. */

static void start_thread(struct run *run, size_t tid)
{
	struct thread *t = &run->threads[tid];
	memset(t, 0, sizeof(*t));
	size_t gtid = run->cta * run->layout.block + tid;
	size_t warp_size = run->layout.block - tid / 32 * 32;
	const uint64_t special[GEN_SPECIALS] = {
		[GEN_GTID] = gtid, [GEN_TID] = tid, [GEN_LANE] = tid % 32, [GEN_CTA] = run->cta,
		[GEN_NTHREADS] = run->layout.block, [GEN_PARAM] = run->program->param,
		[GEN_EXIST] = warp_size < 32 ? (1ull << warp_size) - 1 : UINT32_MAX
	};
	memcpy(&t->regs[GEN_R][gen_visible[GEN_R]], special, sizeof(special));
	init_local(t, gtid);
	for (uint64_t i = 0; i < GEN_SHARED_BYTES / 8; i++) {
		uint64_t value = gtid + i;
		memcpy(&run->shared[GEN_SHARED_BYTES * tid + 8 * i], &value, 8);
	}
	run->exchange[tid] = gtid + 3;
}

static void end_thread(struct run *run, size_t tid)
{
	const struct thread *t = &run->threads[tid];
	size_t gtid = run->cta * run->layout.block + tid;
	uint8_t *to = run->output + run->layout.registers + 8 * GEN_BANKS * gtid;
	if (t->state != ENDED) {
		return;
	}
	for (unsigned bank = 0; bank < GEN_BANKS; bank++, to += 8) {
		uint64_t hash = 0;
		for (unsigned i = 0; i < gen_visible[bank]; i++) {
			hash = hash * GEN_HASH + gen_canon((enum gen_bank)bank, t->regs[bank][i]);
		}
		memcpy(to, &hash, 8);
	}
	if (tid == 0) {
		memcpy(run->output + run->layout.shared_cells + sizeof(run->cells) * run->cta,
			run->cells, sizeof(run->cells));
	}
}

static void run_block(struct run *run)
{
	size_t block = run->layout.block;
	for (size_t i = 0; i < GEN_CELLS; i++) {
		run->cells[i] = gen_cells[i].start;
	}
	run->exchange[block] = 99;
	for (size_t i = 0; i < block; i++) {
		start_thread(run, i);
	}
	do {
		for (size_t i = 0; i < block; i++) {
			run_thread(run, &run->threads[run->backwards ? block - 1 - i : i], 0);
		}
	} while (run->steps < MAX_STEPS && (release_warps(run) || release_barrier(run)));
	for (size_t i = 0; i < block; i++) {
		enum state state = run->threads[i].state;
		run->why = run->steps >= MAX_STEPS ? "it takes too long"
			: state == ENDED || state == EXITED ? run->why : "it gets stuck";
		end_thread(run, i);
	}
}

static bool find_labels(struct run *run)
{
	for (size_t k = 0; k < run->program->func_count; k++) {
		const struct gen_func *func = &run->program->funcs[k];
		run->labels[k] = mem_zalloc(func->labels + 1, sizeof(size_t));
		for (size_t i = 0; run->labels[k] && i < func->count; i++) {
			if (func->insts[i].kind == GEN_LABEL) {
				run->labels[k][func->insts[i].label] = i;
			}
		}
		if (!run->labels[k]) {
			return false;
		}
	}
	return true;
}

const char *gen_run(const struct gen_program *program, uint8_t *output, bool backwards)
{
	struct run *run = mem_zalloc(1, sizeof(*run));
	if (!run) {
		return "out of memory";
	}
	run->program = program;
	run->output = output;
	run->backwards = backwards;
	gen_layout(&run->layout, program);
	run->why = find_labels(run) ? NULL : "out of memory";
	uint32_t blocks = program->grid[0] * program->grid[1];
	for (uint32_t i = 0; i < blocks && !run->why; i++) {
		run->cta = backwards ? blocks - 1 - i : i;
		run_block(run);
	}
	for (size_t i = 0; i < GEN_FUNCS; i++) {
		mem_free(run->labels[i]);
	}
	const char *why = run->why;
	mem_free(run);
	return why;
}
