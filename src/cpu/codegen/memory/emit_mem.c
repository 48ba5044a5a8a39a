/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores, and the other instructions on addresses.
 *
 * There are several ways to make a load or store: once for the whole warp, for lanes at known
 * distances (emit_strided.c), for lanes anywhere (emit_vector.c), or in an order that other threads
 * see.  The last way, one lane after the other, can make all.
 *
 * LLVM is told nothing about the alignment of plain accesses: an address of a kernel may be
 * anything.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* Memory is read and written as integers, because atomic accesses must be; only plain floats keep
 * their type.  Not every processor has an atomic access to 16 bytes, so a strong one is only
 * volatile. */
static LLVMTypeRef mem_access_type(struct emit *e, const struct ptx_inst *inst, enum ptx_type type)
{
	LLVMTypeRef as = emit_type(e, type);
	if (emit_order(inst) == LLVMAtomicOrderingNotAtomic) {
		return as;
	}
	return emit_int_type(e, ptx_type_bits(type));
}

static void mem_set_access(const struct ptx_inst *inst, LLVMValueRef access, enum ptx_type type)
{
	LLVMAtomicOrdering order = emit_order(inst);
	unsigned size = ptx_type_size(type);
	bool is_atomic = order != LLVMAtomicOrderingNotAtomic && size <= 8;
	LLVMSetAlignment(access, is_atomic ? size : 1);
	if (is_atomic) {
		LLVMSetOrdering(access, order);
	}
	LLVMSetVolatile(access, ptx_has(&inst->mods, PTX_MOD_VOLATILE)
		|| ptx_has(&inst->mods, PTX_MOD_MMIO)
		|| (order != LLVMAtomicOrderingNotAtomic && size > 8));
}

/* Parameters of a kernel stay as they are, whatever else it writes: NVRTC loads them in loops. */
static void mem_note_constant(struct emit *e, const struct ptx_inst *inst, LLVMValueRef load)
{
	if (inst->space == PTX_PARAM) {
		emit_set_metadata(e, load, "invariant.load",
			LLVMMDNodeInContext2(e->context, NULL, 0));
	}
}

/* The operands of a vector access, or the one of a plain access. */
static size_t mem_vector_parts(const struct ptx_operand *operand, const struct ptx_operand **parts)
{
	bool vector = operand->kind == PTX_VECTOR;
	*parts = vector ? operand->elements : operand;
	return vector ? operand->count : 1;
}

/* Of all elements of an access. */
static size_t mem_access_size(const struct ptx_inst *inst, const struct ptx_operand *elements)
{
	const struct ptx_operand *parts;
	return mem_vector_parts(elements, &parts) * ptx_type_size(inst->types[0]);
}

static struct ptx_operand mem_shift_address(const struct ptx_operand *address, size_t bytes)
{
	struct ptx_operand moved = *address;
	moved.value += (int64_t)bytes;
	return moved;
}

/* One access of `size` bytes for all lanes that run is noted as an access of the first. */
static void mem_note_first(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, size_t size)
{
	enum ptx_space space = inst->space;
	if (space == PTX_PARAM || !emit_notes_access(e)) {
		return;
	}
	struct emit_mode mode = emit_begin_once(e);
	LLVMValueRef base = emit_pointer_bits(e, emit_address(e, address, &space, e->i8));
	LLVMValueRef args[] = {e->mask, LLVMConstInt(e->s.i1, 1, false)};
	if (e->mask) {
		LLVMValueRef first = ir_intrinsic(e, "llvm.cttz", &e->s.i32, 1, args, 2);
		LLVMValueRef before = ir_mul(e, ir_zext(e, first, e->s.i64),
			emit_scalar(e, 64, size));
		base = ir_sub(e, base, before);
	}
	emit_note_access(e, base, (unsigned)size);
	emit_set_mode(e, mode);
}

