/* SPDX-License-Identifier: MIT */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

/* A folder with sources of kernels that a test edits, and a device.  Each edit renames a file, as
 * editors do, so that no two states of a file have an inode in common. */
#include "base/file.h"
#include "device_test.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[512];

static inline const char *file_path(const char *name)
{
	static char paths[4][600];
	static int next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(*paths), "%s/%s", folder, name);
	return path;
}

static inline void put_bytes(const char *name, const void *data, size_t size)
{
	ok(file_replace(file_path(name), data, size, &err));
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static inline void open_folder(int index)
{
	snprintf(folder, sizeof(folder), "%s/kernel-file-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(mkdir(file_path("sub"), 0755), 0);
	open_kernels(index);
}

static inline void close_folder(void)
{
	char command[600];
	teardown();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

#define FILE_TEST(name) TEST_BETWEEN(open_folder(_i), close_folder(), name)

/* What kernel `f` of a module, f(int *), makes of 0. */
static inline int run_f(kz_module *mod)
{
	int value = 0;
	kz_kernel *f = NULL;
	ok(kz_module_kernel(&f, mod, "f", &err));
	ok(kz_launch(f, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(&value, sizeof(value)))));
	return value;
}

#endif
