/* SPDX-License-Identifier: MIT */
/*
 * The pool; see mempool.h.
 *
 * mempool_take tries in this order:
 *	1. The smallest block that is large enough, of the stream's free list or the idle one.
 *	2. The same after parked memory is merged, and again after the lists of streams that are
 *	   done are moved to the idle one.
 *	3. If the caller does not know the stream, a block of any stream, after its work.
 *	4. A new segment.
 *	5. When the driver has no more: a block of any stream.  Else all unused segments go back,
 *	   the device is waited for, and 4 and 5 are tried once more.
 * Callers try mempool_reuse first, which takes parked memory of just that size as it is.
 *
 * Only blocks of one list are merged.  So what another stream uses does not pull idle memory to its
 * list, and a list that is emptied makes large blocks again.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/live.h"
#include "lib/core/memory.h"
#include "lib/core/segment.h"

/* Cutting a block takes one descriptor. */
static bool mempool_has_spare(struct mempool *pool)
{
	if (unlikely(!pool->spare)) {
		pool->spare = mem_zalloc(1, sizeof(*pool->spare));
	}
	return pool->spare;
}

/* Handing out blocks; under the lock */

/* The block is off its list; `last`, counted, is the stream of that list. */
static void mempool_hand_out(struct mempool *pool, struct memory *memory, struct free_block *block,
	struct kz_stream *last)
{
	block->memory = memory;
	memory->block = block;
	memory->address = block->address;
	atomic_store_explicit(&memory->last, last, memory_order_relaxed);
	mempool_count(pool, block);
}

static void mempool_take_block(struct mempool *pool, struct memory *memory,
	struct free_block *block, size_t units)
{
	struct free_list *list = block->list;
	free_list_remove(block);
	if (block->units > units) {
		free_list_cut(list, block, units, &pool->spare);
	}
	block->segment->live++;
	mempool_hand_out(pool, memory, block, list->stream);
}

/* The smaller of two, either of which may be NULL. */
static struct free_block *mempool_better(struct free_block *a, struct free_block *b)
{
	return a && (!b || a->units <= b->units) ? a : b;
}

/* A block that the stream can use at once.  The program itself uses pinned memory, so all work on
 * that must have passed. */
static bool mempool_take_ready(struct mempool *pool, struct memory *memory, size_t units,
	struct kz_stream *stream)
{
	bool large = segment_is_large(units);
	struct free_block *block = free_list_find(&pool->idle, large, units);
	if (pool->kind == MEMPOOL_DEVICE) {
		stream = stream ? stream : &pool->device->stream;
		block = mempool_better(free_list_find(device_free_list(pool, stream), large, units),
			block);
	}
	if (!block) {
		return false;
	}
	if (block->list->stream) {
		stream_retain(stream);
	}
	mempool_take_block(pool, memory, block, units);
	return true;
}

/* The best block of any stream; its next user waits for that stream. */
static bool mempool_take_any(struct mempool *pool, struct memory *memory, size_t units)
{
	struct free_block *block = free_list_find(&pool->idle, segment_is_large(units), units);
	for (struct free_list *list = pool->lists; list && pool->kind == MEMPOOL_DEVICE;
	     list = list->next) {
		if (stream_is_living(list->stream)) {
			block = mempool_better(block,
				free_list_find(list, segment_is_large(units), units));
		}
	}
	if (!block || (block->list->stream && !stream_retain_living(block->list->stream))) {
		return false;
	}
	mempool_take_block(pool, memory, block, units);
	return true;
}

/* All that is parked becomes blocks on its list. */
static void mempool_unpark(struct mempool *pool)
{
	free_list_unpark(&pool->idle, &pool->spare);
	for (struct free_list *list = pool->lists; list; list = list->next) {
		free_list_unpark(list, &pool->spare);
	}
}

/* Move the blocks of streams that are done to the idle list.  The context is current, nothing is
 * parked. */
