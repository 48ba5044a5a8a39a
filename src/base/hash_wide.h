/* SPDX-License-Identifier: MIT */
#ifndef BASE_HASH_WIDE_H
#define BASE_HASH_WIDE_H

/* What hash.c calls for long texts, where the processor has AVX2. */
#include "base/hash.h"

struct hash hash_wide_of(const void *data, size_t size);
void hash_wide_add(struct hash_state *state, const void *data, size_t size);

#endif
