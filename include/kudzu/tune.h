/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_TUNE_H
#define KUDZU_TUNE_H

/*
 * Tuning: try a kernel with different blocks, macros and template arguments, and launch the
 * fastest.
 *
 *	const kz_tune_parameter parameters[] = {
 *		KZ_TUNE_VALUES(KZ_TUNE_BLOCK_X, NULL, 64, 128, 256),
 *		KZ_TUNE_VALUES(KZ_TUNE_MACRO, "UNROLL", 1, 2, 4),
 *	};
 *	kz_tunable scale = KZ_TUNABLE_INIT;
 *	scale.source = source;
 *	scale.kernel = "scale";
 *	scale.parameters = parameters;
 *	scale.parameter_count = 2;
 *	if (kz_tune(&tuning, dev, &scale, KZ_DIM(n), NULL, &err, KZ_ARGS(x, n))
 *	    || kz_tuning_print(tuning, stdout, &err)
 *	    || kz_tuning_launch(tuning, KZ_DIM(n), NULL, &err, KZ_ARGS(x, n))) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_tuning_release(tuning);
 *
 * A configuration has one value of each parameter.  kz_tune compiles and times all of them, and
 * keeps the best one in the cache on disk.  A later program calls kz_tuning_find in the place of
 * kz_tune: it loads what was kept, and tries nothing.
 *
 * What is kept is found again for the same device (model, compute capability, driver; on the CPU
 * device also its cores, LLVM and the KUDZU_CPU_... variables that change the code), source,
 * headers and compile options, kernel, table of parameters, label, and size: each extent counts up
 * to the next power of two.  It is a hint: the cache forgets what was not used for long
 * (KUDZU_CACHE_SIZE), and `kudzu cache clear` forgets all.
 *
 * A tuning belongs to one thread at a time.  Several threads may tune at once, and find.
 */
#include <kudzu/kernel.h>
#include <kudzu/timing.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a parameter changes.  The numbers never change. */
typedef enum kz_tune_kind {
	KZ_TUNE_BLOCK_X = 1, /**< threads of a block along x; its name, if any, is a macro, too */
	KZ_TUNE_BLOCK_Y = 2, /**< along y */
	KZ_TUNE_BLOCK_Z = 3, /**< along z */
	KZ_TUNE_MACRO = 4,   /**< the text of a macro of that name */
	KZ_TUNE_TEMPLATE = 5 /**< the next argument of the kernel, which is a template */
} kz_tune_kind;

/**
 * A parameter and its values.  KZ_TUNE_VALUES, KZ_TUNE_ITEMS and KZ_TUNE_WORDS make one; in C++
 * write the members: {KZ_TUNE_BLOCK_X, 0, nullptr, 3, blocks, nullptr, nullptr}.
 */
typedef struct kz_tune_parameter {
	int32_t kind;             /**< a kz_tune_kind */
	int32_t axis;             /**< of a macro or a template argument that says how many elements
	                               a thread works on: 1, 2 or 3 for x, y or z, along which the
	                               grid then has fewer blocks; else 0 */
	const char *name;         /**< of the macro; for tables and kz_tune_value.  NULL: "block_x",
	                               ...; a macro needs one */
	int64_t count;            /**< of values, at least 1 */
	const int64_t *values;    /**< numbers; NULL if `words` has them */
	const char *const *words; /**< texts, "float4", of a macro or a template argument; else
	                               NULL */
	const void *reserved;     /**< NULL */
} kz_tune_parameter;

#ifndef __cplusplus
/**
 * Make a parameter with 1 to 63 numbers: KZ_TUNE_VALUES(KZ_TUNE_BLOCK_X, NULL, 64, 128).
 *
 * The list of values lives until the end of the enclosing block, so a function cannot return such a
 * parameter.  At file scope it lives as long as the program.
 */
#define KZ_TUNE_VALUES(kind, name, ...) \
	{kind, 0, name, KZ_PP_COUNT(__VA_ARGS__), (const int64_t[]){__VA_ARGS__}, NULL, NULL}
