/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

/* rtc_compile behind a folder of what was compiled before. */
#include "rtc/compile.h"
#include "cache/key.h"

/*
 * As rtc_compile, but what an earlier compile of any process made is taken from the disk.  No
 * trouble with the cache is an error.  *key, which the caller frees, is that of the image; its
 * bytes are empty where there is none; for `begun` see key_make.
 */
kz_status cache_compile(struct rtc_image *out, struct key *key, const struct rtc_request *request,
	const struct key_bytes *begun, kz_error *err);

struct cache_counts {
	int64_t compiles;    /* by NVRTC, failed ones too */
	int64_t disk_hits;
	int64_t unpackable;  /* entries that were no image */
	int64_t not_cached;  /* compiles whose output no key can hold */
};
void cache_counts(struct cache_counts *out);

#endif
