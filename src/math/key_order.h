/* SPDX-License-Identifier: MIT */
#ifndef MATH_KEY_ORDER_H
#define MATH_KEY_ORDER_H

/* Elements as keys whose bits have the order of sorts (kernels/key_order.cuh). */
#include "array/array.h"
#include "base/str.h"

struct key_order {
	int bits;          /* of a part: 8 to 64; 0 for a type without an order */
	int parts;         /* 2 for complex numbers */
	int kind;          /* KZ_ORDER of key_order.cuh */
	uint64_t infinity; /* its bits */
};

/* An order that kernels are given when they run: struct kz_order_of of key_order.cuh. */
struct key_order_value {
	uint64_t floats, infinity, flip;
};

struct key_order key_order_of(kz_dtype dtype);
struct key_order_value key_order_value(kz_dtype dtype, bool descending);
/* The unsigned type of so many bytes, 1 to 16, in CUDA C. */
const char *key_order_word(int64_t size);
/* What key_order.cuh wants before its text, and the text. */
void key_order_write(struct str *source, kz_dtype dtype);
/* The same for all types whose keys have so many parts of so many bits. */
void key_order_write_sized(struct str *source, int bits, int parts);

#endif
