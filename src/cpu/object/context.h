/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CONTEXT_H
#define CPU_OBJECT_CONTEXT_H

/*
 * Contexts, and what a call begins with: it asks whether the driver can be used and which context
 * is the calling thread's.  A kernel's failure is kept in its context until the next call asks.
 */
#include "base/common.h"
#include "cpu/mem/device_memory.h"
#include "cpu/runtime/rt.h"
#include "base/kudzu_abi.h"

#include <pthread.h>
#include <stdatomic.h>

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
	struct stream *legacy;      /* its legacy default stream; stream/ owns these four */
	struct stream *streams;     /* all that are not gone, in no order */
	struct gate *gates;         /* what new ones wait for */
	size_t pending;             /* items of streams that wait for the legacy stream */
	size_t guests;              /* kernels of it in graphs that others launch; likewise */
	atomic_uint peers;          /* devices whose memory its kernels may access, a set */
	atomic_bool is_dying;       /* what runs is to end, what waits is dropped */
	atomic_uint fault;          /* CUresult of the kernel that failed; it stays */
	char fault_text[512];
	atomic_size_t limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE + 1];
	atomic_bool has_printed;    /* a kernel that calls printf has run */
	struct rt_host host;        /* what kernels use of the context */
	kudzu_output_fn *output;    /* of the program; host has a function of ours around it */
	void *output_user;
	atomic_int lost_output;     /* errno of text of kernels that was lost, for the library to
	                               ask */
	atomic_int cache;
};

/* A kernel that calls printf has run in any context. */
extern atomic_bool context_has_output;

enum { MAX_FETCH = 128 };       /* of CU_LIMIT_MAX_L2_FETCH_GRANULARITY */

/* What cuInit does. */
CUresult api_start(const char *call);
/* For calls that need no context: check that cuInit has been called, and that the caller is not a
 * host function. */
CUresult api_ready(const char *call);
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

/* The calling thread's stack of contexts: whether one more fits, its top (NULL: it is empty).  Of
 * pop, false: it is empty; *out, unless NULL, is what was on top. */
CUresult context_check_stack(const char *call);
CUresult context_push(const char *call, CUcontext handle);
bool context_pop(CUcontext *out);
CUcontext context_top(void);

/* The code of the kernel that has failed in a context, with its reason; else SUCCESS. */
CUresult context_check(struct context *context);
/* Poison the context; the first failure stays. */
void context_poison(struct context *context, CUresult code, const char *format, ...)
	printf_like(3, 4);
/* Make sure that kernels can call malloc; false when memory runs out. */
bool context_open_heap(struct context *context);

/* What rt_host.may_access is. */
bool context_may_access(const struct rt_host *host, uint64_t address, size_t size,
	struct rt_range *out);

/* Whether that is true now for all memory, so that kernels need not ask. */
bool context_may_access_all(const struct context *context);

/* Allocate for a context, wish->owner, or say why not. */
CUresult api_allocate(const char *call, CUdeviceptr *out, const struct memory_range *wish);

#endif
