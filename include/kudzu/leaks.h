/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LEAKS_H
#define KUDZU_LEAKS_H

/*
 * Objects that were never released, with the file and line where the program created them.
 *
 *	cc -g main.c -lkudzu
 *	KUDZU_LEAKS=leaks.txt ./a.out                (or a call of kz_device_print_leaks)
 *
 * ("%p" in the name is the process's number, as in KUDZU_TRACE, trace.h.)
 *
 * leaks.txt then has, for each device that was closed, lines such as
 *
 *	cpu: 3 arrays, 12000 bytes, created at main.c:42
 *	cpu: 1 stream, created at main.c:17
 *	cpu: 1 array, 400 bytes, created at main.c:5; kz_add at main.c:6 put its
 *	     result into the same variable
 *
 * The last line is what kz_add(&a, a, 1, &err) leaves: the old array has no variable any more.
 * kz_add_into(a, a, 1, &err) was meant.  For this line each call looks at what its result's
 * variable held.  It compares the bits with the addresses of live objects and does not follow them,
 * so a variable that holds nothing yet does no harm.  The line is there only if the object was not
 * released after all.  valgrind may report the look at a variable that was never set: set it to
 * NULL.
 *
 * The list is kept from the first device that is opened while KUDZU_LEAKS is set, or from the
 * beginning of a trace (trace.h).  Without these, kz_device_print_leaks knows memory, and numbers
 * of some objects.
 *
 * A place is the first function on the stack that is not the library's.  File and line are those of
 * the program's debug information (-g), which may also be in a file of its own where gdb finds it.
 * libdw of elfutils reads it (Debian's libdw1).  Without the one or the other a place is the
 * program or library and the offset in it:
 *
 *	cpu: 3 arrays, 12000 bytes, created at a.out+0x11d5        (addr2line -e a.out 0x11d5)
 *
 * In optimised code a function that ends with a call, `return kz_add(...)`, may be off the stack:
 * the place is then the line that called it.  Calls from an interpreter, as Python's, are in its
 * own code.
 *
 * While KUDZU_LEAKS is set, kz_error_print says in the same way which call of the program failed.
 *
 * The report at the close of a device has what is live then.  A program may close a device before
 * it releases what it has of it; when the last of these objects is released the file says so.
 */
#include <kudzu/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Objects of one kind that one line created, that one line lost if any did, and that are live. */
typedef struct kz_leak {
	const char *kind;  /**< "array", "stream"; static */
	int64_t count;     /**< objects */
	int64_t size;      /**< bytes of all of them; 0 for kinds that have none */
	const char *file;  /**< as the compiler was given it, its end if it is long; "a.out+0x11d5"
	                        if there is no debug information; "" if nothing is known */
	int32_t line;      /**< from 1; 0 without debug information */
	const char *lost_call; /**< the last function that put its result into the variable with the
	                            handle, "kz_add"; "" if none did */
	const char *lost_file; /**< where that call is, as `file` */
	int32_t lost_line;     /**< as `line` */
} kz_leak;

/** What kz_device_list_leaks calls. */
typedef void kz_leak_fn(void *user, const kz_leak *leak);

/**
 * List the live objects of a device, and those that belong to no device: images, .npz files.
 *
 * @param each called once for each kind and places, largest size first.  The list is complete
 *        before the first call.  The texts of `leak` live as long as the call.
 * @param user passed to `each`.
 * @return KZ_OK; KZ_INVALID for no device and no function; KZ_STATE if no list is kept;
 *         KZ_NO_MEMORY, also if objects are missing because memory ran out earlier.
 */
KZ_API KZ_NODISCARD kz_status kz_device_list_leaks(kz_device *dev, kz_leak_fn *each, void *user,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
