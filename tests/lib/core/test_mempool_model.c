/* SPDX-License-Identifier: MIT */
/*
 * The pools against a model: a million random operations in several streams.
 *
 * The driver is the stub, but for memory, events and the progress of streams: those are simulated
 * here.  Memory is a range of numbers that nothing stands behind; the model knows for each 512
 * bytes of it whose they are, and the last piece of work of each stream on them.  A stream is a
 * number of pieces of work, and of those that are done; `seen` says, for each other stream, after
 * which piece of it the end of this one is.  So for every use one can say whether all earlier uses
 * of that memory are done, or it is after them.
 */
#include "base/common.h"

#include "lib/core/memory.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum {
	UNIT = 512, STREAMS = 6, BUFFERS = 400, SEGMENTS = 128, OPERATIONS = 1000000,
	UNITS = (48 << 20) / UNIT, FIRST = 1 << 20
};

struct order {
	uint32_t at[STREAMS];
};

struct model_stream {
	CUstream handle;      /* NULL: no stream */
	kz_stream *stream;
	CUevent event;
	uint32_t issued;
	uint32_t done;
	struct order seen;
	struct order marked;  /* by the event */
};

struct model_buffer {
	kz_buffer *buffer;
	kz_pinned *pinned;
	struct memory *memory;
	size_t first;
	size_t units;
};

/* What the simulated driver has given. */
struct piece {
	size_t first;
	size_t units; /* 0: none */
};

static kz_error err;
static kz_device *dev;
static enum mempool_kind kind;
static struct drv driver, *real;
static struct model_stream streams[STREAMS];
static struct model_buffer buffers[BUFFERS];
static struct piece pieces[SEGMENTS];
static int owner[UNITS];              /* a buffer's index + 1; 0: free */
static struct order used[UNITS];
static size_t next_unit;              /* addresses are given in a circle */
static int64_t live, reserved, live_count, total, peak, peak_reserved, segments;
static int64_t budget;
static const char *wrong;             /* the first thing that was wrong */
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static void expect(bool right, const char *what)
{
	if (!right && !wrong) {
		wrong = what;
	}
}

/* Streams */

static void finish_up_to(struct model_stream *s, uint32_t position)
{
	s->done = position > s->done ? position : s->done;
	if (s->done == s->issued) {
		for (int t = 0; t < STREAMS; t++) {
			uint32_t seen = s->seen.at[t];
			streams[t].done = seen > streams[t].done ? seen : streams[t].done;
		}
	}
}

static struct model_stream *find_stream(CUstream handle)
{
	for (int s = 0; s < STREAMS; s++) {
		if (streams[s].handle == handle) {
			return &streams[s];
		}
	}
	expect(false, "a stream that is gone was used");
	return &streams[0];
}

static struct model_stream *find_event(CUevent event)
{
	for (int s = 0; s < STREAMS; s++) {
		if (streams[s].event == event) {
			return &streams[s];
		}
	}
	expect(false, "an event that is gone was used");
	return &streams[0];
}

