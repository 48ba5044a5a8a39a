/* SPDX-License-Identifier: MIT */
/*
 * A pass that makes gathers and scatters of 32 lanes the processor's own instructions (x86).
 *
 * Such an instruction takes a base, an index for each lane, and a factor.  With indexes of 32 bits
 * it serves twice the lanes, and no sum of 64 bits is made for any lane.  So the pass takes the
 * vector of addresses apart: what all lanes have alike becomes the base, and a remainder that is an
 * extended number of 32 bits, perhaps times an element's size, becomes the index.  Where it is not,
 * the addresses are the indexes.  LLVM by itself finds less: it sees no base behind inttoptr, and
 * on processors with AVX2 alone it makes an access for each lane.
 *
 * What emit_vector.c notes of the addresses, for the message of a fault, is taken apart likewise.
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/passes/ir_values.h"
#include "cpu/runtime/rt.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 12, MOST_TERMS = 8 };

/* Addresses: the sum of scalars and a constant, plus in each lane an index times a factor. */
struct places {
	LLVMValueRef terms[MOST_TERMS];
	unsigned count;
	uint64_t constant;
	LLVMValueRef varying;  /* i64 of lanes; NULL: none */
	bool is_mixed;         /* there are several varying parts, or too many terms */
	LLVMValueRef index;    /* what remains of it, i32 or i64 of lanes */
	LLVMValueRef base;     /* i64 */
	unsigned scale;
};

struct gathers {
	LLVMBuilderRef builder;
	LLVMModuleRef ir;
	LLVMContextRef context;
	LLVMTypeRef i1, i8, i32, i64;
	enum gather_level level;
	unsigned lanes;
	unsigned places_kind;  /* of metadata */
};

/* --- Addresses --- */

static bool gather_read_numbers(const struct gathers *g, int64_t *out, LLVMValueRef vector)
{
	bool are = LLVMIsConstant(vector);
	for (unsigned i = 0; i < g->lanes && are; i++) {
		LLVMValueRef one = LLVMConstExtractElement(vector, LLVMConstInt(g->i32, i, false));
		are = LLVMIsAConstantInt(one);
		out[i] = are ? LLVMConstIntGetSExtValue(one) : 0;
	}
	return are;
}

static bool gather_read_splat(const struct gathers *g, int64_t *out, LLVMValueRef vector)
{
	int64_t all[RT_MAX_WIDTH] = {0};
	bool same = gather_read_numbers(g, all, vector);
	for (unsigned i = 1; i < g->lanes && same; i++) {
		same = all[i] == all[0];
	}
	*out = same ? all[0] : 0;
	return same;
}

static void gather_add_varying(struct places *p, LLVMValueRef value)
{
	p->is_mixed = p->is_mixed || p->varying;
	p->varying = value;
}

static void gather_split_sum(const struct gathers *g, struct places *p, LLVMValueRef value,
	unsigned steps)
{
	int64_t number;
	LLVMValueRef scalar = ir_splat_scalar(value);
	if (gather_read_splat(g, &number, value)) {
		p->constant += (uint64_t)number;
	} else if (scalar && p->count < MOST_TERMS) {
		p->terms[p->count++] = scalar;
	} else if (ir_is(value, LLVMAdd) && steps > 0) {
		gather_split_sum(g, p, LLVMGetOperand(value, 0), steps - 1);
		gather_split_sum(g, p, LLVMGetOperand(value, 1), steps - 1);
	} else {
		gather_add_varying(p, value);
	}
}

static LLVMValueRef gather_splat32(const struct gathers *g, uint32_t number)
{
	LLVMValueRef all[RT_MAX_WIDTH];
	for (unsigned i = 0; i < g->lanes; i++) {
		all[i] = LLVMConstInt(g->i32, number, false);
	}
	return LLVMConstVector(all, g->lanes);
}

/* Constants: from the first of them. */
static bool gather_index_numbers(const struct gathers *g, struct places *p)
{
	int64_t all[RT_MAX_WIDTH];
	LLVMValueRef index[RT_MAX_WIDTH];
	if (!gather_read_numbers(g, all, p->varying)) {
		return false;
	}
	for (unsigned i = 0; i < g->lanes; i++) {
		int64_t from = (int64_t)((uint64_t)all[i] - (uint64_t)all[0]);
		if (from != (int32_t)from) {
			return false;
		}
		index[i] = LLVMConstInt(g->i32, (uint32_t)from, false);
	}
	p->constant += (uint64_t)all[0];
	p->index = LLVMConstVector(index, g->lanes);
	return true;
}

