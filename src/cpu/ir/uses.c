/* SPDX-License-Identifier: MIT */
/*
 * Finds the values that a kernel only copies: from a load by moves, shifts and fields of whole
 * bytes, selections and shuffles to a store.  All other values decide something: an address, a
 * branch, or the result of an instruction that computes.
 *
 * valgrind's memcheck has the same rule: copying what was never written is not a mistake, since the
 * padding of a struct is copied, too, but computing with it is one.  The analysis does not follow
 * the order of the instructions.  It begins with the assumption that everything is a copy.
 */
#include "base/common.h"

#include "cpu/ir/uses.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"

#include <string.h>

struct uses_search {
	uint8_t *used;
	bool changed;
};

static void uses_add(struct uses_search *u, unsigned reg, unsigned halves)
{
	u->changed |= (halves & ~u->used[reg]) != 0;
	u->used[reg] |= (uint8_t)halves;
}

static void uses_mark(void *data, unsigned *reg, unsigned *value)
{
	(void)value;
	uses_add(data, *reg, USES_LOW | USES_HIGH);
}

static unsigned uses_any(const uint8_t *used, const struct ptx_operand *operand)
{
	unsigned any = operand->kind == PTX_REG || operand->kind == PTX_PAIR ? used[operand->reg]
		: 0;
	for (size_t i = 0; operand->kind == PTX_VECTOR && i < operand->count; i++) {
		any |= uses_any(used, &operand->elements[i]);
	}
	return any;
}

static bool uses_is_int(enum ptx_type type)
{
	const char class = ptx_type_class(type);
	return class == 'b' || class == 'u' || class == 's';
}

/* Whether an operand is a constant number of bytes, in bits. */
static bool uses_is_bytes(const struct ptx_operand *operand)
{
	return operand->kind == PTX_INT && operand->value % 8 == 0;
}

/* How many operands, from the second on, an instruction only copies. */
static size_t uses_count_copied(const struct ptx_inst *inst)
{
	const struct ptx_operand *operands = inst->operands;
	switch (inst->op) {
	case PTX_OP_SHL:
	case PTX_OP_SHR: // of bytes to their places
		return uses_is_bytes(&operands[2]);
	case PTX_OP_BFE:
		return uses_is_bytes(&operands[2]) && uses_is_bytes(&operands[3]);
	case PTX_OP_BFI:
		return uses_is_bytes(&operands[3]) && uses_is_bytes(&operands[4]) ? 2 : 0;
	case PTX_OP_SHF:
		return uses_is_bytes(&operands[3]) ? 2 : 0;
	case PTX_OP_MOV:
	case PTX_OP_SHFL:
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_ST:
		return 1;
	case PTX_OP_CVT:
		return uses_is_int(inst->types[0]) && uses_is_int(inst->types[1]) ? 1 : 0;
	case PTX_OP_SELP:
	case PTX_OP_PRMT:
	case PTX_OP_AND:
	case PTX_OP_OR:
		return 2;
	default:
		return 0;
	}
}

/* The halves of what is copied on which those of the result depend. */
static unsigned uses_halves(const struct ptx_inst *inst, unsigned halves)
{
	const bool is_half = inst->op == PTX_OP_CVT
		&& (ptx_type_size(inst->types[0]) <= 4 || ptx_type_size(inst->types[1]) <= 4);
	const bool is_right = inst->op == PTX_OP_SHR && inst->operands[2].value == 32;
	const bool is_left = inst->op == PTX_OP_SHL && inst->operands[2].value == 32;
	const bool is_shift = inst->op == PTX_OP_SHR || inst->op == PTX_OP_SHL
		|| inst->op == PTX_OP_BFE || inst->op == PTX_OP_BFI;
	return halves == 0 ? 0 : is_half ? USES_LOW
		: is_right ? USES_HIGH
		: is_left ? (halves & USES_HIGH ? USES_LOW : 0)
		: is_shift ? USES_LOW | USES_HIGH : halves;
}

