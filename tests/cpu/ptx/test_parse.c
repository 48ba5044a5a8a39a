/* SPDX-License-Identifier: MIT */
/* src/cpu/parse*.c: what a module looks like once it is parsed. */
#include "base/alloc.h"
#include "base/common.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER ".version 9.0\n.target sm_89\n.address_size 64\n"

static struct ptx_module module;

static void teardown(void)
{
	parse_free(&module);
}

static void parse(const char *text)
{
	struct ptx_diag diag;
	ck_assert_msg(parse_module(&module, text, strlen(text), &diag), "%d:%d: %s", diag.line,
		diag.column, diag.message);
}

static struct ptx_func *parse_one_kernel(const char *body)
{
	char text[2048];
	snprintf(text, sizeof(text), HEADER ".visible .entry k(.param .u64 p, .param .u8 q)\n{\n"
		"%s\n}\n", body);
	parse(text);
	ck_assert_uint_ge(module.func_count, 1);
	return module.funcs[module.func_count - 1];
}

START_TEST(parse_reads_version_target_and_files)
{
	parse(".version 8.5\n.target sm_90a, debug\n.address_size 64\n.file 2 \"k.cu\", 1, 2\n");
	ck_assert_int_eq(module.version, 85);
	ck_assert_int_eq(module.target, 90);
	ck_assert_uint_eq(module.file_count, 3);
	ck_assert_ptr_null(module.files[1]);
	ck_assert_str_eq(module.files[2], "k.cu");
}
END_TEST

/* ptxas of CUDA 12.9 and 13.0 takes these up to PTX 3.1, and refuses them from 3.2 on. */
START_TEST(parse_rounds_old_sums_of_products_to_nearest)
{
	static const char *const forms[] = {"mad.f32", "mad.ftz.f32", "mad.sat.f32",
		"mad.ftz.sat.f32"};
	static const char *const versions[] = {"1.4", "2.3", "3.1", "3.2"};
	for (size_t i = 0; i < countof(forms) * countof(versions); i++) {
		const char *form = forms[i % countof(forms)];
		const char *version = versions[i / countof(forms)];
		char text[400];
		struct ptx_diag diag = {0};
		snprintf(text, sizeof(text), ".version %s\n.target sm_13\n.entry k ()\n{\n"
			".reg .f32 %%f;\n%s %%f, %%f, %%f, %%f;\nret;\n}\n", version, form);
		const bool ok = parse_module(&module, text, strlen(text), &diag);
		ck_assert_msg(ok == (strcmp(version, "3.2") != 0), "%s: %s", version, diag.message);
		if (ok) {
			const struct ptx_inst *inst = &module.funcs[0]->insts[0];
			const bool has_ftz = strstr(form, "ftz"), has_sat = strstr(form, "sat");
			ck_assert_int_eq(inst->op, PTX_OP_FMAD);
			ck_assert(ptx_has(&inst->mods, PTX_MOD_RN));
			ck_assert_int_eq(ptx_has(&inst->mods, PTX_MOD_FTZ), has_ftz);
			ck_assert_int_eq(ptx_has(&inst->mods, PTX_MOD_SAT), has_sat);
		}
		parse_free(&module);
	}
}
END_TEST

START_TEST(parse_lays_out_parameters_at_their_own_alignment)
{
	static const size_t offsets[] = {0, 8, 16, 40}, sizes[] = {1, 4, 24, 8};
	parse(HEADER ".entry k(.param .u8 a, .param .align 8 .f32 b, .param .align 16 .b8 c[24],\n"
		".param .u64 .ptr .global .align 4 d)\n"
		".maxntid 64, 2 .reqntid 8 .minnctapersm 2 .maxnreg 40 { }");
	const struct ptx_func *func = module.funcs[0];
	ck_assert_uint_eq(func->param_count, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(func->params[i]->offset, offsets[i]);
		ck_assert_uint_eq(func->params[i]->size, sizes[i]);
	}
	ck_assert_uint_eq(func->param_size, 48);
	ck_assert_uint_eq(func->max_ntid[1], 2);
	ck_assert_uint_eq(func->max_ntid[2], 1);
	ck_assert_uint_eq(func->req_ntid[0], 8);
	ck_assert_uint_eq(func->max_registers, 40);
}
END_TEST

