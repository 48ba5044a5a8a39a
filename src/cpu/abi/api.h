/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_API_H
#define CPU_ABI_API_H

/*
 * What the files of exported functions share.  There is one file for each chapter of NVIDIA's
 * manual, and exports.def lists all functions.  A function is declared where it is defined.
 *
 * A call checks its arguments, describes the work as a struct work (work.h)
 * and gives it to a stream (cu_stream.h).  If the stream is idle the calling thread does the work
 * at once.  Otherwise the work is queued for the thread of the stream.
 */
#include "cpu/mem/device_memory.h"
#include "cpu/object/context.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"
#include "cpu/object/cu_object.h"
#include "cpu/stream/cu_stream.h"
#include "base/cuda_abi.h"

/* The head of an exported function's definition. */
#define API(name, ...) \
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__); \
	CUresult name(__VA_ARGS__)

/* Export a function under another name, too: another version with the same signature. */
#define API_ALIAS(alias_name, name) \
	__attribute__((visibility("default"), alias(#name))) __typeof__(name) alias_name

/* Export the form of a function whose default stream is the calling thread's own.  The arguments:
 * its name, the name of the other form, the parameters and the arguments, these two in
 * parentheses. */
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

/* For callers that use the memory of the devices without a context; NULL when memory runs out. */
struct device_memory *api_retain_memory(void);
void api_release_memory(void);

/* Whether this process has a context of a device, by its number among all, and then its memory. */
bool api_device_usage(unsigned number, struct memory_use *out);
/* What struct kudzu_exports has. */
int device_describe(unsigned number, struct kudzu_device *out);

/* Refuse unknown flags, and more than one way to wait. */
CUresult context_check_flags(const char *call, unsigned flags);

/* Find memory that the program registered in any context, as if it were an allocation. */
bool host_find(uint64_t address, struct memory_range *out);
/* Whether all pages of a range are mapped. */
bool host_is_mapped(uint64_t start, size_t size);
/* The pool that memory is from; NULL for none. */
CUmemoryPool mempool_of(const struct memory_range *range);

/* Attributes and parameters of a function or of a library's kernel. */
CUresult function_get_attribute(const char *call, const struct function *function,
	CUfunction_attribute attribute, int *out);
CUresult function_set_attribute(const char *call, struct function *function,
	CUfunction_attribute attribute, int value);
CUresult function_param_info(const char *call, const struct function *function, size_t index,
	size_t *offset, size_t *size);

#endif
