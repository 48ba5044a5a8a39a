/* SPDX-License-Identifier: MIT */
/*
 * Loading a provider: find the object, fill the table, initialize the driver, count its devices.
 *
 * A provider that works stays in a list, under the name that it was opened by, until the process
 * ends.  One that does not work is tried again by the next drv_open, so that a repair takes effect.
 * An object is closed only if its cuInit was never called or is a stub's, because drivers do not
 * survive dlclose.
 *
 * Drivers do not survive a fork either: their threads are missing in the child, and may have held
 * any lock.  So in a child the tables of all drivers that were there are replaced by one whose
 * functions return DRV_FORKED, and these drivers cannot be opened.
 */
#include "base/common.h"

#include "lib/cuda/drv.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/file.h"
#include "base/kudzu_abi.h"
#include "base/str.h"
#include "base/trust.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef KZ_LIBDIR
#define KZ_LIBDIR "/usr/local/lib"
#endif
#ifndef KZ_CPU_SONAME
#define KZ_CPU_SONAME "libkudzu-cpu.so"
#endif

enum {
	OLDEST_VERSION = 11000, /* the first with every core symbol */
	LOG_MAX = 25600,        /* what the driver keeps, says cuda.h */
	LOG_MORE = 1024,        /* driver 580.159 writes up to 200 bytes past a buffer that is too
	                           small */
};

struct provider {
	struct provider *next;
	char *name;             /* what dlopen was given */
	CUlogIterator log_mark; /* the driver's log up to here belongs to earlier failures */
	struct drv drv;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct provider *providers; /* grows at the head; guarded by lock */
static atomic_bool is_used[2];     /* of each drv_provider: cuInit was called, here or before a
                                      fork */
static atomic_bool is_forked[2];   /* ... by a process from which this one was forked */

/* What stands in for a missing symbol, and in a forked process for all. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, since, need, parameters)                                                   \
	static CUresult missing_##name parameters                                                  \
	{                                                                                          \
		return DRV_MISSING;                                                                \
	}                                                                                          \
	static CUresult forked_##name parameters                                                   \
	{                                                                                          \
		return DRV_FORKED;                                                                 \
	}
#include "lib/cuda/cuda.def"
#undef X
#pragma GCC diagnostic pop

static const struct drv missing = {
#define X(name, symbol, since, need, parameters) .name = missing_##name,
#include "lib/cuda/cuda.def"
#undef X
};

static const struct drv forked = {
#define X(name, symbol, since, need, parameters) .name = forked_##name,
#include "lib/cuda/cuda.def"
#undef X
};

enum need { OPTIONAL, CORE };

static const struct dl_row rows[DRV_SYMBOL_COUNT] = {
#define X(name, symbol, since, need, parameters)                                                   \
	{#symbol, offsetof(struct drv, name), need == CORE},
#include "lib/cuda/cuda.def"
#undef X
};

static const struct {
	const char *call;
	int since;
} calls[DRV_SYMBOL_COUNT] = {
#define X(name, symbol, since, need, parameters) {"cu" #name, since},
#include "lib/cuda/cuda.def"
#undef X
};

static void drv_fill_table(struct drv *drv)
{
	dl_fill(drv->object, rows, DRV_SYMBOL_COUNT, drv);
	for (size_t i = 0; i < DRV_SYMBOL_COUNT; i++) {
		void *function;
		char *slot = (char *)drv + rows[i].slot;
		memcpy(&function, slot, sizeof(function));
		drv->has[i] = function;
		if (!function) {
			memcpy(slot, (const char *)&missing + rows[i].slot, sizeof(function));
		}
	}
}

/* In a child, which has one thread.  A list that another thread was changing is whole: it grows by
 * one store. */
static void drv_on_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	for (size_t i = 0; i < countof(is_used); i++) {
		atomic_store(&is_forked[i], atomic_load(&is_used[i]));
	}
	for (struct provider *p = providers; p; p = p->next) {
		for (size_t i = 0; i < DRV_SYMBOL_COUNT; i++) {
			memcpy((char *)&p->drv + rows[i].slot, (const char *)&forked + rows[i].slot,
				sizeof(void (*)(void)));
		}
		p->drv.is_forked = true;
	}
}

static void drv_watch_forks(void)
{
	pthread_atfork(NULL, NULL, drv_on_fork);
}