START_TEST(parse_makes_only_the_registers_that_are_used)
{
	const struct ptx_func *func = parse_one_kernel(".reg .b32 %r<4000000000>, %x;\n"
		".reg .f32 t1<3>;\nmov.b32 %r3999999999, %r0; mov.f32 t12, t10;");
	ck_assert_uint_eq(func->reg_count, 5);
	ck_assert_str_eq(func->regs[1].name, "%r3999999999");
	ck_assert_int_eq(func->regs[1].type, PTX_B32);
	ck_assert_str_eq(func->regs[3].name, "t12");
	ck_assert_int_eq(func->regs[3].type, PTX_F32);
}
END_TEST

START_TEST(parse_takes_a_register_from_the_range_with_the_longest_name)
{
	const struct ptx_func *func = parse_one_kernel(".reg .b32 %r<20>;\n.reg .b64 %r1<5>;\n"
		"mov.b64 %r12, 1; mov.b32 %r17, 1;\n"
		"{ .reg .f64 %r<13>;\n mov.f64 %r12, 0d0000000000000000; mov.b32 %r13, 1; }\n"
		"mov.b64 %r12, 2;");
	static const char names[][8] = {"%r12", "%r17", "%r12", "%r13"};
	static const enum ptx_type types[] = {PTX_B64, PTX_B32, PTX_F64, PTX_B64};
	ck_assert_uint_eq(func->reg_count, countof(names));
	for (size_t i = 0; i < countof(names); i++) {
		ck_assert_str_eq(func->regs[i].name, names[i]);
		ck_assert_int_eq(func->regs[i].type, types[i]);
	}
	ck_assert_uint_eq(func->insts[4].operands[0].reg, 0);
}
END_TEST

static const char *const no_registers[] = {"%r20", "%r01", "%r", "%r1x", "%r00", "%r12345678901",
	"%s1"};

START_TEST(parse_knows_what_is_no_register_of_a_range)
{
	char text[512];
	struct ptx_diag diag;
	snprintf(text, sizeof(text), HEADER ".entry k()\n{\n.reg .b32 %%r<20>;\n"
		"mov.b32 %%r1, %s;\n}\n", no_registers[_i]);
	ck_assert(!parse_module(&module, text, strlen(text), &diag));
	ck_assert_ptr_nonnull(strstr(diag.message, "unknown register"));
}
END_TEST

START_TEST(parse_keeps_the_names_of_inner_scopes_apart)
{
	const struct ptx_func *func = parse_one_kernel(".reg .b32 a;\nmov.b32 a, 1;\n"
		"{ .reg .f64 a; mov.f64 a, a; bra x; x: }\n{ x: bra x; }\nmov.b32 a, 2;");
	ck_assert_uint_eq(func->reg_count, 2);
	ck_assert_uint_eq(func->insts[1].operands[0].reg, 1);
	ck_assert_uint_eq(func->insts[4].operands[0].reg, 0);
	ck_assert_uint_eq(func->insts[2].operands[0].reg, 0);
	ck_assert_uint_eq(func->insts[3].operands[0].reg, 1);
	ck_assert_uint_eq(func->labels[0].inst, 3);
	ck_assert_uint_eq(func->labels[1].inst, 3);
}
END_TEST

