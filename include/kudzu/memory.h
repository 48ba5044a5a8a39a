/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_MEMORY_H
#define KUDZU_MEMORY_H

/*
 * Raw device memory: buffers, copies and fills.  Every copy is checked against both ends before the
 * driver sees it.
 *
 *	kz_buffer *buffer = NULL;
 *	if (kz_buffer_create(&buffer, dev, 1024, &err)
 *	    || kz_copy_htod(buffer, 0, host, sizeof(host), &err)
 *	    || kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(buffer))
 *	    || kz_copy_dtoh(host, sizeof(host), buffer, 0, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_buffer_release(buffer);
 *
 * The plain forms return when the program may use the host memory again.  The _async forms need a
 * stream and return at once.  The host memory must then stay unchanged until the stream has passed
 * the copy.  If it is pinned (host_memory.h), the copy overlaps with other work.  Offsets and sizes
 * are in bytes.
 *
 * A growable buffer (kz_buffer_create_growable) grows and shrinks in place: its addresses are
 * reserved, and get memory when they need it.  Nothing is copied: what is in the memory stays, and
 * its address is the same forever.  So views, prepared launches, graphs and kernels that run go on
 * with the part that they know.  The capacity costs addresses, which are plentiful, and no memory.
 * The memory comes from the driver's virtual memory management.  The buffer grows by pieces of at
 * least 2 MiB and at most an eighth of its size, which may reserve an eighth more than you ask for.
 * The statistics of pool.h and kz_device_limit_memory count it.  kz_device_set_allocator and
 * KUDZU_POOL do not apply.  Kernels of other devices cannot use it.
 */
#include <kudzu/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A piece of device memory, or a view of one; opaque and counted. */
typedef struct kz_buffer kz_buffer;

/**
 * Allocate device memory, from the pool (pool.h).  Its contents are undefined.
 *
 * @param size bytes, 0 allowed.
 * @return KZ_OK; KZ_INVALID for a negative size; KZ_DEVICE_MEMORY, with requested, live, reserved
 *         and free bytes in the message.
 * Ownership: release it with kz_buffer_release.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_create(kz_buffer **out, kz_device *dev, int64_t size,
	kz_error *err);

/**
 * Allocate device memory for use in a stream; as kz_buffer_create.
 *
 * The pool prefers memory that this stream used last, or that no stream has used, so that work need
 * not wait for another stream.
 *
 * @param stream of `dev`, where the memory is used first; NULL for the default stream.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_create_on(kz_buffer **out, kz_device *dev, int64_t size,
	kz_stream *stream, kz_error *err);

/**
 * Allocate device memory for rows that are aligned, as textures and copies of parts of it want
 * them.
 *
 * Row `y` begins at byte `y * pitch`.  kz_copy_3d and kz_fill_2d take the pitch; an array over the
 * memory has it as a stride (kz_array_wrap).
 *
 * @param pitch set to the bytes from one row to the next, a multiple of 512 from `width` on; 0 on
 *        failure.
 * @param width bytes of a row, 0 allowed.
 * @param height rows, 0 allowed; for slices of rows: those of all slices.
 * @return as kz_buffer_create; also KZ_INVALID for no `pitch`, KZ_RANGE for a size beyond 64 bits.
 * Ownership: release it with kz_buffer_release.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_create_pitched(kz_buffer **out, int64_t *pitch,
	kz_device *dev, int64_t width, int64_t height, kz_error *err);

/**
 * Make a buffer of device memory that another library has allocated.
 *
 * @param address in device memory of `dev`, as kernels see it.  Work on it that Kudzu does not know
 *        of must be done, or the streams must wait for it.
 * @param size bytes from there.
 * @param on_release called once, with `user`, after the last view is released and its work is done,
 *        by the thread that releases it.  May be NULL: then the release does not wait.  Not called
 *        if this function fails.
 * @return KZ_OK; KZ_INVALID for memory that the driver does not know, or knows as another device's;
 *         KZ_RANGE; KZ_NO_MEMORY.
 * Ownership: release the buffer with kz_buffer_release.  The memory still belongs to its owner.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_wrap(kz_buffer **out, kz_device *dev, uint64_t address,
	int64_t size, void (*on_release)(void *user), void *user, kz_error *err);

/** What kind of memory an address is in.  The numbers never change. */
typedef enum kz_memory_kind {
	KZ_MEMORY_UNKNOWN = 0, /**< memory that the driver does not know, as malloc's, or none */
	KZ_MEMORY_HOST = 1,    /**< pinned host memory */
	KZ_MEMORY_DEVICE = 2,
	KZ_MEMORY_MANAGED = 3
} kz_memory_kind;

