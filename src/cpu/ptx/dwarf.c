/* SPDX-License-Identifier: MIT */
/*
 * Reads DWARF 2 as it is in PTX: .debug_abbrev, .debug_info and .debug_loc as bytes, and the
 * addresses in them as names (parse_debug.c).
 *
 * The entries become a tree, in one pass.  Nothing in the sections is trusted.  Where something is
 * not as the standard says, or has a form that NVRTC does not use, reading stops without a tree; a
 * module does not need one to run.
 *
 * A register is a number whose bytes are its name, "%r1" from the highest byte to the lowest.
 */
#include "base/common.h"

#include "cpu/ptx/dwarf.h"

#include <string.h>

/* The numbers of DWARF. */
enum { FORM_ADDR = 0x01, FORM_DATA2 = 0x05, FORM_DATA4 = 0x06, FORM_DATA8 = 0x07,
	FORM_STRING = 0x08, FORM_BLOCK = 0x09, FORM_BLOCK1 = 0x0a, FORM_DATA1 = 0x0b,
	FORM_FLAG = 0x0c, FORM_SDATA = 0x0d, FORM_STRP = 0x0e, FORM_UDATA = 0x0f,
	FORM_REF4 = 0x13, FORM_SEC_OFFSET = 0x17, FORM_EXPRLOC = 0x18, FORM_FLAG_PRESENT = 0x19 };
enum { AT_LOCATION = 0x02, AT_NAME = 0x03, AT_BYTE_SIZE = 0x0b, AT_LOW_PC = 0x11, AT_HIGH_PC = 0x12,
	AT_CONST_VALUE = 0x1c, AT_UPPER_BOUND = 0x2f, AT_ABSTRACT_ORIGIN = 0x31, AT_COUNT = 0x37,
	AT_DATA_MEMBER_LOCATION = 0x38, AT_DECL_FILE = 0x3a, AT_DECL_LINE = 0x3b,
	AT_ENCODING = 0x3e, AT_TYPE = 0x49, AT_SPECIFICATION = 0x47, AT_CALL_FILE = 0x58,
	AT_CALL_LINE = 0x59, AT_LINKAGE_NAME = 0x6e, AT_MIPS_LINKAGE_NAME = 0x2007 };
enum { OP_ADDR = 0x03, OP_PLUS_UCONST = 0x23, OP_REGX = 0x90 };

enum { MAX_ABBREVS = 4096, HEADER_SIZE = 11 };

struct dwarf_reader {
	struct ptx_module *module;
	const struct ptx_section *section;
	size_t at, end;
	bool failed;
	bool no_memory;
};

/* --- Bytes --- */

static uint64_t dwarf_fail(struct dwarf_reader *r)
{
	r->failed = true;
	r->at = r->end;
	return 0;
}

static uint64_t dwarf_take(struct dwarf_reader *r, size_t size)
{
	uint64_t value = 0;
	if (size > r->end - r->at) {
		return dwarf_fail(r);
	}
	for (size_t i = 0; i < size && i < sizeof(value); i++) {
		value |= (uint64_t)r->section->bytes[r->at + i] << 8 * i;
	}
	r->at += size;
	return value;
}

/* ULEB128 */
static uint64_t dwarf_take_number(struct dwarf_reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = dwarf_take(r, 1);
		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			return value;
		}
	}
	return dwarf_fail(r);
}

static uint64_t dwarf_take_signed(struct dwarf_reader *r)
{
	const size_t start = r->at;
	uint64_t value = dwarf_take_number(r);
	const size_t bits = 7 * (r->at - start);
	const bool is_negative = !r->failed && bits < 64 && (value >> (bits - 1) & 1);
	return is_negative ? value | UINT64_MAX << bits : value;
}

static const char *dwarf_take_string(struct dwarf_reader *r)
{
	const char *text = (const char *)r->section->bytes + r->at;
	const char *zero = r->at < r->end ? memchr(text, '\0', r->end - r->at) : NULL;
	if (!zero) {
		dwarf_fail(r);
		return NULL;
	}
	r->at += (size_t)(zero - text) + 1;
	return text;
}

