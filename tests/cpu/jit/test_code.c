/* SPDX-License-Identifier: MIT */
/*
 * The loader of object files, on one that is made here: a function that reads a constant and calls
 * memset.  What is wrong with an object is found, wherever it is wrong.
 */
#include "base/common.h"

#include "cpu/jit/code.h"
#include "cpu/support/machine.h"
#include "support/suite.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * int f(int *p): p[0] = constant; memset(p + 1, 0, 4) by the GOT; return p[0].
 */
static const uint8_t text[] = {
	0x53,                                           /* push %rbx */
	0x48, 0x89, 0xfb,                               /* mov %rdi, %rbx */
	0x48, 0x8d, 0x15, 0xf9, 0xff, 0xff, 0xff,       /* lea -7(%rip), %rdx: the text + 4 */
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,             /* movabs $GOT - (text + 4), %rax */
	0x48, 0x01, 0xc2,                               /* add %rax, %rdx: the GOT */
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,             /* movabs $constant - GOT, %rax */
	0x8b, 0x04, 0x10,                               /* mov (%rax,%rdx), %eax */
	0x89, 0x03,                                     /* mov %eax, (%rbx) */
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,             /* movabs $slot of memset, %rax */
	0x48, 0x8b, 0x0c, 0x10,                         /* mov (%rax,%rdx), %rcx */
	0x48, 0x8d, 0x7b, 0x04,                         /* lea 4(%rbx), %rdi */
	0x31, 0xf6,                                     /* xor %esi, %esi */
	0xba, 0x04, 0, 0, 0,                            /* mov $4, %edx */
	0xff, 0xd1,                                     /* call *%rcx */
	0x8b, 0x03,                                     /* mov (%rbx), %eax */
	0x5b,                                           /* pop %rbx */
	0xc3,                                           /* ret */
};

enum { NONE, TEXT, RODATA, RELA, SYMTAB, STRTAB, SECTIONS };
enum { SYM_NONE, SYM_RODATA, SYM_F, SYM_MEMSET, SYM_GOT, SYMBOLS };

static const char names[] = "\0f\0memset\0_GLOBAL_OFFSET_TABLE_";

/* The file, part by part; tests change it before they load it. */
static struct file {
	Elf64_Ehdr header;
	uint8_t text[sizeof(text)];
	int32_t rodata[4];
	Elf64_Rela relas[3];
	Elf64_Sym symbols[SYMBOLS];
	char names[sizeof(names)];
	Elf64_Shdr sections[SECTIONS];
} file;

static Elf64_Shdr section(uint32_t type, uint64_t flags, size_t offset, size_t size, uint64_t align)
{
	return (Elf64_Shdr){.sh_type = type, .sh_flags = flags, .sh_offset = offset,
		.sh_size = size, .sh_addralign = align};
}

static void make_sections(void)
{
	struct file *f = &file;
	f->sections[TEXT] = section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
		offsetof(struct file, text), sizeof(f->text), 16);
	f->sections[RODATA] = section(SHT_PROGBITS, SHF_ALLOC, offsetof(struct file, rodata),
		sizeof(f->rodata), 64);
	f->sections[RELA] = section(SHT_RELA, 0, offsetof(struct file, relas), sizeof(f->relas), 8);
	f->sections[RELA].sh_info = TEXT;
	f->sections[RELA].sh_link = SYMTAB;
	f->sections[SYMTAB] = section(SHT_SYMTAB, 0, offsetof(struct file, symbols),
		sizeof(f->symbols), 8);
	f->sections[SYMTAB].sh_link = STRTAB;
	f->sections[STRTAB] = section(SHT_STRTAB, 0, offsetof(struct file, names), sizeof(names),
		1);
}

