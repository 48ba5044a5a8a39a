/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a bundle (after its hash was made to fit), and as an input of a
 * linker. */
#include "base/common.h"

#include "base/hash.h"
#include "lib/module/load.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_bundle(char *data, size_t size, const struct rtc_target *target)
{
	struct kz_image *image = NULL;
	kz_error err = KZ_ERROR_INIT;
	uint64_t whole = size;
	if (size >= 48) {
		/* The header: magic, hash, size, ... */
		memcpy(data, "KZBNDL\r\n", 8);
		memcpy(data + 24, &whole, sizeof(whole));
		struct hash hash = hash_of(data + 24, size - 24);
		memcpy(data + 8, &hash, sizeof(hash));
	}
	if (bundle_pick(&image, target, "b", data, size, &err) != err.status) {
		abort();
	}
	kz_image_release(image);
	kz_error_clear(&err);
}

static void as_input(const char *data, size_t size, const struct rtc_target *target)
{
	struct parts parts;
	kz_error err = KZ_ERROR_INIT;
	parts_init(&parts, target);
	kz_status st = parts_add(&parts, "x", data, size, &err);
	st = st ? st : parts_resolve(&parts, &err);
	if (st != err.status) {
		abort();
	}
	kz_error_clear(&err);
	parts_free(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rtc_target targets[] = {{89, true}, {86, false}};
	setenv("KUDZU_NVRTC", "/nowhere", 1);
	setenv("KUDZU_CACHE", "0", 1);
	for (size_t i = 0; i < countof(targets); i++) {
		char *copy = malloc(size + 1);
		memcpy(copy, data, size);
		as_input(copy, size, &targets[i]);
		as_bundle(copy, size, &targets[i]);
		free(copy);
	}
	return 0;
}
