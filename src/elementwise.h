/* SPDX-License-Identifier: MIT */
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H

/* Run an expression over arrays: broadcast, protect what overlaps, launch one kernel. */
#include "expr.h"

/* How to run one; zeros for the defaults. */
struct elementwise {
	struct kz_device *device;      /* NULL: that of the arrays */
	const kz_shape *shape;         /* NULL: what the arrays broadcast to */
	struct kz_array *into;         /* NULL: a new array */
	struct kz_stream *stream;      /* NULL: the device's default stream */
	bool unsafe;                   /* into may be of any type */
};

/* Run it; the result is *out, with a count of its own, if out is not NULL. */
kz_status elementwise_run(kz_array **out, struct expr *expr, const struct elementwise *how,
	kz_error *err);

/* That two arrays are of one device; else an error that says what could not be done: "add". */
kz_status elementwise_same_device(const struct kz_array *a, const struct kz_array *b,
	const char *verb, kz_error *err);

#endif
