/* SPDX-License-Identifier: MIT */
/* lib/linalg/cublas.def and lib/linalg/cufft.def beside the toolkit's headers, where there are
 * those of CUDA 13: a difference does not compile. */
#include "base/common.h"

#if __has_include(<cublas_v2.h>) && __has_include(<cusolverDn.h>)
#include <cublas_v2.h>
#include <cusolverDn.h>
#endif
#if __has_include(<cufft.h>)
#include <cufft.h>
#endif

#if defined(CUBLAS_VER_MAJOR) && CUBLAS_VER_MAJOR == 13

#define E(name, value) _Static_assert((name) == (value), #name);
#include "lib/linalg/cublas.def"
#undef E

/* Codes of the table that the headers have, too. */
#define X(domain, number, symbol, ...) CUDA_REAL_##domain(number, symbol)
#define CUDA_REAL_DRIVER(number, symbol)
#define CUDA_REAL_NVRTC(number, symbol)
#define CUDA_REAL_NVJITLINK(number, symbol)
#define CUDA_REAL_CUBLAS(number, symbol) _Static_assert((symbol) == (number), #symbol);
#define CUDA_REAL_CUSOLVER(number, symbol) _Static_assert((symbol) == (number), #symbol);
#define CUDA_REAL_CUFFT(number, symbol)
#define CUDA_REAL_NCCL(number, symbol)
#include "base/codes.def"
#undef X

#define CUDA_REAL_PASTE_(a, b, c) a##b##c
#define CUDA_REAL_PASTE(a, b, c) CUDA_REAL_PASTE_(a, b, c)
#define CUDA_REAL_RESULT_CUBLAS cublasStatus_t
#define CUDA_REAL_RESULT_CUSOLVER cusolverStatus_t
#define CUDA_REAL_CHECK(library, symbol, parameters)                                               \
	_Static_assert(__builtin_types_compatible_p(CUDA_REAL_RESULT_##library parameters,         \
		__typeof__(symbol)), "a function has another type");

#define F(library, name, symbol, parameters) CUDA_REAL_CHECK(library, symbol, parameters)
#include "lib/linalg/cublas.def"
#undef F

#define X(library, name, prefix, real, complex, parameters)                                        \
	CUDA_REAL_CHECK(library, CUDA_REAL_PASTE(prefix, LETTER, real), parameters)
#define LETTER S
#define ELEMENT float
#define REAL float
#include "lib/linalg/cublas.def"
#undef LETTER
#undef ELEMENT
#undef REAL
#define LETTER D
#define ELEMENT double
#define REAL double
#include "lib/linalg/cublas.def"
#undef LETTER
#undef ELEMENT
#undef REAL
#undef X

#define X(library, name, prefix, real, complex, parameters)                                        \
	CUDA_REAL_CHECK(library, CUDA_REAL_PASTE(prefix, LETTER, complex), parameters)
#define LETTER C
#define ELEMENT cuComplex
#define REAL float
#include "lib/linalg/cublas.def"
#undef LETTER
#undef ELEMENT
#undef REAL
#define LETTER Z
#define ELEMENT cuDoubleComplex
#define REAL double
#include "lib/linalg/cublas.def"

#endif

#if defined(CUFFT_VER_MAJOR) && CUFFT_VER_MAJOR == 12

#define E(name, value) _Static_assert((name) == (value), #name);
#define F(library, name, symbol, parameters)                                                       \
	_Static_assert(__builtin_types_compatible_p(cufftResult parameters, __typeof__(symbol)),   \
		"a function has another type");
#include "lib/linalg/cufft.def"

#endif
