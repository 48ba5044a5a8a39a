/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_HOST_MEMORY_H
#define KUDZU_HOST_MEMORY_H

/*
 * Memory that the host uses, too: pinned host memory, and managed memory.
 *
 * The device copies from and to pinned memory directly, so asynchronous copies overlap with the
 * program and with kernels.  Every copy accepts other host memory, too, but may then wait.
 *
 *	kz_pinned *pinned = NULL;
 *	if (kz_pinned_create(&pinned, dev, size, &err)) {
 *		kz_error_print(&err, stderr);
 *		return;
 *	}
 *	memcpy(kz_pinned_pointer(pinned), data, size);
 *	st = kz_copy_htod_async(buffer, 0, kz_pinned_pointer(pinned), size, stream, &err);
 *	kz_pinned_release(pinned);      // at once: it is reused when the stream has passed the copy
 *
 * A copy recognizes pinned memory of its device by any pointer into it.  It keeps the memory until
 * it is done.  Copies of one piece happen in the order of the calls, even in different streams.
 * The library does not see kernels and other devices that use the address: wait for them before
 * you release.
 *
 * Host and device use managed memory by one address: it moves to the one that uses it.  Kernels can
 * also reach pinned memory where it is (kz_pinned_buffer).
 *
 *	kz_buffer *buffer = NULL;
 *	kz_array *a = NULL;
 *	if (!kz_managed_create(&buffer, dev, 16 * sizeof(float), &err)
 *	    && !kz_array_wrap(&a, buffer, KZ_F32, KZ_SHAPE(16), NULL, 0, &err)) {
 *		float *host = kz_buffer_host(buffer);
 *		host[0] = 1;
 *		st = kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(a));
 *		st = st ? st : kz_device_synchronize(dev, &err);   // before the host looks
 *		printf("%g\n", host[0]);
 *	}
 *
 * Both are then a kz_buffer: kernels, copies, arrays and views take it.  The library orders the
 * work of streams on it, but does not see what the host does.  Before the host reads or writes the
 * memory, wait for the streams that use it.  On devices without
 * CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, wait for all work of the device before the host
 * touches any managed memory.
 */
#include <kudzu/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pinned memory */

/** A piece of pinned host memory; opaque. */
typedef struct kz_pinned kz_pinned;

/**
 * Allocate pinned host memory, from a pool of the device (see pool.h).  Its contents are undefined.
 *
 * @param size bytes, 0 allowed.
 * @return KZ_OK; KZ_INVALID for a negative size; KZ_NO_MEMORY, with requested, live and reserved
 *         bytes in the message if the driver had none; KZ_UNSUPPORTED if it cannot pin memory.
 * Ownership: release it with kz_pinned_release.
 */
KZ_API KZ_NODISCARD kz_status kz_pinned_create(kz_pinned **out, kz_device *dev, int64_t size,
	kz_error *err);

/**
 * Pin memory of the program, from malloc or mmap.
 *
 * This takes the driver about as long as a copy, so it pays for memory that is copied more than
 * once.
 *
 * @param pointer host memory, not pinned yet.  It must exist until kz_pinned_release has returned.
 * @param size bytes at `pointer`.
 * @return KZ_OK; KZ_INVALID for NULL and a negative size; KZ_RANGE; KZ_UNSUPPORTED if the driver
 *         cannot pin it; the driver's failures, as for memory that is pinned already;
 *         KZ_NO_MEMORY.
 * Ownership: release it with kz_pinned_release, which for such memory waits for the copies in
 * flight. The memory still belongs to the program.
 */
KZ_API KZ_NODISCARD kz_status kz_pinned_wrap(kz_pinned **out, kz_device *dev, void *pointer,
	int64_t size, kz_error *err);

/** Release pinned memory; copies in flight go on.  NULL is fine. */
KZ_API void kz_pinned_release(kz_pinned *pinned);

/**
 * Return the memory's address, for the program and for copies; aligned to 512; NULL for 0 bytes.
 */
KZ_API void *kz_pinned_pointer(const kz_pinned *pinned);

/** Return its size in bytes. */
KZ_API int64_t kz_pinned_size(const kz_pinned *pinned);

/* Managed memory, and kernels that use pinned memory */

