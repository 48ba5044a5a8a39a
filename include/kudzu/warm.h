/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_WARM_H
#define KUDZU_WARM_H

/*
 * Warming up: compile many sources ahead, several at a time.
 *
 *	kz_warm_up_source sources[] = {{scan_text, NULL}, {sort_text, &options}};
 *	if (kz_warm_up(dev, sources, 2, 0, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * In one process the compiler reads one source at a time, however many threads call it.  So
 * kz_warm_up starts processes, as no other call of the library but kz_tune does: `kudzu worker`,
 * which compiles into the cache on disk.  Where that command is not installed, or others may have
 * written its file, the calling thread compiles one source after the other.
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
	int64_t cached;    /**< sources that were in the cache, in memory or on disk */
	int64_t failed;    /**< sources that do not compile */
	int64_t processes; /**< processes that were started; 0 if this one compiled alone */
} kz_warm_up_result;

/**
 * Compile sources into the cache, so that kz_module_compile finds them there.
 *
 * If a source fails, the others are still compiled.
 *
 * @param dev the device to compile for; NULL compiles as kz_compile does.
 * @param sources `count` sources; texts and options are borrowed for the call.
 * @param processes the most to start; 0: one for each core that this process may use; 1: compile
 *        here.
 * @param result set to what was done, also if sources failed.  May be NULL.
 * @return KZ_OK; for the first source that fails, what kz_module_compile returns; KZ_INVALID.
 * Async: returns when all is done and the processes have ended.
 */
KZ_API KZ_NODISCARD kz_status kz_warm_up(kz_device *dev, const kz_warm_up_source *sources,
	int64_t count, int64_t processes, kz_warm_up_result *result, kz_error *err);

/**
 * Compile the sources that come from a socket, until it is closed.  `kudzu worker` calls this.
 *
 * @return 0, or 1 if something came that is not a request.
 */
KZ_API int kz_warm_up_serve(int socket);

#ifdef __cplusplus
}
#endif

#endif
