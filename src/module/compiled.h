/* SPDX-License-Identifier: MIT */
#ifndef MODULE_COMPILED_H
#define MODULE_COMPILED_H

/* The images that this process has compiled, or read from disk. */
#include "module/module.h"

/* The image of a request, from memory if it is there, else from the disk or the compiler. */
kz_status compiled_get(struct kz_image **out, const struct rtc_request *request, kz_error *err);

/* The image of these bytes, which are PTX, a cubin or LTO-IR: one that there was, or a new one. */
kz_status compiled_load(struct kz_image **out, const void *data, size_t size, kz_error *err);

/* Forget all. */
void compiled_clear(void);

struct compiled_counts {
	int64_t hits;
	int64_t count; /* images now */
	int64_t size;  /* their bytes */
};
void compiled_counts(struct compiled_counts *out);

#endif
