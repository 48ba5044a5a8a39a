/* SPDX-License-Identifier: MIT */
/*
 * Our own device code, kernels/NAME.cuh, as strings in the library.
 *
 * The assembler includes the files; the build runs in the folder that has kernels/.
 */
#include "base/common.h"

#include "lib/ops/device_code.h"

#define X(name) \
	__asm__(".section .rodata\n" \
		".hidden device_" #name "\n.globl device_" #name "\ndevice_" #name ":\n" \
		".incbin \"kernels/" #name ".cuh\"\n.byte 0\n.text\n");
DEVICE_CODE(X)
#undef X
