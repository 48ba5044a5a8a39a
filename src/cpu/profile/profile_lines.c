/* SPDX-License-Identifier: MIT */
/*
 * Reads the line table of an object file: DWARF 4 or 5, section 6.2, of x86-64 and AArch64.
 *
 * The object has one function, so there is one sequence of rows, and addresses are offsets from its
 * start.  Names of files are ignored: the lines are those of the PTX (emit_lines.c).  The bytes may
 * come from a file, so each number in them is checked; what does not make sense ends the table.
 */
#include "base/common.h"

#include "cpu/profile/profile_kernel.h"

#include "base/alloc.h"

#include <elf.h>
#include <string.h>

/* Bytes that are read from the front; past their end there are zeros. */
struct lines_reader {
	const uint8_t *at;
	const uint8_t *end;
};

static uint64_t lines_take(struct lines_reader *r, size_t size)
{
	uint64_t value = 0;
	if ((size_t)(r->end - r->at) < size) {
		r->at = r->end;
		return 0;
	}
	memcpy(&value, r->at, size); /* little-endian, as all processors that we know */
	r->at += size;
	return value;
}

static uint64_t lines_take_uleb(struct lines_reader *r)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		byte = lines_take(r, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
	}
	return value;
}

static int64_t lines_take_sleb(struct lines_reader *r)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;
	for (; byte & 0x80; shift += 7) {
		byte = lines_take(r, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
	}
	return (int64_t)(shift < 64 && (byte & 0x40) ? value | UINT64_MAX << shift : value);
}

static struct lines_reader lines_take_part(struct lines_reader *r, uint64_t size)
{
	const size_t left = (size_t)(r->end - r->at);
	struct lines_reader part = {r->at, r->at + (size < left ? size : left)};
	r->at = part.end;
	return part;
}

/* The section's bytes; empty if there is none. */
static struct lines_reader lines_find(const uint8_t *object, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Shdr names, section;
	const struct lines_reader none = {object, object};
	memcpy(&header, object, sizeof(header));
	const uint64_t table = header.e_shoff, each = sizeof(section);
	if (header.e_shentsize != each || table > size || header.e_shnum > (size - table) / each
	    || header.e_shstrndx >= header.e_shnum) {
		return none;
	}
	memcpy(&names, object + table + header.e_shstrndx * each, each);
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset) {
		return none;
	}
	static const char wanted[] = ".debug_line";
	for (size_t i = 0; i < header.e_shnum; i++) {
		memcpy(&section, object + table + i * each, each);
		if (names.sh_size >= sizeof(wanted) && section.sh_name <= names.sh_size
			- sizeof(wanted) && memcmp(object + names.sh_offset + section.sh_name,
			wanted, sizeof(wanted)) == 0 && section.sh_offset <= size
		    && section.sh_size <= size - section.sh_offset) {
			return (struct lines_reader){object + section.sh_offset,
				object + section.sh_offset + section.sh_size};
		}
	}
	return none;
}

/* The header of a table, as far as its program needs it. */
struct lines_header {
	uint64_t least;        /* bytes of an instruction of the processor */
	int64_t line_base;
	uint64_t line_range;
	uint64_t opcode_base;
	uint8_t counts[256];   /* of operands of each standard opcode */
};

/* What follows is the program.  False: it is not known. */
static bool lines_take_header(struct lines_reader *r, struct lines_header *out)
{
	const uint64_t version = lines_take(r, 2);
	if (version != 4 && version != 5) {
		return false;
	}
	if (version == 5) {
		(void)lines_take(r, 2); /* the sizes of an address and of a segment's selector */
	}
	const uint64_t rest = lines_take(r, 4);
	struct lines_reader header = lines_take_part(r, rest);
	out->least = lines_take(&header, 1);
	(void)lines_take(&header, 2); /* operations in an instruction, default_is_stmt */
	out->line_base = (int8_t)lines_take(&header, 1);
	out->line_range = lines_take(&header, 1);
	out->opcode_base = lines_take(&header, 1);
	for (uint64_t i = 1; i < out->opcode_base; i++) {
		out->counts[i] = (uint8_t)lines_take(&header, 1);
	}
	return out->line_range > 0 && out->opcode_base > 0;
}

struct lines_table {
	struct profile_row *rows;
	size_t count, cap;
	uint64_t address;
	int64_t line;
	bool failed;
};

/* Lines of 0 belong to no line of the PTX: to the one before. */
static void lines_add(struct lines_table *t)
{
	if (t->line <= 0 || t->line > UINT32_MAX || t->address > UINT32_MAX || t->failed) {
		return;
	}
	void *grown = mem_grow(t->rows, t->count, &t->cap, sizeof(*t->rows));
	if (!grown) {
		t->failed = true;
		return;
	}
	t->rows = grown;
	t->rows[t->count++] = (struct profile_row){(uint32_t)t->address, (uint32_t)t->line};
}

enum { EXTENDED = 0, COPY, ADVANCE_PC, ADVANCE_LINE, ADD_CONST = 8, FIXED_ADVANCE_PC = 9 };
enum { END_SEQUENCE = 1 };

/* An opcode that is not special; false: the sequence has ended. */
static bool lines_run_standard(struct lines_reader *r, const struct lines_header *h,
	struct lines_table *t, uint64_t opcode)
{
	struct lines_reader extended;
	switch (opcode) {
	case EXTENDED: /* an address is the function's begin, which is 0 here */
		extended = lines_take_part(r, lines_take_uleb(r));
		return lines_take(&extended, 1) != END_SEQUENCE;
	case COPY:
		lines_add(t);
		break;
	case ADVANCE_PC:
		t->address += lines_take_uleb(r) * h->least;
		break;
	case ADVANCE_LINE:
		t->line += lines_take_sleb(r);
		break;
	case ADD_CONST:
		t->address += (255 - h->opcode_base) / h->line_range * h->least;
		break;
	case FIXED_ADVANCE_PC:
		t->address += lines_take(r, 2);
		break;
	default:
		for (uint8_t i = 0; i < h->counts[opcode]; i++) {
			(void)lines_take_uleb(r);
		}
		break;
	}
	return true;
}

static void lines_run(struct lines_reader *r, const struct lines_header *h, struct lines_table *t)
{
	t->line = 1;
	for (bool goes_on = true; goes_on && r->at < r->end;) {
		const uint64_t opcode = lines_take(r, 1);
		if (opcode < h->opcode_base) {
			goes_on = lines_run_standard(r, h, t, opcode);
			continue;
		}
		const uint64_t special = opcode - h->opcode_base;
		t->address += special / h->line_range * h->least;
		t->line += h->line_base + (int64_t)(special % h->line_range);
		lines_add(t);
	}
}

bool profile_lines_read(struct profile_row **out, size_t *count, const void *object, size_t size)
{
	struct lines_header header;
	struct lines_table table = {.rows = NULL};
	*out = NULL;
	*count = 0;
	if (size < sizeof(Elf64_Ehdr)) {
		return true;
	}
	struct lines_reader section = lines_find(object, size);
	struct lines_reader unit = lines_take_part(&section, lines_take(&section, 4));
	if (lines_take_header(&unit, &header)) {
		lines_run(&unit, &header, &table);
	}
	*out = table.rows;
	*count = table.count;
	return !table.failed;
}
