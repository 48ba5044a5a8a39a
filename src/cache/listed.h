/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LISTED_H
#define CACHE_LISTED_H

/* What big texts of PTX say of their kernels, from the cache on disk. */
#include "rtc/compile.h"

/* As rtc_image_inspect, but a big text that any process has read before is not read again. */
kz_status listed_inspect(struct rtc_image *out, const void *data, size_t size, kz_error *err);

#endif
