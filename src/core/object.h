/* SPDX-License-Identifier: MIT */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

/* What all objects behind public handles have: counts, and checks of the arguments of calls. */
#include "base/error.h"

#include <kudzu/kudzu.h>

#include <stdatomic.h>
#include <string.h>

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

/* Objects that a caller passed. */
static inline kz_status object_check(const void *object, const char *what, kz_error *err)
{
	return likely(object)
		? KZ_OK : error_set(err, KZ_INVALID, "expected %s, got NULL", what);
}

/* Check the place for a result of `size` bytes, and clear it: it holds nothing until the call has
 * succeeded.  `call` is the name of the public function. */
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

#endif
