/* SPDX-License-Identifier: MIT */
#ifndef MODULE_LOADED_H
#define MODULE_LOADED_H

/* Modules that several callers share without noticing. */
#include "module/module.h"

/*
 * A module of this image on this device: one that is loaded already, if nobody can tell that it is
 * shared, else a new one.  kz_module_release gives it back.
 */
kz_status loaded_get(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	kz_error *err);

#endif
