/* SPDX-License-Identifier: MIT */
/* A libnvidia-ml.so.1 for `kudzu info`, that knows two GPUs by the UUIDs of the driver's stub.  The
 * second has neither a fan nor processes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static int devices[2];

#define NUMBER(name, first, second) \
	int name(void *device, unsigned *out); \
	int name(void *device, unsigned *out) \
	{ \
		*out = device == &devices[0] ? (first) : (second); \
		return SUCCESS; \
	}
NUMBER(nvmlDeviceGetPerformanceState, 0, 8)
NUMBER(nvmlDeviceGetPowerUsage, 67123, 13600)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 250000, 250000)

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	static const char *const known[] = {"GPU-00000000-0000-0000-0000-000000000000",
		"MIG-01010101-0101-0101-0101-010101010101"};
	for (int i = 0; i < 2; i++) {
		if (strcmp(uuid, known[i]) == 0) {
			*device = &devices[i];
			return SUCCESS;
		}
	}
	return NOT_FOUND;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	snprintf(out, size, "510.73.05");
	return SUCCESS;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
	*out = device == &devices[0] ? 64 : 36;
	return sensor == 0 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetFanSpeed(void *device, unsigned *out);
int nvmlDeviceGetFanSpeed(void *device, unsigned *out)
{
	*out = 41;
	return device == &devices[0] ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *out);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *out)
{
	out[0] = device == &devices[0] ? 99 : 0;
	out[1] = device == &devices[0] ? 12 : 0;
	return SUCCESS;
}

/* Twenty, more than are asked for at first, and the process that asks. */
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process *out);
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process *out)
{
	const unsigned room = *count;
	*count = device == &devices[0] ? 21 : 0;
	if (room < *count) {
		return INSUFFICIENT_SIZE;
	}
	for (unsigned i = 0; i < *count; i++) {
		out[i] = (struct process){i < 20 ? 1000 + i : (unsigned)getpid(), i << 20, 0, 0};
	}
	return SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, struct process *out);
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, struct process *out)
{
	*count = device == &devices[0];
	if (*count == 1) {
		*out = (struct process){1357, ~0ull, 0, 0};
	}
	return SUCCESS;
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size);
int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
	snprintf(out, size, "/usr/bin/python3");
	return pid == 1003 ? NOT_FOUND : SUCCESS;
}
