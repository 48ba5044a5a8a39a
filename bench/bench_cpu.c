/* SPDX-License-Identifier: MIT */
/*
 * Kernels on the CPU device beside the same work done otherwise.
 *
 *	bench_cpu [-p] [-r ROUNDS] [-x PASSES] [CASE [SIDE,...]]
 *
 * CASE is part of a job's name (cpu_jobs.c).  A side is a process that runs the job its way.  All
 * sides take turns, so that ratios are of neighbours in time.  Without SIDEs all of them run:
 *
 *	kudzu, w1      the library as it is; with KUDZU_CPU_WIDTH=1, thread after thread
 *	gcc            the same work as C, gcc -O3 -march=native
 *	pocl           the same kernels in OpenCL, where that is installed
 *	triad, vector  the limits: what memory and the vector units give plain C
 *	kudzu-avx2, gcc-avx2           both with AVX2 and FMA at most
 *	kudzu-2, gcc-2, pocl-2         with two threads, the others have one
 *	without, without-avx2   with -x: kudzu and kudzu-avx2 with KUDZU_CPU_PASSES=PASSES
 *	counted, sampled   only if they are named: kudzu with a profile, of counters or of samples
 *	memory, init, race, sync   likewise: kudzu with KUDZU_CHECK
 *	gcc-twin       a second process that does what gcc does, at the same time: what two cores
 *	               are worth if nothing is shared
 *
 * -p measures processor time on one thread in place of wall time, for a machine with other work.
 * The last lines have the geometric mean of each ratio.  Every side checks its results when it
 * begins a job.  A side that fails is reported and left out.  If it is ours, the exit status is 1.
 */
#include "bench.h"

#include "cpu_jobs.h"
#include "cpu_worker.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MIN_ROUNDS = 7, MAX_ROUNDS = 41, DEFAULT_ROUNDS = 15 };
#define BATCH_SECONDS 5e-3 /* of a sample, at least */
#define WARM_SECONDS 20e-3 /* what takes longer needs nothing to warm up */

enum which {
	KUDZU, GCC, W1, POCL, TRIAD, VECTOR, KUDZU_AVX2, GCC_AVX2, KUDZU_2, GCC_2, POCL_2, GCC_TWIN,
	WITHOUT, WITHOUT_AVX2,
	COUNTED, SAMPLED, MEMORY, INIT, RACE, SYNC, /* these run only if they are named */
	SIDE_COUNT
};

static char left_out[256] = "KUDZU_CPU_PASSES=";

static const struct side {
	const char *name, *engine;
	int threads;
	bool is_slow; /* has a few rounds only */
	const char *settings[4];
} sides[SIDE_COUNT] = {
	[KUDZU] = {"kudzu", "kudzu", 1, false, {"KUDZU_CPU_THREADS=1"}},
	[GCC] = {"gcc", "gcc", 1, false, {NULL}},
	[W1] = {"w1", "kudzu", 1, true, {"KUDZU_CPU_THREADS=1", "KUDZU_CPU_WIDTH=1"}},
	[POCL] = {"pocl", "opencl", 1, true, {"POCL_MAX_PTHREAD_COUNT=1"}},
	[TRIAD] = {"triad", "triad", 1, false, {NULL}},
	[VECTOR] = {"vector", "vector", 1, false, {NULL}},
	[KUDZU_AVX2] = {"kudzu-avx2", "kudzu", 1, true,
		{"KUDZU_CPU_THREADS=1", "KUDZU_CPU_FEATURES=avx2"}},
	[GCC_AVX2] = {"gcc-avx2", "gcc-avx2", 1, true, {NULL}},
	[KUDZU_2] = {"kudzu-2", "kudzu", 2, false, {"KUDZU_CPU_THREADS=2"}},
	[GCC_2] = {"gcc-2", "gcc", 2, false, {NULL}},
	[POCL_2] = {"pocl-2", "opencl", 2, true, {"POCL_MAX_PTHREAD_COUNT=2"}},
	[GCC_TWIN] = {"gcc-twin", "gcc", 1, true, {NULL}},
	[WITHOUT] = {"without", "kudzu", 1, false, {"KUDZU_CPU_THREADS=1", left_out}},
	[WITHOUT_AVX2] = {"without-avx2", "kudzu", 1, false,
		{"KUDZU_CPU_THREADS=1", "KUDZU_CPU_FEATURES=avx2", left_out}},
	[COUNTED] = {"counted", "kudzu", 1, false, {"KUDZU_CPU_THREADS=1",
		"KUDZU_PROFILE=/dev/null", "KUDZU_PROFILE_ONLY=counts"}},
	[SAMPLED] = {"sampled", "kudzu", 1, false, {"KUDZU_CPU_THREADS=1",
		"KUDZU_PROFILE=/dev/null", "KUDZU_PROFILE_ONLY=time"}},
	[MEMORY] = {"memory", "kudzu", 1, true, {"KUDZU_CPU_THREADS=1", "KUDZU_CHECK=memory"}},
	[INIT] = {"init", "kudzu", 1, true, {"KUDZU_CPU_THREADS=1", "KUDZU_CHECK=init"}},
	[RACE] = {"race", "kudzu", 1, true, {"KUDZU_CPU_THREADS=1", "KUDZU_CHECK=race",
		"KUDZU_CHECK_PRINT=0"}},
	[SYNC] = {"sync", "kudzu", 1, true, {"KUDZU_CPU_THREADS=1", "KUDZU_CHECK=sync",
		"KUDZU_CHECK_PRINT=0"}},
};

