/* SPDX-License-Identifier: MIT */
/*
 * The allocator of the device's memory.  It reserves a range of addresses that is several times the
 * physical memory, without access, between gaps (gap.h).  An allocation has pages of its own, and
 * at least one page without access lies between two allocations.  It lies at the end of its pages,
 * so that the first access beyond its end traps.
 *
 * Addresses are multiples of 256, so sizes are rounded up to 256, and the bytes between the end of
 * an allocation and that of its pages can be accessed.  KUDZU_CHECK=memory is exact.
 *
 * Variables of modules have a zone of their own, with a gap between it and that of all other
 * allocations, unless addresses are scarce.
 *
 * Where there are several devices, the area is divided into parts of one size, a power of two:
 * one for each device, one for memory that all of them share (the host's and managed memory), and
 * one for addresses that the program reserves.  So a shift says whose memory an address is in.
 *
 * One sorted array holds all ranges, allocations and reservations.  The mappings in a reservation
 * are a list (memory_map.c).  The search for room begins where the last range ended, so that
 * addresses are not used again soon and stale pointers trap.  A freed range stays in the array,
 * marked as dead, until half of the array is dead: freeing moves nothing.
 *
 * An allocation is private memory.  When another process is to have it, it is moved into a file
 * (share.c).  Memory from other processes, and memory of shared pools, is in a file from the start.
 *
 * Linux allows a process about 65000 mappings, which are 32000 live allocations.  More are out of
 * memory.
 */
#include "base/common.h"

#include "cpu/mem/device_memory.h"

#include "base/alloc.h"
#include "cpu/mem/capacity.h"
#include "cpu/mem/gap.h"
#include "cpu/mem/memory_map.h"
#include "cpu/mem/memory_text.h"
#include "cpu/mem/system_refusal.h"
#include "cpu/mem/unwritten.h"
#include "cpu/config/settings.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT 256
#define OVERCOMMIT 8
#define VARS_OVERCOMMIT 2
#define LARGE_PAGES_MIN ((size_t)4 << 20)
#define MOST_DEAD 65536 /* that are kept to tell of, if there is a guard */

/* A part of the area, for some kinds of memory. */
struct memory_zone {
	uint64_t start;
	uint64_t end;
	uint64_t cursor;          /* where the search for room begins */
};

/* Where the memory of one device is, or one of the two parts after the devices. */
struct memory_part {
	struct memory_zone vars;  /* for variables of modules, and the heap of kernels */
	struct memory_zone rest;
	size_t used;              /* bytes, in whole pages */
	size_t own_count;         /* allocations of the device that its peers may access, */
	size_t pool_count;        /* and those to which only their pools give access */
};

enum { MOST_PARTS = MEMORY_MAX_DEVICES + 2 };

struct device_memory {
	pthread_mutex_t lock;
	struct gap_area area;
	struct memory_part parts[MOST_PARTS]; /* the devices', then the shared and the reserved
	                                         one */
	unsigned devices;
	unsigned shift;           /* by which an address in the area becomes the index of its
	                             part */
	size_t limit;             /* of each device */
	size_t page;
	struct memory_range *ranges;
	size_t count;
	size_t cap;
	size_t dead;
	uint64_t last_id;
	bool keeps_dead;          /* to tell a stale address from a wild one */
	size_t reserved_count;    /* ranges of reserved addresses */
	_Atomic uint64_t held;    /* which of these counts are not 0: see memory_count_range */
};

size_t memory_span(const struct device_memory *memory, size_t size)
{
	return round_up(round_up(size, ALIGNMENT), memory->page);
}

/* Whether the memory belongs to another process, which accounts for it. */
static bool memory_is_foreign(const struct memory_range *range)
{
	return range->share && range->share->kind == SHARE_FOREIGN;
}

/* The pages of a range: [memory_pages_start, memory_pages_end),
	followed by a page without access. */
static uint64_t memory_pages_start(const struct device_memory *memory,
	const struct memory_range *range)
{
	return range->address & ~(uint64_t)(memory->page - 1);
}

static uint64_t memory_pages_end(const struct device_memory *memory,
	const struct memory_range *range)
{
	return round_up(range->address + range->size, memory->page);
}

/* One device has everything. */
static unsigned memory_part_count(const struct device_memory *memory)
{
	return memory->devices > 1 ? memory->devices + 2 : 1;
}

