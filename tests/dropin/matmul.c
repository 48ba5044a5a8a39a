/* SPDX-License-Identifier: MIT */
/*
 * Multiply matrices in tiles.  The driver is not linked: it is opened, and every function is asked
 * for by name and version, as bindings for other languages do.  A stream, events and a symbol.
 * usage: matmul PTX
 */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>

enum { N = 64, TILE = 16, TEXT = 1000 };

static struct {
	CUresult (*GetErrorName)(CUresult, const char **);
	CUresult (*Init)(unsigned);
	CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
	CUresult (*DevicePrimaryCtxRelease)(CUdevice);
	CUresult (*CtxSetCurrent)(CUcontext);
	CUresult (*ModuleLoadData)(CUmodule *, const void *);
	CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
	CUresult (*ModuleGetGlobal)(CUdeviceptr *, size_t *, CUmodule, const char *);
	CUresult (*ModuleUnload)(CUmodule);
	CUresult (*MemAlloc)(CUdeviceptr *, size_t);
	CUresult (*MemFree)(CUdeviceptr);
	CUresult (*MemsetD32)(CUdeviceptr, unsigned, size_t);
	CUresult (*MemcpyHtoDAsync)(CUdeviceptr, const void *, size_t, CUstream);
	CUresult (*MemcpyDtoHAsync)(void *, CUdeviceptr, size_t, CUstream);
	CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
		unsigned, unsigned, CUstream, void **, void **);
	CUresult (*StreamCreate)(CUstream *, unsigned);
	CUresult (*StreamSynchronize)(CUstream);
	CUresult (*StreamDestroy)(CUstream);
	CUresult (*EventCreate)(CUevent *, unsigned);
	CUresult (*EventRecord)(CUevent, CUstream);
	CUresult (*EventElapsedTime)(float *, CUevent, CUevent);
	CUresult (*EventDestroy)(CUevent);
} cu;

static const struct {
	const char *name;
	size_t slot;
} rows[] = {
#define ROW(name) {"cu" #name, offsetof(__typeof__(cu), name)}
	ROW(GetErrorName), ROW(Init), ROW(DevicePrimaryCtxRetain), ROW(DevicePrimaryCtxRelease),
	ROW(CtxSetCurrent), ROW(ModuleLoadData), ROW(ModuleGetFunction), ROW(ModuleGetGlobal),
	ROW(ModuleUnload), ROW(MemAlloc), ROW(MemFree), ROW(MemsetD32), ROW(MemcpyHtoDAsync),
	ROW(MemcpyDtoHAsync), ROW(LaunchKernel), ROW(StreamCreate), ROW(StreamSynchronize),
	ROW(StreamDestroy), ROW(EventCreate), ROW(EventRecord), ROW(EventElapsedTime),
	ROW(EventDestroy),
#undef ROW
};

/* driver.h's check asks here. */
CUresult cuGetErrorName(CUresult code, const char **name)
{
	return cu.GetErrorName(code, name);
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	CUresult (*find)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	*(void **)&find = dlsym(library, "cuGetProcAddress_v2");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CUdriverProcAddressQueryResult status;
		void *function = NULL;
		if (find == NULL || find(rows[i].name, &function, 12000, 0, &status) != CUDA_SUCCESS
		    || function == NULL) {
			fprintf(stderr, "no %s\n", rows[i].name);
			exit(1);
		}
		memcpy((char *)&cu + rows[i].slot, &function, sizeof(function));
	}
}

static float a[N][N], b[N][N], product[N][N];

