/* SPDX-License-Identifier: MIT */
/*
 * Lays out the .local memory of a kernel.  It begins with the bytes that arguments pass through.
 * Then come the variables of the kernel, after them those of the functions that it calls, and so
 * on: a function lies after all of its callers, so that two functions share memory only when they
 * can never be active together.  The stack of recursive functions lies after all of them.
 *
 * The layout decides where the registers, labels and variables of a function are in the kernel, so
 * the translation of operands is here, too.
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

enum { DYNAMIC_ALIGN = 16 }; /* of dynamic shared memory, at least; as in parse.c */

struct vars {
	struct ptx_var **list;
	size_t count;
};

static struct vars flat_frame_vars(const struct ptx_func *func, enum flat_group group)
{
	switch (group) {
	case FLAT_PARAMS:
		return (struct vars){func->params, func->param_count};
	case FLAT_RETURNS:
		return (struct vars){func->returns, func->return_count};
	default:
		return (struct vars){func->vars, func->var_count};
	}
}

static enum flat_group flat_frame_group_of(const struct ptx_func *func, const struct ptx_var *var)
{
	size_t i = var->index;
	if (i < func->var_count && func->vars[i] == var) {
		return FLAT_VARS;
	}
	return i < func->param_count && func->params[i] == var ? FLAT_PARAMS : FLAT_RETURNS;
}

static void flat_frame_fail_size(struct flat *f)
{
	if (!f->failed) {
		f->failed = true;
		ptx_fail(f->diag, f->kernel->line, 1, "the variables of '%.80s' and of the "
			"functions that it calls do not fit", f->kernel->name);
	}
}

/* Round *end up to the alignment, and add the size; the place in between. */
static size_t flat_frame_put(struct flat *f, size_t *end, size_t size, size_t align)
{
	size_t at = round_up(*end, align);
	if (at < *end || !size_add(end, at, size) || *end > PTRDIFF_MAX / 2) {
		flat_frame_fail_size(f);
		*end = 0;
	}
	return at;
}

struct flat_place flat_place(struct flat *f, const struct ptx_var *var)
{
	struct flat_place place = {.type = flat_type(var->size), .size = var->size};
	const struct flat_body *body = f->body;
	struct ptx_operand *o = &place.operand;
	if (var->in_register) {
		*o = (struct ptx_operand){.kind = PTX_REG, .reg = body->first_reg + var->reg};
		return place;
	}
	size_t at = body->at[flat_frame_group_of(body->func, var)][var->index];
	*o = (struct ptx_operand){.kind = PTX_ADDRESS, .bracketed = true,
		.value = (int64_t)(body->start + at)};
	if (body->is_recursive) {
		o->has_base = true;
		o->reg = body->frame;
	} else {
		o->var = f->area;
	}
	return place;
}

/* An address of a variable of the function. */
static struct ptx_operand flat_frame_variable(struct flat *f, const struct ptx_operand *from)
{
	struct ptx_operand o = *from;
	const struct ptx_func *func = f->body->func;
	const struct ptx_var *var = from->var;
	bool is_kernel_param = func->is_entry && var->space == PTX_PARAM && !var->is_argument;
	if (var->space == PTX_SHARED) {
		o.var = f->body->shared[var->index];
	} else if (var->space == PTX_LOCAL || (var->space == PTX_PARAM && !is_kernel_param)) {
		o = flat_place(f, var).operand;
		o.bracketed = from->bracketed;
		o.value += from->value;
	}
	return o;
}

static struct ptx_operand *flat_frame_elements(struct flat *f, const struct ptx_operand *from)
{
	struct ptx_operand *copy = flat_keep(f, from->count, sizeof(*copy));
	for (size_t i = 0; i < from->count && copy; i++) {
		copy[i] = flat_operand(f, &from->elements[i]);
	}
	return copy;
}

struct ptx_operand flat_operand(struct flat *f, const struct ptx_operand *from)
{
	struct ptx_operand o = *from;
	switch (from->kind) {
	case PTX_PAIR:
		o.reg2 += f->body->first_reg;
		o.reg += f->body->first_reg;
		break;
	case PTX_REG:
		o.reg += f->body->first_reg;
		break;
	case PTX_ADDRESS:
		o.reg += o.has_base ? f->body->first_reg : 0;
		return from->var ? flat_frame_variable(f, from) : o;
	case PTX_LABEL:
		o.reg += (unsigned)f->body->first_label;
		break;
	case PTX_FUNC:
		return flat_int_operand((int64_t)from->func->address);
	case PTX_VECTOR:
		o.elements = flat_frame_elements(f, from);
		break;
	default:
		break;
	}
	return o;
}

