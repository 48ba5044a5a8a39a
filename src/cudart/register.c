/* SPDX-License-Identifier: MIT */
/*
 * What nvcc's code calls when a program or a library of it is loaded: it hands over its fat binary,
 * and tells which address on the host stands for which kernel and which variable of it.
 *
 * Nothing is loaded then, not even the driver: a fat binary becomes a library of the driver when
 * something of it is first used, and the driver makes a module of that in each context.  Functions
 * and variables are in a hash table by address.  A program may launch from a static constructor:
 * what has been registered by then is found.
 *
 * A library of the program may go while other threads launch.  dlclose calls what unregisters with
 * the lock of the dynamic linker held, for which a launch may wait: the first one loads a compiler.
 * So to unregister does not wait for others.  What threads may be using is unloaded by the last of
 * them (register_let), and no lock that is taken there is held while the driver loads code.
 *
 * Whole-program fat binaries come as wrappers of version 1.  Those of version 2 are what nvcc -rdc
 * has linked; beside the linked code they have the relocatable fat binaries of all files, which
 * are linked here, since PTX cannot be linked beforehand.
 */
#include "base/common.h"

#include "cudart/register.h"

#include "base/alloc.h"
#include "base/fatbin.h"
#include "base/log_line.h"
#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	WRAPPER_MAGIC = 0x466243b1,
	WRAPPER_ONE = 1,
	WRAPPER_LINKED = 2,
	BUCKETS = 1024, /* a power of two */
};

/* __fatBinC_Wrapper_t of fatbinary_section.h. */
struct wrapper {
	int magic;
	int version;
	const void *data;
	const void *const *parts; /* version 2: fat binaries to link, up to NULL */
};

struct binary {
	const struct wrapper *wrapper;
	pthread_mutex_t lock; /* while it is loaded, or a kernel of it is found */
	CUlibrary library;    /* once it is loaded */
	cudaError_t failure;  /* ... or why it cannot be */
	struct binary *next;  /* these when it is unregistered: in the list of waste, */
	struct entry *entries; /* and what it had in the table */
};

enum entry_kind { ENTRY_KERNEL, ENTRY_VARIABLE, ENTRY_MANAGED };

struct entry {
	struct entry *next;
	struct binary *binary;
	const void *host;
	const char *name;   /* in the program's memory */
	enum entry_kind kind;
	_Atomic(CUkernel) kernel; /* once it was asked for */
};

static pthread_mutex_t register_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t register_once = PTHREAD_ONCE_INIT;
static struct entry *register_table[BUCKETS];
/* Threads between register_hold and register_let, and what they may be using. */
static atomic_size_t register_users;
static struct binary *_Atomic register_waste;
static pthread_mutex_t register_unloads = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool register_is_unloading;
static _Atomic(cudaError_t) register_last_failure;
static atomic_bool register_ran_out; /* something was not registered for want of memory */

static size_t register_bucket(const void *host)
{
	const uint64_t bits = (uint64_t)(uintptr_t)host * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(bits >> 54) & (BUCKETS - 1);
}

static struct entry *register_find(const void *host)
{
	struct entry *entry = register_table[register_bucket(host)];
	while (entry && entry->host != host) {
		entry = entry->next;
	}
	return entry;
}

/* Host code knows a managed variable by its value, which is where it is; the table by the pointer
 * to it. */
static struct entry *register_find_managed(const void *address)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *entry = register_table[i]; entry; entry = entry->next) {
			if (entry->kind == ENTRY_MANAGED
			    && *(void *const *)entry->host == address) {
				return entry;
			}
		}
	}
	return NULL;
}

/* In a child of fork the locks may be held by a thread that is gone, and exit() unregisters. */
static void register_on_fork(void)
{
	pthread_mutex_init(&register_lock, NULL);
	pthread_mutex_init(&register_unloads, NULL);
	atomic_store(&register_users, 0);
	atomic_store(&register_is_unloading, false);
}

/* A handle from __cudaGetKernel needs no table, so those who come while others unload wait. */
void register_hold(void)
{
	atomic_fetch_add(&register_users, 1);
	if (unlikely(atomic_load(&register_is_unloading))) {
		pthread_mutex_lock(&register_unloads);
		pthread_mutex_unlock(&register_unloads);
	}
}

static void register_free(struct binary *binary)
{
	for (struct entry *entry = binary->entries, *next; entry; entry = next) {
		next = entry->next;
		mem_free(entry);
	}
	pthread_mutex_destroy(&binary->lock);
	mem_free(binary);
}

