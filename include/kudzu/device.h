/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_DEVICE_H
#define KUDZU_DEVICE_H

/*
 * Devices.  A kz_device is one GPU, or the CPU device, with its primary context.
 *
 *	kz_device *dev = NULL;
 *	if (kz_device_open(&dev, NULL, &err) == KZ_OK) {
 *		printf("%s: %s\n", kz_device_name(dev), kz_device_model(dev));
 *	}
 *	kz_device_close(dev);
 *
 * Any thread may use a device: each call makes the right context current and restores the
 * caller's.  Arrays, buffers, modules and streams hold a reference on their device, so you may
 * close it first.
 *
 * A device does not survive fork: in a child each call that needs a device which the parent has
 * used fails with KZ_STATE, and releases of what the parent has made do nothing.
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device; opaque and counted. */
typedef struct kz_device kz_device;
/** A stream; see stream.h. */
typedef struct kz_stream kz_stream;

/**
 * Open a device.
 *
 * A device that is open already gives the same handle with one more reference.  A device whose
 * context was lost stays lost until all its handles are closed.  After that you can open it again,
 * where the driver allows it.
 *
 * @param out set to the device, NULL on failure.
 * @param name "cuda" (the first GPU), "cuda:1", "cpu" or "cpu:1"; a UUID as nvidia-smi prints it,
 *        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", or its beginning if no other device begins
 *        so; or a PCI bus id, "0000:3b:00.0".  Those of kz_device_info name a device whatever
 *        CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER make of its number.  NULL takes the device
 *        that the environment variable KUDZU_DEVICE names, else the first usable GPU, else the
 *        CPU.
 * @return KZ_OK; KZ_INVALID for any other name; KZ_NO_DRIVER or KZ_NO_DEVICE if there is no such
 *         device, with what was tried or what there is; the driver's own failures.  If `name` is
 *         NULL and neither a GPU nor the CPU can be used: the GPU's failure, with both reasons.  If
 *         a KUDZU_* variable is the reason, the message names it: its value is KZ_INVALID, a file
 *         that cannot be loaded KZ_NO_DRIVER.  KZ_STATE in a process that was forked from one that
 *         had used the device's driver, and, if `name` is NULL, from one that had used any.
 * Ownership: close it with kz_device_close.
 */
KZ_API KZ_NODISCARD kz_status kz_device_open(kz_device **out, const char *name, kz_error *err);

/**
 * Close a device.  This never fails, and does not wait for work in flight.
 *
 * Nothing happens if the device was closed as often as it was opened.
 *
 * @param dev the device, may be NULL.
 */
KZ_API void kz_device_close(kz_device *dev);

/** The type of a function that kz_device_close calls for the last handle: see kz_device_on_close.
 * The function must not open a device: that fails with KZ_PERMISSION. */
typedef void kz_close_fn(void *user, kz_device *dev);

/**
 * Name a function that is called when the last handle on a device is closed, while the device
 * still exists.  It can report what was never released: kz_device_print_leaks,
 * kz_device_list_memory.
 *
 * @param function NULL for none.  It must not close the device.
 * @return KZ_OK; KZ_INVALID for no device.
 * Threads: any; the function is called by the thread that closes.
 */
KZ_API KZ_NODISCARD kz_status kz_device_on_close(kz_device *dev, kz_close_fn *function, void *user,
	kz_error *err);

/** Return the name that opens this device again, "cuda:0" or "cpu".  Borrowed from the device. */
KZ_API const char *kz_device_name(const kz_device *dev);

/**
 * Return the number in the name of a device: 1 for "cuda:1" and for "cpu:1", 0 for "cpu".
 *
 * That of the device which kz_device_open gives for NULL is what torch.cuda.current_device()
 * returns: no call changes a current device, because each call names its own, or has one by its
 * arguments.
 *
 * @return -1 for NULL.
 */
KZ_API int kz_device_index(const kz_device *dev);

/** Return 1 for a GPU, which is named "cuda:N"; else 0, also for NULL.  The is_cuda of a PyTorch
 * tensor is kz_device_is_cuda(kz_array_device(array)). */
KZ_API int kz_device_is_cuda(const kz_device *dev);

/** Return what the driver calls the device, "NVIDIA H200".  Borrowed from the device. */
KZ_API const char *kz_device_model(const kz_device *dev);

/**
 * Return why this device was chosen over a better one: "cuda: no driver found (libcuda.so.1)".
 *
 * @return one line, or NULL if there is nothing to say.  Borrowed from the device.
 */
