/* SPDX-License-Identifier: MIT */
/*
 * Keys and values for the store: both are numbers and bytes, one behind the other.  A key names the
 * library's build id, so that any change to the code generator, to what compiled code calls or to
 * the layout of a value here leaves old entries behind.  The text of the module is in it as a hash:
 * a module may have a thousand kernels, and each has an entry.
 *
 * The store is opened when the first kernel is compiled, and stays open, as the library does.
 */
#include "kept.h"

#include "../base/alloc.h"
#include "../base/dl.h"
#include "../base/store.h"
#include "rt.h"

#include <pthread.h>
#include <string.h>

struct value {
	uint64_t frame_size;
	uint32_t width;
	uint16_t is_straight;
	uint16_t in_order;
};

/* NULL: nothing is kept, or there is no memory. */
struct store *kept_store(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct store *store;
	pthread_mutex_lock(&lock);
	if (!store) {
		(void)store_open(&store, NULL);
	}
	pthread_mutex_unlock(&lock);
	return store && !store_off(store) ? store : NULL;
}

bool kept_is_on(void)
{
	return kept_store() != NULL;
}

static void add(struct str *key, const void *data, size_t size)
{
	str_addn(key, data, size);
}

void kept_key(struct str *out, const struct ptx_module *module, const struct ptx_func *func,
	uint32_t width, const struct str *generator)
{
	static const char kind[] = "cpu";
	uint8_t id[DL_BUILD_ID_SIZE];
	uint64_t numbers[] = {module->text_size, module->text_hash.high, module->text_hash.low,
		func->index, width, 0, generator->len};
	size_t size = dl_build_id(id, kind);
	*out = (struct str)STR_INIT;
	if (size == 0) {
		return;
	}
	numbers[5] = size;
	add(out, kind, sizeof(kind));
	add(out, func->name, strlen(func->name) + 1);
	add(out, numbers, sizeof(numbers));
	add(out, id, size);
	add(out, generator->data, generator->len);
	if (out->failed || generator->failed) {
		str_free(out);
		*out = (struct str)STR_INIT;
	}
}

bool kept_find(struct kept *out, const struct str *key)
{
	size_t size;
	struct value value;
	struct store *store = key->len > 0 ? kept_store() : NULL;
	*out = (struct kept){.width = 0};
	if (!store || store_get(store, key->data, key->len, &out->memory, &size) != STORE_HIT) {
		return false;
	}
	memset(&value, 0, sizeof(value));
	if (size >= sizeof(value)) {
		memcpy(&value, out->memory, sizeof(value));
	}
	if (value.width != 1 && value.width != RT_MAX_WIDTH) {
		mem_free(out->memory);
		return false;
	}
	out->width = value.width;
	out->is_straight = value.is_straight;
	out->in_order = value.in_order;
	out->frame_size = value.frame_size;
	out->object = out->memory + sizeof(value);
	out->size = size - sizeof(value);
	return true;
}

void kept_put(const struct str *key, const struct kept *kept)
{
	struct store *store = key->len > 0 ? kept_store() : NULL;
	struct value value = {kept->frame_size, kept->width, kept->is_straight,
		kept->in_order};
	struct str text = STR_INIT;
	if (store) {
		add(&text, &value, sizeof(value));
		add(&text, kept->object, kept->size);
	}
	if (store && !text.failed) {
		(void)store_put(store, key->data, key->len, text.data, text.len);
	}
	str_free(&text);
}

struct store_lock *kept_lock(const struct str *key)
{
	struct store *store = key->len > 0 ? kept_store() : NULL;
	return store ? store_lock(store, key->data, key->len) : NULL;
}

void kept_unlock(struct store_lock *lock)
{
	store_unlock(lock);
}
