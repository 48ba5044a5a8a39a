/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_GRAPH_H
#define LIB_CORE_GRAPH_H

/* Graphs and what is instantiated from them; graph.c says what keeps memory alive. */
#include "base/map.h"
#include "lib/core/capture.h"
#include "lib/core/memory.h"

#include <kudzu/graph.h>

/* Nodes that have names, in the order in which they were added. */
struct node_list {
	struct kz_node *first;
	struct kz_node **last;
	struct map names;
};

struct kz_graph {
	uint32_t tag;               /* OBJECT_GRAPH */
	atomic_int refs;
	struct kz_device *device;
	CUgraph handle;
	struct kz_graph *root;      /* itself, or the graph that has the conditional node whose body
	                               it is */
	struct kz_graph *next;      /* the next body of that node */
	struct uses uses;           /* of the root */
	struct node_list nodes;
	struct condition {
		uint64_t handle;
		const struct kz_node *node; /* that has it; NULL: none yet */
	} *conditions;              /* of the root */
	size_t condition_count;
	int64_t unfreed;            /* memory that a node allocates and none frees */
	bool is_fixed;              /* it allocates or decides: the driver copies and updates no
	                               such graph */
};

struct kz_exec {
	uint32_t tag;               /* OBJECT_EXEC */
	atomic_int refs;
	struct kz_device *device;
	struct kz_graph *graph;     /* counted: its nodes are the names of those here */
	CUgraphExec handle;
	CUgraph copy;               /* of what is launched, for captures; NULL: there is none */
	struct kz_graph *copied;    /* counted: the copy is of this one */
	struct uses uses;           /* what the next launch uses */
	struct node_list nodes;     /* copies, with what is now in the nodes */
};

/* graph.c */

/* For nodes that others add. */
kz_status graph_check_after(const struct kz_graph *graph, kz_nodes after, kz_error *err);
/* The handles of `after`, from mem_alloc; NULL when memory runs out. */
CUgraphNode *graph_handles(kz_nodes after);
/* Count the memory of a node as used, hand the node to its graph and out; takes `node`, also on
 * failure.  `out` may be NULL. */
kz_status graph_take_node(kz_node **out, struct kz_graph *graph, struct kz_node *node,
	kz_error *err);
/* What a node does, and with which memory; `to` has room for that. */
void node_take_over(struct kz_node *to, const struct kz_node *from);
/* Fail for a body, and for a graph that leaves memory behind. */
kz_status graph_check_whole(const struct kz_graph *graph, kz_error *err);
/* Fail unless a node of this graph can use the memory. */
kz_status graph_check_memory(const struct kz_graph *graph, const struct memory *memory,
	kz_error *err);

/* From now on the executable graph is what this copy of `graph` is. */
void exec_take_copy(struct kz_exec *exec, CUgraph copy, struct kz_graph *graph);
/* What the copy is cannot be told any more. */
void exec_drop_copy(struct kz_exec *exec);

/* graph_child.c: an executable graph in a capture. */

/* Copy a graph for captures; NULL: it cannot be a child. */
kz_status exec_clone(CUgraph *out, const struct kz_graph *graph, kz_error *err);
/* Change a kernel node of the copy as that of the executable graph is going to be. */
kz_status exec_copy_params(struct kz_exec *exec, struct kz_node *node,
	const CUDA_KERNEL_NODE_PARAMS *params, kz_error *err);
/* Make the copy a node of the capture that the stream belongs to. */
kz_status exec_capture(struct kz_exec *exec, struct kz_stream *stream, kz_error *err);

/* graph_update.c */

/* Find a node of an executable graph by its name. */
kz_status exec_find(struct kz_node **out, const struct kz_exec *exec, const char *name,
	kz_error *err);
/* Count memory that a node is going to use, all or nothing; and once less what one no longer
 * uses. */
kz_status exec_keep_memory(struct kz_exec *exec, struct memory *const *used, size_t count,
	kz_error *err);
void exec_drop_memory(struct kz_exec *exec, struct memory *const *used, size_t count);

#endif
