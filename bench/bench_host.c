/* SPDX-License-Identifier: MIT */
/*
 * What the host does for one call, for calls that programs make often.
 *
 *	bench_host cuda    the library, above a driver that does nothing
 *	bench_host cpu     the driver of the CPU device, and the library's calls for it
 *
 * This program measures nothing itself.  bench/instructions.sh runs it under callgrind, which
 * counts the instructions of each function count_NAME.  Each function does its case COUNT times,
 * after enough rounds for everything that happens once.
 */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

enum { COUNT = 100, WARM_UP = 500, NUMBERS = 16 };

static const char source[] =
	"extern \"C\" __global__ void none() {}\n"
	"extern \"C\" __global__ void two(float *x, int n) {}\n"
	"extern \"C\" __global__ void six(float a, const float *x, float *y, int n, long long step,"
	" double b) {}\n"
	"extern \"C\" __global__ void many(int a, int b, int c, int d, int e, int f, int g, int h,"
	" float *i, float *j, float *k, float *l, double m, double n, double o, double p) {}\n";

struct bench {
	kz_device *dev;
	kz_stream *stream;
	kz_module *mod;
	kz_kernel *none, *two, *six, *many;
	kz_prepared *prepared_none, *prepared_six, *prepared_many;
	kz_array *a, *b, *out;
	kz_buffer *buffer;
	float host[NUMBERS];
	/* The driver's. */
	int (*launch)(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		unsigned bz, unsigned shared, void *stream, void **params, void **extra);
	int (*launch_graph)(void *exec, void *stream);
	int (*wait)(void *stream);
	int (*release)(int device);
	void *graph;
	kz_error err;
};

#define CASE(name) \
	static int name(struct bench *bench); \
	__attribute__((noinline)) static int count_##name(struct bench *bench) \
	{ \
		int failed = 0; \
		for (int i = 0; i < COUNT; i++) { \
			failed |= name(bench); \
		} \
		return failed; \
	} \
	static int name(struct bench *bench)

#define ONE kz_dim(1, 1, 1)

CASE(launch_0)
{
	return kz_launch(bench->none, ONE, ONE, NULL, &bench->err, KZ_ARGS());
}

CASE(launch_2)
{
	return kz_launch(bench->two, ONE, ONE, NULL, &bench->err, KZ_ARGS(bench->a, NUMBERS));
}

CASE(launch_6)
{
	return kz_launch(bench->six, ONE, ONE, NULL, &bench->err,
		KZ_ARGS(2.0f, bench->a, bench->b, NUMBERS, 1LL, 0.5));
}

CASE(launch_16)
{
	return kz_launch(bench->many, ONE, ONE, NULL, &bench->err,
		KZ_ARGS(1, 2, 3, 4, 5, 6, 7, 8, bench->a, bench->b, bench->a, bench->b, 1.0, 2.0,
			3.0, 4.0));
}

CASE(prepared_0)
{
	return kz_prepared_launch(bench->prepared_none, NULL, &bench->err);
}

CASE(prepared_6)
{
	return kz_prepared_launch(bench->prepared_six, NULL, &bench->err);
}

CASE(prepared_16)
{
	return kz_prepared_launch(bench->prepared_many, NULL, &bench->err);
}

CASE(launch_in_stream)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = bench->stream;
	return kz_launch(bench->none, ONE, ONE, &options, &bench->err, KZ_ARGS());
}

CASE(launch_sync)
{
	return launch_0(bench) || kz_device_synchronize(bench->dev, &bench->err);
}

/* Refused for the count of its arguments. */
CASE(launch_refused)
{
	kz_error err = KZ_ERROR_INIT;
	kz_status st = kz_launch(bench->six, ONE, ONE, NULL, &err, KZ_ARGS(1, 2));
	kz_error_clear(&err);
	return st != KZ_ARGUMENT;
}

CASE(apply_into)
{
	return kz_apply_into(bench->out, KZ_OP_ADD, &bench->err, KZ_ARGS(bench->a, bench->b));
}

CASE(apply)
{
	kz_array *out;
	kz_status st = kz_apply(&out, KZ_OP_MULTIPLY, NULL, &bench->err, KZ_ARGS(2, bench->a));
	kz_array_release(out);
	return st;
}