/** Make one for the number of elements that a thread works on along an axis, 1 to 3; likewise. */
#define KZ_TUNE_ITEMS(kind, axis, name, ...) \
	{kind, axis, name, KZ_PP_COUNT(__VA_ARGS__), (const int64_t[]){__VA_ARGS__}, NULL, NULL}
/**
 * Make a parameter with 1 to 63 texts, as KZ_TUNE_VALUES:
 * KZ_TUNE_WORDS(KZ_TUNE_TEMPLATE, "T", "float", "half").
 */
#define KZ_TUNE_WORDS(kind, name, ...) \
	{kind, 0, name, KZ_PP_COUNT(__VA_ARGS__), NULL, (const char *const[]){__VA_ARGS__}, NULL}
#endif

/** A configuration, as the functions of the program see it; borrowed for the call. */
typedef struct kz_tune_config {
	const char *text;      /**< "block_x=64 UNROLL=4" */
	const int64_t *values; /**< of each parameter of the table; of words their index */
	kz_dim3 problem;       /**< the size that the call was given, in elements */
	kz_dim3 block;         /**< threads */
	kz_dim3 grid;          /**< blocks: the problem, divided by the block and by the elements of
	                            a thread, rounded up.  `accept` may change it */
	int64_t shared_size;   /**< dynamic shared memory in bytes, as the tunable has it.  `accept`
	                            may change it */
	const void *reserved;
} kz_tune_config;

/**
 * Return the value of the parameter of a name, "UNROLL" or "block_x"; of words their index; 0 if
 * there is no such parameter.
 */
KZ_API int64_t kz_tune_value(const kz_tune_config *config, const char *name);

/** The type of kz_tunable.accept. */
typedef int kz_tune_accept_fn(void *user, kz_tune_config *config);
/** The type of kz_tune_options.check. */
typedef int kz_tune_check_fn(void *user, const kz_tune_config *config);

/**
 * A kernel with the table of its parameters.  Initialize with KZ_TUNABLE_INIT.  All pointers are
 * borrowed for the call, but for accept and its user: these stay as long as the tuning.
 */
typedef struct kz_tunable {
	size_t size;                       /**< sizeof(kz_tunable) */
	const char *source;                /**< zero-terminated CUDA C++ */
	const char *kernel;                /**< its name; without arguments if parameters are the
	                                        template's */
	const kz_compile_options *compile; /**< NULL: the defaults; its defines get the macros,
	                                        too */
	const kz_tune_parameter *parameters; /**< at least one */
	int64_t parameter_count;           /**< 1 to 64 */
	kz_dim3 block;                     /**< extents that no parameter gives; 0: 1 */
	int64_t shared_size;               /**< dynamic shared memory in bytes, which accept may
	                                        change */
	kz_tune_accept_fn *accept;         /**< returns 0 for a configuration that shall not be
	                                        tried, else 1; it may set the grid and the shared
	                                        memory.  NULL: all that fit the device.  Kept
	                                        results are found whatever it is */
	void *user;                        /**< passed on to it */
	const char *label;                 /**< what else tells one use of the kernel from others,
	                                        for what is kept: "radius 3"; NULL: nothing */
	void *reserved[4];
} kz_tunable;

#ifdef __cplusplus
#define KZ_TUNABLE_INIT kz_sized_init<kz_tunable>()
#else
#define KZ_TUNABLE_INIT {.size = sizeof(kz_tunable)}
#endif

/** When kz_tune puts back what the kernel has overwritten.  The numbers never change. */
typedef enum kz_tune_restore {
	KZ_TUNE_RESTORE_CONFIG = 0, /**< before each configuration, and at the end.  Further
	                                 launches of a configuration find what the one before
	                                 has left */
	KZ_TUNE_RESTORE_LAUNCH = 1, /**< before each launch, and at the end: for kernels whose time
	                                 depends on the data that they change */
	KZ_TUNE_RESTORE_NEVER = 2   /**< never; needs no memory for copies */
} kz_tune_restore;

