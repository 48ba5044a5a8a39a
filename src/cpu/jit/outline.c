/* SPDX-License-Identifier: MIT */
/*
 * A list of the texts that were used last, and entries of the store: the parts of a text, and their
 * order by name.  A text is known by its hash, and is not in here: it is the one of whoever loads it,
 * and that it is the same is checked again as its parts are read, so that a text made to have the
 * hash of another one gains nothing: what is wrong with it is found when a kernel is asked for, not
 * when it is loaded.
 *
 * Nothing here can fail a load: what is not known is read whole.
 */
#include "base/common.h"

#include "cpu/jit/outline.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/store.h"
#include "base/str.h"
#include "cpu/jit/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of less, all is read as fast as this here is. */
enum { LEAST_PARTS = 4, LEAST_SIZE = 8192 };
enum { MOST_OUTLINES = 64, MOST_PARTS = 1 << 19 };
/* Of a part: what it is, and a place in the order by name. */
enum { EACH = sizeof(struct ptx_part) + sizeof(struct outline_name) };

static const char kind[] = "outline";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and of all counts */
static struct outline *newest;

static void outline_free(struct outline *outline)
{
	if (outline) {
		mem_free(outline->parts);
		mem_free(outline);
	}
}

static void release_locked(struct outline *outline)
{
	if (--outline->refs == 0) {
		outline_free(outline);
	}
}

void outline_release(struct outline *outline)
{
	if (outline) {
		pthread_mutex_lock(&lock);
		release_locked(outline);
		pthread_mutex_unlock(&lock);
	}
}

/* Those beyond the first few of the list, or beyond many parts. */
static void drop_old(void)
{
	size_t count = 0, parts = 0;
	for (struct outline **at = &newest; *at;) {
		struct outline *outline = *at;
		count++;
		parts += outline->count;
		if (count > 1 && (count > MOST_OUTLINES || parts > MOST_PARTS)) {
			*at = outline->next;
			release_locked(outline);
		} else {
			at = &outline->next;
		}
	}
}

void outline_forget(void)
{
	pthread_mutex_lock(&lock);
	while (newest) {
		struct outline *outline = newest;
		newest = outline->next;
		release_locked(outline);
	}
	pthread_mutex_unlock(&lock);
}

/* Take the outline of a text out of the list; the lock is held. */
static struct outline *take_out(size_t size, struct hash hash)
{
	for (struct outline **at = &newest; *at; at = &(*at)->next) {
		struct outline *outline = *at;
		if (outline->size == size && hash_equal(outline->hash, hash)) {
			*at = outline->next;
			return outline;
		}
	}
	return NULL;
}

/* Put an outline in front, taking one count, and give another to the caller; if there is one of the
 * same text by now, that one instead. */
static struct outline *put_in(struct outline *outline)
{
	pthread_mutex_lock(&lock);
	struct outline *other = take_out(outline->size, outline->hash);
	if (other) {
		release_locked(outline);
		outline = other;
	}
	outline->next = newest;
	newest = outline;
	outline->refs++;
	drop_old();
	pthread_mutex_unlock(&lock);
	return outline;
}

static struct outline *find_in_memory(size_t size, struct hash hash)
{
	pthread_mutex_lock(&lock);
	struct outline *outline = take_out(size, hash);
	if (outline) {
		outline->next = newest;
		newest = outline;
		outline->refs++;
	}
	pthread_mutex_unlock(&lock);
	return outline;
}

/* Takes `parts`, which has room for EACH of `count`. */
static struct outline *create(size_t size, struct hash hash, void *parts, size_t count)
{
	struct outline *outline = parts ? mem_zalloc(1, sizeof(*outline)) : NULL;
	if (!outline) {
		mem_free(parts);
		return NULL;
	}
	*outline = (struct outline){.refs = 1, .hash = hash, .size = size, .count = count,
		.parts = parts};
	outline->names = (struct outline_name *)(outline->parts + count);
	return outline;
}

static uint32_t hash_name(const char *name, size_t size)
{
	return (uint32_t)hash_of(name, size).low;
}

/* Kernels of one name are none, so that the order of equal hashes says nothing. */
static int compare_names(const void *a, const void *b)
{
	const struct outline_name *one = a, *other = b;
	return (one->hash > other->hash) - (one->hash < other->hash);
}

