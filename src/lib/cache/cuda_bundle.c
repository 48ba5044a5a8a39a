/* SPDX-License-Identifier: MIT */
/*
 * NVRTC's own CUDA headers, in CACHE/headers/IDENTITY.
 *
 * The identity is that of the compiler (compiler.c), so another NVRTC has a folder of its own.
 * NVRTC writes into a temporary folder beside it, which is renamed when all is written: who finds
 * the folder finds it whole.  Processes that want it at once wait for one of them; if they cannot,
 * each writes, and the first rename counts.  NVRTC goes there by path; nobody else can change where
 * that leads, since the folders below CACHE were looked at and belong to us alone.
 *
 * The compile's key has what is in the headers, as it has that of a toolkit's (deps.c).
 */
#include "base/common.h"

#include "lib/cache/cuda_bundle.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/store_folder.h"
#include "base/str.h"
#include "lib/rtc/nvrtc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	BUNDLE_FILE_MAX = 16 << 20, /* no header is as big */
	ABANDONED_S = 3600,         /* a temporary folder of a process that was killed */
	USED_S = 24 * 3600,         /* how often the folder's time is set */
	UNUSED_S = 30 * 24 * 3600
};

static const char bundle_headers[] = "headers";
static const char bundle_temporary[] = "tmp-";

/* The compiler of this process with its headers, once they are there. */
static struct {
	pthread_mutex_t lock;
	struct compiler compiler;
} bundle = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool cuda_bundle_is_wanted(uint64_t missing_parts, const struct compiler *compiler)
{
	unsigned found;
	const char *named = env_get("KUDZU_CUDA_INCLUDE");
	return (missing_parts & BUNDLE_PARTS) && !(named && named[0])
		&& cuda_parts_find_all(&found, compiler->include_dirs, compiler->include_count)
		&& (missing_parts & BUNDLE_PARTS & ~found);
}

/* The folder "headers" of the cache; -1 if it does not exist, and `use` cannot make it. */
static int bundle_open(struct store *store, enum store_folder_use use, const char **why)
{
	int cache = store_folder_open(store_folder(store), use, why);
	if (cache < 0) {
		return -1;
	}
	int headers = store_folder_enter(cache, bundle_headers, use == STORE_FOLDER_MAKE, why);
	int error = errno;
	close(cache);
	errno = error;
	return headers;
}

/* Whether the headers are there; notes that they are used. */
static bool bundle_is_there(int headers, const char *identity)
{
	const char *why;
	struct stat st;
	int fd = headers >= 0 ? store_folder_enter(headers, identity, false, &why) : -1;
	if (fd < 0) {
		return false;
	}
	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtim.tv_sec > USED_S) {
		(void)futimens(fd, NULL);
	}
	close(fd);
	return true;
}

/* Remove what nobody will use: half-written folders, and headers of compilers that are gone. */
static bool bundle_remove_unused(void *arg, int headers, const char *name)
{
	const char *identity = arg;
	struct stat st;
	bool is_temporary = strncmp(name, bundle_temporary, strlen(bundle_temporary)) == 0;
	int64_t most = is_temporary ? ABANDONED_S : UNUSED_S;
	if (strcmp(name, identity) != 0 && fstatat(headers, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		&& time(NULL) - st.st_mtim.tv_sec > most) {
		store_folder_delete(headers, name);
	}
	return true;
}

/* Why this store takes no headers of that size; NULL: it does. */
static const char *bundle_refusal(struct store *store, const struct nvrtc_bundle *info)
{
	struct store_stats stats;
	store_stats(store, &stats);
	return (int64_t)info->size > stats.size_max ? "KUDZU_CACHE_SIZE is less than they take"
		: file_most() < BUNDLE_FILE_MAX ? "the limit for the size of files is too low"
		: NULL;
}

/* Write the headers to a temporary folder, and give that its name. */
static kz_status bundle_write(int headers, const struct nvrtc *nvrtc, const char *folder,
	const char *identity, kz_error *err)
{
	char name[64];
	struct timespec now;
	const char *why = NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "%s%ld-%lld%09ld", bundle_temporary, (long)getpid(),
		(long long)now.tv_sec, now.tv_nsec);
	char *path = file_join(folder, name);
	if (!path) {
		return error_no_memory(err);
	}
	int fd = store_folder_enter(headers, name, true, &why);
	int code = errno;
	kz_status st = fd < 0 ? error_os(err, code, "mkdir", "cannot make '%s'", path)
		: nvrtc_install_headers(nvrtc, path, err);
	/* A file system may tell only now that it is full; and after a crash the folder must not be
	 * there with files that are not. */
	if (!st && syncfs(fd) != 0) {
		st = error_os(err, errno, "syncfs", "cannot write to '%s'", path);
	}
	if (fd >= 0) {
		close(fd);
	}
	if (!st && renameat(headers, name, headers, identity) != 0 && errno != EEXIST
		&& errno != ENOTEMPTY) {
		st = error_os(err, errno, "rename", "cannot rename '%s' to '%s'", path, identity);
	}
	store_folder_delete(headers, name); /* where it still has that name */
	mem_free(path);
	return st;
}