/* Unload what is waste, unless a thread has come that may be using it and will unload it. */
static void register_unload(void)
{
	pthread_mutex_lock(&register_unloads);
	atomic_store(&register_is_unloading, true);
	pthread_mutex_lock(&register_lock);
	struct binary *waste = atomic_load(&register_users) > 0 ? NULL
		: atomic_exchange(&register_waste, NULL);
	pthread_mutex_unlock(&register_lock);
	while (waste) {
		struct binary *next = waste->next;
		if (waste->library) {
			driver.cuLibraryUnload(waste->library);
		}
		register_free(waste);
		waste = next;
	}
	atomic_store(&register_is_unloading, false);
	pthread_mutex_unlock(&register_unloads);
}

void register_let(void)
{
	if (atomic_fetch_sub(&register_users, 1) == 1
	    && unlikely(atomic_load(&register_waste))) {
		register_unload();
	}
}

static void register_watch_forks(void)
{
	pthread_atfork(NULL, NULL, register_on_fork);
}

/* The error for something that is not registered. */
static cudaError_t register_unknown(cudaError_t code)
{
	return atomic_load(&register_ran_out) ? cudaErrorMemoryAllocation : code;
}

static void register_add(void **handle, const void *host, const char *name, enum entry_kind kind)
{
	struct entry *entry = handle ? mem_zalloc(1, sizeof(*entry)) : NULL;
	if (!entry) {
		log_line("cudart", "'%s' is not registered: %s", name,
			handle ? "host memory has run out" : "its fat binary is not");
		if (handle) {
			atomic_store(&register_ran_out, true);
		}
		return;
	}
	entry->binary = (struct binary *)(void *)handle;
	entry->host = host;
	entry->name = name;
	entry->kind = kind;
	pthread_mutex_lock(&register_lock);
	struct entry **bucket = &register_table[register_bucket(host)];
	entry->next = *bucket;
	*bucket = entry;
	pthread_mutex_unlock(&register_lock);
}

/* --- Loading --- */

/* Say for which architectures a fat binary without PTX has code, and what to do. */
static void register_explain(const void *data)
{
	struct fatbin fatbin;
	struct fatbin_entry entry;
	struct str archs = STR_INIT;
	bool has_ptx = false;
	int major = 8, minor = 0, device;
	if (fatbin_open(&fatbin, data, FATBIN_UNKNOWN_SIZE) != FATBIN_OK) {
		return;
	}
	while (fatbin_next(&fatbin, &entry) == FATBIN_OK) {
		has_ptx |= entry.kind == FATBIN_PTX;
		str_addf(&archs, "%s%s_%u", archs.len ? ", " : "",
			entry.kind == FATBIN_CUBIN ? "sm" : entry.kind == FATBIN_LTO ? "lto"
			: "compute", entry.arch);
	}
	if (!has_ptx && !archs.failed && state_device(&device) == cudaSuccess
	    && driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
		device) == CUDA_SUCCESS
	    && driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
		device) == CUDA_SUCCESS) {
		log_line_always("cudart", "the program's kernels are compiled for %s, without PTX; "
			"compile with -gencode arch=compute_%d%d,code=compute_%d%d for this device",
			archs.len ? archs.data : "nothing", major, minor, major, minor);
	}
	str_free(&archs);
}

/* Link the relocatable fat binaries that a wrapper of version 2 lists. */
static CUresult register_link(CUlibrary *out, const void *const *parts)
{
	CUlinkState link;
	void *image = NULL;
	size_t size = 0;
	char why[2048] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {why, (void *)(uintptr_t)sizeof(why)};
	CUresult result = driver.cuLinkCreate_v2(countof(options), options, values, &link);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	for (; *parts && result == CUDA_SUCCESS; parts++) {
		/* A fat binary says itself how long it is. */
		uint64_t body;
		uint16_t head;
		memcpy(&head, (const char *)*parts + 6, sizeof(head));
		memcpy(&body, (const char *)*parts + 8, sizeof(body));
		result = driver.cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY,
			(void *)(uintptr_t)*parts, (size_t)body + head, "a part of the program", 0,
			NULL, NULL);
	}
	result = result == CUDA_SUCCESS ? driver.cuLinkComplete(link, &image, &size) : result;
	if (result == CUDA_SUCCESS) {
		result = driver.cuLibraryLoadData(out, image, NULL, NULL, 0, NULL, NULL, 0);
	} else {
		log_line("cudart", "the parts of the program cannot be linked: %s", why);
	}
	driver.cuLinkDestroy(link);
	return result;
}

