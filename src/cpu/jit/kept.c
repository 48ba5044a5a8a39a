/* SPDX-License-Identifier: MIT */
/*
 * Keys and values for the store: both are numbers and bytes, one behind the other.  A key names the
 * library's build id, so that any change to the code generator, to what compiled code calls or to
 * the layout of a value here leaves old entries behind.  The text of the module is in it as a hash:
 * a module may have a thousand kernels, and each has an entry.
 *
 * LLVM is not loaded to find an entry, nor is it known which one would be.  So an entry names the
 * file of the LLVM that made it, and its build id: if that file is another one now the entry is a
 * miss.  If it is gone the code is as good as it was.
 *
 * The store is that of the process (store_default), opened when the first kernel is compiled.
 */
#include "cpu/jit/kept.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/store.h"
#include "cpu/runtime/rt.h"

#include <string.h>

struct value {
	uint64_t frame_size;
	uint32_t width;
	uint16_t is_straight;
	uint8_t in_order;
	uint8_t is_quick;
	uint32_t id_size;   /* behind this: the build id of LLVM, */
	uint32_t path_size; /* and its file, zero-terminated; then the object */
};

/* NULL: nothing is kept, or there is no memory. */
struct store *kept_store(void)
{
	struct store *store = store_default();
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
	uint32_t width, unsigned class, const struct str *generator)
{
	static const char kind[] = "cpu";
	uint8_t id[DL_BUILD_ID_SIZE];
	uint64_t numbers[] = {module->text_size, module->text_hash.high, module->text_hash.low,
		func->index, width, 0, generator->len, class};
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

/* Whether the LLVM that made an entry is still the same, or gone; *skip becomes the size of what names
 * it. */
static bool is_maker_here(const struct value *value, const char *text, size_t size, size_t *skip)
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
	size_t skip = 0;
	const char *text = out->memory + sizeof(value);
	if ((value.width != 1 && value.width != RT_MAX_WIDTH)
	    || !is_maker_here(&value, text, size - sizeof(value), &skip)) {
		mem_free(out->memory);
		return false;
	}
	out->width = value.width;
	out->is_straight = value.is_straight;
	out->in_order = value.in_order;
	out->is_quick = value.is_quick;
	out->frame_size = value.frame_size;
	out->object = text + skip;
	out->size = size - sizeof(value) - skip;
	return true;
}

void kept_put(const struct str *key, const struct kept *kept)
{
	struct store *store = key->len > 0 ? kept_store() : NULL;
	char *path = store ? dl_path(kept->maker) : NULL;
	uint8_t id[DL_BUILD_ID_SIZE];
	struct str text = STR_INIT;
	if (!path) {
		return;
	}
	struct value value = {kept->frame_size, kept->width, kept->is_straight, kept->in_order,
		kept->is_quick,
		(uint32_t)dl_build_id(id, kept->maker), (uint32_t)strlen(path) + 1};
	add(&text, &value, sizeof(value));
	add(&text, id, value.id_size);
	add(&text, path, value.path_size);
	add(&text, kept->object, kept->size);
	if (!text.failed) {
		(void)store_put(store, key->data, key->len, text.data, text.len);
	}
	str_free(&text);
	mem_free(path);
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
