/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_PASSES_IR_VALUES_H
#define CPU_CODEGEN_PASSES_IR_VALUES_H

/* Questions about values of LLVM. */
#include "base/common.h"

#include <llvm-c/Core.h>

/* Whether a value is an instruction of a kind; false for NULL. */
bool ir_is(LLVMValueRef value, LLVMOpcode op);
/* The scalar that all lanes of a vector have; NULL if its instructions do not show one.  Constants
 * are not looked at. */
LLVMValueRef ir_splat_scalar(LLVMValueRef vector);
/* Of a comparison that asks whether lanes are neighbours, or alike, the vector of addresses, which
 * is compared with (its lanes in another order) + offsets, constants or NULL; NULL: it asks
 * something else. */
LLVMValueRef ir_neighbour_test(LLVMValueRef *order, LLVMValueRef *offsets, LLVMValueRef compare);

#endif
