/* SPDX-License-Identifier: MIT */
/*
 * Handles.  A handle is a number made of the kind, a generation, and the index of a slot.  A slot
 * gets a new generation each time it is freed, and is used again as late as possible.  A look-up
 * takes no lock: chunks of slots are never moved or freed, and a look-up compares the slot's tag
 * before and after it reads the object.
 */
#include "base/common.h"

#include "cpu/object/handle.h"

#include "base/alloc.h"
#include "cpu/object/cu_object.h"

#include <pthread.h>
#include <stdatomic.h>

#define CHUNK_SLOTS 1024
#define CHUNKS 1024
#define INDEX_BITS 20
#define GENERATION_BITS 24
#define NO_SLOT UINT32_MAX

static_assert(CHUNKS * CHUNK_SLOTS == 1 << INDEX_BITS, "an index names every slot");
static_assert(API_KIND_END <= 1 << (32 - GENERATION_BITS), "a kind fits above the generation");
static_assert(32 + INDEX_BITS <= 64, "a tag fits above the index");

struct handle_slot {
	atomic_uint tag;        /* kind and generation; 0 while free */
	uint32_t generation;
	uint32_t next_free;
	bool is_claimed;        /* a call ends the object */
	void *_Atomic object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle_slot *_Atomic chunks[CHUNKS];
static uint32_t slot_count;
static uint32_t free_first = NO_SLOT;
static uint32_t free_last = NO_SLOT;

static struct handle_slot *handle_slot_at(uint32_t index)
{
	struct handle_slot *chunk = atomic_load_explicit(&chunks[index / CHUNK_SLOTS],
		memory_order_acquire);
	return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

static void handle_append_free(uint32_t index)
{
	handle_slot_at(index)->next_free = NO_SLOT;
	if (free_last == NO_SLOT) {
		free_first = index;
	} else {
		handle_slot_at(free_last)->next_free = index;
	}
	free_last = index;
}

static bool handle_add_chunk(void)
{
	struct handle_slot *chunk = NULL;
	if (slot_count < CHUNKS * CHUNK_SLOTS) {
		chunk = mem_zalloc(CHUNK_SLOTS, sizeof(*chunk));
	}
	if (!chunk) {
		return false;
	}
	atomic_store_explicit(&chunks[slot_count / CHUNK_SLOTS], chunk, memory_order_release);
	for (uint32_t i = 0; i < CHUNK_SLOTS; i++) {
		handle_append_free(slot_count++);
	}
	return true;
}

void *handle_create(enum api_kind kind, void *object)
{
	uint64_t handle = 0;
	pthread_mutex_lock(&lock);
	if (free_first != NO_SLOT || handle_add_chunk()) {
		uint32_t index = free_first;
		struct handle_slot *slot = handle_slot_at(index);
		free_first = slot->next_free;
		free_last = free_first == NO_SLOT ? NO_SLOT : free_last;
		uint32_t tag = (uint32_t)kind << GENERATION_BITS | slot->generation;
		slot->is_claimed = false;
		atomic_store_explicit(&slot->object, object, memory_order_release);
		atomic_store_explicit(&slot->tag, tag, memory_order_release);
		handle = (uint64_t)tag << INDEX_BITS | index;
	}
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)handle;
}

void *handle_get(const void *handle, enum api_kind kind)
{
	uint64_t number = (uintptr_t)handle;
	uint64_t tag = number >> INDEX_BITS;
	if (tag >> GENERATION_BITS != (uint64_t)kind) {
		return NULL;
	}
	struct handle_slot *slot = handle_slot_at(number & ((1u << INDEX_BITS) - 1));
	if (!slot || atomic_load_explicit(&slot->tag, memory_order_acquire) != tag) {
		return NULL;
	}
	// The slot may have been freed and used again since then.
	void *object = atomic_load_explicit(&slot->object, memory_order_acquire);
	return atomic_load_explicit(&slot->tag, memory_order_acquire) == tag ? object : NULL;
}

bool handle_is_past(const void *handle, enum api_kind kind)
{
	uint64_t number = (uintptr_t)handle;
	uint64_t tag = number >> INDEX_BITS;
	const uint32_t index = number & ((1u << INDEX_BITS) - 1);
	if (tag >> GENERATION_BITS != (uint64_t)kind) {
		return false;
	}
	pthread_mutex_lock(&lock);
	const struct handle_slot *slot = handle_slot_at(index);
	uint32_t generation = tag & ((1u << GENERATION_BITS) - 1);
	// Suspended, or of an earlier generation, which nobody has counted around.
	bool is_past = slot && generation <= slot->generation
		&& atomic_load_explicit(&slot->tag, memory_order_relaxed) != tag;
	pthread_mutex_unlock(&lock);
	return is_past;
}

/* The object of a handle that no call has claimed.  The caller holds the lock, without which no
 * call can end it. */
static void *handle_get_unclaimed(const void *handle, enum api_kind kind)
{
	const uint32_t index = (uintptr_t)handle & ((1u << INDEX_BITS) - 1);
	void *object = handle_get(handle, kind);
	return object && !handle_slot_at(index)->is_claimed ? object : NULL;
}

static void handle_mark_claimed(const void *handle)
{
	handle_slot_at((uintptr_t)handle & ((1u << INDEX_BITS) - 1))->is_claimed = true;
}

void *handle_claim(const void *handle, enum api_kind kind)
{
	pthread_mutex_lock(&lock);
	void *object = handle_get_unclaimed(handle, kind);
	if (object) {
		handle_mark_claimed(handle);
	}
	pthread_mutex_unlock(&lock);
	return object;
}

struct object *object_claim(const void *handle, enum api_kind kind, bool *is_part)
{
	pthread_mutex_lock(&lock);
	struct object *object = handle_get_unclaimed(handle, kind);
	*is_part = object && object->is_part;
	if (object && !*is_part) {
		handle_mark_claimed(handle);
	}
	pthread_mutex_unlock(&lock);
	return *is_part ? NULL : object;
}

void handle_suspend(void *handle)
{
	struct handle_slot *slot = handle_slot_at((uintptr_t)handle & ((1u << INDEX_BITS) - 1));
	atomic_store_explicit(&slot->tag, 0, memory_order_release);
}

void handle_resume(void *handle, void *object)
{
	struct handle_slot *slot = handle_slot_at((uintptr_t)handle & ((1u << INDEX_BITS) - 1));
	atomic_store_explicit(&slot->object, object, memory_order_release);
	atomic_store_explicit(&slot->tag, (unsigned)((uintptr_t)handle >> INDEX_BITS),
		memory_order_release);
}

void handle_release(void *handle)
{
	if (!handle) {
		return;
	}
	uint32_t index = (uintptr_t)handle & ((1u << INDEX_BITS) - 1);
	pthread_mutex_lock(&lock);
	struct handle_slot *slot = handle_slot_at(index);
	atomic_store_explicit(&slot->tag, 0, memory_order_release);
	slot->generation = (slot->generation + 1) & ((1u << GENERATION_BITS) - 1);
	handle_append_free(index);
	pthread_mutex_unlock(&lock);
}
