/* SPDX-License-Identifier: MIT */
/*
 * The stack of a thread, after the rest of its .local memory.  It holds the frames of recursive
 * functions and what alloca allocates.  It grows upwards, in multiples of the largest alignment in
 * the kernel.
 *
 * The register `frame` of a recursive function points to its frame, which begins where the free
 * part of the stack began.  The caller's value of that register is kept there.  In any other
 * function that has alloca, `frame` is where the free part began, and the end of the function
 * restores it.
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

enum { STACK_ERROR = 714 }; /* CUresult */

enum { LEAST_ALIGN = 8 };   /* of what alloca gives */

static void flat_stack_binary(struct flat *f, enum ptx_op op, enum ptx_type type, unsigned to,
	struct ptx_operand a, struct ptx_operand b)
{
	const struct ptx_operand operands[] = {flat_reg_operand(to), a, b};
	flat_inst(f, op, type, operands, countof(operands));
}

/* Go to the label if a <= b. */
static void flat_stack_branch_if_low(struct flat *f, size_t label, unsigned a, unsigned b)
{
	unsigned fits = flat_temp(f, PTX_PRED);
	const struct ptx_operand compare[] = {flat_reg_operand(fits), flat_reg_operand(a),
		flat_reg_operand(b)};
	flat_set(flat_inst(f, PTX_OP_SETP, PTX_U64, compare, countof(compare)), PTX_MOD_LS);
	struct ptx_inst *bra = flat_bra(f, label);
	bra->has_guard = true;
	bra->guard = fits;
}

/* Round up to a multiple of `align`, which is a power of two. */
static void flat_stack_align_up(struct flat *f, unsigned reg, size_t align)
{
	flat_stack_binary(f, PTX_OP_ADD, PTX_U64, reg, flat_reg_operand(reg),
		flat_int_operand((int64_t)align - 1));
	flat_stack_binary(f, PTX_OP_AND, PTX_B64, reg, flat_reg_operand(reg),
		flat_int_operand(-(int64_t)align));
}

static struct ptx_operand flat_stack_begin(const struct flat *f)
{
	return (struct ptx_operand){.kind = PTX_ADDRESS, .var = f->area,
		.value = (int64_t)f->static_size};
}

void flat_start_stack(struct flat *f)
{
	const struct ptx_operand size = {.kind = PTX_SREG, .sreg = PTX_SREG_STACK_SIZE};
	struct ptx_operand end = flat_reg_operand(f->stack_end);
	flat_mov(f, PTX_U64, f->stack, flat_stack_begin(f));
	flat_mov(f, PTX_U64, f->stack_end, size);
	flat_stack_binary(f, PTX_OP_ADD, PTX_U64, f->stack_end, flat_reg_operand(f->stack), end);
	flat_stack_binary(f, PTX_OP_AND, PTX_B64, f->stack_end, end,
		flat_int_operand(-(int64_t)f->align));
}

/* Allocate a frame, and fail if the stack is full.  Its size is filled in at the end of the
 * function. */
static void flat_stack_take_frame(struct flat *f)
{
	struct flat_body *body = f->body;
	unsigned next = flat_temp(f, PTX_U64);
	size_t ok = flat_label(f);
	body->reserve = f->insts.count;
	flat_stack_binary(f, PTX_OP_ADD, PTX_U64, next, flat_reg_operand(f->stack),
		flat_int_operand(0));
	flat_stack_branch_if_low(f, ok, next, f->stack_end);
	flat_fail(f, STACK_ERROR);
	flat_label_here(f, ok);
	flat_frame_move(f, false, body->frame, PTX_B64, f->stack, FLAT_SAVED_FRAME);
	flat_mov(f, PTX_U64, body->frame, flat_reg_operand(f->stack));
	flat_mov(f, PTX_U64, f->stack, flat_reg_operand(next));
}

void flat_enter(struct flat *f)
{
	if (f->body->is_recursive) {
		flat_stack_take_frame(f);
	} else if (f->body->has_alloca) {
		flat_mov(f, PTX_U64, f->body->frame, flat_reg_operand(f->stack));
	}
}