static void bundle_install(struct store *store, const struct compiler *compiler, char **note)
{
	const struct nvrtc *nvrtc;
	struct nvrtc_bundle info;
	const char *why = NULL;
	kz_error err = KZ_ERROR_INIT; /* a message alone, nothing to free */
	struct str text = STR_INIT;
	if (nvrtc_open(&nvrtc, NULL) || !compiler_was_used(compiler)
		|| !nvrtc_bundle(&info, nvrtc)) {
		return;
	}
	str_addf(&text, "NVRTC carries CUDA's headers, but ");
	if (!store || store_off(store)) {
		const char *off = store ? store_off(store) : NULL;
		str_addf(&text, "the cache, where they would go, is off%s%s", off ? ": " : "",
			off ? off : "");
		*note = str_take(&text);
		return;
	}
	char *folder = file_join(store_folder(store), bundle_headers);
	int headers = bundle_open(store, STORE_FOLDER_MAKE, &why);
	int code = errno;
	const char *refusal = bundle_refusal(store, &info);
	if (headers >= 0 && folder && !refusal) {
		struct str key = STR_INIT;
		str_addn(&key, bundle_headers, sizeof(bundle_headers));
		str_add(&key, compiler->identity);
		struct store_lock *lock = key.failed ? NULL
			: store_lock(store, key.data, key.len);
		if (!bundle_is_there(headers, compiler->identity)) {
			store_folder_list(headers, bundle_remove_unused,
				(void *)compiler->identity);
			(void)bundle_write(headers, nvrtc, folder, compiler->identity, &err);
		}
		store_unlock(lock);
		str_free(&key);
	}
	if (headers < 0 || refusal || err.status) {
		str_addf(&text, "they cannot be put into '%s': %s",
			folder ? folder : store_folder(store), refusal ? refusal
			: err.status ? err.message : why ? why : strerrordesc_np(code));
		*note = str_take(&text);
	}
	if (headers >= 0) {
		close(headers);
	}
	str_free(&text);
	mem_free(folder);
}

char *cuda_bundle_folder(const struct compiler *compiler, struct store *store, bool *is_there)
{
	struct str path = STR_INIT;
	const char *why;
	*is_there = false;
	if (!store || store_off(store)) {
		return NULL;
	}
	int headers = bundle_open(store, STORE_FOLDER_CHECK, &why);
	*is_there = bundle_is_there(headers, compiler->identity);
	if (headers >= 0) {
		close(headers);
	}
	str_addf(&path, "%s/%s/%s", store_folder(store), bundle_headers, compiler->identity);
	return str_take(&path);
}

/* Fill in `bundle`; false when memory runs out.  Takes the path. */
static bool bundle_keep(const struct compiler *compiler, char *path)
{
	const size_t count = compiler->include_count;
	char *cccl = path ? file_join(path, "cccl") : NULL;
	const char **dirs = cccl ? mem_alloc((count + 2) * sizeof(*dirs)) : NULL;
	if (!dirs) {
		mem_free(path);
		mem_free(cccl);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		dirs[i] = compiler->include_dirs[i];
	}
	dirs[count] = path;
	dirs[count + 1] = cccl;
	bundle.compiler = *compiler;
	bundle.compiler.include_dirs = dirs;
	bundle.compiler.include_count = count + 2;
	bundle.compiler.bundle_count = 2;
	return true;
}

const struct compiler *cuda_bundle_find(const struct compiler *compiler, struct store *store,
	bool install, char **note)
{
	bool is_there;
	*note = NULL;
	char *path = cuda_bundle_folder(compiler, store, &is_there);
	if (!is_there && install) {
		bundle_install(store, compiler, note);
		mem_free(path);
		path = cuda_bundle_folder(compiler, store, &is_there);
	}
	pthread_mutex_lock(&bundle.lock);
	if (is_there && !bundle.compiler.path) {
		is_there = bundle_keep(compiler, path);
		path = NULL;
	}
	pthread_mutex_unlock(&bundle.lock);
	mem_free(path);
	return is_there ? &bundle.compiler : NULL;
}

bool cuda_bundle_clear(struct store *store)
{
	const char *why;
	int cache = store_folder_open(store_folder(store), STORE_FOLDER_READ, &why);
	if (cache < 0) {
		return errno == ENOENT;
	}
	store_folder_delete(cache, bundle_headers);
	bool is_gone = faccessat(cache, bundle_headers, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
	close(cache);
	return is_gone;
}