/** How to tune.  Initialize with KZ_TUNE_OPTIONS_INIT. */
typedef struct kz_tune_options {
	size_t size;             /**< sizeof(kz_tune_options) */
	int32_t use_kept;        /**< nonzero: what was kept before is the result, without trials */
	int32_t keep_nothing;    /**< nonzero: do not keep the result */
	int32_t warm_ups;        /**< launches before those that are timed; 0: 2 */
	int32_t repeats;         /**< launches that are timed; 0: 7 */
	int32_t restore;         /**< a kz_tune_restore */
	int32_t processes;       /**< that compile at once, as for kz_warm_up; 0: one for each
	                              core; 1: this one alone */
	int64_t max_trials;      /**< configurations to try at most; 0: all */
	double max_seconds;      /**< after so many seconds no other trial begins; the first one
	                              always does.  0: no limit.  Up to 32 configurations are
	                              compiled at once */
	kz_tune_check_fn *check; /**< called after the first launch of a configuration, when the
	                              arrays have its results; returns 1 if they are right.  A
	                              configuration for which it returns 0 is never the best.  It
	                              may call the library.  NULL: all are right */
	void *user;              /**< passed on to it */
	const kz_launch_options *launch; /**< the stream of the trials, cooperative, ...; its
	                                      shared_size does not matter.  NULL: the defaults */
	void *reserved[4];
} kz_tune_options;

#ifdef __cplusplus
#define KZ_TUNE_OPTIONS_INIT kz_sized_init<kz_tune_options>()
#else
#define KZ_TUNE_OPTIONS_INIT {.size = sizeof(kz_tune_options)}
#endif

/** What became of a configuration.  The numbers never change. */
typedef enum kz_tune_outcome {
	KZ_TUNE_TIMED = 0,  /**< it has all its times */
	KZ_TUNE_SLOWER = 1, /**< clearly slower than the best one after `repeats` launches, and
	                         given up */
	KZ_TUNE_WRONG = 2,  /**< check has returned 0 */
	KZ_TUNE_FAILED = 3  /**< it does not compile, or cannot be launched; `status` says why */
} kz_tune_outcome;

/** A configuration and its times.  Later versions may add fields at the end. */
typedef struct kz_tune_result {
	int32_t outcome;       /**< a kz_tune_outcome */
	kz_status status;      /**< of one that failed; else KZ_OK */
	const char *message;   /**< of the failure, one line; NULL if there was none */
	const char *text;      /**< "block_x=64 UNROLL=4" */
	const int64_t *values; /**< of each parameter of the table; of words their index */
	kz_dim3 block;         /**< threads */
	kz_dim3 grid;          /**< blocks, for the size that was tuned */
	int64_t shared_size;   /**< dynamic shared memory in bytes */
	int64_t repeats;       /**< launches that were timed; 0: none, and no times below */
	kz_spread time;        /**< of a launch, between events of the device */
} kz_tune_result;

/** What a tuning has done.  Initialize with KZ_TUNING_INFO_INIT. */
typedef struct kz_tuning_info {
	size_t size;            /**< sizeof(kz_tuning_info) */
	int64_t configurations; /**< of the table */
	int64_t skipped;        /**< that do not fit the device, or that accept has refused */
	int64_t tried;          /**< those of kz_tuning_count; 0 if the result was kept */
	int64_t left;           /**< that the budget left untried */
	int64_t launches;       /**< that were made for it */
	int32_t kept;           /**< 1: the result is that of an earlier tuning */
	int32_t reserved_int;
} kz_tuning_info;

#ifdef __cplusplus
#define KZ_TUNING_INFO_INIT kz_sized_init<kz_tuning_info>()
#else
#define KZ_TUNING_INFO_INIT {.size = sizeof(kz_tuning_info)}
#endif

/** The result of a tuning: the best configuration, loaded, and the table; opaque. */
typedef struct kz_tuning kz_tuning;

