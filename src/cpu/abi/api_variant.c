/* SPDX-License-Identifier: MIT */
/*
 * Kernels compiled for the blocks of other classes (shape.h) than the one that was thought likely when
 * the kernel was asked for: when such blocks are first launched.  A launch finds them without a lock.
 */
#include "base/common.h"

#include "cpu/abi/api_module.h"

#include "base/alloc.h"
#include "cpu/ir/team.h"

static const struct jit_kernel *find_variant(struct function *function, unsigned class)
{
	const struct variant *variant = atomic_load_explicit(&function->variants,
		memory_order_acquire);
	while (variant != NULL && variant->class != class) {
		variant = variant->next;
	}
	return variant != NULL ? &variant->kernel : NULL;
}

static const struct jit_kernel *make_variant(struct function *function, unsigned class,
	struct ptx_diag *diag)
{
	const struct jit_kernel *found = find_variant(function, class);
	struct variant *variant = found == NULL ? mem_zalloc(1, sizeof(*variant)) : NULL;
	if (variant == NULL) {
		if (found == NULL) {
			ptx_no_memory(diag);
		}
		return found;
	}
	if (!jit_compile(&variant->kernel, function->module->jit, function->ptx, class, diag)) {
		mem_free(variant);
		return NULL;
	}
	variant->class = class;
	variant->next = atomic_load_explicit(&function->variants, memory_order_relaxed);
	atomic_store_explicit(&function->variants, variant, memory_order_release);
	return &variant->kernel;
}

static CUresult compile_variant(const char *call, struct function *function, unsigned class,
	const struct jit_kernel **out)
{
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&function->module->lock);
	*out = make_variant(function, class, &diag);
	pthread_mutex_unlock(&function->module->lock);
	return *out != NULL ? CUDA_SUCCESS : fail_ptx(call, &diag, NULL);
}

CUresult function_code(const char *call, struct function *function, const uint32_t block[3],
	const struct jit_kernel **out)
{
	*out = &function->kernel;
	if (function->kernel.width == 1) {
		return CUDA_SUCCESS;
	}
	unsigned class = function->may_team ? team_class_of(block)
		: shape_class_of(block);
	if (class == function->class || (*out = find_variant(function, class)) != NULL) {
		return CUDA_SUCCESS;
	}
	return compile_variant(call, function, class, out);
}

void function_free_code(struct function *function)
{
	struct variant *variant = atomic_load(&function->variants);
	while (variant != NULL) {
		struct variant *next = variant->next;
		mem_free(variant);
		variant = next;
	}
}
