/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_RESOURCES_H
#define LIB_RTC_RESOURCES_H

/* What ptxas gave the kernels of a cubin. */
#include "lib/rtc/compile.h"

struct rtc_resources {
	int32_t registers;     /* of a thread */
	int32_t barriers;      /* of a block */
	int64_t stack_size;    /* of a thread, with what it calls; -1 unknown */
	int64_t shared_size;   /* static, of a block */
	int64_t constant_size; /* parameters and constants of the kernel */
	int64_t code_size;
	int64_t spill_stores;  /* bytes; -1 unknown: only the log of -Xptxas=-v tells */
	int64_t spill_loads;
};

/* KZ_BAD_IMAGE for an image that is no cubin, KZ_NO_MEMORY. */
kz_status rtc_image_resources(struct rtc_resources *out, const struct rtc_image *image,
	const struct rtc_kernel *kernel, kz_error *err);

/* The bytes of spills that a log of -Xptxas=-v gives for a symbol; false where it gives none. */
bool resources_read_log(struct rtc_resources *out, const char *log, const char *symbol);

#endif
