/* SPDX-License-Identifier: MIT */
/*
 * The transfer functions of uniformity analysis: what each instruction makes of bases and offsets.
 *
 * The generator makes the base of a result by executing the instruction once, with the bases of its
 * operands.  So an instruction has a case here if op(base + offset) is op(base) plus a number that
 * is known at compile time: sums, products with constants, moves.  Masks, shifts and extensions
 * have one if the base is a multiple of a power of two that no offset reaches.  Then base + offset
 * is base | offset, and the sum cannot wrap around, so that to extend the parts is to extend the
 * sum.
 */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

#include "base/alloc.h"

#include <string.h>

static const struct uniformity vector = {.is_known = true, .is_vector = true};
static const struct uniformity uniform = {.is_known = true};
static const struct uniformity unknown = {.is_known = false};

/* --- Lists of offsets --- */

/* A kernel has few different lists, so they are searched one by one.  Their number has a limit, for
 * a kernel may make them without end: the offsets of i in `for (...) i += i` double. */
enum { MOST_LISTS = 200 };

struct offset_list {
	int64_t offsets[WARP_LANES];
	struct offset_list *next;
};

struct uniformity_pool {
	struct offset_list *first;
	unsigned count;
	bool no_memory;
};

struct uniformity_pool *uniformity_pool_create(void)
{
	return mem_zalloc(1, sizeof(struct uniformity_pool));
}

void uniformity_pool_free(struct uniformity_pool *pool)
{
	while (pool && pool->first) {
		struct offset_list *next = pool->first->next;
		mem_free(pool->first);
		pool->first = next;
	}
	mem_free(pool);
}

bool uniformity_pool_had_memory(const struct uniformity_pool *pool)
{
	return !pool->no_memory;
}

/* All zero: NULL.  False: there are too many lists, or there is no memory. */
static bool uniformity_pool_get(struct uniformity_pool *pool, const int64_t **out,
	const int64_t *offsets)
{
	static const int64_t zero[WARP_LANES];
	const size_t size = sizeof(zero);
	struct offset_list *entry = pool->first;
	*out = NULL;
	if (memcmp(offsets, zero, size) == 0) {
		return true;
	}
	while (entry && memcmp(entry->offsets, offsets, size) != 0) {
		entry = entry->next;
	}
	if (!entry && pool->count < MOST_LISTS) {
		entry = mem_alloc(sizeof(*entry));
		pool->no_memory |= !entry;
		if (entry) {
			memcpy(entry->offsets, offsets, size);
			entry->next = pool->first;
			pool->first = entry;
			pool->count++;
		}
	}
	*out = entry ? entry->offsets : NULL;
	return entry;
}

/* --- Making values --- */

static struct uniformity transfer_constant(uint64_t value)
{
	uint8_t align = value ? (uint8_t)__builtin_ctzll(value) : 63;
	return (struct uniformity){.is_known = true, .has_value = true, .align = align,
		.value = value};
}

static struct uniformity transfer_aligned(unsigned align)
{
	return (struct uniformity){.is_known = true, .align = (uint8_t)(align < 63 ? align : 63)};
}

static int64_t transfer_wrap(int64_t value, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)(uint64_t)value : value;
}

/* A base with these offsets, modulo 2^bits. */
static struct uniformity transfer_with_offsets(const struct uniformity_info *s,
	struct uniformity base, int64_t *offsets, unsigned bits)
{
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = transfer_wrap(offsets[i], bits);
	}
	return uniformity_pool_get(s->pool, &base.offsets, offsets) ? base : vector;
}

static int64_t transfer_offset_of(const struct uniformity *a, unsigned lane)
{
	return a->offsets ? a->offsets[lane] : 0;
}

/* --- Operands --- */

