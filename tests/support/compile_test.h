/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_COMPILE_TEST_H
#define SUPPORT_COMPILE_TEST_H

/* A compile without the cache, as the tests of rtc make it. */
#include "lib/rtc/compile.h"

static inline kz_status support_compile(struct rtc_image *out, const struct rtc_request *request,
	kz_error *err)
{
	kz_status st = rtc_request_check(request, err);
	*out = (struct rtc_image){0};
	return st ? st : rtc_compile(out, request, err);
}

#endif
