/* SPDX-License-Identifier: MIT */
/*
 * Launching.
 *
 * A launch is checked as a whole before the driver is called: the arguments against the kernel's
 * parameters (args.c); grid, block and shared memory against the device.  The usual path takes no
 * lock and allocates nothing: arguments are packed on the stack.  Host memory passed by KZ_IN,
 * KZ_OUT and KZ_INOUT goes through buffers that live for one launch.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/kudzu_abi.h"
#include "lib/core/trace.h"
#include "lib/module/kernel_launch.h"
#include "lib/rtc/resources.h"

#include <string.h>

/* Arguments that are packed on the stack; longer lists (kz_launch_args) go to the heap. */
#define STACK_ARGS 64

/* Every extent from 1 to the limit; below 1 wraps beyond any limit. */
static inline bool kernel_is_within(const kz_dim3 *dim, const int64_t max[3])
{
	return (uint64_t)dim->x - 1 < (uint64_t)max[0] && (uint64_t)dim->y - 1 < (uint64_t)max[1]
		&& (uint64_t)dim->z - 1 < (uint64_t)max[2];
}

static kz_status kernel_refuse_extent(const struct launch *launch, const char *what,
	const kz_dim3 *dim, const int64_t max[3], kz_error *err)
{
	return error_set(err, KZ_LAUNCH,
		"%s of %lld x %lld x %lld for '%s': each extent is from 1 to %lld x %lld x %lld on "
		"%s", what, (long long)dim->x, (long long)dim->y, (long long)dim->z,
		launch->kernel->info->name, (long long)max[0], (long long)max[1],
		(long long)max[2], launch->dev->name);
}

static always_inline kz_status kernel_check_geometry(const struct launch *launch, kz_error *err)
{
	const kz_device_info *info = &launch->dev->info;
	if (unlikely(!kernel_is_within(launch->grid, info->max_grid))) {
		return kernel_refuse_extent(launch, "grid", launch->grid, info->max_grid, err);
	}
	if (unlikely(!kernel_is_within(launch->block, info->max_block))) {
		return kernel_refuse_extent(launch, "block", launch->block, info->max_block, err);
	}
	/* No overflow: the extents are within the device's limits. */
	int64_t threads = launch->block->x * launch->block->y * launch->block->z;
	if (unlikely(threads > launch->kernel->max_threads)) {
		return error_set(err, KZ_LAUNCH,
			"block of %lld x %lld x %lld = %lld threads: '%s' can have %lld on %s",
			(long long)launch->block->x, (long long)launch->block->y,
			(long long)launch->block->z, (long long)threads, launch->kernel->info->name,
			(long long)launch->kernel->max_threads, launch->dev->name);
	}
	return KZ_OK;
}

static always_inline kz_status kernel_check_shared(struct launch *launch, kz_error *err)
{
	const struct kz_kernel *kernel = launch->kernel;
	const kz_device_info *info = &launch->dev->info;
	/* So much was granted before, or needs no asking; negative sizes wrap beyond it. */
	if (likely((uint64_t)launch->shared_size
		   <= (uint64_t)atomic_load_explicit(&kernel->dynamic_limit,
		   	memory_order_relaxed))) {
		return KZ_OK;
	}
	int64_t most = info->shared_per_block_optin > info->shared_per_block
		? info->shared_per_block_optin : info->shared_per_block;
	most -= kernel->static_shared;
	if (launch->shared_size >= 0 && launch->shared_size <= most) {
		launch->needs_preparing = true;
		return KZ_OK;
	}
	return error_set(err, KZ_LAUNCH,
		"%lld bytes of dynamic shared memory for '%s': from 0 to %lld on %s%s",
		(long long)launch->shared_size, kernel->info->name, (long long)most,
		launch->dev->name, kernel->static_shared ? " beside its static ones" : "");
}

/* The usual array argument: on this device, contiguous, and of a dtype that may lie behind the
 * pointer.  Gives its memory, or NULL: then args_convert decides. */
