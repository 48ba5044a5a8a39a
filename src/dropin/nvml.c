/* SPDX-License-Identifier: MIT */
/*
 * libnvidia-ml.so.1, NVIDIA's management library, for the CPU device.
 *
 * Programs ask it what devices there are before they use CUDA, and monitors ask nothing else.  Our
 * driver describes its devices through its private table, without cuInit: a process that has only
 * asked NVML can still fork and use CUDA in its children, as PyTorch does.  nvml.def lists every
 * function of nvml.h; those that have no meaning for a processor answer NVML_ERROR_NOT_SUPPORTED.
 *
 * Names, numbers and layouts are those of nvml.h.  A struct with a version says its size in it.
 */
#include "base/common.h"

#include "base/cuda_abi.h"
#include "base/dl.h"
#include "base/kudzu_abi.h"
#include "base/log_line.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The release of NVIDIA's driver that has the same functions as ours. */
#define NVML_DRIVER "615.00"
#define NVML_BRANCH "r615_00"
#define NVML_OWN "13." NVML_DRIVER

#define NVML_VERSION(type, number) ((unsigned)sizeof(type) | (number) << 24)
#define NVML_NO_INSTANCE UINT32_MAX    /* of a device that is not divided */
#define NVML_ARCHITECTURE UINT32_MAX   /* not a generation of NVIDIA's */
enum { NVML_TOPOLOGY_INTERNAL = 0, NVML_TOPOLOGY_NODE = 40 };
enum { NVML_P2P_OK = 0, NVML_P2P_NOT_SUPPORTED = 5 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1 };
enum { NVML_UUID_ASCII = 1, NVML_UUID_BINARY = 2 };

#define NVML_RESULTS(X) \
	X(SUCCESS, 0, "Success") \
	X(ERROR_UNINITIALIZED, 1, "Uninitialized") \
	X(ERROR_INVALID_ARGUMENT, 2, "Invalid Argument") \
	X(ERROR_NOT_SUPPORTED, 3, "Not Supported") \
	X(ERROR_NO_PERMISSION, 4, "Insufficient Permissions") \
	X(ERROR_ALREADY_INITIALIZED, 5, "Already Initialized") \
	X(ERROR_NOT_FOUND, 6, "Not Found") \
	X(ERROR_INSUFFICIENT_SIZE, 7, "Insufficient Size") \
	X(ERROR_INSUFFICIENT_POWER, 8, "Insufficient External Power") \
	X(ERROR_DRIVER_NOT_LOADED, 9, "Driver Not Loaded") \
	X(ERROR_TIMEOUT, 10, "Timeout") \
	X(ERROR_IRQ_ISSUE, 11, "Interrupt Request Issue") \
	X(ERROR_LIBRARY_NOT_FOUND, 12, "NVML Shared Library Not Found") \
	X(ERROR_FUNCTION_NOT_FOUND, 13, "Function Not Found") \
	X(ERROR_CORRUPTED_INFOROM, 14, "Corrupted infoROM") \
	X(ERROR_GPU_IS_LOST, 15, "GPU is lost") \
	X(ERROR_RESET_REQUIRED, 16, "GPU requires reset") \
	X(ERROR_OPERATING_SYSTEM, 17, "Operating System Error") \
	X(ERROR_LIB_RM_VERSION_MISMATCH, 18, "Driver/library version mismatch") \
	X(ERROR_IN_USE, 19, "In use by another client") \
	X(ERROR_MEMORY, 20, "Insufficient Memory") \
	X(ERROR_NO_DATA, 21, "No Data") \
	X(ERROR_VGPU_ECC_NOT_SUPPORTED, 22, "vGPU is not supported with ECC") \
	X(ERROR_INSUFFICIENT_RESOURCES, 23, "Insufficient Resources") \
	X(ERROR_FREQ_NOT_SUPPORTED, 24, "Frequency Not Supported") \
	X(ERROR_ARGUMENT_VERSION_MISMATCH, 25, "Argument Version Mismatch") \
	X(ERROR_DEPRECATED, 26, "Deprecated") \
	X(ERROR_NOT_READY, 27, "Not Ready") \
	X(ERROR_GPU_NOT_FOUND, 28, "GPU Not Found") \
	X(ERROR_INVALID_STATE, 29, "Invalid State") \
	X(ERROR_RESET_TYPE_NOT_SUPPORTED, 30, "Reset Type Not Supported") \
	X(ERROR_UNKNOWN, 999, "Unknown Error")

