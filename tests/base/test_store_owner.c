/* SPDX-License-Identifier: MIT */
/*
 * src/base/store_folder.c, through a store: whose files are read.  Each case changes a good store,
 * with one entry, in one way, and says what its user then gets.  The user is a process without
 * privileges: root may read all, so that what is tested would not show.  Run by root, these can be
 * all cases; run by others, those that change no owners.
 */
#include "base/common.h"

#include "base/store_folder.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER = 65534, IS_OFF = 40, NOT_STORED = 41, MADE_SOMETHING = 42 };

static char other[160]; /* a path beside the store's */

static const char *outside(const char *name)
{
	snprintf(other, sizeof(other), "%s/%s", store_outside, name);
	return other;
}

static const char *entry(void)
{
	return entry_path("a", 1);
}

static void become_user(void)
{
	if (geteuid() == 0
		&& (setgroups(0, NULL) != 0 || setgid(USER) != 0 || setuid(USER) != 0)) {
		_exit(99);
	}
}

static void become_nobody_else(void)
{
}

static int do_nothing(void)
{
	return 0;
}

/* As a program that root owns, with the setuid bit, started by the user. */
static void become_setuid(void)
{
	if (setresuid(USER, 0, 0) != 0) {
		_exit(99);
	}
}

/* What a process that became another gets from the store. */
static int in_child(void (*become)(void), int (*use)(void))
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		become();
		_exit(use());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int use_path(const char *path)
{
	struct store *store;
	if (!store_open(&store, path ? &(struct store_options){path, 0} : NULL)) {
		return 99;
	}
	int result = store_off(store) ? IS_OFF : (int)get_text(store, "a");
	bool stored = put_text(store, "b", "more");
	result = store_off(store) ? IS_OFF : result == STORE_HIT && !stored ? NOT_STORED : result;
	store_close(store);
	return result;
}

static int use(void)
{
	return use_path(store_path);
}

/* In some containers root may neither become another user nor give files away. */
static bool is_powerless_root(void)
{
	bool is_powerless = geteuid() == 0 && (in_child(become_user, do_nothing) != 0
		|| chown(store_outside, USER, USER) != 0 || chown(store_outside, 0, 0) != 0);
	if (is_powerless) {
		fprintf(stderr, "skipped: root cannot become another user here\n");
	}
	return is_powerless;
}

/* Beside a store that works: nothing may be made in this folder. */
static int use_below(void)
{
	char path[200];
	snprintf(path, sizeof(path), "%s/new/cache", store_outside);
	int result = use_path(path);
	return access(outside("new"), F_OK) == 0 ? MADE_SOMETHING : result;
}

static int use_without_environment(void)
{
	clearenv();
	const char *why;
	char *folder = store_folder_path(NULL, &why);
	bool is_temporary = folder && (strncmp(folder, "/tmp", 4) == 0
		|| strncmp(folder, "/var/tmp", 8) == 0);
	return is_temporary ? MADE_SOMETHING : use_path(NULL);
}

static int put_entry(void)
{
	struct store *store = store_create(0);
	bool stored = put_text(store, "a", "planted");
	store_close(store);
	return !stored;
}

/* What is changed */

static void change_nothing(void)
{
}

