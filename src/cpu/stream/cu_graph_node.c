/* SPDX-License-Identifier: MIT */
/*
 * What nodes do.  Each kind of node has a function that checks its parameters and describes the
 * work; the parameters as the program gets them back point into the node's own copy.
 */
#include "base/common.h"

#include "cpu/stream/cu_graph_node.h"

#include "base/alloc.h"
#include "cpu/object/cu_mempool.h"
#include "cpu/stream/work_describe.h"

#include <string.h>

struct making {
	const char *call;
	CUgraphNodeParams *params;
	const struct node_data *old;
};

/* NULL stands for the current context. */
static CUresult node_find_context(const char *call, CUcontext handle, struct context **out)
{
	if (!handle) {
		return api_enter(call, out);
	}
	*out = handle_get(handle, API_CONTEXT);
	return *out ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_CONTEXT,
		"%s: not the handle of a live context", call);
}

/* Data without a payload, of the kind and with the parameters that were given. */
static CUresult node_plain_data(const struct making *m, struct context *context,
	const struct work *work, struct node_data **out)
{
	struct node_data *data = node_data_create(0);
	if (!data) {
		return api_no_memory(m->call);
	}
	data->params = *m->params;
	data->context = context ? context->handle : NULL;
	data->work = *work;
	*out = data;
	return CUDA_SUCCESS;
}

/* --- Kernels --- */

bool node_has_function(const struct node_data *data)
{
	return handle_get(data->params.kernel.func, API_FUNCTION) == data->work.kernel.function;
}

static void node_list_parameters(struct node_data *data, const struct ptx_func *func, void **list)
{
	for (size_t i = 0; i < func->param_count; i++) {
		list[i] = (uint8_t *)data->work.kernel.params + func->params[i]->offset;
	}
	data->params.kernel.kernelParams = list;
}

