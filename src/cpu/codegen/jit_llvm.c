/* SPDX-License-Identifier: MIT */
/*
 * LLVM IR to machine code, for the processor that we run on.
 *
 * Every kernel is a module of its own.  emit.c fills it, the passes of run_passes.c simplify
 * it, and the target machine writes an object file to memory.
 *
 * LLVM reports some failures by printing and exiting.  A diagnostic handler on our context, and
 * error values everywhere else, keep it from doing so.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "cpu/codegen/destructors.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/jit_dump.h"
#include "cpu/codegen/jit_link.h"
#include "cpu/codegen/jit_llvm.h"
#include "cpu/codegen/run_passes.h"
#include "cpu/config/settings.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <pthread.h>
#include <string.h>

struct jit_llvm {
	LLVMContextRef context;
	LLVMTargetRef target;
	LLVMTargetMachineRef machine;
	LLVMTargetMachineRef quick; /* in a hurry; NULL until there is one */
	LLVMTargetDataRef layout;
	char *triple;
	char *features;
	struct jit_linker *linker;  /* of what code.c has refused; NULL until there is some */
	const struct jit_callee *callees;
	bool is_deep;               /* LLVM has said so: the code needs more than JIT_MOST_STACK */
	struct ptx_diag *diag;      /* of the call that is running */
};

/* Whether LLVM is a part of this library.  Others in the process may use one that is not. */
static bool llvm_is_ours(void)
{
	uintptr_t begin, end;
	dl_extent(&begin, &end, (const void *)(uintptr_t)llvm_is_ours);
	return (uintptr_t)LLVMContextCreate - begin < end - begin;
}

/* Leave out what costs more than it gives.  An LLVM that does not know an option says so to nobody,
 * and goes on. */
static void llvm_set_options(void)
{
	static const char *const options[] = {
		"kudzu",
		/* It keeps integers in mask registers.  Our masks are there without it, and in
		 * large functions it takes long. */
		"-disable-x86-domain-reassignment",
	};
	LLVMParseCommandLineOptions(countof(options), options, "");
}

static void init_llvm(void)
{
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	LLVMInitializeNativeAsmParser();
	if (llvm_is_ours()) {
		llvm_set_options();
	}
}

/* Takes the message. */
static bool llvm_fail_message(struct ptx_diag *diag, int line, const char *what, char *message)
{
	ptx_fail(diag, line, 0, "LLVM cannot %s: %s", what, message ? message : "no reason given");
	LLVMDisposeMessage(message);
	return false;
}

static void llvm_note_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
	struct jit_llvm *llvm = data;
	/* The only warning there is: it was asked for by llvm_constrain_code. */
	llvm->is_deep = llvm->is_deep || LLVMGetDiagInfoSeverity(info) == LLVMDSWarning;
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || !llvm->diag || llvm->diag->message[0]) {
		return;
	}

	char *message = LLVMGetDiagInfoDescription(info);
	ptx_fail(llvm->diag, 0, 0, "LLVM: %s", message);
	LLVMDisposeMessage(message);
}

static char *host_features;

static void llvm_find_features(void)
{
	host_features = LLVMGetHostCPUFeatures();
}

/* They come from CPUID.  The processor's name would say less: an LLVM older than the processor
 * calls it generic. */
static const char *llvm_get_features(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, llvm_find_features);
	return host_features;
}

static bool llvm_create_machine(LLVMTargetMachineRef *out, struct jit_llvm *llvm,
	LLVMCodeGenOptLevel level, struct ptx_diag *diag)
{
	*out = LLVMCreateTargetMachine(llvm->target, llvm->triple, "generic", llvm->features, level,
		LLVMRelocPIC, LLVMCodeModelJITDefault);
	return *out || ptx_fail(diag, 0, 0, "LLVM has no code generator for %s", llvm->triple);
}

static bool jit_find_target(struct jit_llvm *llvm, struct ptx_diag *diag)
{
	char *message = NULL;
	llvm->triple = LLVMGetDefaultTargetTriple();
	if (LLVMGetTargetFromTriple(llvm->triple, &llvm->target, &message)) {
		return llvm_fail_message(diag, 0, "find a target", message);
	}
	if (!llvm_create_machine(&llvm->machine, llvm, LLVMCodeGenLevelDefault, diag)) {
		return false;
	}
	llvm->layout = LLVMCreateTargetDataLayout(llvm->machine);
	return true;
}