/* The factor of a product: 1, 2, 4, 8; *value is what it multiplies. */
static unsigned gather_find_scale(const struct gathers *g, LLVMValueRef *value)
{
	int64_t number;
	bool is_shift = ir_is(*value, LLVMShl), is_product = ir_is(*value, LLVMMul);
	if ((!is_shift && !is_product)
	    || !gather_read_splat(g, &number, LLVMGetOperand(*value, 1))) {
		return 1;
	}
	if (is_shift ? number < 0 || number > 3 : number != 2 && number != 4 && number != 8) {
		return 1;
	}
	*value = LLVMGetOperand(*value, 0);
	return is_shift ? 1u << number : (unsigned)number;
}

/* The operand of a shift by 32. */
static LLVMValueRef gather_shifted(const struct gathers *g, LLVMValueRef value, LLVMOpcode op)
{
	int64_t number;
	bool is = ir_is(value, op) && gather_read_splat(g, &number, LLVMGetOperand(value, 1))
		&& number == 32;
	return is ? LLVMGetOperand(value, 0) : NULL;
}

/* The number of 32 bits whose sign a value extends; of a register of 64 bits LLVM extends the lower
 * half by shifts. */
static LLVMValueRef gather_sign_extended(const struct gathers *g, LLVMValueRef value)
{
	LLVMValueRef high = gather_shifted(g, value, LLVMAShr);
	LLVMValueRef low = high ? gather_shifted(g, high, LLVMShl) : NULL;
	LLVMTypeRef ints = LLVMVectorType(g->i32, g->lanes);
	if (ir_is(value, LLVMSExt)) {
		LLVMValueRef from = LLVMGetOperand(value, 0);
		return LLVMTypeOf(from) == ints ? from : NULL;
	}
	return low ? LLVMBuildTrunc(g->builder, low, ints, "") : NULL;
}

/* Whether it is less than 2^31, as its instruction shows. */
static bool gather_is_small(const struct gathers *g, LLVMValueRef value)
{
	int64_t number;
	bool is_known = (ir_is(value, LLVMLShr) || ir_is(value, LLVMAnd))
		&& gather_read_splat(g, &number, LLVMGetOperand(value, 1));
	return is_known && (ir_is(value, LLVMLShr) ? number > 0 : (int32_t)number >= 0);
}

/* A number that is extended by its sign.  One that is not is moved down by 2^31, and the base
 * up. */
static bool gather_index_extended(const struct gathers *g, struct places *p)
{
	LLVMValueRef value = p->varying;
	unsigned scale = gather_find_scale(g, &value);
	LLVMValueRef from = gather_sign_extended(g, value);
	p->scale = scale;
	p->index = from;
	if (from) {
		return true;
	}
	from = ir_is(value, LLVMZExt) ? LLVMGetOperand(value, 0) : NULL;
	if (!from || LLVMGetElementType(LLVMTypeOf(from)) != g->i32) {
		return false;
	}
	p->index = from;
	if (!gather_is_small(g, from)) {
		const uint32_t half = UINT32_C(1) << 31;
		p->constant += (uint64_t)half * scale;
		p->index = LLVMBuildXor(g->builder, from, gather_splat32(g, half), "");
	}
	return true;
}

/* Take addresses apart, where the builder is.  Whether there are indexes of 32 bits. */
static bool gather_find_places(const struct gathers *g, struct places *p, LLVMValueRef at)
{
	*p = (struct places){.scale = 1};
	gather_split_sum(g, p, at, MOST_STEPS);
	bool is_near = !p->is_mixed && p->varying
		&& (gather_index_numbers(g, p) || gather_index_extended(g, p));
	if (!is_near) {
		*p = (struct places){.index = at, .scale = 1};
	}
	p->base = LLVMConstInt(g->i64, p->constant, false);
	for (unsigned i = 0; i < p->count; i++) {
		p->base = LLVMBuildAdd(g->builder, p->terms[i], p->base, "");
	}
	return is_near;
}

/* --- Notes for the message of a fault --- */

static void gather_set_field(const struct gathers *g, LLVMValueRef at, size_t offset,
	LLVMValueRef value)
{
	LLVMTypeRef byte = LLVMPointerType(g->i8, 0);
	LLVMValueRef distance = LLVMConstInt(g->i64, offset - offsetof(struct rt_warp, at), true);
	LLVMValueRef place = LLVMBuildGEP2(g->builder, g->i8,
		LLVMBuildBitCast(g->builder, at, byte, ""), &distance, 1, "");
	place = LLVMBuildBitCast(g->builder, place, LLVMPointerType(LLVMTypeOf(value), 0), "");
	LLVMSetAlignment(LLVMBuildStore(g->builder, value, place), sizeof(uint32_t));
}