static const struct {
	const char *name;
	enum which over, under;
} ratios[] = {
	{"kudzu/gcc", KUDZU, GCC},
	{"kudzu/w1", KUDZU, W1},
	{"kudzu/pocl", KUDZU, POCL},
	{"kudzu-avx2/gcc-avx2", KUDZU_AVX2, GCC_AVX2},
	{"kudzu-avx2/kudzu", KUDZU_AVX2, KUDZU},
	{"kudzu-2/gcc-2", KUDZU_2, GCC_2},
	{"kudzu-2/pocl-2", KUDZU_2, POCL_2},
	{"without/kudzu", WITHOUT, KUDZU},
	{"without-avx2/kudzu-avx2", WITHOUT_AVX2, KUDZU_AVX2},
	{"counted/kudzu", COUNTED, KUDZU},
	{"sampled/kudzu", SAMPLED, KUDZU},
	{"memory/kudzu", MEMORY, KUDZU},
	{"init/kudzu", INIT, KUDZU},
	{"race/kudzu", RACE, KUDZU},
	{"sync/kudzu", SYNC, KUDZU},
};
#define RATIO_COUNT (sizeof(ratios) / sizeof(ratios[0]))

struct bench {
	bool by_processor;
	int rounds;
	struct cpu_worker workers[SIDE_COUNT];
	bool has[SIDE_COUNT]; /* a worker; in this job */
	bool in[SIDE_COUNT];
	bool is_wrong;        /* ours was, in some job */
	struct cpu_work work[SIDE_COUNT];
	double wall[SIDE_COUNT][MAX_ROUNDS], time[SIDE_COUNT][MAX_ROUNDS]; /* below 0: not run */
	double logs[RATIO_COUNT]; /* of all jobs so far, summed; so many */
	int log_counts[RATIO_COUNT];
};

static bool is_wanted(const char *list, const char *name)
{
	size_t size = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, size) == 0 && (at[size] == ',' || at[size] == '\0')) {
			return true;
		}
	}
	return !list;
}

/* The twin runs beside the side whose twin it is: the clock is that of the slower one. */
static bool run_side(struct bench *bench, enum which which, int warm, int calls, int round)
{
	double wall, processors, other = 0;
	struct cpu_worker *twin = which == GCC_TWIN ? &bench->workers[GCC] : NULL;
	if ((twin && !cpu_worker_send_run(twin, warm, calls))
	    || !cpu_worker_send_run(&bench->workers[which], warm, calls)
	    || !cpu_worker_ran(&bench->workers[which], &wall, &processors)
	    || (twin && !cpu_worker_ran(twin, &other, &processors))) {
		return false;
	}
	wall = other > wall ? other : wall;
	bench->wall[which][round] = wall;
	bool by_processor = bench->by_processor && sides[which].threads == 1 && !twin;
	bench->time[which][round] = by_processor ? processors : wall;
	return true;
}