/* All elements are loaded before the first register is written: it may hold the address. */
static void mem_load_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	LLVMTypeRef as = mem_access_type(e, inst, type);
	const struct ptx_operand *parts;
	size_t count = mem_vector_parts(&inst->operands[0], &parts);
	LLVMValueRef values[8];

	assert(count <= countof(values));
	for (size_t i = 0; i < count; i++) {
		enum ptx_space space = inst->space;
		struct ptx_operand address = mem_shift_address(&inst->operands[1],
			i * ptx_type_size(type));
		LLVMValueRef place = emit_address(e, &address, &space, as);
		values[i] = LLVMBuildLoad2(e->builder, as, place, "");
		mem_set_access(inst, values[i], type);
		mem_note_constant(e, inst, values[i]);
		emit_note_space(e, space, values[i]);
	}
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], type, values[i]);
	}
}

/* Whether a warp can do it by mem_load_warp or mem_store_warp.  Frames of calls hold predicates,
 * too, each in a byte, which vectors of bits are not. */
static bool mem_is_plain(const struct ptx_inst *inst)
{
	return emit_order(inst) == LLVMAtomicOrderingNotAtomic && inst->types[0] != PTX_PRED
		&& ptx_type_size(inst->types[0]) <= 8;
}

/* A place in a variable that all lanes have in common. */
static bool mem_is_common(const struct ptx_operand *operand, size_t size)
{
	const struct ptx_var *var = operand->var;
	return var && var->space != PTX_LOCAL && !operand->has_base && operand->value >= 0
		&& (uint64_t)operand->value + size <= var->size;
}

static void mem_load_common(struct emit *e, const struct ptx_inst *inst, LLVMValueRef *values,
	size_t count)
{
	const struct ptx_operand *operand = &inst->operands[1];
	enum ptx_type type = inst->types[0];
	uint64_t offset;
	LLVMValueRef base = emit_var_base(e, operand->var, &offset);
	LLVMTypeRef one = LLVMGetElementType(emit_type(e, type));
	for (size_t i = 0; i < count; i++) {
		uint64_t at = offset + (uint64_t)operand->value + i * ptx_type_size(type);
		LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, at), one);
		LLVMValueRef value = LLVMBuildLoad2(e->builder, one, place, "");
		LLVMSetAlignment(value, 1);
		mem_note_constant(e, inst, value);
		values[i] = emit_splat(e, value);
	}
}

void emit_begin_vector(struct emit *e, const struct ptx_inst *inst, struct emit_vector *out)
{
	bool is_store = inst->op == PTX_OP_ST;
	const struct ptx_operand *parts;
	out->type = inst->types[0];
	out->count = (unsigned)mem_vector_parts(&inst->operands[is_store], &parts);
	assert(out->count <= countof(out->values));
	for (size_t i = 0; is_store && i < out->count; i++) {
		out->values[i] = emit_use(e, &parts[i], out->type);
	}
	out->at = emit_lane_addresses(e, inst, &inst->operands[!is_store]);
}

void emit_end_vector(struct emit *e, const struct ptx_inst *inst, const struct emit_vector *wide)
{
	const struct ptx_operand *parts;
	size_t count = inst->op == PTX_OP_ST ? 0 : mem_vector_parts(&inst->operands[0], &parts);
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], wide->type, wide->values[i]);
	}
}

static void mem_load_warp(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	const struct ptx_operand *address = &inst->operands[1];
	const struct ptx_operand *parts;
	size_t count = mem_vector_parts(&inst->operands[0], &parts);
	struct emit_vector wide = {.member = e->member, .type = type};

	assert(count <= countof(wide.values));
	if (mem_is_common(address, count * ptx_type_size(type))) {
		mem_load_common(e, inst, wide.values, count);
	} else if (!emit_strided_load(e, inst, wide.values, (unsigned)count)) {
		emit_begin_vector(e, inst, &wide);
		emit_vector_load(e, &wide, 1);
	}
	emit_end_vector(e, inst, &wide);
}

/*
 * Volatile, of shared memory: only the threads of the block see it, which one worker runs.  So the
 * lanes may be served by the accesses of a plain instruction, if LLVM neither omits nor moves them.
 */
