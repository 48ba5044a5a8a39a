/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_LOAD_H
#define LIB_MODULE_LOAD_H

/* Bytes of any format -> an image that a device loads; what helps when its driver refuses it. */
#include "lib/module/module.h"
#include "lib/rtc/parts.h"

static inline struct rtc_target load_target(const struct kz_device *dev)
{
	return (struct rtc_target){dev->info.compute_capability, dev->ptx_only};
}

/* PTX, a cubin, LTO-IR, a fat binary, an object, a library, a bundle; `name` is for messages. */
kz_status load_bytes(struct kz_image **out, struct kz_device *dev, const char *name,
	const void *data, size_t size, kz_error *err);

/* LTO-IR and the like: link it, alone, for a device. */
kz_status load_linked(struct kz_image **out, struct kz_device *dev, const char *name,
	const void *data, size_t size, kz_error *err);

/* The driver refused an image with the error in `refusal`.  If versions are the reason, make
 * another image that it should take.  Otherwise add to `refusal` what does not fit.  False if there
 * is no other image. */
bool load_repair(struct kz_image **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *load, kz_error *refusal);

/* bundle.c */

bool bundle_is(const void *data, size_t size);
/* The image of a bundle that suits a device best, or its source, compiled. */
kz_status bundle_pick(struct kz_image **out, const struct rtc_target *target, const char *name,
	const void *data, size_t size, kz_error *err);

#endif