static void node_list_extra(struct node_data *data, void **list)
{
	size_t *size = (size_t *)(void *)(list + 5);
	*size = data->work.kernel.param_size;
	list[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	list[1] = (void *)data->work.kernel.params;
	list[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	list[3] = size;
	list[4] = CU_LAUNCH_PARAM_END;
	data->params.kernel.extra = list;
}

/* A payload has the attributes, the bytes of the parameters, and a list that leads to these. */
static struct node_data *node_kernel_data(const struct work *work, bool by_extra,
	const CUlaunchAttributeValue *attributes)
{
	const struct kernel_work *kernel = &work->kernel;
	const struct ptx_func *func = kernel->function->ptx;
	const size_t head = NODE_ATTRIBUTES * sizeof(*attributes);
	const size_t bytes = round_up(kernel->param_size, 64);
	struct node_data *data = node_data_create(head + bytes
		+ (func->param_count + 6) * sizeof(void *));
	if (!data) {
		return NULL;
	}
	struct context *context = kernel->function->module->object.context;
	data->context = context->handle;
	data->work = *work;
	data->work.kernel.params = data->payload + head;
	if (kernel->param_size > 0) {
		memcpy(data->payload + head, kernel->params, kernel->param_size);
	}
	data->attributes = (CUlaunchAttributeValue *)(void *)data->payload;
	if (attributes) {
		memcpy(data->attributes, attributes, head);
	}
	data->attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = kernel->is_cooperative;
	data->attributes[CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE].sharedMemoryMode
		= kernel->shared_mode;
	data->params.type = CU_GRAPH_NODE_TYPE_KERNEL;
	data->params.kernel = (CUDA_KERNEL_NODE_PARAMS){
		.func = kernel->function->handle,
		.gridDimX = kernel->grid[0], .gridDimY = kernel->grid[1],
		.gridDimZ = kernel->grid[2], .blockDimX = kernel->block[0],
		.blockDimY = kernel->block[1], .blockDimZ = kernel->block[2],
		.sharedMemBytes = kernel->dynamic_shared, .ctx = context->handle
	};
	void **list = (void **)(void *)(data->payload + head + bytes);
	if (by_extra) {
		node_list_extra(data, list);
	} else {
		node_list_parameters(data, func, list);
	}
	return data;
}

static CUresult node_make_kernel(const struct making *m, struct node_data **out)
{
	const CUDA_KERNEL_NODE_PARAMS *p = &m->params->kernel;
	const CUlaunchAttributeValue *attributes = m->old ? m->old->attributes : NULL;
	struct work work = {.kernel = {
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.dynamic_shared = p->sharedMemBytes,
		.is_cooperative = m->old && m->old->work.kernel.is_cooperative,
		.shared_mode = m->old ? m->old->work.kernel.shared_mode : 0,
		.timeout = m->old ? m->old->work.kernel.timeout : 0
	}};
	CUfunction handle = p->func ? p->func : (CUfunction)(void *)p->kern;
	const struct function *function = handle_get(handle, API_FUNCTION);
	struct context *context = function ? function->module->object.context : NULL;
	CUresult result = context ? CUDA_SUCCESS
		: node_find_context(m->call, p->func ? NULL : p->ctx, &context);
	struct parameters parameters;
	parameters.values = p->kernelParams;
	parameters.extra = p->extra;
	parameters.many = NULL;
	if (result == CUDA_SUCCESS && p->extra && work.kernel.is_cooperative) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: parameters as extra, of a cooperative kernel", m->call);
	}
	if (result == CUDA_SUCCESS) {
		result = work_describe_kernel(m->call, context, handle, &parameters, &work);
	}
	if (result == CUDA_SUCCESS && !(*out = node_kernel_data(&work, p->extra, attributes))) {
		result = api_no_memory(m->call);
	}
	mem_free(parameters.many);
	return result;
}

CUresult node_make_attribute(const char *call, const struct node_data *old,
	const CUlaunchAttribute *attribute, struct node_data **out)
{
	struct work work = old->work;
	CUresult result = work_check_attribute(call, attribute);
	if (result == CUDA_SUCCESS && !node_has_function(old)) {
		return api_bad_handle(call, "function");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
		work.kernel.is_cooperative = attribute->value.cooperative != 0;
	} else if (attribute->id == CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE) {
		work.kernel.shared_mode = (uint8_t)attribute->value.sharedMemoryMode;
	}
	*out = node_kernel_data(&work, old->params.kernel.extra, old->attributes);
	if (!*out) {
		return api_no_memory(call);
	}
	(*out)->attributes[attribute->id] = attribute->value;
	return CUDA_SUCCESS;
}

/* --- Copies and fills --- */

static CUresult node_make_copy(const struct making *m, struct node_data **out)
{
	CUDA_MEMCPY_NODE_PARAMS *p = &m->params->memcpy;
	struct context *context;
	struct work work;
	CUresult result = node_find_context(m->call, p->copyCtx, &context);
	if (result == CUDA_SUCCESS && (p->flags != 0 || p->reserved != 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags of a copy", m->call);
	}
	if (result == CUDA_SUCCESS) {
		p->copyCtx = context->handle;
		result = work_describe_copy(m->call, context, &p->copyParams, &work);
	}
	return result == CUDA_SUCCESS ? node_plain_data(m, context, &work, out) : result;
}

/* The attributes are hints about when and where; the parts of the list that they are for must be
 * well-formed all the same. */
static CUresult node_check_batch(const char *call, const CUDA_MEMCPY_BATCH_NODE_PARAMS_V1 *p)
{
	bool ok = p->count > 0 && p->dsts && p->srcs && p->sizes && p->attrs && p->attrsIdxs
		&& p->numAttrs > 0 && p->numAttrs <= p->count && p->attrsIdxs[0] == 0;
	for (size_t i = 0; ok && i < p->numAttrs; i++) {
		ok = p->attrsIdxs[i] < p->count && (i == 0 || p->attrsIdxs[i] > p->attrsIdxs[i - 1])
			&& p->attrs[i].srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
			&& p->attrs[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY
			&& p->attrs[i].flags <= CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: a list is missing, or %zu attributes do not fit %zu copies", call,
		p->numAttrs, p->count);
}

/* The payload has the copies, and the lists as the program gets them back. */
static struct node_data *node_batch_data(const struct making *m)
{
	const CUDA_MEMCPY_BATCH_NODE_PARAMS_V1 *p = &m->params->memcpyBatch;
	size_t copies;
	size_t attributes;
	size_t size;
	if (!size_mul(&copies, p->count, sizeof(struct box) + 3 * sizeof(size_t))
	    || !size_mul(&attributes, p->numAttrs, sizeof(*p->attrs) + sizeof(size_t))
	    || !size_add(&size, copies, attributes)) {
		return NULL;
	}
	struct node_data *data = node_data_create(size);
	if (!data) {
		return NULL;
	}
	CUDA_MEMCPY_BATCH_NODE_PARAMS_V1 *own = &data->params.memcpyBatch;
	struct box *boxes = (struct box *)(void *)data->payload;
	data->params = *m->params;
	own->dsts = (CUdeviceptr *)(boxes + p->count);
	own->srcs = own->dsts + p->count;
	own->sizes = (size_t *)(own->srcs + p->count);
	own->attrsIdxs = own->sizes + p->count;
	own->attrs = (CUmemcpyAttributes *)(own->attrsIdxs + p->numAttrs);
	memcpy(own->dsts, p->dsts, p->count * sizeof(*p->dsts));
	memcpy(own->srcs, p->srcs, p->count * sizeof(*p->srcs));
	memcpy(own->sizes, p->sizes, p->count * sizeof(*p->sizes));
	memcpy(own->attrsIdxs, p->attrsIdxs, p->numAttrs * sizeof(*p->attrsIdxs));
	memcpy(own->attrs, p->attrs, p->numAttrs * sizeof(*p->attrs));
	data->work = (struct work){.kind = WORK_COPIES, .copies = {boxes, 0}};
	return data;
}

/* A copy of 0 bytes is one that is switched off. */
static CUresult node_fill_batch(const char *call, struct context *context, struct node_data *data)
{
	const CUDA_MEMCPY_BATCH_NODE_PARAMS_V1 *p = &data->params.memcpyBatch;
	struct box *boxes = (struct box *)(void *)data->payload;
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; result == CUDA_SUCCESS && i < p->count; i++) {
		const struct box box = {
			.to = {.side = SIDE_ANY, .address = p->dsts[i], .pitch = p->sizes[i],
				.slice = p->sizes[i]},
			.from = {.side = SIDE_ANY, .address = p->srcs[i], .pitch = p->sizes[i],
				.slice = p->sizes[i]},
			.width = p->sizes[i], .height = 1, .depth = 1
		};
		if (box.width > 0) {
			boxes[data->work.copies.count++] = box;
			result = work_check_box(call, context, &box);
		}
	}
	return result;
}

static CUresult node_make_batch(const struct making *m, struct node_data **out)
{
	CUDA_MEMCPY_BATCH_NODE_PARAMS_V1 *p = &m->params->memcpyBatch;
	struct context *context;
	CUresult result = node_find_context(m->call, p->ctx, &context);
	if (result == CUDA_SUCCESS) {
		result = node_check_batch(m->call, p);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct node_data *data = node_batch_data(m);
	if (!data) {
		return api_no_memory(m->call);
	}
	data->context = data->params.memcpyBatch.ctx = context->handle;
	result = node_fill_batch(m->call, context, data);
	if (result == CUDA_SUCCESS) {
		*out = data;
	} else {
		node_data_release(data);
	}
	return result;
}

static CUresult node_make_fill(const struct making *m, struct node_data **out)
{
	CUDA_MEMSET_NODE_PARAMS_v2 *p = &m->params->memset;
	const struct fill fill = {p->dst, p->height > 1 ? p->pitch : 0, p->value, p->elementSize,
		p->width, p->height};
	struct context *context;
	struct work work;
	CUresult result = node_find_context(m->call, p->ctx, &context);
	if (result == CUDA_SUCCESS) {
		p->ctx = context->handle;
		result = work_describe_fill(m->call, context, &fill, &work);
	}
	return result == CUDA_SUCCESS ? node_plain_data(m, context, &work, out) : result;
}

/* --- Host functions, events, values --- */

static CUresult node_make_host(const struct making *m, struct node_data **out)
{
	const CUDA_HOST_NODE_PARAMS_v2 *p = &m->params->host;
	const struct work work = {.kind = WORK_HOST, .host = {p->fn, p->userData}};
	if (p->syncMode > CU_HOST_TASK_SPINWAIT) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown way to wait %u", m->call,
			p->syncMode);
	}
	return p->fn ? node_plain_data(m, NULL, &work, out) : api_null(m->call, "the function");
}

static CUresult node_make_event(const struct making *m, struct node_data **out)
{
	// Records and waits have the event at the same place.
	const struct work work = {
		.kind = m->params->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? WORK_WAIT : WORK_RECORD,
		.event = m->params->eventWait.event
	};
	return handle_get(work.event, API_EVENT) ? node_plain_data(m, NULL, &work, out)
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live event", m->call);
}

static CUresult node_values_data(const char *call, struct context *context, const struct work *work,
	struct node_data **out)
{
	size_t size = work->values.count * sizeof(*work->values.list);
	struct node_data *data = node_data_create(size);
	if (!data) {
		return api_no_memory(call);
	}
	memcpy(data->payload, work->values.list, size);
	data->context = context->handle;
	data->work = *work;
	data->work.values.list = (const CUstreamBatchMemOpParams *)(void *)data->payload;
	data->params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	data->params.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS){context->handle,
		(unsigned)work->values.count, (CUstreamBatchMemOpParams *)(void *)data->payload, 0};
	*out = data;
	return CUDA_SUCCESS;
}

