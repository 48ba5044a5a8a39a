/* SPDX-License-Identifier: MIT */
/*
 * Find LLVM's part: linked in, as in tests, or else in a library of its own beside this one.  It
 * stays loaded, as this library does.
 */
#include "base/common.h"

#include "cpu/jit/jit_open.h"

#include "base/alloc.h"
#include "base/file.h"

#include <pthread.h>

#define LIBRARY "libkudzu-cpu-llvm.so"

/* NULL where it is not linked in; the dynamic linker is not asked. */
extern const struct jit_llvm_calls jit_llvm_calls
	__attribute__((__weak__, __visibility__("hidden")));

/* NULL: no memory.  From mem_alloc. */
static char *find_library(void)
{
	char *own = dl_path((const void *)(uintptr_t)jit_open);
	char *folder = own ? file_folder(own) : NULL;
	char *path = folder ? file_join(folder, LIBRARY) : NULL;
	mem_free(folder);
	mem_free(own);
	return path;
}

static const struct jit_llvm_calls *load(struct ptx_diag *diag)
{
	char why[256];
	char *path = find_library();
	void *object = path ? dl_open(path, why, sizeof(why)) : NULL;
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
	if (!loaded) {
		loaded = load(diag);
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
	char *path = find_library();
	size_t size = path ? dl_file_id(out, path) : 0;
	mem_free(path);
	return size;
}
