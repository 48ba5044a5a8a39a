/* SPDX-License-Identifier: MIT */
/* layout.def as the toolkit's cuda_runtime_api.h has it. */
#include "base/common.h"

#include "layout.h"

#ifndef KZ_CUDART
#define KZ_CUDART 13
#endif

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

#if defined(CUDART_VERSION) && CUDART_VERSION / 1000 == KZ_CUDART

#define E(constant) {#constant, (long long)(constant)},
#define C(ours, theirs) {#ours, (long long)(theirs)},
#define S(type) {"sizeof " #type, sizeof(type)},
#define F(type, member) {#type "." #member, offsetof(type, member)},
#define T(ours, theirs) {#ours, sizeof(theirs)},

const struct layout_row layout_real[] = {
#include "layout.def"
};
const size_t layout_real_count = countof(layout_real);

#else

const struct layout_row layout_real[] = {{NULL, 0}};
const size_t layout_real_count;

#endif
