/* SPDX-License-Identifier: MIT */
#ifndef CPU_API_H
#define CPU_API_H

/*
 * What the files of the driver API share.  The exported functions are in api_*.c, by family, each
 * declared where it is defined; exports.def lists them all.
 *
 * There is one device.  Every call does its work before it returns, on the calling thread and the
 * pool: asynchronous calls may do that, and a stream is then always drained.  So streams need no
 * queue, events need no waiting, and a kernel's failure is kept in its context until the next call
 * asks.  What is left of streams is that two threads' operations must not overlap where CUDA
 * forbids it; see struct turn.
 *
 * What this rules out: a kernel, or a host function in a stream, that waits for something that the
 * thread which enqueued it does only later.
 */
#include "../drv/cuda_abi.h"
#include "jit.h"
#include "launch.h"
#include "memory.h"
#include "pool.h"
#include "ptx.h"

#include <pthread.h>
#include <stdatomic.h>

/* The head of an exported function's definition. */
#define API(name, ...) \
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__); \
	CUresult name(__VA_ARGS__)

/* Export a function under another name, too: an older version of the same signature, or the one
 * for per-thread default streams.  Treating a per-thread default stream as the legacy one is
 * allowed: it only orders more. */
#define API_ALIAS(alias_name, name) \
	__attribute__((visibility("default"), alias(#name))) __typeof__(name) alias_name

/* Every symbol that is exported, sorted by name. */
struct api_export {
	const char *name;
	int since;          /* the CUDA version that brought it */
	void (*address)(void);
};
extern const struct api_export api_exports[];
extern const size_t api_export_count;

/* --- Handles: numbers that are never addresses, so that a stale one is found out --- */

enum api_kind { API_CONTEXT = 1, API_MODULE, API_FUNCTION, API_STREAM, API_EVENT };

/* NULL when there is no memory; an object has one handle. */
void *handle_create(enum api_kind kind, void *object);
/* The object, NULL if the handle is not one of a live object of that kind. */
void *handle_get(const void *handle, enum api_kind kind);
void handle_release(void *handle); /* NULL is fine */

/* --- Errors --- */

/* Keep a reason for cuLogsDumpToMemory. */
void api_log(const char *format, ...) printf_like(1, 2);
/* Fail with a code and a reason.  A macro, so that static analysis sees that it is no success. */
#define api_fail(code, ...) (api_log(__VA_ARGS__), (code))

static inline CUresult api_null(const char *call, const char *what)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %s is NULL", call, what);
}

/* For results: fail like the call so far, or because there is no place for the result. */
static inline CUresult api_need(CUresult so_far, const char *call, const void *out)
{
	return so_far == CUDA_SUCCESS && out == NULL ? api_null(call, "the result") : so_far;
}

static inline CUresult api_bad_handle(const char *call, const char *what)
{
	return api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: not the handle of a live %s", call, what);
}

/* --- The device and its contexts --- */

/* A module, a stream or an event, in the list of its context. */
struct object {
	enum api_kind kind;
	void *handle;
	struct context *context;
	struct object *next;
	struct object **link;   /* what points to this one */
};

struct context {
	CUcontext handle;
	struct device *device;
	bool is_primary;
	unsigned flags;
	unsigned api_version;
	uint64_t id;
	pthread_mutex_t lock;       /* of the list */
	struct object *objects;
	pthread_rwlock_t order;     /* see struct turn */
	atomic_uint fault;          /* CUresult of the kernel that failed; it stays */
	char fault_text[512];
	size_t limits[CU_LIMIT_MALLOC_HEAP_SIZE + 1];
	CUfunc_cache cache;
};

/* What all contexts share; it lives as long as there is one. */
struct device {
	struct memory *memory;
	struct pool *pool;
	struct launcher *launcher;
};

/* The physical memory in bytes. */
size_t device_memory_size(void);

/* For calls that need no context: cuInit has been called, and this is no host function. */
CUresult api_ready(const char *call);
CUresult api_check_device(const char *call, CUdevice device);
/* The calling thread's context; also fails if a kernel in it has failed. */
CUresult api_enter(const char *call, struct context **out);
/* The same, for calls that release something: a failed kernel does not matter. */
CUresult api_enter_release(const char *call, struct context **out);
/* Whether this thread runs a host function of a stream, which must not call. */
void api_set_in_callback(bool inside);

/* Give an object its handle and put it into a context's list. */
bool object_add(struct object *object, struct context *context, enum api_kind kind);
void object_remove(struct object *object);
/* Empty a context: its objects, then its memory. */
void context_clear(struct context *context);
/* The code of the kernel that has failed in a context, with its reason; else SUCCESS. */
CUresult context_check(struct context *context);
/* Wait for what other threads run in this context right now. */
void context_wait(struct context *context);

/* One release per kind of object; it is still in its context's list. */
void module_free(struct object *object);
void stream_free(struct object *object);
void event_free(struct object *object);

/* --- Streams --- */

struct stream;

/*
 * The right to run an operation in a stream.  Operations of one stream never overlap; those of the
 * legacy default stream do not overlap with those of any other that is not CU_STREAM_NON_BLOCKING:
 * they hold the context's `order` for writing, the others for reading.
 */
struct turn {
	struct context *context;
	struct stream *stream; /* NULL: a default stream */
	bool is_ordered;
};

CUresult turn_begin(struct turn *turn, const char *call, struct context *context, CUstream stream);
void turn_end(struct turn *turn);

/* --- Modules --- */

struct module {
	struct object object;
	pthread_mutex_t lock;       /* of the jit */
	struct ptx_module ptx;
	struct jit *jit;
	uint64_t memory;            /* of its variables, 0 if it has none */
	uint8_t **globals;          /* by ptx_module.vars */
	struct function *functions;
	size_t function_count;
};

struct function {
	CUfunction handle;
	struct module *module;
	struct ptx_func *ptx;
	char name[96];              /* for messages: as in the source, without parameters */
	bool is_compiled;
	struct jit_kernel kernel;
	int max_dynamic;            /* bytes of dynamic shared memory that a launch may ask for */
	int carveout;
};

/* Threads per block that a kernel can have. */
unsigned function_max_threads(const struct function *function);

#endif