static always_inline struct memory *kernel_take_array(uint64_t *slot, const struct param *param,
	const struct kz_array *array, const struct kz_device *dev)
{
	if (!object_is(array, OBJECT_ARRAY) || !dtype_is_builtin(array->dtype)
	    || !(param->dtypes & dtype_bit(array->dtype)) || !array->is_plain) {
		return NULL;
	}
	struct memory *memory = array->buffer->memory;
	*slot = memory->address + (uint64_t)(array->buffer->offset + array->offset);
	return memory->device == dev ? memory : NULL;
}

/* An argument that is not of the usual kinds. */
static kz_status kernel_pack_other(struct launch *launch, size_t i, struct memory **memory,
	kz_error *err)
{
	const kz_arg *arg = &launch->args[i];
	kz_status st = args_convert(&launch->slots[i], &launch->places[i], launch->kernel, i, arg,
		err);
	*memory = st ? NULL : launch_memory(arg);
	launch->has_host |= args_is_host(arg);
	return st;
}

static always_inline kz_status kernel_launch_pack(struct launch *launch, kz_error *err)
{
	/* In locals, which the stores below cannot change. */
	const struct kz_device *dev = launch->dev;
	const struct kz_stream *stream = launch->stream;
	const struct param *param = launch->kernel->params;
	const kz_arg *arg = launch->args;
	const kz_arg *end = arg + launch->count;
	uint64_t *slot = launch->slots;
	void **place = launch->places;
	struct memory **used = launch->used;
	bool elsewhere = stream_capture(stream);
	for (; arg < end; arg++, param++, slot++, place++) {
		struct memory *memory;
		*place = slot;
		if (args_tag(arg) == param->natural) {
			*slot = arg->value.u;
			continue;
		}
		memory = arg->kind == KZ_ARG_ARRAY
			? kernel_take_array(slot, param, arg->value.p, dev) : NULL;
		if (!memory) {
			kz_status st = kernel_pack_other(launch, (size_t)(arg - launch->args),
				&memory, err);
			if (st) {
				return st;
			}
		}
		if (memory) {
			*used++ = memory;
			elsewhere |= atomic_load_explicit(&memory->last, memory_order_relaxed)
				!= stream;
		}
	}
	launch->used_end = used;
	launch->needs_preparing |= elsewhere;
	return KZ_OK;
}

/* The driver is asked for more dynamic shared memory than usual, once per kernel and size. */
static kz_status kernel_launch_ask_shared(const struct launch *launch, kz_error *err)
{
	struct kz_kernel *kernel = launch->kernel;
	kz_status st = KZ_OK;
	if (launch->shared_size <= atomic_load(&kernel->dynamic_limit)) {
		return KZ_OK;
	}
	pthread_mutex_lock(&kernel->module->lock);
	if (launch->shared_size > atomic_load(&kernel->dynamic_limit)) {
		CUresult code = launch->dev->drv->FuncSetAttribute(kernel->handle,
			CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)launch->shared_size);
		st = device_ok(launch->dev, code, "cuFuncSetAttribute", err);
		if (!st) {
			atomic_store(&kernel->dynamic_limit, launch->shared_size);
		}
	}
	pthread_mutex_unlock(&kernel->module->lock);
	return st;
}

/* What few launches need.  The stream is put after the last use of every memory.  A graph that the
 * launch is captured into keeps the kernel. */
static kz_status kernel_launch_prepare(const struct launch *launch, kz_error *err)
{
	kz_status st = module_capture(launch->kernel->module, launch->stream, err);
	for (struct memory **used = launch->used; !st && used < launch->used_end; used++) {
		st = memory_use(*used, launch->stream, err);
	}
	return st ? st : kernel_launch_ask_shared(launch, err);
}

void launch_fill_node(const struct launch *launch, struct kz_node *node)
{
	const kz_dim3 *dims[2] = {launch->grid, launch->block};
	for (int i = 0; i < 2; i++) {
		uint32_t *to = i ? node->block : node->grid;
		to[0] = (uint32_t)dims[i]->x;
		to[1] = (uint32_t)dims[i]->y;
		to[2] = (uint32_t)dims[i]->z;
	}
	node->kernel = launch->kernel;
	node->shared_size = (uint32_t)launch->shared_size;
	launch_fill_memory(launch, node);
}

