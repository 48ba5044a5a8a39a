/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PARSE_H
#define CPU_PTX_PARSE_H

/* PTX text to a module: names resolved, memory laid out, opcodes looked up; not yet
 * type-checked. */
#include "cpu/ptx/ptx.h"

/* Fill in *out, to be freed with parse_free.  The text is borrowed for the call and needs no
 * terminating zero.  On failure *out is empty and diag tells the first thing that is wrong. */
bool parse_module(struct ptx_module *out, const char *text, size_t size, struct ptx_diag *diag);
void parse_free(struct ptx_module *module); /* an empty module is fine */

/*
 * The same of a text that is known to be good, but of each kernel only the name is read; until
 * parse_kernel reads the rest, it is an empty one.  The text is borrowed until parse_free.
 */
bool parse_declarations(struct ptx_module *out, const char *text, size_t size, struct hash hash,
	struct ptx_diag *diag);
/* After a failure the kernel may be read again.  The module must be separable (ptx.h). */
bool parse_kernel(struct ptx_module *module, struct ptx_func *kernel, struct ptx_diag *diag);

#endif
