/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_DWARF_H
#define CPU_PTX_DWARF_H

/*
 * What the sections of a module say of its source, as NVRTC writes them with -G: DWARF 2, whose
 * addresses are labels in the PTX, and whose registers are PTX registers by name.
 */
#include "cpu/ptx/ptx.h"

/* The tags that we use, by their numbers in DWARF. */
enum dwarf_tag {
	DWARF_ARRAY_TYPE = 0x01,
	DWARF_CLASS_TYPE = 0x02,
	DWARF_ENUMERATION_TYPE = 0x04,
	DWARF_FORMAL_PARAMETER = 0x05,
	DWARF_LEXICAL_BLOCK = 0x0b,
	DWARF_MEMBER = 0x0d,
	DWARF_POINTER_TYPE = 0x0f,
	DWARF_REFERENCE_TYPE = 0x10,
	DWARF_COMPILE_UNIT = 0x11,
	DWARF_STRUCTURE_TYPE = 0x13,
	DWARF_TYPEDEF = 0x16,
	DWARF_UNION_TYPE = 0x17,
	DWARF_INLINED_SUBROUTINE = 0x1d,
	DWARF_SUBRANGE_TYPE = 0x21,
	DWARF_BASE_TYPE = 0x24,
	DWARF_CONST_TYPE = 0x26,
	DWARF_ENUMERATOR = 0x28,
	DWARF_SUBPROGRAM = 0x2e,
	DWARF_VARIABLE = 0x34,
	DWARF_VOLATILE_TYPE = 0x35
};

/* Where a variable is. */
enum dwarf_where {
	DWARF_NOWHERE,
	DWARF_REG,      /* in a register */
	DWARF_MEMORY,   /* at a variable of PTX, and `addend` bytes */
	DWARF_LIST      /* in `addend` of .debug_loc: dwarf_next_range */
};

struct dwarf_place {
	enum dwarf_where where;
	const char *name;  /* of the register, or of the variable of PTX */
	uint64_t addend;
};

/* A debugging information entry.  What it does not say is 0 or NULL. */
struct dwarf_die {
	enum dwarf_tag tag;
	size_t offset;                  /* in .debug_info */
	const char *name, *linkage;
	uint64_t size, encoding, count, line;
	uint64_t value;                 /* of an enumerator */
	uint64_t member;                /* bytes from the start of the structure */
	uint64_t file, call_file, call_line;
	const char *low, *high;         /* labels */
	struct dwarf_place place;
	uint64_t type_at, origin_at;    /* offsets of these: */
	const struct dwarf_die *type, *origin;
	struct dwarf_die *parent, *child, *next;
};

/* Fill in module->dwarf; it stays NULL where there is nothing that we can read.  False: no
 * memory. */
bool dwarf_read(struct ptx_module *module);

/* In a list of places: between two labels, where a variable is then.  Goes on to the next one.
 * False at the end. */
struct dwarf_range {
	const char *low, *high;
	struct dwarf_place place;
};
bool dwarf_next_range(const struct ptx_module *module, uint64_t *at, struct dwarf_range *out);

/* The name, the line and the type, for an inlined variable or function those of its origin. */
const struct dwarf_die *dwarf_origin(const struct dwarf_die *die);
static inline bool dwarf_is_variable(const struct dwarf_die *die)
{
	return die->tag == DWARF_VARIABLE || die->tag == DWARF_FORMAL_PARAMETER;
}
/* Bytes of a value of a type. */
uint64_t dwarf_size(const struct dwarf_die *type);

#endif
