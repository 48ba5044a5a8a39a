/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_CFG_H
#define CPU_IR_CFG_H

/* The control-flow graph of a checked function, with liveness. */
#include "cpu/ptx/ptx.h"

/* Fill in func->blocks, and the block numbers of label operands.  False: no memory. */
bool cfg_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

/* Turn the set of registers that are live after an instruction into the set that is live before. */
void cfg_live_before(uint64_t *live, const struct ptx_inst *inst);

/* Add the registers that an instruction writes. */
void cfg_written(uint64_t *set, const struct ptx_inst *inst);

#endif
