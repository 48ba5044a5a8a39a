/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_COMPILER_H
#define LIB_CACHE_COMPILER_H

/* Which compiler a compile would use: what the cache must know of it. */
#include "base/hash.h"
#include "base/error.h"

struct compiler {
	char identity[HASH_TEXT_SIZE];   /* a hash of its files */
	const char *path;
	const char *const *include_dirs; /* of CUDA's headers */
	size_t include_count;
	size_t bundle_count; /* the last of those, which NVRTC carries: see cuda_bundle.h */
};

/* Found once per process, and as a rule without loading NVRTC.  As nvrtc_open. */
kz_status compiler_get(const struct compiler **out, kz_error *err);

/* Whether it is the one that has compiled, and its files are those that were read: the first file
 * may have been one that does not load. */
bool compiler_was_used(const struct compiler *compiler);

#endif
