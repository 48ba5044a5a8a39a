/* SPDX-License-Identifier: MIT */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

/* Places in the program: the line that called the library. */
#include "base/common.h"

#include <stdatomic.h>

/* Whether errors have the place of the call that failed; set it after a first place_here. */
extern atomic_bool place_is_in_errors;

/* The address of the call, in the first function on the stack that is not the library's; 0: it is
 * not known.  Call it without a lock: the first time it loads a library. */
uintptr_t place_here(void);

enum { PLACE_FILE_SIZE = 128 };

/* {"main.c", 42}; {"program+0x1234", 0}, an offset that addr2line takes, where there is no debug
 * information; {"", 0}: not known. */
struct place {
	char file[PLACE_FILE_SIZE]; /* the end of a longer name */
	int32_t line;
};

/* What finds places; create it without a lock. */
struct place_finder;
struct place_finder *place_finder_create(void); /* NULL, for want of memory, finds modules only */
void place_find(struct place *out, struct place_finder *finder, uintptr_t address);
void place_finder_free(struct place_finder *finder); /* NULL is fine */

#endif
