/* SPDX-License-Identifier: MIT */
/*
 * Non-temporal stores: what they leave in memory, and which kernels and launches have them.
 * Results do not show the latter, so kernels write to read-only memory, and a handler of the fault
 * looks at the instruction.
 */
#include "cpu/exec/nontemporal.h"
#include "cpu/support/api.h"
#include "support/suite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCK = 128, MOST = 4096, SHARE = 512 };

/* Of thread %r4, which is below n: %rd1 to %rd3 are its places in a, b and c, %rd4 to %rd6 these.
 */
#define BEGIN(size)                                                                                \
	".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"       \
	".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .pred "      \
	"%p<3>;\n"                                                                                 \
	"ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; ld.param.u64 %rd6, [c]; ld.param.u32 "    \
	"%r1, [n];\n"                                                                              \
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"                      \
	"mad.lo.s32 %r4, %r2, %r3, %r4; setp.ge.s32 %p1, %r4, %r1; @%p1 bra END;\n"                \
	"cvta.to.global.u64 %rd4, %rd4; cvta.to.global.u64 %rd5, %rd5;\n"                          \
	"cvta.to.global.u64 %rd6, %rd6; mul.wide.s32 %rd0, %r4, " #size ";\n"                      \
	"add.s64 %rd1, %rd4, %rd0; add.s64 %rd2, %rd5, %rd0; add.s64 %rd3, %rd6, %rd0;\n"
/* Blocks of one thread, each of which adds up to SHARE elements in a loop. */
#define LOOP(sum)                                                                                  \
	".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) .maxntid "  \
	"1, 1, 1\n"                                                                                \
	"{\n.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<3>;\n"                              \
	"ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; ld.param.u64 %rd6, [c]; ld.param.u32 "    \
	"%r1, [n];\n"                                                                              \
	"mov.u32 %r2, %ctaid.x; mul.lo.u32 %r4, %r2, 512; add.u32 %r3, %r4, 512; min.u32 %r1, "    \
	"%r1, %r3;\n"                                                                              \
	"cvt.u64.u32 %rd7, %r4; cvt.u64.u32 %rd8, %r1; setp.ge.u64 %p1, %rd7, %rd8; @%p1 bra "     \
	"END;\n"                                                                                   \
	"AGAIN: shl.b64 %rd0, %rd7, 2; add.s64 %rd1, %rd4, %rd0; add.s64 %rd2, %rd5, %rd0;\n"      \
	"add.s64 %rd3, %rd6, %rd0;\n" sum                                                          \
	"\nadd.s64 %rd7, %rd7, 1; setp.lt.u64 %p1, %rd7, %rd8;\n"                                  \
	"@%p1 bra AGAIN;\n"
#define READ_BOTH "ld.global.u32 %r5, [%rd1]; ld.global.u32 %r6, [%rd2]; add.u32 %r5, %r5, %r6;\n"
#define END "\nEND: ret;\n}\n"
#define STORE "st.global.u32 [%rd3], %r5;"
#define STREAM "st.global.cs.v4.u32 [%rd6], {%r1, %r2, %r1, %r2};"
#define ADD BEGIN(4) READ_BOTH STORE END
#define ADD_LOOP LOOP(READ_BOTH STORE) END

static CUfunction function;
static bool is_loop;

static void open_device(const char *width, const char *workers, const char *text)
{
	is_loop = strstr(text, ".maxntid 1,") != NULL;
	setenv("KUDZU_CPU_WIDTH", width, 1);
	setenv("KUDZU_CPU_THREADS", workers, 1);
	setup();
	function = kernel(driver_load(text), "k");
}

static void close_device(void)
{
	atomic_store(&nontemporal_fake_room, UINT64_MAX);
	teardown();
}

static CUresult run(const void *a, const void *b, void *c, uint32_t n)
{
	CUdeviceptr places[] = {(uintptr_t)a, (uintptr_t)b, (uintptr_t)c};
	void *values[] = {&places[0], &places[1], &places[2], &n};
	const unsigned threads = is_loop ? 1 : BLOCK, per = is_loop ? SHARE : BLOCK;
	CUresult result = cuLaunchKernel(
		function, (n + per - 1) / per, 1, 1, threads, 1, 1, 0, NULL, values, NULL);
	return result ? result : cuCtxSynchronize();
}

/* --- What is in memory --- */

static _Alignas(64) uint32_t numbers[3][MOST + 64];

