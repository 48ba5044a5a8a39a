/* SPDX-License-Identifier: MIT */
/*
 * Collectives from PTX, at both widths: whole warps, divergent warps, and warps with threads that
 * have exited or never existed.  The references are loops over threads, written from the pseudo
 * code of the PTX ISA.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const uint32_t widths[] = {1, 32};

/* Some value of each thread: lots of equal ones, both signs. */
static uint32_t value_of(uint32_t thread)
{
	return thread % 5 * 0x30000001u ^ (thread % 3 == 0 ? 0x80000000u : 0);
}

static const char load_value[] =
	"rem.u32 %r1, %r0, 5; mul.lo.u32 %r1, %r1, 0x30000001; rem.u32 %r2, %r0, 3;\n"
	"setp.eq.u32 %p1, %r2, 0; @%p1 xor.b32 %r1, %r1, 0x80000000;\n";

/* Run the instructions on %r1 (value_of); %r3 and %p3 are the results, words 0 and 1. */
static void run_on_values(uint32_t width, uint32_t threads, const char *before, const char *text)
{
	char body[1024];
	memset(grid.memory, 0xee, sizeof(grid.memory));
	snprintf(body, sizeof(body), "%s%s mov.u32 %%r3, 0; setp.ne.u32 %%p3, 0, 0;\n%s\n"
		"selp.u32 %%r4, 1, 0, %%p3; st.u32 [%%rd9], %%r3; st.u32 [%%rd9+4], %%r4;",
		load_value, before, text);
	grid_ok(width, threads, "", body);
}

/* Shuffles: PTX ISA 9.7.9.6, with the lane's number in signed arithmetic. */
static const struct shuffle {
	const char *mode;
	int b, c;
} shuffles[] = {
	{"up", 1, 0}, {"up", 7, 0}, {"up", 3, 0x1803}, {"up", 0, 0}, {"up", 31, 0x1800},
	{"down", 1, 31}, {"down", 16, 31}, {"down", 2, 0x181f}, {"down", 5, 0x1c1f},
	{"bfly", 1, 31}, {"bfly", 16, 31}, {"bfly", 9, 0x181f}, {"bfly", 31, 0x0f},
	{"idx", 0, 31}, {"idx", 31, 31}, {"idx", 5, 0x181f}, {"idx", 37, 31}, {"idx", 9, 0x1c03},
};

static int source_of(const struct shuffle *s, int lane, bool *in_range)
{
	int bval = s->b & 31, cval = s->c & 31, mask = s->c >> 8 & 31;
	int max = (lane & mask) | (cval & ~mask & 31);
	int min = lane & mask;
	int j = s->mode[0] == 'u' ? lane - bval : s->mode[0] == 'd' ? lane + bval
		: s->mode[0] == 'b' ? lane ^ bval : (min | (bval & ~mask & 31));
	*in_range = s->mode[0] == 'u' ? j >= max : j <= max;
	return *in_range ? j : lane;
}

/* As NVRTC says it, and as nvcc does for older GPUs. */
START_TEST(shuffles_follow_the_pseudo_code)
{
	static const char *const forms[] = {
		"shfl.sync.%s.b32 %%r3|%%p3, %%r1, %d, %d, -1;",
		"shfl.sync.%s.b32 %%r3|%%p3, %%r1, %%r5, %%r6, %%r7;"};
	const struct shuffle *s = &shuffles[_i];
	char text[200], moves[200];
	snprintf(moves, sizeof(moves), "mov.u32 %%r5, %d; mov.b32 %%r6, %d; mov.u32 %%r7, -1;\n",
		s->b, s->c);
	for (size_t w = 0; w < countof(widths) * countof(forms); w++) {
		snprintf(text, sizeof(text), forms[w / countof(widths)], s->mode, s->b, s->c);
		run_on_values(widths[w % countof(widths)], 64, moves, text);
		for (uint32_t t = 0; t < 64; t++) {
			bool in_range;
			uint32_t from = t / 32 * 32 + (uint32_t)source_of(s, (int)t % 32,
				&in_range);
			ck_assert_msg(grid.memory[t][0] == value_of(from)
				&& grid.memory[t][1] == in_range, "W=%u thread %u: %#x, %u",
				widths[w % countof(widths)], t, grid.memory[t][0],
				grid.memory[t][1]);
		}
	}
}
END_TEST

