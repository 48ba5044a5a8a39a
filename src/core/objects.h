/* SPDX-License-Identifier: MIT */
#ifndef OBJECTS_H
#define OBJECTS_H

/*
 * The objects behind the public handles, and the few functions that they share.
 *
 * Who keeps whom alive: array -> buffer -> memory -> device; memory -> the stream that used it
 * last; stream, event and module -> device; free memory in the pool keeps nobody.  The default stream is a part of its device and shares
 * its count.  Counts are atomic; the last release frees.
 *
 * One rule orders work: memory_use() before anything touches a piece of memory in a stream, and
 * memory_used() after.  The first makes that stream wait, by an event, for the stream that used the
 * memory before.  So all uses of one piece of memory happen in the order of the calls, and the last
 * user stands for all.  The second is for another thread that took the memory over between the two
 * (it has a view of another part): its stream then waits for this one too.
 */
#include "base/error.h"
#include "drv/drv.h"
#include "core/mempool.h"

#include <kudzu/kudzu.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct kz_stream {
	atomic_int refs;            /* of a stream that is not the default one */
	struct kz_device *device;
	CUstream handle;
	CUevent order;              /* marks the point that another stream waits for */
	struct shelf *shelves;      /* free memory that it used last, for each of the pools */
	bool is_default;
};

struct kz_event {
	atomic_int refs;
	struct kz_device *device;
	CUevent handle;
	atomic_bool recorded;
};

/* Live pinned memory by address, to know it when a copy is given a pointer into it. */
struct pinned_list {
	pthread_mutex_t lock;
	struct memory **items;
	size_t room;
	atomic_size_t count;
};

/* An allocator that a user has set; it stays as long as its device. */
struct allocator {
	kz_allocator calls;
	struct allocator *next;
};

/*
 * What the layers above keep for a device: a table in each place.  The device only ends them, in this
 * order: shortcuts lead to kernels, and kernels are of modules.
 */
enum device_place { DEVICE_SHORTCUTS, DEVICE_KERNELS, DEVICE_MODULES, DEVICE_TABLES };

/* The first member of such a table. */
struct device_table {
	void (*end)(struct device_table *table); /* free it; empty ones, too */
};

struct kz_device {
	atomic_int refs;
	int opens;                  /* handles that users hold, under the lock of the list */
	struct kz_device *next;     /* in the list of open devices, under its lock */
	void (*end)(struct kz_device *dev); /* of device_open.c: the last reference has gone */
	struct drv *drv;
	int ordinal;
	CUdevice handle;
	CUcontext context;          /* the primary one, retained */
	struct kz_stream stream;    /* the default stream */
	kz_device_info info;
	bool has_pools;             /* cuMemAllocAsync works */
	bool ptx_only;              /* loads no cubin: a device attribute says so */
	bool serial;                /* a thread runs fastest alone: generated kernels have one each block */
	char name[24];
	char model[256];
	_Atomic(char *) note;       /* set once, under the lock of the list */
	atomic_bool lost;           /* a sticky error happened; `cause` says which */
	pthread_mutex_t lock;       /* guards the making of cause */
	kz_error cause;
	struct mempool pools[MEMPOOL_KINDS];
	struct pinned_list pinned;
	_Atomic(void *) slot;       /* for few bytes on their way to the host; NULL: taken, or none */
	atomic_bool has_slot;       /* it was made, or could not be */
	_Atomic(struct allocator *) allocator; /* in the place of the pool; NULL: none */
	struct allocator *allocators; /* all that there were, guarded by `lock` */
	_Atomic(struct device_table *) tables[DEVICE_TABLES]; /* NULL until somebody needs one */
};

/* Give a reference back; true: it was the last.  Whoever has the only one is alone with it, and needs
 * no atomic step, which would take as long as twenty others. */
