/* SPDX-License-Identifier: MIT */
/*
 * kudzu run --check: accesses outside of the arrays.
 *
 * By KUDZU_CPU_GUARD the CPU device places allocations so that an access to the first byte after
 * them traps, or to the last byte before them; it then names the thread and the line.  So the
 * kernel is launched twice, each time with new arrays and a new module.  The first launch finds
 * accesses before the arrays, and its output is thrown away.
 *
 * On other devices only writes are found.  Each array lies between two zones of a known pattern,
 * which are compared after the launch.  As float and double the pattern is a tiny number, which
 * almost any operation changes.
 */
#define _GNU_SOURCE
#include "cli/run.h"

#include "cli/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZONE 4096 /* bytes, on each side of an array */

static const unsigned char pattern = 0xa5;

int run_guard_begin(void)
{
	setenv("KUDZU_CPU_GUARD", "start", 1);
	fflush(stdout);
	int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (output >= 0 && nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
	}
	if (nowhere >= 0) {
		close(nowhere);
	}
	return output;
}

void run_guard_next(int output)
{
	setenv("KUDZU_CPU_GUARD", "end", 1);
	fflush(stdout);
	if (output >= 0) {
		dup2(output, STDOUT_FILENO);
		close(output);
	}
}

bool run_guard_is_exact(const kz_device *dev)
{
	return strcmp(kz_device_name(dev), "cpu") == 0;
}

/* Zones */

kz_status run_guard(struct run_values *values, size_t index, kz_device *dev, kz_error *err)
{
	kz_array *array = values->arrays[index], *guarded = NULL;
	int64_t size = kz_array_size(array);
	int64_t all = ZONE + size + ZONE;
	kz_shape shape = kz_array_shape(array);
	kz_status st = kz_buffer_create(&values->zones[index], dev, all, err);
	if (st || (st = kz_fill(values->zones[index], 0, all, &pattern, 1, NULL, err))
	    || (st = kz_array_wrap(&guarded, values->zones[index], kz_array_dtype(array), shape,
			NULL, ZONE, err))
	    || (st = kz_array_assign(guarded, array, err))) {
		kz_array_release(guarded);
		return st;
	}
	kz_array_release(array);
	values->arrays[index] = guarded;
	return KZ_OK;
}

/* The first byte of a zone that is not the pattern; -1: all are. */
static int64_t guard_changed_at(const unsigned char *zone)
{
	for (int64_t i = 0; i < ZONE; i++) {
		if (zone[i] != pattern) {
			return i;
		}
	}
	return -1;
}

/* The error for a write to element `at`, counted from the first one. */
static kz_status guard_report(size_t index, const char *name, kz_array *array, int64_t at,
	kz_error *err)
{
	err->status = KZ_FAULT;
	snprintf(err->message, sizeof(err->message), "argument %zu, '%s', has %" PRId64
		" elements, and the kernel has written %s[%" PRId64 "]", index + 1, name,
		kz_array_count(array), name, at);
	return KZ_FAULT;
}

static kz_status guard_check_array(const struct run_values *values, size_t index, const char *name,
	kz_error *err)
{
	kz_array *array = values->arrays[index];
	int64_t size = kz_array_size(array), each = kz_dtype_size(kz_array_dtype(array));
	unsigned char zone[ZONE];
	kz_status st = kz_copy_dtoh(zone, ZONE, values->zones[index], ZONE + size, err);
	int64_t at = st ? -1 : guard_changed_at(zone);
	if (at >= 0) {
		return guard_report(index, name, array, (size + at) / each, err);
	}
	st = st ? st : kz_copy_dtoh(zone, ZONE, values->zones[index], 0, err);
	at = st ? -1 : guard_changed_at(zone);
	return at >= 0 ? guard_report(index, name, array, -((ZONE - at + each - 1) / each), err)
		       : st;
}

kz_status run_guard_check(const struct run_values *values, const struct parameters *parameters,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; i < RUN_MAX && st == KZ_OK; i++) {
		char number[32];
		snprintf(number, sizeof(number), "arg%zu", i + 1);
		if (values->zones[i]) {
			st = guard_check_array(values, i,
				i < parameters->count ? parameters->items[i].name : number, err);
		}
	}
	return st;
}