/* The size of a part that has `size` bytes of addresses.  False: that is too much. */
static bool memory_plan_stride(struct device_memory *memory, size_t size, size_t *out)
{
	const unsigned most = 46; /* bits of an address */
	memory->shift = 0;
	while (memory->shift < most && (size_t)1 << memory->shift < size) {
		memory->shift++;
	}
	*out = memory->devices > 1 ? (size_t)1 << memory->shift : size;
	return memory->shift < most;
}

/* The part in which a range lies. */
static struct memory_part *memory_part_for(struct device_memory *memory,
	const struct memory_range *wish)
{
	return &memory->parts[memory->devices == 1 ? 0
		: wish->kind == MEMORY_RESERVED ? memory->devices + 1
		: wish->kind == MEMORY_MANAGED || wish->kind == MEMORY_HOST ? memory->devices
		: wish->device];
}

/* Reserve addresses for so many times the memory, in one zone for all, or with another one for
 * variables. */
static bool memory_reserve_zones(struct device_memory *memory, size_t factor, bool has_vars)
{
	const size_t limit = round_up(memory->limit, memory->page);
	const size_t gap = has_vars ? GAP_WIDEST : 0;
	const unsigned count = memory_part_count(memory);
	size_t size, vars = 0, stride, total;
	if (!size_mul(&size, limit, factor)
	    || (has_vars && !size_mul(&vars, limit, VARS_OVERCOMMIT))
	    || !size_add(&size, size, vars) || !size_add(&size, size, gap)
	    || !memory_plan_stride(memory, size, &stride) || !size_mul(&total, stride, count)
	    || ((has_vars || factor > 1) && total > capacity_addresses())
	    || !gap_reserve(&memory->area, total, GAP_WIDEST)) {
		return false;
	}
	uint64_t start = (uintptr_t)memory->area.data;
	for (unsigned i = 0; i < count; i++, start += stride) {
		const uint64_t end = start + stride, rest = start + vars + gap;
		memory->parts[i].vars = (struct memory_zone){start, has_vars ? start + vars : end,
			start};
		memory->parts[i].rest = (struct memory_zone){rest, end, rest};
	}
	return true;
}

bool device_memory_create(struct device_memory **out, unsigned devices, size_t limit)
{
	struct device_memory *memory = mem_zalloc(1, sizeof(*memory));
	*out = NULL;
	if (!memory) {
		return false;
	}
	memory->page = (size_t)sysconf(_SC_PAGESIZE);
	memory->devices = devices;
	memory->limit = limit;
	memory->keeps_dead = settings_checks() != 0;
	bool ok = memory_reserve_zones(memory, OVERCOMMIT, true);
	for (size_t factor = OVERCOMMIT; !ok && factor > 0; factor /= 2) {
		ok = memory_reserve_zones(memory, factor, false);
	}
	if (!ok) {
		mem_free(memory);
		return false;
	}
	pthread_mutex_init(&memory->lock, NULL);
	*out = memory;
	return true;
}

/* Bits of device_memory.held: one for each device with an own_count, one for each with a
 * pool_count, and one for all reserved addresses. */
enum { HELD_IN_POOLS = MEMORY_MAX_DEVICES, HELD_RESERVED = 2 * MEMORY_MAX_DEVICES };
_Static_assert(HELD_RESERVED < 64, "a bit of device_memory.held for each count");

/* Count a range that not every device may access: one more, or one less. */
static void memory_count_range(struct device_memory *memory, const struct memory_range *range,
	int change)
{
	struct memory_part *part = &memory->parts[range->device];
	size_t *count = range->kind == MEMORY_RESERVED ? &memory->reserved_count
		: range->pool ? &part->pool_count : &part->own_count;
	const unsigned bit = range->kind == MEMORY_RESERVED ? HELD_RESERVED
		: range->device + (range->pool ? HELD_IN_POOLS : 0);
	if (range->kind == MEMORY_HOST || range->kind == MEMORY_MANAGED) {
		return;
	}
	*count += (size_t)change;
	if (*count > 0) {
		atomic_fetch_or(&memory->held, UINT64_C(1) << bit);
	} else {
		atomic_fetch_and(&memory->held, ~(UINT64_C(1) << bit));
	}
}

