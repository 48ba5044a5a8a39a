/* SPDX-License-Identifier: MIT */
/*
 * Vector memory access: every size and number of elements, adjacent lanes and others, all lanes or
 * some, at both widths.  Each thread copies its elements from one half of the memory to the other.
 * The reference is memcpy.  Other tests have rows of threads that read one element each.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = sizeof(grid.memory) / 2 };

static const struct {
	const char *name;
	const char *registers;
	size_t size;
} types[] = {
	{"u8", "%h", 1}, {"s16", "%h", 2}, {"b32", "%r1", 4}, {"f32", "%f", 4}, {"u64", "%rd1", 8},
	{"f64", "%fd", 8},
};

static const unsigned counts[] = {1, 2, 4, 8};

/* Which slot is the thread's: PTX from %r0 to %r1, and the same in C. */
static const struct pattern {
	const char *name, *text;
	uint32_t times, plus, flip;
	bool odd_only;
} patterns[] = {
	{"side by side", "mov.u32 %r1, %r0;", 1, 0, 0, false},
	{"from the third on", "add.u32 %r1, %r0, 3;", 1, 3, 0, false},
	{"in pairs", "xor.b32 %r1, %r0, 1;", 1, 0, 1, false},
	{"backwards", "xor.b32 %r1, %r0, 63;", 1, 0, 63, false},
	{"every other", "shl.b32 %r1, %r0, 1;", 2, 0, 0, false},
	{"every third", "mul.lo.u32 %r1, %r0, 3; add.u32 %r1, %r1, 2;", 3, 2, 0, false},
	{"odd threads", "mov.u32 %r1, %r0;", 1, 0, 0, true},
	{"odd threads, backwards", "xor.b32 %r1, %r0, 63;", 1, 0, 63, true},
};

static uint32_t slot_of(const struct pattern *p, uint32_t thread)
{
	return ((thread * p->times) + p->plus) ^ p->flip;
}

static void list(char *text, size_t size, const char *registers, unsigned count)
{
	int len = snprintf(text, size, count > 1 ? "{" : "");
	for (unsigned i = 0; i < count; i++) {
		len += snprintf(text + len, size - (size_t)len, "%s%s%u", i > 0 ? ", " : "",
			registers, i);
	}
	snprintf(text + len, size - (size_t)len, count > 1 ? "}" : "");
}

/* Registers for so many elements in each lane, and how the instruction says it. */
static void name_parts(char names[80], char vector[16], size_t type, unsigned count)
{
	list(names, 80, types[type].registers, count);
	vector[0] = '\0';
	if (count > 1) {
		snprintf(vector, 16, ".v%u", count);
	}
}

static void fill_memory(void)
{
	uint8_t *bytes = (uint8_t *)grid.memory;
	for (size_t i = 0; i < HALF; i++) {
		bytes[i] = (uint8_t)(i * 7 + i / 256 * 31);
	}
	memset(bytes + HALF, 0xee, HALF);
}

static void check_copies(const struct pattern *p, uint32_t threads, size_t step, const char *what)
{
	static uint8_t want[HALF];
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	memset(want, 0xee, sizeof(want));
	for (uint32_t t = 0; t < threads; t++) {
		if (!p->odd_only || t % 2 == 1) {
			size_t at = slot_of(p, t) * step;
			memcpy(want + at, bytes + at, step);
		}
	}
	size_t i = 0;
	while (i < HALF && bytes[HALF + i] == want[i]) {
		i++;
	}
	ck_assert_msg(i == HALF, "%s, %s: byte %zu is %#x, not %#x", p->name, what, i,
		bytes[HALF + i % HALF], want[i % HALF]);
}

