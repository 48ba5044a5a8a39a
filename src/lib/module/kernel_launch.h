/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_KERNEL_LAUNCH_H
#define LIB_MODULE_KERNEL_LAUNCH_H

/* One launch as data: kernel.c checks it and hands it to the driver; prepared.c keeps one. */
#include "lib/core/graph.h"
#include "lib/array/texture.h"
#include "lib/module/module.h"

struct launch {
	struct kz_kernel *kernel;
	struct kz_device *dev;
	struct kz_stream *stream;
	const kz_dim3 *grid;
	const kz_dim3 *block;
	int64_t shared_size;
	const kz_arg *args;
	size_t count;
	uint64_t *slots;         /* `count` of each: values ... */
	void **places;           /* ... where the driver reads them ... */
	struct memory **used;    /* ... and what arrays and buffers lie in */
	struct memory **used_end;
	bool has_host;           /* an argument is KZ_IN, KZ_OUT or KZ_INOUT */
	bool needs_preparing;    /* a memory was used in another stream; kernel_launch_prepare */
	bool has_attributes;     /* one of these, for which there are other calls: */
	bool cooperative;
	bool programmatic;
	uint8_t cluster[3];      /* blocks; [0] is 0: none */
	uint64_t timeout;        /* in nanoseconds; 0: none */
};

/* What an argument that was converted keeps in use; NULL: nothing. */
static inline struct memory *launch_memory(const kz_arg *arg)
{
	switch (arg->kind) {
	case KZ_ARG_ARRAY:
	case KZ_ARG_STRIDED:
		return ((const struct kz_array *)arg->value.p)->buffer->memory;
	case KZ_ARG_BUFFER:
		return ((const struct kz_buffer *)arg->value.p)->memory;
	case KZ_ARG_TEXTURE:
	case KZ_ARG_SURFACE:
		return ((const struct texture_object *)arg->value.p)->memory;
	default:
		return NULL;
	}
}

/* launch_attributes.c */

/* Take over what a caller's options have besides the stream and the shared memory. */
kz_status launch_read_attributes(struct launch *launch, const kz_launch_options *options,
	kz_error *err);
/* Launch with attributes; the context is current. */
kz_status launch_with_attributes(const struct launch *launch, kz_error *err);

/* kernel.c */

/* Check the kernel and the number of arguments.  `call` is the name of the public function. */
kz_status launch_check_call(const struct kz_kernel *kernel, const kz_arg *args,
	size_t count, kz_error *err);
/* Take over a caller's options, which are not NULL. */
kz_status launch_read_options(struct launch *launch, const kz_launch_options *options,
	kz_error *err);
/* Check grid, block and shared memory. */
kz_status launch_check_sizes(struct launch *launch, kz_error *err);
/* Room for its lists on the heap, at launch->slots. */
kz_status launch_make_room(struct launch *launch, kz_error *err);
/* Check and convert everything, for a node of a graph, and launch nothing. */
kz_status launch_check(struct launch *launch, kz_error *err);
/* Tell a node, which has room for all arguments, what it launches; or with what memory. */
void launch_fill_node(const struct launch *launch, struct kz_node *node);
void launch_fill_memory(const struct launch *launch, struct kz_node *node);
/* Launch what was checked before, and whose places are filled in. */
kz_status launch_again(struct launch *launch, kz_error *err);

#endif
