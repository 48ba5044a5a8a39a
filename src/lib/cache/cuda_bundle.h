/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_CUDA_BUNDLE_H
#define LIB_CACHE_CUDA_BUNDLE_H

/*
 * The CUDA headers that NVRTC carries, from 13.3 on, for machines where NVRTC is all there is of
 * CUDA: a folder in the cache.  It is written when a source first asks for a header that no folder
 * has.
 */
#include "base/store.h"
#include "lib/cache/compiler.h"
#include "lib/cache/deps.h"
#include "lib/rtc/cuda_headers.h"

/* The parts of CUDA's headers that it has, as bits. */
enum { BUNDLE_PARTS = 1 << CUDA_PART_RUNTIME | 1 << CUDA_PART_CRT | 1 << CUDA_PART_CCCL };

/* Whether a compile that misses these parts of CUDA's headers (as bits) may find them in NVRTC. */
bool cuda_bundle_is_wanted(uint64_t missing_parts, const struct compiler *compiler);

/*
 * The compiler with the folders of the headers after its own; stays as long as the process.
 * NULL: they are not there, and with `install` they could not be written; then *note (freed with
 * mem_free) says why, NULL if this NVRTC carries none or memory runs out.
 */
const struct compiler *cuda_bundle_find(const struct compiler *compiler, struct store *store,
	bool install, char **note);

/* The folder where the headers are, or would be; NULL where there can be none.  Freed with
 * mem_free. */
char *cuda_bundle_folder(const struct compiler *compiler, struct store *store, bool *is_there);

/* Remove the headers of all NVRTCs.  False: some could not be removed. */
bool cuda_bundle_clear(struct store *store);

#endif
