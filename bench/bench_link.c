/* SPDX-License-Identifier: MIT */
/*
 * The time of linking.  nvJitLink makes a cubin of two sources that were compiled to LTO-IR, PTX
 * or cubins.  The linker of the CPU device makes PTX of PTX and of LTO-IR.
 *
 *	bench_link
 *
 * All kinds take turns in one process.  A first round, which loads nvJitLink, does not count.
 */
#include "bench.h"

#include <string.h>

enum { ROUNDS = 51, KINDS = 5 };

static const char *const sources[2] = {
	"extern __device__ float f(float x);\n"
	"__global__ void k(float *a) { a[threadIdx.x] = f(a[threadIdx.x]); }\n",
	"__device__ float f(float x) { return x * 2 + 1; }\n",
};

static const struct {
	const char *name;
	const char *arch;
	int on_cpu;
} kinds[KINDS] = {
	{"LTO-IR to a cubin", "lto_80", 0},
	{"PTX to a cubin", "compute_80", 0},
	{"cubins to a cubin", "sm_80", 0},
	{"PTX to PTX", "compute_80", 1},
	{"LTO-IR to PTX", "lto_80", 1},
};

static kz_status compile_both(kz_link_input inputs[2], const char *arch, kz_error *err)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_status st = KZ_OK;
	options.arch = arch;
	options.relocatable = 1;
	for (int i = 0; i < 2 && st == KZ_OK; i++) {
		kz_image *image = NULL;
		st = kz_compile(&image, sources[i], &options, err);
		inputs[i] = (kz_link_input){.name = i ? "f" : "k", .image = image};
	}
	return st;
}

int main(void)
{
	static double ms[KINDS][ROUNDS];
	kz_link_input inputs[KINDS][2] = {{{.name = NULL}}};
	kz_error err = KZ_ERROR_INIT;
	kz_device *cpu = NULL;
	kz_status st = kz_device_open(&cpu, "cpu", &err);
	for (int kind = 0; kind < KINDS && st == KZ_OK; kind++) {
		st = compile_both(inputs[kind], kinds[kind].arch, &err);
	}
	for (int round = -1; round < ROUNDS && st == KZ_OK; round++) {
		for (int kind = 0; kind < KINDS && st == KZ_OK; kind++) {
			kz_link_options options = KZ_LINK_OPTIONS_INIT;
			kz_image *linked = NULL;
			options.arch = "sm_80";
			double from = bench_now();
			st = kz_link(&linked, kinds[kind].on_cpu ? cpu : NULL, inputs[kind], 2,
				&options, &err);
			ms[kind][round < 0 ? 0 : round] = 1e3 * (bench_now() - from);
			kz_image_release(linked);
		}
	}
	for (int kind = 0; kind < KINDS; kind++) {
		if (st == KZ_OK) {
			bench_report("link", kinds[kind].name, "ms", ms[kind], ROUNDS);
		}
		kz_image_release((kz_image *)inputs[kind][0].image);
		kz_image_release((kz_image *)inputs[kind][1].image);
	}
	kz_device_close(cpu);
	return st ? bench_fail(&err) : EXIT_SUCCESS;
}
