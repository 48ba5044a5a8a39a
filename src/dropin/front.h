/* SPDX-License-Identifier: MIT */
#ifndef DROPIN_FRONT_H
#define DROPIN_FRONT_H

/* What the libraries in front of NVIDIA's have in common. */
#include "base/common.h"

#define FRONT_EXPORT __attribute__((visibility("default")))

/* NVIDIA's library, which the library in front needs under another name (audit.c), and a function
 * of it; NULL if it is not loaded, or has none of that name. */
void *front_open(void);
void *front_find(void *real, const char *name);

#endif
