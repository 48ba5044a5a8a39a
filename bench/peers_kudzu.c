/* SPDX-License-Identifier: MIT */
/*
 * Kudzu's worker of bench_peers.  peers.h has the orders that it obeys.
 *
 * It does what a program of a user does: kz_module_compile and kz_launch with the defaults, and
 * copies that have ended when the call returns.
 */
#include "bench.h"

#include "peers.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

struct worker {
	kz_device *dev;
	kz_module *mod;
	kz_array *x, *y; /* of the launches */
	kz_array *numbers;
	kz_buffer *buffer; /* of the copies; NULL or `size` bytes */
	kz_pinned *pinned;
	uint64_t *heap;
	uint64_t *host; /* the one or the other */
	int64_t size;
	uint64_t serial;
	kz_error err;
};

static kz_status worker_open(struct worker *w, const char *device)
{
	const float one = 1;
	kz_status st = kz_device_open(&w->dev, device, &w->err);
	st = st ? st : kz_module_compile(&w->mod, w->dev, PEERS_LAUNCHED, NULL, &w->err);
	st = st ? st
		: kz_array_from(&w->x, w->dev, KZ_F32, KZ_SHAPE(1), &one, sizeof(one), &w->err);
	st = st ? st : kz_array_zeros(&w->y, w->dev, KZ_F32, KZ_SHAPE(1), &w->err);
	st = st ? st
		: kz_array_zeros(&w->numbers, w->dev, KZ_I32, KZ_SHAPE(PEERS_THREADS), &w->err);
	return st ? st : kz_device_synchronize(w->dev, &w->err);
}

static void worker_free_memory(struct worker *w)
{
	kz_buffer_release(w->buffer);
	kz_pinned_release(w->pinned);
	free(w->heap);
	w->buffer = NULL;
	w->pinned = NULL;
	w->heap = NULL;
	w->size = 0;
}

static void worker_close(struct worker *w)
{
	worker_free_memory(w);
	kz_error_clear(&w->err);
	kz_array_release(w->x);
	kz_array_release(w->y);
	kz_array_release(w->numbers);
	kz_module_release(w->mod);
	kz_device_close(w->dev);
}

/* Why an order failed, if the library did not refuse it. */
static const char wrong[] = "wrong result, or no memory";

/* The functions below return the seconds of one call, or -1. */

static double worker_compile(struct worker *w, int number)
{
	char source[sizeof(PEERS_NUMBERED) + 16];
	int32_t got[PEERS_THREADS];
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	snprintf(source, sizeof(source), PEERS_NUMBERED, number);
	double start = bench_now();
	kz_status st = kz_module_compile(&mod, w->dev, source, NULL, &w->err);
	st = st ? st : kz_module_kernel(&kernel, mod, "numbered", &w->err);
	st = st ? st
		: kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(PEERS_THREADS, 1, 1), NULL, &w->err,
			KZ_ARGS(w->numbers, (int)PEERS_THREADS));
	st = st ? st : kz_device_synchronize(w->dev, &w->err);
	double seconds = bench_now() - start;
	st = st ? st : kz_array_get(w->numbers, got, sizeof(got), &w->err);
	kz_module_release(mod);
	return !st && got[PEERS_THREADS - 1] == number + PEERS_THREADS - 1 ? seconds : -1;
}

static kz_status worker_launch_once(struct worker *w, kz_kernel *kernel, bool six)
{
	kz_dim3 one = kz_dim(1, 1, 1);
	return six
		? kz_launch(kernel, one, one, NULL, &w->err, KZ_ARGS(2.0f, w->x, w->y, 1, 1LL, 0.5))
		: kz_launch(kernel, one, one, NULL, &w->err, KZ_ARGS(w->y));
}

static kz_status worker_prepare(struct worker *w, kz_prepared **out, kz_kernel *kernel, bool six)
{
	kz_dim3 one = kz_dim(1, 1, 1);
	return six ? kz_prepared_create(out, kernel, one, one, NULL, &w->err,
			KZ_ARGS(2.0f, w->x, w->y, 1, 1LL, 0.5))
		: kz_prepared_create(out, kernel, one, one, NULL, &w->err, KZ_ARGS(w->y));
}

