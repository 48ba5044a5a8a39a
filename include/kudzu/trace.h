/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_TRACE_H
#define KUDZU_TRACE_H

/*
 * A trace of what the library does, in the trace format of Chrome, which https://ui.perfetto.dev
 * and chrome://tracing show.
 *
 *	if (kz_trace_begin("trace.json", &err)
 *	    || kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(a))
 *	    || kz_device_synchronize(dev, &err)
 *	    || kz_trace_end(&err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * KUDZU_TRACE=trace.json in the environment begins it when the first device is opened.  "%p" in the
 * name stands for the number of the process: each process of KUDZU_TRACE=trace.%p.json has a file
 * of its own.  Without it, a process that finds the file in use by another one adds its number to
 * the name: trace.json.4711.
 *
 * Each device has a process in the trace, and each of its streams a thread.  In it are the
 * launches, with grid, block and shared memory, the copies and the fills, with their bytes, at the
 * times at which the device ran them.  Events of the driver around each operation measure these
 * times.  What threads of the program did is in the process "host": sources compiled or found in
 * the cache, modules loaded, kernels made ready (the CPU device makes machine code then), memory
 * that came from the driver, buffers created and released with their bytes, and the calls for each
 * launch and copy.
 *
 * Ranges and marks of NVTX in the program appear in it, too, if NVTX_INJECTION64_PATH in the
 * environment is the path of libkudzu.so, as this program loads it.  Wide strings and the names of
 * domains are left out.  If that variable names another library, a tool as Nsight Systems sets it,
 * the tool gets a range for each call that launches, copies or fills, with or without a trace.
 *
 * The library writes when the program waits for a stream or a device, and every megabyte.  After
 * each write the file is a whole JSON array, also if the disk was full: then the rest of the trace
 * is lost, and kz_trace_end says so.  A program that ends without kz_trace_end loses at most what
 * came after its last wait.
 *
 * A call that puts its result over the handle of an object, as kz_add(&a, a, 1, &err), has a mark
 * in the category "leak" if that object was not released before its device is closed or the trace
 * ends; see leaks.h, whose list is kept from the beginning of the trace.
 *
 * If kz_event_elapsed_ms is asked for the time between two events of one stream, and all the work
 * between them went to other streams, the call has a mark in the category "warning": the events
 * measured nothing of it.
 *
 * Work of a captured stream has no times until its graph is launched: the trace has the call alone.
 * Work that others put into a stream, as cuBLAS does, is not in the trace.
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Begin the trace of this process.
 *
 * @param path of the file, which is created or emptied; it must be a file that can be positioned,
 *        not a pipe.
 * @return KZ_OK; KZ_STATE if a trace is on already, or another process writes its trace to this
 *         file; KZ_INVALID without a path; KZ_NOT_FOUND if there is no such folder; KZ_PERMISSION,
 *         KZ_IO if the file cannot be written; KZ_NO_MEMORY.
 * Threads: any.  It covers all threads and devices of the process.
 */
KZ_API KZ_NODISCARD kz_status kz_trace_begin(const char *path, kz_error *err);

/**
 * Wait for the work that is traced, write it and end the trace.
 *
 * @return KZ_OK; KZ_STATE if no trace is on; KZ_IO if the file could not be written, also earlier;
 *         KZ_NO_MEMORY if events are missing because memory ran out.  In each case but KZ_STATE the
 *         trace has ended.
 */
KZ_API KZ_NODISCARD kz_status kz_trace_end(kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