static void mempool_sweep(struct mempool *pool)
{
	for (struct free_list *list = pool->lists; list; list = list->next) {
		if (list->count > 0 && stream_is_done(list->stream)) {
			free_list_move(list, &pool->idle, &pool->spare);
		}
	}
}

/* Take the late segments off the list, if all work on them is done; under the lock. */
static struct segment *mempool_detach_late(struct mempool *pool, struct segment *detached)
{
	struct segment *next;
	for (struct segment *segment = pool->segments; segment && pool->late > 0; segment = next) {
		next = segment->next;
		if (segment->is_late) {
			segment_unlink(pool, segment);
			segment->next = detached;
			detached = segment;
			pool->late--;
		}
	}
	return detached;
}

/* Give back the late segments for which nothing has to be waited for any more.  The context is
 * current. */
static void mempool_give_back_late(struct mempool *pool)
{
	if (pool->late == 0 || !stream_are_all_done(pool->device)) {
		return;
	}
	pthread_mutex_lock(&pool->lock);
	struct segment *late = mempool_detach_late(pool, NULL);
	pthread_mutex_unlock(&pool->lock);
	segment_give_back(pool, late, true);
}

/* Take unused segments off the lists until `keep` bytes are reserved; under the lock.  *busy is set
 * if work on them may be in flight.  During a capture nobody can wait for that, so these stay. */
static struct segment *mempool_detach_unused(struct mempool *pool, int64_t keep, bool captures,
	bool *busy)
{
	struct segment *detached = NULL;
	struct segment *next;
	for (struct segment *segment = pool->segments; segment; segment = next) {
		next = segment->next;
		bool in_flight = segment->first.behind || segment->first.list != &pool->idle;
		if (segment->live > 0 || pool->stats.reserved_size <= keep
		    || (in_flight && captures)) {
			continue;
		}
		*busy |= in_flight;
		for (struct free_block *block = &segment->first, *behind; block; block = behind) {
			behind = block->behind;
			free_list_remove(block);
			if (block != &segment->first) {
				block->more = pool->spare;
				pool->spare = block;
			}
		}
		segment_unlink(pool, segment);
		segment->next = detached;
		detached = segment;
	}
	return detached;
}

CUresult mempool_trim(struct mempool *pool, int64_t keep)
{
	bool captures = device_hold_captures(pool->device);
	bool busy = pool->late > 0 && !captures;
	pthread_mutex_lock(&pool->lock);
	mempool_unpark(pool);
	mempool_sweep(pool);
	struct segment *unused = mempool_detach_unused(pool, keep, captures, &busy);
	pthread_mutex_unlock(&pool->lock);
	CUresult code = busy ? pool->device->drv->CtxSynchronize() : CUDA_SUCCESS;
	device_let_captures(pool->device);
	segment_give_back(pool, unused, true);
	mempool_give_back_late(pool);
	return code;
}

/* Memory has run out: wait for all that is in flight, and give back what can be. */
static CUresult mempool_reclaim(struct mempool *pool, struct mempool_failure *why)
{
	bool busy = false;
	bool captures = device_hold_captures(pool->device);
	pthread_mutex_lock(&pool->lock);
	mempool_unpark(pool);
	if (captures) {
		mempool_sweep(pool);
	}
	struct segment *unused = mempool_detach_unused(pool, 0, captures, &busy);
	pthread_mutex_unlock(&pool->lock);
	CUresult code = captures ? CUDA_SUCCESS : pool->device->drv->CtxSynchronize();
	device_let_captures(pool->device);
	segment_give_back(pool, unused, true);
	mempool_give_back_late(pool);
	if (code) {
		why->call = "cuCtxSynchronize";
	}
	return code;
}

/* Taking and giving */

static size_t mempool_units_of(int64_t size)
{
	return round_up((size_t)size, MEMPOOL_UNIT) / MEMPOOL_UNIT;
}

/* The size of a new segment, where the device has enough memory. */
static size_t mempool_segment_size(size_t units)
{
	return segment_is_large(units) ? round_up(units * MEMPOOL_UNIT, MEMPOOL_SEGMENT)
		: MEMPOOL_SEGMENT;
}

