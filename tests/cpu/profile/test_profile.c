/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_PROFILE: what kernels count, against numbers that follow from the kernel and the launch,
 * and where samples fall.
 *
 * Each instruction of the kernels has a .loc of its own, so a row of the profile is about one.
 */
#include "cpu/support/api.h"

#include "base/file.h"
#include "base/kudzu_abi.h"
#include "base/str.h"
#include "cpu/profile/profile_kernel.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 3, THREADS = 96, WARPS = BLOCKS * THREADS / 32, TRIPS = 5, LINE = 128 };

#define TOP ".version 8.0\n.target sm_80\n.address_size 64\n"
#define FILES ".file 1 \"/made/k.cu\"\n"
#define REGISTERS ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n" \
	".shared .align 16 .b8 room[4096];\n"
#define AT(line) ".loc 1 " #line " 3\n"
/* %rd1: the array; %r1: the thread, %r2: the lane. */
#define HEAD ".visible .entry k(.param .u64 p)\n{\n" REGISTERS AT(1) \
	"ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31;\n"
#define TAIL AT(99) "ret;\n}\n"
/* %rd2: the array plus so many times a register. */
#define PLACE(reg, step) "mul.wide.u32 %rd2, " reg ", " #step "; add.u64 %rd2, %rd1, %rd2;\n"

static char *json;

static void profile_setup(void)
{
	store_folder_create();
	char *path = file_join(store_outside, "profile.json");
	setenv("KUDZU_PROFILE", path, 1);
	setenv("KUDZU_CPU_THREADS", "2", 1);
	mem_free(path);
}

/* Launch a kernel of a text `times` times in blocks of (x, y), and read the profile. */
static void profile_launch(const char *body, unsigned x, unsigned y, unsigned times)
{
	struct str text = STR_INIT;
	CUmodule module = NULL;
	size_t size;
	str_addf(&text, "%s%s%s%s%s", TOP, FILES, HEAD, body, TAIL);
	setup();
	CUdeviceptr array = alloc(1 << 20);
	void *values[] = {&array};
	OK(cuModuleLoadData(&module, text.data));
	CUfunction function = kernel(module, "k");
	for (unsigned i = 0; i < times; i++) {
		OK(cuLaunchKernel(function, BLOCKS, 1, 1, x, y, 1, 0, NULL, values, NULL));
	}
	OK(cuCtxSynchronize());
	OK(cuModuleUnload(module));
	teardown();
	mem_free(json);
	ck_assert_int_eq(file_read(&json, &size, getenv("KUDZU_PROFILE"), NULL), KZ_OK);
	str_free(&text);
}

static void profile_run_text(const char *body, unsigned times)
{
	profile_launch(body, THREADS, 1, times);
}

/* A member of the row of a line; of the kernel, if the line is 0.  UINT64_MAX: it has none. */
static uint64_t profile_get(unsigned line, const char *name)
{
	char word[64];
	const char *row = json;
	if (line > 0) {
		snprintf(word, sizeof(word), "\"file\":\"/made/k.cu\",\"line\":%u,", line);
		row = strstr(json, word);
	}
	snprintf(word, sizeof(word), "\"%s\":", name);
	const char *end = row ? strpbrk(row, line > 0 ? "}" : "]") : NULL;
	const char *at = row ? strstr(row, word) : NULL;
	return at && (!end || at < end) ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;
}