static CUresult register_load_image(CUlibrary *out, const void *data)
{
	char why[2048] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {why, (void *)(uintptr_t)sizeof(why)};
	CUresult result = driver.cuLibraryLoadData(out, data, options, values, countof(options),
		NULL, NULL, 0);
	if (result != CUDA_SUCCESS) {
		log_line("cudart", "a fat binary of the program cannot be loaded: %s", why);
	}
	return result;
}

/* With the binary's lock: have the driver load it, once. */
static cudaError_t register_load_locked(struct binary *binary)
{
	if (binary->library || binary->failure) {
		return binary->failure;
	}
	const struct wrapper *wrapper = binary->wrapper;
	CUresult result = wrapper->version == WRAPPER_LINKED && wrapper->parts
			&& *wrapper->parts ? register_link(&binary->library, wrapper->parts)
		: register_load_image(&binary->library, wrapper->data);
	if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
		register_explain(wrapper->version == WRAPPER_LINKED && wrapper->parts
			&& *wrapper->parts ? *wrapper->parts : wrapper->data);
	}
	binary->library = result == CUDA_SUCCESS ? binary->library : NULL;
	binary->failure = driver_error(result);
	return binary->failure;
}

static cudaError_t register_load(struct binary *binary)
{
	pthread_mutex_lock(&binary->lock);
	const cudaError_t code = register_load_locked(binary);
	pthread_mutex_unlock(&binary->lock);
	return code;
}

/* The first time that a kernel is asked for. */
static cudaError_t register_find_kernel(struct entry *entry, CUkernel *out)
{
	struct binary *binary = entry->binary;
	CUkernel kernel = NULL;
	pthread_mutex_lock(&binary->lock);
	cudaError_t code = register_load_locked(binary);
	if (!code) {
		code = driver_error(driver.cuLibraryGetKernel(&kernel, binary->library,
			entry->name));
		atomic_store(&entry->kernel, code ? NULL : kernel);
	}
	pthread_mutex_unlock(&binary->lock);
	*out = kernel;
	return code == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : code;
}

/* A handle that is not registered may be a kernel or a function of the driver: ask it. */
static cudaError_t register_check_handle(const void *handle)
{
	const char *name;
	return driver.cuFuncGetName(&name, (CUfunction)(uintptr_t)handle)
		== CUDA_ERROR_INVALID_HANDLE || !handle
		? register_unknown(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t register_kernel(CUkernel *out, const void *host)
{
	cudaError_t code = cudaSuccess;
	pthread_mutex_lock(&register_lock);
	struct entry *entry = register_find(host);
	pthread_mutex_unlock(&register_lock);
	if (entry && entry->kind == ENTRY_KERNEL) {
		*out = atomic_load(&entry->kernel);
		code = likely(*out) ? cudaSuccess : register_find_kernel(entry, out);
	} else {
		*out = (CUkernel)(uintptr_t)host;
		code = register_check_handle(host);
	}
	if (code) {
		atomic_store(&register_last_failure, code);
	}
	return code;
}

/* Whether a handle is that of an entry's kernel, or of the kernel's function. */
static bool register_is_kernel(struct entry *entry, const void *handle)
{
	CUfunction function;
	const CUkernel kernel = entry->kind == ENTRY_KERNEL ? atomic_load(&entry->kernel) : NULL;
	return kernel && (kernel == handle
		|| (driver.cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS
			&& (const void *)function == handle));
}

void *register_host(const void *handle)
{
	const void *host = handle;
	pthread_mutex_lock(&register_lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *entry = register_table[i]; entry; entry = entry->next) {
			if (register_is_kernel(entry, handle)) {
				host = entry->host;
			}
		}
	}
	pthread_mutex_unlock(&register_lock);
	return (void *)(uintptr_t)host;
}

cudaError_t register_failure(void)
{
	const cudaError_t code = atomic_load(&register_last_failure);
	return code ? code : cudaErrorInvalidDeviceFunction;
}

/* Where a managed variable of a library that is loaded is, told to its host pointer. */
static cudaError_t register_place(struct entry *entry)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t code = driver_error(driver.cuLibraryGetManaged(&address, &size,
		entry->binary->library, entry->name));
	if (!code) {
		*(void **)(uintptr_t)entry->host = (void *)(uintptr_t)address;
	}
	return code;
}

