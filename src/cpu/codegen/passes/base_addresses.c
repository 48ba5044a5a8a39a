/* SPDX-License-Identifier: MIT */
/*
 * A pass that gives addresses a base pointer, for LLVM's loop vectoriser.
 *
 * PTX computes addresses as integers, and LLVM knows little of a pointer that was an integer, not
 * even that the addresses of two iterations are neighbours.  So an address that is counted from a
 * parameter, from another integer that the entry loads, or from the local memory of the thread,
 * becomes a pointer to that and a distance.  Any of these in the sum will do, because the distance
 * is the rest of the sum.
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"

/* How far the search for the integer goes: sums of sums, loops within loops. */
enum { MOST_STEPS = 12 };

static LLVMValueRef find_base(LLVMValueRef value, LLVMBasicBlockRef entry, unsigned steps)
{
	LLVMValueRef base = NULL;
	if (!LLVMIsAInstruction(value) || steps == 0) {
		return NULL;
	}
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMLoad:
	case LLVMPtrToInt:
		return LLVMGetInstructionParent(value) == entry ? value : NULL;
	case LLVMAdd:
		base = find_base(LLVMGetOperand(value, 0), entry, steps - 1);
		return base ? base : find_base(LLVMGetOperand(value, 1), entry, steps - 1);
	case LLVMPHI:
		for (unsigned i = 0; i < LLVMCountIncoming(value) && !base; i++) {
			base = find_base(LLVMGetIncomingValue(value, i), entry, steps - 1);
		}
		return base;
	default:
		return NULL;
	}
}

/* Count an address from its base. */
static void base_address_apply(LLVMBuilderRef builder, LLVMValueRef pointer,
	LLVMBasicBlockRef entry)
{
	LLVMValueRef address = LLVMGetOperand(pointer, 0);
	LLVMValueRef base = find_base(address, entry, MOST_STEPS);
	if (!base || base == address) {
		return;
	}
	LLVMTypeRef byte = LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(pointer)));
	LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(entry));
	LLVMValueRef start = LLVMBuildIntToPtr(builder, base, LLVMPointerType(byte, 0), "");
	LLVMPositionBuilderBefore(builder, pointer);
	LLVMValueRef distance = LLVMBuildSub(builder, address, base, "");
	LLVMValueRef place = LLVMBuildGEP2(builder, byte, start, &distance, 1, "");
	place = LLVMBuildBitCast(builder, place, LLVMTypeOf(pointer), "");
	LLVMReplaceAllUsesWith(pointer, place);
	LLVMInstructionEraseFromParent(pointer);
}

void pass_base_addresses(LLVMValueRef fn)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
	LLVMBasicBlockRef block = LLVMGetNextBasicBlock(entry);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef next;
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (LLVMGetInstructionOpcode(inst) == LLVMIntToPtr) {
				base_address_apply(builder, inst, entry);
			}
		}
	}
	LLVMDisposeBuilder(builder);
}