/* mov.b64 %rd, {%r1, %r2} and the other way round. */
static bool uses_mark_halves(struct uses_search *u, const struct ptx_inst *inst)
{
	const struct ptx_operand *to = &inst->operands[0], *from = &inst->operands[1];
	if (inst->op != PTX_OP_MOV || inst->has_guard) {
		return false;
	}
	if (to->kind == PTX_VECTOR && to->count == 2 && from->kind == PTX_REG
	    && ptx_type_size(inst->types[0]) == 8) {
		uses_add(u, from->reg, (uses_any(u->used, &to->elements[0]) ? USES_LOW : 0)
			| (uses_any(u->used, &to->elements[1]) ? USES_HIGH : 0));
		return true;
	}
	if (to->kind == PTX_REG && from->kind == PTX_VECTOR && from->count == 2
	    && ptx_type_size(inst->types[0]) == 8) {
		for (size_t i = 0; i < 2; i++) {
			if (from->elements[i].kind == PTX_REG && u->used[to->reg] >> i & 1) {
				uses_add(u, from->elements[i].reg, USES_LOW | USES_HIGH);
			}
		}
		return true;
	}
	return false;
}

bool uses_exchanges(const struct ptx_inst *inst)
{
	return (inst->op == PTX_OP_ATOM || inst->op == PTX_OP_ATOM_WIDE)
		&& ptx_has(&inst->mods, PTX_MOD_EXCH);
}

/* Mark what an instruction reads, but for what it copies to where nothing depends on it. */
static void uses_mark_reads(struct uses_search *u, struct ptx_inst inst)
{
	struct ptx_operand operands[8];
	if (uses_exchanges(&inst)) { // it stores the value as it is
		memcpy(operands, inst.operands, inst.operand_count * sizeof(*operands));
		operands[2] = (struct ptx_operand){.kind = PTX_INT};
		inst.operands = operands;
	}
	const size_t copied = inst.operand_count > 1 ? uses_count_copied(&inst) : 0;
	if (copied == 0 || inst.operand_count > countof(operands)) {
		cfg_visit(&inst, false, uses_mark, u);
		return;
	}
	if (uses_mark_halves(u, &inst)) {
		return;
	}
	const unsigned used = inst.op == PTX_OP_ST ? 0 : uses_any(u->used, &inst.operands[0]);
	const unsigned halves = uses_halves(&inst, used);
	bool is_plain = true;
	for (size_t i = 0; i < inst.operand_count; i++) {
		const struct ptx_operand *operand = &inst.operands[i];
		const bool is_copied = i >= 1 && i <= copied;
		operands[i] = is_copied ? (struct ptx_operand){.kind = PTX_INT} : *operand;
		if (is_copied && operand->kind == PTX_REG) {
			uses_add(u, operand->reg, halves);
		} else {
			is_plain &= !is_copied || operand->kind != PTX_VECTOR || used == 0;
		}
	}
	inst.operands = is_plain ? operands : inst.operands;
	cfg_visit(&inst, false, uses_mark, u);
}

uint8_t *uses_analyze(const struct ptx_func *func)
{
	struct uses_search u = {.used = mem_zalloc(func->reg_count + 1, sizeof(*u.used)),
		.changed = true};
	while (u.used && u.changed) {
		u.changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			uses_mark_reads(&u, func->insts[i]);
		}
	}
	return u.used;
}

bool uses_of_load(const uint8_t *uses, const struct ptx_inst *load)
{
	return uses_any(uses, &load->operands[0]) != 0;
}

/* --- Uses for sure --- */

/* Values that depend on a load, whatever else they depend on. */
struct uses_chain {
	unsigned regs[16];
	bool is_computed[16]; /* it is not a copy */
	size_t count;
};

/* Which values of the chain an operand has. */
enum uses_found { USES_NOT_FOUND, USES_COPY, USES_COMPUTED };

static enum uses_found uses_in_chain(const struct uses_chain *chain, unsigned reg)
{
	for (size_t i = chain->count; i > 0; i--) {
		if (chain->regs[i - 1] == reg) {
			return chain->is_computed[i - 1] ? USES_COMPUTED : USES_COPY;
		}
	}
	return USES_NOT_FOUND;
}

