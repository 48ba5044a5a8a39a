/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_LOG_H
#define CPU_OBJECT_LOG_H

/*
 * How a call fails: with a code, and with a reason that is kept in the log. log.c keeps the reasons
 * and passes them on; the functions at the end are for the functions of the API that read them.
 */
#include "base/common.h"
#include "base/cuda_abi.h"

/* Keep a reason for cuLogsDumpToMemory. */
void api_log(const char *format, ...) printf_like(1, 2);
/* In a forked process, where the thread that held the log's lock does not exist. */
void api_log_forget_lock(void);
/* Whether a system call was refused to this thread (system_refusal.h); keeps that as a reason. */
bool api_log_refusal(void);

/* A call that is out of memory because the system refused a call says so. */
static inline bool api_is_refused(CUresult code)
{
	bool is_short = code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_MAP_FAILED;
	return is_short && api_log_refusal();
}

/* Fail with a code and a reason.  A macro, so that static analysis sees that the result is not
 * CUDA_SUCCESS. */
#define api_fail(code, ...) \
	(api_log(__VA_ARGS__), api_is_refused(code) ? CUDA_ERROR_OPERATING_SYSTEM : (code))

static inline CUresult api_null(const char *call, const char *what)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %s is NULL", call, what);
}

/* For results: fail like the call so far, or because there is no place for the result. */
static inline CUresult api_need(CUresult so_far, const char *call, const void *out)
{
	return so_far == CUDA_SUCCESS && !out ? api_null(call, "the result") : so_far;
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

/* Whether this thread runs a function of the program's, which must not call the driver. */
extern _Thread_local bool api_in_callback;

/* Set that; returns what was. */
static inline bool api_set_in_callback(bool inside)
{
	bool before = api_in_callback;
	api_in_callback = inside;
	return before;
}

/* The number of the line to come. */
CUlogIterator log_next(void);
/* Write the lines from *iterator on, NULL for all, as far as the newest ones fit; *size is the size
 * of the buffer, and becomes the size of the text.  False: not one line fits. */
bool log_dump(CUlogIterator *iterator, char *buffer, size_t *size);
/* Write the newest line that this thread has logged since the last such call; *size as above. */
bool log_dump_own(char *buffer, size_t *size);
/* Write them to a file; false if that fails. */
bool log_dump_to_file(CUlogIterator *iterator, const char *path);
/* Pass lines on as they come. */
CUresult log_add_callback(CUlogsCallback function, void *data, CUlogsCallbackHandle *out);
bool log_remove_callback(CUlogsCallbackHandle handle);

#endif