/* The index of the first range that starts above an address. */
static size_t memory_range_above(const struct device_memory *memory, uint64_t address)
{
	size_t low = 0;
	size_t high = memory->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (memory->ranges[middle].address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* The live range, reserved or allocated, that holds an address, or NULL. */
static struct memory_range *memory_area_at(const struct device_memory *memory, uint64_t address)
{
	size_t above = memory_range_above(memory, address);
	if (above == 0) {
		return NULL;
	}
	struct memory_range *range = &memory->ranges[above - 1];
	return !range->is_dead && address - range->address < range->size ? range : NULL;
}

/* The allocation or the mapping that holds an address, or NULL. */
static struct memory_range *memory_range_at(const struct device_memory *memory, uint64_t address)
{
	struct memory_range *range = memory_area_at(memory, address);
	if (!range || range->kind != MEMORY_RESERVED) {
		return range;
	}
	struct mapping *mapping = mapping_at(range->maps, address);
	return mapping ? &mapping->range : NULL;
}

static void memory_drop_dead(struct device_memory *memory)
{
	size_t kept = 0;
	for (size_t i = 0; i < memory->count; i++) {
		if (!memory->ranges[i].is_dead) {
			memory->ranges[kept++] = memory->ranges[i];
		}
	}
	memory->count = kept;
	memory->dead = 0;
}

/* Look for `size` bytes of free pages and a page after them, from `low` to the end of a zone.  The
 * index in *at is where the new range goes. */
static uint64_t memory_find_room(const struct device_memory *memory, const struct memory_zone *zone,
	uint64_t low, size_t size, size_t *at)
{
	size_t need = size + memory->page;
	low = low > zone->start ? low : zone->start;
	size_t i = memory_range_above(memory, low);
	if (i > 0) {
		uint64_t end = memory_pages_end(memory, &memory->ranges[i - 1]) + memory->page;
		low = end > low ? end : low;
	}
	for (; i < memory->count; i++) {
		uint64_t next = memory_pages_start(memory, &memory->ranges[i]);
		if (next >= zone->end || (next > low && next - low >= need)) {
			break;
		}
		low = memory_pages_end(memory, &memory->ranges[i]) + memory->page;
	}
	if (low >= zone->end || zone->end - low < need) {
		return 0;
	}
	*at = i;
	return low;
}

static uint64_t memory_take_room(struct device_memory *memory, struct memory_zone *zone,
	size_t size, size_t *at)
{
	uint64_t start = memory_find_room(memory, zone, zone->cursor, size, at);
	if (start == 0) {
		memory_drop_dead(memory);
		start = memory_find_room(memory, zone, zone->start, size, at);
	}
	return start;
}

static bool memory_reserve_slot(struct device_memory *memory)
{
	struct memory_range *ranges = mem_grow(memory->ranges, memory->count, &memory->cap,
		sizeof(*ranges));
	memory->ranges = ranges ? ranges : memory->ranges;
	return ranges;
}

/* Insert a range at an address and an index that memory_find_room has found. */
static struct memory_range *memory_insert_range(struct device_memory *memory, size_t at,
	const struct memory_range *wish, uint64_t address)
{
	struct memory_range *range = &memory->ranges[at];
	memmove(range + 1, range, (memory->count - at) * sizeof(*range));
	*range = *wish;
	range->address = address;
	range->is_dead = false;
	range->is_leaving = false;
	range->id = ++memory->last_id;
	memory->count++;
	memory_count_range(memory, range, 1);
	return range;
}

/* Make pages accessible: pages of a file, or new ones.  Huge pages, if the system has them, make
 * passes over large arrays faster. */
static bool memory_open_pages(uint64_t start, size_t size, const struct share *share)
{
	void *pages = (void *)(uintptr_t)start;
	if (!share && size >= LARGE_PAGES_MIN) {
		(void)madvise(pages, size, MADV_HUGEPAGE);
	}
	bool ok = !share ? mprotect(pages, size, PROT_READ | PROT_WRITE) == 0
		: mmap(pages, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, share->file,
			(off_t)share->offset) != MAP_FAILED;
	if (!ok) {
		refusal_note(share ? "mmap" : "mprotect");
	}
	return ok;
}

static bool memory_has_room(const struct memory_pool *pool, size_t size)
{
	return pool->limit == 0 || (pool->used <= pool->limit
		&& round_up(size, ALIGNMENT) <= pool->limit - pool->used);
}

/* The address of an allocation, which ends where its pages do, but for its alignment. */
static uint64_t memory_place_in(uint64_t start, size_t size, const struct memory_range *wish)
{
	return start + size - round_up(wish->size, wish->align > ALIGNMENT ? wish->align
		: ALIGNMENT);
}

/* Whether kernels that read what nothing has written are told: of memory that a program has asked
 * for, and that is not another process's. */
static bool memory_is_watched(const struct memory_range *wish)
{
	return unlikely(settings_has_check(CHECK_INIT))
		&& wish->kind == MEMORY_DEVICE && !wish->is_var && !wish->share;
}

static uint64_t memory_alloc_locked(struct device_memory *memory, const struct memory_range *wish)
{
	struct memory_part *part = memory_part_for(memory, wish);
	size_t *used = &memory->parts[wish->device].used;
	if (wish->size == 0 || wish->size > memory->limit || wish->align > memory->page) {
		return 0;
	}
	size_t size = memory_span(memory, wish->size);
	size_t charge = memory_is_foreign(wish) ? 0 : size;
	size_t at;
	struct memory_pool *pool = wish->pool;
	if (charge > memory->limit - *used || (pool && !memory_has_room(pool, wish->size))
	    || !memory_reserve_slot(memory)) {
		return 0;
	}
	struct memory_zone *zone = wish->kind == MEMORY_MODULE || wish->is_var ? &part->vars
		: &part->rest;
	uint64_t start = memory_take_room(memory, zone, size, &at);
	if (start == 0 || !memory_open_pages(start, size, wish->share)) {
		return 0;
	}
	const struct memory_range *range = memory_insert_range(memory, at, wish,
		memory_place_in(start, size, wish));
	zone->cursor = start + size + memory->page;
	*used += charge;
	if (memory_is_watched(wish)) {
		unwritten_fill(range->address, range->size);
	}
	if (pool) {
		pool->used += round_up(wish->size, ALIGNMENT);
		pool->peak = pool->used > pool->peak ? pool->used : pool->peak;
	}
	return range->address;
}

uint64_t memory_alloc(struct device_memory *memory, const struct memory_range *wish)
{
	pthread_mutex_lock(&memory->lock);
	uint64_t address = memory_alloc_locked(memory, wish);
	pthread_mutex_unlock(&memory->lock);
	return address;
}

/* A new mapping gives the pages back and merges with its neighbours, which mprotect would not
 * do. */
static void memory_clear_pages(uint64_t start, size_t size)
{
	void *pages = mmap((void *)(uintptr_t)start, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (pages == MAP_FAILED) {
		mprotect((void *)(uintptr_t)start, size, PROT_NONE);
	}
}

/* Free what a range owns besides its pages. */
static void memory_end_range(const struct device_memory *memory, struct memory_range *range)
{
	share_end(range->share, memory_pages_end(memory, range) - memory_pages_start(memory,
		range));
	range->share = NULL;
	if (range->pool) {
		range->pool->used -= round_up(range->size, ALIGNMENT);
	}
	advice_free(range->advice);
	range->advice = NULL;
	mem_free(range->array);
	range->array = NULL;
}

static void memory_kill_range(struct device_memory *memory, struct memory_range *range)
{
	uint64_t start = memory_pages_start(memory, range);
	size_t size = memory_pages_end(memory, range) - start;
	memory_clear_pages(start, size);
	memory->parts[range->device].used -= memory_is_foreign(range) ? 0 : size;
	memory_count_range(memory, range, -1);
	memory_end_range(memory, range);
	range->is_dead = true;
	memory->dead++;
}

static void memory_trim_dead(struct device_memory *memory)
{
	size_t most = memory->keeps_dead ? MOST_DEAD : 64;
	if (memory->dead > memory->count / 2 && memory->count > most) {
		memory_drop_dead(memory);
	}
}

void device_memory_release(struct device_memory *memory)
{
	if (!memory) {
		return;
	}
	for (size_t i = 0; i < memory->count; i++) {
		struct memory_range *range = &memory->ranges[i];
		mapping_free(range->maps);
		if (!range->is_dead) {
			memory_end_range(memory, range);
		}
	}
	gap_release(&memory->area);
	pthread_mutex_destroy(&memory->lock);
	mem_free(memory->ranges);
	mem_free(memory);
}

static void memory_free_range(struct device_memory *memory, struct memory_range *range)
{
	memory_kill_range(memory, range);
	memory_trim_dead(memory);
}

bool memory_free(struct device_memory *memory, uint64_t address, enum memory_kind kind)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	bool found = range && range->address == address
		&& (range->is_var ? MEMORY_MODULE : range->kind) == kind;
	if (found) {
		memory_free_range(memory, range);
	}
	pthread_mutex_unlock(&memory->lock);
	return found;
}

static bool memory_is_ordered(const struct memory_range *range, uint64_t address)
{
	return range && range->address == address
		&& (range->kind == MEMORY_DEVICE || range->pool);
}

bool memory_free_ordered(struct device_memory *memory, uint64_t address)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	bool found = memory_is_ordered(range, address);
	if (found) {
		memory_free_range(memory, range);
	}
	pthread_mutex_unlock(&memory->lock);
	return found;
}

bool memory_leave(struct device_memory *memory, uint64_t address)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	bool ok = memory_is_ordered(range, address) && !range->is_leaving;
	if (ok) {
		range->is_leaving = true;
	}
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

void memory_return(struct device_memory *memory, uint64_t address)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	if (range) {
		range->is_leaving = false;
	}
	pthread_mutex_unlock(&memory->lock);
}