typedef enum nvmlReturn {
#define X(name, number, text) NVML_##name = number,
	NVML_RESULTS(X)
#undef X
} nvmlReturn_t;

/* What a handle points to. */
struct nvml_device {
	unsigned number;
};
typedef struct nvml_device *nvmlDevice_t;

struct nvml_pci {
	char legacy_id[16];
	unsigned domain, bus, device;
	unsigned device_id;       /* 0, and so is the next: the processor is not on the bus */
	unsigned subsystem_id;
	char id[32];
};
struct nvml_pci_ext {
	unsigned version, domain, bus, device, device_id, subsystem_id, base_class, subclass;
	char id[32];
};
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_memory2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct nvml_uuid {
	unsigned version, type;
	union {
		char text[41];
		unsigned char bytes[16];
	} value;
};
struct nvml_branch {
	unsigned version;
	char text[80];
};
/* The first version of the function ends before the instances. */
struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};
struct nvml_process1 {
	unsigned pid;
	unsigned long long used;
};
struct nvml_detail {
	struct nvml_process process;
	unsigned long long protected;
};
struct nvml_details {
	unsigned version, mode, count;
	struct nvml_detail *list;
};
struct nvml_field {
	unsigned id, scope;
	long long timestamp, latency;
	int type;
	nvmlReturn_t result;
	unsigned long long value;
};

static struct {
	pthread_mutex_t lock;
	unsigned inits;           /* not yet shut down */
	const struct kudzu_exports *driver;
	struct nvml_device devices[64];
	unsigned count;
} nvml = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define API(name, ...) \
	__attribute__((visibility("default"))) nvmlReturn_t name(__VA_ARGS__); \
	nvmlReturn_t name(__VA_ARGS__)
