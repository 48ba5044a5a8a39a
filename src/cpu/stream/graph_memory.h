/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_GRAPH_MEMORY_H
#define CPU_STREAM_GRAPH_MEMORY_H

/*
 * Memory that graphs allocate and free.  Its address must be the same at every launch, so it is
 * taken from the device when the node is made and given back when the last node has gone; what
 * launches do is to account for it.  Any thread.
 */
#include "cpu/object/context.h"

struct graph;

struct graph_memory {
	struct graph_memory *next;
	unsigned refs;          /* nodes, and each time that it was allocated and not yet freed */
	CUcontext context;
	const struct context *home; /* the same, as long as the memory is there */
	uint64_t address;       /* 0: it has gone with its context */
	const struct graph *owner; /* the graph of its allocation node */
	bool is_freed_inside;   /* that graph has a node that frees it */
	bool is_freed_outside;  /* another one has */
	bool is_live;           /* allocated by a launch, as far as launches were enqueued */
};

/* What a launch does with memory that lives on, or that another graph has allocated. */
struct graph_memory_step {
	struct graph_memory *memory;
	bool is_free;
	bool may_be_live;       /* when it is allocated */
	bool was_live;          /* for graph_memory_launch */
};

/* Take memory of a device for a context; refs is 1. */
CUresult graph_memory_create(const char *call, struct context *context, size_t size,
	enum memory_kind kind, unsigned device, struct graph_memory **out);
/* The memory at an address, with a reference; NULL if no graph owns it. */
struct graph_memory *graph_memory_find(uint64_t address);
void graph_memory_retain(struct graph_memory *memory);  /* NULL is fine */
void graph_memory_release(struct graph_memory *memory); /* NULL is fine */

/* Whether it has not gone with its context. */
bool graph_memory_is_there(const struct graph_memory *memory);

/* Account for all that a launch does, or fail and change nothing.  What it allocates is live,
 * with a reference; of what it frees that stays until graph_memory_drop. */
CUresult graph_memory_launch(const char *call, struct graph_memory_step *steps, size_t count);
/* A stream has come to the end of memory; false if no graph owns the address. */
bool graph_memory_drop(uint64_t address);

/* A context goes, and its memory. */
void graph_memory_forget(const struct context *context);

/* What it counts as, if it is a device's. */
struct memory_pool *graph_memory_account(unsigned device);

/* For frees by the program: what an address is.  If it is live, it is so no longer. */
enum graph_leave { LEAVE_FOREIGN, LEAVE_LIVE, LEAVE_DEAD };
enum graph_leave graph_memory_leave(uint64_t address);
/* It was not freed, after all. */
void graph_memory_return(uint64_t address);

#endif
