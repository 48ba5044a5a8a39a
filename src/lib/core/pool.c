/* SPDX-License-Identifier: MIT */
/*
 * The public side of the pools: figures, limits, lists of what is live, allocators.
 *
 * The allocator that was set last is used.  Earlier ones stay until their device goes, since
 * buffers of theirs may still be live.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/device.h"
#include "lib/core/leaks.h"
#include "lib/core/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Figures */

static void pool_read_stats(const kz_device *dev, enum mempool_kind kind, kz_memory_stats *out)
{
	if (out && dev) {
		/* Reading takes the lock, which is not a change that a caller could see. */
		mempool_read((struct mempool *)&dev->pools[kind], out);
	} else if (out) {
		memset(out, 0, sizeof(*out));
	}
}

void kz_device_memory_stats(const kz_device *dev, kz_memory_stats *out)
{
	pool_read_stats(dev, MEMPOOL_DEVICE, out);
}

void kz_device_pinned_stats(const kz_device *dev, kz_memory_stats *out)
{
	pool_read_stats(dev, MEMPOOL_PINNED, out);
}

void kz_device_reset_peaks(kz_device *dev)
{
	for (int kind = 0; dev && kind < MEMPOOL_KINDS; kind++) {
		struct mempool *pool = &dev->pools[kind];
		pthread_mutex_lock(&pool->lock);
		pool->stats.peak_size = pool->stats.live_size;
		pool->stats.peak_reserved_size = pool->stats.reserved_size;
		pthread_mutex_unlock(&pool->lock);
	}
}

/* Settings */

static kz_status pool_check_bytes(kz_device *dev, int64_t size, kz_error *err)
{
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (!st && size < 0) {
		st = error_set(err, KZ_INVALID,
			"expected a number of bytes of at least 0, got %lld",
			(long long)size);
	}
	return st;
}

kz_status kz_device_trim(kz_device *dev, int64_t keep, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = pool_check_bytes(dev, keep, err)) || (st = device_enter(dev, &scope,
		err))) {
		return st;
	}
	CUresult code = mempool_trim(&dev->pools[MEMPOOL_DEVICE], keep);
	if (code == CUDA_SUCCESS) {
		code = mempool_trim(&dev->pools[MEMPOOL_PINNED], keep);
	}
	st = device_ok(dev, code, "cuCtxSynchronize", err);
	device_leave(dev, &scope);
	for (int place = 0; !st && place < DEVICE_TABLES; place++) {
		struct device_table *table = device_table(dev, (enum device_place)place);
		if (table && table->trim) {
			table->trim(table);
		}
	}
	return st;
}

kz_status kz_device_limit_memory(kz_device *dev, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st = pool_check_bytes(dev, size, err);
	if (!st) {
		struct mempool *pool = &dev->pools[MEMPOOL_DEVICE];
		pthread_mutex_lock(&pool->lock);
		pool->limit = size;
		pthread_mutex_unlock(&pool->lock);
	}
	return st;
}

kz_status kz_device_use_pool(kz_device *dev, int enabled, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (!st) {
		bool keeps = enabled != 0 && dev->checks == 0;
		mempool_switch(&dev->pools[MEMPOOL_DEVICE], keeps);
		mempool_switch(&dev->pools[MEMPOOL_PINNED], keeps);
	}
	return st;
}

/* Allocators */

static kz_status pool_check_allocator(const kz_allocator *allocator, kz_error *err)
{
	if (allocator->size != sizeof(*allocator)) {
		return struct_refuse("kz_allocator", allocator->size, sizeof(*allocator), err);
	}
	return allocator->alloc && allocator->free ? KZ_OK
		: error_set(err, KZ_INVALID, "expected an allocator with alloc and free, got %s",
			allocator->alloc ? "no free" : "no alloc");
}

kz_status kz_device_set_allocator(kz_device *dev, const kz_allocator *allocator, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (st || (allocator && (st = pool_check_allocator(allocator, err)))) {
		return st;
	}
	if (!allocator) {
		atomic_store(&dev->allocator, NULL);
		return KZ_OK;
	}
	struct allocator *copy = mem_zalloc(1, sizeof(*copy));
	if (!copy) {
		return error_no_memory(err);
	}
	copy->calls = *allocator;
	pthread_mutex_lock(&dev->lock);
	copy->next = dev->allocators;
	dev->allocators = copy;
	pthread_mutex_unlock(&dev->lock);
	atomic_store(&dev->allocator, copy);
	return KZ_OK;
}

