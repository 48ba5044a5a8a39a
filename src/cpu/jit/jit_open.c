/* SPDX-License-Identifier: MIT */
/*
 * Find the part of the driver that has LLVM in it.  Tests have it linked in; else it is a library
 * beside this one, in a file that no other user can have written (base/trust.h).  It stays loaded,
 * as the driver does.
 */
#include "base/common.h"

#include "cpu/jit/jit_open.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/exit_gate.h"
#include "base/file.h"
#include "base/trust.h"

#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libkudzu-cpu-llvm.so"

/* NULL where it is not linked in; the dynamic linker is not asked. */
extern const struct jit_llvm_calls jit_llvm_calls
	__attribute__((__weak__, __visibility__("hidden")));

/* NULL: no memory.  From mem_alloc. */
static char *jit_open_path(void)
{
	char *own = dl_path((const void *)(uintptr_t)jit_open);
	char *folder = own ? file_folder(own) : NULL;
	char *path = folder ? file_join(folder, LIBRARY) : NULL;
	mem_free(folder);
	mem_free(own);
	return path;
}

/* Open the library at a path, if it is trusted.  A variable that names the driver names this
 * part of it too. */
static void *jit_open_trusted(const char *path, char *why, size_t why_size)
{
	const char *named = env_get("KUDZU_CPU_DRIVER");
	char *real = NULL;
	kz_error err = KZ_ERROR_INIT;
	if (!(named && *named)
	    && trust_find(&real, path, (const void *)(uintptr_t)jit_open, &err)) {
		snprintf(why, why_size, "%s", err.message);
		return NULL;
	}
	void *object = dl_open(real ? real : path, why, why_size);
	mem_free(real);
	return object;
}

static const struct jit_llvm_calls *jit_open_load(struct ptx_diag *diag)
{
	char why[400];
	char *path = jit_open_path();
	void *object = path ? jit_open_trusted(path, why, sizeof(why)) : NULL;
	const struct jit_llvm_calls *calls = object ? dl_symbol(object, "jit_llvm_calls") : NULL;
	if (!path) {
		ptx_no_memory(diag);
	} else if (!object) {
		ptx_fail(diag, 0, 0, "cannot load the code generator: %s", why);
		diag->no_compiler = true;
	} else if (!calls) {
		ptx_fail(diag, 0, 0, "'%s' is not the code generator of this library", path);
		dl_close(object);
	}
	mem_free(path);
	return calls;
}

const struct jit_llvm_calls *jit_open(struct ptx_diag *diag)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct jit_llvm_calls *loaded;
	if (&jit_llvm_calls) {
		return &jit_llvm_calls;
	}
	pthread_mutex_lock(&lock);
	if (!loaded && !exit_gate_enter()) {
		ptx_fail(diag, 0, 0, "the code generator is not loaded, as the process is ending");
	} else if (!loaded) {
		loaded = jit_open_load(diag);
		exit_gate_leave();
	}
	const struct jit_llvm_calls *calls = loaded;
	pthread_mutex_unlock(&lock);
	return calls;
}

size_t jit_open_id(uint8_t out[DL_BUILD_ID_SIZE])
{
	if (&jit_llvm_calls) {
		return dl_build_id(out, &jit_llvm_calls);
	}
	char *path = jit_open_path();
	size_t size = path ? dl_file_id(out, path) : 0;
	mem_free(path);
	return size;
}
