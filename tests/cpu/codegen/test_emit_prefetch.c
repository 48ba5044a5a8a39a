/* SPDX-License-Identifier: MIT */
/*
 * Which loads have 32 bytes: loads from memory in kernels that read little.  Which of these come
 * with a prefetch of the bytes after them: those in loops.  The values that they load stay the
 * same.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/support/grid.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, THREADS = 64 };

/* The sum of what the thread's loads give, of words 64 apart. */
static const struct kernel {
	const char *text;
	uint32_t rounds, loads;
	bool fetches, has_parts;
} kernels[] = {
	{"LOOP: ld.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3; add.u64 %rd1, %rd1, 256;\n"
		"add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP;", ROUNDS, 1, true,
		true},
	{"LOOP: ld.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3; ld.u32 %r3, [%rd1+256];\n"
		"bra.uni MORE; MORE: add.u32 %r2, %r2, %r3; add.u64 %rd1, %rd1, 512;\n"
		"add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP;", ROUNDS, 2, true,
		true},
	{"ld.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3;", 1, 1, false, true},
	{"ld.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3;\n"
		"LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP;", 1, 1, false,
		true},
	{"LOOP: ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd1+256];\n"
		"add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; ld.global.u32 %r3, [%rd1+512];\n"
		"ld.global.u32 %r4, [%rd1+768]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;\n"
		"ld.global.u32 %r3, [%rd1+1024]; add.u32 %r2, %r2, %r3; add.u64 %rd1, %rd1, 1280;\n"
		"add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP;", ROUNDS, 5, false,
		false},
	{"st.shared.u32 [%r5], 5;\n"
		"LOOP: ld.shared.u32 %r3, [%r5]; add.u32 %r2, %r2, %r3; add.u32 %r1, %r1, 1;\n"
		"setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP;", 0, 0, false, false},
};

/* The kernel's IR, to be freed. */
static char *read_ir(void)
{
	char *path = file_join(store_outside, "k.ll"), *data = NULL;
	size_t size;
	ck_assert_int_eq(file_read(&data, &size, path, NULL), KZ_OK);
	mem_free(path);
	return data;
}

static bool ir_has(const char *word)
{
	char *data = read_ir();
	bool found = strstr(data, word);
	mem_free(data);
	return found;
}

/* How many gathers and scatters there are, and in the block that has most. */
static void count_lane_accesses(unsigned *all, unsigned *most)
{
	char *data = read_ir(), *rest = NULL;
	unsigned here = 0;
	*all = *most = 0;
	for (char *line = strtok_r(data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool is_access = strstr(line, "call") && strstr(line, "@llvm.masked.")
			&& line[0] == ' ';
		here = line[0] == ' ' ? here + is_access : 0;
		*all += is_access;
		*most = here > *most ? here : *most;
	}
	mem_free(data);
}

static void setup(void)
{
	store_folder_create();
	grid_setup();
	setenv("KUDZU_CPU_DUMP", store_outside, 1);
}

static void teardown(void)
{
	grid_teardown();
	store_folder_remove();
}

static void fill_memory(void)
{
	for (size_t i = 0; i < sizeof(grid.memory) / sizeof(uint32_t); i++) {
		grid.memory[i / GRID_WORDS][i % GRID_WORDS] = (uint32_t)i * 2654435761;
	}
}

/* After what is read. */
enum { RESULTS = 64 };

static void check_sums(const struct kernel *k)
{
	for (uint32_t t = 0; t < THREADS; t++) {
		uint32_t want = k->rounds == 0 ? 5 * ROUNDS : 0;
		for (uint32_t i = 0; i < k->rounds * k->loads; i++) {
			want += (i * 64 + t) * 2654435761;
		}
		ck_assert_uint_eq(grid.memory[RESULTS][t], want);
	}
}

START_TEST(kernels_that_read_little_read_in_parts_and_ahead)
{
	const struct kernel *k = &kernels[_i];
	char body[1500];
	snprintf(body, sizeof(body), "mov.u32 %%r1, 0; mov.u32 %%r2, 0; mov.u32 %%r5, sh;\n"
		"mad.lo.u32 %%r5, %%r0, 4, %%r5; mul.wide.u32 %%rd2, %%r0, 4; "
		"add.u64 %%rd1, %%rd0, %%rd2;\n"
		"add.u64 %%rd3, %%rd0, %%rd2;\n%s\nst.global.u32 [%%rd3+%u], %%r2;", k->text,
		RESULTS * GRID_WORDS * 4);
	fill_memory();
	grid_ok(32, THREADS, ".shared .align 4 .b8 sh[256];", body);
	check_sums(k);
	ck_assert_msg(ir_has("llvm.prefetch") == k->fetches, "kernel %d", _i);
	ck_assert_msg(ir_has("load volatile <8 x i32>") == k->has_parts, "kernel %d", _i);
}
END_TEST

/* What LLVM takes for a block grows with the square of them. */
START_TEST(accesses_of_lanes_are_in_blocks_of_some)
{
	enum { COUNT = 120, PLACES = GRID_WORDS / 2 };
	struct str body = STR_INIT;
	str_add(&body, "mov.u32 %r2, 0;\n");
	for (unsigned i = 0; i < COUNT; i++) {
		str_addf(&body, "ld.global.u32 %%r1, [%%rd9+%u]; mad.lo.u32 %%r2, %%r2, 3, %%r1;\n"
			"st.global.u32 [%%rd9+%u], %%r2;\n", i % PLACES * 4,
			(PLACES + i % PLACES) * 4);
	}
	fill_memory();
	grid_ok(32, THREADS, "", body.data);
	str_free(&body);
	for (uint32_t t = 0; t < THREADS; t++) {
		for (uint32_t i = 0, sum = 0; i < COUNT; i++) {
			sum = sum * 3 + grid.memory[t][i % PLACES];
			ck_assert(i + PLACES < COUNT || grid.memory[t][PLACES + i % PLACES] == sum);
		}
	}
	unsigned all, most;
	count_lane_accesses(&all, &most);
	ck_assert(most <= 33);
	ck_assert(all == 0 || all >= COUNT); // none without AVX-512
}
END_TEST

SUITE(emit_prefetch)
{
	Suite *suite = suite_create("emit_prefetch");
	TCase *tc = tcase_create("prefetch");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, kernels_that_read_little_read_in_parts_and_ahead, 0,
		countof(kernels));
	tcase_add_test(tc, accesses_of_lanes_are_in_blocks_of_some);
	suite_add_tcase(suite, tc);
	return suite;
}