void launch_fill_memory(const struct launch *launch, struct kz_node *node)
{
	node->used_count = (size_t)(launch->used_end - launch->used);
	if (node->used_count > 0) {
		memcpy(node->used, launch->used, node->used_count * sizeof(struct memory *));
	}
}

/* Let the program find the node of a captured launch by the kernel's name. */
static kz_status kernel_launch_name_node(const struct launch *launch, struct capture *capture,
	kz_error *err)
{
	struct kz_node *node = node_create(CU_GRAPH_NODE_TYPE_KERNEL, launch->kernel->info->name,
		launch->count);
	if (!node) {
		return error_no_memory(err);
	}
	launch_fill_node(launch, node);
	return capture_add_node(capture, launch->stream, node, err);
}

/* See memory_used: this does something only if another thread came between. */
static always_inline kz_status kernel_hand_on_memory(const struct launch *launch, kz_error *err)
{
	kz_status st = KZ_OK;
	for (struct memory **used = launch->used; !st && used < launch->used_end; used++) {
		st = memory_used(*used, launch->stream, err);
	}
	return st;
}

/* Hand a launch that was checked to the driver; the context is current. */
static always_inline kz_status kernel_launch_submit(const struct launch *launch, kz_error *err)
{
	const struct drv *drv = launch->dev->drv;
	const kz_dim3 *grid = launch->grid;
	const kz_dim3 *block = launch->block;
	kz_status st;
	if (unlikely(launch->needs_preparing) && (st = kernel_launch_prepare(launch, err))) {
		return st;
	}
	if (unlikely(launch->has_attributes)) {
		st = launch_with_attributes(launch, err);
	} else {
		CUresult code = drv->LaunchKernel(launch->kernel->handle, (unsigned)grid->x,
			(unsigned)grid->y, (unsigned)grid->z, (unsigned)block->x,
			(unsigned)block->y, (unsigned)block->z, (unsigned)launch->shared_size,
			launch->stream->handle, launch->places, NULL);
		st = device_ok(launch->dev, code, "cuLaunchKernel", err);
	}
	if (unlikely(st != KZ_OK)) {
		return st;
	}
	struct capture *capture = stream_capture(launch->stream);
	return unlikely(capture) ? kernel_launch_name_node(launch, capture, err)
		: kernel_hand_on_memory(launch, err);
}

/* The same, in the trace.  What the kernel waits for is not a part of it. */
static kz_status kernel_launch_traced(const struct launch *launch, kz_error *err)
{
	struct trace_op op;
	kz_status st = launch->needs_preparing ? kernel_launch_prepare(launch, err) : KZ_OK;
	if (st) {
		return st;
	}
	long long shared = launch->shared_size + launch->kernel->static_shared;
	trace_op_begin(&op, launch->stream, launch->kernel->info->name);
	st = kernel_launch_submit(launch, err);
	trace_op_end(&op, st, "launch", TRACE_LAUNCH_ARGS,
		(long long)launch->stream->number, (long long)launch->grid->x,
		(long long)launch->grid->y, (long long)launch->grid->z, (long long)launch->block->x,
		(long long)launch->block->y, (long long)launch->block->z,
		shared);
	return st;
}

static always_inline kz_status kernel_launch_enqueue(const struct launch *launch, kz_error *err)
{
	return unlikely(trace_is_on()) ? kernel_launch_traced(launch, err)
		: kernel_launch_submit(launch, err);
}

/* Host memory as argument: a buffer for each, filled before and read back after the launch. */

static bool kernel_goes_in(const kz_arg *arg)
{
	return arg->kind == KZ_ARG_IN || arg->kind == KZ_ARG_INOUT;
}

static bool kernel_comes_out(const kz_arg *arg)
{
	return arg->kind == KZ_ARG_OUT || arg->kind == KZ_ARG_INOUT;
}

