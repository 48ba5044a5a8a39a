/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_KEPT_H
#define CPU_JIT_KEPT_H

/*
 * What compiling a kernel came to, kept on disk for the next process: the cache of base/store.h,
 * whose rules it follows.  Nothing here can fail a compile: what is not found is compiled again.
 */
#include "base/str.h"
#include "cpu/ptx/ptx.h"

struct kept {
	uint32_t width;
	bool is_straight;
	bool in_order;
	bool is_quick;
	size_t frame_size;
	const void *object; /* the object file */
	size_t size;
	const void *maker;  /* for kept_put: an address in LLVM */
	char *memory;       /* of kept_find: what holds the object; freed with mem_free */
};

/* The cache, NULL if nothing is kept. */
struct store *kept_store(void);
/* Whether anything is kept; opens the cache. */
bool kept_is_on(void);

/*
 * What the code of a kernel depends on: this library, the module's text, the kernel, the width and
 * the class of blocks that are asked for, and the code generator, which `generator` describes: its build id and the features
 * of the processor.  LLVM itself is not in it but in what is kept.  Empty if memory runs out: then the other functions do nothing.
 */
void kept_key(struct str *out, const struct ptx_module *module, const struct ptx_func *func,
	uint32_t width, unsigned class, const struct str *generator);

/* False: not there. */
bool kept_find(struct kept *out, const struct str *key);
void kept_put(const struct str *key, const struct kept *kept);

/* So that of several processes one compiles, see store_lock; NULL: go on without. */
struct store_lock *kept_lock(const struct str *key);
void kept_unlock(struct store_lock *lock); /* NULL is fine */

#endif