/* Try once to reserve `segment`; *found says that a block of an older segment was taken instead. */
static CUresult mempool_reserve_or_find(struct mempool *pool, struct segment *segment,
	struct memory *memory, bool *found, struct mempool_failure *why)
{
	size_t units = mempool_units_of(memory->size);
	if (!segment->is_kept) {
		return segment_reserve(pool, segment, (size_t)memory->size, why);
	}
	CUresult code = segment_reserve(pool, segment, mempool_segment_size(units), why);
	if (code == CUDA_ERROR_OUT_OF_MEMORY
		&& mempool_segment_size(units) > units * MEMPOOL_UNIT) {
		code = segment_reserve(pool, segment, units * MEMPOOL_UNIT, why);
	}
	if (code == CUDA_ERROR_OUT_OF_MEMORY) {
		pthread_mutex_lock(&pool->lock);
		mempool_unpark(pool);
		*found = mempool_has_spare(pool) && mempool_take_any(pool, memory, units);
		pthread_mutex_unlock(&pool->lock);
	}
	return code;
}

/* A new segment, or what there is to find instead. */
static kz_status mempool_take_new(struct mempool *pool, struct memory *memory,
	struct mempool_failure *why, kz_error *err)
{
	size_t units = mempool_units_of(memory->size);
	bool found = false;
	struct segment *segment = segment_create(segment_source(pool), units,
		pool->keeps && units <= FREE_LIST_UNITS_MAX);
	struct free_block *rest = mem_zalloc(1, sizeof(*rest));
	if (!segment || !rest) {
		mem_free(segment);
		mem_free(rest);
		return error_no_memory(err);
	}
	mempool_give_back_late(pool);
	CUresult code = mempool_reserve_or_find(pool, segment, memory, &found, why);
	if (code == CUDA_ERROR_OUT_OF_MEMORY && !found) {
		code = mempool_reclaim(pool, why);
		code = code ? code : mempool_reserve_or_find(pool, segment, memory, &found, why);
	}
	if (code) {
		mem_free(segment);
		mem_free(rest);
		why->code = found ? CUDA_SUCCESS : code;
		return KZ_OK;
	}
	/* Take the first block; what is after it, which `rest` describes, goes to the idle
	 * list. */
	struct kz_stream *last = segment->source->is_ordered
		? stream_retain(&pool->device->stream) : NULL;
	pthread_mutex_lock(&pool->lock);
	rest->more = pool->spare;
	pool->spare = rest;
	if (segment->first.units > units) {
		free_list_cut(&pool->idle, &segment->first, units, &pool->spare);
	}
	mempool_hand_out(pool, memory, &segment->first, last);
	pthread_mutex_unlock(&pool->lock);
	return KZ_OK;
}

static kz_status mempool_take_slowly(struct mempool *pool, struct memory *memory,
	struct kz_stream *stream, struct mempool_failure *why, kz_error *err)
{
	struct device_scope scope;
	kz_status st = device_enter(pool->device, &scope, err);
	if (st) {
		return st;
	}
	size_t units = mempool_units_of(memory->size);
	bool found = false;
	pthread_mutex_lock(&pool->lock);
	if (pool->keeps && units <= FREE_LIST_UNITS_MAX && mempool_has_spare(pool)) {
		mempool_unpark(pool);
		found = mempool_take_ready(pool, memory, units, stream);
		if (!found) {
			mempool_sweep(pool);
			found = mempool_take_ready(pool, memory, units, stream)
				|| (!stream && mempool_take_any(pool, memory, units));
		}
	}
	pthread_mutex_unlock(&pool->lock);
	st = found ? KZ_OK : mempool_take_new(pool, memory, why, err);
	device_leave(pool->device, &scope);
	return st;
}

