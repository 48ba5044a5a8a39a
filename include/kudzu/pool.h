/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_POOL_H
#define KUDZU_POOL_H

/*
 * The memory that the library holds: statistics, limits, a list of live memory, allocators.
 *
 *	kz_memory_stats stats;
 *	kz_device_memory_stats(dev, &stats);
 *	printf("%lld bytes live, %lld reserved\n", (long long)stats.live_size,
 *		(long long)stats.reserved_size);
 *	if (kz_device_limit_memory(dev, 1LL << 30, &err)
 *	    || kz_device_trim(dev, 0, &err)
 *	    || kz_device_print_leaks(dev, stderr, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Each device has a pool.  The pool gets segments from the driver, and a buffer or array is a
 * block of a segment.  Released memory stays in the pool.  Blocks are multiples of 512 bytes: 8
 * bytes take 512. For a block of up to 1 MiB the pool reserves 2 MiB at a time.  For a larger one
 * it reserves the size rounded up to 2 MiB, or only the block when the device is too full for
 * that.  A segment has blocks of one of the two sorts.
 *
 * Reuse follows the order of streams and does not wait.  The stream that used a block last gets it
 * at once.  Another stream gets it when that stream is done, or after its work.  The pool waits
 * for the device only when memory has run out; it then returns what is unused to the driver and
 * tries once more.  A graph (graph.h) keeps the memory that it uses.
 *
 * KUDZU_POOL=0 in the environment makes every buffer come from the driver and go back to it at
 * once. That is slow, but it shows the end of each buffer to the CPU device and to tools such as
 * compute-sanitizer.
 *
 * Pinned memory (host_memory.h) has a pool of the same kind for each device.
 */
#include <kudzu/dtype.h>
#include <kudzu/memory.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much memory the library holds for a device. */
typedef struct kz_memory_stats {
	int64_t live_size;          /**< bytes in live buffers, each rounded up to 512 */
	int64_t peak_size;          /**< the largest live_size so far */
	int64_t live_count;         /**< live buffers */
	int64_t total_count;        /**< buffers ever created */
	int64_t reserved_size;      /**< bytes from the driver: live ones, and kept ones */
	int64_t peak_reserved_size; /**< the largest reserved_size so far */
	int64_t segment_count;      /**< allocations of the driver that make up reserved_size */
} kz_memory_stats;

/** Report the memory of a device's buffers and arrays; nothing happens if `out` is NULL. */
KZ_API void kz_device_memory_stats(const kz_device *dev, kz_memory_stats *out);

/** Report the pinned memory that was created for a device; nothing happens if `out` is NULL. */
KZ_API void kz_device_pinned_stats(const kz_device *dev, kz_memory_stats *out);

/** Set both peaks of a device's memory, and of its pinned memory, to the current values. */
KZ_API void kz_device_reset_peaks(kz_device *dev);

/**
 * Return unused memory of the pool to the driver, pinned memory too.  Unload the modules that were
 * released and kept for the next compile of the same source, whatever `keep` is.
 *
 * @param keep bytes: stop when this much, or less, is reserved.  0 returns all that is unused.
 * @return KZ_OK; KZ_INVALID for a negative number; the device's failure.
 * Async: waits for the device if work on that memory is in flight.
 */
KZ_API KZ_NODISCARD kz_status kz_device_trim(kz_device *dev, int64_t keep, kz_error *err);

/**
 * Limit the device memory that the library reserves.  To create a buffer that needs more fails with
 * KZ_DEVICE_MEMORY.
 *
 * @param size bytes, 0 for no limit.  Memory that is reserved already stays.
 * @return KZ_OK; KZ_INVALID for a negative number.
 */
KZ_API KZ_NODISCARD kz_status kz_device_limit_memory(kz_device *dev, int64_t size, kz_error *err);

/**
 * Choose whether buffers come from the pool, or each from the driver, from now on.
 *
 * @param enabled 0 for the driver.  The pool keeps what is live; kz_device_trim returns the rest.
 *                With KUDZU_CHECK buffers of the CPU device come from the driver anyway.
 * @return KZ_OK.
 */
KZ_API KZ_NODISCARD kz_status kz_device_use_pool(kz_device *dev, int enabled, kz_error *err);

