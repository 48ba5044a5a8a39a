/* SPDX-License-Identifier: MIT */
#ifndef BASE_FATBIN_H
#define BASE_FATBIN_H

/*
 * Fat binaries: one file with the same code for several architectures, as PTX, cubin, LTO code.
 *
 *	if (fatbin_open(&fatbin, data, size) == FATBIN_OK) {
 *		while ((result = fatbin_next(&fatbin, &entry)) == FATBIN_OK) {
 *			look at entry.kind and entry.arch; fatbin_decode what is wanted
 *		}
 *	}
 */
#include "base/common.h"

#define FATBIN_UNKNOWN_SIZE SIZE_MAX /* only the fat binary itself tells */

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_CUBIN = 2, FATBIN_LTO = 8 };

enum fatbin_result {
	FATBIN_OK,
	FATBIN_END,       /* no more entries */
	FATBIN_DAMAGED,
	FATBIN_NO_ZSTD,   /* compressed, and the library for that cannot be used */
	FATBIN_NO_MEMORY
};

struct fatbin {
	const uint8_t *next;   /* the next entry; at the end, what follows the fat binary */
	size_t left;           /* bytes of entries */
	char why[256];         /* the reason for a result other than OK and END */
};

struct fatbin_entry {
	unsigned kind;         /* enum fatbin_kind, or another number */
	unsigned arch;         /* 89 */
	const uint8_t *whole;  /* with its header */
	size_t whole_size;
	const uint8_t *data;   /* as it is stored */
	size_t size;
	size_t used;           /* of that, compressed bytes */
	size_t text_size;      /* after decompression */
	bool has_lz4;
	bool has_zstd;
};

/* Whether bytes begin as a fat binary does; they may end after any zero. */
bool fatbin_is(const void *data, size_t size);
enum fatbin_result fatbin_open(struct fatbin *out, const void *data, size_t size);
enum fatbin_result fatbin_next(struct fatbin *fatbin, struct fatbin_entry *out);
/* What an entry holds, zero-terminated beyond *size; freed with mem_free. */
enum fatbin_result fatbin_decode(struct fatbin *fatbin, const struct fatbin_entry *entry,
	char **data, size_t *size);

/* A fat binary with one entry of another, as it is; freed with mem_free, NULL: no memory. */
char *fatbin_of_one(const struct fatbin_entry *entry, size_t *size);

#endif
