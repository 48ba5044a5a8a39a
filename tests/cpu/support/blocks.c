/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/support/blocks.h"

#include "base/str.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/lower.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

void blocks_read(struct ptx_module *module, const char *body, bool lowers)
{
	struct ptx_diag diag = {.line = 0};
	struct str text = STR_INIT;
	str_addf(&text, BLOCKS_HEADER "%s\n}\n", body);
	bool ok = parse_module(module, text.data, text.len, &diag) && check_module(module, &diag)
		&& (!lowers || lower_func(module, module->funcs[0], &diag))
		&& cfg_build(module, module->funcs[0], &diag)
		&& cfg_find_live(&module->arena, module->funcs[0], &diag);
	ck_assert_msg(ok, "%d:%d: %s", diag.line, diag.column, diag.message);
	str_free(&text);
}
