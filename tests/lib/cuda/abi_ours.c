/* SPDX-License-Identifier: MIT */
/* abi.def as src/base/cuda_abi.h has it. */
#include "base/common.h"

#include "base/cuda_abi.h"
#include "abi.h"

const struct abi_row abi_ours[] = {
#include "abi.def"
#define X ATTRIBUTE
#include "base/attributes.def"
#undef X
#define X RESULT
#include "base/codes.def"
#undef X
};
const size_t abi_ours_count = countof(abi_ours);
