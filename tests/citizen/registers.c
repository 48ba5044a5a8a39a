/* SPDX-License-Identifier: MIT */
/*
 * usage: registers DRIVER
 *
 * The psABI of x86-64 wants the upper halves of the AVX registers clear at calls and returns: else
 * each SSE instruction of the caller takes several times as long, until something clears them.
 * XGETBV with ECX = 1 tells: bit 2 is set while one of them is in use.  This asks after calls of
 * the library, and of DRIVER, libkudzu-cpu.so.
 */
#define _GNU_SOURCE
#include <kudzu/kudzu.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned in_use(void)
{
	unsigned low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
	return low & 4;
}

static void clear(void)
{
	__asm__ volatile("vzeroupper" ::: "memory");
}

static void make_dirty(void)
{
	__asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
}

/* What makes this test mean nothing here; NULL: nothing does. */
static const char *why_not(void)
{
	unsigned a, b, c, d;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) {
		return "the processor has no AVX2";
	}
	if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 4)) {
		return "the processor has no XGETBV with ECX = 1";
	}
	make_dirty();
	unsigned dirty = in_use();
	clear();
	return dirty && !in_use() ? NULL : "the processor does not tell what is in use";
}
#else
static unsigned in_use(void)
{
	return 0;
}

static void clear(void)
{
}

static const char *why_not(void)
{
	return "this is no x86-64";
}
#endif

/* Whether the registers are as they were before the call: then forget what it left. */
static void look(int line, const char *what, int code)
{
	unsigned dirty = in_use();
	clear();
	if (dirty || code) {
		fprintf(stderr, "registers.c:%d: %s: %s\n", line, what,
			dirty ? "leaves upper halves in use" : "failed");
		failures++;
	}
}
#define LOOK(call) (clear(), look(__LINE__, #call, (int)(call)))

static const char source[] =
	"extern \"C\" __global__ void saxpy(int n, float a, const float *x, float *y)\n"
	"{\n"
	"\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"\tif (i < n) { y[i] = a * x[i] + y[i]; }\n"
	"}\n"
	"extern \"C\" __global__ void dots(int n, const float *x, float *sums)\n"
	"{\n"
	"\t__shared__ float part[64];\n"
	"\tfloat sum = 0;\n"
	"\tfor (int i = threadIdx.x; i < n; i += 64) { sum += x[i] * __expf(x[i]); }\n"
	"\tpart[threadIdx.x] = sum;\n"
	"\t__syncthreads();\n"
	"\tfor (int i = 32; i > 0; i /= 2) {\n"
	"\t\tif (threadIdx.x < i) { part[threadIdx.x] += part[threadIdx.x + i]; }\n"
	"\t\t__syncthreads();\n"
	"\t}\n"
	"\tif (threadIdx.x == 0) { sums[blockIdx.x] = part[0]; }\n"
	"}\n";

enum { COUNT = 100000, SIZE = 4 * COUNT };
static float host[COUNT];

static void use_library(kz_device *dev)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL, *dots = NULL;
	kz_buffer *x = NULL, *y = NULL;
	kz_stream *stream = NULL;
	LOOK(kz_module_compile(&mod, dev, source, NULL, &err));
	LOOK(kz_module_kernel(&saxpy, mod, "saxpy", &err));
	LOOK(kz_module_kernel(&dots, mod, "dots", &err));
	LOOK(kz_buffer_create(&x, dev, SIZE, &err));
	LOOK(kz_buffer_create(&y, dev, SIZE, &err));
	LOOK(kz_stream_create(&stream, dev, 0, &err));
	LOOK(kz_copy_htod(x, 0, host, SIZE, &err));
	LOOK(kz_copy_dtod(y, 0, x, 0, SIZE, &err));
	for (int i = 0; i < 3; i++) {
		unsigned blocks = i == 0 ? 1 : 400;
		const kz_launch_options on = {.size = sizeof(on), .stream = i == 2 ? stream : NULL};
		LOOK(kz_launch(saxpy, kz_dim(blocks, 1, 1), kz_dim(256, 1, 1), &on, &err,
			KZ_ARGS(COUNT, 2.0F, x, y)));
		LOOK(kz_launch(dots, kz_dim(blocks, 1, 1), kz_dim(64, 1, 1), &on, &err,
			KZ_ARGS(COUNT, x, y)));
		LOOK(kz_stream_synchronize(stream, &err));
		LOOK(kz_device_synchronize(dev, &err));
	}
	LOOK(kz_copy_dtoh(host, SIZE, y, 0, &err));
	kz_stream_release(stream);
	kz_buffer_release(y);
	kz_buffer_release(x);
	LOOK((kz_module_release(mod), 0));
	kz_error_clear(&err);
}