static const struct layout {
	uint32_t count;
	unsigned c;    /* the number of the array to write to, */
	unsigned from; /* and its first element */
} layouts[] = {
	{MOST, 2, 0},
	{MOST - 1, 2, 0},
	{MOST - 31, 2, 16},
	{1000, 2, 1},
	{1000, 2, 8},
	{1, 2, 0},
	{31, 2, 0},
	{MOST - 97, 0, 0},
	{MOST - 97, 1, 0},
};

static void fill(void)
{
	for (uint32_t i = 0; i < countof(numbers[0]); i++) {
		numbers[0][i] = i * 2654435761u;
		numbers[1][i] = i << 16 ^ 12345;
		numbers[2][i] = 7;
	}
}

/* The memory is the host's own, which reads it as soon as the launch is over. */
static void check_sum(const struct layout *l, const char *width)
{
	static uint32_t want[countof(numbers[0])];
	fill();
	memcpy(want, numbers[l->c], sizeof(want));
	for (uint32_t i = 0; i < l->count; i++) {
		want[l->from + i] = numbers[0][i] + numbers[1][i];
	}
	OK(run(numbers[0], numbers[1], numbers[l->c] + l->from, l->count));
	ck_assert_msg(memcmp(numbers[l->c], want, sizeof(want)) == 0,
		"W=%s: %u from %u of array %u", width, l->count, l->from, l->c);
}

START_TEST(sums_are_the_same_past_the_cache)
{
	static const char *const ways[][2] = {{"1", ADD}, {"32", ADD}, {"32", ADD_LOOP}};
	for (size_t w = 0; w < countof(ways); w++) {
		open_device(ways[w][0], "3", ways[w][1]);
		atomic_store(&nontemporal_fake_room, 0);
		for (size_t i = 0; i < countof(layouts); i++) {
			check_sum(&layouts[i], ways[w][0]);
		}
		close_device();
	}
}
END_TEST

/* --- How it comes there --- */

enum { THREADS = 4 * BLOCK, FAULTY = 1 << 16 };

static struct sigaction before;
static uint8_t code[16]; /* the instruction that the fault was of */

#ifdef __x86_64__
static void keep_code(const ucontext_t *where)
{
	memcpy(code, (void *)where->uc_mcontext.gregs[REG_RIP], sizeof(code));
}
#else
static void keep_code(const ucontext_t *where)
{
	(void)where;
}
#endif

static void look(int number, siginfo_t *info, void *where)
{
	keep_code(where);
	before.sa_sigaction(number, info, where);
}

/* movntps, movntpd or movntdq, in any of its encodings. */
static bool goes_past(void)
{
	size_t at = 0;
	if (code[0] == 0x62) {
		at = 4;
	} else if (code[0] == 0xc5 || code[0] == 0xc4) {
		at = code[0] == 0xc5 ? 2 : 3;
	} else {
		at += code[at] == 0x66;
		at += (code[at] & 0xf0) == 0x40;
		at += code[at] == 0x0f;
	}
	return code[at] == 0x2b || code[at] == 0xe7;
}

#define MUCH 0
#define AS_IT_IS UINT64_MAX