CASE(sum)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_array *out;
	kz_status st = kz_reduce(&out, KZ_REDUCE_SUM, bench->a, KZ_ALL_AXES, &options, &bench->err);
	kz_array_release(out);
	return st;
}

CASE(buffer)
{
	kz_buffer *buffer;
	kz_status st = kz_buffer_create(&buffer, bench->dev, 4096, &bench->err);
	kz_buffer_release(buffer);
	return st;
}

CASE(array)
{
	kz_array *array;
	kz_status st = kz_array_create(&array, bench->dev, KZ_F32, KZ_SHAPE(4, 4), &bench->err);
	kz_array_release(array);
	return st;
}

CASE(view)
{
	kz_array *view;
	kz_status st = kz_array_reshape(&view, bench->a, KZ_SHAPE(4, 4), &bench->err);
	kz_array_release(view);
	return st;
}

CASE(copy_in)
{
	return kz_copy_htod(bench->buffer, 0, bench->host, sizeof(bench->host), &bench->err);
}

CASE(copy_out)
{
	return kz_copy_dtoh(bench->host, sizeof(bench->host), bench->buffer, 0, &bench->err);
}

CASE(array_set)
{
	return kz_array_set(bench->b, bench->host, sizeof(bench->host), &bench->err);
}

CASE(array_get)
{
	return kz_array_get(bench->b, bench->host, sizeof(bench->host), &bench->err);
}

/* A text that was compiled before. */
CASE(compile)
{
	kz_image *image;
	kz_status st = kz_compile(&image, source, NULL, &bench->err);
	kz_image_release(image);
	return st;
}

CASE(driver_launch)
{
	return bench->launch(kz_kernel_handle(bench->none), 1, 1, 1, 1, 1, 1, 0,
		kz_stream_handle(bench->stream), NULL, NULL);
}

CASE(driver_sync)
{
	return driver_launch(bench) || bench->wait(kz_stream_handle(bench->stream));
}

CASE(driver_graph)
{
	return bench->launch_graph(bench->graph, kz_stream_handle(bench->stream));
}

typedef int run_fn(struct bench *bench);

/* Here callgrind writes down what it has counted. */
__attribute__((noinline)) static void end_case(void)
{
	__asm__ volatile("" ::: "memory");
}

static const struct {
	run_fn *run, *count;
	const char *devices;
} cases[] = {
#define CASE_OF(name, devices) {name, count_##name, devices}
	CASE_OF(launch_0, "cuda cpu"), CASE_OF(launch_2, "cuda"), CASE_OF(launch_6, "cuda"),
	CASE_OF(launch_16, "cuda"), CASE_OF(launch_in_stream, "cuda cpu"),
	CASE_OF(launch_sync, "cuda cpu"), CASE_OF(launch_refused, "cuda"),
	CASE_OF(prepared_0, "cuda"), CASE_OF(prepared_6, "cuda"), CASE_OF(prepared_16, "cuda"),
	CASE_OF(apply_into, "cuda"), CASE_OF(apply, "cuda"), CASE_OF(sum, "cuda"),
	CASE_OF(buffer, "cuda"), CASE_OF(array, "cuda"), CASE_OF(view, "cuda"),
	CASE_OF(copy_in, "cuda cpu"), CASE_OF(copy_out, "cuda cpu"), CASE_OF(array_set, "cuda"),
	CASE_OF(array_get, "cuda"), CASE_OF(compile, "cuda"), CASE_OF(driver_launch, "cpu"),
	CASE_OF(driver_sync, "cpu"), CASE_OF(driver_graph, "cpu"),
#undef CASE_OF
};

static kz_status prepare(struct bench *b, const char *device)
{
	kz_status st = kz_device_open(&b->dev, device, &b->err);
	st = st ? st : kz_stream_create(&b->stream, b->dev, 0, &b->err);
	st = st ? st : kz_module_compile(&b->mod, b->dev, source, NULL, &b->err);
	st = st ? st : kz_module_kernel(&b->none, b->mod, "none", &b->err);
	st = st ? st : kz_array_zeros(&b->a, b->dev, KZ_F32, KZ_SHAPE(NUMBERS), &b->err);
	st = st ? st : kz_array_zeros(&b->b, b->dev, KZ_F32, KZ_SHAPE(NUMBERS), &b->err);
	st = st ? st : kz_array_zeros(&b->out, b->dev, KZ_F32, KZ_SHAPE(NUMBERS), &b->err);
	st = st ? st : kz_buffer_create(&b->buffer, b->dev, sizeof(b->host), &b->err);
	return st ? st : kz_device_synchronize(b->dev, &b->err);
}