/* In a warp that is whole, and in one that is not. */
START_TEST(shuffles_by_a_number_from_a_register)
{
	const struct shuffle *s = &shuffles[_i];
	char text[200];
	snprintf(text, sizeof(text), "min.u32 %%r5, %%r0, 0; add.u32 %%r5, %%r5, %d;\n"
		"shfl.sync.%s.b32 %%r3|%%p3, %%r1, %%r5, %d, -1;", s->b, s->mode, s->c);
	run_on_values(32, 40, "", text);
	for (uint32_t t = 0; t < 40; t++) {
		bool in_range;
		uint32_t from = t / 32 * 32 + (uint32_t)source_of(s, (int)t % 32, &in_range);
		if (from >= 40 && driver_lacks("of who is not there it reads anything")) {
			continue;
		}
		from = from < 40 ? from : t; /* nobody there */
		ck_assert_msg(grid.memory[t][0] == value_of(from) && grid.memory[t][1] == in_range,
			"thread %u: %#x, %u", t, grid.memory[t][0], grid.memory[t][1]);
	}
}
END_TEST

/* Each thread its own source, clamp and segments. */
START_TEST(shuffles_take_other_operands_in_each_thread)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], 32, "", "mad.lo.u32 %r5, %r0, 7, 3; shl.b32 %r6, %r0, 8;\n"
			"add.u32 %r6, %r6, 17; shfl.sync.idx.b32 %r3|%p3, %r1, %r5, %r6, -1;");
		for (uint32_t t = 0; t < 32; t++) {
			struct shuffle s = {"idx", (int)(t * 7 + 3), (int)(t << 8 | 17)};
			bool in_range;
			int from = source_of(&s, (int)t, &in_range);
			ck_assert_uint_eq(grid.memory[t][0], value_of((uint32_t)from));
			ck_assert_uint_eq(grid.memory[t][1], in_range);
		}
	}
}
END_TEST

/* Operations over the threads of a set, of which `thread` is one: word 0, and word 1 if there is
 * one. */
static bool is_odd(uint32_t thread)
{
	return value_of(thread) & 1;
}

static uint32_t want_ballot(uint32_t set, uint32_t thread, uint32_t *after)
{
	uint32_t bits = 0;
	(void)thread;
	(void)after;
	for (uint32_t i = 0; i < 32; i++) {
		bits |= (set >> i & 1 && is_odd(i) ? 1u : 0) << i;
	}
	return bits;
}

static uint32_t want_all(uint32_t set, uint32_t thread, uint32_t *after)
{
	*after = want_ballot(set, thread, after) == set;
	return 0;
}

static uint32_t want_any(uint32_t set, uint32_t thread, uint32_t *after)
{
	*after = want_ballot(set, thread, after) != 0;
	return 0;
}

static uint32_t want_uni(uint32_t set, uint32_t thread, uint32_t *after)
{
	uint32_t bits = want_ballot(set, thread, after);
	*after = bits == 0 || bits == set;
	return 0;
}

static uint32_t want_match(uint32_t set, uint32_t thread, uint32_t *after)
{
	uint32_t bits = 0;
	(void)after;
	for (uint32_t i = 0; i < 32; i++) {
		bits |= (set >> i & 1 && value_of(i) == value_of(thread) ? 1u : 0) << i;
	}
	return bits;
}

static uint32_t want_match_all(uint32_t set, uint32_t thread, uint32_t *after)
{
	*after = want_match(set, thread, after) == set;
	return *after ? set : 0;
}

static uint32_t want_elect(uint32_t set, uint32_t thread, uint32_t *after)
{
	uint32_t leader = 0;
	while (!(set >> leader & 1)) {
		leader++;
	}
	*after = leader == thread;
	return leader;
}

#define REDUCTION(name, type, start, ...) \
	static uint32_t name(uint32_t set, uint32_t thread, uint32_t *after) \
	{ \
		type a = start; \
		(void)thread; \
		(void)after; \
		for (uint32_t i = 0; i < 32; i++) { \
			type b = (type)value_of(i); \
			a = set >> i & 1 ? __VA_ARGS__ : a; \
		} \
		return (uint32_t)a; \
	}
