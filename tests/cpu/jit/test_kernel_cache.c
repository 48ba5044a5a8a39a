/* SPDX-License-Identifier: MIT */
/*
 * Machine code of kernels on disk.  What one process has compiled the next one loads, if nothing
 * that the code depends on has changed; and whatever is wrong on disk, kernels run.  That what is
 * loaded computes what was compiled is checked with the whole corpus, see corpus.c.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/str.h"
#include "cpu/ptx/check.h"
#include "cpu/jit/code.h"
#include "cpu/ir/flatten.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/ptx/parse.h"
#include "cpu/support/machine.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the last run. */
static struct jit_kernel got;

static void setup(void)
{
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	setenv("KUDZU_CPU_WIDTH", "1", 1);
}

/* fma(3, pi, 9), which needs a function of libm on an old processor; what it is called is up to
 * the test. */
static void write_text(char text[1024], const char *name, const char *comment)
{
	snprintf(text, 1024, HEAD "%s\n.entry %s(.param .u64 p) { .reg .b64 %%a; .reg .f32 "
		"%%f<3>;\n"
		"ld.param.u64 %%a, [p]; ld.f32 %%f1, [%%a];\n"
		"fma.rn.f32 %%f2, %%f1, 0f40490FDB, 0f41100000; st.f32 [%%a+8], %%f2; ret; }",
		comment, name);
}

/* Compile it, run it, and return how many objects LLVM has made for that. */
static unsigned long run(const char *name, const char *comment)
{
	char text[1024];
	float x = 3, y = 0;
	unsigned long before = jit_made_count();
	write_text(text, name, comment);
	machine_open(text);
	machine_compile(name);
	got = machine.kernel;
	memcpy(machine.memory, &x, sizeof(x));
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	memcpy(&y, &machine.memory[1], sizeof(y));
	ck_assert_float_eq(y, 3 * 0x1.921fb6p+1f + 9);
	machine_close();
	return jit_made_count() - before;
}

