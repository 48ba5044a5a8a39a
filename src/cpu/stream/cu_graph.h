/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_CU_GRAPH_H
#define CPU_STREAM_CU_GRAPH_H

/*
 * Graphs as data: nodes and edges.  What a node does is a struct node_data, which never changes
 * once it is made; graphs, their copies, executable graphs and their launches share it, and to set
 * a node's parameters is to give it another one.
 */
#include "cpu/stream/condition.h"
#include "cpu/stream/graph_memory.h"
#include "cpu/stream/work.h"

#define NODE_ATTRIBUTES (CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE + 1)

struct node_data {
	atomic_uint refs;
	CUgraphNodeParams params;    /* as the program gets them; pointers lead into the payload */
	CUcontext context;           /* NULL: wherever the graph is launched */
	struct work work;            /* what a launch does */
	struct graph_memory *memory; /* of nodes that allocate and free it */
	struct condition *condition; /* of conditional nodes */
	CUlaunchAttributeValue *attributes; /* of kernels, by their numbers */
	size_t payload_size;
	uint8_t *payload;            /* after this struct */
};

/* With room for a payload, cleared; NULL when memory runs out. */
struct node_data *node_data_create(size_t payload_size);
struct node_data *node_data_retain(struct node_data *data);
void node_data_release(struct node_data *data); /* NULL is fine */

struct edge {
	struct graph_node *node;     /* the other end */
	CUgraphEdgeData data;
};

struct edges {
	struct edge *list;
	size_t count;
	size_t room;
};

struct graph_node {
	CUgraphNode handle;          /* NULL in the copy that an executable graph has */
	CUgraphNode origin;          /* the node that this one is a copy of, or NULL */
	unsigned id;                 /* in its graph, also of the copies in other graphs */
	struct graph *graph;
	struct graph_node *next;
	struct graph_node **link;
	struct node_data *data;
	struct graph *child;         /* of a child graph node; of a conditional node a graph with a
	                                child graph node for each body, which is never run itself */
	struct edges from;           /* what it depends on, in the order of the calls */
	struct edges to;             /* what depends on it */
	bool is_disabled;
	struct graph_node *peer;     /* notes for those who walk through a graph */
	struct graph_node *ready;
	size_t missing;
};

struct user_object;

/* References to a user object. */
struct object_use {
	struct object_use *next;
	struct user_object *object;
	size_t count;
};

struct graph {
	CUgraph handle;              /* NULL in an executable graph */
	CUgraph origin;              /* the graph that this one is a clone of, or NULL */
	unsigned id;                 /* no other graph has it */
	unsigned next_node;          /* the id of the next node */
	struct graph_node *parent;   /* whose child graph this is */
	struct graph_node *first;    /* nodes in the order in which they were added */
	struct graph_node **last;
	size_t node_count;
	size_t edge_count;
	struct object_use *uses;
	struct condition *conditions; /* that were created for it */
	bool has_memory;             /* nodes that allocate or free memory, in child graphs too */
	bool has_conditions;         /* conditional nodes, likewise */
	bool is_captured_into;       /* a capture goes on */
	CUgraphExec exec;            /* the last one, if has_memory */
	struct graph_copies *copies; /* what graph_find_copy has found out, or NULL */
};

/* One lock for all graphs; it may be taken with that of queue.h held, not the other way round. */
void graph_lock(void);
void graph_unlock(void);

/* These want the lock, but for graph_release, which must not have it: destructors of user objects
 * run there.  Before, graph_hide takes the handles away. */
struct graph *graph_create(bool with_handle);
void graph_hide(struct graph *graph);
void graph_release(struct graph *graph); /* NULL is fine */
/* A copy, with its child graphs; NULL when memory runs out. */
struct graph *graph_clone(const struct graph *graph, bool with_handles);
/* The copy of a node, in a graph or its child graphs, or NULL; false: memory runs out. */
bool graph_find_copy(struct graph_node **out, struct graph *graph, CUgraphNode origin);

/* Add a node; it takes neither the data nor the child if it fails, for want of memory. */
struct graph_node *graph_add(struct graph *graph, struct node_data *data, struct graph *child);
/* Take a node out; its child graph is left to the caller, hidden. */
struct graph *graph_remove(struct graph_node *node);
/* Add an edge; false when memory runs out. */
bool graph_connect(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data);
void graph_disconnect(struct graph_node *from, struct graph_node *to);
/* The edge between two nodes, as `to` has it, or NULL. */
struct edge *graph_edge(const struct graph_node *from, const struct graph_node *to);

/* It has memory or conditional nodes, and so have the graphs that it is a child of. */
void graph_mark_memory(struct graph *graph);
void graph_mark_conditions(struct graph *graph);
/* Whether it is a body of a conditional node, or in one. */
bool graph_is_body(const struct graph *graph);
/* Whether a capture goes on in it or in a child graph, so that it must stay. */
bool graph_is_captured(const struct graph *graph);
/* The graph at the top, of which this is a child, or a child's child. */
struct graph *graph_root(struct graph *graph);
/* All nodes, including the nodes of child graphs. */
size_t graph_total(const struct graph *graph);
/*
 * Fill in all nodes so that each comes after what it depends on, and what may wait for others as
 * late as can be.  A node, if a cycle keeps it from being run; else NULL.
 */
struct graph_node *graph_sort(struct graph *graph, struct graph_node **order);

#endif
