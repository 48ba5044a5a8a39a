/* SPDX-License-Identifier: MIT */
/*
 * What the cache did, what is in it, and why it does not have an image.
 *
 * The last is answered by comparing.  The key that the compile would have is compared with those of
 * all entries, part by part; the entry with the fewest differences is the one to explain.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/cache.h"
#include "lib/cache/pch.h"
#include "lib/module/image_cache.h"

#include <kudzu/cache.h>

#include <errno.h>
#include <string.h>

kz_status kz_cache_stats(kz_cache_figures *out, kz_error *err)
{
	error_scope(err);
	struct store_stats disk = {0};
	struct image_cache_counts memory;
	struct cache_counts counts;
	kz_status st = pointer_check(out, "kz_cache_figures", err);
	if (st) {
		return st;
	}
	if (out->size != sizeof(*out)) {
		return struct_refuse("kz_cache_figures", out->size, sizeof(*out), err);
	}
	struct store *store = store_default();
	if (!store) {
		return error_no_memory(err);
	}
	store_stats(store, &disk);
	image_cache_counts(&memory);
	cache_counts(&counts);
	*out = (kz_cache_figures){
		.size = sizeof(*out),
		.compiles = counts.compiles,
		.not_cached = counts.not_cached,
		.memory_hits = memory.hits,
		.memory_count = memory.count,
		.memory_size = memory.size,
		.disk_hits = counts.disk_hits,
		.disk_absent = disk.gets[STORE_ABSENT],
		.disk_damaged = disk.gets[STORE_DAMAGED] + counts.unpackable,
		.disk_foreign = disk.gets[STORE_FOREIGN],
		.disk_other_key = disk.gets[STORE_OTHER_KEY],
		.disk_failed = disk.gets[STORE_FAILED],
		.stored = disk.stored,
		.not_stored = disk.not_stored,
		.evicted = disk.evicted,
		.size_max = disk.size_max,
		.last_errno = disk.last_errno,
		.folder = store_folder(store),
		.why_off = store_off(store),
	};
	return KZ_OK;
}

/* Listing */

struct listing {
	int (*each)(void *arg, const kz_cache_entry *entry);
	void *arg;
	bool no_memory;
};

/* A part of a key as text of its own; "" if there is none. */
static char *cache_part_text(const struct store_entry *entry, const char *name)
{
	struct key_part part;
	return key_find(&part, entry->key, entry->key_size, name)
		? mem_strndup(part.data, part.size) : mem_strdup("");
}

static bool cache_show(void *arg, const struct store_entry *entry)
{
	struct listing *listing = arg;
	char *name = cache_part_text(entry, "name");
	char *arch = cache_part_text(entry, "architecture");
	bool is_image = entry->key_size >= sizeof(KEY_KIND)
		&& memcmp(entry->key, KEY_KIND, sizeof(KEY_KIND)) == 0;
	bool go_on = name && arch;
	listing->no_memory |= !go_on;
	if (go_on) {
		const char *kind = is_image ? "image" : entry->key; /* it ends with a zero */
		kz_cache_entry shown = {
			.kind = is_image || memchr(entry->key, 0, entry->key_size) ? kind : "?",
			.name = name,
			.arch = arch,
			.size = entry->size,
			.used_ns = entry->used_ns,
		};
		go_on = listing->each(listing->arg, &shown) == 0;
	}
	mem_free(name);
	mem_free(arch);
	return go_on;
}

/* The store, if it is on. */
static kz_status cache_open_store(struct store **out, kz_error *err)
{
	*out = store_default();
	if (!*out) {
		return error_no_memory(err);
	}
	const char *off = store_off(*out);
	return off ? error_set(err, KZ_STATE, "the cache on disk is off: %s", off) : KZ_OK;
}

kz_status kz_cache_list(int (*each)(void *arg, const kz_cache_entry *entry), void *arg,
	kz_error *err)
{
	error_scope(err);
	struct listing listing = {each, arg, false};
	struct store *store;
	kz_status st;
	if (!each) {
		return error_set(err, KZ_INVALID, "%s: expected a function for the entries, got "
			"NULL", __func__);
	}
	if ((st = cache_open_store(&store, err))) {
		return st;
	}
	bool read = store_walk(store, cache_show, &listing);
	if (listing.no_memory) {
		return error_no_memory(err);
	}
	return read ? KZ_OK
		: error_set(err, KZ_IO, "cannot read the cache '%s'", store_folder(store));
}