static void setup(void)
{
	struct file *f = &file;
	memset(f, 0, sizeof(*f));
	memcpy(f->header.e_ident, "\177ELF\2\1\1", 7);
	f->header.e_type = ET_REL;
	f->header.e_machine = EM_X86_64;
	f->header.e_shoff = offsetof(struct file, sections);
	f->header.e_shentsize = sizeof(Elf64_Shdr);
	f->header.e_shnum = SECTIONS;
	memcpy(f->text, text, sizeof(text));
	f->rodata[2] = 1234567;
	f->relas[0] = (Elf64_Rela){13, ELF64_R_INFO(SYM_GOT, R_X86_64_GOTPC64), 9};
	f->relas[1] = (Elf64_Rela){26, ELF64_R_INFO(SYM_RODATA, R_X86_64_GOTOFF64), 8};
	f->relas[2] = (Elf64_Rela){41, ELF64_R_INFO(SYM_MEMSET, R_X86_64_GOT64), 0};
	f->symbols[SYM_RODATA].st_shndx = RODATA;
	f->symbols[SYM_F] = (Elf64_Sym){.st_name = 1, .st_shndx = TEXT, .st_size = sizeof(text)};
	f->symbols[SYM_MEMSET].st_name = 3;
	f->symbols[SYM_GOT].st_name = 10;
	memcpy(f->names, names, sizeof(names));
	make_sections();
}

static bool loads(void)
{
	struct code code;
	bool ok = code_load(&code, &file, sizeof(file), "f");
	if (ok != (code.memory != NULL)) {
		abort();
	}
	code_unload(&code);
	return ok;
}

START_TEST(a_loaded_function_finds_its_constants_and_what_it_calls)
{
	struct code code;
	int memory[2] = {1, 2};
	ck_assert(code_load(&code, &file, sizeof(file), "f"));
	ck_assert_uint_eq(code.text_size, sizeof(text));
	ck_assert_int_eq(((int (*)(int *))code.entry)(memory), 1234567);
	ck_assert_int_eq(memory[0], 1234567);
	ck_assert_int_eq(memory[1], 0);
	code_unload(&code);
	ck_assert_ptr_null(code.memory);
	code_unload(&code);
}
END_TEST

START_TEST(a_function_that_is_not_there_is_not_found)
{
	struct code code;
	ck_assert(!code_load(&code, &file, sizeof(file), "g"));
	ck_assert(!code_load(&code, &file, sizeof(file), ""));
	ck_assert(!code_load(&code, &file, sizeof(file), "memset"));
	file.symbols[SYM_F].st_value = sizeof(text);
	ck_assert(!loads());
	file.symbols[SYM_F].st_value = 0;
	file.symbols[SYM_F].st_shndx = RODATA;
	ck_assert(!loads());
}
END_TEST

START_TEST(no_file_that_was_cut_is_loaded)
{
	size_t count = 0;
	for (size_t size = 0; size < sizeof(file); size++) {
		/* Of its own size, so that a sanitizer sees who reads on. */
		struct code code;
		void *copy = malloc(size + 1);
		memcpy(copy, &file, size);
		count += code_load(&code, copy, size, "f");
		code_unload(&code);
		free(copy);
	}
	ck_assert_uint_eq(count, 0);
}
END_TEST

