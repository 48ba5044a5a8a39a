/* SPDX-License-Identifier: MIT */
/*
 * The sections of a cubin, found by name.
 *
 * A map leads from names to sections, since a module of many kernels has several sections for each.
 */
#include "base/common.h"

#include "lib/rtc/cubin.h"

#include <stdio.h>
#include <string.h>

static kz_status cubin_map_sections(struct cubin *cubin, kz_error *err)
{
	const struct elf *elf = &cubin->elf;
	Elf64_Shdr section;
	for (uint32_t i = 0; i < elf->header.e_shnum; i++) {
		if (!elf_section(elf, &section, i)
		    || (section.sh_type != SHT_NOBITS && !elf_section_data(elf, &section))) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: section %u of %u lies beyond its end", i,
				elf->header.e_shnum);
		}
		const char *name = elf_section_name(elf, &section);
		if (name && !map_get(&cubin->sections, name)
		    && !map_put(&cubin->sections, name, (void *)(uintptr_t)(i + 1))) {
			return error_no_memory(err);
		}
	}
	return KZ_OK;
}

kz_status cubin_open(struct cubin *out, const void *data, size_t size, kz_error *err)
{
	*out = (struct cubin){.sections = MAP_INIT};
	if (!elf_open(&out->elf, data, size) || out->elf.header.e_machine != ELF_MACHINE_CUDA) {
		return error_set(err, KZ_BAD_IMAGE,
			"expected a cubin, found %zu bytes of another kind", size);
	}
	return cubin_map_sections(out, err);
}

int cubin_arch(const struct cubin *cubin)
{
	const Elf64_Ehdr *header = &cubin->elf.header;
	uint32_t flags = header->e_flags;
	return (int)(header->e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

void cubin_close(struct cubin *cubin)
{
	map_free(&cubin->sections);
}

/* The index of the section of a name that is too long to be put together. */
static uint32_t cubin_search(const struct cubin *cubin, const char *prefix, const char *symbol)
{
	Elf64_Shdr section;
	size_t len = strlen(prefix);
	for (uint32_t i = 0; elf_section(&cubin->elf, &section, i); i++) {
		const char *name = elf_section_name(&cubin->elf, &section);
		if (name && strncmp(name, prefix, len) == 0 && strcmp(name + len, symbol) == 0) {
			return i + 1;
		}
	}
	return 0;
}

bool cubin_find(const struct cubin *cubin, Elf64_Shdr *out, const char *prefix, const char *symbol)
{
	char name[256];
	int len = snprintf(name, sizeof(name), "%s%s", prefix, symbol);
	uint32_t index = (size_t)len < sizeof(name)
		? (uint32_t)(uintptr_t)map_get(&cubin->sections, name)
		: cubin_search(cubin, prefix, symbol);
	return index > 0 && elf_section(&cubin->elf, out, index - 1);
}

bool cubin_next(const struct cubin *cubin, const Elf64_Shdr *info, uint64_t *at,
	struct cubin_record *out)
{
	unsigned char bytes[4];
	uint64_t left = info->sh_size - *at;
	if (!elf_section_data(&cubin->elf, info) || left < sizeof(bytes)
	    || !elf_read(&cubin->elf, bytes, info->sh_offset + *at, sizeof(bytes))) {
		return false;
	}
	*out = (struct cubin_record){.format = bytes[0], .attribute = bytes[1]};
	memcpy(&out->value, bytes + 2, sizeof(out->value));
	out->offset = info->sh_offset + *at + sizeof(bytes);
	uint64_t length = 4 + (out->format == CUBIN_FORMAT_SIZED ? round_up(out->value, 4) : 0);
	if (length > left) {
		return false;
	}
	*at += length;
	return true;
}
