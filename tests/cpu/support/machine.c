/* SPDX-License-Identifier: MIT */
/* See machine.h. */
#include "base/common.h"

#include "machine.h"

#include "cpu/ir/ssa.h"
#include "cpu/ptx/check.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/parse.h"

#include <check.h>
#include <string.h>

struct machine machine;

void machine_open(const char *text)
{
	struct machine *m = &machine;
	memset(m, 0, sizeof(*m));
	bool ok = parse_module(&m->module, text, strlen(text), &m->diag)
		&& check_module(&m->module, &m->diag) && flatten_module(&m->module, &m->diag)
		&& jit_create(&m->jit, &m->module, &m->diag);
	ck_assert_msg(ok, "%d:%d: %s", m->diag.line, m->diag.column, m->diag.message);

	for (uint32_t i = 0; i < 64; i++) {
		m->tid[0][i] = i;
	}
	m->params[0] = (uintptr_t)m->memory;
	m->launch = (struct rt_launch){.params = (uint8_t *)m->params, .globals = m->globals,
		.tid = {m->tid[0], m->tid[1], m->tid[2]}, .ntid = {4, 1, 1}, .nctaid = {1, 1, 1},
		.threads = 4, .calls = &rt_calls};
	m->warp = (struct rt_warp){.launch = &m->launch, .shared = (uint8_t *)m->shared,
		.local = (uint8_t *)m->local, .local_stride = sizeof(m->local), .alive = 1,
		.exchange = m->exchange, .fail = &m->fail};
}

void machine_close(void)
{
	jit_release(machine.jit);
	parse_free(&machine.module);
}

void machine_compile(const char *name)
{
	struct machine *m = &machine;
	for (size_t i = 0; i < m->module.func_count; i++) {
		struct ptx_func *func = m->module.funcs[i];
		if (strcmp(func->name, name) != 0) {
			continue;
		}
		bool ok = ssa_prepare(&m->module, func, &m->diag)
			&& jit_compile(&m->kernel, m->jit, func, BLOCK_CLASS_ANY, JIT_TIER_BEST,
				&m->diag);
		ck_assert_msg(ok, "%s: %d: %s", name, m->diag.line, m->diag.message);
		ck_assert_uint_le(m->kernel.frame_size, sizeof(m->frame[0]));
		return;
	}
	ck_abort_msg("no kernel %s", name);
}

uint32_t machine_resume(uint32_t thread, uint32_t point)
{
	machine.warp.first = thread;
	machine.warp.exchange = &machine.exchange[thread / RT_GROUP];
	machine.warp.exited = 0;
	machine.warp.ready = machine.warp.alive;
	return machine.kernel.run(&machine.warp, machine.frame[thread], point);
}

void machine_run(uint32_t threads, void *memory, size_t size)
{
	struct machine *m = &machine;
	(void)size;
	m->params[0] = (uintptr_t)memory;
	m->launch.ntid[0] = m->launch.threads = threads;
	for (uint32_t i = 0; i < threads; i += m->kernel.width) {
		uint32_t lanes = threads - i < m->kernel.width ? threads - i : m->kernel.width;
		m->warp.alive = lanes == 32 ? ~0u : (1u << lanes) - 1;
		if (machine_resume(i, 0) != RT_DONE) {
			ck_abort_msg("thread %u has not ended", i);
		}
	}
}
