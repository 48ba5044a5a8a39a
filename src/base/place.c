/* SPDX-License-Identifier: MIT */
/*
 * See place.h.
 *
 * backtrace() of the C library gives the return addresses on the stack.  The first of them outside
 * of the library is in the function of the program that called it.  In libkudzu.so "the library" is
 * the shared object.  In libkudzu.a it is the section kudzu_text, into which make/text.ld puts all
 * code of ours: the linker of the program defines the names of its beginning and its end.
 *
 * The file and the line come from the debug information of the program, which libdw of elfutils
 * reads: all versions of DWARF, compressed sections, files of their own by build id or by
 * .gnu_debuglink.  It is opened when a place is printed first.  A call returns to what comes after
 * it, so the address that counts is one before the return address.
 */
#include "base/common.h"

#include "base/place.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"

#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Where the program called --- */

extern const char __start_kudzu_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_kudzu_text[] __attribute__((weak, visibility("hidden")));

/* Calls of ours that are on the stack, mostly, and at most. */
enum { PLACE_FEW = 12, PLACE_MANY = 256 };

atomic_bool place_is_in_errors;

static pthread_once_t place_is_prepared = PTHREAD_ONCE_INIT;
static uintptr_t place_own_begin, place_own_end;

static void place_prepare(void)
{
	void *frame;
	place_own_begin = (uintptr_t)__start_kudzu_text;
	place_own_end = (uintptr_t)__stop_kudzu_text;
	if (!place_own_begin) {
		dl_extent(&place_own_begin, &place_own_end, (const void *)&place_is_prepared);
	}
	(void)backtrace(&frame, 1); /* it loads the unwinder when it is called first */
}

/* A sanitizer's backtrace() stands before ours. */
static uintptr_t place_first_outside(void *const *frames, int count)
{
	uintptr_t address = 0;
	bool was_inside = false;
	for (int i = 0; i < count && address == 0; i++) {
		uintptr_t call = (uintptr_t)frames[i] - 1;
		bool is_inside = call >= place_own_begin && call < place_own_end;
		address = was_inside && !is_inside ? call : 0;
		was_inside = was_inside || is_inside;
	}
	return address;
}

uintptr_t place_here(void)
{
	void *frames[PLACE_MANY];
	pthread_once(&place_is_prepared, place_prepare);
	int count = backtrace(frames, PLACE_FEW);
	uintptr_t address = place_first_outside(frames, count);
	if (address == 0 && count == PLACE_FEW) {
		address = place_first_outside(frames, backtrace(frames, PLACE_MANY));
	}
	return address;
}

/* --- Its file and line --- */

/* elfutils/libdwfl.h and libdw.h, whose ABI is stable. */
struct dwfl_callbacks {
	void (*find_elf)(void);
	void (*find_debuginfo)(void);
	void (*section_address)(void);
	char **debuginfo_path;
};

struct dwarf_attribute {
	uint64_t words[8]; /* four are used */
};

/* A DIE by value. */
struct dwarf_entry {
	void *words[4];
};

enum { DW_TAG_inlined_subroutine = 0x1d };
enum { DW_AT_comp_dir = 0x1b, DW_AT_call_file = 0x58, DW_AT_call_line = 0x59 };

static struct {
	void *(*dwfl_begin)(const struct dwfl_callbacks *callbacks);
	void (*dwfl_end)(void *dwfl);
	int (*dwfl_linux_proc_report)(void *dwfl, pid_t pid);
	int (*dwfl_report_end)(void *dwfl, void *removed, void *arg);
	void *(*dwfl_addrmodule)(void *dwfl, uint64_t address);
	void *(*dwfl_module_nextcu)(void *module, void *unit, uint64_t *added);
	void (*dwfl_linux_proc_find_elf)(void);
	void (*dwfl_standard_find_debuginfo)(void);
	int (*dwarf_haspc)(void *unit, uint64_t address);
	void *(*dwarf_getsrc_die)(void *unit, uint64_t address);
	const char *(*dwarf_linesrc)(void *line, uint64_t *time, uint64_t *size);
	int (*dwarf_lineno)(void *line, int *number);
	void *(*dwarf_attr)(void *die, unsigned name, struct dwarf_attribute *out);
	const char *(*dwarf_formstring)(void *attribute);
	int (*dwarf_formudata)(void *attribute, uint64_t *value);
	int (*dwarf_tag)(void *die);
	int (*dwarf_getscopes)(void *unit, uint64_t address, struct dwarf_entry **scopes);
	int (*dwarf_getscopes_die)(void *die, struct dwarf_entry **scopes);
	int (*dwarf_getsrcfiles)(void *unit, void **files, size_t *count);
	const char *(*dwarf_filesrc)(void *files, size_t index, uint64_t *time, uint64_t *size);
} place_dw;

static const struct dl_row place_dw_rows[] = {
#define X(name) {#name, offsetof(__typeof__(place_dw), name), true},
	X(dwfl_begin) X(dwfl_end) X(dwfl_linux_proc_report) X(dwfl_report_end) X(dwfl_addrmodule)
	X(dwfl_module_nextcu) X(dwfl_linux_proc_find_elf) X(dwfl_standard_find_debuginfo)
	X(dwarf_haspc) X(dwarf_getsrc_die) X(dwarf_linesrc) X(dwarf_lineno) X(dwarf_attr)
	X(dwarf_formstring) X(dwarf_formudata) X(dwarf_tag) X(dwarf_getscopes)
	X(dwarf_getscopes_die) X(dwarf_getsrcfiles) X(dwarf_filesrc)
#undef X
};

static pthread_once_t place_dw_is_opened = PTHREAD_ONCE_INIT;
static bool place_has_dw;