/** What the driver knows of an address. */
typedef struct kz_pointer_info {
	size_t size;          /**< sizeof(kz_pointer_info); set by KZ_POINTER_INFO_INIT */
	int32_t kind;         /**< a kz_memory_kind; if that is KZ_MEMORY_UNKNOWN, all below is 0 */
	int32_t reserved_int;
	char device[24];      /**< of the memory, or the one that pinned it: "cuda:1" */
	uint64_t start;       /**< where the allocation begins that the address is in */
	int64_t bytes;        /**< of that allocation */
	void *host;           /**< by which the host reaches the address; NULL: it cannot */
} kz_pointer_info;

#ifdef __cplusplus
#define KZ_POINTER_INFO_INIT kz_sized_init<kz_pointer_info>()
#else
#define KZ_POINTER_INFO_INIT {.size = sizeof(kz_pointer_info)}
#endif

/**
 * Ask what memory an address lies in.  Any library may have allocated it.
 *
 * @param dev any device of the driver to ask; the memory may be another one's.
 * @param address of a device or of the host.
 * @param info its size field is set.
 * @return KZ_OK, also for memory that the driver does not know; KZ_INVALID for no device and a
 *         wrong size field; KZ_UNSUPPORTED or KZ_VERSION if the driver cannot tell; its failures.
 */
KZ_API KZ_NODISCARD kz_status kz_pointer_describe(kz_device *dev, uint64_t address,
	kz_pointer_info *info, kz_error *err);

/**
 * Make a view of part of a buffer.  The view keeps the memory alive.
 *
 * @return KZ_OK; KZ_RANGE if the part is not inside the buffer.
 * Ownership: release it with kz_buffer_release.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_view(kz_buffer **out, kz_buffer *buffer, int64_t offset,
	int64_t size, kz_error *err);

/** What another process needs to use the memory of a buffer.  Send its bytes. */
typedef struct kz_buffer_handle {
	kz_ipc_handle allocation; /**< the driver's name of the memory in which the buffer lies */
	int64_t offset;           /**< bytes from there to the buffer */
	int64_t size;             /**< bytes of the buffer */
} kz_buffer_handle;

/**
 * Make a handle with which another process on this machine can use the memory of a buffer, or of an
 * array: kz_array_buffer.
 *
 * Memory of the pool can be shared, of an allocator or another library if it is of cuMemAlloc.
 * Managed and pinned memory cannot, nor memory that a device without a pool (KUDZU_POOL=0,
 * kz_device_use_pool) gets from cuMemAllocAsync.  The other process can reach the whole allocation:
 * of the pool that is a segment with other buffers (pool.h).  Work of two processes is not ordered:
 * wait for it, or share events (kz_event_export).
 *
 * @param out set to the handle; zeros on failure.
 * @return KZ_OK; KZ_INVALID for a buffer of 0 bytes; KZ_UNSUPPORTED for memory that cannot be
 *         shared, and on a device that cannot share any; the driver's failures.
 * Ownership: keep the buffer until the other process has released its own.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_export(kz_buffer_handle *out, kz_buffer *buffer,
	kz_error *err);

/**
 * Open the memory that another process has exported.
 *
 * @param dev the same device as in the other process.
 * @param handle of kz_buffer_export.
 * @return KZ_OK; KZ_INVALID and KZ_RANGE for something that is not a handle; KZ_NO_MEMORY;
 *         KZ_UNSUPPORTED; KZ_PERMISSION on the CPU device for a process of another user; the
 *         driver's failures, also for a handle that this process has made.
 * Ownership: release it with kz_buffer_release, which waits for the last use and closes the memory.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_import(kz_buffer **out, kz_device *dev,
	const kz_buffer_handle *handle, kz_error *err);

/**
 * Release a buffer.  With its last view the memory returns to the pool.  This does not wait: other
 * streams get the memory after the work that used it.  NULL is fine.
 */