void memory_free_owner(struct device_memory *memory, const void *owner)
{
	pthread_mutex_lock(&memory->lock);
	for (size_t i = 0; i < memory->count; i++) {
		struct memory_range *range = &memory->ranges[i];
		if (range->is_dead || range->owner != owner) {
			continue;
		}
		if (range->stays) {
			range->owner = NULL;
		} else {
			memory_kill_range(memory, range);
		}
	}
	memory_trim_dead(memory);
	pthread_mutex_unlock(&memory->lock);
}

bool memory_find(struct device_memory *memory, uint64_t address, struct memory_range *out)
{
	if (!memory_covers(memory, address)) {
		return false;
	}
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	if (range) {
		*out = *range;
	}
	pthread_mutex_unlock(&memory->lock);
	return range;
}

bool memory_advise(struct device_memory *memory, uint64_t address, size_t size,
	const struct advice_change *change)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	bool ok = !range || advice_change(&range->advice, address, address + size, change);
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

struct memory_advice memory_get_advice(struct device_memory *memory, uint64_t address, size_t size)
{
	struct memory_advice advice = {0};
	pthread_mutex_lock(&memory->lock);
	const struct memory_range *range = memory_range_at(memory, address);
	if (range) {
		advice = advice_of(range->advice, address, address + size);
	}
	pthread_mutex_unlock(&memory->lock);
	return advice;
}