static const struct path {
	const char *what, *text;
	unsigned offset; /* of c, in bytes */
	bool is_same;    /* c is a */
	uint64_t cache;  /* has room for so many bytes */
	bool past;
} paths[] = {
	{"a large launch", ADD, 0, false, MUCH, true},
	{"a small launch", ADD, 0, false, AS_IT_IS, false},
	{"what the cache just holds", ADD, 0, false, 12 * THREADS, false},
	{"what it just does not", ADD, 0, false, 12 * THREADS - 1, true},
	{"from the second line on", ADD, 64, false, MUCH, true},
	{"not a whole line", ADD, 32, false, MUCH, false},
	{"misaligned", ADD, 2, false, MUCH, false},
	{"two parameters, one pointer", ADD, 0, true, MUCH, false},
	{"in place", BEGIN(4) "ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1;" STORE END, 0, false,
		MUCH, false},
	{"nothing is read", BEGIN(4) "mov.u32 %r5, 1;" STORE END, 0, false, 4 * THREADS - 1, true},
	{"one number for all", BEGIN(4) "ld.global.u32 %r5, [%rd4];" STORE END, 0, false,
		4 * THREADS, false},
	{"bytes", BEGIN(1) "ld.global.u8 %h1, [%rd1]; st.global.u8 [%rd3], %h1;" END, 0, false,
		MUCH, false},
	{"16 bits", BEGIN(2) "ld.global.u16 %h1, [%rd1]; st.global.u16 [%rd3], %h1;" END, 0, false,
		MUCH, true},
	{"64 bits", BEGIN(8) "ld.global.u64 %rd7, [%rd1]; st.global.u64 [%rd3], %rd7;" END, 0,
		false, MUCH, true},
	{"floats", BEGIN(4) "ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd3], %f1;" END, 0, false,
		MUCH, true},
	{"vectors",
		BEGIN(16) "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"
			  "st.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4};" END,
		0, false, MUCH, true},
	{"every other element", BEGIN(8) READ_BOTH STORE END, 0, false, MUCH, false},
	{"a sum of three",
		BEGIN(4) READ_BOTH "mad.wide.s32 %rd8, %r4, 4, %rd6;"
				   "st.global.u32 [%rd8], %r5;" END,
		0, false, MUCH, true},
	{"neighbours",
		BEGIN(4) "ld.global.u32 %r5, [%rd1]; ld.global.u32 %r6, [%rd1+4];"
			 "add.u32 %r5, %r5, %r6;" STORE END,
		0, false, 8 * THREADS, false},
	{"two elements of each array",
		BEGIN(4) "ld.global.u32 %r5, [%rd1]; ld.global.u32 %r6, [%rd1+2048];" STORE
			 "st.global.u32 [%rd3+2048], %r6;" END,
		0, false, 16 * THREADS - 1, true},
	{"who knows where",
		BEGIN(4) READ_BOTH "setp.ne.s32 %p2, %r1, 512;"
				   "selp.b64 %rd3, %rd1, %rd3, %p2;" STORE END,
		0, false, MUCH, false},
	{"who knows what is read",
		BEGIN(4) "ld.global.u64 %rd7, [%rd5]; setp.ne.s32 %p2, %r1, 512;"
			 "@%p2 ld.global.u32 %r5, [%rd7];" STORE END,
		0, false, MUCH, false},
	{"in a loop",
		BEGIN(4) READ_BOTH "AGAIN:" STORE "add.s32 %r5, %r5, -1; setp.ne.s32 %p2, %r5, 0;"
				   "@%p2 bra AGAIN;" END,
		0, false, MUCH, false},
	{"a barrier", BEGIN(4) READ_BOTH "bar.sync 0;" STORE END, 0, false, MUCH, true},
	{"volatile", BEGIN(4) READ_BOTH "st.volatile.global.u32 [%rd3], %r5;" END, 0, false, MUCH,
		false},
	{"a volatile load", BEGIN(4) "ld.volatile.global.u32 %r5, [%rd1];" STORE END, 0, false,
		MUCH, false},
	{"and then a volatile one",
		BEGIN(4) READ_BOTH STORE "st.volatile.global.u32 [%rd4], %r5;" END, 0, false, MUCH,
		false},
	{"and then a fence", BEGIN(4) READ_BOTH STORE "membar.gl;" END, 0, false, MUCH, false},
	{"and then an atomic operation",
		BEGIN(4) READ_BOTH STORE "red.global.add.u32 [%rd4], %r5;" END, 0, false, MUCH,
		false},
	{"a loop in a large launch", ADD_LOOP, 0, false, MUCH, true},
	{"a loop in a small launch", ADD_LOOP, 0, false, AS_IT_IS, false},
	{"a loop that the cache just holds", ADD_LOOP, 0, false, 12 * SHARE, false},
	{"a loop that it just does not", ADD_LOOP, 0, false, 12 * SHARE - 1, true},
	{"a loop from the second line on", ADD_LOOP, 64, false, MUCH, true},
	{"a loop from within a line on", ADD_LOOP, 32, false, MUCH, false},
	{"a loop in place", LOOP("ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1;" STORE) END, 0,
		false, MUCH, false},
	{"a loop, two parameters, one pointer", ADD_LOOP, 0, true, MUCH, false},
	{"a loop, and then a fence", LOOP(READ_BOTH STORE) "membar.gl;" END, 0, false, MUCH, false},
	{"a loop, and then a volatile store",
		LOOP(READ_BOTH STORE) "st.volatile.global.u32 [%rd4], 1;" END, 0, false, MUCH,
		false},
	{"a loop that stores twice", LOOP(READ_BOTH STORE "st.global.u32 [%rd3+32768], %r6;") END,
		0, false, MUCH, true},
	{"a loop backwards", LOOP("sub.s64 %rd3, %rd6, %rd0;" READ_BOTH STORE) END, 2048, false,
		MUCH, false},
	{"a stream of a lone thread", LOOP(STREAM) END, 0, false, AS_IT_IS, true},
	{"a stream from within a line on", LOOP(STREAM) END, 16, false, AS_IT_IS, true},
	{"a misaligned stream", LOOP(STREAM) END, 4, false, AS_IT_IS, false},
	{"a stream, and then a fence", LOOP(STREAM) "membar.gl;" END, 0, false, AS_IT_IS, false},
	{"a stream of 8 bytes", LOOP("st.global.cs.v2.u32 [%rd6], {%r1, %r2};") END, 0, false,
		AS_IT_IS, false},
	{"a loop to every other element", LOOP("add.s64 %rd3, %rd3, %rd0;" READ_BOTH STORE) END, 0,
		false, MUCH, false},
};

