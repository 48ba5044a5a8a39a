/* SPDX-License-Identifier: MIT */
#ifndef MATH_MATH_H
#define MATH_MATH_H

/*
 * math has what programs compute with arrays beyond single operations: products of matrices,
 * solvers and factors, integration, random numbers, and what networks need.
 *
 * Everything here is made of views, expressions and reductions of src/ops where these will do.
 * Products, solvers and factors are the work of libraries, which are loaded at run time.
 */
#include "array/array.h"
#include "array/shape.h"
#include "ops/elementwise.h"

#endif
