/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_USES_H
#define CPU_IR_USES_H

/* Which registers decide something, and are not only copied. */
#include "cpu/ptx/ptx.h"

/* By register.  Freed with mem_free; NULL: no memory. */
bool *uses_find(const struct ptx_func *func);
/* Whether some of what a load writes decides something. */
bool uses_of_load(const bool *uses, const struct ptx_inst *load);

#endif