static void jit_llvm_release(struct jit_llvm *llvm)
{
	if (!llvm) {
		return;
	}
	jit_linker_release(llvm->linker);
	if (llvm->layout) {
		LLVMDisposeTargetData(llvm->layout);
	}
	if (llvm->machine) {
		LLVMDisposeTargetMachine(llvm->machine);
	}
	if (llvm->quick) {
		LLVMDisposeTargetMachine(llvm->quick);
	}
	if (llvm->triple) {
		LLVMDisposeMessage(llvm->triple);
	}
	if (llvm->context) {
		LLVMContextDispose(llvm->context);
	}
	mem_free(llvm->features);
	mem_free(llvm);
}

static bool jit_llvm_create(struct jit_llvm **out, const char *features,
	const struct jit_callee *callees, struct ptx_diag *diag)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct jit_llvm *llvm = mem_zalloc(1, sizeof(*llvm));
	*out = NULL;
	if (!llvm || !(llvm->features = mem_strdup(features))) {
		mem_free(llvm);
		return ptx_no_memory(diag);
	}
	pthread_once(&once, init_llvm);
	llvm->callees = callees;
	llvm->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(llvm->context, llvm_note_diagnostic, llvm);
	if (!jit_find_target(llvm, diag)) {
		jit_llvm_release(llvm);
		return false;
	}
	*out = llvm;
	return true;
}

/* Release builds trust emit.c. */
#ifdef NDEBUG
static const bool verifies = false;
#else
static const bool verifies = true;
#endif

static bool llvm_verify(LLVMModuleRef ir, const struct ptx_func *func, struct ptx_diag *diag)
{
	char *message = NULL;
	if (verifies && LLVMVerifyModule(ir, LLVMReturnStatusAction, &message)) {
		return llvm_fail_message(diag, func->line, "verify our code", message);
	}
	LLVMDisposeMessage(message);
	return true;
}

static bool llvm_has_feature(const struct jit_llvm *llvm, const char *name)
{
	return strstr(llvm->features, name);
}

static bool llvm_run_passes(struct jit_llvm *llvm, LLVMModuleRef ir, const struct jit_order *order,
	struct ptx_diag *diag)
{
	struct compile c = {.ir = ir, .order = order, .machine = llvm->machine,
		.layout = llvm->layout,
		.gathers = llvm_has_feature(llvm, "+avx512f") ? GATHER_AVX512
			: llvm_has_feature(llvm, "+avx2") ? GATHER_AVX2 : GATHER_NONE};
	bool ok = compile_run_passes(&c);
	return ok || (c.error ? jit_linker_fail(diag, order->func->line, "optimise", c.error)
		: ptx_no_memory(diag));
}

/* --- The weight of IR --- */

/* Of a lane: two values out, the division, one value in. */
enum { DIVISION_WEIGHS = 4 };

static size_t llvm_register_bits(const struct jit_llvm *llvm)
{
	return llvm_has_feature(llvm, "+avx512f") ? 512
		: llvm_has_feature(llvm, "+avx") ? 256 : 128;
}

static size_t llvm_element_bits(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(type);
	case LLVMHalfTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	default:
		return 64;
	}
}

/* A vector counts by the registers that hold it: of what an instruction makes, or of what it reads
 * where that is wider.  There is no division of vectors of integers, unless by constants: each lane
 * is taken out and put back. */
static size_t llvm_weigh_inst(LLVMValueRef inst, size_t register_bits)
{
	bool divides = false;
	LLVMTypeRef type = LLVMTypeOf(inst);
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMAlloca:
	case LLVMBitCast:
		return 0;
	case LLVMStore:
	case LLVMICmp:
	case LLVMFCmp:
	case LLVMTrunc:
	case LLVMFPTrunc:
		type = LLVMTypeOf(LLVMGetOperand(inst, 0));
		break;
	case LLVMUDiv:
	case LLVMSDiv:
	case LLVMURem:
	case LLVMSRem:
		divides = !LLVMIsConstant(LLVMGetOperand(inst, 1));
		break;
	default:
		break;
	}
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
		return 1;
	}
	if (divides) {
		return (size_t)DIVISION_WEIGHS * LLVMGetVectorSize(type);
	}
	size_t bits = llvm_element_bits(LLVMGetElementType(type)) * LLVMGetVectorSize(type);
	return bits <= register_bits ? 1 : bits / register_bits;
}

