/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_RTC_LINK_H
#define LIB_RTC_RTC_LINK_H

/* Images -> one image, by nvJitLink. */
#include "lib/rtc/parts.h"

struct rtc_link_request {
	const struct parts *parts;       /* resolved; those that are taken are linked */
	bool lto_to_ptx;                 /* only LTO code, and PTX is wanted of it */
	const char *arch;                /* "sm_89" */
	int max_registers;               /* 0: any */
	bool line_info;
	bool debug;
	bool no_optimization;
	const char *const *options;      /* as nvJitLink takes them, last */
	size_t option_count;
};

struct rtc_linked {
	char *data;      /* a cubin, or zero-terminated PTX; freed with mem_free */
	size_t size;     /* PTX: without the zero */
	char *log;       /* warnings; NULL if there are none */
};

/* KZ_LINK with the symbol at fault, KZ_VERSION, KZ_BAD_IMAGE, KZ_INVALID for options,
 * KZ_NO_COMPILER, KZ_NO_MEMORY; then nothing is left in *out. */
kz_status rtc_link(struct rtc_linked *out, const struct rtc_link_request *request, kz_error *err);
void rtc_linked_free(struct rtc_linked *linked);

bool part_is_lto(const struct part *part);

#endif