static void sort(struct outline *outline, const char *text)
{
	for (size_t i = 0; i < outline->count; i++) {
		const struct ptx_part *part = &outline->parts[i];
		outline->names[i].hash = hash_name(text + part->name, part->name_size);
		outline->names[i].part = (uint32_t)i;
	}
	qsort(outline->names, outline->count, sizeof(*outline->names), compare_names);
}

static bool is_name(const struct ptx_part *part, const char *text, const struct kudzu_text *known,
	const char *name, size_t size)
{
	if (part->name_size != size) {
		return false;
	}
	if (known->read) {
		known->read(known->arg, part->name, (size_t)part->name + size);
	}
	return memcmp(text + part->name, name, size) == 0;
}

size_t outline_kernel(const struct outline *outline, const char *text,
	const struct kudzu_text *known, const char *name)
{
	size_t begin = 0, end = outline->count, size = strlen(name);
	uint32_t hash = hash_name(name, size);
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		bool is_before = outline->names[middle].hash < hash;
		begin = is_before ? middle + 1 : begin;
		end = is_before ? end : middle;
	}
	for (; begin < outline->count && outline->names[begin].hash == hash; begin++) {
		size_t part = outline->names[begin].part;
		if (is_name(&outline->parts[part], text, known, name, size)) {
			return part;
		}
	}
	return outline->count;
}

/* On disk */

/* False: nothing is kept.  The library's build decides on what is good, and on the layout. */
static bool make_key(struct str *out, size_t size, struct hash hash)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	uint64_t numbers[] = {size, hash.high, hash.low};
	size_t id_size = kept_store() ? dl_build_id(id, kind) : 0;
	str_addn(out, kind, sizeof(kind));
	str_addn(out, (const char *)numbers, sizeof(numbers));
	str_addn(out, (const char *)id, id_size);
	return id_size > 0 && !out->failed;
}

static bool is_sound(const struct outline *outline)
{
	bool ok = true;
	for (size_t i = 0; ok && i < outline->count; i++) {
		const struct ptx_part *part = &outline->parts[i];
		ok = part->name <= outline->size && part->name_size <= outline->size - part->name
			&& outline->names[i].part < outline->count;
	}
	return ok;
}

static struct outline *find_on_disk(size_t size, struct hash hash)
{
	struct str key = STR_INIT;
	char *value = NULL;
	size_t value_size = 0;
	struct outline *outline = NULL;
	if (make_key(&key, size, hash)
	    && store_get(kept_store(), key.data, key.len, &value, &value_size) == STORE_HIT) {
		outline = create(size, hash, value, value_size / EACH);
	}
	if (outline && (value_size < EACH || value_size % EACH != 0 || !is_sound(outline))) {
		outline_free(outline);
		outline = NULL;
	}
	str_free(&key);
	return outline;
}

static void put_on_disk(const struct outline *outline)
{
	struct str key = STR_INIT;
	if (make_key(&key, outline->size, outline->hash)) {
		(void)store_put(kept_store(), key.data, key.len, outline->parts,
			outline->count * EACH);
	}
	str_free(&key);
}

struct outline *outline_find(size_t size, struct hash hash)
{
	struct outline *outline = find_in_memory(size, hash);
	if (!outline && (outline = find_on_disk(size, hash))) {
		outline = put_in(outline);
	}
	return outline;
}

bool outline_pays(const char *text, size_t size)
{
	static const char entry[] = ".entry";
	const char *end = text + size;
	size_t count = 0;
	while (size >= LEAST_SIZE && count < LEAST_PARTS
	       && (text = memmem(text, (size_t)(end - text), entry, sizeof(entry) - 1)) != NULL) {
		text += sizeof(entry) - 1;
		count++;
	}
	return count == LEAST_PARTS;
}

struct outline *outline_create(const struct ptx_module *module, const char *text)
{
	size_t count = module->part_count;
	if (!module->is_separable || count < LEAST_PARTS || module->text_size < LEAST_SIZE
	    || module->text_size > UINT32_MAX) {
		return NULL;
	}
	struct outline *outline = create(module->text_size, module->text_hash,
		mem_zalloc(count, EACH), count);
	if (outline) {
		memcpy(outline->parts, module->parts, count * sizeof(*outline->parts));
		sort(outline, text);
	}
	return outline;
}

void outline_remember(struct outline *outline)
{
	if (outline) {
		put_on_disk(outline);
		pthread_mutex_lock(&lock);
		outline->refs++; /* that of the list */
		pthread_mutex_unlock(&lock);
		outline_release(put_in(outline));
	}
}
