/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_KERNELS_H
#define LIB_OPS_KERNELS_H

/* Kernels that the library generates: made once for each key and device, and launched. */
#include "base/str.h"
#include "lib/core/memory.h"

#include <kudzu/kernel.h>

/* Write the source of the kernel of a key, `kz_kernel`.  The string says if memory ran out. */
typedef void kernels_write(struct str *source, const void *context);

/*
 * Find the kernel of a key, or compile it.  Threads that want the same one wait for the first.
 *
 * `what` names it in errors and profilers: "add".  Borrowed from the device, as long as it lives.
 */
struct kernels_want {
	const void *key;
	size_t size;
	kernels_write *write;
	const void *context;
	const char *what;
};

kz_status kernels_get(struct kz_kernel **out, struct kz_device *dev,
	const struct kernels_want *want, kz_error *err);

/* Keep a value under a second key of a kernel that kernels_get has given; find it again, NULL if nobody has
 * kept one.  It stays as long as the device. */
void kernels_keep(struct kz_device *dev, const void *key, size_t size, const void *value,
	size_t value_size, struct kz_kernel *kernel);
const void *kernels_find(const struct kz_device *dev, const void *key, size_t size);

/* Count a launch of what kernels_find has given. */
void kernels_hit(struct kz_device *dev);
/* Count a kernel that the library compiled for a device and does not keep in the table. */
void kernels_count(struct kz_device *dev);

/* A launch of a generated kernel: nothing is checked, order is kept. */
struct kernels_call {
	struct kz_kernel *kernel;
	struct kz_stream *stream;
	kz_dim3 grid;
	kz_dim3 block;
	int64_t shared_size;
	void **params;
	struct memory *const *used; /* what it reads and writes */
	int used_count;
};

kz_status kernels_launch(const struct kernels_call *call, kz_error *err);

#endif
