/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_OUTLINE_H
#define CPU_JIT_OUTLINE_H

/*
 * Big texts that were found good, and where their kernels are: in memory for this process, in the
 * cache on disk for the next one.  Whoever loads one again need not read all of it (parse_part.c).
 */
#include "drv/cuda_abi.h"
#include "cpu/ptx/ptx.h"

/* The hash of a kernel's name, by which they are in order, and which part it is. */
struct outline_name {
	uint32_t hash;
	uint32_t part;
};

struct outline {
	struct outline *next;    /* of those in memory; the rest of it nobody changes */
	size_t refs;
	struct hash hash;
	size_t size;             /* of the text */
	struct ptx_part *parts;  /* in order of appearance; in the same piece of memory */
	struct outline_name *names;
	size_t count;
};

/* Whether a text has so much, and so many kernels, that it may be remembered. */
bool outline_pays(const char *text, size_t size);
/* The outline of a text of this size and hash, to be released; NULL: it is not known, or there is no
 * memory. */
struct outline *outline_find(size_t size, struct hash hash);
/* That of a text which was skimmed, to be released; NULL where it does not pay, or kernels cannot be
 * read by themselves. */
struct outline *outline_create(const struct ptx_module *module, const char *text);
/* Its text is good in all ways. */
void outline_remember(struct outline *outline); /* NULL is fine */
void outline_release(struct outline *outline); /* NULL is fine */

/* The number of a kernel of the text, outline->count if there is none of that name.  Names in the text
 * are read by way of `known`. */
size_t outline_kernel(const struct outline *outline, const char *text,
	const struct kudzu_text *known, const char *name);

/* Forget what is in memory. */
void outline_forget(void);

#endif