/* What the bytes at a place are to hold; NULL: they are a number. */
static const struct ptx_mark *dwarf_use_at(const struct ptx_section *section, size_t offset)
{
	size_t low = 0, high = section->use_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (section->uses[middle].offset < offset) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < section->use_count && section->uses[low].offset == offset
		? &section->uses[low] : NULL;
}

/* --- Places --- */

static const char *dwarf_register_name(struct dwarf_reader *r, uint64_t number)
{
	char name[9] = "";
	size_t len = 0;
	for (int shift = 56; shift >= 0; shift -= 8) {
		if ((number >> shift & 0xff) != 0) {
			name[len++] = (char)(number >> shift);
		}
	}
	const char *copy = arena_strndup(&r->module->arena, name, len);
	r->no_memory |= !copy;
	return copy;
}

/* An expression of so many bytes, of the two kinds that we know. */
static struct dwarf_place dwarf_take_place(struct dwarf_reader *r, uint64_t size)
{
	struct dwarf_place place = {.where = DWARF_NOWHERE};
	const size_t end = size <= r->end - r->at ? r->at + (size_t)size : 0;
	if (end == 0) {
		dwarf_fail(r);
		return place;
	}
	const uint64_t op = size > 0 ? dwarf_take(r, 1) : 0;
	if (op == OP_REGX) {
		place.name = dwarf_register_name(r, dwarf_take_number(r));
		place.where = DWARF_REG;
	} else if (op == OP_ADDR && size >= 9) {
		const struct ptx_mark *use = dwarf_use_at(r->section, r->at);
		dwarf_take(r, 8);
		place.name = use ? use->name : NULL;
		place.where = use ? DWARF_MEMORY : DWARF_NOWHERE;
		place.addend = use ? use->addend : 0;
		if (r->at < end && dwarf_take(r, 1) == OP_PLUS_UCONST) {
			place.addend += dwarf_take_number(r);
		}
	}
	if (r->at > end || (r->at < end && op != 0)) {
		place.where = DWARF_NOWHERE; // there is more to it
	}
	r->at = r->failed ? r->end : end;
	return place;
}

bool dwarf_next_range(const struct ptx_module *module, uint64_t *at, struct dwarf_range *out)
{
	const struct ptx_section *section = ptx_section_find(module, ".debug_loc");
	if (!section || *at > section->size || section->size - *at < 18) {
		return false;
	}
	struct dwarf_reader r = {.module = (struct ptx_module *)module, .section = section,
		.at = (size_t)*at, .end = section->size};
	const struct ptx_mark *low = dwarf_use_at(section, r.at);
	const struct ptx_mark *high = dwarf_use_at(section, r.at + 8);
	dwarf_take(&r, 16);
	if (!low || !high) {
		return false;
	}
	out->low = low->name;
	out->high = high->name;
	out->place = dwarf_take_place(&r, dwarf_take(&r, 2));
	*at = r.at;
	return !r.failed;
}

/* --- Entries --- */

struct dwarf_abbrev {
	size_t attributes; /* offset in .debug_abbrev; 0: there is none */
	enum dwarf_tag tag;
	bool has_children;
};

static struct dwarf_abbrev *dwarf_read_abbrevs(struct ptx_module *module)
{
	struct dwarf_reader r = {.module = module,
		.section = ptx_section_find(module, ".debug_abbrev")};
	struct dwarf_abbrev *abbrevs = arena_alloc(&module->arena, MAX_ABBREVS, sizeof(*abbrevs));
	r.end = r.section ? r.section->size : 0;
	while (abbrevs && r.at < r.end && !r.failed) {
		uint64_t code = dwarf_take_number(&r);
		if (code == 0 || code >= MAX_ABBREVS) {
			break;
		}
		abbrevs[code].tag = (enum dwarf_tag)dwarf_take_number(&r);
		abbrevs[code].has_children = dwarf_take(&r, 1) != 0;
		abbrevs[code].attributes = r.at;
		for (uint64_t attribute = 1, form = 1; !r.failed && (attribute | form) != 0;) {
			attribute = dwarf_take_number(&r);
			form = dwarf_take_number(&r);
		}
	}
	return abbrevs;
}

/* The value of an attribute: a number, an offset, a string, a label, or a place. */
struct dwarf_value {
	uint64_t number;
	const char *text;
	struct dwarf_place place;
};

