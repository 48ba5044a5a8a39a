/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CACHE_H
#define KUDZU_CACHE_H

/*
 * The cache: no source is compiled twice, in this process or in another one.
 *
 *	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
 *	char why[1024];
 *	if (kz_cache_stats(&figures, &err)
 *	    || kz_cache_why(why, sizeof(why), dev, source, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	printf("%lld compiles; the next one: %s\n", (long long)figures.compiles, why);
 *
 * The cache keeps images in memory, and in files below KUDZU_CACHE_DIR, else XDG_CACHE_HOME/kudzu,
 * else ~/.cache/kudzu.  KUDZU_CACHE=0 turns off the files.  KUDZU_CACHE_SIZE (default 1G; units K,
 * M, G) limits their size.  A problem with the cache never makes a compile fail; a value of these
 * variables that makes no sense does (KZ_INVALID).  An image is found again only if everything that
 * it depends on is the same: source, options, headers, compiler, and Kudzu itself.
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
	int64_t not_cached;      /**< compiles that no key describes, as with __TIME__ */
	int64_t memory_hits;     /**< images found in memory */
	int64_t memory_count;    /**< images in memory now */
	int64_t memory_size;     /**< their size in bytes */
	int64_t disk_hits;       /**< images found on disk */
	int64_t disk_absent;     /**< images not found on disk */
	int64_t disk_damaged;    /**< images whose file was damaged, and was removed */
	int64_t disk_foreign;    /**< images whose file another user can write */
	int64_t disk_other_key;  /**< images whose file has another key with the same hash */
	int64_t disk_failed;     /**< images whose file could not be read */
	int64_t stored;          /**< images written */
	int64_t not_stored;      /**< images that could not be written */
	int64_t evicted;         /**< files removed to keep the limit */
	int64_t size_max;        /**< the limit on disk in bytes */
	int last_errno;          /**< of the last failure on disk; 0: none */
	const char *folder;      /**< on disk; NULL: none.  Lives as long as the process */
	const char *why_off;     /**< why nothing is kept on disk; NULL if it is.  Static */
	void *reserved[4];
} kz_cache_figures;

#ifdef __cplusplus
#define KZ_CACHE_FIGURES_INIT kz_sized_init<kz_cache_figures>()
#else
#define KZ_CACHE_FIGURES_INIT {.size = sizeof(kz_cache_figures)}
#endif

/** An entry on disk; the texts are borrowed for the call. */
typedef struct kz_cache_entry {
	const char *kind; /**< "image": of the compiler; "cpu": machine code of the CPU device;
			       * "tune": what kz_tune keeps; "deps" and "nvrtc": what is known of
			       * headers and NVRTC */
	const char *name; /**< of the source, "" if unknown */
	const char *arch; /**< the architecture that the compile asked for, "" if unknown */
	int64_t size;     /**< bytes */
	int64_t used_ns;  /**< last use, in nanoseconds since 1970, exact to the hour */
} kz_cache_entry;

/**
 * Report what the cache did in this process.
 *
 * @param out its size set by KZ_CACHE_FIGURES_INIT.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_stats(kz_cache_figures *out, kz_error *err);

/**
 * List all entries on disk, in no order.
 *
 * @param each called for each entry; returns 0 to go on, any other number to stop.
 * @param arg passed to `each`.
 * @return KZ_OK; KZ_IO if the folder cannot be read; KZ_STATE if there is no folder; KZ_INVALID;
 *         KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_list(int (*each)(void *arg, const kz_cache_entry *entry),
	void *arg, kz_error *err);

/**
 * Remove all entries, on disk and in memory, and the CUDA headers that NVRTC has written there.
 *
 * Modules and images that the program holds stay valid.
 *
 * @param count set to the number of entries on disk that were removed; may be NULL.
 * @return KZ_OK, also without a folder; KZ_IO if a file could not be removed; KZ_INVALID for a
 *         variable of the cache that makes no sense; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_clear(int64_t *count, kz_error *err);

/**
 * Say whether a compile would be a hit on disk, and if not, why.
 *
 * This compiles nothing.  The text begins with "hit", "miss", "off" (with the reason) or "not
 * cached" (with the reason).  A miss names the difference from the most similar entry.
 *
 * @param text host memory for the answer, one or more lines, cut to fit; may be NULL if `size` is
 *        0.
 * @param size bytes at `text`.
 * @param dev the device of a kz_module_compile; NULL for a kz_compile.
 * @param source zero-terminated CUDA C++.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for arguments that a compile refuses, too; KZ_NO_COMPILER;
 *         KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_cache_why(char *text, size_t size, kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
