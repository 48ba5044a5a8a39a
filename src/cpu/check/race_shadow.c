/* SPDX-License-Identifier: MIT */
/*
 * Shadow memory: the marks of each 128 bytes, a line, and accesses of whole warps to it.
 *
 * A warp mostly accesses lines as a row: lane i has the i-th element.  So a line begins with a few
 * rows, each of which says what the lanes of one warp did to a set of its words, and an access is
 * compared with these few and not with each word (compressed shadow state, as in SlimState: Wilcox
 * and others, ASE 2015).  A line is split into cells, marks of single words, if an access would
 * need more rows, is atomic, volatile or of parts of words, or may be a race.  The answers are the
 * same: rows hold exactly what cells would.
 *
 * Lines of global memory lie in chunks, a chunk for 64 KiB, which a hash table finds by address;
 * lines of shared memory lie in an array of the block.  A line of another launch is empty, so
 * nothing has to be cleared between launches.  A line of shared memory is empty, too, if all
 * threads of its block have met since the last access.
 */
#include "base/common.h"

#include "cpu/check/race.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "cpu/mem/fault.h"

#include <string.h>
#include <sys/mman.h>

enum { CHUNK_LINES = RACE_CHUNK / RACE_LINE, CHUNKS_PER_PIECE = 256 };
#define CHUNK_MOST ((size_t)1 << 16) /* of global memory: 4 GiB that are accessed */
#define CHUNK_KEPT (CHUNK_MOST / 8)  /* from one launch to the next */

struct race_shadow {
	struct race_chunk *table;
	size_t table_size;
	size_t count;
	struct race_line *piece; /* the chunks that were mapped last, and how many are left */
	size_t piece_left;
	struct arena cells;      /* of lines that were split */
};

struct race_shadow *race_shadow_create(void)
{
	return mem_zalloc(1, sizeof(struct race_shadow));
}

static void shadow_clear(struct race_shadow *shadow)
{
	/* chunks of a piece follow each other, so that the table tells all */
	for (size_t i = 0; i < shadow->table_size; i++) {
		if (shadow->table[i].key != 0) {
			munmap(shadow->table[i].lines, CHUNK_LINES * sizeof(struct race_line));
		}
	}
	if (shadow->piece_left > 0) {
		munmap(shadow->piece,
			shadow->piece_left * CHUNK_LINES * sizeof(struct race_line));
	}
	mem_free(shadow->table);
	arena_free(&shadow->cells);
	memset(shadow, 0, sizeof(*shadow));
}

void race_shadow_begin(struct race_shadow *shadow, bool forgets)
{
	if (forgets || shadow->count > CHUNK_KEPT) {
		shadow_clear(shadow);
	}
}

void race_shadow_release(struct race_shadow *shadow)
{
	if (shadow) {
		shadow_clear(shadow);
		mem_free(shadow);
	}
}

/* --- Lines --- */

static struct race_chunk *shadow_slot(const struct race_shadow *shadow, uint64_t key)
{
	const size_t mask = shadow->table_size - 1;
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
	while (shadow->table[at].key != 0 && shadow->table[at].key != key) {
		at = (at + 1) & mask;
	}
	return &shadow->table[at];
}

static bool shadow_grow(struct race_shadow *shadow)
{
	const size_t old_size = shadow->table_size, size = old_size > 0 ? 2 * old_size : 64;
	struct race_chunk *old = shadow->table;
	struct race_chunk *table = mem_zalloc(size, sizeof(*table));
	if (!table) {
		return false;
	}
	shadow->table = table;
	shadow->table_size = size;
	for (size_t i = 0; i < old_size; i++) {
		if (old[i].key != 0) {
			*shadow_slot(shadow, old[i].key) = old[i];
		}
	}
	mem_free(old);
	return true;
}

/* Lines of a new chunk; NULL: no memory. */
static struct race_line *shadow_map(struct race_shadow *shadow)
{
	if (shadow->piece_left == 0) {
		void *piece = mmap(NULL,
			CHUNKS_PER_PIECE * CHUNK_LINES * sizeof(struct race_line),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);
		if (piece == MAP_FAILED) {
			return NULL;
		}
		/* kernels that jump about would wait for the page table more than for the lines */
		madvise(piece, CHUNKS_PER_PIECE * CHUNK_LINES * sizeof(struct race_line),
			MADV_HUGEPAGE);
		shadow->piece = piece;
		shadow->piece_left = CHUNKS_PER_PIECE;
	}
	struct race_line *lines = shadow->piece;
	shadow->piece += CHUNK_LINES;
	shadow->piece_left--;
	return lines;
}

