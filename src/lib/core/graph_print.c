/* SPDX-License-Identifier: MIT */
/*
 * Graphs as text in the DOT language.
 *
 * The driver lists nodes and edges; names are from our records, else a kernel's own name or the
 * type of the node.  A graph in a node is a cluster.  The identifier of node 2 in it is "n0_2",
 * where 0 is the node outside.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/core/graph.h"

#include <string.h>

/* One graph while it is drawn. */
struct drawing {
	struct kz_device *device;
	CUgraph handle;
	const struct node_list *records; /* NULL for a child graph: it has none */
	CUgraphNode *nodes;
	size_t count;
	struct uses numbers;             /* of nodes */
	struct uses places;              /* of records by their nodes */
	const struct kz_node **found;    /* the records in that order */
};

static void graph_draw_nothing(void *node)
{
	(void)node;
}

static const struct use_kind draw_kind = {graph_draw_nothing, graph_draw_nothing, false};

/* The place of an object in a set of different ones; -1 if it is not there. */
static int64_t graph_draw_place(const struct uses *uses, const void *object)
{
	const struct use *use = uses_find(uses, object);
	return use ? use - uses->items : -1;
}

static void graph_drawing_end(struct drawing *d)
{
	mem_free(d->nodes);
	mem_free(d->found);
	uses_release(&d->numbers);
	uses_release(&d->places);
}

static kz_status graph_drawing_begin(struct drawing *d, kz_error *err)
{
	const struct drv *drv = d->device->drv;
	size_t records = 0;
	bool ok = true;
	kz_status st = device_ok(d->device, drv->GraphGetNodes(d->handle, NULL, &d->count),
		"cuGraphGetNodes", err);
	for (const struct kz_node *node = d->records ? d->records->first : NULL; node;
	     node = node->next) {
		records++;
	}
	d->nodes = mem_zalloc(d->count + 1, sizeof(CUgraphNode));
	d->found = mem_zalloc(records + 1, sizeof(struct kz_node *));
	if (st || !d->nodes || !d->found) {
		return st ? st : error_no_memory(err);
	}
	if (d->count > 0) {
		st = device_ok(d->device, drv->GraphGetNodes(d->handle, d->nodes, &d->count),
			"cuGraphGetNodes", err);
	}
	for (size_t i = 0; !st && ok && i < d->count; i++) {
		ok = uses_add(&d->numbers, d->nodes[i], &draw_kind);
	}
	for (const struct kz_node *node = d->records ? d->records->first : NULL; ok && node;
	     node = node->next) {
		d->found[d->places.count] = node;
		ok = uses_add(&d->places, node->handle, &draw_kind);
	}
	return st ? st : ok ? KZ_OK : error_no_memory(err);
}

/* The text in quotation marks. */
static void graph_draw_text(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\') {
			str_addc(out, '\\');
		}
		str_addc(out, *text);
	}
}

static const char *graph_draw_type(CUgraphNodeType type)
{
	static const char *const names[] = {"kernel", "copy", "fill", "host", "child", "empty",
		"wait", "record", "signal", "semaphore", "alloc", "free", "values", "conditional"};
	return (size_t)type < countof(names) ? names[type] : "node";
}

/* The label of a node, without a record: a kernel's name, if the driver tells it. */
static const char *graph_draw_name(const struct drawing *d, CUgraphNode node, CUgraphNodeType type)
{
	CUDA_KERNEL_NODE_PARAMS params;
	const char *name = NULL;
	if (type == CU_GRAPH_NODE_TYPE_KERNEL
	    && d->device->drv->GraphKernelNodeGetParams(node, &params) == CUDA_SUCCESS
	    && params.func && d->device->drv->FuncGetName(&name, params.func) == CUDA_SUCCESS) {
		return name;
	}
	return graph_draw_type(type);
}

static kz_status draw_graph(struct str *out, struct drawing *d, const char *prefix, kz_error *err);

/* A graph that belongs to a node: its device, handle and records are there. */
static kz_status graph_draw_cluster(struct str *out, struct drawing *inner, const char *prefix,
	const char *label, kz_error *err)
{
	str_addf(out, "\tsubgraph cluster_%s {\n\tlabel=\"", prefix);
	graph_draw_text(out, label);
	str_add(out, "\";\n");
	kz_status st = graph_drawing_begin(inner, err);
	st = st ? st : draw_graph(out, inner, prefix, err);
	graph_drawing_end(inner);
	str_add(out, "\t}\n");
	return st;
}

