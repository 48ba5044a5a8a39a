/* SPDX-License-Identifier: MIT */
/*
 * Flattens a kernel: the kernel and the functions that it may call become one list of instructions.
 * A thread may have to wait for others in the middle of a function.  The kernel is therefore a
 * coroutine, and its functions are part of it, each once, however often it is called.
 *
 * A call becomes moves of its arguments, a number in a register that says where to return to, and a
 * branch.  A return becomes a branch by that number (brx.idx).  All later stages see ordinary PTX.
 *
 * flat_inst.c has the building blocks, flat_kind.c gives functions addresses, flat_args.c puts
 * arguments in registers, flat_graph.c finds the functions that a kernel calls, flat_frame.c lays
 * out their memory, flat_call.c and flat_stack.c replace calls, returns and alloca, and flat_body.c
 * copies instructions.
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

#include "base/alloc.h"
#include "cpu/ir/debug_scope.h"

#include <string.h>

/* A copy of the list in the module. */
static void *flatten_keep_list(struct flat *f, const struct flat_list *list, size_t size)
{
	void *copy = flat_keep(f, list->count, size);
	if (copy && list->count > 0) {
		memcpy(copy, list->data, list->count * size);
	}
	return copy;
}

/* True for a call, the address of a function, and alloca. */
bool flatten_is_needed(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		if (inst->op == PTX_OP_CALL || flat_is_stack(inst)
		    || (inst->op == PTX_OP_MOV && inst->operands[1].kind == PTX_FUNC)) {
			return true;
		}
	}
	return false;
}

/* The blocks of recursive functions were for this kernel alone: they lie in memory that the caller
 * may take back after the kernel is flattened, while the functions stay. */
static void flatten_forget_blocks(struct flat *f)
{
	for (size_t i = 0; i < f->bodies.count; i++) {
		struct flat_body *body = flat_body_at(f, i);
		if (body && body->func && body->is_recursive) { // NULL: no memory
			body->func->blocks = NULL;
			body->func->block_count = 0;
		}
	}
}

static void flatten_free(struct flat *f)
{
	struct flat_list *lists[] = {&f->bodies, &f->insts, &f->labels, &f->regs, &f->vars,
		&f->returns};
	for (size_t i = 0; i < countof(lists); i++) {
		mem_free(lists[i]->data);
	}
	map_free(&f->by_kind);
	arena_free(&f->scratch);
}

static void flatten_replace(struct flat *f)
{
	struct ptx_func *kernel = f->kernel;
	struct ptx_inst *insts = flatten_keep_list(f, &f->insts, sizeof(*insts));
	struct ptx_label *labels = flatten_keep_list(f, &f->labels, sizeof(*labels));
	struct ptx_reg *regs = flatten_keep_list(f, &f->regs, sizeof(*regs));
	struct ptx_var **vars = flatten_keep_list(f, &f->vars, sizeof(*vars));
	if (f->failed) {
		return;
	}
	kernel->insts = insts;
	kernel->inst_count = f->insts.count;
	kernel->labels = labels;
	kernel->label_count = f->labels.count;
	kernel->regs = regs;
	kernel->reg_count = f->regs.count;
	kernel->vars = vars;
	kernel->var_count = f->vars.count;
	kernel->uses_stack = f->uses_stack;
	kernel->debug_size = f->debug_size;
}

static bool flatten_is_reserved(enum ptx_sreg sreg)
{
	switch (sreg) {
	case PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN:
	case PTX_SREG_RESERVED_SMEM_OFFSET_END:
	case PTX_SREG_RESERVED_SMEM_OFFSET_CAP:
	case PTX_SREG_RESERVED_SMEM_OFFSET_0:
	case PTX_SREG_RESERVED_SMEM_OFFSET_1:
		return true;
	default:
		return false;
	}
}

/* Whether a kernel, flattened, reads one of the registers that say where a block's reserved shared
 * memory lies. */
