/* SPDX-License-Identifier: MIT */
/*
 * Keys and values for the store: both are numbers and bytes, one after the other.  A key names the
 * library's build id, so that any change to the code generator, to what compiled code calls or to
 * the layout of a value here leaves old entries behind.  The text of the module is in the key as a
 * hash: a module may have a thousand kernels, and each has an entry.
 *
 * LLVM is not loaded to find an entry, nor is it known which LLVM would be.  So an entry names the
 * file of the LLVM that made it, and its build id.  If that file has another build id now the entry
 * is a miss.  If the file is gone the code is as good as it was.
 */
#include "cpu/jit/kernel_cache.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/store.h"
#include "cpu/runtime/rt.h"

#include <string.h>

struct kernel_cache_value {
	uint64_t frame_size;
	uint32_t width;
	uint8_t is_straight;
	uint8_t in_order;
	uint16_t tier;
	uint32_t id_size;   /* after this: the build id of LLVM, */
	uint32_t path_size; /* and its file, zero-terminated; then the object */
};

/* NULL: there is no cache, or no key. */
static struct store *kernel_cache_store(const struct str *key)
{
	struct store *store = key->len > 0 ? store_default() : NULL;
	return store && !store_off(store) ? store : NULL;
}

bool kernel_cache_is_on(void)
{
	struct store *store = store_default();
	return store && !store_off(store);
}

/* A kind, a name, and numbers that begin with the size of the build id of this library, which comes
 * last.  Empty without a build id or memory. */
static void kernel_cache_make_key(struct str *out, const char *kind, const char *name,
	uint64_t *numbers, size_t count)
{
	static const char here[] = "an address in this library";
	uint8_t id[DL_BUILD_ID_SIZE];
	numbers[0] = dl_build_id(id, here);
	*out = (struct str)STR_INIT;
	if (numbers[0] == 0) {
		return;
	}
	str_addn(out, kind, strlen(kind) + 1);
	str_addn(out, name, strlen(name) + 1);
	str_addn(out, (const char *)numbers, count * sizeof(*numbers));
	str_addn(out, (const char *)id, (size_t)numbers[0]);
	if (out->failed) {
		str_free(out);
		*out = (struct str)STR_INIT;
	}
}

void kernel_cache_key(struct str *out, const struct ptx_module *module,
	const struct ptx_func *func, const struct kernel_variant *variant,
	const struct str *generator)
{
	uint64_t numbers[] = {0, module->text_size, module->text_hash.high, module->text_hash.low,
		func->index, variant->width, variant->class, variant->tier, generator->len};
	kernel_cache_make_key(out, "cpu", func->name, numbers, countof(numbers));
	if (out->len > 0) {
		str_addn(out, generator->data, generator->len);
	}
	if (out->failed || generator->failed) {
		str_free(out);
		*out = (struct str)STR_INIT;
	}
}

/* Whether the LLVM that made an entry is still the same, or gone; *skip becomes the size of what
 * names it. */
static bool kernel_cache_maker_is_here(const struct kernel_cache_value *value, const char *text,
	size_t size, size_t *skip)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t id_size = value->id_size, path_size = value->path_size;
	if (id_size > sizeof(id) || path_size > size || id_size > size - path_size
	    || path_size == 0 || text[id_size + path_size - 1] != '\0') {
		return false;
	}
	*skip = id_size + path_size;
	size_t now = dl_file_id(id, text + id_size);
	return now == 0 || (now == id_size && memcmp(id, text, now) == 0);
}

bool kernel_cache_find(struct kernel_cache_entry *out, const struct str *key)
{
	size_t size;
	struct kernel_cache_value value;
	struct store *store = kernel_cache_store(key);
	*out = (struct kernel_cache_entry){.width = 0};
	if (!store || store_get(store, key->data, key->len, &out->memory, &size) != STORE_HIT) {
		return false;
	}
	memset(&value, 0, sizeof(value));
	if (size >= sizeof(value)) {
		memcpy(&value, out->memory, sizeof(value));
	}
	size_t skip = 0;
	const char *text = out->memory + sizeof(value);
	if (value.width == 0 || value.width > RT_MAX_WIDTH
	    || !kernel_cache_maker_is_here(&value, text, size - sizeof(value), &skip)) {
		mem_free(out->memory);
		return false;
	}
	out->width = value.width;
	out->is_straight = value.is_straight;
	out->in_order = value.in_order;
	out->tier = value.tier;
	out->frame_size = value.frame_size;
	out->object = text + skip;
	out->size = size - sizeof(value) - skip;
	return true;
}

void kernel_cache_put(const struct str *key, const struct kernel_cache_entry *entry)
{
	struct store *store = kernel_cache_store(key);
	char *path = store ? dl_path(entry->maker) : NULL;
	uint8_t id[DL_BUILD_ID_SIZE];
	struct str text = STR_INIT;
	if (!path) {
		return;
	}
	struct kernel_cache_value value = {entry->frame_size, entry->width, entry->is_straight,
		entry->in_order, entry->tier, (uint32_t)dl_build_id(id, entry->maker),
		(uint32_t)strlen(path) + 1};
	str_addn(&text, (const char *)&value, sizeof(value));
	str_addn(&text, (const char *)id, value.id_size);
	str_addn(&text, path, value.path_size);
	str_addn(&text, entry->object, entry->size);
	if (!text.failed) {
		(void)store_put(store, key->data, key->len, text.data, text.len);
	}
	str_free(&text);
	mem_free(path);
}

struct store_lock *kernel_cache_lock(const struct str *key)
{
	struct store *store = kernel_cache_store(key);
	return store ? store_lock(store, key->data, key->len) : NULL;
}

void kernel_cache_unlock(struct store_lock *lock)
{
	store_unlock(lock);
}

static void kernel_cache_text_key(struct str *out, size_t size, struct hash hash)
{
	uint64_t numbers[] = {0, size, hash.high, hash.low};
	kernel_cache_make_key(out, "text", "", numbers, countof(numbers));
}

bool kernel_cache_has_text(size_t size, struct hash hash)
{
	struct str key;
	char *value = NULL;
	size_t value_size;
	kernel_cache_text_key(&key, size, hash);
	struct store *store = kernel_cache_store(&key);
	bool has = store && store_get(store, key.data, key.len, &value, &value_size) == STORE_HIT;
	mem_free(value);
	str_free(&key);
	return has;
}

void kernel_cache_put_text(size_t size, struct hash hash)
{
	static const char good = 1;
	struct str key;
	kernel_cache_text_key(&key, size, hash);
	struct store *store = kernel_cache_store(&key);
	if (store) {
		(void)store_put(store, key.data, key.len, &good, sizeof(good));
	}
	str_free(&key);
}