static double worker_launch(struct worker *w, bool prepared, bool six, int calls)
{
	const float zero = 0;
	float got = 0;
	kz_kernel *kernel = NULL;
	kz_prepared *launch = NULL;
	kz_status st = kz_module_kernel(&kernel, w->mod, six ? "six" : "one", &w->err);
	st = st || !prepared ? st : worker_prepare(w, &launch, kernel, six);
	st = st ? st : kz_array_set(w->y, &zero, sizeof(zero), &w->err);
	st = st ? st : kz_device_synchronize(w->dev, &w->err);
	double start = bench_now();
	if (prepared) {
		for (int i = 0; i < calls && !st; i++) {
			st = kz_prepared_launch(launch, NULL, &w->err);
		}
	} else {
		for (int i = 0; i < calls && !st; i++) {
			st = worker_launch_once(w, kernel, six);
		}
	}
	double seconds = (bench_now() - start) / calls;
	st = st ? st : kz_array_get(w->y, &got, sizeof(got), &w->err);
	kz_prepared_release(launch);
	return !st && got == (float)calls ? seconds : -1;
}

/* The host's memory is the same for all: numpy asks for large pages, too. */
static void *worker_take_heap(int64_t size)
{
	enum { LARGE = 2 << 20 };
	void *heap = NULL;
	if (posix_memalign(&heap, size < LARGE ? 64 : LARGE, (size_t)size)) {
		return NULL;
	}
	if (size >= LARGE) {
		madvise(heap, (size_t)size, MADV_HUGEPAGE);
	}
	return heap;
}

/* Memory for copies, touched once. */
static kz_status worker_take_memory(struct worker *w, bool pinned, int64_t size)
{
	if (w->size == size && pinned == !!w->pinned) {
		return KZ_OK;
	}
	worker_free_memory(w);
	kz_status st = kz_buffer_create(&w->buffer, w->dev, size, &w->err);
	if (pinned) {
		st = st ? st : kz_pinned_create(&w->pinned, w->dev, size, &w->err);
	} else {
		w->heap = worker_take_heap(size);
	}
	w->host = w->pinned ? kz_pinned_pointer(w->pinned) : w->heap;
	if (st || !w->host) {
		return st ? st : KZ_NO_MEMORY;
	}
	w->size = size;
	memset(w->host, 1, (size_t)size);
	return kz_copy_htod(w->buffer, 0, w->host, size, &w->err);
}

/* A number that no copy has carried is written on one side, and must be on the other afterwards. */
static double worker_copy(struct worker *w, bool htod, bool pinned, int64_t size, int calls)
{
	kz_status st = worker_take_memory(w, pinned, size);
	const int64_t last = size / 8 - 1, marks[] = {0, last / 2, last};
	const uint64_t serial = ++w->serial;
	bool right = true;
	for (int i = 0; i < 3 && !st; i++) {
		if (htod) {
			w->host[marks[i]] = serial;
		} else {
			st = kz_copy_htod(w->buffer, marks[i] * 8, &serial, 8, &w->err);
		}
	}
	double start = bench_now();
	for (int i = 0; i < calls && !st; i++) {
		st = htod ? kz_copy_htod(w->buffer, 0, w->host, size, &w->err)
			: kz_copy_dtoh(w->host, size, w->buffer, 0, &w->err);
	}
	double seconds = (bench_now() - start) / calls;
	for (int i = 0; i < 3 && !st; i++) {
		uint64_t got = 0;
		if (htod) {
			st = kz_copy_dtoh(&got, 8, w->buffer, marks[i] * 8, &w->err);
		} else {
			got = w->host[marks[i]];
		}
		right = right && got == serial;
	}
	return !st && right ? seconds : -1;
}

/* One order. */
static double worker_obey(struct worker *w, const char *line)
{
	char memory[16];
	int first, calls;
	long long size;
	if (sscanf(line, "compile %d", &first) == 1) {
		return worker_compile(w, first);
	}
	if (sscanf(line, "launch %d %d", &first, &calls) == 2) {
		return worker_launch(w, false, first == 6, calls);
	}
	if (sscanf(line, "prepared %d %d", &first, &calls) == 2) {
		return worker_launch(w, true, first == 6, calls);
	}
	if (sscanf(line, "%*[hd]to%*[hd] %15s %lld %d", memory, &size, &calls) == 3) {
		return worker_copy(w, line[0] == 'h', strcmp(memory, "pinned") == 0, size, calls);
	}
	return -1;
}

int peers_kudzu(const char *device)
{
	struct worker w = {.err = KZ_ERROR_INIT};
	char line[80];
	if (worker_open(&w, device)) {
		printf("absent %s\n", w.err.message);
	} else {
		puts("ready kudzu");
	}
	fflush(stdout);
	while (w.y && fgets(line, sizeof(line), stdin)) {
		double seconds = worker_obey(&w, line);
		if (seconds < 0) {
			printf("failed %s\n", kz_error_status(&w.err) ? w.err.message : wrong);
			kz_error_clear(&w.err);
		} else {
			printf("ok %.9g\n", seconds);
		}
		fflush(stdout);
	}
	worker_close(&w);
	return EXIT_SUCCESS;
}
