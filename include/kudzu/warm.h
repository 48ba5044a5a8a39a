/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_WARM_H
#define KUDZU_WARM_H

/*
 * Warming up: many sources are compiled ahead, several at a time.
 *
 *	kz_warm_up_source sources[] = {{scan_text, NULL}, {sort_text, &options}};
 *	if (kz_warm_up(dev, sources, 2, 0, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The compiler reads one source at a time in a process, however many threads ask: eight kernels with
 * big headers take as long in two threads as in one.  So this is the one call of the library that
 * starts programs: `kudzu worker`, which compiles into the cache on disk.  Where the command is not
 * installed, or others may have written its file, the calling thread compiles one source after the
 * other.
 */
#include <kudzu/image.h>
#include <kudzu/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One source to compile. */
typedef struct kz_warm_up_source {
	const char *source;                /**< zero-terminated CUDA C++ */
	const kz_compile_options *options; /**< NULL for the defaults */
} kz_warm_up_source;

/** What kz_warm_up did. */
typedef struct kz_warm_up_result {
	int64_t compiled;  /**< sources that had to be compiled */
	int64_t cached;    /**< sources that were there, in memory or on disk */
	int64_t failed;    /**< sources that do not compile */
	int64_t processes; /**< that were started; 0 if this one has done it alone */
} kz_warm_up_result;

/**
 * Compile sources into the cache, so that kz_module_compile finds them there.
 *
 * Every source is tried, also after one that fails.
 *
 * @param dev the device to compile for; NULL: as kz_compile does.
 * @param sources `count` sources; texts and options are borrowed for the call.
 * @param processes the most to start; 0: one for each core that this process may use; 1: compile here.
 * @param result what was done, also when sources have failed.  May be NULL.
 * @return KZ_OK; of the first source that fails what kz_module_compile returns; KZ_INVALID.
 * Async: returns when all is done; the processes have ended then.
 */
KZ_API KZ_NODISCARD kz_status kz_warm_up(kz_device *dev, const kz_warm_up_source *sources,
	int64_t count, int64_t processes, kz_warm_up_result *result, kz_error *err);

/**
 * Be such a process: compile what comes from a socket until it is closed.  For `kudzu worker`.
 *
 * @return 0, or 1 if what came is no request.
 */
KZ_API int kz_warm_up_serve(int socket);

#ifdef __cplusplus
}
#endif

#endif
