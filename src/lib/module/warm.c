/* SPDX-License-Identifier: MIT */
/*
 * Warming up: worker processes compile into the cache on disk.
 *
 * Each worker has a socket.  It gets a request (warm_request.c), answers with a letter, and gets
 * the next request.  If a worker fails, or could not be started, the caller compiles the request
 * itself; so it gets the same errors and the same result as without workers.  A request that a
 * worker died of is not compiled again, since it might take the caller with it.
 *
 * Workers are started by posix_spawn and not by fork: the caller may have threads that hold any
 * lock.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/cores.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/file.h"
#include "base/store.h"
#include "base/trust.h"
#include "lib/module/warm.h"

#include <kudzu/warm.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORKERS = 256, HELLO_MS = 10000 };

enum state { TO_DO, GIVEN, DONE, KILLED, FAILED };

struct warm_worker {
	pid_t pid;
	int fd;       /* -1: it is gone */
	int64_t item; /* that it has, or -1 */
	bool ready;   /* it has said hello */
};

struct warm_up {
	struct warm_request *requests;
	uint8_t *states; /* enum state */
	int64_t count;
	int64_t next;    /* the first that may be TO_DO */
	kz_error *errors; /* of each source; NULL: only the first failure is reported */
	struct warm_worker workers[MOST_WORKERS];
	int worker_count;
	kz_warm_up_result result;
};

/* The program */

static bool warm_can_run(const char *path)
{
	return path[0] == '/' && access(path, X_OK) == 0 && file_is_regular(path);
}

/* `kudzu`, freed with mem_free: what KUDZU_COMMAND names, else beside the library or where it is
 * installed with it, if the file is trusted.  NULL if there is none: then this process compiles
 * alone. */
static char *warm_find_program(void)
{
	static const char *const places[] = {"kudzu", "../bin/kudzu", "../../bin/kudzu"};
	const char *wanted = env_get("KUDZU_COMMAND");
	if (wanted) {
		return warm_can_run(wanted) ? mem_strdup(wanted) : NULL;
	}
	char *library = dl_path(places);
	char *folder = library ? file_folder(library) : NULL;
	char *program = NULL;
	for (size_t i = 0; folder && i < countof(places) && !program; i++) {
		char *path = file_join(folder, places[i]);
		if (path && warm_can_run(path)) {
			(void)trust_find(&program, path, places, NULL);
		}
		mem_free(path);
	}
	mem_free(folder);
	mem_free(library);
	return program;
}

/* In the child: the socket is its input, all else is closed, signals are as in a new program. */
static bool warm_start_program(pid_t *pid, const char *program, int fd)
{
	char *const argv[] = {"kudzu", "worker", NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files)) {
		return false;
	}
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&files);
		return false;
	}
	bool ok = !posix_spawn_file_actions_adddup2(&files, fd, 0)
		&& !posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0)
		&& !posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0)
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
		&& !posix_spawn_file_actions_addclosefrom_np(&files, 3)
#endif
		&& !posix_spawnattr_setsigmask(&attr, &none)
		&& !posix_spawnattr_setsigdefault(&attr, &all)
		&& !posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
		&& !posix_spawn(pid, program, &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return ok;
}

static bool warm_start_worker(struct warm_up *warm, const char *program)
{
	struct warm_worker *worker = &warm->workers[warm->worker_count];
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		return false;
	}
	*worker = (struct warm_worker){.fd = fds[0], .item = -1};
	bool ok = warm_start_program(&worker->pid, program, fds[1]);
	close(fds[1]);
	if (!ok) {
		close(fds[0]);
		return false;
	}
	warm->worker_count++;
	return true;
}

/* Workers */

/* Give a worker up.  It may have died of its request, so nobody else gets that.  A worker ends when
 * its socket does; one that has not said hello is killed. */
