/* SPDX-License-Identifier: MIT */
/*
 * Strided accesses: loads and stores of a warp (W = 32) at addresses whose distances are known at
 * compile time (uniformity.h).
 *
 * Adjacent elements are one access.  Each run of them is a vector, and the values of the lanes are
 * picked from the vectors.  If lanes have diverged, only runs of equal length will do in which
 * each lane has its own element, with a mask.  If there are too many runs, but all lanes are
 * equally far apart, as in an array of structures or a column of shared memory, the lanes follow
 * each other, which takes less than a gather of AVX-512, or AVX2 gathers them.  In any other case
 * the addresses are vectors, and emit_vector.c makes the access.
 *
 * For the message of a fault each access notes where its first element is, as if it belonged to
 * lane 0.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

#include <string.h>

enum { MOST_RUNS = 4, MOST_REACH = 32768 };

struct strided_run {
	int64_t start;          /* from the base */
	unsigned length;        /* elements */
	unsigned first;         /* the lane that has the first one */
};

struct strided_access {
	struct emit *e;
	LLVMTypeRef one;        /* an element */
	unsigned size;          /* of it, in bytes */
	unsigned count;         /* that each lane has, one after the other */
	enum ptx_space space;
	LLVMValueRef base;      /* pointer to i8 */
	struct strided_run runs[MOST_RUNS];
	unsigned run_count;
	uint8_t run_of[RT_MAX_WIDTH];
	uint8_t place_of[RT_MAX_WIDTH]; /* of a lane in its run */
	bool has_runs;          /* few enough */
	int64_t stride;         /* from each lane to the next; 0: none, or they overlap */
	bool has_rows;          /* one run of all lanes, or equal ones; each lane has its own
	                           elements, in order or in shared memory */
	const int64_t *offsets; /* of the lanes, from the base */
};

static unsigned strided_step_of(const struct strided_access *s)
{
	return s->size * s->count;
}

/* --- Runs --- */

/* Sort the different offsets; returns how many there are. */
static unsigned strided_sort_offsets(int64_t *out, const int64_t *offsets, unsigned lanes)
{
	unsigned count = 0;
	for (unsigned i = 0; i < lanes; i++) {
		unsigned at = count;
		while (at > 0 && out[at - 1] >= offsets[i]) {
			at--;
		}
		if (at < count && out[at] == offsets[i]) {
			continue;
		}
		memmove(out + at + 1, out + at, (count - at) * sizeof(*out));
		out[at] = offsets[i];
		count++;
	}
	return count;
}

static void strided_place_lane(struct strided_access *s, unsigned lane, int64_t offset)
{
	for (unsigned r = 0; r < s->run_count; r++) {
		struct strided_run *run = &s->runs[r];
		int64_t place = (offset - run->start) / strided_step_of(s);
		if (offset >= run->start && place < run->length) {
			s->run_of[lane] = (uint8_t)r;
			s->place_of[lane] = (uint8_t)place;
			run->first = place == 0 && run->first == s->e->width ? lane : run->first;
		}
	}
}

static bool strided_find_runs(struct strided_access *s, const int64_t *offsets)
{
	int64_t sorted[RT_MAX_WIDTH + 1];
	unsigned count = strided_sort_offsets(sorted, offsets, s->e->width);
	for (unsigned i = 0; i < count; i++) {
		if (i > 0 && sorted[i] - sorted[i - 1] == strided_step_of(s)) {
			s->runs[s->run_count - 1].length++;
			continue;
		}
		/* elements that overlap would be in two runs */
		if (s->run_count == MOST_RUNS
		    || (i > 0 && sorted[i] - sorted[i - 1] < strided_step_of(s))) {
			return false;
		}
		s->runs[s->run_count++] = (struct strided_run){sorted[i], 1, s->e->width};
	}
	assert(s->run_count > 0);
	const unsigned row = s->e->width / s->run_count;
	s->has_rows = count == s->e->width;
	for (unsigned i = 0; i < s->e->width; i++) {
		strided_place_lane(s, i, offsets[i]);
		s->has_rows &= s->space == PTX_SHARED || (s->place_of[i] == i % row
			&& s->run_of[i] == s->run_of[i - i % row]);
	}
	for (unsigned r = 0; r < s->run_count; r++) {
		s->has_rows &= s->runs[r].length * s->run_count == s->e->width;
	}
	return true;
}

