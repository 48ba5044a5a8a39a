/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a packed image.  What is read is written, and that is read as the
 * same. */
#include "base/common.h"

#include "lib/cache/pack.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes of what they are read as; false if they are no image. */
static bool repack(struct str *out, const struct str *bytes)
{
	struct rtc_image image;
	if (unpack_image(&image, bytes->data, bytes->len, NULL) != KZ_OK) {
		return false;
	}
	pack_image(out, &image);
	rtc_image_free(&image);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = STR_INIT, again = STR_INIT, third = STR_INIT;
	/* Most inputs would fail at the mark: their first byte says which of the two it is. */
	str_addn(&bytes, size > 0 && data[0] % 2 ? "kzimagz6" : "kzimage6", 8);
	str_addn(&bytes, (const char *)data + (size > 0), size - (size > 0));
	if (repack(&again, &bytes)) {
		bool same = repack(&third, &again) && third.len == again.len
			&& memcmp(third.data, again.data, again.len) == 0;
		assert(same);
		(void)same;
	}
	str_free(&bytes);
	str_free(&again);
	str_free(&third);
	return 0;
}
