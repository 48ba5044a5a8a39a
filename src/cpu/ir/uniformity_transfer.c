/* SPDX-License-Identifier: MIT */
/*
 * What instructions make of shapes: the one place that knows which of them keep lanes a known
 * distance apart.
 *
 * The emitter makes the base of a result by the instruction itself, done once, with the bases of its
 * operands.  So an operation is here if op(base + offset) is op(base) + a number that is known now:
 * sums, products with constants, moves; and, if the base is a multiple of a power of two that no
 * offset reaches, then base + offset is base | offset, and masks, shifts and extensions keep them
 * apart, too.  That also says that the sum does not wrap around, without which to extend the parts
 * would not be to extend the sum.
 */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

static const struct shape vector = {.is_known = true, .is_vector = true};
static const struct shape uniform = {.is_known = true};
static const struct shape unknown = {.is_known = false};

/* --- Making shapes --- */

static struct shape number(uint64_t value)
{
	uint8_t align = value ? (uint8_t)__builtin_ctzll(value) : 63;
	return (struct shape){.is_known = true, .has_value = true, .align = align, .value = value};
}

static struct shape aligned(unsigned align)
{
	return (struct shape){.is_known = true, .align = (uint8_t)(align < 63 ? align : 63)};
}

static int64_t wrap(int64_t value, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)(uint64_t)value : value;
}

/* A base with these offsets, modulo 2^bits. */
static struct shape with_offsets(const struct shapes *s, struct shape base, int64_t *offsets,
	unsigned bits)
{
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = wrap(offsets[i], bits);
	}
	return shape_pool_get(s->pool, &base.offsets, offsets) ? base : vector;
}

static int64_t offset_of(const struct shape *a, unsigned lane)
{
	return a->offsets ? a->offsets[lane] : 0;
}

/* --- Operands --- */

/* A thread's index along an axis: lane / before % size, from the warp's first thread on. */
static struct shape thread_index(const struct shapes *s, unsigned axis)
{
	int64_t offsets[SHAPE_LANES];
	uint32_t size[3] = {SHAPE_LANES, 1, 1};
	uint32_t before = 1;
	if (s->class == SHAPE_ANY) {
		return vector;
	}
	if (s->class >= SHAPE_BRICK) {
		shape_brick(s->class, size);
	}
	for (unsigned i = 0; i < axis; i++) {
		before *= size[i];
	}
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = i / before % size[axis];
	}
	/* a brick along x is as long as the block */
	bool starts_at_0 = s->class >= SHAPE_BRICK && (axis == 0 || before * size[axis] < SHAPE_LANES);
	return with_offsets(s, starts_at_0 ? number(0) : aligned((unsigned)__builtin_ctz(size[axis])), offsets, 32);
}

/* The length of a block where the class says it. */
static struct shape block_length(const struct shapes *s, unsigned axis)
{
	uint32_t size[3];
	if (s->class < SHAPE_BRICK) {
		return aligned(s->class == SHAPE_ROWS && axis == 0 ? 5 : 0);
	}
	shape_brick(s->class, size);
	return axis == 0 || (axis == 1 && size[2] > 1) ? number(size[axis]) : uniform;
}

static struct shape sreg_shape(const struct shapes *s, enum ptx_sreg sreg)
{
	int64_t offsets[SHAPE_LANES];
	switch (sreg) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
		return thread_index(s, sreg - PTX_SREG_TID_X);
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
		return block_length(s, sreg - PTX_SREG_NTID_X);
	case PTX_SREG_LANEID:
		for (unsigned i = 0; i < SHAPE_LANES; i++) {
			offsets[i] = i;
		}
		return with_offsets(s, number(0), offsets, 32);
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

static bool is_own(const struct ptx_var *var)
{
	return var->space == PTX_LOCAL || var->is_argument;
}

static struct shape name_shape(const struct shapes *s, const struct ptx_operand *operand)
{
	const struct ptx_var *var = operand->var;
	if (!var) {
		return number((uint64_t)operand->value);
	}
	if (var->space == PTX_SHARED || (var->space == PTX_LOCAL && s->splits)) {
		return number(var->offset + (uint64_t)operand->value);
	}
	return is_own(var) ? vector : uniform;
}

/* Of several: alike in all lanes if each of them is. */
static struct shape all_of(const struct shapes *s, const struct ptx_operand *operands, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct shape one = shapes_operand(s, &operands[i]);
		if (!one.is_known || !shape_is_uniform(&one)) {
			return one.is_known ? vector : unknown;
		}
	}
	return uniform;
}