static uint32_t want_members(uint32_t set, uint32_t thread, uint32_t *after)
{
	(void)thread;
	(void)after;
	return set;
}

static uint32_t want_true(uint32_t set, uint32_t thread, uint32_t *after)
{
	(void)set;
	(void)thread;
	*after = 1;
	return 0;
}

static uint32_t want_false(uint32_t set, uint32_t thread, uint32_t *after)
{
	(void)set;
	(void)thread;
	*after = 0;
	return 0;
}

REDUCTION(want_add, uint32_t, 0, a + b)
REDUCTION(want_and, uint32_t, UINT32_MAX, a & b)
REDUCTION(want_or, uint32_t, 0, a | b)
REDUCTION(want_xor, uint32_t, 0, a ^ b)
REDUCTION(want_umin, uint32_t, UINT32_MAX, a < b ? a : b)
REDUCTION(want_umax, uint32_t, 0, a > b ? a : b)
REDUCTION(want_smin, int32_t, INT32_MAX, a < b ? a : b)
REDUCTION(want_smax, int32_t, INT32_MIN, a > b ? a : b)

static const struct collective {
	const char *text; /* %s: the members */
	uint32_t (*want)(uint32_t set, uint32_t thread, uint32_t *after);
} collectives[] = {
	{"vote.sync.ballot.b32 %r3, %p4, %s;", want_ballot},
	{"vote.sync.all.pred %p3, %p4, %s;", want_all},
	{"vote.sync.any.pred %p3, %p4, %s;", want_any},
	{"vote.sync.uni.pred %p3, %p4, %s;", want_uni},
	{"vote.sync.ballot.b32 %r3, 1, %s;", want_members},
	{"vote.sync.all.pred %p3, 1, %s;", want_true},
	{"vote.sync.any.pred %p3, 0, %s;", want_false},
	{"vote.sync.uni.pred %p3, 0, %s;", want_true},
	{"match.any.sync.b32 %r3, %r1, %s;", want_match},
	{"mov.b64 %rd5, {77, %r1}; match.any.sync.b64 %r3, %rd5, %s;", want_match},
	{"mov.b64 %rd5, {%r1, 77}; match.any.sync.b64 %r3, %rd5, %s;", want_match},
	{"match.all.sync.b32 %r3|%p3, %r1, %s;", want_match_all},
	{"elect.sync %r3|%p3, %s;", want_elect},
	{"redux.sync.add.u32 %r3, %r1, %s;", want_add},
	{"redux.sync.add.s32 %r3, %r1, %s;", want_add},
	{"redux.sync.and.b32 %r3, %r1, %s;", want_and},
	{"redux.sync.or.b32 %r3, %r1, %s;", want_or},
	{"redux.sync.xor.b32 %r3, %r1, %s;", want_xor},
	{"redux.sync.min.u32 %r3, %r1, %s;", want_umin},
	{"redux.sync.max.u32 %r3, %r1, %s;", want_umax},
	{"redux.sync.min.s32 %r3, %r1, %s;", want_smin},
	{"redux.sync.max.s32 %r3, %r1, %s;", want_smax},
};

/* Ways to come to an instruction: `members` and, of each thread, the set it is in; 0: it does not
 * come. */
static uint32_t everybody(uint32_t thread)
{
	(void)thread;
	return UINT32_MAX;
}

static uint32_t low_half(uint32_t thread)
{
	return thread < 20 ? 0xfffff : 0;
}

static uint32_t by_parity(uint32_t thread)
{
	return thread % 2 ? 0xaaaaaaaa : 0x55555555;
}

static uint32_t without_tens(uint32_t thread)
{
	return thread < 10 || thread >= 20 ? 0xfff003ff : 0;
}

