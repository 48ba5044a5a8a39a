/* SPDX-License-Identifier: MIT */
/*
 * How long a program waits for a kernel that does nothing, on the CPU device.
 *
 *	bench_latency [CASE]        time each case, or one
 *	bench_latency CASE COUNT    do it COUNT times, for profilers
 *
 * The cases are the driver's own calls, the library's, a launch of a graph, grids of many blocks,
 * and a kernel with a short loop.  `sync` in a name says that each launch is waited for.
 */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

enum { ROUNDS = 41 };
#define BATCH_SECONDS 2e-3

static const char source[] =
	"extern \"C\" __global__ void none() {}\n"
	"extern \"C\" __global__ void six(float a, const float *x, float *y, int n, long long step,"
	" double b) {}\n"
	"extern \"C\" __global__ void loop(float *y, int n) {\n"
	"	float sum = 0;\n"
	"	for (int i = 0; i < n; i++) sum = sum * 0.5f + i;\n"
	"	if (sum < 0) y[threadIdx.x] = sum;\n"
	"}\n";

/* The driver's functions that the library does not call for us. */
struct driver {
	int (*set_current)(void *context);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*launch)(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		unsigned bz, unsigned shared, void *stream, void **params, void **extra);
	int (*cooperative)(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, void *stream, void **params);
	int (*wait)(void *stream);
	int (*begin)(void *stream, int mode);
	int (*end)(void *stream, void **graph);
	int (*instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*launch_graph)(void *exec, void *stream);
	int (*destroy_graph)(void *graph);
	int (*destroy_exec)(void *exec);
};

struct bench {
	kz_device *dev;
	kz_stream *stream;
	kz_module *mod;
	kz_kernel *none;
	kz_kernel *six;
	kz_kernel *loop;
	kz_array *a, *b, *out;
	struct driver driver;
	void *context;
	void *kernel;  /* the driver's handles */
	void *queue;
	void *graphs[2];
	kz_error err;
};

typedef int run_fn(struct bench *bench);

static int bare_grid(struct bench *bench, unsigned blocks)
{
	return bench->driver.launch(bench->kernel, blocks, 1, 1, 32, 1, 1, 0, bench->queue, NULL,
		NULL);
}

static int bare(struct bench *bench)
{
	return bare_grid(bench, 1);
}

static int bare_sync(struct bench *bench)
{
	return bare_grid(bench, 1) || bench->driver.wait(bench->queue);
}

static int bare_2(struct bench *bench)
{
	return bare_grid(bench, 2) || bench->driver.wait(bench->queue);
}

static int bare_64(struct bench *bench)
{
	return bare_grid(bench, 64) || bench->driver.wait(bench->queue);
}

static int bare_4096(struct bench *bench)
{
	return bare_grid(bench, 4096) || bench->driver.wait(bench->queue);
}

static int bare_million(struct bench *bench)
{
	return bare_grid(bench, 1 << 20) || bench->driver.wait(bench->queue);
}

static int bare_thousand(struct bench *bench)
{
	for (int i = 0; i < 1000; i++) {
		if (bare_grid(bench, 1)) {
			return -1;
		}
	}
	return bench->driver.wait(bench->queue);
}

static int cooperative(struct bench *bench)
{
	return bench->driver.cooperative(bench->kernel, 1, 1, 1, 32, 1, 1, 0, bench->queue, NULL)
		|| bench->driver.wait(bench->queue);
}

static int graph_of(struct bench *bench, void *graph)
{
	return bench->driver.launch_graph(graph, bench->queue) || bench->driver.wait(bench->queue);
}

static int graph(struct bench *bench)
{
	return graph_of(bench, bench->graphs[0]);
}

static int graph_100(struct bench *bench)
{
	return graph_of(bench, bench->graphs[1]);
}

static int launch(struct bench *bench)
{
	return kz_launch(bench->none, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, &bench->err,
		KZ_ARGS()) != KZ_OK;
}

static int launch_sync(struct bench *bench)
{
	return launch(bench) || kz_device_synchronize(bench->dev, &bench->err);
}