/* Copy, by way of shared memory or not. */
static void run(const struct pattern *p, size_t type, unsigned count, uint32_t width,
	uint32_t threads, bool by_shared)
{
	char names[80], vector[16], body[1500], what[80];
	size_t step = types[type].size * count;
	const char *of = types[type].name;
	name_parts(names, vector, type, count);
	int len = snprintf(body, sizeof(body),
		"%s and.b32 %%r2, %%r0, 1; setp.eq.u32 %%p1, %%r2, %u; @%%p1 bra END;\n"
		"mul.wide.u32 %%rd2, %%r1, %zu; add.u64 %%rd3, %%rd0, %%rd2;\n"
		"ld.global%s.%s %s, [%%rd3];\n", p->text, p->odd_only ? 0 : 2, step, vector, of,
		names);
	if (by_shared) {
		len += snprintf(body + len, sizeof(body) - (size_t)len,
			"mov.u32 %%r3, sh; mad.lo.u32 %%r3, %%r1, %zu, %%r3;\n"
			"st.shared%s.%s [%%r3+16], %s; ld.shared%s.%s %s, [%%r3+16];\n", step,
			vector, of, names, vector, of, names);
	}
	snprintf(body + len, sizeof(body) - (size_t)len, "st.global%s.%s [%%rd3+%d], %s;\nEND:",
		vector, of, HALF, names);
	snprintf(what, sizeof(what), "%s%s, W=%u, %u threads", of, vector, width, threads);
	fill_memory();
	grid_ok(width, threads, by_shared ? ".shared .align 16 .b8 sh[32768];" : "", body);
	check_copies(p, threads, step, what);
}

/* Every type, every count and every pattern, but usually not all combinations. */
START_TEST(each_thread_has_its_own)
{
	if (!support_is_tried(_i, countof(types) * countof(counts) * countof(patterns), 37, 19)) {
		return;
	}
	size_t type = (size_t)_i % countof(types);
	unsigned count = counts[(size_t)_i / countof(types) % countof(counts)];
	const struct pattern *p = &patterns[(size_t)_i / countof(types) / countof(counts)];
	if (count < 8 || types[type].size == 4) {
		run(p, type, count, 1, 50, false);
		run(p, type, count, 32, 50, false);
		run(p, type, count, 32, 64, count < 8);
	}
}
END_TEST

/* A tile of 32 rows of 33 elements, of which each warp writes rows and reads columns: as a whole
 * and, where some lanes have left, by the others. */
START_TEST(warps_read_columns_of_shared_memory)
{
	const char *name = types[_i].name, *reg = types[_i].registers;
	const size_t size = types[_i].size;
	for (uint32_t left = 0; left < 2; left++) {
		char body[1024], shared[64];
		snprintf(shared, sizeof(shared), ".shared .align 8 .b8 sh[%zu];", 33 * 32 * size);
		snprintf(body, sizeof(body), "mov.u32 %%r1, sh; mad.lo.u32 %%r1, %%r0, %zu, %%r1;\n"
			"mul.wide.u32 %%rd2, %%r0, %zu; add.u64 %%rd3, %%rd0, %%rd2;\n"
			"ld.global.%s %s0, [%%rd3]; st.shared.%s [%%r1], %s0; bar.sync 0;\n"
			"setp.lt.u32 %%p1, %%r0, %u; @%%p1 bra END;\n"
			"and.b32 %%r2, %%r0, 31; mov.u32 %%r3, sh; "
			"mad.lo.u32 %%r4, %%r2, %zu, %%r3;\n"
			"ld.shared.%s %s0, [%%r4+%zu]; st.global.%s [%%rd3+%d], %s0;\nEND:", size,
			size, name, reg, name, reg, left * 5, 33 * size, name, reg, 2 * size, name,
			HALF, reg);
		fill_memory();
		grid_ok(32, 1024, shared, body);
		const uint8_t *bytes = (const uint8_t *)grid.memory;
		for (uint32_t t = left * 5; t < 1024; t++) {
			size_t from = (t % 32 * 33 + 2) * size;
			/* what nobody wrote is 0 */
			if (from < 1024 * size) {
				ck_assert_mem_eq(bytes + HALF + t * size, bytes + from, size);
			}
		}
	}
}
END_TEST

