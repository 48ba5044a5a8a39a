/* SPDX-License-Identifier: MIT */
/*
 * Keep a source where debuggers find it.
 *
 * The hash of a source is in the name of its file.  So a program that compiles one source a
 * thousand times leaves one file, and a core dump of last week still finds its own.  When all files
 * together take more than 64 MiB, those that were used least recently go.
 */
#include "base/common.h"

#include "lib/rtc/keep.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/store_folder.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t keep_size_max = INT64_C(64) << 20;

/* Where a source is, or will be. */
struct keep_place {
	char *path;
	char *cache; /* the cache folder, which `path` is in; NULL: the program's own file */
};

/* Whether a file of the program has just this text, perhaps after a byte order mark; KZ_NO_MEMORY
 * or KZ_OK. */
static kz_status keep_file_has(bool *same, const char *path, const char *text, kz_error *err)
{
	char *data = NULL;
	size_t size = 0;
	kz_status st = file_read(&data, &size, path, NULL);
	const size_t mark = !st && strncmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	*same = !st && size - mark == strlen(text) && memcmp(data + mark, text, size - mark) == 0;
	mem_free(data);
	return st == KZ_NO_MEMORY ? error_no_memory(err) : KZ_OK;
}

static kz_status keep_find(struct keep_place *out, const char *source, const char *name,
	kz_error *err)
{
	char real[PATH_MAX], digits[HASH_TEXT_SIZE];
	const char *slash = name ? strrchr(name, '/') : NULL, *why;
	const char *base = slash ? slash + 1 : name;
	struct str path = STR_INIT;
	bool same = false;
	kz_status st = name ? keep_file_has(&same, name, source, err) : KZ_OK;
	*out = (struct keep_place){NULL, NULL};
	if (st) {
		return st;
	}
	if (same && realpath(name, real)) {
		out->path = mem_strdup(real);
		return out->path ? KZ_OK : error_no_memory(err);
	}
	out->cache = store_folder_path(NULL, &why);
	if (!out->cache) {
		return error_set(err, KZ_IO, "cannot keep the source: %s", why);
	}
	hash_text(digits, hash_of(source, strlen(source)));
	str_addf(&path, "%s/sources/%s-%.100s", out->cache, digits,
		base && *base ? base : "kernel.cu");
	out->path = str_take(&path);
	if (!out->path) {
		mem_free(out->cache);
	}
	return out->path ? KZ_OK : error_no_memory(err);
}

kz_status keep_path(char **path, const char *source, const char *name, kz_error *err)
{
	struct keep_place place;
	kz_status st = keep_find(&place, source, name, err);
	*path = st ? NULL : place.path;
	if (!st) {
		mem_free(place.cache);
	}
	return st;
}

/* Whether the file has the text already, and is in use again. */
static bool keep_is_there(int sources, const char *name, const struct iovec *text)
{
	struct stat info;
	int fd = store_folder_file(sources, name, O_RDONLY, &info);
	char *data = fd >= 0 && (size_t)info.st_size == text->iov_len
		? mem_alloc(text->iov_len + 1) : NULL;
	bool same = data && read(fd, data, text->iov_len) == (ssize_t)text->iov_len
		&& memcmp(data, text->iov_base, text->iov_len) == 0;
	if (same) {
		(void)futimens(fd, NULL);
	}
	if (fd >= 0) {
		close(fd);
	}
	mem_free(data);
	return same;
}

static bool keep_is_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == HASH_TEXT_SIZE - 1
		&& name[HASH_TEXT_SIZE - 1] == '-';
}

static kz_status keep_write(const struct keep_place *place, const char *source, kz_error *err)
{
	const struct iovec text = {(void *)source, strlen(source)};
	const char *name = strrchr(place->path, '/') + 1, *why;
	int cache = store_folder_open(place->cache, STORE_FOLDER_MAKE, &why);
	int sources = cache >= 0 ? store_folder_enter(cache, "sources", true, &why) : -1;
	bool ok = sources >= 0 && (keep_is_there(sources, name, &text)
		|| store_folder_write(sources, name, &text, 1));
	int code = errno;
	if (ok) {
		(void)store_folder_trim(sources, keep_is_name, keep_size_max, keep_size_max);
	}
	if (sources >= 0) {
		close(sources);
	}
	if (cache >= 0) {
		close(cache);
	}
	return ok ? KZ_OK
		: why ? error_set(err, KZ_IO, "cannot keep the source in '%s%s': %s", place->cache,
			cache >= 0 ? "/sources" : "", why)
		: error_os(err, code, "open", "cannot keep the source in '%s'", place->path);
}

kz_status keep_source(char **path, const char *source, const char *name, kz_error *err)
{
	struct keep_place place;
	kz_status st = keep_find(&place, source, name, err);
	*path = NULL;
	if (st) {
		return st;
	}
	st = place.cache ? keep_write(&place, source, err) : KZ_OK;
	mem_free(place.cache);
	if (st) {
		mem_free(place.path);
		return st;
	}
	*path = place.path;
	return KZ_OK;
}
