/* SPDX-License-Identifier: MIT */
/*
 * Interleaved .local memory of a warp (W = 32); see local_interleave.c.
 *
 * Word n of lane l is at warp->local + (n * 32 + l) * 4.  While all lanes have the same offset, a
 * word of all lanes is one vector.  Elements of 8 bytes are two words, smaller ones are parts of
 * words.  Otherwise each lane has its own access, in a C function.  Offsets that no element can
 * have go there, too, and the function makes the fault.
 */
#include "base/common.h"

#include "cpu/codegen/emit_lanes.h"
#include "cpu/codegen/emit_memory.h"
#include "cpu/codegen/emit_value.h"

enum { WORD = 4, WORDS = WORD * RT_MAX_WIDTH };

/* An access to `count` elements, one behind the other. */
struct local {
	struct emit *e;
	const struct ptx_inst *inst;
	const struct ptx_operand *parts; /* the elements */
	size_t count;
	unsigned size;
	LLVMValueRef at;      /* offsets, i64 of lanes; NULL if they are known */
	LLVMValueRef common;  /* the one of all lanes, a scalar */
	LLVMValueRef values[RT_PARTS]; /* as integers of lanes */
};

bool emit_is_local(struct emit *e, const struct ptx_inst *inst, const struct ptx_operand *operand)
{
	return e->interleaves_local
		&& (operand->var ? operand->var->space : inst->space) == PTX_LOCAL;
}

static LLVMTypeRef value_type(const struct local *l)
{
	return emit_int_type(l->e, l->size * 8);
}

/* --- The same element in all lanes --- */

static LLVMValueRef word_place(const struct local *l, LLVMValueRef offset, unsigned word)
{
	struct emit *e = l->e;
	LLVMValueRef row = ir_shl_by(e, ir_lshr_by(e, offset, 2), 7);
	row = ir_add(e, row, emit_scalar(e, 64, (uint64_t)word * WORDS));
	return emit_at(e, emit_local_base(e), row, e->v.i32);
}

static LLVMValueRef load_word(const struct local *l, LLVMValueRef offset, unsigned word)
{
	LLVMValueRef value = LLVMBuildLoad2(l->e->builder, l->e->v.i32, word_place(l, offset, word),
		"");
	LLVMSetAlignment(value, WORD);
	emit_note_local(l->e, value);
	return value;
}

static void store_word(const struct local *l, LLVMValueRef offset, unsigned word, LLVMValueRef value)
{
	struct emit *e = l->e;
	if (e->mask_lanes) {
		value = ir_select(e, e->mask_lanes, value, load_word(l, offset, word));
	}
	LLVMValueRef store = LLVMBuildStore(e->builder, value, word_place(l, offset, word));
	LLVMSetAlignment(store, WORD);
	emit_note_local(e, store);
}

/* How far up in its word a small element is, in bits. */
static LLVMValueRef bits_up(const struct local *l, LLVMValueRef offset)
{
	struct emit *e = l->e;
	LLVMValueRef bits = ir_shl_by(e, ir_mask(e, offset, WORD - 1), 3);
	return emit_splat(e, ir_trunc(e, bits, e->s.i32));
}

static LLVMValueRef load_element(const struct local *l, LLVMValueRef offset)
{
	struct emit *e = l->e;
	LLVMValueRef word = load_word(l, offset, 0);
	if (l->size < WORD) {
		return ir_trunc(e, ir_lshr(e, word, bits_up(l, offset)), value_type(l));
	}
	if (l->size == WORD) {
		return word;
	}
	LLVMValueRef high = ir_zext(e, load_word(l, offset, 1), e->i64);
	return ir_or(e, ir_zext(e, word, e->i64), ir_shl_by(e, high, 32));
}

static void store_element(const struct local *l, LLVMValueRef offset, LLVMValueRef value)
{
	struct emit *e = l->e;
	if (l->size < WORD) {
		LLVMValueRef up = bits_up(l, offset);
		LLVMValueRef part = emit_int(e, 32, (UINT64_C(1) << l->size * 8) - 1);
		LLVMValueRef rest = ir_and(e, load_word(l, offset, 0),
			ir_not(e, ir_shl(e, part, up)));
		value = ir_or(e, rest, ir_shl(e, ir_zext(e, value, e->i32), up));
	} else if (l->size > WORD) {
		store_word(l, offset, 1, ir_trunc(e, ir_lshr_by(e, value, 32), e->i32));
		value = ir_trunc(e, value, e->i32);
	}
	store_word(l, offset, 0, value);
}

