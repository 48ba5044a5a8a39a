/* SPDX-License-Identifier: MIT */
/*
 * Ask NVML what a monitor asks: before a context, in a child, and with one.  Structs and numbers
 * are those of nvml.h, by offset.
 * usage: monitor DEVICES
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE };

static void *nvml, *cuda;

static int (*find(void *library, const char *name))()
{
	int (*function)();
	*(void **)&function = dlsym(library, name);
	if (!function) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return function;
}

#define NVML(name, ...) find(nvml, "nvml" #name)(__VA_ARGS__)
#define CU(name, ...) find(cuda, "cu" #name)(__VA_ARGS__)

static void expect(int got, int want, const char *what, int line)
{
	if (got != want) {
		fprintf(stderr, "monitor.c:%d: %s is %d, expected %d\n", line, what, got, want);
		exit(1);
	}
}
#define EXPECT(got, want) expect(got, want, #got, __LINE__)

static void ask_device(void *device, unsigned number)
{
	char text[96], uuid[41], pci[68], small[8];
	unsigned long long memory[3], memory2[5];
	unsigned value, count = 0;
	int major, minor;
	void *other = NULL;
	EXPECT(NVML(DeviceGetName, device, text, sizeof(text)), SUCCESS);
	EXPECT(strncmp(text, "Kudzu CPU device", 16), 0);
	EXPECT(NVML(DeviceGetName, device, small, sizeof(small)), SUCCESS);
	EXPECT(strcmp(small, "Kudzu C"), 0);
	EXPECT(NVML(DeviceGetUUID, device, uuid, 40u), INSUFFICIENT_SIZE);
	EXPECT(NVML(DeviceGetUUID, device, uuid, sizeof(uuid)), SUCCESS);
	EXPECT(strlen(uuid), 40);
	EXPECT(NVML(DeviceGetHandleByUUID, uuid, &other), SUCCESS);
	EXPECT(other == device, 1);
	other = NULL;
	EXPECT(NVML(DeviceGetHandleByUUID, uuid + 4, &other), SUCCESS);
	EXPECT(other == device, 1);
	uuid[39] = 'x';
	EXPECT(NVML(DeviceGetHandleByUUID, uuid, &other), NOT_FOUND);
	EXPECT(NVML(DeviceGetPciInfo_v3, device, pci), SUCCESS);
	snprintf(text, sizeof(text), "00000000:00:%02X.0", number);
	EXPECT(strcmp(pci + 36, text), 0);
	EXPECT(strcmp(pci, text + 4), 0);
	other = NULL;
	EXPECT(NVML(DeviceGetHandleByPciBusId_v2, pci, &other), SUCCESS);
	EXPECT(other == device, 1);
	memset(pci, 7, sizeof(pci));
	EXPECT(NVML(DeviceGetPciInfo, device, pci), SUCCESS);
	EXPECT(pci[31] == 0 && pci[32] == 7, 1); /* the first version has no more */
	EXPECT(NVML(DeviceGetHandleByPciBusId_v2, "0000:01:00.0", &other), NOT_FOUND);
	EXPECT(NVML(DeviceGetHandleByPciBusId_v2, "x", &other), INVALID_ARGUMENT);
	EXPECT(NVML(DeviceGetMemoryInfo, device, memory), SUCCESS);
	EXPECT(memory[0] > 0 && memory[0] == memory[1] + memory[2], 1);
	memory2[0] = 0;
	EXPECT(NVML(DeviceGetMemoryInfo_v2, device, memory2), 25); /* the version is missing */
	memory2[0] = sizeof(memory2) | 2 << 24;
	EXPECT(NVML(DeviceGetMemoryInfo_v2, device, memory2), SUCCESS);
	EXPECT(memory2[1] == memory[0] && memory2[3] == memory[1] && memory2[4] == memory[2], 1);
	EXPECT(NVML(DeviceGetCudaComputeCapability, device, &major, &minor), SUCCESS);
	EXPECT(major * 10 + minor, 89);
	EXPECT(NVML(DeviceGetIndex, device, &value), SUCCESS);
	EXPECT(value, number);
	EXPECT(NVML(DeviceGetComputeRunningProcesses_v3, device, &count, NULL), SUCCESS);
	EXPECT(count, 0);
	EXPECT(NVML(DeviceGetPowerUsage, device, &value), NOT_SUPPORTED);
	EXPECT(NVML(DeviceGetIndex, device, NULL), INVALID_ARGUMENT);
	EXPECT(NVML(DeviceGetIndex, &value, &value), INVALID_ARGUMENT);
}

