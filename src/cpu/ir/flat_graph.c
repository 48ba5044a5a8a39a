/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that a kernel can reach, their order, and which of them are recursive.
 *
 * The call graph has a node for each function.  It has another node for each kind of function that
 * is called through a register, with edges to all functions of that kind.  Functions that call each
 * other form a strongly connected component, a group here (Kosaraju's algorithm): number the nodes
 * in post-order, then walk backwards from the last number down; what each walk reaches first is one
 * group.
 */
#include "base/common.h"

#include "cpu/ir/flat.h"

#include <string.h>

/* Instructions in copies of functions, up to which each call has its own; for a debugger.  Without
 * optimization each result has a place on the stack, whose size is limited. */
enum { MOST_COPIED = 8000 };

static struct flat_body *flat_graph_add_body(struct flat *f)
{
	struct flat_body *body = flat_alloc(f, 1, sizeof(*body));
	struct flat_body **slot = flat_add(f, &f->bodies, sizeof(*slot));
	if (body) {
		*slot = body;
		body->index = f->bodies.count - 1;
	}
	return body;
}

static void flat_graph_add_callee(struct flat *f, struct flat_body *from, struct flat_body *to)
{
	if (to && !to->caller && to->index > 0) {
		to->caller = from->func ? from : from->caller;
		to->call = from->func ? f->at : from->call;
	}
	if (!to || to->seen_by == from->index + 1) {
		return;
	}
	to->seen_by = from->index + 1;
	if (from->callee_count == from->callee_cap) {
		size_t cap = from->callee_cap ? 2 * from->callee_cap : 4;
		size_t *callees = flat_alloc(f, cap, sizeof(*callees));
		if (!callees) {
			return;
		}
		if (from->callee_count) {
			memcpy(callees, from->callees, from->callee_count * sizeof(*callees));
		}
		from->callees = callees;
		from->callee_cap = cap;
	}
	from->callees[from->callee_count++] = to->index;
}

/* Report a function that has no body and is not built in. */
static void flat_graph_fail_undefined(struct flat *f, const struct ptx_func *func)
{
	const char *name = func->name;
	if (strncmp(name, "cuda", 4) == 0) {
		ptx_unsupported(f->diag, f->at->line, f->at->column, "function '%.80s' is not"
			" supported by the CPU device: kernels cannot launch kernels", name);
	} else {
		ptx_fail(f->diag, f->at->line, f->at->column,
			"function '%.80s' is called here and defined nowhere", name);
	}
	f->failed = true;
}

static void flat_graph_check_runtime(struct flat *f, const struct ptx_func *func,
	enum ptx_runtime runtime)
{
	static const char *const keys[] = {
#define X(name, spelling, sizes) sizes,
		PTX_RUNTIME(X)
#undef X
	};
	const char *key = flat_key(f->module, func);
	const char *without_result = strchr(keys[runtime], '('); // as Taichi declares vprintf
	if (!key) {
		flat_no_memory(f);
	} else if (strcmp(key, keys[runtime]) != 0
		   && (runtime != PTX_RUNTIME_PRINT || strcmp(key, without_result) != 0)) {
		ptx_fail(f->diag, func->line, 1, "function '%s' has other parameters", func->name);
		f->failed = true;
	}
}

/* Whether a function is copied to the kernel; if it cannot be, f->failed. */
static bool flat_graph_has_body(struct flat *f, const struct ptx_func *func)
{
	enum ptx_runtime runtime = ptx_runtime_find(func);
	if (runtime != PTX_RUNTIME_COUNT) {
		flat_graph_check_runtime(f, func, runtime);
	} else if (func->is_extern) {
		flat_graph_fail_undefined(f, func);
	} else if (func->refusal) {
		*f->diag = *func->refusal;
		f->failed = true;
	} else {
		return true;
	}
	return false;
}

/* The body of a function; NULL if it needs none. */
static struct flat_body *flat_graph_body_of(struct flat *f, struct ptx_func *func)
{
	if (!flat_graph_has_body(f, func)) {
		return NULL;
	}
	struct flat_body *body = f->by_func[func->index];
	if (!body && (body = flat_graph_add_body(f))) {
		body->func = func;
		f->by_func[func->index] = body;
	}
	return body;
}

/* The node of calls through a register to functions of the kind of `proto`. */
struct flat_body *flat_body_of_kind(struct flat *f, const struct ptx_func *proto)
{
	const char *key = flat_key(f->module, proto);
	struct flat_body *body = key ? map_get(&f->by_kind, key) : NULL;
	if (body) {
		return body;
	}
	body = key ? flat_graph_add_body(f) : NULL;
	if (!body || !map_put(&f->by_kind, key, body)) {
		flat_no_memory(f);
		return NULL;
	}
	body->kind = map_get(f->kinds, key);
	body->proto = proto;
	return body;
}

/* For a debugger each call enters a copy of the function, so that the place in the code says who
 * has called.  Not where a function calls itself, perhaps through others, and not without limit. */
static struct flat_body *flat_graph_copy(struct flat *f, struct flat_body *caller,
	struct ptx_func *func)
{
	const struct flat_body *up = caller;
	while (up && up->func != func) {
		up = up->caller;
	}
	if (!f->module->is_debugged || up || f->copied + func->inst_count > MOST_COPIED
	    || !flat_graph_has_body(f, func)) {
		return f->failed ? NULL : flat_graph_body_of(f, func);
	}
	if (!caller->called) {
		caller->called = flat_alloc(f, caller->func->inst_count, sizeof(*caller->called));
	}
	struct flat_body *body = caller->called ? flat_graph_add_body(f) : NULL;
	if (body) {
		body->func = func;
		f->copied += func->inst_count;
		caller->called[f->at - caller->func->insts] = body;
	}
	return body;
}

struct flat_body *flat_callee(const struct flat *f, const struct ptx_inst *call)
{
	struct flat_body **called = f->body->called;
	struct flat_body *copy = called ? called[call - f->body->func->insts] : NULL;
	return copy ? copy : f->by_func[call->operands[0].func->index];
}

static void flat_graph_find_callees(struct flat *f, struct flat_body *body)
{
	for (size_t i = 0; body->func && i < body->func->inst_count && !f->failed; i++) {
		const struct ptx_inst *inst = &body->func->insts[i];
		body->has_alloca |= flat_is_stack(inst);
		if (inst->op == PTX_OP_CALL) {
			f->at = inst;
			flat_graph_add_callee(f, body, inst->operands[0].kind == PTX_FUNC
				? flat_graph_copy(f, body, inst->operands[0].func)
				: flat_body_of_kind(f, inst->operands[3].func));
		}
	}
	for (size_t i = 0; body->kind && i < body->kind->count && !f->failed; i++) {
		struct flat_body *callee = flat_graph_body_of(f, body->kind->funcs[i]);
		if (callee) {
			flat_graph_add_callee(f, body, callee);
		} else if (!f->failed) {
			flat_graph_fail_undefined(f, body->kind->funcs[i]);
		}
	}
}

/* Number the nodes in post-order, the kernel last, without recursion. */
static void flat_graph_find_order(struct flat *f, size_t *post)
{
	size_t count = f->bodies.count, depth = 0, next = 0;
	size_t *stack = flat_alloc(f, 2 * count, sizeof(*stack));
	bool *seen = flat_alloc(f, count, sizeof(*seen));
	if (f->failed) {
		return;
	}
	seen[0] = true;
	depth = 1;
	while (depth > 0) {
		size_t *top = &stack[2 * (depth - 1)];
		const struct flat_body *body = flat_body_at(f, top[0]);
		if (top[1] == body->callee_count) {
			post[next++] = top[0];
			depth--;
			continue;
		}
		size_t to = body->callees[top[1]++];
		if (!seen[to]) {
			seen[to] = true;
			stack[2 * depth] = to;
			stack[2 * depth + 1] = 0;
			depth++;
		}
	}
}

/* The callers of every body.  `first` has the start of each list, and one more for the end. */
static size_t *flat_graph_find_callers(struct flat *f, size_t *first)
{
	size_t count = f->bodies.count;
	for (size_t i = 0; i < count; i++) {
		const struct flat_body *body = flat_body_at(f, i);
		for (size_t k = 0; k < body->callee_count; k++) {
			first[body->callees[k] + 1]++;
		}
	}
	for (size_t i = 0; i < count; i++) {
		first[i + 1] += first[i];
	}
	size_t *callers = flat_alloc(f, first[count] + 1, sizeof(*callers));
	size_t *fill = flat_alloc(f, count, sizeof(*fill));
	for (size_t i = 0; i < count && !f->failed; i++) {
		const struct flat_body *body = flat_body_at(f, i);
		for (size_t k = 0; k < body->callee_count; k++) {
			size_t to = body->callees[k];
			callers[first[to] + fill[to]++] = i;
		}
	}
	return callers;
}

/* Put `from`, and all nodes that reach it and have no group, into the group. */
static void flat_graph_collect(struct flat *f, size_t from, size_t group, const size_t *first,
	const size_t *callers, size_t *stack)
{
	size_t depth = 0;
	flat_body_at(f, from)->group = group;
	stack[depth++] = from;
	while (depth > 0) {
		size_t to = stack[--depth];
		for (size_t i = first[to]; i < first[to + 1]; i++) {
			struct flat_body *caller = flat_body_at(f, callers[i]);
			if (caller->group == 0) {
				caller->group = group;
				stack[depth++] = callers[i];
			}
		}
	}
}

static void flat_graph_find_groups(struct flat *f)
{
	size_t count = f->bodies.count;
	size_t *first = flat_alloc(f, count + 1, sizeof(*first));
	size_t *stack = flat_alloc(f, count, sizeof(*stack));
	const size_t *callers = first ? flat_graph_find_callers(f, first) : NULL;
	if (!first || !callers || !stack) {
		return; /* no memory */
	}
	for (size_t i = 0; i < count && !f->failed; i++) {
		if (flat_body_at(f, f->order[i])->group == 0) {
			flat_graph_collect(f, f->order[i], i + 1, first, callers, stack);
		}
	}
	for (size_t i = 0; i < count && !f->failed; i++) {
		struct flat_body *body = flat_body_at(f, i);
		for (size_t k = 0; k < body->callee_count; k++) {
			struct flat_body *callee = flat_body_at(f, body->callees[k]);
			bool circle = callee->group == body->group;
			body->is_recursive |= circle;
			callee->is_recursive |= circle;
		}
	}
}

void flat_find_bodies(struct flat *f)
{
	f->by_func = flat_alloc(f, f->module->func_count, sizeof(*f->by_func));
	struct flat_body *kernel = flat_graph_add_body(f);
	if (f->failed) {
		return;
	}
	kernel->func = f->kernel;
	for (size_t i = 0; i < f->bodies.count && !f->failed; i++) {
		flat_graph_find_callees(f, flat_body_at(f, i));
	}
	size_t count = f->bodies.count;
	size_t *post = flat_alloc(f, count, sizeof(*post));
	f->order = flat_alloc(f, count, sizeof(*f->order));
	if (f->failed) {
		return;
	}
	flat_graph_find_order(f, post);
	for (size_t i = 0; i < count && !f->failed; i++) {
		f->order[i] = post[count - 1 - i];
	}
	flat_graph_find_groups(f);
}