/* A thread's index along an axis: lane / before % size, from the warp's first thread on. */
static struct uniformity transfer_thread_index(const struct uniformity_info *s, unsigned axis)
{
	int64_t offsets[WARP_LANES] = {0};
	uint32_t size[3] = {WARP_LANES, 1, 1};
	uint32_t before = 1;
	if (s->class == BLOCK_CLASS_ANY) {
		return vector;
	}
	if (s->class >= BLOCK_CLASS_TILE) {
		block_class_tile(s->class, size);
	}
	for (unsigned i = 0; i < axis; i++) {
		before *= size[i];
	}
	for (unsigned i = 0; i < s->lanes; i++) {
		offsets[i] = i / before % size[axis];
	}
	/* of which the lanes that run together have so many, */
	uint32_t some = before < s->lanes ? s->lanes / before : 1;
	some = some < size[axis] ? some : size[axis];
	/* a tile along x is as long as the block */
	bool starts_at_0 = s->class >= BLOCK_CLASS_TILE && some == size[axis]
		&& (axis == 0 || before * size[axis] < WARP_LANES);
	return transfer_with_offsets(s, starts_at_0 ? transfer_constant(0)
		: transfer_aligned((unsigned)__builtin_ctz(some)), offsets, 32);
}

/* The length of a block where the class says it. */
static struct uniformity transfer_block_length(const struct uniformity_info *s, unsigned axis)
{
	uint32_t size[3];
	if (s->class < BLOCK_CLASS_TILE) {
		return transfer_aligned(s->class == BLOCK_CLASS_ROWS && axis == 0 ? 5 : 0);
	}
	block_class_tile(s->class, size);
	return axis == 0 || (axis == 1 && size[2] > 1) ? transfer_constant(size[axis]) : uniform;
}

static struct uniformity transfer_sreg(const struct uniformity_info *s, enum ptx_sreg sreg)
{
	int64_t offsets[WARP_LANES] = {0};
	switch (sreg) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
		return transfer_thread_index(s, sreg - PTX_SREG_TID_X);
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
		return transfer_block_length(s, sreg - PTX_SREG_NTID_X);
	case PTX_SREG_LANEID:
		for (unsigned i = 0; i < s->lanes; i++) {
			offsets[i] = i;
		}
		return transfer_with_offsets(s, s->lanes == WARP_LANES ? transfer_constant(0)
			: transfer_aligned((unsigned)__builtin_ctz(s->lanes)), offsets, 32);
	case PTX_SREG_LANEMASK_EQ:
	case PTX_SREG_LANEMASK_LE:
	case PTX_SREG_LANEMASK_LT:
	case PTX_SREG_LANEMASK_GE:
	case PTX_SREG_LANEMASK_GT:
		return vector;
	default:
		return uniform;
	}
}

static bool transfer_is_private(const struct ptx_var *var)
{
	return var->space == PTX_LOCAL || var->is_argument;
}

static struct uniformity transfer_name(const struct ptx_operand *operand)
{
	const struct ptx_var *var = operand->var;
	if (!var) {
		return transfer_constant((uint64_t)operand->value);
	}
	if (var->space == PTX_SHARED) {
		return transfer_constant(var->offset + (uint64_t)operand->value);
	}
	return transfer_is_private(var) ? vector : uniform;
}

/* Of several: alike in all lanes if each of them is. */
static struct uniformity transfer_all_of(const struct uniformity_info *s,
	const struct ptx_operand *operands, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct uniformity one = uniformity_of_operand(s, &operands[i]);
		if (!one.is_known || !uniformity_is_uniform(&one)) {
			return one.is_known ? vector : unknown;
		}
	}
	return uniform;
}

struct uniformity uniformity_of_operand(const struct uniformity_info *s,
	const struct ptx_operand *operand)
{
	switch (operand->kind) {
	case PTX_REG:
		return operand->negated && s->regs[operand->reg].is_known
			&& !s->regs[operand->reg].is_vector ? uniform : s->regs[operand->reg];
	case PTX_INT:
		return transfer_constant((uint64_t)operand->value);
	case PTX_SREG:
		return transfer_sreg(s, operand->sreg);
	case PTX_ADDRESS:
		return operand->has_base ? vector : transfer_name(operand);
	case PTX_VECTOR:
		return transfer_all_of(s, operand->elements, operand->count);
	case PTX_FLOAT:
	case PTX_SINK:
		return uniform;
	default:
		return vector;
	}
}

