/* SPDX-License-Identifier: MIT */
#ifndef CPU_JOBS_H
#define CPU_JOBS_H

/*
 * What bench_cpu runs: a job is the data that some kernels work on, their launches, the same work
 * as a plain C loop, and a check of the results that knows of neither.
 *
 * A job is data only, so that each engine (the library, gcc's loops, OpenCL) runs it its own way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JOB_BUFFERS = 6,
	JOB_LAUNCHES = 32,
	JOB_ARGS = 7,

	BIG = 1 << 24,      /* elements of vectors */
	SMALL = 1 << 14,
	MATMUL = 512,       /* rows and columns */
	REDUCE_BLOCKS = 64, /* and partial sums of the loop */
	MANDELBROT = 512,
	MANDELBROT_LIMIT = 256,
	NBODY = 4096,
	TRANSPOSE = 2048,
	STENCIL_X = 256,
	STENCIL_Y = 256,
	STENCIL_Z = 64,
	SCAN = 1 << 20,
	SCAN_BLOCK = 1024,
	BFS = 1 << 18,
	BFS_DEGREE = 8,
	BFS_DEPTH = 16,     /* at most */
	BITONIC = 512,      /* elements of a block */
	BITONIC_BLOCKS = 512,
	SHA = 1 << 14,      /* messages of 64 bytes */
	HISTOGRAM = 1 << 22,
	SPMV = 1 << 16,     /* rows */
	SPMV_ROW = 32,      /* elements of a row, on average */
};

struct cpu_part {
	int phase;   /* a loop with several of them waits for all threads in between */
	int thread;
	int threads;
};
typedef void cpu_loop(void *const *buffers, const struct cpu_part *part);

enum cpu_arg_kind { ARG_BUFFER = 1, ARG_INT, ARG_FLOAT, ARG_DOUBLE, ARG_NULL };

struct cpu_arg {
	enum cpu_arg_kind kind;
	double value;    /* a buffer's number */
};

struct cpu_launch {
	const char *kernel;
	int grid[2], block[2];
	int shared_size; /* dynamic; OpenCL takes it as one more argument */
	struct cpu_arg args[JOB_ARGS];
};

/* Filled in by cpu_job_open. */
struct cpu_job {
	const char *name;
	size_t sizes[JOB_BUFFERS]; /* bytes */
	void *initial[JOB_BUFFERS];
	struct cpu_launch launches[JOB_LAUNCHES];
	int launch_count;
	cpu_loop *loop, *loop_avx2;
	int phases;
	bool alone;    /* the loop is too short to be shared */
	double bytes;  /* from memory and to it, at least; what is written is read before */
	double lanes;  /* additions, multiplications and so on, each on 32 bits; 64 bits are 2 */
	int memory;    /* elements of the triad to compare with */
	double floor;  /* over gcc; 0: none */
	bool scales;   /* it computes more than it reads */
	bool (*check)(const struct cpu_job *job, void *const *results);
};

int cpu_job_count(void);
const char *cpu_job_name(int index);

/* Make a job's data; false when there is no memory. */
bool cpu_job_open(struct cpu_job *out, int index);
void cpu_job_close(struct cpu_job *job);

#define CPU_LOOPS(X) \
	X(vecadd) X(vecadd_small) X(saxpy) X(matmul) X(reduce) X(mandelbrot) X(nbody) \
	X(transpose) X(stencil) X(scan) X(bfs) X(bitonic) X(sha256) X(histogram) X(spmv)
#define X(name) cpu_loop loop_##name##_native, loop_##name##_avx2;
CPU_LOOPS(X)
#undef X

/* What the machine can do by one thread: a[i] = b[i] + x * c[i]; multiplications with an addition,
 * LIMIT_LANES of them in a call. */
enum { LIMIT_LANES = 12 * 16 << 14 };
void limit_triad(float *restrict a, const float *restrict b, const float *restrict c, int count,
	int calls);
void limit_lanes(int calls);

#endif
