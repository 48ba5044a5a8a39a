/* SPDX-License-Identifier: MIT */
/*
 * Graphs as data.  An edge is in the lists of both of its ends.  Nothing here keeps cycles out:
 * they are found when a graph is instantiated.
 */
#include "base/common.h"

#include "cpu/stream/cu_graph.h"

#include "base/alloc.h"
#include "cpu/stream/operation.h"
#include "cpu/stream/user_object.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void graph_lock(void)
{
	pthread_mutex_lock(&lock);
}

void graph_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* --- What nodes do --- */

struct node_data *node_data_create(size_t payload_size)
{
	const size_t head = round_up(sizeof(struct node_data), 64);
	size_t size;
	struct node_data *data = size_add(&size, head, payload_size) ? mem_zalloc(1, size) : NULL;
	if (data) {
		atomic_init(&data->refs, 1);
		data->payload_size = payload_size;
		data->payload = (uint8_t *)data + head;
	}
	return data;
}

struct node_data *node_data_retain(struct node_data *data)
{
	atomic_fetch_add(&data->refs, 1);
	return data;
}

void node_data_release(struct node_data *data)
{
	if (data && atomic_fetch_sub(&data->refs, 1) == 1) {
		graph_memory_release(data->memory);
		condition_release(data->condition);
		mem_free(data);
	}
}

/* --- Edges --- */

static bool graph_make_room(struct edges *edges)
{
	struct edge *list = mem_grow(edges->list, edges->count, &edges->room, sizeof(*list));
	edges->list = list ? list : edges->list;
	return list;
}

bool graph_connect(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data)
{
	if (!graph_make_room(&from->to) || !graph_make_room(&to->from)) {
		return false;
	}
	from->to.list[from->to.count++] = (struct edge){to, *data};
	to->from.list[to->from.count++] = (struct edge){from, *data};
	from->graph->edge_count++;
	return true;
}

static struct edge *graph_find_edge(const struct edges *edges, const struct graph_node *node)
{
	for (size_t i = 0; i < edges->count; i++) {
		if (edges->list[i].node == node) {
			return &edges->list[i];
		}
	}
	return NULL;
}

struct edge *graph_edge(const struct graph_node *from, const struct graph_node *to)
{
	return to->from.count < from->to.count ? graph_find_edge(&to->from, from)
		: graph_find_edge(&from->to, to) ? graph_find_edge(&to->from, from) : NULL;
}

static void graph_remove_edge(struct edges *edges, const struct graph_node *node)
{
	struct edge *edge = graph_find_edge(edges, node);
	size_t behind = (size_t)(edges->list + edges->count - edge) - 1;
	memmove(edge, edge + 1, behind * sizeof(*edge));
	edges->count--;
}

void graph_disconnect(struct graph_node *from, struct graph_node *to)
{
	graph_remove_edge(&from->to, to);
	graph_remove_edge(&to->from, from);
	from->graph->edge_count--;
}

/* --- Nodes --- */

static uint64_t graph_changes; /* of all graphs: nodes that came and went; under the lock */

