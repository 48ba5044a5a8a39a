/* SPDX-License-Identifier: MIT */
/*
 * Precompiled headers that are never stale.
 *
 * NVRTC takes any header that it has precompiled in a folder if options and directives agree; it
 * does not see that the text of a header has changed.  So each folder is for one state of the
 * world: it is called by the hash of all that a key of the cache has (key.c: options, compiler,
 * every header that can be reached, by its content), but of the source its #include lines alone.
 *
 * Only the process that made a precompiled header can use it, and NVRTC removes the files when that
 * ends.  So each process has a folder of its own in CACHE/pch, and holds a lock on it as long as it
 * lives.  It removes the folders of others whose lock is free.  NVRTC goes there by path; nobody
 * else can change where that leads, since all of its folders below CACHE were looked at.
 */
#include "base/common.h"

#include "lib/cache/pch.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/store.h"
#include "base/store_folder.h"
#include "base/str.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/key.h"
#include "lib/rtc/nvrtc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The folder of this process: its name in "pch", "" where there can be none.  Its descriptor is
 * never closed, for the lock. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* a fork is another process */
	char name[64];
} pch_own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A folder in one, which is closed; -1 if there is none. */
static int pch_enter(int folder, const char *name, bool make)
{
	const char *why;
	int below = folder >= 0 ? store_folder_enter(folder, name, make, &why) : -1;
	if (folder >= 0) {
		close(folder);
	}
	return below;
}

/* The folder "pch" of the cache; -1 if there can be none. */
static int pch_open(const char *cache)
{
	const char *why;
	return pch_enter(store_folder_open(cache, STORE_FOLDER_MAKE, &why), "pch", true);
}

/* Remove the folder of a process that lives no more. */
static bool pch_remove_abandoned(void *arg, int folder, const char *name)
{
	const char *why;
	int fd = store_folder_enter(folder, name, false, &why);
	(void)arg;
	if (fd >= 0) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			store_folder_delete(folder, name);
		}
		close(fd);
	}
	return true;
}

/* The path of the folder NAME in that of this process, which is made; NULL: do without. */
static char *pch_subfolder(const char *name)
{
	struct store *store = store_default();
	struct str path = STR_INIT;
	if (!store || store_off(store)) {
		return NULL;
	}
	pthread_mutex_lock(&pch_own.lock);
	const char *cache = store_folder(store);
	if (pch_own.pid != getpid()) {
		/* Make "PID-TIME", locked. */
		struct timespec now;
		int folder = pch_open(cache);
		pch_own.name[0] = '\0';
		pch_own.pid = getpid();
		if (folder >= 0) {
			store_folder_list(folder, pch_remove_abandoned, NULL);
			clock_gettime(CLOCK_REALTIME, &now);
			snprintf(pch_own.name, sizeof(pch_own.name), "%ld-%lld%09ld",
				(long)getpid(), (long long)now.tv_sec, now.tv_nsec);
			int fd = pch_enter(folder, pch_own.name, true);
			if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
				pch_own.name[0] = '\0';
				if (fd >= 0) {
					close(fd);
				}
			}
		}
	}
	if (pch_own.name[0]) {
		int own = pch_enter(pch_open(cache), pch_own.name, false);
		int folder = pch_enter(own, name, true);
		if (folder >= 0) {
			str_addf(&path, "%s/pch/%s/%s", cache, pch_own.name, name);
			close(folder);
		}
	}
	pthread_mutex_unlock(&pch_own.lock);
	return path.len ? str_take(&path) : NULL;
}

/* Only the #include lines of a source; "" if there are none that one can tell, NULL when memory
 * runs out. */
static char *pch_include_lines(const struct includes *includes)
{
	struct str text = STR_INIT;
	for (size_t at = 0; at < includes->names.len && !includes->has_macro;) {
		const char *name = includes->names.data + at;
		str_addf(&text, "#include %c%s%c\n", *name, name + 1, *name == '<' ? '>' : '"');
		at += strlen(name) + 1;
	}
	return str_take(&text);
}

/* Name the folder for those lines: by the key that a source has that is no more than them. */
static bool pch_name(char name[HASH_TEXT_SIZE], const struct rtc_request *request,
	const char *lines)
{
	const struct compiler *compiler;
	struct rtc_request headers = *request;
	struct source_facts facts;
	struct key key;
	char *note;
	bool ok = false;
	headers.source = lines;
	if (compiler_get(&compiler, NULL) || (request->bundle_count > 0
		&& !(compiler = cuda_bundle_find(compiler, store_default(), false, &note)))) {
		return false;
	}
	if (!source_scan(&facts, lines)) {
		return false;
	}
	if (key_make(&key, &headers, &facts, compiler)) {
		key_add_paths(&key.bytes, &headers);
		ok = !key.why_not && !key.bytes.failed;
		if (ok) {
			/* With the times of the files and folders: NVRTC may have read what was
			 * there for a moment. */
			const struct deps_head none = {.cuda_count = 0};
			const struct deps_head *head = key.deps ? &key.deps->head : &none;
			const struct hash folders = key.deps ? deps_folders(key.deps)
				: (struct hash){0, 0};
			str_addn(&key.bytes, (const char *)head, sizeof(*head));
			str_addn(&key.bytes, (const char *)&folders, sizeof(folders));
			hash_text(name, hash_of(key.bytes.data, key.bytes.len));
		}
		key_free(&key);
	}
	source_free(&facts);
	return ok;
}

/* The folder to name in --pch-dir for a request; NULL: do without. */
static char *pch_folder(const struct rtc_request *request, const struct includes *includes)
{
	const struct nvrtc *nvrtc;
	char name[HASH_TEXT_SIZE];
	if (nvrtc_open(&nvrtc, NULL) || !nvrtc->GetPCHCreateStatus) {
		return NULL;
	}
	char *lines = pch_include_lines(includes);
	char *folder = lines && *lines && pch_name(name, request, lines) ? pch_subfolder(name)
		: NULL;
	mem_free(lines);
	return folder;
}

kz_status pch_compile(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err)
{
	struct rtc_request inner = *request;
	char *folder = request->pch ? pch_folder(request, &facts->includes) : NULL;
	inner.pch_folder = folder;
	kz_status st = rtc_compile(out, &inner, facts, err);
	mem_free(folder);
	return st;
}
