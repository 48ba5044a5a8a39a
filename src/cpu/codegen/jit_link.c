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

static bool jit_link_define_callees(struct jit_linker *linker, const struct jit_callee *callees,
	struct ptx_diag *diag)
{
	__typeof__(*(LLVMOrcCSymbolMapPairs)NULL) pairs[JIT_CALLEE_COUNT] = {{.Name = NULL}};
	for (size_t i = 0; i < JIT_CALLEE_COUNT; i++) {
		pairs[i].Name = LLVMOrcLLJITMangleAndIntern(linker->lljit, callees[i].name);
		pairs[i].Sym.Address = (uintptr_t)callees[i].address;
		pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported
			| LLVMJITSymbolGenericFlagsCallable;
	}

	LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, countof(pairs));
	LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(linker->lljit),
		unit);
	if (error) {
		LLVMOrcDisposeMaterializationUnit(unit);
		return jit_linker_fail(diag, 0, "define what code calls", error);
	}
	return true;
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

static bool jit_linker_create(struct jit_linker **out, const struct jit_callee *callees,
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
	if (!jit_link_define_callees(linker, callees, diag)) {
		jit_linker_release(linker);
		return false;
	}
	*out = linker;
	return true;
}

static bool link_object(uintptr_t *out, struct jit_linker *linker, const void *object, size_t size,
	const char *symbol, struct ptx_diag *diag)
{
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size,
		symbol);
	LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(linker->lljit,
		LLVMOrcLLJITGetMainJITDylib(linker->lljit), buffer); /* takes the buffer */
	if (error) {
		return jit_linker_fail(diag, 0, "add the code", error);
	}

	LLVMOrcExecutorAddress address = 0;
	error = LLVMOrcLLJITLookup(linker->lljit, &address, symbol);
	if (error) {
		return jit_linker_fail(diag, 0, "link the code", error);
	}
	*out = (uintptr_t)address;
	return true;
}

bool jit_linker_add(uintptr_t *out, struct jit_linker **linker, const struct jit_callee *callees,
	const void *object, size_t size, const char *symbol, struct ptx_diag *diag)
{
	if (!*linker && !jit_linker_create(linker, callees, diag)) {
		return false;
	}
	(*linker)->diag = diag;
	bool ok = link_object(out, *linker, object, size, symbol, diag);
	(*linker)->diag = NULL;
	return ok;
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
