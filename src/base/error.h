/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * Fill in a kz_error.  Each function returns the status that it was given, so that a failing call
 * can end with `return error_set(err, KZ_INVALID, "...")`.  err may be NULL.  The first failure
 * wins: an error that already has one keeps it.
 */
#include "base/common.h"

#include <kudzu/error.h>

#include <stdarg.h>

/* The library's own failures. */
kz_status error_set(kz_error *err, kz_status status, const char *format, ...) printf_like(3, 4);
/* Host memory ran out. */
static inline kz_status error_no_memory(kz_error *err)
{
	error_set(err, KZ_NO_MEMORY, "out of host memory");
	return KZ_NO_MEMORY;
}
/* A system call failed: errno, and the call's name (static text). */
kz_status error_os(kz_error *err, int code, const char *call, const char *format, ...)
	printf_like(4, 5);
/* A code of the driver, NVRTC or another library: its domain and name, the call that gave it, and
 * KZ_ERROR_... bits.  The texts are static. */
struct foreign_code {
	kz_domain domain;
	int code;
	const char *name;
	const char *call;
	uint32_t flags;
};
kz_status error_foreign(kz_error *err, kz_status status, const struct foreign_code *code,
	const char *format, ...) printf_like(4, 5);
/* The failure that another error holds, in other words. */
kz_status error_retell(kz_error *err, const kz_error *from, const char *format, ...)
	printf_like(3, 4);

#ifdef __clang_analyzer__ /* which then knows that none of them returns KZ_OK */
#define error_never_ok(call) \
	({ \
		kz_status error_st = (call); \
		if (!error_st) { \
			__builtin_unreachable(); \
		} \
		error_st; \
	})
#define error_set(...) error_never_ok((error_set)(__VA_ARGS__))
#define error_os(...) error_never_ok((error_os)(__VA_ARGS__))
#define error_foreign(...) error_never_ok((error_foreign)(__VA_ARGS__))
#define error_retell(...) error_never_ok((error_retell)(__VA_ARGS__))
#endif

/*
 * Add to the failure that was just set.  The error may hold an earlier failure, to which nothing
 * may be added: ask `bool mine = error_is_clean(err);` before, then `if (mine) error_add_...`.
 * error_take_log owns its text, which comes from mem_alloc, in any case.
 */
static inline bool error_is_clean(const kz_error *err) /* false for NULL */
{
	return err && err->status == KZ_OK;
}
void error_add_hint(kz_error *err, const char *hint);
/* Put "kz_add: argument 'x': " before the message. */
void error_add_argument(kz_error *err, const char *call, const char *argument);
void error_add_place(kz_error *err, const char *file, int line, int column);
void error_take_log(kz_error *err, char *log);

/*
 * A public function begins with error_scope(err).  What it then reports of its caller's arguments
 * and state names it, whichever helper found the mistake, and whichever public function it has
 * called for its own purposes: the message begins with "kz_array_slice: ".  An error that comes in
 * with a failure is left alone.
 */
struct error_call {
	kz_error *err;    /* NULL: there is none, or it held a failure before */
	const char *name; /* of the function, with or without "kz_" */
};

#define error_scope_of(error, function)                                                            \
	struct error_call error_call_here __attribute__((cleanup(error_call_end), unused))         \
		= {error_is_clean(error) ? (error) : NULL, function}
#define error_scope(error) error_scope_of(error, __func__)

void error_name_call(kz_error *err, const char *name);

static inline void error_call_end(struct error_call *call)
{
	if (call->err && unlikely(call->err->status != KZ_OK)) {
		error_name_call(call->err, call->name);
	}
}

/* Copy one error value over a clean one, owned texts duplicated. */
kz_status error_copy(kz_error *err, const kz_error *from);

#endif
