/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CU_GRAPH_NODE_H
#define CPU_STREAM_CU_GRAPH_NODE_H

/* What nodes do: made from parameters or from the work of a stream, and compared. */
#include "cpu/stream/cu_graph.h"

/* The nodes that a new one depends on, as a call gives them; without data, edges are plain. */
struct dependencies {
	const CUgraphNode *nodes;
	const CUgraphEdgeData *data;
	size_t count;
};

/*
 * Make the data of a node of any kind, but without its child graph.  `old` is what the node had
 * before, or NULL.  An allocation's address is put into the parameters, too.  Without locks.
 */
CUresult node_make(const char *call, CUgraphNodeParams *params, const struct node_data *old,
	struct node_data **out);
/* The same for something that a stream would do; neither for records and waits, nor for launches
 * of graphs. */
CUresult node_make_work(const char *call, struct context *context, const struct work *work,
	struct node_data **out);
/* The same kernel with another attribute. */
CUresult node_make_attribute(const char *call, const struct node_data *old,
	const CUlaunchAttribute *attribute, struct node_data **out);

/* Whether a kernel is still there; its module may have been unloaded. */
bool node_has_function(const struct node_data *data);

/* Whether a node of an executable graph may become what another one is. */
CUgraphExecUpdateResult node_compare(const struct node_data *old, const struct node_data *data);
/* Whether a copy or a fill has one dimension; true for everything else. */
bool node_is_plain(const struct node_data *data);

/* Nodes and graphs by handle; INVALID_VALUE if the handle names none.  With the lock of
 * cu_graph.h. */
CUresult node_find(const char *call, CUgraphNode handle, struct graph_node **out);
CUresult graph_find(const char *call, CUgraph handle, struct graph **out);

/* Check an edge and add it. */
CUresult node_depend(const char *call, struct graph_node *from, struct graph_node *to,
	const CUgraphEdgeData *data);
/* Whether the bodies of conditional nodes, and the graph if it is in one, have only nodes that can
 * be there. */
bool graph_suits(const struct graph *graph, bool is_in_body);
/* Add a node with its edges: *data is taken, also on failure. */
CUresult node_add(const char *call, struct graph *graph, struct node_data *data,
	struct graph *child, const struct dependencies *from, struct graph_node **out);

#endif
