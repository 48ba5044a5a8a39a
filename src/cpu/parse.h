/* SPDX-License-Identifier: MIT */
#ifndef CPU_PARSE_H
#define CPU_PARSE_H

/* PTX text to a module: names resolved, memory laid out, opcodes looked up; not yet type-checked. */
#include "ptx.h"

/* Fill in *out, to be freed with parse_free.  The text is borrowed for the call and needs no
 * terminating zero.  On failure *out is empty and diag tells the first thing that is wrong. */
bool parse_module(struct ptx_module *out, const char *text, size_t size, struct ptx_diag *diag);
void parse_free(struct ptx_module *module); /* an empty module is fine */

#endif
