/* SPDX-License-Identifier: MIT */
#ifndef TESTS_NUMBER_H
#define TESTS_NUMBER_H

/*
 * Elements of any dtype as numbers that hold them all exactly, for references in plain C.
 *
 * A number has an integer, valid for bool and integer types, and two long doubles, valid for all.
 */
#include <kudzu/kudzu.h>

#include <stdbool.h>

typedef __int128 whole;

struct number {
	whole i;
	long double re, im;
};

enum number_kind { NUMBER_BOOL, NUMBER_INTEGER, NUMBER_REAL, NUMBER_COMPLEX };

enum number_kind number_kind(kz_dtype dtype);
/* The type of a complex type's parts; any other is its own. */
kz_dtype number_part(kz_dtype dtype);
/* The digits of a real type, f64's 53; 0 if it is none. */
int number_digits(kz_dtype dtype);
bool number_is_signed(kz_dtype dtype);
int number_bits(kz_dtype dtype);

struct number number_load(kz_dtype dtype, const void *element);
/* The number must be one of the type. */
void number_store(kz_dtype dtype, void *element, struct number value);

struct number number_of_whole(whole value);
struct number number_of_real(long double value);
/* To the nearest of a type, halves to even; integers wrap; false where C does not say what
 * happens: what is beyond an integer type. */
bool number_convert(struct number *value, kz_dtype from, kz_dtype to);
long double number_round(kz_dtype real, long double value);
/* The distance of the numbers of a real type around this value. */
long double number_ulp(kz_dtype real, long double value);
/* The largest number of a real type. */
long double number_largest(kz_dtype real);

/* A random number: of all bits alike. */
uint64_t number_random(uint64_t *seed);
/* The `index`-th of the type's remarkable numbers; false from its number of these on. */
bool number_remarkable(struct number *out, kz_dtype dtype, int index);
/* One of those, a small one, or any bits. */
struct number number_any(kz_dtype dtype, uint64_t *seed);

#endif