/* Operand i as a value of a type; a register of another size does not keep its offsets. */
static struct uniformity transfer_arg(const struct uniformity_info *s, const struct ptx_inst *inst,
	size_t i, enum ptx_type type)
{
	const struct ptx_operand *operand = &inst->operands[i];
	struct uniformity lanes = uniformity_of_operand(s, operand);
	bool resized = operand->kind == PTX_REG
		&& ptx_type_bits(s->func->regs[operand->reg].type) != ptx_type_bits(type);
	if (!resized || !lanes.is_known || lanes.is_vector) {
		return lanes;
	}
	return lanes.offsets ? vector : uniform;
}

static struct uniformity transfer_first_arg(const struct uniformity_info *s,
	const struct ptx_inst *inst, size_t i)
{
	return transfer_arg(s, inst, i, inst->types[0]);
}

/* --- Arithmetic --- */

static uint8_t transfer_least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* a + sign * b */
static struct uniformity transfer_add(const struct uniformity_info *s, struct uniformity a,
	struct uniformity b, int64_t sign, unsigned bits)
{
	int64_t offsets[WARP_LANES];
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = (int64_t)((uint64_t)transfer_offset_of(&a, i)
			+ (uint64_t)sign * (uint64_t)transfer_offset_of(&b, i));
	}
	return transfer_with_offsets(s, transfer_aligned(transfer_least(a.align, b.align)), offsets,
		bits);
}

static struct uniformity transfer_scale(const struct uniformity_info *s, struct uniformity a,
	uint64_t factor, unsigned bits)
{
	int64_t offsets[WARP_LANES];
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = (int64_t)((uint64_t)transfer_offset_of(&a, i) * factor);
	}
	return transfer_with_offsets(s, transfer_aligned(a.align + transfer_constant(factor).align),
		offsets, bits);
}

static struct uniformity transfer_multiply(const struct uniformity_info *s, struct uniformity a,
	struct uniformity b, unsigned bits)
{
	if (uniformity_is_uniform(&a) && uniformity_is_uniform(&b)) {
		return transfer_aligned(a.align + b.align);
	}
	if (b.has_value && !b.offsets) {
		return transfer_scale(s, a, b.value, bits);
	}
	return a.has_value && !a.offsets ? transfer_scale(s, b, a.value, bits) : vector;
}

/* Whether base + offset is base | offset, without a carry. */
static bool transfer_has_no_carry(const struct uniformity *a)
{
	unsigned align = a->align < 30 ? a->align : 30;
	for (unsigned i = 0; i < WARP_LANES && a->offsets; i++) {
		if (a->offsets[i] < 0 || a->offsets[i] >> align != 0) {
			return false;
		}
	}
	return true;
}

/* From 32 bits to 64. */
static struct uniformity transfer_extend(struct uniformity a)
{
	return transfer_has_no_carry(&a) ? a : vector;
}

/* A constant as mul.wide takes it. */
static struct uniformity transfer_extend_value(struct uniformity a, bool sign)
{
	if (!a.has_value || a.offsets) {
		return transfer_extend(a);
	}
	return transfer_constant(sign ? (uint64_t)(int64_t)(int32_t)(uint32_t)a.value
		: (uint32_t)a.value);
}

/* Operands 1 and 2 of mul or mad. */
static struct uniformity transfer_mul(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	unsigned bits = ptx_type_bits(type);
	struct uniformity a = transfer_first_arg(s, inst, 1), b = transfer_first_arg(s, inst, 2);
	if (ptx_has(&inst->mods, PTX_MOD_HI) || bits < 32) {
		return uniformity_is_uniform(&a) && uniformity_is_uniform(&b) ? uniform : vector;
	}
	if (ptx_has(&inst->mods, PTX_MOD_WIDE)) {
		bool sign = ptx_type_class(type) == 's';
		a = transfer_extend_value(a, sign);
		b = transfer_extend_value(b, sign);
		return a.is_vector || b.is_vector ? vector : transfer_multiply(s, a, b, 64);
	}
	return transfer_multiply(s, a, b, bits);
}