static kz_status kernel_stage_in(const struct launch *launch, size_t i, struct kz_buffer **out,
	kz_error *err)
{
	const kz_arg *arg = &launch->args[i];
	kz_status st = kz_buffer_create(out, launch->dev, arg->size, err);
	if (!st) {
		(*out)->memory->argument = (int32_t)i + 1;
		launch->slots[i] = kz_buffer_address(*out);
		if (kernel_goes_in(arg)) {
			st = kz_copy_htod_async(*out, 0, arg->value.p, arg->size, launch->stream,
				err);
		} else {
			/* Bytes that the kernel does not write must not come back as old memory. */
			st = kz_fill(*out, 0, arg->size, "", 1, launch->stream, err);
		}
	}
	return st;
}

static kz_status kernel_refuse_capture(const struct launch *launch, kz_error *err)
{
	bool is_capturing;
	kz_status st = stream_find_capturing(&is_capturing, launch->stream, err);
	if (!st && is_capturing) {
		st = error_set(err, KZ_STATE,
			"KZ_IN, KZ_OUT and KZ_INOUT wait for the kernel, which a capture cannot");
	}
	return st;
}

static kz_status kernel_launch_staged(const struct launch *launch, struct kz_buffer **buffers,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; !st && i < launch->count; i++) {
		if (kernel_goes_in(&launch->args[i]) || kernel_comes_out(&launch->args[i])) {
			st = kernel_stage_in(launch, i, &buffers[i], err);
		}
	}
	st = st ? st : kernel_launch_enqueue(launch, err);
	for (size_t i = 0; !st && i < launch->count; i++) {
		const kz_arg *arg = &launch->args[i];
		if (kernel_comes_out(arg)) {
			st = kz_copy_dtoh_async((void *)arg->value.p, arg->size, buffers[i], 0,
				launch->stream, err);
		}
	}
	return st;
}

static kz_status kernel_launch_with_host(const struct launch *launch, kz_error *err)
{
	/* Before anything else: even waiting would end the capture. */
	kz_status st = kernel_refuse_capture(launch, err);
	if (st) {
		return st;
	}
	struct kz_buffer **buffers = mem_zalloc(launch->count, sizeof(*buffers));
	if (!buffers) {
		return error_no_memory(err);
	}
	st = kernel_launch_staged(launch, buffers, err);
	/* Also after a failure: copies in flight still use the caller's memory. */
	kz_status waited = kz_stream_synchronize(launch->stream, st ? NULL : err);
	for (size_t i = 0; i < launch->count; i++) {
		kz_buffer_release(buffers[i]);
	}
	mem_free(buffers);
	return st ? st : waited;
}

static always_inline kz_status kernel_launch_start(struct launch *launch, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = kernel_launch_pack(launch, err)) || (st = kernel_check_geometry(launch, err))
	    || (st = kernel_check_shared(launch, err)) || (st = device_enter(launch->dev, &scope,
	err))) {
		return st;
	}
	st = unlikely(launch->has_host) ? kernel_launch_with_host(launch, err)
		: kernel_launch_enqueue(launch, err);
	device_leave(launch->dev, &scope);
	return st;
}

kz_status launch_check_sizes(struct launch *launch, kz_error *err)
{
	kz_status st = kernel_check_geometry(launch, err);
	return st ? st : kernel_check_shared(launch, err);
}

kz_status launch_check(struct launch *launch, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	if ((st = kernel_launch_pack(launch, err)) || (st = kernel_check_geometry(launch, err))
	    || (st = kernel_check_shared(launch, err)) || (st = device_enter(launch->dev, &scope,
	err))) {
		return st;
	}
	st = kernel_launch_ask_shared(launch, err);
	device_leave(launch->dev, &scope);
	return st;
}

