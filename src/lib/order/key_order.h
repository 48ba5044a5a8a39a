/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_KEY_ORDER_H
#define LIB_ORDER_KEY_ORDER_H

/* Elements as keys whose bits have the order of sorts (kernels/key_order.cuh). */
#include "kernels/key_order.cuh"
#include "lib/array/array.h"
#include "base/str.h"

/* The order of a type that has one, which kernels are given when they run. */
struct kz_order_of key_order_of(kz_dtype dtype, bool descending);
/* The bits of a part of such a key: 8 to 64; 0 for a type without an order. */
int key_order_bits(kz_dtype dtype);
/* 2 for complex numbers, else 1. */
int key_order_parts(kz_dtype dtype);
/* The unsigned type of so many bytes, 1 to 16, in CUDA C. */
const char *key_order_word(int64_t size);
/* What key_order.cuh wants before its text, and the text. */
void key_order_write(struct str *source, int bits, int parts);

#endif
