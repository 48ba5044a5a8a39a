/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CHECK_H
#define KUDZU_CHECK_H

/*
 * Bugs of kernels that the CPU device finds while it runs them.
 *
 *	KUDZU_CHECK=memory,init ./program
 *
 * says on standard error where a kernel went wrong, as a compiler would say it:
 *
 *	blur.cu:8:2: error: read of 4 bytes at address 0x7f18e619df14, which is 0 bytes past the
 *	end of the 20-byte allocation at 0x7f18e619df00 [memory]
 *	    8 |         out[threadIdx.x] = in[threadIdx.x + i];
 *	      |         ^
 *	note: kernel 'blur', block (0,0,0), thread (5,0,0)
 *
 * A program can turn checks on itself, before it allocates, compiles and launches, and ask for what
 * they have found:
 *
 *	kz_device_set_option(dev, KZ_OPTION_CHECK, KZ_CHECK_MEMORY | KZ_CHECK_INIT, &err);
 *	...
 *	kz_device_reports(dev, print_report, stderr, &err);
 *
 * docs/debugging.md says which check finds what.  KUDZU_CHECK_SUPPRESS=blur,scan:12 leaves out the
 * reports of a kernel, or of a line of it.  KUDZU_CHECK_PRINT=0 keeps standard error free of them.
 */
#include <kudzu/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The checks, for KZ_OPTION_CHECK. */
typedef enum kz_check {
	/** "memory": an access that is outside of an allocation, a variable, or the thread's local
	    memory, is to freed memory, or is not aligned.  It also fails the launch, as
	    KZ_FAULT. */
	KZ_CHECK_MEMORY = 1,
	/** "init": a use of memory that nothing has written. */
	KZ_CHECK_INIT = 2,
	/** "race": two accesses to the same bytes, one of them a write, that no barrier, atomic
	    operation with a fence, or operation of the warp orders. */
	KZ_CHECK_RACE = 4,
	/** "sync": a barrier that some threads of a block never come to, a mask that does not name
	    the threads that use it, a deadlock, an asynchronous copy that is read too early. */
	KZ_CHECK_SYNC = 8,
	/** "nan": an instruction that makes NaN or an infinity out of operands that are neither,
	    if its result matters. */
	KZ_CHECK_NAN = 16,
	/** "int": a signed number that does not fit, a shift by all bits or more, a division by
	    zero. */
	KZ_CHECK_INT = 32,
	/** "coalesce": accesses for which a warp touches much more of global memory than it
	    needs. */
	KZ_CHECK_COALESCE = 64,
	/** "bank": accesses for which threads of a warp want different words of one bank of shared
	    memory. */
	KZ_CHECK_BANK = 128
} kz_check;

/** An access, or a thread that waits, that a report is about. */
typedef struct kz_report_side {
	const char *what;   /**< "read of 4 bytes at address 0x10, which is in no allocation" */
	const char *file;   /**< the file of the source; "" if it is not known */
	int32_t line;       /**< from 1; 0 if it is not known */
	int32_t column;     /**< from 1; 0 if it is not known */
	int32_t block[3];   /**< the block's index: x, y, z */
	int32_t thread[3];  /**< the thread's index in the block: x, y, z */
} kz_report_side;

/** What a check has found. */
typedef struct kz_report {
	const char *check;  /**< the check's name, such as "memory" */
	const char *kernel; /**< the kernel's name as in the source, without parameters */
	const char *text;   /**< the whole report, in lines that end with a newline */
	int64_t count;      /**< how often this bug was found */
	int32_t side_count; /**< 2 for a race and other bugs of two places, else 1 */
	kz_report_side sides[2]; /**< first the access at which the bug was noticed */
} kz_report;

/** What kz_device_reports calls. */
typedef void kz_report_fn(void *user, const kz_report *report);

/**
 * Pass each bug that checks have found on CPU devices since the process began to a function.
 *
 * It does not wait for work that is not done yet.  After 1,000 bugs there is one more report, which
 * says that the others were dropped; its count says how often.
 * @param dev a CPU device with a check on.
 * @param each called once for each report, in the order in which they were found.  The texts of
 *        `report` live as long as the call.
 * @param user passed to `each`.
 * @return KZ_OK; KZ_INVALID if `dev` or `each` is NULL; KZ_STATE if no check is on; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_device_reports(kz_device *dev, kz_report_fn *each, void *user,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
