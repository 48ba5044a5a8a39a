/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_CAPTURE_H
#define LIB_CORE_CAPTURE_H

/*
 * A capture while it goes on: its streams, and what the graph that it makes will use.  graph.c
 * begins and ends captures and says what keeps memory alive; the functions here are for calls
 * that put work into a stream that may be captured.
 *
 * kz_stream.capture says whether it is.  A captured stream joins memory to the graph instead of
 * being ordered after the memory's last use.
 */
#include "lib/core/device.h"

struct memory;

/* How an object is counted. */
struct use_kind {
	void (*retain)(void *object);
	void (*release)(void *object);
	bool is_memory;             /* to be ordered by memory_use() at each launch */
};

/* An object that a graph uses, with a reference on it. */
struct use {
	void *object;
	const struct use_kind *kind;
	struct kz_stream *last;     /* of the capture, where memory was used last */
	size_t count;               /* of its uses; with the last one the reference goes */
};

/* A set of them: a list, and an open hash table of places in it, each plus 1. */
struct uses {
	struct use *items;
	size_t count;
	size_t room;
	size_t *slots;              /* 2 * room; NULL while the list is empty */
};

/* Count one use more of an object, and retain it if it is new; NULL when memory runs out. */
struct use *uses_add(struct uses *uses, void *object, const struct use_kind *kind);
/* Count one use less. */
void uses_remove(struct uses *uses, void *object);
struct use *uses_find(const struct uses *uses, const void *object);
/* False when memory runs out; `to` is empty before, and on failure. */
bool uses_copy(struct uses *to, const struct uses *from);
/* Add all of `from`; false when memory runs out, and some were added. */
bool uses_join(struct uses *to, const struct uses *from);
void uses_release(struct uses *uses);

/* A node that the program can name: an explicit one, or a captured kz_launch. */
struct kz_node {
	uint32_t tag;               /* OBJECT_NODE */
	struct kz_node *next;
	struct kz_graph *graph;     /* NULL in a capture */
	CUgraphNode handle;
	CUgraphNode twin;           /* of an executable graph: in its copy, once somebody has
	                               asked */
	CUgraphNodeType type;
	char *name;
	struct kz_kernel *kernel;   /* of a kernel node; the graph keeps its module */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_size;
	int64_t namesakes;          /* nodes whose names begin with that of this one and "#" */
	struct kz_graph *bodies;    /* of a conditional node, linked by `next`; owned */
	size_t used_count;
	size_t used_room;
	struct memory **used;       /* that its arguments lie in, each counted in the graph's set */
};

struct capture {
	atomic_int refs;
	struct kz_device *device;
	struct kz_stream *origin;
	struct kz_stream *streams;  /* all of them, counted */
	CUevent order;              /* marks the point of one that another waits for */
	pthread_t thread;
	bool is_relaxed;            /* any thread may go on with it and end it */
	atomic_bool is_over;
	pthread_mutex_t lock;       /* guards what follows */
	struct uses uses;
	struct kz_node *nodes;
	struct kz_node **last_node;
};

struct capture *capture_retain(struct capture *capture);
void capture_release(struct capture *capture);

/* A stream becomes part of a capture.  Its context is current. */
kz_status capture_join(struct capture *capture, struct kz_stream *stream, kz_error *err);

kz_status capture_create(struct capture **out, struct kz_stream *stream, bool relaxed,
	kz_error *err);
/* The driver's end of a capture; *out is NULL after a failure. */
kz_status capture_stop(CUgraph *out, struct capture *capture, kz_error *err);
/* Then all streams leave it, and its memory counts as captured no longer.  The caller gives the
 * streams to stream_release_captured.  The context is current if `living`. */
struct kz_stream *capture_close(struct capture *capture, bool living);
/* At last it goes, with what is left in it. */
void capture_forget(struct capture *capture);
/* All of that, and no graph is made.  The caller has the device, and releases the streams
 * likewise. */
struct kz_stream *capture_abort(struct capture *capture);


/* The graph uses memory, in a stream of the capture, after the use in another stream of it. */
kz_status capture_use(struct capture *capture, struct memory *memory, struct kz_stream *stream,
	const struct use_kind *kind, kz_error *err);
/* The graph keeps an object. */
kz_status capture_keep(struct capture *capture, void *object, const struct use_kind *kind,
	kz_error *err);
/* Add what is known of the node that the stream's last call made; takes `node`, also on failure. */
kz_status capture_add_node(struct capture *capture, struct kz_stream *stream,
	struct kz_node *node, kz_error *err);
/* A node with a copy of its name and room for a list of memory; NULL when memory runs out. */
struct kz_node *node_create(CUgraphNodeType type, const char *name, size_t used_room);
/* One that has ended may be in the hands of the program yet.  NULL is fine. */
void node_free(struct kz_node *node);

#endif
