/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/codegen/passes/ir_values.h"

bool ir_is(LLVMValueRef value, LLVMOpcode op)
{
	return value && LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == op;
}

LLVMValueRef ir_splat_scalar(LLVMValueRef vector)
{
	if (!ir_is(vector, LLVMShuffleVector)) {
		return NULL;
	}
	LLVMValueRef from = LLVMGetOperand(vector, 0);
	bool inserts = ir_is(from, LLVMInsertElement) && LLVMIsAConstantInt(LLVMGetOperand(from, 2))
		&& LLVMConstIntGetZExtValue(LLVMGetOperand(from, 2)) == 0;
	for (unsigned i = 0; i < LLVMGetNumMaskElements(vector) && inserts; i++) {
		inserts = LLVMGetMaskValue(vector, i) == 0;
	}
	return inserts ? LLVMGetOperand(from, 1) : NULL;
}

LLVMValueRef ir_neighbour_test(LLVMValueRef *order, LLVMValueRef *offsets, LLVMValueRef compare)
{
	LLVMValueRef value = LLVMGetOperand(compare, 0), want = LLVMGetOperand(compare, 1);
	bool has_offsets = ir_is(want, LLVMAdd) && LLVMIsConstant(LLVMGetOperand(want, 1));
	*offsets = has_offsets ? LLVMGetOperand(want, 1) : NULL;
	*order = has_offsets ? LLVMGetOperand(want, 0) : want;
	return LLVMGetICmpPredicate(compare) == LLVMIntNE && ir_is(*order, LLVMShuffleVector)
		&& LLVMGetOperand(*order, 0) == value ? value : NULL;
}
