/* SPDX-License-Identifier: MIT */
/*
 * The images that this process has compiled, or read from disk: a table from requests to images.
 *
 * A request is compared as it is, all of its texts.  That is enough where the output depends on
 * nothing else.  Where files are read the entry has the hash of the key (cache/key.c) as well, and a
 * hit is one only if the files of now give the same: their times are looked at, and what has changed
 * is read.
 *
 * An image that somebody has is known by its bytes: by some of them first, then by all.
 *
 * A long source that comes from the disk is kept from its second time on: most programs ask for one
 * once, and the memory for a copy takes longer to get than all of it to be looked at.
 *
 * The first thread with a request puts an entry without an image in the table and compiles without
 * the lock; others with the same request wait for that, and if it fails each goes on for itself,
 * since each needs an error of its own.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"
#include "module/compiled.h"
#include "cache/cache.h"

#include <string.h>
#include <unistd.h>

#define BUCKETS 1024
#define COUNT_MAX 4096
#define SIZE_MAX_ALL (INT64_C(64) << 20)

struct entry {
	struct entry *next;
	struct hash hash;       /* of the request */
	struct key_bytes request; /* with its source: while it has no image that of who makes it */
	struct kz_image *image; /* NULL while it is being made */
	pid_t maker;            /* the process that does */
	bool on_disk;           /* `key` depends on files */
	struct hash key;
	int64_t size;
	uint64_t used;          /* by the table's clock */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct hash seen[16];   /* long requests that were found on the disk, the last ones */
	struct entry *buckets[BUCKETS];
	uint64_t clock;
	int64_t count;
	int64_t size;
	int64_t hits;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* A request as the table knows it. */
struct wanted {
	struct key_bytes bytes;
	struct hash hash;
	bool is_given; /* the bytes are an entry's: which stays as long as it has no image */
};

/* Where the entry of a request is, or would be. */
static struct entry **find(const struct wanted *wanted)
{
	struct entry **at = &table.buckets[wanted->hash.low % BUCKETS];
	while (*at && !(hash_equal((*at)->hash, wanted->hash)
			&& key_bytes_equal(&(*at)->request, &wanted->bytes))) {
		at = &(*at)->next;
	}
	return at;
}

static void entry_free(struct entry *entry)
{
	if (entry->image) {
		mem_free((char *)entry->request.source);
	}
	kz_image_release(entry->image);
	str_free(&entry->request.own);
	mem_free(entry);
}

/* Take an entry out; its image may live on elsewhere. */
static void drop(struct entry **at)
{
	struct entry *entry = *at;
	*at = entry->next;
	table.count -= entry->image != NULL;
	table.size -= entry->size;
	entry_free(entry);
}

static void drop_oldest(void)
{
	struct entry **oldest = NULL;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry **at = &table.buckets[i]; *at; at = &(*at)->next) {
			if ((*at)->image && (!oldest || (*at)->used < (*oldest)->used)) {
				oldest = at;
			}
		}
	}
	if (oldest) {
		drop(oldest);
	}
}

/* An entry without an image, which takes these bytes; false when memory runs out. */
static bool add(const struct wanted *wanted, struct key_bytes bytes)
{
	struct entry *entry = bytes.own.data ? mem_zalloc(1, sizeof(*entry)) : NULL;
	if (entry) {
		entry->hash = wanted->hash;
		entry->request = bytes;
		entry->maker = getpid();
		*find(wanted) = entry;
	}
	return entry;
}

static void wanted_free(struct wanted *wanted)
{
	if (!wanted->is_given) {
		str_free(&wanted->bytes.own);
	}
}

/* Wait until nobody is making the image of a request; whether anybody was.  What a thread of the
 * process was making that this one was forked from, nobody is. */
static bool wait_for_others(const struct wanted *wanted)
{
	bool waited = false;
	for (struct entry *entry = *find(wanted); entry && !entry->image; entry = *find(wanted)) {
		if (entry->maker != getpid()) {
			drop(find(wanted));
			break;
		}
		pthread_cond_wait(&table.changed, &table.lock);
		waited = true;
	}
	return waited;
}

