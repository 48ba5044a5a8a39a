/* SPDX-License-Identifier: MIT */
/*
 * Other functions of graphs: objects of the program that graphs keep alive, how much memory graphs
 * use, and drawings of graphs.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "cpu/stream/cu_graph_node.h"
#include "cpu/stream/user_object.h"


/* --- User objects --- */

static CUresult graph_find_object(const char *call, CUuserObject handle, unsigned count,
	struct user_object **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_USER_OBJECT);
	return *out && count > 0 && count <= INT32_MAX ? CUDA_SUCCESS
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
	if (!destroy || count == 0 || count > INT32_MAX
	    || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: no destructor, %u references, or flags 0x%x", __func__, count, flags);
	}
	CUuserObject object = user_object_create(data, destroy, count);
	if (!object) {
		return api_no_memory(__func__);
	}
	*out = object;
	return CUDA_SUCCESS;
}

API(cuUserObjectRetain, CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult result = graph_find_object(__func__, handle, count, &object);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return user_object_retain(object, count) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: too many references", __func__);
}

static CUresult graph_fail_references(const char *call, unsigned count)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the program has fewer than %u references", call, count);
}

API(cuUserObjectRelease, CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult result = graph_find_object(__func__, handle, count, &object);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return user_object_release(object, count) ? CUDA_SUCCESS
		: graph_fail_references(__func__, count);
}

/* The lock is held. */
static CUresult graph_keep_object(const char *call, struct graph *graph, struct user_object *object,
	unsigned count, unsigned flags)
{
	const bool is_move = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
	struct object_use *use = graph->uses;
	while (use && use->object != object) {
		use = use->next;
	}
	struct object_use *added = !use ? mem_zalloc(1, sizeof(*added)) : NULL;
	if (!use && !added) {
		return api_no_memory(call);
	}
	if (!(is_move ? user_object_move : user_object_keep)(object, count)) {
		mem_free(added);
		return graph_fail_references(call, count);
	}
	if (added) {
		*added = (struct object_use){graph->uses, object, 0};
		graph->uses = use = added;
	}
	use->count += count;
	return CUDA_SUCCESS;
}

API(cuGraphRetainUserObject, CUgraph handle, CUuserObject object_handle, unsigned int count,
	unsigned int flags)
{
	struct user_object *object;
	struct graph *graph;
	CUresult result = graph_find_object(__func__, object_handle, count, &object);
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
		result = graph_keep_object(__func__, graph, object, count, flags);
	}
	graph_unlock();
	return result;
}

API(cuGraphReleaseUserObject, CUgraph handle, CUuserObject object_handle, unsigned int count)
{
	struct user_object *object;
	struct graph *graph;
	CUresult result = graph_find_object(__func__, object_handle, count, &object);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	graph_lock();
	result = graph_find(__func__, handle, &graph);
	struct object_use **link = result == CUDA_SUCCESS ? &graph->uses : NULL;
	while (link && *link && (*link)->object != object) {
		link = &(*link)->next;
	}
	if (link && (!*link || (*link)->count < count)) {
		result = api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the graph has fewer than %u references", __func__, count);
	} else if (link && ((*link)->count -= count) == 0) {
		struct object_use *use = *link;
		*link = use->next;
		mem_free(use);
	}
	graph_unlock();
	if (result == CUDA_SUCCESS) {
		user_object_drop(object, count);
	}
	return result;
}

/* --- Memory that graphs use --- */

static CUresult graph_check_account(const char *call, CUdevice device, const void *value)
{
	return api_need(api_check_device(call, device), call, value);
}

API(cuDeviceGetGraphMemAttribute, CUdevice device, CUgraphMem_attribute attribute, void *out)
{
	CUresult result = graph_check_account(__func__, device, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)out = atomic_load(&graph_memory_account((unsigned)device)->used);
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)out = atomic_load(&graph_memory_account((unsigned)device)->peak);
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
		(int)attribute);
}

API(cuDeviceSetGraphMemAttribute, CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	CUresult result = graph_check_account(__func__, device, value);
	if (result == CUDA_SUCCESS && (*(const cuuint64_t *)value != 0
			|| (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
			    && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be set to this",
			__func__, (int)attribute);
	}
	if (result == CUDA_SUCCESS) {
		struct memory_pool *account = graph_memory_account((unsigned)device);
		atomic_store(&account->peak, atomic_load(&account->used));
	}
	return result;
}

/* Graphs hold no memory in reserve, so there is nothing to trim. */
API(cuDeviceGraphMemTrim, CUdevice device)
{
	return api_check_device(__func__, device);
}

/* --- Drawings --- */

static const char *const type_names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY",
	"WAIT_EVENT", "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
	"BATCH_MEM_OP", "CONDITIONAL", "MEMCPY_BATCH"};

static void graph_dot_node(struct str *out, const struct graph_node *node, unsigned flags)
{
	const CUgraphNodeParams *params = &node->data->params;
	str_addf(out, "\tgraph_%u_node_%u [label=\"%u\\n%s", node->graph->id, node->id, node->id,
		type_names[params->type]);
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		str_addf(out, "\\n%s", node_has_function(node->data)
			? node->data->work.kernel.function->name : "(unloaded)");
	}
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL
	    && (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE
			| CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))) {
		str_addf(out, "\\n(%u,%u,%u) (%u,%u,%u)", params->kernel.gridDimX,
			params->kernel.gridDimY, params->kernel.gridDimZ, params->kernel.blockDimX,
			params->kernel.blockDimY, params->kernel.blockDimZ);
	}
	if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
		str_addf(out, "\\n%p", (const void *)node->handle);
	}
	str_add(out, "\"];\n");
}

/* A graph and its child graphs, by the numbers that cuGraphGetId and cuGraphNodeGetLocalId give. */
static void graph_dot(struct str *out, const struct graph *graph, unsigned flags)
{
	const unsigned id = graph->id;
	str_addf(out, "subgraph cluster_%u {\n\tlabel=\"graph_%u\";\n", id, id);
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		graph_dot_node(out, node, flags);
	}
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		for (size_t i = 0; i < node->from.count; i++) {
			str_addf(out, "\tgraph_%u_node_%u -> graph_%u_node_%u;\n", id,
				node->from.list[i].node->id, id, node->id);
		}
	}
	str_add(out, "}\n");
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		if (node->child) {
			graph_dot(out, node->child, flags);
		}
	}
}

static CUresult graph_write_dot(const char *call, const char *path, const struct str *text)
{
	if (text->failed) {
		return api_no_memory(call);
	}
	return file_put(path, text->data, text->len) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_OPERATING_SYSTEM, "%s: '%s' cannot be written", call, path);
}

API(cuGraphDebugDotPrint, CUgraph handle, const char *path, unsigned int flags)
{
	const unsigned known = 2 * CU_GRAPH_DEBUG_DOT_FLAGS_FABRIC_CPY_BATCH_NODE_PARAMS - 1;
	struct graph *graph;
	CUresult result = api_need(api_ready(__func__), __func__, path);
	if (result == CUDA_SUCCESS && (flags & ~known)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", __func__,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct str text = STR_INIT;
	graph_lock();
	result = graph_find(__func__, handle, &graph);
	if (result == CUDA_SUCCESS) {
		str_add(&text, "digraph dot {\n");
		graph_dot(&text, graph, flags);
		str_add(&text, "}\n");
	}
	graph_unlock();
	if (result == CUDA_SUCCESS) {
		result = graph_write_dot(__func__, path, &text);
	}
	str_free(&text);
	return result;
}
