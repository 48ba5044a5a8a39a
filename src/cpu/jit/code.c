/* SPDX-License-Identifier: MIT */
/*
 * Loads the object files that LLVM makes for kernels: position-independent code in the large code
 * model, and constants.  One mapping gets a copy of each section that running code needs, and
 * after them a table of the functions that code may call, the GOT.  Then addresses are filled in,
 * and the mapping becomes executable and is never writable again.  All is in one mapping, so three
 * kinds of relocation are enough: from code to the GOT, from the GOT to a constant, and from the
 * GOT's start to a slot.
 *
 * LLVM's own linker does the same, but takes much longer than all other steps of loading a cached
 * kernel.  What this file does not know it refuses, and leaves to LLVM's linker.
 *
 * The bytes may come from a file, so each number in them is checked before it is used.
 */
#include "cpu/jit/code.h"

#include "base/alloc.h"
#include "cpu/config/settings.h"
#include "cpu/jit/debugger.h"

#include <elf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
static const bool is_known = true;
#else
static const bool is_known = false;
#endif

const struct jit_callee code_callees[JIT_CALLEE_COUNT] = {
#define X(name) {#name, (void (*)(void))name},
	X(memcpy) X(memmove) X(memset) X(fma) X(fmaf) X(floor) X(floorf) X(ceil) X(ceilf)
	X(trunc) X(truncf) X(rint) X(rintf) X(sqrt) X(sqrtf)
#undef X
};

enum { MOST_SECTIONS = 64, GOT_SIZE = JIT_CALLEE_COUNT * sizeof(uint64_t) };
/* Of a loaded object, so that sums of such numbers cannot overflow. */
static const uint64_t most_bytes = UINT64_C(1) << 31;

struct loader {
	const uint8_t *bytes;      /* the object file */
	size_t size;
	size_t section_count;
	Elf64_Shdr sections[MOST_SECTIONS];
	uint64_t places[MOST_SECTIONS]; /* in the mapping, 0: not in it */
	Elf64_Shdr symbols;
	size_t symbol_count;
	const char *names;
	size_t names_size;
	uint64_t got;              /* its place in the mapping */
	uint64_t total;            /* bytes of the mapping */
	uint64_t text_size;
	uint8_t *memory;
};

static bool refuses_all;

void code_refuse(bool all)
{
	refuses_all = all;
}

/* Whether the file has these bytes. */
static bool code_has(const struct loader *l, uint64_t offset, uint64_t size)
{
	return offset <= l->size && size <= l->size - offset;
}

static bool code_read_header(struct loader *l)
{
	static const uint8_t ident[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
		ELFDATA2LSB};
	Elf64_Ehdr header;
	if (!code_has(l, 0, sizeof(header))) {
		return false;
	}
	memcpy(&header, l->bytes, sizeof(header));
	l->section_count = header.e_shnum;
	size_t size = header.e_shnum * sizeof(l->sections[0]);
	if (memcmp(header.e_ident, ident, sizeof(ident)) != 0 || header.e_type != ET_REL
	    || header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(l->sections[0])
	    || l->section_count > MOST_SECTIONS || !code_has(l, header.e_shoff, size)) {
		return false;
	}
	memcpy(l->sections, l->bytes + header.e_shoff, size);
	return true;
}

static bool code_read_symbols(struct loader *l)
{
	for (size_t i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *section = &l->sections[i];
		if (section->sh_type != SHT_SYMTAB) {
			continue;
		}
		if (section->sh_link >= l->section_count || !code_has(l, section->sh_offset,
			section->sh_size)) {
			return false;
		}
		const Elf64_Shdr *names = &l->sections[section->sh_link];
		if (names->sh_size == 0 || !code_has(l, names->sh_offset, names->sh_size)) {
			return false;
		}
		l->symbols = *section;
		l->symbol_count = section->sh_size / sizeof(Elf64_Sym);
		l->names = (const char *)l->bytes + names->sh_offset;
		l->names_size = names->sh_size;
		return l->names[names->sh_size - 1] == '\0';
	}
	return false;
}

