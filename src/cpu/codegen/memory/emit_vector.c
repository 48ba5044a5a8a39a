/* SPDX-License-Identifier: MIT */
/*
 * Vector memory access: loads and stores of a whole warp (W = 32).
 *
 * While lanes are converged, a test compares the addresses of neighbours, row by row.  A row is a
 * warp, or a row of the block if that is shorter (block_class.h).  If the lanes are neighbours, as
 * in most programs, one access serves all lanes of a row.  In loops there are two more cases for
 * loads: all lanes of a row may read one element, as in the textbook's product of matrices, and the
 * lanes of a warp may be equally far apart, as when each thread has a pixel of three bytes; those
 * follow each other where there is no gather.  Otherwise there is a gather or a scatter, or each
 * lane has an access of its own, in a loop if it is a load or the kernel is large.  The warps of a
 * team share one test, so that they have long blocks without branches.
 *
 * For the message of a fault an access notes the lane, or where the element of lane 0 is and how
 * far apart the elements are.  A team notes where each row begins, as one vector, which a pass can
 * move out of loops (passes/induction.c).  Accesses to shared memory note nothing, and their
 * message names some lane of the warp.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/team.h"

#include <string.h>

enum { SHORTEST_ROW = 8 };
/* Loads of a kernel that is small enough for ways that take long to compile. */
enum { MOST_READS = 16 };
/* Stores of one that each lane may have by itself, one after the other. */
enum { MOST_WRITES = 8 };

/* The memory that is read or written: in each lane `count` adjacent elements. */
struct vector_access {
	struct emit *e;
	struct emit_member *member; /* of a team; NULL: there is none */
	LLVMTypeRef one;       /* an element */
	unsigned size;         /* of it, in bytes */
	unsigned count;
	LLVMValueRef at;       /* addresses, i64 of lanes */
	LLVMValueRef values[RT_PARTS];
	unsigned row;          /* so many lanes may lie side by side */
	bool is_noted;         /* for the message of a fault, together with other warps */
};

bool emit_is_small(const struct emit *e)
{
	return ptx_reads_few(e->func, MOST_READS);
}

static unsigned vector_step_of(const struct vector_access *w)
{
	return w->size * w->count;
}

static bool vector_may_be_one_access(const struct vector_access *w)
{
	return !w->e->mask && w->count <= 4 && vector_step_of(w) <= 16;
}

/* --- Side by side --- */

/* Lane `lane`'s address. */
static LLVMValueRef vector_address_of(struct vector_access *w, unsigned lane)
{
	return LLVMBuildExtractElement(w->e->builder, w->at, emit_scalar(w->e, 32, lane), "");
}

/* Whether lanes are as far from the first one of their row as `offsets` say, as a scalar. */
static LLVMValueRef vector_are_apart_by(struct vector_access *w, LLVMValueRef offsets)
{
	struct emit *e = w->e;
	LLVMValueRef starts[RT_MAX_WIDTH];
	for (unsigned i = 0; i < e->width; i++) {
		starts[i] = emit_scalar(e, 32, i / w->row * w->row);
	}
	LLVMValueRef bases = LLVMBuildShuffleVector(e->builder, w->at,
		LLVMGetUndef(LLVMTypeOf(w->at)), LLVMConstVector(starts, e->width), "");
	LLVMValueRef apart = ir_icmp(e, LLVMIntNE, w->at, ir_add(e, bases, offsets));
	LLVMTypeRef set = emit_set_type(e);
	return ir_icmp(e, LLVMIntEQ, ir_bitcast(e, apart, set), LLVMConstNull(set));
}

/* Each lane's number in its row, times something. */
static LLVMValueRef vector_lane_steps(struct vector_access *w, unsigned step)
{
	LLVMValueRef offsets[RT_MAX_WIDTH];
	for (unsigned i = 0; i < w->e->width; i++) {
		offsets[i] = emit_scalar(w->e, 64, (uint64_t)(i % w->row) * step);
	}
	return LLVMConstVector(offsets, w->e->width);
}

static LLVMValueRef vector_are_neighbours(struct vector_access *w)
{
	return vector_are_apart_by(w, vector_lane_steps(w, vector_step_of(w)));
}

static LLVMValueRef vector_are_alike(struct vector_access *w)
{
	return vector_are_apart_by(w, vector_lane_steps(w, 0));
}

