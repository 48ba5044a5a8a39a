/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_GRAPH_RUN_H
#define CPU_STREAM_GRAPH_RUN_H

/*
 * Executable graphs and their launches.  An executable graph is a copy of a graph; a plan is that
 * copy as a list of things to do, in order, made anew by the first launch after a change, so that
 * launches before it keep theirs.  A launch is one piece of work for a stream, which goes through
 * the plan from its first item to the last.
 */
#include "cpu/stream/cu_graph.h"

struct graph_plan {
	atomic_uint refs;
	bool has_waits;              /* for events, for host functions, for values */
	size_t event_count;          /* items that record events or wait for them */
	size_t memory_count;         /* items that allocate or free memory */
	size_t count;
	size_t *ends;                /* see graph_plan_add_condition */
	struct node_data *items[];
};

struct graph_exec {
	atomic_uint refs;            /* its handle, and launches that have not ended */
	CUgraphExec handle;
	cuuint64_t flags;
	struct graph *graph;
	CUgraph origin;
	struct graph_node **nodes;   /* with those of child graphs, sorted by origin */
	size_t node_count;
	struct graph_plan *plan;     /* NULL: to be made */
	struct fence *last;           /* the end of the last launch; the lock of queue.h is its */
};

/* From a copy of a graph, which it takes.  NULL when memory runs out, or if a cycle in the graph
 * keeps a node from being run: the copy of *bad. */
struct graph_exec *graph_exec_create(struct graph *graph, CUgraphNode *bad);
/* Without any lock. */
void graph_exec_release(struct graph_exec *exec);
/* By handle; the lock of cu_graph.h is held when that succeeds. */
CUresult graph_exec_enter(const char *call, CUgraphExec handle, struct graph_exec **out);
/* The node that is the copy of another one, or NULL. */
struct graph_node *graph_exec_find(const struct graph_exec *exec, CUgraphNode origin);
/* Something in the graph has changed. */
void graph_exec_touch(struct graph_exec *exec);
/* Its plan, made if need be; NULL when memory runs out. */
const struct graph_plan *graph_exec_plan(struct graph_exec *exec);

/* A launch in a context; NULL when memory runs out.  It keeps what it needs of the executable
 * graph. */
struct graph_run *graph_run_create(struct graph_exec *exec, const struct context *context);
void graph_run_retain(struct graph_run *run);
/* Without any lock. */
void graph_run_release(struct graph_run *run);

/* Both with the lock of queue.h held.  Whether a launch can run without waiting for any other
 * work. */
bool graph_run_is_quick(const struct graph_run *run);
/* It is being enqueued, unless this fails: from now on it is what its events stand for, and what
 * the next launch of its executable graph waits for, and its memory is accounted for. */
CUresult graph_run_bind(const char *call, struct graph_run *run);

/* Do it all. */
void graph_run_execute(struct graph_run *run, struct context *context);

#endif