KZ_API void kz_buffer_release(kz_buffer *buffer);

/** Return the size of a buffer in bytes. */
KZ_API int64_t kz_buffer_size(const kz_buffer *buffer);

/** Return the device address of a buffer; 0 for one of 0 bytes. */
KZ_API uint64_t kz_buffer_address(const kz_buffer *buffer);

/** Return the device of a buffer.  Borrowed. */
KZ_API kz_device *kz_buffer_device(const kz_buffer *buffer);

/**
 * Create a buffer that kz_buffer_resize grows and shrinks in place.  Its contents are undefined.
 *
 * @param size bytes that it has now, 0 allowed.
 * @param capacity bytes that it can grow to, at least `size`.
 * @return KZ_OK; KZ_INVALID for negative numbers; KZ_RANGE for a size above the capacity;
 *         KZ_UNSUPPORTED if the device has no virtual memory management; KZ_DEVICE_MEMORY if memory
 *         or addresses have run out; KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_buffer_release, which waits for the last use.  No pool keeps it.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_create_growable(kz_buffer **out, kz_device *dev,
	int64_t size, int64_t capacity, kz_error *err);

/**
 * Change the size of a growable buffer in place.
 *
 * New bytes are undefined.  Views keep their size.  A smaller size gives memory back, so it is
 * refused while a view, an array, a prepared launch or a graph refers to any part of the memory.
 *
 * @param buffer of kz_buffer_create_growable, not a view of it.
 * @param size bytes from 0 to kz_buffer_capacity.
 * @return KZ_OK; KZ_INVALID for other buffers and a negative size; KZ_RANGE for a size above the
 *         capacity; KZ_STATE if it cannot shrink now; KZ_DEVICE_MEMORY, after unused memory of the
 *         pool went back to the driver; the driver's failures.  The size is unchanged on failure,
 *         except that the driver's refusal to take memory back leaves the smaller size.
 * Async: waits for work on the buffer if it shrinks.
 * Threads: no other thread uses this handle meanwhile.
 */
KZ_API KZ_NODISCARD kz_status kz_buffer_resize(kz_buffer *buffer, int64_t size, kz_error *err);

/** Return how many bytes a buffer can grow to; the size of a buffer that cannot grow. */
KZ_API int64_t kz_buffer_capacity(const kz_buffer *buffer);

/**
 * Copy from the host to a buffer, after all earlier work on it.
 *
 * @param from host memory; may be NULL if size is 0.
 * @return KZ_OK; KZ_RANGE if `size` bytes do not fit from `offset` on; KZ_INVALID for NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_htod(kz_buffer *to, int64_t offset, const void *from,
	int64_t size, kz_error *err);

/** Copy from a buffer to the host, after all earlier work on it; as kz_copy_htod. */
KZ_API KZ_NODISCARD kz_status kz_copy_dtoh(void *to, int64_t size, kz_buffer *from,
	int64_t offset, kz_error *err);