static const struct way {
	uint32_t threads;
	const char *before; /* the instruction */
	const char *members;
	const char *after;
	uint32_t (*set_of)(uint32_t thread);
} ways[] = {
	{32, "", "-1", "", everybody},
	{32, "min.u32 %r8, %r0, 0; sub.u32 %r8, %r8, 1;", "%r8", "", everybody},
	{20, "", "-1", "", low_half},
	{20, "", "0xfffff", "", low_half},
	/* both sides of a branch, the same instruction twice */
	{32, "setp.eq.u32 %p5, %r7, 0; @%p5 bra A; @%p5 trap; mov.u32 %r8, 0xaaaaaaaa; bra B;\n"
		"A: mov.u32 %r8, 0x55555555; B:", "%r8", "", by_parity},
	{32, "setp.lt.u32 %p5, %r0, 20; @!%p5 bra D;", "0xfffff", "D:", low_half},
	/* some have exited, before or after the others came */
	{32, "sub.u32 %r8, %r0, 10; setp.lt.u32 %p5, %r8, 10; @%p5 exit;", "-1", "", without_tens},
	{32, "sub.u32 %r8, %r0, 10; setp.lt.u32 %p5, %r8, 10; @!%p5 bra C; nanosleep.u32 1;\n"
		"nanosleep.u32 1; exit; C:", "-1", "", without_tens},
};

/* The text with the members in place of %s. */
static void make_text(char *out, size_t size, const struct way *way, const char *text)
{
	const char *hole = strstr(text, "%s");
	snprintf(out, size, "and.b32 %%r7, %%r0, 1; and.b32 %%r9, %%r1, 1;\n"
		"setp.ne.u32 %%p4, %%r9, 0;\n%s %.*s%s%s\n%s", way->before, (int)(hole - text),
		text, way->members, hole + 2, way->after);
}

START_TEST(collectives_work_on_whoever_is_there)
{
	if (!support_is_tried(_i, countof(collectives) * countof(ways), 59, 19)) {
		return;
	}
	const struct collective *c = &collectives[(size_t)_i / countof(ways)];
	const struct way *way = &ways[(size_t)_i % countof(ways)];
	char text[600];
	make_text(text, sizeof(text), way, c->text);
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], way->threads, "", text);
		for (uint32_t t = 0; t < way->threads; t++) {
			uint32_t set = way->set_of(t), after = 0;
			uint32_t want = set ? c->want(set, t, &after) : 0;
			bool gone = set == 0 && way->set_of == without_tens;
			ck_assert_msg(gone || (grid.memory[t][0] == want
				&& grid.memory[t][1] == after), "W=%u thread %u: %#x, %u, not "
				"%#x:\n%s",
				widths[w], t, grid.memory[t][0], grid.memory[t][1], want, text);
		}
	}
}
END_TEST

/* f32: bits of thread 0 and 1, the others have 2.0 and -3.0. */
static const struct real {
	const char *op;
	uint32_t a, b, want;
} reals[] = {
	{"min", 0x3f800000, 0x40a00000, 0xc0400000}, {"max", 0x3f800000, 0x40a00000, 0x40a00000},
	{"min.abs", 0x3f800000, 0xbf000000, 0x3f000000}, {"max.abs", 0, 0xc0a00000, 0x40a00000},
	{"min", 0x7fc00000, 0xffc00000, 0xc0400000}, {"max", 0xff800000, 0x7f800000, 0x7f800000},
	{"min.NaN", 0x7fc00000, 0, 0x7fffffff}, {"max.NaN", 0, 0xff800001, 0x7fffffff},
	{"max.abs.NaN", 0xc0a00000, 0, 0x40a00000},
};

START_TEST(reductions_of_f32_know_nan_and_zeros)
{
	const struct real *r = &reals[_i];
	char text[300];
	snprintf(text, sizeof(text), "and.b32 %%r5, %%r0, 1; setp.eq.u32 %%p5, %%r5, 0;\n"
		"selp.f32 %%f1, 2.0, -3.0, %%p5; setp.eq.u32 %%p5, %%r0, 0;\n"
		"@%%p5 mov.b32 %%f1, %u; setp.eq.u32 %%p5, %%r0, 1; @%%p5 mov.b32 %%f1, %u;\n"
		"redux.sync.%s.f32 %%f2, %%f1, -1; mov.b32 %%r3, %%f2;", r->a, r->b, r->op);
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], 32, "", text);
		ck_assert_uint_eq(grid.memory[0][0], r->want);
		ck_assert_uint_eq(grid.memory[31][0], r->want);
	}
}
END_TEST