static inline bool refs_drop(atomic_int *refs)
{
	if (atomic_load_explicit(refs, memory_order_acquire) == 1) {
		atomic_store_explicit(refs, 0, memory_order_relaxed);
		return true;
	}
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* Raise a count that may just have fallen to 0; false: it has. */
static inline bool refs_raise(atomic_int *count)
{
	int refs = atomic_load(count);
	while (refs > 0 && !atomic_compare_exchange_weak(count, &refs, refs + 1)) {
	}
	return refs > 0;
}

struct kz_buffer {
	atomic_int refs;
	struct memory *memory;
	int64_t offset;
	int64_t size;
};

/* A piece of device memory, or of pinned host memory, that something owns; or, with refs 0, what the
 * pool keeps parked for the next one. */
struct memory {
	atomic_int refs;
	struct kz_device *device;
	CUdeviceptr address;
	int64_t size;
	struct mempool *pool;       /* that block is of; NULL for a part of another object */
	struct block *block;
	struct kz_buffer whole;     /* all of it, for the buffer that it is created for */
	const struct allocator *allocator; /* who gave it; NULL for the pool and the driver */
	void (*on_release)(void *user); /* for memory that is not ours; may be NULL */
	void *user;
	kz_dtype dtype;             /* of the array that it is for; 0: a buffer */
	int64_t count;              /* its elements */
	pthread_mutex_t lock;       /* guards changes of last: views may be used by two threads */
	_Atomic(struct kz_stream *) last; /* the last user, counted; NULL: none whose work may run */
};

/* What a new piece of memory is for; all may be 0. */
struct memory_wish {
	struct kz_stream *stream;   /* where it is used first; NULL: not known */
	kz_dtype dtype;             /* of an array; 0: a buffer */
	int64_t count;              /* the array's elements */
};

struct kz_array {
	atomic_int refs;
	struct kz_buffer *buffer;
	kz_dtype dtype;
	int64_t offset;             /* bytes from the start of the buffer to element 0 */
	kz_shape shape;
	int64_t strides[KZ_MAX_DIMS];
	int64_t count;
};

/* Objects that a caller passed. */
static inline kz_status object_check(const void *object, const char *what, kz_error *err)
{
	return likely(object != NULL)
		? KZ_OK : error_set(err, KZ_INVALID, "expected %s, got NULL", what);
}

/* The place for a result of `size` bytes: it must be there, and holds nothing until the call has
 * succeeded.  `call` is the public function's name. */
static inline kz_status out_check(void *out, size_t size, const char *call, kz_error *err)
{
	if (unlikely(!out)) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", call);
	}
	memset(out, 0, size);
	return KZ_OK;
}

/* "1 byte", "2 bytes" */
static inline const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* dtype.c */

/* kz_dtype_size, of the built-in ones without a call. */
enum { DTYPE_BUILTIN = KZ_C128 + 1 };
extern const uint8_t dtype_sizes[DTYPE_BUILTIN];

static inline int64_t dtype_size(kz_dtype dtype)
{
	return likely(dtype < DTYPE_BUILTIN) ? dtype_sizes[dtype] : kz_dtype_size(dtype);
}

/* The registered struct of a name as kernels spell it; 0 if there is none. */
kz_dtype dtype_struct(const char *name);

static inline bool dtype_is_integer(kz_dtype dtype)
{
	return dtype >= KZ_I8 && dtype <= KZ_U64;
}

static inline bool dtype_is_half(kz_dtype dtype)
{
	return dtype == KZ_F16 || dtype == KZ_BF16;
}

/* The type in which is computed: float for halves. */
static inline kz_dtype dtype_wide(kz_dtype dtype)
{
	return dtype_is_half(dtype) ? KZ_F32 : dtype;
}

static inline bool dtype_is_float(kz_dtype dtype)
{
	return dtype >= KZ_F16 && dtype <= KZ_F64;
}

static inline bool dtype_is_complex(kz_dtype dtype)
{
	return dtype == KZ_C64 || dtype == KZ_C128;
}