static CUresult node_make_values(const struct making *m, struct node_data **out)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *p = &m->params->memOp;
	const struct values_list list = {VALUES_2, p->count, p->paramArray, p->flags};
	struct context *context;
	struct work work;
	CUresult result = node_find_context(m->call, p->ctx, &context);
	if (result == CUDA_SUCCESS) {
		result = work_describe_values(m->call, context, &list, &work);
	}
	if (result == CUDA_SUCCESS && p->count == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no operations", m->call);
	}
	return result == CUDA_SUCCESS ? node_values_data(m->call, context, &work, out) : result;
}

/* --- Memory --- */

/* Whether all who are to have access are devices. */
static bool node_names_devices(const CUmemAccessDesc *list, size_t count)
{
	bool ok = list || count == 0;
	for (size_t i = 0; ok && i < count; i++) {
		ok = list[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE
			&& list[i].location.id >= 0
			&& list[i].location.id < device_count();
	}
	return ok;
}

static CUresult node_make_alloc(const struct making *m, struct node_data **out)
{
	CUDA_MEM_ALLOC_NODE_PARAMS *p = &m->params->alloc;
	const size_t size = p->accessDescCount * sizeof(*p->accessDescs);
	struct context *context;
	enum mempool_place place = POOL_DEVICE;
	CUresult result = api_enter(m->call, &context);
	if (result == CUDA_SUCCESS) {
		result = mempool_place(m->call, &p->poolProps.location, p->poolProps.allocType,
			&place);
	}
	bool ok = p->poolProps.handleTypes == CU_MEM_HANDLE_TYPE_NONE
		&& node_names_devices(p->accessDescs, p->accessDescCount);
	if (result == CUDA_SUCCESS && !ok) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: graphs allocate memory for devices and this process", m->call);
	}
	struct graph_memory *memory = NULL;
	if (result == CUDA_SUCCESS) {
		result = graph_memory_create(m->call, context, p->bytesize,
			mempool_kind(place), mempool_is_devices(place)
			? (unsigned)p->poolProps.location.id : context->device->ordinal,
			&memory);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct node_data *data = node_data_create(size);
	if (!data) {
		graph_memory_release(memory);
		return api_no_memory(m->call);
	}
	p->dptr = memory->address;
	data->params = *m->params;
	if (size > 0) {
		memcpy(data->payload, p->accessDescs, size);
		data->params.alloc.accessDescs = (const CUmemAccessDesc *)(void *)data->payload;
	}
	data->context = context->handle;
	data->memory = memory;
	*out = data;
	return CUDA_SUCCESS;
}

static CUresult node_make_free(const struct making *m, struct node_data **out)
{
	const struct work work = {.kind = WORK_EMPTY};
	struct graph_memory *memory = graph_memory_find(m->params->free.dptr);
	if (!memory) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: 0x%llx does not come from an allocation node", m->call,
			m->params->free.dptr);
	}
	CUresult result = node_plain_data(m, NULL, &work, out);
	if (result == CUDA_SUCCESS) {
		(*out)->context = memory->context;
		(*out)->memory = memory;
	} else {
		graph_memory_release(memory);
	}
	return result;
}

