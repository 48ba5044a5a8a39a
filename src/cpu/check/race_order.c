/* SPDX-License-Identifier: MIT */
/*
 * What threads know of each other's accesses by barriers of some threads, and by releases.
 *
 * A struct race_know never changes.  It has times of threads of its own block, and says how far
 * these threads have read the logs of addresses.  A log has what was released to one address, in
 * order, so an acquire stores one number.  What the number means is found out when an access meets
 * the mark of another block.  All of this lives as long as the launch.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "cpu/mem/fault.h"

#include <string.h>

/* How far a log has been read. */
struct race_seen {
	uint32_t log;
	uint32_t count;
	bool is_cta;             /* only what the own block has released */
};

struct race_know {
	uint64_t visit;          /* the last question that has looked at it */
	uint32_t block;
	uint32_t threads;        /* of that */
	uint32_t first, count;   /* threads, whose accesses up to `times` are known */
	uint32_t *times;
	struct race_seen *seen;
	size_t seen_count;
};

/* What a thread has released. */
struct race_item {
	uint32_t block, thread;
	uint32_t time;           /* of its own accesses, */
	uint32_t warp_met, met;  /* of its warp's and of its block's */
	const uint32_t *first;   /* plain access of its block to global memory after `met`, or 0 */
	bool is_cta;
	struct race_know *own, *all; /* what the thread and its block knew besides */
};

/* What order_floor has found for so many items, when a block asked. */
struct race_floor {
	uint32_t count, block, time;
};

struct race_log {
	uint64_t address;
	struct race_item *items;
	size_t count, cap;
	bool has_cta;            /* some items are for their own block */
	uint64_t visit;          /* the question that has looked at */
	uint32_t visited;        /* so many items of it, */
	uint64_t visited_as;     /* for such a thread (order_view) */
	struct race_floor floors[2]; /* for all accesses, and for plain ones */
	struct race_barrier barrier; /* if there is one */
};

struct race_order {
	struct arena arena;
	struct race_log *logs;
	size_t count, cap;
	uint32_t *table;         /* logs by the hash of their address, plus 1 */
	size_t table_size;
	uint64_t visit;          /* of the question that is being answered */
	uint64_t *blocks;        /* by block: the last question that has met it */
	size_t block_cap;
	bool failed;             /* no memory: from now on everything is known */
};

enum { MOST_DEPTH = 1000 };      /* of releases that were acquired before a release; all of what is
                                    beyond is known */

struct race_order *race_order_create(void)
{
	return mem_zalloc(1, sizeof(struct race_order));
}

void race_order_begin(struct race_order *order)
{
	for (size_t i = 0; i < order->count; i++) {
		mem_free(order->logs[i].items);
	}
	order->count = 0;
	if (order->table) {
		memset(order->table, 0, order->table_size * sizeof(*order->table));
	}
	arena_free(&order->arena);
	order->failed = false;
}

void race_order_release(struct race_order *order)
{
	if (order) {
		race_order_begin(order);
		mem_free(order->logs);
		mem_free(order->table);
		mem_free(order->blocks);
		mem_free(order);
	}
}

static void *order_alloc(struct race_order *order, size_t count, size_t size)
{
	fault_hold();
	void *memory = arena_alloc(&order->arena, count, size);
	fault_release();
	order->failed |= !memory;
	return memory;
}

/* An array with room for one more element; NULL: no memory. */
static void *order_grow(struct race_order *order, void *items, size_t count, size_t *cap,
	size_t size)
{
	if (count < *cap) {
		return items;
	}
	fault_hold();
	void *grown = mem_grow(items, count, cap, size);
	fault_release();
	order->failed |= !grown;
	return grown;
}

/* --- Logs --- */

static size_t order_slot(const struct race_order *order, uint64_t address)
{
	const size_t mask = order->table_size - 1;
	size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
	while (order->table[at] != 0 && order->logs[order->table[at] - 1].address != address) {
		at = (at + 1) & mask;
	}
	return at;
}

/* The log of an address plus 1; 0: it has none. */
static uint32_t order_find(const struct race_order *order, uint64_t address)
{
	return order->count > 0 ? order->table[order_slot(order, address)] : 0;
}

static bool order_grow_table(struct race_order *order)
{
	if (2 * (order->count + 1) <= order->table_size) {
		return true;
	}
	const size_t size = order->table_size > 0 ? 2 * order->table_size : 64;
	fault_hold();
	uint32_t *table = mem_zalloc(size, sizeof(*table));
	mem_free(table ? order->table : NULL);
	fault_release();
	if (!table) {
		order->failed = true;
		return false;
	}
	order->table = table;
	order->table_size = size;
	for (size_t i = 0; i < order->count; i++) {
		order->table[order_slot(order, order->logs[i].address)] = (uint32_t)i + 1;
	}
	return true;
}

