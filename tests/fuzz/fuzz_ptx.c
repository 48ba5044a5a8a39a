/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes through the parser, the checker and the graph builder of PTX.  Kernels that
 * are parsed one by one must be what they are in the whole text.
 */
#include "base/common.h"
#include "cpu/ir/ssa.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/parse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the text is no good this must only not crash. */
static void parse_kernels(const struct ptx_module *whole, bool is_good, const char *text,
	size_t size)
{
	struct ptx_module late;
	struct ptx_diag diag = {.line = 0};
	bool ok = parse_declarations(&late, text, size, hash_of(text, size), &diag);
	assert(ok || !is_good);
	assert(!is_good || (late.func_count == whole->func_count
		&& late.var_count == whole->var_count));
	for (size_t i = late.func_count; i-- > 0;) {
		struct ptx_func *func = late.funcs[i];
		ok = func->late && parse_kernel(&late, func, &diag);
		assert(ok || !func->late || !is_good || diag.no_memory);
		assert(!ok || !is_good || (func->inst_count == whole->funcs[i]->inst_count
			&& func->reg_count == whole->funcs[i]->reg_count
			&& func->param_size == whole->funcs[i]->param_size
			&& func->shared_size == whole->funcs[i]->shared_size
			&& strcmp(func->name, whole->funcs[i]->name) == 0));
	}
	parse_free(&late);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	bool ok = parse_module(&module, (const char *)data, size, &diag)
		&& check_module(&module, &diag);
	parse_kernels(&module, ok && module.is_separable, (const char *)data, size);
	ok = ok && flatten_module(&module, &diag);
	for (size_t i = 0; ok && i < module.func_count; i++) {
		ok = ssa_prepare(&module, module.funcs[i], &diag);
	}
	assert(ok || diag.no_memory || (diag.line > 0 && diag.column > 0));
	parse_free(&module);
	return 0;
}
