/* SPDX-License-Identifier: MIT */
/*
 * Take apart what a linker is given.
 *
 * nvJitLink and the driver read containers themselves.  But nvJitLink 13.0 takes all members of a
 * library, and when two inputs define the same symbol it crashes, or writes to stderr and goes on.
 * So that is settled here, for every linker alike.  Linkers get PTX, cubins and LTO code only.
 *
 * An archive is a line of magic, then members with a header of 60 characters each; names that do
 * not fit into it are in a member "//".  An object has fat binaries, one after the other, in a
 * section.
 */
#include "base/common.h"

#include "lib/rtc/parts.h"

#include "base/alloc.h"
#include "base/elf.h"
#include "base/fatbin.h"
#include "base/map.h"
#include "base/str.h"
#include "lib/rtc/compat.h"
#include "lib/rtc/cubin.h"
#include "lib/rtc/link_log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ARCHIVE_MAGIC "!<arch>\n"
#define THIN_MAGIC "!<thin>\n"
#define LTO_MAGIC "\xed\x43\x4e\x7f"
#define MAGIC_SIZE 8
#define NESTING_MAX 4 /* a library in a library ... is made to hurt */

struct archive_header {
	char name[16];
	char ignored[32];
	char size[10];
	char end[2];
};
_Static_assert(sizeof(struct archive_header) == 60, "as ar writes it");

static bool parts_begins(const void *data, size_t size, const char *magic, size_t magic_size)
{
	return size >= magic_size && memcmp(data, magic, magic_size) == 0;
}

/* Whether the first word is .version; there may be no zero after it. */
static bool parts_is_ptx(const char *at, size_t size)
{
	const char *end = at + size;
	while (at < end) {
		size_t left = (size_t)(end - at);
		const char *next = at;
		if (isspace((unsigned char)*at)) {
			next = at + 1;
		} else if (parts_begins(at, left, "//", 2)) {
			next = memchr(at, '\n', left);
		} else if (parts_begins(at, left, "/*", 2)) {
			next = memmem(at + 2, left - 2, "*/", 2);
			next = next ? next + 2 : NULL;
		}
		if (!next || next == at) {
			break;
		}
		at = next;
	}
	return parts_begins(at, (size_t)(end - at), ".version", 8);
}

enum rtc_kind rtc_kind_of(const void *data, size_t size)
{
	struct elf elf;
	if (elf_open(&elf, data, size)) {
		return elf.header.e_machine == ELF_MACHINE_CUDA ? RTC_CUBIN : RTC_OBJECT;
	}
	if (fatbin_is(data, size)) {
		return RTC_FATBIN;
	}
	if (parts_begins(data, size, ARCHIVE_MAGIC, MAGIC_SIZE)
	    || parts_begins(data, size, THIN_MAGIC, MAGIC_SIZE)) {
		return RTC_LIBRARY;
	}
	if (parts_begins(data, size, LTO_MAGIC, sizeof(LTO_MAGIC) - 1)) {
		return RTC_LTO;
	}
	return parts_is_ptx(data, size) ? RTC_PTX : RTC_UNKNOWN;
}

const char *rtc_kind_text(enum rtc_kind kind)
{
	static const char *const texts[] = {
		[RTC_UNKNOWN] = "unknown",
		[RTC_PTX] = "PTX",
		[RTC_CUBIN] = "a cubin",
		[RTC_LTO] = "LTO-IR",
		[RTC_FATBIN] = "a fat binary",
		[RTC_OBJECT] = "an object of the host",
		[RTC_LIBRARY] = "a library",
	};
	return texts[kind];
}

int rtc_rank(enum rtc_kind kind, int arch, const struct rtc_target *target)
{
	bool newer = arch > target->cc;
	if (arch <= 0 || arch > 9999) {
		return 0;
	}
	switch (kind) {
	case RTC_CUBIN:
		return target->ptx_only || !compat_cubin_runs(arch, target->cc) ? 0 : 40000 + arch;
	case RTC_PTX:
		return !newer ? 30000 + arch : target->ptx_only ? 20000 + 9999 - arch : 0;
	case RTC_LTO:
		return newer ? 0 : 10000 + arch;
	default:
		return 0;
	}
}