static bool graph_handles_memory(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

struct graph_node *graph_add(struct graph *graph, struct node_data *data, struct graph *child)
{
	struct graph_node *node = mem_zalloc(1, sizeof(*node));
	if (!node || (graph->handle
			&& !(node->handle = handle_create(API_GRAPH_NODE, node)))) {
		mem_free(node);
		return NULL;
	}
	node->graph = graph;
	node->id = graph->next_node++;
	node->data = data;
	node->child = child;
	node->link = graph->last;
	*graph->last = node;
	graph->last = &node->next;
	graph->node_count++;
	graph_changes++;
	graph->has_memory |= graph_handles_memory(data->params.type);
	graph->has_conditions |= (bool)data->condition;
	if (child) {
		child->parent = node;
		graph->has_memory |= child->has_memory;
		graph->has_conditions |= child->has_conditions;
	}
	return node;
}

/* Hide a graph: no handle finds it any more, and its memory is in no graph of the program. */
static void graph_hide_node(struct graph_node *node)
{
	struct graph_memory *memory = node->data->memory;
	handle_release(node->handle);
	node->handle = NULL;
	if (memory && memory->owner == node->graph) {
		memory->owner = NULL;
	}
}

/* Without the lock, too, if its graph is hidden or never was the program's. */
static void graph_free_node(struct graph_node *node)
{
	handle_release(node->handle);
	node_data_release(node->data);
	mem_free(node->from.list);
	mem_free(node->to.list);
	mem_free(node);
}

struct graph *graph_remove(struct graph_node *node)
{
	struct graph *graph = node->graph;
	struct graph *child = node->child;
	while (node->from.count > 0) {
		graph_disconnect(node->from.list[node->from.count - 1].node, node);
	}
	while (node->to.count > 0) {
		graph_disconnect(node, node->to.list[node->to.count - 1].node);
	}
	*node->link = node->next;
	if (node->next) {
		node->next->link = node->link;
	} else {
		graph->last = node->link;
	}
	graph->node_count--;
	graph_changes++;
	graph_hide_node(node);
	graph_free_node(node);
	if (child) {
		graph_hide(child);
	}
	return child;
}

/* --- Graphs --- */

struct graph *graph_create(bool with_handle)
{
	static atomic_uint graph_count;
	struct graph *graph = mem_zalloc(1, sizeof(*graph));
	if (!graph
	    || (with_handle && !(graph->handle = handle_create(API_GRAPH, graph)))) {
		mem_free(graph);
		return NULL;
	}
	graph->last = &graph->first;
	graph->id = atomic_fetch_add(&graph_count, 1);
	return graph;
}

void graph_hide(struct graph *graph)
{
	handle_release(graph->handle);
	graph->handle = NULL;
	for (struct graph_node *node = graph->first; node; node = node->next) {
		graph_hide_node(node);
		if (node->child) {
			graph_hide(node->child);
		}
	}
}

void graph_release(struct graph *graph)
{
	if (!graph) {
		return;
	}
	while (graph->first) {
		struct graph_node *node = graph->first;
		graph->first = node->next;
		graph_release(node->child);
		graph_free_node(node);
	}
	while (graph->uses) {
		struct object_use *use = graph->uses;
		graph->uses = use->next;
		user_object_drop(use->object, use->count);
		mem_free(use);
	}
	while (graph->conditions) {
		struct condition *condition = graph->conditions;
		graph->conditions = condition->next;
		condition_release(condition);
	}
	handle_release(graph->handle);
	mem_free(graph->copies);
	mem_free(graph);
}

static bool graph_clone_uses(const struct graph *graph, struct graph *clone)
{
	for (const struct object_use *use = graph->uses; use; use = use->next) {
		struct object_use *copy = mem_alloc(sizeof(*copy));
		if (!copy || !user_object_keep(use->object, use->count)) {
			mem_free(copy);
			return false;
		}
		*copy = (struct object_use){clone->uses, use->object, use->count};
		clone->uses = copy;
	}
	return true;
}

static bool graph_clone_nodes(const struct graph *graph, struct graph *clone)
{
	const bool with_handles = clone->handle;
	for (struct graph_node *node = graph->first; node; node = node->next) {
		struct graph *child = node->child ? graph_clone(node->child, with_handles)
			: NULL;
		struct graph_node *copy = NULL;
		if (!node->child || child) {
			copy = graph_add(clone, node_data_retain(node->data), child);
			if (!copy) {
				node_data_release(node->data);
			}
		}
		if (!copy) {
			graph_release(child);
			return false;
		}
		copy->origin = node->handle ? node->handle : node->origin;
		copy->id = node->id;
		copy->is_disabled = node->is_disabled;
		node->peer = copy;
	}
	return true;
}

static bool graph_clone_edges(const struct graph *graph)
{
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		for (size_t i = 0; i < node->from.count; i++) {
			const struct edge *edge = &node->from.list[i];
			if (!graph_connect(edge->node->peer, node->peer, &edge->data)) {
				return false;
			}
		}
	}
	return true;
}

struct graph *graph_clone(const struct graph *graph, bool with_handles)
{
	struct graph *clone = graph_create(with_handles);
	if (!clone) {
		return NULL;
	}
	clone->origin = graph->handle;
	clone->next_node = graph->next_node;
	if (!graph_clone_nodes(graph, clone) || !graph_clone_edges(graph)
	    || !graph_clone_uses(graph, clone)) {
		graph_release(clone);
		return NULL;
	}
	return clone;
}

/* The copies in a graph and its child graphs, by the handles of their origins: a program asks for
 * each, so that looking at all each time would take as long as all times all. */
struct graph_copies {
	uint64_t changes; /* of graph_changes, up to which it holds */
	size_t count;
	struct graph_copy {
		CUgraphNode origin;
		size_t place;     /* the first of those with one origin counts */
		struct graph_node *node;
	} list[];
};

static size_t graph_count_copies(const struct graph *graph)
{
	size_t count = 0;
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		count += 1 + (node->child ? graph_count_copies(node->child) : 0);
	}
	return count;
}

