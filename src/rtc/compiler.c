/* SPDX-License-Identifier: MIT */
/*
 * The identity of NVRTC: its version alone does not tell two builds of it from each other.  The size
 * of each of its two libraries, and a hash of the first and last bytes, do: the first hold the
 * linker's build id, which is a hash of all.
 */
#include "../base/common.h"

#include "compiler.h"

#include "nvrtc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
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

static kz_status identify(struct compiler *out, const struct nvrtc *nvrtc, kz_error *err)
{
	char library[64];
	char builtins[64] = "found by the loader";
	if (!file_identity(library, sizeof(library), nvrtc->path)
	    || (nvrtc->builtins
		&& !file_identity(builtins, sizeof(builtins), nvrtc->builtins))) {
		return error_set(err, KZ_IO, "cannot read '%s'", nvrtc->path);
	}
	snprintf(out->identity, sizeof(out->identity), "%d.%d, %s, %s", nvrtc->major, nvrtc->minor,
		library, builtins);
	out->include_dirs = (const char *const *)nvrtc->include_dirs;
	out->include_count = nvrtc->include_count;
	return KZ_OK;
}

kz_status compiler_get(const struct compiler **out, kz_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct compiler found;
	const struct nvrtc *nvrtc;
	kz_status status = nvrtc_open(&nvrtc, err);
	pthread_mutex_lock(&mutex);
	if (!status && !found.identity[0]) {
		status = identify(&found, nvrtc, err);
	}
	pthread_mutex_unlock(&mutex);
	*out = status ? NULL : &found;
	return status;
}
