/* SPDX-License-Identifier: MIT */
/*
 * The engine under test: a job's launches through the library, on the CPU device.  The
 * environment sets threads, width and the features of the processor.
 */
#include "cpu_engine.h"

#include <kudzu/kudzu.h>

#include <stdio.h>
#include <stdlib.h>

static struct {
	kz_device *dev;
	kz_module *mod;
	kz_error err;
	kz_buffer *buffers[JOB_BUFFERS];
	void *results[JOB_BUFFERS];
	kz_kernel *kernels[JOB_LAUNCHES];
	kz_arg args[JOB_LAUNCHES][JOB_ARGS];
	size_t arg_counts[JOB_LAUNCHES];
} own = {.err = KZ_ERROR_INIT};

static bool succeeded(kz_status st)
{
	if (st) {
		kz_error_print(&own.err, stderr);
		kz_error_clear(&own.err);
	}
	return st == KZ_OK;
}

static bool start(int threads)
{
	static char source[20000];
	(void)threads;
	snprintf(source, sizeof(source), "__constant__ unsigned sha_k[64] = {%s};\n#line 1\n%s",
		cpu_sha256, cpu_kernels_cu);
	return succeeded(kz_device_open(&own.dev, "cpu", &own.err))
		&& succeeded(kz_module_compile(&own.mod, own.dev, source, NULL, &own.err));
}

static kz_arg make_arg(const struct cpu_arg *arg)
{
	switch (arg->kind) {
	case ARG_BUFFER:
		return kz_arg_buffer(own.buffers[(int)arg->value]);
	case ARG_INT:
		return kz_arg_sint((int)arg->value);
	case ARG_FLOAT:
		return kz_arg_f32((float)arg->value);
	case ARG_DOUBLE:
		return kz_arg_f64(arg->value);
	default:
		return kz_arg_host(NULL);
	}
}

static void prepare_args(const struct cpu_launch *launch, int index)
{
	size_t count = 0;
	for (; count < JOB_ARGS && launch->args[count].kind; count++) {
		own.args[index][count] = make_arg(&launch->args[count]);
	}
	own.arg_counts[index] = count;
}

static void close_job(const struct cpu_job *job)
{
	(void)job;
	for (int i = 0; i < JOB_BUFFERS; i++) {
		kz_buffer_release(own.buffers[i]);
		own.buffers[i] = NULL;
		free(own.results[i]);
		own.results[i] = NULL;
	}
}

static bool open_job(const struct cpu_job *job)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < JOB_BUFFERS && job->sizes[i] > 0 && !st; i++) {
		int64_t size = (int64_t)job->sizes[i];
		st = kz_buffer_create(&own.buffers[i], own.dev, size, &own.err);
		st = st ? st : kz_copy_htod(own.buffers[i], 0, job->initial[i], size, &own.err);
	}
	for (int i = 0; i < job->launch_count && !st; i++) {
		st = kz_module_kernel(&own.kernels[i], own.mod, job->launches[i].kernel, &own.err);
		st = st ? st : kz_kernel_optimize(own.kernels[i], &own.err);
		prepare_args(&job->launches[i], i);
	}
	return succeeded(st);
}

static kz_status launch(const struct cpu_launch *launch, int index)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = launch->shared_size;
	return kz_launch_args(own.kernels[index], kz_dim(launch->grid[0], launch->grid[1], 1),
		kz_dim(launch->block[0], launch->block[1], 1), &options, own.args[index],
		own.arg_counts[index], &own.err);
}

static bool run(const struct cpu_job *job, int calls)
{
	kz_status st = KZ_OK;
	for (int call = 0; call < calls && !st; call++) {
		for (int i = 0; i < job->launch_count && !st; i++) {
			st = launch(&job->launches[i], i);
		}
	}
	return succeeded(st ? st : kz_device_synchronize(own.dev, &own.err));
}

static bool fetch(const struct cpu_job *job, void *results[JOB_BUFFERS])
{
	kz_status st = KZ_OK;
	for (int i = 0; i < JOB_BUFFERS && job->sizes[i] > 0 && !st; i++) {
		own.results[i] = malloc(job->sizes[i]);
		st = own.results[i] ? kz_copy_dtoh(own.results[i], (int64_t)job->sizes[i],
			own.buffers[i], 0, &own.err) : KZ_NO_MEMORY;
		results[i] = own.results[i];
	}
	return succeeded(st);
}

const struct cpu_engine engine_kudzu = {"kudzu", start, open_job, run, fetch, close_job};
