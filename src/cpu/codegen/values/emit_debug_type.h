/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_DEBUG_TYPE_H
#define CPU_CODEGEN_VALUES_EMIT_DEBUG_TYPE_H

/* Types of the source for debuggers: from the DWARF of a module to metadata of LLVM. */
#include "cpu/ptx/dwarf.h"

#include <llvm-c/DebugInfo.h>

struct debug_type {
	const struct dwarf_die *die;
	LLVMMetadataRef di;
};

struct debug_types {
	LLVMDIBuilderRef builder;
	LLVMMetadataRef unit;       /* the scope of all, */
	LLVMMetadataRef file;       /* and their file */
	struct debug_type *made;
	size_t count, cap;
	bool failed;                /* no memory */
};

/* NULL, for which DWARF has void, is fine. */
LLVMMetadataRef debug_type_of(struct debug_types *types, const struct dwarf_die *die);
/* unsigned int; a pointer; a structure of ours; and one of three unsigned numbers, x, y and z. */
struct debug_field {
	const char *name;
	size_t offset, size;
	LLVMMetadataRef type;
};
LLVMMetadataRef debug_type_number(struct debug_types *types);
LLVMMetadataRef debug_type_pointer(struct debug_types *types, LLVMMetadataRef to);
LLVMMetadataRef debug_type_struct(struct debug_types *types, const char *name, size_t size,
	const struct debug_field *fields, size_t count);
LLVMMetadataRef debug_type_index(struct debug_types *types, const char *name);

#endif
