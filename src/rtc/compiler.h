/* SPDX-License-Identifier: MIT */
#ifndef RTC_COMPILER_H
#define RTC_COMPILER_H

/* Which compiler a compile would use: what the cache must know of it. */
#include "../base/hash.h"
#include "../base/error.h"

struct compiler {
	char identity[160];              /* one line: version, sizes and hashes of its files */
	const char *const *include_dirs; /* of CUDA's headers */
	size_t include_count;
};

/* Found once per process.  As nvrtc_open. */
kz_status compiler_get(const struct compiler **out, kz_error *err);

#endif
