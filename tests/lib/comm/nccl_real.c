/* SPDX-License-Identifier: MIT */
/* lib/comm/nccl.def and NCCL's codes beside its header, where there is one: a difference does not
 * compile. */
#include "base/common.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

#define E(name, value) _Static_assert((int)(name) == (value), #name);
#define F(name, symbol, parameters)                                                                \
	_Static_assert(__builtin_types_compatible_p(ncclResult_t parameters, __typeof__(symbol)),  \
		"a function has another type");
#include "lib/comm/nccl.def"

#define X(domain, number, symbol, ...) NCCL_REAL_##domain(number, symbol)
#define NCCL_REAL_DRIVER(number, symbol)
#define NCCL_REAL_NVRTC(number, symbol)
#define NCCL_REAL_NVJITLINK(number, symbol)
#define NCCL_REAL_CUBLAS(number, symbol)
#define NCCL_REAL_CUSOLVER(number, symbol)
#define NCCL_REAL_CUFFT(number, symbol)
#define NCCL_REAL_NCCL(number, symbol) _Static_assert((int)(symbol) == (number), #symbol);
#include "base/codes.def"
#undef X

#endif
