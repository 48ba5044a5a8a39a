/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes through the parser, the checker and the graph builder of PTX. */
#include "base/common.h"
#include "cpu/ir/cfg.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/lower.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	bool ok = parse_module(&module, (const char *)data, size, &diag)
		&& check_module(&module, &diag) && flatten_module(&module, &diag);
	for (size_t i = 0; ok && i < module.func_count; i++) {
		ok = lower_func(&module, module.funcs[i], &diag)
			&& cfg_build(&module, module.funcs[i], &diag);
	}
	assert(ok || diag.no_memory || (diag.line > 0 && diag.column > 0));
	parse_free(&module);
	return 0;
}