/**
 * Try all configurations of a kernel on the program's arguments, and keep the best one.
 *
 * Configurations that do not compile, that the device cannot launch and whose results are wrong are
 * entries of the table.  A fault is not: the device is lost then, and the call fails with the name
 * of the configuration.  Launches of a configuration that is clearly slower than the best one so
 * far are given up: after n launches, if the fastest took more than (1 + 3 / n) times the best
 * median.  On the CPU device the time is that of the best code (kz_kernel_optimize).
 *
 * With a budget, the configurations that are tried are spread over the table.
 *
 * @param out set to the tuning, NULL on failure.
 * @param problem the size in elements, each extent at least 1: the grid follows from it.
 * @param options NULL for the defaults.
 * @param args as for kz_prepared_create: KZ_IN, KZ_OUT and KZ_INOUT are refused.  The memory of
 *        arrays and buffers that the kernel takes by a pointer to something that is not const is
 *        copied once, and put back as options.restore says.  What KZ_DEVPTR, textures and
 *        surfaces lead to is not, and the variables of a module keep what the launches before
 *        have left.
 * @return KZ_OK, with at least one configuration that was timed; KZ_INVALID for a table without
 *         parameters, a parameter without values, a block below 1, a macro that the source does not
 *         use, more than 1,000,000 configurations, and if none of them is possible; KZ_STATE in a
 *         capture; KZ_NOT_FOUND if all results are wrong; else, if none works, the failure of the
 *         first; KZ_FAULT; KZ_DEVICE_MEMORY for the copies; KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_tuning_release.
 * Async: returns when all is done.
 */
KZ_API KZ_NODISCARD kz_status kz_tune(kz_tuning **out, kz_device *dev, const kz_tunable *tunable,
	kz_dim3 problem, const kz_tune_options *options, kz_error *err, kz_args args);

/**
 * Load the best configuration that kz_tune has kept, in this process or in another one.
 *
 * @param tunable the same as for kz_tune.
 * @param problem of the same class: each extent up to the same power of two.
 * @return KZ_OK; KZ_NOT_FOUND if nothing was kept, also where there is no cache on disk;
 *         KZ_INVALID; as kz_module_compile.
 * Ownership: release it with kz_tuning_release.
 */
KZ_API KZ_NODISCARD kz_status kz_tuning_find(kz_tuning **out, kz_device *dev,
	const kz_tunable *tunable, kz_dim3 problem, kz_error *err);

/**
 * Launch the best configuration.
 *
 * @param problem in elements, which may be another size than the one that was tuned.
 * @param options as for kz_launch; a shared_size of 0 is the configuration's.
 * @param args as for kz_launch.
 * @return as kz_launch; KZ_INVALID also if kz_tunable.accept refuses the size.
 * Async: as kz_launch.
 */
KZ_API KZ_NODISCARD kz_status kz_tuning_launch(kz_tuning *tuning, kz_dim3 problem,
	const kz_launch_options *options, kz_error *err, kz_args args);

/** Return the kernel of the best configuration.  Borrowed from the tuning. */
KZ_API kz_kernel *kz_tuning_kernel(const kz_tuning *tuning);

/** Return the number of configurations that were tried; 1 if the result was kept. */
KZ_API int64_t kz_tuning_count(const kz_tuning *tuning);

/**
 * Return configuration `index`, NULL beyond the last.  0 is the best.  The others that were timed
 * follow by their medians, then those that were given up, wrong results and failures.  Borrowed
 * from the tuning.
 */
KZ_API const kz_tune_result *kz_tuning_result(const kz_tuning *tuning, int64_t index);

/** Say what a tuning has done; `info->size` as for kz_device_describe. */
KZ_API KZ_NODISCARD kz_status kz_tuning_describe(kz_tuning *tuning, kz_tuning_info *info,
	kz_error *err);

/**
 * Print the table, a line for each configuration, the best one first.
 *
 * @return KZ_OK; KZ_IO if it cannot be written; KZ_INVALID; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_tuning_print(kz_tuning *tuning, FILE *stream, kz_error *err);

/** Write what kz_tuning_print prints into a buffer; as kz_array_format. */
KZ_API KZ_NODISCARD kz_status kz_tuning_format(kz_tuning *tuning, char *buffer, int64_t size,
	int64_t *length, kz_error *err);

/** Release a tuning.  Launches in flight go on.  NULL is fine. */
KZ_API void kz_tuning_release(kz_tuning *tuning);

#ifdef __cplusplus
}
#endif

#endif