/**
 * Copy between buffers of one device, or of two devices of one driver.
 *
 * Between devices the copy is direct after kz_device_enable_peer_access, else the driver's way.
 *
 * @return KZ_OK; KZ_RANGE; KZ_INVALID for ranges that overlap, and for devices of two drivers;
 *         KZ_STATE for a copy between devices in a capture; the driver's failures.
 * Async: returns at once; later work on either buffer comes after it.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_dtod(kz_buffer *to, int64_t to_offset, kz_buffer *from,
	int64_t from_offset, int64_t size, kz_error *err);

/**
 * Copy from the host to a buffer in a stream; as kz_copy_htod.
 *
 * Async: returns at once.  The host memory must stay unchanged until the stream has passed the
 * copy.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_htod_async(kz_buffer *to, int64_t offset, const void *from,
	int64_t size, kz_stream *stream, kz_error *err);

/**
 * Copy from a buffer to the host in a stream; as kz_copy_htod.
 *
 * Async: returns at once.  The data is complete when the stream has passed the copy.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_dtoh_async(void *to, int64_t size, kz_buffer *from,
	int64_t offset, kz_stream *stream, kz_error *err);

/** Copy between buffers in a stream of the device of `to`; as kz_copy_dtod. */
KZ_API KZ_NODISCARD kz_status kz_copy_dtod_on(kz_buffer *to, int64_t to_offset, kz_buffer *from,
	int64_t from_offset, int64_t size, kz_stream *stream, kz_error *err);

/**
 * Fill part of a buffer with a pattern.  A view may begin at any byte; natural alignment is faster.
 *
 * @param offset a multiple of pattern_size.
 * @param size a multiple of pattern_size.
 * @param pattern host memory, 1, 2, 4 or 8 bytes.
 * @param stream NULL for the default stream.
 * @return KZ_OK; KZ_RANGE for bytes outside of the buffer; KZ_INVALID for a pattern of another
 *         size, and for an offset or size that is not a multiple of it; the driver's failures.
 * Async: returns at once, with a copy of the pattern.
 */
KZ_API KZ_NODISCARD kz_status kz_fill(kz_buffer *buffer, int64_t offset, int64_t size,
	const void *pattern, int64_t pattern_size, kz_stream *stream, kz_error *err);

/**
 * Fill rows of a buffer with a pattern; as kz_fill.  The bytes between the rows stay as they are.
 *
 * @param offset bytes from the start of the buffer to the first row.
 * @param pitch bytes from one row to the next, `width` or more.
 * @param width bytes of a row, a multiple of pattern_size.
 * @param height rows.
 * @return as kz_fill; KZ_INVALID for rows that do not lie within their pitch.
 * Async: returns at once, with a copy of the pattern.
 */
KZ_API KZ_NODISCARD kz_status kz_fill_2d(kz_buffer *buffer, int64_t offset, int64_t pitch,
	int64_t width, int64_t height, const void *pattern, int64_t pattern_size, kz_stream *stream,
	kz_error *err);

/** When a stream that waits for a value in memory goes on.  The numbers never change. */
typedef enum kz_wait_condition {
	KZ_WAIT_GEQ = 0, /**< (int)(memory - value) >= 0, so counters may wrap */
	KZ_WAIT_EQ = 1,  /**< memory == value */
	KZ_WAIT_AND = 2, /**< (memory & value) != 0 */
	KZ_WAIT_NOR = 3  /**< ~(memory | value) != 0 */
} kz_wait_condition;

/**
 * Make all later work in a stream wait until 32 bits of memory fulfil a condition.
 *
 * Other streams, kernels, other processes and devices can write the value.  The wait comes after
 * the uses of the buffer that were called before.  Unlike other work it does not count as a use
 * itself, so later uses of the buffer in other streams do not wait for it.
 *
 * @param stream NULL for the default stream.
 * @param offset bytes, so that the address is a multiple of 4.
 * @return KZ_OK; KZ_RANGE for bytes outside of the buffer; KZ_INVALID for an address that is not
 *         aligned, an unknown condition, and a stream of another device; KZ_UNSUPPORTED or
 *         KZ_VERSION if the driver cannot do it; the driver's failures.
 * Ownership: the release of the buffer's last view waits for the device, and so for the wait to
 *        end.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_wait_value32(kz_stream *stream, kz_buffer *buffer,
	int64_t offset, uint32_t value, kz_wait_condition condition, kz_error *err);

/** Wait for 64 bits of memory; as kz_stream_wait_value32, with a multiple of 8. */
KZ_API KZ_NODISCARD kz_status kz_stream_wait_value64(kz_stream *stream, kz_buffer *buffer,
	int64_t offset, uint64_t value, kz_wait_condition condition, kz_error *err);