void parts_init(struct parts *parts, const struct rtc_target *target)
{
	*parts = (struct parts){.arena = ARENA_INIT, .target = *target};
	parts->last = &parts->first;
}

void parts_free(struct parts *parts)
{
	arena_free(&parts->arena);
}

static kz_status parts_fail_to_suit(const struct rtc_target *target, const char *name,
	const struct str *list, kz_error *err)
{
	if (list->failed) {
		return error_no_memory(err);
	}
	return error_set(err, KZ_VERSION, "'%s' has nothing for %s %d.%d: it has %s", name,
		target->ptx_only ? "a CPU device, which takes PTX, of compute capability"
		: "compute capability", target->cc / 10, target->cc % 10,
		list->len ? list->data : "no entries");
}

/* "PTX for 8.0, a cubin for 9.0" */
static void parts_list_arch(struct str *list, enum rtc_kind kind, int arch)
{
	str_addf(list, "%s%s for %d.%d", list->len ? ", " : "", rtc_kind_text(kind), arch / 10,
		arch % 10);
}

/* nvJitLink crashes at a cubin that is cut off.  After one for another architecture it hangs in the
 * next link. */
static kz_status parts_check_cubin(const struct rtc_target *target, const char *name,
	const void *data, size_t size, kz_error *err)
{
	struct cubin cubin;
	kz_status st = cubin_open(&cubin, data, size, NULL);
	int arch = st ? 0 : cubin_arch(&cubin);
	if (st == KZ_BAD_IMAGE) {
		error_set(err, st, "'%s' is a damaged cubin: not all of it is there", name);
	} else if (st) {
		error_no_memory(err);
	} else if (!target->ptx_only && rtc_rank(RTC_CUBIN, arch, target) == 0) {
		struct str list = STR_INIT;
		parts_list_arch(&list, RTC_CUBIN, arch);
		st = parts_fail_to_suit(target, name, &list, err);
		str_free(&list);
	}
	cubin_close(&cubin);
	return st;
}

/* Append a part; the bytes are copied. */
static kz_status parts_add_part(struct parts *parts, enum rtc_kind kind, const char *name,
	const void *data, size_t size, kz_error *err)
{
	kz_status st = kind == RTC_CUBIN ? parts_check_cubin(&parts->target, name, data, size, err)
		: KZ_OK;
	if (st) {
		return st;
	}
	struct part *part = arena_alloc(&parts->arena, 1, sizeof(*part));
	char *copied_name = arena_strndup(&parts->arena, name, strlen(name));
	char *copy = size < SIZE_MAX ? arena_alloc(&parts->arena, size + 1, 1) : NULL;
	if (!part || !copied_name || !copy) {
		return error_no_memory(err);
	}
	memcpy(copy, data, size);
	*part = (struct part){
		.kind = kind,
		.name = copied_name,
		.data = copy,
		.size = kind == RTC_PTX ? strlen(copy) : size,
	};
	*parts->last = part;
	parts->last = &part->next;
	return KZ_OK;
}

static enum rtc_kind parts_entry_kind(const struct fatbin_entry *entry)
{
	return entry->kind == FATBIN_PTX ? RTC_PTX : entry->kind == FATBIN_CUBIN ? RTC_CUBIN
		: entry->kind == FATBIN_LTO ? RTC_LTO : RTC_UNKNOWN;
}

static kz_status parts_fail_fatbin(const char *name, enum fatbin_result result,
	const struct fatbin *fatbin, kz_error *err)
{
	if (result == FATBIN_NO_MEMORY) {
		return error_no_memory(err);
	}
	return error_set(err, result == FATBIN_NO_ZSTD ? KZ_UNSUPPORTED : KZ_BAD_IMAGE, "'%s': %s",
		name, fatbin->why);
}

