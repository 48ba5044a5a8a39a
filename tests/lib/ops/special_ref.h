/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SPECIAL_REF_H
#define TESTS_SPECIAL_REF_H

/* Special functions for long double that the C library lacks, by series, continued fractions and
 * recurrences: other formulas than those of kernels/special.cuh. */
#include <complex.h>

long double special_sinc(long double x);
long double complex special_complex_sinc(long double complex z);
long double special_erfinv(long double x);
long double special_ndtr(long double x);
long double special_digamma(long double x);
long double special_i0(long double x);
long double special_exp1(long double x);
long double special_expi(long double x);
long double special_si(long double x);
long double special_ci(long double x);

#endif
