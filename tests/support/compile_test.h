/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_COMPILE_TEST_H
#define SUPPORT_COMPILE_TEST_H

/* A compile without the cache, as the tests of rtc make it. */
#include "lib/rtc/compile.h"

static inline kz_status support_compile(struct rtc_image *out, const struct rtc_request *request,
	kz_error *err)
{
	struct source_facts facts;
	kz_status st = rtc_request_check(request, err);
	*out = (struct rtc_image){0};
	if (st || !source_scan(&facts, request->source)) {
		return st ? st : error_no_memory(err);
	}
	st = rtc_compile(out, request, &facts, err);
	source_free(&facts);
	return st;
}

#endif