void allocators_free(struct kz_device *dev)
{
	while (dev->allocators) {
		struct allocator *next = dev->allocators->next;
		mem_free(dev->allocators);
		dev->allocators = next;
	}
}

/* What is live */

/* Both pools' entries, from mem_alloc; other threads may create more while this looks. */
static kz_status pool_list_live(kz_live_memory **out, int64_t *count, kz_device *dev, kz_error *err)
{
	kz_live_memory *list = NULL;
	int64_t room = 0, first = 0, second = 0;
	for (;;) {
		first = mempool_list(&dev->pools[MEMPOOL_DEVICE], list, room);
		if (first <= room) {
			second = mempool_list(&dev->pools[MEMPOOL_PINNED], list + first,
				room - first);
		}
		if (first + second <= room) {
			break;
		}
		mem_free(list);
		room = 2 * (first + second);
		list = mem_zalloc((size_t)room, sizeof(*list));
		if (!list) {
			return error_no_memory(err);
		}
	}
	*out = list;
	*count = first + second;
	return KZ_OK;
}

kz_status kz_device_list_memory(kz_device *dev, kz_live_memory_fn *each, void *user, kz_error *err)
{
	error_scope(err);
	kz_live_memory *list;
	int64_t count;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (!each && (st = error_set(err, KZ_INVALID, "%s: expected a function, got NULL",
		__func__)))
	    || (st = pool_list_live(&list, &count, dev, err))) {
		return st;
	}
	for (int64_t i = 0; i < count; i++) {
		each(user, &list[i]);
	}
	mem_free(list);
	return KZ_OK;
}

kz_status kz_device_count_live(kz_device *dev, kz_live_counts *out, kz_error *err)
{
	error_scope(err);
	kz_memory_stats memory, pinned;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(out, "a kz_live_counts", err))) {
		return st;
	}
	kz_device_memory_stats(dev, &memory);
	kz_device_pinned_stats(dev, &pinned);
	*out = (kz_live_counts){
		.memory = memory.live_count + pinned.live_count,
		.streams = atomic_load(&dev->live[DEVICE_STREAM]),
		.events = atomic_load(&dev->live[DEVICE_EVENT]),
		.modules = atomic_load(&dev->live[DEVICE_MODULE]),
	};
	return KZ_OK;
}

struct leaks {
	FILE *stream;
	const char *device;
	int64_t count;
	int64_t size;
};

static void pool_print_leak(void *user, const kz_live_memory *memory)
{
	struct leaks *leaks = user;
	char name[128];
	fprintf(leaks->stream, "%s: %" PRId64 " byte%s live at 0x%" PRIx64 ": %s", leaks->device,
		memory->size, plural(memory->size), memory->address,
		live_describe(name, sizeof(name), memory));
	if (memory->number) {
		fprintf(leaks->stream, ", number %" PRId64, memory->number);
	}
	fputc('\n', leaks->stream);
	leaks->count++;
	leaks->size += memory->size;
}

static void pool_print_count(const struct leaks *leaks, int64_t count, const char *kind)
{
	if (count > 0) {
		fprintf(leaks->stream, "%s: %" PRId64 " %s%s live\n", leaks->device, count, kind,
			plural(count));
	}
}

kz_status kz_device_print_leaks(kz_device *dev, FILE *stream, kz_error *err)
{
	error_scope(err);
	struct leaks leaks = {.stream = stream, .device = kz_device_name(dev)};
	kz_live_counts live;
	kz_status st = pointer_check(stream, "a stream of stdio", err);
	errno = EIO;
	if (st || (st = kz_device_count_live(dev, &live, err))
	    || (st = kz_device_list_memory(dev, pool_print_leak, &leaks, err))) {
		return st;
	}
	if (leaks.count > 0) {
		fprintf(stream, "%s: %" PRId64 " live, of %" PRId64 " bytes\n", leaks.device,
			leaks.count, leaks.size);
	}
	pool_print_count(&leaks, live.streams, "stream");
	pool_print_count(&leaks, live.events, "event");
	pool_print_count(&leaks, live.modules, "module");
	if ((st = leaks_print(dev, stream, err))) {
		return st;
	}
	/* Of a full disk only a flush knows. */
	return fflush(stream) != 0 || ferror(stream) ? error_os(err, errno, "fflush",
		"cannot print the list of live objects") : KZ_OK;
}
