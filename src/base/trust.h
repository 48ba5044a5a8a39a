/* SPDX-License-Identifier: MIT */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

/* Which files may be run or loaded that nobody has named. */
#include "base/common.h"

#include <kudzu/error.h>

/*
 * Whether a file that was found may be run or loaded: then KZ_OK and its real path, freed with
 * mem_free.  `self` is an address in the program or library that asks.  KZ_PERMISSION: the file is
 * there and somebody else may have written it, as the message says; KZ_NOT_FOUND; KZ_NO_MEMORY.
 */
kz_status trust_find(char **out, const char *path, const void *self, kz_error *err);

#endif