/* --- Vectors --- */

static LLVMTypeRef strided_run_type(const struct strided_access *s, const struct strided_run *run)
{
	return LLVMVectorType(s->one, run->length * s->count);
}

static LLVMValueRef strided_run_place(const struct strided_access *s, const struct strided_run *run)
{
	struct emit *e = s->e;
	LLVMValueRef start = emit_scalar(e, 64, (uint64_t)run->start);
	LLVMValueRef place = emit_at(e, s->base, start, strided_run_type(s, run));
	LLVMValueRef from = ir_sub(e, LLVMBuildPtrToInt(e->builder, place, e->s.i64, ""),
		emit_scalar(e, 64, (uint64_t)run->first * strided_step_of(s)));
	emit_note_access(e, from, strided_step_of(s));
	return place;
}

/* Part `part` of the lanes whose elements are in a run; any value in the others. */
static LLVMValueRef strided_take_part(const struct strided_access *s, LLVMValueRef elements,
	unsigned run, unsigned part)
{
	unsigned order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < s->e->width; i++) {
		order[i] = s->run_of[i] == run ? s->place_of[i] * s->count + part : part;
	}
	return emit_shuffle(s->e, elements, LLVMGetUndef(LLVMTypeOf(elements)), order,
		s->e->width);
}

/* What the lanes of a run have, in the order of their elements: of several with one element, what
 * the last one has. */
static LLVMValueRef strided_order_run(const struct strided_access *s, LLVMValueRef value,
	unsigned run)
{
	unsigned order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < s->e->width; i++) {
		if (s->run_of[i] == run) {
			order[s->place_of[i]] = i;
		}
	}
	return emit_shuffle(s->e, value, LLVMGetUndef(LLVMTypeOf(value)), order,
		s->runs[run].length);
}

static LLVMValueRef strided_run_lanes(const struct strided_access *s, unsigned run)
{
	LLVMValueRef all[RT_MAX_WIDTH];
	for (unsigned i = 0; i < s->e->width; i++) {
		all[i] = LLVMConstInt(s->e->s.i1, s->run_of[i] == run, false);
	}
	return LLVMConstVector(all, s->e->width);
}

/* --- Loads --- */

static void strided_load_runs(const struct strided_access *s, LLVMValueRef *values)
{
	struct emit *e = s->e;
	for (unsigned r = 0; r < s->run_count; r++) {
		const struct strided_run *run = &s->runs[r];
		LLVMValueRef place = strided_run_place(s, run);
		LLVMValueRef all = emit_load_row(e, strided_run_type(s, run), place,
			run->length * strided_step_of(s));
		for (unsigned i = 0; i < s->count; i++) {
			LLVMValueRef mine = strided_take_part(s, all, r, i);
			values[i] = r == 0 ? mine
				: ir_select(e, strided_run_lanes(s, r), mine, values[i]);
		}
	}
}

/* Where each lane's elements begin. */
static void strided_begin_lanes(const struct strided_access *s, LLVMValueRef *places)
{
	struct emit *e = s->e;
	for (unsigned i = 0; i < s->e->width; i++) {
		places[i] = emit_at(e, s->base, emit_scalar(e, 64, (uint64_t)s->offsets[i]),
			e->s.i8);
	}
	emit_note_access(e, LLVMBuildPtrToInt(e->builder, places[0], e->s.i64, ""),
		(unsigned)s->stride);
}

