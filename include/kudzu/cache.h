/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CACHE_H
#define KUDZU_CACHE_H

/*
 * The cache: what was compiled once is not compiled again, in this process or another one.
 *
 *	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
 *	char why[1024];
 *	if (kz_cache_stats(&figures, &err)
 *	    || kz_cache_why(why, sizeof(why), dev, source, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	printf("%lld compiles; the next one: %s\n", (long long)figures.compiles, why);
 *
 * Images are kept in memory, and in files below KUDZU_CACHE_DIR, else XDG_CACHE_HOME/kudzu, else
 * ~/.cache/kudzu.  KUDZU_CACHE=0 keeps none on disk; KUDZU_CACHE_SIZE (1G; K, M, G) is how much there
 * may be.  No trouble with the cache is ever an error of a compile.  An image is found again only if
 * all that it depends on is the same: source, options, headers, compiler, and Kudzu itself.
 */
#include <kudzu/device.h>
#include <kudzu/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the cache did in this process.  Initialize with KZ_CACHE_FIGURES_INIT. */
typedef struct kz_cache_figures {
	size_t size;             /**< sizeof(kz_cache_figures) */
	int64_t compiles;        /**< calls of the compiler, failed ones too */
	int64_t not_cached;      /**< of these: what no key can hold, such as __TIME__ */
	int64_t memory_hits;     /**< images that were in memory */
	int64_t memory_count;    /**< images there now */
	int64_t memory_size;     /**< bytes of these */
	int64_t disk_hits;       /**< images that were on disk */
	int64_t disk_absent;     /**< that were not */
	int64_t disk_damaged;    /**< whose file was damaged, and is gone */
	int64_t disk_foreign;    /**< whose file another user can write */
	int64_t disk_other_key;  /**< whose file has another key with the same hash */
	int64_t disk_failed;     /**< whose file could not be read */
	int64_t stored;          /**< images written */
	int64_t not_stored;      /**< images that could not be written */
	int64_t evicted;         /**< files removed to keep the size */
	int64_t size_max;        /**< bytes that may be on disk */
	int last_errno;          /**< of what failed last on disk; 0: nothing */
	const char *folder;      /**< on disk; NULL: there is none.  Lives as long as the process */
	const char *why_off;     /**< why nothing is kept on disk; NULL: it is.  Static */
	void *reserved[4];
} kz_cache_figures;

#ifdef __cplusplus
#define KZ_CACHE_FIGURES_INIT kz_sized_init<kz_cache_figures>()
#else
#define KZ_CACHE_FIGURES_INIT {.size = sizeof(kz_cache_figures)}
#endif

/** An entry on disk; the texts are borrowed for the call. */
typedef struct kz_cache_entry {
	const char *kind; /**< "image": of the compiler; "cpu": machine code of the CPU
			       * device; "outline" and "list": the kernels of a text */
	const char *name; /**< of the source, "" if unknown */
	const char *arch; /**< what it was asked to be compiled for, "" if unknown */
	int64_t size;     /**< bytes */
	int64_t used_ns;  /**< when it was last used, to the hour; since 1970 */
} kz_cache_entry;

/**
 * Tell what the cache did in this process.
 *
 * @param out its size set by KZ_CACHE_FIGURES_INIT.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_stats(kz_cache_figures *out, kz_error *err);

/**
 * Show every entry on disk, in no order.
 *
 * @param each called for each; returns 0 to go on, anything else to stop.
 * @param arg passed on to it.
 * @return KZ_OK; KZ_IO if the folder cannot be read; KZ_STATE if there is none; KZ_INVALID;
 *         KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_list(int (*each)(void *arg, const kz_cache_entry *entry),
	void *arg, kz_error *err);

/**
 * Forget everything, on disk and in memory.
 *
 * Modules and images that somebody has stay.
 *
 * @param count set to the number of files that are gone; may be NULL.
 * @return KZ_OK, also where there is no folder; KZ_IO if some could not be removed; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_clear(int64_t *count, kz_error *err);

/**
 * Say whether a compile would be a hit on disk, and if not, what is different.
 *
 * Nothing is compiled.  The first word is "hit", "miss", "off" (with the reason) or "not cached"
 * (with the reason).  A miss names what differs from the entry that is most like it.
 *
 * @param text the answer, one or more lines, cut to fit; may be NULL if `size` is 0.
 * @param dev the device of a kz_module_compile; NULL for a kz_compile.
 * @param source zero-terminated CUDA C++.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for what cannot be compiled either; KZ_NO_COMPILER; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_why(char *text, size_t size, kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
