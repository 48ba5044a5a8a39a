/* SPDX-License-Identifier: MIT */
/* layout.def as src/cudart/api.h has it. */
#include "base/common.h"

#include "layout.h"

#include "cudart/api_array.h"

#define E(constant) {#constant, (long long)(constant)},
#define C(ours, theirs) {#ours, (long long)(ours)},
#define S(type) {"sizeof " #type, sizeof(type)},
#define F(type, member) {#type "." #member, offsetof(type, member)},
#define T(ours, theirs) {#ours, sizeof(ours)},

const struct layout_row layout_ours[] = {
#include "layout.def"
};
const size_t layout_ours_count = countof(layout_ours);
