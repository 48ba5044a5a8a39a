/* SPDX-License-Identifier: MIT */
/*
 * OpenCL for comparison: the same kernels in OpenCL C on a CPU.  That is PoCL where Debian's
 * package pocl-opencl-icd is installed.  The library is loaded at run time, so the build needs
 * neither headers nor a library.
 */
#include "cpu_engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types and numbers of cl.h, as far as they are used here. */
typedef struct cl_object *cl_object;
enum { CL_DEVICE_TYPE_CPU = 1 << 1, CL_MEM_READ_WRITE = 1 << 0, CL_TRUE = 1,
	CL_PROGRAM_BUILD_LOG = 0x1183 };

#define OPENCL(X) \
	X(int, clGetPlatformIDs, (unsigned, cl_object *, unsigned *)) \
	X(int, clGetDeviceIDs, (cl_object, uint64_t, unsigned, cl_object *, unsigned *)) \
	X(cl_object, clCreateContext, \
		(const void *, unsigned, const cl_object *, void *, void *, int *)) \
	X(cl_object, clCreateCommandQueue, (cl_object, cl_object, uint64_t, int *)) \
	X(cl_object, clCreateProgramWithSource, \
		(cl_object, unsigned, const char **, const size_t *, int *)) \
	X(int, clBuildProgram, \
		(cl_object, unsigned, const cl_object *, const char *, void *, void *)) \
	X(int, clGetProgramBuildInfo, (cl_object, cl_object, unsigned, size_t, void *, size_t *)) \
	X(cl_object, clCreateKernel, (cl_object, const char *, int *)) \
	X(int, clReleaseKernel, (cl_object)) \
	X(int, clSetKernelArg, (cl_object, unsigned, size_t, const void *)) \
	X(cl_object, clCreateBuffer, (cl_object, uint64_t, size_t, void *, int *)) \
	X(int, clReleaseMemObject, (cl_object)) \
	X(int, clEnqueueWriteBuffer, (cl_object, cl_object, unsigned, size_t, size_t, \
		const void *, unsigned, const cl_object *, cl_object *)) \
	X(int, clEnqueueReadBuffer, (cl_object, cl_object, unsigned, size_t, size_t, \
		void *, unsigned, const cl_object *, cl_object *)) \
	X(int, clEnqueueNDRangeKernel, (cl_object, cl_object, unsigned, const size_t *, \
		const size_t *, const size_t *, unsigned, const cl_object *, cl_object *)) \
	X(int, clFinish, (cl_object))

static struct {
#define X(result, name, arguments) result(*name) arguments;
	OPENCL(X)
#undef X
	cl_object device, context, queue, program;
	cl_object buffers[JOB_BUFFERS], kernels[JOB_LAUNCHES];
	void *results[JOB_BUFFERS];
} cl;

static bool load(void)
{
	void *object = dlopen("libOpenCL.so.1", RTLD_NOW);
	bool complete = object != NULL;
	/* ISO C has no cast from an object to a function pointer. */
#define X(result, name, arguments) \
	complete = complete && (*(void **)&cl.name = dlsym(object, #name)) != NULL;
	OPENCL(X)
#undef X
	return complete;
}

static bool find_device(void)
{
	cl_object platforms[8];
	unsigned count = 0;
	if (cl.clGetPlatformIDs(8, platforms, &count)) {
		return false;
	}
	for (unsigned i = 0; i < count && i < 8 && !cl.device; i++) {
		if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &cl.device, NULL)) {
			cl.device = NULL;
		}
	}
	return cl.device != NULL;
}

static bool build(void)
{
	const char *texts[] = {"__constant uint sha_k[64] = {", cpu_sha256, "};\n", cpu_kernels_cl};
	static char log[10000];
	cl.program = cl.clCreateProgramWithSource(cl.context, 4, texts, NULL, NULL);
	if (cl.program && cl.clBuildProgram(cl.program, 1, &cl.device, "", NULL, NULL) == 0) {
		return true;
	}
	cl.clGetProgramBuildInfo(cl.program, cl.device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
		NULL);
	fprintf(stderr, "%s\n", log);
	return false;
}