struct shape shapes_operand(const struct shapes *s, const struct ptx_operand *operand)
{
	switch (operand->kind) {
	case PTX_REG:
		return operand->negated && s->regs[operand->reg].is_known
			&& !s->regs[operand->reg].is_vector ? uniform : s->regs[operand->reg];
	case PTX_INT:
		return number((uint64_t)operand->value);
	case PTX_SREG:
		return sreg_shape(s, operand->sreg);
	case PTX_ADDRESS:
		return operand->has_base ? vector : name_shape(s, operand);
	case PTX_VECTOR:
		return all_of(s, operand->elements, operand->count);
	case PTX_FLOAT:
	case PTX_SINK:
		return uniform;
	default:
		return vector;
	}
}

/* Operand i as a value of a type; a register of another size does not keep its offsets. */
static struct shape arg(const struct shapes *s, const struct ptx_inst *inst, size_t i,
	enum ptx_type type)
{
	const struct ptx_operand *operand = &inst->operands[i];
	struct shape shape = shapes_operand(s, operand);
	bool resized = operand->kind == PTX_REG
		&& ptx_type_bits(s->func->regs[operand->reg].type) != ptx_type_bits(type);
	if (!resized || !shape.is_known || shape.is_vector) {
		return shape;
	}
	return shape.offsets ? vector : uniform;
}

static struct shape first_arg(const struct shapes *s, const struct ptx_inst *inst, size_t i)
{
	return arg(s, inst, i, inst->types[0]);
}

/* --- Arithmetic --- */

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* a + sign * b */
static struct shape sum(const struct shapes *s, struct shape a, struct shape b, int64_t sign,
	unsigned bits)
{
	int64_t offsets[SHAPE_LANES];
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = (int64_t)((uint64_t)offset_of(&a, i)
			+ (uint64_t)sign * (uint64_t)offset_of(&b, i));
	}
	return with_offsets(s, aligned(least(a.align, b.align)), offsets, bits);
}

static struct shape times(const struct shapes *s, struct shape a, uint64_t factor, unsigned bits)
{
	int64_t offsets[SHAPE_LANES];
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = (int64_t)((uint64_t)offset_of(&a, i) * factor);
	}
	return with_offsets(s, aligned(a.align + number(factor).align), offsets, bits);
}

static struct shape product(const struct shapes *s, struct shape a, struct shape b, unsigned bits)
{
	if (shape_is_uniform(&a) && shape_is_uniform(&b)) {
		return aligned(a.align + b.align);
	}
	if (b.has_value && !b.offsets) {
		return times(s, a, b.value, bits);
	}
	return a.has_value && !a.offsets ? times(s, b, a.value, bits) : vector;
}

/* Whether base + offset is base | offset, without a carry. */
static bool is_split(const struct shape *a)
{
	unsigned align = a->align < 30 ? a->align : 30;
	for (unsigned i = 0; i < SHAPE_LANES && a->offsets; i++) {
		if (a->offsets[i] < 0 || a->offsets[i] >> align != 0) {
			return false;
		}
	}
	return true;
}

/* From 32 bits to 64. */
static struct shape extended(struct shape a)
{
	return is_split(&a) ? a : vector;
}

/* A constant as mul.wide takes it. */
static struct shape extended_value(struct shape a, bool sign)
{
	if (!a.has_value || a.offsets) {
		return extended(a);
	}
	return number(sign ? (uint64_t)(int64_t)(int32_t)(uint32_t)a.value : (uint32_t)a.value);
}

/* Operands 1 and 2 of mul or mad. */
static struct shape multiplied(const struct shapes *s, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	unsigned bits = ptx_type_bits(type);
	struct shape a = first_arg(s, inst, 1), b = first_arg(s, inst, 2);
	if (ptx_has(&inst->mods, PTX_MOD_HI) || bits < 32) {
		return shape_is_uniform(&a) && shape_is_uniform(&b) ? uniform : vector;
	}
	if (ptx_has(&inst->mods, PTX_MOD_WIDE)) {
		bool sign = ptx_type_class(type) == 's';
		a = extended_value(a, sign);
		b = extended_value(b, sign);
		return a.is_vector || b.is_vector ? vector : product(s, a, b, 64);
	}
	return product(s, a, b, bits);
}