static kz_status graph_draw_node(struct str *out, const struct drawing *d, size_t i,
	const char *prefix, kz_error *err)
{
	CUgraphNodeType type;
	CUgraphNode node = d->nodes[i];
	int64_t place = graph_draw_place(&d->places, node);
	const struct kz_node *record = place < 0 ? NULL : d->found[place];
	kz_status st = device_ok(d->device, d->device->drv->GraphNodeGetType(node, &type),
		"cuGraphNodeGetType", err);
	if (st) {
		return st;
	}
	const char *label = record ? record->name : graph_draw_name(d, node, type);
	str_addf(out, "\t%s_%zu [label=\"", prefix, i);
	graph_draw_text(out, label);
	if (record && record->kernel) {
		str_addf(out, "\\n%u x %u x %u blocks of %u x %u x %u", record->grid[0],
			record->grid[1], record->grid[2], record->block[0], record->block[1],
			record->block[2]);
	}
	str_addf(out, "\"%s];\n", type == CU_GRAPH_NODE_TYPE_KERNEL ? ", shape=box" : "");
	struct str inside = STR_INIT;
	str_addf(&inside, "%s_%zu", prefix, i);
	struct drawing child = {.device = d->device};
	if (inside.failed) {
		st = error_no_memory(err);
	} else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
		st = device_ok(d->device, d->device->drv->GraphChildGraphNodeGetGraph(node,
			&child.handle), "cuGraphChildGraphNodeGetGraph", err);
		st = st ? st : graph_draw_cluster(out, &child, inside.data, label, err);
	}
	size_t number = 0;
	for (const struct kz_graph *body = record ? record->bodies : NULL; !st && body;
	     body = body->next) {
		str_addf(&inside, "b%zu", number++);
		child = (struct drawing){.device = d->device, .handle = body->handle,
			.records = &body->nodes};
		st = inside.failed ? error_no_memory(err)
			: graph_draw_cluster(out, &child, inside.data, label, err);
	}
	str_free(&inside);
	return st;
}

static kz_status graph_draw_edges(struct str *out, const struct drawing *d, const char *prefix,
	kz_error *err)
{
	const struct drv *drv = d->device->drv;
	size_t count = 0;
	kz_status st = device_ok(d->device, drv->GraphGetEdges(d->handle, NULL, NULL, NULL, &count),
		"cuGraphGetEdges", err);
	if (st || count == 0) {
		return st;
	}
	CUgraphNode *ends = mem_zalloc(count, 2 * sizeof(CUgraphNode));
	CUgraphEdgeData *data = mem_zalloc(count, sizeof(*data));
	st = ends && data ? device_ok(d->device,
		     drv->GraphGetEdges(d->handle, ends, ends + count, data, &count),
		     "cuGraphGetEdges", err)
			  : error_no_memory(err);
	for (size_t i = 0; !st && i < count; i++) {
		str_addf(out, "\t%s_%lld -> %s_%lld;\n", prefix,
			(long long)graph_draw_place(&d->numbers, ends[i]), prefix,
			(long long)graph_draw_place(&d->numbers, ends[count + i]));
	}
	mem_free(ends);
	mem_free(data);
	return st;
}

static kz_status draw_graph(struct str *out, struct drawing *d, const char *prefix, kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; !st && i < d->count; i++) {
		st = graph_draw_node(out, d, i, prefix, err);
	}
	return st ? st : graph_draw_edges(out, d, prefix, err);
}

kz_status kz_graph_print(kz_graph *graph, FILE *to, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(graph, OBJECT_GRAPH, err)) || (st = pointer_check(to, "a FILE", err))
	    || (st = device_enter(graph->device, &scope, err))) {
		return st;
	}
	struct str text = STR_INIT;
	struct drawing drawing = {.device = graph->device, .handle = graph->handle,
		.records = &graph->nodes};
	str_add(&text, "digraph graph_of_work {\n");
	st = graph_drawing_begin(&drawing, err);
	st = st ? st : draw_graph(&text, &drawing, "n", err);
	graph_drawing_end(&drawing);
	str_add(&text, "}\n");
	device_leave(graph->device, &scope);
	if (!st && text.failed) {
		st = error_no_memory(err);
	}
	st = st ? st : file_show(to, &text, "a graph", err);
	str_free(&text);
	return st;
}

kz_status kz_graph_count(int64_t *nodes, int64_t *edges, kz_graph *graph, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	size_t node_count = 0, edge_count = 0;
	kz_status st;
	if ((st = object_check(graph, OBJECT_GRAPH, err))
	    || (st = device_enter(graph->device, &scope, err))) {
		return st;
	}
	const struct drv *drv = graph->device->drv;
	st = device_ok(graph->device, drv->GraphGetNodes(graph->handle, NULL, &node_count),
		"cuGraphGetNodes", err);
	if (!st && edges) {
		st = device_ok(graph->device, drv->GraphGetEdges(graph->handle, NULL, NULL, NULL,
			&edge_count), "cuGraphGetEdges", err);
		*edges = (int64_t)edge_count;
	}
	if (nodes) {
		*nodes = (int64_t)node_count;
	}
	device_leave(graph->device, &scope);
	return st;
}
