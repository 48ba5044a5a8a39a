/* SPDX-License-Identifier: MIT */
/*
 * A million requests to five servers, sorted and counted on the device: quantiles of their times,
 * the slowest of each server, the ones that come closest to a time, and a histogram.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

enum { REQUESTS = 1000000, SERVERS = 5, BINS = 10, CLOSEST = 3 };

/* Quantiles are elements of the sorted times. */
static kz_status show_quantiles(kz_array *ms, kz_error *err)
{
	static float sorted[REQUESTS];
	kz_array *out = NULL;
	kz_status st;
	if (!(st = kz_sort(&out, ms, 0, NULL, err))
	    && !(st = kz_array_get(out, sorted, sizeof(sorted), err))) {
		printf("median %.1f ms, 99 %% below %.1f ms\n", sorted[REQUESTS / 2],
			sorted[REQUESTS / 100 * 99]);
	}
	kz_array_release(out);
	return st;
}

/* Sorted by server, the requests of each are a run. */
static kz_status show_servers(kz_array *server, kz_array *ms, kz_error *err)
{
	kz_array *keys = NULL, *values = NULL, *each = NULL, *runs = NULL, *slowest = NULL,
		*same = NULL;
	int64_t counts[SERVERS];
	float worst[SERVERS];
	kz_status st;
	if (!(st = kz_sort_by_key(&keys, &values, server, ms, 0, NULL, err))
	    && !(st = kz_run_length_encode(&each, &runs, keys, NULL, err))
	    && !(st = kz_reduce_by_key(&same, &slowest, keys, values, KZ_REDUCE_MAX, NULL, err))
	    && !(st = kz_array_get(runs, counts, sizeof(counts), err))
	    && !(st = kz_array_get(slowest, worst, sizeof(worst), err))) {
		for (int i = 0; i < SERVERS; i++) {
			printf("server %d: %lld requests, the slowest %.1f ms\n", i,
				(long long)counts[i], worst[i]);
		}
	}
	kz_array *all[] = {keys, values, each, runs, slowest, same};
	for (int i = 0; i < 6; i++) {
		kz_array_release(all[i]);
	}
	return st;
}

/* An order of our own, in CUDA C. */
static kz_status show_closest(kz_array *ms, kz_error *err)
{
	static float times[REQUESTS];
	kz_array *out = NULL;
	kz_status st;
	if (!(st = kz_sort_compare(&out, ms, "fabsf(a - 100) < fabsf(b - 100)", 0, NULL, err))
	    && !(st = kz_array_get(out, times, sizeof(times), err))) {
		printf("closest to 100 ms:");
		for (int i = 0; i < CLOSEST; i++) {
			printf(" %.2f", times[i]);
		}
		printf("\n");
	}
	kz_array_release(out);
	return st;
}

static kz_status show_histogram(kz_array *ms, kz_error *err)
{
	kz_array *out = NULL;
	int64_t counts[BINS];
	kz_histogram_options options = KZ_HISTOGRAM_OPTIONS_INIT;
	options.bins = BINS;
	options.high = 100;
	kz_status st;
	if (!(st = kz_histogram(&out, NULL, ms, &options, err))
	    && !(st = kz_array_get(out, counts, sizeof(counts), err))) {
		for (int i = 0; i < BINS; i++) {
			printf("%3d ms %8lld ", 100 / BINS * i, (long long)counts[i]);
			for (int64_t k = 0; k < counts[i]; k += REQUESTS / 100) {
				putchar('#');
			}
			putchar('\n');
		}
	}
	kz_array_release(out);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_random *rng = NULL;
	kz_array *server = NULL, *ms = NULL;

	if (kz_device_open(&dev, NULL, &err)
	    || kz_random_create(&rng, dev, 18, 0, &err)
	    || kz_random_integers(&server, rng, KZ_I32, KZ_SHAPE(REQUESTS), 0, SERVERS, NULL, &err)
	    || kz_random_exponential(&ms, rng, KZ_F32, KZ_SHAPE(REQUESTS), 20, &err)
	    || show_quantiles(ms, &err)
	    || show_servers(server, ms, &err)
	    || show_closest(ms, &err)
	    || show_histogram(ms, &err)) {
		kz_error_print(&err, stderr);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(ms);
	kz_array_release(server);
	kz_random_release(rng);
	kz_device_close(dev);
	return failed;
}