static size_t llvm_weigh(const struct jit_llvm *llvm, LLVMModuleRef ir)
{
	const size_t register_bits = llvm_register_bits(llvm);
	size_t weight = 0;
	for (LLVMValueRef fn = LLVMGetFirstFunction(ir); fn; fn = LLVMGetNextFunction(fn)) {
		LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
		for (; block; block = LLVMGetNextBasicBlock(block)) {
			LLVMValueRef inst = LLVMGetFirstInstruction(block);
			for (; inst; inst = LLVMGetNextInstruction(inst)) {
				weight += llvm_weigh_inst(inst, register_bits);
			}
		}
	}
	return weight;
}

/* --- Code --- */

static LLVMTargetMachineRef llvm_machine_for(struct jit_llvm *llvm, bool is_quick,
	struct ptx_diag *diag)
{
	if (!is_quick) {
		return llvm->machine;
	}
	if (!llvm->quick) {
		llvm_create_machine(&llvm->quick, llvm, LLVMCodeGenLevelNone, diag);
	}
	return llvm->quick;
}

/* Choose between floating-point numbers as between integers.  What the quick generator makes of the
 * former is a branch, and for it moves all that follows in the block to another one: of thousands
 * in a row each one moves all those after it. */
static void llvm_choose_by_bits(LLVMBuilderRef builder, LLVMValueRef select)
{
	LLVMTypeRef type = LLVMTypeOf(select);
	LLVMTypeKind kind = LLVMGetTypeKind(type);
	if (kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind) {
		return;
	}
	LLVMTypeRef bits = LLVMIntTypeInContext(LLVMGetTypeContext(type),
		kind == LLVMFloatTypeKind ? 32 : 64);
	LLVMPositionBuilderBefore(builder, select);
	LLVMValueRef chosen = LLVMBuildSelect(builder, LLVMGetOperand(select, 0),
		LLVMBuildBitCast(builder, LLVMGetOperand(select, 1), bits, ""),
		LLVMBuildBitCast(builder, LLVMGetOperand(select, 2), bits, ""), "");
	LLVMReplaceAllUsesWith(select, LLVMBuildBitCast(builder, chosen, type, ""));
	LLVMInstructionEraseFromParent(select);
}

static void llvm_prepare_quick(LLVMModuleRef ir)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(ir));
	for (LLVMValueRef fn = LLVMGetFirstFunction(ir); fn; fn = LLVMGetNextFunction(fn)) {
		LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
		for (; block; block = LLVMGetNextBasicBlock(block)) {
			LLVMValueRef inst = LLVMGetFirstInstruction(block), next;
			for (; inst; inst = next) {
				next = LLVMGetNextInstruction(inst);
				if (LLVMGetInstructionOpcode(inst) == LLVMSelect) {
					llvm_choose_by_bits(builder, inst);
				}
			}
		}
	}
	LLVMDisposeBuilder(builder);
}

/* Have LLVM tell llvm_note_diagnostic when a function needs more stack than it may; and have the
 * function touch every page of what it takes, so that on a small thread it meets the guard, not
 * memory of somebody else.  No tables to jump by: LLVM 14's hold 32-bit distances from data to
 * code, and the two may be mapped further apart. */
