/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_CFG_H
#define CPU_IR_CFG_H

/* The control-flow graph of a checked function, with liveness. */
#include "cpu/ptx/ptx.h"

/* Fill in func->blocks, but for liveness, and the block numbers of label operands.  False: no
 * memory. */
bool cfg_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

/*
 * Compute which registers are live at the start of each block, with memory from the arena.  False:
 * no memory, or too big.
 *
 * A set is an array of parts of CFG_PART_WORDS words, with a bit for each register; NULL is a part
 * without a register.  A block shares parts with the blocks after it where both have the same
 * registers.  Without that the sets would take the square of the size of a kernel.
 */
bool cfg_find_live(struct arena *arena, struct ptx_func *func, struct ptx_diag *diag);

enum { CFG_PART_WORDS = 16, CFG_PART_REGS = 64 * CFG_PART_WORDS };

static inline bool cfg_is_live(const struct ptx_block *block, size_t reg)
{
	const uint64_t *part = block->live_in[reg / CFG_PART_REGS];
	return part && ptx_has_bit(part, reg % CFG_PART_REGS);
}

/* Add the registers that are live at the start of a block, or at its end, to a set that has
 * `cfg_live_words(func)` words. */
size_t cfg_live_words(const struct ptx_func *func);
void cfg_add_live_in(uint64_t *live, const struct ptx_func *func, size_t block);
void cfg_add_live_out(uint64_t *live, const struct ptx_func *func, size_t block);

/* Whether so many edges lead from block to block that a pass that compares each with all others
 * would take more than a second.  Without blocks: no. */
bool cfg_is_tangled(const struct ptx_func *func);

/* Whether a kernel is so long, or so tangled, that its code runs one lane at a time: code for a
 * warp would take too long to compile. */
bool cfg_is_huge(const struct ptx_func *func);

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