static struct shape multiplied_added(const struct shapes *s, const struct ptx_inst *inst)
{
	bool wide = ptx_has(&inst->mods, PTX_MOD_WIDE);
	enum ptx_type type = wide ? ptx_widen(inst->types[0]) : inst->types[0];
	struct shape a = multiplied(s, inst);
	struct shape c = arg(s, inst, 3, type);
	if (a.is_vector || ptx_type_bits(type) < 32) {
		return shape_is_uniform(&a) && shape_is_uniform(&c) ? uniform : vector;
	}
	return sum(s, a, c, 1, ptx_type_bits(type));
}

/* --- Bits --- */

static struct shape shifted_left(const struct shapes *s, const struct ptx_inst *inst)
{
	struct shape a = first_arg(s, inst, 1), count = shapes_operand(s, &inst->operands[2]);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (bits < 32 || !count.has_value || count.offsets || count.value >= bits) {
		return shape_is_uniform(&a) && shape_is_uniform(&count) ? uniform : vector;
	}
	return times(s, a, UINT64_C(1) << count.value, bits);
}

static struct shape shifted_right(const struct shapes *s, const struct ptx_inst *inst)
{
	int64_t offsets[SHAPE_LANES];
	struct shape a = first_arg(s, inst, 1), count = shapes_operand(s, &inst->operands[2]);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (shape_is_uniform(&a) && shape_is_uniform(&count)) {
		return uniform;
	}
	if (bits < 32 || !count.has_value || count.offsets || count.value >= bits || !is_split(&a)) {
		return vector;
	}
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = offset_of(&a, i) >> count.value;
	}
	unsigned align = a.align > count.value ? a.align - (unsigned)count.value : 0;
	return with_offsets(s, aligned(align), offsets, bits);
}

/* The offsets of (base | offset) OP c, from base OP c; below the base's alignment its bits are 0. */
static int64_t masked_offset(enum ptx_op op, int64_t offset, uint64_t low)
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

static struct shape masked(const struct shapes *s, const struct ptx_inst *inst)
{
	int64_t offsets[SHAPE_LANES];
	struct shape a = first_arg(s, inst, 1), c = first_arg(s, inst, 2);
	unsigned bits = ptx_type_bits(inst->types[0]);
	if (a.has_value && !a.offsets) {
		struct shape swap = a;
		a = c;
		c = swap;
	}
	uint8_t align = inst->op == PTX_OP_AND && a.align < c.align ? c.align
		: inst->op == PTX_OP_AND ? a.align : least(a.align, c.align);
	if (shape_is_uniform(&a) && shape_is_uniform(&c)) {
		return bits < 32 ? uniform : aligned(align);
	}
	if (bits < 32 || !c.has_value || c.offsets || !is_split(&a)) {
		return vector;
	}
	uint64_t low = c.value & ((UINT64_C(1) << (a.align < 31 ? a.align : 31)) - 1);
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = masked_offset(inst->op, offset_of(&a, i), low);
	}
	return with_offsets(s, aligned(align), offsets, bits);
}

/* --- Moves --- */

static struct shape moved(const struct shapes *s, const struct ptx_inst *inst)
{
	if (inst->operands[0].kind == PTX_VECTOR || inst->operands[1].kind == PTX_VECTOR) {
		struct shape from = shapes_operand(s, &inst->operands[1]);
		return shape_is_uniform(&from) ? uniform : vector;
	}
	return first_arg(s, inst, 1);
}

/* The address of something shared gets the address of that memory added. */
static struct shape addressed(const struct shapes *s, const struct ptx_inst *inst)
{
	struct shape a = first_arg(s, inst, 1);
	if (inst->space == PTX_SHARED && !a.is_vector) {
		a.has_value = false;
		a.align = 0;
	}
	return a;
}

static bool is_integer(enum ptx_type type)
{
	return ptx_type_class(type) == 's' || ptx_type_class(type) == 'u';
}

