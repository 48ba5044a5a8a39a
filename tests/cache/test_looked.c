/* SPDX-License-Identifier: MIT */
/*
 * What was found out by looking at files: it is there as long as these stay as they were, and no
 * longer.  Each test has a folder of its own, for files and for the cache.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cache/cache.h"
#include "cache/looked.h"
#include "cache/reach.h"
#include "support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[512];

static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/looked-test-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
}

static void teardown(void)
{
	char command[600];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void run(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void look(struct looked *looked, const char *path)
{
	struct stat id;
	looked_add(looked, path, stat(path, &id) == 0 ? &id : NULL);
}

static const char *const paths[] = {"d/file", "d", "missing", "d/link", "d/file/x"};

static void keep(void)
{
	struct looked looked;
	looked_begin(&looked);
	for (size_t i = 0; i < countof(paths); i++) {
		look(&looked, paths[i]);
	}
	looked_keep(&looked, "it", "value", 5);
	looked_free(&looked);
}

static bool is_found(void)
{
	char *value;
	size_t size;
	bool found = looked_find("it", &value, &size);
	ck_assert(found == (value != NULL));
	ck_assert(!found || (size == 5 && memcmp(value, "value", 5) == 0));
	mem_free(value);
	return found;
}

static const struct {
	const char *command;
	bool found;
} changes[] = {
	{"true", true}, {"cat d/file >/dev/null", true}, {"touch d/other", true},
	{"touch -d 2001-01-01 d/file", false}, {"printf 12 >d/file", false}, {"rm d/file", false},
	{"cp -p d/file d/new && mv d/new d/file", false}, {"touch missing", false},
	{"mkdir missing", false}, {"mv d e", false}, {"mv d e && touch d", false},
	{"ln -sf file2 d/link", false}, {"rm d/link", false}, {"chmod 600 d/file", false},
	{"mv d/file2 e && cp -p e d/file2", false},
};

START_TEST(a_value_holds_until_a_file_changes)
{
	run("mkdir d && printf 1 >d/file && printf 1 >d/file2 && ln -s file d/link");
	if (strstr(changes[_i].command, "file2 e")) {
		run("ln -sf file2 d/link");
	}
	ck_assert(!is_found());
	keep();
	ck_assert(is_found());
	run(changes[_i].command);
	ck_assert(is_found() == changes[_i].found);
}
END_TEST

START_TEST(paths_may_have_much_or_nothing_in_common)
{
	char deep[700] = "";
	struct looked looked;
	looked_begin(&looked);
	for (size_t len = 0; len < sizeof(deep) - 1; len += 3) {
		memset(deep, 'a', len);
		strcpy(deep + len, "/b");
		look(&looked, deep);
		look(&looked, len % 2 ? "/" : "");
	}
	memset(deep, 'a', 200);
	deep[200] = '\0';
	ck_assert_int_eq(mkdir(deep, 0700), 0);
	memset(deep, 'a', 401);
	deep[200] = '/';
	strcpy(deep + 401, "/y");
	deep[401] = '\0';
	ck_assert_int_eq(mkdir(deep, 0700), 0);
	deep[401] = '/';
	look(&looked, deep);
	run("mkdir z && cd a*/a* && mkdir z");
	deep[402] = 'z';
	look(&looked, deep);
	look(&looked, "z");
	looked_keep(&looked, "it", "value", 5);
	looked_free(&looked);
	ck_assert(is_found());
	run("rmdir z");
	ck_assert(!is_found());
	run("mkdir z");
	ck_assert(is_found());
	run("rmdir a*/a*/z");
	ck_assert(!is_found());
}
END_TEST

/* The one entry that there is. */
static bool copy_key(void *arg, const struct store_entry *entry)
{
	str_addn(arg, entry->key, entry->key_size);
	return true;
}