/* --- Conditions --- */

static CUresult node_check_condition(const char *call, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	static const unsigned most[] = {
		[CU_GRAPH_COND_TYPE_IF] = 2, [CU_GRAPH_COND_TYPE_WHILE] = 1,
		[CU_GRAPH_COND_TYPE_SWITCH] = 1 << 16,
	};
	if ((unsigned)p->type >= countof(most) || p->size == 0 || p->size > most[p->type]) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a conditional node of type %d with "
			"%u bodies", call, (int)p->type, p->size);
	}
	return CUDA_SUCCESS;
}

/* The payload is the list of the bodies, which the caller makes when it adds the node. */
static CUresult node_make_condition(const struct making *m, struct node_data **out)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *p = &m->params->conditional;
	struct condition *condition = condition_find(p->handle);
	struct context *context;
	CUresult result = node_check_condition(m->call, p);
	if (result == CUDA_SUCCESS && !condition) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live condition",
			m->call);
	}
	if (result == CUDA_SUCCESS) {
		result = node_find_context(m->call, p->ctx, &context);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct node_data *data = node_data_create(p->size * sizeof(CUgraph));
	if (!data) {
		return api_no_memory(m->call);
	}
	data->params = *m->params;
	data->params.conditional.ctx = context->handle;
	data->params.conditional.phGraph_out = (CUgraph *)(void *)data->payload;
	data->context = context->handle;
	data->condition = condition_retain(condition);
	data->work.kind = WORK_CONDITION;
	*out = data;
	return CUDA_SUCCESS;
}

