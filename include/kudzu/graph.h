/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_GRAPH_H
#define KUDZU_GRAPH_H

/*
 * Graphs: work that is recorded once and launched many times by one call.
 *
 *	kz_graph_begin(stream, NULL, &err);              (work is recorded now, and does not run)
 *	options.stream = stream;
 *	kz_launch(step, grid, block, &options, &err, KZ_ARGS(x, 0.5f));
 *	kz_graph_end(&graph, stream, &err);
 *	kz_graph_instantiate(&exec, graph, &err);
 *	for (int i = 0; i < 100; i++) {
 *		kz_exec_launch(exec, NULL, &err);
 *	}
 *	kz_exec_set_args(exec, "step", &err, KZ_ARGS(x, 0.25f));
 *
 * A capture takes what is put into its stream: kernels, operations on arrays, reductions,
 * kz_eval, copies, fills, host functions, launches of other graphs.  Capture the default stream
 * of the device to record calls that name no stream.  Another stream joins the capture when it
 * waits for an event that was recorded in it (kz_stream_wait), and must be joined back in the
 * same way before the end.  Two streams of a capture that use the same buffer do so in the order
 * of the calls, as always.
 *
 * kernel.h has the kernels of graphs (kz_graph_add_kernel, kz_exec_set_args).
 *
 * A call that has to wait, such as kz_array_get, cannot be captured.  It fails with KZ_STATE, names
 * itself, and the capture goes on.  Reading memory that a capture uses is refused in all streams:
 * its values do not exist before a launch.  The first use of cuBLAS is refused, too, so use it
 * once before.  Random numbers that are drawn in a capture are the same ones at each launch.
 *
 * Memory: a graph keeps the memory and the modules that its nodes use, arrays that are released
 * after the capture and temporary memory too, until the graph and all that was instantiated from
 * it are released.  So nothing else gets this memory between two launches.  A launch runs after
 * all earlier work on that memory, and later work on it runs after the launch.  Host memory that
 * nodes read or write stays the program's: keep it.
 *
 * A graph is of one device, whose kernels, memory and streams its nodes use; others are KZ_INVALID,
 * and arrays of a peer are not arguments of its kernels.  The reason is the order of work: the
 * library knows of each piece of memory which stream used it last, and a launch of a graph counts
 * as one use in the one stream where it was put.  Order the graphs of two devices by events
 * (kz_stream_wait).  The driver API can put kernels of several devices into one graph; such a graph
 * is ordered with work of this library by its streams alone.
 *
 * Two threads must not use one graph, or one stream that is captured, at the same time.
 */
#include <kudzu/memory.h>
#include <kudzu/preprocessor.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A graph of nodes; opaque. */
typedef struct kz_graph kz_graph;

/** A node of a graph; opaque.  It belongs to its graph. */
typedef struct kz_node kz_node;

/** A graph that can be launched; opaque. */
typedef struct kz_exec kz_exec;

/* Capturing */

/** How to capture.  Initialize with KZ_CAPTURE_OPTIONS_INIT. */
typedef struct kz_capture_options {
	size_t size;          /**< sizeof(kz_capture_options) */
	int32_t relaxed;      /**< nonzero: another thread may end the capture */
	int32_t reserved_int;
	void *reserved[4];
} kz_capture_options;

#ifdef __cplusplus
#define KZ_CAPTURE_OPTIONS_INIT kz_sized_init<kz_capture_options>()
#else
#define KZ_CAPTURE_OPTIONS_INIT {.size = sizeof(kz_capture_options)}
#endif