/** Where managed memory should be; for kz_managed_advise.  Numbers are the driver's. */
typedef enum kz_advice {
	KZ_READ_MOSTLY = 1,      /**< it is mostly read: each user may have a copy */
	KZ_NOT_READ_MOSTLY = 2,
	KZ_PREFERRED_PLACE = 3,  /**< it stays on the device or host that is given */
	KZ_NO_PREFERRED_PLACE = 4,
	KZ_ACCESSED_BY = 5,      /**< the device or host that is given should reach it without
	                              faults */
	KZ_NOT_ACCESSED_BY = 6
} kz_advice;

/**
 * Allocate managed memory.  Its contents are undefined.
 *
 * @param size bytes, 0 allowed.
 * @return KZ_OK; KZ_INVALID for a negative size; KZ_DEVICE_MEMORY; KZ_UNSUPPORTED if the device has
 *         no managed memory; KZ_NO_MEMORY.
 * Ownership: release it with kz_buffer_release, which waits for the last use.  No pool keeps it.
 */
KZ_API KZ_NODISCARD kz_status kz_managed_create(kz_buffer **out, kz_device *dev, int64_t size,
	kz_error *err);

/**
 * Make a buffer of pinned memory, which kernels then read and write where it is, over the bus.
 *
 * Copies that get the pinned memory's pointer and work on the buffer are ordered among each other.
 *
 * @return KZ_OK; KZ_UNSUPPORTED if the device reaches the memory by another address or not at all;
 *         KZ_INVALID for NULL; KZ_NO_MEMORY.
 * Ownership: release it with kz_buffer_release, before or after the pinned memory: it keeps the
 *        memory
 * alive.  Memory of kz_pinned_wrap must exist until both are released.
 */
KZ_API KZ_NODISCARD kz_status kz_pinned_buffer(kz_buffer **out, kz_pinned *pinned, kz_error *err);

/**
 * Return the host's address of managed or pinned memory; NULL for a buffer that the host cannot
 * reach, and for one of 0 bytes.  It holds as long as the buffer or a view of it.
 */
KZ_API void *kz_buffer_host(const kz_buffer *buffer);

/**
 * Tell the driver where managed memory will be used.  This changes speed, never results.
 *
 * @param place the device; NULL for the host.  KZ_READ_MOSTLY, KZ_NOT_READ_MOSTLY and
 *        KZ_NO_PREFERRED_PLACE ignore it.
 * @return KZ_OK; KZ_INVALID for memory that is not managed and for an unknown advice;
 *         KZ_UNSUPPORTED by NVIDIA's drivers before 12.2; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_managed_advise(kz_buffer *buffer, kz_advice advice,
	kz_device *place, kz_error *err);

/**
 * Move managed memory to a device or to the host, before it is used there.
 *
 * @param place the device; NULL for the host.
 * @param stream of the buffer's device; NULL for its default stream.
 * @return as kz_managed_advise.
 * Async: returns at once; it moves after earlier work on the buffer, in the order of the stream.
 */
KZ_API KZ_NODISCARD kz_status kz_managed_prefetch(kz_buffer *buffer, kz_device *place,
	kz_stream *stream, kz_error *err);

/** Who may use managed memory; for kz_managed_attach.  Numbers are the driver's. */
typedef enum kz_attach {
	KZ_ATTACH_GLOBAL = 1, /**< every stream of every device, as at first */
	KZ_ATTACH_HOST = 2,   /**< the host; no stream of a device without
	                           CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS */
	KZ_ATTACH_SINGLE = 4  /**< kernels of one stream */
} kz_attach;

/**
 * Say who uses managed memory, so that the host may use it while other streams work.
 *
 * This matters on devices without CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: there the host
 * must not touch managed memory while a kernel runs that could reach it.  It concerns the whole
 * allocation, also if the buffer is a view of a part.
 *
 * @param stream of the buffer's device, by which KZ_ATTACH_SINGLE means this stream; NULL for its
 *        default stream.
 * @return as kz_managed_advise, for a kz_attach.
 * Async: returns at once; it holds after earlier work on the buffer, in the order of the stream.
 */
KZ_API KZ_NODISCARD kz_status kz_managed_attach(kz_buffer *buffer, kz_attach attach,
	kz_stream *stream, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