/* How the two providers differ. */
static const struct {
	const char *name;
	const char *variable;     /* names the file */
	const char *hint;         /* when there is no file */
	const char *timeout_hint; /* when a launch took too long; may be NULL */
	const char *line_hint;    /* how to get the line of a wild access; may be NULL */
	unsigned log_flags;       /* of cuLogsDumpToMemory */
} drv_kinds[] = {
	[DRV_CUDA] = {"CUDA", "KUDZU_CUDA_DRIVER",
		"for a GPU, install the NVIDIA driver, or choose the device 'cpu'", NULL, NULL, 0},
	[DRV_CPU] = {"CPU", "KUDZU_CPU_DRIVER",
		"build Kudzu with LLVM, or set KUDZU_CPU_DRIVER to the file",
		"split the work, or raise KUDZU_CPU_TIMEOUT",
		"set KUDZU_CHECK=memory, or use kudzu run --check, to get the line of the kernel",
		CU_LOGS_KUDZU_OWN},
};

static kz_status drv_fail_forked(enum drv_provider kind, const char *call, kz_error *err)
{
	bool mine = error_is_clean(err);
	error_foreign(err, KZ_STATE, &(struct foreign_code){KZ_DOMAIN_LIBRARY, .call = call},
		"this process was forked from one that had used the %s driver; only that one can "
		"use it", drv_kinds[kind].name);
	if (mine) {
		error_add_hint(err, "fork before the first use of a device, or start a program in "
			"the child");
	}
	return KZ_STATE;
}

kz_status drv_check_fork(enum drv_provider kind, kz_error *err)
{
	return unlikely(atomic_load(&is_forked[kind])) ? drv_fail_forked(kind, NULL, err) : KZ_OK;
}

/* An object without the core symbols: an old driver, or none at all. */
static kz_status drv_check_core(const struct drv *drv, kz_error *err)
{
	int version;
	struct str names = STR_INIT;
	for (size_t i = 0; i < DRV_SYMBOL_COUNT; i++) {
		if (rows[i].needed && !drv->has[i]) {
			str_addf(&names, "%s%s", names.len ? ", " : "", rows[i].symbol);
		}
	}
	kz_status st = KZ_OK;
	if (names.failed) {
		st = error_no_memory(err);
	} else if (names.len && drv->DriverGetVersion(&version) == CUDA_SUCCESS
		&& version < OLDEST_VERSION) {
		st = error_set(err, KZ_VERSION,
			"'%s' is a driver of CUDA %d.%d; Kudzu needs one of CUDA 11.0 or newer",
			drv->path, version / 1000, version % 1000 / 10);
	} else if (names.len) {
		st = error_set(err, KZ_NO_DRIVER, "'%s' is not a CUDA driver; it lacks %s",
			drv->path, names.data);
	}
	str_free(&names);
	return st;
}

/* Bytes of the "[time][thread]" that NVIDIA's lines begin with; 0 if there is none. */
static size_t drv_log_stamp(const char *line)
{
	const char *end = line[0] == '[' ? strstr(line, "][") : NULL;
	end = end ? strchr(end + 2, ']') : NULL;
	return end && end < line + strcspn(line, "\n") ? (size_t)(end + 1 - line) : 0;
}

/* The start of the last line before `end`. */
static char *drv_log_line_before(char *log, char *end)
{
	char *newline = end > log ? memrchr(log, '\n', (size_t)(end - 1 - log)) : NULL;
	return newline ? newline + 1 : log;
}

/*
 * Cut a log to the lines of the last call that failed.  The log belongs to the process, so earlier
 * lines are of other threads, or of calls whose failure mattered to nobody.  In NVIDIA's log the
 * lines of one call have the same stamp, a time in milliseconds; our driver writes one line per
 * call, without a stamp.
 */
static void drv_log_keep_newest(char *log)
{
	char *end = log + strlen(log);
	char *start = drv_log_line_before(log, end);
	size_t stamp = drv_log_stamp(start);
	while (stamp > 0 && start > log) {
		char *previous = drv_log_line_before(log, start);
		if (strncmp(previous, start, stamp) != 0) {
			break;
		}
		start = previous;
	}
	memmove(log, start, (size_t)(end - start) + 1);
}

/* What the driver has logged about the last failure since *mark; NULL if nothing.  Our own driver
 * can leave out what other threads have logged meanwhile.  From mem_alloc. */
static char *drv_log_dump(const struct drv *drv, CUlogIterator *mark)
{
	size_t size = LOG_MAX;
	char *log = mem_alloc(size + LOG_MORE);
	unsigned flags = drv_kinds[drv->provider].log_flags;
	if (log && (drv->LogsDumpToMemory(mark, log, &size, flags) != CUDA_SUCCESS || size == 0
			|| size > LOG_MAX)) {
		mem_free(log);
		return NULL;
	}
	if (log) {
		log[size] = '\0';
		drv_log_keep_newest(log);
	}
	return log;
}