static struct uniformity transfer_mad(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	bool wide = ptx_has(&inst->mods, PTX_MOD_WIDE);
	enum ptx_type type = wide ? ptx_widen(inst->types[0]) : inst->types[0];
	struct uniformity a = transfer_mul(s, inst);
	struct uniformity c = transfer_arg(s, inst, 3, type);
	if (a.is_vector || ptx_type_bits(type) < 32) {
		return uniformity_is_uniform(&a) && uniformity_is_uniform(&c) ? uniform : vector;
	}
	return transfer_add(s, a, c, 1, ptx_type_bits(type));
}

/* --- Bits --- */

static struct uniformity transfer_shl(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	struct uniformity a = transfer_first_arg(s, inst, 1),
		count = uniformity_of_operand(s, &inst->operands[2]);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (bits < 32 || !count.has_value || count.offsets || count.value >= bits) {
		return uniformity_is_uniform(&a) && uniformity_is_uniform(&count) ? uniform
			: vector;
	}
	return transfer_scale(s, a, UINT64_C(1) << count.value, bits);
}

static struct uniformity transfer_shr(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	int64_t offsets[WARP_LANES];
	struct uniformity a = transfer_first_arg(s, inst, 1),
		count = uniformity_of_operand(s, &inst->operands[2]);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (uniformity_is_uniform(&a) && uniformity_is_uniform(&count)) {
		return uniform;
	}
	if (bits < 32 || !count.has_value || count.offsets || count.value >= bits
		|| !transfer_has_no_carry(&a)) {
		return vector;
	}
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = transfer_offset_of(&a, i) >> count.value;
	}
	unsigned align = a.align > count.value ? a.align - (unsigned)count.value : 0;
	return transfer_with_offsets(s, transfer_aligned(align), offsets, bits);
}

/* The offsets of (base | offset) OP c, from base OP c; below the base's alignment its bits are
 * 0. */
static int64_t transfer_bitwise_offset(enum ptx_op op, int64_t offset, uint64_t low)
{
	uint64_t bits = (uint64_t)offset;
	switch (op) {
	case PTX_OP_AND:
		return (int64_t)(bits & low);
	case PTX_OP_OR:
		return (int64_t)((bits | low) - low);
	default:
		return (int64_t)((bits ^ low) - low);
	}
}

static struct uniformity transfer_bitwise(const struct uniformity_info *s,
	const struct ptx_inst *inst)
{
	int64_t offsets[WARP_LANES];
	struct uniformity a = transfer_first_arg(s, inst, 1), c = transfer_first_arg(s, inst, 2);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (a.has_value && !a.offsets) {
		struct uniformity swap = a;
		a = c;
		c = swap;
	}
	uint8_t align = inst->op == PTX_OP_AND && a.align < c.align ? c.align
		: inst->op == PTX_OP_AND ? a.align : transfer_least(a.align, c.align);
	if (uniformity_is_uniform(&a) && uniformity_is_uniform(&c)) {
		return bits < 32 ? uniform : transfer_aligned(align);
	}
	if (bits < 32 || !c.has_value || c.offsets || !transfer_has_no_carry(&a)) {
		return vector;
	}
	uint64_t low = c.value & ((UINT64_C(1) << (a.align < 31 ? a.align : 31)) - 1);
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = transfer_bitwise_offset(inst->op, transfer_offset_of(&a, i), low);
	}
	return transfer_with_offsets(s, transfer_aligned(align), offsets, bits);
}

/* --- Comparisons --- */

