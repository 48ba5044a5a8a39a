/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a packed image.  What is read is written as the same bytes. */
#include "../../src/base/common.h"

#include "../../src/rtc/pack.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rtc_image image;
	struct str again = STR_INIT;
	/* Most inputs would fail at the mark. */
	struct str bytes = STR_INIT;
	str_addn(&bytes, "kzimage3", 8);
	str_addn(&bytes, (const char *)data, size);
	if (unpack_image(&image, bytes.data, bytes.len, NULL) == KZ_OK) {
		pack_image(&again, &image);
		assert(again.len == bytes.len && memcmp(again.data, bytes.data, again.len) == 0);
		rtc_image_free(&image);
	}
	str_free(&again);
	str_free(&bytes);
	return 0;
}