/* Registers, labels, and the variables' offsets from the start of the function's part. */
static void flat_frame_lay_out_body(struct flat *f, struct flat_body *body)
{
	struct ptx_func *func = body->func;
	body->first_reg = (unsigned)f->regs.count;
	body->first_label = f->labels.count;
	body->size = body->is_recursive ? FLAT_SAVED_END : 0;
	for (size_t i = 0; i < func->reg_count && !f->failed; i++) {
		*(struct ptx_reg *)flat_add(f, &f->regs, sizeof(*func->regs)) = func->regs[i];
	}
	for (size_t i = 0; i < func->label_count && !f->failed; i++) {
		*(struct ptx_label *)flat_add(f, &f->labels, sizeof(*func->labels)) =
			func->labels[i];
	}
	for (int g = FLAT_VARS; g < FLAT_GROUPS && !f->failed; g++) {
		struct vars vars = flat_frame_vars(func, (enum flat_group)g);
		bool is_parameter = g != FLAT_VARS && func->is_entry;
		body->at[g] = flat_alloc(f, vars.count, sizeof(*body->at[g]));
		for (size_t i = 0; i < vars.count && !f->failed; i++) {
			const struct ptx_var *var = vars.list[i];
			if (var->space == PTX_SHARED || var->in_register || is_parameter) {
				continue;
			}
			body->at[g][i] = flat_frame_put(f, &body->size, var->size, var->align);
			f->align = var->align > f->align ? var->align : f->align;
		}
	}
}

/* The kernel's own copy of a shared variable. */
static struct ptx_var *flat_frame_share(struct flat *f, struct ptx_var *var)
{
	struct ptx_var **known = var->origin ? &f->shared[var->origin->index] : NULL;
	if (known && *known) {
		return *known;
	}
	struct ptx_var *copy = flat_keep(f, 1, sizeof(*copy));
	if (!copy) {
		return var;
	}
	*copy = *var;
	*(struct ptx_var **)flat_add(f, &f->vars, sizeof(copy)) = copy;
	if (known) {
		*known = copy;
	}
	return copy;
}

static void flat_frame_lay_out_shared(struct flat *f)
{
	size_t size = 0, dynamic_align = DYNAMIC_ALIGN;
	bool dynamic = false;
	struct ptx_var **vars = f->vars.data;
	for (size_t i = 0; i < f->vars.count && !f->failed; i++) {
		if (!ptx_is_dynamic(vars[i])) {
			vars[i]->offset = flat_frame_put(f, &size, vars[i]->size, vars[i]->align);
			continue;
		}
		dynamic = true;
		dynamic_align = vars[i]->align > dynamic_align ? vars[i]->align : dynamic_align;
	}
	if (dynamic) {
		flat_frame_put(f, &size, 0, dynamic_align);
	}
	for (size_t i = 0; i < f->vars.count && !f->failed; i++) {
		vars[i]->offset = ptx_is_dynamic(vars[i]) ? size : vars[i]->offset;
	}
	f->kernel->shared_size = size;
	f->kernel->uses_dynamic_shared = dynamic;
}

static void flat_frame_find_shared(struct flat *f)
{
	f->shared = flat_alloc(f, f->module->shared_count, sizeof(*f->shared));
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		size_t count = body->func ? body->func->var_count : 0;
		body->shared = flat_alloc(f, count, sizeof(*body->shared));
		for (size_t k = 0; k < count && !f->failed; k++) {
			if (body->func->vars[k]->space == PTX_SHARED) {
				body->shared[k] = flat_frame_share(f, body->func->vars[k]);
			}
		}
	}
	flat_frame_lay_out_shared(f);
}

/* Where values of the sizes of these variables pass through, from the start of the area. */
static struct flat_place *flat_frame_exchange(struct flat *f, struct ptx_var **vars, size_t count)
{
	struct flat_place *places = flat_alloc(f, count, sizeof(*places));
	size_t end = 0;
	for (size_t i = 0; i < count && places && !f->failed; i++) {
		struct flat_place *place = &places[i];
		place->size = vars[i]->size;
		place->type = flat_type(place->size);
		if (place->type) {
			place->operand = flat_reg_operand(flat_reg(f, place->type));
		} else {
			place->operand = (struct ptx_operand){.kind = PTX_ADDRESS,
				.bracketed = true, .var = f->area,
				.value = (int64_t)flat_frame_put(f, &end, place->size, 16)};
		}
	}
	f->exchange_size = end > f->exchange_size ? end : f->exchange_size;
	return places;
}

