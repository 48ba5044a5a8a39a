/* SPDX-License-Identifier: MIT */
/*
 * What a cubin says about its kernels and variables.
 *
 * A cubin is a 64-bit ELF file.  A kernel is a function symbol whose st_other has the bit
 * STO_CUDA_ENTRY; its parameters are records of the section .nv.info.<symbol>.  A variable is an
 * object symbol in .nv.global, .nv.global.init or .nv.constant3.  None of it is in a
 * public document: all was read off cubins of sm_75 to sm_121.  The file may come from anywhere,
 * so every offset is checked before it is followed.
 */
#include "../base/common.h"

#include "elf.h"
#include "image.h"

#include "../base/alloc.h"

#include <stdio.h>
#include <string.h>

#define OTHER_ENTRY 0x10
#define OTHER_MANAGED 0x04
#define MAX_PARAMS 4096

/* Records of .nv.info: a byte of format, a byte of attribute, 16 bits of size or value. */
#define FORMAT_SIZED 0x04
#define ATTRIBUTE_PARAM 0x17        /* index, ordinal:16, offset:16, flags: size above bit 18 */
#define ATTRIBUTE_PARAM_SIZE 0x19   /* the value is the size of the whole block */
#define ATTRIBUTE_PARAM_LARGE 0x45  /* index, ordinal:16, offset:16, size:16, flags:16 */

/* The section .nv.info.<symbol>. */
static bool find_info(const struct elf *cubin, Elf64_Shdr *out, const char *symbol)
{
	static const char prefix[] = ".nv.info.";
	for (uint32_t i = 0; i < cubin->header.e_shnum; i++) {
		const char *name = NULL;
		if (elf_section(cubin, out, i)) {
			name = elf_section_name(cubin, out);
		}
		if (name && strncmp(name, prefix, sizeof(prefix) - 1) == 0
		    && strcmp(name + sizeof(prefix) - 1, symbol) == 0) {
			return out->sh_offset <= cubin->size
			       && out->sh_size <= cubin->size - out->sh_offset;
		}
	}
	return false;
}

struct record {
	unsigned char format;
	unsigned char attribute;
	uint16_t value;   /* of a sized record: the size of what follows */
	uint16_t ordinal; /* of a parameter */
	uint16_t offset;
	uint32_t size;
};

static bool is_param(const struct record *record)
{
	return record->format == FORMAT_SIZED && record->value >= 12
	       && (record->attribute == ATTRIBUTE_PARAM
		   || record->attribute == ATTRIBUTE_PARAM_LARGE);
}

/* Read one record and go to the next; false at the end, or where the section makes no sense. */
static bool next_record(const struct elf *cubin, const Elf64_Shdr *info, uint64_t *at,
	struct record *out)
{
	unsigned char bytes[16];
	uint64_t left = info->sh_size - *at;
	if (left < 4 || !elf_read(cubin, bytes, info->sh_offset + *at, 4)) {
		return false;
	}
	*out = (struct record){.format = bytes[0], .attribute = bytes[1]};
	memcpy(&out->value, bytes + 2, 2);
	uint64_t length = 4 + (out->format == FORMAT_SIZED ? round_up(out->value, 4) : 0);
	if (length > left) {
		return false;
	}
	if (is_param(out) && elf_read(cubin, bytes, info->sh_offset + *at, 16)) {
		uint32_t last;
		memcpy(&out->ordinal, bytes + 8, 2);
		memcpy(&out->offset, bytes + 10, 2);
		memcpy(&last, bytes + 12, 4);
		out->size = out->attribute == ATTRIBUTE_PARAM ? last >> 18 : last & 0xffff;
	}
	*at += length;
	return true;
}

/* How many parameters the records speak of; -1 where they do not say. */
static int count_params(const struct elf *cubin, const Elf64_Shdr *info)
{
	struct record record;
	int count = 0;
	bool has_block = false;
	for (uint64_t at = 0; next_record(cubin, info, &at, &record);) {
		if (is_param(&record) && record.ordinal >= count) {
			count = record.ordinal + 1;
		} else if (record.attribute == ATTRIBUTE_PARAM_SIZE && record.value > 0) {
			has_block = true;
		}
	}
	return count > MAX_PARAMS || (count == 0 && has_block) ? -1 : count;
}

