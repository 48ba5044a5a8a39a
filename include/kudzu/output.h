/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_OUTPUT_H
#define KUDZU_OUTPUT_H

/*
 * What kernels print: printf and failed assertions, to a function or a file that the program names.
 *
 *	static void show(void *user, kz_output_kind kind, const char *text, int64_t size)
 *	{
 *		fwrite(text, 1, (size_t)size, kind == KZ_OUTPUT_ASSERT ? stderr : stdout);
 *	}
 *
 *	if (kz_device_set_output(dev, show, NULL, &err)
 *	    || kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(a))
 *	    || kz_device_synchronize(dev, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Until a program names one, and always on a GPU, the driver decides: printf goes to standard
 * output, an assertion that fails to standard error.  NVIDIA's driver keeps what kernels print in a
 * buffer of the device, and writes it when the program waits for the device.  The CPU device passes
 * each text on while the kernel runs.
 *
 * Text that the CPU device could not write, as on a full disk or into a pipe that nobody reads, is
 * lost.  kz_device_synchronize, kz_stream_synchronize and kz_event_synchronize flush what kernels
 * printed to a file.  The next of them fails once with the system's reason, mostly KZ_IO, and the
 * work that it waited for is done all the same.  The process gets neither SIGPIPE nor SIGXFSZ.
 */
#include <kudzu/device.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a text of a kernel is.  The numbers never change. */
typedef enum kz_output_kind {
	KZ_OUTPUT_PRINTF = 0, /**< of one printf */
	KZ_OUTPUT_ASSERT = 1  /**< the line of an assertion that failed, with its block and
	                           thread */
} kz_output_kind;

/**
 * The function that a device calls for each text.
 *
 * Threads: one of the device's, one call at a time, while the kernel waits.  It must not call the
 * library: what needs the device is KZ_PERMISSION there.
 *
 * @param text `size` bytes and no NUL after them; lives as long as the call.
 */
typedef void kz_output_fn(void *user, kz_output_kind kind, const char *text, int64_t size);

/**
 * Name the function that gets what kernels of a device print from now on.
 *
 * @param function NULL for standard output and standard error, as the driver has them.
 * @param user passed to `function`.
 * @return KZ_OK; KZ_INVALID for no device; KZ_UNSUPPORTED if the driver writes to standard output
 *         itself, as NVIDIA's does; KZ_PERMISSION in such a function; the loss of the device.
 * Ownership: `user` must live until another function is named, or the device has ended: all handles
 *        on
 * it are closed and its objects released.  Then no call is in progress.
 * Threads: any; it waits for a call in progress.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_output(kz_device *dev, kz_output_fn *function,
	void *user, kz_error *err);

/**
 * Name the file that gets what kernels of a device print from now on, both kinds.
 *
 * @param file of stdio, which the program closes; NULL as kz_device_set_output.
 * @return as kz_device_set_output.
 * Ownership: `file` must stay open as long as `user` of kz_device_set_output.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_output_file(kz_device *dev, FILE *file, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