/* Part `part` of each lane, from all elements. */
static LLVMValueRef vector_take_part(const struct vector_access *w, LLVMValueRef whole,
	unsigned part)
{
	unsigned order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < w->e->width; i++) {
		order[i] = i * w->count + part;
	}
	return w->count == 1 ? whole
		: emit_shuffle(w->e, whole, LLVMGetUndef(LLVMTypeOf(whole)), order, w->e->width);
}

/* All elements, from the parts of the lanes: 1, 2 or 4. */
static LLVMValueRef vector_join_parts(const struct vector_access *w, const LLVMValueRef *parts)
{
	if (w->count == 1) {
		return parts[0];
	}
	unsigned order[RT_MAX_WIDTH * 4];
	unsigned count = w->e->width * w->count;
	for (unsigned i = 0; i < count; i++) {
		order[i] = i % w->count * w->e->width + i / w->count;
	}
	LLVMValueRef all = emit_join(w->e, parts[0], parts[1]);
	if (w->count == 4) {
		all = emit_join(w->e, all, emit_join(w->e, parts[2], parts[3]));
	}
	return emit_shuffle(w->e, all, LLVMGetUndef(LLVMTypeOf(all)), order, count);
}

static LLVMValueRef vector_stride_of(struct vector_access *w)
{
	return ir_sub(w->e, vector_address_of(w, 1), vector_address_of(w, 0));
}

/* Whether each lane is as far from the one before as lane 1 from lane 0, upwards and not too
 * far. */
static LLVMValueRef vector_are_strided(struct vector_access *w)
{
	struct emit *e = w->e;
	LLVMValueRef stride = vector_stride_of(w);
	LLVMValueRef near = ir_icmp(e, LLVMIntULT, ir_sub(e, stride, emit_scalar(e, 64, 1)),
		emit_scalar(e, 64, INT32_MAX));
	return ir_and(e, near, vector_are_apart_by(w,
		ir_mul(e, vector_lane_steps(w, 1), emit_splat(e, stride))));
}

/* Where the row of lane `first` begins. */
static LLVMValueRef vector_row_place(struct vector_access *w, unsigned first)
{
	struct emit *e = w->e;
	LLVMValueRef base = vector_address_of(w, first);
	LLVMTypeRef type = LLVMVectorType(w->one, w->row * w->count);
	if (!w->is_noted) {
		emit_note_access(e, ir_sub(e, base,
			emit_scalar(e, 64, (uint64_t)first * vector_step_of(w))),
			vector_step_of(w));
	}
	return LLVMBuildIntToPtr(e->builder, base, LLVMPointerType(type, 0), "");
}

static LLVMValueRef vector_load_row(struct vector_access *w, unsigned first)
{
	LLVMTypeRef type = LLVMVectorType(w->one, w->row * w->count);
	LLVMValueRef place = vector_row_place(w, first);
	return emit_load_row(w->e, type, place, w->row * vector_step_of(w));
}

/* Load the one element that all lanes of a row have, for each of them. */
static LLVMValueRef vector_broadcast_row(struct vector_access *w, unsigned first)
{
	struct emit *e = w->e;
	LLVMTypeRef type = LLVMVectorType(w->one, w->count);
	if (emit_notes_access(e)) {
		emit_note_lane(e, emit_scalar(e, 32, first));
	}
	LLVMValueRef place = LLVMBuildIntToPtr(e->builder, vector_address_of(w, first),
		LLVMPointerType(type, 0), "");
	LLVMValueRef one = LLVMBuildLoad2(e->builder, type, place, "");
	LLVMSetAlignment(one, 1);
	unsigned order[RT_MAX_WIDTH * 4];
	for (unsigned i = 0; i < w->row * w->count; i++) {
		order[i] = i % w->count;
	}
	return emit_shuffle(e, one, LLVMGetUndef(type), order, w->row * w->count);
}

typedef LLVMValueRef row_fn(struct vector_access *w, unsigned first);

static void vector_load_rows(struct vector_access *w, row_fn *load)
{
	LLVMValueRef rows[RT_MAX_WIDTH / SHORTEST_ROW] = {NULL};
	unsigned count = w->e->width / w->row;
	for (unsigned i = 0; i < count; i++) {
		rows[i] = load(w, i * w->row);
	}
	for (; count > 1; count /= 2) {
		for (unsigned i = 0; i < count / 2; i++) {
			rows[i] = emit_join(w->e, rows[2 * i], rows[2 * i + 1]);
		}
	}
	for (unsigned i = 0; i < w->count; i++) {
		w->values[i] = vector_take_part(w, rows[0], i);
	}
}

static void vector_load_whole(struct vector_access *w)
{
	vector_load_rows(w, vector_load_row);
}

