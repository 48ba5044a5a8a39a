/* SPDX-License-Identifier: MIT */
/*
 * The keys of a store, and how the file of an entry can be known: what it is called, and the head
 * that it begins with.
 *
 * The name comes from the hash of the key.  So two keys may have one name, and whoever finds a file
 * compares the whole key, which stands behind the head.
 */
#include "base/store_inner.h"

#include <string.h>

struct store_tune store_tune = {.hash_bits = 128, .lock_wait_ms = 60000, .abandoned_s = 3600};

struct hash store_shorten(struct hash hash)
{
	if (store_tune.hash_bits < 64) {
		hash.low = 0;
		hash.high &= ~(UINT64_MAX >> store_tune.hash_bits);
	}
	return hash;
}

struct hash store_key_hash(const void *key, size_t key_size)
{
	return store_shorten(hash_of(key, key_size));
}

void store_name(char name[STORE_NAME_SIZE], struct hash hash)
{
	static const char ending[] = {'.', 'k', 'z', '0' + STORE_VERSION, '\0'};
	hash_text(name + 1, hash); /* which leaves a place for the slash, after two digits */
	memmove(name, name + 1, 2);
	name[2] = '/';
	memcpy(name + HASH_TEXT_SIZE, ending, sizeof(ending));
}

bool store_is_entry_name(const char *name)
{
	enum { DIGITS = HASH_TEXT_SIZE - 3 };
	return strspn(name, "0123456789abcdef") == DIGITS && strncmp(name + DIGITS, ".kz", 3) == 0
		&& name[DIGITS + 3] && strspn(name + DIGITS + 3, "0123456789") <= 3
		&& !name[DIGITS + 3 + strspn(name + DIGITS + 3, "0123456789")];
}

bool store_is_temporary_name(const char *name)
{
	return strncmp(name, "tmp-", 4) == 0 && strlen(name) == 24
		&& strspn(name + 4, "0123456789abcdef-") == 20;
}

void store_key_finish(struct store_key *key)
{
	struct hash_state state;
	hash_begin(&state);
	key->size = 0;
	for (int i = 0; i < STORE_PIECES; i++) {
		hash_add(&state, key->pieces[i].data, key->pieces[i].size);
		key->size += key->pieces[i].size;
	}
	key->hash = hash_end(&state);
}

struct store_key store_whole_key(const void *key, size_t size)
{
	return (struct store_key){{{key, size}}, size, hash_of(key, size)};
}

bool store_key_has(const struct store_key *key, size_t at, const char *bytes, size_t size)
{
	for (int i = 0; i < STORE_PIECES && size > 0; i++) {
		size_t length = key->pieces[i].size;
		if (at >= length) {
			at -= length;
			continue;
		}
		size_t part = size < length - at ? size : length - at;
		if (memcmp(bytes, key->pieces[i].data + at, part) != 0) {
			return false;
		}
		bytes += part;
		size -= part;
		at = 0;
	}
	return size == 0;
}

bool store_check_head(const struct store_head *head, off_t file_size)
{
	uint64_t rest = (uint64_t)file_size - sizeof(*head);
	return memcmp(head->magic, STORE_MAGIC, sizeof(head->magic)) == 0
		&& head->version == STORE_VERSION && head->zero == 0 && head->key_size <= rest
		&& head->value_size == rest - head->key_size;
}