static struct race_line *shadow_add(struct race_shadow *shadow, uint64_t key)
{
	struct race_line *lines = NULL;
	fault_hold();
	if (shadow->count < CHUNK_MOST
	    && (2 * (shadow->count + 1) <= shadow->table_size || shadow_grow(shadow))) {
		lines = shadow_map(shadow);
	}
	fault_release();
	if (lines) {
		*shadow_slot(shadow, key) = (struct race_chunk){key, lines};
		shadow->count++;
	}
	return lines;
}

struct race_line *race_shadow_find_chunk(struct race_shadow *shadow, uint64_t key)
{
	const struct race_chunk *found = shadow->table_size > 0 ? shadow_slot(shadow, key) : NULL;
	return found && found->key == key ? found->lines : shadow_add(shadow, key);
}

/* --- Rows --- */

/* The lanes that accessed a word of a row, a bit for each. */
static uint32_t shadow_members(const struct race_row *row, unsigned word)
{
	const unsigned shift = row->what & RACE_STEP ? (word << (row->what >> 28) >> 3) % 32 : 0;
	return row->members << shift | row->members >> (32 - shift) % 32;
}

static bool shadow_is_single(const struct race_row *row)
{
	return race_row_level(row) == RACE_WARP && (row->members & (row->members - 1)) == 0;
}

/* Whether each word in common was accessed by one thread, by both. */
static bool shadow_is_same(const struct race_row *a, const struct race_row *b, uint32_t common)
{
	if (race_row_warp(a) != race_row_warp(b) || !shadow_is_single(a) || !shadow_is_single(b)) {
		return false;
	}
	if (((a->what ^ b->what) & RACE_STEP) == 0) {
		return a->members == b->members;
	}
	const unsigned word = (unsigned)__builtin_ctz(common);
	return (common & (common - 1)) == 0 && shadow_members(a, word) == shadow_members(b, word);
}

/* Whether all threads of a new row know of an old one, at the words in common: race_is_ordered in
 * race.c, but for what threads know besides. */
static bool shadow_is_ordered(const struct race_block *block, const struct race_row *old,
	const struct race_row *new, uint32_t common)
{
	if (old->block != new->block || race_row_level(old) == RACE_GRID) {
		return false;
	}
	return old->time <= block->met
		|| (race_row_level(old) == RACE_WARP && race_row_warp(old) == race_row_warp(new)
			&& (old->time <= block->warp_met[race_row_warp(new)]
				|| shadow_is_same(old, new, common)));
}

/* Whether one time tells enough of the reads of an old row and of a new one.  It does not if a warp
 * has met since it read: it may release that read, and others of another warp come later. */
static bool shadow_may_merge(const struct race_block *block, const struct race_row *old,
	const struct race_row *new)
{
	const enum race_level level = race_row_level(old);
	bool may_merge = !block->has_threads && !block->know;
	if (!block->race->has_releases || level == RACE_GRID || old->block != new->block
	    || (level == RACE_WARP && race_row_warp(old) == race_row_warp(new))) {
		return may_merge;
	}
	uint32_t left = level == RACE_BLOCK ? old->members : 1u << race_row_warp(old);
	for (; left != 0 && may_merge; left &= left - 1) {
		may_merge = block->warp_met[__builtin_ctz(left)] < old->time;
	}
	return may_merge;
}

/* Reads of several threads that nothing orders: race_merge in race.c. */
static bool shadow_merge_row(struct race_row *out, const struct race_row *old,
	const struct race_row *new, uint32_t words)
{
	const unsigned word = (unsigned)__builtin_ctz(words);
	const enum race_level level = race_row_level(old);
	const uint32_t line = race_row_line(new), warp = race_row_warp(new);
	*out = *new;
	out->words = words;
	if (level == RACE_GRID || old->block != new->block) {
		out->what = race_row_what(line, warp, RACE_GRID, false);
		out->members = old->block != new->block ? old->time : old->members;
	} else if (level == RACE_BLOCK || race_row_warp(old) != warp) {
		out->members = (level == RACE_BLOCK ? old->members : 1u << race_row_warp(old))
			| 1u << warp;
		out->what = race_row_what(line, warp, RACE_BLOCK, false);
	} else if (((old->what ^ new->what) & RACE_STEP) == 0) {
		out->members |= old->members;
	} else {
		out->members = shadow_members(old, word) | shadow_members(new, word);
		out->what &= ~(uint32_t)RACE_STEP;
		return (words & (words - 1)) == 0;
	}
	return true;
}

