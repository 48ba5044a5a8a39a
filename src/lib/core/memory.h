/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_MEMORY_H
#define LIB_CORE_MEMORY_H

/*
 * Memory of devices, and buffers over it.
 *
 * Who keeps whom alive: array -> buffer -> memory -> device; memory -> the stream that used it
 * last; stream, event and module -> device; free memory in the pool keeps nobody.
 *
 * One rule orders work: memory_use() before anything touches a piece of memory in a stream, and
 * memory_used() after.  The first makes that stream wait, by an event, for the stream that used the
 * memory before.  So all uses of one piece of memory happen in the order of the calls, and the last
 * user stands for all.  The second is for another thread that took the memory over between the two
 * (it has a view of another part): its stream then waits for this one too.
 *
 * Work that is captured does not run, so it is no use in this sense: see graph.c.
 */
#include "lib/core/dtype.h"
#include "lib/core/stream.h"

struct kz_buffer {
	uint32_t tag;               /* OBJECT_BUFFER */
	atomic_int refs;
	struct memory *memory;
	int64_t offset;
	int64_t size;
	bool is_held;               /* the user has a handle that is to be released */
};

struct kz_pinned {
	uint32_t tag;               /* OBJECT_PINNED */
	struct memory *memory;
};

/* A piece of device memory, or of pinned host memory, that has an owner.  With refs 0 the pool
 * keeps it parked. */
struct memory {
	atomic_int refs;
	struct kz_device *device;
	CUdeviceptr address;
	int64_t size;
	struct mempool *pool;       /* that block is of; NULL for a part of another object */
	struct free_block *block;
	struct kz_buffer whole;     /* all of it, for the buffer that it is created for */
	const struct allocator *allocator; /* who gave it; NULL for the pool and the driver */
	void (*on_release)(void *user); /* for memory that is not ours; may be NULL */
	void *user;
	kz_dtype dtype;             /* of the array that it is for; 0: a buffer */
	int32_t argument;           /* of a launch, whose host memory it stands for, from 1; or 0 */
	int64_t count;              /* its elements */
	struct kz_graph *graph;     /* whose node allocates it: only nodes of that graph use it */
	atomic_int captures;        /* that go on and use it */
	pthread_mutex_t lock;       /* guards changes of last: views may be used by two threads */
	_Atomic(struct kz_stream *) last; /* the last user, counted; NULL: none whose work may
	                                     run */
	atomic_bool has_values;     /* streams that are not `last` may still wait for it; see
	                               value.c */
};

/* What a new piece of memory is for; all may be 0. */
struct memory_wish {
	struct kz_stream *stream;   /* where it is used first; NULL: not known */
	kz_dtype dtype;             /* of an array; 0: a buffer */
	int64_t count;              /* the array's elements */
};

/* memory.c */

/* Allocate in a pool of the device; `wish` may be NULL. */
kz_status memory_create(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	int64_t size, const struct memory_wish *wish, kz_error *err);
/* Fail because there are no `size` bytes for it, or for its growth. */
kz_status memory_fail(const struct memory *memory, int64_t size, const struct mempool_failure *why,
	kz_error *err);
/* Wait for all work on memory; the context is current. */
kz_status memory_wait(struct memory *memory, kz_error *err);
/* The buffer that memory is created for, a part of it; takes the caller's reference. */
struct kz_buffer *memory_whole(struct memory *memory);
/* Memory that is a part of another object, such as a module's variable: no pool lists it.  The
 * owner, which may be NULL, keeps that object alive until on_release, after the last use. */
struct memory_owner {
	void (*on_release)(void *user);
	void *user;
};
kz_status memory_borrow(struct memory **out, struct kz_device *dev, CUdeviceptr address,
	int64_t size, const struct memory_owner *owner, kz_error *err);
static inline struct memory *memory_retain(struct memory *memory)
{
	atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
	return memory;
}

void memory_release(struct memory *memory);
/* For sets of what graphs use. */
extern const struct use_kind memory_kind;
/* A new buffer over memory; takes the caller's reference on success. */
kz_status buffer_take(struct kz_buffer **out, struct memory *memory, int64_t offset,
	int64_t size, kz_error *err);
/* Memory that somebody else owns.  With on_release, its end waits for the last use.  *out is left
 * alone on failure. */
