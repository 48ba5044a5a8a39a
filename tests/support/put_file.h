/* SPDX-License-Identifier: MIT */
#ifndef PUT_FILE_H
#define PUT_FILE_H

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Write a text to a file in a folder.  `name` may have folders in it, which are made. */
static inline void put_file(const char *folder, const char *name, const char *text)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

#endif
