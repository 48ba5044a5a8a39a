/* SPDX-License-Identifier: MIT */
/*
 * The trace; see trace.h and <kudzu/trace.h>.
 *
 * An operation of a stream is between two events of the driver.  Its record waits in the list of
 * its device until the second event has passed.  Then both are compared with a base, an event whose
 * time on the host is known: it is recorded in a stream of ours in which nothing else is, so that
 * it passes at once.  A base is renewed when nothing waits, for the driver gives differences as
 * floats.
 *
 * The text of finished events is kept and written with a closing bracket after it, which the next
 * write replaces.  So the file is whole JSON after each write.
 *
 * One lock guards all of it.  Nothing here waits for the device but the end of a trace or a device.
 */
#include "base/common.h"

#include "lib/core/trace.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/core/nvtx.h"
#include "lib/core/stream.h"

#include <kudzu/trace.h>

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

enum { HOST_PID = 1, WRITE_SIZE = 1 << 20 };
#define REBASE_NS UINT64_C(1000000000)

struct trace_record {
	struct trace_record *next;
	CUevent start;
	CUevent end;
	int64_t stream;
	uint64_t start_ns;   /* of the call */
	struct str members;  /* of the JSON object: name, category, arguments */
};

struct trace_device {
	struct trace_device *next;
	struct kz_device *device;
	int pid;
	int64_t named;       /* streams with lower numbers have names in the trace */
	CUstream stream;
	CUevent base;
	uint64_t base_ns;    /* when it passed; 0: there is none yet */
	struct trace_record *first; /* those that wait, oldest first */
	struct trace_record **end;
	struct trace_record *spare;
};

atomic_bool trace_on;

static void (*_Atomic trace_tell)(void);