/**
 * Begin to capture: from now on work that is put into the stream goes into a new graph.
 *
 * @param stream any stream, also kz_device_stream().
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_STATE if the stream is captured already; KZ_INVALID; the driver's failures.
 * Calls that the driver cannot capture, such as another library's cudaMalloc, run at once: for the
 * driver the capture is relaxed.  A call of this library that cannot be captured is KZ_STATE.
 * Threads: this thread must end the capture, unless it is relaxed; any thread may abort it.  Waits
 *        while
 * another thread waits for the whole device, in kz_device_synchronize or kz_device_trim, in the
 * release of a module, or as memory has run out, or makes a plan of cuFFT: that would end the
 * capture.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_begin(kz_stream *stream, const kz_capture_options *options,
	kz_error *err);

/**
 * End a capture and hand out its graph.
 *
 * @param out set to the graph; NULL on failure.
 * @param stream the one that kz_graph_begin was called with.
 * @return KZ_OK; KZ_STATE if the stream is not captured, began no capture, or another thread
 *         began it, and the driver's failure to make the context current: then the capture goes
 *         on; KZ_STATE if another stream was not joined back, or if an earlier failure of the
 *         driver ended the capture; KZ_NO_MEMORY; the driver's other failures: then there is no
 *         capture any more, and the streams can be used.
 * Ownership: release it with kz_graph_release.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_end(kz_graph **out, kz_stream *stream, kz_error *err);

/**
 * End a capture and forget what it recorded.
 *
 * The release of the stream that began a capture does the same.
 *
 * @param stream as for kz_graph_end.  Nothing happens if it is not captured.
 * @return KZ_OK; KZ_STATE if the stream has joined the capture of another one, which goes on.
 * Threads: any, also while the one that began the capture lives, if no other call uses its streams.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_abort(kz_stream *stream, kz_error *err);

/** Return whether a stream is part of a capture. */
KZ_API int kz_stream_is_capturing(const kz_stream *stream);

/* Graphs */

/**
 * Create a graph without nodes.
 *
 * Ownership: release it with kz_graph_release.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_create(kz_graph **out, kz_device *dev, kz_error *err);

/** Release a graph.  What was instantiated from it can still be launched.  NULL is fine. */
KZ_API void kz_graph_release(kz_graph *graph);

/**
 * Copy a graph with its nodes and their names.
 *
 * @return KZ_OK; KZ_UNSUPPORTED for a graph with nodes that allocate memory, or with conditional
 * ones.
 * Ownership: release it with kz_graph_release.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_clone(kz_graph **out, kz_graph *graph, kz_error *err);

/** Count the nodes and the edges of a graph, without those of child graphs.  Either may be NULL. */
KZ_API KZ_NODISCARD kz_status kz_graph_count(int64_t *nodes, int64_t *edges, kz_graph *graph,
	kz_error *err);

/**
 * Write a graph as text in the DOT language, which Graphviz draws.  Child graphs are clusters.
 *
 * @return KZ_OK; KZ_IO if the file cannot be written; KZ_NO_MEMORY; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_print(kz_graph *graph, FILE *to, kz_error *err);

/**
 * Find a node by its name.
 *
 * Nodes that a kz_graph_add function made have names, and so have captured kernels, where the
 * driver is of CUDA 12.3 or newer.  A kernel's name is as in its source, others are "copy",
 * "fill" and so on. The second node of a name has "#2" after it, the third "#3".
 *
 * @return the node, which belongs to the graph; NULL if there is none.
 */
KZ_API kz_node *kz_graph_node(const kz_graph *graph, const char *name);

/** Return the name of a node.  Borrowed until it gets another one, or the graph ends. */
KZ_API const char *kz_node_name(const kz_node *node);

/**
 * Give a node another name.  What was instantiated before keeps the old one.
 *
 * @return KZ_OK; KZ_INVALID for an empty name, and one that another node of the graph has;
 *         KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_node_set_name(kz_node *node, const char *name, kz_error *err);

/* Launching */

/**
 * Make a graph that can be launched.  Later changes of the graph do not change it.
 *
 * @return KZ_OK; KZ_INVALID for a body of a conditional node, and for memory that the graph
 * allocates
 *         and does not free; the driver's failures.
 * Ownership: release it with kz_exec_release.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_instantiate(kz_exec **out, kz_graph *graph, kz_error *err);

/** Release it.  Launches that are in flight run to their end.  NULL is fine. */
KZ_API void kz_exec_release(kz_exec *exec);

