/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_HOST_LIBRARY_H
#define LIB_LINALG_HOST_LIBRARY_H

/*
 * A BLAS and a LAPACK for the processor, found at run time.
 *
 * KUDZU_BLAS and KUDZU_LAPACK name a library or its path, or say `none`.  Without them the loader
 * is asked for OpenBLAS, MKL, BLIS and the reference libraries.  A BLAS that has LAPACK, too, is
 * both.
 *
 * A library's integers have 32 or 64 bits, and its names may end in _ or _64_.  All its arguments
 * are addresses, so on a little-endian machine the address of an int64_t serves both: a library of
 * 32 bits reads and writes the low half.  How wide they are matters for sizes beyond 2^31, for
 * results, whose upper half is not written, and for arrays; host_library_get finds it out by a
 * call.
 */
#include "lib/linalg/provider.h"

#include "base/str.h"

enum host_part { HOST_BLAS, HOST_LAPACK, HOST_PARTS };

struct host_library {
#define X(library, name, real, complex, parameters) void (*name[LINALG_TYPES]) parameters;
#include "lib/linalg/blas.def"
#undef X
	struct host_object {
		void *object;  /* NULL: there is none */
		char name[256];
		bool is_wide;  /* its integers have 64 bits */
	} parts[HOST_PARTS];
};

/*
 * The libraries of the process, found by the first call.  Those that can be told so use `threads`
 * threads.  They stay loaded until the process ends, since their threads do.
 */
const struct host_library *host_library_get(int threads);
/* What was tried and is not one, a line each; "" if nothing failed. */
const char *host_library_log(void);

/* The variable that names a file for a part which is no such library; NULL: none does. */
const char *host_library_misnamed(const struct host_library *library, enum host_part part);

/* Which processor the kernels of a part are for, if it is OpenBLAS; else NULL. */
const char *host_library_core(const struct host_library *library, enum host_part part);
/* What a part says of itself, in one line: "OpenBLAS 0.3.21 ..., kernels for SkylakeX, 64-bit
 * integers, /usr/lib/libopenblas.so.0". */
void host_library_describe(struct str *out, const struct host_library *library,
	enum host_part part);

#endif