/* In a process of its own. */
static int run_apart(const char *name)
{
	pid_t child = fork();
	if (child == 0) {
		_exit((int)run(name, ""));
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(a_second_process_compiles_nothing)
{
	ck_assert_int_eq(run_apart("k"), 1);
	ck_assert_int_eq(run_apart("k"), 0);
	ck_assert_int_eq(run_apart("k2"), 1);
	ck_assert_uint_eq(run("k", ""), 0);
}
END_TEST

START_TEST(a_kernel_says_whether_it_was_compiled)
{
	run("k", "");
	ck_assert(!got.is_cached);
	ck_assert_double_gt(got.emit_ms, 0);
	ck_assert_double_gt(got.compile_ms, 0);
	run("k", "");
	ck_assert(got.is_cached);
	ck_assert_double_eq(got.emit_ms, 0);
	ck_assert_double_eq(got.compile_ms, 0);
	ck_assert_double_gt(got.load_ms, 0);
}
END_TEST

START_TEST(without_a_cache_every_process_compiles)
{
	setenv("KUDZU_CACHE", "0", 1);
	ck_assert_int_eq(run_apart("k"), 1);
	ck_assert_int_eq(run_apart("k"), 1);
	ck_assert_int_eq(access(store_path, F_OK), -1);
}
END_TEST

static void widen(void)
{
	setenv("KUDZU_CPU_WIDTH", "32", 1);
}

static void forget_width(void)
{
	unsetenv("KUDZU_CPU_WIDTH");
}

/* No AVX, no FMA: code for any x86-64. */
static void age(void)
{
	jit_fake_features("+sse2,+cx16");
}

static const struct {
	const char *name;
	const char *comment;
	void (*change)(void);
} changes[] = {
	{"k", "//2", NULL},
	{"k", "//1 ", NULL},
	{"k", "   ", NULL},
	{"K", "//1", NULL},
	{"k", ".entry other() { ret; }", NULL},
	{"k", ".global .u32 v;", NULL},
	{"k", "//1", widen},
	{"k", "//1", forget_width},
	{"k", "//1", age},
};

START_TEST(code_is_made_again_when_what_it_depends_on_changes)
{
	ck_assert_uint_eq(run("k", "//1"), 1);
	if (changes[_i].change) {
		changes[_i].change();
	}
	ck_assert_uint_eq(run(changes[_i].name, changes[_i].comment), 1);
	ck_assert_uint_eq(run(changes[_i].name, changes[_i].comment), 0);
	setenv("KUDZU_CPU_WIDTH", "1", 1);
	jit_fake_features(NULL);
	ck_assert_uint_eq(run("k", "//1"), 0);
}
END_TEST

START_TEST(kernels_of_one_module_are_apart)
{
	for (int i = 0; i < 2; i++) {
		machine_open(HEAD ".entry a(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n"
			"st.u32 [%a], 1; ret; }\n.entry b(.param .u64 p) { .reg .b64 %a;\n"
			"ld.param.u64 %a, [p]; st.u32 [%a], 2; ret; }");
		for (uint32_t k = 0; k < 2; k++) {
			machine_compile(k == 0 ? "a" : "b");
			ck_assert_int_eq(machine.kernel.is_cached, i > 0);
			ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
			ck_assert_uint_eq(machine.memory[0], k + 1);
		}
		machine_close();
	}
}
END_TEST

/* Code of one machine is never run on another: features as text, not as a number of them. */
START_TEST(code_for_other_features_is_not_found)
{
	static const char *const features[] = {"+sse2,+cx16,+sse3", "+sse2,+cx16,+mmx,"};
	ck_assert_uint_eq(strlen(features[0]), strlen(features[1]));
	for (int i = 0; i < 4; i++) {
		jit_fake_features(features[i % 2]);
		ck_assert_uint_eq(run("k", ""), i < 2);
	}
}
END_TEST

/* The only key in the store; freed with free. */
struct found {
	void *key;
	size_t size;
	size_t count;
};

static bool note_key(void *arg, const struct store_entry *entry)
{
	struct found *found = arg;
	free(found->key);
	found->key = malloc(entry->key_size);
	memcpy(found->key, entry->key, entry->key_size);
	found->size = entry->key_size;
	found->count++;
	return true;
}

static struct found find_key(struct store *store)
{
	struct found found = {.key = NULL};
	ck_assert(store_walk(store, note_key, &found));
	ck_assert_uint_eq(found.count, 1);
	return found;
}

START_TEST(a_key_names_the_code_generator)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	run("k", "");
	struct store *store = store_create(0);
	struct found found = find_key(store);
	size_t size = dl_build_id(id, &got);
	ck_assert_uint_gt(size, 0);
	ck_assert_ptr_nonnull(memmem(found.key, found.size, id, size));
	ck_assert_mem_eq(found.key, "cpu", 4);
	free(found.key);
	store_close(store);
}
END_TEST

/* What names LLVM in an entry is its build id, in which any byte may be, then its file: here those
 * of the test. */
static void find_maker(char **id, char **file, char *value, size_t size)
{
	uint8_t own[DL_BUILD_ID_SIZE];
	size_t own_size = dl_build_id(own, &got);
	*id = memmem(value, size, own, own_size);
	ck_assert_ptr_nonnull(*id);
	*file = *id + own_size;
	ck_assert_int_eq(**file, '/');
}

/* Another build id at the same place, and the same one at no place. */
START_TEST(code_of_an_llvm_that_changed_is_not_found)
{
	struct str key = STR_INIT;
	char *value, *id, *file;
	size_t size;
	struct kernel_cache_entry entry = {.width = 1, .object = "code", .size = 4, .maker = &got};
	struct store *store = store_create(0);
	str_add(&key, "key");
	kernel_cache_put(&key, &entry);
	ck_assert(kernel_cache_find(&entry, &key));
	ck_assert_uint_eq(entry.size, 4);
	ck_assert_mem_eq(entry.object, "code", 4);
	mem_free(entry.memory);
	ck_assert_int_eq(store_get(store, key.data, key.len, &value, &size), STORE_HIT);
	find_maker(&id, &file, value, size);
	id[0] ^= 1;
	ck_assert(store_put(store, key.data, key.len, value, size));
	ck_assert(!kernel_cache_find(&entry, &key));
	file[1] ^= 1;
	ck_assert(store_put(store, key.data, key.len, value, size));
	ck_assert(kernel_cache_find(&entry, &key));
	mem_free(entry.memory);
	mem_free(value);
	str_free(&key);
	store_close(store);
}
END_TEST

START_TEST(keys_of_a_large_module_are_short)
{
	struct str text = STR_INIT;
	str_add(&text, HEAD ".entry k() { ret; }\n");
	for (int i = 0; i < 100000; i++) {
		str_add(&text, "// more\n");
	}
	ck_assert(!text.failed);
	machine_open(text.data);
	machine_compile("k");
	machine_close();
	str_free(&text);
	struct store *store = store_create(0);
	struct found found = find_key(store);
	ck_assert_uint_lt(found.size, 4000);
	free(found.key);
	store_close(store);
}
END_TEST

/* What a kernel is besides its code; loops, waits, a frame, spinning, too much for 32 lanes. */
static void write_body(struct str *text, int which)
{
	static const char *const bodies[] = {
		"st.u32 [%a], 1;",
		"L: ld.volatile.global.u32 %r1, [%a]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
		"mov.u32 %r1, %tid.x; bar.sync 0; st.u32 [%a], %r1;",
		"mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;",
	};
	str_add(text, HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r<9>;\n"
		".reg .pred %p<9>; .reg .f32 %f; ld.param.u64 %a, [p]; ld.f32 %f, [%a];\n");
	for (int i = 0; i < 9000 && which == (int)countof(bodies); i++) {
		str_add(text, "fma.rp.f32 %f, %f, 0f3F800000, 0f3F800000;\n");
	}
	str_addf(text, "%s ret; }", which < (int)countof(bodies) ? bodies[which] : "");
}

START_TEST(a_kept_kernel_is_like_a_compiled_one)
{
	struct str text = STR_INIT;
	struct jit_kernel kernels[2];
	setenv("KUDZU_CPU_WIDTH", "32", 1);
	write_body(&text, _i);
	for (int i = 0; i < 2; i++) {
		machine_open(text.data);
		machine_compile("k");
		kernels[i] = machine.kernel;
		machine_close();
	}
	ck_assert(!kernels[0].is_cached && kernels[1].is_cached);
	ck_assert_uint_eq(kernels[0].width, kernels[1].width);
	ck_assert_uint_eq(kernels[0].frame_size, kernels[1].frame_size);
	ck_assert_uint_eq(kernels[0].code_size, kernels[1].code_size);
	ck_assert_int_eq(kernels[0].is_straight, kernels[1].is_straight);
	ck_assert_int_eq(kernels[0].in_order, kernels[1].in_order);
	ck_assert_int_eq(kernels[0].is_straight, _i != 1 && _i != 3);
	ck_assert_int_eq(kernels[0].in_order, _i == 1);
	ck_assert_uint_eq(kernels[0].width, _i == 4 ? 1 : 32);
	str_free(&text);
}
END_TEST

/* Values that no compile has made, under the right key. */
static const struct {
	const char *bytes;
	size_t size;
} wrong_values[] = {
	{"", 0},
	{"short", 5},
	{"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16},
	{"\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\177ELF\2\1\1", 23},
	{"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\1\0\76\0", 36},
};

START_TEST(what_cannot_be_loaded_is_compiled)
{
	ck_assert_uint_eq(run("k", ""), 1);
	struct store *store = store_create(0);
	struct found found = find_key(store);
	ck_assert(store_put(store, found.key, found.size, wrong_values[_i].bytes,
		wrong_values[_i].size));
	ck_assert_uint_eq(run("k", ""), 1);
	ck_assert_uint_eq(run("k", ""), 0);
	free(found.key);
	store_close(store);
}
END_TEST

START_TEST(a_damaged_entry_is_made_again)
{
	ck_assert_uint_eq(run("k", ""), 1);
	struct store *store = store_create(0);
	struct found found = find_key(store);
	struct stat st;
	char byte;
	int fd = open(entry_path(found.key, found.size), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(pread(fd, &byte, 1, st.st_size / 2), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, st.st_size / 2), 1);
	close(fd);
	ck_assert_uint_eq(run("k", ""), 1);
	ck_assert_uint_eq(run("k", ""), 0);
	free(found.key);
	store_close(store);
}
END_TEST

START_TEST(what_our_loader_refuses_is_kept_too)
{
	code_refuse(true);
	ck_assert_uint_eq(run("k", ""), 1);
	ck_assert_uint_eq(run("k", ""), 0);
	ck_assert(got.is_cached);
}
END_TEST

enum { PROCESSES = 8, KERNELS = 12 };

static int run_many(void)
{
	int made = 0;
	for (int i = 0; i < KERNELS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "k%d", i);
		made += (int)run(name, "");
	}
	return made;
}

START_TEST(of_processes_that_start_at_once_one_compiles)
{
	pid_t children[PROCESSES];
	int made = 0;
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			_exit(run_many());
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
		ck_assert(WIFEXITED(status));
		made += WEXITSTATUS(status);
	}
	ck_assert_int_eq(made, KERNELS);
}
END_TEST