/**
 * Launch a graph, after all earlier work on the memory that it uses.
 *
 * @param stream of the graph's device; NULL for the default stream.  If the stream is captured, a
 *        copy of the graph becomes a node of that capture, as after kz_graph_add_child.
 * @return KZ_OK; KZ_INVALID; KZ_UNSUPPORTED in a capture as for kz_graph_add_child; the driver's
 *         failures, which may belong to earlier work.
 * Async: returns before the graph has run.  Launches of one kz_exec run one after another.
 */
KZ_API KZ_NODISCARD kz_status kz_exec_launch(kz_exec *exec, kz_stream *stream, kz_error *err);

/**
 * Take over the parameters of all nodes from a graph of the same shape, such as a second capture of
 * the same calls.
 *
 * @return KZ_OK; KZ_INVALID if nodes or edges are others, or a change is one that the driver does
 * not
 *         allow: then nothing is changed; KZ_UNSUPPORTED for graphs with conditional nodes.
 */
KZ_API KZ_NODISCARD kz_status kz_exec_update(kz_exec *exec, kz_graph *graph, kz_error *err);

/*
 * Explicit nodes.  They run in the order that their edges ask for, whatever memory they use.
 * kernel.h has those that launch kernels: kz_graph_add_kernel.
 */

/** The nodes that a new one comes after, as KZ_AFTER makes it. */
typedef struct kz_nodes {
	kz_node *const *items; /**< `count` of them, borrowed; of the same graph */
	size_t count;          /**< 0: the node comes after none */
} kz_nodes;

/**
 * List the nodes that a new one comes after: KZ_AFTER(a, b), or KZ_AFTER() for none.
 *
 * The list lives until the end of the enclosing block (in C++: of the full expression).
 */
#ifndef __cplusplus
#define KZ_AFTER(...) KZ_PP_CAT(KZ_AFTER_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_AFTER_1(...) ((kz_nodes){NULL, 0})
#define KZ_AFTER_0(...) \
	((kz_nodes){(kz_node *const[]){__VA_ARGS__}, KZ_PP_COUNT(__VA_ARGS__)})
#else
#define KZ_AFTER(...) kz_nodes_capture(__VA_ARGS__)
#endif

/**
 * Add a node that copies between buffers of the device; as kz_copy_dtod.
 *
 * @param out set to the node, NULL on failure; may be NULL.  The same holds for all nodes.
 * @param after the nodes that it comes after.
 * @return as kz_copy_dtod; KZ_INVALID for a node of another graph.
 * Ownership: the node belongs to the graph, which keeps the memory that it uses.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_dtod(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_buffer *to, int64_t to_offset, kz_buffer *from, int64_t from_offset, int64_t size,
	kz_error *err);

/**
 * Add a node that copies from host memory, which the program keeps; as kz_copy_htod.  In the body
 * of a conditional node it must be pinned.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_htod(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_buffer *to, int64_t offset, const void *from, int64_t size, kz_error *err);

/** Add a node that copies to host memory, which the program keeps; as kz_graph_add_htod. */
KZ_API KZ_NODISCARD kz_status kz_graph_add_dtoh(kz_node **out, kz_graph *graph, kz_nodes after,
	void *to, int64_t size, kz_buffer *from, int64_t offset, kz_error *err);

