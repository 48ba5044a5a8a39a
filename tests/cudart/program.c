/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "program.h"

#include <stdlib.h>
#include <string.h>

float program_scale;
unsigned program_counter;
unsigned *program_shared;

/* Never called: their addresses count, which must differ. */
static volatile int program_calls;
void program_add(void)
{
	program_calls = 1;
}
void program_wait(void)
{
	program_calls = 2;
}
void program_wild(void)
{
	program_calls = 3;
}
void program_count(void)
{
	program_calls = 4;
}

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".const .align 4 .f32 scale = 0f3f800000;\n"
	".global .align 4 .u32 counter;\n"
	".global .attribute(.managed) .align 4 .u32 shared_value = 40;\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %i, %n, %c, %t;\n"
	"	.reg .b64 %a, %b, %s, %o;\n"
	"	.reg .f32 %x, %y, %k;\n"
	"	mov.u32 %i, %tid.x;\n"
	"	mov.u32 %c, %ctaid.x;\n"
	"	mov.u32 %t, %ntid.x;\n"
	"	mad.lo.u32 %i, %c, %t, %i;\n"
	"	ld.param.u32 %n, [n];\n"
	"	setp.ge.u32 %p, %i, %n;\n"
	"	@%p ret;\n"
	"	mul.wide.u32 %o, %i, 4;\n"
	"	ld.param.u64 %a, [a];\n"
	"	ld.param.u64 %b, [b];\n"
	"	ld.param.u64 %s, [sum];\n"
	"	add.u64 %a, %a, %o;\n"
	"	add.u64 %b, %b, %o;\n"
	"	add.u64 %s, %s, %o;\n"
	"	ld.global.f32 %x, [%a];\n"
	"	ld.global.f32 %y, [%b];\n"
	"	ld.const.f32 %k, [scale];\n"
	"	add.f32 %x, %x, %y;\n"
	"	mul.f32 %x, %x, %k;\n"
	"	st.global.f32 [%s], %x;\n"
	"	ret;\n"
	"}\n"
	".visible .entry wait(.param .u64 flag)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %v;\n"
	"	.reg .b64 %a;\n"
	"	ld.param.u64 %a, [flag];\n"
	"again:\n"
	"	ld.volatile.global.u32 %v, [%a];\n"
	"	setp.eq.u32 %p, %v, 0;\n"
	"	@%p bra again;\n"
	"	ret;\n"
	"}\n"
	".visible .entry wild()\n"
	"{\n"
	"	.reg .b64 %a;\n"
	"	mov.u64 %a, 16;\n"
	"	st.global.u32 [%a], 1;\n"
	"	ret;\n"
	"}\n"
	".visible .entry count()\n"
	"{\n"
	"	.reg .b32 %v;\n"
	"	atom.global.add.u32 %v, [counter], 1;\n"
	"	atom.global.add.u32 %v, [shared_value], 1;\n"
	"	ret;\n"
	"}\n";

struct program_head {
	uint32_t magic;
	uint16_t version;
	uint16_t head_size;
	uint64_t size;
};

struct program_entry {
	uint16_t kind;
	uint16_t version;
	uint32_t head_size;
	uint64_t size;
	uint32_t compressed;
	uint32_t options;
	uint16_t minor;
	uint16_t major;
	uint32_t arch;
	uint32_t name[2];
	uint64_t flags[2];
	uint64_t text_size;
};

/* The library of tests/cudart/plugin, which has this file, too, does not use Check. */
static void program_need(bool holds)
{
	if (!holds) {
		abort();
	}
}

void program_put(struct program *program, int kind, int arch, const void *data, size_t size)
{
	struct program_entry entry = {.kind = (uint16_t)kind, .version = 0x101,
		.head_size = sizeof(entry), .size = round_up(size, 8), .minor = 0, .major = 7,
		.arch = (uint32_t)arch};
	struct program_head *head = (struct program_head *)(void *)program->image;
	if (program->size == 0) {
		*head = (struct program_head){0xba55ed50, 1, sizeof(*head), 0};
		program->size = sizeof(*head);
	}
	program_need(program->size + sizeof(entry) + entry.size <= PROGRAM_MAX);
	memcpy(program->image + program->size, &entry, sizeof(entry));
	memcpy(program->image + program->size + sizeof(entry), data, size);
	program->size += sizeof(entry) + entry.size;
	head->size = program->size - sizeof(*head);
}

void program_open(struct program *program)
{
	static const char cubin[] = "\177ELF, code for a GPU";
	memset(program, 0, sizeof(*program));
	program_put(program, 2, 90, cubin, sizeof(cubin));
	program_put(program, 1, 75, text, sizeof(text));
	program->wrapper.magic = 0x466243b1;
	program->wrapper.version = 1;
	program->wrapper.data = program->image;
	program->handle = __cudaRegisterFatBinary(&program->wrapper);
	program_need(program->handle);
}

static void program_function(struct program *program, void (*host)(void), const char *name)
{
	__cudaRegisterFunction(program->handle, (const char *)(uintptr_t)host, NULL, name, -1, NULL,
		NULL, NULL, NULL, NULL);
}

void program_register(struct program *program)
{
	program_function(program, program_add, "add");
	program_function(program, program_wait, "wait");
	program_function(program, program_wild, "wild");
	program_function(program, program_count, "count");
	__cudaRegisterVar(program->handle, (char *)&program_scale, NULL, "scale", 0, 4, 1, 0);
	__cudaRegisterVar(program->handle, (char *)&program_counter, NULL, "counter", 0, 4, 0, 0);
	__cudaRegisterManagedVar(program->handle, (void **)(void *)&program_shared, NULL,
		"shared_value", 0, 4, 0, 0);
	__cudaRegisterFatBinaryEnd(program->handle);
}

void program_start(struct program *program)
{
	program_open(program);
	program_register(program);
}
