/* SPDX-License-Identifier: MIT */
#ifndef BASE_KUDZU_ABI_H
#define BASE_KUDZU_ABI_H

/* What our own driver adds to the binary interface of CUDA. */
#include "base/cuda_abi.h"

#include <stdatomic.h>
#include <stdint.h>

/* The first device of our own driver, 16 bytes.  Those of the others differ from it in the last
 * byte only. */
#define CU_DEVICE_UUID_KUDZU "kudzu-cpu-device"
#define CU_DEVICE_UUID_KUDZU_SAME 15
/* Not NVIDIA's, whose drivers call them invalid values: 1 from a device that runs PTX only; the
 * version of the LLVM that makes its code, 190107 is 19.1.7; how wide the gaps around memory that
 * kernels address can be, in KiB, and what that is where addresses are not scarce; the checks that
 * are on, a set (checks.h): each array wants an allocation of its own then. */
#define CU_DEVICE_ATTRIBUTE_KUDZU_PTX_ONLY ((CUdevice_attribute)0x4B5A0001)
#define CU_DEVICE_ATTRIBUTE_KUDZU_LLVM_VERSION ((CUdevice_attribute)0x4B5A0002)
#define CU_DEVICE_ATTRIBUTE_KUDZU_GAP ((CUdevice_attribute)0x4B5A0003)
#define CU_DEVICE_KUDZU_GAP_WIDE (16 << 20)
#define CU_DEVICE_ATTRIBUTE_KUDZU_CHECKS ((CUdevice_attribute)0x4B5A0004)

/* The time limit of kernels, in nanoseconds; 0: none.  The limit of cuCtxSetLimit is the device's,
 * as KUDZU_CPU_TIMEOUT sets it, for launches that begin from then on, until its last context ends.
 * The attribute of cuLaunchKernelEx is for one launch, a uint64_t at the start of its value; of
 * both limits the lower one counts.  A kernel that runs longer fails with LAUNCH_TIMEOUT. */
#define CU_LIMIT_KUDZU_TIMEOUT ((CUlimit)0x4B5A0001)
#define CU_LAUNCH_ATTRIBUTE_KUDZU_TIMEOUT ((CUlaunchAttributeID)0x4B5A0001)

/* The flags of cuLogsDumpToMemory by which our driver writes one line: the newest that the calling
 * thread has logged since it asked last.  The iterator is left alone. */
#define CU_LOGS_KUDZU_OWN 0x4B5A0001u

/* What a check of kernels has found (KUDZU_CHECK): one place, or two, as of a race.  The texts live
 * as long as the driver. */
#define KUDZU_REPORT_SIDES 2
struct kudzu_report_side {
	const char *what;      /* "read of 4 bytes at address 0x10, which is in no allocation" */
	const char *file;      /* empty: it is not known */
	int line, column;
	uint32_t block[3], thread[3];
};
struct kudzu_report {
	const char *check;     /* "memory" */
	const char *kernel;
	const char *text;      /* all of it, in lines, as a compiler would write it */
	int side_count;
	struct kudzu_report_side sides[KUDZU_REPORT_SIDES];
	uint64_t count;        /* how often it was found */
};

/* What an allocation holds, for reports. */
struct kudzu_array {
	char dtype[16];        /* "float32" */
	uint32_t element_size;
	int32_t ndim;
	int64_t dims[16];
};

/* A device as NVML asks for it: by its number, whether CUDA_VISIBLE_DEVICES hides it or not. */
struct kudzu_device {
	CUuuid uuid;
	char name[128];
	uint64_t memory, used; /* bytes */
	uint32_t cores;
	int major, minor;      /* compute capability */
	int clock;             /* kHz */
	int has_context;       /* of this process */
};

/* The private table of our driver: cuGetExportTable gives it for the UUID of its device.  What
 * kernels print goes to standard output, and what fails of their assertions to standard error,
 * until set_output names a function.  That is called by one thread at a time, which waits for
 * nothing, and not any more when another call of set_output has returned.  flush_output: flush what
 * kernels printed to standard output; 0, or the errno of text that was lost since it was asked
 * last.  There is something to ask for once *has_output, which stays true.  set_limits: 1 and 0 as
 * KUDZU_CPU_LIMITS on and off, -1 as the variable says.  module_size: the bytes that a module
 * takes, but for its variables.  name_array: an allocation that begins there is an array.
 * describe_device: 0 if there is no device of this number.  It needs no cuInit and changes nothing:
 * a process that has asked can still fork and use the driver in its children. */
enum { KUDZU_OUTPUT_PRINTF, KUDZU_OUTPUT_ASSERT };
typedef void kudzu_output_fn(void *user, int kind, const char *text, size_t size);
struct kudzu_exports {
	CUresult (*set_output)(CUcontext context, kudzu_output_fn *function, void *user);
	CUresult (*set_limits)(int value);
	size_t (*module_size)(CUmodule module);
	int (*flush_output)(CUcontext context);
	const atomic_bool *has_output;
	size_t (*list_reports)(struct kudzu_report *out, size_t most);
	CUresult (*set_checks)(unsigned checks);
	void (*name_array)(CUcontext context, CUdeviceptr address,
		const struct kudzu_array *array);
	int (*describe_device)(unsigned number, struct kudzu_device *out);
};

/* Our own: bytes of machine code of a kernel, how many of its threads each call of that runs,
 * whether it was compiled with care (1) or, since it is big, in a hurry (2), and the microseconds
 * that this took, or to read it from the cache; 0 before that. */
#define CU_FUNC_ATTRIBUTE_KUDZU_CODE_SIZE ((CUfunction_attribute)0x4B5A0001)
#define CU_FUNC_ATTRIBUTE_KUDZU_WIDTH ((CUfunction_attribute)0x4B5A0002)
#define CU_FUNC_ATTRIBUTE_KUDZU_TIER ((CUfunction_attribute)0x4B5A0003)
#define CU_FUNC_ATTRIBUTE_KUDZU_COMPILE_US ((CUfunction_attribute)0x4B5A0004)

#endif