static enum uses_found uses_operand_in_chain(const struct uses_chain *chain,
	const struct ptx_operand *operand)
{
	const bool is_address = operand->kind == PTX_ADDRESS && operand->has_base;
	enum uses_found found = USES_NOT_FOUND;
	for (size_t i = 0; operand->kind == PTX_VECTOR && i < operand->count; i++) {
		const enum uses_found of = uses_operand_in_chain(chain, &operand->elements[i]);
		found = of > found ? of : found;
	}
	return operand->kind == PTX_REG || is_address ? uses_in_chain(chain, operand->reg) : found;
}

static void uses_add_to_chain(struct uses_chain *chain, const struct ptx_operand *to,
	bool is_computed)
{
	for (size_t i = 0; to->kind == PTX_VECTOR && i < to->count; i++) {
		uses_add_to_chain(chain, &to->elements[i], is_computed);
	}
	if (to->kind == PTX_REG && chain->count < countof(chain->regs)) {
		chain->is_computed[chain->count] = is_computed;
		chain->regs[chain->count++] = to->reg;
	}
}

/* Whether the result depends on each register that the instruction reads, from the operand
 * `first` on: a selection may ignore some, and a condition that is combined with another one. */
static bool uses_carries(const struct ptx_inst *inst, size_t *first)
{
	*first = 1;
	switch (inst->op) {
	case PTX_OP_SELP:
		*first = 3;
		return true;
	case PTX_OP_SETP:
	case PTX_OP_FSETP:
		return inst->operand_count == 3 && inst->operands[0].kind == PTX_REG;
	case PTX_OP_AND:
	case PTX_OP_OR:
		return inst->operands[2].kind == PTX_INT;
	case PTX_OP_LOP3:
	case PTX_OP_PRMT:
	case PTX_OP_SLCT:
		return false;
	default:
		return ptx_computes(inst->op) && inst->types[0] != PTX_PRED;
	}
}

/* Add the result of an instruction that depends on the chain. */
static void uses_extend_chain(struct uses_chain *chain, const struct ptx_inst *inst)
{
	size_t first;
	if (inst->has_guard || inst->operand_count == 0 || !uses_carries(inst, &first)) {
		return;
	}
	enum uses_found found = USES_NOT_FOUND;
	for (size_t i = first; i < inst->operand_count; i++) {
		enum uses_found of = uses_operand_in_chain(chain, &inst->operands[i]);
		of = of == USES_COPY && i > uses_count_copied(inst) ? USES_COMPUTED : of;
		found = of > found ? of : found;
	}
	if (found != USES_NOT_FOUND) {
		uses_add_to_chain(chain, &inst->operands[0], found == USES_COMPUTED);
	}
}

/* Whether an instruction other than a computation depends on the chain. */
static bool uses_ends_chain(const struct uses_chain *chain, const struct ptx_inst *inst)
{
	const char *spelling = ptx_rows[inst->op].spelling;
	const bool copies = inst->op == PTX_OP_ST || uses_exchanges(inst);
	const bool writes = copies || strcmp(spelling, "atom") == 0 || strcmp(spelling, "red") == 0;
	if (inst->has_guard) {
		return (writes || inst->op == PTX_OP_BRA) && uses_in_chain(chain, inst->guard);
	}
	for (size_t i = 0; i < inst->operand_count; i++) {
		const enum uses_found found = uses_operand_in_chain(chain, &inst->operands[i]);
		const bool is_place = inst->operands[i].kind == PTX_ADDRESS
			&& inst->operands[i].bracketed;
		if ((found != USES_NOT_FOUND && is_place)
		    || (writes && found > (copies ? USES_COPY : USES_NOT_FOUND))) {
			return true;
		}
	}
	return false;
}

bool uses_surely(const struct ptx_func *func, const struct ptx_block *block,
	const struct ptx_inst *load)
{
	struct uses_chain chain = {.count = 0};
	if (load < func->insts || load >= func->insts + block->end) {
		return false;
	}
	uses_add_to_chain(&chain, &load->operands[0], false);
	for (const struct ptx_inst *inst = load + 1; inst < func->insts + block->end; inst++) {
		if (uses_ends_chain(&chain, inst)) {
			return true;
		}
		uses_extend_chain(&chain, inst);
	}
	return false;
}