static void vector_load_alike(struct vector_access *w)
{
	vector_load_rows(w, vector_broadcast_row);
}

static void vector_store_whole(struct vector_access *w)
{
	LLVMValueRef whole = vector_join_parts(w, w->values);
	unsigned length = w->row * w->count;
	for (unsigned first = 0; first < w->e->width; first += w->row) {
		unsigned order[RT_MAX_WIDTH * 4];
		for (unsigned i = 0; i < length; i++) {
			order[i] = first * w->count + i;
		}
		LLVMValueRef row = emit_shuffle(w->e, whole, LLVMGetUndef(LLVMTypeOf(whole)), order,
			length);
		emit_store_row(w->e, row, vector_row_place(w, first), w->row * vector_step_of(w));
	}
}

/* --- At a stride --- */

static void vector_load_strided(struct vector_access *w)
{
	struct emit *e = w->e;
	LLVMValueRef places[RT_MAX_WIDTH];
	LLVMValueRef base = vector_address_of(w, 0), stride = vector_stride_of(w), at = base;
	if (emit_notes_access(e)) {
		LLVMValueRef high = LLVMBuildShl(e->builder, stride, emit_scalar(e, 64, 32), "");
		emit_note_lane(e, ir_or(e, high, emit_scalar(e, 64, RT_GROUP)));
		emit_set_field(e, e->warp, offsetof(struct rt_warp, base), base);
	}
	for (unsigned i = 0; i < e->width; i++, at = ir_add(e, at, stride)) {
		places[i] = LLVMBuildIntToPtr(e->builder, at, e->ptr, "");
	}
	emit_load_lanes(e, w->values, places, w->one, w->size, w->count);
}

/* --- One by one --- */

static LLVMValueRef vector_note_places(struct emit *e, LLVMValueRef at)
{
	LLVMValueRef place = emit_at(e, e->warp, emit_scalar(e, 64, offsetof(struct rt_warp, at)),
		LLVMTypeOf(at));
	LLVMValueRef store = LLVMBuildStore(e->builder, at, place);
	LLVMSetAlignment(store, sizeof(uint64_t));
	return store;
}

/* For the message of a fault: which lane reads where. */
static void vector_note_gather(struct emit *e, LLVMValueRef at)
{
	/* Volatile, or instcombine stores a vector of bits, which AVX2 does one by one. */
	LLVMSetVolatile(emit_set_field(e, e->warp, offsetof(struct rt_warp, gathers),
		emit_active(e)), true);
	emit_note_lane(e, emit_scalar(e, 32, RT_GATHERS));
	emit_set_metadata(e, vector_note_places(e, at), PASS_GATHERS_NOTE,
		LLVMMDNodeInContext2(e->context, NULL, 0));
}

static bool vector_may_gather(const struct vector_access *w)
{
	return w->size >= sizeof(uint32_t) && w->count <= 2 && emit_can_gather(w->e);
}

static void vector_gather(struct vector_access *w)
{
	struct emit *e = w->e;
	LLVMTypeRef places = LLVMVectorType(LLVMPointerType(w->one, 0), e->width);
	vector_note_gather(e, w->at);
	for (unsigned i = 0; i < w->count; i++) {
		LLVMValueRef at = ir_add(e, w->at, emit_int(e, 64, (uint64_t)i * w->size));
		w->values[i] = emit_gather(e, LLVMVectorType(w->one, e->width),
			LLVMBuildIntToPtr(e->builder, at, places, ""));
	}
}

static void vector_load_each(struct vector_access *w)
{
	struct emit *e = w->e;
	if (vector_may_gather(w)) {
		vector_gather(w);
		return;
	}
	emit_put_lanes(e, w->at, NULL, 0);
	emit_move_lanes(e, w->one, w->size, w->count, false);
	LLVMTypeRef type = LLVMVectorType(w->one, e->width);
	for (unsigned i = 0; i < w->count; i++) {
		w->values[i] = emit_take_lanes(e, type, i);
	}
}

static void vector_scatter(struct vector_access *w)
{
	struct emit *e = w->e;
	LLVMTypeRef places = LLVMVectorType(LLVMPointerType(w->one, 0), e->width);
	vector_note_gather(e, w->at);
	emit_scatter(e, w->values[0], LLVMBuildIntToPtr(e->builder, w->at, places, ""));
}