void memory_set_sync(struct device_memory *memory, uint64_t address, bool sync_memops)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	if (range) {
		range->sync_memops = sync_memops;
	}
	pthread_mutex_unlock(&memory->lock);
}

bool memory_holds(struct device_memory *memory, uint64_t address, size_t size, bool for_writing,
	struct memory_range *out)
{
	if (!memory_covers(memory, address)) {
		return false;
	}
	pthread_mutex_lock(&memory->lock);
	const struct memory_range *area = memory_area_at(memory, address);
	const struct memory_range *range = memory_range_at(memory, address);
	bool ok = range && (range->kind != MEMORY_MAPPED
		? size <= range->size - (address - range->address)
		: mapping_allows(area->maps, address, size, for_writing));
	if (ok && out) {
		*out = *range;
	}
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

/* A range, or of addresses that are reserved a mapping, as far as it reaches from an address. */
static bool memory_range_allows(const struct memory_range *range, unsigned device, unsigned peers)
{
	if (range->kind == MEMORY_MAPPED) {
		return memory_access_of(range->access, device) != 0;
	}
	const struct memory_access pools = {range->pool ? range->pool->access : 0};
	return range->device == device || range->kind == MEMORY_HOST
		|| range->kind == MEMORY_MANAGED
		|| (range->pool ? memory_access_of(pools, device) != 0
		: (peers & 1u << range->device) != 0);
}

bool memory_allows(struct device_memory *memory, unsigned device, unsigned peers, uint64_t address,
	size_t size, struct memory_range *out)
{
	bool ok = true;
	if (!memory_covers(memory, address)) {
		return true;
	}
	pthread_mutex_lock(&memory->lock);
	for (uint64_t end = address + size; ok && address < end; out = NULL) {
		const struct memory_range *range = memory_range_at(memory, address);
		if (range && out) {
			*out = *range;
		}
		ok = range && memory_range_allows(range, device, peers);
		address = ok ? range->address + range->size : address;
	}
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

bool memory_allows_all(const struct device_memory *memory, unsigned device, unsigned peers)
{
	const uint64_t held = atomic_load_explicit(&memory->held, memory_order_acquire);
	const uint64_t own = UINT64_C(1) << device;
	const uint64_t all = (UINT64_C(1) << MEMORY_MAX_DEVICES) - 1;
	return (held & ~((own | peers) & all) & ~(own << HELD_IN_POOLS)) == 0;
}

bool memory_covers(const struct device_memory *memory, uint64_t address)
{
	return gap_covers(&memory->area, address);
}

struct memory_use memory_usage(struct device_memory *memory, unsigned device)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_use use = {memory->limit, memory->parts[device].used};
	pthread_mutex_unlock(&memory->lock);
	return use;
}

/* --- Virtual memory management: reserved addresses and mappings --- */

static uint64_t memory_reserve_locked(struct device_memory *memory, size_t size, size_t align,
	uint64_t hint)
{
	const struct memory_range wish = {.size = size, .kind = MEMORY_RESERVED};
	struct memory_zone *zone = &memory_part_for(memory, &wish)->rest;
	size_t padded;
	size_t at;
	if (!memory_reserve_slot(memory) || !size_add(&padded, size, align)
	    || padded > zone->end - zone->start) {
		return 0;
	}
	// The addresses of the hint may have been freed just now.
	memory_drop_dead(memory);
	uint64_t start = hint % align == 0 && memory_covers(memory, hint)
		&& memory_find_room(memory, zone, hint, size, &at) == hint ? hint : 0;
	if (start == 0) {
		start = memory_find_room(memory, zone, zone->cursor, padded, &at);
	}
	if (start == 0) {
		start = memory_find_room(memory, zone, zone->start, padded, &at);
	}
	if (start == 0) {
		return 0;
	}
	start = round_up(start, align);
	memory_insert_range(memory, at, &wish, start);
	if (start >= zone->cursor) {
		zone->cursor = start + size + memory->page;
	}
	return start;
}

uint64_t memory_reserve(struct device_memory *memory, size_t size, size_t align, uint64_t hint)
{
	pthread_mutex_lock(&memory->lock);
	uint64_t address = memory_reserve_locked(memory, size, align > memory->page ? align
		: memory->page, hint);
	pthread_mutex_unlock(&memory->lock);
	return address;
}

bool memory_unreserve(struct device_memory *memory, uint64_t address, size_t size)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_area_at(memory, address);
	bool ok = range && range->kind == MEMORY_RESERVED && range->address == address
		&& range->size == size && !range->maps;
	if (ok) {
		memory_count_range(memory, range, -1);
		range->is_dead = true;
		memory->dead++;
		memory_trim_dead(memory);
	}
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

enum memory_map_result memory_map(struct device_memory *memory, uint64_t address,
	const struct memory_range *wish, int file, uint64_t offset)
{
	enum memory_map_result result = MEMORY_MAP_NOT_RESERVED;
	struct memory_range want = *wish;
	want.kind = MEMORY_MAPPED;
	want.address = address;
	pthread_mutex_lock(&memory->lock);
	want.id = ++memory->last_id;
	struct memory_range *area = memory_area_at(memory, address);
	if (area && area->kind == MEMORY_RESERVED
	    && want.size <= area->size - (address - area->address)) {
		result = mapping_overlaps(area->maps, address, want.size) ? MEMORY_MAP_IN_USE
			: mapping_add(&area->maps, &want, file, offset) ? MEMORY_MAP_DONE
			: MEMORY_MAP_FAILED;
	}
	pthread_mutex_unlock(&memory->lock);
	return result;
}

struct mapping *memory_unmap(struct device_memory *memory, uint64_t address, size_t size)
{
	struct mapping *gone = NULL;
	pthread_mutex_lock(&memory->lock);
	struct memory_range *area = memory_area_at(memory, address);
	if (area && mapping_are_whole(area->maps, address, size)) {
		memory_clear_pages(address, size);
		gone = mapping_remove(&area->maps, address, size);
	}
	pthread_mutex_unlock(&memory->lock);
	return gone;
}

bool memory_protect(struct device_memory *memory, uint64_t address, size_t size,
	struct memory_access access, struct memory_access whose)
{
	pthread_mutex_lock(&memory->lock);
	const struct memory_range *area = memory_area_at(memory, address);
	bool ok = area && mapping_are_whole(area->maps, address, size)
		&& mapping_protect(area->maps, address, size, access, whose);
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

bool memory_take(struct device_memory *memory, unsigned device, size_t size)
{
	pthread_mutex_lock(&memory->lock);
	size_t *used = &memory->parts[device].used;
	bool ok = size <= memory->limit - *used;
	*used += ok ? size : 0;
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

void memory_give(struct device_memory *memory, unsigned device, size_t size)
{
	pthread_mutex_lock(&memory->lock);
	memory->parts[device].used -= size;
	pthread_mutex_unlock(&memory->lock);
}

/* --- Between processes --- */

/* Put private memory into a file of its own, with a page after it for the signature. */
static struct share *memory_move_to_file(const struct device_memory *memory,
	const struct memory_range *range)
{
	uint64_t start = memory_pages_start(memory, range);
	size_t size = memory_pages_end(memory, range) - start;
	struct share *share = mem_zalloc(1, sizeof(*share));
	if (!share) {
		return NULL;
	}
	share->kind = SHARE_EXPORTED;
	share->file = share_create(size + memory->page);
	if (share->file >= 0 && share_draw(&share->token) && share_move(start, size, share->file)) {
		return share;
	}
	if (share->file >= 0) {
		close(share->file);
	}
	mem_free(share);
	return NULL;
}

/* Whether the allocation lies in its pages where another process expects it, and no guard has moved
 * it. */
static bool memory_lies_as_shared(const struct device_memory *memory,
	const struct memory_range *range)
{
	size_t align = range->align > ALIGNMENT ? range->align : ALIGNMENT;
	return range->address == memory_pages_end(memory, range) - round_up(range->size, align);
}

bool memory_export(struct device_memory *memory, uint64_t address, struct share *out)
{
	bool ok = false;
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	if (range && !range->share && !range->pool
	    && memory_lies_as_shared(memory, range)) {
		range->share = memory_move_to_file(memory, range);
	}
	if (range && range->share && !memory_is_foreign(range)) {
		*out = *range->share;
		ok = share_sign(out->file, out->offset + memory_span(memory, range->size),
			&out->token);
	}
	pthread_mutex_unlock(&memory->lock);
	return ok;
}

uint64_t memory_reopen(struct device_memory *memory, const void *owner,
	const struct share_token *token)
{
	uint64_t address = 0;
	pthread_mutex_lock(&memory->lock);
	for (size_t i = 0; i < memory->count && address == 0; i++) {
		const struct memory_range *range = &memory->ranges[i];
		if (!range->is_dead && range->kind == MEMORY_OPENED && range->owner == owner
		    && share_same(&range->share->token, token)) {
			range->share->opens++;
			address = range->address;
		}
	}
	pthread_mutex_unlock(&memory->lock);
	return address;
}

bool memory_close(struct device_memory *memory, const void *owner, uint64_t address)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	bool found = range && range->address == address && range->kind == MEMORY_OPENED
		&& range->owner == owner;
	if (found && --range->share->opens == 0) {
		memory_kill_range(memory, range);
		memory_trim_dead(memory);
	}
	pthread_mutex_unlock(&memory->lock);
	return found;
}

void memory_name_array(struct device_memory *memory, uint64_t address,
	const struct kudzu_array *array)
{
	pthread_mutex_lock(&memory->lock);
	struct memory_range *range = memory_range_at(memory, address);
	struct kudzu_array *copy = range && range->address == address
		? mem_alloc(sizeof(*copy)) : NULL;
	if (copy) { // else reports say less
		*copy = *array;
		mem_free(range->array);
		range->array = copy;
	}
	pthread_mutex_unlock(&memory->lock);
}

void memory_describe(struct device_memory *memory, uint64_t address, char *text, size_t size)
{
	pthread_mutex_lock(&memory->lock);
	const size_t above = memory_range_above(memory, address);
	const struct memory_near near = {
		.before = above > 0 ? &memory->ranges[above - 1] : NULL,
		.after = above < memory->count ? &memory->ranges[above] : NULL,
		.area = memory_area_at(memory, address),
	};
	memory_text_write(text, size, &near, address);
	pthread_mutex_unlock(&memory->lock);
}