/* Whether a comparison with `a` is one with the first number that is greater, or the other way. */
static bool transfer_orders(const struct ptx_inst *inst, bool *next)
{
	static const struct {
		enum ptx_mod mod;
		bool next;
	} orders[] = {{PTX_MOD_LT, false}, {PTX_MOD_LO, false}, {PTX_MOD_GE, false},
		{PTX_MOD_HS, false}, {PTX_MOD_LE, true}, {PTX_MOD_LS, true}, {PTX_MOD_GT, true},
		{PTX_MOD_HI, true}};
	for (size_t i = 0; i < countof(orders); i++) {
		if (ptx_has(&inst->mods, orders[i].mod)) {
			*next = orders[i].next;
			return true;
		}
	}
	return false;
}

/* Base + offsets, which all lie between two multiples of a power of two, are on one side of any
 * such multiple, as the base is: `tid.x < 64` is the same for all threads of a warp. */
static struct uniformity transfer_setp(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	struct uniformity a = transfer_first_arg(s, inst, 1);
	struct uniformity b = transfer_first_arg(s, inst, 2);
	struct uniformity others = transfer_all_of(s, inst->operands + 3, inst->operand_count - 3);
	bool next = false;
	uint64_t all = 0;
	if (uniformity_is_uniform(&a) && uniformity_is_uniform(&b)) {
		return others;
	}
	if (a.is_vector || !uniformity_is_uniform(&b) || !b.has_value
	    || ptx_type_bits(inst->types[0]) < 32 || !transfer_has_no_carry(&a)
	    || !transfer_orders(inst, &next)) {
		return vector;
	}
	for (unsigned i = 0; i < WARP_LANES; i++) {
		all |= (uint64_t)a.offsets[i];
	}
	const uint64_t power = UINT64_C(1) << (64 - __builtin_clzll(all));
	return ((b.value + next) & (power - 1)) == 0 ? others : vector;
}

/* --- Moves --- */

static struct uniformity transfer_mov(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	if (inst->operands[0].kind == PTX_VECTOR || inst->operands[1].kind == PTX_VECTOR) {
		struct uniformity from = uniformity_of_operand(s, &inst->operands[1]);
		return uniformity_is_uniform(&from) ? uniform : vector;
	}
	return transfer_first_arg(s, inst, 1);
}

/* The address of something shared gets the address of that memory added. */
static struct uniformity transfer_cvta(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	struct uniformity a = transfer_first_arg(s, inst, 1);
	if (inst->space == PTX_SHARED && !a.is_vector) {
		a.has_value = false;
		a.align = 0;
	}
	return a;
}

static bool transfer_is_integer(enum ptx_type type)
{
	return ptx_type_class(type) == 's' || ptx_type_class(type) == 'u';
}

static struct uniformity transfer_cvt(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	enum ptx_type to = inst->types[0], from = inst->types[1];
	unsigned bits = ptx_type_bits(to), from_bits = ptx_type_bits(from);
	struct uniformity a = transfer_arg(s, inst, 1, from);
	if (uniformity_is_uniform(&a)) {
		return uniform;
	}
	if (a.is_vector || !transfer_is_integer(to) || !transfer_is_integer(from) || bits < 32
	    || from_bits < 32 || ptx_has(&inst->mods, PTX_MOD_SAT)) {
		return vector;
	}
	int64_t offsets[WARP_LANES];
	for (unsigned i = 0; i < WARP_LANES; i++) {
		offsets[i] = a.offsets[i];
	}
	a.has_value = a.has_value && a.value == 0;
	return bits > from_bits ? transfer_extend(a) : transfer_with_offsets(s, a, offsets, bits);
}

/* --- Memory --- */

struct uniformity uniformity_of_address(const struct uniformity_info *s,
	const struct ptx_inst *inst, const struct ptx_operand *operand)
{
	enum ptx_space space = operand->var ? operand->var->space : inst->space;
	if (space == PTX_LOCAL || (operand->var && transfer_is_private(operand->var))) {
		return vector;
	}
	if (!operand->has_base) {
		return uniform;
	}
	struct uniformity base = s->regs[operand->reg];
	unsigned bits = ptx_type_bits(s->func->regs[operand->reg].type);
	bool fits = bits == (space == PTX_SHARED ? 32u : 64u)
		|| (space == PTX_SHARED && bits == 64);
	if (base.is_known && base.offsets && !fits) {
		return vector;
	}
	return base;
}