const char drv_variable_hint[] = "correct the environment variable that the message names, or "
	"unset it";

bool drv_names_variable(const char *text)
{
	return strstr(text, "KUDZU_");
}

/* A setting of our own driver is wrong: "KUDZU_CPU_WIDTH is '7': expected 1 or 32", its log
 * says. */
static kz_status drv_fail_setting(const char *setting, CUresult code, const char *call,
	kz_error *err)
{
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, (int)code);
	bool mine = error_is_clean(err);
	const struct foreign_code foreign = {KZ_DOMAIN_DRIVER, (int)code, known->name, call,
		known->flags};
	error_foreign(err, known->status, &foreign, "%.*s", (int)strcspn(setting, "\n"), setting);
	if (mine) {
		error_add_hint(err, drv_variable_hint);
	}
	return known->status;
}

static kz_status drv_init(struct drv *drv, kz_error *err)
{
	char what[sizeof(drv->path) + 2];
	snprintf(what, sizeof(what), "'%s'", drv->path);
	const char *call = "cuInit";
	bool was_used = atomic_exchange(&is_used[drv->provider], true);
	CUresult code = drv->Init(0);
	if (code != CUDA_SUCCESS) {
		atomic_store(&is_used[drv->provider], was_used);
	} else {
		call = "cuDriverGetVersion";
		code = drv->DriverGetVersion(&drv->version);
	}
	if (code == CUDA_SUCCESS) {
		call = "cuDeviceGetCount";
		code = drv->DeviceGetCount(&drv->device_count);
	}
	if (code == CUDA_SUCCESS && drv->device_count <= 0) {
		code = CUDA_ERROR_NO_DEVICE;
	}
	if (code == CUDA_SUCCESS) {
		return KZ_OK;
	}
	CUlogIterator mark = 0;
	char *log = drv_log_dump(drv, &mark);
	bool mine = error_is_clean(err);
	const char *setting = code == CUDA_ERROR_INVALID_VALUE && log ? strstr(log, "KUDZU_")
		: NULL;
	kz_status st = setting ? drv_fail_setting(setting, code, call, err)
		: codes_fail(KZ_DOMAIN_DRIVER, code, call, what, err);
	error_take_log(mine ? err : NULL, log);
	if (code == CUDA_ERROR_STUB_LIBRARY) {
		/* It has the soname of the driver: if it stayed open, the loader would take it
		 * for that. */
		dl_close(drv->object);
	}
	return st;
}

/* Make a driver of the object that drv->object holds; `name` is what it was opened as. */
static kz_status drv_load(struct provider *provider, const char *name, kz_error *err)
{
	struct drv *drv = &provider->drv;
	void *symbol = dl_symbol(drv->object, rows[DRV_cuInit].symbol);
	char *path = symbol ? dl_path(symbol) : NULL;
	snprintf(drv->path, sizeof(drv->path), "%s", path ? path : name);
	mem_free(path);

	drv_fill_table(drv);
	kz_status st = drv_check_core(drv, err);
	if (st) {
		dl_close(drv->object);
		return st;
	}
	st = drv_init(drv, err);
	if (!st && drv->LogsCurrent(&provider->log_mark, 0) != CUDA_SUCCESS) {
		provider->log_mark = 0;
	}
	return st;
}

static void drv_release(struct provider *provider)
{
	if (provider) {
		mem_free(provider->name);
		mem_free(provider);
	}
}

/* Where a provider may be, owned by the caller. */
struct search {
	char *names[2];
	size_t count;
	bool is_named;    /* by the user, or left to the loader; other files must be trusted */
	kz_error refused; /* why a file is not trusted */
	struct str reasons;
};

/* Open one name.  If that does not work, *out is NULL and the reason is added; it is no failure
 * yet. */
static kz_status drv_open_name(void **out, struct search *search, const char *name, kz_error *err)
{
	char text[512];
	char *path = NULL;
	kz_error why = KZ_ERROR_INIT;
	*out = NULL;
	if (!search->is_named && trust_find(&path, name, &providers, &why)) {
		if (why.status == KZ_PERMISSION) {
			error_copy(&search->refused, &why);
		}
		str_addf(&search->reasons, "%s\n", why.message);
		return why.status == KZ_NO_MEMORY ? error_no_memory(err) : KZ_OK;
	}
	*out = dl_open(path ? path : name, text, sizeof(text));
	if (!*out) {
		str_addf(&search->reasons, "%s\n", text);
	}
	mem_free(path);
	return KZ_OK;
}