static void give(const char *path, uid_t owner, mode_t mode)
{
	ck_assert_int_eq(chown(path, owner, owner), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void give_all_to_root(void)
{
	give(entry(), 0, 0644);
	give(store_path, 0, 0755);
}

static void open_folder_to_all(void)
{
	ck_assert_int_eq(chmod(store_path, 0777), 0);
}

static void open_folder_to_group(void)
{
	ck_assert_int_eq(chmod(store_path, 0770), 0);
}

static void link_folder(void)
{
	ck_assert_int_eq(rename(store_path, outside("elsewhere")), 0);
	ck_assert_int_eq(symlink(other, store_path), 0);
}

static void link_folder_of_root(void)
{
	give_all_to_root();
	link_folder();
}

static void link_folder_above(void)
{
	ck_assert_int_eq(mkdir(outside("real"), 0755), 0);
	ck_assert(geteuid() != 0 || chown(other, USER, USER) == 0);
	ck_assert_int_eq(rename(store_path, outside("real/cache")), 0);
	ck_assert_int_eq(symlink("real", outside("link")), 0);
	snprintf(store_path, sizeof(store_path), "%.64s/link/cache", store_outside);
}

static void open_above_to_all(void)
{
	ck_assert_int_eq(chmod(store_outside, 0777), 0);
}

static void open_above_with_sticky_bit(void)
{
	ck_assert_int_eq(chmod(store_outside, 01777), 0);
}

static void open_above_to_group(void)
{
	ck_assert_int_eq(chmod(store_outside, 0775), 0);
}

static void give_entry_to_root(void)
{
	give(entry(), 0, 0644);
}

static void open_entry_to_all(void)
{
	ck_assert_int_eq(chmod(entry(), 0666), 0);
}

static void open_entry_to_group(void)
{
	ck_assert_int_eq(chmod(entry(), 0660), 0);
}

static void close_entry(void)
{
	ck_assert_int_eq(chmod(entry(), 0), 0);
}

static void link_entry(void)
{
	ck_assert_int_eq(rename(entry(), outside("entry")), 0);
	ck_assert_int_eq(symlink(other, entry()), 0);
}

static void link_entry_of_root(void)
{
	link_entry();
	give(other, 0, 0644);
}

static void link_entry_of_root_hard(void)
{
	give_entry_to_root();
	ck_assert_int_eq(link(entry(), outside("entry")), 0);
}

static void give_lock_to_root(void)
{
	char lock[160];
	snprintf(lock, sizeof(lock), "%s/lock", store_path);
	give(lock, 0, 0666);
}

static const struct {
	void (*change)(void);
	bool by_root; /* only root can make it */
	void (*become)(void);
	int (*use)(void);
	int want;
} cases[] = {
	{change_nothing, false, become_user, use, STORE_HIT},
	{give_all_to_root, true, become_user, use, IS_OFF},
	{open_folder_to_all, false, become_user, use, IS_OFF},
	{open_folder_to_group, false, become_user, use, IS_OFF},
	{link_folder, false, become_user, use, IS_OFF},
	{link_folder_of_root, true, become_user, use, IS_OFF},
	{link_folder_above, false, become_user, use, STORE_HIT},
	{open_above_to_all, false, become_user, use, IS_OFF},
	{open_above_to_all, false, become_user, use_below, IS_OFF},
	{open_above_with_sticky_bit, false, become_user, use, STORE_HIT},
	{open_above_to_group, false, become_user, use, STORE_HIT},
	{give_entry_to_root, true, become_user, use, STORE_FOREIGN},
	{open_entry_to_all, false, become_user, use, STORE_FOREIGN},
	{open_entry_to_group, false, become_user, use, STORE_FOREIGN},
	{close_entry, false, become_user, use, STORE_FOREIGN},
	{link_entry, false, become_user, use, STORE_DAMAGED},
	{link_entry_of_root, true, become_user, use, STORE_DAMAGED},
	{link_entry_of_root_hard, true, become_user, use, STORE_FOREIGN},
	{give_lock_to_root, true, become_user, use, NOT_STORED},
	{change_nothing, true, become_nobody_else, use, IS_OFF}, /* root, in the user's folder */
	{change_nothing, true, become_nobody_else, use_below, IS_OFF},
	{change_nothing, true, become_setuid, use, IS_OFF},
	{change_nothing, true, become_setuid, use_without_environment, IS_OFF},
	{change_nothing, true, become_user, use_without_environment, IS_OFF}, /* has no home */
};

/* What a copy of this program says with the argument "store". */
int store_owner_tell(void);
int store_owner_tell(void)
{
	struct store *store = NULL;
	bool opened = store_open(&store, NULL);
	printf("%lu %s\n", getauxval(AT_SECURE),
		opened && store_off(store) ? store_off(store) : "on");
	store_close(store);
	return opened ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The sanitizer ends programs in which it cannot read its own files below /proc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MODES = 1 };
#else
enum { MODES = 2 };
#endif

/* A program that the user owns, with the setuid bit, started by root.  Where the file system
 * ignores the bit there is nothing to see. */
START_TEST(a_setuid_program_has_no_store)
{
	static const char *const modes[] = {"755", "4755"};
	static const char *const said[] = {"0 on\n", "1 the program has rights that its user lacks "
		"(setuid, setgid or capabilities)\n"};
	char command[900], line[200] = "";
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: only root makes a program of another user\n");
		return;
	}
	if (is_powerless_root()) {
		return;
	}
	snprintf(command, sizeof(command), "cp /proc/%d/exe '%s' && chown %d '%s' && chmod %s '%s' "
		"&& KUDZU_CACHE=1 KUDZU_CACHE_DIR='%s' '%s' store", (int)getpid(),
		outside("program"), USER, other, modes[_i], other, store_path, other);
	FILE *out = popen(command, "re");
	ck_assert_ptr_nonnull(out);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), out));
	ck_assert_int_eq(pclose(out), 0);
	ck_assert(strcmp(line, said[_i]) == 0 || strcmp(line, said[0]) == 0);
}
END_TEST

START_TEST(no_byte_of_others_is_read)
{
	bool is_root = geteuid() == 0;
	if (cases[_i].by_root && !is_root) {
		printf("store_owner: case %d needs root\n", _i);
		return;
	}
	if (is_powerless_root()) {
		return;
	}
	ck_assert(!is_root || chown(store_outside, USER, USER) == 0);
	ck_assert_int_eq(in_child(become_user, put_entry), 0);
	cases[_i].change();
	ck_assert_int_eq(in_child(cases[_i].become, cases[_i].use), cases[_i].want);
}
END_TEST

SUITE(store_owner)
{
	Suite *suite = suite_create("store_owner");
	TCase *tc = tcase_create("owners");
	tcase_add_checked_fixture(tc, store_folder_create, store_folder_remove);
	tcase_add_loop_test(tc, a_setuid_program_has_no_store, 0, MODES);
	tcase_add_loop_test(tc, no_byte_of_others_is_read, 0, countof(cases));
	suite_add_tcase(suite, tc);
	return suite;
}