START_TEST(parse_understands_each_form_of_address)
{
	static const struct {
		const char *text;
		bool base, variable;
		int64_t value;
	} forms[] = {{"[%rd1]", true, false, 0}, {"[%rd1+8]", true, false, 8},
		{"[%rd1+-8]", true, false, -8}, {"[%rd1-8]", true, false, -8},
		{"[v+0x10]", false, true, 16}, {"[64]", false, false, 64}};
	char body[200];
	for (size_t i = 0; i < countof(forms); i++) {
		snprintf(body, sizeof(body), ".global .u32 v; .reg .b32 %%r<2>; .reg .b64 %%rd<2>;"
			"ld.global.u32 %%r1, %s;", forms[i].text);
		const struct ptx_operand *o = &parse_one_kernel(body)->insts[0].operands[1];
		ck_assert_int_eq(o->kind, PTX_ADDRESS);
		ck_assert(o->bracketed && o->has_base == forms[i].base);
		ck_assert_int_eq(o->var != NULL, forms[i].variable);
		ck_assert_int_eq(o->value, forms[i].value);
		parse_free(&module);
	}
}
END_TEST

START_TEST(parse_reads_the_parts_of_an_instruction)
{
	const struct ptx_func *func = parse_one_kernel(".reg .pred %p<4>; .reg .b32 %r<9>;\n"
		".loc 1 42 3, function_name $f, inlined_at 1 5 2\n"
		"\t@!%p1 setp.lt.and.s32 %p2|_, %r1, -5, !%p3;");
	const struct ptx_inst *inst = &func->insts[0];
	ck_assert_int_eq(inst->op, PTX_OP_SETP);
	ck_assert_str_eq(inst->text, "setp.lt.and.s32");
	ck_assert(ptx_has(&inst->mods, PTX_MOD_LT) && ptx_has(&inst->mods, PTX_MOD_AND));
	ck_assert_int_eq(inst->types[0], PTX_S32);
	ck_assert(inst->has_guard && inst->guard_negated);
	ck_assert_int_eq(inst->operands[0].kind, PTX_PAIR);
	ck_assert_int_eq(inst->operands[2].value, -5);
	ck_assert(inst->operands[3].negated);
	ck_assert_int_eq(inst->line, 8);
	ck_assert_int_eq(inst->column, 8);
	ck_assert_int_eq(inst->loc->line, 42);
}
END_TEST

START_TEST(parse_finds_the_calls_that_a_place_is_inlined_at)
{
	const struct ptx_func *func = parse_one_kernel(".loc 1 5 2\n"
		".loc 1 9 3, function_name $outer, inlined_at 1 5 2\n"
		".loc 1 12 4, function_name $outer+6, inlined_at 1 9 3\n\tret;\n"
		".loc 1 5 2\n\tret;\n"
		".loc 1 7 1, function_name $other, inlined_at 1 6 1\n\tret;\n"
		"}\n.section .debug_str { $outer: .b8 111,117,116,101,114,0,105\n.b8 110,0");
	const struct ptx_loc *in = func->insts[0].loc, *out = in->at;
	ck_assert_int_eq(in->line, 12);
	ck_assert_str_eq(ptx_loc_function(&module, in), "in");
	ck_assert_int_eq(out->line, 9);
	ck_assert_str_eq(ptx_loc_function(&module, out), "outer");
	ck_assert_ptr_eq(out->at, func->insts[1].loc);
	ck_assert(!out->at->at && !out->at->function);
	ck_assert_int_eq(func->insts[2].loc->at->line, 6); // never an instruction's
	ck_assert_ptr_null(ptx_loc_function(&module, func->insts[2].loc));
}
END_TEST