static bool mem_is_volatile_shared(struct emit *e, const struct ptx_inst *inst)
{
	return emit_is_vector(e) && inst->space == PTX_SHARED
		&& ptx_has(&inst->mods, PTX_MOD_VOLATILE) && inst->types[0] != PTX_PRED
		&& ptx_type_size(inst->types[0]) <= sizeof(uint64_t);
}

static void mem_fence_compiler(struct emit *e)
{
	LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
}

/*
 * Volatile, relaxed, acquire or release, by a warp: each element has to be one access, made once.
 * A C function makes them lane after lane, where LLVM's passes over the kernel cannot see them.
 */
static bool mem_is_ordered(struct emit *e, const struct ptx_inst *inst)
{
	return emit_is_vector(e) && emit_order(inst) != LLVMAtomicOrderingNotAtomic
		&& inst->types[0] != PTX_PRED && ptx_type_size(inst->types[0]) <= sizeof(uint64_t);
}

/* Nothing moves past here that the order forbids. */
static void mem_fence(struct emit *e, const struct ptx_inst *inst, LLVMAtomicOrdering order)
{
	LLVMAtomicOrdering asked = emit_order(inst);
	if (asked == LLVMAtomicOrderingSequentiallyConsistent || asked == order) {
		LLVMBuildFence(e->builder, asked, false, "");
	}
}

static void mem_move_strong(struct emit *e, const struct ptx_inst *inst, size_t count, bool store)
{
	emit_call_lanes(e, offsetof(struct rt_calls, move_lanes), ptx_type_size(inst->types[0]),
		(unsigned)count, store);
}

static void mem_load_ordered(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *parts;
	enum ptx_type type = inst->types[0];
	size_t count = mem_vector_parts(&inst->operands[0], &parts);
	LLVMValueRef values[RT_PARTS];
	assert(count <= RT_PARTS);
	emit_put_lanes(e, emit_lane_addresses(e, inst, &inst->operands[1]), NULL, 0);
	mem_move_strong(e, inst, count, false);
	mem_fence(e, inst, LLVMAtomicOrderingAcquire);
	for (size_t i = 0; i < count; i++) {
		values[i] = emit_take_lanes(e, emit_type(e, type), (unsigned)i);
	}
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], type, values[i]);
	}
}

static void mem_store_ordered(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *parts;
	size_t count = mem_vector_parts(&inst->operands[1], &parts);
	LLVMValueRef values[RT_PARTS];
	assert(count <= RT_PARTS);
	for (size_t i = 0; i < count; i++) {
		values[i] = emit_use(e, &parts[i], inst->types[0]);
	}
	mem_fence(e, inst, LLVMAtomicOrderingRelease);
	emit_put_lanes(e, emit_lane_addresses(e, inst, &inst->operands[0]), values,
		(unsigned)count);
	mem_move_strong(e, inst, count, true);
	mem_fence(e, inst, LLVMAtomicOrderingSequentiallyConsistent);
}

void emit_ld(struct emit *e, const struct ptx_inst *inst)
{
	if (e->once) {
		mem_note_first(e, inst, &inst->operands[1],
			mem_access_size(inst, &inst->operands[0]));
		mem_load_lane(e, inst);
	} else if (emit_is_vector(e) && mem_is_plain(inst)) {
		mem_load_warp(e, inst);
	} else if (mem_is_volatile_shared(e, inst)) {
		mem_fence_compiler(e);
		mem_load_warp(e, inst);
		mem_fence_compiler(e);
	} else if (mem_is_ordered(e, inst)) {
		mem_load_ordered(e, inst);
	} else {
		emit_each_lane(e, inst, mem_load_lane);
	}
}

static void mem_store_stream(struct emit *e, const struct ptx_inst *inst, LLVMTypeRef as,
	const struct ptx_operand *parts, size_t count)
{
	enum ptx_space space = inst->space;
	LLVMValueRef values[8];
	assert(count <= countof(values));
	for (size_t i = 0; i < count; i++) {
		values[i] = emit_cast(e, emit_use(e, &parts[i], inst->types[0]), as);
	}
	LLVMValueRef place = emit_address(e, &inst->operands[0], &space, as);
	emit_store_stream(e, values, (unsigned)count, place);
}

