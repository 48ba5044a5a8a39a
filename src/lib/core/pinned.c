/* SPDX-License-Identifier: MIT */
/*
 * Pinned host memory.
 *
 * It is a `struct memory` like any other, from the device's pool for pinned memory, so its last use
 * orders copies and reuse.  Copies get plain pointers; a list of all live pinned memory, sorted by
 * address, says which of them are pinned.  The list holds no counts.  A caller that finds memory in
 * it counts that memory under the lock that the release of the handle takes, too.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "lib/core/segment.h"

#include <kudzu/host_memory.h>

#include <string.h>

void pinned_init(struct pinned_list *list)
{
	pthread_mutex_init(&list->lock, NULL);
}

void pinned_finish(struct pinned_list *list)
{
	pthread_mutex_destroy(&list->lock);
	mem_free(list->items);
}

/* How many begin at or below an address; under the lock. */
static size_t pinned_count_below(const struct pinned_list *list, CUdeviceptr address)
{
	size_t low = 0, high = atomic_load_explicit(&list->count, memory_order_relaxed);
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (list->items[middle]->address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static bool pinned_list_add(struct pinned_list *list, struct memory *memory)
{
	pthread_mutex_lock(&list->lock);
	size_t count = atomic_load(&list->count);
	struct memory **items = mem_grow(list->items, count, &list->room, sizeof(struct memory *));
	if (!items) {
		pthread_mutex_unlock(&list->lock);
		return false;
	}
	list->items = items;
	size_t place = pinned_count_below(list, memory->address);
	memmove(&list->items[place + 1], &list->items[place],
		(count - place) * sizeof(struct memory *));
	list->items[place] = memory;
	atomic_store(&list->count, count + 1);
	pthread_mutex_unlock(&list->lock);
	return true;
}

static void pinned_list_remove(struct pinned_list *list, const struct memory *memory)
{
	pthread_mutex_lock(&list->lock);
	size_t count = atomic_load(&list->count);
	size_t place = pinned_count_below(list, memory->address);
	memmove(&list->items[place - 1], &list->items[place],
		(count - place) * sizeof(struct memory *));
	atomic_store(&list->count, count - 1);
	pthread_mutex_unlock(&list->lock);
}

struct memory *pinned_find(struct kz_device *dev, const void *pointer)
{
	struct pinned_list *list = &dev->pinned;
	/* A pointer that this thread has was put on the list before. */
	if (likely(atomic_load_explicit(&list->count, memory_order_relaxed) == 0)
	    || device_is_forked(dev)) {
		return NULL;
	}
	struct memory *found = NULL;
	CUdeviceptr address = (uintptr_t)pointer;
	pthread_mutex_lock(&list->lock);
	size_t place = pinned_count_below(list, address);
	if (place > 0 && address - list->items[place - 1]->address
	    < (CUdeviceptr)list->items[place - 1]->size) {
		found = memory_retain(list->items[place - 1]);
	}
	pthread_mutex_unlock(&list->lock);
	return found;
}

/* The slot: a little pinned memory.  NVIDIA's driver is slower for few bytes that go to memory that
 * is not pinned.  A device has one slot; a thread that finds it taken does without. */

enum { SLOT_SIZE = 512 };

static void *pinned_make_slot(struct kz_device *dev)
{
	CUdeviceptr address = 0;
	struct device_scope scope;
	if (device_enter_quietly(dev, &scope)) {
		const struct segment_source *source = segment_source(&dev->pools[MEMPOOL_PINNED]);
		address = source->reserve(dev, &address, SLOT_SIZE) == CUDA_SUCCESS ? address : 0;
		device_leave(dev, &scope);
	}
	return (void *)(uintptr_t)address; /* NOLINT: an address it is */
}

void *pinned_take_slot(struct kz_device *dev, const void *host, int64_t size)
{
	bool may_make = !dev->on_host && !atomic_load(&dev->has_slot);
	if (size > SLOT_SIZE || (!may_make && !atomic_load(&dev->slot))) {
		return NULL;
	}
	struct memory *pinned = pinned_find(dev, host);
	if (pinned) {
		memory_release(pinned);
		return NULL;
	}
	void *slot = atomic_exchange(&dev->slot, NULL);
	return slot || !may_make || atomic_exchange(&dev->has_slot, true) ? slot
		: pinned_make_slot(dev);
}

void pinned_put_slot(struct kz_device *dev, void *slot)
{
	atomic_store(&dev->slot, slot);
}

void pinned_free_slot(struct kz_device *dev)
{
	struct device_scope scope;
	void *slot = atomic_exchange(&dev->slot, NULL);
	if (slot && device_enter_quietly(dev, &scope)) {
		segment_source(&dev->pools[MEMPOOL_PINNED])->give_back(dev, (uintptr_t)slot, NULL);
		device_leave(dev, &scope);
	}
}

/* Give out what was made, or after a failure give back what there is of it. */
static kz_status pinned_hand_out(kz_pinned **out, struct kz_pinned *pinned, struct memory *memory,
	kz_status st)
{
	if (st) {
		memory_release(memory);
		mem_free(pinned);
		return st;
	}
	pinned->tag = OBJECT_PINNED;
	pinned->memory = memory;
	object_give(pinned, memory->device);
	*out = pinned;
	return KZ_OK;
}

kz_status kz_pinned_create(kz_pinned **out, kz_device *dev, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (size < 0) {
		return error_set(err, KZ_INVALID,
			"expected a size of pinned memory of at least 0, got %lld",
			(long long)size);
	}
	struct memory *memory = NULL;
	struct kz_pinned *pinned = mem_zalloc(1, sizeof(*pinned));
	st = pinned ? memory_create(&memory, dev, MEMPOOL_PINNED, size, NULL, err)
		: error_no_memory(err);
	if (!st && size > 0 && !pinned_list_add(&dev->pinned, memory)) {
		st = error_no_memory(err);
	}
	return pinned_hand_out(out, pinned, memory, st);
}

/* At the end of wrapped memory, when its last use has passed. */
static void pinned_unregister(void *user)
{
	struct memory *memory = user;
	struct device_scope scope;
	if (device_enter_quietly(memory->device, &scope)) {
		segment_unpin(memory->device, (void *)(uintptr_t)memory->address);
		device_leave(memory->device, &scope);
	}
}

static kz_status pinned_register(struct memory *memory, kz_error *err)
{
	struct kz_device *dev = memory->device;
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	CUresult code = segment_pin(dev, (void *)(uintptr_t)memory->address, (size_t)memory->size);
	device_leave(dev, &scope);
	if (code == CUDA_SUCCESS) {
		memory->on_release = pinned_unregister;
		memory->user = memory;
	}
	return device_ok(dev, code, "cuMemHostRegister", err);
}

static kz_status pinned_check_wrapped(const void *pointer, int64_t size, kz_error *err)
{
	if (size < 0 || (size > 0 && !pointer)) {
		return error_set(err, KZ_INVALID, "expected memory to pin, got %lld byte%s at %p",
			(long long)size, plural(size), pointer);
	}
	if (size > 0 && (uintptr_t)pointer > UINTPTR_MAX - (uint64_t)size) {
		return error_set(err, KZ_RANGE, "%lld bytes at %p extend past the last address",
			(long long)size, pointer);
	}
	return KZ_OK;
}

kz_status kz_pinned_wrap(kz_pinned **out, kz_device *dev, void *pointer, int64_t size,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pinned_check_wrapped(pointer, size, err))) {
		return st;
	}
	struct memory *memory = NULL;
	struct kz_pinned *pinned = mem_zalloc(1, sizeof(*pinned));
	st = pinned ? memory_wrap(&memory, dev, MEMPOOL_PINNED, (uintptr_t)pointer, size, err)
		: error_no_memory(err);
	if (!st && size > 0 && !(st = pinned_register(memory, err))
	    && !pinned_list_add(&dev->pinned, memory)) {
		st = error_no_memory(err);
	}
	return pinned_hand_out(out, pinned, memory, st);
}

void kz_pinned_release(kz_pinned *pinned)
{
	if (object_is(pinned, OBJECT_PINNED)) {
		object_end(&pinned->tag);
		struct memory *memory = pinned->memory;
		if (memory->size > 0 && !device_is_forked(memory->device)) {
			pinned_list_remove(&memory->device->pinned, memory);
		}
		memory_release(memory);
		object_free(pinned);
	}
}

struct memory *pinned_memory(const struct kz_pinned *pinned)
{
	return pinned->memory;
}

void *kz_pinned_pointer(const kz_pinned *pinned)
{
	return object_is(pinned, OBJECT_PINNED) ? (void *)(uintptr_t)pinned->memory->address : NULL;
}

int64_t kz_pinned_size(const kz_pinned *pinned)
{
	return object_is(pinned, OBJECT_PINNED) ? pinned->memory->size : 0;
}
