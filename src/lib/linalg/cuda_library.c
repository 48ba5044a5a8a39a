/* SPDX-License-Identifier: MIT */
/*
 * Finding cuBLAS, cuSOLVER and cuFFT.
 *
 * A library of linear algebra is taken if it can make and end handles, take a stream and tell its
 * version.  What else it lacks leaves a NULL in the table: older versions lack some functions.
 * cuFFT is taken if it has all of cufft.def.  cuSOLVER needs cuBLAS, which therefore is loaded
 * first: in NVIDIA's wheels the two are in folders that the loader does not search.
 */
#include "base/common.h"

#include "lib/linalg/cuda_library.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "lib/rtc/find.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *const cublas_names[] = {
	"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL,
};
static const char *const cusolver_names[] = {
	"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", NULL,
};

static const char *const cufft_names[] = {
	"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", "libcufft.so", NULL,
};

static const struct {
	enum cuda_part part;
	const char *symbol;
	size_t slot;
} cuda_functions[] = {
#define F(library, name, symbol, parameters)                                                       \
	{CUDA_##library, #symbol, offsetof(struct cuda_library, name)},
#include "lib/linalg/cublas.def"
#include "lib/linalg/cufft.def"
#undef F
};

static const struct {
	enum cuda_part part;
	const char *prefix, *real, *complex;
	size_t slot;
} cuda_rows[] = {
#define X(library, name, prefix, real, complex, parameters)                                        \
	{CUDA_##library, #prefix, #real, #complex, offsetof(struct cuda_library, name)},
#include "lib/linalg/cublas.def"
#undef X
};

static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next three */
static bool cuda_is_open[CUDA_PARTS];
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
		for (int type = 0; type < LINALG_TYPES && cuda_rows[i].part == part; type++) {
			char symbol[64];
			snprintf(symbol, sizeof(symbol), "%s%c%s", cuda_rows[i].prefix,
				"SDCZ"[type],
				linalg_is_complex(type) ? cuda_rows[i].complex : cuda_rows[i].real);
			cuda_put(library, cuda_rows[i].slot + (size_t)type * sizeof(void *), object,
				symbol);
		}
	}
}

/* Of the rows F of each part, which begin with the function that tells the version, so many must be
 * there. */
static const struct {
	const char *name;
	int needed;
} cuda_parts[CUDA_PARTS] = {{"cuBLAS", 4}, {"cuSOLVER", 4}, {"cuFFT", INT_MAX}};

static void *cuda_function(const struct cuda_library *library, size_t slot)
{
	void *function;
	memcpy(&function, (const char *)library + slot, sizeof(function));
	return function;
}

/* The first function that a part must have and lacks; NULL: none. */
static const char *cuda_lacks(const struct cuda_library *library, enum cuda_part part)
{
	int seen = 0;
	for (size_t i = 0; i < countof(cuda_functions); i++) {
		if (cuda_functions[i].part == part && seen++ < cuda_parts[part].needed
		    && !cuda_function(library, cuda_functions[i].slot)) {
			return cuda_functions[i].symbol;
		}
	}
	return NULL;
}

/* Take a library for one of the parts.  Others may be in use: they are left alone. */
static bool cuda_take(struct find *find, enum cuda_part part, void *object, const char *path)
{
	struct cuda_library *library = find->arg, made = {.blas_create = NULL};
	struct cuda_object *taken = &library->parts[part];
	cuda_fill(&made, part, object);
	int (*const property)(libraryPropertyType what, int *value) = part == CUDA_CUBLAS
		? made.blas_property : part == CUDA_CUSOLVER ? made.solver_property
		: made.fft_property;
	const char *lacks = cuda_lacks(&made, part);
	if (lacks) {
		str_addf(&find->log, "  %s: not %s, it lacks %s\n", path, cuda_parts[part].name,
			lacks);
		return false;
	}
	taken->path = strchr(path, '/') ? mem_strdup(path)
		: dl_path((const void *)(uintptr_t)property);
	find->no_memory = !taken->path;
	if (!taken->path) {
		return false;
	}
	for (int what = MAJOR_VERSION; what <= PATCH_LEVEL; what++) {
		(void)property(what, &taken->version[what]);
	}
	cuda_fill(library, part, object);
	return true;
}

static bool cuda_take_cublas(struct find *find, void *object, const char *path)
{
	return cuda_take(find, CUDA_CUBLAS, object, path);
}

static bool cuda_take_cusolver(struct find *find, void *object, const char *path)
{
	return cuda_take(find, CUDA_CUSOLVER, object, path);
}

static bool cuda_take_cufft(struct find *find, void *object, const char *path)
{
	return cuda_take(find, CUDA_CUFFT, object, path);
}

static const struct find_what cuda_whats[CUDA_PARTS] = {
	{"libcublas.so", "KUDZU_CUBLAS", cublas_names, cuda_take_cublas},
	{"libcusolver.so", "KUDZU_CUSOLVER", cusolver_names, cuda_take_cusolver},
	{"libcufft.so", "KUDZU_CUFFT", cufft_names, cuda_take_cufft},
};

static void cuda_find(struct find *find)
{
	const char *named = env_get(find->what->variable);
	if (named && strcmp(named, "none") == 0) {
		str_addf(&find->log, "  %s is set to none\n", find->what->variable);
	} else {
		find_library(find);
	}
}

/* False: memory ran out. */
static bool cuda_open(enum cuda_part part)
{
	if (!cuda_is_open[part]) {
		struct find find = {.what = &cuda_whats[part], .arg = &cuda_found, .log = STR_INIT};
		cuda_find(&find);
		cuda_is_open[part] = !find.no_memory && !find.log.failed;
		mem_free(cuda_logs[part]);
		cuda_logs[part] = cuda_is_open[part] ? str_take(&find.log) : NULL;
		str_free(&find.log);
	}
	return cuda_is_open[part];
}

const struct cuda_library *cuda_library_get(enum cuda_part part)
{
	pthread_mutex_lock(&cuda_lock);
	bool ok = part == CUDA_CUFFT ? cuda_open(part) : cuda_open(CUDA_CUBLAS)
		&& cuda_open(CUDA_CUSOLVER);
	pthread_mutex_unlock(&cuda_lock);
	return ok ? &cuda_found : NULL;
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