/* An older name of a function with the same parameters. */
#define API_ALIAS(alias_name, name) \
	__attribute__((visibility("default"), alias(#name))) __typeof__(name) alias_name

/* --- The library --- */

/* A process that has only asked NVML may fork while another of its threads asks; the lock is held
 * around each question to the driver, so that no lock of the driver stays taken in the child. */
static void nvml_lock(void)
{
	pthread_mutex_lock(&nvml.lock);
}

static void nvml_unlock(void)
{
	pthread_mutex_unlock(&nvml.lock);
}

static void nvml_watch_forks(void)
{
	pthread_atfork(nvml_lock, nvml_unlock, nvml_unlock);
}

static nvmlReturn_t nvml_find_driver(void)
{
	CUuuid id;
	memcpy(id.bytes, CU_DEVICE_UUID_KUDZU, sizeof(id.bytes));
	char why[256];
	void *library = dl_open("libcuda.so.1", why, sizeof(why));
	CUresult (*get_table)(const void **, const CUuuid *) = NULL;
	const void *table = NULL;
	if (library) {
		*(void **)&get_table = dl_symbol(library, "cuGetExportTable");
	}
	if (!get_table || get_table(&table, &id) != CUDA_SUCCESS) {
		log_line("nvml", "%s", library ? "the driver is not Kudzu's" : why);
		return NVML_ERROR_DRIVER_NOT_LOADED;
	}
	nvml.driver = table;
	return NVML_SUCCESS;
}

API(nvmlInitWithFlags, unsigned flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)flags;
	pthread_once(&once, nvml_watch_forks);
	nvml_lock();
	nvmlReturn_t result = nvml.driver ? NVML_SUCCESS : nvml_find_driver();
	if (result == NVML_SUCCESS && nvml.inits++ == 0) {
		struct kudzu_device facts;
		for (nvml.count = 0; nvml.count < countof(nvml.devices)
				&& nvml.driver->describe_device(nvml.count, &facts);
			nvml.count++) {
			nvml.devices[nvml.count].number = nvml.count;
		}
	}
	nvml_unlock();
	return result;
}

API(nvmlInit_v2, void)
{
	return nvmlInitWithFlags(0);
}
API_ALIAS(nvmlInit, nvmlInit_v2);

static nvmlReturn_t nvml_check_init(void)
{
	nvml_lock();
	const bool ready = nvml.inits > 0;
	nvml_unlock();
	return ready ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

API(nvmlShutdown, void)
{
	nvml_lock();
	const bool ready = nvml.inits > 0;
	nvml.inits -= ready;
	nvml_unlock();
	return ready ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
#define X(name, number, text) \
	case NVML_##name: \
		return text;
		NVML_RESULTS(X)
#undef X
	}
	return "Unknown Error";
}

/* The answer of each function of nvml.def that this file does not define. */
static nvmlReturn_t nvml_lack(const char *name)
{
	log_line("nvml", "%s is not supported", name);
	const nvmlReturn_t result = nvml_check_init();
	return result == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : result;
}

#define I(name)
#define N(name) \
	API(name, void) \
	{ \
		return nvml_lack(#name); \
	}
#include "dropin/nvml.def"
#undef I
#undef N

/* --- The system --- */

static nvmlReturn_t nvml_put_text(char *out, unsigned size, const char *text)
{
	nvmlReturn_t result = nvml_check_init();
	if (result == NVML_SUCCESS && !out) {
		result = NVML_ERROR_INVALID_ARGUMENT;
	} else if (result == NVML_SUCCESS && size <= strlen(text)) {
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	} else if (result == NVML_SUCCESS) {
		memcpy(out, text, strlen(text) + 1);
	}
	return result;
}

API(nvmlSystemGetDriverVersion, char *out, unsigned size)
{
	return nvml_put_text(out, size, NVML_DRIVER);
}

API(nvmlSystemGetNVMLVersion, char *out, unsigned size)
{
	return nvml_put_text(out, size, NVML_OWN);
}

API(nvmlSystemGetDriverBranch, struct nvml_branch *out, unsigned size)
{
	if (out && out->version != NVML_VERSION(*out, 1)) {
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	}
	return nvml_put_text(out ? out->text : NULL,
		size < sizeof(out->text) ? size : sizeof(out->text), NVML_BRANCH);
}

API(nvmlSystemGetCudaDriverVersion_v2, int *out)
{
	if (!out) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	*out = CUDA_VERSION;
	return NVML_SUCCESS;
}
API_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

/* The program, as /proc has it: the first word of its command line. */
API(nvmlSystemGetProcessName, unsigned pid, char *out, unsigned size)
{
	char path[40], text[1024];
	nvmlReturn_t result = nvml_check_init();
	if (result != NVML_SUCCESS || !out || size == 0) {
		return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
	}
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t got = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
	if (file >= 0) {
		close(file);
	}
	if (got <= 0) {
		return NVML_ERROR_NOT_FOUND;
	}
	text[got] = '\0';
	snprintf(out, size, "%s", text);
	return NVML_SUCCESS;
}

/* A number of the system, which is 0. */
static nvmlReturn_t nvml_put_none(unsigned *out)
{
	nvmlReturn_t result = nvml_check_init();
	if (result == NVML_SUCCESS && !out) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (result == NVML_SUCCESS) {
		*out = 0;
	}
	return result;
}

API(nvmlUnitGetCount, unsigned *out)
{
	return nvml_put_none(out);
}

API(nvmlGetExcludedDeviceCount, unsigned *out)
{
	return nvml_put_none(out);
}

/* --- Finding devices --- */

API(nvmlDeviceGetCount_v2, unsigned *out)
{
	nvmlReturn_t result = nvml_put_none(out);
	if (result == NVML_SUCCESS) {
		*out = nvml.count;
	}
	return result;
}
API_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

API(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvmlDevice_t *out)
{
	nvmlReturn_t result = nvml_check_init();
	if (result == NVML_SUCCESS && (!out || index >= nvml.count)) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (result == NVML_SUCCESS) {
		*out = &nvml.devices[index];
	}
	return result;
}
API_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

static bool nvml_describe(unsigned index, struct kudzu_device *facts)
{
	nvml_lock();
	const bool found = nvml.driver->describe_device(index, facts);
	nvml_unlock();
	return found;
}

/* What the driver says of a device, for a call that has a result to fill. */
static nvmlReturn_t nvml_ask(nvmlDevice_t device, const void *out, struct kudzu_device *facts)
{
	nvmlReturn_t result = nvml_check_init();
	if (result != NVML_SUCCESS || !out) {
		return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
	}
	for (unsigned i = 0; i < nvml.count; i++) {
		if (device == &nvml.devices[i]) {
			return nvml_describe(i, facts) ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
		}
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}

static void nvml_write_uuid(char out[41], const CUuuid *id)
{
	int at = snprintf(out, 41, "GPU-");
	for (int i = 0; i < 16; i++) {
		at += snprintf(out + at, (size_t)(41 - at), "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id->bytes[i]);
	}
}

/* The device with this UUID, as text, with "GPU-" or, as CUDA has it, without, or as 16 bytes. */
static nvmlReturn_t nvml_find_uuid(const char *text, const unsigned char *bytes,
	nvmlDevice_t *out)
{
	nvmlReturn_t result = nvml_check_init();
	struct kudzu_device facts;
	char own[41];
	for (unsigned i = 0; result == NVML_SUCCESS && i < nvml.count; i++) {
		if (!nvml_describe(i, &facts)) {
			continue;
		}
		nvml_write_uuid(own, &facts.uuid);
		if (text ? strcmp(text, own) == 0 || strcmp(text, own + 4) == 0
				: memcmp(bytes, facts.uuid.bytes, 16) == 0) {
			*out = &nvml.devices[i];
			return NVML_SUCCESS;
		}
	}
	return result != NVML_SUCCESS ? result : NVML_ERROR_NOT_FOUND;
}

API(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *out)
{
	return !uuid || !out ? NVML_ERROR_INVALID_ARGUMENT : nvml_find_uuid(uuid, NULL, out);
}

API(nvmlDeviceGetHandleByUUIDV, const struct nvml_uuid *uuid, nvmlDevice_t *out)
{
	if (!uuid || !out) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (uuid->version != NVML_VERSION(*uuid, 1)) {
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	}
	return uuid->type == NVML_UUID_ASCII ? nvml_find_uuid(uuid->value.text, NULL, out)
		: uuid->type == NVML_UUID_BINARY ? nvml_find_uuid(NULL, uuid->value.bytes, out)
		: NVML_ERROR_INVALID_ARGUMENT;
}

/* The bus id says the number of the device, as that of cuDeviceGetPCIBusId does. */
API(nvmlDeviceGetHandleByPciBusId_v2, const char *id, nvmlDevice_t *out)
{
	unsigned domain = 0, bus, device, function = 0;
	nvmlReturn_t result = nvml_check_init();
	if (result != NVML_SUCCESS || !id || !out) {
		return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
	}
	if (sscanf(id, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) < 3) {
		domain = 0;
		if (sscanf(id, "%2x:%2x.%1x", &bus, &device, &function) < 2) {
			return NVML_ERROR_INVALID_ARGUMENT;
		}
	}
	if (domain != 0 || bus != 0 || function != 0 || device >= nvml.count) {
		return NVML_ERROR_NOT_FOUND;
	}
	*out = &nvml.devices[device];
	return NVML_SUCCESS;
}
API_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

/* --- What a device is --- */

/* A name that is too long is cut: programs have buffers for the names of GPUs. */
API(nvmlDeviceGetName, nvmlDevice_t device, char *out, unsigned size)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS && size == 0) {
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	if (result == NVML_SUCCESS) {
		snprintf(out, size, "%s", facts.name);
	}
	return result;
}

API(nvmlDeviceGetUUID, nvmlDevice_t device, char *out, unsigned size)
{
	struct kudzu_device facts;
	char text[41];
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result != NVML_SUCCESS) {
		return result;
	}
	nvml_write_uuid(text, &facts.uuid);
	return nvml_put_text(out, size, text);
}

API(nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, struct nvml_pci *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS) {
		const unsigned char number = (unsigned char)device->number;
		*out = (struct nvml_pci){.device = number};
		snprintf(out->legacy_id, sizeof(out->legacy_id), "0000:00:%02X.0", number);
		snprintf(out->id, sizeof(out->id), "00000000:00:%02X.0", number);
	}
	return result;
}

/* The structs of the first two versions end earlier. */
static nvmlReturn_t nvml_put_pci(nvmlDevice_t device, void *out, size_t size)
{
	struct nvml_pci all;
	nvmlReturn_t result = nvmlDeviceGetPciInfo_v3(device, &all);
	if (result == NVML_SUCCESS && !out) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (result == NVML_SUCCESS) {
		memcpy(out, &all, size);
	}
	return result;
}

API(nvmlDeviceGetPciInfo, nvmlDevice_t device, void *out)
{
	return nvml_put_pci(device, out, offsetof(struct nvml_pci, subsystem_id));
}

API(nvmlDeviceGetPciInfo_v2, nvmlDevice_t device, void *out)
{
	return nvml_put_pci(device, out, offsetof(struct nvml_pci, id));
}

API(nvmlDeviceGetPciInfoExt, nvmlDevice_t device, struct nvml_pci_ext *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS && out->version != NVML_VERSION(*out, 1)) {
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	}
	if (result == NVML_SUCCESS) {
		*out = (struct nvml_pci_ext){out->version, .device = device->number};
		snprintf(out->id, sizeof(out->id), "00000000:00:%02X.0", device->number);
	}
	return result;
}

API(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, struct nvml_memory *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS) {
		*out = (struct nvml_memory){facts.memory, facts.memory - facts.used, facts.used};
	}
	return result;
}