static bool flatten_uses_reserved(const struct ptx_func *kernel)
{
	for (size_t i = 0; i < kernel->inst_count; i++) {
		const struct ptx_inst *inst = &kernel->insts[i];
		const struct ptx_operand *from = &inst->operands[1];
		if ((inst->op == PTX_OP_MOV || inst->op == PTX_OP_CVT) && from->kind == PTX_SREG
		    && flatten_is_reserved(from->sreg)) {
			return true;
		}
	}
	return false;
}

/* Whether an instruction is a fence, or an operation that is one. */
static bool flatten_is_release(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_MEMBAR || inst->op == PTX_OP_FENCE
		|| ptx_has(&inst->mods, PTX_MOD_RELEASE) || ptx_has(&inst->mods, PTX_MOD_ACQ_REL)
		|| ptx_has(&inst->mods, PTX_MOD_SC);
}

/* Find out whether a kernel, flattened, has a release, and one beyond the block; the operations of
 * an mbarrier are releases, too. */
static void flatten_find_releases(struct ptx_func *kernel)
{
	kernel->releases = kernel->releases_beyond_block = false;
	for (size_t i = 0; i < kernel->inst_count; i++) {
		const struct ptx_inst *inst = &kernel->insts[i];
		const bool releases = flatten_is_release(inst);
		kernel->releases |= releases || inst->op == PTX_OP_MBARRIER_INIT;
		kernel->releases_beyond_block |= releases && !ptx_has(&inst->mods, PTX_MOD_CTA);
	}
}

static bool flatten_kernel(struct ptx_module *module, struct ptx_func *kernel, struct map *kinds,
	struct ptx_diag *diag)
{
	struct flat f = {.module = module, .kernel = kernel, .kinds = kinds, .diag = diag,
		.scratch = ARENA_INIT, .by_kind = MAP_INIT};
	flat_find_bodies(&f);
	if (!f.failed) {
		flat_lay_out(&f);
	}
	if (!f.failed) {
		flat_copy_bodies(&f);
	}
	if (!f.failed) {
		flatten_replace(&f);
	}
	flatten_forget_blocks(&f);
	flatten_free(&f);
	return !f.failed;
}

static bool flatten_entry(struct ptx_module *module, struct ptx_func *kernel, struct map *kinds,
	struct ptx_diag *diag)
{
	if (flatten_is_needed(kernel) && !flatten_kernel(module, kernel, kinds, diag)) {
		return false;
	}
	kernel->uses_reserved_shared = flatten_uses_reserved(kernel);
	flatten_find_releases(kernel);
	return true;
}

static bool flatten_promote(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	bool has_arguments = func->is_entry ? flatten_is_needed(func) : !func->is_extern;
	return !has_arguments || flat_promote(module, func) || ptx_no_memory(diag);
}

/* Before anything moves: the labels in the module's DWARF are still where it says. */
static bool flatten_describe(struct ptx_module *module, struct ptx_func *func,
	struct ptx_diag *diag)
{
	return !module->is_debugged || func->is_extern || debug_describe(module, func)
		|| ptx_no_memory(diag);
}

static bool flatten_all(struct ptx_module *module, struct map *kinds, struct ptx_diag *diag)
{
	bool ok = true;
	for (size_t i = 0; ok && i < module->func_count; i++) {
		ok = flatten_describe(module, module->funcs[i], diag);
	}
	for (size_t i = 0; ok && i < module->func_count; i++) {
		ok = flatten_promote(module, module->funcs[i], diag);
	}
	for (size_t i = 0; ok && i < module->func_count; i++) {
		struct ptx_func *func = module->funcs[i];
		ok = !func->is_entry || flatten_entry(module, func, kinds, diag);
	}
	return ok;
}

bool flatten_function(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	struct map none = MAP_INIT;
	return flatten_describe(module, func, diag) && flatten_promote(module, func, diag)
		&& flatten_entry(module, func, &none, diag);
}

bool flatten_module(struct ptx_module *module, struct ptx_diag *diag)
{
	struct map kinds = MAP_INIT;
	bool ok = flat_find_kinds(module, &kinds, diag) && flatten_all(module, &kinds, diag);
	map_free(&kinds);
	return ok;
}