/* device.c; device_open.c makes and ends devices */

static inline struct kz_device *device_retain(struct kz_device *dev)
{
	atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
	return dev;
}

/* What an object calls for the device that it retained; kz_device_close is for users' handles. */
void device_release(struct kz_device *dev);

/* The table in a place; NULL if nobody has put one there. */
static inline struct device_table *device_table(const struct kz_device *dev,
	enum device_place place)
{
	return atomic_load_explicit(&dev->tables[place], memory_order_acquire);
}

/* Put a table there, which is the device's from now on.  Returns it, or the one that another thread
 * put there first; then `made` was ended. */
struct device_table *device_put_table(struct kz_device *dev, enum device_place place,
	struct device_table *made);

/* Make the device's context current; device_leave restores the caller's.  Fails with the first
 * cause when the context is lost.  On failure nothing is to be left. */
struct device_scope {
	CUcontext previous;
	bool switched;
};

kz_status device_report_loss(struct kz_device *dev, kz_error *err);
/* The same for releases: no error value.  False, and nothing to be left, when the context is lost:
 * what lived in it is gone, its handles mean nothing any more. */
bool device_enter_quietly(struct kz_device *dev, struct device_scope *scope);

/* A CUresult of this device becomes an error value; a sticky one is latched. */
kz_status device_fail(struct kz_device *dev, CUresult code, const char *call, kz_error *err);

static inline kz_status device_ok(struct kz_device *dev, CUresult code, const char *call,
	kz_error *err)
{
	return likely(code == CUDA_SUCCESS) ? KZ_OK : device_fail(dev, code, call, err);
}

static inline kz_status device_enter(struct kz_device *dev, struct device_scope *scope,
	kz_error *err)
{
	scope->previous = NULL;
	scope->switched = false;
	if (unlikely(atomic_load_explicit(&dev->lost, memory_order_acquire))) {
		return device_report_loss(dev, err);
	}
	CUresult code = dev->drv->CtxGetCurrent(&scope->previous);
	if (likely(code == CUDA_SUCCESS) && scope->previous != dev->context) {
		code = dev->drv->CtxSetCurrent(dev->context);
		scope->switched = code == CUDA_SUCCESS;
	}
	return device_ok(dev, code, "cuCtxSetCurrent", err);
}

static inline void device_leave(struct kz_device *dev, const struct device_scope *scope)
{
	if (scope->switched) {
		(void)dev->drv->CtxSetCurrent(scope->previous);
	}
}

/* stream.c */

static inline struct kz_stream *stream_retain(struct kz_stream *stream)
{
	atomic_int *refs = stream->is_default ? &stream->device->refs : &stream->refs;
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
	return stream;
}

/* Undo stream_retain; unlike kz_stream_release it counts the default stream too. */
void stream_release(struct kz_stream *stream);
/* Create what a stream is made of; the context is current.  stream_finish undoes it. */
kz_status stream_init(struct kz_stream *stream, struct kz_device *dev, int priority,
	kz_error *err);
void stream_finish(struct kz_stream *stream);

/* stream_order.c */

/* Let `later` wait for all that is in `earlier` now; the context of either is current. */
kz_status stream_order(struct kz_stream *later, struct kz_stream *earlier, kz_error *err);
/* The stream of options or the default; fails if it is of another device. */
kz_status stream_pick(struct kz_stream **out, struct kz_device *dev, struct kz_stream *stream,
	kz_error *err);

/* Whether all work in a stream has passed; false if that cannot be said.  The context of it is
 * current, as for stream_is_capturing. */
bool stream_is_done(struct kz_stream *stream);
bool stream_is_capturing(struct kz_stream *stream);
/* Whether a stream has a count, which may fall to 0 at any time; and raise it if it has. */
bool stream_is_living(struct kz_stream *stream);
bool stream_retain_living(struct kz_stream *stream);