static void use_arrays(kz_device *dev)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *a = NULL, *b = NULL, *c = NULL, *sum = NULL;
	char text[4096];
	LOOK(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(250, 400), host, sizeof(host), &err));
	LOOK(kz_multiply(&b, 2, a, &err));
	LOOK(kz_exp(&c, b, &err));
	LOOK(kz_array_fill(b, KZ_ARG(0.5), &err));
	LOOK(kz_reduce(&sum, KZ_REDUCE_SUM, c, KZ_AXES(0), NULL, &err));
	LOOK(kz_array_format(sum, text, sizeof(text), NULL, &err));
	LOOK(kz_array_get(c, host, sizeof(host), &err));
	kz_array_release(sum);
	kz_array_release(c);
	c = NULL;
	LOOK(kz_cumsum(&c, a, 1, &err));
	kz_array_release(c);
	kz_array_release(b);
	kz_array_release(a);
	kz_error_clear(&err);
}

/* DRIVER's functions, as far as they are called here. */
#define FUNCTIONS(X)                                                                              \
	X(cuInit, (unsigned))                                                                     \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                               \
	X(cuCtxSetCurrent, (void *))                                                              \
	X(cuCtxSynchronize, (void))                                                               \
	X(cuModuleLoadData, (void **, const void *))                                              \
	X(cuModuleGetFunction, (void **, void *, const char *))                                   \
	X(cuModuleUnload, (void *))                                                               \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
		unsigned, void *, void **, void **))                                              \
	X(cuMemAlloc_v2, (uint64_t *, size_t))                                                    \
	X(cuMemFree_v2, (uint64_t))                                                               \
	X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                      \
	X(cuMemcpyDtoD_v2, (uint64_t, uint64_t, size_t))                                          \
	X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                            \
	X(cuMemsetD8_v2, (uint64_t, unsigned char, size_t))                                       \
	X(cuMemsetD32_v2, (uint64_t, unsigned, size_t))
#define X(name, parameters) static int (*name) parameters;
FUNCTIONS(X)
#undef X

static int open_driver(const char *path)
{
	void *driver = dlopen(path, RTLD_NOW);
	if (!driver) {
		fprintf(stderr, "registers.c: %s\n", dlerror());
		return 0;
	}
#define X(name, parameters) *(void **)&name = dlsym(driver, #name);
	FUNCTIONS(X)
#undef X
	return 1;
}

static void use_driver(const char *ptx)
{
	void *context, *module, *saxpy, *dots;
	uint64_t x, y;
	int n = COUNT;
	float a = 2;
	LOOK(cuInit(0));
	LOOK(cuDevicePrimaryCtxRetain(&context, 0));
	LOOK(cuCtxSetCurrent(context));
	LOOK(cuModuleLoadData(&module, ptx));
	LOOK(cuModuleGetFunction(&saxpy, module, "saxpy"));
	LOOK(cuModuleGetFunction(&dots, module, "dots"));
	LOOK(cuMemAlloc_v2(&x, SIZE));
	LOOK(cuMemAlloc_v2(&y, SIZE));
	LOOK(cuMemcpyHtoD_v2(x, host, SIZE));
	LOOK(cuMemcpyDtoD_v2(y, x, SIZE));
	LOOK(cuMemsetD8_v2(y, 1, SIZE));
	LOOK(cuMemsetD32_v2(y, 7, COUNT));
	for (unsigned blocks = 1; blocks <= 400; blocks += 399) {
		void *to_saxpy[] = {&n, &a, &x, &y}, *to_dots[] = {&n, &x, &y};
		LOOK(cuLaunchKernel(saxpy, blocks, 1, 1, 256, 1, 1, 0, NULL, to_saxpy, NULL));
		LOOK(cuCtxSynchronize());
		LOOK(cuLaunchKernel(dots, blocks, 1, 1, 64, 1, 1, 0, NULL, to_dots, NULL));
		LOOK(cuCtxSynchronize());
	}
	LOOK(cuMemcpyDtoH_v2(host, y, SIZE));
	LOOK(cuMemFree_v2(x));
	LOOK(cuMemFree_v2(y));
	LOOK(cuModuleUnload(module));
}

int main(int argc, char **argv)
{
	const char *reason = why_not();
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_image *image = NULL;
	if (argc != 2) {
		fprintf(stderr, "usage: registers DRIVER\n");
		return EXIT_FAILURE;
	}
	if (reason) {
		printf("skipped: %s\n", reason);
		return EXIT_SUCCESS;
	}
	if (kz_device_open(&dev, "cpu", &err) || kz_compile(&image, source, NULL, &err)) {
		kz_error_print(&err, stderr);
		kz_device_close(dev);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < COUNT; i++) {
		host[i] = (float)i / COUNT;
	}
	/* With a cache twice: what was compiled is found again. */
	for (int i = 0; i < 2; i++) {
		use_library(dev);
		use_arrays(dev);
	}
	if (open_driver(argv[1])) {
		use_driver(kz_image_data(image, NULL));
	} else {
		failures++;
	}
	kz_image_release(image);
	kz_device_close(dev);
	return failures > 0;
}