static void warm_lose_worker(struct warm_up *warm, struct warm_worker *worker)
{
	close(worker->fd);
	worker->fd = -1;
	if (!worker->ready) {
		kill(worker->pid, SIGKILL);
	}
	if (worker->item >= 0) {
		warm->states[worker->item] = KILLED;
		worker->item = -1;
	}
}

/* Give it something to do, or tell it that there is nothing more. */
static void warm_feed(struct warm_up *warm, struct warm_worker *worker)
{
	struct str bytes = STR_INIT;
	while (warm->next < warm->count && warm->states[warm->next] != TO_DO) {
		warm->next++;
	}
	if (warm->next == warm->count) {
		warm_lose_worker(warm, worker);
		return;
	}
	warm_write(&bytes, &warm->requests[warm->next]);
	if (bytes.failed || !warm_send(worker->fd, bytes.data, bytes.len)) {
		warm_lose_worker(warm, worker); /* somebody else may do it */
	} else {
		worker->item = warm->next;
		warm->states[worker->item] = GIVEN;
	}
	str_free(&bytes);
}

/* Receive the hello, which comes in one piece, or the answer to a request. */
static void warm_hear(struct warm_up *warm, struct warm_worker *worker)
{
	uint8_t mine[WARM_HELLO_SIZE], its[WARM_HELLO_SIZE];
	char letter = 0;
	if (!worker->ready) {
		warm_hello(mine);
		worker->ready = recv(worker->fd, its, sizeof(its), 0) == (ssize_t)sizeof(its)
			&& memcmp(mine, its, sizeof(its)) == 0;
		if (!worker->ready) { /* another build of the library, or no worker */
			warm_lose_worker(warm, worker);
			return;
		}
		warm->result.processes++;
	} else {
		ssize_t count = recv(worker->fd, &letter, 1, 0);
		if (count < 0 && errno == EINTR) {
			return;
		}
		if (count != 1 || worker->item < 0) {
			warm_lose_worker(warm, worker);
			return;
		}
		warm->states[worker->item] = letter == WARM_FAILED ? FAILED : DONE;
		warm->result.compiled += letter == WARM_COMPILED;
		warm->result.cached += letter == WARM_CACHED;
		worker->item = -1;
	}
	warm_feed(warm, worker);
}