START_TEST(reductions_of_zeros_and_nans_only)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], 32, "", "setp.eq.u32 %p5, %r0, 9;\n"
			"selp.f32 %f1, 0f80000000, 0f00000000, %p5;\n"
			"redux.sync.min.f32 %f2, %f1, -1; mov.b32 %r3, %f2;");
		ck_assert_uint_eq(grid.memory[0][0], 0x80000000);
		run_on_values(widths[w], 32, "", "mov.b32 %f1, 0xffc00001;\n"
			"redux.sync.max.f32 %f2, %f1, -1; mov.b32 %r3, %f2;");
		ck_assert_uint_eq(grid.memory[0][0], 0x7fffffff);
	}
}
END_TEST

START_TEST(old_forms_work_on_who_comes)
{
	if (driver_lacks("they are gone since PTX 6.4")) {
		return;
	}
	static const char text[] = "setp.lt.u32 %p5, %r0, 20; @!%p5 bra D;\n"
		"setp.gt.u32 %p6, %r0, 9; vote.ballot.b32 %r3, %p6; vote.all.pred %p3, %p6;\n"
		"shfl.down.b32 %r5|%p7, %r0, 1, 31; st.u32 [%rd9+8], %r5; D:";
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], 32, "", text);
		for (uint32_t t = 0; t < 32; t++) {
			ck_assert_uint_eq(grid.memory[t][0], t < 20 ? 0xffc00 : 0);
			ck_assert_uint_eq(grid.memory[t][1], 0);
			ck_assert_uint_eq(grid.memory[t][2],
				t < 19 ? t + 1 : t < 20 ? 19 : 0xeeeeeeee);
		}
	}
}
END_TEST

START_TEST(a_member_that_never_comes_is_a_deadlock)
{
	if (driver_lacks("it waits forever")) {
		return;
	}
	for (size_t w = 0; w < countof(widths); w++) {
		CUresult result = grid_run(widths[w], 32, "", "setp.lt.u32 %p5, %r0, 20;\n"
			"@!%p5 bra D; vote.sync.ballot.b32 %r3, %p5, -1; bra E;\n"
			"D: bar.sync 0; E:");
		ck_assert_int_eq(result, CUDA_ERROR_LAUNCH_FAILED);
		ck_assert_ptr_nonnull(strstr(grid.failure.what, "deadlock"));
	}
}
END_TEST

/* A sum over the warp, again and again, with other instructions between. */
START_TEST(collectives_in_loops)
{
	for (size_t w = 0; w < countof(widths); w++) {
		run_on_values(widths[w], 96, "", "mov.u32 %r3, %r0; mov.u32 %r5, 16;\n"
			"L: shfl.sync.bfly.b32 %r6, %r3, %r5, 31, -1; add.u32 %r3, %r3, %r6;\n"
			"shr.u32 %r5, %r5, 1; setp.ne.u32 %p5, %r5, 0; @%p5 bra L;");
		for (uint32_t t = 0; t < 96; t++) {
			ck_assert_uint_eq(grid.memory[t][0], 496 + t / 32 * 1024);
		}
	}
}
END_TEST