/* Where no register is in the address. */
START_TEST(all_threads_may_have_the_same)
{
	for (uint32_t width = 1; width <= 32; width += 31) {
		fill_memory();
		grid_ok(width, 64, ".shared .align 8 .b32 s[4];",
			"st.shared.v2.u32 [s], {261, %r0}; st.shared.v2.u32 [s+8], {3, 4};\n"
			"bar.sync 0; ld.shared.v2.u32 {%r1, %r2}, [s+8]; mov.u32 %r3, 7;\n"
			"ld.param.u64 %rd1, [p]; sub.u64 %rd2, %rd1, %rd0; cvt.u32.u64 %r4, %rd2;\n"
			"ld.shared.s8 %h1, [s]; cvt.s32.s16 %r5, %h1;\n"
			"setp.gt.u32 %p1, %r0, 32; @%p1 ld.shared.u32 %r3, [s+12];\n"
			"st.global.v4.u32 [%rd9], {%r1, %r2, %r3, %r4}; st.global.u32 [%rd9+16], "
			"%r5;");
		for (uint32_t t = 0; t < 64; t++) {
			const uint32_t want[] = {3, 4, t > 32 ? 4 : 7, 0, 5};
			ck_assert_mem_eq(grid.memory[t], want, sizeof(want));
		}
	}
}
END_TEST

/* Some accesses are made in other ways in loops. */
#define AGAIN "add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p2, %%r6, 2; @%%p2 bra LOOP;"

/* Threads in rows; each reads what its row has, at a distance that nobody knows before, into its
 * own place.  One of them, or none, reads what the next row has. */
static const uint32_t rows[] = {16, 8, 4};
static const uint32_t odd_ones[] = {999, 0, 15, 16, 40};

enum { DISTANCE = 7 };

static void read_by_row(uint32_t row, size_t type, unsigned count, uint32_t odd_one)
{
	char names[80], vector[16], body[1024], what[80];
	size_t step = types[type].size * count;
	name_parts(names, vector, type, count);
	fill_memory();
	memcpy(grid.memory, &(uint32_t){DISTANCE * (uint32_t)step}, sizeof(uint32_t));
	snprintf(body, sizeof(body), "mov.u32 %%r3, %%tid.y; ld.global.u32 %%r4, [%%rd0];\n"
		"setp.ne.u32 %%p1, %%r0, %u; @%%p1 bra ALL; add.u32 %%r3, %%r3, 1; ALL:\n"
		"mul.lo.u32 %%r5, %%r3, %%r4; cvt.u64.u32 %%rd2, %%r5; "
		"add.u64 %%rd2, %%rd0, %%rd2;\n"
		"mov.u32 %%r6, 0; LOOP: ld.global%s.%s %s, [%%rd2];\n"
		"mul.wide.u32 %%rd3, %%r0, %zu; add.u64 %%rd3, %%rd0, %%rd3;\n"
		"st.global%s.%s [%%rd3+%d], %s;" AGAIN, odd_one, vector, types[type].name, names,
		step, vector, types[type].name, HALF, names);
	snprintf(what, sizeof(what), "%s%s, rows of %u", types[type].name, vector, row);
	grid.row = row;
	grid_ok(32, 64, "", body);
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	uint32_t wrong = 0;
	for (uint32_t t = 0; t < 64; t++) {
		size_t from = (t / row + (t == odd_one)) * DISTANCE * step;
		wrong += memcmp(bytes + HALF + t * step, bytes + from, step) != 0;
	}
	ck_assert_msg(wrong == 0, "%s: %u threads", what, wrong);
}

START_TEST(rows_of_threads_read_the_same)
{
	size_t type = (size_t)_i % countof(types);
	unsigned count = counts[(size_t)_i / countof(types)];
	const size_t all = countof(rows) * countof(odd_ones);
	for (size_t i = 0; i < all; i++) {
		if (!support_is_tried(_i * (int)all + (int)i, 3 * (int)(countof(types) * all), 37,
			19)) {
			continue;
		}
		read_by_row(rows[i % countof(rows)], type, count, odd_ones[i / countof(rows)]);
	}
}
END_TEST