static bool add_kernel(struct rtc_image *image, const struct elf *cubin, const char *symbol)
{
	Elf64_Shdr info;
	int count = find_info(cubin, &info, symbol) ? count_params(cubin, &info) : -1;
	size_t len = strlen(symbol);
	if (count < 0) {
		return image_add_kernel(image, symbol, len, NULL, 0, false);
	}
	struct rtc_param *params = mem_zalloc((size_t)count + 1, sizeof(*params));
	if (!params) {
		return false;
	}
	struct record record;
	for (uint64_t at = 0; next_record(cubin, &info, &at, &record);) {
		if (is_param(&record)) {
			params[record.ordinal].offset = record.offset;
			params[record.ordinal].size = record.size;
		}
	}
	bool known = true;
	for (int i = 0; i < count; i++) {
		known = known && params[i].size > 0;
	}
	return image_add_kernel(image, symbol, len, params, (size_t)count, known);
}

/* sm_NN is in the flags: the second byte since CUDA 13, the first before. */
static void read_arch(struct rtc_image *image, const Elf64_Ehdr *header)
{
	uint32_t flags = header->e_flags;
	uint32_t arch = header->e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
	if (image->arch[0] == '\0') {
		snprintf(image->arch, sizeof(image->arch), "sm_%u", arch);
	}
}

/* A variable is an object in a section of variables; what is in shared memory belongs to kernels.
 * Others that have no section are defined elsewhere. */
static bool read_variable(struct rtc_image *image, const struct elf *cubin,
	const Elf64_Sym *symbol, const char *name)
{
	Elf64_Shdr section;
	if (!elf_section(cubin, &section, symbol->st_shndx)) {
		return true;
	}
	const char *where = elf_string(cubin, cubin->header.e_shstrndx, section.sh_name);
	bool constant = where && strncmp(where, ".nv.constant", 12) == 0;
	if (!constant && (!where || strncmp(where, ".nv.global", 10) != 0)) {
		return true;
	}
	struct rtc_variable facts = {
		.size = (int64_t)(symbol->st_size & INT64_MAX),
		.space = constant ? VARIABLE_CONSTANT
			: symbol->st_other & OTHER_MANAGED ? VARIABLE_MANAGED : VARIABLE_GLOBAL,
	};
	return image_add_variable(image, name, strlen(name), &facts);
}

static kz_status read_symbols(struct rtc_image *image, const struct elf *cubin,
	const Elf64_Shdr *table, kz_error *err)
{
	Elf64_Sym symbol;
	for (uint64_t at = 0; at + sizeof(symbol) <= table->sh_size; at += sizeof(symbol)) {
		if (table->sh_offset > cubin->size
		    || !elf_read(cubin, &symbol, table->sh_offset + at, sizeof(symbol))) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: the symbol table lies beyond its end");
		}
		bool variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT;
		bool entry = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC
			     && (symbol.st_other & OTHER_ENTRY);
		if (symbol.st_shndx == SHN_UNDEF || (!variable && !entry)) {
			continue;
		}
		const char *name = elf_string(cubin, table->sh_link, symbol.st_name);
		if (!name) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: the name of a %s lies beyond its end",
				variable ? "variable" : "kernel");
		}
		if (variable ? !read_variable(image, cubin, &symbol, name)
			     : !add_kernel(image, cubin, name)) {
			return error_no_memory(err);
		}
	}
	return KZ_OK;
}

kz_status image_read_cubin(struct rtc_image *image, kz_error *err)
{
	struct elf cubin;
	if (!elf_open(&cubin, image->data, image->size)
	    || cubin.header.e_machine != ELF_MACHINE_CUDA) {
		return error_set(err, KZ_BAD_IMAGE,
			"expected a cubin, found %zu bytes of another kind", image->size);
	}
	read_arch(image, &cubin.header);
	for (uint32_t i = 0; i < cubin.header.e_shnum; i++) {
		Elf64_Shdr section;
		if (!elf_section(&cubin, &section, i)) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: section %u of %u lies beyond its end", i,
				cubin.header.e_shnum);
		}
		kz_status status = section.sh_type == SHT_SYMTAB
			? read_symbols(image, &cubin, &section, err) : KZ_OK;
		if (status) {
			return status;
		}
	}
	return image_tell_overloads(image) ? KZ_OK : error_no_memory(err);
}
