/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_JIT_OPEN_H
#define CPU_JIT_JIT_OPEN_H

/* LLVM's part of the driver, a library of its own: see jit_llvm.h. */
#include "base/dl.h"
#include "cpu/codegen/jit_llvm.h"

/* Load the library, if that has not been done yet.  NULL, with the reason in diag, if that fails;
 * the next call tries again. */
const struct jit_llvm_calls *jit_open(struct ptx_diag *diag);
/* The build id of that library, without loading it; 0 if it has none. */
size_t jit_open_id(uint8_t out[DL_BUILD_ID_SIZE]);

#endif