static struct dwarf_value dwarf_take_value(struct dwarf_reader *r, uint64_t form)
{
	struct dwarf_value value = {.number = 0};
	const struct ptx_mark *use = dwarf_use_at(r->section, r->at);
	switch (form) {
	case FORM_ADDR:
		value.text = use ? use->name : NULL;
		dwarf_take(r, 8);
		break;
	case FORM_DATA1:
	case FORM_FLAG:
		value.number = dwarf_take(r, 1);
		break;
	case FORM_DATA2:
		value.number = dwarf_take(r, 2);
		break;
	case FORM_DATA4:
	case FORM_REF4:
	case FORM_SEC_OFFSET:
	case FORM_STRP:
		value.number = dwarf_take(r, 4);
		value.number = use ? use->addend : value.number;
		value.place = (struct dwarf_place){.where = use ? DWARF_LIST : DWARF_NOWHERE,
			.addend = value.number};
		break;
	case FORM_DATA8:
		value.number = dwarf_take(r, 8);
		break;
	case FORM_STRING:
		value.text = dwarf_take_string(r);
		break;
	case FORM_SDATA:
		value.number = dwarf_take_signed(r);
		break;
	case FORM_UDATA:
		value.number = dwarf_take_number(r);
		break;
	case FORM_BLOCK1:
	case FORM_BLOCK:
	case FORM_EXPRLOC: {
		uint64_t size = form == FORM_BLOCK1 ? dwarf_take(r, 1) : dwarf_take_number(r);
		struct dwarf_reader member = *r; // DW_OP_plus_uconst, of a member
		if (size > 1 && dwarf_take(&member, 1) == OP_PLUS_UCONST) {
			value.number = dwarf_take_number(&member);
		}
		value.place = dwarf_take_place(r, size);
		break;
	}
	case FORM_FLAG_PRESENT:
		value.number = 1;
		break;
	default:
		dwarf_fail(r);
	}
	return value;
}

static void dwarf_set(struct dwarf_die *die, uint64_t attribute, const struct dwarf_value *value)
{
	switch (attribute) {
	case AT_NAME:
		die->name = value->text;
		break;
	case AT_LINKAGE_NAME:
	case AT_MIPS_LINKAGE_NAME:
		die->linkage = value->text;
		break;
	case AT_LOCATION:
		die->place = value->place;
		break;
	case AT_LOW_PC:
		die->low = value->text;
		break;
	case AT_HIGH_PC:
		die->high = value->text;
		break;
	case AT_TYPE:
		die->type_at = value->number;
		break;
	case AT_ABSTRACT_ORIGIN:
	case AT_SPECIFICATION:
		die->origin_at = value->number;
		break;
	case AT_UPPER_BOUND:
		die->count = value->number + 1;
		break;
	default: {
		const struct {
			uint64_t attribute, *to;
		} numbers[] = {{AT_BYTE_SIZE, &die->size}, {AT_ENCODING, &die->encoding},
			{AT_COUNT, &die->count}, {AT_DECL_LINE, &die->line},
			{AT_DECL_FILE, &die->file}, {AT_CONST_VALUE, &die->value},
			{AT_DATA_MEMBER_LOCATION, &die->member},
			{AT_CALL_FILE, &die->call_file}, {AT_CALL_LINE, &die->call_line}};
		for (size_t i = 0; i < countof(numbers); i++) {
			if (numbers[i].attribute == attribute) {
				*numbers[i].to = value->number;
			}
		}
	}
	}
}

static struct dwarf_die *dwarf_take_die(struct dwarf_reader *r, size_t offset,
	const struct dwarf_abbrev *abbrev)
{
	struct dwarf_die *die = arena_alloc(&r->module->arena, 1, sizeof(*die));
	struct dwarf_reader list = {.module = r->module,
		.section = ptx_section_find(r->module, ".debug_abbrev"), .at = abbrev->attributes};
	if (!die) {
		r->no_memory = true;
		return NULL;
	}
	list.end = list.section->size;
	die->tag = abbrev->tag;
	die->offset = offset;
	while (!r->failed && !list.failed) {
		uint64_t attribute = dwarf_take_number(&list), form = dwarf_take_number(&list);
		if (attribute == 0 && form == 0) {
			return die;
		}
		struct dwarf_value value = dwarf_take_value(r, form);
		dwarf_set(die, attribute, &value);
	}
	r->failed = true;
	return die;
}