/* The addresses that a gather has noted become a base and indexes, if they can. */
static void gather_note(const struct gathers *g, LLVMValueRef store)
{
	struct places p;
	LLVMValueRef at = LLVMGetOperand(store, 1);
	LLVMPositionBuilderBefore(g->builder, store);
	if (!gather_find_places(g, &p, LLVMGetOperand(store, 0))) {
		return;
	}
	gather_set_field(g, at, offsetof(struct rt_warp, at), p.index);
	gather_set_field(g, at, offsetof(struct rt_warp, base), p.base);
	gather_set_field(g, at, offsetof(struct rt_warp, lane), LLVMConstInt(g->i64,
		(uint64_t)p.scale << 32 | RT_NEAR_GATHERS, false));
	LLVMInstructionEraseFromParent(store);
}

/* --- Instructions --- */

/* LLVM's intrinsics, by the level, the bits of an element and those of an index. */
struct gather_form {
	enum gather_level level;
	unsigned bits, index_bits;
	unsigned lanes;        /* that one instruction serves */
	const char *gather, *scatter;
};

static const struct gather_form gather_forms[] = {
	{GATHER_AVX2, 32, 32, 8, "avx2.gather.d.d.256", NULL},
	{GATHER_AVX2, 32, 64, 4, "avx2.gather.q.d.256", NULL},
	{GATHER_AVX2, 64, 32, 4, "avx2.gather.d.q.256", NULL},
	{GATHER_AVX2, 64, 64, 4, "avx2.gather.q.q.256", NULL},
	{GATHER_AVX512, 32, 32, 16, "avx512.mask.gather.dpi.512", "avx512.mask.scatter.dpi.512"},
	{GATHER_AVX512, 32, 64, 8, "avx512.mask.gather.qpi.512", "avx512.mask.scatter.qpi.512"},
	{GATHER_AVX512, 64, 32, 8, "avx512.mask.gather.dpq.512", "avx512.mask.scatter.dpq.512"},
	{GATHER_AVX512, 64, 64, 8, "avx512.mask.gather.qpq.512", "avx512.mask.scatter.qpq.512"},
};

static const struct gather_form *gather_find_form(const struct gathers *g, unsigned bits,
	unsigned index_bits)
{
	for (size_t i = 0; i < countof(gather_forms); i++) {
		const struct gather_form *form = &gather_forms[i];
		if (form->level == g->level && form->bits == bits
		    && form->index_bits == index_bits && form->lanes <= g->lanes) {
			return form;
		}
	}
	return NULL;
}

static LLVMValueRef gather_some_lanes(const struct gathers *g, LLVMValueRef all, unsigned first,
	unsigned count)
{
	LLVMValueRef order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < count; i++) {
		order[i] = LLVMConstInt(g->i32, first + i, false);
	}
	return LLVMBuildShuffleVector(g->builder, all, LLVMGetUndef(LLVMTypeOf(all)),
		LLVMConstVector(order, count), "");
}

/* Concatenate two vectors of one type. */
static LLVMValueRef gather_join(const struct gathers *g, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef order[RT_MAX_WIDTH];
	unsigned count = 2 * LLVMGetVectorSize(LLVMTypeOf(a));
	for (unsigned i = 0; i < count; i++) {
		order[i] = LLVMConstInt(g->i32, i, false);
	}
	return LLVMBuildShuffleVector(g->builder, a, b, LLVMConstVector(order, count), "");
}

static LLVMValueRef gather_call(const struct gathers *g, const char *what, LLVMValueRef *args,
	unsigned count)
{
	char name[64];
	snprintf(name, sizeof(name), "llvm.x86.%s", what);
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->ir, id, NULL, 0);
	return LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0), fn, args,
		count, "");
}

/* Some lanes of a mask as an instruction takes them: AVX2 looks at the highest bit of an
 * element. */
static LLVMValueRef gather_mask(const struct gathers *g, const struct gather_form *form,
	LLVMValueRef lanes, unsigned first, LLVMTypeRef type)
{
	LLVMValueRef mask = gather_some_lanes(g, lanes, first, form->lanes);
	return g->level == GATHER_AVX2 ? LLVMBuildSExt(g->builder, mask, type, "") : mask;
}

struct gather_access {
	const struct gather_form *form;
	LLVMValueRef base, index, lanes, scale;
	LLVMTypeRef type;      /* of the integers that one instruction moves */
};

static LLVMValueRef gather_load(const struct gathers *g, const struct gather_access *a)
{
	LLVMValueRef parts[RT_MAX_WIDTH] = {NULL};
	unsigned count = g->lanes / a->form->lanes;
	for (unsigned i = 0; i < count; i++) {
		unsigned first = i * a->form->lanes;
		LLVMValueRef args[] = {LLVMConstNull(a->type), a->base,
			gather_some_lanes(g, a->index, first, a->form->lanes),
			gather_mask(g, a->form, a->lanes, first, a->type), a->scale};
		parts[i] = gather_call(g, a->form->gather, args, countof(args));
	}
	for (; count > 1; count /= 2) {
		for (unsigned i = 0; i < count / 2; i++) {
			parts[i] = gather_join(g, parts[2 * i], parts[2 * i + 1]);
		}
	}
	return parts[0];
}