static struct race_log *order_log(struct race_order *order, uint64_t address)
{
	uint32_t found = order_find(order, address);
	if (found != 0) {
		return &order->logs[found - 1];
	}
	struct race_log *logs = order_grow(order, order->logs, order->count, &order->cap,
		sizeof(*logs));
	if (!logs) {
		return NULL;
	}
	order->logs = logs;
	if (!order_grow_table(order)) {
		return NULL;
	}
	order->table[order_slot(order, address)] = (uint32_t)order->count + 1;
	logs[order->count] = (struct race_log){.address = address};
	return &logs[order->count++];
}

/* --- Knowledge --- */

static bool order_note_seen(struct race_know *know, struct race_seen seen)
{
	for (size_t i = 0; i < know->seen_count; i++) {
		struct race_seen *old = &know->seen[i];
		if (old->log == seen.log && old->is_cta == seen.is_cta) {
			const bool is_more = seen.count > old->count;
			old->count = is_more ? seen.count : old->count;
			return is_more;
		}
	}
	know->seen[know->seen_count++] = seen;
	return true;
}

static void order_add_seen(struct race_know *know, const struct race_know *other)
{
	for (size_t i = 0; other && i < other->seen_count; i++) {
		order_note_seen(know, other->seen[i]);
	}
}

static size_t order_seen_count(const struct race_know *know)
{
	return know ? know->seen_count : 0;
}

/* With room for so many logs; NULL: no memory. */
static struct race_know *order_make_know(struct race_order *order, uint32_t block, size_t seen)
{
	struct race_know *know = order_alloc(order, 1, sizeof(*know));
	if (know && (know->seen = order_alloc(order, seen + 1, sizeof(*know->seen)))) {
		know->block = block;
		return know;
	}
	return NULL;
}

typedef void order_each_fn(struct race_know *out, const struct race_block *block, uint32_t thread,
	uint32_t now);

static void order_widen(struct race_know *out, const struct race_block *block, uint32_t thread,
	uint32_t now)
{
	const struct race_know *know = block->of[thread].know;
	(void)now;
	if (know && know->count > 0) {
		const uint32_t end = out->first + out->count, other = know->first + know->count;
		out->first = know->first < out->first ? know->first : out->first;
		out->count = (end > other ? end : other) - out->first;
	}
}

static void order_take(struct race_know *out, const struct race_block *block, uint32_t thread,
	uint32_t now)
{
	const struct race_know *know = block->of[thread].know;
	for (uint32_t i = 0; know && i < know->count; i++) {
		uint32_t *time = &out->times[know->first + i - out->first];
		*time = know->times[i] > *time ? know->times[i] : *time;
	}
	order_add_seen(out, know);
	out->times[thread - out->first] = now;
}

static void order_for_each(struct race_know *out, const struct race_block *block,
	const struct race_set *set, uint32_t now, order_each_fn *each)
{
	for (uint32_t w = 0; w < set->words; w++) {
		for (uint32_t left = set->threads[w]; left != 0; left &= left - 1) {
			each(out, block, (set->warp + w) * 32 + (uint32_t)__builtin_ctz(left), now);
		}
	}
}

struct race_know *race_know_join(struct race_order *order, const struct race_block *block,
	const struct race_set *set, uint32_t now)
{
	size_t seen = 0;
	for (uint32_t t = set->warp * 32; t < (set->warp + set->words) * 32 && t < block->threads;
		t++) {
		const bool is_in = set->threads[t / 32 - set->warp] >> t % 32 & 1;
		seen += is_in ? order_seen_count(block->of[t].know) : 0;
	}
	struct race_know *know = order_make_know(order, block->number, seen);
	if (!know) {
		return NULL;
	}
	know->threads = block->threads;
	know->first = set->warp * 32;
	know->count = set->words * 32;
	order_for_each(know, block, set, now, order_widen);
	know->times = order_alloc(order, know->count, sizeof(*know->times));
	if (!know->times) {
		return NULL;
	}
	order_for_each(know, block, set, now, order_take);
	return know;
}

struct race_know *race_know_join_all(struct race_order *order, const struct race_block *block)
{
	size_t seen = order_seen_count(block->know);
	for (uint32_t t = 0; t < block->threads; t++) {
		seen += order_seen_count(block->of[t].know);
	}
	struct race_know *know = seen > 0 ? order_make_know(order, block->number, seen) : NULL;
	if (!know) {
		return NULL;
	}
	order_add_seen(know, block->know);
	for (uint32_t t = 0; t < block->threads; t++) {
		order_add_seen(know, block->of[t].know);
	}
	return know;
}

/* --- Releases --- */