START_TEST(only_what_is_written_once_goes_past_the_cache)
{
	const struct path *p = &paths[_i];
	const struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	uint8_t *memory = mmap(NULL, FAULTY, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	open_device("32", "1", p->text);
	atomic_store(&nontemporal_fake_room, p->cache);
	sigaction(SIGSEGV, &action, &before);
	FAILS(ILLEGAL_ADDRESS,
		run(p->is_same ? memory + p->offset : (uint8_t *)numbers[0], numbers[1],
			memory + p->offset, THREADS));
	ck_assert_msg(goes_past() == p->past, "%s: %02x %02x %02x %02x %02x", p->what, code[0],
		code[1], code[2], code[3], code[4]);
	close_device();
	munmap(memory, FAULTY);
}
END_TEST

/* --- Copies --- */

enum { COPY = 1 << 19 };

static uint8_t from[COPY + 256], to[COPY + 256];

START_TEST(copies_are_the_same_past_the_cache)
{
	static const size_t places[][3] = {
		{0, 0, COPY}, {1, 0, COPY - 3}, {0, 5, COPY - 64}, {63, 64, COPY}};
	open_device("32", "3", ADD);
	atomic_store(&nontemporal_fake_room, 0);
	CUdeviceptr device = alloc(sizeof(to));
	for (size_t i = 0; i < sizeof(from); i++) {
		from[i] = (uint8_t)(i * 31 + i / 256);
	}
	for (size_t i = 0; i < countof(places); i++) {
		const size_t *p = places[i];
		memset(to, 0, sizeof(to));
		OK(cuMemcpyHtoD_v2(device, to, sizeof(to)));
		OK(cuMemcpyHtoD_v2(device + p[0], from + p[1], p[2]));
		OK(cuMemcpyDtoH_v2(to, device, sizeof(to)));
		ck_assert_mem_eq(to + p[0], from + p[1], p[2]);
		ck_assert_uint_eq(p[0] > 0 ? to[p[0] - 1] : 0, 0);
		ck_assert_uint_eq(to[p[0] + p[2]], 0);
	}
	close_device();
}
END_TEST

enum { HAS_GONE_PAST = 3, HAS_NOT = 4 };

static void tell(int number, siginfo_t *info, void *where)
{
	(void)number;
	(void)info;
	keep_code(where);
	_exit(goes_past() ? HAS_GONE_PAST : HAS_NOT);
}

/* To memory that is only for reading; ends the process. */
static void copy_in_vain(uint64_t cache)
{
	const struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	void *memory = mmap(NULL, COPY, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	open_device("32", "1", ADD);
	CUdeviceptr device = alloc(COPY);
	atomic_store(&nontemporal_fake_room, cache);
	sigaction(SIGSEGV, &action, NULL);
	OK(cuMemcpyDtoH_v2(memory, device, COPY));
}

START_TEST(large_copies_go_past_the_cache)
{
	copy_in_vain(2 * COPY - 1);
}
END_TEST

START_TEST(small_copies_go_through_it)
{
	copy_in_vain(2 * COPY);
}
END_TEST

SUITE(emit_nontemporal)
{
	Suite *s = suite_create("emit_nontemporal");
	TCase *tc = tcase_create("stores");
	tcase_add_test(tc, sums_are_the_same_past_the_cache);
#ifdef __x86_64__ /* whose instructions this test knows */
	tcase_add_loop_test(tc, only_what_is_written_once_goes_past_the_cache, 0, countof(paths));
#endif
	suite_add_tcase(s, tc);
	tc = tcase_create("copies");
	tcase_add_test(tc, copies_are_the_same_past_the_cache);
#ifdef __x86_64__
	tcase_add_exit_test(tc, large_copies_go_past_the_cache, HAS_GONE_PAST);
	tcase_add_exit_test(tc, small_copies_go_through_it, HAS_NOT);
#endif
	suite_add_tcase(s, tc);
	return s;
}