/* Whether a request, which gave this image, is worth its memory. */
static bool is_worth_it(const struct wanted *wanted, const struct key *key)
{
	struct hash *seen = &table.seen[wanted->hash.low % countof(table.seen)];
	if (!key->is_found || !wanted->bytes.source || hash_equal(*seen, wanted->hash)) {
		return true;
	}
	*seen = wanted->hash;
	return false;
}

/* From here on the entry has a source of its own; false when memory runs out. */
static bool own_source(struct entry *entry)
{
	if (entry->request.source) {
		size_t size = entry->request.source_size;
		char *copy = mem_alloc(size);
		if (copy) {
			mem_expect(copy, size);
			memcpy(copy, entry->request.source, size);
		}
		entry->request.source = copy;
		return copy;
	}
	return true;
}

/* What was made goes into the entry, if there is one. */
static void settle(const struct wanted *wanted, struct kz_image *image, const struct key *key)
{
	pthread_mutex_lock(&table.lock);
	struct entry **at = find(wanted);
	struct entry *entry = *at;
	if (entry && !entry->image && (!image || !key->bytes.own.len || !is_worth_it(wanted, key)
			|| !own_source(entry))) {
		drop(at);
	} else if (entry && !entry->image) {
		entry->image = kz_image_retain(image);
		entry->on_disk = key->on_disk;
		entry->key = key->on_disk ? key_hash(&key->bytes) : (struct hash){0};
		entry->size = (int64_t)(image->rtc.size + entry->request.own.len
			+ entry->request.source_size);
		entry->used = ++table.clock;
		table.count++;
		table.size += entry->size;
	}
	while (table.count > 1 && (table.count > COUNT_MAX || table.size > SIZE_MAX_ALL)) {
		drop_oldest();
	}
	pthread_cond_broadcast(&table.changed);
	pthread_mutex_unlock(&table.lock);
}

/* Whether the files of now give the key that an image was made under. */
static bool is_current(const struct rtc_request *request, const struct key_bytes *begun,
	struct hash made_under)
{
	const struct compiler *compiler;
	bool current = false;
	for (int paths = 0; paths < 2 && !current; paths++) {
		struct key key = {.bytes = {.own = STR_INIT}};
		if (compiler_get(&compiler, NULL) == KZ_OK
		    && key_make(&key, request, begun, compiler, paths) && !key.why_not) {
			current = hash_equal(made_under, key_hash(&key.bytes));
		}
		key_free(&key);
	}
	return current;
}

/* Look for an image in the table; the lock is held, and given back for a look at files.  If there is
 * none that holds, and nobody is making one, *mine says that this thread is to settle what it makes. */
static struct kz_image *look(struct wanted *wanted, const struct rtc_request *request,
	bool *mine)
{
	bool waited = wait_for_others(wanted);
	struct entry *entry = *find(wanted);
	if (entry) {
		struct kz_image *image = kz_image_retain(entry->image);
		struct hash key = entry->key;
		bool fixed = !entry->on_disk;
		entry->used = ++table.clock;
		if (!fixed) {
			pthread_mutex_unlock(&table.lock);
			fixed = is_current(request, &wanted->bytes, key);
			pthread_mutex_lock(&table.lock);
		}
		if (fixed) {
			table.hits++;
			return image;
		}
		struct entry **at = find(wanted);
		if (*at && (*at)->image == image) {
			drop(at);
		}
		kz_image_release(image);
	}
	*mine = !waited && !*find(wanted);
	if (*mine) { /* without an entry it is compiled all the same */
		wanted->is_given = add(wanted, wanted->bytes);
	}
	return NULL;
}