/* Take the provider of a name, or load it; *out stays NULL if the name cannot be opened. */
static kz_status drv_try_name(struct drv **out, enum drv_provider kind, const char *name,
	struct search *search, kz_error *err)
{
	for (struct provider *p = providers; p; p = p->next) {
		if (p->drv.provider == kind && strcmp(p->name, name) == 0) {
			*out = &p->drv;
			return KZ_OK;
		}
	}
	void *object;
	kz_status st = drv_open_name(&object, search, name, err);
	if (!object) {
		return st;
	}
	struct provider *p = mem_zalloc(1, sizeof(*p));
	if (!p || !(p->name = mem_strdup(name))) {
		drv_release(p);
		dl_close(object);
		return error_no_memory(err);
	}
	p->drv.provider = kind;
	p->drv.object = object;
	if ((st = drv_load(p, name, err))) {
		drv_release(p);
		return st;
	}
	p->next = providers;
	providers = p;
	*out = &p->drv;
	return KZ_OK;
}

/* False when memory runs out. */
static bool drv_search_add(struct search *search, char *name)
{
	search->names[search->count++] = name;
	return name;
}

static bool drv_search_init(struct search *search, enum drv_provider kind)
{
	bool cuda = kind == DRV_CUDA;
	const char *chosen = env_get(drv_kinds[kind].variable);
	search->is_named = cuda || (chosen && chosen[0]);
	if (chosen && chosen[0]) {
		return drv_search_add(search, mem_strdup(chosen));
	}
	if (cuda) {
		return drv_search_add(search, mem_strdup("libcuda.so.1"))
			&& drv_search_add(search, mem_strdup("libcuda.so"));
	}
	char *self = dl_path(&providers);
	char *folder = self ? file_folder(self) : NULL;
	bool ok = folder && drv_search_add(search, file_join(folder, KZ_CPU_SONAME))
		&& drv_search_add(search, file_join(KZ_LIBDIR, KZ_CPU_SONAME));
	mem_free(folder);
	mem_free(self);
	return ok;
}

/* Nothing could be opened: say what was tried, and keep the loader's reasons. */
static kz_status drv_not_found(struct search *search, enum drv_provider kind, kz_error *err)
{
	const char *name = drv_kinds[kind].name, *variable = drv_kinds[kind].variable;
	const char *chosen = env_get(variable);
	const char *hint = drv_kinds[kind].hint;
	bool mine = error_is_clean(err);
	chosen = chosen && chosen[0] ? chosen : NULL;
	if (search->refused.status) {
		error_set(err, KZ_NO_DRIVER, "cannot load the %s driver: %s", name,
			search->refused.message);
		hint = "let nobody else write there, or set KUDZU_CPU_DRIVER to the file";
	} else {
		const char *second = search->count > 1 ? search->names[1] : NULL;
		error_set(err, KZ_NO_DRIVER, "cannot load the %s driver: tried '%s'%s%s%s%s%s",
			name, search->names[0], second ? " and '" : "",
			second ? second : "", second ? "'" : "", chosen ? " of " : "",
			chosen ? variable : "");
		hint = chosen ? drv_variable_hint : hint;
	}
	if (mine) {
		error_add_hint(err, hint);
		error_take_log(err, str_take(&search->reasons));
	}
	return KZ_NO_DRIVER;
}

kz_status drv_open(struct drv **out, enum drv_provider kind, kz_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	*out = NULL;
	kz_status st = drv_check_fork(kind, err);
	if (st) {
		return st;
	}
	pthread_once(&once, drv_watch_forks);
	struct search search = {.refused = KZ_ERROR_INIT, .reasons = STR_INIT};
	st = drv_search_init(&search, kind) ? KZ_OK : error_no_memory(err);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; !st && !*out && i < search.count; i++) {
		st = drv_try_name(out, kind, search.names[i], &search, err);
	}
	pthread_mutex_unlock(&lock);
	if (!st && !*out) {
		st = drv_not_found(&search, kind, err);
	}
	str_free(&search.reasons);
	for (size_t i = 0; i < search.count; i++) {
		mem_free(search.names[i]);
	}
	return st;
}

static char *drv_log_take(const struct drv *drv)
{
	char *log = NULL;
	pthread_mutex_lock(&lock);
	struct provider *p = providers;
	while (p && &p->drv != drv) {
		p = p->next;
	}
	if (p) {
		log = drv_log_dump(drv, &p->log_mark);
	}
	pthread_mutex_unlock(&lock);
	return log;
}