static void multiply(CUmodule module, CUstream stream)
{
	CUfunction kernel;
	CUdeviceptr at[3];
	CUevent events[2];
	float ms = -1;
	int n = N;
	void *parameters[] = {&at[0], &at[1], &at[2], &n};
	check(cu.ModuleGetFunction(&kernel, module, "multiply"));
	for (int i = 0; i < 3; i++) {
		check(cu.MemAlloc(&at[i], sizeof(a)));
	}
	check(cu.EventCreate(&events[0], 0));
	check(cu.EventCreate(&events[1], 0));
	check(cu.MemcpyHtoDAsync(at[0], a, sizeof(a), stream));
	check(cu.MemcpyHtoDAsync(at[1], b, sizeof(b), stream));
	check(cu.EventRecord(events[0], stream));
	check(cu.LaunchKernel(kernel, N / TILE, N / TILE, 1, TILE, TILE, 1, 0, stream, parameters,
		NULL));
	check(cu.EventRecord(events[1], stream));
	check(cu.MemcpyDtoHAsync(product, at[2], sizeof(product), stream));
	check(cu.StreamSynchronize(stream));
	check(cu.EventElapsedTime(&ms, events[0], events[1]));
	for (int i = 0; i < 3; i++) {
		check(cu.MemFree(at[i]));
	}
	check(cu.EventDestroy(events[0]));
	check(cu.EventDestroy(events[1]));
	if (!(ms >= 0)) {
		fprintf(stderr, "the kernel took %g ms\n", ms);
		exit(1);
	}
}

static void verify_product(void)
{
	for (int y = 0; y < N; y++) {
		for (int x = 0; x < N; x++) {
			float want = 0;
			for (int i = 0; i < N; i++) {
				want += a[y][i] * b[i][x];
			}
			if (product[y][x] != want) {
				fprintf(stderr, "(%d,%d): %g, not %g\n", y, x, product[y][x], want);
				exit(1);
			}
		}
	}
}

/* Count bytes, shifted by a __constant__ that is set by name. */
static void histogram(CUmodule module, CUstream stream)
{
	unsigned char text[TEXT];
	unsigned want[256] = {0};
	unsigned bins[256];
	int bias = 3, size = TEXT;
	CUfunction kernel;
	CUdeviceptr at_text, at_bins, at_bias;
	size_t bias_size;
	void *parameters[] = {&at_text, &size, &at_bins};
	for (int i = 0; i < TEXT; i++) {
		text[i] = (unsigned char)(i * i);
		want[(text[i] + bias) & 255]++;
	}
	check(cu.ModuleGetFunction(&kernel, module, "count"));
	check(cu.ModuleGetGlobal(&at_bias, &bias_size, module, "bias"));
	check(cu.MemAlloc(&at_text, sizeof(text)));
	check(cu.MemAlloc(&at_bins, sizeof(bins)));
	check(cu.MemsetD32(at_bins, 0, 256));
	check(cu.MemcpyHtoDAsync(at_bias, &bias, bias_size, stream));
	check(cu.MemcpyHtoDAsync(at_text, text, sizeof(text), stream));
	check(cu.LaunchKernel(kernel, 3, 1, 1, 96, 1, 1, sizeof(bins), stream, parameters, NULL));
	check(cu.MemcpyDtoHAsync(bins, at_bins, sizeof(bins), stream));
	check(cu.StreamSynchronize(stream));
	check(cu.MemFree(at_text));
	check(cu.MemFree(at_bins));
	if (bias_size != sizeof(bias) || memcmp(bins, want, sizeof(want)) != 0) {
		fprintf(stderr, "the bytes are counted wrong\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUstream stream;
	if (argc != 2) {
		return 2;
	}
	open_driver();
	check(cu.Init(0));
	check(cu.DevicePrimaryCtxRetain(&context, 0));
	check(cu.CtxSetCurrent(context));
	char *image = read_file(argv[1]);
	check(cu.ModuleLoadData(&module, image));
	free(image);
	check(cu.StreamCreate(&stream, 1));
	for (int i = 0; i < N * N; i++) {
		(&a[0][0])[i] = (float)(i % 7 - 3);
		(&b[0][0])[i] = (float)(i % 11 - 5);
	}
	multiply(module, stream);
	verify_product();
	histogram(module, stream);
	check(cu.StreamDestroy(stream));
	check(cu.ModuleUnload(module));
	check(cu.DevicePrimaryCtxRelease(0));
	puts("PASSED");
	return 0;
}
