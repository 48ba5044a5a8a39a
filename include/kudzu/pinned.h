/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_PINNED_H
#define KUDZU_PINNED_H

/*
 * Pinned host memory.  The device copies from and to it directly, so asynchronous copies overlap
 * with the program and with kernels.  Every copy accepts other host memory, too, but may then
 * wait.
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
 */
#include <kudzu/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