static struct flat_link *flat_frame_exchange_link(struct flat *f, const struct ptx_func *like)
{
	struct flat_link *link = flat_alloc(f, 1, sizeof(*link));
	if (link) {
		link->is_exchange = true;
		link->params = flat_frame_exchange(f, like->params, like->param_count);
		link->returns = flat_frame_exchange(f, like->returns, like->return_count);
		link->number = flat_reg(f, PTX_U32);
	}
	return link;
}

/* Links of functions that are called through registers, and of recursive ones. */
static void flat_frame_link_exchanges(struct flat *f)
{
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		if (body->func) {
			continue;
		}
		body->link = flat_frame_exchange_link(f, body->proto);
		for (size_t k = 0; body->kind && k < body->kind->count; k++) {
			f->by_func[body->kind->funcs[k]->index]->link = body->link;
		}
	}
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		if (body->is_recursive && !body->link) {
			body->link = flat_frame_exchange_link(f, body->func);
		}
	}
}

static struct flat_place *flat_frame_own_places(struct flat *f, struct ptx_var **vars, size_t count)
{
	struct flat_place *places = flat_alloc(f, count, sizeof(*places));
	for (size_t i = 0; i < count && places; i++) {
		places[i] = flat_place(f, vars[i]);
	}
	return places;
}

/* Links of all other functions; and the registers that control each. */
static void flat_frame_link_directly(struct flat *f)
{
	for (size_t i = 1; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		f->body = body;
		body->entry = flat_label(f);
		if (body->is_recursive || body->has_alloca) {
			body->frame = flat_reg(f, PTX_U64);
		}
		if (!body->link) {
			body->link = flat_alloc(f, 1, sizeof(*body->link));
			if (!body->link) {
				return;
			}
			body->link->params = flat_frame_own_places(f, body->func->params,
				body->func->param_count);
			body->link->returns = flat_frame_own_places(f, body->func->returns,
				body->func->return_count);
			body->link->number = flat_reg(f, PTX_U32);
		}
		body->number = body->link->is_exchange ? flat_reg(f, PTX_U32)
			: body->link->number;
	}
}

/* The functions of each kind as a table for brx.idx. */
static void flat_frame_list_entries(struct flat *f)
{
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		size_t count = body->kind ? body->kind->count : 0;
		body->entries = flat_keep(f, count, sizeof(*body->entries));
		for (size_t k = 0; k < count && !f->failed; k++) {
			const struct ptx_func *func = body->kind->funcs[k];
			body->entries[k] = flat_label_operand(f->by_func[func->index]->entry);
		}
	}
}

/* Let every function begin where the last of its callers ends. */
static void flat_frame_place_bodies(struct flat *f)
{
	size_t *starts = flat_alloc(f, f->bodies.count + 1, sizeof(*starts));
	f->static_size = f->exchange_size;
	if (f->failed) {
		return;
	}
	starts[flat_body_at(f, 0)->group] = f->exchange_size;
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, f->order[i]);
		size_t end = starts[body->group];
		if (body->func && !body->is_recursive) {
			body->start = flat_frame_put(f, &end, body->size, f->align);
		}
		for (size_t k = 0; k < body->callee_count; k++) {
			size_t *start = &starts[flat_body_at(f, body->callees[k])->group];
			*start = end > *start ? end : *start;
		}
		f->static_size = end > f->static_size ? end : f->static_size;
		f->uses_stack |= body->is_recursive || body->has_alloca;
	}
	flat_frame_put(f, &f->static_size, 0, f->align);
	f->kernel->local_size = f->static_size;
}

static void flat_frame_make_area(struct flat *f)
{
	f->area = flat_keep(f, 1, sizeof(*f->area));
	if (f->area) {
		*f->area = (struct ptx_var){.name = "#", .space = PTX_LOCAL, .type = PTX_B8,
			.align = f->align, .size = f->static_size, .line = f->kernel->line};
		*(struct ptx_var **)flat_add(f, &f->vars, sizeof(f->area)) = f->area;
	}
}

void flat_lay_out(struct flat *f)
{
	f->align = FLAT_SAVED_END;
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		if (flat_body_at(f, i)->func) {
			flat_frame_lay_out_body(f, flat_body_at(f, i));
		}
	}
	if (!f->failed) {
		flat_frame_find_shared(f);
	}
	flat_frame_make_area(f);
	if (!f->failed) {
		flat_frame_link_exchanges(f);
	}
	if (!f->failed) {
		flat_frame_place_bodies(f);
	}
	if (!f->failed) {
		f->area->align = f->align;
		f->area->size = f->static_size;
		flat_frame_link_directly(f);
		flat_frame_list_entries(f);
	}
	if (f->uses_stack) {
		f->stack = flat_reg(f, PTX_U64);
		f->stack_end = flat_reg(f, PTX_U64);
	}
}
