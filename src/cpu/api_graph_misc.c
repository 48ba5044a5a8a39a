/* SPDX-License-Identifier: MIT */
/*
 * What else there is about graphs: objects of the program that graphs keep alive, and pictures of
 * graphs.
 */
#include "../base/common.h"

#include "graph_node.h"

#include "../base/alloc.h"

#include <stdio.h>

/* --- User objects --- */

struct user_object {
	CUuserObject handle;
	pthread_mutex_t lock;
	size_t refs;
	CUhostFn destroy;
	void *data;
};

bool user_object_retain(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	bool ok = size_add(&object->refs, object->refs, count);
	pthread_mutex_unlock(&object->lock);
	return ok;
}

void user_object_release(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	object->refs -= count < object->refs ? count : object->refs;
	bool is_over = object->refs == 0;
	pthread_mutex_unlock(&object->lock);
	if (!is_over) {
		return;
	}
	handle_release(object->handle);
	api_set_in_callback(true);
	object->destroy(object->data);
	api_set_in_callback(false);
	pthread_mutex_destroy(&object->lock);
	mem_free(object);
}

static CUresult find_object(const char *call, CUuserObject handle, unsigned count,
	struct user_object **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_USER_OBJECT);
	return *out != NULL && count > 0 && count <= INT32_MAX ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: not the handle of a live user object, or %u references", call, count);
}

API(cuUserObjectCreate, CUuserObject *out, void *data, CUhostFn destroy, unsigned int count,
	unsigned int flags)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (destroy == NULL || count == 0 || count > INT32_MAX
	    || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no destructor, %u references, or flags 0x%x", __func__, count, flags);
	}
	struct user_object *object = mem_zalloc(1, sizeof(*object));
	if (object == NULL || (object->handle = handle_create(API_USER_OBJECT, object)) == NULL) {
		mem_free(object);
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: out of memory", __func__);
	}
	pthread_mutex_init(&object->lock, NULL);
	object->refs = count;
	object->destroy = destroy;
	object->data = data;
	*out = object->handle;
	return CUDA_SUCCESS;
}

API(cuUserObjectRetain, CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult result = find_object(__func__, handle, count, &object);
	if (result == CUDA_SUCCESS && !user_object_retain(object, count)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: too many references", __func__);
	}
	return result;
}

API(cuUserObjectRelease, CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult result = find_object(__func__, handle, count, &object);
	if (result == CUDA_SUCCESS) {
		user_object_release(object, count);
	}
	return result;
}

/* With the lock. */
static CUresult keep_object(const char *call, struct graph *graph, struct user_object *object,
	unsigned count, unsigned flags)
{
	struct object_use *use = graph->uses;
	while (use != NULL && use->object != object) {
		use = use->next;
	}
	if (use == NULL) {
		use = mem_alloc(sizeof(*use));
		if (use == NULL) {
			return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: out of memory", call);
		}
		*use = (struct object_use){graph->uses, object, 0};
		graph->uses = use;
	}
	use->count += count;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) {
		user_object_retain(object, count);
	}
	return CUDA_SUCCESS;
}

API(cuGraphRetainUserObject, CUgraph handle, CUuserObject object_handle, unsigned int count,
	unsigned int flags)
{
	struct user_object *object;
	struct graph *graph;
	CUresult result = find_object(__func__, object_handle, count, &object);
	if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = graph_find(__func__, handle, &graph);
	if (result == CUDA_SUCCESS) {
		result = keep_object(__func__, graph, object, count, flags);
	}
	graph_unlock();
	return result;
}

API(cuGraphReleaseUserObject, CUgraph handle, CUuserObject object_handle, unsigned int count)
{
	struct user_object *object;
	struct graph *graph;
	CUresult result = find_object(__func__, object_handle, count, &object);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = graph_find(__func__, handle, &graph);
	struct object_use **link = result == CUDA_SUCCESS ? &graph->uses : NULL;
	while (link != NULL && *link != NULL && (*link)->object != object) {
		link = &(*link)->next;
	}
	if (link != NULL && (*link == NULL || (*link)->count < count)) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the graph has fewer than %u references", __func__, count);
	} else if (link != NULL && ((*link)->count -= count) == 0) {
		struct object_use *use = *link;
		*link = use->next;
		mem_free(use);
	}
	graph_unlock();
	if (result == CUDA_SUCCESS) {
		user_object_release(object, count);
	}
	return result;
}

/* --- Pictures --- */

static const char *const type_names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY",
	"WAIT_EVENT", "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
	"BATCH_MEM_OP", "CONDITIONAL"};

static void draw_node(FILE *file, const struct graph_node *node, size_t graph, size_t number,
	unsigned flags)
{
	const CUgraphNodeParams *params = &node->data->params;
	fprintf(file, "\tgraph_%zu_node_%zu [label=\"%zu\\n%s", graph, number, number,
		type_names[params->type]);
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		fprintf(file, "\\n%s", node_has_function(node->data)
			? node->data->work.kernel.function->name : "(unloaded)");
	}
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL
	    && (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE
			| CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))) {
		fprintf(file, "\\n(%u,%u,%u) (%u,%u,%u)", params->kernel.gridDimX,
			params->kernel.gridDimY, params->kernel.gridDimZ, params->kernel.blockDimX,
			params->kernel.blockDimY, params->kernel.blockDimZ);
	}
	if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
		fprintf(file, "\\n%p", (const void *)node->handle);
	}
	fputs("\"];\n", file);
}

/* A graph and its child graphs, numbered as they come. */
static void draw(FILE *file, struct graph *graph, size_t *graphs, unsigned flags)
{
	const size_t mine = (*graphs)++;
	size_t number = 0;
	fprintf(file, "subgraph cluster_%zu {\n\tlabel=\"graph_%zu\";\n", mine, mine);
	for (struct graph_node *node = graph->first; node != NULL; node = node->next) {
		node->missing = number;
		draw_node(file, node, mine, number++, flags);
	}
	for (const struct graph_node *node = graph->first; node != NULL; node = node->next) {
		for (size_t i = 0; i < node->from.count; i++) {
			fprintf(file, "\tgraph_%zu_node_%zu -> graph_%zu_node_%zu;\n", mine,
				node->from.list[i].node->missing, mine, node->missing);
		}
	}
	fputs("}\n", file);
	for (const struct graph_node *node = graph->first; node != NULL; node = node->next) {
		if (node->child != NULL) {
			draw(file, node->child, graphs, flags);
		}
	}
}

API(cuGraphDebugDotPrint, CUgraph handle, const char *path, unsigned int flags)
{
	const unsigned known = 2 * CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS - 1;
	struct graph *graph;
	size_t graphs = 0;
	CUresult result = api_need(api_ready(__func__), __func__, path);
	if (result == CUDA_SUCCESS && (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = graph_find(__func__, handle, &graph);
	FILE *file = result == CUDA_SUCCESS ? fopen(path, "w") : NULL;
	if (file != NULL) {
		fputs("digraph dot {\n", file);
		draw(file, graph, &graphs, flags);
		fputs("}\n", file);
	}
	graph_unlock();
	if (result == CUDA_SUCCESS && (file == NULL || fclose(file) != 0)) {
		return api_fail(CUDA_ERROR_OPERATING_SYSTEM, "%s: '%s' cannot be written", __func__,
			path);
	}
	return result;
}
