/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations and ordered accesses of a warp, at both widths: in all spaces, at one address
 * for all threads and at several, in whole and partial warps.  One worker runs the threads in
 * order, so the reference is a loop over them.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 4, THREADS = 70, CELL_ROW = 200 };

/* What thread `t` brings. */
static uint64_t value_of(uint32_t t)
{
	return t * UINT64_C(0x9e3779b97f4a7c15) >> 3;
}

/* What a thread expects to find: what the fourth before it has brought. */
static uint64_t expected_of(uint32_t t)
{
	return value_of(t - 4);
}

static float as_float(uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float value;
	memcpy(&value, &word, sizeof(value));
	return value;
}

static double as_double(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* `a`: what is there; `b`: what comes.  Floats are made small, so that none is a NaN. */
#define OPERATION(name, type, ...) \
	static uint64_t name(uint64_t a_bits, uint64_t b_bits) \
	{ \
		type a = (type)a_bits, b = (type)b_bits; \
		return (uint64_t)(__VA_ARGS__); \
	}
OPERATION(add, uint64_t, a + b)
OPERATION(and, uint64_t, a & b)
OPERATION(or, uint64_t, a | b)
OPERATION(xor, uint64_t, a ^ b)
OPERATION(exch, uint64_t, (void)a, b)
OPERATION(umin32, uint32_t, a < b ? a : b)
OPERATION(umax32, uint32_t, a > b ? a : b)
OPERATION(smin32, int32_t, a < b ? a : b)
OPERATION(smax32, int32_t, a > b ? a : b)
OPERATION(umin64, uint64_t, a < b ? a : b)
OPERATION(umax64, uint64_t, a > b ? a : b)
OPERATION(smin64, int64_t, a < b ? a : b)
OPERATION(smax64, int64_t, a > b ? a : b)
OPERATION(inc, uint32_t, a >= b ? 0 : a + 1)
OPERATION(dec, uint32_t, a == 0 || a > b ? b : a - 1)

/* In shared memory. */
static uint64_t add_float(uint64_t a, uint64_t b)
{
	float sum = as_float(a) + as_float(b);
	uint32_t bits;
	memcpy(&bits, &sum, sizeof(bits));
	return bits;
}

static uint64_t flush(uint64_t bits)
{
	return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint64_t add_double(uint64_t a, uint64_t b)
{
	double sum = as_double(a) + as_double(b);
	uint64_t bits;
	memcpy(&bits, &sum, sizeof(bits));
	return bits;
}

/* A compare-and-swap: see step(). */
static uint64_t cas(uint64_t a, uint64_t b)
{
	(void)a;
	return b;
}

static const struct operation {
	const char *text; /* after the space */
	unsigned size;
	uint64_t mask;    /* of what comes and what is there */
	uint64_t (*apply)(uint64_t a, uint64_t b);
} operations[] = {
	{"add.u32", 4, UINT32_MAX, add}, {"add.u64", 8, UINT64_MAX, add},
	{"and.b32", 4, UINT32_MAX, and}, {"or.b64", 8, UINT64_MAX, or},
	{"xor.b32", 4, UINT32_MAX, xor}, {"exch.b32", 4, UINT32_MAX, exch},
	{"exch.b64", 8, UINT64_MAX, exch}, {"min.u32", 4, UINT32_MAX, umin32},
	{"max.u32", 4, UINT32_MAX, umax32}, {"min.s32", 4, UINT32_MAX, smin32},
	{"max.s32", 4, UINT32_MAX, smax32}, {"min.u64", 8, UINT64_MAX, umin64},
	{"max.u64", 8, UINT64_MAX, umax64}, {"min.s64", 8, UINT64_MAX, smin64},
	{"max.s64", 8, UINT64_MAX, smax64}, {"inc.u32", 4, 7, inc}, {"dec.u32", 4, 7, dec},
	{"add.f32", 4, 0x9fffffff, add_float},
	{"add.f64", 8, UINT64_C(0x9fffffffffffffff), add_double},
	{"cas.b32", 4, UINT32_MAX, cas}, {"cas.b64", 8, UINT64_MAX, cas},
};

static const struct space {
	const char *name;
	const char *address; /* of the cells */
} spaces[] = {{".global", "%rd7"}, {".shared", "%rd8"}, {"", "%rd1"}};

/* The cell of a thread, as %r5. */
static const struct resident_place {
	const char *text;
	uint32_t cells;
} places[] = {
	{"min.u32 %r5, %r0, 0; add.u32 %r5, %r5, 2;", 1},
	{"and.b32 %r5, %r0, 3;", 4},
};

static uint32_t cell_of(const struct resident_place *place, uint32_t t)
{
	return place->cells == 1 ? 2 : t % CELLS;
}

/* Thread 0 moves the cells from one space to the other, and all wait. */
#define MOVE(label, from, load, to, store) \
	"setp.ne.u32 %%p1, %%r0, 0; @%%p1 bra " label "A; mov.u32 %%r6, 0;\n" \
	label ": mul.wide.u32 %%rd1, %%r6, 8; add.u64 %%rd2, " from ", %%rd1;\n" \
	load ".u64 %%rd3, [%%rd2]; add.u64 %%rd2, " to ", %%rd1; " store ".u64 [%%rd2], %%rd3;\n" \
	"add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p2, %%r6, 4; @%%p2 bra " label ";\n" \
	label "A: bar.sync 0;\n"

/* %rd<to> = value_of(%r<from>) */
#define VALUE(to, from) \
	"cvt.u64.u32 " to ", " from "; mul.lo.u64 " to ", " to ", 0x9e3779b97f4a7c15;\n" \
	"shr.u64 " to ", " to ", 3; and.b64 " to ", " to ", %%rd12;\n"

/* "atom.shared.cas.b32 %r3, [%rd5], %r7, %r4", or so. */
static void make_instruction(char *out, size_t size, const struct operation *o,
	const struct space *space, bool has_result)
{
	bool is_cas = o->apply == cas, is_long = o->size == 8;
	snprintf(out, size, "%s%s.%s %s[%%rd5], %s%s;", has_result || is_cas ? "atom" : "red",
		space->name, o->text, !has_result && !is_cas ? "" : is_long ? "%rd3, " : "%r3, ",
		!is_cas ? "" : is_long ? "%rd6, " : "%r7, ", is_long ? "%rd4" : "%r4");
}

static void run(uint32_t width, const struct operation *o, const struct space *space,
	const struct resident_place *place, bool some, bool has_result)
{
	char body[3000], text[200];
	make_instruction(text, sizeof(text), o, space, has_result);
	snprintf(body, sizeof(body), ".shared .align 8 .b8 s[32];\n"
		"add.u64 %%rd7, %%rd0, %d; mov.u64 %%rd8, s; mov.u64 %%rd12, %lld;\n"
		MOVE("I", "%%rd7", "ld", "%%rd8", "st.shared")
		VALUE("%%rd4", "%%r0") "sub.u32 %%r8, %%r0, 4;\n" VALUE("%%rd6", "%%r8")
		"cvt.u32.u64 %%r4, %%rd4; cvt.u32.u64 %%r7, %%rd6; mov.u64 %%rd3, 0;\n"
		"mov.u32 %%r3, 0; cvta.shared.u64 %%rd1, %%rd8; %s mul.wide.u32 %%rd5, %%r5, 8;\n"
		"add.u64 %%rd5, %%rd5, %s; rem.u32 %%r6, %%r0, 3; setp.eq.u32 %%p3, %%r6, 0;\n"
		"%s %s\nE: mov.b64 {%%r10, %%r11}, %%rd3; or.b32 %%r3, %%r3, %%r10;\n"
		"st.u32 [%%rd9], %%r3; st.u32 [%%rd9+4], %%r11; bar.sync 0; %s",
		CELL_ROW * GRID_WORDS * 4, (long long)o->mask, place->text, space->address,
		some ? "@%p3 bra E;" : "", text, space == &spaces[0] ? "" : "bra O;\n");
	size_t end = strlen(body);
	snprintf(body + end, sizeof(body) - end, "%s",
		space == &spaces[0] ? "" : "O: setp.ne.u32 %p1, %r0, 0; @%p1 exit; mov.u32 %r6, "
		"0;\n"
		"B: mul.wide.u32 %rd1, %r6, 8; add.u64 %rd2, %rd8, %rd1; "
		"ld.shared.u64 %rd3, [%rd2];\n"
		"add.u64 %rd2, %rd7, %rd1; st.u64 [%rd2], %rd3; add.u32 %r6, %r6, 1;\n"
		"setp.lt.u32 %p2, %r6, 4; @%p2 bra B;");
	grid_ok(width, THREADS, "", body);
}

static void fill(uint64_t cells[CELLS], const struct operation *o)
{
	for (uint32_t i = 0; i < CELLS; i++) {
		cells[i] = expected_of(i) & o->mask;
	}
}

/* What a thread leaves; the reference. */
static uint64_t step(const struct operation *o, const struct space *space, uint64_t old, uint32_t t)
{
	if (o->apply == add_float && space == &spaces[0]) {
		return flush(add_float(flush(old), flush(value_of(t) & o->mask)));
	}
	uint64_t all = o->size == 4 ? UINT32_MAX : UINT64_MAX;
	if (o->apply == cas && old != (expected_of(t) & o->mask)) {
		return old;
	}
	return o->apply(old, value_of(t) & o->mask) & all;
}

static void check(const struct operation *o, const struct space *space,
	const struct resident_place *place, bool some, bool has_result, const char *where)
{
	uint64_t cells[CELLS], found[CELLS];
	fill(cells, o);
	for (uint32_t t = 0; t < THREADS; t++) {
		bool is_in = !some || t % 3 != 0;
		uint64_t *cell = &cells[cell_of(place, t)];
		uint64_t want = is_in && (has_result || o->apply == cas) ? *cell : 0, got;
		memcpy(&got, grid.memory[t], sizeof(got));
		ck_assert_msg(got == want, "%s: thread %u found %#llx, not %#llx", where, t,
			(unsigned long long)got, (unsigned long long)want);
		*cell = is_in ? step(o, space, *cell, t) : *cell;
	}
	memcpy(found, grid.memory[CELL_ROW], sizeof(found));
	ck_assert_msg(memcmp(found, cells, sizeof(cells)) == 0, "%s", where);
}

/* Not all there is: compiling takes time.  0, 1: as the operation's number is even or odd. */
static const struct way {
	uint32_t width;
	size_t space, place;
	int some, has_result;
} ways[2][5] = {
	{{32, 0, 0, false, true}, {32, 1, 0, true, false}, {32, 2, 1, true, true},
		{1, 0, 1, true, true}, {32, 1, 1, false, true}},
	{{32, 0, 1, true, false}, {32, 1, 0, true, true}, {32, 2, 0, false, true},
		{1, 1, 0, false, true}, {32, 1, 1, true, false}},
};

START_TEST(warps_do_atomics_in_the_order_of_threads)
{
	if (driver_lacks("its threads have no order")) {
		return;
	}
	const struct operation *o = &operations[_i];
	for (size_t i = 0; i < countof(ways[0]); i++) {
		const struct way *way = &ways[_i % 2][i];
		const struct space *space = &spaces[way->space];
		const struct resident_place *place = &places[way->place];
		char where[100];
		bool has_result = way->has_result || o->apply == exch; /* there is no red.exch */
		snprintf(where, sizeof(where), "W=%u %s%s, %u cells, %s", way->width, o->text,
			space->name, place->cells, way->some ? "some" : "all");
		memset(grid.memory, 0, sizeof(grid.memory));
		fill((uint64_t *)(void *)grid.memory[CELL_ROW], o);
		run(way->width, o, space, place, way->some, has_result);
		check(o, space, place, way->some, has_result, where);
	}
}
END_TEST

/* What others may see meanwhile: a thread moves elements of its neighbour. */
static const struct ordered {
	const char *load, *store;
	size_t size;
} ordered[] = {
	{"ld.volatile.u32 %r1, [%rd8+40];", "st.volatile.u32 [%rd9+80], %r1;", 4},
	{"ld.relaxed.gpu.u8 %r1, [%rd8+40];", "st.relaxed.gpu.u8 [%rd9+80], %r1;", 1},
	{"ld.acquire.sys.b64 %rd1, [%rd8+40];", "st.release.sys.b64 [%rd9+80], %rd1;", 8},
	{"ld.volatile.v2.f32 {%f1, %f2}, [%rd8+40];", "st.volatile.v2.f32 [%rd9+80], {%f1, %f2};",
		8},
	{"ld.volatile.v4.u16 {%r1, %r2, %r3, %r4}, [%rd8+40];",
		"st.volatile.v4.u16 [%rd9+80], {%r1, %r2, %r3, %r4};", 8},
};

static void expect_moved(uint32_t t, bool is_in, size_t size)
{
	uint8_t want[8];
	memset(want, 0xee, sizeof(want));
	if (is_in) {
		uint64_t value = value_of(t ^ 1);
		memcpy(want, &value, size);
	}
	ck_assert_msg(memcmp(&grid.memory[t][20], want, sizeof(want)) == 0, "thread %u", t);
}

START_TEST(warps_load_and_store_in_order)
{
	const struct ordered *o = &ordered[_i / 4];
	bool some = _i / 2 % 2;
	char body[600];
	memset(grid.memory, 0xee, sizeof(grid.memory));
	for (uint32_t t = 0; t < THREADS; t++) {
		uint64_t value = value_of(t);
		memcpy(&grid.memory[t][10], &value, sizeof(value));
	}
	snprintf(body, sizeof(body), "xor.b32 %%r8, %%r0, 1; mad.wide.u32 %%rd8, %%r8, %d, %%rd0;\n"
		"rem.u32 %%r6, %%r0, 3; setp.eq.u32 %%p3, %%r6, 0; %s %s\n%s\nE:", GRID_WORDS * 4,
		some ? "@%p3 bra E;" : "", o->load, o->store);
	grid_ok(_i % 2 ? 32 : 1, THREADS, "", body);
	for (uint32_t t = 0; t < THREADS; t++) {
		expect_moved(t, !some || t % 3 != 0, o->size);
	}
}
END_TEST

SUITE(emit_atom)
{
	Suite *suite = suite_create("emit_atom");
	TCase *tc = tcase_create("atomics");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, warps_do_atomics_in_the_order_of_threads, 0,
		countof(operations));
	tcase_add_loop_test(tc, warps_load_and_store_in_order, 0, 4 * countof(ordered));
	suite_add_tcase(suite, tc);
	return suite;
}