API(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, struct nvml_memory2 *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS && out->version != NVML_VERSION(*out, 2)) {
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	}
	if (result == NVML_SUCCESS) {
		*out = (struct nvml_memory2){out->version, facts.memory, 0,
			facts.memory - facts.used, facts.used};
	}
	return result;
}

API(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t device, int *major, int *minor)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, minor ? major : NULL, &facts);
	if (result == NVML_SUCCESS && major && minor) {
		*major = facts.major;
		*minor = facts.minor;
	}
	return result;
}

static nvmlReturn_t nvml_put_clock(nvmlDevice_t device, int type, unsigned *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS && type != NVML_CLOCK_GRAPHICS && type != NVML_CLOCK_SM) {
		return NVML_ERROR_NOT_SUPPORTED;
	}
	if (result == NVML_SUCCESS) {
		*out = (unsigned)facts.clock / 1000;
	}
	return result;
}

API(nvmlDeviceGetClockInfo, nvmlDevice_t device, int type, unsigned *out)
{
	return nvml_put_clock(device, type, out);
}

API(nvmlDeviceGetMaxClockInfo, nvmlDevice_t device, int type, unsigned *out)
{
	return nvml_put_clock(device, type, out);
}

#define NUMBER(name, value) \
	API(name, nvmlDevice_t device, unsigned *out) \
	{ \
		struct kudzu_device facts; \
		nvmlReturn_t result = nvml_ask(device, out, &facts); \
		if (result == NVML_SUCCESS) { \
			*out = (value); \
		} \
		return result; \
	}
