/* SPDX-License-Identifier: MIT */
/*
 * Changes of executable graphs: other memory for a node, and the parameters of another graph.
 *
 * A node of an executable graph is named by the node of the graph that it was made from.  The
 * driver pairs the nodes of two graphs by their edges alone, which may be ambiguous.  So only a
 * graph whose nodes and edges were added in the same order is taken: then each node is paired
 * with its namesake.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/graph.h"

kz_status exec_find(struct kz_node **out, const struct kz_exec *exec, const char *name,
	kz_error *err)
{
	kz_status st;
	if ((st = object_check(exec, OBJECT_EXEC, err))
	    || (st = pointer_check(name, "the name of a node", err))) {
		return st;
	}
	*out = map_get(&exec->nodes.names, name);
	return *out ? KZ_OK : error_set(err, KZ_NOT_FOUND, exec->nodes.first
		? "the graph has no node '%s'; the first that has a name is '%s'"
		: "the graph has no node '%s', and no node in it has a name", name,
		exec->nodes.first ? exec->nodes.first->name : "");
}

void exec_drop_memory(struct kz_exec *exec, struct memory *const *used, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!used[i]->graph) {
			uses_remove(&exec->uses, used[i]);
		}
	}
}

kz_status exec_keep_memory(struct kz_exec *exec, struct memory *const *used, size_t count,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; !st && i < count; i++) {
		if ((st = graph_check_memory(exec->graph, used[i], err)) == KZ_OK && !used[i]->graph
		    && !uses_add(&exec->uses, used[i], &memory_kind)) {
			st = error_no_memory(err);
		}
		if (st) {
			exec_drop_memory(exec, used, i);
		}
	}
	return st;
}

/* The nodes of a graph and its edges, as the driver lists them. */
struct topology {
	CUgraphNode *nodes, *from, *to;
	CUgraphEdgeData *data;
	size_t node_count, edge_count;
};

static void graph_topology_free(struct topology *topology)
{
	mem_free(topology->nodes);
	mem_free(topology->from);
	mem_free(topology->data);
}

static kz_status graph_topology_read(
	struct topology *topology, const struct kz_graph *graph, kz_error *err)
{
	const struct drv *drv = graph->device->drv;
	kz_status st;
	if ((st = device_ok(graph->device, drv->GraphGetNodes(graph->handle, NULL,
			&topology->node_count), "cuGraphGetNodes", err))
	    || (st = device_ok(graph->device, drv->GraphGetEdges(graph->handle, NULL, NULL,
			NULL, &topology->edge_count), "cuGraphGetEdges", err))) {
		return st;
	}
	topology->nodes = mem_zalloc(topology->node_count + 1, sizeof(CUgraphNode));
	topology->from = mem_zalloc(topology->edge_count + 1, 2 * sizeof(CUgraphNode));
	topology->data = mem_zalloc(topology->edge_count + 1, sizeof(CUgraphEdgeData));
	if (!topology->nodes || !topology->from || !topology->data) {
		return error_no_memory(err);
	}
	topology->to = topology->from + topology->edge_count;
	if (topology->node_count > 0) {
		st = device_ok(graph->device, drv->GraphGetNodes(graph->handle, topology->nodes,
			&topology->node_count), "cuGraphGetNodes", err);
	}
	if (!st && topology->edge_count > 0) {
		st = device_ok(graph->device,
			drv->GraphGetEdges(graph->handle, topology->from, topology->to,
				topology->data, &topology->edge_count),
			"cuGraphGetEdges", err);
	}
	return st;
}

static void graph_topology_ignore(void *node)
{
	(void)node;
}

/* Number the nodes of a graph; false when memory runs out. */
static bool graph_topology_number(struct uses *numbers, const struct topology *topology)
{
	static const struct use_kind kind = {graph_topology_ignore, graph_topology_ignore, false};
	bool ok = true;
	for (size_t i = 0; ok && i < topology->node_count; i++) {
		ok = uses_add(numbers, topology->nodes[i], &kind);
	}
	return ok;
}

static size_t graph_topology_place(const struct uses *numbers, CUgraphNode node)
{
	const struct use *use = uses_find(numbers, node);
	return use ? (size_t)(use - numbers->items) : SIZE_MAX;
}

/* The driver pairs nodes by their edges.  Only where the two graphs are built alike are these the
 * pairs that their names give. */
