/* SPDX-License-Identifier: MIT */
/*
 * The log: reasons of the last failures as lines of plain English, in a ring that all threads
 * share.  Each line is also passed to the callbacks, and written to what CUDA_LOG_FILE names.
 *
 * Reasons are logged while locks of the driver are held.  So a callback must not call the driver,
 * and gets an error if it does, as a host function of a stream does.
 */
#include "base/common.h"

#include "cpu/object/log.h"

#include "base/env.h"
#include "base/file.h"
#include "base/str.h"
#include "cpu/mem/system_refusal.h"
#include "cpu/object/handle.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINES 64
#define LOG_LINE 640
#define CALLBACKS 16

static struct {
	pthread_mutex_t lock;
	CUlogIterator next;   /* number of the line to come */
	char lines[LOG_LINES][LOG_LINE];
	const void *owners[LOG_LINES]; /* of each thread that logged one: its log_own */
	struct callback {
		CUlogsCallback function; /* NULL: none */
		void *data;
		void *handle;
	} callbacks[CALLBACKS];
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool has_callbacks; /* or had */

_Thread_local bool api_in_callback;

/* The lines of this thread.  A thread that has ended can have had the same address: its lines are
 * older than the first of this one. */
static _Thread_local struct {
	bool has_logged;
	CUlogIterator from; /* those before were dumped, or are not this thread's */
} log_own;

void api_log_forget_lock(void)
{
	pthread_mutex_init(&ring.lock, NULL);
}

/* Without the lock.  A callback may remove itself, or another one. */
static void log_tell_callbacks(const char *line)
{
	static _Thread_local bool is_telling;
	struct callback now[CALLBACKS];
	if (is_telling) {
		return;
	}
	pthread_mutex_lock(&ring.lock);
	memcpy(now, ring.callbacks, sizeof(now));
	pthread_mutex_unlock(&ring.lock);
	bool before = api_set_in_callback(true);
	is_telling = true;
	for (size_t i = 0; i < CALLBACKS; i++) {
		char message[LOG_LINE];
		size_t len = strlen(line);
		memcpy(message, line, len + 1);
		if (now[i].function) {
			now[i].function(now[i].data, CU_LOG_LEVEL_ERROR, message, len);
		}
	}
	is_telling = false;
	api_set_in_callback(before);
}

/* Append a line to the file of CUDA_LOG_FILE, which may also be stdout or stderr.  A file that
 * cannot be written loses lines: the log is where that would be reported. */
static void log_write(const char *line)
{
	const char *name = env_get("CUDA_LOG_FILE");
	if (!name || !name[0]) {
		return;
	}
	if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
		dprintf(strcmp(name, "stdout") == 0 ? STDOUT_FILENO : STDERR_FILENO, "%s\n",
			line);
		return;
	}
	int file = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (file >= 0) {
		dprintf(file, "%s\n", line);
		close(file);
	}
}

void api_log(const char *format, ...)
{
	char line[LOG_LINE];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	pthread_mutex_lock(&ring.lock);
	if (!log_own.has_logged) {
		log_own.has_logged = true;
		log_own.from = ring.next;
	}
	ring.owners[ring.next % LOG_LINES] = &log_own;
	strcpy(ring.lines[ring.next++ % LOG_LINES], line);
	pthread_mutex_unlock(&ring.lock);
	log_write(line);
	if (atomic_load_explicit(&has_callbacks, memory_order_acquire)) {
		log_tell_callbacks(line);
	}
}

bool api_log_refusal(void)
{
	struct refusal refusal;
	if (!refusal_take(&refusal)) {
		return false;
	}
	const char *text = strerrordesc_np(refusal.error);
	api_log("the system refuses %s: %s", refusal.call, text ? text : "unknown error");
	return true;
}

CUlogIterator log_next(void)
{
	pthread_mutex_lock(&ring.lock);
	CUlogIterator next = ring.next;
	pthread_mutex_unlock(&ring.lock);
	return next;
}

