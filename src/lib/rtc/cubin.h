/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_CUBIN_H
#define LIB_RTC_CUBIN_H

/* A cubin: an ELF file whose sections are found by name, and the records of .nv.info. */
#include "base/elf.h"
#include "base/error.h"
#include "base/map.h"

/* Records of .nv.info: a byte of format, a byte of attribute, 16 bits of size or value. */
#define CUBIN_FORMAT_SIZED 0x04

struct cubin {
	struct elf elf;
	struct map sections;        /* name -> index + 1 */
};

/* A record as it stands; what is after a sized one was found to be in the section. */
struct cubin_record {
	unsigned char format;
	unsigned char attribute;
	uint16_t value;             /* of a sized record: the size of what follows */
	uint64_t offset;            /* of what follows, in the file */
};

/* Borrows the data, all sections of which are there.  KZ_BAD_IMAGE, KZ_NO_MEMORY.  Close it either
 * way. */
kz_status cubin_open(struct cubin *out, const void *data, size_t size, kz_error *err);
void cubin_close(struct cubin *cubin);

/* 90 of sm_90; it is in the flags: the second byte since CUDA 13, the first before. */
int cubin_arch(const struct cubin *cubin);

/* The section PREFIX<symbol>, ".nv.info.k"; false if there is none. */
bool cubin_find(const struct cubin *cubin, Elf64_Shdr *out, const char *prefix, const char *symbol);

/* Read the record at *at of a section and go to the next; false at the end, or where the section
 * makes no sense. */
bool cubin_next(const struct cubin *cubin, const Elf64_Shdr *info, uint64_t *at,
	struct cubin_record *out);

#endif
