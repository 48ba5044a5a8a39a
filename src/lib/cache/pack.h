/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_PACK_H
#define LIB_CACHE_PACK_H

/* An image as bytes: for the cache on disk, and for files that ship without a compiler. */
#include "base/str.h"
#include "lib/rtc/compile.h"

/* Append an image to *out, which remembers when memory runs out. */
void pack_image(struct str *out, const struct rtc_image *image);

/* Read what it wrote; nothing of the bytes is trusted.  KZ_BAD_IMAGE, KZ_NO_MEMORY; then nothing is
 * left in *out. */
kz_status unpack_image(struct rtc_image *out, const void *data, size_t size, kz_error *err);
/* The same of bytes from mem_alloc, which it takes, whatever happens. */
kz_status unpack_image_take(struct rtc_image *out, char *data, size_t size, kz_error *err);

#endif