static void graph_list_copies(struct graph_copies *to, const struct graph *graph)
{
	for (struct graph_node *node = graph->first; node; node = node->next) {
		to->list[to->count] = (struct graph_copy){node->origin, to->count, node};
		to->count++;
		if (node->child) {
			graph_list_copies(to, node->child);
		}
	}
}

static int graph_order_copies(const void *a, const void *b)
{
	const struct graph_copy *one = a, *other = b;
	uintptr_t x = (uintptr_t)one->origin, y = (uintptr_t)other->origin;
	return x != y ? (x > y) - (x < y)
		: (one->place > other->place) - (one->place < other->place);
}

static bool graph_index_copies(struct graph *graph)
{
	size_t count = graph_count_copies(graph), size;
	struct graph_copies *copies = NULL;
	if (size_mul(&size, count, sizeof(*copies->list))
	    && size_add(&size, size, sizeof(*copies))) {
		copies = mem_alloc(size);
	}
	mem_free(graph->copies);
	graph->copies = copies;
	if (copies) {
		copies->changes = graph_changes;
		copies->count = 0;
		graph_list_copies(copies, graph);
		qsort(copies->list, count, sizeof(*copies->list), graph_order_copies);
	}
	return copies;
}

bool graph_find_copy(struct graph_node **out, struct graph *graph, CUgraphNode origin)
{
	if ((!graph->copies || graph->copies->changes != graph_changes)
	    && !graph_index_copies(graph)) {
		return false;
	}
	const struct graph_copies *copies = graph->copies;
	size_t low = 0, high = copies->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool before = (uintptr_t)copies->list[middle].origin < (uintptr_t)origin;
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	*out = low < copies->count && copies->list[low].origin == origin ? copies->list[low].node
		: NULL;
	return true;
}

void graph_mark_memory(struct graph *graph)
{
	while (graph) {
		graph->has_memory = true;
		graph = graph->parent ? graph->parent->graph : NULL;
	}
}

void graph_mark_conditions(struct graph *graph)
{
	while (graph) {
		graph->has_conditions = true;
		graph = graph->parent ? graph->parent->graph : NULL;
	}
}

bool graph_is_body(const struct graph *graph)
{
	while (graph->parent && !graph->parent->data->condition) {
		graph = graph->parent->graph;
	}
	return graph->parent;
}

bool graph_is_captured(const struct graph *graph)
{
	bool found = graph->is_captured_into;
	for (const struct graph_node *node = graph->first; node && !found;
	     node = node->next) {
		found = node->child && graph_is_captured(node->child);
	}
	return found;
}

struct graph *graph_root(struct graph *graph)
{
	while (graph->parent) {
		graph = graph->parent->graph;
	}
	return graph;
}

size_t graph_total(const struct graph *graph)
{
	size_t total = graph->node_count;
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		total += node->child ? graph_total(node->child) : 0;
	}
	return total;
}

/* --- Order --- */

/* Nodes that can be run, first in, first out.  Nodes that may wait for others are kept apart. */
struct ready {
	struct graph_node *first[2];
	struct graph_node **last[2];
};

static void graph_push(struct ready *ready, struct graph_node *node)
{
	const bool may_wait = node->data->params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT
		|| (node->data->work.kind == WORK_VALUES && !operation_is_quick(&node->data->work));
	node->ready = NULL;
	*ready->last[may_wait] = node;
	ready->last[may_wait] = &node->ready;
}

static struct graph_node *graph_pop(struct ready *ready)
{
	int which = ready->first[0] ? 0 : 1;
	struct graph_node *node = ready->first[which];
	if (node) {
		ready->first[which] = node->ready;
		if (!node->ready) {
			ready->last[which] = &ready->first[which];
		}
	}
	return node;
}

struct graph_node *graph_sort(struct graph *graph, struct graph_node **order)
{
	struct ready ready = {.last = {&ready.first[0], &ready.first[1]}};
	struct graph_node *node;
	for (node = graph->first; node; node = node->next) {
		node->missing = node->from.count;
		if (node->missing == 0) {
			graph_push(&ready, node);
		}
	}
	while ((node = graph_pop(&ready))) {
		*order++ = node;
		for (size_t i = 0; i < node->to.count; i++) {
			if (--node->to.list[i].node->missing == 0) {
				graph_push(&ready, node->to.list[i].node);
			}
		}
	}
	for (node = graph->first; node && node->missing == 0; node = node->next) {
	}
	return node;
}