/* The process has a context of device 0, and 1 MiB there. */
static void ask_process(void *device)
{
	struct {
		unsigned pid;
		unsigned long long used;
		unsigned gpu_instance, compute_instance;
	} process[2] = {0};
	struct {
		unsigned pid;
		unsigned long long used;
	} first;
	unsigned long long memory[3], memory2[3];
	struct rlimit addresses;
	void *context, *address;
	unsigned count = 0;
	char name[256];
	EXPECT(CU(Init, 0), 0);
	EXPECT(CU(DevicePrimaryCtxRetain, &context, 0), 0);
	EXPECT(CU(CtxSetCurrent, context), 0);
	EXPECT(CU(MemAlloc_v2, &address, (size_t)1 << 20), 0);
	EXPECT(NVML(DeviceGetComputeRunningProcesses_v3, device, &count, NULL), INSUFFICIENT_SIZE);
	EXPECT(count, 1);
	EXPECT(NVML(DeviceGetComputeRunningProcesses_v3, device, &count, process), SUCCESS);
	EXPECT(process[0].pid, getpid());
	EXPECT(process[0].used >> 20, 1);
	EXPECT(process[0].gpu_instance == ~0u && process[1].pid == 0, 1);
	EXPECT(NVML(DeviceGetComputeRunningProcesses, device, &count, &first), SUCCESS);
	EXPECT(first.pid == process[0].pid && first.used == process[0].used, 1);
	count = 5;
	EXPECT(NVML(DeviceGetGraphicsRunningProcesses_v3, device, &count, NULL), SUCCESS);
	EXPECT(count, 0);
	EXPECT(NVML(DeviceGetMemoryInfo, device, memory), SUCCESS);
	EXPECT(memory[2] == process[0].used, 1);
	getrlimit(RLIMIT_AS, &addresses);
	EXPECT(setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, addresses.rlim_max}), 0);
	EXPECT(NVML(DeviceGetMemoryInfo, device, memory2), SUCCESS);
	EXPECT(setrlimit(RLIMIT_AS, &addresses), 0);
	EXPECT(memcmp(memory2, memory, sizeof(memory)), 0); /* no limit changes what it has */
	EXPECT(NVML(SystemGetProcessName, (unsigned)getpid(), name, sizeof(name)), SUCCESS);
	EXPECT(strstr(name, "monitor") != NULL, 1);
	EXPECT(CU(DevicePrimaryCtxReset_v2, 0), 0);
}

/* A process that has only asked NVML may fork, and its child use the driver. */
static void ask_in_child(void *device)
{
	int status;
	const pid_t child = fork();
	if (child == 0) {
		ask_process(device);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status), 1);
	EXPECT(WEXITSTATUS(status), 0);
}

static int (*get_count)(unsigned *);
static atomic_int is_over;

static void *ask_always(void *unused)
{
	unsigned count;
	while (!is_over) {
		get_count(&count);
	}
	return unused;
}

/* A child may ask, whatever other threads of the process were asking. */
static void fork_while_asked(void)
{
	pthread_t threads[2];
	*(void **)&get_count = dlsym(nvml, "nvmlDeviceGetCount_v2");
	for (int i = 0; i < 2; i++) {
		EXPECT(pthread_create(&threads[i], NULL, ask_always, NULL), 0);
	}
	for (int i = 0; i < 100; i++) {
		unsigned count;
		int status;
		const pid_t child = fork();
		if (child == 0) {
			alarm(10);
			_exit(get_count(&count));
		}
		EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status), 1);
		EXPECT(WEXITSTATUS(status), SUCCESS);
	}
	is_over = 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	const unsigned devices = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned count = 0, version = 0;
	void *device = NULL;
	char text[80];
	nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	EXPECT(nvml && cuda, 1);
	EXPECT(NVML(DeviceGetCount_v2, &count), UNINITIALIZED);
	EXPECT(NVML(DeviceGetTemperature, NULL, 0, &count), UNINITIALIZED);
	EXPECT(NVML(Shutdown), UNINITIALIZED);
	EXPECT(NVML(Init_v2), SUCCESS);
	EXPECT(NVML(Init), SUCCESS);
	EXPECT(NVML(Shutdown), SUCCESS);
	EXPECT(NVML(SystemGetDriverVersion, text, sizeof(text)), SUCCESS);
	EXPECT(NVML(SystemGetCudaDriverVersion, &version), SUCCESS);
	EXPECT(CU(DriverGetVersion, &count), 0);
	EXPECT(version, (int)count);
	EXPECT(NVML(DeviceGetCount_v2, &count), SUCCESS);
	EXPECT(count, (int)devices);
	EXPECT(NVML(DeviceGetHandleByIndex_v2, count, &device), INVALID_ARGUMENT);
	for (unsigned i = 0; i < count; i++) {
		EXPECT(NVML(DeviceGetHandleByIndex_v2, i, &device), SUCCESS);
		ask_device(device, i);
	}
	EXPECT(NVML(DeviceGetHandleByIndex_v2, 0, &device), SUCCESS);
	ask_in_child(device);
	fork_while_asked();
	EXPECT(CU(DeviceGetCount, &count), 3); /* nothing has called cuInit here */
	ask_process(device);
	count = 0;
	EXPECT(NVML(DeviceGetComputeRunningProcesses_v3, device, &count, NULL), SUCCESS);
	const char *(*error)(int);
	*(void **)&error = dlsym(nvml, "nvmlErrorString");
	EXPECT(strcmp(error(NOT_SUPPORTED), "Not Supported"), 0);
	EXPECT(strcmp(error(12345), "Unknown Error"), 0);
	EXPECT(NVML(Shutdown), SUCCESS);
	EXPECT(NVML(DeviceGetHandleByIndex_v2, 0, &device), UNINITIALIZED);
	puts("PASSED");
	return 0;
}