/* With AVX2 four gathers take less than putting 32 elements into registers one by one. */
static bool strided_is_gathered(const struct strided_access *s)
{
	return s->size >= sizeof(uint32_t) && s->count <= 2 && s->e->has_avx2
		&& !s->e->has_avx512 && emit_does(s->e, PASS_GATHERS);
}

static void strided_gather(const struct strided_access *s, LLVMValueRef *values)
{
	struct emit *e = s->e;
	LLVMValueRef offsets[RT_MAX_WIDTH];
	LLVMTypeRef type = LLVMVectorType(s->one, e->width);
	LLVMTypeRef places = LLVMVectorType(LLVMPointerType(s->one, 0), e->width);
	LLVMValueRef base = emit_splat(e, emit_pointer_bits(e, s->base));
	for (unsigned k = 0; k < s->count; k++) {
		for (unsigned i = 0; i < e->width; i++) {
			offsets[i] = emit_scalar(e, 64, (uint64_t)s->offsets[i] + k * s->size);
		}
		LLVMValueRef at = ir_add(e, base, LLVMConstVector(offsets, e->width));
		values[k] = emit_gather(e, type, LLVMBuildIntToPtr(e->builder, at, places, ""));
	}
}

static void strided_load_lanes(const struct strided_access *s, LLVMValueRef *values)
{
	LLVMValueRef places[RT_MAX_WIDTH] = {NULL};
	strided_begin_lanes(s, places);
	if (strided_is_gathered(s)) {
		strided_gather(s, values);
	} else {
		emit_load_lanes(s->e, values, places, s->one, s->size, s->count);
	}
}

static LLVMValueRef strided_load_row(const struct strided_access *s, unsigned run)
{
	struct emit *e = s->e;
	LLVMTypeRef type = strided_run_type(s, &s->runs[run]);
	LLVMValueRef place = strided_run_place(s, &s->runs[run]);
	LLVMTypeRef types[] = {type, LLVMTypeOf(place)};
	LLVMValueRef args[] = {place, emit_u32(s->e, 1), strided_order_run(s, e->mask_lanes, run),
		LLVMConstNull(type)};
	return ir_intrinsic(e, "llvm.masked.load", types, 2, args, countof(args));
}

static LLVMValueRef strided_load_masked(const struct strided_access *s)
{
	LLVMValueRef rows[MOST_RUNS] = {NULL};
	unsigned order[RT_MAX_WIDTH], length = s->runs[0].length;
	for (unsigned r = 0; r < s->run_count; r++) {
		rows[r] = strided_load_row(s, r);
	}
	for (unsigned count = s->run_count; count > 1; count /= 2) {
		for (unsigned i = 0; i < count / 2; i++) {
			rows[i] = emit_join(s->e, rows[2 * i], rows[2 * i + 1]);
		}
	}
	for (unsigned i = 0; i < s->e->width; i++) {
		order[i] = s->run_of[i] * length + s->place_of[i];
	}
	return emit_shuffle(s->e, rows[0], LLVMGetUndef(LLVMTypeOf(rows[0])), order, s->e->width);
}

/* --- Stores --- */

static void strided_store_runs(const struct strided_access *s, LLVMValueRef value)
{
	for (unsigned r = 0; r < s->run_count; r++) {
		const struct strided_run *run = &s->runs[r];
		emit_store_row(s->e, strided_order_run(s, value, r), strided_run_place(s, run),
			run->length * s->size);
	}
}

static void strided_store_lanes(const struct strided_access *s, const LLVMValueRef *values)
{
	LLVMValueRef places[RT_MAX_WIDTH] = {NULL};
	strided_begin_lanes(s, places);
	emit_store_lanes(s->e, values, places, s->size, s->count);
}

