/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_OBJECT_H
#define LIB_CORE_OBJECT_H

/*
 * What all objects behind public handles have: a tag, counts, and checks of the arguments of calls.
 *
 * The tag is the first member of each object and says what it is.  The end of an object inverts its
 * tag, so a call tells a handle that was released, or one of another kind, by one comparison.  The
 * memory of the last QUARANTINE objects that ended is not given back yet (object.c), so that their
 * tags stay readable.
 */
#include "base/error.h"

#include <kudzu/device.h>

#include <stdatomic.h>
#include <string.h>

#define OBJECT_KINDS(X) \
	X(ARRAY, "an array") \
	X(BUFFER, "a buffer") \
	X(COMM, "a communicator") \
	X(CUDA_ARRAY, "a CUDA array") \
	X(DEVICE, "a device") \
	X(DIAGNOSIS, "a diagnosis") \
	X(DIAGNOSTICS, "a list of diagnostics") \
	X(ELEMENTWISE, "an elementwise kernel") \
	X(EVENT, "an event") \
	X(EXEC, "an executable graph") \
	X(GRAPH, "a graph") \
	X(IMAGE, "an image") \
	X(KERNEL, "a kernel") \
	X(MODULE, "a module") \
	X(NODE, "a node") \
	X(NPZ, "a .npz file") \
	X(PINNED, "a pinned buffer") \
	X(PREPARED, "a prepared launch") \
	X(RANDOM, "a random number generator") \
	X(REDUCTION, "a reduction kernel") \
	X(SPARSE, "a sparse matrix") \
	X(STREAM, "a stream") \
	X(SURFACE, "a surface") \
	X(TEXTURE, "a texture") \
	X(TUNING, "a tuning") \
	X(WATCHER, "a watcher")

/* Numbers that other memory hardly begins with. */
enum object_kind {
	OBJECT_NONE = 0x6b7a0000,
#define X(kind, name) OBJECT_##kind,
	OBJECT_KINDS(X)
#undef X
	OBJECT_END
};

static inline bool object_is(const void *object, enum object_kind kind)
{
	return object && *(const uint32_t *)object == (uint32_t)kind;
}

/* "an array"; NULL for a number that is no kind. */
const char *object_kind_name(uint32_t kind);
/* "array", for a tag; "object" for one that there is not.  */
const char *object_kind(uint32_t tag);
/* "an array that was released": what a handle that object_is refuses points to. */
const char *object_describe(char *text, size_t size, const void *object);
/* Fail because a handle that a public function got as `argument` is not of this kind.  Its
 * error_scope names the function. */
kz_status object_refuse(const void *object, enum object_kind kind,
	const char *argument, kz_error *err);
/* Fail with "argument 'out': expected WHAT, got FOUND". */
kz_status argument_refuse(const char *argument, const char *what,
	const char *found, kz_error *err);

/* A handle that a caller passed as `argument`. */
static inline kz_status object_check_as(const void *object, enum object_kind kind,
	const char *argument, kz_error *err)
{
	if (likely(object_is(object, kind))) {
		return KZ_OK;
	}
	(void)object_refuse(object, kind, argument, err);
	return KZ_INVALID;
}

/* The same for a parameter of the variable's name. */
#define object_check(object, kind, err) object_check_as(object, kind, #object, err)

/* leaks.c keeps a list of handles while leaks_on: see there. */
extern atomic_bool leaks_on;
void leaks_add(const void *object, const struct kz_device *dev);
void leaks_remove(const void *object);
/* `call` puts its result over what `size` bytes at `out` hold, which may be anything. */
void leaks_overwrite(const void *out, size_t size, const char *call);

static inline bool leaks_are_kept(void)
{
	return atomic_load_explicit(&leaks_on, memory_order_relaxed);
}

/* The program gets a handle on the object, which belongs to a device, or to none. */
static inline void object_give(const void *object, const struct kz_device *dev)
{
	if (unlikely(leaks_are_kept())) {
		leaks_add(object, dev);
	}
}

/* It has given the handle back, or the library keeps what it got: the object may go on. */
static inline void object_take(const void *object)
{
	if (unlikely(leaks_are_kept())) {
		leaks_remove(object);
	}
}

/* The object has ended: every handle on it is one that was released. */
static inline void object_end(uint32_t *tag)
{
	object_take(tag);
	*tag = ~*tag;
}

/* Keep memory for a while, then free it.  NULL is fine. */
void object_quarantine(void *memory);

/* Give back the memory in which an object was that has ended.  NULL is fine. */
static inline void object_free(void *memory)
{
	object_take(memory); /* also of one that was never handed out */
	object_quarantine(memory);
}

/* Give a reference back; true: it was the last.  The owner of the only reference is alone with the
 * object, and needs no atomic step. */
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

/* Lower a count of handles; false: it is 0, so one handle was released twice. */
static inline bool refs_lower(atomic_int *count)
{
	int refs = atomic_load(count);
	while (refs > 0 && !atomic_compare_exchange_weak(count, &refs, refs - 1)) {
	}
	return refs > 0;
}

/* Any other pointer that a caller passed. */
static inline kz_status pointer_check_as(const void *pointer, const char *what,
	const char *argument, kz_error *err)
{
	if (likely(pointer)) {
		return KZ_OK;
	}
	(void)argument_refuse(argument, what, "NULL", err);
	return KZ_INVALID;
}

#define pointer_check(pointer, what, err) pointer_check_as(pointer, what, #pointer, err)

/* Fail because a public struct, "kz_launch_options", does not have the size that its macro sets. */
kz_status struct_refuse(const char *name, size_t size, size_t expected, kz_error *err);

/* Clear the place for a result of `size` bytes: it holds nothing until the call has succeeded.  A
 * public function does this first, since the place may hold a handle that the program loses by it.
 * NULL is fine.
 * `call` is the name of the function, with or without its prefix. */
static inline void out_clear(void *out, size_t size, const char *call)
{
	if (unlikely(leaks_are_kept())) {
		leaks_overwrite(out, size, call);
	}
	if (out) {
		memset(out, 0, size);
	}
}

/* The same, for a place that there must be. */
static inline kz_status out_check(void *out, size_t size, const char *call, kz_error *err)
{
	if (unlikely(!out)) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", call);
	}
	out_clear(out, size, call);
	return KZ_OK;
}

/* "1 byte", "2 bytes" */
static inline const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
