/* SPDX-License-Identifier: MIT */
/*
 * Line numbers in the object: DWARF's line table, from each instruction of the processor to the
 * line of PTX that it was made of.
 *
 * They are lines of the PTX and not of the source, which keeps the table simple: the parsed kernel
 * already says which places in sources, with the inlined calls, a line of PTX has.
 */
#include "base/common.h"

#include "cpu/codegen/emit_lines.h"

#include <llvm-c/DebugInfo.h>

#include <string.h>

static void lines_add_flag(struct emit *e, const char *name, unsigned value)
{
	LLVMAddModuleFlag(e->ir, LLVMModuleFlagBehaviorWarning, name, strlen(name),
		LLVMValueAsMetadata(LLVMConstInt(e->s.i32, value, false)));
}

void emit_lines_begin(struct emit *e, bool has_lines)
{
	static const char name[] = "kernel.ptx", producer[] = "kudzu";
	enum { DWARF_VERSION = 4 };
	if (!has_lines) {
		return;
	}
	lines_add_flag(e, "Dwarf Version", DWARF_VERSION);
	lines_add_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
	e->lines = LLVMCreateDIBuilder(e->ir);
	LLVMMetadataRef file = LLVMDIBuilderCreateFile(e->lines, name, strlen(name), "", 0);
	LLVMDIBuilderCreateCompileUnit(e->lines, LLVMDWARFSourceLanguageC99, file, producer,
		strlen(producer), true, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false,
		false, "", 0, "", 0);
	LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(e->lines, file, NULL, 0,
		LLVMDIFlagZero);
	const unsigned line = (unsigned)e->func->line;
	e->lines_scope = LLVMDIBuilderCreateFunction(e->lines, file, e->func->name,
		strlen(e->func->name), "", 0, file, line, type, false, true, line, LLVMDIFlagZero,
		true);
	LLVMSetSubprogram(e->fn, e->lines_scope);
}

void emit_lines_set(struct emit *e, const struct ptx_inst *inst)
{
	if (e->lines) {
		e->here = !inst ? NULL : LLVMDIBuilderCreateDebugLocation(e->context,
			(unsigned)inst->line, 0, e->lines_scope, NULL);
		LLVMSetCurrentDebugLocation2(e->builder, e->here);
	}
}

void emit_lines_end(struct emit *e)
{
	if (e->lines) {
		LLVMDIBuilderFinalize(e->lines);
		LLVMDisposeDIBuilder(e->lines);
		e->lines = NULL;
	}
}