static struct {
	pthread_mutex_t lock;
	bool is_written;       /* a trace is on; else a tool alone may listen */
	uint64_t session;      /* counts the traces */
	uint64_t start_ns;
	int file;
	int64_t offset;        /* where the closing bracket is */
	struct str text;       /* not written yet */
	int error;             /* errno of the first write that failed */
	bool is_short;         /* memory ran out: events are missing */
	bool was_asked;        /* KUDZU_TRACE was looked at */
	struct trace_device *devices;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Text */

static double trace_us(uint64_t ns)
{
	return (double)(int64_t)(ns - trace.start_ns) * 1e-3;
}

static void trace_add_members(struct str *out, const char *category, const char *name,
	const char *args, va_list list)
{
	str_add(out, "\"name\":");
	str_add_json(out, name);
	str_addf(out, ",\"cat\":\"%s\",\"args\":{", category);
	str_addv(out, args, list);
	str_addc(out, '}');
}

/* A name of a process or a thread. */
static void trace_add_name(const char *what, int pid, int64_t tid, const char *name)
{
	str_addf(&trace.text, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%lld,\"name\":\"%s\",\"args\":{"
		"\"name\":", trace.offset || trace.text.len ? ",\n" : "[\n", pid, (long long)tid,
		what);
	str_add_json(&trace.text, name);
	str_add(&trace.text, "}}");
}

static void trace_add_event(int pid, int64_t tid, double start_us, double us, const char *members)
{
	str_addf(&trace.text,
		",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%lld,\"ts\":%.3f,\"dur\":%.3f,%s}",
		pid, (long long)tid, start_us, us > 0 ? us : 0, members);
}

/* A write has failed, perhaps after a part of it: let the file end where it did before. */
static void trace_cut(const char *close_text)
{
	size_t len = strlen(close_text);
	if (trace.offset > 0 && file_write(trace.file, close_text, len, trace.offset)) {
		(void)ftruncate(trace.file, trace.offset + (off_t)len); /* trace.error has the
		                                                           failure */
	}
}

/* Write all that there is, and the bracket after it. */
static void trace_write(void)
{
	static const char close_text[] = "\n]\n";
	size_t len = trace.text.len;
	if (len == 0 && !trace.text.failed) {
		return;
	}
	str_add(&trace.text, close_text);
	trace.is_short |= trace.text.failed;
	if (!trace.text.failed && !trace.error) {
		if (file_write(trace.file, trace.text.data, trace.text.len, trace.offset)) {
			trace.offset += (int64_t)len;
		} else {
			trace.error = errno;
			trace_cut(close_text);
		}
	}
	str_free(&trace.text);
}

static void trace_write_much(void)
{
	if (trace.text.len >= WRITE_SIZE || trace.text.failed) {
		trace_write();
	}
}

/* Devices and their records; all under the lock, with the context current */

static void trace_record_free(const struct drv *drv, struct trace_record *record, bool is_lost)
{
	if (record && !is_lost) {
		(void)drv->EventDestroy(record->start);
		(void)drv->EventDestroy(record->end);
	}
	if (record) {
		str_free(&record->members);
		mem_free(record);
	}
}

static struct trace_record *trace_record_create(const struct drv *drv)
{
	struct trace_record *record = mem_zalloc(1, sizeof(*record));
	if (!record || drv->EventCreate(&record->start, CU_EVENT_DEFAULT)) {
		mem_free(record);
		return NULL;
	}
	if (drv->EventCreate(&record->end, CU_EVENT_DEFAULT)) {
		(void)drv->EventDestroy(record->start);
		mem_free(record);
		return NULL;
	}
	return record;
}

/* The CPU device, then the GPUs. */
static struct trace_device *trace_device_create(struct kz_device *dev)
{
	const struct drv *drv = dev->drv;
	struct trace_device *made = mem_zalloc(1, sizeof(*made));
	if (!made || drv->StreamCreate(&made->stream, CU_STREAM_NON_BLOCKING)) {
		mem_free(made);
		return NULL;
	}
	if (drv->EventCreate(&made->base, CU_EVENT_DEFAULT)) {
		(void)drv->StreamDestroy(made->stream);
		mem_free(made);
		return NULL;
	}
	made->device = dev;
	made->pid = HOST_PID + 1 + (dev->on_host ? 0 : 1 + dev->ordinal);
	made->end = &made->first;
	made->next = trace.devices;
	trace.devices = made;
	trace_add_name("process_name", made->pid, 0, dev->name);
	return made;
}

static struct trace_device *trace_device_find(const struct kz_device *dev)
{
	struct trace_device *at = trace.devices;
	while (at && at->device != dev) {
		at = at->next;
	}
	return at;
}

static void trace_rebase(struct trace_device *at)
{
	const struct drv *drv = at->device->drv;
	uint64_t now = clock_now_ns();
	if (at->first || (at->base_ns && now - at->base_ns < REBASE_NS)) {
		return;
	}
	if (drv->EventRecord(at->base, at->stream) == CUDA_SUCCESS
	    && drv->EventSynchronize(at->base) == CUDA_SUCCESS) {
		at->base_ns = clock_now_ns();
	}
}

static void trace_name_streams(struct trace_device *at, int64_t stream)
{
	char name[32];
	for (; at->named <= stream; at->named++) {
		snprintf(name, sizeof(name), at->named ? "stream %lld" : "default stream",
			(long long)at->named);
		trace_add_name("thread_name", at->pid, at->named, name);
	}
}

/* The operation has passed, or failed: then it stands where it was called. */
static void trace_add_record(struct trace_device *at, const struct trace_record *record,
	CUresult code)
{
	const struct drv *drv = at->device->drv;
	float start = 0, length = 0;
	double start_us = trace_us(record->start_ns);
	if (!code && at->base_ns && !drv->EventElapsedTime(&start, at->base, record->start)
	    && !drv->EventElapsedTime(&length, record->start, record->end)) {
		start_us = trace_us(at->base_ns) + (double)start * 1e3;
	}
	trace.is_short |= record->members.failed;
	if (!record->members.failed) {
		trace_name_streams(at, record->stream);
		trace_add_event(at->pid, record->stream, start_us, (double)length * 1e3,
			record->members.data);
	}
}

/* Take what has passed off the list; all, if `wait`. */
static void trace_drain(struct trace_device *at, bool wait)
{
	const struct drv *drv = at->device->drv;
	bool is_lost = atomic_load(&at->device->lost);
	CUstreamCaptureMode mode = device_relax(at->device);
	struct trace_record **link = &at->first;
	while (*link) {
		struct trace_record *record = *link;
		CUresult code = is_lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED
			: wait ? drv->EventSynchronize(record->end) : drv->EventQuery(record->end);
		if (code == CUDA_ERROR_NOT_READY) {
			link = &record->next;
			continue;
		}
		trace_add_record(at, record, code);
		*link = record->next;
		str_free(&record->members);
		record->next = at->spare;
		at->spare = record;
	}
	at->end = link;
	device_restore(at->device, mode);
}

/* The device is off the list. */
static void trace_device_free(struct trace_device *at)
{
	const struct drv *drv = at->device->drv;
	bool is_lost = atomic_load(&at->device->lost);
	trace_drain(at, true);
	while (at->spare) {
		struct trace_record *next = at->spare->next;
		trace_record_free(drv, at->spare, is_lost);
		at->spare = next;
	}
	if (!is_lost) {
		(void)drv->EventDestroy(at->base);
		(void)drv->StreamDestroy(at->stream);
	}
	mem_free(at);
}

/* Operations */

void trace_op_begin(struct trace_op *op, struct kz_stream *stream, const char *name)
{
	struct kz_device *dev = stream->device;
	op->stream = stream;
	op->name = name;
	op->record = NULL;
	op->is_pushed = nvtx_tool_listens();
	if (op->is_pushed) {
		nvtx_tool_push(name);
	}
	pthread_mutex_lock(&trace.lock);
	op->session = trace.session;
	atomic_fetch_add(&stream->traced, 1);
	atomic_fetch_add(&dev->traced, 1);
	if (trace.is_written && !stream_is_capturing(stream)) {
		CUstreamCaptureMode mode = device_relax(dev);
		struct trace_device *at = trace_device_find(dev);
		at = at ? at : trace_device_create(dev);
		if (at && at->spare) {
			op->record = at->spare;
			at->spare = op->record->next;
		} else if (at) {
			op->record = trace_record_create(dev->drv);
		}
		if (at) {
			trace_rebase(at);
		}
		trace.is_short |= !op->record;
		device_restore(dev, mode);
	}
	pthread_mutex_unlock(&trace.lock);
	if (op->record) {
		(void)dev->drv->EventRecord(op->record->start, stream->handle);
	}
	op->start_ns = clock_now_ns();
}

/* Put the record on the list of its device; false: the trace has ended, or the call has failed. */
static bool trace_keep(struct trace_op *op, kz_status st, const struct str *members)
{
	struct kz_stream *stream = op->stream;
	struct trace_device *at = trace_device_find(stream->device);
	struct trace_record *record = op->record;
	if (!record || st || op->session != trace.session || !at || members->failed) {
		return false;
	}
	record->stream = stream->number;
	record->start_ns = op->start_ns;
	record->next = NULL;
	str_addn(&record->members, members->data, members->len);
	*at->end = record;
	at->end = &record->next;
	return true;
}

void trace_op_end(struct trace_op *op, kz_status st, const char *category, const char *args, ...)
{
	struct kz_stream *stream = op->stream;
	uint64_t now = clock_now_ns();
	struct str members = STR_INIT;
	va_list list;
	if (op->record) {
		(void)stream->device->drv->EventRecord(op->record->end, stream->handle);
	}
	va_start(list, args);
	trace_add_members(&members, category, op->name, args, list);
	va_end(list);
	pthread_mutex_lock(&trace.lock);
	if (trace.is_written && op->session == trace.session) {
		trace.is_short |= members.failed;
		if (!members.failed) {
			trace_add_event(HOST_PID, gettid(), trace_us(op->start_ns),
				(double)(now - op->start_ns) * 1e-3, members.data);
			trace_write_much();
		}
	}
	if (!trace_keep(op, st, &members)) {
		trace_record_free(stream->device->drv, op->record,
			atomic_load(&stream->device->lost));
	}
	pthread_mutex_unlock(&trace.lock);
	str_free(&members);
	if (op->is_pushed) {
		nvtx_tool_pop();
	}
}

struct trace_mark trace_mark_make(const struct kz_stream *stream)
{
	struct trace_mark mark = {0};
	if (trace_is_on()) {
		pthread_mutex_lock(&trace.lock);
		mark = (struct trace_mark){.session = trace.session, .stream = stream->number,
			.in_stream = atomic_load(&stream->traced),
			.on_device = atomic_load(&stream->device->traced)};
		pthread_mutex_unlock(&trace.lock);
	}
	return mark;
}

void trace_mark_compare(const struct trace_mark *start, const struct trace_mark *stop)
{
	if (trace_is_on() && start->session && start->session == stop->session
	    && start->stream == stop->stream && start->in_stream == stop->in_stream
	    && start->on_device != stop->on_device) {
		trace_host(clock_now_ns(), "warning", "kz_event_elapsed_ms measures no work: what "
			"was done between the events was in other streams",
			"\"stream\":%lld,\"others\":%llu", (long long)start->stream,
			(unsigned long long)(stop->on_device - start->on_device));
	}
}

void trace_host(uint64_t start_ns, const char *category, const char *name, const char *args, ...)
{
	uint64_t now = clock_now_ns();
	struct str members = STR_INIT;
	va_list list;
	va_start(list, args);
	trace_add_members(&members, category, name, args, list);
	va_end(list);
	pthread_mutex_lock(&trace.lock);
	if (trace.is_written) {
		trace.is_short |= members.failed;
		if (!members.failed) {
			trace_add_event(HOST_PID, gettid(), trace_us(start_ns),
				(double)(now - start_ns) * 1e-3, members.data);
			trace_write_much();
		}
	}
	pthread_mutex_unlock(&trace.lock);
	str_free(&members);
}

/* A whole event, which is freed. */
static void trace_add_text(struct str *text)
{
	pthread_mutex_lock(&trace.lock);
	if (trace.is_written) {
		trace.is_short |= text->failed;
		str_addn(&trace.text, text->failed ? "" : text->data, text->failed ? 0 : text->len);
		trace_write_much();
	}
	pthread_mutex_unlock(&trace.lock);
	str_free(text);
}

void trace_point(char phase, uint64_t id, const char *category, const char *name)
{
	struct str text = STR_INIT;
	if (!trace_is_on()) {
		return;
	}
	str_addf(&text,
		",\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"cat\":\"%s\",\"id\":%llu,"
		"\"name\":", phase, HOST_PID, (int)gettid(), trace_us(clock_now_ns()), category,
		(unsigned long long)id);
	str_add_json(&text, name);
	str_addc(&text, '}');
	trace_add_text(&text);
}

static void trace_add_place(struct str *out, const char *name, const char *file, int line)
{
	struct str place = STR_INIT;
	if (*file) {
		str_addf(&place, line > 0 ? "%s:%d" : "%s", file, line);
		str_addf(out, ",\"%s\":", name);
		str_add_json(out, place.failed ? "" : place.data);
	}
	str_free(&place);
}

void trace_loss(const struct kz_leak *leak, uint64_t ns, int thread)
{
	struct str text = STR_INIT;
	text.failed = !leak;
	if (!leak) {
		text.failed = true;
		trace_add_text(&text);
		return;
	}
	str_addf(&text, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"name\":"
		"\"%s replaced the handle of a live "
		"object\",\"cat\":\"leak\",\"args\":{\"object\":\"%s\","
		"\"bytes\":%lld", HOST_PID, thread, trace_us(ns), leak->lost_call, leak->kind,
		(long long)leak->size);
	trace_add_place(&text, "created", leak->file, leak->line);
	trace_add_place(&text, "replaced", leak->lost_file, leak->lost_line);
	str_add(&text, "}}");
	trace_add_text(&text);
}

void trace_passed(struct kz_device *dev)
{
	pthread_mutex_lock(&trace.lock);
	struct trace_device *at = trace.is_written ? trace_device_find(dev) : NULL;
	if (at) {
		trace_drain(at, false);
	}
	if (trace.is_written) {
		trace_write();
	}
	pthread_mutex_unlock(&trace.lock);
}

void trace_end_device(struct kz_device *dev)
{
	struct device_scope scope;
	pthread_mutex_lock(&trace.lock);
	struct trace_device **link = &trace.devices;
	while (*link && (*link)->device != dev) {
		link = &(*link)->next;
	}
	struct trace_device *at = *link;
	if (at) {
		*link = at->next;
		bool is_in = device_enter_quietly(dev, &scope);
		trace_device_free(at);
		if (is_in) {
			device_leave(dev, &scope);
		}
		trace_write();
	}
	pthread_mutex_unlock(&trace.lock);
}

/* Begin and end */

/* In a child: the file is its parent's. */
static void trace_on_fork(void)
{
	if (trace.is_written) {
		close(trace.file);
	}
	pthread_mutex_init(&trace.lock, NULL);
	atomic_store(&trace_on, false);
	trace.is_written = false;
	trace.text = (struct str)STR_INIT;
	trace.devices = NULL;
}

static void trace_watch_forks(void)
{
	pthread_atfork(NULL, NULL, trace_on_fork);
}

/* Under the lock, while no trace is on. */
static kz_status trace_start(const char *path, const char *from, kz_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, trace_watch_forks);
	int file = from[0] ? file_open_asked(path) : file_open_alone(path);
	if (file < 0 && errno == EWOULDBLOCK) {
		return error_set(err, KZ_STATE, "%sanother process writes its trace to '%s'", from,
			path);
	}
	if (file < 0) {
		return error_os(err, errno, "open", "%scannot write the trace to '%s'", from, path);
	}
	trace.file = file;
	trace.offset = 0;
	trace.error = 0;
	trace.is_short = false;
	trace.start_ns = clock_now_ns();
	trace.session++;
	trace_add_name("process_name", HOST_PID, 0, "host");
	trace_write();
	if (trace.error || trace.is_short) {
		file_close_alone(file);
		return trace.is_short ? error_no_memory(err) : error_os(err, trace.error, "pwrite",
			"%scannot write the trace to '%s'", from, path);
	}
	trace.is_written = true;
	atomic_store(&trace_on, true);
	atomic_store(&leaks_on, true); /* for handles that results replace */
	return KZ_OK;
}

