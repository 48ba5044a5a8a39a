/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_REDUCE_H
#define LIB_OPS_REDUCE_H

/* Reduce the elements of an expression along axes. */
#include "base/str.h"
#include "lib/ops/expr.h"
#include "lib/ops/kernels.h"

/* The last step, on the value that all elements were combined to. */
enum reduce_finish {
	REDUCE_AS_IS,
	REDUCE_QUOTIENT,      /* by a number */
	REDUCE_PRODUCT,       /* with it, in float64 */
	REDUCE_ROOT,          /* square root */
	REDUCE_ROOT_QUOTIENT  /* square root of the quotient */
};

/* How elements become one. */
struct reduce_rule {
	kz_op combine;             /* ADD, MULTIPLY, MINIMUM, ...: any order of elements will do */
	enum reduce_finish finish;
	bool position;             /* the result is the index of the element that is the minimum or
	                              maximum, the first such, or that of the first NaN */
	kz_dtype dtype;            /* of the result: the expression's (halves: rounded once, here),
	                              its kind's for all but REDUCE_AS_IS, int64 for positions; for
	                              REDUCE_PRODUCT also float64 or complex128 */
};

struct reduce {
	const char *name;          /* for errors, profilers */
	struct expr *expr;         /* over at least one array; nothing weak, no index */
	struct reduce_rule rule;
	uint32_t axes;             /* bit i: axis i of what the arrays broadcast to */
	double number;             /* of the last step */
	struct kz_stream *stream;
};

/*
 * Run it into an array of the rule's dtype, whose memory none of the expression's arrays share; its
 * shape is what the arrays broadcast to, with 1 for the axes that are reduced or without them.
 * There is at least one element for each result.
 */
kz_status reduce_run(struct kz_array *target, const struct reduce *reduce, const kz_shape *shape,
	kz_error *err);

/* Where a result goes. */
struct reduce_end {
	struct kz_array *into;     /* NULL: a new array */
	void *slot;                /* of pinned_take_slot, for a result of one element; or NULL */
	bool keepdims;
};

/* Add the elements of an expression up, as every sum of kz_reduce: into what array it may be, and
 * of no elements to 0.  `shape` is what the arrays broadcast to. */
kz_status reduce_sum_to(kz_array **out, const struct reduce *reduce, const kz_shape *shape,
	const struct reduce_end *end, kz_error *err);
/* Have a result, of the slot if it is there, in host memory; waits for it. */
kz_status reduce_take(void *host, int64_t size, kz_array *result, const void *slot, kz_error *err);
/* Sums of products of the elements of two arrays, none of which is stored. */
struct reduce_products {
	const char *name;     /* for errors: "dot" */
	struct kz_array *a, *b; /* of one device; they broadcast */
	bool conjugate;       /* the elements of a */
	kz_axes axes;         /* of what they broadcast to */
	kz_dtype dtype;       /* what elements become first, and of the result; no struct */
	struct kz_array *into; /* NULL: a new array */
	struct kz_stream *stream; /* NULL: the default one */
};

kz_status reduce_products(kz_array **out, const struct reduce_products *products, kz_error *err);

/* The kernel's class: with the nodes it is all that the text depends on. */
struct reduce_class {
	kz_dtype dtype;    /* of what is combined */
	kz_dtype result;
	uint8_t combine, finish, position;
	uint8_t narrow;    /* positions: both values and indexes fit 32 bits */
	uint8_t partial;   /* no expression: array 0 holds what an earlier pass left */
	uint8_t columns;   /* lanes are different results */
	uint8_t alone;     /* a block has one thread */
	uint8_t linear;    /* alone, not columns, and any order of elements gives the same bits */
	uint8_t rising;    /* alone, position, not columns, not partial: indexes rise with the
	                      rows */
	uint8_t unit;      /* lanes lie side by side */
	uint8_t dims;      /* room for the extents that are kept */
	uint8_t pack;      /* not alone: lanes side by side that a thread has; else 1 */
	uint32_t constant; /* bit i: array i is one element for all lanes and rows */
};

struct reduce_text {
	struct reduce_class class;
	const struct expr *expr;
};

enum { REDUCE_LANES = 256, REDUCE_SERIAL_COLUMNS = 1024, REDUCE_SERIAL_PLACES = 64,
	REDUCE_BLOCK = 256 };

/* The most lanes of a task. */
static inline int reduce_width(bool alone, bool columns)
{
	return alone && columns ? REDUCE_SERIAL_COLUMNS : REDUCE_LANES;
}

/* The bytes of what is combined, between two passes. */
int64_t reduce_partial_size(const struct reduce_class *class);
/* The source; `context` is a struct reduce_text.  Parameters: addresses of the result and of the
 * arrays, struct kz_extents of kernels/reduce.cuh, the numbers. */
kernels_write reduce_write;
extern const struct kernel_family reduce_family;

#endif