START_TEST(parse_reads_sections_as_bytes_and_addresses)
{
	parse(HEADER ".section .debug_x { .b8 1, 255\n$a: .b32 .debug_y+258, 7\n.b64 v\n }\n"
		".section .debug_y { .b16 513 }\n"
		".section .odd { .b32 $b-$a .b8 1 { } }\n.global .u32 v;");
	ck_assert_uint_eq(module.section_count, 2); // without .odd
	ck_assert_ptr_null(ptx_section_find(&module, ".odd"));
	const struct ptx_section *x = ptx_section_find(&module, ".debug_x");
	const struct ptx_section *y = ptx_section_find(&module, ".debug_y");
	ck_assert(y->size == 2 && y->bytes[0] == 1 && y->bytes[1] == 2);
	ck_assert_uint_eq(x->size, 18);
	ck_assert(x->bytes[1] == 255 && x->bytes[6] == 7);
	ck_assert(x->mark_count == 1 && x->marks[0].offset == 2);
	ck_assert_str_eq(x->marks[0].name, "$a");
	ck_assert_uint_eq(x->use_count, 2);
	ck_assert(x->uses[0].offset == 2 && x->uses[0].size == 4 && x->uses[0].addend == 258);
	ck_assert_str_eq(x->uses[0].name, ".debug_y");
	ck_assert(x->uses[1].offset == 10 && x->uses[1].size == 8);
}
END_TEST

START_TEST(parse_takes_the_sign_into_the_bits_of_a_float)
{
	const struct ptx_func *func = parse_one_kernel(".reg .f32 %f<2>;\n"
		"add.f32 %f1, -0f3F800000, 0f7FC00001;");
	const struct ptx_operand *operands = func->insts[0].operands;
	ck_assert_uint_eq(operands[1].real_bits, 0xbf800000);
	ck_assert_double_eq(operands[1].real, -1.0);
	ck_assert_uint_eq(operands[2].real_bits, 0x7fc00001);
}
END_TEST

/* What an operand is that stands for a number, by the rules of PTX ISA 4.5. */
static const struct {
	const char *text;
	int64_t value;
} expressions[] = {
	{"1+2*3", 7}, {"(1+2)*3", 9}, {"10-4-3", 3}, {"(1<<5)-1", 31}, {"1<<5-1", 16},
	{"-7/2", -3}, {"-7 % 3", (int64_t)((UINT64_MAX - 6) % 3)},
	{"(.u64)-7/2", INT64_MAX - 3}, {"7U-8>0", 1}, {"7-8>0", 0}, {"-8>>1", -4},
	{"(.u64)-8>>60", 15}, {"0x10&~3", 16}, {"6|1^3&2", 7}, {"!5", 0}, {"!0", 1}, {"!!7", 1},
	{"~0", -1}, {"- -5", 5}, {"+5", 5}, {"3==3?7:9", 7}, {"0?1:0?2:3", 3}, {"2&&0||1", 1},
	{"1.5>1.0", 1}, {"1.5+1.5!=3.0", 0}, {"WARP_SZ*2", 64}, {"(((1)))", 1},
	{"0x8000000000000000>0", 1}, {"1<<64", 0}, {"-1>>64", -1},
	{"0x8000000000000000/(.u64)-1", 0}, {"(-9223372036854775807-1)/-1", INT64_MIN},
	{"5>3", 1}, {"4>=5", 0}, {"4<=4", 1}, {"4<5", 1}, {"4!=5", 1}, {"1>0?-1:1U", -1},
};

START_TEST(parse_evaluates_constant_expressions)
{
	char body[128];
	snprintf(body, sizeof(body), ".reg .b64 %%r; mov.b64 %%r, %s;", expressions[_i].text);
	const struct ptx_func *func = parse_one_kernel(body);
	ck_assert_int_eq(func->insts[0].operands[1].kind, PTX_INT);
	ck_assert_int_eq(func->insts[0].operands[1].value, expressions[_i].value);
}
END_TEST

START_TEST(parse_evaluates_expressions_of_doubles)
{
	const struct ptx_func *func = parse_one_kernel(".reg .f64 %r<2>;\n"
		"fma.rn.f64 %r1, -(1.5*4.0), .5+.25, 1?2.0:1;");
	static const double values[] = {-6.0, 0.75, 2.0};
	for (size_t i = 0; i < 3; i++) {
		const struct ptx_operand *o = &func->insts[0].operands[1 + i];
		double bits;
		memcpy(&bits, &o->real_bits, sizeof(bits));
		ck_assert_int_eq(o->kind, PTX_FLOAT);
		ck_assert_double_eq(o->real, values[i]);
		ck_assert_double_eq(bits, values[i]);
	}
}
END_TEST

