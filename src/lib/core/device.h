/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_DEVICE_H
#define LIB_CORE_DEVICE_H

/*
 * core is the driver's devices, streams, events, memory and copies as objects of the library:
 * counted, checked, usable from any thread.  It knows neither kernels nor arrays.
 *
 * This header: devices, and the streams that are a part of them.
 *
 * A call of the driver is put between device_enter and device_leave, and device_ok makes an error
 * value of what it answers.  Counts are atomic; the last release frees.  The default stream is a
 * part of its device and shares its count.
 *
 * device.c has these functions; device_open.c makes and ends devices.
 */
#include "base/kudzu_abi.h"
#include "lib/core/mempool.h"
#include "lib/core/object.h"
#include "lib/core/pinned.h"
#include "lib/cuda/drv.h"

#include <kudzu/output.h>

#include <pthread.h>
#include <stdatomic.h>

struct kz_stream {
	uint32_t tag;               /* OBJECT_STREAM */
	atomic_int refs;            /* of a stream that is not the default one */
	struct kz_device *device;
	int64_t number;             /* in the trace; 0 is the default stream */
	CUstream handle;
	CUevent order;              /* marks the point that another stream waits for */
	struct free_list *free_lists; /* free memory that it used last, for each of the pools */
	bool is_default;
	bool is_borrowed;           /* the handle is not ours to destroy */
	_Atomic(struct capture *) capture; /* that the stream is part of, see capture.h; else
	                                      NULL */
	struct kz_stream *next_captured; /* of the same capture */
	bool is_held;               /* the user has a handle yet */
	_Atomic uint64_t traced;    /* operations that traces have seen in it */
};

/* What is put into the stream goes into a graph instead of running. */
static inline struct capture *stream_capture(const struct kz_stream *stream)
{
	return atomic_load_explicit(&stream->capture, memory_order_acquire);
}

/* An allocator that a user has set; it stays as long as its device. */
struct allocator {
	kz_allocator calls;
	struct allocator *next;
};

/* What upper layers keep for a device: a table in each place.  The device only ends them, in this
 * order, since kernels belong to modules. */
enum device_place { DEVICE_MATH, DEVICE_CUFFT, DEVICE_FFT, DEVICE_KERNELS, DEVICE_MODULES,
	DEVICE_TABLES };

/* The first member of such a table. */
struct device_table {
	void (*end)(struct device_table *table); /* free it; empty ones, too */
	void (*trim)(struct device_table *table); /* give back what nobody uses; NULL: nothing */
};

/* What the device counts, besides memory. */
enum device_object { DEVICE_STREAM, DEVICE_EVENT, DEVICE_MODULE, DEVICE_OBJECTS };

enum { DEVICE_NAME = 24 };

struct kz_device {
	uint32_t tag;               /* OBJECT_DEVICE */
	atomic_int refs;
	int opens;                  /* handles that users hold, under the lock of the list */
	struct kz_device *next;     /* in the list of open devices, under its lock */
	void (*end)(struct kz_device *dev); /* of device_open.c: the last reference has gone */
	struct drv *drv;
	int ordinal;
	CUdevice handle;
	CUcontext context;          /* the primary one, retained */
	CUmemoryPool default_pool;  /* the driver's, where that allocates; NULL: not known */
	struct kz_stream stream;    /* the default stream */
	_Atomic int64_t stream_count; /* that were ever made */
	_Atomic uint64_t traced;    /* operations that traces have seen in all of them */
	_Atomic int64_t live[DEVICE_OBJECTS]; /* of each kind */
	kz_close_fn *on_close;      /* what the user's last handle calls, under the lock of the
	                               list */
	void *on_close_user;
	kz_device_info info;
	const struct kudzu_exports *exports; /* the private table of our own driver; NULL: another
	                                        one */
	bool has_pools;             /* cuMemAllocAsync works */
	bool ptx_only;              /* loads no cubin: a device attribute says so */
	unsigned checks;            /* KUDZU_CHECK, a set: pools keep nothing, likewise */
	bool on_host;               /* its memory is the host's */
	bool has_libraries;         /* NVIDIA's libraries work with it: it runs machine code */
	bool serial;                /* a thread runs fastest alone: generated kernels have one each
	                               block */
	atomic_uint peers;          /* of the driver, whose memory its kernels may access, a set */
	char name[DEVICE_NAME];
	char model[256];
	_Atomic(char *) note;       /* set once, under the lock of the list */
	atomic_bool lost;           /* a sticky error happened; `cause` says which */
	pthread_mutex_t lock;       /* guards the making of cause */
	kz_error cause;
	int release_failures;       /* since the last report, guarded by `lock`; the first one: */
	CUresult release_code;
	const char *release_call;
	pthread_rwlock_t gate;      /* of captures, see device_hold_captures */
	atomic_bool has_leaks;      /* the last handle was closed, and objects were live */
	atomic_bool has_slot;       /* `slot` was made, or could not be */
	atomic_bool output_waits;   /* there may be text of kernels in the buffer of its file */
	atomic_int captures;        /* that go on in its streams */
	atomic_int output_error;    /* errno of text that the file could not take, since the last
	                               report */
	struct output {             /* where the text of kernels goes: output.c */
		kz_output_fn *function; /* NULL: where the driver has it */
		void *user;
		FILE *file;             /* that gets it instead */
	} output;                   /* changed under `lock`, when the driver does not use it */
	struct mempool pools[MEMPOOL_KINDS];
	struct pinned_list pinned;
	_Atomic(void *) slot;       /* for few bytes on their way to the host; NULL: taken, or
	                               none */
	_Atomic(struct allocator *) allocator; /* in the place of the pool; NULL: none */
	struct allocator *allocators; /* all that there were, guarded by `lock` */
	_Atomic(struct device_table *) tables[DEVICE_TABLES]; /* NULL until somebody needs one */
};