START_TEST(a_wild_row_is_named)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	for (uint32_t i = 0; i < 4; i++) {
		char body[512], where[64];
		snprintf(body, sizeof(body), "mov.u32 %%r3, %%tid.y; mov.u64 %%rd2, %%rd0;\n"
			"setp.ne.u32 %%p1, %%r3, %u; @%%p1 bra ALL; mov.u64 %%rd2, 64; ALL:\n"
			"mov.u32 %%r6, 0; LOOP: ld.global.u32 %%r4, [%%rd2]; st.global.u32 "
			"[%%rd9], %%r4;"
			AGAIN, i);
		snprintf(where, sizeof(where), "block (0,0,0), thread (0,%u,0)", i);
		grid.row = 16;
		ck_assert_int_eq(grid_run(32, 64, "", body), CUDA_ERROR_ILLEGAL_ADDRESS);
		ck_assert_str_eq(grid.failure.what, "access to address 0x40");
		ck_assert_str_eq(grid.failure.where, where);
	}
}
END_TEST

/* Threads that lie as far from each other as memory says, in elements, or all but one do; each
 * copies its element into the other half. */
static const int distances[] = {1, 3, -3, 0};

static void copy_at_distance(int distance, size_t type, unsigned count, uint32_t odd_one)
{
	enum { THREADS = 40 };
	char names[80], vector[16], body[1024];
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	size_t step = types[type].size * count;
	int64_t first = distance < 0 ? 64 - distance * THREADS : 64;
	name_parts(names, vector, type, count);
	fill_memory();
	memcpy(grid.memory, &(int64_t){distance * (int64_t)step}, sizeof(int64_t));
	snprintf(body, sizeof(body), "ld.global.u64 %%rd2, [%%rd0]; cvt.u64.u32 %%rd3, %%r0;\n"
		"setp.ne.u32 %%p1, %%r0, %u; @%%p1 bra ALL; mov.u64 %%rd3, -1; ALL:\n"
		"mad.lo.s64 %%rd3, %%rd3, %%rd2, %%rd0; mov.u32 %%r6, 0;\n"
		"LOOP: ld.global%s.%s %s, [%%rd3+%d]; st.global%s.%s [%%rd3+%d], %s;" AGAIN,
		odd_one, vector, types[type].name, names, (int)(first * (int64_t)step), vector,
		types[type].name, (int)(first * (int64_t)step) + HALF, names);
	grid_ok(32, THREADS, "", body);
	uint32_t wrong = 0;
	for (int t = -1; t <= THREADS; t++) {
		int64_t at = (first + (int64_t)t * distance) * (int64_t)step;
		bool copied = distance == 0 || (t < 0 ? odd_one < THREADS
			: t < THREADS && (uint32_t)t != odd_one);
		wrong += (memcmp(bytes + HALF + at, bytes + at, step) == 0) != copied;
	}
	ck_assert_msg(wrong == 0, "%s%s, %d apart, thread %u: %u", types[type].name, vector,
		distance, odd_one, wrong);
}

START_TEST(lanes_lie_at_any_distance)
{
	size_t type = (size_t)_i % countof(types);
	unsigned count = counts[(size_t)_i / countof(types)];
	for (size_t i = 0; i < countof(distances); i++) {
		if (!support_is_tried(_i * (int)countof(distances) + (int)i,
				3 * (int)(countof(types) * countof(distances)), 31, 11)) {
			continue;
		}
		copy_at_distance(distances[i], type, count, 99);
		copy_at_distance(distances[i], type, count, 17);
	}
}
END_TEST

/* Elements 24 bytes apart, of which from the 21st on none is there: its thread is named, or, as
 * lanes read in no order, one after it. */
static const char *const apart[] = {"ld.global.u32 %r1, [%rd3]; st.u32 [%rd9+16], %r1;",
	"ld.global.v2.u64 {%rd4, %rd5}, [%rd3]; st.u64 [%rd9+16], %rd5;",
	"st.global.u32 [%rd3], %r0;", "st.global.v2.u64 [%rd3], {%rd0, %rd0};"};