cudaError_t register_variable(CUdeviceptr *out, size_t *size, const void *host)
{
	CUdeviceptr address = 0;
	size_t bytes = 0;
	register_hold();
	pthread_mutex_lock(&register_lock);
	struct entry *entry = register_find(host);
	entry = entry ? entry : register_find_managed(host);
	pthread_mutex_unlock(&register_lock);
	cudaError_t code = !entry ? register_unknown(cudaErrorInvalidSymbol)
		: entry->kind == ENTRY_KERNEL ? cudaErrorInvalidSymbol
		: register_load(entry->binary);
	if (!code) {
		code = driver_error(driver.cuLibraryGetGlobal(&address, &bytes,
			entry->binary->library, entry->name));
		code = code == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : code;
	}
	register_let();
	if (!code && out) {
		*out = address;
	}
	if (!code && size) {
		*size = bytes;
	}
	return code;
}

/* --- What nvcc's code calls --- */

#define CALLED __attribute__((visibility("default")))

CALLED void **__cudaRegisterFatBinary(void *data);
CALLED void __cudaRegisterFatBinaryEnd(void **handle);
CALLED void __cudaUnregisterFatBinary(void **handle);
CALLED void __cudaRegisterFunction(void **handle, const char *host, char *device,
	const char *name, int thread_limit, void *thread, void *block, void *block_size,
	void *grid_size, int *warp_size);
CALLED void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
	int is_extern, size_t size, int is_constant, int is_global);
CALLED void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
	int is_extern, size_t size, int is_constant, int is_global);
CALLED void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
CALLED char __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *data)
{
	const struct wrapper *wrapper = data;
	if (!wrapper || wrapper->magic != WRAPPER_MAGIC || !wrapper->data
	    || (wrapper->version != WRAPPER_ONE && wrapper->version != WRAPPER_LINKED)) {
		log_line("cudart", "a program registers something that is not a fat binary");
		return NULL;
	}
	struct binary *binary = mem_zalloc(1, sizeof(*binary));
	pthread_once(&register_once, register_watch_forks);
	if (binary) {
		pthread_mutex_init(&binary->lock, NULL);
		binary->wrapper = wrapper;
	} else {
		log_line("cudart", "a fat binary of the program is not registered: host memory has "
			"run out");
		atomic_store(&register_ran_out, true);
	}
	return (void **)(void *)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

/* A library of the program goes, or all of it. */
void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *binary = (struct binary *)(void *)handle;
	if (!binary) {
		return;
	}
	register_hold();
	pthread_mutex_lock(&register_lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry **at = &register_table[i]; *at;) {
			struct entry *entry = *at;
			if (entry->binary == binary) {
				*at = entry->next;
				entry->next = binary->entries;
				binary->entries = entry;
			} else {
				at = &entry->next;
			}
		}
	}
	binary->next = atomic_load(&register_waste);
	atomic_store(&register_waste, binary);
	pthread_mutex_unlock(&register_lock);
	register_let();
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, void *thread, void *block, void *block_size, void *grid_size,
	int *warp_size)
{
	(void)device, (void)thread_limit, (void)thread, (void)block;
	(void)block_size, (void)grid_size, (void)warp_size;
	register_add(handle, host, name, ENTRY_KERNEL);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
	size_t size, int is_constant, int is_global)
{
	(void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
	register_add(handle, host, name, ENTRY_VARIABLE);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
	int is_extern, size_t size, int is_constant, int is_global)
{
	(void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
	register_add(handle, host, name, ENTRY_MANAGED);
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	(void)handle, (void)host, (void)size;
	log_line("cudart", "the host variable '%s' cannot be used by kernels", name);
}

/* Get the next managed variable of a binary, the first one if `at` is NULL; with the lock. */
static struct entry *register_next_managed(void **handle, const struct entry *at)
{
	for (size_t i = at ? register_bucket(at->host) : 0; i < BUCKETS; i++) {
		for (struct entry *entry = at ? at->next : register_table[i]; entry;
		     entry = entry->next) {
			if ((void **)(void *)entry->binary == handle
			    && entry->kind == ENTRY_MANAGED) {
				return entry;
			}
		}
		at = NULL;
	}
	return NULL;
}

/* Before the first use of a managed variable on the host. */
char __cudaInitModule(void **handle)
{
	cudaError_t code = state_enter();
	register_hold();
	pthread_mutex_lock(&register_lock);
	struct entry *entry = register_next_managed(handle, NULL);
	pthread_mutex_unlock(&register_lock);
	if (entry && !code) {
		code = register_load(entry->binary);
	}
	pthread_mutex_lock(&register_lock);
	entry = register_next_managed(handle, NULL);
	for (; entry && !code; entry = register_next_managed(handle, entry)) {
		code = register_place(entry);
	}
	pthread_mutex_unlock(&register_lock);
	register_let();
	return state_leave(code) == cudaSuccess;
}
