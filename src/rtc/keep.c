/* SPDX-License-Identifier: MIT */
/*
 * Keep a source where debuggers find it.
 *
 * A file is called by the hash of what is in it, so that a program that compiles the same source a
 * thousand times leaves one file, and a core dump of last week still finds its own.
 */
#include "../base/common.h"

#include "keep.h"

#include "../base/alloc.h"
#include "../base/file.h"
#include "../base/hash.h"
#include "../base/str.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Whether a file has just this text; KZ_NO_MEMORY or KZ_OK. */
static kz_status file_has(bool *same, const char *path, const char *text, kz_error *err)
{
	char *data = NULL;
	size_t size = 0;
	size_t len = strlen(text);
	*same = false;
	if (!file_is_regular(path)) {
		return KZ_OK;
	}
	kz_status st = file_read(&data, &size, path, NULL);
	if (st == KZ_OK) {
		*same = size == len && memcmp(data, text, len) == 0;
		mem_free(data);
	}
	return st == KZ_NO_MEMORY ? error_no_memory(err) : KZ_OK;
}

/* "folder/sources/HASH-kernel.cu" */
static char *kept_path(const char *folder, const char *source, const char *name)
{
	struct str path = STR_INIT;
	char digits[HASH_TEXT_SIZE];
	const char *slash = name ? strrchr(name, '/') : NULL;
	const char *base = slash ? slash + 1 : name;
	hash_text(digits, hash_of(source, strlen(source)));
	str_addf(&path, "%s/sources/%s-%.100s", folder, digits, base && *base ? base : "kernel.cu");
	return str_take(&path);
}

static kz_status write_file(const char *path, const char *text, kz_error *err)
{
	struct file_writer file;
	char *folder = file_folder(path);
	kz_status st = folder ? file_make_folders(folder, err) : error_no_memory(err);
	mem_free(folder);
	if (st || (st = file_begin(&file, path, err))) {
		return st;
	}
	st = file_add(&file, text, strlen(text), err);
	if (st) {
		file_abandon(&file);
		return st;
	}
	return file_commit(&file, err);
}

static kz_status keep_in_cache(char **path, const char *source, const char *name, kz_error *err)
{
	const char *why = NULL;
	bool same = false;
	char *folder = file_cache_folder(&why);
	if (!folder) {
		return error_set(err, KZ_IO, "cannot keep the source: %s", why);
	}
	char *kept = kept_path(folder, source, name);
	mem_free(folder);
	kz_status st = kept ? file_has(&same, kept, source, err) : error_no_memory(err);
	if (st == KZ_OK && !same) {
		st = write_file(kept, source, err);
	}
	if (st) {
		mem_free(kept);
		return st;
	}
	*path = kept;
	return KZ_OK;
}

kz_status keep_source(char **path, const char *source, const char *name, kz_error *err)
{
	char real[PATH_MAX];
	bool same = false;
	kz_status st = KZ_OK;
	*path = NULL;
	if (name && (st = file_has(&same, name, source, err))) {
		return st;
	}
	if (!same || !realpath(name, real)) {
		return keep_in_cache(path, source, name, err);
	}
	*path = mem_strdup(real);
	return *path ? KZ_OK : error_no_memory(err);
}