void emit_lane_places(struct emit *e, LLVMValueRef *places, LLVMValueRef at)
{
	vector_note_gather(e, at);
	if (e->mask_lanes) {
		LLVMValueRef room = emit_room(e, LLVMArrayType(e->s.i8, MOST_PER_LANE), "nowhere");
		at = ir_select(e, e->mask_lanes, at, emit_splat(e, emit_pointer_bits(e, room)));
	}
	for (unsigned i = 0; i < e->width; i++) {
		LLVMValueRef mine = LLVMBuildExtractElement(e->builder, at, emit_u32(e, i), "");
		places[i] = LLVMBuildIntToPtr(e->builder, mine, e->ptr, "");
	}
}

static void vector_store_lanes(struct vector_access *w)
{
	LLVMValueRef places[RT_MAX_WIDTH];
	emit_lane_places(w->e, places, w->at);
	emit_store_lanes(w->e, w->values, places, w->size, w->count);
}

/* Elements that overlap are stored in the order of the lanes, all elements of a lane at once. */
static void vector_store_each(struct vector_access *w)
{
	if (w->size >= sizeof(uint32_t) && w->count == 1 && emit_can_scatter(w->e)) {
		vector_scatter(w);
		return;
	}
	if (vector_step_of(w) <= MOST_PER_LANE && emit_is_small(w->e)
	    && ptx_writes_few(w->e->func, MOST_WRITES)) {
		vector_store_lanes(w);
		return;
	}
	emit_put_lanes(w->e, w->at, w->values, w->count);
	emit_move_lanes(w->e, w->one, w->size, w->count, true);
}

/* --- Either --- */

typedef void access_fn(struct vector_access *w);

static void vector_access_each(struct vector_access *all, unsigned warps, access_fn *fn)
{
	for (unsigned i = 0; i < warps; i++) {
		if (warps > 1) {
			emit_use_member(all[i].e, all[i].member);
		}
		fn(&all[i]);
	}
}

typedef LLVMValueRef test_fn(struct vector_access *w);

/* How to make an access, and the condition that the addresses of every warp must meet; the last way
 * has no condition. */
struct way {
	access_fn *access;
	test_fn *test;
};

static const struct way loads[] = {{vector_load_whole, vector_are_neighbours},
	{vector_load_alike, vector_are_alike},
	{vector_load_strided, vector_are_strided}, {vector_load_each, NULL}};
static const struct way stores[] = {{vector_store_whole, vector_are_neighbours},
	{vector_store_each, NULL}};

/* Each other way than neighbours costs time to compile, so those are for loops in small kernels. */
static bool vector_is_possible(const struct way *way, const struct vector_access *w)
{
	bool has_rows = w->row < w->e->width;
	bool suits = way->test == vector_are_alike ? has_rows
		: !has_rows && !vector_may_gather(w);
	return vector_may_be_one_access(w) && (way->test == vector_are_neighbours
		|| (!w->member && suits && emit_is_small(w->e) && emit_is_in_loop(w->e)));
}

static LLVMValueRef vector_test_all(struct vector_access *all, unsigned warps, test_fn *test)
{
	LLVMValueRef every = test(&all[0]);
	for (unsigned i = 1; i < warps; i++) {
		every = ir_and(all->e, every, test(&all[i]));
	}
	return every;
}

/* The values that each way gave, and the blocks where they are. */
struct done {
	LLVMValueRef values[countof(loads)][TEAM_MOST][RT_PARTS];
	LLVMBasicBlockRef from[countof(loads)];
	unsigned count;
};

static_assert(TEAM_MOST * RT_MAX_WIDTH / SHORTEST_ROW <= RT_MAX_WIDTH, "rows fit in rt_warp.at");

/* The rows of all warps, by the first. */
static void vector_note_rows(struct vector_access *all, unsigned warps)
{
	struct emit *e = all->e;
	unsigned rows = e->width / all->row;
	LLVMValueRef at = LLVMGetUndef(LLVMVectorType(e->s.i64, warps * rows));
	if (!emit_notes_access(e)) {
		return;
	}
	for (unsigned i = 0; i < warps * rows; i++) {
		LLVMValueRef base = vector_address_of(&all[i / rows], i % rows * all->row);
		at = LLVMBuildInsertElement(e->builder, at, base, emit_u32(e, i), "");
	}
	emit_use_member(e, all->member);
	emit_note_lane(e, emit_scalar(e, 64, (uint64_t)vector_step_of(all) << 32
		| (RT_ROWS + all->row)));
	vector_note_places(e, at);
}

static void vector_count_lines(const struct vector_access *w, const struct way *way)
{
	const bool is_alike = way->test == vector_are_alike;
	const bool is_row = is_alike || way->test == vector_are_neighbours;
	emit_count_lanes(w->e, w->at, is_row ? COUNT_AT_STEPS
		: way->test == vector_are_strided ? COUNT_STRIDED : COUNT_ANYWHERE, w->row,
		is_alike ? 0 : vector_step_of(w));
}