kz_status memory_wrap(struct memory **out, struct kz_device *dev, enum mempool_kind kind,
	CUdeviceptr address, int64_t size, kz_error *err);
/* kz_buffer_create with a wish, as memory_create has it. */
kz_status buffer_create(struct kz_buffer **out, struct kz_device *dev, int64_t size,
	const struct memory_wish *wish, kz_error *err);
struct kz_buffer *buffer_retain(struct kz_buffer *buffer);
/* Give back a reference that is not the user's; kz_buffer_release is for users' handles. */
void buffer_release(struct kz_buffer *buffer);
/* The end of a call that makes a buffer for the user, who holds it. */
static inline kz_status buffer_hold(struct kz_buffer *const *out, kz_status st)
{
	if (st == KZ_OK) {
		(*out)->is_held = true;
		object_give(*out, (*out)->memory->device);
	}
	return st;
}
/* Check that a range lies in a buffer, which may be NULL. */
kz_status buffer_check(const struct kz_buffer *buffer, int64_t offset, int64_t size, kz_error *err);

kz_status memory_use_after(struct memory *memory, struct kz_stream *stream, kz_error *err);

/* Whether a stream is the last one that used the memory. */
static inline bool memory_is_last(const struct memory *memory, const struct kz_stream *stream)
{
	return likely(atomic_load_explicit(&memory->last, memory_order_acquire) == stream);
}

/* Call this before work on this memory goes into a stream.  The context is current.  If the stream
 * is captured, the graph gets a reference on the memory instead. */
static inline kz_status memory_use(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	if (memory_is_last(memory, stream) && likely(!stream_capture(stream))) {
		return KZ_OK;
	}
	return memory_use_after(memory, stream, err);
}

kz_status memory_used_late(struct memory *memory, struct kz_stream *stream, kz_error *err);

/* To be called, context current, after that work was put there. */
static inline kz_status memory_used(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	if (memory_is_last(memory, stream)) {
		return KZ_OK;
	}
	return memory_used_late(memory, stream, err);
}

/* Fail if `call`, which waits for the memory, would wait for a graph that is being captured. */
kz_status memory_refuse(const struct memory *memory, kz_error *err);

static inline kz_status memory_check_capture(const struct memory *memory,
	kz_error *err)
{
	return likely(atomic_load_explicit(&memory->device->captures, memory_order_relaxed) == 0)
		? KZ_OK : memory_refuse(memory, err);
}

/* The stream in which the memory is at rest soonest: its last user, else the default stream.  If
 * that one is captured, it is the default stream, since calls that name no stream are captured
 * then.  Counted, since another thread's view may end its last use: stream_release. */
struct kz_stream *memory_stream(struct memory *memory);

static inline CUdeviceptr buffer_address(const struct kz_buffer *buffer)
{
	return buffer->memory->address + (CUdeviceptr)buffer->offset;
}

/* copy.c */

/* A copy that goes into a stream: what it uses, and in which streams. */
struct copy_pass {
	struct kz_stream *stream;
	struct memory *memory[2];   /* NULL: host memory that nobody counts */
	struct kz_stream *home[2];  /* counted; of the memory's device, else `stream` */
	struct device_scope scope;
};

/* Enter the context of a stream, and let the stream wait for the last uses of two pieces of memory.
 * Either may be NULL, or of another device of the same driver; `call` cannot be captured then. */
kz_status copy_begin(struct copy_pass *pass, struct memory *to, struct memory *from,
	struct kz_stream *stream, kz_error *err);
/* After the driver's call, of which `st` came: returns `st`, or what went wrong here. */
kz_status copy_end(struct copy_pass *pass, kz_status st, kz_error *err);
/* Copy between buffers of one driver in a stream of the target's device.  All was checked, and
 * there are some bytes. */
struct buffer_place {
	struct kz_buffer *buffer;
	int64_t offset;
};
kz_status buffer_copy(struct buffer_place to, struct buffer_place from, int64_t size,
	struct kz_stream *stream, kz_error *err);

/* What a fill repeats: some bytes. */
struct pattern {
	const void *bytes;
	int64_t size;
};
#define PATTERN_ZERO ((struct pattern){"", 1})
/* Fill the beginning of a buffer with `count` of them; the caller has checked that they fit. */
kz_status buffer_fill(struct kz_buffer *buffer, int64_t count, struct pattern pattern,
	struct kz_stream *stream, kz_error *err);

#endif
