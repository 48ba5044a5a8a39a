/* SPDX-License-Identifier: MIT */
/*
 * Read what ptxas gave a kernel: registers, stack, shared memory, barriers, constants, code.
 *
 * A cubin has all of it but the spills, which only the log of -Xptxas=-v tells.  They are on the
 * stack, so a kernel without a stack has none.  No public document describes these records.  They
 * were read off cubins of sm_75 to sm_121 and compared with that log.
 */
#include "base/common.h"

#include "lib/rtc/resources.h"

#include "lib/rtc/cubin.h"

#include <stdio.h>
#include <string.h>

/* Records of .nv.info: index of the symbol, value. */
#define ATTRIBUTE_STACK 0x12
#define ATTRIBUTE_REGISTERS 0x2f
/* A record of .nv.info.<symbol>. */
#define ATTRIBUTE_BARRIERS 0x4c

/* From sm_90 on the system has this much of a block's shared memory, and .nv.shared has it too. */
#define RESERVED_SHARED 1024

static int64_t resources_section_size(const struct cubin *cubin, const char *prefix,
	const char *symbol)
{
	Elf64_Shdr section;
	return cubin_find(cubin, &section, prefix, symbol)
		? (int64_t)(section.sh_size & INT64_MAX) : 0;
}

static bool resources_is_function(const struct cubin *cubin, const Elf64_Shdr *table,
	const char *symbol, const Elf64_Sym *item)
{
	const char *name = ELF64_ST_TYPE(item->st_info) == STT_FUNC
		? elf_string(&cubin->elf, table->sh_link, item->st_name) : NULL;
	return name && strcmp(name, symbol) == 0;
}

/* The index of a function in the symbol table; 0, which no symbol has, if there is none. */
static uint32_t resources_find_symbol(const struct cubin *cubin, const char *symbol)
{
	Elf64_Shdr table;
	Elf64_Sym item;
	if (!cubin_find(cubin, &table, ".symtab", "")) {
		return 0;
	}
	for (uint32_t i = 0; i < table.sh_size / sizeof(item); i++) {
		if (!elf_read(&cubin->elf, &item, table.sh_offset + i * sizeof(item),
			sizeof(item))) {
			return 0;
		}
		if (resources_is_function(cubin, &table, symbol, &item)) {
			return i;
		}
	}
	return 0;
}

static void resources_read_kernel(struct rtc_resources *out, const struct cubin *cubin,
	const char *symbol)
{
	const uint32_t index = resources_find_symbol(cubin, symbol);
	Elf64_Shdr info;
	struct cubin_record record;
	uint32_t pair[2];
	bool is_there = cubin_find(cubin, &info, ".nv.info", "");
	for (uint64_t at = 0; is_there && cubin_next(cubin, &info, &at, &record);) {
		if (record.format != CUBIN_FORMAT_SIZED || record.value < sizeof(pair)
		    || !elf_read(&cubin->elf, pair, record.offset, sizeof(pair))
		    || pair[0] != index) {
			continue;
		}
		if (record.attribute == ATTRIBUTE_REGISTERS) {
			out->registers = (int32_t)(pair[1] & INT32_MAX);
		} else if (record.attribute == ATTRIBUTE_STACK) {
			out->stack_size = pair[1] == UINT32_MAX ? -1 : (int64_t)pair[1];
		}
	}
	is_there = cubin_find(cubin, &info, ".nv.info.", symbol);
	out->barriers = 0;
	for (uint64_t at = 0; is_there && cubin_next(cubin, &info, &at, &record);) {
		if (record.attribute == ATTRIBUTE_BARRIERS) {
			out->barriers = record.value & 0xff;
		}
	}
	out->code_size = resources_section_size(cubin, ".text.", symbol);
	out->constant_size = resources_section_size(cubin, ".nv.constant0.", symbol);
	out->shared_size = resources_section_size(cubin, ".nv.shared.", symbol);
	if (out->shared_size >= RESERVED_SHARED
	    && cubin_find(cubin, &info, ".nv.shared.reserved.0", "")) {
		out->shared_size -= RESERVED_SHARED;
	}
}

bool resources_read_log(struct rtc_resources *out, const char *log, const char *symbol)
{
	static const char mark[] = "Function properties for ";
	size_t len = strlen(symbol);
	for (const char *at = strstr(log, mark); at; at = strstr(at, mark)) {
		long long stack;
		long long stores;
		long long loads;
		at += sizeof(mark) - 1;
		if (strncmp(at, symbol, len) != 0 || (at[len] != '\n' && at[len] != '\r')) {
			continue;
		}
		const char *figures = at + len + strcspn(at + len, "0123456789");
		if (sscanf(figures, "%lld bytes stack frame, %lld bytes spill stores, %lld bytes",
			    &stack, &stores, &loads) != 3) {
			return false;
		}
		out->spill_stores = stores;
		out->spill_loads = loads;
		return true;
	}
	return false;
}

kz_status rtc_image_resources(struct rtc_resources *out, const struct rtc_image *image,
	const struct rtc_kernel *kernel, kz_error *err)
{
	struct cubin cubin;
	kz_status st = cubin_open(&cubin, image->data, image->size, err);
	*out = (struct rtc_resources){.stack_size = -1, .spill_stores = -1, .spill_loads = -1};
	if (!st) {
		resources_read_kernel(out, &cubin, kernel->lowered);
		if (out->stack_size == 0) {
			out->spill_stores = out->spill_loads = 0;
		}
		resources_read_log(out, image->log ? image->log : "", kernel->lowered);
	}
	cubin_close(&cubin);
	return st;
}
