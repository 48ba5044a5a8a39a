/* SPDX-License-Identifier: MIT */
/*
 * Files that processes share.  A file is a memfd, which exists as long as a process has it open or
 * mapped.  So nothing is left behind when processes are killed, and a mapping outlives the process
 * that made the file.  A file cannot shrink, so a mapping never loses its end.  Another process of
 * the same user opens it as /proc/PROCESS/fd/NUMBER.
 *
 * Memory is moved into a file in place: its pages become read-only and are copied, and the copy is
 * mapped over them.  A kernel or a copy that writes meanwhile faults, and the handler lets it try
 * again until the new pages are there.  So no move waits for kernels to end, and no write is lost.
 */
#include "base/common.h"

#include "cpu/mem/share.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/mem/system_refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "kudzu-shared"
#define SEALS (F_SEAL_SHRINK | F_SEAL_SEAL)
#define CHUNK ((size_t)16 << 20) /* what is there twice while memory moves */
#define PAGE 4096u               /* what is skipped when it is zero */

int share_create(uint64_t size)
{
	int file = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0) {
		refusal_note("memfd_create");
		return -1;
	}
	if (!share_grow(file, size)) {
		close(file);
		return -1;
	}
	if (fcntl(file, F_ADD_SEALS, SEALS) != 0) {
		refusal_note("fcntl");
		close(file);
		return -1;
	}
	return file;
}

bool share_is_file(int file)
{
	return fcntl(file, F_GET_SEALS) == SEALS;
}

bool share_grow(int file, uint64_t size)
{
	bool ok = file_extend(file, size);
	if (!ok) {
		refusal_note("ftruncate");
	}
	return ok;
}

bool share_draw(struct share_token *out)
{
	bool ok = getrandom(out, sizeof(*out), 0) == sizeof(*out);
	if (!ok) {
		refusal_note("getrandom");
	}
	return ok;
}

bool share_same(const struct share_token *a, const struct share_token *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool share_sign(int file, uint64_t offset, const struct share_token *token)
{
	bool ok = file_write(file, token, sizeof(*token), (int64_t)offset);
	if (!ok) {
		refusal_note("pwrite");
	}
	return ok;
}

bool share_is_signed(int file, uint64_t offset, const struct share_token *token)
{
	struct share_token found;
	return pread(file, &found, sizeof(found), (off_t)offset) == sizeof(found)
		&& share_same(&found, token);
}

/* Whether a process ends, or has ended and its parent does not know it yet.  Its folder in /proc
 * then belongs to root, so to other users it looks like a process that is not theirs. */
static bool share_is_exiting(int process)
{
	const unsigned exiting = 4; // PF_EXITING of the kernel
	char path[64];
	char text[512];
	unsigned flags = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", process);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (file >= 0) {
		close(file);
	}
	text[len < 0 ? 0 : len] = '\0';
	// proc(5): the name in brackets may have brackets; the flags are the 7th field after it.
	const char *rest = strrchr(text, ')');
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1
		&& (flags & exiting);
}

/* What it means that a file of a process cannot be opened. */
static enum share_result share_refusal(int process)
{
	const bool forbidden = errno == EACCES || errno == EPERM;
	return !forbidden ? SHARE_FAILED : share_is_exiting(process) ? SHARE_GONE : SHARE_FORBIDDEN;
}

enum share_result share_open(const struct share_handle *handle, uint64_t offset, uint64_t size,
	int *file)
{
	static const char name[] = "/memfd:" NAME " (deleted)";
	char path[64];
	char found[sizeof(name)];
	struct stat info;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->process, handle->file);
	// Not every file can be opened without harm.
	ssize_t len = readlink(path, found, sizeof(found));
	if (len < 0 && errno != ENOENT && errno != ESRCH) {
		return share_refusal(handle->process);
	}
	if (len != sizeof(name) - 1 || memcmp(found, name, sizeof(name) - 1) != 0) {
		return SHARE_GONE;
	}
	*file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*file < 0) {
		return share_refusal(handle->process);
	}
	if (share_is_file(*file) && fstat(*file, &info) == 0 && (uint64_t)info.st_size >= size
	    && share_is_signed(*file, offset, &handle->token)) {
		return SHARE_OPENED;
	}
	close(*file);
	return SHARE_GONE;
}

void share_end(struct share *share, size_t size)
{
	if (share && share->kind == SHARE_EXPORTED) {
		close(share->file);
	} else if (share && share->kind == SHARE_POOL) {
		// The signature after it goes, too.  A failure would only waste memory.
		(void)fallocate(share->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)share->offset, (off_t)(size + PAGE));
	}
	mem_free(share);
}

/* --- Moving --- */

/* The thread that moves memory writes these; the handlers read them. */
static struct {
	atomic_ullong start;
	atomic_ullong end;        /* 0: nothing moves */
	atomic_uint count;        /* of the moves that have ended */
} moving;
static _Thread_local volatile unsigned seen;

/* Pages that are zero stay holes in the file. */
static bool share_copy_pages(const uint8_t *from, size_t size, int file, int64_t offset)
{
	static const uint8_t zeros[PAGE];
	bool ok = true;
	for (size_t i = 0, run = 0; ok && i < size; run = 0, i += PAGE) {
		while (i < size && memcmp(from + i, zeros, PAGE) != 0) {
			run += PAGE;
			i += PAGE;
		}
		ok = run == 0 || file_write(file, from + i - run, run, offset + (int64_t)(i - run));
	}
	return ok;
}

bool share_move(uint64_t start, size_t size, int file)
{
	atomic_store(&moving.start, start);
	atomic_store(&moving.end, start + size);
	const char *call = "mprotect";
	bool ok = mprotect((void *)(uintptr_t)start, size, PROT_READ) == 0;
	for (size_t done = 0; ok && done < size; done += CHUNK) {
		uint8_t *pages = (uint8_t *)(uintptr_t)(start + done);
		size_t len = size - done < CHUNK ? size - done : CHUNK;
		call = "pwrite";
		ok = share_copy_pages(pages, len, file, (int64_t)done);
		if (ok) {
			call = "mmap";
			ok = mmap(pages, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
				(off_t)done) != MAP_FAILED;
		}
	}
	if (!ok) {
		refusal_note(call);
		// Some pages may be of the file already, which makes no difference to this process.
		mprotect((void *)(uintptr_t)start, size, PROT_READ | PROT_WRITE);
	}
	atomic_fetch_add(&moving.count, 1);
	atomic_store(&moving.end, 0);
	return ok;
}

/* The pages may have been moved between a fault and its handler.  So each thread tries again once
 * after each move, whatever the fault was. */
bool share_may_retry(uint64_t address)
{
	uint64_t end = atomic_load(&moving.end);
	if (address < end && address >= atomic_load(&moving.start)) {
		sched_yield();
		return true;
	}
	unsigned count = atomic_load(&moving.count);
	bool is_new = count != seen;
	seen = count;
	return is_new;
}
