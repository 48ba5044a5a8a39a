/* SPDX-License-Identifier: MIT */
#ifndef CPU_API_H
#define CPU_API_H

/*
 * What the files of the driver API share.  The exported functions are in api_*.c, by family, each
 * declared where it is defined; exports.def lists them all.
 *
 * There is one device.  A call checks what it is asked for, describes it as a struct work (work.h)
 * and gives that to a stream (stream.h).  If the stream has nothing else to do the calling thread
 * does the work at once, else it is queued for the stream's own thread.  A kernel's failure is kept
 * in its context until the next call asks.
 */
#include "drv/cuda_abi.h"
#include "cpu/jit/jit.h"
#include "cpu/exec/launch.h"
#include "cpu/mem/memory.h"
#include "cpu/exec/pool.h"
#include "cpu/ptx/ptx.h"

#include <pthread.h>
#include <stdatomic.h>

/* The head of an exported function's definition. */
#define API(name, ...) \
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__); \
	CUresult name(__VA_ARGS__)

/* Export a function under another name, too: another version of the same signature. */
#define API_ALIAS(alias_name, name) \
	__attribute__((visibility("default"), alias(#name))) __typeof__(name) alias_name

/* Export the form of a function whose default stream is the calling thread's own: its name, the
 * other one's, the parameters, and the arguments, both in parentheses. */
#define API_PER_THREAD(own_name, name, parameters, arguments) \
	__attribute__((visibility("default"))) CUresult own_name parameters; \
	CUresult own_name parameters \
	{ \
		bool before = api_use_own_stream(true); \
		CUresult result = name arguments; \
		api_use_own_stream(before); \
		return result; \
	} \
	_Static_assert(true, "a semicolon follows")

/* Whether the default stream is the calling thread's own, from now on; returns what was. */
bool api_use_own_stream(bool own);

/* Every symbol that is exported, sorted by name. */
struct api_export {
	const char *name;
	int since;          /* the CUDA version that brought it */
	void (*address)(void);
};
extern const struct api_export api_exports[];
extern const size_t api_export_count;

/* --- Handles: numbers that are never addresses, so that a stale one is found out --- */

enum api_kind { API_CONTEXT = 1, API_MODULE, API_FUNCTION, API_STREAM, API_EVENT, API_LIBRARY,
	API_KERNEL, API_LINK, API_POOL, API_ARRAY, API_MIPMAP, API_TEXTURE, API_SURFACE,
	API_HOST, API_BLOCK, API_GRAPH, API_GRAPH_NODE, API_GRAPH_EXEC, API_USER_OBJECT,
	API_LOG_CALLBACK };

/* NULL when there is no memory; an object has one handle. */
void *handle_create(enum api_kind kind, void *object);
/* The object, NULL if the handle is not one of a live object of that kind. */
void *handle_get(const void *handle, enum api_kind kind);
/* Whether there was an object of that kind with this handle, which has ended. */
bool handle_is_past(const void *handle, enum api_kind kind);
/* handle_get for who is about to end it, which is the first one to ask; others get NULL.  It can
 * still be found until handle_release. */
void *handle_claim(const void *handle, enum api_kind kind);
void handle_release(void *handle); /* NULL is fine */
/* Keep a handle that means nothing until it is resumed, for the next object. */
void handle_suspend(void *handle);
void handle_resume(void *handle, void *object);

/* --- Errors --- */

/* Keep a reason for cuLogsDumpToMemory. */
void api_log(const char *format, ...) printf_like(1, 2);
/* In a forked process: whoever had the log's lock is not here. */
void api_log_forget_lock(void);
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

/* Memory of the process has run out, not of the device. */
static inline CUresult api_no_memory(const char *call)
{
	return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: host memory has run out", call);
}

static inline CUresult api_bad_handle(const char *call, const char *what)
{
	return api_fail(CUDA_ERROR_INVALID_HANDLE, "%s: not the handle of a live %s", call, what);
}

/* --- The device and its contexts --- */

/* A module, a stream or an event, in the list of its context. */
struct object {
	enum api_kind kind;
	bool is_part;           /* of another object, which ends it */
	void *handle;
	struct context *context;
	struct object *next;
	struct object **link;   /* what points to this one */
};

struct context {
	CUcontext handle;
	struct device *device;
	bool is_primary;
	atomic_uint flags;
	unsigned api_version;
	unsigned attached;          /* calls of cuCtxAttach that want a cuCtxDetach */
	uint64_t id;
	pthread_mutex_t lock;       /* of the list, and of fault_text */
	struct object *objects;
	pthread_cond_t has_fewer;   /* of them */
	struct stream *legacy;      /* its legacy default stream; stream.c owns these five */
	struct stream *streams;     /* all that are not gone, in no order */
	struct gate *gates;         /* what new ones wait for */
	size_t pending;             /* items of those that wait for the legacy stream */
	atomic_bool is_dying;       /* what runs is to end, what waits is dropped */
	atomic_uint fault;          /* CUresult of the kernel that failed; it stays */
	char fault_text[512];
	atomic_size_t limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE + 1];
	atomic_bool has_printed;    /* a kernel that calls printf has run */
	struct rt_host host;        /* what kernels use of the context */
	atomic_int cache;
};

enum { MAX_FETCH = 128 };       /* of CU_LIMIT_MAX_L2_FETCH_GRANULARITY */

/* What all contexts share; it lives as long as somebody uses it. */
struct device {
	struct memory *memory;
	struct pool *pool;
	struct runner *runners;     /* that nobody uses now; the lock of these two is queue.h's */
	struct runner *active;      /* that have a kernel */
	uint64_t timeout;           /* of a kernel in nanoseconds, 0: none */
	bool has_watchdog;
	pthread_t watchdog;
	pthread_mutex_t lock;       /* of its end */
	pthread_cond_t closing;
	bool is_closing;
};

/* For what uses the device without a context; NULL when memory runs out. */
struct device *device_retain(void);
void device_release(void);

/* Of the attributes, those that are the same on every computer. */
int device_attribute(CUdevice_attribute attribute);

/* For calls that need no context: cuInit has been called, and this is no host function. */
CUresult api_ready(const char *call);
CUresult api_check_device(const char *call, CUdevice device);
/* The calling thread's context; also fails if a kernel in it has failed. */
CUresult api_enter(const char *call, struct context **out);
/* The same, for calls that release something.  They do so even if a kernel has failed, and only
 * then say it. */
CUresult api_enter_release(const char *call, struct context **out);
/* The calling thread's context, NULL if it has none that is alive. */
struct context *api_current(void);
/* A context that the caller names; NULL means the current one. */
CUresult context_find(const char *call, CUcontext handle, struct context **out);
/* Why a handle is not one of a live context. */
CUresult context_bad_handle(const char *call, CUcontext handle);
/* Known flags, and at most one way to wait. */
CUresult context_check_flags(const char *call, unsigned flags);
/* Whether this thread runs a function of the program's, which must not call; what was. */
bool api_set_in_callback(bool inside);

/* Give an object its handle and put it into a context's list. */
bool object_add(struct object *object, struct context *context, enum api_kind kind);
/* For a call that ends an object; NULL if there is none, another call ends it, or it is a part. */
struct object *object_claim(const void *handle, enum api_kind kind, bool *is_part);
/* The last thing before it is freed: as long as a context has objects, it stays. */
void object_remove(struct object *object);
/* Empty a context: its objects, then its memory. */
void context_clear(struct context *context);
/* The code of the kernel that has failed in a context, with its reason; else SUCCESS. */
CUresult context_check(struct context *context);
/* Make sure that kernels can call malloc; false when memory runs out. */
bool context_open_heap(struct context *context);
/* Wait for all that was enqueued in this context so far; then its failure, if any. */
CUresult context_wait(struct context *context);
/* For the current one, which another thread may be about to end; fails if a stream of it is
 * captured, which makes waiting impossible. */
CUresult context_wait_current(const char *call);
/* Give a context its legacy stream; false when memory runs out. */
bool context_open_streams(struct context *context);
/* Let the work end, or end it if it takes long. */
void context_drain(struct context *context);
/* Wait until streams that were closed are gone; then work can begin anew. */
void context_reap(struct context *context);
/* End the legacy stream. */
void context_close_streams(struct context *context);

/* One release per kind of object, which is claimed, and still in its context's list.  Streams and
 * events are found anew, under a lock of their own. */
void module_free(struct object *object);
void stream_free(void *handle);
void event_free(void *handle);
void host_free(struct object *object);
/* Registered memory of the program, as if it were an allocation. */
bool host_find(struct context *context, uint64_t address, struct memory_range *out);
void array_free(struct object *object);
void mipmap_free(struct object *object);
void texture_free(struct object *object); /* a surface, too */

/* --- Memory --- */

/* Allocate for a context, wish->owner, or say why not. */
CUresult api_allocate(const char *call, CUdeviceptr *out, const struct memory_range *wish);
/* The pool that memory is from; NULL for none. */
CUmemoryPool mempool_of(const struct memory_range *range);

/* --- Modules --- */

struct module {
	struct object object;
	pthread_mutex_t lock;       /* of the jit and the parser */
	struct ptx_module ptx;
	struct jit *jit;
	uint64_t memory;            /* of its variables, 0 if it has none */
	uint8_t **globals;          /* by ptx_module.vars */
	struct outline *outline;    /* NULL: all of the text has been read */
	const char *late_text;      /* of which the rest is read when it is asked for */
	struct kudzu_text known;    /* of that */
	char *own_text;             /* NULL: the text stays anyway */
	struct function **functions; /* by place; NULL: not read yet, which the lock is for, too */
	size_t function_count;
	struct module *plan;        /* of a library: which has the same places; NULL: of none */
	char *text;                 /* if its kernels are traced: for messages; else NULL */
	struct library *library;    /* whose kernels these are, without a context */
};

/* What the launches of CUDA 3 use, set one by one; the lock is the module's. */
struct old_launch {
	uint32_t block[3];
	uint32_t shared_size;
	size_t param_size;
	uint8_t *params;            /* NULL until one is set, then of the greatest size */
};

/* A kernel compiled for the blocks of one class; NULL after the last. */
struct variant {
	struct jit_kernel kernel;
	unsigned class;
	struct variant *next;
};

struct function {
	CUfunction handle;
	struct module *module;
	struct ptx_func *ptx;
	size_t place;               /* in module->functions */
	char name[96];              /* for messages: as in the source, without parameters */
	atomic_bool is_compiled;
	atomic_ullong short_blocks; /* so many do not keep the thread that launches them; of a
	                             * straight kernel, UINT64_MAX: nobody has measured it */
	atomic_uint launches;       /* of a kernel with loops, that were surely short; about */
	struct jit_kernel kernel;
	unsigned max_threads;       /* per block that it can have */
	unsigned class;             /* of blocks that it is for; see shape.h */
	bool may_team;              /* see team.h */
	_Atomic(struct variant *) variants; /* for blocks of other classes, when first launched */
	atomic_int max_dynamic;     /* bytes of dynamic shared memory that a launch may ask for */
	atomic_int carveout;
	atomic_int hints[2];        /* non-portable cluster sizes, scheduling policy */
	atomic_uint attributes_set; /* a bit for each that cuFuncSetAttribute has set */
	struct old_launch old;
};

/* Threads per block that a kernel can have. */
unsigned function_max_threads(const struct ptx_func *func);

#endif