static struct shape converted(const struct shapes *s, const struct ptx_inst *inst)
{
	enum ptx_type to = inst->types[0], from = inst->types[1];
	unsigned bits = ptx_type_bits(to), from_bits = ptx_type_bits(from);
	struct shape a = arg(s, inst, 1, from);
	if (shape_is_uniform(&a)) {
		return uniform;
	}
	if (a.is_vector || !is_integer(to) || !is_integer(from) || bits < 32 || from_bits < 32
	    || ptx_has(&inst->mods, PTX_MOD_SAT)) {
		return vector;
	}
	int64_t offsets[SHAPE_LANES];
	for (unsigned i = 0; i < SHAPE_LANES; i++) {
		offsets[i] = a.offsets[i];
	}
	a.has_value = a.has_value && a.value == 0;
	return bits > from_bits ? extended(a) : with_offsets(s, a, offsets, bits);
}

/* --- Memory --- */

struct shape shapes_address(const struct shapes *s, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	enum ptx_space space = operand->var ? operand->var->space : inst->space;
	if (space == PTX_LOCAL || (operand->var && is_own(operand->var))) {
		return vector;
	}
	if (!operand->has_base) {
		return uniform;
	}
	struct shape base = s->regs[operand->reg];
	unsigned bits = ptx_type_bits(s->func->regs[operand->reg].type);
	bool fits = bits == (space == PTX_SHARED ? 32u : 64u) || (space == PTX_SHARED && bits == 64);
	if (base.is_known && base.offsets && !fits) {
		return vector;
	}
	return base;
}

/* One access does for all lanes if they all have the same address; but not if there may be no lane
 * at all. */
static struct shape loaded(const struct shapes *s, const struct ptx_inst *inst)
{
	struct shape at = shapes_address(s, inst, &inst->operands[1]);
	if (!at.is_known) {
		return unknown;
	}
	if (inst->has_guard && !s->regs[inst->guard].is_known) {
		return unknown;
	}
	bool guarded = inst->has_guard && s->regs[inst->guard].is_vector;
	return shape_is_uniform(&at) && !guarded ? uniform : vector;
}

/* --- All instructions --- */

/* What reads registers and constants and writes registers, and nothing else. */
static bool is_pure(const struct ptx_inst *inst)
{
	return inst->op <= PTX_OP_CVTA && !ptx_uses_carry(inst);
}

static struct shape computed(const struct shapes *s, const struct ptx_inst *inst)
{
	unsigned bits = ptx_type_bits(inst->types[0]);
	switch (inst->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
		if (bits >= 32 && !ptx_has(&inst->mods, PTX_MOD_SAT)) {
			return sum(s, first_arg(s, inst, 1), first_arg(s, inst, 2),
				inst->op == PTX_OP_ADD ? 1 : -1, bits);
		}
		break;
	case PTX_OP_MUL:
		return multiplied(s, inst);
	case PTX_OP_MAD:
		if (!ptx_has(&inst->mods, PTX_MOD_SAT)) {
			return multiplied_added(s, inst);
		}
		break;
	case PTX_OP_SHL:
		return shifted_left(s, inst);
	case PTX_OP_SHR:
		return shifted_right(s, inst);
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
		return masked(s, inst);
	case PTX_OP_MOV:
		return moved(s, inst);
	case PTX_OP_CVT:
		return converted(s, inst);
	case PTX_OP_CVTA:
		return addressed(s, inst);
	default:
		break;
	}
	return all_of(s, inst->operands + 1, inst->operand_count - 1);
}

/* Whether any operand is a vector; *known: whether all are known. */
static bool any_vector(const struct shapes *s, const struct ptx_inst *inst, bool *known)
{
	bool any = false;
	*known = true;
	for (size_t i = 1; i < inst->operand_count; i++) {
		struct shape one = shapes_operand(s, &inst->operands[i]);
		*known &= one.is_known;
		any |= one.is_vector;
	}
	return any;
}

/* Only an integer register of just this size can have offsets. */
static struct shape as_result(const struct shapes *s, const struct ptx_inst *inst, struct shape made)
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

struct shape shapes_result(const struct shapes *s, const struct ptx_inst *inst)
{
	bool known;
	if (inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU) {
		return loaded(s, inst);
	}
	if (!is_pure(inst) || inst->operand_count < 2) {
		return vector;
	}
	if (any_vector(s, inst, &known)) {
		return vector;
	}
	return known ? as_result(s, inst, computed(s, inst)) : unknown;
}
