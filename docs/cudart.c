/* SPDX-License-Identifier: MIT */
/* Write docs/cudart.md from the table of the runtime's functions, src/cudart/exports.def. */
#include "base/common.h"

#include <stdio.h>
#include <string.h>

enum way { DRIVER, OURS, MISSING };
enum { RUNTIME_12 = 1, RUNTIME_13 = 2 };

static const struct row {
	const char *name;
	const char *twin; /* the suffix of a second function */
	int libraries;
	enum way way;
} rows[] = {
#define V12 RUNTIME_12
#define V13 RUNTIME_13
#define ALL (V12 | V13)
#define CALL(name, in, cu, ...) {#name, NULL, in, DRIVER},
#define BARE(name, in, cu, ...) {#name, NULL, in, DRIVER},
#define STREAM(name, in, cu, ...) {#name, "_ptsz", in, DRIVER},
#define OWN(name, in) {#name, NULL, in, OURS},
#define NONE(name, in) {#name, NULL, in, MISSING},
#include "cudart/exports.def"
};

static const char head[] =
	"<!-- Made by `make docs/cudart.md` from docs/cudart.c and src/cudart/exports.def; do not edit. -->\n"
	"# Programs of the CUDA runtime\n\n"
	"A program compiled with nvcc calls the CUDA runtime, `libcudart`. NVIDIA's runtime works with NVIDIA's\n"
	"driver only: it asks the driver to prove that it is NVIDIA's, and Kudzu does not imitate such a proof. So\n"
	"Kudzu has a runtime of its own, which uses the public interface of the driver and nothing else:\n"
	"`libcudart.so.12` and `libcudart.so.13` in the folder `kudzu-cpu` beside `libkudzu-cpu.so`, and\n"
	"`libcudart_static.a` to link programs with.\n\n"
	"```sh\n"
	"nvcc --cudart shared program.cu -o program      # needs libcudart.so when it runs\n"
	"kudzu cpu -- ./program                          # finds ours\n"
	"```\n\n"
	"nvcc links the static runtime unless it is told otherwise. Where the link cannot be changed to the shared\n"
	"one, put Kudzu's folder before NVIDIA's; the program then has Kudzu's runtime in it. Do so with the nvcc of\n"
	"NVIDIA's wheels, too: they have no `libcudart.so` to link with.\n\n"
	"```sh\n"
	"nvcc -L/usr/local/lib/kudzu-cpu program.cu -o program           # CUDA 13\n"
	"nvcc -L/usr/local/lib/kudzu-cpu/cuda12 program.cu -o program    # CUDA 12\n"
	"cmake -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared ...                   # a project of CMake\n"
	"export NVCC_APPEND_FLAGS='--cudart shared'                      # makefiles that link without their flags\n"
	"```\n\n"
	"`kudzu cpu` prints a note if the program has NVIDIA's runtime in it. Link such a program again: its first call\n"
	"of the runtime fails.\n\n"
	"**PTX.** The device runs PTX, so the program must contain it. nvcc adds it by default, and with\n"
	"`-gencode arch=compute_89,code=compute_89`. A program with `code=sm_...` alone has none. Its launches fail with\n"
	"`cudaErrorNoKernelImageForDevice`, and a line on stderr says for which architectures it is compiled.\n\n"
	"**Relocatable code.** With `nvcc -rdc=true` the parts of the program are linked when it first uses a kernel.\n\n"
	"**What is missing.** A function that Kudzu does not implement returns `cudaErrorNotSupported`. `KUDZU_LOG=1`\n"
	"prints its name on stderr, and the reason when the driver refuses to load or to link kernels.\n\n"
	"**Contexts.** The runtime uses the primary context of a device, as NVIDIA's does. If the program has made\n"
	"another context current by the driver API, the runtime uses that one. If a process that has used a device\n"
	"calls `fork`, the child gets `cudaErrorInitializationError`. A process may contain two runtimes; each has its\n"
	"own last error, and both see the same memory. A library with kernels may be closed and opened again, also\n"
	"while its kernels run: closing it waits for them. A managed variable has one address and one value for all\n"
	"devices, and keeps both when `cudaDeviceReset` is called.\n\n"
	"**Choosing a device.** `cudaChooseDevice` returns the device that has the most of the wanted properties, and\n"
	"the first of several such devices. PCI numbers, the UUID and the name must be equal. For the other properties\n"
	"a larger value than the wanted one will do.\n\n"
	"**Without it.** `make CUDART=0` builds Kudzu without the runtime.\n\n";

static void print_names(enum way way, int libraries)
{
	int column = 0;
	for (size_t i = 0; i < countof(rows); i++) {
		if (rows[i].way != way || rows[i].libraries != libraries) {
			continue;
		}
		const int width = (int)strlen(rows[i].name)
			+ (rows[i].twin ? (int)strlen(rows[i].twin) + 5 : 0) + 4;
		if (column + width > 108) {
			printf("\n");
			column = 0;
		}
		printf("%s`%s`", column ? " " : "", rows[i].name);
		if (rows[i].twin) {
			printf(" (`%s`)", rows[i].twin);
		}
		column += width;
	}
	printf("%s\n\n", column ? "" : "none.");
}

static int count_names(enum way way, int library)
{
	int count = 0;
	for (size_t i = 0; i < countof(rows); i++) {
		if (rows[i].way == way && rows[i].libraries & library) {
			count += rows[i].twin ? 2 : 1;
		}
	}
	return count;
}

static void print_list(const char *title, enum way way)
{
	printf("## %s\n\n", title);
	print_names(way, ALL);
	printf("In `libcudart.so.12` only:\n");
	print_names(way, V12);
	printf("In `libcudart.so.13` only:\n");
	print_names(way, V13);
}

int main(void)
{
	printf("%s## Counts\n\n", head);
	printf("| functions | `libcudart.so.12` | `libcudart.so.13` |\n|---|---|---|\n");
	printf("| that call one of the driver's | %d | %d |\n",
		count_names(DRIVER, V12), count_names(DRIVER, V13));
	printf("| of the runtime's own | %d | %d |\n",
		count_names(OURS, V12), count_names(OURS, V13));
	printf("| that return `cudaErrorNotSupported` | %d | %d |\n",
		count_names(MISSING, V12), count_names(MISSING, V13));
	printf("\nThe names are those of CUDA 12.9 and 13.0. `(_ptsz)` after a name stands for a second function,\n"
		"which programs compiled with `--default-stream per-thread` call.\n\n");
	print_list("Not supported", MISSING);
	print_list("By a function of the driver", DRIVER);
	print_list("By the runtime itself", OURS);
	return 0;
}
