/* SPDX-License-Identifier: MIT */
/* A libcuda.so to link programs with, as the CUDA toolkit has one: names without functions. */
#define I(name, since) \
	void name(void); \
	void name(void) {}
#define N(name, since) I(name, since)
#include "cpu/abi/exports.def"