kz_status launch_again(struct launch *launch, kz_error *err)
{
	struct device_scope scope;
	bool prepare = stream_capture(launch->stream) || launch->shared_size
		> atomic_load_explicit(&launch->kernel->dynamic_limit, memory_order_relaxed);
	for (struct memory **used = launch->used; used < launch->used_end; used++) {
		prepare |= atomic_load_explicit(&(*used)->last, memory_order_relaxed)
			!= launch->stream;
	}
	launch->needs_preparing = prepare;
	kz_status st = device_enter(launch->dev, &scope, err);
	if (likely(!st)) {
		st = kernel_launch_enqueue(launch, err);
		device_leave(launch->dev, &scope);
	}
	return st;
}

kz_status launch_read_options(struct launch *launch, const kz_launch_options *options,
	kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_launch_options", options->size, sizeof(*options), err);
	}
	launch->shared_size = options->shared_size;
	const int32_t *cluster = options->cluster;
	kz_status st = KZ_OK;
	if (unlikely(options->cooperative | options->programmatic | cluster[0] | cluster[1]
			| cluster[2] | (options->timeout_ms != 0))) {
		st = launch_read_attributes(launch, options, err);
	}
	return st ? st : stream_pick(&launch->stream, launch->dev, options->stream, err);
}

kz_status launch_check_call(const struct kz_kernel *kernel, const kz_arg *args, size_t count,
	kz_error *err)
{
	if (!kernel_is_held(kernel)) {
		return kernel_refuse(kernel, err);
	}
	if (count && !args) {
		return error_set(err, KZ_INVALID, "the argument list is NULL");
	}
	return count == kernel->param_count ? KZ_OK : error_set(err, KZ_ARGUMENT,
		"'%s' takes %zu argument%s, got %zu: %s", kernel->info->name, kernel->param_count,
		kernel->param_count == 1 ? "" : "s", count, kernel->signature);
}

/* Only a launch of something else than a kernel is a mistake in a call of kz_launch. */
static kz_status kernel_check_launch(const struct kz_kernel *kernel, const kz_arg *args,
	size_t count, kz_error *err)
{
	error_scope_of(err, "kz_launch");
	return launch_check_call(kernel, args, count, err);
}

/* Room on the heap for more arguments than the stack has. */
kz_status launch_make_room(struct launch *launch, kz_error *err)
{
	launch->slots = mem_zalloc(launch->count, sizeof(*launch->slots) + sizeof(*launch->places)
		+ sizeof(*launch->used));
	launch->places = (void **)(launch->slots + launch->count);
	launch->used = (struct memory **)(launch->places + launch->count);
	return launch->slots ? KZ_OK : error_no_memory(err);
}

kz_status kz_launch_args(kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, const kz_arg *args, size_t count, kz_error *err)
{
	/* No error_scope: a message of a launch names the kernel. */
	uint64_t slots[STACK_ARGS];
	void *places[STACK_ARGS];
	struct memory *used[STACK_ARGS];
	kz_status st;
	if (unlikely(!kernel_is_held(kernel) || (count && !args) || count != kernel->param_count)) {
		return kernel_check_launch(kernel, args, count, err);
	}
	struct kz_device *dev = kernel->module->device;
	struct launch launch = {
		.kernel = kernel, .dev = dev, .stream = &dev->stream, .grid = &grid,
		.block = &block,
		.shared_size = 0, .args = args, .count = count,
		.slots = slots, .places = places, .used = used, .used_end = used,
	};
	if (unlikely(options) && (st = launch_read_options(&launch, options, err))) {
		return st;
	}
	if (unlikely(count > STACK_ARGS) && (st = launch_make_room(&launch, err))) {
		return st;
	}
	st = kernel_launch_start(&launch, err);
	if (launch.slots != slots) {
		mem_free(launch.slots);
	}
	return st;
}

kz_status kz_launch(kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, kz_error *err, kz_args args)
{
	/* No error_scope, as in kz_launch_args. */
	return kz_launch_args(kernel, grid, block, options, args.items, args.count, err);
}