/* memory.c */

/* Allocate in a pool of the device; `wish` may be NULL. */
kz_status memory_create(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	int64_t size, const struct memory_wish *wish, kz_error *err);
/* Memory that is a part of another object, such as a module's variable: no pool lists it.  The
 * caller keeps that object alive until on_release, after the last use. */
kz_status memory_borrow(struct memory **out, struct kz_device *dev, CUdeviceptr address,
	int64_t size, void (*on_release)(void *user), void *user, kz_error *err);
struct memory *memory_retain(struct memory *memory);
void memory_release(struct memory *memory);
/* A new buffer over memory; takes the caller's reference on success. */
kz_status buffer_take(struct kz_buffer **out, struct memory *memory, int64_t offset,
	int64_t size, kz_error *err);
/* Memory that somebody else owns; with on_release it is waited for at its end.  *out is left alone on
 * failure. */
kz_status memory_wrap(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	CUdeviceptr address, int64_t size, kz_error *err);
/* kz_buffer_create with a wish, as memory_create has it. */
kz_status buffer_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	const struct memory_wish *wish, kz_error *err);
struct kz_buffer *buffer_retain(struct kz_buffer *buffer);
/* That a range lies in a buffer, which may be NULL. */
kz_status buffer_check(const struct kz_buffer *buffer, int64_t offset, int64_t size,
	kz_error *err);

kz_status memory_use_after(struct memory *memory, struct kz_stream *stream, kz_error *err);

/* To be called, context current, before work on this memory goes into a stream. */
static inline kz_status memory_use(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	if (likely(atomic_load_explicit(&memory->last, memory_order_acquire) == stream)) {
		return KZ_OK;
	}
	return memory_use_after(memory, stream, err);
}

kz_status memory_used_late(struct memory *memory, struct kz_stream *stream, kz_error *err);

/* To be called, context current, after that work was put there. */
static inline kz_status memory_used(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	if (likely(atomic_load_explicit(&memory->last, memory_order_acquire) == stream)) {
		return KZ_OK;
	}
	return memory_used_late(memory, stream, err);
}

/* The stream in which the memory is at rest soonest: its last user, else the default stream.
 * Counted, since another thread's view may end its last use: stream_release. */
struct kz_stream *memory_stream(struct memory *memory);

static inline CUdeviceptr buffer_address(const struct kz_buffer *buffer)
{
	return buffer->memory->address + (CUdeviceptr)buffer->offset;
}

static inline struct kz_device *array_device(const struct kz_array *array)
{
	return array->buffer->memory->device;
}

static inline CUdeviceptr array_address(const struct kz_array *array)
{
	return buffer_address(array->buffer) + (CUdeviceptr)array->offset;
}

/* copy.c */

/* Repeat a pattern of any size `count` times; the caller has checked that it fits. */
kz_status buffer_fill(struct kz_buffer *buffer, int64_t offset, int64_t count,
	const void *pattern, int64_t pattern_size, struct kz_stream *stream, kz_error *err);

/* pool.c */

void allocators_free(struct kz_device *dev);

/* pinned.c */

void pinned_init(struct pinned_list *list);
void pinned_finish(struct pinned_list *list);
/* The live pinned memory that a pointer of the host lies in, counted; NULL if there is none. */
struct memory *pinned_find(struct pinned_list *list, const void *pointer);
/* Pinned memory by way of which so few bytes go to `host`; NULL if they shall go there themselves. */
void *pinned_take_slot(struct kz_device *dev, const void *host, int64_t size);
void pinned_put_slot(struct kz_device *dev, void *slot);
void pinned_free_slot(struct kz_device *dev);

/* module.c */

struct kz_module *module_retain(struct kz_module *mod);
/* Give back the caller's count on the device, which from now on outlives the module; module_drop ends
 * it. */
void module_forget_device(struct kz_module *mod);

#endif