/* Both calls of a batch and of the warming up follow from what one took. */
static bool run_round(struct bench *bench, const double one[SIDE_COUNT], int round)
{
	for (int turn = 0; turn < SIDE_COUNT; turn++) {
		enum which which = (enum which)(round & 1 ? SIDE_COUNT - 1 - turn : turn);
		bool off = !bench->in[which] || (sides[which].is_slow && round >= MIN_ROUNDS);
		int calls = one[which] >= BATCH_SECONDS ? 1 : (int)(BATCH_SECONDS / one[which]) + 1;
		if (off) {
			bench->wall[which][round] = bench->time[which][round] = -1;
		} else if (!run_side(bench, which, one[which] < WARM_SECONDS, calls, round)) {
			return false;
		}
	}
	return true;
}

static void open_sides(struct bench *bench, int job)
{
	for (int i = 0; i < SIDE_COUNT; i++) {
		bench->in[i] = bench->has[i] && cpu_worker_send_open(&bench->workers[i], job);
	}
	for (int i = 0; i < SIDE_COUNT; i++) {
		bench->in[i] = bench->in[i]
			&& cpu_worker_opened(&bench->workers[i], &bench->work[i]);
		bench->is_wrong |= bench->has[i] && !bench->in[i]
			&& strcmp(sides[i].engine, "kudzu") == 0;
	}
	bench->in[GCC_TWIN] = bench->in[GCC_TWIN] && bench->in[GCC] && bench->work[GCC].scales;
}

static void close_sides(struct bench *bench)
{
	for (int i = 0; i < SIDE_COUNT; i++) {
		bench->has[i] = bench->has[i] && cpu_worker_close(&bench->workers[i]);
	}
}

/* Report over(round) / under(round), of the rounds that both were in.  Return the median; 0: there
 * are no such rounds. */
static double report_ratio(const char *name, const char *what, const double *over,
	double over_scale, const double *under, double under_scale, int rounds)
{
	double samples[MAX_ROUNDS];
	int count = 0;
	for (int round = 0; round < rounds; round++) {
		if (over[round] > 0 && under[round] > 0) {
			samples[count++] = over[round] * over_scale / (under[round] * under_scale);
		}
	}
	return count > 0 ? bench_report(name, what, "ratio", samples, count) : 0;
}

static void report_side(const struct bench *bench, const char *name, enum which which)
{
	double samples[MAX_ROUNDS];
	int count = 0;
	for (int round = 0; round < bench->rounds; round++) {
		if (bench->time[which][round] > 0) {
			samples[count++] = bench->time[which][round] * 1e6;
		}
	}
	bench_report(name, sides[which].name, "us", samples, count);
}

/* How much of what the machine can do is done: by ours in its time, by the limit in its. */
static void report_shares(const struct bench *bench, const char *name)
{
	const struct cpu_work *work = bench->work;
	if (bench->in[TRIAD]) {
		report_ratio(name, "share of memory's bandwidth", bench->time[TRIAD],
			work[KUDZU].bytes, bench->time[KUDZU], work[TRIAD].bytes, bench->rounds);
	}
	if (bench->in[VECTOR]) {
		report_ratio(name, "share of the vector units", bench->time[VECTOR],
			work[KUDZU].lanes, bench->time[KUDZU], work[VECTOR].lanes, bench->rounds);
	}
}

static void report_means(const struct bench *bench)
{
	for (size_t i = 0; i < RATIO_COUNT; i++) {
		if (bench->log_counts[i] > 1) {
			double mean = exp(bench->logs[i] / bench->log_counts[i]);
			printf("{\"case\":\"cpu: geometric mean of %d\",\"what\":\"%s\","
				"\"unit\":\"ratio\",\"median\":%.4g}\n",
				bench->log_counts[i], ratios[i].name, mean);
		}
	}
}