START_TEST(parse_takes_products_in_addresses)
{
	const struct ptx_func *func = parse_one_kernel(".reg .b64 %a; .reg .b32 %r;\n"
		"ld.b32 %r, [%a+2*(3+1)-4*-1];");
	ck_assert_int_eq(func->insts[0].operands[1].value, 12);
}
END_TEST

START_TEST(parse_puts_dynamic_shared_memory_behind_the_static_part)
{
	parse(HEADER ".shared .align 4 .b8 a[6]; .shared .align 8 .b8 unused[64];\n"
		".extern .shared .align 32 .b8 dyn[];\n"
		".entry k() { .shared .f64 b; .local .align 16 .b8 l[24]; .local .u8 m;\n"
		".reg .b32 %r<4>; mov.u32 %r1, b; mov.u32 %r2, a; mov.u32 %r3, dyn; }\n"
		".entry other() { .reg .b32 %r<2>; mov.u32 %r1, a; }");
	const struct ptx_func *func = module.funcs[0];
	ck_assert_uint_eq(func->insts[0].operands[1].var->offset, 0);
	ck_assert_uint_eq(func->insts[1].operands[1].var->offset, 8);
	ck_assert_uint_eq(func->insts[2].operands[1].var->offset, 32);
	ck_assert_uint_eq(func->shared_size, 32);
	ck_assert(func->uses_dynamic_shared);
	ck_assert_uint_eq(func->local_size, 32);
	ck_assert_uint_eq(module.funcs[1]->shared_size, 6);
	ck_assert(!module.funcs[1]->uses_dynamic_shared);
}
END_TEST

static const struct {
	const char *text;
	size_t size;
	const char *bytes; /* hex of the first ones */
} initializers[] = {
	{".global .u16 v = 0x1234;", 2, "3412"},
	{".global .align 4 .b8 v[4] = {1, 2, 255, -1};", 4, "0102ffff"},
	{".const .s32 v[2][2] = {{1}, {2, 3}};", 16, "01000000000000000200000003000000"},
	{".const .u8 v[2][3] = {1, 2, 3, 4};", 6, "010203040000"},
	{".const .u8 v[][2] = {{1, 2}, {3}, {4, 5}};", 6, "010203000405"},
	{".const .u8 v[] = {9, 8, 7};", 3, "090807"},
	{".global .f32 v[2] = {0f3F800000, -1.5};", 8, "0000803f0000c0bf"},
	{".global .f64 v = {0d3FF0000000000000};", 8, "000000000000f03f"},
	{".global .b32 v = 0f3F800000;", 4, "0000803f"},
	{".global .u16 v[2] = {(1<<4)|3, WARP_SZ};", 4, "13002000"},
	{".global .f32 v[2] = {1.0+.5, -(2.0)};", 8, "0000c03f000000c0"},
	{".global .v2 .u8 v[2] = {{1, 2}, {3, 4}};", 4, "01020304"},
	{".global .attribute(.managed) .u64 v = 5;", 8, "0500000000000000"},
};

START_TEST(parse_fills_initialized_variables)
{
	char text[300], hex[64] = "";
	snprintf(text, sizeof(text), HEADER "%s", initializers[_i].text);
	parse(text);
	const struct ptx_var *var = module.vars[0];
	ck_assert_uint_eq(var->size, initializers[_i].size);
	for (size_t i = 0; i < var->size; i++) {
		snprintf(hex + 2 * i, 3, "%02x", var->init[i]);
	}
	ck_assert_str_eq(hex, initializers[_i].bytes);
}
END_TEST