static kz_status drv_fail_missing(const struct drv *drv, const char *call, kz_error *err)
{
	int since = 0;
	for (size_t i = 0; i < DRV_SYMBOL_COUNT; i++) {
		if (strcmp(calls[i].call, call) == 0) {
			since = calls[i].since;
		}
	}
	const struct foreign_code foreign = {KZ_DOMAIN_LIBRARY, .call = call};
	bool mine = error_is_clean(err);
	if (since <= drv->version) {
		return error_foreign(err, KZ_UNSUPPORTED, &foreign, "'%s' does not have %s",
			drv->path, call);
	}
	error_foreign(err, KZ_VERSION, &foreign,
		"%s needs a driver of CUDA %d.%d or newer; this one is of CUDA %d.%d", call,
		since / 1000, since % 1000 / 10, drv->version / 1000, drv->version % 1000 / 10);
	if (mine) {
		error_add_hint(err, "update the NVIDIA driver");
	}
	return KZ_VERSION;
}

/* Take the place in the source from the line that the CPU device logs of a kernel, which ends
 * with it: "kernel 'f': ...; block (0,0,0), thread (1,0,0); k.cu:7". */
static void drv_add_place(kz_error *err, const char *log)
{
	const char *end = log + strcspn(log, "\n");
	const char *colon = memrchr(log, ':', (size_t)(end - log));
	const char *file = colon ? memrchr(log, ';', (size_t)(colon - log)) : NULL;
	char *rest;
	long line = file ? strtol(colon + 1, &rest, 10) : 0;
	if (line <= 0 || line > INT32_MAX || rest != end || file[1] != ' ') {
		return;
	}
	char *name = mem_strndup(file + 2, (size_t)(colon - file) - 2);
	error_add_place(err, name, name ? (int)line : 0, 0);
	mem_free(name);
}

/* Hints that depend on the driver, and on what it has logged of a kernel. */
static void drv_add_hint(const struct drv *drv, CUresult code, const char *log, kz_error *err)
{
	const char *timeout_hint = drv_kinds[drv->provider].timeout_hint;
	const char *line_hint = drv_kinds[drv->provider].line_hint;
	if (code == CUDA_ERROR_ILLEGAL_ADDRESS && line_hint && log) {
		bool has_line = err->file || strstr(log, "; PTX line ");
		error_add_hint(err, has_line ? "check the kernel's indexes and pointers"
			: line_hint);
	}
	if (err->status == KZ_TIMEOUT && timeout_hint) {
		error_add_hint(err, log && !strstr(log, "KUDZU_CPU_TIMEOUT")
			? "split the work, or raise its limit" /* which the program sets */
			: timeout_hint);
	}
}

/* Our own driver's log of a kernel that failed begins with "kernel 'f': ".  The call that reported
 * it may be any later one, even one of the library's own, so the message names the kernel instead:
 * "kernel 'f' accessed ..." for the table's "a kernel accessed ...".  False for other failures. */
static bool drv_fail_kernel(CUresult code, const char *call, const char *log, kz_error *err)
{
	static const char begin[] = "kernel '", kernel[] = "a kernel";
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, (int)code);
	const char *at = known ? strstr(known->text, kernel) : NULL;
	const bool is_kernel = log && strncmp(log, begin, strlen(begin)) == 0;
	const char *end = is_kernel ? strstr(log, "': ") : NULL;
	if (!at || !end) {
		return false;
	}
	const struct foreign_code foreign = {KZ_DOMAIN_DRIVER, (int)code, known->name, call,
		known->flags};
	bool mine = error_is_clean(err);
	error_foreign(err, known->status, &foreign, "%.*s%.*s'%s", (int)(at - known->text),
		known->text, (int)(end - log), log, at + strlen(kernel));
	if (mine) {
		error_add_hint(err, known->hint);
	}
	return true;
}

kz_status drv_fail(const struct drv *drv, CUresult code, const char *call, kz_error *err)
{
	if (code == DRV_MISSING) {
		return drv_fail_missing(drv, call, err);
	}
	if (code == DRV_FORKED) {
		return drv_fail_forked(drv->provider, call, err);
	}
	bool mine = error_is_clean(err);
	/* It is taken even if nobody wants it: else the next failure would get it. */
	char *log = drv_has(drv, DRV_cuLogsCurrent) && drv_has(drv, DRV_cuLogsDumpToMemory)
		? drv_log_take(drv) : NULL;
	kz_status st = drv_fail_kernel(code, call, log, err)
		? codes_find(KZ_DOMAIN_DRIVER, (int)code)->status
		: codes_fail(KZ_DOMAIN_DRIVER, (int)code, call, NULL, err);
	if (mine && st == KZ_FAULT && log) {
		drv_add_place(err, log);
	}
	if (mine) {
		drv_add_hint(drv, code, log, err);
	}
	error_take_log(mine ? err : NULL, log);
	return st;
}