kz_status kz_cache_clear(int64_t *count, kz_error *err)
{
	error_scope(err);
	int64_t removed = 0;
	struct store *store = store_default();
	image_cache_clear();
	if (!store) {
		return error_no_memory(err);
	}
	kz_status st = cache_check_variables(err);
	if (st) {
		return st;
	}
	bool all = store_off(store) || (store_clear(store, &removed) & cuda_bundle_clear(store));
	if (!store_off(store)) {
		pch_clear(store);
	}
	if (count) {
		*count = removed;
	}
	return all ? KZ_OK : error_set(err, KZ_IO, "cannot remove all of the cache '%s'",
		store_folder(store));
}

/* Why */

struct comparison {
	const struct key *key;
	struct str nearest; /* the key of an entry */
	int differences;    /* of that */
	int64_t used_ns;
};

static bool cache_parts_equal(const struct key_part *a, const struct key_part *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Count the parts in which an entry's key differs, and keep the nearest one.  Another source
 * counts for more than any other part. */
static bool cache_compare_entry(void *arg, const struct store_entry *entry)
{
	struct comparison *comparison = arg;
	const struct str *key = &comparison->key->bytes;
	struct key_part mine, theirs;
	int count = 0;
	if (!key_find(&theirs, entry->key, entry->key_size, "source")) {
		return true;
	}
	for (size_t at = 0; key_next(&mine, &at, key->data, key->len);) {
		bool same = key_find(&theirs, entry->key, entry->key_size, mine.name)
			&& cache_parts_equal(&mine, &theirs);
		count += same ? 0 : strcmp(mine.name, "source") == 0 ? 4 : 1;
	}
	bool first = !comparison->nearest.len;
	if (first || count < comparison->differences
	    || (count == comparison->differences && entry->used_ns > comparison->used_ns)) {
		str_clear(&comparison->nearest);
		str_addn(&comparison->nearest, entry->key, entry->key_size);
		comparison->differences = count;
		comparison->used_ns = entry->used_ns;
	}
	return true;
}

/* Texts, each with its zero, as words of one line. */
static void cache_add_words(struct str *out, const struct key_part *part)
{
	for (size_t i = 0; i < part->size; i++) {
		char c = part->data[i];
		bool last = i + 1 == part->size;
		str_addc(out, c == '\0' ? (last ? ';' : ' ') : c < ' ' ? '?' : c);
	}
}

/* A header: its label, size and hash. */
static const size_t header_extra = sizeof(int64_t) + sizeof(struct hash);

/* Whether the list has this header, just as it is. */
static bool cache_has_header(const struct key_part *list, const char *header, size_t size)
{
	for (size_t at = 0; at < list->size;) {
		size_t len = strnlen(list->data + at, list->size - at) + 1 + header_extra;
		if (len == size && at + len <= list->size
		    && memcmp(list->data + at, header, size) == 0) {
			return true;
		}
		at += len;
	}
	return false;
}

static void cache_explain_headers(struct str *out, const struct key_part *mine,
	const struct key_part *theirs)
{
	bool told = false;
	for (size_t at = 0; at < mine->size;) {
		const char *header = mine->data + at;
		size_t len = strlen(header) + 1 + header_extra;
		if (!cache_has_header(theirs, header, len)) {
			str_addf(out, "header '%s' is new or has changed\n", header);
			told = true;
		}
		at += len;
	}
	if (!told) {
		str_add(out, "a header is no longer found, or the headers' order has changed\n");
	}
}

static void cache_explain_part(struct str *out, const struct key_part *mine,
	const struct key_part *theirs)
{
	static const char *const hashes[] = {"kudzu", "CUDA headers", NULL};
	size_t line = 1;
	for (const char *const *name = hashes; *name; name++) {
		if (strcmp(*name, mine->name) == 0) {
			str_addf(out, "%s: another version\n", *name);
			return;
		}
	}
	if (strcmp(mine->name, "source") == 0) {
		for (size_t i = 0; i < mine->size && i < theirs->size
			&& mine->data[i] == theirs->data[i];
			i++) {
			line += mine->data[i] == '\n';
		}
		str_addf(out, "the source differs from line %zu on\n", line);
	} else if (strncmp(mine->name, "headers", 7) == 0) {
		cache_explain_headers(out, mine, theirs);
	} else {
		str_addf(out, "%s: '", mine->name);
		cache_add_words(out, mine);
		str_add(out, "', there '");
		cache_add_words(out, theirs);
		str_add(out, "'\n");
	}
}

static void cache_explain_all(struct str *out, const struct comparison *comparison)
{
	const struct str *nearest = &comparison->nearest;
	const struct str *bytes = &comparison->key->bytes;
	struct key_part mine, theirs;
	if (!nearest->len) {
		str_add(out, "miss: there is no compiled image on disk\n");
		return;
	}
	str_add(out, "miss: compared with the entry that is most like it");
	if (key_find(&theirs, nearest->data, nearest->len, "name")) {
		str_addf(out, ", of '%.*s',\n", (int)theirs.size, theirs.data);
	}
	for (size_t at = 0; key_next(&mine, &at, bytes->data, bytes->len);) {
		if (!key_find(&theirs, nearest->data, nearest->len, mine.name)) {
			theirs = (struct key_part){mine.name, "", 0};
		}
		if (!cache_parts_equal(&mine, &theirs)) {
			cache_explain_part(out, &mine, &theirs);
		}
	}
}

static kz_status cache_find_answer(struct str *out, const struct rtc_request *request,
	kz_error *err)
{
	const struct compiler *compiler;
	struct store *store = store_default();
	struct key key = {.bytes = STR_INIT};
	struct comparison comparison = {.key = &key, .nearest = STR_INIT};
	struct source_facts facts;
	char *value = NULL, *note;
	size_t size;
	kz_status st;
	if ((st = compiler_get(&compiler, err))) {
		return st;
	}
	if (!source_scan(&facts, request->source)) {
		return error_no_memory(err);
	}
	bool has_key = store && key_make(&key, request, &facts, compiler);
	bool is_hit = has_key && !key.why_not && cache_find(&value, &size, &key, request, store);
	if (has_key && !is_hit && cuda_bundle_is_wanted(key.missing_parts, compiler)
		&& (compiler = cuda_bundle_find(compiler, store, false, &note))) {
		key_free(&key);
		has_key = key_make(&key, request, &facts, compiler);
		is_hit = has_key && !key.why_not
			&& cache_find(&value, &size, &key, request, store);
	}
	if (!has_key) {
		st = error_no_memory(err);
	} else if (key.is_unnamed) {
		str_add(out, "not cached: this build of Kudzu has no build id\n");
	} else if (key.why_not) {
		str_addf(out, "not cached: %s\n", key.why_not);
	} else if (store_off(store)) {
		str_addf(out, "off: %s\n", store_off(store));
	} else if (is_hit) {
		str_add(out, "hit\n");
	} else {
		store_walk(store, cache_compare_entry, &comparison);
		cache_explain_all(out, &comparison);
	}
	if (comparison.nearest.failed || out->failed) {
		st = error_no_memory(err);
	}
	str_free(&comparison.nearest);
	mem_free(value);
	key_free(&key);
	source_free(&facts);
	return st;
}

kz_status kz_cache_why(char *text, size_t size, kz_device *dev, const char *source,
	const kz_compile_options *options, kz_error *err)
{
	error_scope(err);
	struct rtc_request request = {
		.source = source,
		.device_cc = dev ? dev->info.compute_capability : 0,
		.ptx_only = dev && dev->ptx_only,
	};
	struct str found = STR_INIT;
	char *kept = NULL;
	kz_status st;
	if (!text && size > 0) {
		return error_set(err, KZ_INVALID, "%s: expected %zu bytes for the answer, got NULL",
			__func__, size);
	}
	if (!(st = image_read_options(&request, options, err))
	    && !(st = image_keep_source(&kept, &request, options, false, err))
	    && !(st = cache_find_answer(&found, &request, err))) {
		str_copy(text, size, &found);
	}
	mem_free(kept);
	str_free(&found);
	return st;
}