static LLVMValueRef part_offset(const struct local *l, size_t part)
{
	return ir_add(l->e, l->common, emit_scalar(l->e, 64, part * l->size));
}

static void local_move_common(struct local *l, bool store)
{
	for (size_t i = 0; i < l->count; i++) {
		if (store) {
			store_element(l, part_offset(l, i), l->values[i]);
		} else {
			l->values[i] = load_element(l, part_offset(l, i));
		}
	}
}

/* Whether all lanes that run have one offset, and elements can be there; a scalar. */
static LLVMValueRef local_is_common(struct local *l)
{
	struct emit *e = l->e;
	l->common = LLVMBuildExtractElement(e->builder, l->at, emit_first_lane(e), "");
	LLVMValueRef apart = ir_icmp(e, LLVMIntNE, l->at, emit_splat(e, l->common));
	apart = ir_bitcast(e, apart, e->s.i32);
	apart = e->mask ? ir_and(e, apart, e->mask) : apart;
	LLVMValueRef limit = ir_sub(e, emit_local_stride(e),
		emit_scalar(e, 64, l->size * l->count));
	LLVMValueRef low = ir_mask(e, l->common, l->size - 1);
	LLVMValueRef fits = ir_and(e, ir_icmp(e, LLVMIntULE, l->common, limit),
		ir_icmp(e, LLVMIntEQ, low, emit_scalar(e, 64, 0)));
	return ir_and(e, fits, ir_icmp(e, LLVMIntEQ, apart, emit_scalar(e, 32, 0)));
}

/* --- Each lane its own --- */

/* Whether all lanes that run have offsets where words can be; a scalar. */
static LLVMValueRef are_words(const struct local *l)
{
	struct emit *e = l->e;
	LLVMValueRef limit = ir_sub(e, emit_local_stride(e),
		emit_scalar(e, 64, l->size * l->count));
	LLVMValueRef beyond = ir_icmp(e, LLVMIntUGT, l->at, emit_splat(e, limit));
	LLVMValueRef low = ir_mask(e, l->at, WORD - 1);
	LLVMValueRef odd = ir_icmp(e, LLVMIntNE, low, emit_int(e, 64, 0));
	LLVMValueRef not = ir_bitcast(e, ir_or(e, beyond, odd), e->s.i32);
	not = e->mask ? ir_and(e, not, e->mask) : not;
	return ir_icmp(e, LLVMIntEQ, not, emit_scalar(e, 32, 0));
}

static LLVMValueRef word_places(const struct local *l, unsigned word)
{
	struct emit *e = l->e;
	LLVMValueRef index = ir_shl_by(e, ir_lshr_by(e, ir_trunc(e, l->at, e->i32), 2), 5);
	index = ir_or(e, index, emit_lane_number(e));
	index = ir_add(e, index, emit_int(e, 32, (uint64_t)word * RT_MAX_WIDTH));
	LLVMValueRef base = ir_bitcast(e, emit_local_base(e), LLVMPointerType(e->s.i32, 0));
	return LLVMBuildGEP2(e->builder, e->s.i32, base, &index, 1, "");
}

static void gather_words(struct local *l)
{
	struct emit *e = l->e;
	unsigned per_value = l->size / WORD;
	for (unsigned i = 0; i < l->count * per_value; i++) {
		LLVMValueRef value = emit_gather(e, e->v.i32, word_places(l, i));
		if (i % per_value == 0) {
			l->values[i / per_value] = ir_zext(e, value, value_type(l));
		} else {
			value = ir_shl_by(e, ir_zext(e, value, e->i64), 32);
			l->values[i / per_value] = ir_or(e, l->values[i / per_value], value);
		}
	}
}

static void scatter_words(struct local *l)
{
	struct emit *e = l->e;
	unsigned per_value = l->size / WORD;
	for (unsigned i = 0; i < l->count * per_value; i++) {
		LLVMValueRef value = l->values[i / per_value];
		value = i % per_value > 0 ? ir_lshr_by(e, value, 32) : value;
		LLVMValueRef places = word_places(l, i);
		LLVMTypeRef types[] = {e->v.i32, LLVMTypeOf(places)};
		LLVMValueRef args[] = {ir_trunc(e, value, e->i32), places,
			emit_scalar(e, 32, WORD), emit_int(e, 1, 1)};
		ir_intrinsic(e, "llvm.masked.scatter", types, countof(types), args, countof(args));
	}
}

