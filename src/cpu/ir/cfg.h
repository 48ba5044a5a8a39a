/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_CFG_H
#define CPU_IR_CFG_H

/* The control-flow graph of a checked function, with liveness. */
#include "cpu/ptx/ptx.h"

/* Fill in func->blocks, and the block numbers of label operands.  False: no memory. */
bool cfg_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

/* Compute live_in and live_out of all blocks again.  False: no memory, or too big. */
bool cfg_find_live(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

/* Call a function for each place where an instruction reads registers, its guard among them, or
 * where it writes some: with the register and the number of its value (ssa.h). */
typedef void cfg_visit_fn(void *data, unsigned *reg, unsigned *value);
void cfg_visit(struct ptx_inst *inst, bool written, cfg_visit_fn *visit, void *data);

/* The place of a block in the list of predecessors, where it is. */
size_t cfg_place_of_pred(const struct ptx_block *block, size_t pred);

/* Turn the set of registers that are live after an instruction into the set that is live before. */
void cfg_live_before(uint64_t *live, const struct ptx_inst *inst);

/* Add the registers that an instruction writes. */
void cfg_written(uint64_t *set, const struct ptx_inst *inst);

#endif
