/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_SPAN_H
#define LIB_ARRAY_SPAN_H

/* Elements between host and device, both at strides, by way of their span. */
#include "lib/core/memory.h"
#include "lib/array/strided.h"

/* The elements of an array and their places on the host, alike for all parts of one transfer. */
struct span_transfer {
	struct kz_buffer *buffer;
	const int64_t *strides;
	const int64_t *host_strides;
	int64_t size; /* of an element */
	bool to_host;
};

/* Move them; `offset` is that of the first element in the buffer, `host` its place.  Setting keeps
 * the bytes between, unless another thread writes them at that time. */
kz_status span_move(const struct span_transfer *t, const kz_shape *shape, int64_t offset,
	char *host, kz_error *err);

#endif
