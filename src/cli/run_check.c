/* SPDX-License-Identifier: MIT */
/*
 * kudzu run --check: what the CPU device finds wrong in a kernel.
 *
 * KUDZU_CHECK turns checks on before the device is opened.  After the launch the reports are
 * printed.  For a wrong access a note says which element of which argument it was.
 */
#define _GNU_SOURCE
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_check_begin(const char *checks, const char *report)
{
	return setenv("KUDZU_CHECK", checks, 1) == 0 && setenv("KUDZU_CHECK_PRINT", "0", 1) == 0
		&& (!report || setenv("KUDZU_CHECK_REPORT", report, 1) == 0);
}

/* The reports */

static void check_print(void *user, const kz_report *report)
{
	*(int64_t *)user += report->count;
	report_log(report->text);
	if (report->count > 1) {
		fprintf(stderr, "note: found %" PRId64 " times\n", report->count);
	}
}

int run_check_end(kz_device *dev)
{
	int64_t count = 0;
	kz_error err = KZ_ERROR_INIT;
	if (kz_device_reports(dev, check_print, &count, &err)) {
		report_error(&err);
		kz_error_clear(&err);
		return CLI_INACTIVE;
	}
	return count > 0 ? CLI_REPORTS : CLI_OK;
}

/* The log of the CPU device */

/* The number after a word of its log; 0 if the word is not there. */
static uint64_t check_number_after(const char *log, const char *word)
{
	const char *at = strstr(log, word);
	return at ? strtoull(at + strlen(word), NULL, 16) : 0;
}

/* The argument whose allocation the log names; RUN_MAX if it is not an argument's, or so far from
 * the access that this may have been meant for another. */
static size_t check_find_array(const struct run_values *values, const char *log)
{
	const uint64_t near = 1 << 20;
	uint64_t address = check_number_after(log, "allocation at 0x");
	uint64_t access = check_number_after(log, "address 0x");
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
static void check_explain_array(FILE *file, const kz_array *array, size_t index, const char *name,
	const char *log)
{
	int64_t each = kz_dtype_size(kz_array_dtype(array));
	int64_t offset =
		(int64_t)(check_number_after(log, "address 0x") - kz_array_address(array));
	int64_t at = offset >= 0 ? offset / each : -((each - 1 - offset) / each);
	const char *verb = strstr(log, ": read of") ? "reads" : strstr(log, ": write of") ? "writes"
		: strstr(log, ": atomic operation") ? "changes" : "accesses";
	const char *kernel = log + strcspn(log, "'");
	fprintf(file, "%.*s' %s %s[%" PRId64 "], and argument %zu, '%s', has %" PRId64 " element%s",
		*kernel ? (int)strcspn(kernel + 1, "'") + 1 : 0, kernel, verb, name, at, index + 1,
		name, kz_array_count(array), kz_array_count(array) == 1 ? "" : "s");
}

char *run_check_explain(const struct run_values *values, const struct parameters *parameters,
	const kz_error *err)
{
	char *text = NULL, number[32];
	size_t size = 0;
	const size_t index = err->status == KZ_FAULT && err->log
		&& strncmp(err->log, "kernel '", 8) == 0 ? check_find_array(values, err->log)
		: RUN_MAX;
	FILE *file = index < RUN_MAX ? open_memstream(&text, &size) : NULL;
	if (!file) {
		return NULL;
	}
	snprintf(number, sizeof(number), "arg%zu", index + 1);
	fputs("note: ", file);
	check_explain_array(file, values->arrays[index], index, index < parameters->count
		? parameters->items[index].name : number, err->log);
	fputc('\n', file);
	return fclose(file) ? NULL : text;
}