NUMBER(nvmlDeviceGetIndex, device->number)
NUMBER(nvmlDeviceGetMinorNumber, device->number)
NUMBER(nvmlDeviceGetModuleId, device->number)
NUMBER(nvmlDeviceGetNumGpuCores, facts.cores)
NUMBER(nvmlDeviceGetArchitecture, NVML_ARCHITECTURE)
NUMBER(nvmlDeviceGetNumaNodeId, 0)
NUMBER(nvmlDeviceGetPersistenceMode, 1)
/* It is not a board: it has neither a brand, a bus, fans, a display nor parts, and is not shared by
 * virtual machines.  Every process may use it. */
NUMBER(nvmlDeviceGetBrand, 0)
NUMBER(nvmlDeviceGetBusType, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 0)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, 0)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 0)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 0)
NUMBER(nvmlDeviceGetPcieReplayCounter, 0)
NUMBER(nvmlDeviceGetNumFans, 0)
NUMBER(nvmlDeviceGetDisplayMode, 0)
NUMBER(nvmlDeviceGetDisplayActive, 0)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, 0)
NUMBER(nvmlDeviceIsMigDeviceHandle, 0)
NUMBER(nvmlDeviceGetMultiGpuBoard, 0)
NUMBER(nvmlDeviceGetVirtualizationMode, 0)
NUMBER(nvmlDeviceGetComputeMode, 0)