KZ_API const char *kz_device_note(const kz_device *dev);

/** Which programs may use a device; the driver's numbers. */
typedef enum kz_compute_mode {
	KZ_COMPUTE_DEFAULT = 0,          /**< all */
	KZ_COMPUTE_PROHIBITED = 2,       /**< none */
	KZ_COMPUTE_EXCLUSIVE_PROCESS = 3 /**< one at a time */
} kz_compute_mode;

/** What a device can do.  All sizes in bytes; limits as the driver reports them. */
typedef struct kz_device_info {
	size_t size;                   /**< sizeof(kz_device_info); set by KZ_DEVICE_INFO_INIT */
	int32_t compute_capability;    /**< 10 * major + minor: 89 */
	int32_t driver_version;        /**< 1000 * major + 10 * minor: 13000 */
	int32_t multiprocessors;       /**< the CPU device has one for each core */
	int32_t warp_size;             /**< threads; 32 */
	int64_t max_threads_per_block; /**< of any kernel; a kernel may allow fewer */
	int64_t max_block[3];          /**< threads along x, y, z */
	int64_t max_grid[3];           /**< blocks along x, y, z */
	int64_t shared_per_block;      /**< that every kernel can have */
	int64_t shared_per_block_optin; /**< the most that a kernel can ask for */
	int64_t constant_memory;       /**< for __constant__ variables of a module */
	int64_t total_memory;          /**< this and all below: 0 if the driver cannot tell */
	int32_t clock_khz;             /**< of the multiprocessors, at most */
	int32_t memory_clock_khz;      /**< of the memory, at most */
	int32_t concurrent_kernels;    /**< 0 or 1 */
	int32_t cooperative_launch;    /**< 0 or 1 */
	int32_t managed_memory;        /**< 0 or 1 */
	int32_t memory_pools;          /**< 0 or 1 */
	uint8_t uuid[16];              /**< the same in every process of this machine */
	int32_t compute_mode;          /**< a kz_compute_mode */
	char pci_bus_id[16];           /**< "0000:3b:00.0"; "" if the driver cannot tell */
} kz_device_info;

#ifdef __cplusplus
#define KZ_DEVICE_INFO_INIT kz_sized_init<kz_device_info>()
#else
#define KZ_DEVICE_INFO_INIT {.size = sizeof(kz_device_info)}
#endif

/**
 * Fill in what a device can do.
 *
 * @param info its size field says how much of the struct the caller knows.
 * @return KZ_OK, also for a lost device; KZ_INVALID for a size field that no version had.
 */
KZ_API KZ_NODISCARD kz_status kz_device_describe(kz_device *dev, kz_device_info *info,
	kz_error *err);

/**
 * Ask how much device memory there is.
 *
 * @param free_size bytes free now; may be NULL.
 * @param total_size bytes in all; may be NULL.
 * @return KZ_OK; KZ_INVALID for no device; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_memory(kz_device *dev, int64_t *free_size,
	int64_t *total_size, kz_error *err);

/** Return how many device attributes the library knows by name: those of CUDA 13.5. */
KZ_API int64_t kz_device_attribute_count(void);

/**
 * Return the name of a device attribute, without its "CU_DEVICE_ATTRIBUTE_".
 *
 * @param index from 0 to kz_device_attribute_count() - 1, in the order of the numbers.
 * @param number set to the driver's number of the attribute, 0 for a wrong index; may be NULL.
 * @return "WARP_SIZE"; NULL for a wrong index.  Static.
 */
KZ_API const char *kz_device_attribute_name(int64_t index, int32_t *number);

/**
 * Ask for an attribute of a device by its number, which may be one that the library does not know.
 *
 * @param out set to the value, 0 on failure.
 * @param number CUdevice_attribute: 10 is the warp size.
 * @return KZ_OK, also for a lost device; KZ_INVALID for no device; KZ_UNSUPPORTED if the driver
 *         does not know the attribute; the driver's other failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_attribute(int32_t *out, kz_device *dev, int32_t number,
	kz_error *err);

/**
 * Ask for an attribute of a device by its name.
 *
 * @param name "WARP_SIZE" or "CU_DEVICE_ATTRIBUTE_WARP_SIZE".
 * @return as kz_device_attribute; also KZ_NOT_FOUND if no attribute has that name.
 */
KZ_API KZ_NODISCARD kz_status kz_device_attribute_by_name(int32_t *out, kz_device *dev,
	const char *name, kz_error *err);