static kz_status graph_check_topology(const struct kz_exec *exec, const struct kz_graph *graph,
	kz_error *err)
{
	struct topology graphs[2] = {{0}};
	struct uses numbers[2] = {{0}};
	kz_status st = graph_topology_read(&graphs[0], exec->graph, err);
	st = st ? st : graph_topology_read(&graphs[1], graph, err);
	if (!st && (!graph_topology_number(&numbers[0], &graphs[0])
			|| !graph_topology_number(&numbers[1], &graphs[1]))) {
		st = error_no_memory(err);
	}
	/* Whether nodes of equal numbers have equal edges and names in both. */
	bool same = !st && graphs[0].node_count == graphs[1].node_count
		&& graphs[0].edge_count == graphs[1].edge_count;
	for (size_t i = 0; same && i < graphs[0].edge_count; i++) {
		same = graph_topology_place(&numbers[0], graphs[0].from[i])
				== graph_topology_place(&numbers[1], graphs[1].from[i])
			&& graph_topology_place(&numbers[0], graphs[0].to[i])
				== graph_topology_place(&numbers[1], graphs[1].to[i]);
	}
	const struct kz_node *x = exec->graph->nodes.first, *y = graph->nodes.first;
	for (; same && x && y; x = x->next, y = y->next) {
		same = graph_topology_place(&numbers[0], x->handle)
				== graph_topology_place(&numbers[1], y->handle)
			&& y->used_count <= x->used_room;
	}
	if (!st && (!same || x || y)) {
		st = error_set(err, KZ_INVALID,
			"expected a graph with the same nodes and edges, %zu and "
			"%zu, added in the same order; got %zu and %zu",
			graphs[0].node_count, graphs[0].edge_count, graphs[1].node_count,
			graphs[1].edge_count);
	}
	for (int i = 0; i < 2; i++) {
		graph_topology_free(&graphs[i]);
		uses_release(&numbers[i]);
	}
	return st;
}

static kz_status exec_refuse_update(CUresult code, CUgraphExecUpdateResult why, kz_error *err)
{
	static const char *const reasons[] = {
		[CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED] = "the edges differ",
		[CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED] = "a node is of another type",
		[CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED] = "a node has another kernel",
		[CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED] =
			"a node's parameters differ too much",
		[CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED] = "a node cannot be changed",
		[CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE] =
			"a kernel differs too much",
		[CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED] =
			"the attributes of a kernel differ",
	};
	const char *reason = why < countof(reasons) ? reasons[why] : NULL;
	bool mine = error_is_clean(err);
	error_set(err, KZ_INVALID, "the driver refuses this change of a graph: %s",
		reason ? reason : "it does not say why");
	if (mine) {
		codes_add(KZ_DOMAIN_DRIVER, (int)code, "cuGraphExecUpdate", err);
	}
	return KZ_INVALID;
}

static kz_status exec_check_update(const struct kz_exec *exec, const struct kz_graph *graph,
	kz_error *err)
{
	kz_status st;
	if ((st = object_check(exec, OBJECT_EXEC, err))
	    || (st = graph_check_whole(graph, err))) {
		return st;
	}
	if (graph->device != exec->device) {
		return error_set(err, KZ_INVALID, "expected a graph of %s, got one of %s",
			exec->device->name, graph->device->name);
	}
	return graph->is_fixed || exec->graph->is_fixed ? error_set(err, KZ_UNSUPPORTED,
		       "a graph with "
		       "nodes that allocate memory, or with conditional ones, cannot be updated")
							: KZ_OK;
}

kz_status kz_exec_update(kz_exec *exec, kz_graph *graph, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	struct uses uses = {0};
	CUgraph copy = NULL;
	kz_status st;
	if ((st = exec_check_update(exec, graph, err))
	    || (st = device_enter(exec->device, &scope, err))) {
		return st;
	}
	st = graph_check_topology(exec, graph, err);
	if (!st && !uses_copy(&uses, &graph->uses)) {
		st = error_no_memory(err);
	}
	st = st ? st : exec_clone(&copy, graph, err);
	if (!st) {
		CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
		CUresult code =
			exec->device->drv->GraphExecUpdate(exec->handle, graph->handle, &info);
		st = code == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
			? exec_refuse_update(code, info.result, err)
			: device_ok(exec->device, code, "cuGraphExecUpdate", err);
	}
	if (st) {
		uses_release(&uses);
		if (copy) {
			device_released(exec->device, exec->device->drv->GraphDestroy(copy),
				"cuGraphDestroy");
		}
	} else {
		exec_take_copy(exec, copy, graph);
		const struct kz_node *from = graph->nodes.first;
		for (struct kz_node *to = exec->nodes.first; to; to = to->next, from = from->next) {
			node_take_over(to, from);
		}
		uses_release(&exec->uses);
		exec->uses = uses;
	}
	device_leave(exec->device, &scope);
	return st;
}