/**
 * Add a node that fills part of a buffer; as kz_fill.
 *
 * @param pattern 1, 2 or 4 bytes; it is copied.  8 bytes only if their halves are equal.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_fill(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_buffer *buffer, int64_t offset, int64_t size, const void *pattern, int64_t pattern_size,
	kz_error *err);

/**
 * Add a node that calls a function of the program.
 *
 * @param function called with `user` by a thread of the driver, at each launch.  It must not call
 *        Kudzu or CUDA.
 * @return as all nodes; KZ_INVALID for the body of a conditional node, which cannot call the
 *         program.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_host(kz_node **out, kz_graph *graph, kz_nodes after,
	void (*function)(void *user), void *user, kz_error *err);

/**
 * Add a node that runs another graph.
 *
 * @param child a graph of the same device; the node gets a copy of it as it is now.
 * @return KZ_OK; KZ_UNSUPPORTED as for kz_graph_clone; KZ_INVALID, also for a child that calls the
 *         program in the body of a conditional node.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_child(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_graph *child, kz_error *err);

/**
 * Add a node that allocates memory at each launch.
 *
 * @param buffer set to the memory, which only nodes of this graph can use that come after this node
 *        and before the one that frees it.
 * @return KZ_OK; KZ_INVALID; the driver's failures.
 * Ownership: release the buffer with kz_buffer_release; the nodes can use its memory all the same.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_alloc(kz_node **out, kz_buffer **buffer,
	kz_graph *graph, kz_nodes after, int64_t size, kz_error *err);

/** Add a node that frees the memory of a kz_graph_add_alloc of the same graph. */
KZ_API KZ_NODISCARD kz_status kz_graph_add_free(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_buffer *buffer, kz_error *err);

/* Conditional nodes */

/**
 * Create a condition: a number that kernels of the graph set and a conditional node reads.
 *
 * Pass it to a kernel as an argument of the type unsigned long long.  The kernel sets it by
 * cudaGraphSetConditional, which it declares (or includes from cuda_device_runtime_api.h):
 *
 *	extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition,
 *		unsigned int value);
 *
 * On a GPU compile such a kernel to PTX (kz_compile_options.arch = "compute_90"), since the driver
 * links this function.
 *
 * @param out set to the condition; 0 on failure.
 * @param initial the value at the beginning of each launch.
 * @return KZ_OK; KZ_INVALID; KZ_VERSION if the driver is older than CUDA 12.3.
 * Ownership: it lives as long as the graph and what was instantiated from it.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_condition(uint64_t *out, kz_graph *graph, uint32_t initial,
	kz_error *err);

/**
 * Add a node that runs a graph if a condition is not 0.
 *
 * Fill the bodies with nodes, before or after this graph gets others.  A body has kernels, copies
 * and fills on the device, child graphs and conditional nodes, and nothing else.
 * kz_exec_set_args knows its kernels by their names, which get "#2" and so on where the graph has
 * the name already.
 *
 * @param then set to the graph to run if the condition is not 0.
 * @param otherwise set to the graph to run if the condition is 0; NULL if nothing runs then.
 * @param condition of kz_graph_condition for the same graph; one node can have it.
 * @return KZ_OK; KZ_INVALID; the driver's failures.
 * Ownership: the bodies belong to the node; to release them does nothing.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_if(kz_node **out, kz_graph **then, kz_graph **otherwise,
	kz_graph *graph, kz_nodes after, uint64_t condition, kz_error *err);

/** Add a node that runs a graph again and again while a condition is not 0; as kz_graph_add_if. */
KZ_API KZ_NODISCARD kz_status kz_graph_add_while(kz_node **out, kz_graph **body, kz_graph *graph,
	kz_nodes after, uint64_t condition, kz_error *err);

/**
 * Add a node that runs the graph that a condition is the index of; as kz_graph_add_if.
 *
 * @param bodies set to `count` graphs, 1 or more.  A condition from `count` on runs none.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_switch(kz_node **out, kz_graph **bodies, int64_t count,
	kz_graph *graph, kz_nodes after, uint64_t condition, kz_error *err);

#ifdef __cplusplus
}

/** The list behind KZ_AFTER in C++. */
template <size_t N>
struct kz_node_list {
	kz_node *items[N ? N : 1];
	operator kz_nodes() const { return kz_nodes{N ? items : nullptr, N}; }
};

template <class... T>
kz_node_list<sizeof...(T)> kz_nodes_capture(T... items)
{
	return kz_node_list<sizeof...(T)>{{items...}};
}
#endif

#endif