/* What a block that is a cluster of its own reads, and where nothing is measured. */
START_TEST(special_registers_say_that_there_are_no_clusters)
{
	static const struct {
		const char *name;
		uint32_t want;
	} regs[] = {
		{"%clusterid.x", 0}, {"%clusterid.z", 0}, {"%nclusterid.x", 1},
		{"%nclusterid.z", 1},
		{"%cluster_ctaid.y", 0}, {"%cluster_nctaid.x", 1}, {"%cluster_nctaid.z", 1},
		{"%cluster_ctarank", 0}, {"%cluster_nctarank", 1}, {"%aggr_smem_size", 1024 + 24},
		{"%total_smem_size", 128}, {"%pm0", 0}, {"%pm7", 0}, {"%envreg0", 0},
		{"%envreg31", 0},
		{"%locality_domain_id", 0}, {"%locality_domain_supplemental_sm", 0},
	};
	const size_t count = countof(regs) - (driver_lacks("it is of PTX 9.0") ? 2 : 0);
	char body[2048];
	size_t len = 0;
	for (size_t i = 0; i < count; i++) {
		len += (size_t)snprintf(body + len, sizeof(body) - len, "mov.b32 %%r1, %s;\n"
			"st.u32 [%%rd9+%zu], %%r1;\n", regs[i].name, i * 4);
	}
	snprintf(body + len, sizeof(body) - len, "st.shared.u32 [s], 1;\n"
		"mov.u64 %%rd1, %%pm3_64;\n"
		"mov.u64 %%rd2, %%current_graph_exec; or.b64 %%rd1, %%rd1, %%rd2;\n"
		"st.u64 [%%rd9+128], %%rd1; mov.pred %%p1, %%is_explicit_cluster;\n"
		"selp.u32 %%r1, 1, 0, %%p1; st.u32 [%%rd9+136], %%r1;");
	for (size_t w = 0; w < countof(widths); w++) {
		memset(grid.memory, 0xee, sizeof(grid.memory));
		grid_ok(widths[w], 33, ".shared .align 8 .b8 s[24];", body);
		for (size_t i = 0; i < count; i++) {
			ck_assert_msg(grid.memory[32][i] == regs[i].want, "%s: %u", regs[i].name,
				grid.memory[32][i]);
		}
		ck_assert_uint_eq(grid.memory[32][32] | grid.memory[32][33] | grid.memory[32][34],
			0);
	}
}
END_TEST

/* Reserved shared memory is as large as on an H100, and apart from the kernel's. */
START_TEST(a_block_has_reserved_shared_memory)
{
	static const char *const regs[] = {"begin", "end", "cap", "0", "1"};
	static const uint32_t want[] = {0, 288, 1024, 0, 0};
	char body[2048];
	size_t len = 0;
	for (size_t i = 0; i < countof(regs); i++) {
		len += (size_t)snprintf(body + len, sizeof(body) - len,
			"mov.b32 %%r1, %%reserved_smem_offset_%s;\nst.u32 [%%rd9+%zu], %%r1;\n",
			regs[i], i * 4);
	}
	snprintf(body + len, sizeof(body) - len, "mov.b32 %%r2, s; st.u32 [%%rd9+20], %%r2;\n"
		"mov.b32 %%r1, %%reserved_smem_offset_begin; st.shared.u32 [s+256], 5;\n"
		"bar.sync 0; st.shared.u32 [%%r1], 7; st.shared.u32 [%%r1+1020], 7;\n"
		"bar.sync 0; ld.shared.u32 %%r1, [s+256]; st.u32 [%%rd9+24], %%r1;\n");
	for (size_t w = 0; w < countof(widths); w++) {
		grid_ok(widths[w], 33, ".shared .align 8 .b8 s[260];", body);
		const uint32_t *got = grid.memory[32];
		for (size_t i = 0; i < countof(regs); i++) {
			ck_assert_msg(got[i] - got[0] == want[i], "%s: %u", regs[i], got[i]);
		}
		ck_assert(got[0] + 1024 <= got[5] || got[5] + 260 <= got[0]);
		ck_assert_uint_eq(got[6], 5);
	}
}
END_TEST

SUITE(emit_warp)
{
	Suite *suite = suite_create("emit_warp");
	TCase *tc = tcase_create("collectives");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, shuffles_follow_the_pseudo_code, 0, countof(shuffles));
	tcase_add_loop_test(tc, shuffles_by_a_number_from_a_register, 0, countof(shuffles));
	tcase_add_test(tc, shuffles_take_other_operands_in_each_thread);
	tcase_add_loop_test(tc, collectives_work_on_whoever_is_there, 0,
		countof(collectives) * countof(ways));
	tcase_add_loop_test(tc, reductions_of_f32_know_nan_and_zeros, 0, countof(reals));
	tcase_add_test(tc, reductions_of_zeros_and_nans_only);
	tcase_add_test(tc, old_forms_work_on_who_comes);
	tcase_add_test(tc, a_member_that_never_comes_is_a_deadlock);
	tcase_add_test(tc, collectives_in_loops);
	tcase_add_test(tc, special_registers_say_that_there_are_no_clusters);
	tcase_add_test(tc, a_block_has_reserved_shared_memory);
	suite_add_tcase(suite, tc);
	return suite;
}