/* There are no events. */
API(nvmlDeviceGetSupportedEventTypes, nvmlDevice_t device, unsigned long long *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS) {
		*out = 0;
	}
	return result;
}

/* Each field has a result of its own. */
API(nvmlDeviceGetFieldValues, nvmlDevice_t device, int count, struct nvml_field *fields)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, count > 0 ? fields : NULL, &facts);
	struct timeval now;
	gettimeofday(&now, NULL);
	for (int i = 0; result == NVML_SUCCESS && i < count; i++) {
		fields[i].timestamp = now.tv_sec * 1000000LL + now.tv_usec;
		fields[i].latency = 0;
		fields[i].result = NVML_ERROR_NOT_SUPPORTED;
	}
	return result;
}

/* --- Processes --- */

/* Only the process that asks is known: if it has a context, it is the one process of the device.
 * *count is the room in, and the number out. */
static nvmlReturn_t nvml_put_processes(nvmlDevice_t device, unsigned *count, void *out,
	size_t size)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, count, &facts);
	if (result != NVML_SUCCESS) {
		return result;
	}
	const unsigned room = *count;
	*count = facts.has_context != 0;
	if (room < *count) {
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	if (*count > 0 && !out) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (*count > 0) {
		const struct nvml_process own = {(unsigned)getpid(), facts.used, NVML_NO_INSTANCE,
			NVML_NO_INSTANCE};
		memcpy(out, &own, size);
	}
	return NVML_SUCCESS;
}

#define PROCESSES(name, size) \
	API(name, nvmlDevice_t device, unsigned *count, void *out) \
	{ \
		return nvml_put_processes(device, count, out, size); \
	}
PROCESSES(nvmlDeviceGetComputeRunningProcesses, sizeof(struct nvml_process1))
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, sizeof(struct nvml_process))
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, sizeof(struct nvml_process))

#define NO_PROCESSES(name) \
	API(name, nvmlDevice_t device, unsigned *count, void *out) \
	{ \
		struct kudzu_device facts; \
		nvmlReturn_t result = nvml_ask(device, count, &facts); \
		if (result == NVML_SUCCESS) { \
			*count = 0; \
		} \
		(void)out; \
		return result; \
	}
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

/* Mode 0 is compute; the others are graphics and MPS. */
API(nvmlDeviceGetRunningProcessDetailList, nvmlDevice_t device, struct nvml_details *out)
{
	struct nvml_process own = {0};
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, out, &facts);
	if (result == NVML_SUCCESS && out->version != NVML_VERSION(*out, 1)) {
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	}
	if (result == NVML_SUCCESS && out->mode != 0) {
		out->count = 0;
	} else if (result == NVML_SUCCESS) {
		result = nvml_put_processes(device, &out->count, out->list ? &own : NULL,
			sizeof(own));
		if (result == NVML_SUCCESS && out->count > 0) {
			*out->list = (struct nvml_detail){own, 0};
		}
	}
	return result;
}

/* --- Where it is: on every core, beside the other devices --- */

