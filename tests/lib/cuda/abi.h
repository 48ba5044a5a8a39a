/* SPDX-License-Identifier: MIT */
#ifndef ABI_H
#define ABI_H

/*
 * The same facts seen through two headers that cannot be included together: abi_ours.c includes
 * cuda_abi.h, abi_real.c includes cuda.h, and each makes a table of abi.def.
 */
#include <stddef.h>

struct abi_row {
	const char *name;
	long long value;
};

extern const struct abi_row abi_ours[];
extern const size_t abi_ours_count;
/* Empty where cuda.h is absent, or not of CUDA 13.  An older one lacks rows. */
extern const struct abi_row abi_real[];
extern const size_t abi_real_count;
extern const int abi_real_version;

#define E(name) {#name, (long long)(name)},
#define S(type) {"sizeof " #type, sizeof(type)},
#define F(type, field) {#type "." #field, offsetof(type, field)},
#define ATTRIBUTE(name, number) E(name)
#define RESULT(domain, number, symbol, ...) RESULT_##domain(symbol)
#define RESULT_DRIVER(symbol) E(symbol)
#define RESULT_NVRTC(symbol)
#define RESULT_NVJITLINK(symbol)
#define RESULT_CUBLAS(symbol)
#define RESULT_CUSOLVER(symbol)
#define RESULT_CUFFT(symbol)
#define RESULT_NCCL(symbol)

#endif
