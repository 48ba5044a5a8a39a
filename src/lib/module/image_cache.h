/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_IMAGE_CACHE_H
#define LIB_MODULE_IMAGE_CACHE_H

/* The images that this process has compiled or read from disk, and the modules loaded from them. */
#include "lib/module/module.h"

/* The image of a request, from memory if it is there, else from the disk or the compiler. */
kz_status image_cache_get(struct kz_image **out, const struct rtc_request *request, kz_error *err);

/* Whether nobody can tell that a module of this image is shared, and one that is loaded on the
 * device already, with one more user, in *out: NULL if there is none. */
bool image_cache_module(struct kz_module **out, struct kz_device *dev, struct kz_image *image);
/* Let others have a new module of such an image.  The module to use is the result:
 * another one if another thread was faster. */
struct kz_module *image_cache_share(struct kz_module *made);

/* A user of a shared module has gone, who still holds a count: if it was the last one the table
 * keeps the module, as far as there is room. */
void image_cache_keep(struct kz_module *mod);

/* Forget all. */
void image_cache_clear(void);

struct image_cache_counts {
	int64_t hits;
	int64_t count; /* images now */
	int64_t size;  /* their bytes, and those of the modules that are kept for nobody */
};
void image_cache_counts(struct image_cache_counts *out);

#endif
