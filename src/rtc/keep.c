/* SPDX-License-Identifier: MIT */
/*
 * Keep a source where debuggers find it.
 *
 * A file is called by the hash of what is in it, so that a program that compiles the same source a
 * thousand times leaves one file, and a core dump of last week still finds its own.  Those that were
 * used least recently go when all of them take more than 64 MiB.
 */
#include "base/common.h"

#include "rtc/keep.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/store_folder.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t keep_size_max = INT64_C(64) << 20;

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

/* A file in the folder of sources. */
struct kept {
	char *name;
	int64_t used_ns;
	int64_t size; /* in blocks, which are what a disk gives */
};

static int compare_use(const void *a, const void *b)
{
	const struct kept *one = a, *other = b;
	return (one->used_ns > other->used_ns) - (one->used_ns < other->used_ns);
}

/* What there is of a name; false for what is no file of ours. */
static bool look_at(struct kept *out, int folder, const char *name)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
		return false;
	}
	out->name = mem_strdup(name);
	out->used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	out->size = (int64_t)round_up((size_t)st.st_size, 4096);
	return out->name != NULL;
}

static struct kept *list_files(size_t *count, DIR *folder)
{
	struct kept *list = NULL;
	struct dirent *entry;
	size_t room = 0;
	*count = 0;
	while ((entry = readdir(folder)) != NULL) {
		if (*count == room) {
			size_t bytes;
			struct kept *grown = size_mul(&bytes, 2 * room + 64, sizeof(*list))
				? mem_realloc(list, bytes) : NULL;
			if (!grown) {
				break;
			}
			list = grown;
			room = 2 * room + 64;
		}
		*count += look_at(&list[*count], dirfd(folder), entry->d_name);
	}
	return list;
}

/* Remove the files that were used least recently, until what is left is within the limit. */
static void trim(const char *path)
{
	size_t count;
	int64_t sum = 0;
	DIR *folder = opendir(path);
	if (!folder) {
		return;
	}
	struct kept *list = list_files(&count, folder);
	for (size_t i = 0; i < count; i++) {
		sum += list[i].size;
	}
	if (sum > keep_size_max) {
		qsort(list, count, sizeof(*list), compare_use);
	}
	for (size_t i = 0; i < count; i++) {
		if (sum > keep_size_max && unlinkat(dirfd(folder), list[i].name, 0) == 0) {
			sum -= list[i].size;
		}
		mem_free(list[i].name);
	}
	mem_free(list);
	closedir(folder);
}

/* Where a source is, or will be. */
struct place {
	char *path;
	bool is_there;
	bool is_ours; /* in the cache */
};

static kz_status find_in_cache(struct place *out, const char *source, const char *name,
	kz_error *err)
{
	const char *why = NULL;
	char *folder = store_folder_path(NULL, &why);
	if (!folder) {
		return error_set(err, KZ_IO, "cannot keep the source: %s", why);
	}
	out->is_ours = true;
	out->path = kept_path(folder, source, name);
	mem_free(folder);
	return out->path ? file_has(&out->is_there, out->path, source, err) : error_no_memory(err);
}

static kz_status find_place(struct place *out, const char *source, const char *name, kz_error *err)
{
	char real[PATH_MAX];
	bool same = false;
	kz_status st = KZ_OK;
	*out = (struct place){.path = NULL};
	if (name && (st = file_has(&same, name, source, err))) {
		return st;
	}
	if (!same || !realpath(name, real)) {
		st = find_in_cache(out, source, name, err);
		if (st) {
			mem_free(out->path);
			out->path = NULL;
		}
		return st;
	}
	out->is_there = true;
	out->path = mem_strdup(real);
	return out->path ? KZ_OK : error_no_memory(err);
}

kz_status keep_path(char **path, const char *source, const char *name, kz_error *err)
{
	struct place place;
	kz_status st = find_place(&place, source, name, err);
	*path = place.path;
	return st;
}

kz_status keep_source(char **path, const char *source, const char *name, kz_error *err)
{
	struct place place;
	kz_status st = find_place(&place, source, name, err);
	*path = NULL;
	if (st == KZ_OK && !place.is_there) {
		st = write_file(place.path, source, err);
		char *folder = st ? NULL : file_folder(place.path);
		if (folder) {
			trim(folder);
		}
		mem_free(folder);
	} else if (st == KZ_OK && place.is_ours) {
		(void)utimensat(AT_FDCWD, place.path, NULL, 0); /* it is in use */
	}
	if (st) {
		mem_free(place.path);
		return st;
	}
	*path = place.path;
	return KZ_OK;
}
