/* SPDX-License-Identifier: MIT */
#ifndef BASE_DL_H
#define BASE_DL_H

/* Shared objects found at run time. */
#include "base/common.h"

/* Open a shared object; on failure return NULL and put the loader's reason into why[why_size]. */
void *dl_open(const char *path, char *why, size_t why_size);
/* The address of a symbol, NULL if the object lacks it. */
void *dl_symbol(void *object, const char *name);
void dl_close(void *object); /* NULL is fine */
/* The absolute path of the library or program that holds an address, freed with mem_free; NULL
 * if it is not known. */
char *dl_path(const void *address);
/* The same, and how far after the beginning of the file's own addresses that is, as addr2line takes
 * it. */
char *dl_offset(uint64_t *offset, const void *address);
/* From where to where the library or program that holds an address reaches in memory. */
void dl_extent(uintptr_t *begin, uintptr_t *end, const void *address);

/*
 * The GNU build id of the library or program that holds an address.  Different code has a different
 * id.  Returns its size, at most DL_BUILD_ID_SIZE; 0 if there is none.
 */
#define DL_BUILD_ID_SIZE 64
size_t dl_build_id(uint8_t out[DL_BUILD_ID_SIZE], const void *address);
/* The build id of a file, which is not loaded; 0 also if the file cannot be read. */
size_t dl_file_id(uint8_t out[DL_BUILD_ID_SIZE], const char *path);

/* Fill a table of function pointers.  Each row is a symbol and its offset in the table.  A
 * symbol that is missing leaves NULL.  Returns the first missing symbol that is needed, or NULL. */
struct dl_row {
	const char *symbol;
	size_t slot;
	bool needed;
};
const char *dl_fill(void *object, const struct dl_row *rows, size_t count, void *table);

#endif