static int launch_six(struct bench *bench)
{
	return kz_launch(bench->six, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, &bench->err,
		KZ_ARGS(2.0f, bench->a, bench->b, 16, 1LL, 0.5))
		|| kz_device_synchronize(bench->dev, &bench->err);
}

static int launch_stream(struct bench *bench)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = bench->stream;
	return kz_launch(bench->none, kz_dim(1, 1, 1), kz_dim(32, 1, 1), &options, &bench->err,
		KZ_ARGS()) || kz_stream_synchronize(bench->stream, &bench->err);
}

static int loop_of(struct bench *bench, int blocks)
{
	return kz_launch(bench->loop, kz_dim(blocks, 1, 1), kz_dim(32, 1, 1), NULL, &bench->err,
		KZ_ARGS(bench->out, 16)) || kz_device_synchronize(bench->dev, &bench->err);
}

static int loop_1(struct bench *bench)
{
	return loop_of(bench, 1);
}

static int loop_64(struct bench *bench)
{
	return loop_of(bench, 64);
}

static int apply_into(struct bench *bench)
{
	return kz_apply_into(bench->out, KZ_OP_ADD, &bench->err, KZ_ARGS(bench->a, bench->b))
		!= KZ_OK;
}

static int apply(struct bench *bench)
{
	kz_array *out;
	int failed = kz_apply(&out, KZ_OP_MULTIPLY, NULL, &bench->err, KZ_ARGS(2, bench->a))
		!= KZ_OK;
	kz_array_release(failed ? NULL : out);
	return failed;
}

static const struct item {
	const char *name;
	run_fn *run;
} items[] = {
	{"cuLaunchKernel", bare},
	{"cuLaunchKernel, sync", bare_sync},
	{"cuLaunchKernel, 2 blocks, sync", bare_2},
	{"cuLaunchKernel, 64 blocks, sync", bare_64},
	{"cuLaunchKernel, 4096 blocks, sync", bare_4096},
	{"cuLaunchKernel, 1048576 blocks, sync", bare_million},
	{"1000 cuLaunchKernel, sync", bare_thousand},
	{"cuLaunchCooperativeKernel, sync", cooperative},
	{"cuGraphLaunch, sync", graph},
	{"cuGraphLaunch of 100, sync", graph_100},
	{"kz_launch", launch},
	{"kz_launch, sync", launch_sync},
	{"kz_launch of six arguments, sync", launch_six},
	{"kz_launch in a stream, sync", launch_stream},
	{"kz_launch of a loop, sync", loop_1},
	{"kz_launch of a loop, 64 blocks, sync", loop_64},
	{"kz_apply_into, 16 floats", apply_into},
	{"kz_apply, 16 floats", apply},
};
enum { ITEMS = sizeof(items) / sizeof(*items) };

/* ISO C has no cast from an object to a function pointer. */
static int find_driver(struct driver *driver)
{
	void *object = dlopen("libkudzu-cpu.so", RTLD_NOW | RTLD_NOLOAD);
	const struct {
		const char *name;
		void *place;
	} functions[] = {
		{"cuCtxSetCurrent", &driver->set_current},
		{"cuDevicePrimaryCtxRetain", &driver->retain},
		{"cuDevicePrimaryCtxRelease_v2", &driver->release},
		{"cuLaunchKernel", &driver->launch},
		{"cuLaunchCooperativeKernel", &driver->cooperative},
		{"cuStreamSynchronize", &driver->wait},
		{"cuStreamBeginCapture_v2", &driver->begin},
		{"cuStreamEndCapture", &driver->end},
		{"cuGraphInstantiateWithFlags", &driver->instantiate},
		{"cuGraphLaunch", &driver->launch_graph},
		{"cuGraphDestroy", &driver->destroy_graph},
		{"cuGraphExecDestroy", &driver->destroy_exec},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *address = object ? dlsym(object, functions[i].name) : NULL;
		memcpy(functions[i].place, &address, sizeof(address));
		if (!address) {
			return -1;
		}
	}
	return 0;
}

