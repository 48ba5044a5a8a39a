/* SPDX-License-Identifier: MIT */
#ifndef CPU_PARSE_H
#define CPU_PARSE_H

/* PTX text to a module: names resolved, memory laid out, opcodes looked up; not yet type-checked. */
#include "ptx.h"

/* Fill in *out, to be freed with parse_free.  The text is borrowed for the call and needs no
 * terminating zero.  On failure *out is empty and diag tells the first thing that is wrong. */
bool parse_module(struct ptx_module *out, const char *text, size_t size, struct ptx_diag *diag);
void parse_free(struct ptx_module *module); /* an empty module is fine */

/* What becomes of a kernel that was just read. */
enum parse_verdict {
	PARSE_KEEP,
	PARSE_FORGET, /* it is fine, and asked for later, if at all */
	PARSE_FAIL
};

/*
 * As parse_module, but only to see whether a text of many kernels is good, and where they are: of those
 * that `judge` forgets nothing is left but an empty one in their place.  So the memory that one kernel
 * takes is that of all.  Also false, whatever diag tells, where kernels cannot be read by themselves.
 */
typedef enum parse_verdict parse_judge(struct ptx_module *module, struct ptx_func *kernel,
	struct ptx_diag *diag);
bool parse_survey(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	parse_judge *judge, struct ptx_diag *diag);

/*
 * Of a text that was found good before, with the parts that were found then: read all but those.
 * In their places funcs has the same empty kernel, until parse_part makes one of them a real one.
 * Text and parts are borrowed until parse_free.
 */
bool parse_outline(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	const struct ptx_part *parts, size_t count, struct ptx_diag *diag);
/* NULL if memory runs out, or the text is not what it was. */
struct ptx_func *parse_part(struct ptx_module *module, const struct ptx_part *part,
	struct ptx_diag *diag);

#endif
