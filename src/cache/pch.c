/* SPDX-License-Identifier: MIT */
/*
 * Precompiled headers that are never stale.
 *
 * NVRTC takes any header that it has precompiled in a folder if options and directives agree; it
 * does not see that the text of a header has changed.  So each folder is for one state of the world:
 * it is called by the hash of all that a key of the cache has (key.c: options, compiler, every
 * header that can be reached, by its content), but of the source its #include lines alone.
 *
 * A precompiled header is of use to the process that made it, and NVRTC removes the files when that
 * ends.  The process has a folder of its own in the cache folder, and holds a lock on it as long as
 * it lives; the folders of others whose lock is free are removed.
 */
#include "base/common.h"

#include "cache/pch.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/store_folder.h"
#include "base/str.h"
#include "cache/compiler.h"
#include "cache/includes.h"
#include "cache/key.h"
#include "rtc/nvrtc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The folder of this process; NULL where there can be none. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* a fork is another process */
	char *path;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && !folder) {
		close(fd);
	}
	return folder;
}

static void remove_files(int at, const char *name)
{
	struct dirent *entry;
	DIR *folder = open_folder(at, name);
	while (folder && (entry = readdir(folder)) != NULL) {
		if (!is_dots(entry->d_name)) {
			unlinkat(dirfd(folder), entry->d_name, 0);
		}
	}
	if (folder) {
		closedir(folder);
	}
	unlinkat(at, name, AT_REMOVEDIR);
}

/* Remove the folder of a process that lives no more. */
static void remove_abandoned(int at, const char *name)
{
	struct dirent *entry;
	DIR *folder = open_folder(at, name);
	if (folder && flock(dirfd(folder), LOCK_EX | LOCK_NB) == 0) {
		while ((entry = readdir(folder)) != NULL) {
			if (!is_dots(entry->d_name)) {
				remove_files(dirfd(folder), entry->d_name);
			}
		}
		unlinkat(at, name, AT_REMOVEDIR);
	}
	if (folder) {
		closedir(folder);
	}
}

static void sweep(const char *path)
{
	struct dirent *entry;
	DIR *folder = open_folder(AT_FDCWD, path);
	while (folder && (entry = readdir(folder)) != NULL) {
		if (!is_dots(entry->d_name)) {
			remove_abandoned(dirfd(folder), entry->d_name);
		}
	}
	if (folder) {
		closedir(folder);
	}
}

/* "folder/PID-TIME", locked; the descriptor stays open, for the lock. */
static char *make_own_in(const char *folder)
{
	struct str path = STR_INIT;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	str_addf(&path, "%s/%ld-%lld%09ld", folder, (long)getpid(), (long long)now.tv_sec,
		now.tv_nsec);
	int fd = -1;
	if (!path.failed && mkdir(path.data, 0700) == 0) {
		fd = open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		return str_take(&path);
	}
	if (fd >= 0) {
		close(fd);
	}
	str_free(&path);
	return NULL;
}

static char *make_own(void)
{
	const char *why;
	const char *off = env_get("KUDZU_CACHE");
	char *cache = off && strcmp(off, "0") == 0 ? NULL : store_folder_path(NULL, &why);
	char *folder = cache ? file_join(cache, "pch") : NULL;
	char *path = NULL;
	mem_free(cache);
	if (folder && file_make_folders(folder, NULL) == KZ_OK) {
		sweep(folder);
		path = make_own_in(folder);
	}
	mem_free(folder);
	return path;
}

/* The folder "own/NAME". */
static char *subfolder(const char *name)
{
	pthread_mutex_lock(&own.lock);
	if (own.pid != getpid()) {
		mem_free(own.path);
		own.path = make_own();
		own.pid = getpid();
	}
	char *path = own.path ? file_join(own.path, name) : NULL;
	pthread_mutex_unlock(&own.lock);
	if (path && mkdir(path, 0700) != 0 && errno != EEXIST) {
		mem_free(path);
		path = NULL;
	}
	return path;
}

/* Only the #include lines of a source; "" if there are none that one can tell. */
static char *include_lines(const char *source)
{
	struct includes includes;
	struct str text = STR_INIT;
	if (!includes_scan(&includes, source, strlen(source))) {
		return NULL;
	}
	for (size_t at = 0; at < includes.names.len && !includes.has_macro;) {
		const char *name = includes.names.data + at;
		str_addf(&text, "#include %c%s%c\n", *name, name + 1, *name == '<' ? '>' : '"');
		at += strlen(name) + 1;
	}
	includes_free(&includes);
	return str_take(&text);
}

/* The folder to name in --pch-dir for a request; NULL: do without. */
static char *pch_folder(const struct nvrtc *nvrtc, const struct rtc_request *request)
{
	const struct compiler *compiler;
	struct rtc_request headers = *request;
	struct key key;
	char name[HASH_TEXT_SIZE] = "";
	char *lines = nvrtc->GetPCHCreateStatus ? include_lines(request->source) : NULL;
	headers.source = lines;
	if (lines && *lines && compiler_get(&compiler, NULL) == KZ_OK
	    && key_make(&key, &headers, NULL, compiler, true)) {
		if (!key.why_not) {
			hash_text(name, key_hash(&key.bytes));
		}
		key_free(&key);
	}
	mem_free(lines);
	return *name ? subfolder(name) : NULL;
}

kz_status pch_compile(struct rtc_image *out, const struct rtc_request *request, kz_error *err)
{
	const struct nvrtc *nvrtc;
	struct rtc_request inner = *request;
	char *folder = request->pch && rtc_request_check(request, NULL) == KZ_OK
		&& nvrtc_open(&nvrtc, NULL) == KZ_OK ? pch_folder(nvrtc, request) : NULL;
	inner.pch_folder = folder;
	kz_status status = rtc_compile(out, &inner, err);
	mem_free(folder);
	return status;
}
