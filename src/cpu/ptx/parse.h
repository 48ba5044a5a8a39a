/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PARSE_H
#define CPU_PTX_PARSE_H

/* PTX text to a module: names resolved, memory laid out, opcodes looked up; not yet type-checked. */
#include "drv/cuda_abi.h"
#include "cpu/ptx/ptx.h"

/* Fill in *out, to be freed with parse_free.  The text is borrowed for the call and needs no
 * terminating zero.  On failure *out is empty and diag tells the first thing that is wrong. */
bool parse_module(struct ptx_module *out, const char *text, size_t size, struct ptx_diag *diag);
void parse_free(struct ptx_module *module); /* an empty module is fine */

/* As parse_module, but only to see where the kernels are: of each the name is read, the rest is passed
 * over, and an empty kernel is left in its place. */
bool parse_skim(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	struct ptx_diag *diag);

/*
 * Of a text that was found good before, with the parts that were found then: read all but those.
 * In their places funcs has the same empty kernel, until parse_part makes one of them a real one.
 * Text and parts are borrowed until parse_free.
 */
bool parse_outline(struct ptx_module *out, const char *text, const struct kudzu_text *known,
	const struct ptx_part *parts, size_t count, struct ptx_diag *diag);
/* NULL if memory runs out, or the text is not what it was.  A body that has variables of the module in
 * it leaves the module inseparable. */
struct ptx_func *parse_part(struct ptx_module *module, const struct ptx_part *part,
	struct ptx_diag *diag);
/* Undo that: nothing else may have come since the mark. */
void parse_forget(struct ptx_module *module, const struct ptx_part *part,
	const struct arena_mark *mark);

#endif