START_TEST(a_thread_of_a_stride_is_named)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	enum { GONE = 20 };
	const uint64_t end = grid_map_page();
	const uint64_t given[] = {end - GONE * 24, 24};
	for (uint32_t i = 0; i < 4; i++) {
		char body[512];
		snprintf(body, sizeof(body), "ld.global.v2.u64 {%%rd2, %%rd6}, [%%rd0]; "
			"cvt.u64.u32 %%rd3, %%r0;\n"
			"mad.lo.u64 %%rd3, %%rd3, %s, %%rd2; mov.u32 %%r6, 0; LOOP: %s" AGAIN, i < 2
			? "24" : "%rd6", apart[_i]);
		memcpy(grid.memory, given, sizeof(given));
		ck_assert_int_eq(grid_run(i % 2 == 0 ? 1 : 32, 32, "", body),
			CUDA_ERROR_ILLEGAL_ADDRESS);
		uint32_t thread = 0;
		ck_assert_int_eq(sscanf(grid.failure.where, "block (0,0,0), thread (%u,0,0)",
			&thread), 1);
		ck_assert_uint_ge(thread, GONE);
		ck_assert_uint_le(thread, i % 2 == 0 ? GONE : 31);
	}
	grid_unmap_page(end);
}
END_TEST

/* Rows of threads that lie as far from each other as is known at compile time, up or down.  Two of
 * three threads copy their elements.  %rd3 is the thread's place, %rd2 that of thread 0. */
enum { PITCH = 160 };

static void write_rows(char *body, size_t size, size_t type, bool down, const char *access)
{
	snprintf(body, size, "mov.u32 %%r4, %%tid.x; mov.u32 %%r5, %%tid.y;\n"
		"cvt.u64.u32 %%rd4, %%r4; cvt.u64.u32 %%rd5, %%r5; mul.lo.u64 %%rd5, %%rd5, %d;\n"
		"mad.lo.u64 %%rd3, %%rd4, %zu, %%rd2; %s.s64 %%rd3, %%rd3, %%rd5;\n"
		"rem.u32 %%r6, %%r0, 3; setp.eq.u32 %%p1, %%r6, 0; @%%p1 bra END;\n%s\nEND:",
		PITCH, types[type].size, down ? "sub" : "add", access);
}

static void copy_rows(uint32_t row, size_t type, bool down)
{
	static uint8_t want[HALF];
	char access[200], body[1024];
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	const int first = down ? 8 * PITCH : PITCH;
	snprintf(access, sizeof(access), "ld.global.%s %s1, [%%rd3+%d]; st.global.%s [%%rd3+%d], "
		"%s1;", types[type].name, types[type].registers, first, types[type].name,
		first + HALF, types[type].registers);
	memcpy(body, "mov.u64 %rd2, %rd0;", 20);
	write_rows(body + 19, sizeof(body) - 19, type, down, access);
	fill_memory();
	grid.row = row;
	grid_ok(32, 64, "", body);
	memset(want, 0xee, sizeof(want));
	for (uint32_t t = 0; t < 64; t++) {
		int at = first + (int)(t / row) * (down ? -PITCH : PITCH)
			+ (int)(t % row * types[type].size);
		if (t % 3 != 0) {
			memcpy(want + at, bytes + at, types[type].size);
		}
	}
	ck_assert_msg(memcmp(bytes + HALF, want, HALF) == 0, "%s, rows of %u", types[type].name,
		row);
}

START_TEST(some_threads_of_rows_copy)
{
	copy_rows(16, (size_t)_i, false);
	copy_rows(8, (size_t)_i, true);
}
END_TEST

/* Two of three threads read what another one has put into shared memory, and put their own there
 * for it: the one whose number differs in these bits. */