/* One access does for all lanes if they all have the same address; but not if there may be no lane
 * at all. */
static struct uniformity transfer_load(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	struct uniformity at = uniformity_of_address(s, inst, &inst->operands[1]);
	if (!at.is_known) {
		return unknown;
	}
	if (inst->has_guard && !s->regs[inst->guard].is_known) {
		return unknown;
	}
	bool guarded = inst->has_guard && s->regs[inst->guard].is_vector;
	return uniformity_is_uniform(&at) && !guarded ? uniform : vector;
}

/* --- All instructions --- */

/* What reads registers and constants and writes registers, and nothing else. */
static bool transfer_is_pure(const struct ptx_inst *inst)
{
	return ptx_computes(inst->op) && !ptx_uses_carry(inst);
}

static struct uniformity transfer_pure(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	unsigned bits = ptx_type_bits(inst->types[0]);
	switch (inst->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
		if (bits >= 32 && !ptx_has(&inst->mods, PTX_MOD_SAT)) {
			return transfer_add(s, transfer_first_arg(s, inst, 1),
				transfer_first_arg(s, inst, 2),
				inst->op == PTX_OP_ADD ? 1 : -1, bits);
		}
		break;
	case PTX_OP_MUL:
		return transfer_mul(s, inst);
	case PTX_OP_MAD:
		if (!ptx_has(&inst->mods, PTX_MOD_SAT)) {
			return transfer_mad(s, inst);
		}
		break;
	case PTX_OP_SHL:
		return transfer_shl(s, inst);
	case PTX_OP_SHR:
		return transfer_shr(s, inst);
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
		return transfer_bitwise(s, inst);
	case PTX_OP_SETP:
		return transfer_setp(s, inst);
	case PTX_OP_MOV:
		return transfer_mov(s, inst);
	case PTX_OP_CVT:
		return transfer_cvt(s, inst);
	case PTX_OP_CVTA:
		return transfer_cvta(s, inst);
	default:
		break;
	}
	return transfer_all_of(s, inst->operands + 1, inst->operand_count - 1);
}

/* Whether any operand is a vector; *known: whether all are known. */
static bool transfer_any_vector(const struct uniformity_info *s, const struct ptx_inst *inst,
	bool *known)
{
	bool any = false;
	*known = true;
	for (size_t i = 1; i < inst->operand_count; i++) {
		struct uniformity one = uniformity_of_operand(s, &inst->operands[i]);
		*known &= one.is_known;
		any |= one.is_vector;
	}
	return any;
}

/* Only an integer register of just this size can have offsets. */
static struct uniformity transfer_fit_result(const struct uniformity_info *s,
	const struct ptx_inst *inst, struct uniformity made)
{
	const struct ptx_operand *to = &inst->operands[0];
	enum ptx_type type = inst->types[0];
	if (!made.is_known || made.is_vector) {
		return made;
	}
	unsigned bits = ptx_type_bits(ptx_has(&inst->mods, PTX_MOD_WIDE) ? ptx_widen(type) : type);
	if (to->kind != PTX_REG) {
		return made.offsets ? vector : uniform;
	}
	enum ptx_type reg = s->func->regs[to->reg].type;
	bool same = ptx_type_bits(reg) == bits && ptx_type_class(reg) != 'f';
	return same ? made : made.offsets ? vector : uniform;
}

struct uniformity uniformity_of_result(const struct uniformity_info *s, const struct ptx_inst *inst)
{
	bool known;
	if (inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU) {
		return transfer_load(s, inst);
	}
	if (!transfer_is_pure(inst) || inst->operand_count < 2) {
		return vector;
	}
	if (transfer_any_vector(s, inst, &known)) {
		return vector;
	}
	return known ? transfer_fit_result(s, inst, transfer_pure(s, inst)) : unknown;
}
