/* SPDX-License-Identifier: MIT */
/*
 * Types of the source for debuggers.
 *
 * A structure may have a pointer to itself.  So each structure is a forward declaration until its
 * members are made; then LLVM replaces the declaration.  Types that were made from it may be other
 * nodes after that, so they are forgotten, and made again when they are needed.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_debug_type.h"

#include "base/alloc.h"

#include <string.h>

enum { DEPTH = 64, ENCODING_UNSIGNED = 7, FORWARD_TAG = 0x13 };

static struct debug_type *type_find(const struct debug_types *types, const struct dwarf_die *die)
{
	for (size_t i = 0; i < types->count; i++) {
		if (types->made[i].die == die) {
			return &types->made[i];
		}
	}
	return NULL;
}

static void type_keep(struct debug_types *types, const struct dwarf_die *die, LLVMMetadataRef di)
{
	struct debug_type *known = type_find(types, die);
	if (known) {
		known->di = di;
		return;
	}
	struct debug_type *made = mem_grow(types->made, types->count, &types->cap, sizeof(*made));
	if (!made) {
		types->failed = true;
		return;
	}
	types->made = made;
	types->made[types->count++] = (struct debug_type){die, di};
}

static LLVMMetadataRef type_make(struct debug_types *types, const struct dwarf_die *die,
	unsigned depth);

static LLVMMetadataRef type_get(struct debug_types *types, const struct dwarf_die *die,
	unsigned depth)
{
	const struct debug_type *known = die ? type_find(types, die) : NULL;
	if (!die || known || depth == 0) {
		return known ? known->di : NULL;
	}
	LLVMMetadataRef made = type_make(types, die, depth - 1);
	type_keep(types, die, made);
	return made;
}

static size_t type_count_children(const struct dwarf_die *die, enum dwarf_tag tag)
{
	size_t count = 0;
	for (const struct dwarf_die *child = die->child; child; child = child->next) {
		count += child->tag == tag;
	}
	return count;
}

static const char *type_name(const struct dwarf_die *die)
{
	return die->name ? die->name : "";
}

static LLVMMetadataRef type_make_structure(struct debug_types *types, const struct dwarf_die *die,
	unsigned depth)
{
	LLVMDIBuilderRef b = types->builder;
	const char *name = type_name(die);
	const size_t len = strlen(name), count = type_count_children(die, DWARF_MEMBER);
	LLVMMetadataRef *members = mem_zalloc(count + 1, sizeof(LLVMMetadataRef));
	if (!members) {
		types->failed = true;
		return NULL;
	}
	LLVMMetadataRef forward = LLVMDIBuilderCreateReplaceableCompositeType(b, FORWARD_TAG, name,
		len, types->unit, types->file, 0, 0, 8 * die->size, 0, LLVMDIFlagZero, "", 0);
	type_keep(types, die, forward);
	const size_t known = types->count;
	size_t i = 0;
	for (const struct dwarf_die *m = die->child; m; m = m->next) {
		if (m->tag == DWARF_MEMBER) {
			const char *own = type_name(m);
			members[i++] = LLVMDIBuilderCreateMemberType(b, forward, own, strlen(own),
				types->file, (unsigned)m->line, 8 * dwarf_size(m->type), 0,
				8 * m->member, LLVMDIFlagZero, type_get(types, m->type, depth));
		}
	}
	const bool is_union = die->tag == DWARF_UNION_TYPE;
	LLVMMetadataRef made = is_union
		? LLVMDIBuilderCreateUnionType(b, types->unit, name, len, types->file,
			(unsigned)die->line, 8 * die->size, 0, LLVMDIFlagZero, members,
			(unsigned)count, 0, "", 0)
		: LLVMDIBuilderCreateStructType(b, types->unit, name, len, types->file,
			(unsigned)die->line, 8 * die->size, 0, LLVMDIFlagZero, NULL, members,
			(unsigned)count, 0, NULL, "", 0);
	mem_free(members);
	LLVMMetadataReplaceAllUsesWith(forward, made);
	types->count = known;
	return made;
}

static LLVMMetadataRef type_make_array(struct debug_types *types, const struct dwarf_die *die,
	unsigned depth)
{
	enum { MOST = 8 };
	LLVMMetadataRef ranges[MOST];
	unsigned count = 0;
	for (const struct dwarf_die *r = die->child; r && count < MOST; r = r->next) {
		if (r->tag == DWARF_SUBRANGE_TYPE) {
			ranges[count++] = LLVMDIBuilderGetOrCreateSubrange(types->builder, 0,
				(int64_t)r->count);
		}
	}
	return LLVMDIBuilderCreateArrayType(types->builder, 8 * dwarf_size(die), 0,
		type_get(types, die->type, depth), ranges, count);
}

static LLVMMetadataRef type_make_enumeration(struct debug_types *types,
	const struct dwarf_die *die)
{
	const size_t count = type_count_children(die, DWARF_ENUMERATOR);
	LLVMMetadataRef *values = mem_zalloc(count + 1, sizeof(LLVMMetadataRef));
	if (!values) {
		types->failed = true;
		return NULL;
	}
	char text[256];
	size_t i = 0;
	for (const struct dwarf_die *v = die->child; v; v = v->next) {
		if (v->tag == DWARF_ENUMERATOR) {
			ptx_write_name(text, sizeof(text), type_name(v));
			values[i++] = LLVMDIBuilderCreateEnumerator(types->builder, text,
				strlen(text), (int64_t)v->value, false);
		}
	}
	ptx_write_name(text, sizeof(text), type_name(die));
	LLVMMetadataRef made = LLVMDIBuilderCreateEnumerationType(types->builder, types->unit,
		text, strlen(text), types->file, (unsigned)die->line, 8 * die->size, 0, values,
		(unsigned)count, NULL);
	mem_free(values);
	return made;
}

static LLVMMetadataRef type_make(struct debug_types *types, const struct dwarf_die *die,
	unsigned depth)
{
	LLVMDIBuilderRef b = types->builder;
	const char *name = type_name(die);
	const size_t len = strlen(name);
	switch (die->tag) {
	case DWARF_BASE_TYPE:
		return LLVMDIBuilderCreateBasicType(b, name, len, 8 * die->size,
			(LLVMDWARFTypeEncoding)die->encoding, LLVMDIFlagZero);
	case DWARF_POINTER_TYPE:
		return LLVMDIBuilderCreatePointerType(b, type_get(types, die->type, depth), 64, 0,
			0, "", 0);
	case DWARF_REFERENCE_TYPE:
		return LLVMDIBuilderCreateReferenceType(b, die->tag,
			type_get(types, die->type, depth));
	case DWARF_CONST_TYPE:
	case DWARF_VOLATILE_TYPE:
		return LLVMDIBuilderCreateQualifiedType(b, die->tag,
			type_get(types, die->type, depth));
	case DWARF_TYPEDEF:
		return LLVMDIBuilderCreateTypedef(b, type_get(types, die->type, depth), name, len,
			types->file, (unsigned)die->line, types->unit, 0);
	case DWARF_STRUCTURE_TYPE:
	case DWARF_CLASS_TYPE:
	case DWARF_UNION_TYPE:
		return type_make_structure(types, die, depth);
	case DWARF_ARRAY_TYPE:
		return type_make_array(types, die, depth);
	case DWARF_ENUMERATION_TYPE:
		return type_make_enumeration(types, die);
	default: /* void */
		return NULL;
	}
}