static void mem_store_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	LLVMTypeRef as = mem_access_type(e, inst, type);
	const struct ptx_operand *parts;
	size_t count = mem_vector_parts(&inst->operands[1], &parts);

	if (emit_is_stream(e, inst)) {
		mem_store_stream(e, inst, as, parts, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		enum ptx_space space = inst->space;
		struct ptx_operand address = mem_shift_address(&inst->operands[0],
			i * ptx_type_size(type));
		LLVMValueRef value = emit_cast(e, emit_use(e, &parts[i], type), as);
		LLVMValueRef place = emit_address(e, &address, &space, as);
		LLVMValueRef store = LLVMBuildStore(e->builder, value, place);
		mem_set_access(inst, store, type);
		emit_note_space(e, space, store);
	}
}

static void mem_store_warp(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	const struct ptx_operand *parts;
	size_t count = mem_vector_parts(&inst->operands[1], &parts);
	struct emit_vector wide = {.member = e->member};

	if (emit_is_strided(e, inst, (unsigned)count, false)) {
		for (size_t i = 0; i < count; i++) {
			wide.values[i] = emit_use(e, &parts[i], type);
		}
		emit_strided_store(e, inst, wide.values, (unsigned)count);
	} else {
		emit_begin_vector(e, inst, &wide);
		emit_vector_store(e, &wide, 1);
	}
}

/* Whether all lanes store to one address, of which the last one's value stays; and there is a
 * lane. */
static bool mem_is_one_place(struct emit *e, const struct ptx_inst *inst)
{
	if (!emit_is_vector(e) || (inst->has_guard && !emit_is_same(e, inst->guard))) {
		return false;
	}
	struct uniformity at = uniformity_of_address(&e->uniformity, inst, &inst->operands[0]);
	return uniformity_is_uniform(&at);
}

/* The last lane that runs. */
static LLVMValueRef mem_last_lane(struct emit *e)
{
	LLVMValueRef args[] = {e->mask, LLVMConstInt(e->s.i1, 1, false)};
	return e->mask ? ir_sub(e, emit_scalar(e, 32, 31),
		ir_intrinsic(e, "llvm.ctlz", &e->s.i32, 1, args, 2)) : emit_scalar(e, 32, 31);
}

static void mem_store_last(struct emit *e, const struct ptx_inst *inst)
{
	mem_note_first(e, inst, &inst->operands[0], mem_access_size(inst, &inst->operands[1]));
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){mem_last_lane(e), false});
	mem_store_lane(e, inst);
	emit_set_mode(e, mode);
}

bool emit_is_vector_access(struct emit *e, const struct ptx_inst *inst)
{
	bool is_store = inst->op == PTX_OP_ST;
	struct uniformity made = uniformity_of_result(&e->uniformity, inst);
	if (!(is_store || inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU) || inst->has_guard
	    || !made.is_vector || !mem_is_plain(inst)) {
		return false;
	}
	const struct ptx_operand *address = &inst->operands[!is_store], *parts;
	size_t count = mem_vector_parts(&inst->operands[is_store], &parts);
	bool otherwise = is_store ? mem_is_one_place(e, inst)
		: mem_is_common(address, count * ptx_type_size(inst->types[0]));
	return !otherwise && !emit_is_strided(e, inst, (unsigned)count, !is_store);
}

void emit_st(struct emit *e, const struct ptx_inst *inst)
{
	if (mem_is_one_place(e, inst)) {
		mem_store_last(e, inst);
	} else if (emit_is_vector(e) && mem_is_plain(inst)) {
		mem_store_warp(e, inst);
	} else if (mem_is_volatile_shared(e, inst)) {
		mem_fence_compiler(e);
		mem_store_warp(e, inst);
		mem_fence_compiler(e);
	} else if (mem_is_ordered(e, inst)) {
		mem_store_ordered(e, inst);
	} else {
		emit_each_lane(e, inst, mem_store_lane);
	}
}