/** A piece of live memory. */
typedef struct kz_live_memory {
	int64_t number;   /**< counts the creations of its device, from 1; 0 for wrapped memory */
	uint64_t address; /**< 0 if it has no bytes */
	int64_t size;     /**< bytes, as asked for */
	kz_dtype dtype;   /**< of the array for which it was created; 0 for a buffer */
	int64_t count;    /**< elements of that array; 0 for a buffer */
	int pinned;       /**< whether it is pinned host memory */
} kz_live_memory;

/** What kz_device_list_memory calls for each piece of memory. */
typedef void kz_live_memory_fn(void *user, const kz_live_memory *memory);

/**
 * List all live memory of a device: at the end of a program, what was never released.
 *
 * In a program with one thread the numbers are the same in each run, so you can stop at that
 * creation in a debugger, or compare two runs.
 *
 * @param each called once for each piece, in no order.  The list is complete before the first
 *        call, so `each` may use the library.
 * @param user passed to `each`.
 * @return KZ_OK; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_device_list_memory(kz_device *dev, kz_live_memory_fn *each,
	void *user, kz_error *err);

/** How many objects of a device are live. */
typedef struct kz_live_counts {
	int64_t memory;  /**< pieces of memory, pinned ones too, that are not wrapped */
	int64_t streams; /**< besides the default stream */
	int64_t events;  /**< created and not released */
	int64_t modules; /**< references, where several users share one */
} kz_live_counts;

/** Count the live objects of a device.  @return KZ_OK; KZ_INVALID for no device or no `out`. */
KZ_API KZ_NODISCARD kz_status kz_device_count_live(kz_device *dev, kz_live_counts *out,
	kz_error *err);

/**
 * Write a line for each piece of live memory, and a line with their sum.  A line follows for each
 * other kind of live objects, with their number.  If a list is kept (leaks.h), the last lines say
 * which line of the program created how many objects of each kind.  If nothing is live, nothing is
 * written.  kz_device_on_close says when the last handle on a device is closed:
 *
 *	static void report(void *user, kz_device *dev)
 *	{
 *		(void)!kz_device_print_leaks(dev, user, NULL);
 *	}
 *
 *	kz_device_on_close(dev, report, stderr, &err);
 *
 * @return KZ_OK; KZ_NO_MEMORY; KZ_IO.
 */
KZ_API KZ_NODISCARD kz_status kz_device_print_leaks(kz_device *dev, FILE *stream, kz_error *err);

/**
 * An allocator for the buffers of a device, in place of the pool and the driver.  Initialize with
 * KZ_ALLOCATOR_INIT.  Any thread may call the callbacks, several at once.
 */
typedef struct kz_allocator {
	size_t size; /**< sizeof(kz_allocator) */
	/**
	 * Find memory that kernels and copies of the device can use; those in `stream` at once.
	 *
	 * @param address set to the address; a multiple of 256.
	 * @param bytes at least 1.
	 * @param stream never NULL.
	 * @return KZ_OK.  With any other status the creation of the buffer fails, with this status
	 *         and with `err`.
	 */
	kz_status (*alloc)(void *user, uint64_t *address, int64_t bytes, kz_stream *stream,
		kz_error *err);
	/**
	 * Free that memory.  Its last use may still be in flight in `stream`; NULL: it is not.
	 * Also called for a device that was lost.
	 */
	void (*free)(void *user, uint64_t address, int64_t bytes, kz_stream *stream);
	void *user; /**< passed to both */
} kz_allocator;

/** What a kz_allocator is initialized with. */
#ifdef __cplusplus
#define KZ_ALLOCATOR_INIT kz_sized_init<kz_allocator>()
#else
#define KZ_ALLOCATOR_INIT {.size = sizeof(kz_allocator)}
#endif

/**
 * Set the allocator for buffers and arrays from now on.  Memory goes back to the allocator that it
 * came from.
 *
 * @param allocator copied; NULL for the pool and the driver.
 * @return KZ_OK; KZ_INVALID for a wrong size or a missing function; KZ_NO_MEMORY.
 * Ownership: `user` must live until the last of its buffers is released.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_allocator(kz_device *dev, const kz_allocator *allocator,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