/* A graph of `count` launches, one after the other. */
static int make_graph(struct bench *bench, int count, void **out)
{
	const struct driver *driver = &bench->driver;
	void *made = NULL;
	if (driver->begin(bench->queue, 0)) {
		return -1;
	}
	for (int i = 0; i < count; i++) {
		if (bare(bench)) {
			return -1;
		}
	}
	return driver->end(bench->queue, &made) || driver->instantiate(out, made, 0)
		|| driver->destroy_graph(made);
}

static kz_status prepare(struct bench *b)
{
	kz_status st = kz_device_open(&b->dev, "cpu", &b->err);
	st = st ? st : kz_stream_create(&b->stream, b->dev, 0, &b->err);
	st = st ? st : kz_module_compile(&b->mod, b->dev, source, NULL, &b->err);
	st = st ? st : kz_module_kernel(&b->none, b->mod, "none", &b->err);
	st = st ? st : kz_module_kernel(&b->six, b->mod, "six", &b->err);
	st = st ? st : kz_module_kernel(&b->loop, b->mod, "loop", &b->err);
	st = st ? st : kz_array_ones(&b->a, b->dev, KZ_F32, KZ_SHAPE(16), &b->err);
	st = st ? st : kz_array_ones(&b->b, b->dev, KZ_F32, KZ_SHAPE(16), &b->err);
	st = st ? st : kz_array_zeros(&b->out, b->dev, KZ_F32, KZ_SHAPE(16), &b->err);
	return st ? st : kz_device_synchronize(b->dev, &b->err);
}

static int prepare_driver(struct bench *b)
{
	if (find_driver(&b->driver) || b->driver.retain(&b->context, 0)
	    || b->driver.set_current(b->context)) {
		return -1;
	}
	b->kernel = kz_kernel_handle(b->none);
	b->queue = kz_stream_handle(b->stream);
	return make_graph(b, 1, &b->graphs[0]) || make_graph(b, 100, &b->graphs[1]);
}

static void finish(struct bench *b)
{
	for (int i = 0; i < 2; i++) {
		if (b->graphs[i]) {
			b->driver.destroy_exec(b->graphs[i]);
		}
	}
	if (b->context) {
		b->driver.release(0);
	}
	kz_error_print(&b->err, stderr);
	kz_error_clear(&b->err);
	kz_array_release(b->a);
	kz_array_release(b->b);
	kz_array_release(b->out);
	kz_module_release(b->mod);
	kz_stream_release(b->stream);
	kz_device_close(b->dev);
}

static int repeat(struct bench *bench, run_fn *run, long count)
{
	for (long i = 0; i < count; i++) {
		if (run(bench)) {
			return -1;
		}
	}
	return 0;
}

static int measure(struct bench *bench, const struct item *item)
{
	double us[ROUNDS], start, seconds = 0;
	long count = 1;
	for (; seconds < BATCH_SECONDS; count *= 2) {
		start = bench_now();
		if (repeat(bench, item->run, 2 * count)) {
			return -1;
		}
		seconds = bench_now() - start;
	}
	for (int round = 0; round < ROUNDS; round++) {
		start = bench_now();
		if (repeat(bench, item->run, count)) {
			return -1;
		}
		us[round] = (bench_now() - start) * 1e6 / (double)count;
	}
	bench_report("latency", item->name, "us", us, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = {.err = KZ_ERROR_INIT};
	const char *only = argc > 1 ? argv[1] : NULL;
	const long count = argc > 2 ? atol(argv[2]) : -1;
	int found = 0, failed = prepare(&bench) || prepare_driver(&bench);
	for (int i = 0; i < ITEMS && !failed; i++) {
		if (only && strcmp(only, items[i].name) != 0) {
			continue;
		}
		found = 1;
		failed = count >= 0 ? repeat(&bench, items[i].run, count)
			: measure(&bench, &items[i]);
	}
	finish(&bench);
	if (failed || !found) {
		fprintf(stderr, "bench_latency: %s\n",
			failed ? "the driver refused" : "no such case");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