/* Its own module, as threads of a program have. */
static void *compile_in_thread(void *arg)
{
	const char *text = arg;
	struct ptx_module module = {.version = 0};
	struct ptx_diag diag = {.line = 0};
	struct jit *jit = NULL;
	struct jit_kernel kernel;
	bool ok = parse_module(&module, text, strlen(text), &diag)
		&& check_module(&module, &diag) && flatten_module(&module, &diag)
		&& jit_create(&jit, &module, &diag)
		&& jit_compile(&kernel, jit, module.funcs[0], BLOCK_CLASS_ANY, JIT_TIER_BEST,
			&diag);
	jit_release(jit);
	parse_free(&module);
	return ok ? arg : NULL;
}

START_TEST(of_threads_that_start_at_once_one_compiles)
{
	char text[1024];
	pthread_t threads[PROCESSES];
	write_text(text, "k", "");
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_in_thread, text), 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		void *result;
		ck_assert_int_eq(pthread_join(threads[i], &result), 0);
		ck_assert_ptr_nonnull(result);
	}
	ck_assert_uint_eq(jit_made_count(), 1);
}
END_TEST

/* Whichever request fails: the kernel is there, or memory has run out. */
START_TEST(memory_may_run_out)
{
	char text[1024];
	bool failed = true;
	write_text(text, "k", "");
	run("other", ""); /* opens the cache */
	for (long n = 0; failed; n++) {
		machine_open(text);
		mem_fail_after(n);
		bool ok = jit_compile(&machine.kernel, machine.jit, machine.module.funcs[0],
			BLOCK_CLASS_ANY, JIT_TIER_BEST, &machine.diag);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(ok || (failed && machine.diag.no_memory));
		machine_close();
	}
	ck_assert_uint_eq(run("k", ""), 0);
}
END_TEST

