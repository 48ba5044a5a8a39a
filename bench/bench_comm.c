/* SPDX-License-Identifier: MIT */
/*
 * All-reduce of float32 over CPU devices, or over GPUs, in one process.
 *
 *	bench_comm          over 2 and 4 devices; bench/comm.sh sets MPI beside it
 *	bench_comm nccl     by NCCL, on GPUs
 *
 * `share` is how long memcpy takes for the bytes that the operation has to read and write, n of
 * each for each device, over how long it takes.  It is on the CPU device only.
 */
#include "bench.h"

#include <string.h>

enum { MOST = 4, ROUNDS = 11 };

struct job {
	kz_comm *comm;
	kz_array *arrays[MOST];
	int count;
	int64_t size;
	char *from, *to; /* for memcpy */
};

static double job_time(struct job *job, int repeats, kz_error *err)
{
	kz_status st = KZ_OK;
	double begin = bench_now();
	for (int i = 0; i < repeats && !st; i++) {
		st = kz_comm_all_reduce(job->comm, job->arrays, job->arrays, KZ_REDUCE_MAX, NULL,
			err);
		for (int k = 0; k < job->count && !st; k++) {
			kz_device *dev = kz_array_device(job->arrays[k]);
			st = kz_stream_synchronize(kz_device_stream(dev), err);
		}
	}
	return (bench_now() - begin) / repeats;
}

static double job_copy_time(const struct job *job, int repeats)
{
	double begin = bench_now();
	for (int i = 0; i < repeats * job->count; i++) {
		memcpy(job->to, job->from, (size_t)job->size);
		__asm__ volatile("" : : "r"(job->to) : "memory");
	}
	return (bench_now() - begin) / repeats;
}

static void job_measure(struct job *job, kz_error *err)
{
	const int repeats = job->size < 1 << 20 ? 1000 : job->size < 1 << 24 ? 50 : 1;
	double times[ROUNDS], shares[ROUNDS];
	char name[64];
	job_time(job, repeats, err);
	job_copy_time(job, 1);
	for (int round = 0; round < ROUNDS; round++) {
		times[round] = 1e6 * job_time(job, repeats, err);
		shares[round] = 1e6 * job_copy_time(job, repeats) / times[round];
	}
	if (err->status == KZ_OK) {
		snprintf(name, sizeof(name), "all-reduce, %d devices, %lld KiB", job->count,
			(long long)(job->size >> 10));
		bench_report("comm", name, "us", times, ROUNDS);
		if (!kz_device_is_cuda(kz_array_device(job->arrays[0]))) {
			snprintf(name, sizeof(name), "share of memcpy, %d devices, %lld KiB",
				job->count, (long long)(job->size >> 10));
			bench_report("comm", name, "ratio", shares, ROUNDS);
		}
	}
}

static void job_run(kz_device **devices, int count, int engine, int64_t size, kz_error *err)
{
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	struct job job = {.count = count, .size = size, .from = calloc(1, (size_t)size),
		.to = calloc(1, (size_t)size)};
	kz_status st;
	options.engine = engine;
	st = kz_comm_create(&job.comm, devices, count, &options, err);
	for (int i = 0; i < count && !st; i++) {
		st = kz_array_zeros(&job.arrays[i], devices[i], KZ_F32, KZ_SHAPE(size / 4), err);
	}
	if (!st && job.from && job.to) {
		memset(job.from, 1, (size_t)size);
		job_measure(&job, err);
	}
	for (int i = 0; i < count; i++) {
		kz_array_release(job.arrays[i]);
	}
	kz_comm_release(job.comm);
	free(job.from);
	free(job.to);
}

int main(int argc, char **argv)
{
	static const int64_t sizes[] = {1 << 10, 1 << 20, 1 << 28};
	const int engine = argc > 1 && strcmp(argv[1], "nccl") == 0 ? KZ_COMM_NCCL : KZ_COMM_OWN;
	kz_error err = KZ_ERROR_INIT;
	kz_device *devices[MOST];
	int count = 0;
	setenv("KUDZU_CPU_DEVICES", "4", 0);
	for (; count < MOST; count++) {
		char name[16];
		snprintf(name, sizeof(name), kz_cuda_available() ? "cuda:%d" : "cpu:%d", count);
		if (kz_device_open(&devices[count], name, NULL)) {
			break;
		}
	}
	for (int members = 2; members <= count && err.status == KZ_OK; members *= 2) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			job_run(devices, members, engine, sizes[i], &err);
		}
	}
	for (int i = 0; i < count; i++) {
		kz_device_close(devices[i]);
	}
	return err.status ? bench_fail(&err) : 0;
}