kz_status parts_pick(struct parts_entry *out, const struct rtc_target *target, const char *name,
	const void *data, size_t size, kz_error *err)
{
	struct fatbin fatbin;
	struct fatbin_entry entry, best = {0};
	struct str list = STR_INIT; /* of what there is */
	int best_rank = 0;
	kz_status st = KZ_OK;
	enum fatbin_result result = fatbin_open(&fatbin, data, size);
	while (result == FATBIN_OK && (result = fatbin_next(&fatbin, &entry)) == FATBIN_OK) {
		int rank = rtc_rank(parts_entry_kind(&entry), (int)entry.arch, target);
		parts_list_arch(&list, parts_entry_kind(&entry), (int)entry.arch);
		if (rank > best_rank) {
			best = entry;
			best_rank = rank;
		}
	}
	if (result != FATBIN_END) {
		st = parts_fail_fatbin(name, result, &fatbin, err);
	} else if (best_rank == 0) {
		st = parts_fail_to_suit(target, name, &list, err);
	}
	str_free(&list);
	if (st) {
		return st;
	}
	out->end = (const char *)fatbin.next;
	out->kind = parts_entry_kind(&best);
	if (out->kind == RTC_LTO) {
		/* Its encoding is nvJitLink's affair. */
		out->kind = RTC_FATBIN;
		out->data = fatbin_of_one(&best, &out->size);
		return out->data ? KZ_OK : error_no_memory(err);
	}
	result = fatbin_decode(&fatbin, &best, &out->data, &out->size);
	return result == FATBIN_OK ? KZ_OK : parts_fail_fatbin(name, result, &fatbin, err);
}

/* One or more fat binaries, with zeros between them. */
static kz_status parts_add_fatbins(struct parts *parts, const char *name, const char *data,
	size_t size, kz_error *err)
{
	const char *at = data;
	const char *end = data + size;
	kz_status st = KZ_OK;
	while (!st && at < end) {
		struct parts_entry entry;
		st = parts_pick(&entry, &parts->target, name, at, (size_t)(end - at), err);
		if (!st) {
			st = parts_add_part(parts, entry.kind, name, entry.data, entry.size, err);
			mem_free(entry.data);
			at = entry.end;
		}
		while (at < end && *at == '\0') {
			at++;
		}
	}
	return st;
}

static kz_status parts_add_object(struct parts *parts, const char *name, const void *data,
	size_t size, kz_error *err)
{
	struct elf elf;
	Elf64_Shdr section;
	kz_status st = KZ_OK;
	bool ok = elf_open(&elf, data, size);
	for (uint32_t i = 0; ok && i < elf.header.e_shnum && !st; i++) {
		const char *section_name = elf_section(&elf, &section, i)
			? elf_section_name(&elf, &section) : NULL;
		const unsigned char *bytes = section_name ? elf_section_data(&elf, &section) : NULL;
		if (bytes && section.sh_size > 0 && (strcmp(section_name, "__nv_relfatbin") == 0
				|| strcmp(section_name, ".nv_fatbin") == 0)) {
			st = parts_add_fatbins(parts, name, (const char *)bytes, section.sh_size,
				err);
		}
	}
	return st;
}

static kz_status parts_add_any(struct parts *parts, const char *name, const void *data, size_t size,
	int depth, kz_error *err);

/* The name of a member: "sin.o/", or "/12" for the place of it in the list of long names. */
static char *parts_member_name(struct parts *parts, const char *library,
	const struct archive_header *header, const char *names, size_t names_size)
{
	const char *name = header->name;
	size_t room = sizeof(header->name);
	if (name[0] == '/' && name[1] >= '0' && name[1] <= '9') {
		size_t at = strtoul(name + 1, NULL, 10);
		name = at < names_size ? names + at : "?";
		room = at < names_size ? names_size - at : 1;
	}
	size_t len = 0;
	while (len < room && name[len] != '/' && name[len] != '\n') {
		len++;
	}
	while (len > 0 && name[len - 1] == ' ') {
		len--;
	}
	return arena_printf(&parts->arena, "%s(%.*s)", library, (int)len, name);
}

static kz_status parts_fail_archive(const char *name, const char *what, kz_error *err)
{
	return error_set(err, KZ_BAD_IMAGE, "'%s' is a damaged library: %s", name, what);
}

