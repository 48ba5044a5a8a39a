/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_API_H
#define CPU_ABI_API_H

/*
 * What the files of exported functions share.  The functions are in api_*.c, by chapter of NVIDIA's
 * manual, each declared where it is defined; exports.def lists them all.
 *
 * There is one device.  A call checks what it is asked for, describes it as a struct work (work.h)
 * and gives that to a stream (stream.h).  If the stream has nothing else to do the calling thread
 * does the work at once, else it is queued for the stream's own thread.
 */
#include "cpu/mem/memory.h"
#include "cpu/object/context.h"
#include "cpu/object/device.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"
#include "cpu/object/object.h"
#include "cpu/stream/stream.h"
#include "drv/cuda_abi.h"

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

/* For what uses the device without a context; NULL when memory runs out. */
struct device *device_retain(void);
void device_release(void);

/* Known flags, and at most one way to wait. */
CUresult context_check_flags(const char *call, unsigned flags);

/* Registered memory of the program, as if it were an allocation. */
bool host_find(struct context *context, uint64_t address, struct memory_range *out);
/* The pool that memory is from; NULL for none. */
CUmemoryPool mempool_of(const struct memory_range *range);

#endif
