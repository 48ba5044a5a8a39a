/* SPDX-License-Identifier: MIT */
/*
 * What a cubin says about its kernels and variables.
 *
 * A kernel is a function symbol whose st_other has the bit STO_CUDA_ENTRY.  Its parameters are
 * records of the section .nv.info.<symbol>.  A variable is an object symbol in .nv.global,
 * .nv.global.init or .nv.constant3.  No public document says so; it was read off cubins of sm_75 to
 * sm_121.  The file may come from anywhere, so every offset is checked before it is followed.
 */
#include "base/common.h"

#include "lib/rtc/rtc_image.h"

#include "base/alloc.h"
#include "lib/rtc/cubin.h"

#include <stdio.h>
#include <string.h>

#define OTHER_ENTRY 0x10
#define OTHER_MANAGED 0x04
#define MAX_PARAMS 4096

#define ATTRIBUTE_PARAM 0x17        /* index, ordinal:16, offset:16, flags: size above bit 18 */
#define ATTRIBUTE_PARAM_SIZE 0x19   /* the value is the size of the whole block */
#define ATTRIBUTE_PARAM_LARGE 0x45  /* index, ordinal:16, offset:16, size:16, flags:16 */

/* A record that describes a parameter. */
struct param_record {
	uint16_t ordinal;
	uint16_t offset;
	uint32_t size;
};

static bool cubin_read_param(const struct cubin *cubin, const struct cubin_record *record,
	struct param_record *out)
{
	unsigned char bytes[12];
	uint32_t last;
	if (record->format != CUBIN_FORMAT_SIZED || record->value < sizeof(bytes)
	    || (record->attribute != ATTRIBUTE_PARAM
		&& record->attribute != ATTRIBUTE_PARAM_LARGE)
	    || !elf_read(&cubin->elf, bytes, record->offset, sizeof(bytes))) {
		return false;
	}
	memcpy(&out->ordinal, bytes + 4, 2);
	memcpy(&out->offset, bytes + 6, 2);
	memcpy(&last, bytes + 8, 4);
	out->size = record->attribute == ATTRIBUTE_PARAM ? last >> 18 : last & 0xffff;
	return true;
}

static bool cubin_add_kernel(struct rtc_image *image, const struct cubin *cubin, const char *symbol)
{
	Elf64_Shdr info;
	struct cubin_record record;
	struct param_record param;
	const size_t len = strlen(symbol);
	/* How many parameters the records speak of, unless they do not say. */
	bool known = cubin_find(cubin, &info, ".nv.info.", symbol), has_block = false;
	int count = 0;
	for (uint64_t at = 0; known && cubin_next(cubin, &info, &at, &record);) {
		if (cubin_read_param(cubin, &record, &param)) {
			count = param.ordinal >= count ? param.ordinal + 1 : count;
		} else if (record.attribute == ATTRIBUTE_PARAM_SIZE && record.value > 0) {
			has_block = true;
		}
	}
	if (!known || count > MAX_PARAMS || (count == 0 && has_block)) {
		return image_add_kernel(image, symbol, len, NULL, 0, false);
	}
	struct rtc_param *params = mem_zalloc((size_t)count + 1, sizeof(*params));
	if (!params) {
		return false;
	}
	for (uint64_t at = 0; cubin_next(cubin, &info, &at, &record);) {
		if (cubin_read_param(cubin, &record, &param)) {
			params[param.ordinal].offset = param.offset;
			params[param.ordinal].size = param.size;
		}
	}
	for (int i = 0; i < count; i++) {
		known = known && params[i].size > 0;
	}
	return image_add_kernel(image, symbol, len, params, (size_t)count, known);
}

/* A variable is an object in a section of variables.  Objects in shared memory belong to kernels.
 * Objects without a section are defined elsewhere. */
static bool cubin_read_variable(struct rtc_image *image, const struct cubin *cubin,
	const Elf64_Sym *symbol, const char *name)
{
	Elf64_Shdr section;
	if (!elf_section(&cubin->elf, &section, symbol->st_shndx)) {
		return true;
	}
	const char *where = elf_section_name(&cubin->elf, &section);
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

static kz_status cubin_read_symbols(struct rtc_image *image, const struct cubin *cubin,
	const Elf64_Shdr *table, kz_error *err)
{
	Elf64_Sym symbol;
	for (uint64_t at = 0; at + sizeof(symbol) <= table->sh_size; at += sizeof(symbol)) {
		if (table->sh_offset > cubin->elf.size
		    || !elf_read(&cubin->elf, &symbol, table->sh_offset + at, sizeof(symbol))) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: the symbol table lies beyond its end");
		}
		bool variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT;
		bool entry = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC
			     && (symbol.st_other & OTHER_ENTRY);
		if (symbol.st_shndx == SHN_UNDEF || (!variable && !entry)) {
			continue;
		}
		const char *name = elf_string(&cubin->elf, table->sh_link, symbol.st_name);
		if (!name) {
			return error_set(err, KZ_BAD_IMAGE,
				"damaged cubin: the name of a %s lies beyond its end",
				variable ? "variable" : "kernel");
		}
		if (variable ? !cubin_read_variable(image, cubin, &symbol, name)
			     : !cubin_add_kernel(image, cubin, name)) {
			return error_no_memory(err);
		}
	}
	return KZ_OK;
}

kz_status image_read_cubin(struct rtc_image *image, kz_error *err)
{
	struct cubin cubin;
	Elf64_Shdr section;
	kz_status st = cubin_open(&cubin, image->data, image->size, err);
	if (!st && image->arch[0] == '\0') {
		snprintf(image->arch, sizeof(image->arch), "sm_%d", cubin_arch(&cubin));
	}
	for (uint32_t i = 0; !st && elf_section(&cubin.elf, &section, i); i++) {
		st = section.sh_type == SHT_SYMTAB
			? cubin_read_symbols(image, &cubin, &section, err) : KZ_OK;
	}
	st = st || image_finish(image) ? st : error_no_memory(err);
	cubin_close(&cubin);
	return st;
}