/* Read the header of the member at *at, and its size. */
static kz_status parts_next_member(struct archive_header *header, size_t *member_size,
	const char *library, const char *data, size_t left, kz_error *err)
{
	char digits[sizeof(header->size) + 1] = "";
	char *end;
	if (left < sizeof(*header)) {
		return parts_fail_archive(library, "it ends within the header of a member", err);
	}
	memcpy(header, data, sizeof(*header));
	if (memcmp(header->end, "`\n", sizeof(header->end)) != 0) {
		return parts_fail_archive(library, "a member does not begin where it should", err);
	}
	memcpy(digits, header->size, sizeof(header->size));
	unsigned long long size = strtoull(digits, &end, 10);
	if (end == digits || size > left - sizeof(*header)) {
		return parts_fail_archive(library, "a member does not fit into it", err);
	}
	*member_size = (size_t)size;
	return KZ_OK;
}

/* Tables for the host's linker: "/", "/SYM64/", "__.SYMDEF". */
static bool parts_is_index(const struct archive_header *header)
{
	return strncmp(header->name, "/ ", 2) == 0 || strncmp(header->name, "/SYM64/", 7) == 0
		|| strncmp(header->name, "__.SYMDEF", 9) == 0;
}

static kz_status parts_add_library(struct parts *parts, const char *name, const char *data,
	size_t size, int depth, kz_error *err)
{
	struct archive_header header;
	const char *names = "";
	size_t names_size = 0;
	size_t member_size = 0;
	if (parts_begins(data, size, THIN_MAGIC, MAGIC_SIZE)) {
		return error_set(err, KZ_UNSUPPORTED,
			"'%s' is a thin library, which has only the names of its members", name);
	}
	for (size_t at = MAGIC_SIZE; at < size;) {
		kz_status st = parts_next_member(&header, &member_size, name, data + at, size - at,
			err);
		if (st) {
			return st;
		}
		const char *member = data + at + sizeof(header);
		if (strncmp(header.name, "//", 2) == 0) {
			names = member;
			names_size = member_size;
		} else if (!parts_is_index(&header)) {
			char *member_of = parts_member_name(parts, name, &header, names,
				names_size);
			struct part **first = parts->last;
			st = !member_of ? error_no_memory(err)
				: parts_add_any(parts, member_of, member, member_size, depth + 1,
				err);
			for (struct part *part = *first; part && !st; part = part->next) {
				part->is_optional = true;
			}
		}
		if (st) {
			return st;
		}
		at += sizeof(header) + member_size;
		at += at % 2; /* members begin at even places */
	}
	return KZ_OK;
}

static kz_status parts_add_any(struct parts *parts, const char *name, const void *data, size_t size,
	int depth, kz_error *err)
{
	enum rtc_kind kind = rtc_kind_of(data, size);
	switch (depth > NESTING_MAX ? RTC_UNKNOWN : kind) {
	case RTC_PTX:
	case RTC_CUBIN:
	case RTC_LTO:
		return parts_add_part(parts, kind, name, data, size, err);
	case RTC_FATBIN:
		return parts_add_fatbins(parts, name, data, size, err);
	case RTC_OBJECT:
		return parts_add_object(parts, name, data, size, err);
	case RTC_LIBRARY:
		return parts_add_library(parts, name, data, size, depth, err);
	default:
		/* A library may hold anything, a file of texts too. */
		return depth > 0 ? KZ_OK : error_set(err, KZ_BAD_IMAGE, "'%s' is not PTX, a "
			"cubin, LTO-IR, a fat binary, an object or a library", name);
	}
}

kz_status parts_add(struct parts *parts, const char *name, const void *data, size_t size,
	kz_error *err)
{
	struct part **first = parts->last;
	kz_status st = parts_add_any(parts, name, data, size, 0, err);
	if (!st && !*first) {
		st = error_set(err, KZ_BAD_IMAGE, "'%s' is %s without device code", name,
			rtc_kind_text(rtc_kind_of(data, size)));
	}
	return st;
}

/* The state of the names while parts are chosen. */
struct names {
	struct arena *arena;
	struct map defined;    /* strong ones -> struct part */
	struct map weak;
	struct map undefined;
	struct part *part;     /* whose symbols are being read */
	struct str *errors;
	bool is_needed;        /* it defines something that is undefined */
	bool anything_may_be_needed;
	bool no_memory;
};

/* Note the first part that has a name; false when memory runs out. */
static bool parts_note(struct names *names, struct map *map, const char *name, size_t len)
{
	if (map_getn(map, name, len)) {
		return true;
	}
	char *key = arena_strndup(names->arena, name, len);
	names->no_memory = !key || !map_put(map, key, names->part);
	return !names->no_memory;
}