LLVMMetadataRef debug_type_of(struct debug_types *types, const struct dwarf_die *die)
{
	return type_get(types, die, DEPTH);
}

LLVMMetadataRef debug_type_number(struct debug_types *types)
{
	return LLVMDIBuilderCreateBasicType(types->builder, "unsigned int", 12, 32,
		ENCODING_UNSIGNED, LLVMDIFlagZero);
}

LLVMMetadataRef debug_type_pointer(struct debug_types *types, LLVMMetadataRef to)
{
	return LLVMDIBuilderCreatePointerType(types->builder, to, 64, 0, 0, "", 0);
}

LLVMMetadataRef debug_type_struct(struct debug_types *types, const char *name, size_t size,
	const struct debug_field *fields, size_t count)
{
	enum { MOST = 8 };
	LLVMMetadataRef members[MOST];
	assert(count <= MOST);
	for (size_t i = 0; i < count; i++) {
		members[i] = LLVMDIBuilderCreateMemberType(types->builder, types->unit,
			fields[i].name, strlen(fields[i].name), types->file, 0,
			8 * fields[i].size, 0, 8 * fields[i].offset, LLVMDIFlagZero,
			fields[i].type);
	}
	return LLVMDIBuilderCreateStructType(types->builder, types->unit, name, strlen(name),
		types->file, 0, 8 * size, 0, LLVMDIFlagZero, NULL, members, (unsigned)count, 0,
		NULL, "", 0);
}

LLVMMetadataRef debug_type_index(struct debug_types *types, const char *name)
{
	LLVMMetadataRef number = debug_type_number(types);
	const struct debug_field fields[] = {{"x", 0, 4, number}, {"y", 4, 4, number},
		{"z", 8, 4, number}};
	return debug_type_struct(types, name, 12, fields, countof(fields));
}
