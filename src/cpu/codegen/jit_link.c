/* SPDX-License-Identifier: MIT */
/*
 * LLVM's linker: one LLJIT for each PTX module, made when the first object needs it.  It knows
 * every processor and every relocation, but is slow to start, so code.c loads most objects itself.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/jit_link.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

struct jit_linker {
	LLVMOrcLLJITRef lljit;
	struct ptx_diag *diag; /* of the call that is running */
};

bool jit_linker_fail(struct ptx_diag *diag, int line, const char *what, LLVMErrorRef error)
{
	char *message = LLVMGetErrorMessage(error);
	ptx_fail(diag, line, 0, "LLVM cannot %s: %s", what, message);
	LLVMDisposeErrorMessage(message);
	return false;
}

/* What LLVM would print.  Takes the error. */
static void jit_link_note_error(void *data, LLVMErrorRef error)
{
	struct jit_linker *linker = data;
	if (linker->diag && !linker->diag->message[0]) {
		jit_linker_fail(linker->diag, 0, "link the code", error);
	} else {
		LLVMConsumeError(error);
	}
}

bool jit_linker_create(struct jit_linker **out, const struct jit_callee *callees,
	struct ptx_diag *diag)
{
	struct jit_linker *linker = mem_zalloc(1, sizeof(*linker));
	if (!linker) {
		return ptx_no_memory(diag);
	}
	LLVMErrorRef error = LLVMOrcCreateLLJIT(&linker->lljit, NULL);
	if (error) {
		mem_free(linker);
		return jit_linker_fail(diag, 0, "start its linker", error);
	}
	LLVMOrcExecutionSessionSetErrorReporter(
		LLVMOrcLLJITGetExecutionSession(linker->lljit), jit_link_note_error, linker);

	__typeof__(*(LLVMOrcCSymbolMapPairs)NULL) pairs[JIT_CALLEE_COUNT] = {{.Name = NULL}};
	for (size_t i = 0; i < JIT_CALLEE_COUNT; i++) {
		pairs[i].Name = LLVMOrcLLJITMangleAndIntern(linker->lljit, callees[i].name);
		pairs[i].Sym.Address = (uintptr_t)callees[i].address;
		pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported
			| LLVMJITSymbolGenericFlagsCallable;
	}
	LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, countof(pairs));
	error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(linker->lljit), unit);
	if (error) {
		LLVMOrcDisposeMaterializationUnit(unit);
		jit_linker_fail(diag, 0, "define what code calls", error);
		jit_linker_release(linker);
		return false;
	}
	*out = linker;
	return true;
}

bool jit_linker_add(uintptr_t *out, struct jit_linker *linker, const void *object, size_t size,
	const char *symbol, struct ptx_diag *diag)
{
	LLVMOrcExecutorAddress address = 0;
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size,
		symbol);
	linker->diag = diag; /* its reporter writes there */
	const char *what = "add the code";
	LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(linker->lljit,
		LLVMOrcLLJITGetMainJITDylib(linker->lljit), buffer); /* takes the buffer */
	if (!error) {
		what = "link the code";
		error = LLVMOrcLLJITLookup(linker->lljit, &address, symbol);
	}
	linker->diag = NULL;
	if (error) {
		return jit_linker_fail(diag, 0, what, error);
	}
	*out = (uintptr_t)address;
	return true;
}

void jit_linker_release(struct jit_linker *linker)
{
	if (!linker) {
		return;
	}
	LLVMErrorRef error = LLVMOrcDisposeLLJIT(linker->lljit);
	if (error) {
		LLVMConsumeError(error);
	}
	mem_free(linker);
}