static bool code_get_symbol(const struct loader *l, Elf64_Sym *out, uint64_t index)
{
	if (index >= l->symbol_count) {
		return false;
	}
	memcpy(out, l->bytes + l->symbols.sh_offset + index * sizeof(*out), sizeof(*out));
	return true;
}

static const char *code_name_of(const struct loader *l, const Elf64_Sym *symbol)
{
	return symbol->st_name < l->names_size ? l->names + symbol->st_name : "";
}

/* Code and constants; what could be written to is not ours. */
static bool code_place_section(struct loader *l, size_t i)
{
	const Elf64_Shdr *section = &l->sections[i];
	uint64_t align = section->sh_addralign > 0 ? section->sh_addralign : 1;
	if (section->sh_type != SHT_PROGBITS || (section->sh_flags & (SHF_WRITE | SHF_TLS)) != 0
	    || align > 4096 || (align & (align - 1)) != 0
	    || !code_has(l, section->sh_offset, section->sh_size)) {
		return false;
	}
	l->places[i] = (l->total + align - 1) & ~(align - 1);
	l->total = l->places[i] + section->sh_size;
	if ((section->sh_flags & SHF_EXECINSTR) != 0) {
		l->text_size += section->sh_size;
	}
	return l->total < most_bytes;
}

static bool code_place_sections(struct loader *l)
{
	l->total = 1; /* so that 0 is no place */
	for (size_t i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *section = &l->sections[i];
		if ((section->sh_flags & SHF_ALLOC) != 0 && section->sh_size > 0
		    && !code_place_section(l, i)) {
			return false;
		}
	}
	l->got = round_up(l->total, sizeof(uint64_t));
	l->total = round_up(l->got + GOT_SIZE, (size_t)sysconf(_SC_PAGESIZE));
	return true;
}

static bool code_copy_sections(struct loader *l)
{
	void *memory = mmap(NULL, l->total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (memory == MAP_FAILED) {
		return false;
	}
	l->memory = memory;
	for (size_t i = 0; i < l->section_count; i++) {
		if (l->places[i] != 0) {
			memcpy(l->memory + l->places[i], l->bytes + l->sections[i].sh_offset,
				l->sections[i].sh_size);
		}
	}
	for (size_t i = 0; i < JIT_CALLEE_COUNT; i++) {
		memcpy(l->memory + l->got + i * sizeof(uint64_t), &code_callees[i].address,
			sizeof(uint64_t));
	}
	return true;
}

/* The place of a symbol in the mapping; 0 if it is not there. */
static uint64_t code_place_of(const struct loader *l, const Elf64_Sym *symbol)
{
	size_t i = symbol->st_shndx;
	bool is_placed = i < l->section_count && l->places[i] != 0
		&& symbol->st_value <= l->sections[i].sh_size;
	return is_placed ? l->places[i] + symbol->st_value : 0;
}

/* The slot of a symbol in the GOT; GOT_SIZE if it has none. */
static uint64_t code_slot_of(const struct loader *l, const Elf64_Sym *symbol)
{
	size_t i = 0;
	while (i < JIT_CALLEE_COUNT && (symbol->st_shndx != SHN_UNDEF
		|| strcmp(code_name_of(l, symbol), code_callees[i].name) != 0)) {
		i++;
	}
	return i * sizeof(uint64_t);
}

/* The psABI's letters: A is the addend, P the place to fill in, S the symbol's, G its slot. */
static bool code_relocate(struct loader *l, size_t target, const Elf64_Rela *rela)
{
	Elf64_Sym symbol;
	uint64_t value = (uint64_t)rela->r_addend;
	uint64_t size = l->sections[target].sh_size;
	uint64_t p = l->places[target] + rela->r_offset;
	uint64_t s, g;
	if (size < sizeof(value) || rela->r_offset > size - sizeof(value)
	    || !code_get_symbol(l, &symbol, ELF64_R_SYM(rela->r_info))) {
		return false;
	}
	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_GOTPC64:
		value += l->got - p;
		break;
	case R_X86_64_GOTOFF64:
		s = code_place_of(l, &symbol);
		if (s == 0) {
			return false;
		}
		value += s - l->got;
		break;
	case R_X86_64_GOT64:
		g = code_slot_of(l, &symbol);
		if (g == GOT_SIZE) {
			return false;
		}
		value += g;
		break;
	default:
		return false;
	}
	memcpy(l->memory + p, &value, sizeof(value));
	return true;
}