static bool start(int threads)
{
	(void)threads;
	if (!load() || !find_device()) {
		fprintf(stderr, "bench_cpu: no OpenCL on the CPU here "
			"(Debian: apt-get install pocl-opencl-icd ocl-icd-libopencl1)\n");
		return false;
	}
	cl.context = cl.clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
	cl.queue = cl.context ? cl.clCreateCommandQueue(cl.context, cl.device, 0, NULL) : NULL;
	return cl.queue && build();
}

static int set_arg(cl_object kernel, unsigned index, const struct cpu_arg *arg)
{
	int whole = (int)arg->value;
	float single = (float)arg->value;
	switch (arg->kind) {
	case ARG_BUFFER:
		return cl.clSetKernelArg(kernel, index, sizeof(cl_object), &cl.buffers[whole]);
	case ARG_INT:
		return cl.clSetKernelArg(kernel, index, sizeof(whole), &whole);
	case ARG_FLOAT:
		return cl.clSetKernelArg(kernel, index, sizeof(single), &single);
	case ARG_DOUBLE:
		return cl.clSetKernelArg(kernel, index, sizeof(arg->value), &arg->value);
	default:
		return cl.clSetKernelArg(kernel, index, sizeof(cl_object), NULL);
	}
}

static bool open_launch(const struct cpu_launch *launch, int index)
{
	cl_object kernel = cl.clCreateKernel(cl.program, launch->kernel, NULL);
	unsigned count = 0;
	cl.kernels[index] = kernel;
	for (; kernel && count < JOB_ARGS && launch->args[count].kind; count++) {
		if (set_arg(kernel, count, &launch->args[count])) {
			return false;
		}
	}
	return kernel && (!launch->shared_size
		|| !cl.clSetKernelArg(kernel, count, (size_t)launch->shared_size, NULL));
}

static void close_job(const struct cpu_job *job)
{
	for (int i = 0; i < job->launch_count && cl.kernels[i]; i++) {
		cl.clReleaseKernel(cl.kernels[i]);
		cl.kernels[i] = NULL;
	}
	for (int i = 0; i < JOB_BUFFERS && cl.buffers[i]; i++) {
		cl.clReleaseMemObject(cl.buffers[i]);
		cl.buffers[i] = NULL;
		free(cl.results[i]);
		cl.results[i] = NULL;
	}
}

static bool open_job(const struct cpu_job *job)
{
	bool opened = true;
	for (int i = 0; i < JOB_BUFFERS && job->sizes[i] > 0 && opened; i++) {
		cl.buffers[i] = cl.clCreateBuffer(cl.context, CL_MEM_READ_WRITE, job->sizes[i],
			NULL, NULL);
		opened = cl.buffers[i]
			&& !cl.clEnqueueWriteBuffer(cl.queue, cl.buffers[i], CL_TRUE, 0,
				job->sizes[i], job->initial[i], 0, NULL, NULL);
	}
	for (int i = 0; i < job->launch_count && opened; i++) {
		opened = open_launch(&job->launches[i], i);
	}
	return opened;
}

static bool run(const struct cpu_job *job, int calls)
{
	bool ran = true;
	for (int call = 0; call < calls; call++) {
		for (int i = 0; i < job->launch_count && ran; i++) {
			const struct cpu_launch *launch = &job->launches[i];
			size_t all[2], group[2];
			for (int k = 0; k < 2; k++) {
				group[k] = (size_t)launch->block[k];
				all[k] = group[k] * (size_t)launch->grid[k];
			}
			ran = !cl.clEnqueueNDRangeKernel(cl.queue, cl.kernels[i], 2, NULL, all,
				group, 0, NULL, NULL);
		}
	}
	return ran && !cl.clFinish(cl.queue);
}

static bool fetch(const struct cpu_job *job, void *results[JOB_BUFFERS])
{
	bool fetched = true;
	for (int i = 0; i < JOB_BUFFERS && job->sizes[i] > 0 && fetched; i++) {
		results[i] = cl.results[i] = malloc(job->sizes[i]);
		fetched = results[i] && !cl.clEnqueueReadBuffer(cl.queue, cl.buffers[i], CL_TRUE, 0,
			job->sizes[i], results[i], 0, NULL, NULL);
	}
	return fetched;
}

const struct cpu_engine engine_opencl = {"opencl", start, open_job, run, fetch, close_job};