static void gather_store(const struct gathers *g, const struct gather_access *a, LLVMValueRef value)
{
	for (unsigned first = 0; first < g->lanes; first += a->form->lanes) {
		LLVMValueRef args[] = {a->base, gather_mask(g, a->form, a->lanes, first, a->type),
			gather_some_lanes(g, a->index, first, a->form->lanes),
			gather_some_lanes(g, value, first, a->form->lanes), a->scale};
		gather_call(g, a->form->scatter, args, countof(args));
	}
}

static unsigned gather_element_bits(LLVMTypeRef type)
{
	LLVMTypeRef one = LLVMGetElementType(type);
	switch (LLVMGetTypeKind(one)) {
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
		return 64;
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(one);
	default:
		return 0;
	}
}

/* Of a call of LLVM's: its places, in this operand, and the value, which is its result or
 * `stored`. */
static void gather_replace(const struct gathers *g, LLVMValueRef call, unsigned operand,
	LLVMValueRef stored)
{
	struct places p;
	LLVMValueRef places = LLVMGetOperand(call, operand);
	LLVMTypeRef type = LLVMTypeOf(stored ? stored : call);
	unsigned bits = gather_element_bits(type);
	if (LLVMGetVectorSize(type) != g->lanes || !ir_is(places, LLVMIntToPtr)) {
		return;
	}
	LLVMPositionBuilderBefore(g->builder, call);
	unsigned index_bits = gather_find_places(g, &p, LLVMGetOperand(places, 0)) ? 32 : 64;
	struct gather_access a = {.form = gather_find_form(g, bits, index_bits), .index = p.index,
		.lanes = LLVMGetOperand(call, operand + 2),
		.scale = LLVMConstInt(g->level == GATHER_AVX2 ? g->i8 : g->i32, p.scale, false)};
	if (!a.form || (stored && !a.form->scatter)) {
		return;
	}
	LLVMTypeRef one = LLVMIntTypeInContext(g->context, bits);
	LLVMTypeRef ints = LLVMVectorType(one, g->lanes);
	a.type = LLVMVectorType(one, a.form->lanes);
	a.base = LLVMBuildIntToPtr(g->builder, p.base, LLVMPointerType(g->i8, 0), "");
	if (stored) {
		gather_store(g, &a, LLVMBuildBitCast(g->builder, stored, ints, ""));
	} else {
		LLVMReplaceAllUsesWith(call, LLVMBuildBitCast(g->builder, gather_load(g, &a), type,
			""));
	}
	LLVMInstructionEraseFromParent(call);
}

static bool gather_calls(LLVMValueRef inst, const char *prefix)
{
	size_t size;
	LLVMValueRef fn = ir_is(inst, LLVMCall) ? LLVMGetCalledValue(inst) : NULL;
	const char *name = fn && LLVMIsAFunction(fn) ? LLVMGetValueName2(fn, &size) : "";
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void gather_visit(const struct gathers *g, LLVMValueRef inst, bool notes)
{
	if (ir_is(inst, LLVMStore)) {
		if (notes && LLVMGetMetadata(inst, g->places_kind)) {
			gather_note(g, inst);
		}
	} else if (gather_calls(inst, "llvm.masked.gather.")) {
		gather_replace(g, inst, 0, NULL);
	} else if (gather_calls(inst, "llvm.masked.scatter.")) {
		gather_replace(g, inst, 1, LLVMGetOperand(inst, 0));
	}
}

void pass_gathers(LLVMModuleRef ir, LLVMValueRef fn, enum gather_level level, unsigned lanes,
	bool notes)
{
	LLVMContextRef context = LLVMGetModuleContext(ir);
	struct gathers g = {.builder = LLVMCreateBuilderInContext(context), .ir = ir,
		.context = context, .i1 = LLVMInt1TypeInContext(context),
		.i8 = LLVMInt8TypeInContext(context), .i32 = LLVMInt32TypeInContext(context),
		.i64 = LLVMInt64TypeInContext(context), .level = level, .lanes = lanes,
		.places_kind = LLVMGetMDKindIDInContext(context, PASS_GATHERS_NOTE,
			strlen(PASS_GATHERS_NOTE))};
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef next;
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			gather_visit(&g, inst, notes);
		}
	}
	LLVMDisposeBuilder(g.builder);
}
