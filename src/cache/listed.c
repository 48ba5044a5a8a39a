/* SPDX-License-Identifier: MIT */
/*
 * An entry of the store for each big text: its kernels and variables as pack.c writes them, of an
 * image without data.  The text is known by its hash, which is made in any case.
 *
 * A list that is here stands for reading the text, and follows from nothing else: so the key has the
 * library's build id, and what is not there is read and put there.
 */
#include "base/common.h"

#include "cache/listed.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/store.h"
#include "rtc/rtc_image.h"
#include "cache/pack.h"

/* Less is read as fast as a file is. */
#define LEAST_SIZE 65536

static const char kind[] = "list";

/* False: nothing is kept. */
static bool make_key(struct str *out, const struct rtc_image *image)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	uint64_t numbers[] = {image->size, image->hash.high, image->hash.low};
	size_t id_size = dl_build_id(id, kind);
	str_addn(out, kind, sizeof(kind));
	str_addn(out, (const char *)numbers, sizeof(numbers));
	str_addn(out, (const char *)id, id_size);
	return id_size > 0 && !out->failed;
}

/* Give the image what an entry says. */
static bool find(struct rtc_image *image, struct store *store, const struct str *key)
{
	char *value;
	size_t size;
	struct rtc_image list;
	if (store_get(store, key->data, key->len, &value, &size) != STORE_HIT
	    || unpack_image_take(&list, value, size, NULL) != KZ_OK) {
		return false;
	}
	if (!list.is_ptx || list.size > 0 || !hash_equal(list.hash, image->hash)) {
		rtc_image_free(&list);
		return false;
	}
	list.data = image->data;
	list.size = image->size;
	list.data_is_apart = true;
	*image = list;
	return true;
}

static void keep(struct store *store, const struct str *key, const struct rtc_image *image)
{
	struct rtc_image list = *image;
	struct str value = STR_INIT;
	char nothing[1] = "";
	list.data = nothing;
	list.size = 0;
	pack_image(&value, &list);
	if (!value.failed) {
		(void)store_put(store, key->data, key->len, value.data, value.len);
	}
	str_free(&value);
}

kz_status listed_inspect(struct rtc_image *out, const void *data, size_t size, kz_error *err)
{
	struct str key = STR_INIT;
	kz_status status = image_begin(out, data, size, err);
	bool is_big = !status && out->is_ptx && out->size >= LEAST_SIZE;
	struct store *store = is_big ? store_default() : NULL;
	bool may_keep = store && !store_off(store) && make_key(&key, out);
	if (!status && !(may_keep && find(out, store, &key))) {
		status = image_read(out, err);
		if (!status && may_keep) {
			keep(store, &key, out);
		}
	}
	str_free(&key);
	return status;
}