/* Compile, or take from the disk what was compiled before; *key becomes that of the image. */
static kz_status compiled_make(struct kz_image **out, struct key *key,
	const struct rtc_request *request, const struct key_bytes *begun, kz_error *err)
{
	struct rtc_image image;
	kz_status st = cache_compile(&image, key, request, begun, err);
	return st ? st : image_take(out, &image, err);
}

kz_status compiled_get(struct kz_image **out, const struct rtc_request *request, kz_error *err)
{
	struct wanted wanted = {.is_given = false};
	struct key key = {.bytes = {.own = STR_INIT}};
	bool mine = false;
	*out = NULL;
	bool is_known = rtc_request_check(request, NULL) == KZ_OK
		&& key_begin(&wanted.bytes, request);
	if (is_known) {
		wanted.hash = key_hash(&wanted.bytes);
		pthread_mutex_lock(&table.lock);
		*out = look(&wanted, request, &mine);
		pthread_mutex_unlock(&table.lock);
	}
	kz_status st = *out ? KZ_OK
		: compiled_make(out, &key, request, is_known ? &wanted.bytes : NULL, err);
	if (mine) {
		settle(&wanted, *out, &key);
	}
	key_free(&key);
	wanted_free(&wanted);
	return st;
}

/* What stands for the bytes of an image in the table: size, beginning and end. */
static bool want_bytes(struct wanted *wanted, const char *data, size_t size)
{
	enum { EDGE = 256 };
	size_t edge = size < EDGE ? size : EDGE;
	struct str *bytes = &wanted->bytes.own;
	*wanted = (struct wanted){.is_given = false};
	str_add(bytes, "bytes");
	str_addn(bytes, (const char *)&size, sizeof(size));
	str_addn(bytes, data, edge);
	str_addn(bytes, data + size - edge, edge);
	wanted->hash = hash_of(bytes->data, bytes->len);
	return !bytes->failed;
}

/* Images of the same edges push each other out, also while they are made: each has its own bytes. */
static void keep_bytes(const struct wanted *wanted, struct kz_image *image)
{
	const struct key key = {.bytes = wanted->bytes};
	struct key_bytes copy = {.own = STR_INIT};
	str_addn(&copy.own, wanted->bytes.own.data, wanted->bytes.own.len);
	pthread_mutex_lock(&table.lock);
	struct entry **at = find(wanted);
	if (*at) {
		drop(at);
	}
	bool is_given = add(wanted, copy);
	pthread_mutex_unlock(&table.lock);
	if (!is_given) {
		str_free(&copy.own);
	}
	settle(wanted, image, &key);
}

kz_status compiled_load(struct kz_image **out, const void *data, size_t size, kz_error *err)
{
	struct wanted wanted;
	bool known = want_bytes(&wanted, data, size);
	pthread_mutex_lock(&table.lock);
	struct entry *entry = known ? *find(&wanted) : NULL;
	struct kz_image *image = entry ? kz_image_retain(entry->image) : NULL;
	if (image) {
		entry->used = ++table.clock;
	}
	pthread_mutex_unlock(&table.lock);
	if (image && memcmp(image->rtc.data, data, size) == 0) {
		*out = image;
		wanted_free(&wanted);
		return KZ_OK;
	}
	kz_image_release(image);
	kz_status st = kz_image_create(out, data, (int64_t)size, err);
	/* Its own bytes end with a zero, as a text that was given with its zero does. */
	if (st == KZ_OK && known && size - (*out)->rtc.size <= 1) {
		keep_bytes(&wanted, *out);
	}
	wanted_free(&wanted);
	return st;
}

void compiled_clear(void)
{
	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry **at = &table.buckets[i]; *at;) {
			if ((*at)->image) {
				drop(at);
			} else {
				at = &(*at)->next;
			}
		}
	}
	memset(table.seen, 0, sizeof(table.seen));
	pthread_mutex_unlock(&table.lock);
}

void compiled_counts(struct compiled_counts *out)
{
	pthread_mutex_lock(&table.lock);
	*out = (struct compiled_counts){table.hits, table.count, table.size};
	pthread_mutex_unlock(&table.lock);
}