SUITE(kernel_cache)
{
	Suite *suite = suite_create("kernel_cache");
	TCase *tc = tcase_create("kernels");
	tcase_add_checked_fixture(tc, setup, store_folder_remove);
	tcase_add_test(tc, a_second_process_compiles_nothing);
	tcase_add_test(tc, a_kernel_says_whether_it_was_compiled);
	tcase_add_test(tc, without_a_cache_every_process_compiles);
	tcase_add_loop_test(tc, code_is_made_again_when_what_it_depends_on_changes, 0,
		countof(changes));
	tcase_add_test(tc, kernels_of_one_module_are_apart);
	tcase_add_test(tc, code_for_other_features_is_not_found);
	tcase_add_test(tc, a_key_names_the_code_generator);
	tcase_add_test(tc, code_of_an_llvm_that_changed_is_not_found);
	tcase_add_test(tc, keys_of_a_large_module_are_short);
	tcase_add_loop_test(tc, a_kept_kernel_is_like_a_compiled_one, 0, 5);
	tcase_add_loop_test(tc, what_cannot_be_loaded_is_compiled, 0, countof(wrong_values));
	tcase_add_test(tc, a_damaged_entry_is_made_again);
	tcase_add_test(tc, what_our_loader_refuses_is_kept_too);
	tcase_add_test(tc, of_processes_that_start_at_once_one_compiles);
	tcase_add_test(tc, of_threads_that_start_at_once_one_compiles);
	tcase_add_test(tc, memory_may_run_out);
	suite_add_tcase(suite, tc);
	return suite;
}