static bool parts_take_symbol(void *arg, const char *name, size_t len, enum symbol_kind kind)
{
	struct names *names = arg;
	const struct part *first = map_getn(&names->defined, name, len);
	if (kind == SYMBOL_STRONG && first) {
		link_log_twice(names->errors, name, len, names->part->name, first->name);
		return true;
	}
	return parts_note(names, kind == SYMBOL_STRONG ? &names->defined : kind == SYMBOL_WEAK
		? &names->weak : &names->undefined, name, len);
}

static bool parts_look_for_need(void *arg, const char *name, size_t len, enum symbol_kind kind)
{
	struct names *names = arg;
	names->is_needed = kind != SYMBOL_UNDEFINED && map_getn(&names->undefined, name, len)
		&& !map_getn(&names->defined, name, len) && !map_getn(&names->weak, name, len);
	return !names->is_needed;
}

/* Stops at a symbol that is defined already. */
static bool parts_look_for_clash(void *arg, const char *name, size_t len, enum symbol_kind kind)
{
	const struct names *names = arg;
	return kind != SYMBOL_STRONG || !map_getn(&names->defined, name, len);
}

/* LTO code does not say what it defines, nor what it needs. */
static bool parts_is_opaque(const struct part *part)
{
	return part->kind == RTC_LTO || part->kind == RTC_FATBIN;
}

static bool parts_is_needed(struct names *names, const struct part *part)
{
	names->is_needed = false;
	if (part->is_optional && !parts_is_opaque(part)) {
		symbols_of(part, parts_look_for_need, names);
		return names->is_needed || (names->anything_may_be_needed
			&& symbols_of(part, parts_look_for_clash, names));
	}
	return true;
}

/* Take what is needed; true if that was something new. */
static bool parts_take_round(struct names *names, struct parts *parts, bool optional)
{
	bool any = false;
	for (struct part *part = parts->first; part && !names->no_memory; part = part->next) {
		if (!part->is_taken && part->is_optional == optional && parts_is_needed(names,
			part)) {
			names->part = part;
			part->is_taken = any = true;
			symbols_of(part, parts_take_symbol, names);
		}
	}
	return any;
}

/* Those that an earlier call has taken. */
static void parts_look_again(struct names *names, const struct parts *parts)
{
	for (struct part *part = parts->first; part && !names->no_memory; part = part->next) {
		if (part->is_taken) {
			names->part = part;
			symbols_of(part, parts_take_symbol, names);
		}
	}
}

static void parts_take_all(struct names *names, struct parts *parts)
{
	parts_look_again(names, parts);
	parts_take_round(names, parts, false);
	while (parts_take_round(names, parts, true)) {
	}
	/* On a device that takes PTX, LTO code becomes PTX first, and then says what it needs. */
	for (struct part *part = parts->first; part && !parts->target.ptx_only; part = part->next) {
		names->anything_may_be_needed |= part->is_taken && parts_is_opaque(part);
	}
	if (names->anything_may_be_needed) {
		parts_take_round(names, parts, true);
	}
}

/* If all files are libraries, nothing says what is needed of them: take everything. */
static void parts_ask_for_all(struct parts *parts)
{
	for (const struct part *part = parts->first; part; part = part->next) {
		if (!part->is_optional) {
			return;
		}
	}
	for (struct part *part = parts->first; part; part = part->next) {
		part->is_optional = false;
	}
}

kz_status parts_resolve(struct parts *parts, kz_error *err)
{
	struct str errors = STR_INIT;
	struct names names = {
		.arena = &parts->arena,
		.defined = MAP_INIT,
		.weak = MAP_INIT,
		.undefined = MAP_INIT,
		.errors = &errors,
	};
	parts_ask_for_all(parts);
	parts_take_all(&names, parts);
	kz_status st = names.no_memory || errors.failed ? error_no_memory(err)
		: errors.len > 0 ? link_log_fail(errors.data, NULL, err) : KZ_OK;
	map_free(&names.defined);
	map_free(&names.weak);
	map_free(&names.undefined);
	str_free(&errors);
	return st;
}
