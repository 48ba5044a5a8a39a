/* SPDX-License-Identifier: MIT */
/*
 * The part of CUDA's device runtime that cooperative groups need, as PTX.  libcudadevrt.a holds
 * these functions as machine code for GPUs, or as PTX on top of calls into NVIDIA's driver.  So a
 * program that links that library gets these instead.  They do what compiled code of NVRTC does for
 * grid.sync(): thread 0 of each block counts the block at the workspace of the launch, then waits
 * until the upper bit of the count changes.  All are weak, so a program may have its own.
 */
#include "base/common.h"

#include "cpu/ptx/ptx_link.h"

#include "cpu/ptx/link_host.h"

#include <string.h>

/* %rd1 becomes the workspace of the launch, which is the handle of the grid; 0 of a launch that is
 * not cooperative.  %p1: the handle in %rd2 is another one. */
#define CHECK_HANDLE \
	"	mov.u32 %r1, %envreg2;\n	mov.u32 %r2, %envreg1;\n" \
	"	mov.b64 %rd1, {%r1, %r2};\n" \
	"	setp.ne.u64 %p1, %rd1, %rd2;\n	setp.eq.or.u64 %p1, %rd2, 0, %p1;\n"

/* The product of x, y and z of a special register. */
#define PRODUCT(to, name) \
	"	mov.u32 " to ", %" name ".x;\n	mov.u32 %r9, %" name ".y;\n" \
	"	mul.lo.u32 " to ", " to ", %r9;\n" \
	"	mov.u32 %r9, %" name ".z;\n	mul.lo.u32 " to ", " to ", %r9;\n"

/* The number of a thread in its block, or of a block in its grid: of `at` within `all`. */
#define NUMBER(to, at, all) \
	"	mov.u32 " to ", %" at ".z;\n	mov.u32 %r8, %" all ".y;\n" \
	"	mov.u32 %r9, %" at ".y;\n" \
	"	mad.lo.u32 " to ", " to ", %r8, %r9;\n	mov.u32 %r8, %" all ".x;\n" \
	"	mov.u32 %r9, %" at ".x;\n	mad.lo.u32 " to ", " to ", %r8, %r9;\n"

#define REGISTERS "	.reg .b64 %rd<5>;\n	.reg .b32 %r<10>;\n	.reg .pred %p<3>;\n"

#define SYNC(name) \
	".weak .func (.param .b32 result) " name "(.param .b64 handle, .param .b32 flags)\n" \
	"{\n" REGISTERS \
	"	ld.param.u64 %rd2, [handle];\n" CHECK_HANDLE \
	"	@%p1 bra BAD;\n	bar.sync 0;\n" NUMBER("%r3", "tid", "ntid") \
	"	setp.ne.u32 %p1, %r3, 0;\n	@%p1 bra MET;\n" \
	NUMBER("%r4", "ctaid", "nctaid") PRODUCT("%r5", "nctaid") \
	"	sub.u32 %r5, 0x80000001, %r5;\n	setp.eq.u32 %p1, %r4, 0;\n" \
	"	selp.u32 %r5, %r5, 1, %p1;\n" \
	"	atom.add.release.gpu.u32 %r6, [%rd1+4], %r5;\n" \
	"WAIT:\n	ld.acquire.gpu.u32 %r7, [%rd1+4];\n	xor.b32 %r7, %r7, %r6;\n" \
	"	setp.ge.s32 %p1, %r7, 0;\n	@%p1 bra WAIT;\n" \
	"MET:\n	bar.sync 0;\n	st.param.b32 [result], 0;\n	ret;\n" \
	"BAD:\n	st.param.b32 [result], 999;\n	ret;\n}\n"

/* Results that the caller does not want are NULL: of %r3 in all, and %r4, the only grid. */
#define QUERY(name, compute) \
	".weak .func (.param .b32 result) " name "(.param .b64 threads, .param .b64 grids," \
	" .param .b64 handle)\n{\n" REGISTERS \
	"	ld.param.u64 %rd2, [handle];\n" CHECK_HANDLE \
	"	ld.param.u64 %rd3, [threads];\n	ld.param.u64 %rd4, [grids];\n" compute \
	"	mov.u32 %r5, 0;\n" \
	"	@!%p1 bra GOOD;\n	mov.u32 %r3, 0;\n	mov.u32 %r4, 0;\n" \
	"	mov.u32 %r5, 999;\n" \
	"GOOD:\n	st.param.b32 [result], %r5;\n" \
	"	setp.eq.u64 %p2, %rd3, 0;\n	@%p2 bra GRIDS;\n	st.u32 [%rd3], %r3;\n" \
	"GRIDS:\n	setp.eq.u64 %p2, %rd4, 0;\n	@%p2 bra DONE;\n" \
	"	st.u32 [%rd4], %r4;\n" \
	"DONE:\n	ret;\n}\n"

static const char runtime[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
	".weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
	REGISTERS
	"	ld.param.u32 %r3, [scope];\n	mov.u64 %rd2, 0;\n" CHECK_HANDLE
	"	setp.eq.u32 %p1, %r3, 1;\n	selp.u64 %rd1, %rd1, 0, %p1;\n"
	"	st.param.b64 [result], %rd1;\n	ret;\n}\n"
	SYNC("cudaCGSynchronize")
	SYNC("cudaCGSynchronizeGrid")
	QUERY("cudaCGGetSize",
		PRODUCT("%r3", "ntid") PRODUCT("%r4", "nctaid") "	mul.lo.u32 %r3, %r3, %r4;\n"
		"	mov.u32 %r4, 1;\n")
	QUERY("cudaCGGetRank",
		NUMBER("%r4", "ctaid", "nctaid") PRODUCT("%r3", "ntid") NUMBER("%r5", "tid", "ntid")
		"	mad.lo.u32 %r3, %r4, %r3, %r5;\n	mov.u32 %r4, 0;\n");

enum link_status linker_add_runtime(struct linker *linker, struct ptx_diag *diag,
	struct str *errors)
{
	return linker_add(linker, runtime, sizeof(runtime) - 1, "libcudadevrt.a", diag, errors);
}

/* nvcc -rdc for PTX alone hands it to the program as one of its parts.  Its calls into NVIDIA's
 * driver tell it from all other texts. */
bool link_is_runtime_text(const char *text, size_t size)
{
	static const char call[] = "__cuda_syscall_CGS_get_intrinsic_handle";
	return memmem(text, size, call, strlen(call));
}

/* --- libcudadevrt.a --- */

bool link_is_runtime(const char *data, size_t size)
{
	static const char object[] = "cuda_device_runtime.o/";
	struct link_member member;
	for (size_t at = 0; link_next_member(data, size, &at, &member);) {
		// Names that are this long are in a member of their own.
		if (strncmp(member.name, "// ", 3) == 0
		    && memmem(member.data, member.size, object, strlen(object))) {
			return true;
		}
	}
	return false;
}
