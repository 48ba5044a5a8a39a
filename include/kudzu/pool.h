/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_POOL_H
#define KUDZU_POOL_H

/*
 * The memory that the library holds: figures, limits, who still has some, where it comes from.
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
 * Buffers and arrays are blocks of segments that the device's pool has from the driver; what is
 * released stays in the pool.  Blocks are multiples of 512 bytes: 8 bytes take 512.  For a block of
 * up to 1 MiB the pool reserves 2 MiB at a time, for a larger one its size rounded up to 2 MiB; when
 * the device is too full for that, just the block.  The two sorts of segments do not mix.
 *
 * Reuse is ordered by streams, without waiting: a block goes to work of the stream that used it last
 * at once, to other streams when that one is done or behind it.  The pool waits for the device only
 * when memory has run out; then it gives back what is unused and tries once more.  A graph that was
 * captured uses its memory at each launch: keep the buffers as long as the graph.
 *
 * KUDZU_POOL=0 in the environment has every buffer come from the driver and go back to it at once,
 * which is slow but shows tools such as compute-sanitizer, and the CPU device, where each one ends.
 *
 * Pinned memory (pinned.h) has a pool of the same kind for each device.
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
	int64_t peak_size;          /**< the most that live_size has been */
	int64_t live_count;         /**< live buffers */
	int64_t total_count;        /**< buffers ever created */
	int64_t reserved_size;      /**< bytes that the driver gave: live ones, and kept ones */
	int64_t peak_reserved_size; /**< the most that reserved_size has been */
	int64_t segment_count;      /**< pieces that reserved_size is in */
} kz_memory_stats;

/** Report the memory that buffers and arrays of a device take; nothing happens without `out`. */
KZ_API void kz_device_memory_stats(const kz_device *dev, kz_memory_stats *out);

/** Report the pinned memory that was created for a device; nothing happens without `out`. */
KZ_API void kz_device_pinned_stats(const kz_device *dev, kz_memory_stats *out);

/** Let both peaks of a device's memory, and of its pinned memory, begin again from now. */
KZ_API void kz_device_reset_peaks(kz_device *dev);

/**
 * Give memory that is kept but not used back to the driver, pinned memory too.
 *
 * @param keep bytes: nothing more is given back once this much, or less, is reserved.  0: all.
 * @return KZ_OK; KZ_INVALID for a negative number; the device's failure.
 *
 * Waits for the device if work on that memory is in flight.
 */
KZ_API KZ_NODISCARD kz_status kz_device_trim(kz_device *dev, int64_t keep, kz_error *err);

/**
 * Limit the device memory that the library reserves; a buffer that needs more is
 * KZ_DEVICE_MEMORY.
 *
 * @param size bytes, 0 for no limit.  What is reserved already stays.
 * @return KZ_OK; KZ_INVALID for a negative number.
 */
KZ_API KZ_NODISCARD kz_status kz_device_limit_memory(kz_device *dev, int64_t size, kz_error *err);

/**
 * Have buffers come from the pool, or each from the driver, from now on.
 *
 * @param enabled 0 for the driver; the pool keeps what is live, trim gives back the rest.
 * @return KZ_OK.
 */
KZ_API KZ_NODISCARD kz_status kz_device_use_pool(kz_device *dev, int enabled, kz_error *err);

/** Memory that something still holds. */
typedef struct kz_live_memory {
	int64_t number;   /**< it was the number-th of its device, from 1; 0 for wrapped memory */
	uint64_t address; /**< 0 for nothing */
	int64_t size;     /**< bytes, as asked for */
	kz_dtype dtype;   /**< of the array that it was made for; 0 for a buffer */
	int64_t count;    /**< elements of that array; 0 for a buffer */
	int pinned;       /**< whether it is pinned host memory */
} kz_live_memory;

/** What kz_device_list_memory calls for each piece of memory. */
typedef void kz_live_memory_fn(void *user, const kz_live_memory *memory);

/**
 * List all memory of a device that is live: at the end of a program, what was never released.
 * The numbers are those of a single thread's creations, the same in each run: stop at that one in a
 * debugger, or compare two runs.
 *
 * @param each called once for each piece, in no order, after the list is complete: it may use the
 *        library.
 * @param user handed to `each`.
 * @return KZ_OK; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_device_list_memory(kz_device *dev, kz_live_memory_fn *each,
	void *user, kz_error *err);

/**
 * Write a line for each piece of memory that is live, and one with their sum; nothing if there is
 * none.
 *
 * @return KZ_OK; KZ_NO_MEMORY; KZ_IO.
 */
KZ_API KZ_NODISCARD kz_status kz_device_print_leaks(kz_device *dev, FILE *stream, kz_error *err);

/**
 * Where the buffers of a device come from, in the place of the pool and the driver.  Set `size` by
 * KZ_ALLOCATOR_INIT.  The callbacks may be called by any thread, several at once.
 */
typedef struct kz_allocator {
	size_t size; /**< sizeof(kz_allocator) */
	/**
	 * Find memory that kernels and copies of the device can use, in `stream` at once.
	 *
	 * @param address set to it; a multiple of 256.
	 * @param bytes what is asked for, from 1.
	 * @param stream never NULL.
	 * @return KZ_OK; else the creation of the buffer fails with this status, and with what was
	 *         written to err.
	 */
	kz_status (*alloc)(void *user, uint64_t *address, int64_t bytes, kz_stream *stream,
		kz_error *err);
	/**
	 * Take it back.  Its last use may be in flight: in `stream`, which may be NULL for none.  Also
	 * called for a device that was lost.
	 */
	void (*free)(void *user, uint64_t address, int64_t bytes, kz_stream *stream);
	void *user; /**< handed to both */
} kz_allocator;

/** What a kz_allocator is initialized with. */
#ifdef __cplusplus
#define KZ_ALLOCATOR_INIT kz_sized_init<kz_allocator>()
#else
#define KZ_ALLOCATOR_INIT {.size = sizeof(kz_allocator)}
#endif

/**
 * Have buffers and arrays come from an allocator of one's own, from now on.  Each goes back to the
 * one that it came from.
 *
 * @param allocator copied; NULL for the pool and the driver again.
 * @return KZ_OK; KZ_INVALID for a wrong size or a missing function; KZ_NO_MEMORY.
 * Ownership: `user` must live until the last of its buffers is released.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_allocator(kz_device *dev, const kz_allocator *allocator,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
