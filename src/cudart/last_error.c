/* SPDX-License-Identifier: MIT */
/* Errors: the last error of a thread, and the name and the text of each code. */
#include "base/common.h"

#include "cudart/state.h"

API(cudaGetLastError, void)
{
	const cudaError_t code = state.last;
	state_forget();
	return code;
}

API(cudaPeekAtLastError, void)
{
	return state.last;
}

__attribute__((visibility("default"))) const char *cudaGetErrorName(cudaError_t code);
__attribute__((visibility("default"))) const char *cudaGetErrorString(cudaError_t code);

const char *cudaGetErrorName(cudaError_t code)
{
	switch (code) {
#define X(number, name, text)                                                                      \
	case name:                                                                                 \
		return #name;
#include "cudart/errors.def"
#undef X
	default:
		return "unrecognized error code";
	}
}

const char *cudaGetErrorString(cudaError_t code)
{
	switch (code) {
#define X(number, name, text)                                                                      \
	case name:                                                                                 \
		return text;
#include "cudart/errors.def"
#undef X
	default:
		return "unrecognized error code";
	}
}