START_TEST(parse_keeps_addresses_in_initializers_as_relocations)
{
	parse(HEADER ".extern .global .u32 a;\n.const .u32 c = 1;\n.func f() { }\n"
		".global .u64 t[4] = {generic(c)+4, a, 7, f};\n.global .u32 a;");
	const struct ptx_var *var = module.vars[2];
	ck_assert_uint_eq(var->reloc_count, 3);
	ck_assert_ptr_eq(var->relocs[0].var, module.vars[1]);
	ck_assert_int_eq(var->relocs[0].addend, 4);
	ck_assert_ptr_eq(var->relocs[1].var, module.vars[0]);
	ck_assert_uint_eq(var->relocs[2].offset, 24);
	ck_assert_ptr_eq(var->relocs[2].func, module.funcs[0]);
	ck_assert_uint_eq(module.var_count, 3);
	ck_assert(!module.vars[0]->is_extern);
}
END_TEST

START_TEST(parse_joins_a_prototype_with_its_definition)
{
	parse(HEADER ".func (.param .b32 r) f(.param .b32 a);\n"
		".extern .func g\n(.param .b64 a)\n;\n"
		".func (.param .b32 r) f(.param .b32 a) .noreturn { ret; }");
	ck_assert_uint_eq(module.func_count, 2);
	ck_assert(!module.funcs[0]->is_extern && module.funcs[1]->is_extern);
	ck_assert_uint_eq(module.funcs[0]->return_count, 1);
}
END_TEST

START_TEST(parse_settles_branch_tables)
{
	const struct ptx_func *func = parse_one_kernel(".reg .b32 %r<2>;\nts: .branchtargets b, "
		"a;\n"
		"brx.idx %r1, ts;\na: ret;\nb: ret;");
	const struct ptx_operand *table = &func->insts[0].operands[1];
	ck_assert_int_eq(table->kind, PTX_VECTOR);
	ck_assert_uint_eq(table->count, 2);
	ck_assert_uint_eq(func->labels[table->elements[0].reg].inst, 2);
	ck_assert_uint_eq(func->labels[table->elements[1].reg].inst, 1);
}
END_TEST

START_TEST(parse_ends_a_body_with_a_return)
{
	const struct ptx_func *func = parse_one_kernel(".reg .pred %p<2>;\n@%p1 bra "
		"end;\nret;\nend:");
	ck_assert_uint_eq(func->inst_count, 3);
	ck_assert_int_eq(func->insts[2].op, PTX_OP_RET);
}
END_TEST

static const char *const sample = HEADER ".file 1 \"a.cu\"\n.extern .shared .b8 s[];\n"
	".const .align 4 .b8 c[8] = {1, 2, 3};\n.global .u64 t[2] = {generic(c)+4, 9};\n"
	".section .debug { .b8 1, 2 }\n.func (.param .b32 r) f(.param .b32 a);\n"
	".visible .entry k(.param .u64 p, .param .align 8 .b8 q[24]) .maxntid 8, 8\n{\n"
	"\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\t.local .u32 v;\n"
	"\t.loc 1 3 4\n\tld.param.u64 %rd1, [q+8];\n\tmov.u32 %r1, %tid.x;\n"
	"t: .branchtargets a, b;\na:\tsetp.eq.or.s32 %p1|%p2, %r1, 3, !%p1;\n"
	"\t{ .reg .b32 t; mov.b64 %rd2, {t, %r1}; }\n\tbrx.idx %r1, t;\n"
	"b:\t@!%p2 bra a;\n\tmov.u32 %r2, s;\n\twgmma.x.y {%r1}, [%rd1];\n\tret;\n}\n";

START_TEST(parse_survives_a_text_that_ends_anywhere)
{
	struct ptx_diag diag;
	size_t full = strlen(sample), good = 0;
	for (size_t size = 0; size <= full; size++) {
		char *copy = malloc(size + !size);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, sample, size);
		diag = (struct ptx_diag){.line = 0};
		bool ok = parse_module(&module, copy, size, &diag);
		good += ok;
		ck_assert(ok || (diag.line > 0 && diag.column > 0 && diag.message[0]));
		parse_free(&module);
		free(copy);
	}
	ck_assert_uint_gt(good, 0);
}
END_TEST

