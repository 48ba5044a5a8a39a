/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_GENERATE_H
#define LIB_OPS_GENERATE_H

/* An expression and the layout of its arrays -> the CUDA C of one kernel. */
#include "base/str.h"
#include "lib/ops/expr.h"
#include "lib/ops/kernels.h"

static_assert(EXPR_ARRAYS <= 32, "a set of arrays has 32 bits");

/*
 * How the elements lie.  Flat: element i of every array is at i * size, or, for a constant one,
 * always at the same place.  Else there are `ndim` extents with a stride for each array, and
 * `constant` and `unit` speak of the last extent.
 *
 * Where a block has one thread, as on the CPU, it walks: it has a chunk of the elements, and a
 * plain loop over them, which LLVM makes vectors of.  Where it would not (expr_is_branchy), a block
 * is a warp, whose lanes the device computes together.
 *
 * A GPU wants many bytes under way: all that a thread has to read it reads before it computes.
 * These are `pack` elements in a row, where some have less than 4 bytes, so that it moves more of
 * these at once; and of such packs `turns`, a block's width apart.  Packs begin where the target's
 * address is a multiple of a pack's size, and there all arrays' must be.
 */
struct layout {
	uint8_t ndim;      /* 0: flat */
	uint8_t wide;      /* indexes need 64 bits */
	uint8_t walk;      /* threads of a block that walks: 1 or 32; 0: a thread has a few
	                      elements */
	uint8_t unit;      /* the last extent's strides are the elements' sizes, or minus these */
	uint32_t constant; /* bit i: array i is constant */
	uint32_t backward; /* bit i: array i has minus its size, if unit */
	uint32_t target;   /* bit i: array i is the target (of a block that walks: LLVM must
	                      know) */
	uint16_t pack;     /* elements in a row that a thread of a GPU takes at once, if flat; else
	                      1 */
	uint16_t turns;    /* how often it does */
};

struct generate {
	const struct expr *expr;
	kz_dtype dtype; /* of the target */
	struct layout layout;
	bool in_pack;   /* the nodes that are written are of what was read before */
};

/*
 * Write the source; `context` is a struct generate.  The parameters of kz_kernel: the target's
 * address, the arrays' addresses, the extents, the numbers.  The extents are, flat, the count, an
 * index; else these, with indexes of 4 or 8 bytes as layout.wide says:
 *
 *	index inner, rows;                 the last extent, the product of the others
 *	index dims[ndim];                  all extents
 *	int64 strides[1 + arrays][ndim];   in bytes; the target's first
 *
 * Numbers are int64, uint64, double, or two doubles, whatever their node's type of that kind.
 */
kernels_write generate_elementwise;

/* How kernels spell the type of an element in memory; structs are blobs of integers. */
void generate_storage(struct str *source, kz_dtype dtype);
/* How they spell the type of a value: "float" for halves. */
const char *generate_value(kz_dtype dtype);
/* Around an expression: from memory to a value, and back. */
void generate_load(struct str *source, kz_dtype dtype, const char *place);
void generate_store(struct str *source, kz_dtype dtype, const char *place, const char *value);
/* The prelude and these of one type: kz_stored, an element in memory, kz_value, kz_load and
 * kz_save. */
void generate_element(struct str *source, kz_dtype dtype);
/* The device functions that values of some types need: those of dtype_bit(). */
void generate_prelude(struct str *source, uint32_t dtypes, bool with_integers);
/* The parts of a kernel that computes an expression, for callers that write their own loops.
 * Parameters of the kernel, each after a comma; the numbers as constants; constant arrays as
 * constants; the nodes, of which n0, n1, ... are the values.  Element i of array k is in row<k +
 * 1>[i], and where layout.unit is not set it is i * step<k + 1> bytes after that. */
void generate_number_params(struct str *source, const struct expr *expr);
void generate_numbers(struct str *source, const struct expr *expr);
void generate_constants(struct str *source, const struct generate *generate);
void generate_nodes(struct str *source, const struct generate *generate);
/* The bytes that an element's address must be a multiple of. */
int64_t generate_alignment(kz_dtype dtype);

#endif