/* Where a pool puts memory that a stream used last; `stream` may be NULL: all work has passed. */
static inline struct free_list *device_free_list(struct mempool *pool, struct kz_stream *stream)
{
	return stream ? &stream->free_lists[pool->kind] : &pool->idle;
}

/* The process was forked from the one that had opened the device.  Nothing of it ends here: a
 * thread that is missing in this process may have held any lock, or have been in the middle of a
 * list. */
static inline bool device_is_forked(const struct kz_device *dev)
{
	return unlikely(dev->drv->is_forked);
}

/* Whether kz_device_enable_peer_access lets kernels of `dev` access the memory of another
 * device. */
bool device_has_access(const struct kz_device *dev, const struct kz_device *peer);

static inline struct kz_device *device_retain(struct kz_device *dev)
{
	atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
	return dev;
}

/* The name that opens a device of a driver, "cuda:1"; device_open.c. */
void device_write_name(char out[DEVICE_NAME], const struct drv *drv, int ordinal);

/* What an object calls for the device that it retained; kz_device_close is for users' handles. */
void device_release(struct kz_device *dev);

/* An object of this kind is there, or has gone; it has a reference on the device besides. */
static inline void device_count(struct kz_device *dev, enum device_object kind, int change)
{
	atomic_fetch_add_explicit(&dev->live[kind], change, memory_order_relaxed);
}

/* The table in a place; NULL if nobody has put one there. */
static inline struct device_table *device_table(const struct kz_device *dev,
	enum device_place place)
{
	return atomic_load_explicit(&dev->tables[place], memory_order_acquire);
}

/* Give a table to the device.  Returns it, or the one that another thread put there first; then
 * `made` was ended. */
struct device_table *device_put_table(struct kz_device *dev, enum device_place place,
	struct device_table *made);

/* Count a release that the driver has refused, for kz_device_check. */
void device_count_failure(struct kz_device *dev, CUresult code, const char *call);
static inline void device_released(struct kz_device *dev, CUresult code, const char *call)
{
	if (unlikely(code != CUDA_SUCCESS)) {
		device_count_failure(dev, code, call);
	}
}

/* Make the device's context current; device_leave restores the caller's.  Fails with the first
 * cause when the context is lost; then there is nothing to leave. */
struct device_scope {
	CUcontext previous;
	bool switched;
};

kz_status device_report_loss(struct kz_device *dev, kz_error *err);
/* The same for releases, without an error value.  False when the context is lost: what lived in it
 * is gone, and its handles mean nothing any more. */
bool device_enter_quietly(struct kz_device *dev, struct device_scope *scope);

/* Fail for a device whose driver cannot end a kernel. */
kz_status device_check_timeout(const struct kz_device *dev, kz_error *err);

static inline kz_status device_check_loss(struct kz_device *dev, kz_error *err)
{
	return atomic_load(&dev->lost) ? device_report_loss(dev, err) : KZ_OK;
}

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
	if (unlikely(code != CUDA_SUCCESS)) {
		return device_fail(dev, code, "cuCtxGetCurrent", err);
	}
	if (scope->previous != dev->context) {
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

/* To wait for a whole context ends the captures in it.  Between these two none begins; true if one
 * goes on.  They do not nest, and kz_graph_begin waits for them. */
static inline bool device_hold_captures(struct kz_device *dev)
{
	pthread_rwlock_rdlock(&dev->gate);
	return atomic_load(&dev->captures) > 0;
}

static inline void device_let_captures(struct kz_device *dev)
{
	pthread_rwlock_unlock(&dev->gate);
}

/* While a thread captures, the driver refuses it calls that may synchronise.  Those between these
 * two do no harm to a capture. */
static inline CUstreamCaptureMode device_relax(const struct kz_device *dev)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (drv_has(dev->drv, DRV_cuThreadExchangeStreamCaptureMode)) {
		(void)dev->drv->ThreadExchangeStreamCaptureMode(&mode);
	}
	return mode;
}

static inline void device_restore(const struct kz_device *dev, CUstreamCaptureMode mode)
{
	if (drv_has(dev->drv, DRV_cuThreadExchangeStreamCaptureMode)) {
		(void)dev->drv->ThreadExchangeStreamCaptureMode(&mode);
	}
}

/* stream_release undoes it. */
static inline struct kz_stream *stream_retain(struct kz_stream *stream)
{
	atomic_int *refs = stream->is_default ? &stream->device->refs : &stream->refs;
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
	return stream;
}

/* Fail if a stream of the device is captured: `call` waits for the device. */
kz_status device_check_capture(const struct kz_device *dev, const char *call, kz_error *err);
/* output.c.  The device has been waited for: report text of kernels that was lost, once. */
kz_status output_report(struct kz_device *dev, kz_error *err);
static inline kz_status output_check(struct kz_device *dev, kz_error *err)
{
	bool has_output = dev->exports
		&& atomic_load_explicit(dev->exports->has_output, memory_order_relaxed);
	return has_output || atomic_load_explicit(&dev->output_waits, memory_order_relaxed)
		? output_report(dev, err) : KZ_OK;
}
/* The device ends, its context is there still. */
void output_finish(struct kz_device *dev);

/* pool.c */

void allocators_free(struct kz_device *dev);

#endif
