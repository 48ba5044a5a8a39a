/* SPDX-License-Identifier: MIT */
/*
 * The workers of bench_cpu; see cpu_worker.h.
 *
 * Orders and answers are lines: "open JOB" is answered by "ok BYTES LANES FLOOR SCALES", "run WARM
 * CALLS" by "ok SECONDS SECONDS", "close" by "ok".  A worker that cannot answers "no", with the
 * reason on the standard error.
 */
#include "bench.h"

#include "cpu_engine.h"
#include "cpu_worker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EMBED(name, file) \
	__asm__(".section .rodata\n.globl " #name "\n" #name ":\n" \
		".incbin \"bench/" file "\"\n.byte 0\n.text\n");
EMBED(cpu_kernels_cu, "cpu_kernels.cu")
EMBED(cpu_kernels_cl, "cpu_kernels.cl")
EMBED(cpu_sha256, "cpu_sha256.h")

/* The starting side */

static void run_child(const int to[2], const int from[2], const char *engine, int threads,
	const char *const *settings)
{
	char count[16];
	snprintf(count, sizeof(count), "%d", threads);
	for (; *settings; settings++) {
		putenv((char *)(uintptr_t)*settings);
	}
	dup2(to[0], STDIN_FILENO);
	dup2(from[1], STDOUT_FILENO);
	execl("/proc/self/exe", "bench_cpu", "--worker", engine, count, (char *)NULL);
	_exit(127);
}

bool cpu_worker_start(struct cpu_worker *out, const char *engine, int threads,
	const char *const *settings)
{
	int to[2], from[2], ready = 0;
	*out = (struct cpu_worker){0};
	/* The next worker must not have them, or this one would never read the end. */
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) {
		return false;
	}
	fflush(stdout);
	out->pid = fork();
	if (out->pid == 0) {
		run_child(to, from, engine, threads, settings);
	}
	close(to[0]);
	close(from[1]);
	out->to = fdopen(to[1], "w");
	out->from = fdopen(from[0], "r");
	if (out->pid > 0 && out->to && out->from) {
		ready = fgetc(out->from);
	}
	if (ready != '+') {
		cpu_worker_stop(out);
	}
	return ready == '+';
}

void cpu_worker_stop(struct cpu_worker *worker)
{
	if (worker->to) {
		fclose(worker->to);
	}
	if (worker->from) {
		fclose(worker->from);
	}
	if (worker->pid > 0) {
		waitpid(worker->pid, NULL, 0);
	}
	*worker = (struct cpu_worker){0};
}

/* The numbers after an "ok". */
static bool receive(struct cpu_worker *worker, double *numbers, int count)
{
	char line[200];
	if (!fgets(line, sizeof(line), worker->from) || strncmp(line, "ok", 2) != 0) {
		return false;
	}
	char *rest = line + 2;
	for (int i = 0; i < count; i++) {
		numbers[i] = strtod(rest, &rest);
	}
	return true;
}

bool cpu_worker_send_open(struct cpu_worker *worker, int job)
{
	return fprintf(worker->to, "open %d\n", job) > 0 && fflush(worker->to) == 0;
}

bool cpu_worker_opened(struct cpu_worker *worker, struct cpu_work *out)
{
	double numbers[4];
	bool opened = receive(worker, numbers, 4);
	if (opened) {
		*out = (struct cpu_work){numbers[0], numbers[1], numbers[2], numbers[3] != 0};
	}
	return opened;
}

bool cpu_worker_send_run(struct cpu_worker *worker, int warm, int calls)
{
	return fprintf(worker->to, "run %d %d\n", warm, calls) > 0 && fflush(worker->to) == 0;
}

bool cpu_worker_ran(struct cpu_worker *worker, double *wall, double *processors)
{
	double numbers[2];
	bool ran = receive(worker, numbers, 2);
	if (ran) {
		*wall = numbers[0];
		*processors = numbers[1];
	}
	return ran;
}

bool cpu_worker_close(struct cpu_worker *worker)
{
	return fputs("close\n", worker->to) >= 0 && fflush(worker->to) == 0
		&& receive(worker, NULL, 0);
}

/* The worker's side */

static const struct cpu_engine *const engines[] = {
	&engine_kudzu, &engine_gcc, &engine_gcc_avx2, &engine_opencl, &engine_triad,
	&engine_vector};

static bool open_and_check(const struct cpu_engine *engine, struct cpu_job *job, int index)
{
	void *results[JOB_BUFFERS] = {NULL};
	if (!cpu_job_open(job, index) || !engine->open(job) || !engine->run(job, 1)) {
		fprintf(stderr, "bench_cpu: %s cannot run %s\n", engine->name, cpu_job_name(index));
		return false;
	}
	bool right = !engine->fetch || (engine->fetch(job, results) && job->check(job, results));
	if (!right) {
		fprintf(stderr, "bench_cpu: %s gets wrong results in %s\n", engine->name,
			job->name);
	}
	return right;
}

static bool run_and_tell(const struct cpu_engine *engine, const struct cpu_job *job, int warm,
	int calls)
{
	bool ran = warm == 0 || engine->run(job, warm);
	double wall = bench_now(), processors = bench_cpu();
	ran = ran && engine->run(job, calls);
	wall = bench_now() - wall;
	processors = bench_cpu() - processors;
	if (ran) {
		printf("ok %.9g %.9g\n", wall / calls, processors / calls);
	}
	return ran;
}

/* One order; false if it could not be carried out, and the reason was told. */
static bool obey(const struct cpu_engine *engine, struct cpu_job *job, char *line)
{
	char *rest = strchr(line, ' ');
	long first = rest ? strtol(rest, &rest, 10) : 0;
	long second = rest ? strtol(rest, &rest, 10) : 0;
	if (line[0] == 'r') {
		return run_and_tell(engine, job, (int)first, (int)second);
	}
	if (job->name) {
		engine->close(job);
		cpu_job_close(job);
		job->name = NULL;
	}
	if (line[0] == 'c') {
		puts("ok");
		return true;
	}
	bool opened = open_and_check(engine, job, (int)first);
	if (opened) {
		double bytes = engine == &engine_triad ? 16.0 * job->memory : job->bytes;
		double lanes = engine == &engine_vector ? LIMIT_LANES : job->lanes;
		printf("ok %.9g %.9g %.9g %d\n", bytes, lanes, job->floor, job->scales);
	}
	return opened;
}

int cpu_worker_main(const char *name, const char *threads)
{
	const struct cpu_engine *engine = NULL;
	struct cpu_job job = {.name = NULL};
	char line[80];
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		engine = strcmp(engines[i]->name, name) == 0 ? engines[i] : engine;
	}
	if (!engine || !engine->start((int)strtol(threads, NULL, 10))) {
		return EXIT_FAILURE;
	}
	putchar('+');
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!obey(engine, &job, line)) {
			puts("no");
		}
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}
