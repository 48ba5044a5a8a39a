/* SPDX-License-Identifier: MIT */
/*
 * What nvidia-smi shows and the CUDA driver does not know: temperature, power, load, processes.
 *
 * NVIDIA's management library, NVML, has it.  It comes with the driver, and is loaded when a device
 * is printed: most machines that have no GPU lack it, which is not a failure.  Each number is asked
 * for by itself, because many GPUs do not have all of them (a fan, a limit of power); what NVML
 * does not know is not printed.  A device of the CUDA driver is found by its UUID: the numbers of
 * the two libraries differ.
 */
#include "cli/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7, NVML_TEMPERATURE_GPU = 0 };

struct nvml_utilization {
	unsigned gpu, memory;
};

/* nvmlProcessInfo_v2_t.  The calls that end in _v3 have had two layouts. */
struct nvml_process {
	unsigned pid;
	unsigned long long used; /* bytes; UINT64_MAX: not known */
	unsigned gpu_instance, compute_instance;
};

typedef int nvml_number_fn(void *device, unsigned *out);
typedef int nvml_processes_fn(void *device, unsigned *count, struct nvml_process *out);

/* The functions of the library; NULL for what its version lacks. */
static struct nvml {
	int (*init)(void);
	int (*find)(const char *uuid, void **device);
	int (*driver)(char *out, unsigned size);
	int (*temperature)(void *device, int sensor, unsigned *out);
	int (*load)(void *device, struct nvml_utilization *out);
	int (*process_name)(unsigned pid, char *out, unsigned size);
	nvml_number_fn *fan, *state, *power, *power_limit;
	nvml_processes_fn *compute, *graphics;
} nvml;

static const struct {
	const char *symbol;
	void *slot;
} nvml_symbols[] = {
	{"nvmlInit_v2", &nvml.init},
	{"nvmlDeviceGetHandleByUUID", &nvml.find},
	{"nvmlSystemGetDriverVersion", &nvml.driver},
	{"nvmlDeviceGetTemperature", &nvml.temperature},
	{"nvmlDeviceGetUtilizationRates", &nvml.load},
	{"nvmlSystemGetProcessName", &nvml.process_name},
	{"nvmlDeviceGetFanSpeed", &nvml.fan},
	{"nvmlDeviceGetPerformanceState", &nvml.state},
	{"nvmlDeviceGetPowerUsage", &nvml.power},
	{"nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit},
	{"nvmlDeviceGetComputeRunningProcesses_v2", &nvml.compute},
	{"nvmlDeviceGetGraphicsRunningProcesses_v2", &nvml.graphics},
};

/* Load the library, once; it stays until the command ends. */
static bool nvml_open(void)
{
	static enum { NEW, OPEN, ABSENT } state = NEW;
	if (state == NEW) {
		void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
		for (size_t i = 0; library && i < sizeof(nvml_symbols) / sizeof(*nvml_symbols);
			i++) {
			*(void **)nvml_symbols[i].slot = dlsym(library, nvml_symbols[i].symbol);
		}
		state = nvml.find && nvml.init && nvml.init() == NVML_SUCCESS ? OPEN : ABSENT;
	}
	return state == OPEN;
}

/* A part of a GPU (MIG) has a UUID of its own. */
static void *nvml_find_device(const char *uuid)
{
	static const char *const kinds[] = {"GPU", "MIG"};
	void *device = NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !device; i++) {
		char text[48];
		snprintf(text, sizeof(text), "%s-%s", kinds[i], uuid);
		if (nvml.find(text, &device) != NVML_SUCCESS) {
			device = NULL;
		}
	}
	return device;
}

static bool nvml_number(unsigned *out, nvml_number_fn *ask, void *device)
{
	return ask && ask(device, out) == NVML_SUCCESS;
}

static void nvml_print_numbers(void *device)
{
	unsigned number, limit;
	struct nvml_utilization load;
	if (nvml_number(&number, nvml.fan, device)) {
		printf("  fan                 %u %%\n", number);
	}
	if (nvml.temperature
	    && nvml.temperature(device, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS) {
		printf("  temperature         %u C\n", number);
	}
	if (nvml_number(&number, nvml.state, device)) {
		printf("  performance state   P%u\n", number);
	}
	if (nvml_number(&number, nvml.power, device)) {
		printf("  power               %.0f W", number / 1000.0);
		if (nvml_number(&limit, nvml.power_limit, device)) {
			printf(" of %.0f W", limit / 1000.0);
		}
		putchar('\n');
	}
	if (nvml.load && nvml.load(device, &load) == NVML_SUCCESS) {
		printf("  load                %u %%, memory %u %%\n", load.gpu, load.memory);
	}
}

/* The processes of a kind, freed with free; NULL if the library does not know them. */
static struct nvml_process *nvml_list(unsigned *count, nvml_processes_fn *ask, void *device)
{
	struct nvml_process *list = NULL;
	int result = NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned room = 16; ask && result == NVML_ERROR_INSUFFICIENT_SIZE; room *= 2) {
		struct nvml_process *larger = realloc(list, room * sizeof(*list));
		if (!larger) {
			break;
		}
		list = larger;
		*count = room;
		result = ask(device, count, list);
	}
	if (result != NVML_SUCCESS) {
		free(list);
		return NULL;
	}
	return list;
}

/* All but this one, which has a context only because it asks. */
static void nvml_print_processes(void *device)
{
	const struct { const char *name; nvml_processes_fn *ask; } kinds[] = {
		{"compute", nvml.compute}, {"graphics", nvml.graphics}};
	bool known = false, found = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned count = 0;
		struct nvml_process *list = nvml_list(&count, kinds[i].ask, device);
		known = known || list;
		for (unsigned at = 0; list && at < count; at++) {
			char name[256] = "";
			if (list[at].pid == (unsigned)getpid()) {
				continue;
			}
			if (!nvml.process_name || nvml.process_name(list[at].pid, name,
					sizeof(name)) != NVML_SUCCESS) {
				snprintf(name, sizeof(name), "unknown");
			}
			printf("%s    %7u  %s, ", found ? "" : "  processes\n", list[at].pid,
				kinds[i].name);
			found = true;
			if (list[at].used == UINT64_MAX) {
				printf("unknown memory  %s\n", name);
			} else {
				printf("%llu bytes  %s\n", list[at].used, name);
			}
		}
		free(list);
	}
	if (known && !found) {
		puts("  processes           none");
	}
}

void nvml_print(const char *uuid)
{
	char release[96];
	void *device = nvml_open() ? nvml_find_device(uuid) : NULL;
	if (!device) {
		return;
	}
	if (nvml.driver && nvml.driver(release, sizeof(release)) == NVML_SUCCESS) {
		printf("  driver release      %s\n", release);
	}
	nvml_print_numbers(device);
	nvml_print_processes(device);
}