/**
 * Write 32 bits of memory when the stream comes to it, for others who wait for the value.
 *
 * What the stream wrote before is visible to everyone who sees the value.  As
 * kz_stream_wait_value32 it comes after earlier uses of the buffer, and does not count as one.
 *
 * @return as kz_stream_wait_value32.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_write_value32(kz_stream *stream, kz_buffer *buffer,
	int64_t offset, uint32_t value, kz_error *err);

/** Write 64 bits of memory; as kz_stream_write_value32, with a multiple of 8. */
KZ_API KZ_NODISCARD kz_status kz_stream_write_value64(kz_stream *stream, kz_buffer *buffer,
	int64_t offset, uint64_t value, kz_error *err);

/** How the L2 cache treats an access.  The numbers never change. */
typedef enum kz_access {
	KZ_ACCESS_NORMAL = 0,    /**< as it does without a window */
	KZ_ACCESS_STREAMING = 1, /**< used once: it goes first */
	KZ_ACCESS_PERSISTING = 2 /**< used often: it goes last */
} kz_access;

/** Memory that the L2 cache should keep.  Initialize with KZ_ACCESS_WINDOW_INIT. */
typedef struct kz_access_window {
	size_t size;       /**< sizeof(kz_access_window) */
	kz_buffer *buffer; /**< where the window lies; of an array: kz_array_buffer */
	int64_t offset;    /**< bytes from the start of the buffer */
	int64_t bytes;     /**< of the window; 0 for no window */
	float hit_ratio;   /**< the share of accesses, 0 to 1, that are treated as `hit` says; the
	                        macro sets 1 */
	int32_t hit;       /**< a kz_access; the macro sets KZ_ACCESS_PERSISTING */
	int32_t miss;      /**< of the others: KZ_ACCESS_NORMAL or KZ_ACCESS_STREAMING */
	int32_t reserved_int;
	void *reserved[2];
} kz_access_window;

/** What a kz_access_window is initialized with. */
#ifdef __cplusplus
#define KZ_ACCESS_WINDOW_INIT \
	kz_access_window{sizeof(kz_access_window), nullptr, 0, 0, 1, KZ_ACCESS_PERSISTING, 0, 0, {}}
#else
#define KZ_PP_DEFAULTS_kz_access_window \
	.size = sizeof(kz_access_window), .hit_ratio = 1, .hit = KZ_ACCESS_PERSISTING
#define KZ_ACCESS_WINDOW_INIT {KZ_PP_DEFAULTS_kz_access_window}
#endif

/**
 * Tell the L2 cache which memory the later kernels of a stream use often.
 *
 * This changes speed, never results.  KZ_LIMIT_PERSISTING_L2_CACHE_SIZE (kz_device_set_limit) is
 * how much of the cache persisting accesses may take; it is 0 at first.  The attribute
 * MAX_ACCESS_POLICY_WINDOW_SIZE (kz_device_attribute_by_name) is the largest window.  On the CPU
 * device a window has no effect.
 *
 * @param window NULL for none.  A stream has one window: the last.  The window does not keep the
 *        memory.
 * @return KZ_OK; KZ_RANGE for bytes outside of the buffer; KZ_INVALID for other mistakes, and a
 *         window that the device finds too large; KZ_UNSUPPORTED; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_set_access(kz_stream *stream,
	const kz_access_window *window, kz_error *err);

/**
 * Let the L2 cache treat all that persists in it as it treats the rest.
 *
 * @return KZ_OK; KZ_INVALID for no device; KZ_UNSUPPORTED; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_device_reset_l2(kz_device *dev, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
