/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_CPU_DUMP=FOLDER writes the IR and the assembly of each kernel to files.
 *
 * The assembly is made from a copy of the module, because the code generator changes its input.  It
 * is the same code as in the object file.
 */
#include "base/common.h"

#include "cpu/codegen/jit_dump.h"

#include "base/file.h"
#include "cpu/config/settings.h"

#include <llvm-c/Core.h>

#include <stdio.h>
#include <string.h>

/* Of a kernel's name in a file's: mangled names are longer than files' may be. */
enum { NAME_MAX_SIZE = 200, PATH_SIZE = 4096 };

static bool dump_write_file(const struct ptx_func *func, const char *suffix, const char *text,
	size_t size, struct ptx_diag *diag)
{
	char path[PATH_SIZE];
	kz_error err = KZ_ERROR_INIT;
	struct file_writer file;
	int length = snprintf(path, sizeof(path), "%s/%.*s.%s", settings_dump_folder(),
		NAME_MAX_SIZE, func->name, suffix);
	if (length >= (int)sizeof(path)) {
		return ptx_fail(diag, func->line, 0, "KUDZU_CPU_DUMP: the name is too long");
	}
	kz_status st = file_begin(&file, path, &err);
	if (st == KZ_OK) {
		st = file_add(&file, text, size, &err);
		if (st) {
			file_abandon(&file);
		} else {
			st = file_commit(&file, &err);
		}
	}
	if (st) {
		ptx_fail(diag, func->line, 0, "KUDZU_CPU_DUMP: %s", err.message);
	}
	return st == KZ_OK;
}

static bool dump_write_ir(LLVMModuleRef ir, const struct ptx_func *func, struct ptx_diag *diag)
{
	char *text = LLVMPrintModuleToString(ir);
	bool ok = dump_write_file(func, "ll", text, strlen(text), diag);
	LLVMDisposeMessage(text);
	return ok;
}

static bool dump_write_assembly(LLVMTargetMachineRef machine, LLVMModuleRef ir,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	char *message = NULL;
	LLVMMemoryBufferRef text = NULL;
	LLVMModuleRef copy = LLVMCloneModule(ir);
	bool ok = !LLVMTargetMachineEmitToMemoryBuffer(machine, copy, LLVMAssemblyFile, &message,
		&text);
	if (ok) {
		ok = dump_write_file(func, "s", LLVMGetBufferStart(text), LLVMGetBufferSize(text),
			diag);
		LLVMDisposeMemoryBuffer(text);
	} else {
		ptx_fail(diag, func->line, 0, "LLVM cannot write assembly: %s",
			message ? message : "no reason given");
		LLVMDisposeMessage(message);
	}
	LLVMDisposeModule(copy);
	return ok;
}

bool jit_dump(LLVMTargetMachineRef machine, LLVMModuleRef ir, const struct ptx_func *func,
	struct ptx_diag *diag)
{
	return dump_write_ir(ir, func, diag) && dump_write_assembly(machine, ir, func, diag);
}