static bool code_relocate_section(struct loader *l, const Elf64_Shdr *section)
{
	Elf64_Rela rela;
	if (!code_has(l, section->sh_offset, section->sh_size)) {
		return false;
	}
	for (uint64_t at = 0; at + sizeof(rela) <= section->sh_size; at += sizeof(rela)) {
		memcpy(&rela, l->bytes + section->sh_offset + at, sizeof(rela));
		if (!code_relocate(l, section->sh_info, &rela)) {
			return false;
		}
	}
	return true;
}

static bool code_relocate_all(struct loader *l)
{
	for (size_t i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *section = &l->sections[i];
		bool is_for_us = (section->sh_type == SHT_RELA || section->sh_type == SHT_REL)
			&& section->sh_info < l->section_count && l->places[section->sh_info] != 0;
		if (is_for_us
			&& (section->sh_type == SHT_REL || !code_relocate_section(l, section))) {
			return false;
		}
	}
	return true;
}

static bool code_find_entry(const struct loader *l, uintptr_t *out, const char *name)
{
	Elf64_Sym symbol;
	for (uint64_t i = 0; code_get_symbol(l, &symbol, i); i++) {
		uint64_t place = code_place_of(l, &symbol);
		if (place != 0 && strcmp(code_name_of(l, &symbol), name) == 0) {
			const Elf64_Shdr *section = &l->sections[symbol.st_shndx];
			*out = (uintptr_t)l->memory + place;
			return (section->sh_flags & SHF_EXECINSTR) != 0
				&& symbol.st_value < section->sh_size;
		}
	}
	return false;
}

/* A copy of the object for debuggers, with the addresses of its sections.  False: no memory. */
static bool code_show(struct code *out, const struct loader *l)
{
	Elf64_Ehdr header;
	uint8_t *copy = mem_alloc(l->size);
	if (!copy) {
		return false;
	}
	memcpy(copy, l->bytes, l->size);
	memcpy(&header, copy, sizeof(header));
	for (size_t i = 0; i < l->section_count; i++) {
		Elf64_Shdr section = l->sections[i];
		section.sh_addr = l->places[i] ? (uintptr_t)l->memory + l->places[i] : 0;
		memcpy(copy + header.e_shoff + i * sizeof(section), &section, sizeof(section));
	}
	out->debugger = debugger_add(copy, l->size);
	return out->debugger;
}

bool code_load(struct code *out, const void *object, size_t size, const char *symbol)
{
	struct loader l = {.bytes = object, .size = size};
	*out = (struct code){.memory = NULL};
	bool no_memory = false;
	bool ok = is_known && !refuses_all && code_read_header(&l) && code_read_symbols(&l)
		&& code_place_sections(&l) && code_copy_sections(&l) && code_relocate_all(&l)
		&& code_find_entry(&l, &out->entry, symbol)
		&& mprotect(l.memory, l.total, PROT_READ | PROT_EXEC) == 0;
	if (ok && settings_debugged()) {
		ok = code_show(out, &l);
		no_memory = !ok;
	}
	out->memory = l.memory;
	out->size = l.total;
	out->text_size = l.text_size;
	if (!ok) {
		code_unload(out);
		out->no_memory = no_memory;
	}
	return ok;
}

void code_unload(struct code *code)
{
	debugger_remove(code->debugger);
	if (code->memory) {
		munmap(code->memory, code->size);
	}
	*code = (struct code){.memory = NULL};
}