/* --- All of them --- */

static CUresult node_make_nothing(const struct making *m, struct node_data **out)
{
	const struct work work = {.kind = WORK_EMPTY};
	return node_plain_data(m, NULL, &work, out);
}

static CUresult (*const makers[])(const struct making *m, struct node_data **out) = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = node_make_kernel,
	[CU_GRAPH_NODE_TYPE_MEMCPY] = node_make_copy,
	[CU_GRAPH_NODE_TYPE_MEMSET] = node_make_fill,
	[CU_GRAPH_NODE_TYPE_HOST] = node_make_host,
	[CU_GRAPH_NODE_TYPE_GRAPH] = node_make_nothing,
	[CU_GRAPH_NODE_TYPE_EMPTY] = node_make_nothing,
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = node_make_event,
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = node_make_event,
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = node_make_alloc,
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = node_make_free,
	[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = node_make_values,
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = node_make_condition,
	[CU_GRAPH_NODE_TYPE_MEMCPY_BATCH] = node_make_batch
};

CUresult node_make(const char *call, CUgraphNodeParams *params, const struct node_data *old,
	struct node_data **out)
{
	const struct making making = {call, params, old};
	if (params->type == CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device has no fabric", call);
	}
	if ((unsigned)params->type >= countof(makers)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type of node %d", call,
			(int)params->type);
	}
	return makers[params->type] ? makers[params->type](&making, out)
		: api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device has no external semaphores", call);
}

/* --- From work --- */

