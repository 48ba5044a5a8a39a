/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_PREPARED_H
#define KUDZU_PREPARED_H

/*
 * Prepared launches: check and convert the arguments once, launch often.
 *
 *	kz_prepared *step = NULL;
 *	if (kz_prepared_create(&step, saxpy, grid, block, NULL, &err, KZ_ARGS(2.0f, x, y, n))
 *	    || kz_prepared_launch(step, NULL, &err)
 *	    || kz_prepared_set(step, 0, KZ_ARG(3.0f), &err)
 *	    || kz_prepared_launch(step, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_prepared_release(step);
 *
 * A launch then costs little more than the driver's own call.  It takes no lock and allocates
 * nothing.
 */
#include <kudzu/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A launch with its arguments; opaque. */
typedef struct kz_prepared kz_prepared;

/**
 * Prepare a launch, without launching.
 *
 * @param grid blocks; as for kz_launch.
 * @param block threads; as for kz_launch.
 * @param options as for kz_launch; its stream is the one that kz_prepared_launch uses by default.
 *        NULL for the defaults.
 * @param args KZ_ARGS(...), as for kz_launch; bytes behind KZ_VALUE are copied.  KZ_IN, KZ_OUT and
 *        KZ_INOUT are refused.
 * @return KZ_OK; KZ_ARGUMENT if the arguments do not match the kernel's parameters, and for host
 *         memory; KZ_LAUNCH if the grid, the block or the shared memory exceeds the device's
 *         limits; KZ_INVALID; KZ_UNSUPPORTED; KZ_NO_MEMORY.
 * Ownership: release it with kz_prepared_release.  It keeps the kernel's module, the stream of the
 *         options, and the memory of its arrays and buffers alive, so you may release these.  An
 *         address by KZ_DEVPTR is borrowed.
 * Threads: several threads may launch it at the same time, but not while one of them changes it.
 */
KZ_API KZ_NODISCARD kz_status kz_prepared_create(kz_prepared **out, kz_kernel *kernel, kz_dim3 grid,
	kz_dim3 block, const kz_launch_options *options, kz_error *err, kz_args args);

/**
 * Change one argument.  Launches that were made before keep the old one.
 *
 * @param index of the argument, from 0.
 * @param value KZ_ARG(x), or one of KZ_F, KZ_VALUE, KZ_DEVPTR; checked as in kz_launch.
 * @return KZ_OK; KZ_ARGUMENT; KZ_RANGE for an index that the kernel does not have; KZ_INVALID.
 *         After a failure the argument is the old one.
 */
KZ_API KZ_NODISCARD kz_status kz_prepared_set(kz_prepared *prepared, int64_t index, kz_arg value,
	kz_error *err);

/**
 * Change the grid and the block; as for kz_launch.
 *
 * @return KZ_OK; KZ_LAUNCH; KZ_INVALID.  After a failure they are the old ones.
 */
KZ_API KZ_NODISCARD kz_status kz_prepared_set_grid(kz_prepared *prepared, kz_dim3 grid,
	kz_dim3 block, kz_error *err);

/**
 * Launch.
 *
 * @param stream of the kernel's device; NULL for the one of the options.
 * @return KZ_OK; KZ_INVALID; the driver's failures, which may belong to earlier work.
 * Async: returns before the kernel has run.
 */
KZ_API KZ_NODISCARD kz_status kz_prepared_launch(kz_prepared *prepared, kz_stream *stream,
	kz_error *err);

/** Release a prepared launch.  Launches in flight go on.  NULL is fine. */
KZ_API void kz_prepared_release(kz_prepared *prepared);

#ifdef __cplusplus
}
#endif

#endif