/* What an instruction at line 7 counts; `warps` and the rest for all warps of the launch. */
static const struct profile_case {
	const char *what;
	const char *body;
	uint64_t instructions, threads; /* of the line, which is one instruction */
	uint64_t global, shared;        /* bytes */
	uint64_t lines;
	uint64_t contended;
} cases[] = {
	{"arithmetic", AT(7) "add.u32 %r3, %r1, 1;\n", WARPS, WARPS * 32, 0, 0, 0, 0},
	{"a loop", "mov.u32 %r4, 0;\nL:\n" AT(7) "add.u32 %r4, %r4, 1;\n" AT(8)
		"setp.lt.u32 %p1, %r4, 5; @%p1 bra L;\n", WARPS * TRIPS, WARPS * TRIPS * 32, 0, 0,
		0, 0},
	{"elements side by side", PLACE("%r1", 4) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, 0},
	{"doubles side by side", PLACE("%r1", 8) AT(7) "st.global.u64 [%rd2], %rd1;\n",
		WARPS, WARPS * 32, WARPS * 256, 0, WARPS * 2, 0},
	{"elements that begin within a line", PLACE("%r1", 4) AT(7)
		"ld.global.u32 %r3, [%rd2+64];\n", WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 2, 0},
	{"vectors of four", PLACE("%r1", 16) AT(7)
		"ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];\n", WARPS, WARPS * 32, WARPS * 512,
		0, WARPS * 4, 0},
	{"a line for each lane", PLACE("%r1", 128) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 32, 0},
	{"two lanes in a line", PLACE("%r1", 64) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 16, 0},
	{"backwards", "sub.u32 %r3, 95, %r1;\n" PLACE("%r3", 8) AT(7)
		"ld.global.u32 %r3, [%rd2];\n", WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 2, 0},
	{"one place", AT(7) "ld.global.u32 %r3, [%rd1];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, 0},
	/* 5 i mod 32 is each number once */
	{"a permutation within a line", "mul.lo.u32 %r3, %r2, 5; and.b32 %r3, %r3, 31;\n"
		PLACE("%r3", 4) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, 0},
	{"a permutation of lines", "mul.lo.u32 %r3, %r2, 5; and.b32 %r3, %r3, 31;\n"
		PLACE("%r3", 128) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 32, 0},
	/* i * i mod 32 has the values 0, 1, 4, 9, 16, 17 and 25 */
	{"squares", "mul.lo.u32 %r3, %r2, %r2; and.b32 %r3, %r3, 31;\n"
		PLACE("%r3", 128) AT(7) "ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS * 7, 0},
	{"a guard of every fourth lane", "and.b32 %r3, %r2, 3; setp.eq.u32 %p1, %r3, 0;\n"
		PLACE("%r1", 64) AT(7) "@%p1 ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, WARPS * 8 * 4, 0, WARPS * 8, 0},
	{"a guard of the first warp", "setp.lt.u32 %p1, %r1, 32;\n" PLACE("%r1", 4) AT(7)
		"@%p1 ld.global.u32 %r3, [%rd2];\n",
		WARPS, WARPS * 32, BLOCKS * 128, 0, BLOCKS, 0},
	{"a branch of odd lanes", "and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0;\n"
		"@%p1 bra J;\n" AT(7) "add.u32 %r4, %r1, 1;\n" AT(8)
		"J:\n", WARPS, WARPS * 16, 0, 0, 0, 0},
	{"a loop of which lanes leave one by one", "mov.u32 %r4, 0;\nL:\n" AT(7)
		"add.u32 %r4, %r4, 1;\n" AT(8) "setp.le.u32 %p1, %r4, %r2; @%p1 bra L;\n",
		WARPS * 32, WARPS * (33 * 16), 0, 0, 0, 0},
	{"shared memory", "mov.u32 %r3, room; mad.lo.u32 %r3, %r1, 16, %r3;\n" AT(7)
		"st.shared.v2.u32 [%r3], {%r1, %r2};\n", WARPS, WARPS * 32, 0, WARPS * 32 * 8, 0,
		0},
	{"an atomic operation on one word", AT(7) "red.global.add.u32 [%rd1], 1;\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, WARPS * 32},
	{"one on a word for each lane", PLACE("%r1", 4) AT(7)
		"atom.global.add.u32 %r3, [%rd2], 1;\n", WARPS, WARPS * 32, WARPS * 128, 0, WARPS,
		0},
	/* lanes 0 to 7 share four words, the others have one each */
	{"one on a word for two of eight lanes", "setp.lt.u32 %p1, %r2, 8; and.b32 %r3, %r1, 126;\n"
		"selp.u32 %r3, %r3, %r1, %p1;\n" PLACE("%r3", 4) AT(7)
		"red.global.add.u32 [%rd2], 1;\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, WARPS * 8},
	{"one on a word for lanes that are 20 apart", "rem.u32 %r3, %r2, 20;\n" PLACE("%r3", 4)
		AT(7) "red.global.add.u32 [%rd2], 1;\n",
		WARPS, WARPS * 32, WARPS * 128, 0, WARPS, WARPS * 24},
	{"code of no line after it", AT(7) "add.u32 %r3, %r1, 1;\n" AT(0) "add.u32 %r3, %r1, 1;\n",
		2 * WARPS, 2 * WARPS * 32, 0, 0, 0, 0},
	{"one in shared memory", AT(7) "red.shared.add.u32 [room], 1;\n",
		WARPS, WARPS * 32, 0, WARPS * 128, 0, WARPS * 32},
};

START_TEST(an_instruction_is_counted)
{
	const struct profile_case *c = &cases[_i];
	profile_run_text(c->body, 1);
	const struct {
		const char *name;
		uint64_t expected;
	} members[] = {{"instructions", c->instructions}, {"thread_instructions", c->threads},
		{"global_bytes", c->global}, {"shared_bytes", c->shared}, {"lines", c->lines},
		{"contended", c->contended}};
	for (size_t i = 0; i < countof(members); i++) {
		const uint64_t got = profile_get(7, members[i].name);
		ck_assert_msg(got == members[i].expected, "%s: %s is %" PRIu64 ", not %" PRIu64,
			c->what, members[i].name, got, members[i].expected);
	}
}
END_TEST

/* Thread (x, y) reads element start + x a + y b + k in round k, and skips that if x mod `every` is
 * not 0 or the thread's number is `limit` or more. */
static const struct profile_shape {
	unsigned x, y;
	int a, b;
	unsigned every, limit;
} shapes[] = {
	{128, 1, 1, 0, 1, 1024}, {128, 1, 1, 0, 1, 50}, {128, 1, 1, 0, 3, 1024},
	{64, 2, -1, 500, 1, 1024}, {64, 2, 40, 3, 1, 100}, {32, 4, 64, 1, 1, 1024},
	{32, 4, 5, 0, 1, 1024}, {16, 16, 1, 512, 1, 1024}, {16, 16, 1, -40, 1, 1024},
	{16, 16, 1, 16, 1, 1024}, {16, 16, 0, 512, 1, 1024}, {16, 16, 1, 0, 1, 1024},
	{16, 16, 1, 512, 5, 1024}, {8, 8, 1, 100, 1, 1024}, {8, 8, 1, -7, 1, 1024},
	{8, 8, 0, 9, 1, 1024}, {8, 8, 1, 100, 1, 17}, {5, 3, 7, 3, 1, 1024},
	{12, 1, 1, 0, 1, 1024}, {4, 4, 1, 64, 1, 1024}, {40, 3, 2, 77, 1, 1024},
	{33, 1, 32, 0, 1, 1024}, {1, 100, 0, 31, 1, 1024},
};

enum { SHAPE_START = 100000, ROUNDS = 3 };

/* Of all warps of a block. */
static uint64_t profile_shape_lines(const struct profile_shape *s)
{
	uint64_t lines = 0;
	const unsigned threads = s->x * s->y;
	for (unsigned i = 0; i < threads * ROUNDS; i++) {
		const unsigned t = i % threads, k = i / threads;
		bool is_new = t % s->x % s->every == 0 && t < s->limit;
		const int64_t here = SHAPE_START + (int)(t % s->x) * s->a + (int)(t / s->x) * s->b
			+ (int)k;
		for (unsigned u = t / 32 * 32; u < t && is_new; u++) {
			const int64_t there = SHAPE_START + (int)(u % s->x) * s->a
				+ (int)(u / s->x) * s->b + (int)k;
			is_new = here / 32 != there / 32 || u % s->x % s->every != 0
				|| u >= s->limit;
		}
		lines += is_new;
	}
	return lines;
}

/* In a small kernel some ways of an access are taken that a large one does without; where the
 * threads meet in each round, warps may run as a team. */
enum profile_size { SMALL, LARGE, MEETING, SIZES };

static void profile_run_shape(const struct profile_shape *s, enum profile_size size)
{
	struct str text = STR_INIT;
	str_addf(&text, "mov.u32 %%r2, %%tid.y; mul.lo.u32 %%r3, %%r1, %d;\n"
		"mad.lo.u32 %%r3, %%r2, %d, %%r3; add.u32 %%r3, %%r3, %d;\n"
		"rem.u32 %%r5, %%r1, %u; setp.ne.u32 %%p2, %%r5, 0; mov.u32 %%r5, %%ntid.x;\n"
		"mad.lo.u32 %%r5, %%r2, %%r5, %%r1; setp.ge.or.u32 %%p2, %%r5, %u, %%p2;\n"
		"mov.u32 %%r4, 0; mul.wide.u32 %%rd2, %%r3, 4; add.u64 %%rd2, %%rd1, %%rd2;\n",
		s->a, s->b, SHAPE_START, s->every, s->limit);
	for (unsigned i = 0; i < 20 && size == LARGE; i++) {
		str_add(&text, "ld.global.u32 %r6, [%rd1]; add.u32 %r7, %r7, %r6;\n");
	}
	str_addf(&text, "%s\nL:\n" AT(7) "ld.global.u32 %%r6, [%%rd2];\n" AT(8)
		"%sadd.u32 %%r7, %%r7, %%r6; add.u64 %%rd2, %%rd2, 4; add.u32 %%r4, %%r4, 1;\n"
		"setp.lt.u32 %%p1, %%r4, %d; @%%p1 bra L;\n" AT(9)
		"st.global.u32 [%%rd1], %%r7;\nEND:\n",
		size == MEETING ? "" : "@%p2 bra END;", size == MEETING ? "bar.sync 0; " : "",
		ROUNDS);
	profile_launch(text.data, s->x, s->y, 1);
	str_free(&text);
}

START_TEST(lines_are_counted_in_blocks_of_any_shape)
{
	const struct profile_shape *s = &shapes[_i / SIZES];
	const enum profile_size size = (enum profile_size)(_i % SIZES);
	if (size == MEETING && (s->every > 1 || s->limit < s->x * s->y)) {
		return;
	}
	profile_run_shape(s, size);
	const uint64_t got = profile_get(7, "lines"), expected = BLOCKS * profile_shape_lines(s);
	ck_assert_msg(got == expected, "blocks of (%u,%u), steps (%d,%d), every %u below %u: %"
		PRIu64 " lines, not %" PRIu64, s->x, s->y, s->a, s->b, s->every, s->limit, got,
		expected);
}
END_TEST

/* One lane per call: there are no warps, but as many threads and bytes. */
START_TEST(a_thread_is_counted_at_any_width)
{
	const struct profile_case *c = &cases[_i];
	setenv("KUDZU_CPU_WIDTH", "1", 1);
	profile_run_text(c->body, 1);
	ck_assert_uint_eq(profile_get(0, "width"), 1);
	ck_assert_uint_eq(profile_get(7, "thread_instructions"), c->threads);
	ck_assert_uint_eq(profile_get(7, "global_bytes"), c->global);
	ck_assert_uint_eq(profile_get(7, "shared_bytes"), c->shared);
}
END_TEST

START_TEST(barriers_are_waits_of_warps)
{
	profile_run_text(AT(7) "bar.sync 0;\n" AT(8) "add.u32 %r3, %r1, 1;\n", 1);
	ck_assert_uint_eq(profile_get(7, "barrier_waits"), WARPS);
	ck_assert_uint_eq(profile_get(8, "barrier_waits"), 0);
	ck_assert_uint_eq(profile_get(8, "instructions"), WARPS);
}
END_TEST

START_TEST(launches_add_up_wherever_the_code_comes_from)
{
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	for (unsigned round = 1; round <= 2; round++) {
		profile_run_text(cases[1].body, 2);
		ck_assert_uint_eq(profile_get(0, "launches"), 2 * round);
		ck_assert_uint_eq(profile_get(0, "threads"), 2 * round * BLOCKS * THREADS);
		ck_assert_uint_eq(profile_get(7, "instructions"), 2 * round * WARPS * TRIPS);
	}
}
END_TEST

/* Bytes of code of the kernel; compiled now, or from the cache. */
static int profile_code_size(void)
{
	int size = 0;
	CUmodule module = NULL;
	setup();
	OK(cuModuleLoadData(&module, TOP FILES HEAD AT(7) "bar.sync 0;\n" TAIL));
	OK(cuFuncGetAttribute(&size, CU_FUNC_ATTRIBUTE_KUDZU_CODE_SIZE, kernel(module, "k")));
	OK(cuModuleUnload(module));
	teardown();
	return size;
}

START_TEST(code_of_a_profile_is_for_profiles_alone)
{
	char *profile = mem_strdup(getenv("KUDZU_PROFILE"));
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	unsetenv("KUDZU_PROFILE");
	const int plain = profile_code_size();
	setenv("KUDZU_PROFILE", profile, 1);
	const int counted = profile_code_size();
	ck_assert_int_gt(counted, plain);
	setenv("KUDZU_PROFILE_ONLY", "time", 1);
	ck_assert_int_eq(profile_code_size(), plain);
	unsetenv("KUDZU_PROFILE");
	ck_assert_int_eq(profile_code_size(), plain);
	mem_free(profile);
}
END_TEST

/* The loop takes nearly all of the time, and launches go on until some of it has been seen. */
START_TEST(samples_fall_on_the_line_that_runs)
{
	static const char body[] = "mov.u32 %r4, 0;\n" AT(5) "mov.u32 %r5, %r1;\nL:\n" AT(7)
		"mad.lo.u32 %r5, %r5, %r5, %r4; mad.lo.u32 %r5, %r5, %r5, %r4;\n"
		"mad.lo.u32 %r5, %r5, %r5, %r4; add.u32 %r4, %r4, 1;\n"
		"setp.lt.u32 %p1, %r4, 200000; @%p1 bra L;\n" AT(9)
		PLACE("%r1", 4) "st.global.u32 [%rd2], %r5;\n";
	uint64_t hits = 0;
	setenv("KUDZU_PROFILE_ONLY", "time", 1);
	while (hits == 0) {
		profile_run_text(body, 1);
		hits = profile_get(7, "samples");
		hits = hits == UINT64_MAX ? 0 : hits;
	}
	ck_assert_uint_gt(profile_get(0, "busy_ns"), 0);
	ck_assert_uint_eq(profile_get(7, "instructions"), 0);
}
END_TEST

/* A record of a jitdump file, from `at` on. */
struct dumped {
	uint32_t kind, size;
	const char *body; /* after the time */
};

static struct dumped profile_take_record(const char **at, const char *end)
{
	struct dumped out;
	ck_assert(end - *at >= 16);
	memcpy(&out.kind, *at, sizeof(out.kind));
	memcpy(&out.size, *at + 4, sizeof(out.size));
	ck_assert(out.size >= 16 && end - *at >= (ptrdiff_t)out.size);
	out.body = *at + 16;
	*at += out.size;
	return out;
}

static uint64_t profile_word(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

/* The layout is that of perf's jitdump-specification.txt. */
START_TEST(perf_is_told_names_and_lines)
{
	char name[64];
	size_t size;
	char *data = NULL;
	uint32_t magic;
	bool has_line = false;
	snprintf(name, sizeof(name), "jit-%ld.dump", (long)getpid());
	char *path = file_join(store_outside, name);
	setenv("KUDZU_CPU_JITDUMP", store_outside, 1);
	profile_run_text(PLACE("%r1", 4) AT(7) "st.global.u32 [%rd2], %r1;\n", 1);
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	const char *at = data + 40, *end = data + size;
	memcpy(&magic, data, sizeof(magic));
	ck_assert(size > 40 && magic == 0x4A695444);
	const struct dumped lines = profile_take_record(&at, end);
	const struct dumped load = profile_take_record(&at, end);
	ck_assert_uint_eq(lines.kind, 2);
	ck_assert_uint_eq(load.kind, 0);
	/* process and thread, where it is, where it was made, its size, a number, its name */
	const uint64_t begin = profile_word(load.body + 8), bytes = profile_word(load.body + 24);
	ck_assert_uint_eq(profile_word(load.body + 16), begin);
	ck_assert_str_eq(load.body + 40, "k");
	ck_assert_uint_eq(load.size, 16 + 40 + 2 + bytes);
	ck_assert_uint_eq(profile_word(lines.body), begin);
	const char *line = lines.body + 16;
	for (uint64_t i = 0; i < profile_word(lines.body + 8); i++) {
		uint32_t number;
		memcpy(&number, line + 8, sizeof(number));
		ck_assert(profile_word(line) - begin < bytes);
		ck_assert_str_eq(line + 16, "/made/k.cu");
		has_line |= number == 7;
		line += 16 + sizeof("/made/k.cu");
	}
	ck_assert(has_line && line == lines.body - 16 + lines.size);
	mem_free(data);
	mem_free(path);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_stops_cuInit)
{
	setenv("KUDZU_PROFILE", "/nonexistent/profile.json", 1);
	FAILS(INVALID_VALUE, cuInit(0));
	ck_assert_msg(strstr(api_last_log(), "KUDZU_PROFILE: cannot write "
		"'/nonexistent/profile.json': No such file"), "%s", api_last_log());
}
END_TEST

static void *profile_write_always(void *is_over)
{
	while (!atomic_load((atomic_bool *)is_over)) {
		(void)profile_write();
	}
	return NULL;
}

/* The child has the lock as the other thread had it. */
START_TEST(a_child_ends_though_the_profile_was_being_written)
{
	atomic_bool is_over = false;
	pthread_t thread;
	setup();
	ck_assert_int_eq(pthread_create(&thread, NULL, profile_write_always, &is_over), 0);
	for (int i = 0; i < 20; i++) {
		int status;
		const pid_t child = fork();
		if (child == 0) {
			alarm(10);
			_exit(profile_write() ? 0 : 1);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	teardown();
}
END_TEST

// ThreadSanitizer calls a handler later, when the thread is on its own stack again.
#ifndef __SANITIZE_THREAD__
static void profile_use_time(int number)
{
	struct timespec now = {0};
	(void)number;
	const long end = 50000000;
	while (now.tv_sec == 0 && now.tv_nsec < end) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	}
}

/* Nothing is above that stack, and the thread's own is said to end far above it. */
static void *profile_run_on_signal_stack(void *arg)
{
	struct profile_code *code = arg;
	stack_t stack = {.ss_size = 1 << 16}, none = {.ss_flags = SS_DISABLE};
	const size_t gap = 1 << 16;
	struct sigaction action = {.sa_flags = SA_ONSTACK};
	action.sa_handler = profile_use_time;
	uint8_t *room = mmap(NULL, stack.ss_size + gap, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(room, MAP_FAILED);
	ck_assert_int_eq(mprotect(room + stack.ss_size, gap, PROT_NONE), 0);
	stack.ss_sp = room;
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	profile_run(code, (const void *)UINTPTR_MAX);
	raise(SIGUSR1);
	profile_run(NULL, NULL);
	sigaltstack(&none, NULL);
	munmap(room, stack.ss_size + gap);
	return NULL;
}

START_TEST(samples_can_be_taken_on_a_signal_stack)
{
	static const uint8_t instructions[16];
	atomic_uint samples[sizeof(instructions)] = {0};
	struct profile_code code = {.begin = (uintptr_t)instructions,
		.size = sizeof(instructions), .samples = samples};
	pthread_t thread;
	profile_sample_begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, profile_run_on_signal_stack, &code), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_gt(atomic_load(&code.elsewhere), 0);
}
END_TEST
#endif

START_TEST(running_out_of_memory_fails_a_compile)
{
	static const char text[] = TOP FILES HEAD AT(7) "bar.sync 0;\n" TAIL;
	CUmodule module = NULL;
	CUfunction function = NULL;
	setup();
	OK(cuModuleLoadData(&module, text));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	for (long n = 0; result != CUDA_SUCCESS; n++) {
		mem_fail_after(n);
		result = cuModuleGetFunction(&function, module, "k");
		mem_fail_after(-1);
		ck_assert_int_eq(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY, 1);
	}
	OK(cuModuleUnload(module));
	teardown();
}
END_TEST

SUITE(profile)
{
	Suite *suite = suite_create("profile");
	TCase *tc = suite_add_case(suite, "counters");
	tcase_add_checked_fixture(tc, profile_setup, store_folder_remove);
	tcase_add_loop_test(tc, an_instruction_is_counted, 0, countof(cases));
	tcase_add_loop_test(tc, a_thread_is_counted_at_any_width, 0, countof(cases));
	tcase_add_loop_test(tc, lines_are_counted_in_blocks_of_any_shape, 0,
		SIZES * countof(shapes));
	tcase_add_test(tc, barriers_are_waits_of_warps);
	tcase_add_test(tc, launches_add_up_wherever_the_code_comes_from);
	tcase_add_test(tc, code_of_a_profile_is_for_profiles_alone);
	tcase_add_test(tc, perf_is_told_names_and_lines);
	tcase_add_test(tc, a_file_that_cannot_be_written_stops_cuInit);
	tcase_add_test(tc, a_child_ends_though_the_profile_was_being_written);
	tcase_add_test(tc, running_out_of_memory_fails_a_compile);
	tc = suite_add_case(suite, "samples");
	tcase_add_checked_fixture(tc, profile_setup, store_folder_remove);
	tcase_add_test(tc, samples_fall_on_the_line_that_runs);
#ifndef __SANITIZE_THREAD__
	tcase_add_test(tc, samples_can_be_taken_on_a_signal_stack);
#endif
	return suite;
}