static void move_by_call(struct local *l, bool store)
{
	struct emit *e = l->e;
	emit_put_lanes(e, l->at, l->values, store ? (unsigned)l->count : 0);
	emit_call_lanes(e, offsetof(struct rt_calls, move_local), l->size, (unsigned)l->count, store);
	for (size_t i = 0; !store && i < l->count; i++) {
		l->values[i] = emit_take_lanes(e, value_type(l), (unsigned)i);
	}
}

/* --- Either --- */

typedef void move_fn(struct local *l, bool store);

/* Do one or the other; a load's values come from where it was done. */
static void local_move_either(struct local *l, bool store, LLVMValueRef which, move_fn *yes,
	move_fn *no)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef one = emit_block(e, "one");
	LLVMBasicBlockRef other = emit_block(e, "other");
	LLVMBasicBlockRef after = emit_block(e, "moved");
	LLVMBuildCondBr(e->builder, which, one, other);
	struct local apart = *l;
	emit_enter(e, other);
	no(&apart, store);
	other = LLVMGetInsertBlock(e->builder);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, one);
	yes(l, store);
	one = LLVMGetInsertBlock(e->builder);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, after);
	for (size_t i = 0; !store && i < l->count; i++) {
		LLVMValueRef value = LLVMBuildPhi(e->builder, value_type(l), "");
		LLVMAddIncoming(value, &l->values[i], &one, 1);
		LLVMAddIncoming(value, &apart.values[i], &other, 1);
		l->values[i] = value;
	}
}

static void move_words(struct local *l, bool store)
{
	if (store) {
		scatter_words(l);
	} else {
		gather_words(l);
	}
}

/* Without instructions for it, a store under a mask would be a branch for each lane. */
static void local_move_apart(struct local *l, bool store)
{
	if (l->size < WORD || (store && l->e->mask) || !emit_can_gather(l->e)) {
		move_by_call(l, store);
	} else {
		local_move_either(l, store, are_words(l), move_words, move_by_call);
	}
}

static void local_move(struct local *l, bool store)
{
	if (l->at) {
		local_move_either(l, store, local_is_common(l), local_move_common,
			local_move_apart);
	} else {
		local_move_common(l, store);
	}
}

/* An element that is a variable's, or part of one, is there and in its place. */
static bool is_known(const struct local *l, const struct ptx_operand *address)
{
	uint64_t at = (uint64_t)address->value;
	return address->var && !address->has_base && at % l->size == 0
		&& address->var->offset % l->size == 0 && address->value >= 0
		&& at + l->size * l->count <= address->var->size;
}

static void local_init(struct local *l, struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, const struct ptx_operand *value)
{
	bool vector = value->kind == PTX_VECTOR;
	*l = (struct local){.e = e, .inst = inst, .parts = vector ? value->elements : value,
		.count = vector ? value->count : 1, .size = ptx_type_size(inst->types[0])};
	assert(l->count <= RT_PARTS);
	uint64_t offset = (uint64_t)address->value + (address->var ? address->var->offset : 0);
	if (is_known(l, address)) {
		l->common = emit_scalar(e, 64, offset);
		return;
	}
	l->at = emit_int(e, 64, offset);
	if (address->has_base) {
		l->at = ir_add(e, l->at, emit_use_reg(e, emit_reg_of(address), PTX_U64));
	}
}

void emit_local_load(struct emit *e, const struct ptx_inst *inst)
{
	struct local l;
	enum ptx_type type = inst->types[0];
	local_init(&l, e, inst, &inst->operands[1], &inst->operands[0]);
	local_move(&l, false);
	for (size_t i = 0; i < l.count; i++) {
		LLVMValueRef value = type == PTX_PRED ? ir_trunc(e, l.values[i], e->i1)
			: emit_cast(e, l.values[i], emit_type(e, type));
		emit_def(e, &l.parts[i], type, value);
	}
}

void emit_local_store(struct emit *e, const struct ptx_inst *inst)
{
	struct local l;
	local_init(&l, e, inst, &inst->operands[0], &inst->operands[1]);
	for (size_t i = 0; i < l.count; i++) {
		LLVMValueRef value = emit_bits(e, emit_use(e, &l.parts[i], inst->types[0]));
		l.values[i] = ir_zext(e, value, value_type(&l));
	}
	local_move(&l, true);
}
