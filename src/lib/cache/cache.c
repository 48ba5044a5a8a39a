/* SPDX-License-Identifier: MIT */
/*
 * rtc_compile behind the store.
 *
 * A cache can only be right or absent here: whatever it cannot do (no folder, no memory for a key,
 * an entry that is damaged) ends in a plain compile.  Two things keep it right.  NVRTC reads
 * headers itself; so nothing is stored if stat says after a compile that a file has changed since
 * it was hashed, even if it has its old content again, or that one came or went beside it.  And the
 * paths of include folders, which are no part of the key as a rule, become one where the compiler's
 * warnings name them.
 */
#include "base/common.h"

#include "lib/cache/cache.h"

#include "base/alloc.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/pack.h"
#include "lib/cache/pch.h"

#include <stdatomic.h>
#include <string.h>

static struct {
	_Atomic int64_t compiles, disk_hits, unpackable, not_cached;
} cache_counters;

void cache_counts(struct cache_counts *out)
{
	*out = (struct cache_counts){
		.compiles = atomic_load(&cache_counters.compiles),
		.disk_hits = atomic_load(&cache_counters.disk_hits),
		.unpackable = atomic_load(&cache_counters.unpackable),
		.not_cached = atomic_load(&cache_counters.not_cached),
	};
}

bool cache_find(char **value, size_t *size, struct key *key, const struct rtc_request *request,
	struct store *store)
{
	struct str *bytes = &key->bytes;
	*value = NULL;
	if (key->is_unnamed) {
		return false;
	}
	if (store_get(store, bytes->data, bytes->len, value, size) == STORE_HIT) {
		return true;
	}
	if (key->has_paths || !key->deps || request->include_count == 0) {
		return false;
	}
	size_t before = bytes->len;
	key_add_paths(bytes, request);
	key->has_paths = !bytes->failed
		&& store_get(store, bytes->data, bytes->len, value, size) == STORE_HIT;
	if (!key->has_paths) {
		bytes->len = before;
	}
	return key->has_paths;
}

/* A compile on its way through the store. */
struct cache_job {
	struct rtc_request request;
	char *note; /* the request's bundle_note */
	struct source_facts facts;
	const struct compiler *compiler;
	struct store *store; /* NULL: there is none */
	struct key key;
};

static bool cache_load(struct rtc_image *out, struct cache_job *job)
{
	char *value;
	size_t size;
	if (!cache_find(&value, &size, &job->key, &job->request, job->store)) {
		return false;
	}
	bool ok = unpack_image_take(out, value, size, NULL) == KZ_OK;
	atomic_fetch_add(ok ? &cache_counters.disk_hits : &cache_counters.unpackable, 1);
	return ok;
}

static void cache_save(struct store *store, const struct str *key, const struct rtc_image *image)
{
	struct str value = STR_INIT;
	pack_image(&value, image);
	if (!value.failed && !key->failed) {
		(void)store_put(store, key->data, key->len, value.data, value.len);
	}
	str_free(&value);
}

static kz_status cache_run(struct rtc_image *out, const struct cache_job *job, kz_error *err)
{
	atomic_fetch_add(&cache_counters.compiles, 1);
	return pch_compile(out, &job->request, &job->facts, err);
}

/* Whether the compiler's words name a folder of the caller's. */
static bool cache_log_has_paths(const struct rtc_image *image, const struct rtc_request *request)
{
	for (size_t i = 0; i < request->include_count && image->log; i++) {
		if (strstr(image->log, request->include_dirs[i])) {
			return true;
		}
	}
	return false;
}

/* Compile, and keep the image if it is known what was compiled. */
static kz_status cache_make(struct rtc_image *out, bool *is_known, struct cache_job *job,
	kz_error *err)
{
	struct key *key = &job->key;
	struct deps *deps = key->deps;
	const struct hash before = deps ? deps_folders(deps) : (struct hash){0, 0};
	kz_status st = cache_run(out, job, err);
	if (st) {
		return st;
	}
	*is_known = compiler_was_used(job->compiler)
		&& (!deps || (deps->is_rested && deps_hold(deps, true)
			&& hash_equal(before, deps_folders(deps))));
	if (*is_known && !key->has_paths && cache_log_has_paths(out, &job->request)) {
		key_add_paths(&key->bytes, &job->request);
	}
	if (*is_known && !key->is_unnamed) {
		cache_save(job->store, &key->bytes, out);
	}
	return KZ_OK;
}

/* Compile with the CUDA headers that NVRTC carries, where the source asks for such headers and no
 * folder has them.  False: as before. */
static bool cache_use_bundle(struct cache_job *job)
{
	struct key *key = &job->key;
	const struct compiler *with = cuda_bundle_is_wanted(key->missing_parts, job->compiler)
		? cuda_bundle_find(job->compiler, job->store, true, &job->note) : NULL;
	job->request.bundle_note = job->note;
	if (!with) {
		return false;
	}
	job->compiler = with;
	job->request.bundle_count = with->bundle_count;
	job->request.bundle_dirs = with->include_dirs + with->include_count - with->bundle_count;
	return true;
}

kz_status cache_check_variables(kz_error *err)
{
	char why[160];
	return store_check_variables(why, sizeof(why)) ? KZ_OK
		: error_set(err, KZ_INVALID, "%s", why);
}

kz_status cache_compile(struct rtc_image *out, struct deps **deps, bool *is_known,
	const struct rtc_request *request, kz_error *err)
{
	struct cache_job job = {.request = *request, .store = store_default(),
		.key = {.bytes = STR_INIT}};
	struct key *key = &job.key;
	kz_status st = cache_check_variables(err);
	*deps = NULL;
	*is_known = false;
	if (st) {
		return st;
	}
	if (!source_scan(&job.facts, request->source)) {
		return error_no_memory(err);
	}
	bool has_key = job.store && !compiler_get(&job.compiler, NULL)
		&& key_make(key, request, &job.facts, job.compiler);
	bool is_hit = has_key && !key->why_not && cache_load(out, &job);
	if (has_key && !is_hit && cache_use_bundle(&job)) {
		key_free(key);
		has_key = key_make(key, request, &job.facts, job.compiler);
		is_hit = has_key && !key->why_not && cache_load(out, &job);
	}
	if (!has_key || key->why_not) {
		atomic_fetch_add(&cache_counters.not_cached, key->why_not ? 1 : 0);
		st = cache_run(out, &job, err);
	} else if (is_hit) {
		*is_known = !key->deps || key->deps->is_rested;
		*deps = deps_retain(key->deps);
	} else {
		struct store_lock *lock = store_lock(job.store, key->bytes.data, key->bytes.len);
		if (lock && cache_load(out, &job)) {
			*is_known = !key->deps || key->deps->is_rested;
		} else {
			st = cache_make(out, is_known, &job, err);
		}
		store_unlock(lock);
		*deps = st ? NULL : deps_retain(key->deps);
	}
	key_free(key);
	source_free(&job.facts);
	mem_free(job.note);
	return st;
}

bool cache_watch(struct deps **out, const struct rtc_request *request)
{
	static const struct compiler none;
	const struct compiler *compiler;
	struct source_facts facts;
	*out = NULL;
	if (!source_scan(&facts, request->source)) {
		return false;
	}
	bool ok = deps_watch(out, request, &facts,
		compiler_get(&compiler, NULL) ? &none : compiler);
	source_free(&facts);
	return ok;
}
