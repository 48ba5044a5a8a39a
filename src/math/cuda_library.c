/* SPDX-License-Identifier: MIT */
/*
 * Finding cuBLAS and cuSOLVER.
 *
 * A library is taken if it can make and end handles, take a stream and tell its version.  What else
 * it lacks leaves a NULL in the table: older versions lack some functions.  cuSOLVER needs cuBLAS,
 * which therefore is loaded first: in NVIDIA's wheels the two are in folders that the loader does
 * not search.
 */
#include "base/common.h"

#include "math/cuda_library.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "rtc/find.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *const cublas_names[] = {
	"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL,
};
static const char *const cusolver_names[] = {
	"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", NULL,
};

static const struct {
	enum cuda_part part;
	const char *symbol;
	size_t slot;
} cuda_functions[] = {
#define F(library, name, symbol, parameters)                                                       \
	{CUDA_##library, #symbol, offsetof(struct cuda_library, name)},
#include "math/cublas.def"
#undef F
};

static const struct {
	enum cuda_part part;
	const char *prefix, *real, *complex;
	size_t slot;
} cuda_rows[] = {
#define X(library, name, prefix, real, complex, parameters)                                        \
	{CUDA_##library, #prefix, #real, #complex, offsetof(struct cuda_library, name)},
#include "math/cublas.def"
#undef X
};

static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next three */
static bool cuda_is_open;
static struct cuda_library cuda_found;
static char *cuda_logs[CUDA_PARTS];

static void cuda_put(struct cuda_library *library, size_t slot, void *object, const char *symbol)
{
	void *function = dl_symbol(object, symbol);
	memcpy((char *)library + slot, &function, sizeof(function));
}

static void cuda_fill(struct cuda_library *library, enum cuda_part part, void *object)
{
	for (size_t i = 0; i < countof(cuda_functions); i++) {
		if (cuda_functions[i].part == part) {
			cuda_put(library, cuda_functions[i].slot, object, cuda_functions[i].symbol);
		}
	}
	for (size_t i = 0; i < countof(cuda_rows); i++) {
		for (int type = 0; type < MATH_TYPES && cuda_rows[i].part == part; type++) {
			char symbol[64];
			snprintf(symbol, sizeof(symbol), "%s%c%s", cuda_rows[i].prefix, "SDCZ"[type],
				type < MATH_C ? cuda_rows[i].real : cuda_rows[i].complex);
			cuda_put(library, cuda_rows[i].slot + (size_t)type * sizeof(void *), object,
				symbol);
		}
	}
}

/* Take a library for one of the parts; the other part's functions stay as they are. */
static bool cuda_take(struct find *find, enum cuda_part part, void *object, const char *path)
{
	struct cuda_library *library = find->arg;
	struct cuda_library made = *library;
	struct cuda_object *taken = &made.parts[part];
	cuda_fill(&made, part, object);
	bool is_blas = part == CUDA_CUBLAS;
	bool is_whole = is_blas
		? made.blas_create && made.blas_destroy && made.blas_set_stream && made.blas_property
		: made.solver_create && made.solver_destroy && made.solver_set_stream
			&& made.solver_property;
	if (!is_whole) {
		str_addf(&find->log, "  %s: not %s, it lacks %s\n", path,
			is_blas ? "cuBLAS" : "cuSOLVER",
			is_blas ? "cublasCreate_v2 or the like" : "cusolverDnCreate or the like");
		return false;
	}
	for (int what = MAJOR_VERSION; what <= PATCH_LEVEL; what++) {
		(void)(is_blas ? made.blas_property : made.solver_property)(what,
			&taken->version[what]);
	}
	taken->path = strchr(path, '/') ? mem_strdup(path) : dl_path(is_blas
		? (const void *)(uintptr_t)made.blas_create
		: (const void *)(uintptr_t)made.solver_create);
	find->no_memory = !taken->path;
	if (taken->path) {
		*library = made;
	}
	return taken->path;
}

static bool cuda_take_cublas(struct find *find, void *object, const char *path)
{
	return cuda_take(find, CUDA_CUBLAS, object, path);
}

static bool cuda_take_cusolver(struct find *find, void *object, const char *path)
{
	return cuda_take(find, CUDA_CUSOLVER, object, path);
}

static const struct find_what cuda_whats[CUDA_PARTS] = {
	{"libcublas.so", "KUDZU_CUBLAS", cublas_names, cuda_take_cublas},
	{"libcusolver.so", "KUDZU_CUSOLVER", cusolver_names, cuda_take_cusolver},
};

static void cuda_find(struct find *find)
{
	const char *named = env_get(find->what->variable);
	if (named && strcmp(named, "none") == 0) {
		str_addf(&find->log, "  %s is none\n", find->what->variable);
	} else {
		find_library(find);
	}
}

/* False: memory ran out. */
static bool cuda_open(void)
{
	bool ok = true;
	for (int part = 0; part < CUDA_PARTS && ok; part++) {
		if (!cuda_found.parts[part].path) {
			struct find find = {.what = &cuda_whats[part], .arg = &cuda_found,
				.log = STR_INIT};
			cuda_find(&find);
			ok = !find.no_memory && !find.log.failed;
			mem_free(cuda_logs[part]);
			cuda_logs[part] = ok ? str_take(&find.log) : NULL;
			str_free(&find.log);
		}
	}
	return ok;
}

const struct cuda_library *cuda_library_get(void)
{
	pthread_mutex_lock(&cuda_lock);
	cuda_is_open = cuda_is_open || cuda_open();
	const struct cuda_library *library = cuda_is_open ? &cuda_found : NULL;
	pthread_mutex_unlock(&cuda_lock);
	return library;
}

const char *cuda_library_log(enum cuda_part part)
{
	return cuda_logs[part] ? cuda_logs[part] : "";
}

const char *cuda_library_misnamed(const struct cuda_library *library, enum cuda_part part)
{
	const char *named = env_get(cuda_whats[part].variable);
	bool is_file = named && named[0] && strcmp(named, "none") != 0;
	return is_file && !library->parts[part].path ? cuda_whats[part].variable : NULL;
}

char *cuda_library_look(enum cuda_part part)
{
	struct find find = {.what = &cuda_whats[part], .look_only = true, .log = STR_INIT};
	cuda_find(&find);
	str_free(&find.log);
	return find.path;
}