/* Start workers, and give them sources until all of them are gone. */
static void warm_run_workers(struct warm_up *warm, int64_t processes)
{
	int64_t want = processes > 0 ? processes : cores_available();
	struct store *store = store_default();
	want = min64(min64(want, warm->count), MOST_WORKERS);
	char *program = want > 1 && store && !store_off(store) ? warm_find_program() : NULL;
	while (program && warm->worker_count < want && warm_start_worker(warm, program)) {
	}
	mem_free(program);
	for (;;) {
		struct pollfd polls[MOST_WORKERS];
		int open = 0, silent = 0;
		for (int i = 0; i < warm->worker_count; i++) {
			polls[i] = (struct pollfd){.fd = warm->workers[i].fd, .events = POLLIN};
			open += warm->workers[i].fd >= 0;
			silent += warm->workers[i].fd >= 0 && !warm->workers[i].ready;
		}
		if (!open) {
			break;
		}
		/* A process that has said nothing at all for so long is not a worker. */
		int heard = poll(polls, (nfds_t)warm->worker_count, silent ? HELLO_MS : -1);
		for (int i = 0; i < warm->worker_count && heard >= 0; i++) {
			struct warm_worker *worker = &warm->workers[i];
			if (heard == 0 && worker->fd >= 0 && !worker->ready) {
				warm_lose_worker(warm, worker);
			} else if (polls[i].fd >= 0 && polls[i].revents) {
				warm_hear(warm, worker);
			}
		}
	}
	for (int i = 0; i < warm->worker_count; i++) {
		while (waitpid(warm->workers[i].pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
}

static kz_status warm_read_sources(struct warm_up *warm, const kz_device *dev,
	const kz_warm_up_source *sources, kz_error *err)
{
	for (int64_t i = 0; i < warm->count; i++) {
		const kz_compile_options *options = sources[i].options;
		if (!sources[i].source) {
			return error_set(err, KZ_INVALID, "kz_warm_up: argument 'sources': "
				"source %lld is NULL", (long long)i);
		}
		if (options && options->size != sizeof(*options)) {
			kz_error why = KZ_ERROR_INIT;
			(void)struct_refuse("kz_compile_options", options->size, sizeof(*options),
				&why);
			(void)error_set(err, KZ_INVALID, "source %lld: %s", (long long)i,
				kz_error_message(&why));
			kz_error_clear(&why);
			return KZ_INVALID;
		}
		warm->requests[i] = (struct warm_request){.source = sources[i].source,
			.options = KZ_COMPILE_OPTIONS_INIT};
		if (options) {
			warm->requests[i].options = *options;
		}
		warm->requests[i].device_cc = dev ? (int32_t)dev->info.compute_capability : 0;
		warm->requests[i].ptx_only = dev ? dev->ptx_only : 0;
	}
	return KZ_OK;
}

static kz_status warm_run(struct warm_up *warm, const kz_device *dev,
	const kz_warm_up_source *sources, int64_t processes, kz_error *err)
{
	kz_status st = warm_read_sources(warm, dev, sources, err);
	if (st) {
		return st;
	}
	warm_run_workers(warm, processes);
	/* The rest is compiled here. */
	for (int64_t i = 0; i < warm->count; i++) {
		enum warm_answer answer = WARM_FAILED;
		kz_error *why = warm->errors ? &warm->errors[i] : st ? NULL : err;
		kz_status failed = KZ_OK;
		if (warm->states[i] == DONE) {
			continue;
		}
		if (warm->states[i] == KILLED) {
			failed = error_set(why, KZ_COMPILE,
				"source %lld: the process that compiled it has ended",
				(long long)i);
		} else {
			failed = warm_compile(&answer, &warm->requests[i], why);
		}
		warm->result.compiled += answer == WARM_COMPILED;
		warm->result.cached += answer == WARM_CACHED;
		warm->result.failed += answer == WARM_FAILED;
		st = st ? st : failed;
	}
	return warm->errors ? KZ_OK : st;
}

kz_status warm_up_each(kz_device *dev, const kz_warm_up_source *sources, int64_t count,
	int64_t processes, struct warm_outcome *outcome, kz_error *err)
{
	struct warm_up *warm = mem_zalloc(1, sizeof(*warm));
	kz_status st = KZ_OK;
	if (warm) {
		warm->count = count;
		warm->errors = outcome->errors;
		warm->requests = mem_zalloc((size_t)count + 1, sizeof(*warm->requests));
		warm->states = mem_zalloc((size_t)count + 1, 1);
	}
	if (!warm || !warm->requests || !warm->states) {
		st = error_no_memory(err);
	} else {
		st = warm_run(warm, dev, sources, processes, err);
	}
	if (warm) {
		outcome->result = warm->result;
		mem_free(warm->requests);
		mem_free(warm->states);
	}
	mem_free(warm);
	return st;
}

kz_status kz_warm_up(kz_device *dev, const kz_warm_up_source *sources, int64_t count,
	int64_t processes, kz_warm_up_result *result, kz_error *err)
{
	error_scope(err);
	if (count < 0 || processes < 0 || (count > 0 && !sources)) {
		return error_set(err, KZ_INVALID, "kz_warm_up: expected sources and numbers of "
			"at least 0, got %lld sources%s, %lld processes", (long long)count,
			sources ? "" : " at NULL", (long long)processes);
	}
	struct warm_outcome outcome = {.errors = NULL};
	kz_status st = warm_up_each(dev, sources, count, processes, &outcome, err);
	if (result) {
		*result = outcome.result;
	}
	return st;
}