/* For order_floor. */
static bool order_has_block(struct race_order *order, uint32_t block)
{
	const size_t cap = 2 * ((size_t)block + 1);
	if (block < order->block_cap) {
		return true;
	}
	fault_hold();
	uint64_t *blocks = mem_realloc(order->blocks, cap * sizeof(*blocks));
	fault_release();
	if (blocks) {
		memset(blocks + order->block_cap, 0, (cap - order->block_cap) * sizeof(*blocks));
		order->blocks = blocks;
		order->block_cap = cap;
	}
	order->failed |= !blocks;
	return blocks;
}

void race_publish(struct race_order *order, struct race_block *block, uint32_t thread,
	uint64_t address, uint32_t time, bool is_cta)
{
	struct race_log *log = order_log(order, address);
	struct race_item *items = log ? order_grow(order, log->items, log->count, &log->cap,
		sizeof(*items)) : NULL;
	if (!items) {
		return;
	}
	log->items = items;
	if (!block->published_first) {
		block->published_first = order_alloc(order, 1, sizeof(*block->published_first));
		if (!block->published_first) {
			return;
		}
		*block->published_first = block->first;
	}
	if (!order_has_block(order, block->number)) {
		return;
	}
	log->has_cta |= is_cta;
	items[log->count++] = (struct race_item){.block = block->number, .thread = thread,
		.time = time, .warp_met = block->warp_met[thread / 32],
		.met = block->threads == 1 ? time : block->met, .first = block->published_first,
		.is_cta = is_cta,
		.own = block->of[thread].know, .all = block->know};
}

struct race_barrier *race_barrier_at(struct race_order *order, uint64_t address, uint32_t threads)
{
	struct race_log *log = order_log(order, address);
	if (log && !log->barrier.uses) {
		log->barrier.uses = order_alloc(order, threads, sizeof(*log->barrier.uses));
	}
	return log && log->barrier.uses ? &log->barrier : NULL;
}

uint32_t race_released(const struct race_order *order, const struct race_block *block,
	uint32_t thread, uint64_t address)
{
	const uint32_t found = order_find(order, address);
	const struct race_log *log = found != 0 ? &order->logs[found - 1] : NULL;
	for (size_t i = log ? log->count : 0; i > 0; i--) {
		const struct race_item *item = &log->items[i - 1];
		if (item->thread == thread && item->block == block->number) {
			return item->time;
		}
	}
	return 0;
}

void race_acquire(struct race_order *order, struct race_block *block, uint32_t thread,
	uint64_t address, bool is_cta)
{
	const uint32_t found = order_find(order, address);
	const struct race_know *old = block->of[thread].know;
	if (found == 0) {
		return;
	}
	const struct race_seen seen = {found - 1, (uint32_t)order->logs[found - 1].count, is_cta};
	for (size_t i = 0; old && i < old->seen_count; i++) {
		if (old->seen[i].log == seen.log && old->seen[i].is_cta == is_cta
		    && old->seen[i].count == seen.count) {
			return;
		}
	}
	struct race_know *know = order_make_know(order, block->number, order_seen_count(old) + 1);
	if (!know) {
		return;
	}
	order_add_seen(know, old);
	order_note_seen(know, seen);
	if (old) {
		know->threads = old->threads;
		know->first = old->first;
		know->count = old->count;
		know->times = old->times;
	}
	block->of[thread].know = know;
	block->has_threads = true;
}

/* --- Questions --- */

/* Who asks about what. */
struct order_question {
	struct race_order *order;
	uint32_t block;
	const struct race_mark *mark;
	uint32_t begun;          /* blocks, */
	uint32_t now;
};

static bool order_has(const struct race_know *know, uint32_t thread, uint32_t time)
{
	return thread - know->first < know->count && know->times[thread - know->first] >= time;
}

/* Of the own block, or that of a release. */
static bool order_has_threads(const struct race_know *know, const struct race_mark *mark)
{
	const uint32_t warp = mark->thread / 32 * 32;
	bool has = know->block == mark->block && know->count > 0 && mark->level != RACE_GRID;
	if (!has || mark->level == RACE_THREAD) {
		return has && order_has(know, mark->thread, mark->time);
	}
	for (uint32_t left = mark->members; left != 0 && has; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const uint32_t first = mark->level == RACE_WARP ? warp + i : i * 32;
		const uint32_t count = mark->level == RACE_WARP ? 1 : 32;
		for (uint32_t t = first; t < first + count && t < know->threads && has; t++) {
			has = order_has(know, t, mark->time);
		}
	}
	return has;
}

static bool order_covers(const struct race_item *item, const struct race_mark *mark)
{
	return item->block == mark->block && mark->level != RACE_GRID
		&& (mark->time <= item->met
		    || (mark->level <= RACE_WARP && mark->thread / 32 == item->thread / 32
			&& mark->time <= item->warp_met)
		    || (mark->level == RACE_THREAD && mark->thread == item->thread
			&& mark->time <= item->time));
}