/* All entries in the order of their offsets, for dwarf_find. */
struct dwarf_index {
	struct dwarf_die **dies;
	size_t count, cap;
};

static bool dwarf_note(struct dwarf_reader *r, struct dwarf_index *index, struct dwarf_die *die)
{
	if (index->count == index->cap) {
		size_t cap = index->cap > 0 ? 2 * index->cap : 64;
		struct dwarf_die **dies = arena_alloc(&r->module->arena, cap,
			sizeof(struct dwarf_die *));
		if (!dies) {
			r->no_memory = true;
			return false;
		}
		if (index->count > 0) {
			memcpy(dies, index->dies, index->count * sizeof(*dies));
		}
		index->dies = dies;
		index->cap = cap;
	}
	index->dies[index->count++] = die;
	return true;
}

static const struct dwarf_die *dwarf_find(const struct dwarf_index *index, uint64_t offset)
{
	size_t low = 0, high = index->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (index->dies[middle]->offset < offset) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return offset > 0 && low < index->count && index->dies[low]->offset == offset
		? index->dies[low] : NULL;
}

static struct dwarf_die *dwarf_read_tree(struct dwarf_reader *r, struct dwarf_index *index,
	const struct dwarf_abbrev *abbrevs)
{
	struct dwarf_die *root = NULL, *parent = NULL, *last = NULL;
	while (r->at < r->end && !r->failed && !r->no_memory) {
		size_t offset = r->at;
		uint64_t code = dwarf_take_number(r);
		if (code == 0) {
			last = parent;
			parent = parent ? parent->parent : NULL;
			if (!parent) {
				break;
			}
			continue;
		}
		if (code >= MAX_ABBREVS || abbrevs[code].attributes == 0 || (root && !parent)) {
			dwarf_fail(r);
			break;
		}
		struct dwarf_die *die = dwarf_take_die(r, offset, &abbrevs[code]);
		if (!die || !dwarf_note(r, index, die)) {
			break;
		}
		root = root ? root : die;
		die->parent = parent;
		if (last && last->parent == parent) {
			last->next = die;
		} else if (parent) {
			parent->child = die;
		}
		last = die;
		if (abbrevs[code].has_children) {
			parent = die;
			last = NULL;
		}
	}
	return r->failed || r->no_memory ? NULL : root;
}

bool dwarf_read(struct ptx_module *module)
{
	struct dwarf_reader r = {.module = module,
		.section = ptx_section_find(module, ".debug_info")};
	if (!r.section || module->dwarf || !ptx_section_find(module, ".debug_abbrev")) {
		return true;
	}
	r.end = r.section->size;
	struct dwarf_index index = {.count = 0};
	const struct dwarf_abbrev *abbrevs = dwarf_read_abbrevs(module);
	dwarf_take(&r, 4);
	const uint64_t version = dwarf_take(&r, 2);
	dwarf_take(&r, 4);
	if (!abbrevs || version < 2 || version > 4 || dwarf_take(&r, 1) != 8) {
		return abbrevs;
	}
	module->dwarf = dwarf_read_tree(&r, &index, abbrevs);
	for (size_t i = 0; i < index.count; i++) {
		index.dies[i]->type = dwarf_find(&index, index.dies[i]->type_at);
		index.dies[i]->origin = dwarf_find(&index, index.dies[i]->origin_at);
	}
	return !r.no_memory;
}

const struct dwarf_die *dwarf_origin(const struct dwarf_die *die)
{
	for (int depth = 0; die->origin && depth < 8; depth++) {
		die = die->origin;
	}
	return die;
}

uint64_t dwarf_size(const struct dwarf_die *type)
{
	uint64_t times = 1;
	for (int depth = 0; type && depth < 64; depth++) {
		if (type->tag == DWARF_POINTER_TYPE || type->tag == DWARF_REFERENCE_TYPE) {
			return 8 * times;
		}
		if (type->size > 0) {
			return type->size * times;
		}
		for (const struct dwarf_die *range = type->child;
			type->tag == DWARF_ARRAY_TYPE && range; range = range->next) {
			times *= range->count;
		}
		type = type->type;
	}
	return 0;
}
