/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_ORIGIN_H
#define CPU_IR_ORIGIN_H

/* Which variable an address was made from, as far as the instructions of a kernel tell. */
#include "cpu/ptx/ptx.h"

/* The variable of each register.  Freed with mem_free; NULL: no memory. */
struct ptx_var **origin_find(const struct ptx_func *func);
/* The variable in which an access with this operand has to stay; NULL: it is not known. */
struct ptx_var *origin_of(struct ptx_var *const *origins, const struct ptx_operand *operand);

#endif