/* Delete, repeat and swap single bytes, by a generator with a fixed seed. */
START_TEST(parse_survives_damaged_text)
{
	uint32_t random = 12345 + (uint32_t)_i;
	size_t full = strlen(sample);
	char *copy = malloc(full);
	ck_assert_ptr_nonnull(copy);
	for (int round = 0; round < 200; round++) {
		memcpy(copy, sample, full);
		for (int i = 0; i < 4; i++) {
			random = random * 1664525 + 1013904223;
			size_t at = (random >> 8) % (full - 8), from = (random >> 4) % (full - 8);
			memmove(copy + at, sample + from, random >> 30 ? 1 : 6);
		}
		struct ptx_diag diag = {.line = 0};
		bool ok = parse_module(&module, copy, full, &diag);
		ck_assert(ok || (diag.line > 0 && diag.message[0]));
		parse_free(&module);
	}
	free(copy);
}
END_TEST

START_TEST(parse_reports_every_failing_allocation)
{
	struct ptx_diag diag = {.line = 0};
	bool ok = false;
	for (long n = 0; !ok; n++) {
		mem_fail_after(n);
		diag = (struct ptx_diag){.line = 0};
		ok = parse_module(&module, sample, strlen(sample), &diag);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(ok, !failed);
		ck_assert_int_eq(diag.no_memory, failed);
		parse_free(&module);
	}
}
END_TEST

SUITE(parse)
{
	Suite *s = suite_create("parse");
	TCase *tc = tcase_create("module");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, parse_reads_version_target_and_files);
	tcase_add_test(tc, parse_rounds_old_sums_of_products_to_nearest);
	tcase_add_test(tc, parse_lays_out_parameters_at_their_own_alignment);
	tcase_add_test(tc, parse_puts_dynamic_shared_memory_behind_the_static_part);
	tcase_add_loop_test(tc, parse_fills_initialized_variables, 0, countof(initializers));
	tcase_add_test(tc, parse_keeps_addresses_in_initializers_as_relocations);
	tcase_add_test(tc, parse_joins_a_prototype_with_its_definition);
	suite_add_tcase(s, tc);
	tc = tcase_create("body");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, parse_makes_only_the_registers_that_are_used);
	tcase_add_test(tc, parse_takes_a_register_from_the_range_with_the_longest_name);
	tcase_add_loop_test(tc, parse_knows_what_is_no_register_of_a_range, 0,
		countof(no_registers));
	tcase_add_test(tc, parse_keeps_the_names_of_inner_scopes_apart);
	tcase_add_test(tc, parse_understands_each_form_of_address);
	tcase_add_test(tc, parse_reads_the_parts_of_an_instruction);
	tcase_add_test(tc, parse_finds_the_calls_that_a_place_is_inlined_at);
	tcase_add_test(tc, parse_reads_sections_as_bytes_and_addresses);
	tcase_add_test(tc, parse_takes_the_sign_into_the_bits_of_a_float);
	tcase_add_loop_test(tc, parse_evaluates_constant_expressions, 0, countof(expressions));
	tcase_add_test(tc, parse_evaluates_expressions_of_doubles);
	tcase_add_test(tc, parse_takes_products_in_addresses);
	tcase_add_test(tc, parse_settles_branch_tables);
	tcase_add_test(tc, parse_ends_a_body_with_a_return);
	suite_add_tcase(s, tc);
	tc = tcase_create("damage");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, parse_survives_a_text_that_ends_anywhere);
	tcase_add_loop_test(tc, parse_survives_damaged_text, 0, 5);
	tcase_add_test(tc, parse_reports_every_failing_allocation);
	suite_add_tcase(s, tc);
	return s;
}
