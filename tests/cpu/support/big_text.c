/* SPDX-License-Identifier: MIT */
/* Big PTX texts, and modules as text; see big_text.h. */
#include "big_text.h"

#include "base/file.h"
#include "base/str.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/ptx/parse.h"
#include "support/store_folder.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

char big_text[BIG_TEXT_SIZE];

void big_setup(void)
{
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	setup();
}

void big_teardown(void)
{
	teardown();
	store_folder_remove();
}

const char big_globals[] =
	".visible .global .align 4 .u32 step = 7;\n"
	".shared .align 4 .b32 common[16];\n"
	".func (.param .b32 r) twice(.param .b32 x)\n"
	"{ .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, %a; st.param.b32 [r], %a; ret; }\n";

/* Writes 2 * (number + step) to where the parameter says, by way of a call and shared memory. */
static void write_kernel(struct str *out, int number)
{
	str_addf(out, "// kernel { %d\n.visible .entry k%d(.param .u64 p)\n{\n"
		".reg .b32 %%r<4>; .reg .b64 %%d<2>; .reg .pred %%q; .local .b32 spare[%d];\n"
		".loc 1 %d 3\n ld.param.u64 %%d1, [p];\n ld.global.u32 %%r1, [step];\n"
		"  add.s32 %%r1, %%r1, %d; st.shared.u32 [common+4], %%r1;\n"
		"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %%r1;\n"
		"call (b), twice, (a); ld.param.b32 %%r2, [b]; }\n"
		"setp.eq.u32 %%q, %%r2, 0; @%%q bra later;\nst.global.u32 [%%d1], %%r2;\n"
		"later: ret;\n}\n", number, number, number + 1, number + 10, number);
}

/* With a comment that makes it big. */
const char *big_write(int count, const char *behind)
{
	struct str out = STR_INIT;
	str_add(&out, BIG_HEAD);
	str_add(&out, big_globals);
	for (int i = 0; i < count; i++) {
		write_kernel(&out, i);
	}
	str_add(&out, behind);
	str_addf(&out, "// %070000d\n", 0);
	ck_assert_uint_lt(out.len, sizeof(big_text));
	memcpy(big_text, out.data, out.len + 1);
	str_free(&out);
	return big_text;
}

static void tell_operand(struct str *out, const struct ptx_operand *o)
{
	const char *name = o->kind == PTX_ADDRESS && o->var ? o->var->name
		: o->kind == PTX_FUNC ? o->func->name : o->kind == PTX_LABEL ? o->label : "-";
	str_addf(out, " (%d %d%d%d%d '%s' %u %u %d %u %lld %llx %s", o->kind, o->negated, o->minus,
		o->bracketed, o->has_base, o->select, o->reg, o->reg2, (int)o->sreg,
		o->real_width, (long long)o->value,
		(unsigned long long)(o->kind == PTX_FLOAT ? o->real_bits : 0), name);
	for (size_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++) {
		tell_operand(out, &o->elements[i]);
	}
	str_addc(out, ')');
}

static void tell_vars(struct str *out, struct ptx_var *const *vars, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		str_addf(out, "%s: %d %d %zu %zu at %zu, line %d\n", vars[i]->name, vars[i]->space,
			vars[i]->type, vars[i]->size, vars[i]->align, vars[i]->offset,
			vars[i]->line);
	}
}

void big_tell(struct str *out, const struct ptx_func *func)
{
	str_addf(out, "%zu %s line %d: %zu %zu %zu %d, %u %u\n", func->index, func->name,
		func->line, func->param_size, func->local_size, func->shared_size,
		func->uses_dynamic_shared, func->max_ntid[0], func->req_ntid[0]);
	tell_vars(out, func->params, func->param_count);
	tell_vars(out, func->vars, func->var_count);
	for (size_t i = 0; i < func->reg_count; i++) {
		str_addf(out, "%s %d\n", func->regs[i].name, func->regs[i].type);
	}
	for (size_t i = 0; i < func->label_count; i++) {
		str_addf(out, "%s %zu\n", func->labels[i].name, func->labels[i].inst);
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		str_addf(out, "%d:%d %s %d %d%d %u %d:%d", inst->line, inst->column, inst->text,
			inst->space, inst->has_guard, inst->guard_negated, inst->guard,
			inst->loc ? inst->loc->file : 0, inst->loc ? inst->loc->line : 0);
		for (size_t k = 0; k < inst->operand_count; k++) {
			tell_operand(out, &inst->operands[k]);
		}
		str_addc(out, '\n');
	}
}

void big_parse(struct ptx_module *out, const char *ptx, size_t size)
{
	struct ptx_diag diag = {0};
	ck_assert_msg(parse_module(out, ptx, size, &diag), "%d: %s", diag.line, diag.message);
}

/* What NVRTC makes of the sources in tests/data/cuda, as far as the parser takes it: the sum of
 * what `count` says of each; *files: how many there are. */
size_t big_sum_of_files(size_t (*count)(const char *ptx, size_t size), size_t *files)
{
	glob_t found = {.gl_pathc = 0};
	size_t sum = 0;
	*files = 0;
	ck_assert_int_eq(glob(KZ_TEST_PTX "/*.75.ptx", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *data = NULL;
		size_t size;
		struct ptx_module module;
		struct ptx_diag diag;
		ck_assert_int_eq(file_read(&data, &size, found.gl_pathv[i], NULL), KZ_OK);
		if (parse_module(&module, data, size, &diag)) {
			parse_free(&module);
			sum += count(data, size);
			++*files;
		}
		mem_free(data);
	}
	globfree(&found);
	return sum;
}

CUmodule big_load(const char *ptx)
{
	CUmodule module = NULL;
	OK(cuModuleLoadData(&module, ptx));
	return module;
}

/* What kernel `number` computes. */
uint32_t big_run(CUmodule module, int number)
{
	char name[16];
	uint32_t value = 0;
	CUdeviceptr at = alloc(sizeof(value));
	void *params[] = {&at};
	snprintf(name, sizeof(name), "k%d", number);
	OK(cuLaunchKernel(kernel(module, name), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(&value, at, sizeof(value)));
	OK(cuMemFree_v2(at));
	return value;
}

bool big_is_known(const char *ptx)
{
	return kernel_cache_has_text(strlen(ptx), hash_of(ptx, strlen(ptx)));
}
