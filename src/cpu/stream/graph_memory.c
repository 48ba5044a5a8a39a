/* SPDX-License-Identifier: MIT */
/*
 * Memory of graphs, and its account.  A list is enough to find it by address: programs have few
 * allocation nodes.
 */
#include "base/common.h"

#include "cpu/stream/graph_memory.h"

#include "base/alloc.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"

static struct {
	pthread_mutex_t lock;   /* of everything here */
	struct graph_memory *first;
	atomic_size_t count;    /* so that a caller need not lock where there is none */
	struct memory_pool accounts[MEMORY_MAX_DEVICES];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The lock is held. */
static struct graph_memory *graph_memory_of(uint64_t address)
{
	struct graph_memory *memory = address != 0 ? all.first : NULL;
	while (memory && memory->address != address) {
		memory = memory->next;
	}
	return memory;
}

static struct graph_memory *graph_memory_lock_and_find(uint64_t address)
{
	pthread_mutex_lock(&all.lock);
	return atomic_load(&all.count) > 0 ? graph_memory_of(address) : NULL;
}

CUresult graph_memory_create(const char *call, struct context *context, size_t size,
	enum memory_kind kind, unsigned device, struct graph_memory **out)
{
	const struct memory_range wish = {.size = size, .kind = kind, .owner = context,
		.device = device, .pool = &all.accounts[device]};
	CUdeviceptr address;
	CUresult result = api_allocate(call, &address, &wish);
	struct graph_memory *memory = result == CUDA_SUCCESS ? mem_zalloc(1, sizeof(*memory))
		: NULL;
	*out = memory;
	if (!memory) {
		memory_free_ordered(context->device->memory, address);
		return result != CUDA_SUCCESS ? result
			: api_no_memory(call);
	}
	memory->refs = 1;
	memory->context = context->handle;
	memory->home = context;
	memory->address = address;
	pthread_mutex_lock(&all.lock);
	memory->next = all.first;
	all.first = memory;
	atomic_fetch_add(&all.count, 1);
	pthread_mutex_unlock(&all.lock);
	return CUDA_SUCCESS;
}

/* The lock is held. */
static void graph_memory_free_one(struct graph_memory *memory)
{
	if (--memory->refs > 0) {
		return;
	}
	struct graph_memory **link = &all.first;
	while (*link != memory) {
		link = &(*link)->next;
	}
	*link = memory->next;
	atomic_fetch_sub(&all.count, 1);
	struct context *context = handle_get(memory->context, API_CONTEXT);
	if (memory->address != 0 && context) {
		memory_free_ordered(context->device->memory, memory->address);
	}
	mem_free(memory);
}

struct graph_memory *graph_memory_find(uint64_t address)
{
	struct graph_memory *memory = graph_memory_lock_and_find(address);
	if (memory) {
		memory->refs++;
	}
	pthread_mutex_unlock(&all.lock);
	return memory;
}

void graph_memory_retain(struct graph_memory *memory)
{
	if (memory) {
		pthread_mutex_lock(&all.lock);
		memory->refs++;
		pthread_mutex_unlock(&all.lock);
	}
}

void graph_memory_release(struct graph_memory *memory)
{
	if (memory) {
		pthread_mutex_lock(&all.lock);
		graph_memory_free_one(memory);
		pthread_mutex_unlock(&all.lock);
	}
}

bool graph_memory_is_there(const struct graph_memory *memory)
{
	pthread_mutex_lock(&all.lock);
	const bool found = memory->address != 0;
	pthread_mutex_unlock(&all.lock);
	return found;
}

/* The lock is held. */
static CUresult graph_memory_take_step(const char *call, struct graph_memory_step *step)
{
	struct graph_memory *memory = step->memory;
	if (memory->address == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: memory of the graph was freed with its context", call);
	}
	if (step->is_free && !memory->is_live) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: memory to be freed was not allocated", call);
	}
	if (!step->is_free && memory->is_live && !step->may_be_live) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: memory of the last launch was not freed", call);
	}
	step->was_live = memory->is_live;
	memory->refs += !memory->is_live;
	memory->is_live = !step->is_free;
	return CUDA_SUCCESS;
}

static void graph_memory_take_back(const struct graph_memory_step *step)
{
	step->memory->refs -= !step->was_live;
	step->memory->is_live = step->was_live;
}

CUresult graph_memory_launch(const char *call, struct graph_memory_step *steps, size_t count)
{
	CUresult result = CUDA_SUCCESS;
	size_t taken = 0;
	if (count == 0) {
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&all.lock);
	while (taken < count
	    && (result = graph_memory_take_step(call, &steps[taken])) == CUDA_SUCCESS) {
		taken++;
	}
	while (result != CUDA_SUCCESS && taken > 0) {
		graph_memory_take_back(&steps[--taken]);
	}
	pthread_mutex_unlock(&all.lock);
	return result;
}

bool graph_memory_drop(uint64_t address)
{
	struct graph_memory *memory = graph_memory_lock_and_find(address);
	if (memory) {
		graph_memory_free_one(memory);
	}
	pthread_mutex_unlock(&all.lock);
	return memory;
}

void graph_memory_forget(const struct context *context)
{
	pthread_mutex_lock(&all.lock);
	for (struct graph_memory *memory = all.first; memory;) {
		struct graph_memory *next = memory->next;
		if (memory->home == context) {
			memory->home = NULL;
			memory->address = 0;
			if (memory->is_live) {
				memory->is_live = false;
				graph_memory_free_one(memory);
			}
		}
		memory = next;
	}
	pthread_mutex_unlock(&all.lock);
}

enum graph_leave graph_memory_leave(uint64_t address)
{
	struct graph_memory *memory = graph_memory_lock_and_find(address);
	enum graph_leave found = !memory ? LEAVE_FOREIGN
		: memory->is_live ? LEAVE_LIVE : LEAVE_DEAD;
	if (memory) {
		memory->is_live = false;
	}
	pthread_mutex_unlock(&all.lock);
	return found;
}

void graph_memory_return(uint64_t address)
{
	struct graph_memory *memory = graph_memory_lock_and_find(address);
	if (memory) {
		memory->is_live = true;
	}
	pthread_mutex_unlock(&all.lock);
}

struct memory_pool *graph_memory_account(unsigned device)
{
	return &all.accounts[device];
}