/* The log of the CPU device */

/* The number after a word of its log; 0 if the word is not there. */
static uint64_t guard_number_behind(const char *log, const char *word)
{
	const char *at = strstr(log, word);
	return at ? strtoull(at + strlen(word), NULL, 16) : 0;
}

/* The argument whose allocation the log names; RUN_MAX if it is not an argument's, or so far from
 * the access that this may have been meant for another. */
static size_t guard_find_array(const struct run_values *values, const char *log)
{
	const uint64_t near = 1 << 20;
	uint64_t address = guard_number_behind(log, "allocation at 0x");
	uint64_t access = guard_number_behind(log, "address 0x");
	size_t i = 0;
	while (i < RUN_MAX && (!values->arrays[i] || address == 0
			|| kz_array_address(values->arrays[i]) != address)) {
		i++;
	}
	bool is_near = i < RUN_MAX && (access < address ? address - access < near
		: access - address < near + (uint64_t)kz_array_size(values->arrays[i]));
	return is_near ? i : RUN_MAX;
}

/* "'f' reads x[8], and argument 1, 'x', has 8 elements" */
static void guard_explain_array(FILE *file, const kz_array *array, size_t index, const char *name,
	const char *log)
{
	int64_t each = kz_dtype_size(kz_array_dtype(array));
	int64_t offset =
		(int64_t)(guard_number_behind(log, "address 0x") - kz_array_address(array));
	int64_t at = offset >= 0 ? offset / each : -((each - 1 - offset) / each);
	const char *verb = strstr(log, ": read of") ? "reads" : strstr(log, ": write of") ? "writes"
		: strstr(log, ": atomic operation") ? "changes" : "accesses";
	const char *kernel = log + strcspn(log, "'");
	fprintf(file, "%.*s' %s %s[%" PRId64 "], and argument %zu, '%s', has %" PRId64 " element%s",
		*kernel ? (int)strcspn(kernel + 1, "'") + 1 : 0, kernel, verb, name, at, index + 1,
		name, kz_array_count(array), kz_array_count(array) == 1 ? "" : "s");
}

/* Whether the compiler's name of a file is that of the source: it makes relative ones absolute. */
static bool guard_is_source(const struct source *source, const char *file)
{
	const char *name = source_name(source);
	size_t length = strlen(file), name_length = strlen(name);
	return length >= name_length && strcmp(file + length - name_length, name) == 0
		&& (length == name_length || file[length - name_length - 1] == '/');
}

/* A line of the source. */
static void guard_quote_line(FILE *file, const struct source *source, int line)
{
	const char *at = source->is_image ? NULL : source->data;
	for (; at && line > 1; line--) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (at && line == 1) {
		at += strspn(at, " \t");
		fprintf(file, "    %.*s\n", (int)strcspn(at, "\r\n"), at);
	}
}

char *run_guard_explain(const struct run_values *values, const struct parameters *parameters,
	const struct source *source, const kz_error *err)
{
	char *text = NULL, number[32];
	size_t size = 0;
	const char *threads = err->status == KZ_FAULT && err->log ? strstr(err->log, "; block (")
		: NULL;
	FILE *file = threads && strncmp(err->log, "kernel '", 8) == 0
		? open_memstream(&text, &size) : NULL;
	if (!file) {
		return NULL;
	}
	size_t index = guard_find_array(values, err->log);
	bool is_here = err->file && guard_is_source(source, err->file);
	fprintf(file, "%s", is_here || !err->file ? source_name(source) : err->file);
	if (err->line > 0) {
		fprintf(file, ":%d", err->line);
	}
	fputs(": error: ", file);
	if (index < RUN_MAX) {
		snprintf(number, sizeof(number), "arg%zu", index + 1);
		guard_explain_array(file, values->arrays[index], index, index < parameters->count
			? parameters->items[index].name : number, err->log);
	} else {
		fprintf(file, "%.*s", (int)(threads - err->log), err->log);
	}
	fputc('\n', file);
	if (is_here) {
		guard_quote_line(file, source, err->line);
	}
	fprintf(file, "note: %.*s\n", (int)strcspn(threads + 2, ";\n"), threads + 2);
	return fclose(file) ? NULL : text;
}
