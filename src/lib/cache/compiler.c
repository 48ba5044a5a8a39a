/* SPDX-License-Identifier: MIT */
/*
 * The identity of NVRTC: a hash of its libraries, all bytes of them.  Its version does not tell two
 * builds from each other, and nothing less tells a damaged file from a good one.
 *
 * They are 100 MB.  So the hash is kept in the store under what stat says of the files, and made
 * anew when that changes.  Without a store no key leaves the process, and stat is enough.
 */
#include "base/common.h"

#include "lib/cache/compiler.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/store.h"
#include "base/str.h"
#include "lib/cache/deps.h"
#include "lib/rtc/nvrtc.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char compiler_kind[] = "nvrtc";

/* The files of the compiler that was found: paths, each with its zero, and what stat said of
 * them. */
static struct {
	struct str paths;
	struct hash stats;
} compiler_files = {.paths = STR_INIT};

/* What stat says of all files now; false if the first, the library, is not there. */
static bool compiler_stat(struct hash *out, bool *is_rested)
{
	const struct str *paths = &compiler_files.paths;
	struct hash_state state;
	struct stat info;
	bool ok = !paths->failed;
	hash_begin(&state);
	*is_rested = true;
	for (size_t at = 0; at < paths->len && ok; at += strlen(paths->data + at) + 1) {
		bool is_there = stat(paths->data + at, &info) == 0;
		ok = at > 0 || (is_there && S_ISREG(info.st_mode));
		*is_rested = *is_rested && is_there && deps_is_rested(&info);
		deps_add_stat(&state, is_there ? &info : NULL);
	}
	*out = hash_end(&state);
	return ok;
}

/* Add what is in a file, and how much; false if it cannot be read. */
static bool compiler_hash_file(struct hash_state *state, const char *path, char *room, size_t size)
{
	int64_t count = 0;
	ssize_t got = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd >= 0 && (got = read(fd, room, size)) > 0) {
		hash_add(state, room, (size_t)got);
		count += got;
	}
	if (fd >= 0) {
		close(fd);
	}
	hash_add(state, &count, sizeof(count));
	return got == 0;
}

/* The hash of all files: from the store, or made. */
static bool compiler_hash(struct hash *out)
{
	enum { AT_ONCE = 1 << 18 };
	uint8_t id[DL_BUILD_ID_SIZE];
	const struct str *paths = &compiler_files.paths;
	struct store *store = store_default();
	struct str key = STR_INIT;
	char *value = NULL;
	size_t size = 0;
	if (!store || store_off(store)) {
		*out = compiler_files.stats;
		return true;
	}
	str_addn(&key, compiler_kind, sizeof(compiler_kind));
	str_addn(&key, (const char *)&compiler_files.stats, sizeof(compiler_files.stats));
	str_addn(&key, (const char *)id, dl_build_id(id, compiler_kind));
	str_addn(&key, paths->data, paths->len);
	bool ok = !key.failed && store_get(store, key.data, key.len, &value, &size) == STORE_HIT
		&& size == sizeof(*out);
	if (ok) {
		memcpy(out, value, sizeof(*out));
	}
	mem_free(value);
	char *room = ok ? NULL : mem_alloc(AT_ONCE);
	if (room) {
		struct hash_state state;
		hash_begin(&state);
		ok = true;
		for (size_t at = 0; at < paths->len && ok; at += strlen(paths->data + at) + 1) {
			ok = compiler_hash_file(&state, paths->data + at, room, AT_ONCE) || at > 0;
		}
		*out = hash_end(&state);
		struct hash after;
		bool is_rested;
		if (ok && compiler_stat(&after, &is_rested) && is_rested && !key.failed
		    && hash_equal(after, compiler_files.stats)) {
			(void)store_put(store, key.data, key.len, out, sizeof(*out));
		}
		mem_free(room);
	}
	str_free(&key);
	return ok;
}

static int compiler_is_builtins(const struct dirent *entry)
{
	static const char name[] = "libnvrtc-builtins.so";
	return strncmp(entry->d_name, name, sizeof(name) - 1) == 0;
}

/* All builtins in a folder: which of them NVRTC takes, only NVRTC knows. */
static void compiler_add_builtins(const char *folder)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, compiler_is_builtins, alphasort);
	for (int i = 0; i < count; i++) {
		str_addf(&compiler_files.paths, "%s/%s", folder, entries[i]->d_name);
		str_addc(&compiler_files.paths, '\0');
		free(entries[i]);
	}
	free(entries);
}

/* Builtins lie beside the library, or where its links lead, which is the same folder as a rule. */
static kz_status compiler_identify(struct compiler *out, const char *path, kz_error *err)
{
	char text[HASH_TEXT_SIZE];
	struct hash hash;
	char *real = realpath(path, NULL);
	char *folders[] = {file_folder(path), real ? file_folder(real) : NULL};
	str_free(&compiler_files.paths);
	str_addn(&compiler_files.paths, path, strlen(path) + 1);
	bool ok = folders[0] && folders[1];
	if (ok) {
		compiler_add_builtins(folders[0]);
	}
	if (ok && !file_is_same(folders[0], folders[1])) {
		compiler_add_builtins(folders[1]);
	}
	mem_free(folders[0]);
	mem_free(folders[1]);
	free(real);
	bool is_rested;
	if (!ok || !compiler_stat(&compiler_files.stats, &is_rested)
	    || !compiler_hash(&hash)) {
		return error_set(err, KZ_IO, "cannot read '%s'", path);
	}
	hash_text(text, hash);
	out->path = path;
	memcpy(out->identity, text, sizeof(text));
	return KZ_OK;
}

/* The one that is loaded, or would be; what is found stays as long as the process. */
static kz_status compiler_find(struct compiler *out, kz_error *err)
{
	static struct nvrtc_place place;
	const struct nvrtc *nvrtc = nvrtc_loaded();
	if (!nvrtc && nvrtc_locate(&place)) {
		if (compiler_identify(out, place.path, NULL) == KZ_OK) {
			out->include_dirs = (const char *const *)place.include_dirs;
			out->include_count = place.include_count;
			return KZ_OK;
		}
		nvrtc_place_free(&place);
	}
	kz_status st = nvrtc_open(&nvrtc, err);
	if (!st && !(st = compiler_identify(out, nvrtc->path, err))) {
		out->include_dirs = (const char *const *)nvrtc->include_dirs;
		out->include_count = nvrtc->include_count;
	}
	return st;
}

kz_status compiler_get(const struct compiler **out, kz_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct compiler found;
	kz_status st = KZ_OK;
	pthread_mutex_lock(&mutex);
	if (!found.identity[0]) {
		st = compiler_find(&found, err);
	}
	pthread_mutex_unlock(&mutex);
	*out = st ? NULL : &found;
	return st;
}

bool compiler_was_used(const struct compiler *compiler)
{
	const struct nvrtc *nvrtc = nvrtc_loaded();
	struct hash stats;
	bool is_rested;
	return nvrtc && strcmp(nvrtc->path, compiler->path) == 0
		&& compiler_stat(&stats, &is_rested)
		&& hash_equal(stats, compiler_files.stats);
}
