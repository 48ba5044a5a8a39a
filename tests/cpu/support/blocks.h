/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CPU_SUPPORT_BLOCKS_H
#define TESTS_CPU_SUPPORT_BLOCKS_H

/* A kernel of a few lines, cut into basic blocks. */
#include "cpu/ptx/ptx.h"

/* Opens the kernel: predicates p and q, and a to d of 32 bits. */
#define BLOCKS_HEADER ".version 9.0\n.target sm_89\n.address_size 64\n.entry k()\n{\n" \
	".reg .pred p, q; .reg .b32 a, b, c, d;\n"

/* Makes a module of the header and this body.  Its kernel is cut into blocks, and lowered first if
 * `lowers` is set.  To be freed by parse_free. */
void blocks_read(struct ptx_module *module, const char *body, bool lowers);

#endif