/**
 * Ask whether kernels of a device can use the memory of another one.
 *
 * @param out set to 1 if they can, else 0: also for two drivers, and for a device and itself.
 * @return KZ_OK; KZ_INVALID for no device; KZ_UNSUPPORTED or KZ_VERSION if the driver cannot tell;
 *         the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_can_access_peer(int *out, kz_device *dev, kz_device *peer,
	kz_error *err);

/**
 * Let a device use the memory of another one.
 *
 * Copies from `peer` to `dev` and back then go directly from device to device; without, they work,
 * too, by a way that the driver finds.  A kernel of `dev` then takes arrays and buffers of `peer`
 * as arguments, and the launch is ordered after earlier work on them and before later work, as any
 * other.  Kernels that are captured into a graph do not take them.
 *
 * @param peer kz_device_can_access_peer says whether this is possible.  Kernels of `peer` get no
 *        access to `dev` by this: that is another call.
 * @return KZ_OK, also if it is enabled already; KZ_INVALID for no device, and one device twice;
 *         KZ_UNSUPPORTED for devices of two drivers, and those that cannot; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_enable_peer_access(kz_device *dev, kz_device *peer,
	kz_error *err);

/**
 * No longer let a device use the memory of another one.
 *
 * Wait for the kernels that use it before.
 *
 * @return as kz_device_enable_peer_access; KZ_STATE if it is not enabled.
 */
KZ_API KZ_NODISCARD kz_status kz_device_disable_peer_access(kz_device *dev, kz_device *peer,
	kz_error *err);

/**
 * What a device gives its kernels besides their arguments.  The names and numbers below
 * 1000 are those of the driver's messages, which say CU_LIMIT_STACK_SIZE for
 * KZ_LIMIT_STACK_SIZE.
 */
typedef enum kz_limit {
	KZ_LIMIT_STACK_SIZE = 0,       /**< bytes of stack of each thread */
	KZ_LIMIT_PRINTF_FIFO_SIZE = 1, /**< bytes for the output of printf until the next wait */
	KZ_LIMIT_MALLOC_HEAP_SIZE = 2, /**< bytes for malloc in kernels */
	KZ_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3, /**< levels of kernels that wait for kernels which they
	                                          launched */
	KZ_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4, /**< launches by kernels that wait to run */
	KZ_LIMIT_MAX_L2_FETCH_GRANULARITY = 5, /**< bytes, 0 to 128: a hint */
	KZ_LIMIT_PERSISTING_L2_CACHE_SIZE = 6, /**< bytes of the L2 cache for persisting accesses */
	KZ_LIMIT_LAUNCH_MS = 1000      /**< Kudzu's own: milliseconds that a kernel may run, and a
	                                    loop of a graph with all its rounds; 0: forever.  The
	                                    first value is that of KUDZU_CPU_TIMEOUT.  A launch may
	                                    have a lower limit, `timeout_ms` of its options, which
	                                    says what happens then.  A GPU does not have it */
} kz_limit;

/**
 * Ask for a limit.
 *
 * @param out set to the value; 0 on failure.
 * @return KZ_OK; KZ_INVALID for no device and no limit; KZ_UNSUPPORTED if the device does not have
 *         this limit; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_limit(int64_t *out, kz_device *dev, kz_limit limit,
	kz_error *err);

/**
 * Set a limit for the launches from now on.
 *
 * The driver may round the value or clamp it: kz_device_limit tells.  Set the size of the heap and
 * of the output of printf before the first kernel that uses it.
 *
 * @param value from 0, in the unit of the limit.
 * @return KZ_OK; KZ_INVALID for no device, no limit, a negative value, and one that the driver
 *         refuses; KZ_UNSUPPORTED if the device does not have this limit; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_limit(kz_device *dev, kz_limit limit, int64_t value,
	kz_error *err);

/** What a program can ask of a device.  The numbers never change. */
typedef enum kz_option {
	/** 1: what every GPU refuses is refused.  0: the CPU device takes what it can run: more
	    than 64 KiB of __constant__ variables in a module, and a CU_LAUNCH_PARAM_BUFFER_SIZE
	    that is larger than the parameters.  Until a program sets it, the environment variable
	    KUDZU_CPU_LIMITS decides, and without that it is 1. */
	KZ_OPTION_LIMITS = 0,
	/** A kz_schedule: how threads wait.  It is a flag of the primary context, so it holds for
	    all of the process that use that context, such as the CUDA runtime, and stays when the
	    device is closed.  The flag CU_CTX_MAP_HOST has no option: pinned memory is mapped on
	    every machine of 64 bits, whatever it says. */
	KZ_OPTION_SCHEDULE = 1,
	/** 1: a profiler that was told to wait for it, as by `nsys profile
	    --capture-range=cudaProfilerApi`, begins to collect; 0: it stops.  Without a profiler
	    nothing happens. */
	KZ_OPTION_PROFILER = 2,
	/** A set of kz_check (check.h), instead of those that KUDZU_CHECK names: which bugs of
	    kernels the CPU devices of the process look for, in modules that are loaded and memory
	    that is allocated from now on.  0: those that KUDZU_CHECK names. */
	KZ_OPTION_CHECK = 3
} kz_option;

