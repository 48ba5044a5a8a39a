/* SPDX-License-Identifier: MIT */
/*
 * A million requests to five servers, sorted and counted on the device: quantiles of their times,
 * the slowest of each server, the ones that come closest to a time, and a histogram.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { REQUESTS = 1000000, SERVERS = 5, BINS = 10, CLOSEST = 3 };

/* Quantiles are elements of the sorted times. */
static void show_quantiles(kz_array *ms)
{
	static float sorted[REQUESTS];
	kz_array *out = NULL;
	CHECK(kz_sort(&out, ms, 0, NULL, &err));
	CHECK(kz_array_get(out, sorted, sizeof(sorted), &err));
	printf("median %.1f ms, 99 %% below %.1f ms\n", sorted[REQUESTS / 2],
		sorted[REQUESTS / 100 * 99]);
	kz_array_release(out);
}

/* Sorted by server, the requests of each are a run. */
static void show_servers(kz_array *server, kz_array *ms)
{
	kz_array *keys = NULL, *values = NULL, *each = NULL, *runs = NULL, *slowest = NULL,
		*same = NULL;
	int64_t counts[SERVERS];
	float worst[SERVERS];
	CHECK(kz_sort_by_key(&keys, &values, server, ms, 0, NULL, &err));
	CHECK(kz_run_length_encode(&each, &runs, keys, NULL, &err));
	CHECK(kz_reduce_by_key(&same, &slowest, keys, values, KZ_REDUCE_MAX, NULL, &err));
	CHECK(kz_array_get(runs, counts, sizeof(counts), &err));
	CHECK(kz_array_get(slowest, worst, sizeof(worst), &err));
	for (int i = 0; i < SERVERS; i++) {
		printf("server %d: %lld requests, the slowest %.1f ms\n", i, (long long)counts[i],
			worst[i]);
	}
	kz_release_all(keys, values, each, runs, slowest, same);
}

/* An order of our own, in CUDA C. */
static void show_closest(kz_array *ms)
{
	static float times[REQUESTS];
	kz_array *out = NULL;
	CHECK(kz_sort_compare(&out, ms, "fabsf(a - 100) < fabsf(b - 100)", 0, NULL, &err));
	CHECK(kz_array_get(out, times, sizeof(times), &err));
	printf("closest to 100 ms:");
	for (int i = 0; i < CLOSEST; i++) {
		printf(" %.2f", times[i]);
	}
	printf("\n");
	kz_array_release(out);
}

static void show_histogram(kz_array *ms)
{
	kz_array *out = NULL;
	int64_t counts[BINS];
	CHECK(kz_histogram(&out, NULL, ms,
		KZ_WITH(kz_histogram_options, .bins = BINS, .high = 100), &err));
	CHECK(kz_array_get(out, counts, sizeof(counts), &err));
	for (int i = 0; i < BINS; i++) {
		printf("%3d ms %8lld ", 100 / BINS * i, (long long)counts[i]);
		for (int64_t k = 0; k < counts[i]; k += REQUESTS / 100) {
			putchar('#');
		}
		putchar('\n');
	}
	kz_array_release(out);
}

int main(void)
{
	kz_device *dev = NULL;
	kz_random *rng = NULL;
	kz_array *server = NULL, *ms = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_random_create(&rng, dev, 18, 0, &err));
	CHECK(kz_random_integers(&server, rng, KZ_I32, KZ_SHAPE(REQUESTS), 0, SERVERS, NULL, &err));
	CHECK(kz_random_exponential(&ms, rng, KZ_F32, KZ_SHAPE(REQUESTS), 20, &err));
	show_quantiles(ms);
	show_servers(server, ms);
	show_closest(ms);
	show_histogram(ms);
	kz_release_all(ms, server, rng, dev);
	return 0;
}
