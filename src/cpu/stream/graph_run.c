/* SPDX-License-Identifier: MIT */
/*
 * Launches of graphs.  The nodes of a graph run one after another, in an order that its edges
 * allow: CUDA promises order, never that branches run beside each other.  What a launch is to
 * record and to wait for is fixed when it is enqueued, as it is for the same calls on a stream.
 */
#include "base/common.h"

#include "cpu/stream/graph_run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/mem/fault.h"
#include "cpu/stream/event.h"
#include "cpu/stream/launch_slot.h"
#include "cpu/stream/operation.h"

#include <stdlib.h>

struct graph_run {
	atomic_uint refs;
	struct graph_exec *exec;
	struct graph_plan *plan;
	struct fence *after;     /* the end of the launch before */
	struct fence *done;      /* the end of this one */
	CUcontext context;       /* that launched it */
	bool has_guests;         /* kernels of other contexts, which know of it */
	struct graph_memory_step *steps;
	size_t step_count;
	struct fence *fences[];   /* one for each item with an event, in order */
};

/* --- Plans --- */

static void graph_plan_release(struct graph_plan *plan)
{
	if (plan && atomic_fetch_sub(&plan->refs, 1) == 1) {
		for (size_t i = 0; i < plan->count; i++) {
			node_data_release(plan->items[i]);
		}
		mem_free(plan);
	}
}

static bool graph_run_has_event(const struct node_data *data)
{
	return data->work.kind == WORK_RECORD || data->work.kind == WORK_WAIT;
}

static void graph_plan_add(struct graph_plan *plan, struct node_data *data)
{
	enum work_kind kind = data->work.kind;
	plan->items[plan->count++] = node_data_retain(data);
	plan->event_count += graph_run_has_event(data);
	plan->memory_count += data->memory ? 1 : 0;
	plan->has_waits |= kind == WORK_WAIT
		|| (kind != WORK_KERNEL && !operation_is_quick(&data->work));
}

static struct graph_node *graph_plan_fill(struct graph_plan *plan, struct graph *graph,
	struct graph_node **order);

/* A conditional node is an item, and after it are its bodies: for each an item that only marks
 * where it begins, and says in `ends` where the next one does. */
static struct graph_node *graph_plan_add_condition(struct graph_plan *plan,
	const struct graph_node *node, struct graph_node **order)
{
	struct graph_node *bad = NULL;
	graph_plan_add(plan, node->data);
	for (const struct graph_node *body = node->child->first; body && !bad; body = body->next) {
		size_t mark = plan->count++;
		plan->items[mark] = node_data_retain(node->data);
		bad = graph_plan_fill(plan, body->child, order);
		plan->ends[mark] = plan->count;
	}
	return bad;
}

/* `order` has room for all nodes.  A node in a cycle, or NULL. */
static struct graph_node *graph_plan_fill(struct graph_plan *plan, struct graph *graph,
	struct graph_node **order)
{
	struct graph_node *bad = graph_sort(graph, order);
	for (size_t i = 0; !bad && i < graph->node_count; i++) {
		struct graph_node *node = order[i];
		if (node->data->condition) {
			bad = graph_plan_add_condition(plan, node, order + graph->node_count);
		} else if (node->child) {
			bad = graph_plan_fill(plan, node->child, order + graph->node_count);
		} else if (!node->is_disabled && node->data->params.type
				!= CU_GRAPH_NODE_TYPE_EMPTY) {
			graph_plan_add(plan, node->data);
		}
	}
	return bad;
}

/* NULL when memory runs out, or if *bad is in a cycle. */
static struct graph_plan *graph_plan_create(struct graph_exec *exec, struct graph_node **bad)
{
	size_t size;
	bool fits = size_mul(&size, exec->node_count, sizeof(void *) + sizeof(size_t))
		&& size_add(&size, size, sizeof(struct graph_plan));
	struct graph_plan *plan = fits ? mem_zalloc(1, size) : NULL;
	struct graph_node **order = mem_zalloc(exec->node_count + 1, sizeof(struct graph_node *));
	*bad = NULL;
	if (plan) {
		atomic_init(&plan->refs, 1);
		plan->ends = (size_t *)(void *)&plan->items[exec->node_count];
	}
	if (plan && order) {
		*bad = graph_plan_fill(plan, exec->graph, order);
	}
	if (!order || *bad) {
		graph_plan_release(plan);
		plan = NULL;
	}
	mem_free(order);
	return plan;
}

/* --- Executable graphs --- */