/** How a thread of the host waits for a device.  The numbers are the driver's. */
typedef enum kz_schedule {
	KZ_SCHEDULE_AUTO = 0,    /**< KZ_SCHEDULE_YIELD if the process has more contexts than the
	                              machine has cores, else KZ_SCHEDULE_SPIN */
	KZ_SCHEDULE_SPIN = 1,    /**< it asks again and again: the shortest wait, a busy core */
	KZ_SCHEDULE_YIELD = 2,   /**< likewise, but other threads may run in between */
	KZ_SCHEDULE_BLOCKING = 4 /**< it sleeps until the device wakes it */
} kz_schedule;

/**
 * Set an option of a device, for modules that are loaded, launches and waits from now on.
 *
 * @param value as the option says.
 * @return KZ_OK; KZ_INVALID for no device, no option, and a value that the option does not have;
 *         KZ_UNSUPPORTED for what a GPU cannot do: 0 for KZ_OPTION_LIMITS, or a check, where the
 *         error names compute-sanitizer; KZ_UNSUPPORTED or
 *         KZ_VERSION if the driver does not know it; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_set_option(kz_device *dev, kz_option option, int64_t value,
	kz_error *err);

/**
 * Wait until all work on the device is done.
 *
 * @return KZ_OK; the failure of a kernel that ran before (KZ_FAULT, KZ_LAUNCH, ...); KZ_IO if text
 *         that kernels printed is lost (output.h).
 */
KZ_API KZ_NODISCARD kz_status kz_device_synchronize(kz_device *dev, kz_error *err);

/**
 * Return the device's default stream.  Work that names no stream runs there.
 *
 * It does not synchronize with the driver's legacy NULL stream.
 * Ownership: borrowed; lives as long as the device.
 */
KZ_API kz_stream *kz_device_stream(kz_device *dev);

/**
 * Return KZ_OK while the device's context is usable, else report the first cause of its loss.
 *
 * Functions that release something return nothing.  If the driver has refused to release memory,
 * a stream, a module or the like, this call reports that: the first failure, and how many came
 * after it.  It reports each failure once.
 *
 * This call does not ask the driver: it knows a fault only after another call has met it.
 *
 * @return KZ_OK; KZ_INVALID for no device; the cause of the loss; the failure of a release.
 */
KZ_API KZ_NODISCARD kz_status kz_device_check(kz_device *dev, kz_error *err);

/** Return 1 if a GPU can be used, as torch.cuda.is_available() does; else 0.  Any thread. */
KZ_API int kz_cuda_available(void);

/**
 * Return how many GPUs can be used, as torch.cuda.device_count() does; 0 without a driver.
 *
 * With KUDZU_CPU_AS_GPU=1 in the environment the GPUs are the CPU devices after the first one
 * (KUDZU_CPU_DEVICES): programs for several GPUs run without any.
 */
KZ_API int kz_cuda_device_count(void);

/**
 * Open GPU `index` if it exists and works, else the CPU: d2l's try_gpu.
 *
 * @param index from 0; a negative one is KZ_INVALID.
 * Ownership: close it with kz_device_close.
 */
KZ_API KZ_NODISCARD kz_status kz_try_gpu(kz_device **out, int index, kz_error *err);

/**
 * Open all GPUs that work, or the CPU device if no GPU works: d2l's try_all_gpus.
 *
 * If a GPU was left out, kz_device_note of the first device says why.
 *
 * @param out an array of `room` handles; the first *count of them are set.
 * @param room handles that fit, at least 1.  Further GPUs are not opened.
 * @param count set to the number opened, 0 on failure.
 * Ownership: close each with kz_device_close.
 */
KZ_API KZ_NODISCARD kz_status kz_try_all_gpus(kz_device **out, int room, int *count,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