static CUmemorytype node_memory_type(enum side side)
{
	return side == SIDE_HOST ? CU_MEMORYTYPE_HOST
		: side == SIDE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

/* The description of a box; what was an array is the memory of the array. */
static void node_describe_box(const struct box *box, CUDA_MEMCPY3D *out)
{
	*out = (CUDA_MEMCPY3D){
		.srcMemoryType = node_memory_type(box->from.side),
		.srcHost = (const void *)(uintptr_t)box->from.address,
		.srcDevice = box->from.address, .srcPitch = box->from.pitch,
		.srcHeight = box->from.pitch > 0 ? box->from.slice / box->from.pitch : 0,
		.dstMemoryType = node_memory_type(box->to.side),
		.dstHost = (void *)(uintptr_t)box->to.address,
		.dstDevice = box->to.address, .dstPitch = box->to.pitch,
		.dstHeight = box->to.pitch > 0 ? box->to.slice / box->to.pitch : 0,
		.WidthInBytes = box->width, .Height = box->height, .Depth = box->depth
	};
}

CUresult node_make_work(const char *call, struct context *context, const struct work *work,
	struct node_data **out)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	const struct making making = {call, &params, NULL};
	switch (work->kind) {
	case WORK_KERNEL:
		*out = node_kernel_data(work, false, NULL);
		return *out ? CUDA_SUCCESS : api_no_memory(call);
	case WORK_COPY:
		params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
		params.memcpy.copyCtx = context->handle;
		node_describe_box(&work->copy, &params.memcpy.copyParams);
		break;
	case WORK_FILL:
		params.type = CU_GRAPH_NODE_TYPE_MEMSET;
		params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){work->fill.to, work->fill.pitch,
			work->fill.value, (unsigned)work->fill.size, work->fill.width,
			work->fill.height, context->handle};
		break;
	case WORK_HOST:
		params.type = CU_GRAPH_NODE_TYPE_HOST;
		params.host = (CUDA_HOST_NODE_PARAMS_v2){.fn = work->host.function,
			.userData = work->host.data};
		break;
	case WORK_VALUES:
		return node_values_data(call, context, work, out);
	case WORK_EMPTY:
		break;
	default:
		return api_fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"%s: not while the stream is captured", call);
	}
	return node_plain_data(&making, work->kind != WORK_HOST ? context : NULL, work, out);
}

/* --- Changes --- */

bool node_is_plain(const struct node_data *data)
{
	return (data->work.kind != WORK_COPY
			|| (data->work.copy.height == 1 && data->work.copy.depth == 1))
		&& (data->work.kind != WORK_FILL || data->work.fill.height == 1);
}

static bool node_same_operations(const struct work *a, const struct work *b)
{
	bool same = a->values.count == b->values.count;
	for (size_t i = 0; same && i < a->values.count; i++) {
		same = a->values.list[i].operation == b->values.list[i].operation;
	}
	return same;
}

CUgraphExecUpdateResult node_compare(const struct node_data *old, const struct node_data *data)
{
	bool same = true;
	if (old->params.type != data->params.type) {
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	}
	if (old->params.type == CU_GRAPH_NODE_TYPE_KERNEL) {
		return old->context != data->context
			? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
			: old->work.kernel.is_cooperative != data->work.kernel.is_cooperative
			? CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
			: CU_GRAPH_EXEC_UPDATE_SUCCESS;
	}
	if (old->memory != data->memory) {
		return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	}
	switch (old->work.kind) {
	case WORK_COPY:
		same = old->params.memcpy.copyParams.srcMemoryType
				== data->params.memcpy.copyParams.srcMemoryType
			&& old->params.memcpy.copyParams.dstMemoryType
				== data->params.memcpy.copyParams.dstMemoryType;
		break;
	case WORK_FILL:
		same = old->work.fill.height == data->work.fill.height
			&& (old->work.fill.height == 1
				|| (old->work.fill.width == data->work.fill.width
				    && old->work.fill.size == data->work.fill.size
				    && old->work.fill.pitch == data->work.fill.pitch));
		break;
	case WORK_COPIES:
		same = old->params.memcpyBatch.count == data->params.memcpyBatch.count;
		break;
	case WORK_VALUES:
		same = node_same_operations(&old->work, &data->work);
		break;
	case WORK_CONDITION:
		same = old->params.conditional.type == data->params.conditional.type
			&& old->params.conditional.size == data->params.conditional.size;
		break;
	default:
		break;
	}
	return same && old->context == data->context ? CU_GRAPH_EXEC_UPDATE_SUCCESS
		: CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

/* --- Nodes in graphs --- */

CUresult node_find(const char *call, CUgraphNode handle, struct graph_node **out)
{
	*out = handle_get(handle, API_GRAPH_NODE);
	return *out ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: not the handle of a live node", call);
}

CUresult graph_find(const char *call, CUgraph handle, struct graph **out)
{
	*out = handle_get(handle, API_GRAPH);
	return *out ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: not the handle of a live graph", call);
}

static bool node_is_valid_edge(const struct graph_node *from, const struct graph_node *to,
	const CUgraphEdgeData *data)
{
	static const unsigned char zeros[sizeof(data->reserved)];
	const bool kernels = from->data->params.type == CU_GRAPH_NODE_TYPE_KERNEL
		&& to->data->params.type == CU_GRAPH_NODE_TYPE_KERNEL;
	const bool is_programmatic = data->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
	return data->to_port == 0 && memcmp(data->reserved, zeros, sizeof(zeros)) == 0
		&& data->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
		&& data->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
		&& (data->from_port != 0) == is_programmatic && (!is_programmatic || kernels);
}

CUresult node_depend(const char *call, struct graph_node *from, struct graph_node *to,
	const CUgraphEdgeData *data)
{
	if (from->graph != to->graph || from == to) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: an edge from a node to itself or to another graph", call);
	}
	if (!node_is_valid_edge(from, to, data)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown data of an edge", call);
	}
	if (graph_edge(from, to)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the edge is there already", call);
	}
	return graph_connect(from, to, data) ? CUDA_SUCCESS : api_no_memory(call);
}

