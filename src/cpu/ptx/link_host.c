/* SPDX-License-Identifier: MIT */
/*
 * Finds device code in objects of the host, as nvcc -c makes them, in archives of objects, and in
 * programs and shared libraries that nvcc linked.  An ELF file has fat binaries, one after the
 * other, in a section.  An archive (ar) is a line of magic, then members with a header of 60
 * characters each, at even places.
 */
#include "base/common.h"

#include "cpu/ptx/link_host.h"

#include "base/elf.h"
#include "base/fatbin.h"

#include <stdlib.h>
#include <string.h>

bool link_next_member(const char *library, size_t size, size_t *at, struct link_member *out)
{
	static const char magic[] = "!<arch>\n";
	enum { HEADER = 60, SIZE_AT = 48, SIZE_LEN = 10 };
	const size_t start = sizeof(magic) - 1;
	if (size < start || memcmp(library, magic, start) != 0) {
		return false;
	}
	*at = *at < start ? start : *at;
	if (*at > size || size - *at < HEADER) {
		return false;
	}
	char digits[SIZE_LEN + 1] = "";
	memcpy(digits, library + *at + SIZE_AT, SIZE_LEN);
	out->name = library + *at;
	out->data = out->name + HEADER;
	out->size = strtoull(digits, NULL, 10);
	if (out->size > size - *at - HEADER) {
		return false;
	}
	*at += HEADER + out->size + out->size % 2;
	return true;
}

static bool link_walk_section(const unsigned char *at, size_t size, link_host_fn *take, void *arg)
{
	const unsigned char *end = at + size;
	struct fatbin fatbin;
	struct fatbin_entry entry;
	while (at < end) {
		enum fatbin_result result = fatbin_open(&fatbin, at, (size_t)(end - at));
		while (result == FATBIN_OK) {
			result = fatbin_next(&fatbin, &entry);
		}
		/* The one who takes a damaged one finds that out, too. */
		const unsigned char *next = result == FATBIN_END ? fatbin.next : end;
		if (!take(arg, at, (size_t)(next - at))) {
			return false;
		}
		for (at = next; at < end && !*at; at++) {
		}
	}
	return true;
}

static bool link_walk_sections(const struct elf *elf, const char *name, link_host_fn *take,
	void *arg, bool *has_any)
{
	Elf64_Shdr section;
	bool go_on = true;
	for (uint32_t i = 0; go_on && i < elf->header.e_shnum; i++) {
		const char *found = elf_section(elf, &section, i)
			? elf_section_name(elf, &section) : NULL;
		const unsigned char *data = found && strcmp(found, name) == 0
			? elf_section_data(elf, &section) : NULL;
		if (data) {
			*has_any = true;
			go_on = link_walk_section(data, section.sh_size, take, arg);
		}
	}
	return go_on;
}

/* Where a file has code that can be linked further, its other code is what nvcc linked of that. */
static bool link_walk_object(const struct elf *elf, link_host_fn *take, void *arg)
{
	bool has_any = false;
	const bool go_on = link_walk_sections(elf, "__nv_relfatbin", take, arg, &has_any);
	return has_any ? go_on : link_walk_sections(elf, ".nv_fatbin", take, arg, &has_any);
}

void link_walk_host(const char *data, size_t size, link_host_fn *take, void *arg)
{
	struct elf elf;
	struct link_member member;
	size_t at = 0;
	bool go_on = true;
	if (elf_open(&elf, data, size)) {
		link_walk_object(&elf, take, arg);
	}
	while (go_on && link_next_member(data, size, &at, &member)) {
		go_on = !elf_open(&elf, member.data, member.size)
			|| link_walk_object(&elf, take, arg);
	}
}
