/* SPDX-License-Identifier: MIT */
/* abi.def as src/drv/cuda_abi.h has it. */
#include "base/common.h"

#include "drv/cuda_abi.h"
#include "abi.h"

const struct abi_row abi_ours[] = {
#include "abi.def"
#define X ATTRIBUTE
#include "drv/attributes.def"
#undef X
#define X RESULT
#include "drv/codes.def"
#undef X
};
const size_t abi_ours_count = countof(abi_ours);
