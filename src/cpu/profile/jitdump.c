/* SPDX-License-Identifier: MIT */
/*
 * KUDZU_CPU_JITDUMP: names and lines of kernels for perf, in the format of its
 * tools/perf/Documentation/jitdump-specification.txt.
 *
 *	perf record -k mono ./program
 *	perf inject --jit -i perf.data -o perf.jit.data
 *	perf report -i perf.jit.data
 *
 * perf finds the file because a page of it is mapped as if it were code.  Each kernel has a record
 * with its lines, and after it one with its code.  The caller has the lock of profile.c.
 */
#include "base/common.h"

#include "cpu/profile/profile_kernel.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { JITDUMP_MAGIC = 0x4A695444, JITDUMP_VERSION = 1, JITDUMP_PAGE = 4096 };
enum { JITDUMP_LOAD = 0, JITDUMP_LINES = 2 };

struct jitdump_header {
	uint32_t magic, version, size, machine, pad, process;
	uint64_t time, flags;
};

struct jitdump_record {
	uint32_t kind, size;
	uint64_t time;
};

struct jitdump_load {
	struct jitdump_record record;
	uint32_t process, thread;
	uint64_t address, code, code_size, index; /* then the name, and the code */
};

struct jitdump_line {
	uint64_t address;
	uint32_t line, discriminator;             /* then the name of the file */
};

static struct {
	int file;       /* -1 after it could not be written */
	pid_t process;  /* 0: it has not begun */
	uint64_t offset;
	uint64_t count;
} jitdump;

static void jitdump_put(const void *data, size_t size)
{
	if (jitdump.file >= 0 && file_write(jitdump.file, data, size, (int64_t)jitdump.offset)) {
		jitdump.offset += size;
	} else {
		jitdump.file = -1;
	}
}

bool profile_jitdump_begin(const char *folder)
{
#ifdef __x86_64__
	const uint32_t machine = EM_X86_64;
#else
	const uint32_t machine = EM_AARCH64;
#endif
	char path[4096];
	if (jitdump.process != 0) {
		return true;
	}
	snprintf(path, sizeof(path), "%s/jit-%ld.dump", folder, (long)getpid());
	jitdump.file = file_open_alone(path);
	/* perf reads it, and mmap needs a file that may be read */
	if (jitdump.file >= 0) {
		file_close_alone(jitdump.file);
		jitdump.file = open(path, O_RDWR | O_CLOEXEC);
	}
	if (jitdump.file < 0) {
		return false;
	}
	const struct jitdump_header header = {JITDUMP_MAGIC, JITDUMP_VERSION, sizeof(header),
		machine, 0, (uint32_t)getpid(), clock_now_ns(), 0};
	jitdump.process = getpid();
	jitdump_put(&header, sizeof(header));
	/* it stays until the process ends */
	return jitdump.file >= 0 && mmap(NULL, JITDUMP_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		jitdump.file, 0) != MAP_FAILED;
}

static void jitdump_add_line(struct str *out, const struct profile_code *code,
	const struct profile_row *row, const struct profile_place *place)
{
	const struct jitdump_line line = {code->begin + row->offset, place->line, 0};
	str_addn(out, (const char *)&line, sizeof(line));
	str_add(out, place->file ? place->file : "kernel.ptx");
	str_addc(out, '\0');
}

static void jitdump_put_lines(const struct profile_code *code)
{
	struct {
		struct jitdump_record record;
		uint64_t code, count;
	} head = {{JITDUMP_LINES, 0, clock_now_ns()}, code->begin, 0};
	struct str lines = STR_INIT;
	for (size_t i = 0; i < code->row_count; i++) {
		const size_t place = profile_find_place(code->kernel, code->rows[i].ptx_line);
		if (place != SIZE_MAX) {
			jitdump_add_line(&lines, code, &code->rows[i],
				&code->kernel->places[place]);
			head.count++;
		}
	}
	head.record.size = (uint32_t)(sizeof(head) + lines.len);
	if (head.count > 0 && !lines.failed) {
		jitdump_put(&head, sizeof(head));
		jitdump_put(lines.data, lines.len);
	}
	str_free(&lines);
}

void profile_jitdump_add(const struct profile_code *code, size_t size)
{
	char name[256];
	if (jitdump.process != getpid() || jitdump.file < 0 || size == 0) {
		return;
	}
	ptx_write_name(name, sizeof(name), code->kernel->symbol);
	const size_t name_size = strlen(name) + 1;
	const struct jitdump_load load = {{JITDUMP_LOAD,
		(uint32_t)(sizeof(load) + name_size + size), clock_now_ns()},
		(uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), code->begin, code->begin, size,
		jitdump.count++};
	jitdump_put_lines(code);
	jitdump_put(&load, sizeof(load));
	jitdump_put(name, name_size);
	jitdump_put((const void *)code->begin, size);
}
