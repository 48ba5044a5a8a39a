/* SPDX-License-Identifier: MIT */
/* A libcuda.so to link programs with, as the CUDA toolkit has one: every function returns
 * CUDA_ERROR_STUB_LIBRARY.  A program needs libcuda.so.1 when it runs. */
#define I(name, since) \
	int name(void); \
	int name(void) { return 34; }
#define N(name, since) I(name, since)
#include "cpu/abi/exports.def"
