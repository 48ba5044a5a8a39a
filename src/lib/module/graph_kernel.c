/* SPDX-License-Identifier: MIT */
/*
 * Kernels as nodes of graphs: adding them, and giving them other arguments.
 *
 * A node is checked as a launch is (kernel.c), but handed to a graph instead of a stream.  The
 * driver copies the arguments.  What they point to is in the set of the graph (lib/core/graph.c).
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/kernel_launch.h"

/* Check a launch; its lists are on the heap, which mem_free(launch->slots) gives back. */
static kz_status graph_check_launch(struct launch *launch, const kz_launch_options *options,
	kz_error *err)
{
	kz_status st;
	launch->dev = launch->kernel->module->device;
	launch->stream = &launch->dev->stream;
	if ((options && (st = launch_read_options(launch, options, err)))
	    || (st = launch_make_room(launch, err))) {
		return st;
	}
	launch->used_end = launch->used;
	if (!(st = launch_check(launch, err)) && launch->has_host) {
		st = error_set(err, KZ_ARGUMENT,
			"KZ_IN, KZ_OUT and KZ_INOUT of '%s' belong to one launch: "
			"give a node of a graph an array or a buffer",
			launch->kernel->info->name);
	}
	if (!st && launch->has_attributes) {
		st = error_set(err, KZ_UNSUPPORTED, "'%s': capture a launch that is cooperative or "
			"programmatic, or has a cluster or a time limit, with kz_graph_begin "
			"instead",
			launch->kernel->info->name);
	}
	return st;
}

static CUDA_KERNEL_NODE_PARAMS graph_kernel_params(const struct kz_node *node,
	const struct launch *launch)
{
	return (CUDA_KERNEL_NODE_PARAMS){
		.func = node->kernel->handle, .gridDimX = node->grid[0], .gridDimY = node->grid[1],
		.gridDimZ = node->grid[2], .blockDimX = node->block[0], .blockDimY = node->block[1],
		.blockDimZ = node->block[2], .sharedMemBytes = node->shared_size,
		.kernelParams = launch->places,
	};
}

/* Hand the node to the driver; the arguments are in launch. */
static kz_status graph_add_launch(kz_node **out, struct kz_graph *graph, kz_nodes after,
	const struct launch *launch, kz_error *err)
{
	struct kz_device *dev = graph->device;
	struct device_scope scope;
	struct kz_node *node = node_create(CU_GRAPH_NODE_TYPE_KERNEL, launch->kernel->info->name,
		launch->count);
	CUgraphNode *handles = graph_handles(after);
	kz_status st = node && handles
		&& uses_add(&graph->root->uses, launch->kernel->module, &module_kind)
		? KZ_OK : error_no_memory(err);
	if (!st && !(st = device_enter(dev, &scope, err))) {
		launch_fill_node(launch, node);
		CUDA_KERNEL_NODE_PARAMS params = graph_kernel_params(node, launch);
		st = device_ok(dev,
			dev->drv->GraphAddKernelNode(
				&node->handle, graph->handle, handles, after.count, &params),
			"cuGraphAddKernelNode", err);
		device_leave(dev, &scope);
	}
	mem_free(handles);
	if (st) {
		node_free(node);
		return st;
	}
	return graph_take_node(out, graph, node, err);
}

kz_status kz_graph_add_kernel_args(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_kernel *kernel, kz_dim3 grid, kz_dim3 block, const kz_launch_options *options,
	const kz_arg *args, size_t count, kz_error *err)
{
	error_scope(err);
	struct launch launch = {.kernel = kernel, .grid = &grid, .block = &block, .args = args,
		.count = count};
	kz_status st;
	if (out) {
		*out = NULL;
	}
	if ((st = graph_check_after(graph, after, err))
	    || (st = launch_check_call(kernel, args, count, err))) {
		return st;
	}
	if (kernel->module->device != graph->device) {
		return error_set(err, KZ_INVALID, "a graph of %s cannot have a kernel of %s",
			graph->device->name, kernel->module->device->name);
	}
	st = graph_check_launch(&launch, options, err);
	for (struct memory **used = launch.used; !st && used < launch.used_end; used++) {
		st = graph_check_memory(graph, *used, err);
	}
	st = st ? st : graph_add_launch(out, graph, after, &launch, err);
	mem_free(launch.slots);
	return st;
}

kz_status kz_graph_add_kernel(kz_node **out, kz_graph *graph, kz_nodes after, kz_kernel *kernel,
	kz_dim3 grid, kz_dim3 block, const kz_launch_options *options, kz_error *err, kz_args args)
{
	error_scope(err);
	return kz_graph_add_kernel_args(out, graph, after, kernel, grid, block, options, args.items,
		args.count, err);
}

/* The driver gets the arguments, and the set of the graph the memory in the place of the old
 * one. */
static kz_status graph_exec_set_launch(struct kz_exec *exec, struct kz_node *node,
	const struct launch *launch, kz_error *err)
{
	struct kz_device *dev = exec->device;
	struct device_scope scope;
	size_t count = (size_t)(launch->used_end - launch->used);
	kz_status st;
	if ((st = exec_keep_memory(exec, launch->used, count, err))) {
		return st;
	}
	if (!(st = device_enter(dev, &scope, err))) {
		CUDA_KERNEL_NODE_PARAMS params = graph_kernel_params(node, launch);
		st = exec_copy_params(exec, node, &params, err);
		if (!st && (st = device_ok(dev, dev->drv->GraphExecKernelNodeSetParams(exec->handle,
				node->handle, &params), "cuGraphExecKernelNodeSetParams", err))) {
			exec_drop_copy(exec);
		}
		device_leave(dev, &scope);
	}
	if (st) {
		exec_drop_memory(exec, launch->used, count);
		return st;
	}
	exec_drop_memory(exec, node->used, node->used_count);
	launch_fill_memory(launch, node);
	return KZ_OK;
}

kz_status kz_exec_set_args_list(kz_exec *exec, const char *name, const kz_arg *args, size_t count,
	kz_error *err)
{
	error_scope(err);
	struct kz_node *node;
	kz_status st = exec_find(&node, exec, name, err);
	if (st) {
		return st;
	}
	if (!node->kernel) {
		return error_set(
			err, KZ_INVALID, "the node '%s' launches no kernel of the program", name);
	}
	if ((st = launch_check_call(node->kernel, args, count, err))) {
		return st;
	}
	const kz_dim3 grid = {node->grid[0], node->grid[1], node->grid[2]};
	const kz_dim3 block = {node->block[0], node->block[1], node->block[2]};
	struct launch launch = {.kernel = node->kernel,
		.grid = &grid,
		.block = &block,
		.args = args,
		.count = count,
		.shared_size = node->shared_size};
	st = graph_check_launch(&launch, NULL, err);
	st = st ? st : graph_exec_set_launch(exec, node, &launch, err);
	mem_free(launch.slots);
	return st;
}

kz_status kz_exec_set_args(kz_exec *exec, const char *name, kz_error *err, kz_args args)
{
	error_scope(err);
	return kz_exec_set_args_list(exec, name, args.items, args.count, err);
}