void emit_cvta(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef address = emit_use(e, &inst->operands[1], PTX_U64);
	if (inst->space == PTX_SHARED) {
		LLVMValueRef base = emit_splat(e, emit_pointer_bits(e, emit_shared_base(e)));
		address = ptx_has(&inst->mods, PTX_MOD_TO) ? ir_sub(e, address, base)
			: ir_add(e, address, base);
	}
	emit_def(e, &inst->operands[0], PTX_U64, address);
}

static LLVMValueRef mem_is_local(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef base = ir_add(e, emit_all_bits(e, emit_local_base(e)), emit_local_offset(e));
	return emit_is_within(e, address, base, emit_splat(e, emit_local_stride(e)));
}

static LLVMValueRef mem_is_param(struct emit *e, LLVMValueRef address)
{
	return emit_is_within(e, address, emit_all_bits(e, emit_params_base(e)),
		emit_int(e, 64, e->func->param_size));
}

static LLVMValueRef mem_is_const(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef any = emit_int(e, 1, 0);
	for (size_t i = 0; i < e->module->var_count; i++) {
		const struct ptx_var *var = e->module->vars[i];
		if (var->space == PTX_CONST) {
			LLVMValueRef size = emit_int(e, 64, var->size);
			any = ir_or(e, any, emit_is_within(e, address,
				emit_all_bits(e, emit_global_base(e, var)), size));
		}
	}
	return any;
}

void emit_isspacep(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef address = emit_use(e, &inst->operands[1], PTX_U64);
	LLVMValueRef is;
	switch (inst->space) {
	case PTX_SHARED:
		is = emit_is_shared(e, address);
		break;
	case PTX_LOCAL:
		is = mem_is_local(e, address);
		break;
	case PTX_PARAM:
		is = mem_is_param(e, address);
		break;
	case PTX_CONST:
		is = mem_is_const(e, address);
		break;
	default:
		is = ir_not(e, ir_or(e,
			ir_or(e, emit_is_shared(e, address), mem_is_local(e, address)),
			ir_or(e, mem_is_param(e, address), mem_is_const(e, address))));
		break;
	}
	emit_def(e, &inst->operands[0], PTX_PRED, is);
}

/* Modules with variables that are textures, samplers or surfaces are refused, so that no address
 * belongs to one. */
void emit_istypep(struct emit *e, const struct ptx_inst *inst)
{
	emit_def(e, &inst->operands[0], PTX_PRED, emit_int(e, 1, 0));
}

void emit_fence(struct emit *e, const struct ptx_inst *inst)
{
	bool weak = ptx_has(&inst->mods, PTX_MOD_CTA) || ptx_has(&inst->mods, PTX_MOD_ACQ_REL);
	LLVMBuildFence(e->builder, weak ? LLVMAtomicOrderingAcquireRelease
		: LLVMAtomicOrderingSequentiallyConsistent, false, "");
}

/* Policies are hints to a cache, which the CPU device ignores: any number will do. */
void emit_policy(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, emit_int(e, 64, 0));
}

/* A warp's would be 32 instructions, of which most are for the same line. */
void emit_prefetch(struct emit *e, const struct ptx_inst *inst)
{
	if (e->width > 1) {
		return;
	}
	enum ptx_space space = inst->space;
	LLVMValueRef place = emit_address(e, &inst->operands[0], &space, e->s.i8);
	LLVMTypeRef type = LLVMTypeOf(place);
	uint64_t level = ptx_has(&inst->mods, PTX_MOD_L1) ? 3 : 2;
	LLVMValueRef args[] = {place, emit_scalar(e, 32, 0), emit_scalar(e, 32, level),
		emit_scalar(e, 32, 1)};
	ir_intrinsic(e, "llvm.prefetch", &type, 1, args, countof(args));
}

/* Hints for caches, profilers and debuggers. */
void emit_nothing(struct emit *e, const struct ptx_inst *inst)
{
	(void)e;
	(void)inst;
}