static void vector_go_way(struct done *done, struct vector_access *all, unsigned warps,
	const struct way *way)
{
	if (all->is_noted && way->test == vector_are_neighbours) {
		vector_note_rows(all, warps);
	}
	for (unsigned i = 0; i < warps; i++) {
		vector_count_lines(&all[i], way);
	}
	vector_access_each(all, warps, way->access);
	for (unsigned i = 0; i < warps; i++) {
		memcpy(done->values[done->count][i], all[i].values, sizeof(all[i].values));
	}
	done->from[done->count++] = LLVMGetInsertBlock(all->e->builder);
}

/* A load's values come from where it was done. */
static void vector_join_ways(struct vector_access *all, unsigned warps, const struct done *done,
	bool is_load)
{
	struct emit *e = all->e;
	LLVMBasicBlockRef after = emit_block(e, "accessed");
	for (unsigned i = 0; i < done->count; i++) {
		LLVMPositionBuilderAtEnd(e->builder, done->from[i]);
		LLVMBuildBr(e->builder, after);
	}
	emit_enter(e, after);
	for (unsigned i = 0; is_load && i < warps * all->count; i++) {
		unsigned warp = i / all->count, part = i % all->count;
		LLVMValueRef *value = &all[warp].values[part];
		*value = LLVMBuildPhi(e->builder, LLVMTypeOf(*value), "");
		for (unsigned k = 0; k < done->count; k++) {
			LLVMValueRef one = done->values[k][warp][part];
			LLVMBasicBlockRef from = done->from[k];
			LLVMAddIncoming(*value, &one, &from, 1);
		}
	}
}

/* Make the access in the first way whose test succeeds. */
static void vector_do_access(struct vector_access *all, unsigned warps, const struct way *way)
{
	struct emit *e = all->e;
	bool is_load = way == loads;
	struct done done = {.count = 0};
	for (; way->test; way++) {
		if (vector_is_possible(way, all)) {
			LLVMBasicBlockRef so = emit_block(e, "together");
			LLVMBasicBlockRef not_so = emit_block(e, "apart");
			LLVMValueRef branch = LLVMBuildCondBr(e->builder,
				vector_test_all(all, warps, way->test), so, not_so);
			if (warps > 1) {
				emit_expect_first(e, branch);
			}
			emit_enter(e, so);
			vector_go_way(&done, all, warps, way);
			emit_enter(e, not_so);
		}
	}
	vector_go_way(&done, all, warps, way);
	if (done.count > 1) {
		vector_join_ways(all, warps, &done, is_load);
	}
}

static void vector_init(struct vector_access *w, struct emit *e, const struct emit_vector *from)
{
	assert(from->count <= RT_PARTS);
	uint32_t tile[3] = {RT_MAX_WIDTH, 1, 1};
	if (e->uniformity.class >= BLOCK_CLASS_TILE) {
		block_class_tile(e->uniformity.class, tile);
	}
	*w = (struct vector_access){.e = e, .member = from->member,
		.one = LLVMGetElementType(emit_type(e, from->type)),
		.size = ptx_type_size(from->type), .count = from->count, .at = from->at,
		.row = tile[0] < SHORTEST_ROW || tile[0] > e->width ? e->width : tile[0]};
	memcpy(w->values, from->values, sizeof(w->values));
}

static void vector_init_all(struct vector_access *w, struct emit *e, const struct emit_vector *all,
	unsigned warps)
{
	assert(warps > 0 && warps <= TEAM_MOST);
	vector_init(&w[0], e, &all[0]);
	for (unsigned i = 1; i < warps; i++) {
		vector_init(&w[i], e, &all[i]);
		w[i].is_noted = true;
	}
	w[0].is_noted = warps > 1;
}

void emit_vector_load(struct emit *e, struct emit_vector *all, unsigned warps)
{
	struct vector_access w[TEAM_MOST];
	vector_init_all(w, e, all, warps);
	vector_do_access(w, warps, loads);
	for (unsigned i = 0; i < warps; i++) {
		memcpy(all[i].values, w[i].values, sizeof(all[i].values));
	}
}

void emit_vector_store(struct emit *e, struct emit_vector *all, unsigned warps)
{
	struct vector_access w[TEAM_MOST];
	vector_init_all(w, e, all, warps);
	vector_do_access(w, warps, stores);
}