/* The block size that fills the device best, asked of the driver once per kernel. */
static kz_status kernel_block_for_1d(int *out, struct kz_kernel *kernel, kz_error *err)
{
	struct kz_device *dev = kernel->module->device;
	struct device_scope scope;
	int grid = 0;
	*out = atomic_load(&kernel->block_1d);
	if (*out) {
		return KZ_OK;
	}
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	if (drv_has(dev->drv, DRV_cuOccupancyMaxPotentialBlockSize)) {
		CUresult code = dev->drv->OccupancyMaxPotentialBlockSize(&grid, out, kernel->handle,
			NULL, 0, 0);
		st = device_ok(dev, code, "cuOccupancyMaxPotentialBlockSize", err);
	}
	device_leave(dev, &scope);
	if (*out <= 0) {
		*out = kernel->max_threads < 256 ? (int)kernel->max_threads : 256;
	}
	if (!st) {
		atomic_store(&kernel->block_1d, *out);
	}
	return st;
}

/* A block of `threads` for extents of which the first is the fastest: along an axis no longer than
 * the power of two from its extent on, and than the device's limit. */
static kz_dim3 kernel_block_over(const struct kz_device *dev, int64_t threads,
	const int64_t extents[3], int ndim)
{
	int64_t block[3] = {1, 1, 1};
	if (ndim == 1) {
		return kz_dim(threads, 1, 1);
	}
	for (int i = 0; i < ndim; i++) {
		int64_t most = i == 0 && threads > 32 ? 32 : threads;
		most = dev->info.max_block[i] < most ? dev->info.max_block[i] : most;
		while (block[i] * 2 <= most && block[i] < extents[i]) {
			block[i] *= 2;
		}
		threads /= block[i];
	}
	return kz_dim(block[0], block[1], block[2]);
}

/* A thread for each of the elements of a line, a grid or a box. */
static kz_status kernel_launch_over(kz_kernel *kernel, const int64_t extents[3], int ndim,
	const kz_launch_options *options, const kz_args *args, kz_error *err)
{
	int threads = 0;
	bool empty = false;
	kz_status st = kernel_check_launch(kernel, args->items, args->count, err);
	for (int i = 0; !st && i < ndim; i++) {
		if (extents[i] < 0) {
			st = error_set(err, KZ_LAUNCH, "'%s' over %lld elements%s%.*s, expected 0 "
				"or more", kernel->info->name, (long long)extents[i],
				ndim > 1 ? " along " : "", ndim > 1, &"xyz"[i]);
		}
		empty |= extents[i] == 0;
	}
	if (st || empty || (st = kernel_block_for_1d(&threads, kernel, err))) {
		return st;
	}
	kz_dim3 block = kernel_block_over(kernel->module->device, threads, extents, ndim);
	kz_dim3 grid = kz_dim(divide_up(extents[0], block.x), divide_up(extents[1], block.y),
		divide_up(extents[2], block.z));
	return kz_launch(kernel, grid, block, options, err, *args);
}

kz_status kz_launch_1d(kz_kernel *kernel, int64_t count, const kz_launch_options *options,
	kz_error *err, kz_args args)
{
	/* No error_scope, as in kz_launch_args. */
	return kernel_launch_over(kernel, (int64_t[]){count, 1, 1}, 1, options, &args, err);
}

kz_status kz_launch_2d(kz_kernel *kernel, int64_t width, int64_t height,
	const kz_launch_options *options, kz_error *err, kz_args args)
{
	/* No error_scope, as in kz_launch_args. */
	return kernel_launch_over(kernel, (int64_t[]){width, height, 1}, 2, options, &args, err);
}

kz_status kz_launch_3d(kz_kernel *kernel, int64_t width, int64_t height, int64_t depth,
	const kz_launch_options *options, kz_error *err, kz_args args)
{
	/* No error_scope, as in kz_launch_args. */
	return kernel_launch_over(kernel, (int64_t[]){width, height, depth}, 3, options, &args,
		err);
}

