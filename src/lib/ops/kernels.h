/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_KERNELS_H
#define LIB_OPS_KERNELS_H

/*
 * Kernels that the library generates: made once for each key and device, and launched.
 *
 * A *family* is kernels that one function writes, for classes of element types and the like.  What
 * differs between devices is its schedule.
 */
#include "base/str.h"
#include "lib/core/memory.h"
#include "lib/ops/schedule.h"

#include <kudzu/kernel.h>

/* Write the source of a kernel, `kz_kernel`, after what kernels.c says of the schedule.  The
 * string says if memory ran out. */
typedef void kernels_write(struct str *source, const void *context);

struct kernel_family {
	const char *name; /* in errors and profilers, where a kernel has no name of its own */
	kernels_write *write;
	struct schedule schedules[SCHEDULES];
	bool is_brief; /* NVRTC may do less where the device optimizes again: that takes half of
	                  the time, but some kernels are slower then */
};

/* Whether a block has one thread, which walks over all that the block does. */
static inline bool kernels_walk(const struct kernel_family *family, const struct kz_device *dev)
{
	return schedule_of(family->schedules, dev)->threads == 1;
}

/* Which kernel of a family. */
struct kernels_want {
	const struct kernel_family *family;
	const void *key;     /* its class: equal bytes mean equal sources, so there is no padding */
	size_t size;
	const void *context; /* for family->write; NULL: the key */
	const char *what;    /* its name, as "add"; NULL: the family's */
};

/* Find a kernel, or compile it.  Threads that want the same one wait for the first.  The kernel is
 * borrowed from the device, as long as that lives. */
kz_status kernels_get(struct kz_kernel **out, struct kz_device *dev,
	const struct kernels_want *want, kz_error *err);

/* Keep a value under a second key of a kernel that kernels_get has given; find it again, NULL if
 * nobody has kept one.  It stays as long as the device. */
void kernels_keep(struct kz_device *dev, const void *key, size_t size, const void *value,
	size_t value_size, struct kz_kernel *kernel);
const void *kernels_find(const struct kz_device *dev, const void *key, size_t size);

/* Count a launch of what kernels_find has given. */
void kernels_hit(struct kz_device *dev);
/* Count a kernel that the library compiled for a device and does not keep in the table. */
void kernels_count(struct kz_device *dev);

/* A launch of a generated kernel: nothing is checked, order is kept. */
struct kernels_run {
	struct kernels_want want;
	const char *function;       /* of the module; NULL: kz_kernel */
	struct kz_kernel *kernel;   /* that kernels_get has given, or a program's own; NULL: what is
	                               wanted */
	struct kz_stream *stream;
	kz_dim3 grid;
	kz_dim3 block;              /* zeros: the threads of the family's schedule */
	int64_t shared_size;
	void **params;
	/* What it reads and writes: memory, and arrays, of which some may be NULL. */
	struct memory *const *used;
	int used_count;
	struct kz_array *const *arrays;
	int array_count;
};

/* Launch a kernel; find or compile it first, unless it is given. */
kz_status kernels_run(const struct kernels_run *run, kz_error *err);

#endif