/* Its search for debug information obeys variables of the environment. */
static void place_dw_open(void)
{
	char why[256];
	void *object = env_is_privileged() ? NULL : dl_open("libdw.so.1", why, sizeof(why));
	place_has_dw = object && !dl_fill(object, place_dw_rows, countof(place_dw_rows), &place_dw);
}

struct place_finder {
	struct dwfl_callbacks callbacks;
	char *debuginfo_path;
	void *dwfl; /* NULL: no libdw */
};

struct place_finder *place_finder_create(void)
{
	struct place_finder *finder = mem_zalloc(1, sizeof(*finder));
	pthread_once(&place_dw_is_opened, place_dw_open);
	if (!finder || !place_has_dw) {
		return finder;
	}
	finder->callbacks = (struct dwfl_callbacks){.find_elf = place_dw.dwfl_linux_proc_find_elf,
		.find_debuginfo = place_dw.dwfl_standard_find_debuginfo,
		.debuginfo_path = &finder->debuginfo_path};
	finder->dwfl = place_dw.dwfl_begin(&finder->callbacks);
	if (finder->dwfl && (place_dw.dwfl_linux_proc_report(finder->dwfl, getpid()) != 0
		|| place_dw.dwfl_report_end(finder->dwfl, NULL, NULL) != 0)) {
		place_dw.dwfl_end(finder->dwfl);
		finder->dwfl = NULL;
	}
	return finder;
}

void place_finder_free(struct place_finder *finder)
{
	if (finder && finder->dwfl) {
		place_dw.dwfl_end(finder->dwfl);
	}
	mem_free(finder);
}

static void place_set(struct place *out, const char *file, int line)
{
	size_t length = strlen(file);
	size_t skipped = length < PLACE_FILE_SIZE ? 0 : length - (PLACE_FILE_SIZE - 1);
	memcpy(out->file, file + skipped, length - skipped + 1);
	out->line = line;
}

/* As the compiler was given it: libdw has put the folder that the compiler ran in before it. */
static const char *place_given_name(const char *file, void *unit)
{
	struct dwarf_attribute memory;
	const char *folder = place_dw.dwarf_formstring(place_dw.dwarf_attr(unit, DW_AT_comp_dir,
		&memory));
	size_t length = folder ? strlen(folder) : 0;
	return length > 0 && strncmp(file, folder, length) == 0 && file[length] == '/'
		? file + length + 1 : file;
}

/* Whether a place is in the templates of kudzu.hpp, which programs call the library by. */
static bool place_is_ours(const char *file)
{
	static const char end[] = "kudzu/kudzu.hpp";
	size_t length = strlen(file);
	return length >= sizeof(end) - 1 && strcmp(file + length - (sizeof(end) - 1), end) == 0;
}

/* Where the program calls a template that the compiler put in place at an address. */
static void place_find_caller(const char **file, int *number, void *unit, uint64_t address)
{
	struct dwarf_entry *inner = NULL, *scopes = NULL;
	struct dwarf_attribute memory;
	uint64_t index = 0, line = 0;
	void *files = NULL;
	int count = 0;
	if (place_dw.dwarf_getscopes(unit, address, &inner) > 0
	    && place_dw.dwarf_getsrcfiles(unit, &files, NULL) == 0) {
		count = place_dw.dwarf_getscopes_die(&inner[0], &scopes);
	}
	for (int i = 0; i < count && place_is_ours(*file); i++) {
		if (place_dw.dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine
		    || place_dw.dwarf_formudata(place_dw.dwarf_attr(&scopes[i], DW_AT_call_file,
			&memory), &index) != 0
		    || place_dw.dwarf_formudata(place_dw.dwarf_attr(&scopes[i], DW_AT_call_line,
			&memory), &line) != 0) {
			continue;
		}
		const char *caller = place_dw.dwarf_filesrc(files, index, NULL, NULL);
		if (caller && line <= INT32_MAX) {
			*file = caller;
			*number = (int)line;
		}
	}
	free(scopes); /* libdw's malloc */
	free(inner);
}

/* Each compilation unit is asked: clang writes no index of their addresses. */
static bool place_find_line(struct place *out, const struct place_finder *finder, uintptr_t address)
{
	int number = 0;
	uint64_t added = 0;
	void *module = finder && finder->dwfl ? place_dw.dwfl_addrmodule(finder->dwfl, address)
		: NULL;
	void *unit = module ? place_dw.dwfl_module_nextcu(module, NULL, &added) : NULL;
	while (unit && place_dw.dwarf_haspc(unit, address - added) <= 0) {
		unit = place_dw.dwfl_module_nextcu(module, unit, &added);
	}
	void *line = unit ? place_dw.dwarf_getsrc_die(unit, address - added) : NULL;
	const char *file = line ? place_dw.dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || place_dw.dwarf_lineno(line, &number) != 0 || number <= 0) {
		return false;
	}
	if (place_is_ours(file)) {
		place_find_caller(&file, &number, unit, address - added);
	}
	place_set(out, place_given_name(file, unit), number);
	return true;
}

void place_find(struct place *out, struct place_finder *finder, uintptr_t address)
{
	uint64_t offset;
	char text[PLACE_FILE_SIZE + 32];
	place_set(out, "", 0);
	if (address == 0 || place_find_line(out, finder, address)) {
		return;
	}
	char *path = dl_offset(&offset, (const void *)address);
	if (path) {
		const char *slash = strrchr(path, '/');
		snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, PLACE_FILE_SIZE,
			slash ? slash + 1 : path, offset);
		place_set(out, text, 0);
	}
	mem_free(path);
}