kz_status kz_trace_begin(const char *path, kz_error *err)
{
	error_scope(err);
	kz_status st = pointer_check(path, "the path of a file", err);
	if (st) {
		return st;
	}
	pthread_mutex_lock(&trace.lock);
	st = trace.is_written ? error_set(err, KZ_STATE, "a trace is already running")
		: trace_start(path, "", err);
	pthread_mutex_unlock(&trace.lock);
	return st;
}

kz_status trace_begin_asked(kz_error *err)
{
	kz_status st = KZ_OK;
	bool has_tool = nvtx_tool_open();
	pthread_mutex_lock(&trace.lock);
	if (has_tool) {
		atomic_store(&trace_on, true);
	}
	const char *path = trace.was_asked || trace.is_written ? NULL : env_get("KUDZU_TRACE");
	if (path && *path) {
		st = trace_start(path, "KUDZU_TRACE: ", err);
		trace.was_asked = st == KZ_OK;
	}
	pthread_mutex_unlock(&trace.lock);
	return st;
}

static void trace_end_devices(void)
{
	while (trace.devices) {
		struct device_scope scope;
		struct trace_device *at = trace.devices;
		struct kz_device *dev = at->device;
		trace.devices = at->next;
		bool is_in = device_enter_quietly(dev, &scope);
		trace_device_free(at);
		if (is_in) {
			device_leave(dev, &scope);
		}
	}
}

void trace_before_end(void (*tell)(void))
{
	atomic_store(&trace_tell, tell);
}

kz_status kz_trace_end(kz_error *err)
{
	error_scope(err);
	kz_status st = KZ_OK;
	void (*tell)(void) = atomic_load(&trace_tell);
	if (trace_is_on() && tell) {
		tell();
	}
	pthread_mutex_lock(&trace.lock);
	if (!trace.is_written) {
		pthread_mutex_unlock(&trace.lock);
		return error_set(err, KZ_STATE, "no trace is running");
	}
	trace_end_devices();
	trace_write();
	trace.is_written = false;
	atomic_store(&trace_on, nvtx_tool_listens());
	if (!file_close_alone(trace.file) && !trace.error) {
		trace.error = errno;
	}
	if (trace.error) {
		st = error_os(err, trace.error, "pwrite", "the trace could not be written");
	} else if (trace.is_short) {
		st = error_set(err, KZ_NO_MEMORY, "events are missing in the trace: out of memory");
	}
	pthread_mutex_unlock(&trace.lock);
	return st;
}