/* Not on the CPU device, which would have to compile them. */
static kz_status prepare_kernels(struct bench *b)
{
	kz_status st = kz_module_kernel(&b->two, b->mod, "two", &b->err);
	st = st ? st : kz_module_kernel(&b->six, b->mod, "six", &b->err);
	st = st ? st : kz_module_kernel(&b->many, b->mod, "many", &b->err);
	st = st ? st : kz_prepared_create(&b->prepared_none, b->none, ONE, ONE, NULL, &b->err,
		KZ_ARGS());
	st = st ? st : kz_prepared_create(&b->prepared_six, b->six, ONE, ONE, NULL, &b->err,
		KZ_ARGS(2.0f, b->a, b->b, NUMBERS, 1LL, 0.5));
	return st ? st : kz_prepared_create(&b->prepared_many, b->many, ONE, ONE, NULL, &b->err,
		KZ_ARGS(1, 2, 3, 4, 5, 6, 7, 8, b->a, b->b, b->a, b->b, 1.0, 2.0, 3.0, 4.0));
}

/* A graph of two launches, and the functions of the CPU device's driver. */
static int prepare_driver(struct bench *b)
{
	int (*begin)(void *stream, int mode);
	int (*end)(void *stream, void **graph);
	int (*instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	const struct {
		const char *name;
		void *place;
	} functions[] = {
		{"cuLaunchKernel", &b->launch}, {"cuGraphLaunch", &b->launch_graph},
		{"cuStreamSynchronize", &b->wait}, {"cuStreamBeginCapture_v2", &begin},
		{"cuStreamEndCapture", &end}, {"cuGraphInstantiateWithFlags", &instantiate},
		{"cuDevicePrimaryCtxRetain", &retain}, {"cuCtxSetCurrent", &set_current},
		{"cuDevicePrimaryCtxRelease_v2", &b->release},
	};
	void *object = dlopen("libkudzu-cpu.so", RTLD_NOW | RTLD_NOLOAD);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *address = object ? dlsym(object, functions[i].name) : NULL;
		memcpy(functions[i].place, &address, sizeof(address));
		if (!address) {
			return -1;
		}
	}
	void *stream = kz_stream_handle(b->stream);
	void *context, *graph;
	return retain(&context, 0) || set_current(context) || begin(stream, 0)
		|| launch_in_stream(b) || launch_in_stream(b)
		|| end(stream, &graph) || instantiate(&b->graph, graph, 0);
}

static void finish(struct bench *b)
{
	kz_error_clear(&b->err);
	kz_prepared_release(b->prepared_none);
	kz_prepared_release(b->prepared_six);
	kz_prepared_release(b->prepared_many);
	kz_array_release(b->a);
	kz_array_release(b->b);
	kz_array_release(b->out);
	kz_buffer_release(b->buffer);
	kz_module_release(b->mod);
	kz_stream_release(b->stream);
	if (b->release) {
		b->release(0);
	}
	kz_device_close(b->dev);
}

int main(int argc, char **argv)
{
	struct bench bench = {.err = KZ_ERROR_INIT};
	if (argc != 2) {
		fprintf(stderr, "usage: bench_host cuda|cpu\n");
		return 2;
	}
	const char *device = argv[1];
	int failed = prepare(&bench, device) || (strcmp(device, "cpu") == 0
		? prepare_driver(&bench) : (int)prepare_kernels(&bench));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases) && !failed; i++) {
		if (!strstr(cases[i].devices, device)) {
			continue;
		}
		for (int n = 0; n < WARM_UP && !failed; n++) {
			failed = cases[i].run(&bench);
		}
		failed = failed || kz_device_synchronize(bench.dev, &bench.err)
			|| cases[i].count(&bench);
		end_case();
	}
	if (failed) {
		fprintf(stderr, "bench_host: a call failed\n");
		kz_error_print(&bench.err, stderr);
	}
	finish(&bench);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