static int graph_run_by_origin(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)(*(struct graph_node *const *)a)->origin;
	uintptr_t y = (uintptr_t)(*(struct graph_node *const *)b)->origin;
	return (x > y) - (x < y);
}

static void graph_run_collect(struct graph_exec *exec, struct graph *graph)
{
	for (struct graph_node *node = graph->first; node; node = node->next) {
		exec->nodes[exec->node_count++] = node;
		if (node->child) {
			graph_run_collect(exec, node->child);
		}
	}
}

struct graph_exec *graph_exec_create(struct graph *graph, CUgraphNode *bad)
{
	struct graph_exec *exec = mem_zalloc(1, sizeof(*exec));
	struct graph_node *in_cycle = NULL;
	*bad = NULL;
	if (!exec) {
		graph_release(graph);
		return NULL;
	}
	atomic_init(&exec->refs, 1);
	exec->graph = graph;
	exec->nodes = mem_zalloc(graph_total(graph) + 1, sizeof(struct graph_node *));
	if (exec->nodes) {
		graph_run_collect(exec, graph);
		qsort(exec->nodes, exec->node_count, sizeof(struct graph_node *),
			graph_run_by_origin);
		exec->plan = graph_plan_create(exec, &in_cycle);
		*bad = in_cycle ? in_cycle->origin : NULL;
	}
	if (!exec->plan || !(exec->handle = handle_create(API_GRAPH_EXEC, exec))) {
		graph_exec_release(exec);
		return NULL;
	}
	return exec;
}

void graph_exec_release(struct graph_exec *exec)
{
	if (atomic_fetch_sub(&exec->refs, 1) > 1) {
		return;
	}
	if (exec->last) {
		queue_lock();
		fence_release(exec->last);
		queue_unlock();
	}
	graph_plan_release(exec->plan);
	graph_release(exec->graph);
	mem_free(exec->nodes);
	mem_free(exec);
}

CUresult graph_exec_enter(const char *call, CUgraphExec handle, struct graph_exec **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	*out = handle_get(handle, API_GRAPH_EXEC);
	if (!*out) {
		graph_unlock();
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: not the handle of a live executable graph", call);
	}
	return CUDA_SUCCESS;
}

struct graph_node *graph_exec_find(const struct graph_exec *exec, CUgraphNode origin)
{
	const struct graph_node key = {.origin = origin};
	const struct graph_node *at = &key;
	struct graph_node **found = bsearch(&at, exec->nodes, exec->node_count, sizeof(*found),
		graph_run_by_origin);
	return found ? *found : NULL;
}

void graph_exec_touch(struct graph_exec *exec)
{
	graph_plan_release(exec->plan);
	exec->plan = NULL;
}

const struct graph_plan *graph_exec_plan(struct graph_exec *exec)
{
	struct graph_node *bad;
	if (!exec->plan) {
		exec->plan = graph_plan_create(exec, &bad);
	}
	return exec->plan;
}

/* --- Launches --- */

/* Memory that one launch both allocates and frees needs no account. */
static bool graph_run_list_steps(struct graph_run *run, const struct graph_exec *exec,
	const struct graph_plan *plan)
{
	if (plan->memory_count == 0) {
		return true;
	}
	run->steps = mem_zalloc(plan->memory_count, sizeof(*run->steps));
	for (size_t i = 0; run->steps && i < plan->count; i++) {
		const struct node_data *data = plan->items[i];
		const bool is_free = data->work.kind == WORK_FREE;
		if (is_free || (data->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
				&& !data->memory->is_freed_inside)) {
			run->steps[run->step_count++] = (struct graph_memory_step){
				.memory = data->memory, .is_free = is_free,
					.may_be_live = exec->flags
					& CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
			};
		}
	}
	return run->steps;
}

struct graph_run *graph_run_create(struct graph_exec *exec, const struct context *context)
{
	const struct graph_plan *plan = graph_exec_plan(exec);
	struct graph_run *run = !plan ? NULL : mem_zalloc(1, sizeof(*run)
		+ plan->event_count * sizeof(*run->fences));
	if (!run) {
		return NULL;
	}
	bool ok = (run->done = fence_create()) && graph_run_list_steps(run, exec, plan);
	size_t next = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (graph_run_has_event(plan->items[i])) {
			struct fence *fence = fence_create();
			ok = ok && fence;
			run->fences[next++] = fence;
		}
	}
	for (size_t i = 0; !ok && i < plan->event_count; i++) {
		mem_free(run->fences[i]);
	}
	if (!ok) {
		mem_free(run->steps);
		mem_free(run->done);
		mem_free(run);
		return NULL;
	}
	atomic_init(&run->refs, 1);
	atomic_fetch_add(&exec->refs, 1);
	run->context = context->handle;
	run->exec = exec;
	run->plan = exec->plan;
	atomic_fetch_add(&run->plan->refs, 1);
	return run;
}

