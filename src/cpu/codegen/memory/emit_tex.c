/* SPDX-License-Identifier: MIT */
/*
 * Textures and surfaces.  The operands go into a request in memory (texture_fetch.h), a C function
 * does the work, and the results are read back: of textures for all lanes at once, of surfaces and
 * queries lane by lane.  Most of the time is spent in that function.
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/runtime/texture_fetch.h"

/* Room for a request, and for the result of a query after it; one place serves all of a kernel. */
enum {
	RESULTS = (sizeof(struct surface_request) + 15) / 16 * 16,
	ROOM = sizeof(struct texture_lanes)
};
static_assert(RESULTS + 16 <= ROOM, "a request for a surface and its results fit");

/* Opcode parts and what they are in a request. */
struct word {
	const char *part;
	uint32_t value;
};

static uint32_t tex_find_word(const struct ptx_inst *inst, const struct word *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ptx_names(inst, words[i].part)) {
			return words[i].value;
		}
	}
	return 0;
}

static LLVMValueRef tex_request(struct emit *e)
{
	if (!e->request) {
		LLVMBasicBlockRef back = emit_call_visit(e);
		LLVMTypeRef type = LLVMArrayType(e->i8, ROOM);
		LLVMValueRef room = LLVMBuildAlloca(e->builder, type, "request");
		LLVMSetAlignment(room, 16);
		e->request = ir_bitcast(e, room, e->ptr);
		emit_entry_leave(e, back);
	}
	return e->request;
}

/* A word of a request, or those of all lanes. */
static void tex_put(struct emit *e, size_t offset, LLVMValueRef value)
{
	LLVMSetAlignment(emit_set_field(e, tex_request(e), offset, emit_bits(e, value)), 1);
}

static void tex_put_word(struct emit *e, size_t offset, uint32_t value)
{
	tex_put(e, offset, emit_u32(e, value));
}

static LLVMValueRef tex_take(struct emit *e, size_t offset, LLVMTypeRef type)
{
	LLVMValueRef value = emit_field(e, tex_request(e), offset, type);
	LLVMSetAlignment(value, 1);
	return value;
}

/* The elements of a vector, or the one operand that stands in its place. */
static const struct ptx_operand *tex_elements(const struct ptx_operand *operand, size_t *count)
{
	*count = operand->kind == PTX_VECTOR ? operand->count : 1;
	return operand->kind == PTX_VECTOR ? operand->elements : operand;
}

/* Numbers in a request: where the first one is, and how far the next one is from it. */
struct numbers {
	size_t offset, step;
};

/* Put up to three numbers. */
static void tex_put_vector(struct emit *e, struct numbers to, const struct ptx_operand *operand,
	size_t first, unsigned most, enum ptx_type type)
{
	size_t count;
	const struct ptx_operand *elements = tex_elements(operand, &count);
	for (size_t i = 0; i < most && first + i < count; i++) {
		tex_put(e, to.offset + i * to.step, emit_use(e, &elements[first + i], type));
	}
}

static void tex_put_place(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand, enum ptx_type type, size_t layer, struct numbers at)
{
	const struct ptx_geometry *geometry = &ptx_geometries[ptx_geometry_of(inst)];
	size_t count;
	const struct ptx_operand *elements = tex_elements(operand, &count);
	if (geometry->is_layered) {
		tex_put(e, layer, emit_use(e, &elements[0], PTX_U32));
	}
	tex_put_vector(e, at, operand, geometry->is_layered, geometry->dimensions, type);
}

/* Call one of the functions that take an object, a request and a place for results; trap if it
 * fails. */
static void tex_call(struct emit *e, size_t slot, const struct ptx_operand *object)
{
	LLVMValueRef results = emit_at(e, tex_request(e), emit_int(e, 64, RESULTS),
		e->i8);
	LLVMValueRef args[] = {emit_use_reg(e, emit_reg_of(object), PTX_U64), tex_request(e),
		results};
	LLVMValueRef ok = emit_rt_call(e, slot, e->i32, args, countof(args));
	emit_trap_if(e, ir_icmp(e, LLVMIntEQ, ok, emit_u32(e, 0)));
}

#define TEXTURE(field) offsetof(struct texture_lanes, field)
/* From a lane's number to the next one of the same lane. */
#define STEP (TEXTURE_LANES * sizeof(uint32_t))
#define NUMBERS(field) ((struct numbers){TEXTURE(field), STEP})

