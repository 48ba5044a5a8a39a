/* SPDX-License-Identifier: MIT */
#ifndef NPY_FOLDER_H
#define NPY_FOLDER_H

/* Tests of files: each has a device, and a folder of its own with one file in it at the most. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kz_error err;
static kz_device *dev;
static char folder[32];
static char path[64]; /* of the file */

static inline void open_folder(int index, const char *name)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(index);
	strcpy(folder, "/tmp/kudzu-test-XXXXXX"); /* mkdtemp's template */
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
}

static inline void teardown(void)
{
	support_close(dev);
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0); /* no other file is left */
}

#endif
