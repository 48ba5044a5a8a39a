/* SPDX-License-Identifier: MIT */
/*
 * rtc_compile behind the store.
 *
 * A cache can only be right or absent here: whatever it cannot do (no folder, no memory for a key,
 * an entry that is damaged) ends in a plain compile.  Two things keep it right.  Files are looked at
 * again after a compile that read some: if the key has changed meanwhile, nobody knows which of them
 * the compiler saw, and nothing is stored.  And the paths of include folders, which are no part of
 * the key as a rule, become one where the compiler's warnings name them.
 */
#include "base/common.h"

#include "cache/cache.h"

#include "base/alloc.h"
#include "cache/pack.h"
#include "cache/pch.h"

#include <stdatomic.h>
#include <string.h>

static struct {
	_Atomic int64_t compiles, disk_hits, unpackable, not_cached;
} counts;

void cache_counts(struct cache_counts *out)
{
	*out = (struct cache_counts){
		.compiles = atomic_load(&counts.compiles),
		.disk_hits = atomic_load(&counts.disk_hits),
		.unpackable = atomic_load(&counts.unpackable),
		.not_cached = atomic_load(&counts.not_cached),
	};
}

static bool load(struct rtc_image *out, struct store *store, const struct key *key)
{
	char *value = NULL;
	size_t size;
	if (key->is_unnamed) {
		return false;
	}
	struct store_key pieces = key_pieces(&key->bytes);
	if (store_find(store, &pieces, &value, &size) != STORE_HIT) {
		return false;
	}
	bool ok = unpack_image_take(out, value, size, NULL) == KZ_OK;
	atomic_fetch_add(ok ? &counts.disk_hits : &counts.unpackable, 1);
	return ok;
}

static void save(struct store *store, const struct key *key, const struct rtc_image *image)
{
	struct str value = STR_INIT;
	if (key->is_unnamed) {
		return;
	}
	pack_image(&value, image);
	if (!value.failed) {
		struct store_key pieces = key_pieces(&key->bytes);
		store_keep(store, &pieces, value.data, value.len);
	}
	str_free(&value);
}

static kz_status compile(struct rtc_image *out, const struct rtc_request *request, kz_error *err)
{
	atomic_fetch_add(&counts.compiles, 1);
	return pch_compile(out, request, err);
}

/* Whether the compiler's words name a folder of the caller's. */
static bool log_has_paths(const struct rtc_image *image, const struct rtc_request *request)
{
	for (size_t i = 0; i < request->include_count && image->log; i++) {
		if (strstr(image->log, request->include_dirs[i])) {
			return true;
		}
	}
	return false;
}

/* Replace the key by that of the same compile as things are now; false if there is none. */
static bool remake(struct key *key, const struct rtc_request *request,
	const struct key_bytes *begun, const struct compiler *compiler, bool paths)
{
	key_free(key);
	return key_make(key, request, begun, compiler, paths) && !key->why_not;
}

/* Find the image under either form of the key, and leave that form in *key. */
static bool find(struct rtc_image *out, struct key *key, struct store *store,
	const struct rtc_request *request, const struct key_bytes *begun,
	const struct compiler *compiler)
{
	if (load(out, store, key)) {
		return true;
	}
	if (key->has_paths || request->include_count == 0 || !key->on_disk) {
		return false;
	}
	struct key with_paths;
	if (key_make(&with_paths, request, begun, compiler, true) && !with_paths.why_not
	    && load(out, store, &with_paths)) {
		key_free(key);
		*key = with_paths;
		return true;
	}
	key_free(&with_paths);
	return false;
}

/* Compile, and keep the image if it is known what was compiled. */
static kz_status make(struct rtc_image *out, struct key *key, struct store *store,
	const struct rtc_request *request, const struct key_bytes *begun,
	const struct compiler *compiler, kz_error *err)
{
	kz_status status = compile(out, request, err);
	if (status) {
		key_free(key);
		return status;
	}
	struct hash before = key_hash(&key->bytes);
	bool known = !key->on_disk || (remake(key, request, begun, compiler, key->has_paths)
		&& hash_equal(before, key_hash(&key->bytes)));
	known = known && compiler_was_used(compiler);
	if (known && !key->has_paths && log_has_paths(out, request)) {
		known = remake(key, request, begun, compiler, true);
	}
	if (known) {
		save(store, key, out);
	} else {
		key_free(key);
	}
	return KZ_OK;
}

kz_status cache_compile(struct rtc_image *out, struct key *key, const struct rtc_request *request,
	const struct key_bytes *begun, kz_error *err)
{
	const struct compiler *compiler;
	struct store *store = store_default();
	*key = (struct key){.bytes = {.own = STR_INIT}};
	if (!store || rtc_request_check(request, NULL) || compiler_get(&compiler, NULL)
	    || !key_make(key, request, begun, compiler, false) || key->why_not) {
		bool opaque = key->why_not;
		atomic_fetch_add(&counts.not_cached, opaque);
		key_free(key);
		return compile(out, request, err);
	}
	key->is_found = find(out, key, store, request, begun, compiler);
	if (key->is_found) {
		return KZ_OK;
	}
	struct store_key pieces = key_pieces(&key->bytes);
	struct store_lock *lock = store_lock_for(store, &pieces);
	key->is_found = lock && find(out, key, store, request, begun, compiler);
	kz_status status = key->is_found ? KZ_OK
		: make(out, key, store, request, begun, compiler, err);
	store_unlock(lock);
	return status;
}
