/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPS_REF_H
#define TESTS_OPS_REF_H

/* Every elementwise operation again, in plain C over numbers that hold all elements. */
#include "support/number.h"

#include <complex.h>

typedef whole ref_whole(whole a, whole b, whole c, kz_dtype dtype);
typedef long double ref_real(long double a, long double b, long double c, kz_dtype dtype);
typedef long double complex ref_complex(long double complex a, long double complex b);

enum ref_form {
	REF_PLAIN,   /* the operands become their common type, then that of `computed` */
	REF_COMPARE, /* the same, but integers are compared by value */
	REF_WHERE,   /* the first operand is asked only whether it is 0 */
	REF_CHOOSE,  /* the first operand stays as it is */
	REF_LDEXP    /* the second one does, an integer */
};

/* In the order of dtypes, with numpy's letters: ?bhilBHILeEfdFD, a dot for what is refused. */
struct ref {
	enum ref_form form;
	const char *computed; /* what the common type of the operands becomes */
	const char *result;   /* and what comes out */
	ref_whole *whole;
	ref_real *real;
	ref_complex *planar;
	/* The most that a result may be off, in units of its last place, f32 and f64; a half more
	 * for the rounding.  0: not at all, in no bit.  Of complex numbers: of their magnitude. */
	double ulps[2];
};

extern const struct ref ref_ops[];
enum { REF_OPS = 107 };

/* The types that operands of these types become, and that of the result; false if refused. */
bool ref_types(kz_op op, const kz_dtype *operands, kz_dtype *computed, kz_dtype *result);
/* The result for operands of the computed types, not yet rounded to the type of the result. */
struct number ref_apply(kz_op op, const kz_dtype *computed, const struct number *operands);
/* How far a result is from the right one, as a share of what is allowed: above 1 is wrong. */
double ref_error(kz_op op, kz_dtype computed, kz_dtype result, struct number want,
	struct number got, const struct number *operands);

#endif
