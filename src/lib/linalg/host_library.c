/* SPDX-License-Identifier: MIT */
/*
 * Finding BLAS and LAPACK, and asking a library about itself.
 *
 * The first library that loads and has dgemm is the BLAS; the first that has dgetrf is the LAPACK,
 * and the BLAS is asked before others.  A function that a library lacks leaves a NULL in the table.
 */
#include "base/common.h"

#include "lib/linalg/host_library.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Best first.  MKL, since it was installed by hand, comes before what a distribution brings. */
static const char *const host_names[HOST_PARTS][10] = {
	{"libmkl_rt.so.2", "libmkl_rt.so", "libopenblas.so.0", "libopenblas.so",
		"libopenblas64.so.0", "libblis.so.4", "libblis.so", "libblas.so.3", NULL},
	{"libopenblas.so.0", "libopenblas.so", "liblapack.so.3", "liblapack.so", NULL},
};

static const struct {
	const char *variable;
	const char *symbol; /* what such a library has */
	const char *what;
} host_parts[HOST_PARTS] = {
	{"KUDZU_BLAS", "dgemm", "BLAS"},
	{"KUDZU_LAPACK", "dgetrf", "LAPACK"},
};

static const char *const host_suffixes[] = {"_", "_64_", "64_", ""};

static const struct {
	enum host_part part;
	const char *real, *complex;
	size_t slot;
} host_rows[] = {
#define X(library, name, real, complex, parameters)                                                \
	{HOST_##library, #real, #complex, offsetof(struct host_library, name)},
#include "lib/linalg/blas.def"
#undef X
};

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next three */
static bool host_is_open;
static struct host_library host_found;
static struct str host_log;

static void *host_symbol(void *object, const char *letter, const char *name, const char *suffix)
{
	char symbol[32];
	snprintf(symbol, sizeof(symbol), "%s%s%s", letter, name, suffix);
	return dl_symbol(object, symbol);
}

/* What a library puts after its names; NULL if the library does not have that part. */
static const char *host_suffix(void *object, enum host_part part)
{
	for (size_t i = 0; i < countof(host_suffixes); i++) {
		if (host_symbol(object, "", host_parts[part].symbol, host_suffixes[i])) {
			return host_suffixes[i];
		}
	}
	return NULL;
}

static void host_fill(struct host_library *library, enum host_part part, const char *suffix)
{
	static const char *const letters[LINALG_TYPES] = {"s", "d", "c", "z"};
	void *object = library->parts[part].object;
	for (size_t i = 0; i < countof(host_rows); i++) {
		for (int type = 0; type < LINALG_TYPES && host_rows[i].part == part; type++) {
			void *function = host_symbol(object, letters[type], linalg_is_complex(type)
				? host_rows[i].complex : host_rows[i].real, suffix);
			memcpy((char *)library + host_rows[i].slot
				+ (size_t)type * sizeof(function), &function, sizeof(function));
		}
	}
}

/*
 * Whether a library's integers have 64 bits.  BLAS: the largest of n numbers, where n is 1 in the
 * low half and negative in all; there is none for a negative n.  LAPACK: it writes its version over
 * ones, of which the upper half stays or not.
 */
static bool host_is_wide(void *object, enum host_part part, const char *suffix)
{
	void *found = host_symbol(object, "", part == HOST_BLAS ? "idamax" : "ilaver", suffix);
	if (!found) {
		return strstr(suffix, "64");
	}
	if (part == HOST_BLAS) {
		int (*idamax)(const int64_t *n, const double *x, const int64_t *step);
		memcpy(&idamax, &found, sizeof(found));
		const int64_t count = (int64_t)0xffffffff00000001ull, step = 1;
		const double x[1] = {1};
		return idamax(&count, x, &step) == 0;
	}
	int64_t version[3] = {-1, -1, -1};
	void (*ilaver)(int64_t *major, int64_t *minor, int64_t *patch);
	memcpy(&ilaver, &found, sizeof(found));
	ilaver(&version[0], &version[1], &version[2]);
	return version[0] >= 0;
}

/* A library that the program itself uses keeps the number of threads that the program chose. */
static void host_set_threads(void *object, int threads)
{
	static const char *const names[] = {
		"openblas_set_num_threads", "openblas_set_num_threads64_", "MKL_Set_Num_Threads",
		"bli_thread_set_num_threads",
	};
	for (size_t i = 0; i < countof(names); i++) {
		void *found = dl_symbol(object, names[i]);
		if (found && i < 3) {
			void (*set)(int threads);
			memcpy(&set, &found, sizeof(found));
			set(threads);
		} else if (found) {
			void (*set)(int64_t threads);
			memcpy(&set, &found, sizeof(found));
			set(threads);
		}
	}
}

static bool host_try(struct host_library *library, enum host_part part, const char *name,
	int threads, struct str *log)
{
	char why[512];
	void *loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	void *object = dl_open(name, why, sizeof(why));
	bool is_new = !loaded;
	if (loaded) {
		dlclose(loaded);
	}
	if (!object) {
		str_addf(log, "  %s\n", why);
		return false;
	}
	const char *suffix = host_suffix(object, part);
	if (!suffix) {
		str_addf(log, "  %s: not a %s, it lacks %s_\n", name, host_parts[part].what,
			host_parts[part].symbol);
		dl_close(object);
		return false;
	}
	struct host_object *taken = &library->parts[part];
	taken->object = object;
	taken->is_wide = host_is_wide(object, part, suffix);
	snprintf(taken->name, sizeof(taken->name), "%s", name);
	host_fill(library, part, suffix);
	if (is_new) {
		host_set_threads(object, threads);
	}
	return true;
}

static void host_find(struct host_library *library, enum host_part part, int threads,
	struct str *log)
{
	const char *named = env_get(host_parts[part].variable);
	if (named && strcmp(named, "none") == 0) {
		str_addf(log, "  %s is set to none\n", host_parts[part].variable);
	} else if (named && named[0]) {
		host_try(library, part, named, threads, log);
	} else {
		bool found = part == HOST_LAPACK && library->parts[HOST_BLAS].object
			&& host_try(library, part, library->parts[HOST_BLAS].name, threads, log);
		for (const char *const *name = host_names[part]; *name && !found; name++) {
			found = host_try(library, part, *name, threads, log);
		}
	}
}

static void host_open(int threads)
{
	host_find(&host_found, HOST_BLAS, threads, &host_log);
	/* `none` for the BLAS is meant for both, unless a LAPACK is named. */
	const char *blas = env_get(host_parts[HOST_BLAS].variable);
	const char *lapack = env_get(host_parts[HOST_LAPACK].variable);
	if (!blas || strcmp(blas, "none") != 0 || (lapack && lapack[0])) {
		host_find(&host_found, HOST_LAPACK, threads, &host_log);
	}
}

const struct host_library *host_library_get(int threads)
{
	pthread_mutex_lock(&host_lock);
	if (!host_is_open) {
		host_open(threads);
		host_is_open = true;
	}
	pthread_mutex_unlock(&host_lock);
	return &host_found;
}

const char *host_library_log(void)
{
	return host_log.data ? host_log.data : "";
}

const char *host_library_misnamed(const struct host_library *library, enum host_part part)
{
	const char *named = env_get(host_parts[part].variable);
	bool is_file = named && named[0] && strcmp(named, "none") != 0;
	return is_file && !library->parts[part].object ? host_parts[part].variable : NULL;
}

const char *host_library_core(const struct host_library *library, enum host_part part)
{
	static const char *const names[] = {"openblas_get_corename", "openblas_get_corename64_"};
	for (size_t i = 0; i < countof(names); i++) {
		void *found = dl_symbol(library->parts[part].object, names[i]);
		const char *(*core)(void);
		if (found) {
			memcpy(&core, &found, sizeof(found));
			return core();
		}
	}
	return NULL;
}

/* The version in a library's own words, else that of LAPACK's interface; "" if it does not say. */
static void host_version(char *out, size_t size, const struct host_object *of, enum host_part part)
{
	static const char *const names[] = {"openblas_get_config", "openblas_get_config64_",
		"bli_info_get_version_str"};
	void *found = NULL;
	out[0] = '\0';
	for (size_t i = 0; i < countof(names) && !found; i++) {
		const char *(*describe)(void);
		if ((found = dl_symbol(of->object, names[i]))) {
			memcpy(&describe, &found, sizeof(found));
			snprintf(out, size, "%s%s", i == 2 ? "BLIS " : "", describe());
		}
	}
	if (!found && (found = dl_symbol(of->object, "mkl_get_version_string"))) {
		void (*describe)(char *text, int size);
		memcpy(&describe, &found, sizeof(found));
		describe(out, (int)size);
		out[size - 1] = '\0';
	} else if (!found && part == HOST_LAPACK && (found = dl_symbol(of->object, "ilaver_"))) {
		int64_t version[3] = {0, 0, 0};
		void (*ilaver)(int64_t *major, int64_t *minor, int64_t *patch);
		memcpy(&ilaver, &found, sizeof(found));
		ilaver(&version[0], &version[1], &version[2]);
		snprintf(out, size, "LAPACK %d.%d.%d", (int)version[0], (int)version[1],
			(int)version[2]);
	}
	for (size_t end = strlen(out); end > 0 && out[end - 1] == ' '; end--) {
		out[end - 1] = '\0';
	}
}

void host_library_describe(struct str *out, const struct host_library *library, enum host_part part)
{
	const struct host_object *of = &library->parts[part];
	const char *suffix = host_suffix(of->object, part);
	const char *core = host_library_core(library, part);
	char version[256];
	host_version(version, sizeof(version), of, part);
	char *path = suffix ? dl_path(host_symbol(of->object, "", host_parts[part].symbol, suffix))
		: NULL;
	str_addf(out, "%s%s%s%s%s%d-bit integers, %s", version, version[0] ? ", " : "",
		core ? "kernels for " : "", core ? core : "", core ? ", " : "", of->is_wide ? 64
		: 32, path ? path : of->name);
	mem_free(path);
}
