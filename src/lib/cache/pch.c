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
 * ends: they are bound to the address of a heap, which the kernel chooses anew for each process.
 * So each process has a folder of its own in CACHE/pch, and holds a lock on it as long as it lives.
 * It removes the folders of others whose lock is free.  NVRTC goes there by path; nobody else can
 * change where that leads, since all of its folders below CACHE were looked at.
 */
#include "base/common.h"

#include "lib/cache/pch.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/store.h"
#include "base/store_folder.h"
#include "base/str.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/key.h"
#include "lib/rtc/job.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* From how many headers on NVRTC takes long enough for them, and after how many compiles of the
 * same headers it is likely that more will follow: to precompile takes about as long as one of
 * these compiles. */
enum { PCH_MANY = 150, PCH_REPEATS = 2 };

int64_t pch_size_most = INT64_C(384) << 20;

/* The sets of headers that this process compiled without being asked to precompile them: the last
 * ones, by the low bits of their names' hashes. */
enum { PCH_RECENT = 16 };
static struct {
	pthread_mutex_t lock;
	struct pch_set {
		char name[HASH_TEXT_SIZE]; /* of the folder that it would have */
		int quiet;                 /* compiles that succeeded without a warning */
	} sets[PCH_RECENT];
	bool is_off; /* after a failure */
} pch_automatic = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

/* Name the folder for those lines: by the key that a source has that is no more than them.  *count
 * is how many headers there may be. */
static bool pch_name(char name[HASH_TEXT_SIZE], uint64_t *count, const struct rtc_request *request,
	const char *lines)
{
	const struct compiler *compiler;
	struct rtc_request headers = *request;
	struct source_facts facts;
	struct key key;
	char *note;
	bool ok = false;
	headers.source = lines;
	headers.instance_count = 0;
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
			*count = head->file_count;
		}
		key_free(&key);
	}
	source_free(&facts);
	return ok;
}

/* How much the files in a folder and below it take. */
static bool pch_add_size(void *arg, int folder, const char *name)
{
	int64_t *size = arg;
	struct stat st;
	const char *why;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		*size += store_folder_size(st.st_size);
		return true;
	}
	int below = store_folder_enter(folder, name, false, &why);
	if (below >= 0) {
		store_folder_list(below, pch_add_size, arg);
		close(below);
	}
	return true;
}

/* Whether the cache and its disk have room for one more precompiled set that nobody asked for. */
static bool pch_has_room(void)
{
	enum { DISK_FACTOR = 4 };
	struct store *store = store_default();
	struct store_stats stats;
	struct statvfs disk;
	struct rlimit memory;
	int64_t size = 0;
	int folder = store && !store_off(store) ? pch_open(store_folder(store)) : -1;
	if (folder < 0) {
		return false;
	}
	store_stats(store, &stats);
	store_folder_list(folder, pch_remove_abandoned, NULL);
	store_folder_list(folder, pch_add_size, &size);
	bool has_room = size + pch_size_most <= stats.size_max && fstatvfs(folder, &disk) == 0
		&& disk.f_bavail >= (uint64_t)pch_size_most * DISK_FACTOR / disk.f_frsize
		&& file_most() > (uint64_t)pch_size_most
		&& getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur == RLIM_INFINITY;
	close(folder);
	return has_room;
}

void pch_clear(struct store *store)
{
	const char *why;
	int folder = pch_enter(store_folder_open(store_folder(store), STORE_FOLDER_READ, &why),
		"pch", false);
	if (folder >= 0) {
		store_folder_list(folder, pch_remove_abandoned, NULL);
		close(folder);
	}
}

/* The place of a set among those of this process, with the lock. */
static struct pch_set *pch_set_of(const char *name)
{
	size_t index = hash_of(name, strlen(name)).low % PCH_RECENT;
	struct pch_set *set = &pch_automatic.sets[index];
	if (strcmp(set->name, name) != 0) {
		*set = (struct pch_set){.quiet = 0};
		strcpy(set->name, name);
	}
	return set;
}

/* Whether a set of headers that nobody asked to precompile is worth it: it takes long, it came
 * before, and it will give no warnings that a compile with it would lack. */
static bool pch_is_due(const char *name, uint64_t count, const struct nvrtc *nvrtc)
{
	if (count < PCH_MANY) {
		return false;
	}
	pthread_mutex_lock(&pch_automatic.lock);
	int quiet = pch_automatic.is_off ? 0 : pch_set_of(name)->quiet;
	pthread_mutex_unlock(&pch_automatic.lock);
	if (quiet != PCH_REPEATS) {
		return quiet > PCH_REPEATS;
	}
	if (!pch_has_room()) {
		return false;
	}
	job_reserve_heap(nvrtc);
	return true;
}

/* Note how a compile went that nobody asked to precompile its headers. */
static void pch_note(const char *name, bool is_quiet, bool is_precompiled, bool failed)
{
	pthread_mutex_lock(&pch_automatic.lock);
	struct pch_set *set = pch_set_of(name);
	set->quiet += is_quiet && (set->quiet < PCH_REPEATS
		|| (is_precompiled && set->quiet == PCH_REPEATS));
	pch_automatic.is_off |= failed;
	pthread_mutex_unlock(&pch_automatic.lock);
}

kz_status pch_compile(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err)
{
	struct rtc_request inner = *request;
	const struct nvrtc *nvrtc;
	char name[HASH_TEXT_SIZE], *folder = NULL;
	uint64_t count = 0;
	bool failed = false;
	char *lines = pch_include_lines(&facts->includes);
	bool has_name = lines && *lines && !nvrtc_open(&nvrtc, NULL) && nvrtc->GetPCHCreateStatus
		&& pch_name(name, &count, request, lines);
	if (has_name && (request->pch || pch_is_due(name, count, nvrtc))) {
		folder = pch_subfolder(name);
	}
	inner.pch_folder = folder;
	inner.pch_failed = &failed;
	kz_status st = rtc_compile(out, &inner, facts, err);
	if (has_name && !request->pch && count >= PCH_MANY) {
		pch_note(name, !st && !out->log, folder, failed);
	}
	mem_free(lines);
	mem_free(folder);
	return st;
}