static void strided_store_masked(const struct strided_access *s, LLVMValueRef value)
{
	struct emit *e = s->e;
	for (unsigned r = 0; r < s->run_count; r++) {
		LLVMValueRef place = strided_run_place(s, &s->runs[r]);
		LLVMValueRef row = strided_order_run(s, value, r);
		LLVMTypeRef types[] = {LLVMTypeOf(row), LLVMTypeOf(place)};
		LLVMValueRef args[] = {row, place, emit_u32(s->e, 1),
			strided_order_run(s, e->mask_lanes, r)};
		ir_intrinsic(e, "llvm.masked.store", types, 2, args, countof(args));
	}
}

/* --- Either --- */

/* The guards around shared memory stop whatever a 32-bit address and a displacement reach; what
 * offsets add must not lead past them. */
static bool strided_is_near(const int64_t *offsets, unsigned lanes)
{
	bool near = true;
	for (unsigned i = 0; i < lanes; i++) {
		near &= offsets[i] >= -MOST_REACH && offsets[i] <= MOST_REACH;
	}
	return near;
}

static int64_t strided_stride_of(const struct strided_access *s)
{
	int64_t stride = s->offsets[1] - s->offsets[0];
	bool same = stride >= strided_step_of(s) && stride <= MOST_REACH;
	for (unsigned i = 2; i < s->e->width; i++) {
		same &= s->offsets[i] - s->offsets[i - 1] == stride;
	}
	return same ? stride : 0;
}

static bool strided_find(struct strided_access *s, struct emit *e, const struct ptx_inst *inst,
	unsigned count, bool loads)
{
	const struct ptx_operand *operand = &inst->operands[loads];
	enum ptx_space space = operand->var ? operand->var->space : inst->space;
	struct uniformity at = uniformity_of_address(&e->uniformity, inst, operand);
	if (!emit_does(e, PASS_STRIDED_ACCESS) || at.is_vector || !at.offsets || count > 4
	    || (space == PTX_SHARED && !strided_is_near(at.offsets, e->width))) {
		return false;
	}
	*s = (struct strided_access){.e = e,
		.one = LLVMGetElementType(emit_type(e, inst->types[0])),
		.size = ptx_type_size(inst->types[0]), .count = count, .offsets = at.offsets,
		.space = space};
	s->has_runs = strided_find_runs(s, at.offsets);
	s->stride = strided_stride_of(s);
	bool by_lanes = s->stride || (loads && space == PTX_SHARED && count == 1);
	bool is_one = s->has_rows && count == 1 && s->size >= 4;
	return s->has_runs ? (e->mask ? is_one : loads || count == 1) : by_lanes && !e->mask;
}

bool emit_is_strided(struct emit *e, const struct ptx_inst *inst, unsigned count, bool loads)
{
	struct strided_access s;
	return strided_find(&s, e, inst, count, loads);
}

static bool strided_init(struct strided_access *s, struct emit *e, const struct ptx_inst *inst,
	unsigned count, bool loads)
{
	if (!strided_find(s, e, inst, count, loads)) {
		return false;
	}
	struct emit_mode mode = emit_begin_once(e);
	s->base = emit_address(e, &inst->operands[loads], &s->space, e->i8);
	emit_set_mode(e, mode);
	return true;
}

bool emit_strided_load(struct emit *e, const struct ptx_inst *inst, LLVMValueRef *values,
	unsigned count)
{
	struct strided_access s;
	if (!strided_init(&s, e, inst, count, true)) {
		return false;
	}
	if (e->mask) {
		values[0] = strided_load_masked(&s);
	} else if (!s.has_runs) {
		strided_load_lanes(&s, values);
	} else {
		strided_load_runs(&s, values);
	}
	return true;
}

bool emit_strided_store(struct emit *e, const struct ptx_inst *inst, const LLVMValueRef *values,
	unsigned count)
{
	struct strided_access s;
	if (!strided_init(&s, e, inst, count, false)) {
		return false;
	}
	if (e->mask) {
		strided_store_masked(&s, values[0]);
	} else if (!s.has_runs) {
		strided_store_lanes(&s, values);
	} else {
		strided_store_runs(&s, values[0]);
	}
	return true;
}