kz_status mempool_take(struct mempool *pool, struct memory *memory, struct kz_stream *stream,
	struct mempool_failure *why, kz_error *err)
{
	size_t units = mempool_units_of(memory->size);
	bool found = false, starved = false;
	*why = (struct mempool_failure){CUDA_SUCCESS, NULL};
	pthread_mutex_lock(&pool->lock);
	if (likely(pool->keeps && units <= FREE_LIST_UNITS_MAX)) {
		starved = !mempool_has_spare(pool);
		found = !starved && mempool_take_ready(pool, memory, units, stream);
	}
	pthread_mutex_unlock(&pool->lock);
	return likely(found) ? KZ_OK : starved ? error_no_memory(err)
		: mempool_take_slowly(pool, memory, stream, why, err);
}

kz_status mempool_adopt(struct mempool *pool, struct memory *memory, bool ours, kz_error *err)
{
	struct segment *segment = segment_create(NULL, 0, false);
	if (!segment) {
		return error_no_memory(err);
	}
	segment->is_counted = ours;
	segment->first.address = memory->address;
	segment->first.memory = memory;
	segment->first.units = mempool_units_of(memory->size);
	segment->size = (int64_t)(segment->first.units * MEMPOOL_UNIT);
	memory->block = &segment->first;
	pthread_mutex_lock(&pool->lock);
	segment_link(pool, segment);
	if (ours) {
		mempool_count(pool, &segment->first);
	}
	pthread_mutex_unlock(&pool->lock);
	return KZ_OK;
}

void mempool_resize(struct mempool *pool, struct memory *memory, int64_t size, int64_t reserved)
{
	struct free_block *block = memory->block;
	kz_memory_stats *stats = &pool->stats;
	size_t units = mempool_units_of(size);
	pthread_mutex_lock(&pool->lock);
	segment_unlink(pool, block->segment);
	block->segment->size = reserved;
	segment_link(pool, block->segment);
	stats->live_size += ((int64_t)units - (int64_t)block->units) * MEMPOOL_UNIT;
	stats->peak_size = stats->live_size > stats->peak_size ? stats->live_size
		: stats->peak_size;
	block->units = units;
	memory->size = size;
	pthread_mutex_unlock(&pool->lock);
}

/* Give back a segment that no pool keeps, after the stream that used it last.  The driver may wait
 * for all streams then, one of which may wait for what the program does next: while a stream is
 * busy the segment stays. */
static void mempool_end_segment(struct mempool *pool, struct segment *segment,
	struct kz_stream *last)
{
	const struct segment_source *source = segment->source;
	struct device_scope scope;
	const bool living = source && device_enter_quietly(pool->device, &scope);
	const bool is_late = living && !source->is_ordered && !stream_are_all_done(pool->device);
	pthread_mutex_lock(&pool->lock);
	if (is_late) {
		segment->is_late = true;
		pool->late++;
	} else {
		segment_unlink(pool, segment);
	}
	pthread_mutex_unlock(&pool->lock);
	if (living && !is_late) {
		source->give_back(pool->device, segment->first.address, last);
		mempool_give_back_late(pool);
	}
	if (living) {
		device_leave(pool->device, &scope);
	}
	if (!is_late) {
		mem_free(segment);
	}
}

void mempool_give(struct mempool *pool, struct memory *memory)
{
	struct free_block *block = memory->block;
	struct segment *segment = block->segment;
	struct kz_stream *last = atomic_load(&memory->last);
	bool kept = segment->is_kept;
	pthread_mutex_lock(&pool->lock);
	block->memory = NULL;
	if (segment->is_counted) {
		mempool_discount(pool, block);
	}
	if (kept) {
		segment->live--;
		free_list_merge(device_free_list(pool, last), block, &pool->spare);
	}
	pthread_mutex_unlock(&pool->lock);
	if (!kept) {
		mempool_end_segment(pool, segment, last);
	}
}

/* The pool as a whole */

void mempool_init(struct mempool *pool, struct kz_device *dev, enum mempool_kind kind, bool keeps)
{
	pool->device = dev;
	pool->kind = kind;
	atomic_init(&pool->keeps, keeps);
	pthread_mutex_init(&pool->lock, NULL);
}

