/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_KERNEL_CACHE_H
#define CPU_JIT_KERNEL_CACHE_H

/*
 * The kernel cache: machine code of kernels on disk, for the next process.  It is a part of the
 * store (base/store.h) and follows its rules.  Nothing here can fail a compile: what is not found
 * is compiled again.
 */
#include "base/str.h"
#include "cpu/ptx/ptx.h"

struct kernel_cache_entry {
	uint32_t width;
	bool is_straight;
	bool in_order;
	uint8_t tier;
	size_t frame_size;
	const void *object; /* the object file */
	size_t size;
	const void *maker;  /* for kernel_cache_put: an address in LLVM */
	char *memory;       /* of kernel_cache_find: holds the object; freed with mem_free */
};

/* Whether there is a cache; opens it. */
bool kernel_cache_is_on(void);

/* Which code of a kernel is asked for. */
struct kernel_variant {
	uint32_t width; /* lanes per call */
	unsigned class; /* of blocks: block_class.h */
	unsigned tier;
};

/*
 * What the code of a kernel depends on: this library, the module's text, the kernel, the variant,
 * and the code generator.  `generator` describes the latter: its build id and the features of the
 * processor.  LLVM itself is not in the key but in the entry.  The key is empty if memory runs out
 * or there is no cache; then the other functions do nothing.
 */
void kernel_cache_key(struct str *out, const struct ptx_module *module,
	const struct ptx_func *func, const struct kernel_variant *variant,
	const struct str *generator);

/* False: not there. */
bool kernel_cache_find(struct kernel_cache_entry *out, const struct str *key);
void kernel_cache_put(const struct str *key, const struct kernel_cache_entry *entry);

/* So that of several processes one compiles, see store_lock; NULL: go on without. */
struct store_lock *kernel_cache_lock(const struct str *key);
void kernel_cache_unlock(struct store_lock *lock); /* NULL is fine */

/* Whether this library has found a text good, with each kernel by itself (ptx_module.is_separable);
 * remember that. */
bool kernel_cache_has_text(size_t size, struct hash hash);
void kernel_cache_put_text(size_t size, struct hash hash);

#endif