void flat_leave(struct flat *f)
{
	unsigned frame = f->body->frame;
	if (f->body->is_recursive || f->body->has_alloca) {
		flat_mov(f, PTX_U64, f->stack, flat_reg_operand(frame));
	}
	if (f->body->is_recursive) {
		flat_frame_move(f, true, frame, PTX_B64, frame, FLAT_SAVED_FRAME);
	}
}

void flat_epilogue(struct flat *f)
{
	struct flat_body *body = f->body;
	if (body->is_recursive && !f->failed) {
		struct ptx_inst *insts = f->insts.data;
		insts[body->reserve].operands[2].value = (int64_t)round_up(body->size, f->align);
	}
}

/* alloca d, size, align.  The size is compared with the free part before anything is added to
 * it. */
static void flat_stack_alloca(struct flat *f, const struct ptx_inst *inst)
{
	unsigned start = flat_temp(f, PTX_U64), room = flat_temp(f, PTX_S64);
	unsigned size = flat_temp(f, PTX_B64);
	size_t align = inst->operand_count > 2 ? (size_t)inst->operands[2].value : LEAST_ALIGN;
	size_t bad = flat_label(f), some = flat_label(f), ok = flat_label(f);
	flat_mov(f, PTX_B64, size, flat_operand(f, &inst->operands[1]));
	flat_mov(f, PTX_U64, start, flat_reg_operand(f->stack));
	flat_stack_align_up(f, start, align > f->align ? align : f->align);
	flat_stack_branch_if_low(f, some, start, f->stack_end);
	flat_label_here(f, bad);
	flat_fail(f, STACK_ERROR);
	flat_label_here(f, some);
	flat_stack_binary(f, PTX_OP_SUB, PTX_U64, room, flat_reg_operand(f->stack_end),
		flat_reg_operand(start));
	flat_stack_branch_if_low(f, ok, size, room);
	flat_bra(f, bad);
	flat_label_here(f, ok);
	flat_stack_binary(f, PTX_OP_ADD, PTX_U64, f->stack, flat_reg_operand(start),
		flat_reg_operand(size));
	flat_stack_align_up(f, f->stack, f->align);
	flat_mov(f, PTX_U64, f->body->first_reg + inst->operands[0].reg, flat_reg_operand(start));
}

/* stackrestore a.  The free part begins within the stack, whatever a is. */
static void flat_stack_give_back(struct flat *f, const struct ptx_inst *inst)
{
	unsigned to = flat_temp(f, PTX_U64), begin = flat_temp(f, PTX_B64);
	unsigned room = flat_temp(f, PTX_S64);
	size_t ok = flat_label(f);
	struct ptx_operand from = flat_reg_operand(begin);
	flat_mov(f, PTX_U64, to, flat_operand(f, &inst->operands[0]));
	flat_mov(f, PTX_U64, begin, flat_stack_begin(f));
	flat_stack_binary(f, PTX_OP_SUB, PTX_U64, room, flat_reg_operand(f->stack_end), from);
	flat_stack_binary(f, PTX_OP_SUB, PTX_U64, begin, flat_reg_operand(to), from);
	flat_stack_branch_if_low(f, ok, begin, room);
	flat_fail(f, STACK_ERROR);
	flat_label_here(f, ok);
	flat_mov(f, PTX_U64, f->stack, flat_reg_operand(to));
	flat_stack_align_up(f, f->stack, f->align);
}

void flat_stack(struct flat *f, const struct ptx_inst *inst)
{
	size_t behind = flat_begin_guard(f, inst);
	if (inst->op == PTX_OP_ALLOCA) {
		flat_stack_alloca(f, inst);
	} else if (inst->op == PTX_OP_STACKRESTORE) {
		flat_stack_give_back(f, inst);
	} else {
		flat_mov(f, PTX_U64, f->body->first_reg + inst->operands[0].reg,
			flat_reg_operand(f->stack));
	}
	flat_label_here(f, behind);
}
