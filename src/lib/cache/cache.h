/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_CACHE_H
#define LIB_CACHE_CACHE_H

/*
 * cache compiles each source once: key.c says what a compile depends on, deps.c which files that
 * are, pack.c makes bytes of an image, and the store (base/store.h) keeps them on disk.
 *
 * This header: rtc_compile behind the store.
 */
#include "base/store.h"
#include "lib/cache/key.h"

/* KZ_INVALID if a variable of the cache has a value that makes no sense. */
kz_status cache_check_variables(kz_error *err);
/*
 * As rtc_compile, but what an earlier compile of any process made is taken from the disk.  No
 * trouble with the cache is an error, only such a variable.  *is_known says whether the image stays
 * right for this request as long as *deps hold, which the caller gives back; NULL: as long as the
 * process lives.
 */
kz_status cache_compile(struct rtc_image *out, struct deps **deps, bool *is_known,
	const struct rtc_request *request, kz_error *err);

/* The files that a compile may read, as far as that can be known, for a watcher; NULL: there are
 * none.  False when memory runs out. */
bool cache_watch(struct deps **out, const struct rtc_request *request);

struct cache_counts {
	int64_t compiles;    /* by NVRTC, failed ones too */
	int64_t disk_hits;
	int64_t unpackable;  /* entries that were no image */
	int64_t not_cached;  /* compiles whose output no key can hold */
};
void cache_counts(struct cache_counts *out);

/* Look in the store under both forms of a key, without and with the include folders, and leave the
 * one that is there in *key; the packed image in *value, freed with mem_free.  False: it has
 * neither. */
bool cache_find(char **value, size_t *size, struct key *key, const struct rtc_request *request,
	struct store *store);

#endif