/* Loading a file that is damaged anywhere neither reads nor writes where it should not. */
START_TEST(any_bit_of_a_file_may_be_wrong)
{
	uint8_t *bytes = (uint8_t *)&file;
	size_t loaded = 0;
	for (size_t bit = 0; bit < 8 * sizeof(file); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		loaded += loads();
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ck_assert_uint_lt(loaded, 8 * sizeof(file));
	ck_assert(loads());
}
END_TEST

/* Numbers that a check might add up to something small. */
START_TEST(any_number_of_a_file_may_be_huge)
{
	static const uint64_t values[] = {UINT64_MAX, UINT64_MAX - 7, INT64_MAX, UINT64_C(1) << 63,
		UINT32_MAX, UINT64_C(1) << 31, sizeof(file), sizeof(file) - 1, 4096, 8192, 65535};
	uint8_t *bytes = (uint8_t *)&file;
	for (size_t at = 0; at + 8 <= sizeof(file); at += 2) {
		for (size_t i = 0; i < countof(values); i++) {
			uint64_t old;
			memcpy(&old, bytes + at, sizeof(old));
			memcpy(bytes + at, &values[i], sizeof(old));
			loads();
			memcpy(bytes + at, &old, sizeof(old));
		}
	}
	ck_assert(loads());
}
END_TEST

START_TEST(what_a_kernel_cannot_need_is_refused)
{
	struct file good = file;
	file.sections[RODATA].sh_flags |= SHF_WRITE;
	ck_assert(!loads());
	file = good;
	file.sections[RODATA].sh_type = SHT_NOBITS;
	ck_assert(!loads());
	file = good;
	file.sections[RELA].sh_type = SHT_REL;
	ck_assert(!loads());
	file = good;
	file.relas[1].r_info = ELF64_R_INFO(SYM_RODATA, R_X86_64_64);
	ck_assert(!loads());
	file = good;
	file.relas[1].r_info = ELF64_R_INFO(SYM_MEMSET, R_X86_64_GOTOFF64);
	ck_assert(!loads());
	file = good;
	memcpy(file.names + 3, "system", 7);
	ck_assert(!loads());
	file = good;
	file.names[sizeof(names) - 1] = 'x';
	ck_assert(!loads());
	file = good;
	ck_assert(loads());
}
END_TEST

/* Whether the mapping at an address can be written, and executed. */
static void rights_of(const void *address, char rights[5])
{
	char line[512];
	unsigned long from, to;
	FILE *maps = fopen("/proc/self/maps", "re");
	ck_assert_ptr_nonnull(maps);
	strcpy(rights, "none");
	while (fgets(line, sizeof(line), maps)) {
		char found[5];
		if (sscanf(line, "%lx-%lx %4s", &from, &to, found) == 3
		    && (uintptr_t)address - from < to - from) {
			strcpy(rights, found);
		}
	}
	fclose(maps);
}

START_TEST(loaded_code_cannot_be_written)
{
	struct code code;
	char rights[5];
	ck_assert(code_load(&code, &file, sizeof(file), "f"));
	rights_of(code.memory, rights);
	ck_assert_str_eq(rights, "r-xp");
	code_unload(&code);
}
END_TEST

START_TEST(what_is_refused_is_left_to_llvm)
{
	code_refuse(true);
	machine_open(HEAD ".entry a(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n"
		"st.u32 [%a], 7; ret; }\n"
		".entry b(.param .u64 p) { .reg .b64 %a; .reg .f32 %f; ld.param.u64 %a, [p];\n"
		"ld.f32 %f, [%a+4]; fma.rn.f32 %f, %f, %f, 0f40490FDB; st.f32 [%a], %f; ret; }");
	float x = 3, y;
	memcpy((char *)machine.memory + 4, &x, sizeof(x));
	machine_compile("a");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq((uint32_t)machine.memory[0], 7);
	machine_compile("b");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	memcpy(&y, machine.memory, sizeof(y));
	ck_assert_float_eq(y, 9 + 0x1.921fb6p+1f);
	ck_assert_uint_eq(machine.kernel.code_size, 0);
	machine_close();
}
END_TEST

SUITE(code)
{
	Suite *suite = suite_create("code");
	TCase *tc = tcase_create("objects");
	tcase_add_checked_fixture(tc, setup, NULL);
#ifdef __x86_64__
	tcase_add_test(tc, a_loaded_function_finds_its_constants_and_what_it_calls);
	tcase_add_test(tc, a_function_that_is_not_there_is_not_found);
	tcase_add_test(tc, no_file_that_was_cut_is_loaded);
	tcase_add_test(tc, any_bit_of_a_file_may_be_wrong);
	tcase_add_test(tc, any_number_of_a_file_may_be_huge);
	tcase_add_test(tc, what_a_kernel_cannot_need_is_refused);
	tcase_add_test(tc, loaded_code_cannot_be_written);
#endif
	suite_add_tcase(suite, tc);
	tc = tcase_create("linker");
	tcase_add_test(tc, what_is_refused_is_left_to_llvm);
	suite_add_tcase(suite, tc);
	return suite;
}
