/* SPDX-License-Identifier: MIT */
/* abi.def as the toolkit's cuda.h has it; the types of the functions are checked right here. */
#include "base/common.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
/* NVIDIA has these in a header of its own, which not every package has. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
#endif

#include "abi.h"

#if defined(CUDA_VERSION) && CUDA_VERSION / 1000 == 13

const struct abi_row abi_real[] = {
#include "abi.def"
#define X ATTRIBUTE
#include "base/attributes.def"
#undef X
#define X RESULT
#include "base/codes.def"
#undef X
};
const size_t abi_real_count = countof(abi_real);
const int abi_real_version = CUDA_VERSION;

#define X(name, symbol, since, need, parameters)                                                   \
	_Static_assert(__builtin_types_compatible_p(CUresult parameters, __typeof__(symbol)),      \
		#symbol " has another type");
#include "lib/cuda/cuda.def"
#undef X

#else

const struct abi_row abi_real[] = {{NULL, 0}};
const size_t abi_real_count;
const int abi_real_version;

#endif