static void tex_define_texels(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *out)
{
	LLVMValueRef texel[4];
	size_t count = inst->types[0] == PTX_F16X2 ? 2 : 4;
	for (size_t i = 0; i < 4; i++) {
		texel[i] = tex_take(e, TEXTURE(out) + i * STEP, e->i32);
	}
	for (size_t i = 0; i < count; i++) {
		LLVMValueRef value = texel[i];
		if (inst->types[0] == PTX_F16X2) {
			value = ir_or(e, texel[2 * i], ir_shl_by(e, texel[2 * i + 1], 16));
		} else if (inst->types[0] == PTX_F16) {
			value = ir_trunc(e, value, e->i16);
		}
		emit_def(e, &out->elements[i], inst->types[0],
			emit_cast(e, value, emit_type(e, inst->types[0])));
	}
	if (out->count > count) {
		/* All of an array is there. */
		emit_def(e, &out->elements[count], PTX_PRED, emit_int(e, 1, 1));
	}
}

static void tex_put_gradients(struct emit *e, const struct ptx_inst *inst, unsigned dimensions)
{
	const struct ptx_operand *o = inst->operands;
	for (unsigned i = dimensions; i < 3; i++) {
		tex_put(e, TEXTURE(dx) + i * STEP, emit_int(e, 32, 0));
		tex_put(e, TEXTURE(dy) + i * STEP, emit_int(e, 32, 0));
	}
	tex_put_vector(e, NUMBERS(dx), &o[3], 0, dimensions, PTX_F32);
	tex_put_vector(e, NUMBERS(dy), &o[4], 0, dimensions, PTX_F32);
}

/* A lane without a texture traps by itself. */
static void tex_fetch(struct emit *e)
{
	LLVMValueRef mask = e->mask;
	LLVMValueRef args[] = {tex_request(e), emit_is_vector(e) ? emit_active(e) : emit_u32(e, 1)};
	LLVMValueRef failed = emit_call_once(e, offsetof(struct rt_calls, texture), e->s.i32, args,
		countof(args));
	e->mask = emit_is_vector(e) ? failed : mask;
	emit_trap_if(e, ir_icmp(e, LLVMIntNE, failed, emit_u32(e, 0)));
	e->mask = mask;
}

/* Of all lanes, or of one, which is lane 0 of the request. */
void emit_tex(struct emit *e, const struct ptx_inst *inst)
{
	static const struct word components[] = {{"g", 1}, {"b", 2}, {"a", 3}};
	const struct ptx_operand *o = inst->operands;
	enum ptx_type type = inst->types[1];
	bool is_half = inst->types[0] == PTX_F16 || inst->types[0] == PTX_F16X2;
	bool has_level = inst->op == PTX_OP_TEX_LEVEL;
	bool has_grad = inst->op == PTX_OP_TEX_GRAD;
	unsigned dimensions = ptx_geometries[ptx_geometry_of(inst)].dimensions;
	size_t next = 3 + has_level + 2 * has_grad;

	tex_put_word(e, TEXTURE(geometry), (uint32_t)ptx_geometry_of(inst));
	tex_put_word(e, TEXTURE(mode), inst->op == PTX_OP_TLD4 ? TEXTURE_GATHER : has_level
		? TEXTURE_LEVEL : has_grad ? TEXTURE_GRAD : TEXTURE_BASE);
	tex_put_word(e, TEXTURE(has_integers), type == PTX_S32);
	tex_put_word(e, TEXTURE(wants_halves), is_half);
	tex_put_word(e, TEXTURE(component), tex_find_word(inst, components, countof(components)));
	tex_put_word(e, TEXTURE(has_offsets), next < inst->operand_count);
	tex_put(e, TEXTURE(handles), emit_use_reg(e, emit_reg_of(&o[1]), PTX_U64));
	tex_put_place(e, inst, &o[2], type, TEXTURE(layer), NUMBERS(at));
	if (has_level) {
		tex_put(e, TEXTURE(level), emit_use(e, &o[3], type));
	}
	if (has_grad) {
		tex_put_gradients(e, inst, dimensions);
	}
	for (unsigned i = 0; i < 3 && next < inst->operand_count; i++) {
		tex_put(e, TEXTURE(offset) + i * STEP, emit_int(e, 32, 0));
	}
	if (next < inst->operand_count) {
		tex_put_vector(e, NUMBERS(offset), &o[next], 0, dimensions, PTX_S32);
	}
	tex_fetch(e);
	tex_define_texels(e, inst, &o[0]);
}

#undef TEXTURE
#undef STEP
#undef NUMBERS
#define SURFACE(field) offsetof(struct surface_request, field)