/* Drivers before 11.8 know nothing of clusters, and have no kernels that want them. */
static void kernel_read_cluster(const struct kz_kernel *kernel, kz_kernel_info *info)
{
	static const CUfunction_attribute extents[3] = {
		CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
		CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
	};
	const struct drv *drv = kernel->module->device->drv;
	int value = 0;
	if (drv->FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
			kernel->handle) == CUDA_SUCCESS) {
		info->cluster_required = value;
	}
	for (size_t i = 0; i < countof(extents); i++) {
		if (drv->FuncGetAttribute(&value, extents[i], kernel->handle) == CUDA_SUCCESS) {
			info->cluster[i] = value;
		}
	}
}

/* Drivers before 9.0 have none. */
static int kernel_read_carveout(const struct kz_kernel *kernel)
{
	int value = CU_SHAREDMEM_CARVEOUT_DEFAULT;
	return kernel->module->device->drv->FuncGetAttribute(&value,
		CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kernel->handle) == CUDA_SUCCESS
		? value : CU_SHAREDMEM_CARVEOUT_DEFAULT;
}

/* Attributes of our own driver; other drivers do not have them. */
static void kernel_read_code(const struct kz_kernel *kernel, kz_kernel_info *info)
{
	static const CUfunction_attribute attributes[4] = {
		CU_FUNC_ATTRIBUTE_KUDZU_CODE_SIZE, CU_FUNC_ATTRIBUTE_KUDZU_WIDTH,
		CU_FUNC_ATTRIBUTE_KUDZU_TIER, CU_FUNC_ATTRIBUTE_KUDZU_COMPILE_US,
	};
	const struct drv *drv = kernel->module->device->drv;
	int value[4] = {0};
	if (!kernel->module->device->ptx_only) {
		return;
	}
	for (size_t i = 0; i < countof(attributes); i++) {
		if (drv->FuncGetAttribute(&value[i], attributes[i], kernel->handle)) {
			value[i] = 0;
		}
	}
	info->code_size = value[0];
	info->width = value[1];
	info->tier = value[2];
	info->compile_ms = value[3] / 1000.0;
}

/* Only an image of machine code tells, and where it was compiled. */
static void kernel_read_spills(const struct kz_kernel *kernel, kz_kernel_info *info)
{
	const struct rtc_image *image = &kernel->module->image->rtc;
	struct rtc_resources resources;
	info->spill_stores = info->spill_loads = -1;
	if (!image->is_ptx && !image->is_lto
	    && rtc_image_resources(&resources, image, kernel->info, NULL) == KZ_OK) {
		info->spill_stores = resources.spill_stores;
		info->spill_loads = resources.spill_loads;
	}
}

/* The context is current. */
static kz_status kernel_ask_occupancy(int *blocks, int *room, const struct launch *launch,
	int threads, kz_error *err)
{
	const struct drv *drv = launch->dev->drv;
	kz_status st = kernel_launch_ask_shared(launch, err);
	st = st ? st : device_ok(launch->dev, drv->OccupancyMaxActiveBlocksPerMultiprocessor(blocks,
		launch->kernel->handle, threads,
		(size_t)launch->shared_size), "cuOccupancyMaxActiveBlocksPerMultiprocessor", err);
	return st ? st : device_ok(launch->dev, drv->DeviceGetAttribute(room,
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, launch->dev->handle),
		"cuDeviceGetAttribute", err);
}

static kz_status kernel_read_occupancy(struct kz_kernel *kernel, kz_kernel_info *info,
	kz_error *err)
{
	struct launch launch = {.kernel = kernel, .dev = kernel->module->device};
	int block = 0, blocks = 0, room = 0;
	kz_status st = kernel_block_for_1d(&block, kernel, err);
	info->best_block = block;
	if (st || !drv_has(launch.dev->drv, DRV_cuOccupancyMaxActiveBlocksPerMultiprocessor)) {
		return st;
	}
	st = kernel_ask_occupancy(&blocks, &room, &launch, block, err);
	info->best_block_count = blocks;
	info->occupancy = st || room < 1 ? 0 : (double)blocks * block / room;
	return st;
}

