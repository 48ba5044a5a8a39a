/* SPDX-License-Identifier: MIT */
/*
 * fuzz_count [PROGRAMS [SEED]]: which rows of ptx.def random programs have, of those that PTX says
 * by itself; the rows that none has come last.  Nothing runs.
 */
#include "cpu/random/diff.h"

#include "cpu/ptx/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct counts {
	uint64_t programs[PTX_OP_COUNT];
	uint64_t insts[PTX_OP_COUNT];
	uint64_t guarded[PTX_OP_COUNT];
};

static const char *const names[] = {
#define X(op, spelling, operands, types, mods, kind, emit, note) #op,
#include "cpu/ptx/ptx.def"
#undef X
};

static void count_insts(struct counts *counts, const struct ptx_module *module)
{
	bool seen[PTX_OP_COUNT] = {false};
	for (size_t i = 0; i < module->func_count; i++) {
		const struct ptx_func *func = module->funcs[i];
		for (size_t k = 0; k < func->inst_count; k++) {
			const struct ptx_inst *inst = &func->insts[k];
			counts->insts[inst->op]++;
			counts->guarded[inst->op] += inst->has_guard;
			counts->programs[inst->op] += !seen[inst->op];
			seen[inst->op] = true;
		}
	}
}

static bool count_program(struct counts *counts, const struct diff *diff, uint64_t seed)
{
	struct gen_program program;
	struct str text = STR_INIT;
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	if (!gen_create(&program, seed, &diff->options)) {
		return false;
	}
	gen_print_ptx(&text, &program);
	bool ok = !text.failed && parse_module(&module, text.data, text.len, &diag);
	if (ok) {
		count_insts(counts, &module);
		parse_free(&module);
	} else {
		printf("seed %" PRIu64 ", line %d: %s\n", seed, diag.line, diag.message);
	}
	str_free(&text);
	gen_free(&program);
	return ok;
}

static void report(const struct counts *counts, uint64_t programs)
{
	unsigned rows = 0;
	printf("%-20s %8s %10s %10s\n", "row", "programs", "times", "guarded");
	for (size_t op = 0; op < PTX_OP_COUNT; op++) {
		rows += counts->insts[op] > 0;
		if (counts->insts[op] > 0) {
			printf("%-20s %8" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", names[op],
				counts->programs[op], counts->insts[op], counts->guarded[op]);
		}
	}
	printf("%" PRIu64 " programs have %u rows; none has:", programs, rows);
	for (size_t op = 0; op < PTX_OP_COUNT; op++) {
		if (counts->insts[op] == 0 && !ptx_rows[op].unsupported) {
			printf(" %s", names[op]);
		}
	}
	printf("\n");
}

static void report_refused(const struct diff *diff)
{
	for (size_t i = 0; i < gen_op_count; i++) {
		if (!diff->ops[i]) {
			printf("the device does not take: %s\n", gen_ops[i].ptx);
		}
	}
}

int main(int argc, char **argv)
{
	static struct counts counts;
	uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	struct diff diff;
	bool ok = diff_init(&diff, diff_ptx, GEN_HAS_PTX);
	for (uint64_t i = 0; ok && i < programs; i++) {
		ok = count_program(&counts, &diff, seed + i);
	}
	report_refused(&diff);
	if (ok) {
		report(&counts, programs);
	}
	diff_free(&diff);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