static void report_job(struct bench *bench, const char *name)
{
	for (int i = 0; i < SIDE_COUNT; i++) {
		if (bench->in[i]) {
			report_side(bench, name, (enum which)i);
		}
	}
	for (size_t i = 0; i < RATIO_COUNT; i++) {
		if (bench->in[ratios[i].over] && bench->in[ratios[i].under]) {
			double median = report_ratio(name, ratios[i].name,
				bench->time[ratios[i].over], 1, bench->time[ratios[i].under], 1,
				bench->rounds);
			bench->logs[i] += median > 0 ? log(median) : 0;
			bench->log_counts[i] += median > 0;
		}
	}
	if (bench->in[KUDZU]) {
		report_shares(bench, name);
	}
	if (bench->in[KUDZU] && bench->in[KUDZU_2]) {
		report_ratio(name, "one thread/two", bench->wall[KUDZU], 1, bench->wall[KUDZU_2], 1,
			bench->rounds);
	}
	if (bench->in[GCC] && bench->in[GCC_2]) {
		report_ratio(name, "gcc, one thread/two", bench->wall[GCC], 1, bench->wall[GCC_2],
			1, bench->rounds);
	}
	if (bench->in[GCC_TWIN]) {
		report_ratio(name, "two processes of gcc, over one", bench->wall[GCC], 2,
			bench->wall[GCC_TWIN], 1, bench->rounds);
	}
	if (bench->in[KUDZU]) {
		printf("{\"case\":\"%s\",\"what\":\"goal\",\"kudzu/gcc\":%g,\"one "
			"thread/two\":%g}\n",
			name, bench->work[KUDZU].floor, bench->work[KUDZU].scales ? 1.9 : 0);
	}
	fflush(stdout);
}

static bool run_job(struct bench *bench, int job)
{
	double one[SIDE_COUNT];
	char name[100];
	bool ran = true;
	open_sides(bench, job);
	for (int i = 0; i < SIDE_COUNT && ran; i++) {
		one[i] = 1;
		if (bench->in[i]) {
			ran = run_side(bench, (enum which)i, 0, 1, 0);
			one[i] = bench->wall[i][0];
		}
	}
	for (int round = 0; round < bench->rounds && ran; round++) {
		ran = run_round(bench, one, round);
	}
	if (ran) {
		snprintf(name, sizeof(name), "cpu: %s", cpu_job_name(job));
		report_job(bench, name);
	}
	close_sides(bench);
	return ran;
}

static void start_sides(struct bench *bench, const char *wanted)
{
	bool two = sysconf(_SC_NPROCESSORS_ONLN) >= 2;
	const bool leaves_out = strchr(left_out, '-');
	for (int i = 0; i < SIDE_COUNT; i++) {
		bool is_without = i == WITHOUT || i == WITHOUT_AVX2;
		bool fits = is_without ? leaves_out : i >= COUNTED ? wanted != NULL : two
			|| (sides[i].threads == 1 && i != GCC_TWIN);
		if (is_wanted(wanted, sides[i].name) && fits) {
			bench->has[i] = cpu_worker_start(&bench->workers[i], sides[i].engine,
				sides[i].threads, sides[i].settings);
		}
	}
}

static int run(struct bench *bench, const char *case_part, const char *wanted)
{
	int failed = 0;
	start_sides(bench, wanted);
	for (int job = 0; job < cpu_job_count() && !failed; job++) {
		if (strstr(cpu_job_name(job), case_part)) {
			failed = !run_job(bench, job);
		}
	}
	report_means(bench);
	for (int i = 0; i < SIDE_COUNT; i++) {
		cpu_worker_stop(&bench->workers[i]);
	}
	if (failed) {
		fprintf(stderr, "bench_cpu: a side failed\n");
	}
	return failed || bench->is_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct bench bench = {.rounds = DEFAULT_ROUNDS};
	int option;
	if (argc == 4 && strcmp(argv[1], "--worker") == 0) {
		return cpu_worker_main(argv[2], argv[3]);
	}
	signal(SIGPIPE, SIG_IGN); /* of a worker that died */
	while ((option = getopt(argc, argv, "pr:x:")) != -1) {
		bench.by_processor |= option == 'p';
		if (option == 'x') {
			snprintf(left_out, sizeof(left_out), "KUDZU_CPU_PASSES=%s", optarg);
		}
		bench.rounds = option == 'r' ? (int)strtol(optarg, NULL, 10) : bench.rounds;
		if (option == '?' || bench.rounds < 1 || bench.rounds > MAX_ROUNDS) {
			fprintf(stderr, "usage: bench_cpu [-p] [-r ROUNDS] [-x PASSES] [CASE "
				"[SIDE,...]]\n");
			return 2;
		}
	}
	return run(&bench, optind < argc ? argv[optind] : "",
		optind + 1 < argc ? argv[optind + 1] : NULL);
}
