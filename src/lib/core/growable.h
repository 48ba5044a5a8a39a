/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_GROWABLE_H
#define LIB_CORE_GROWABLE_H

/* Buffers that grow in place, for the arrays over them. */
#include "lib/core/memory.h"

/* kz_buffer_create_growable after its checks of arguments, with a wish as memory_create has it. */
kz_status growable_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	int64_t capacity, const struct memory_wish *wish, kz_error *err);
/* kz_buffer_resize for `call`; `refs` is how many references the object has that the caller knows
 * the buffer by: it shrinks for the only one. */
kz_status growable_resize(struct kz_buffer *buffer, int64_t size, int refs,
	kz_error *err);

#endif
