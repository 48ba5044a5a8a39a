/* SPDX-License-Identifier: MIT */
/*
 * Warming up: compile kernels with large headers, in this process one after the other, and in
 * several processes.
 *
 *	bench_warm
 *
 * Each text is new, so that no cache has it.  The cache folder is removed afterwards.
 */
#include "bench.h"

#include <string.h>
#include <unistd.h>

enum { ROUNDS = 7, SOURCES = 8 };

/* Seconds for SOURCES new texts; below 0 on failure. */
static double warm_up(int64_t processes, kz_warm_up_result *result, kz_error *err)
{
	static int number;
	char texts[SOURCES][300];
	kz_warm_up_source sources[SOURCES];
	for (int i = 0; i < SOURCES; i++) {
		snprintf(texts[i], sizeof(texts[i]), "#include <cooperative_groups.h>\n"
			"__global__ void k%d(int *p) { cooperative_groups::this_grid().sync(); "
			"p[threadIdx.x] = %d; }\n", i, number++);
		sources[i] = (kz_warm_up_source){texts[i], NULL};
	}
	double start = bench_now();
	kz_status st = kz_warm_up(NULL, sources, SOURCES, processes, result, err);
	return st ? -1 : bench_now() - start;
}

static int measure(kz_error *err)
{
	double here[ROUNDS], there[ROUNDS], ratio[ROUNDS];
	kz_warm_up_result result;
	char name[80];
	for (int i = 0; i < ROUNDS; i++) {
		here[i] = warm_up(1, NULL, err) * 1e3;
		there[i] = warm_up(0, &result, err) * 1e3;
		ratio[i] = there[i] / here[i];
		if (here[i] < 0 || there[i] < 0) {
			return -1;
		}
	}
	snprintf(name, sizeof(name), "warm up: %d sources, %lld processes", SOURCES,
		(long long)result.processes);
	bench_report(name, "one after the other", "ms", here, ROUNDS);
	bench_report(name, "in processes", "ms", there, ROUNDS);
	bench_report(name, "processes/one after the other", "ratio", ratio, ROUNDS);
	return 0;
}

int main(void)
{
	char folder[] = "/tmp/kudzu-bench-XXXXXX";
	kz_error err = KZ_ERROR_INIT;
	if (!mkdtemp(folder) || setenv("KUDZU_CACHE_DIR", folder, 1)
	    || setenv("KUDZU_CACHE", "1", 1)) {
		perror("bench_warm");
		return EXIT_FAILURE;
	}
	int failed = measure(&err);
	bench_remove(folder);
	return failed ? bench_fail(&err) : EXIT_SUCCESS;
}
