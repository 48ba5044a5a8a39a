/* SPDX-License-Identifier: MIT */
#ifndef BASE_ELF_H
#define BASE_ELF_H

/* 64-bit ELF files, cubins and objects of the host, that may come from anywhere: every offset is
 * checked before it is followed. */
#include "base/common.h"

#include <elf.h>

#define ELF_MACHINE_CUDA 190

struct elf {
	const unsigned char *data;
	size_t size;
	Elf64_Ehdr header;
};

/* False if it is no 64-bit ELF file. */
bool elf_open(struct elf *out, const void *data, size_t size);

/* Copy out of the file; false where it does not reach so far. */
bool elf_read(const struct elf *elf, void *out, uint64_t offset, size_t size);

bool elf_section(const struct elf *elf, Elf64_Shdr *out, uint32_t index);

/* A string of a string table; NULL where it is not (all) in the file. */
const char *elf_string(const struct elf *elf, uint32_t table, uint32_t offset);
const char *elf_section_name(const struct elf *elf, const Elf64_Shdr *section);

/* The bytes of a section; NULL if they are not all in the file. */
const unsigned char *elf_section_data(const struct elf *elf, const Elf64_Shdr *section);

#endif
