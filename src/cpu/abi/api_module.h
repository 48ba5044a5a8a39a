/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_API_MODULE_H
#define CPU_ABI_API_MODULE_H

/* Attributes of a function or of a library's kernel. */
#include "cpu/abi/api.h"
#include "cpu/object/library.h"

CUresult function_get_attribute(const char *call, const struct function *function,
	CUfunction_attribute attribute, int *out);
CUresult function_set_attribute(const char *call, struct function *function,
	CUfunction_attribute attribute, int value);
CUresult function_param_info(const char *call, const struct function *function, size_t index,
	size_t *offset, size_t *size);

#endif