static void tex_put_data(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	size_t count;
	const struct ptx_operand *elements = tex_elements(operand, &count);
	size_t size = ptx_type_size(inst->types[0]);
	for (size_t i = 0; i < count; i++) {
		tex_put(e, SURFACE(data) + i * size, emit_use(e, &elements[i], inst->types[0]));
	}
}

static void tex_take_data(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	size_t count;
	const struct ptx_operand *elements = tex_elements(operand, &count);
	size_t size = ptx_type_size(inst->types[0]);
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &elements[i], inst->types[0],
			tex_take(e, SURFACE(data) + i * size, emit_type(e, inst->types[0])));
	}
}

static void tex_surface_lane(struct emit *e, const struct ptx_inst *inst)
{
	static const struct word ops[] = {{"add", SURFACE_ADD}, {"min", SURFACE_MIN},
		{"max", SURFACE_MAX}, {"and", SURFACE_AND}, {"or", SURFACE_OR}};
	static const struct word bounds[] = {{"trap", SURFACE_TRAP}, {"clamp", SURFACE_CLAMP},
		{"zero", SURFACE_ZERO}};
	const struct ptx_operand *o = inst->operands;
	bool loads = inst->op == PTX_OP_SULD;
	bool stores = inst->op == PTX_OP_SUST || inst->op == PTX_OP_SUST_P;
	size_t count;
	tex_elements(loads ? &o[0] : &o[2], &count);

	tex_put_word(e, SURFACE(geometry), (uint32_t)ptx_geometry_of(inst));
	tex_put_word(e, SURFACE(op), loads ? SURFACE_LOAD : stores ? SURFACE_STORE
		: tex_find_word(inst, ops, countof(ops)));
	tex_put_word(e, SURFACE(bounds), tex_find_word(inst, bounds, countof(bounds)));
	tex_put_word(e, SURFACE(is_formatted), ptx_names(inst, "p"));
	tex_put_word(e, SURFACE(size), ptx_type_size(inst->types[0]));
	tex_put_word(e, SURFACE(count), (uint32_t)count);
	tex_put_word(e, SURFACE(is_signed), emit_is_signed(inst->types[0]));
	tex_put_place(e, inst, loads ? &o[2] : &o[1], PTX_S32, SURFACE(layer),
		(struct numbers){SURFACE(at), sizeof(int32_t)});
	if (!loads) {
		tex_put_data(e, inst, &o[2]);
	}
	tex_call(e, offsetof(struct rt_calls, surface), loads ? &o[1] : &o[0]);
	if (loads) {
		tex_take_data(e, inst, &o[0]);
	}
}

#undef SURFACE

static void tex_query_lane(struct emit *e, const struct ptx_inst *inst)
{
	static const struct word queries[] = {
		{"width", RT_QUERY_WIDTH}, {"height", RT_QUERY_HEIGHT}, {"depth", RT_QUERY_DEPTH},
		{"channel_data_type", RT_QUERY_CHANNEL_TYPE},
		{"channel_order", RT_QUERY_CHANNEL_ORDER}, {"array_size", RT_QUERY_ARRAY_SIZE},
		{"normalized_coords", RT_QUERY_NORMALIZED},
		{"force_unnormalized_coords", RT_QUERY_FORCE_UNNORMALIZED},
		{"num_mipmap_levels", RT_QUERY_LEVELS}, {"num_samples", RT_QUERY_SAMPLES},
		{"filter_mode", RT_QUERY_FILTER}, {"addr_mode_0", RT_QUERY_ADDRESS_0},
		{"addr_mode_1", RT_QUERY_ADDRESS_1}, {"addr_mode_2", RT_QUERY_ADDRESS_2},
		{"memory_layout", RT_QUERY_LAYOUT},
	};
	const struct ptx_operand *o = inst->operands;
	bool has_level = inst->op == PTX_OP_TXQ_LEVEL;
	tex_put_word(e, offsetof(struct rt_query, what),
		tex_find_word(inst, queries, countof(queries)));
	tex_put_word(e, offsetof(struct rt_query, is_surface), inst->op == PTX_OP_SUQ);
	tex_put(e, offsetof(struct rt_query, level),
		has_level ? emit_use(e, &o[2], PTX_U32) : emit_int(e, 32, 0));
	tex_call(e, offsetof(struct rt_calls, query), &o[1]);
	emit_def(e, &o[0], PTX_B32, tex_take(e, RESULTS, e->i32));
}

void emit_surface(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, tex_surface_lane);
}

void emit_query(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, tex_query_lane);
}