static nvmlReturn_t nvml_put_cores(nvmlDevice_t device, unsigned words, unsigned long *out)
{
	struct kudzu_device facts;
	cpu_set_t cores;
	nvmlReturn_t result = nvml_ask(device, words > 0 ? out : NULL, &facts);
	if (result != NVML_SUCCESS) {
		return result;
	}
	if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
		return NVML_ERROR_OPERATING_SYSTEM;
	}
	const unsigned bits = 8 * sizeof(*out);
	memset(out, 0, words * sizeof(*out));
	for (unsigned i = 0; i < CPU_SETSIZE && i / bits < words; i++) {
		out[i / bits] |= (unsigned long)(CPU_ISSET(i, &cores) != 0) << i % bits;
	}
	return NVML_SUCCESS;
}

API(nvmlDeviceGetCpuAffinity, nvmlDevice_t device, unsigned words, unsigned long *out)
{
	return nvml_put_cores(device, words, out);
}

API(nvmlDeviceGetCpuAffinityWithinScope, nvmlDevice_t device, unsigned words, unsigned long *out,
	unsigned scope)
{
	return scope > 1 ? NVML_ERROR_INVALID_ARGUMENT : nvml_put_cores(device, words, out);
}

API(nvmlDeviceGetMemoryAffinity, nvmlDevice_t device, unsigned words, unsigned long *out,
	unsigned scope)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, words > 0 && scope <= 1 ? out : NULL, &facts);
	if (result == NVML_SUCCESS) {
		memset(out, 0, words * sizeof(*out));
		out[0] = 1;
	}
	return result;
}

/* All devices but `self`.  *count is the room in, 0 for a question, and the number out. */
static nvmlReturn_t nvml_put_others(const struct nvml_device *self, unsigned *count,
	nvmlDevice_t *out)
{
	const unsigned room = *count;
	*count = 0;
	for (unsigned i = 0; i < nvml.count; i++) {
		if (&nvml.devices[i] == self) {
			continue;
		}
		if (out && *count < room) {
			out[*count] = &nvml.devices[i];
		}
		++*count;
	}
	return room > 0 && room < *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

API(nvmlDeviceGetTopologyNearestGpus, nvmlDevice_t device, int level, unsigned *count,
	nvmlDevice_t *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(device, count, &facts);
	if (result == NVML_SUCCESS && level != NVML_TOPOLOGY_NODE) {
		*count = 0;
	} else if (result == NVML_SUCCESS) {
		result = nvml_put_others(device, count, out);
	}
	return result;
}

API(nvmlSystemGetTopologyGpuSet, unsigned core, unsigned *count, nvmlDevice_t *out)
{
	nvmlReturn_t result = nvml_check_init();
	if (result == NVML_SUCCESS && (!count || core >= CPU_SETSIZE)) {
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	return result != NVML_SUCCESS ? result : nvml_put_others(NULL, count, out);
}

/* Of two devices: a number that differs if they are one. */
static nvmlReturn_t nvml_put_pair(nvmlDevice_t first, nvmlDevice_t second, const int values[2],
	int *out)
{
	struct kudzu_device facts;
	nvmlReturn_t result = nvml_ask(first, out, &facts);
	if (result == NVML_SUCCESS) {
		result = nvml_ask(second, out, &facts);
	}
	if (result == NVML_SUCCESS) {
		*out = values[first == second];
	}
	return result;
}

API(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t first, nvmlDevice_t second, int *out)
{
	static const int levels[2] = {NVML_TOPOLOGY_NODE, NVML_TOPOLOGY_INTERNAL};
	return nvml_put_pair(first, second, levels, out);
}

API(nvmlDeviceOnSameBoard, nvmlDevice_t first, nvmlDevice_t second, int *out)
{
	static const int yes[2] = {1, 1};
	return nvml_put_pair(first, second, yes, out);
}

/* They read, write and do atomics in each other's memory, without a link between them. */
API(nvmlDeviceGetP2PStatus, nvmlDevice_t first, nvmlDevice_t second, int kind, int *out)
{
	enum { READ, WRITE, ATOMICS = 3 };
	const bool can = kind == READ || kind == WRITE || kind == ATOMICS;
	const int status = can ? NVML_P2P_OK : NVML_P2P_NOT_SUPPORTED;
	return nvml_put_pair(first, second, (const int[2]){status, status}, out);
}
