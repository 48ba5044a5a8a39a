/* SPDX-License-Identifier: MIT */
#ifndef LIB_TUNE_TUNE_KEPT_H
#define LIB_TUNE_TUNE_KEPT_H

/* What is kept of a tuning, in the store of the cache. */
#include "lib/core/device.h"
#include "lib/tune/tune_space.h"

/* The kind of these entries, with which their keys begin; a zero follows. */
#define TUNE_KEPT_KIND "tune"

/* What a tuning is found by.  Free it whatever came out. */
kz_status tune_kept_key(struct str *out, kz_device *dev, const struct tune_space *space,
	const kz_tunable *tunable, kz_dim3 problem, kz_error *err);
/* As well as it can. */
void tune_kept_put(const struct str *key, const struct tune_space *space, int64_t index,
	const kz_tune_result *result);
/* The number of the configuration and its times; -1 if nothing is kept that makes sense, with the
 * reason in *why (static). */
int64_t tune_kept_get(kz_tune_result *times, const char **why, const struct str *key,
	const struct tune_space *space);

#endif