START_TEST(some_threads_exchange_by_shared_memory)
{
	static const uint32_t partners[] = {1, 6, 16, 31, 32, 63};
	const char *name = types[_i].name, *reg = types[_i].registers;
	const size_t size = types[_i].size;
	const uint8_t *bytes = (const uint8_t *)grid.memory;
	for (size_t k = 0; k < countof(partners); k++) {
		uint8_t want[3 * 64 * 8];
		char body[1600];
		snprintf(body, sizeof(body), "mad.wide.u32 %%rd3, %%r0, %zu, %%rd0;\n"
			"mov.u32 %%r1, sh; mad.lo.u32 %%r4, %%r0, %zu, %%r1;\n"
			"xor.b32 %%r3, %%r0, %u;\n"
			"mad.lo.u32 %%r3, %%r3, %zu, %%r1; ld.global.%s %s1, [%%rd3];\n"
			"ld.global.%s %s2, [%%rd3+%d]; st.shared.%s [%%r4], %s1;\n"
			"st.shared.%s [%%r4+512], %s2; bar.sync 0; rem.u32 %%r6, %%r0, 3;\n"
			"setp.eq.u32 %%p1, %%r6, 0; @%%p1 bra END; ld.shared.%s %s2, [%%r3];\n"
			"st.shared.%s [%%r3+512], %s1;\n"
			"END: bar.sync 0; st.global.%s [%%rd3+%d], %s2;\n"
			"ld.shared.%s %s2, [%%r4+512]; st.global.%s [%%rd3+%d], %s2;",
			size, size, partners[k], size, name, reg, name, reg, 512, name, reg, name,
			reg, name, reg, name, reg, name, HALF, reg, name, reg, name, HALF + 512,
			reg);
		fill_memory();
		grid_ok(32, 64, ".shared .align 8 .b8 sh[1024];", body);
		for (uint32_t t = 0; t < 64; t++) {
			const uint32_t from = t ^ partners[k];
			memcpy(want + t * size, bytes + (t % 3 ? from * size : 512 + t * size),
				size);
			memcpy(want + 512 + t * size,
				bytes + (from % 3 ? from * size : 512 + t * size), size);
		}
		ck_assert_msg(memcmp(bytes + HALF, want, 64 * size) == 0
			&& memcmp(bytes + HALF + 512, want + 512, 64 * size) == 0, "%s, %u", name,
			partners[k]);
	}
}
END_TEST

/* The fourth row lies in a page that is not there. */
START_TEST(a_thread_of_a_masked_row_is_named)
{
	if (driver_lacks("it does not say which thread failed")) {
		return;
	}
	static const char *const accesses[] = {"ld.global.u32 %r1, [%rd3]; st.u32 [%rd9+16], %r1;",
		"st.global.u32 [%rd3], %r0;"};
	const uint64_t end = grid_map_page();
	char body[1024] = "ld.global.u64 %rd2, [%rd0];";
	uint64_t place = end - 3 * PITCH;
	uint32_t thread = 0;
	memcpy(grid.memory, &place, sizeof(place));
	write_rows(body + strlen(body), sizeof(body) - strlen(body), 2, false, accesses[_i]);
	grid.row = 16;
	ck_assert_int_eq(grid_run(32, 64, "", body), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_msg(sscanf(grid.failure.where, "block (0,0,0), thread (%u,3,0)", &thread) == 1,
		"%s", grid.failure.where);
	grid_unmap_page(end);
}
END_TEST

SUITE(emit_vector)
{
	Suite *suite = suite_create("emit_vector");
	TCase *tc = tcase_create("memory");
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, each_thread_has_its_own, 0,
		countof(patterns) * countof(counts) * countof(types));
	tcase_add_test(tc, all_threads_may_have_the_same);
	tcase_add_loop_test(tc, warps_read_columns_of_shared_memory, 0, (int)countof(types));
	tcase_add_loop_test(tc, rows_of_threads_read_the_same, 0, 3 * (int)countof(types));
	tcase_add_test(tc, a_wild_row_is_named);
	tcase_add_loop_test(tc, lanes_lie_at_any_distance, 0, 3 * (int)countof(types));
	tcase_add_loop_test(tc, some_threads_of_rows_copy, 0, (int)countof(types));
	tcase_add_loop_test(tc, some_threads_exchange_by_shared_memory, 0, (int)countof(types));
	tcase_add_loop_test(tc, a_thread_of_a_masked_row_is_named, 0, 2);
	tcase_add_loop_test(tc, a_thread_of_a_stride_is_named, 0, (int)countof(apart));
	suite_add_tcase(suite, tc);
	return suite;
}
