/* SPDX-License-Identifier: MIT */
/*
 * The identity of NVRTC: its version alone does not tell two builds of it from each other.  The size
 * of each of its two libraries, and a hash of the first and last bytes, do: the first hold the
 * linker's build id, which is a hash of all.  That takes no more than reading; to load the library,
 * which a hit in the cache can do without, would take a hundred times as long.
 */
#include "base/common.h"

#include "cache/compiler.h"

#include "base/alloc.h"
#include "base/file.h"
#include "rtc/nvrtc.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EDGE 4096

/* False if the file cannot be read. */
static bool file_identity(char *out, size_t room, const char *path)
{
	char edges[2 * EDGE] = {0};
	char text[HASH_TEXT_SIZE];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > EDGE
		&& pread(fd, edges, EDGE, 0) == EDGE
		&& pread(fd, edges + EDGE, EDGE, st.st_size - EDGE) == EDGE;
	if (ok) {
		hash_text(text, hash_of(edges, sizeof(edges)));
		snprintf(out, room, "%lld %s", (long long)st.st_size, text);
	}
	if (fd >= 0) {
		close(fd);
	}
	return ok;
}

static int is_builtins(const struct dirent *entry)
{
	static const char name[] = "libnvrtc-builtins.so";
	return strncmp(entry->d_name, name, sizeof(name) - 1) == 0;
}

/* All builtins in a folder: which of them NVRTC takes, only NVRTC knows. */
static void add_builtins(struct hash_state *state, const char *folder)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_builtins, alphasort);
	for (int i = 0; i < count; i++) {
		char text[64] = "unreadable";
		char *path = file_join(folder, entries[i]->d_name);
		if (path) {
			file_identity(text, sizeof(text), path);
		}
		hash_add(state, text, strlen(text) + 1);
		mem_free(path);
		free(entries[i]);
	}
	free(entries);
}

/* They lie beside the library, or where its links lead, which is the same folder as a rule. */
static bool hash_builtins(char text[HASH_TEXT_SIZE], const char *library)
{
	struct hash_state state;
	char *real = realpath(library, NULL);
	char *folders[] = {file_folder(library), real ? file_folder(real) : NULL};
	bool ok = folders[0] && folders[1];
	hash_begin(&state);
	if (ok) {
		add_builtins(&state, folders[0]);
	}
	if (ok && !file_is_same(folders[0], folders[1])) {
		add_builtins(&state, folders[1]);
	}
	hash_text(text, hash_end(&state));
	mem_free(folders[0]);
	mem_free(folders[1]);
	free(real);
	return ok;
}

static kz_status identify(struct compiler *out, const char *path, kz_error *err)
{
	char library[64];
	char builtins[HASH_TEXT_SIZE];
	if (!file_identity(library, sizeof(library), path) || !hash_builtins(builtins, path)) {
		return error_set(err, KZ_IO, "cannot read '%s'", path);
	}
	out->path = path;
	snprintf(out->identity, sizeof(out->identity), "%s, %s", library, builtins);
	return KZ_OK;
}

/* The one that is loaded, or would be; what is found stays as long as the process. */
static kz_status find_compiler(struct compiler *out, kz_error *err)
{
	static struct nvrtc_place place;
	const struct nvrtc *nvrtc = nvrtc_loaded();
	if (!nvrtc && nvrtc_locate(&place)) {
		if (identify(out, place.path, NULL) == KZ_OK) {
			out->include_dirs = (const char *const *)place.include_dirs;
			out->include_count = place.include_count;
			return KZ_OK;
		}
		nvrtc_place_free(&place);
	}
	kz_status status = nvrtc_open(&nvrtc, err);
	if (!status && !(status = identify(out, nvrtc->path, err))) {
		out->include_dirs = (const char *const *)nvrtc->include_dirs;
		out->include_count = nvrtc->include_count;
	}
	return status;
}

kz_status compiler_get(const struct compiler **out, kz_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct compiler found;
	kz_status status = KZ_OK;
	pthread_mutex_lock(&mutex);
	if (!found.identity[0]) {
		status = find_compiler(&found, err);
	}
	pthread_mutex_unlock(&mutex);
	*out = status ? NULL : &found;
	return status;
}

bool compiler_was_used(const struct compiler *compiler)
{
	const struct nvrtc *nvrtc = nvrtc_loaded();
	return nvrtc && strcmp(nvrtc->path, compiler->path) == 0;
}
