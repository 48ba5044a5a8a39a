/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_PINNED_H
#define LIB_CORE_PINNED_H

/* Pinned host memory, known by its address; see pinned.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct kz_device;
struct memory;
struct kz_pinned;

/* Live pinned memory by address, to recognize it when a copy gets a pointer into it. */
struct pinned_list {
	pthread_mutex_t lock;
	struct memory **items;
	size_t room;
	atomic_size_t count;
};

void pinned_init(struct pinned_list *list);
void pinned_finish(struct pinned_list *list);
/* The live pinned memory that contains a pointer of the host, counted; NULL if there is none. */
struct memory *pinned_find(struct kz_device *dev, const void *pointer);
/* The memory of a handle; borrowed. */
struct memory *pinned_memory(const struct kz_pinned *pinned);
/* Pinned memory through which so few bytes go to `host`; NULL if they go there directly. */
void *pinned_take_slot(struct kz_device *dev, const void *host, int64_t size);
void pinned_put_slot(struct kz_device *dev, void *slot);
void pinned_free_slot(struct kz_device *dev);

#endif