static CUresult node_depend_on_all(const char *call, struct graph_node *node,
	const struct dependencies *from)
{
	static const CUgraphEdgeData plain;
	for (size_t i = 0; i < from->count; i++) {
		struct graph_node *other;
		CUresult result = node_find(call, from->nodes[i], &other);
		if (result == CUDA_SUCCESS) {
			result = node_depend(call, other, node, from->data ? &from->data[i]
				: &plain);
		}
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	return CUDA_SUCCESS;
}

/* Memory may be freed once: in the graph that allocates it, or in others. */
static CUresult node_check_free(const char *call, const struct graph *graph, struct node_data *data)
{
	struct graph_memory *memory = data->memory;
	bool is_inside = memory->owner == graph;
	bool is_bad = memory->is_freed_inside || (is_inside && memory->is_freed_outside);
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		is_bad |= node->data->memory == memory
			&& node->data->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
	}
	if (is_bad) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: memory that a graph frees already",
			call);
	}
	if (!is_inside) {
		data->work = (struct work){.kind = WORK_FREE, .address = memory->address};
	}
	return CUDA_SUCCESS;
}

static CUresult node_check_memory(const char *call, const struct graph *graph,
	struct node_data *data)
{
	if (!data->memory) {
		return CUDA_SUCCESS;
	}
	if (graph->parent) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: a child graph cannot get nodes that allocate or free", call);
	}
	return data->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE ? node_check_free(call, graph, data)
		: CUDA_SUCCESS;
}

static void node_keep_account(struct graph *graph, const struct node_data *data)
{
	if (data->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
		data->memory->owner = graph;
	} else if (data->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
		data->memory->is_freed_inside |= data->memory->owner == graph;
		data->memory->is_freed_outside |= data->memory->owner != graph;
	}
}

static bool node_suits_body(CUgraphNodeType type)
{
	return type <= CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_GRAPH
		|| type == CU_GRAPH_NODE_TYPE_EMPTY || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* A conditional node has its bodies in a child graph. */
bool graph_suits(const struct graph *graph, bool is_in_body)
{
	bool suits = true;
	for (const struct graph_node *node = graph->first; node && suits; node = node->next) {
		suits = (!is_in_body || node_suits_body(node->data->params.type))
			&& (!node->child || graph_suits(node->child, is_in_body
				|| node->data->condition));
	}
	return suits;
}

CUresult node_add(const char *call, struct graph *graph, struct node_data *data,
	struct graph *child, const struct dependencies *from, struct graph_node **out)
{
	const bool had_memory = graph->has_memory, had_conditions = graph->has_conditions;
	CUresult result = node_check_memory(call, graph, data);
	if (result == CUDA_SUCCESS && !(*out = graph_add(graph, data, child))) {
		result = api_no_memory(call);
	}
	if (result != CUDA_SUCCESS) {
		node_data_release(data);
		return result;
	}
	result = node_depend_on_all(call, *out, from);
	if (result == CUDA_SUCCESS) {
		node_keep_account(graph, data);
		if (graph->has_memory) {
			graph_mark_memory(graph);
		}
		if (graph->has_conditions) {
			graph_mark_conditions(graph);
		}
	} else {
		(*out)->child = NULL;
		graph_remove(*out);
		graph->has_memory = had_memory;
		graph->has_conditions = had_conditions;
	}
	return result;
}