/* Whether it is a kernel of another context than the one that launches the graph. */
static bool graph_run_is_guest(const struct graph_run *run, const struct node_data *data)
{
	return data->work.kind == WORK_KERNEL && data->context != run->context;
}

static struct context *graph_run_home(const struct node_data *data)
{
	return data->work.kernel.function->module->object.context;
}

/* Let the other contexts of its kernels know of a launch, so that none of them ends before it does.
 * False: one has ended.  The lock is held. */
static bool graph_run_visit(struct graph_run *run)
{
	for (size_t i = 0; i < run->plan->count; i++) {
		const struct node_data *data = run->plan->items[i];
		if (graph_run_is_guest(run, data) && !handle_get(data->context, API_CONTEXT)) {
			return false;
		}
	}
	for (size_t i = 0; i < run->plan->count; i++) {
		const struct node_data *data = run->plan->items[i];
		if (graph_run_is_guest(run, data)) {
			graph_run_home(data)->guests++;
			run->has_guests = true;
		}
	}
	return true;
}

/* The lock is held. */
static void graph_run_end_visit(const struct graph_run *run)
{
	for (size_t i = 0; run->has_guests && i < run->plan->count; i++) {
		const struct node_data *data = run->plan->items[i];
		if (graph_run_is_guest(run, data)) {
			graph_run_home(data)->guests--;
			queue_tell();
		}
	}
}

void graph_run_retain(struct graph_run *run)
{
	atomic_fetch_add(&run->refs, 1);
}

void graph_run_release(struct graph_run *run)
{
	if (atomic_fetch_sub(&run->refs, 1) > 1) {
		return;
	}
	queue_lock();
	for (size_t i = 0; i < run->plan->event_count; i++) {
		fence_release(run->fences[i]);
	}
	fence_release(run->after);
	fence_release(run->done);
	graph_run_end_visit(run);
	queue_unlock();
	graph_plan_release(run->plan);
	graph_exec_release(run->exec);
	mem_free(run->steps);
	mem_free(run);
}

/* All that it has to do together is as little as one small launch. */
bool graph_run_is_quick(const struct graph_run *run)
{
	uint64_t work = run->plan->has_waits || !fence_is_done(run->exec->last) ? UINT64_MAX : 0;
	for (size_t i = 0; work <= LAUNCH_CALL_WORK && i < run->plan->count; i++) {
		uint64_t more = operation_work(&run->plan->items[i]->work);
		work = more <= LAUNCH_CALL_WORK ? work + more : UINT64_MAX;
	}
	return work <= LAUNCH_CALL_WORK;
}

/* The lock is held. */
static void graph_run_bind_event(const struct work *work, struct fence **fence)
{
	struct event *event = handle_get(work->event, API_EVENT);
	if (work->kind == WORK_RECORD && event) {
		(*fence)->refs++;
		event_record(event, *fence);
	} else if (work->kind == WORK_WAIT) {
		struct fence *spare = *fence;
		*fence = event ? event_pending(event, spare) : NULL;
		fence_release(event ? NULL : spare);
	}
}

CUresult graph_run_bind(const char *call, struct graph_run *run)
{
	if (!graph_run_visit(run)) {
		return api_fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
			"%s: the context of a kernel of the graph was destroyed", call);
	}
	CUresult result = graph_memory_launch(call, run->steps, run->step_count);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	run->after = run->exec->last;
	run->exec->last = run->done;
	run->done->refs++;
	size_t next = 0;
	for (size_t i = 0; next < run->plan->event_count; i++) {
		if (graph_run_has_event(run->plan->items[i])) {
			graph_run_bind_event(&run->plan->items[i]->work, &run->fences[next++]);
		}
	}
	return CUDA_SUCCESS;
}

/* --- Running --- */

struct patience {
	struct context *context;
	const struct fence *fence;
};

static bool graph_run_is_over(const void *arg)
{
	const struct patience *patience = arg;
	return fence_is_done(patience->fence) || atomic_load(&patience->context->is_dying);
}

/* The lock is held. */
static void graph_run_wait_for(struct context *context, const struct fence *fence)
{
	const struct patience patience = {context, fence};
	queue_wait(graph_run_is_over, &patience, 0);
}