static CUresult fake_query(CUstream handle)
{
	struct model_stream *s = find_stream(handle);
	if (draw(3) == 0) {
		finish_up_to(s, s->issued);
	}
	return s->done == s->issued ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult fake_synchronize(CUstream handle)
{
	struct model_stream *s = find_stream(handle);
	finish_up_to(s, s->issued);
	return CUDA_SUCCESS;
}

static CUresult fake_synchronize_all(void)
{
	for (int s = 0; s < STREAMS; s++) {
		streams[s].done = streams[s].issued;
	}
	return CUDA_SUCCESS;
}

static CUresult fake_record(CUevent event, CUstream handle)
{
	struct model_stream *s = find_stream(handle);
	find_event(event)->marked = s->seen;
	find_event(event)->marked.at[s - streams] = s->issued;
	return CUDA_SUCCESS;
}

static CUresult fake_wait(CUstream handle, CUevent event, unsigned flags)
{
	(void)flags;
	struct model_stream *s = find_stream(handle), *from = find_event(event);
	s->issued++; /* the wait is a piece of work, too */
	for (int t = 0; t < STREAMS; t++) {
		uint32_t at = from->marked.at[t];
		s->seen.at[t] = at > s->seen.at[t] ? at : s->seen.at[t];
	}
	return CUDA_SUCCESS;
}

static CUresult fake_destroy(CUstream handle)
{
	find_stream(handle)->handle = NULL;
	return real->StreamDestroy(handle);
}

/* Whether all work on a unit is done, or, for a stream, before what comes next in it. */
static bool is_ordered(size_t unit, const struct model_stream *s)
{
	for (int t = 0; t < STREAMS; t++) {
		uint32_t last = used[unit].at[t];
		bool before = s && (s == &streams[t] || s->seen.at[t] >= last);
		if (last > streams[t].done && !before) {
			return false;
		}
	}
	return true;
}

/* Memory */

static bool is_free(size_t first, size_t units)
{
	for (int i = 0; i < SEGMENTS; i++) {
		if (pieces[i].units && first < pieces[i].first + pieces[i].units
		    && pieces[i].first < first + units) {
			return false;
		}
	}
	return true;
}

static CUresult fake_alloc(CUdeviceptr *address, size_t size)
{
	size_t units = (size + UNIT - 1) / UNIT;
	struct piece *piece = pieces;
	while (piece < pieces + SEGMENTS - 1 && piece->units) {
		piece++;
	}
	if (reserved + (int64_t)(units * UNIT) > budget || piece->units) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (int tries = 0; tries < 200; tries++) {
		size_t first = next_unit + units <= UNITS ? next_unit : 0;
		next_unit = first + units + draw(3);
		if (is_free(first, units)) {
			*piece = (struct piece){first, units};
			reserved += (int64_t)(units * UNIT);
			peak_reserved = reserved > peak_reserved ? reserved : peak_reserved;
			segments++;
			memset(&used[first], 0, units * sizeof(*used));
			*address = (FIRST + first) * (CUdeviceptr)UNIT;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_free(CUdeviceptr address)
{
	struct piece *piece = pieces;
	while (piece < pieces + SEGMENTS
	    && (!piece->units || (FIRST + piece->first) * (CUdeviceptr)UNIT != address)) {
		piece++;
	}
	if (piece == pieces + SEGMENTS) {
		expect(false, "something else than a segment was freed");
		return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < piece->units; i++) {
		expect(owner[piece->first + i] == 0, "memory in use was freed");
		expect(is_ordered(piece->first + i, NULL), "memory was freed under running work");
	}
	reserved -= (int64_t)(piece->units * UNIT);
	segments--;
	piece->units = 0;
	return CUDA_SUCCESS;
}

static CUresult fake_host_alloc(void **memory, size_t size, unsigned flags)
{
	(void)flags;
	CUdeviceptr address = 0;
	CUresult code = fake_alloc(&address, size);
	*memory = (void *)(uintptr_t)address;
	return code;
}

static CUresult fake_host_free(void *memory)
{
	return fake_free((uintptr_t)memory);
}

static CUresult fake_info(size_t *free_size, size_t *total_size)
{
	*free_size = (size_t)(budget - reserved);
	*total_size = (size_t)budget;
	return CUDA_SUCCESS;
}

/* Operations */

static int64_t draw_size(void)
{
	static const int64_t most[] = {512, 4096, 4096, 4096, 65536, 65536, 1 << 20, 6 << 20};
	return 1 + (int64_t)draw((uint64_t)most[draw(countof(most))]);
}

static void check_stats(void)
{
	kz_memory_stats stats;
	mempool_read(&dev->pools[kind], &stats);
	expect(stats.live_size == live, "live_size");
	expect(stats.live_count == live_count, "live_count");
	expect(stats.total_count == total, "total_count");
	expect(stats.peak_size == peak, "peak_size");
	expect(stats.reserved_size == reserved, "reserved_size");
	expect(stats.peak_reserved_size == peak_reserved, "peak_reserved_size");
	expect(stats.segment_count == segments, "segment_count");
}

static kz_status create(struct model_buffer *b, int64_t size)
{
	struct model_stream *s = &streams[draw(STREAMS)];
	if (kind == MEMPOOL_PINNED) {
		kz_status st = kz_pinned_create(&b->pinned, dev, size, &err);
		b->memory = st ? NULL : pinned_find(dev, kz_pinned_pointer(b->pinned));
		memory_release(b->memory);
		return st;
	}
	kz_status st = draw(2) && s->stream
		? kz_buffer_create_on(&b->buffer, dev, size, s->stream, &err)
		: kz_buffer_create(&b->buffer, dev, size, &err);
	b->memory = st ? NULL : b->buffer->memory;
	return st;
}

/* When there is no memory, no segment is kept that is not in use. */
static void check_shortage(void)
{
	for (int i = 0; i < SEGMENTS; i++) {
		size_t live_units = 0;
		for (size_t u = 0; u < pieces[i].units; u++) {
			live_units += owner[pieces[i].first + u] != 0;
		}
		expect(!pieces[i].units || live_units > 0, "an unused segment outlived a shortage");
	}
}

static void do_create(struct model_buffer *b)
{
	int64_t size = draw_size();
	kz_status st = create(b, size);
	if (st) {
		expect(st == (kind == MEMPOOL_PINNED ? KZ_NO_MEMORY : KZ_DEVICE_MEMORY),
			"a creation failed in another way");
		kz_error_clear(&err);
		check_shortage();
		return;
	}
	b->units = (size_t)(size + UNIT - 1) / UNIT;
	b->first = (size_t)(b->memory->address / UNIT) - FIRST;
	expect(b->memory->address % UNIT == 0, "an address is no multiple of 512");
	expect(!is_free(b->first, 1), "memory of no segment was handed out");
	for (size_t i = 0; i < b->units; i++) {
		expect(owner[b->first + i] == 0, "live blocks overlap");
		owner[b->first + i] = (int)(b - buffers) + 1;
		expect(kind == MEMPOOL_DEVICE || is_ordered(b->first + i, NULL),
			"pinned memory was handed out under running work");
	}
	live += (int64_t)(b->units * UNIT);
	peak = live > peak ? live : peak;
	live_count++;
	total++;
}

static void do_release(struct model_buffer *b)
{
	for (size_t i = 0; i < b->units; i++) {
		expect(owner[b->first + i] == (int)(b - buffers) + 1, "a block moved");
		owner[b->first + i] = 0;
	}
	live -= (int64_t)(b->units * UNIT);
	live_count--;
	kz_buffer_release(b->buffer);
	kz_pinned_release(b->pinned);
	*b = (struct model_buffer){0};
}

/* As a launch or a copy does it; large blocks only at some places. */
static void do_use(const struct model_buffer *b, struct model_stream *s)
{
	size_t step = b->units > 64 ? b->units / 16 : 1;
	ok(memory_use(b->memory, s->stream, &err));
	s->issued++;
	for (size_t i = 0; i < b->units; i += step) {
		expect(is_ordered(b->first + i, s), "memory was used before it was free");
		used[b->first + i].at[s - streams] = s->issued;
	}
	ok(memory_used(b->memory, s->stream, &err));
}

static void take_stream(struct model_stream *s, kz_stream *stream)
{
	s->stream = stream;
	s->handle = stream->handle;
	s->event = stream->order;
	finish_up_to(s, s->issued);
}

static void do_stream(struct model_stream *s)
{
	if (s == streams) {
		return;
	}
	if (s->stream) {
		kz_stream_release(s->stream);
		s->stream = NULL;
	} else if (!s->handle) {
		kz_stream *stream;
		ok(kz_stream_create(&stream, dev, 0, &err));
		take_stream(s, stream);
	}
}

static void do_anything(void)
{
	struct model_buffer *b = &buffers[draw(BUFFERS)];
	struct model_stream *s = &streams[draw(STREAMS)];
	uint64_t dice = draw(1000);
	if (dice < 3) {
		do_stream(s);
	} else if (dice < 8) {
		ok(kz_device_trim(dev, draw(2) ? 0 : (int64_t)draw(24 << 20), &err));
	} else if (dice < 9) {
		int64_t limit = draw(2) ? 0 : (16 << 20) + (int64_t)draw(32 << 20);
		ok(kz_device_limit_memory(dev, kind == MEMPOOL_DEVICE ? limit : 0, &err));
	} else if (dice < 40) {
		finish_up_to(s, s->done + (uint32_t)draw(s->issued - s->done + 1));
	} else if (dice < 400 && b->memory && s->stream) {
		do_use(b, s);
	} else if (b->memory) {
		do_release(b);
	} else {
		do_create(b);
	}
}

static void begin(void)
{
	memset(streams, 0, sizeof(streams));
	memset(pieces, 0, sizeof(pieces));
	support_stub("");
	ok(kz_device_open(&dev, "cuda:0", &err));
	real = dev->drv;
	driver = *real;
	driver.StreamQuery = fake_query;
	driver.StreamSynchronize = fake_synchronize;
	driver.StreamDestroy = fake_destroy;
	driver.CtxSynchronize = fake_synchronize_all;
	driver.EventRecord = fake_record;
	driver.StreamWaitEvent = fake_wait;
	driver.MemAlloc = fake_alloc;
	driver.MemFree = fake_free;
	driver.MemHostAlloc = fake_host_alloc;
	driver.MemFreeHost = fake_host_free;
	driver.MemGetInfo = fake_info;
	dev->drv = &driver;
	take_stream(&streams[0], &dev->stream);
	budget = 24 << 20;
}

static void end(void)
{
	for (int i = 0; i < BUFFERS; i++) {
		if (buffers[i].memory) {
			do_release(&buffers[i]);
		}
	}
	check_stats();
	for (int s = 1; s < STREAMS; s++) {
		kz_stream_release(streams[s].stream);
	}
	kz_device_close(dev);
	expect(reserved == 0 && segments == 0, "the device kept memory");
	for (int k = 0; k < STUB_KIND_COUNT; k++) {
		expect(support_stub_live((enum stub_kind)k) == 0, "the driver has objects left");
	}
}

START_TEST(a_million_operations_agree_with_the_model)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	uint64_t start = text ? strtoull(text, NULL, 0) : 1;
	int operations = support_how_many(OPERATIONS, OPERATIONS, OPERATIONS / 50);
	seed = start;
	kind = (enum mempool_kind)_i;
	begin();
	int n = 0;
	for (; n < operations && !wrong; n++) {
		do_anything();
		check_stats();
	}
	printf("%d operations on the pool of %s memory from KUDZU_TEST_SEED=%llu\n", n,
		kind == MEMPOOL_PINNED ? "pinned" : "device", (unsigned long long)start);
	if (!wrong) {
		end();
	}
	ck_assert_msg(!wrong, "operation %d, KUDZU_TEST_SEED=%llu: %s", n,
		(unsigned long long)start, wrong);
}
END_TEST

SUITE(mempool_model)
{
	Suite *s = suite_create("mempool_model");
	TCase *tc = suite_add_case(s, "model");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, a_million_operations_agree_with_the_model, 0, MEMPOOL_KINDS);
	return s;
}