static bool order_search(const struct order_question *q, struct race_know *know, unsigned depth);

static bool order_search_item(const struct order_question *q, const struct race_item *item,
	unsigned depth)
{
	return order_covers(item, q->mark) || order_search(q, item->own, depth + 1)
		|| order_search(q, item->all, depth + 1);
}

/* For whom items of a log count: for all, or for a block, whose scope decides. */
static uint64_t order_view(const struct race_log *log, const struct race_seen *seen, uint32_t block)
{
	return log->has_cta || seen->is_cta ? (uint64_t)block << 2 | seen->is_cta << 1 | 1 : 0;
}

/* The first item of a log that the question has not looked at so. */
static uint32_t order_first_item(struct race_order *order, struct race_log *log,
	const struct race_seen *seen, uint32_t block)
{
	const uint64_t view = order_view(log, seen, block);
	const bool is_new = log->visit != order->visit || log->visited_as != view;
	const uint32_t at = is_new ? 0 : log->visited;
	log->visit = order->visit;
	log->visited_as = view;
	log->visited = seen->count > at ? seen->count : at;
	return at;
}

/* Through all that was released, before it was, to what is known: each at most once. */
static bool order_search(const struct order_question *q, struct race_know *know, unsigned depth)
{
	struct race_order *order = q->order;
	if (!know || know->visit == order->visit) {
		return false;
	}
	know->visit = order->visit;
	if (depth == MOST_DEPTH || order_has_threads(know, q->mark)) {
		return true;
	}
	for (size_t i = 0; i < know->seen_count; i++) {
		const struct race_seen *seen = &know->seen[i];
		struct race_log *log = &order->logs[seen->log];
		uint32_t at = order_first_item(order, log, seen, know->block);
		for (; at < seen->count; at++) {
			const struct race_item *item = &log->items[at];
			const bool is_cta = seen->is_cta || item->is_cta;
			if ((!is_cta || item->block == know->block)
			    && order_search_item(q, item, depth)) {
				return true;
			}
		}
	}
	return false;
}

/* Up to when an item tells of the accesses of its block: before a barrier, or if it asks for plain
 * ones before the first one after that. */
static uint32_t order_item_floor(const struct order_question *q, const struct race_item *item,
	bool is_plain)
{
	const uint32_t end = is_plain && *item->first != 0 ? *item->first : q->now;
	return is_plain && end > item->met ? end - 1 : item->met;
}

/* Up to when a log tells of the accesses of all other blocks that have begun. */
static uint32_t order_floor(const struct order_question *q, struct race_log *log, uint32_t count,
	bool is_plain)
{
	struct race_order *order = q->order;
	struct race_floor *known = &log->floors[is_plain];
	uint32_t floor = UINT32_MAX, met = 0;
	if (known->count == count && known->block == q->block) {
		return known->time;
	}
	order->visit++;
	for (uint32_t i = count; i > 0; i--) {
		const struct race_item *item = &log->items[i - 1];
		if (item->is_cta || item->block == q->block
		    || order->blocks[item->block] == order->visit) {
			continue;
		}
		order->blocks[item->block] = order->visit;
		const uint32_t time = order_item_floor(q, item, is_plain);
		floor = time < floor ? time : floor;
		met++;
	}
	*known = (struct race_floor){count, q->block, met + 1 >= q->begun ? floor : 0};
	return known->time;
}

/* Whether accesses of several blocks are known; those of the own one are before its last
 * barrier. */
static bool order_knows_grid(const struct order_question *q, const struct race_know *know)
{
	const struct race_mark *mark = q->mark;
	const uint32_t time = mark->block == q->block ? mark->members : mark->time;
	const bool is_plain = !mark->is_strong && !mark->is_volatile;
	bool knows = false;
	for (size_t i = 0; know && i < know->seen_count && !knows; i++) {
		const struct race_seen *seen = &know->seen[i];
		knows = !seen->is_cta && order_floor(q, &q->order->logs[seen->log], seen->count,
			is_plain) >= time;
	}
	return knows;
}

bool race_knows(struct race_order *order, struct race_block *block, uint32_t thread,
	const struct race_mark *mark)
{
	const struct order_question q = {order, block->number, mark, block->race->begun,
		block->race->now};
	const struct race_thread *of = &block->of[thread];
	if (!of->know && !block->know) {
		return order->failed;
	}
	if (mark->level == RACE_GRID) {
		return order->failed || (mark->time <= block->met
			&& (order_knows_grid(&q, of->know) || order_knows_grid(&q, block->know)));
	}
	order->visit++;
	return order->failed || order_search(&q, of->know, 0) || order_search(&q, block->know, 0);
}