/* The lock is held. */
static void graph_run_set(struct fence *fence)
{
	fence_set(fence);
	queue_tell();
}

static void graph_run_do(struct graph_run *run, struct context *context, size_t at)
{
	const struct node_data *data = run->plan->items[at];
	operation_run(run->has_guests && graph_run_is_guest(run, data) ? graph_run_home(data)
		: context, &data->work);
}

static size_t graph_run_decide(struct graph_run *run, struct context *context, size_t at);

/* Run the items before `end`; bodies have no events. */
static void graph_run_execute_body(struct graph_run *run, struct context *context, size_t at,
	size_t end)
{
	while (at < end) {
		const struct work *work = &run->plan->items[at]->work;
		if (work->kind == WORK_CONDITION) {
			at = graph_run_decide(run, context, at);
		} else {
			graph_run_do(run, context, at);
			at++;
		}
	}
}

/* Whether a loop must not go round again: nothing else ends one whose kernels are short. */
static bool graph_run_must_leave(struct context *context, uint64_t begun)
{
	const uint64_t limit = atomic_load(&context->device->timeout);
	if (limit > 0 && clock_now_ns() - begun > limit) {
		context_poison(context, CUDA_ERROR_LAUNCH_TIMEOUT,
			"a loop of a graph ran longer than the %g seconds of %s",
			(double)limit / 1e9, launch_slots_limit_name(context->device));
	}
	return operation_must_stop(context);
}

/* Run a body of the conditional node at a place, or none, or one again and again.  Returns where
 * what comes after the bodies is. */
static size_t graph_run_decide(struct graph_run *run, struct context *context, size_t at)
{
	const struct graph_plan *plan = run->plan;
	const struct node_data *data = plan->items[at];
	const CUDA_CONDITIONAL_NODE_PARAMS *p = &data->params.conditional;
	const uint32_t *place = &data->condition->value;
	uint32_t value = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	uint32_t chosen = p->type == CU_GRAPH_COND_TYPE_SWITCH ? value : value ? 0 : 1;
	const uint64_t begun = clock_now_ns();
	at++;
	for (uint32_t i = 0; i < p->size; i++) {
		size_t behind = plan->ends[at];
		bool is_due = i == chosen;
		while (is_due && !graph_run_must_leave(context, begun)) {
			graph_run_execute_body(run, context, at + 1, behind);
			is_due = p->type == CU_GRAPH_COND_TYPE_WHILE
				&& __atomic_load_n(place, __ATOMIC_ACQUIRE);
		}
		at = behind;
	}
	return at;
}

static void graph_run_execute_items(struct graph_run *run, struct context *context)
{
	size_t next = 0;
	for (size_t i = 0; i < run->plan->count;) {
		const struct work *work = &run->plan->items[i]->work;
		if (work->kind == WORK_CONDITION) {
			i = graph_run_decide(run, context, i);
			continue;
		}
		if (work->kind != WORK_RECORD && work->kind != WORK_WAIT) {
			graph_run_do(run, context, i++);
			continue;
		}
		i++;
		struct fence *fence = run->fences[next++];
		queue_lock();
		if (work->kind == WORK_RECORD) {
			graph_run_set(fence);
		} else {
			graph_run_wait_for(context, fence);
		}
		queue_unlock();
	}
}

/* Conditions that are to have a value at each launch get it. */
static void graph_run_assign(const struct graph_run *run)
{
	for (size_t i = 0; i < run->plan->count; i++) {
		struct condition *condition = run->plan->items[i]->condition;
		if (condition && condition->is_assigned) {
			__atomic_store_n(&condition->value, condition->initial, __ATOMIC_RELEASE);
		}
	}
}

/* The signals of faults are unblocked once for all kernels, unless there is code of the program. */
static void graph_run_execute_together(struct graph_run *run, struct context *context)
{
	sigset_t mask;
	bool was_blocked = fault_unblock(&mask);
	bool was_open = fault_stay_open(true);
	graph_run_execute_items(run, context);
	fault_stay_open(was_open);
	if (was_blocked) {
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	}
}

void graph_run_execute(struct graph_run *run, struct context *context)
{
	queue_lock();
	graph_run_wait_for(context, run->after);
	queue_unlock();
	if (run->plan->has_waits) {
		graph_run_assign(run);
		graph_run_execute_items(run, context);
	} else {
		graph_run_execute_together(run, context);
	}
	queue_lock();
	graph_run_set(run->done);
	queue_unlock();
}