static inline struct race_row *shadow_row(struct race_line *line, unsigned i)
{
	return i < RACE_OWN_ROWS ? &line->rows[i] : &line->more[i - RACE_OWN_ROWS];
}

/* Get memory for cells, or for rows; false: no memory. */
static bool shadow_widen(struct race_shadow *shadow, struct race_line *line)
{
	if (!line->cells) {
		fault_hold();
		line->cells = arena_alloc(&shadow->cells, RACE_WORDS, sizeof(*line->cells));
		fault_release();
	}
	return line->cells;
}

enum { SHADOW_TWINS = 4 };       /* rows, the last ones, of which one may become wider */

/* Add a row for which there is room.  A final one comes first: most accesses look no further. */
static void shadow_add_row(const struct race *race, struct race_line *line,
	const struct race_row *row)
{
	const bool is_final = race_row_is_final(race, row);
	const unsigned last = is_final || line->count < SHADOW_TWINS ? 0
		: line->count - SHADOW_TWINS;
	for (unsigned i = line->count; i-- > last;) {
		struct race_row *old = shadow_row(line, i);
		if (race_row_is_twin(old, row) || (is_final && race_row_is_final(race, old))) {
			old->words |= row->words;
			line->words |= row->words;
			return;
		}
	}
	struct race_row *slot = shadow_row(line, line->count++);
	line->words |= row->words;
	if (is_final) {
		*slot = line->rows[0];
		slot = &line->rows[0];
	}
	*slot = *row;
}

/* Take words from the rows that a new one replaces. */
static void shadow_clear_words(struct race_line *line, const struct race_row *new)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < line->count; i++) {
		struct race_row *old = shadow_row(line, i);
		old->words &= race_row_writes(new) || !race_row_writes(old) ? ~new->words
			: UINT32_MAX;
		if (old->words != 0) {
			*shadow_row(line, kept++) = *old;
		}
	}
	line->count = (uint8_t)kept;
}

/* Find out what a new row, which has words in common with old ones, is merged with.  False: it
 * needs cells. */
static bool shadow_merge_all(const struct race_block *block, struct race_line *line,
	struct race_row *new, struct race_row merged[RACE_ROWS], unsigned *merged_count)
{
	uint32_t words = new->words;
	unsigned count = 0, kept = 0;
	for (unsigned i = 0; i < line->count; i++) {
		const struct race_row *old = shadow_row(line, i);
		const uint32_t common = old->words & new->words;
		const bool is_lost = common && (race_row_writes(new) || !race_row_writes(old));
		if (common && !shadow_is_ordered(block, old, new, common)) {
			if (race_row_writes(old) || race_row_writes(new)
			    || !shadow_may_merge(block, old, new)
			    || !shadow_merge_row(&merged[count], old, new, common)) {
				return false;
			}
			count++;
			words &= ~common;
		}
		kept += !is_lost || common != old->words;
	}
	*merged_count = count;
	return kept + count + (words != 0) <= RACE_ROWS;
}

/* Where a new row has words in common with several old ones. */
static bool shadow_touch_several(struct race_shadow *shadow, const struct race_block *block,
	struct race_line *line, struct race_row *new)
{
	struct race_row merged[RACE_ROWS];
	unsigned count = 0;
	if (!shadow_merge_all(block, line, new, merged, &count)
	    || (line->count + count >= RACE_OWN_ROWS && !shadow_widen(shadow, line))) {
		return false;
	}
	shadow_clear_words(line, new);
	for (unsigned i = 0; i < count; i++) {
		shadow_add_row(block->race, line, &merged[i]);
		new->words &= ~merged[i].words;
	}
	if (new->words != 0) {
		shadow_add_row(block->race, line, new);
	}
	line->latest = new->time;
	return true;
}

