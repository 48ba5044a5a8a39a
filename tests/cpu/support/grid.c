/* SPDX-License-Identifier: MIT */
/* See grid.h. */
#include "base/common.h"

#include "grid.h"

#include "cpu/ir/ssa.h"
#include "cpu/ptx/check.h"
#include "cpu/mem/fault.h"
#include "cpu/jit/jit.h"
#include "cpu/ptx/parse.h"
#include "cpu/ir/team.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct grid grid;

static struct pool *pool;
static struct launcher *launcher;

void grid_setup(void)
{
	memcpy(grid.size, (const uint32_t[]){1, 1, 1}, sizeof(grid.size));
	grid.row = 0;
	ck_assert(fault_install());
	ck_assert(pool_create(&pool, 1));
	ck_assert(launcher_create(&launcher, pool));
}

void grid_teardown(void)
{
	pool_release(pool);
	launcher_release(launcher);
	fault_remove();
}

static CUresult launch(const struct jit_kernel *kernel, const struct ptx_func *func,
	const uint32_t block[3])
{
	uint64_t params[1] = {(uintptr_t)grid.memory};
	struct jit_code code = {.kernel = kernel};
	struct launch_request request = {
		.name = "k", .code = &code, .local_size = func->local_size,
		.params = (const uint8_t *)params,
		.grid = {grid.size[0], grid.size[1], grid.size[2]},
		.block = {block[0], block[1], 1},
		.static_shared = (uint32_t)func->shared_size
	};
	return launch_run(launcher, &request, &grid.failure);
}

static unsigned class_of(const struct ptx_func *func, const uint32_t block[3])
{
	return team_is_possible(func) ? team_class_of(block) : block_class_of(block);
}

/* *width 0: the width is chosen; out: what it is. */
static CUresult compile_and_run(uint32_t *width, uint32_t threads, const char *text)
{
	struct ptx_module module = {.version = 0};
	struct ptx_diag diag = {.line = 0};
	struct jit *jit = NULL;
	struct jit_kernel kernel;
	uint32_t row = grid.row ? grid.row : threads;
	const uint32_t block[] = {row, threads / row, 1};
	char number[16];
	snprintf(number, sizeof(number), "%u", *width);
	setenv("KUDZU_CPU_WIDTH", *width > 0 ? number : "", 1);
	bool ok = parse_module(&module, text, strlen(text), &diag)
		&& check_module(&module, &diag) && jit_create(&jit, &module, &diag)
		&& ssa_prepare(&module, module.funcs[0], &diag)
		&& jit_compile(&kernel, jit, module.funcs[0], class_of(module.funcs[0], block),
			JIT_TIER_BEST, &diag);
	ck_assert_msg(ok, "%d:%d: %s", diag.line, diag.column, diag.message);
	ck_assert(*width == 0 || kernel.width == *width);
	*width = kernel.width;
	CUresult result = launch(&kernel, module.funcs[0], block);
	jit_release(jit);
	parse_free(&module);
	return result;
}

static CUresult run_body(uint32_t *width, uint32_t threads, const char *declarations,
	const char *body)
{
	struct str text = STR_INIT;
	str_add(&text, ".version 8.6\n.target sm_100a\n.address_size 64\n");
	grid_add_text(&text, declarations, body);
	ck_assert_ptr_nonnull(text.data);
	CUresult result = compile_and_run(width, threads, text.data);
	str_free(&text);
	return result;
}

CUresult grid_run(uint32_t width, uint32_t threads, const char *declarations, const char *body)
{
	return run_body(&width, threads, declarations, body);
}

CUresult grid_run_chosen(uint32_t *width, uint32_t threads, const char *declarations,
	const char *body)
{
	*width = 0;
	return run_body(width, threads, declarations, body);
}
