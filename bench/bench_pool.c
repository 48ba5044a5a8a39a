/* SPDX-License-Identifier: MIT */
/*
 * The host time to create and release a buffer when the pool has one.
 *
 *	bench_pool COUNT    create and release COUNT times; bench/launch.sh counts instructions
 *	bench_pool times    time batches: one thread; eight threads, each with a stream of its own
 */
#include "bench.h"

#include <pthread.h>
#include <string.h>

enum { ROUNDS = 41, BATCH = 20000, THREADS = 8, BYTES = 4096 };

struct worker {
	kz_device *dev;
	kz_stream *stream; /* NULL: the default one */
	long count;
	int failed;
};

static void *run(void *argument)
{
	struct worker *worker = argument;
	for (long i = 0; i < worker->count; i++) {
		kz_buffer *buffer;
		if (worker->stream
			? kz_buffer_create_on(&buffer, worker->dev, BYTES, worker->stream, NULL)
			: kz_buffer_create(&buffer, worker->dev, BYTES, NULL)) {
			worker->failed = 1;
			return NULL;
		}
		kz_buffer_release(buffer);
	}
	return NULL;
}

static int run_threads(struct worker *workers)
{
	pthread_t threads[THREADS];
	int started = 0;
	while (started < THREADS
	    && !pthread_create(&threads[started], NULL, run, &workers[started])) {
		started++;
	}
	int failed = started < THREADS;
	for (int i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		failed |= workers[i].failed;
	}
	return failed;
}

/* Processor time of one creation and release, whatever number of cores there is. */
static int run_times(struct worker *one, struct worker *workers)
{
	double alone[ROUNDS], together[ROUNDS], ratio[ROUNDS];
	one->count = BATCH;
	for (int round = 0; round < ROUNDS; round++) {
		double start = bench_cpu();
		run(one);
		double middle = bench_cpu();
		if (one->failed || run_threads(workers)) {
			return -1;
		}
		alone[round] = (middle - start) * 1e9 / BATCH;
		together[round] = (bench_cpu() - middle) * 1e9 / (BATCH * THREADS);
		ratio[round] = together[round] / alone[round];
	}
	bench_report("pool", "alloc+free, 1 thread", "ns", alone, ROUNDS);
	bench_report("pool", "alloc+free, 8 threads", "ns", together, ROUNDS);
	bench_report("pool", "8 threads/1 thread", "ratio", ratio, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_pool COUNT, or bench_pool times\n");
		return 2;
	}
	kz_error err = KZ_ERROR_INIT;
	struct worker one = {.count = atol(argv[1])}, workers[THREADS];
	if (kz_device_open(&one.dev, NULL, &err)) {
		return bench_fail(&err);
	}
	kz_status st = KZ_OK;
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.dev = one.dev, .count = BATCH};
		st = st ? st : kz_stream_create(&workers[i].stream, one.dev, 0, &err);
	}
	int failed = st != KZ_OK;
	if (!failed && strcmp(argv[1], "times") == 0) {
		failed = run_times(&one, workers);
	} else if (!failed) {
		run(&one);
		failed = one.failed;
	}
	kz_error_print(&err, stderr);
	kz_error_clear(&err);
	for (int i = 0; i < THREADS; i++) {
		kz_stream_release(workers[i].stream);
	}
	kz_device_close(one.dev);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