static void llvm_constrain_code(struct jit_llvm *llvm, LLVMModuleRef ir)
{
	static const char *const attributes[][2] = {
		{"warn-stack-size", JIT_MOST_STACK},
		{"probe-stack", "inline-asm"},
		{"no-jump-tables", "true"},
	};
	LLVMValueRef fn = LLVMGetFirstFunction(ir);
	for (; fn; fn = LLVMGetNextFunction(fn)) {
		for (size_t i = 0; i < countof(attributes); i++) {
			const char *name = attributes[i][0], *value = attributes[i][1];
			LLVMAddAttributeAtIndex(fn,
				(LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(llvm->context, name,
					(unsigned)strlen(name), value, (unsigned)strlen(value)));
		}
	}
}

static enum jit_outcome llvm_make_code(struct jit_object *out, struct jit_llvm *llvm,
	LLVMModuleRef ir, const struct jit_order *order, struct ptx_diag *diag)
{
	char *message = NULL;
	LLVMMemoryBufferRef buffer;
	LLVMTargetMachineRef machine = llvm_machine_for(llvm, order->is_quick, diag);
	if (!machine) {
		return JIT_FAILED;
	}
	llvm_constrain_code(llvm, ir);
	if (machine == llvm->quick) {
		llvm_prepare_quick(ir);
	}
	if (settings_dump_folder() && !jit_dump(machine, ir, order->func, diag)) {
		return JIT_FAILED;
	}
	llvm->is_deep = false;
	if (LLVMTargetMachineEmitToMemoryBuffer(machine, ir, LLVMObjectFile, &message, &buffer)) {
		llvm_fail_message(diag, order->func->line, "generate code", message);
		return JIT_FAILED;
	}
	if (llvm->is_deep) {
		LLVMDisposeMemoryBuffer(buffer);
		return JIT_TOO_DEEP;
	}
	out->owner = buffer;
	out->data = LLVMGetBufferStart(buffer);
	out->size = LLVMGetBufferSize(buffer);
	return JIT_MADE;
}

static enum jit_outcome llvm_make(struct jit_object *out, struct jit_llvm *llvm, LLVMModuleRef ir,
	const struct jit_order *order, struct ptx_diag *diag)
{
	double start = jit_now_ms();
	const struct ptx_func *func = order->func;
	if (!emit_kernel(&out->frame_size, ir, order, llvm->features, diag)
	    || !llvm_verify(ir, func, diag)) {
		return JIT_FAILED;
	}
	out->weight = llvm_weigh(llvm, ir);
	if (order->limit > 0 && out->weight > order->limit) {
		return JIT_TOO_BIG;
	}
	if (!llvm_run_passes(llvm, ir, order, diag)) {
		return JIT_FAILED;
	}
	double emitted = jit_now_ms();
	out->emit_ms = emitted - start;
	enum jit_outcome outcome = llvm_make_code(out, llvm, ir, order, diag);
	out->compile_ms = jit_now_ms() - emitted;
	return outcome;
}

static enum jit_outcome jit_llvm_make(struct jit_object *out, struct jit_llvm *llvm,
	const struct jit_order *order, struct ptx_diag *diag)
{
	*out = (struct jit_object){.data = NULL};
	LLVMModuleRef ir = LLVMModuleCreateWithNameInContext(order->func->name, llvm->context);
	LLVMSetTarget(ir, llvm->triple);
	LLVMSetModuleDataLayout(ir, llvm->layout);
	llvm->diag = diag;
	enum jit_outcome outcome = llvm_make(out, llvm, ir, order, diag);
	llvm->diag = NULL;
	LLVMDisposeModule(ir);
	return outcome;
}

/*
 * The code of an empty function needs most of the objects that LLVM makes once.  Tables of single
 * instructions are made when they are first needed, and exit() may still take these away from a
 * thread that made them a moment ago.
 */
static bool jit_llvm_start(struct jit_llvm *llvm, struct ptx_diag *diag)
{
	char *message = NULL;
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef ir = LLVMModuleCreateWithNameInContext("start", llvm->context);
	LLVMSetTarget(ir, llvm->triple);
	LLVMSetModuleDataLayout(ir, llvm->layout);
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(llvm->context), NULL, 0, false);
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);
	LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(llvm->context,
		LLVMAddFunction(ir, "start", type), ""));
	LLVMBuildRetVoid(builder);
	LLVMDisposeBuilder(builder);
	bool ok = !LLVMTargetMachineEmitToMemoryBuffer(llvm->machine, ir, LLVMObjectFile, &message,
		&buffer);
	if (ok) {
		LLVMDisposeMemoryBuffer(buffer);
	}
	LLVMDisposeModule(ir);
	return ok || llvm_fail_message(diag, 0, "start", message);
}

static void jit_llvm_free_object(struct jit_object *object)
{
	LLVMDisposeMemoryBuffer(object->owner);
	object->owner = NULL;
}

static bool jit_llvm_link(uintptr_t *out, struct jit_llvm *llvm, const void *object, size_t size,
	const char *symbol, struct ptx_diag *diag)
{
	return (llvm->linker || jit_linker_create(&llvm->linker, llvm->callees, diag))
		&& jit_linker_add(out, llvm->linker, object, size, symbol, diag);
}

__attribute__((visibility("default"))) const struct jit_llvm_calls jit_llvm_calls = {
	.version = LLVM_VERSION_STRING,
	.host_features = llvm_get_features,
	.create = jit_llvm_create,
	.release = jit_llvm_release,
	.start = jit_llvm_start,
	.stays = destructors_are_left_out,
	.make = jit_llvm_make,
	.free_object = jit_llvm_free_object,
	.link = jit_llvm_link,
	.address = (const void *)(uintptr_t)LLVMContextCreate,
};
