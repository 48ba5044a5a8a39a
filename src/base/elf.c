/* SPDX-License-Identifier: MIT */
/*
 * Sections and strings of ELF files.
 *
 * Headers are copied out before they are read, since nothing guarantees that they are aligned.
 */
#include "base/common.h"

#include "base/elf.h"

#include <string.h>

bool elf_read(const struct elf *elf, void *out, uint64_t offset, size_t size)
{
	if (offset > elf->size || size > elf->size - offset) {
		return false;
	}
	memcpy(out, elf->data + offset, size);
	return true;
}

bool elf_open(struct elf *out, const void *data, size_t size)
{
	*out = (struct elf){.data = data, .size = size};
	return elf_read(out, &out->header, 0, sizeof(out->header))
	       && memcmp(out->header.e_ident, ELFMAG, SELFMAG) == 0
	       && out->header.e_ident[EI_CLASS] == ELFCLASS64
	       && (out->header.e_shnum == 0 || out->header.e_shentsize == sizeof(Elf64_Shdr));
}

bool elf_section(const struct elf *elf, Elf64_Shdr *out, uint32_t index)
{
	return index < elf->header.e_shnum
	       && elf->header.e_shoff <= elf->size
	       && elf_read(elf, out, elf->header.e_shoff + (uint64_t)index * sizeof(*out),
			sizeof(*out));
}

const unsigned char *elf_section_data(const struct elf *elf, const Elf64_Shdr *section)
{
	return section->sh_type == SHT_NOBITS || section->sh_offset > elf->size
		|| section->sh_size > elf->size - section->sh_offset
		? NULL : elf->data + section->sh_offset;
}

const char *elf_string(const struct elf *elf, uint32_t table, uint32_t offset)
{
	Elf64_Shdr section;
	if (!elf_section(elf, &section, table) || section.sh_type != SHT_STRTAB
	    || offset >= section.sh_size) {
		return NULL;
	}
	const unsigned char *text = elf_section_data(elf, &section);
	return text && memchr(text + offset, 0, section.sh_size - offset)
		? (const char *)text + offset : NULL;
}

const char *elf_section_name(const struct elf *elf, const Elf64_Shdr *section)
{
	return elf_string(elf, elf->header.e_shstrndx, section->sh_name);
}