bool race_shadow_touch(struct race_shadow *shadow, const struct race_block *block,
	struct race_line *line, struct race_row *new)
{
	struct race_row *met = NULL, merged;
	if (line->count > 0 && !race_row_writes(new)
	    && race_row_is_final(block->race, &line->rows[0])) {
		new->words &= ~line->rows[0].words;
		if (new->words == 0) {
			return true;
		}
	}
	const unsigned count = line->words & new->words ? line->count : 0;
	for (unsigned i = 0; i < count; i++) {
		struct race_row *old = shadow_row(line, i);
		if (old->words & new->words) {
			if (met || (race_row_writes(old) && !race_row_writes(new))
			    || (new->words & ~old->words) != 0) {
				return shadow_touch_several(shadow, block, line, new);
			}
			met = old;
		}
	}
	if (met && !shadow_is_ordered(block, met, new, new->words)) {
		if (race_row_writes(met) || race_row_writes(new)
		    || !shadow_may_merge(block, met, new)
		    || !shadow_merge_row(&merged, met, new, new->words)) {
			return false;
		}
		new = &merged;
	}
	if (met && met->words == new->words) {
		*met = *shadow_row(line, --line->count);
		shadow_add_row(block->race, line, new);
	} else if (line->count < RACE_OWN_ROWS
		   || (line->count < RACE_ROWS && shadow_widen(shadow, line))) {
		if (met) {
			met->words &= ~new->words;
		}
		shadow_add_row(block->race, line, new);
	} else {
		return false;
	}
	line->latest = new->time;
	return true;
}

/* --- Cells --- */

/* The number of the lane that has read each byte of a word, eight bits for each; false: some bytes
 * were read by none or by several. */
static bool shadow_find_lanes(const struct race_row *row, uint32_t members, uint32_t *lanes)
{
	const uint32_t count = (1u << (row->what >> 28)) >> 3; /* of lanes for each word */
	const uint32_t first = members & ~(members << 1 | members >> 31);
	*lanes = 0;
	for (uint32_t i = 0; first != 0 && i < 4; i++) {
		const uint32_t lane = (uint32_t)__builtin_ctz(first) + i * count / 4;
		*lanes |= lane % 32 << i * 8;
	}
	return count > 1 && race_row_level(row) == RACE_WARP && (first & (first - 1)) == 0
		&& (uint32_t)__builtin_popcount(members) == count;
}

static struct race_mark shadow_mark(const struct race_row *row, unsigned word)
{
	const bool has_lanes = race_row_level(row) <= RACE_WARP;
	const uint32_t members = has_lanes ? shadow_members(row, word) : row->members;
	const uint32_t lane = has_lanes ? (uint32_t)__builtin_ctz(members) : 0;
	const bool is_single = shadow_is_single(row);
	uint32_t lanes;
	const bool is_by_byte = shadow_find_lanes(row, members, &lanes);
	return (struct race_mark){.is_there = 1, .bytes = 15,
		.time = row->time, .block = row->block, .line = race_row_line(row),
		.thread = (race_row_warp(row) * 32u + lane) & 1023,
		.level = is_single ? RACE_THREAD : race_row_level(row),
		.is_by_byte = is_by_byte, .members = is_by_byte ? lanes : members};
}

bool race_shadow_split(struct race_shadow *shadow, struct race_line *line)
{
	struct race_row rows[RACE_ROWS];
	for (unsigned i = 0; i < line->count; i++) {
		rows[i] = *shadow_row(line, i);
	}
	if (!shadow_widen(shadow, line)) {
		return false;
	}
	memset(line->cells, 0, RACE_WORDS * sizeof(*line->cells));
	for (unsigned i = 0; i < line->count; i++) {
		for (uint32_t left = rows[i].words; left != 0; left &= left - 1) {
			const unsigned word = (unsigned)__builtin_ctz(left);
			struct race_cell *cell = &line->cells[word];
			*(race_row_writes(&rows[i]) ? &cell->write : &cell->read)
				= shadow_mark(&rows[i], word);
		}
	}
	line->count = 0;
	line->is_split = true;
	return true;
}

static void shadow_forget_words(struct race_line *line, uint32_t words)
{
	const struct race_row all = {.words = words,
		.what = race_row_what(0, 0, RACE_WARP, true)};
	shadow_clear_words(line, &all);
	for (unsigned word = 0; word < RACE_WORDS && line->is_split; word++) {
		if (words >> word & 1) {
			line->cells[word] = (struct race_cell){{0}, {0}};
		}
	}
}

void race_shadow_forget(struct race *race, uint64_t address, uint64_t size)
{
	const uint64_t end = address + size;
	uint64_t next;
	for (uint64_t at = address; at < end; at = next) {
		struct race_line *line = race_shadow_find(race, at);
		const uint64_t begin = at & ~(uint64_t)(RACE_LINE - 1);
		next = begin + RACE_LINE;
		const uint64_t last = next < end ? next : end;
		if (line) {
			shadow_forget_words(line, (uint32_t)((UINT64_C(1) << (last - begin + 3) / 4)
				- (UINT64_C(1) << (at - begin) / 4)));
		}
	}
}
