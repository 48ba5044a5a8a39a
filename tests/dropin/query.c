/* SPDX-License-Identifier: MIT */
/*
 * Ask every device for what programs print and rely on; the numbers must fit each other.
 * usage: query
 */
#include "driver.h"

static int get(CUdevice device, CUdevice_attribute attribute)
{
	int value;
	check(cuDeviceGetAttribute(&value, attribute, device));
	return value;
}

static void expect(int is_so, const char *what)
{
	if (!is_so) {
		fprintf(stderr, "not so: %s\n", what);
		exit(1);
	}
}

#define get(name) get(device, CU_DEVICE_ATTRIBUTE_##name)
#define expect(claim) expect(claim, #claim)

static void query(CUdevice device)
{
	char name[256];
	size_t memory;
	check(cuDeviceGetName(name, sizeof(name), device));
	check(cuDeviceTotalMem(&memory, device));
	printf("Device %d: \"%s\"\n", device, name);
	printf("  CUDA Capability Major/Minor version number:    %d.%d\n",
		get(COMPUTE_CAPABILITY_MAJOR), get(COMPUTE_CAPABILITY_MINOR));
	printf("  Total amount of global memory:                 %zu MBytes\n", memory >> 20);
	printf("  Multiprocessors:                               %d\n", get(MULTIPROCESSOR_COUNT));
	printf("  Max Clock rate:                                %d MHz\n", get(CLOCK_RATE) / 1000);
	printf("  Warp size:                                     %d\n", get(WARP_SIZE));
	printf("  Max dimension of a block:                      (%d, %d, %d)\n",
		get(MAX_BLOCK_DIM_X), get(MAX_BLOCK_DIM_Y), get(MAX_BLOCK_DIM_Z));
	expect(strlen(name) > 0);
	expect(memory >= (size_t)64 << 20);
	expect(get(COMPUTE_CAPABILITY_MAJOR) >= 7);
	expect(get(WARP_SIZE) == 32);
	expect(get(MULTIPROCESSOR_COUNT) >= 1);
	expect(get(MAX_THREADS_PER_BLOCK) <= get(MAX_THREADS_PER_MULTIPROCESSOR));
	expect(get(MAX_BLOCK_DIM_X) <= get(MAX_THREADS_PER_BLOCK));
	expect(get(MAX_SHARED_MEMORY_PER_BLOCK) <= get(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
	expect(get(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
		+ get(RESERVED_SHARED_MEMORY_PER_BLOCK)
		<= get(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
	expect(get(MAX_REGISTERS_PER_BLOCK) <= get(MAX_REGISTERS_PER_MULTIPROCESSOR));
	expect(get(TOTAL_CONSTANT_MEMORY) == 65536);
	expect(get(MAX_PITCH) > 0);
	expect(get(UNIFIED_ADDRESSING) == 1);
}

int main(void)
{
	int count, version;
	check(cuInit(0));
	check(cuDriverGetVersion(&version));
	check(cuDeviceGetCount(&count));
	expect(version >= 12000);
	expect(count > 0);
	for (int i = 0; i < count; i++) {
		CUdevice device;
		check(cuDeviceGet(&device, i));
		query(device);
	}
	puts("PASSED");
	return 0;
}