void mempool_finish(struct mempool *pool)
{
	struct device_scope scope;
	bool busy = false;
	free_list_unpark(&pool->idle, &pool->spare);
	struct segment *unused = mempool_detach_unused(pool, 0, false, &busy);
	unused = mempool_detach_late(pool, unused);
	bool living = unused && device_enter_quietly(pool->device, &scope);
	segment_give_back(pool, unused, living);
	if (living) {
		device_leave(pool->device, &scope);
	}
	while (pool->spare) {
		struct free_block *next = pool->spare->more;
		mem_free(pool->spare);
		pool->spare = next;
	}
	pthread_mutex_destroy(&pool->lock);
}

void mempool_switch(struct mempool *pool, bool keeps)
{
	pthread_mutex_lock(&pool->lock);
	mempool_unpark(pool);
	pool->keeps = keeps;
	pthread_mutex_unlock(&pool->lock);
}

void mempool_read(struct mempool *pool, kz_memory_stats *out)
{
	pthread_mutex_lock(&pool->lock);
	*out = pool->stats;
	pthread_mutex_unlock(&pool->lock);
}

int64_t mempool_list(struct mempool *pool, kz_live_memory *out, int64_t room)
{
	int64_t count = 0;
	pthread_mutex_lock(&pool->lock);
	for (struct segment *segment = pool->segments; segment; segment = segment->next) {
		for (struct free_block *block = &segment->first; block; block = block->behind) {
			if (live_is(segment, block) && count++ < room) {
				out[count - 1] = live_entry(pool, block);
			}
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return count;
}

/* Streams come and go */

bool mempool_enlist(struct kz_stream *stream)
{
	struct mempool *pools = stream->device->pools;
	stream->free_lists = mem_zalloc(MEMPOOL_KINDS, sizeof(*stream->free_lists));
	for (int kind = 0; stream->free_lists && kind < MEMPOOL_KINDS; kind++) {
		struct free_list *list = &stream->free_lists[kind];
		list->stream = stream;
		pthread_mutex_lock(&pools[kind].lock);
		list->next = pools[kind].lists;
		pools[kind].lists = list;
		pthread_mutex_unlock(&pools[kind].lock);
	}
	return stream->free_lists;
}

/* The list for what a stream leaves: the idle one if the stream is done, else that of the default
 * stream, put after it.  The default stream ends last. */
static struct free_list *mempool_heir_of(struct mempool *pool, struct kz_stream *stream)
{
	struct kz_stream *heir = &pool->device->stream;
	if (stream_is_done(stream)) {
		return &pool->idle;
	}
	bool is_capturing;
	if (stream != heir && stream_find_capturing(&is_capturing, heir, NULL) == KZ_OK
	    && !is_capturing
	    && stream_order(heir, stream, NULL) == KZ_OK) {
		return device_free_list(pool, heir);
	}
	(void)stream_wait(stream);
	return &pool->idle;
}

static void mempool_retire_list(struct mempool *pool, struct kz_stream *stream, bool lost)
{
	struct free_list *list = device_free_list(pool, stream);
	pthread_mutex_lock(&pool->lock);
	free_list_unpark(list, &pool->spare);
	if (list->count > 0) {
		free_list_move(list, lost ? &pool->idle : mempool_heir_of(pool, stream),
			&pool->spare);
	}
	struct free_list **link = &pool->lists;
	while (*link != list) {
		link = &(*link)->next;
	}
	*link = list->next;
	pthread_mutex_unlock(&pool->lock);
}

void mempool_retire(struct kz_stream *stream, bool lost)
{
	if (stream->free_lists) {
		mempool_retire_list(&stream->device->pools[MEMPOOL_DEVICE], stream, lost);
		mempool_retire_list(&stream->device->pools[MEMPOOL_PINNED], stream, lost);
		mem_free(stream->free_lists);
		stream->free_lists = NULL;
	}
}