START_TEST(an_entry_that_is_something_else_does_no_harm)
{
	struct str key = STR_INIT;
	char *entry;
	size_t size;
	run("mkdir d && printf 1 >d/file");
	keep();
	ck_assert(store_walk(store_default(), copy_key, &key));
	ck_assert_int_eq(store_get(store_default(), key.data, key.len, &entry, &size), STORE_HIT);
	for (size_t i = 0; i < size; i++) {
		ck_assert(store_put(store_default(), key.data, key.len, entry, i));
		ck_assert_msg(!is_found(), "%zu bytes of it", i);
		entry[i] = (char)(entry[i] + 1);
		ck_assert(store_put(store_default(), key.data, key.len, entry, size));
		entry[i] = (char)(entry[i] - 1);
		char *value;
		size_t found;
		bool is = looked_find("it", &value, &found);
		/* the store sees to it that a value is the one that was kept, and a name */
		ck_assert(!is || i >= sizeof(struct hash) + sizeof(uint64_t));
		mem_free(value);
	}
	mem_free(entry);
	str_free(&key);
}
END_TEST

START_TEST(any_allocation_may_fail)
{
	run("mkdir d && printf 1 >d/file");
	bool failed = true;
	(void)store_default();
	for (long n = 0; failed; n++) {
		mem_fail_after(n);
		keep();
		(void)is_found();
		failed = mem_has_failed();
		mem_fail_after(-1);
	}
	ck_assert(is_found());
}
END_TEST

/* What a process finds in a folder that is said to be CUDA's. */
struct result {
	struct hash hash;
	int64_t count, hits, stored;
};

static struct result find_in_process(const char *source, const char *cuda)
{
	struct result *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(result, MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		struct rtc_request request = {.source = source};
		struct reach reach;
		struct store_stats stats;
		reach_find(&reach, &request, &cuda, 1);
		store_stats(store_default(), &stats);
		*result = (struct result){reach.cuda, reach.cuda_count, stats.gets[STORE_HIT],
			stats.stored};
		_exit(reach.why_not || reach.no_memory);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	struct result copy = *result;
	munmap(result, sizeof(*result));
	return copy;
}

/* Those of the C library have lain there for long. */
START_TEST(headers_of_cuda_are_read_by_one_process)
{
	static const char source[] = "#include <pthread.h>\n";
	struct result one = find_in_process(source, "/usr/include");
	struct result other = find_in_process(source, "/usr/include");
	ck_assert_int_gt(one.count, 1);
	ck_assert_int_eq(one.hits, 0);
	ck_assert_int_eq(one.stored, 1);
	ck_assert_int_eq(other.hits, 1);
	ck_assert_int_eq(other.stored, 0);
	ck_assert_int_eq(other.count, one.count);
	ck_assert(hash_equal(one.hash, other.hash));
	setenv("KUDZU_CACHE", "0", 1);
	struct result read = find_in_process(source, "/usr/include");
	ck_assert_int_eq(read.count, one.count);
	ck_assert(hash_equal(read.hash, one.hash));
}
END_TEST

START_TEST(headers_that_have_just_changed_are_read_by_each)
{
	run("mkdir d && echo '#include <b.h>' >d/a.h && touch d/b.h");
	struct result one = find_in_process("#include <a.h>\n", "d");
	ck_assert_int_eq(one.count, 2);
	ck_assert_int_eq(one.stored, 0);
	run("echo >>d/b.h");
	struct result other = find_in_process("#include <a.h>\n", "d");
	ck_assert_int_eq(other.hits, 0);
	ck_assert(!hash_equal(one.hash, other.hash));
}
END_TEST

SUITE(looked)
{
	Suite *suite = suite_create("looked");
	TCase *tc = tcase_create("looked");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_value_holds_until_a_file_changes, 0, countof(changes));
	tcase_add_test(tc, paths_may_have_much_or_nothing_in_common);
	tcase_add_test(tc, an_entry_that_is_something_else_does_no_harm);
	tcase_add_test(tc, any_allocation_may_fail);
	tcase_add_test(tc, headers_of_cuda_are_read_by_one_process);
	tcase_add_test(tc, headers_that_have_just_changed_are_read_by_each);
	suite_add_tcase(suite, tc);
	return suite;
}
