/* SPDX-License-Identifier: MIT */
/* Shared objects found at run time.  They are opened with RTLD_LOCAL, so that their symbols do
 * not take the place of other libraries'. */
#include "base/dl.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first object is the program; it names a loader unless it was linked with -static. */
static int dl_needs_loader(struct dl_phdr_info *info, size_t info_size, void *data)
{
	(void)info_size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		*(bool *)data |= info->dlpi_phdr[i].p_type == PT_INTERP;
	}
	return 1;
}

/*
 * A program that was linked with -static has a C library inside.  An object that it loads brings a
 * second one, which nobody sets up, and crashes while it is loaded.
 */
static bool dl_is_static_program(void)
{
	bool dynamic = false;
	dl_iterate_phdr(dl_needs_loader, &dynamic);
	return !dynamic;
}

void *dl_open(const char *path, char *why, size_t why_size)
{
	if (dl_is_static_program()) {
		snprintf(why, why_size, "%s: a program that is linked with -static cannot load it; "
			"link libkudzu.a alone statically", path);
		return NULL;
	}
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object && why_size > 0) {
		const char *reason = dlerror();
		snprintf(why, why_size, "%s", reason ? reason : "unknown reason");
	}
	return object;
}

void *dl_symbol(void *object, const char *name)
{
	return dlsym(object, name);
}

void dl_close(void *object)
{
	if (object) {
		dlclose(object);
	}
}

/* Whether an object holds an address.  dl_iterate_phdr calls its callback for one object after
 * the other until the callback returns 1. */
static bool dl_holds(const struct dl_phdr_info *info, uintptr_t address)
{
	bool is_here = false;
	for (size_t i = 0; i < info->dlpi_phnum && !is_here; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		is_here = part->p_type == PT_LOAD
			&& address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
	}
	return is_here;
}

/* The loader has no name for the program, and argv[0] need not be a path, so the kernel is
 * asked. */
static char *dl_program_path(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
	return len > 0 && (size_t)len < sizeof(path) ? mem_strndup(path, (size_t)len) : NULL;
}

/* The loader's name of an object. */
struct name_search {
	uintptr_t address;
	char *name;      /* "": the program; NULL: there is none, or no memory */
	uintptr_t added; /* to the addresses in the file */
};

static int dl_search_name(struct dl_phdr_info *info, size_t info_size, void *data)
{
	(void)info_size;
	struct name_search *search = data;
	bool is_here = dl_holds(info, search->address);
	if (is_here) {
		search->name = mem_strdup(info->dlpi_name);
		search->added = info->dlpi_addr;
	}
	return is_here;
}

/* dladdr would search all symbols of the object for the nearest one. */
char *dl_offset(uint64_t *offset, const void *address)
{
	char path[PATH_MAX];
	struct name_search search = {.address = (uintptr_t)address};
	dl_iterate_phdr(dl_search_name, &search);
	*offset = search.address - search.added;
	char *real = !search.name ? NULL : !search.name[0] ? dl_program_path()
		: mem_strdup(realpath(search.name, path) ? path : search.name);
	mem_free(search.name);
	return real;
}

char *dl_path(const void *address)
{
	uint64_t offset;
	return dl_offset(&offset, address);
}

struct extent_search {
	uintptr_t address, begin, end;
};

static int dl_search_extent(struct dl_phdr_info *info, size_t info_size, void *data)
{
	(void)info_size;
	struct extent_search *search = data;
	bool is_here = dl_holds(info, search->address);
	for (size_t i = 0; is_here && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_LOAD) {
			search->begin = begin < search->begin ? begin : search->begin;
			search->end = begin + part->p_memsz;
		}
	}
	return is_here;
}

void dl_extent(uintptr_t *begin, uintptr_t *end, const void *address)
{
	struct extent_search search = {(uintptr_t)address, (uintptr_t)address, (uintptr_t)address};
	dl_iterate_phdr(dl_search_extent, &search);
	*begin = search.begin;
	*end = search.end;
}