static kz_status kernel_read_attributes(struct kz_kernel *kernel, kz_kernel_info *info,
	kz_error *err)
{
	struct kz_device *dev = kernel->module->device;
	int value[6] = {0};
	static const CUfunction_attribute attributes[6] = {
		CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_PTX_VERSION, CU_FUNC_ATTRIBUTE_BINARY_VERSION,
	};
	for (size_t i = 0; i < countof(attributes); i++) {
		kz_status st = device_ok(dev, dev->drv->FuncGetAttribute(&value[i], attributes[i],
			kernel->handle), "cuFuncGetAttribute", err);
		if (st) {
			return st;
		}
	}
	int64_t most = dev->info.shared_per_block_optin > dev->info.shared_per_block
		? dev->info.shared_per_block_optin : dev->info.shared_per_block;
	*info = (kz_kernel_info){
		.size = sizeof(*info), .registers = value[0],
		.max_threads_per_block = (int32_t)kernel->max_threads, .shared_size = value[1],
		.local_size = value[2], .constant_size = value[3], .ptx_version = value[4],
		.binary_version = value[5], .param_count = (int64_t)kernel->param_count,
		.dynamic_shared_size = most - value[1],
	};
	info->carveout = kernel_read_carveout(kernel);
	kernel_read_cluster(kernel, info);
	kernel_read_code(kernel, info);
	kernel_read_spills(kernel, info);
	return kernel_read_occupancy(kernel, info, err);
}

kz_status kz_kernel_describe(kz_kernel *kernel, kz_kernel_info *info, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st = kernel_check(kernel, err);
	if (!st && (!info || info->size != sizeof(*info))) {
		st = error_set(err, KZ_INVALID,
			"kz_kernel_describe: initialize the info with KZ_KERNEL_INFO_INIT");
	}
	if (st || (st = device_enter(kernel->module->device, &scope, err))) {
		return st;
	}
	st = kernel_read_attributes(kernel, info, err);
	device_leave(kernel->module->device, &scope);
	return st;
}

kz_status kz_kernel_optimize(kz_kernel *kernel, kz_error *err)
{
	error_scope(err);
	enum { BEST = 2 };
	struct device_scope scope;
	kz_status st = kernel_check(kernel, err);
	if (st) {
		return st;
	}
	struct kz_device *dev = kernel->module->device;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (dev->ptx_only) {
		st = device_ok(dev, dev->drv->FuncSetAttribute(kernel->handle,
			CU_FUNC_ATTRIBUTE_KUDZU_TIER, BEST), "cuFuncSetAttribute", err);
	}
	device_leave(dev, &scope);
	return st;
}

kz_status kz_kernel_occupancy(int64_t *out, double *share, kz_kernel *kernel, int64_t threads,
	int64_t shared_size, kz_error *err)
{
	error_scope(err);
	double none;
	struct device_scope scope;
	struct launch launch = {.kernel = kernel, .shared_size = shared_size};
	int blocks = 0, room = 0;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	share = share ? share : &none;
	*share = 0;
	if (st || (st = kernel_check(kernel, err))) {
		return st;
	}
	launch.dev = kernel->module->device;
	if (threads < 1 || threads > kernel->max_threads) {
		return error_set(err, KZ_LAUNCH, "block of %lld threads: '%s' can have 1 to %lld",
			(long long)threads, kernel->info->name, (long long)kernel->max_threads);
	}
	if ((st = kernel_check_shared(&launch, err)) || (st = device_enter(launch.dev, &scope,
		err))) {
		return st;
	}
	st = kernel_ask_occupancy(&blocks, &room, &launch, (int)threads, err);
	device_leave(launch.dev, &scope);
	*out = st ? 0 : blocks;
	*share = st || room < 1 ? 0 : (double)(blocks * threads) / room;
	return st;
}

const char *kz_kernel_name(const kz_kernel *kernel)
{
	return object_is(kernel, OBJECT_KERNEL) ? kernel->info->name : "";
}

const char *kz_kernel_signature(const kz_kernel *kernel)
{
	return object_is(kernel, OBJECT_KERNEL) ? kernel->signature : "";
}

void *kz_kernel_handle(const kz_kernel *kernel)
{
	return object_is(kernel, OBJECT_KERNEL) ? kernel->handle : NULL;
}