/* The first line to dump, so that all from there on fit; the newest ones matter most. */
static CUlogIterator log_first_that_fits(CUlogIterator from, size_t size)
{
	CUlogIterator first = ring.next;
	size_t used = 1;
	while (first != from) {
		size_t len = strlen(ring.lines[(first - 1) % LOG_LINES]) + 1;
		if (len > size - used) {
			break;
		}
		used += len;
		first--;
	}
	return first;
}

bool log_dump(CUlogIterator *iterator, char *buffer, size_t *size)
{
	pthread_mutex_lock(&ring.lock);
	CUlogIterator oldest = ring.next > LOG_LINES ? ring.next - LOG_LINES : 0;
	CUlogIterator from = iterator ? *iterator : oldest;
	if (from > ring.next || from < oldest) {
		from = oldest;
	}
	CUlogIterator first = log_first_that_fits(from, *size);
	bool none_fits = first == ring.next && from != ring.next;
	size_t used = 0;
	for (; first != ring.next; first++) {
		const char *line = ring.lines[first % LOG_LINES];
		size_t len = strlen(line);
		memcpy(buffer + used, line, len);
		buffer[used + len] = '\n';
		used += len + 1;
	}
	buffer[used] = '\0';
	*size = used;
	if (iterator) {
		*iterator = ring.next;
	}
	pthread_mutex_unlock(&ring.lock);
	return !none_fits;
}

bool log_dump_own(char *buffer, size_t *size)
{
	size_t len = 0;
	bool fits = *size > 0;
	pthread_mutex_lock(&ring.lock);
	CUlogIterator oldest = ring.next > LOG_LINES ? ring.next - LOG_LINES : 0;
	CUlogIterator from = log_own.from > oldest ? log_own.from : oldest;
	CUlogIterator at = log_own.has_logged ? ring.next : from;
	while (at > from && ring.owners[(at - 1) % LOG_LINES] != &log_own) {
		at--;
	}
	if (fits && at > from) {
		const char *line = ring.lines[(at - 1) % LOG_LINES];
		len = strlen(line) + 1;
		fits = len < *size;
		snprintf(buffer, *size, "%s\n", line);
	} else if (fits) {
		*buffer = '\0';
	}
	log_own.from = ring.next;
	pthread_mutex_unlock(&ring.lock);
	*size = fits ? len : 0;
	return fits;
}

/* --- Files and callbacks --- */

bool log_dump_to_file(CUlogIterator *iterator, const char *path)
{
	struct str text = STR_INIT;
	pthread_mutex_lock(&ring.lock);
	CUlogIterator oldest = ring.next > LOG_LINES ? ring.next - LOG_LINES : 0;
	CUlogIterator from = iterator ? *iterator : 0;
	if (from > ring.next || from < oldest) {
		str_add(&text, "(older lines are lost)\n");
		from = oldest;
	}
	for (; from != ring.next; from++) {
		str_addf(&text, "%s\n", ring.lines[from % LOG_LINES]);
	}
	CUlogIterator end = ring.next;
	pthread_mutex_unlock(&ring.lock);
	bool ok = !text.failed && file_put(path, text.data, text.len);
	str_free(&text);
	if (ok && iterator) {
		*iterator = end;
	}
	return ok;
}

CUresult log_add_callback(CUlogsCallback function, void *data, CUlogsCallbackHandle *out)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&ring.lock);
	for (size_t i = 0; i < CALLBACKS && result != CUDA_SUCCESS; i++) {
		struct callback *callback = &ring.callbacks[i];
		void *handle = !callback->function
			? handle_create(API_LOG_CALLBACK, callback) : NULL;
		if (handle) {
			*callback = (struct callback){function, data, handle};
			result = CUDA_SUCCESS;
			if (out) {
				*out = handle;
			}
		}
	}
	pthread_mutex_unlock(&ring.lock);
	atomic_store_explicit(&has_callbacks, true, memory_order_release);
	return result;
}

bool log_remove_callback(CUlogsCallbackHandle handle)
{
	pthread_mutex_lock(&ring.lock);
	struct callback *callback = handle_get(handle, API_LOG_CALLBACK);
	if (callback) {
		handle_release(handle);
		*callback = (struct callback){0};
	}
	pthread_mutex_unlock(&ring.lock);
	return callback;
}