struct id_search {
	uintptr_t address;
	uint8_t *out;
	size_t size;
};

/* Notes are a header, a name and a description each, the last two padded to `align`. */
static size_t dl_id_in_notes(uint8_t *out, const uint8_t *notes, size_t size, size_t align)
{
	size_t at = 0;
	ElfW(Nhdr) note;
	while (size - at > sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		size_t name = at + sizeof(note);
		size_t text = name + round_up(note.n_namesz, align);
		size_t end = text + round_up(note.n_descsz, align);
		if (text < name || end < text || end > size) {
			break;
		}
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU")
		    && memcmp(notes + name, "GNU", sizeof("GNU")) == 0
		    && note.n_descsz <= DL_BUILD_ID_SIZE) {
			memcpy(out, notes + text, note.n_descsz);
			return note.n_descsz;
		}
		at = end;
	}
	return 0;
}

static int dl_search_object(struct dl_phdr_info *info, size_t info_size, void *data)
{
	(void)info_size;
	struct id_search *search = data;
	bool is_here = dl_holds(info, search->address);
	for (size_t i = 0; is_here && i < info->dlpi_phnum && search->size == 0; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_NOTE) {
			search->size = dl_id_in_notes(search->out,
				(const uint8_t *)(info->dlpi_addr + part->p_vaddr), part->p_memsz,
				part->p_align < 8 ? 4 : 8);
		}
	}
	return is_here;
}

size_t dl_build_id(uint8_t out[DL_BUILD_ID_SIZE], const void *address)
{
	struct id_search search = {.address = (uintptr_t)address, .out = out};
	dl_iterate_phdr(dl_search_object, &search);
	return search.size;
}

/* An object file and its first bytes, which usually have all that is looked for. */
struct object_file {
	int fd;
	size_t size; /* of `first` */
	uint8_t first[2048];
};

/* Bytes of a file from an offset on; what is missing is zero. */
static void dl_read_at(const struct object_file *file, void *out, size_t size, uint64_t offset)
{
	if (offset <= file->size && size <= file->size - offset) {
		memcpy(out, file->first + offset, size);
		return;
	}
	ssize_t got = offset <= INT64_MAX ? pread(file->fd, out, size, (off_t)offset) : -1;
	size_t done = got > 0 ? (size_t)got : 0;
	memset((uint8_t *)out + done, 0, size - done);
}

size_t dl_file_id(uint8_t out[DL_BUILD_ID_SIZE], const char *path)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) part;
	uint8_t notes[1024];
	size_t size = 0;
	struct object_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (file.fd < 0) {
		return 0;
	}
	ssize_t got = pread(file.fd, file.first, sizeof(file.first), 0);
	file.size = got > 0 ? (size_t)got : 0;
	dl_read_at(&file, &header, sizeof(header), 0);
	bool is_elf = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0
		&& header.e_phentsize == sizeof(part);
	for (size_t i = 0; is_elf && i < header.e_phnum && size == 0; i++) {
		dl_read_at(&file, &part, sizeof(part), header.e_phoff + i * sizeof(part));
		if (part.p_type == PT_NOTE && part.p_filesz <= sizeof(notes)) {
			dl_read_at(&file, notes, part.p_filesz, part.p_offset);
			size = dl_id_in_notes(out, notes, part.p_filesz, part.p_align < 8 ? 4 : 8);
		}
	}
	close(file.fd);
	return size;
}

const char *dl_fill(void *object, const struct dl_row *rows, size_t count, void *table)
{
	const char *missing = NULL;
	for (size_t i = 0; i < count; i++) {
		void *symbol = dl_symbol(object, rows[i].symbol);
		memcpy((char *)table + rows[i].slot, &symbol, sizeof(symbol));
		if (!symbol && rows[i].needed && !missing) {
			missing = rows[i].symbol;
		}
	}
	return missing;
}
