/* SPDX-License-Identifier: MIT */
/* Reads the file of KUDZU_PROFILE, and the lines of the sources that it names. */
#define _GNU_SOURCE
#include "cli/profile.h"

#include "cli/json.h"
#include "cli/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *read_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return *path == '\0' ? "PTX" : slash ? slash + 1 : path;
}

/* "k.cu:7;f", the calls from the outermost to the function that the line is in; NULL: none. */
static char *read_stack(const struct json *line)
{
	const struct json *callers = json_member(line, "callers", JSON_ARRAY);
	char *stack = NULL;
	for (const struct json *at = callers ? callers->first : NULL; at; at = at->next) {
		char *longer = NULL;
		if (asprintf(&longer, "%s%s%s:%" PRIu64 "%s%s", json_text(at, "function"),
			*json_text(at, "function") ? ";" : "",
			read_base_name(json_text(at, "file")), json_number(at, "line"),
			stack ? ";" : "", stack ? stack : "") < 0) {
			longer = NULL;
		}
		free(stack);
		stack = longer;
	}
	char *whole = NULL;
	if (stack && asprintf(&whole, "%s;%s", stack, *json_text(line, "function")
		? json_text(line, "function") : "?") < 0) {
		whole = NULL;
	}
	free(stack);
	return whole;
}

static void read_line(struct profile_line *out, const struct json *line)
{
	out->file = json_text(line, "file");
	out->line = json_number(line, "line");
	out->stack = read_stack(line);
#define X(name) out->name = json_number(line, #name);
	PROFILE_NUMBERS(X)
#undef X
}

static bool read_kernel(struct profile_kernel *out, const struct json *kernel)
{
	const struct json *lines = json_member(kernel, "lines", JSON_ARRAY);
	out->name = json_text(kernel, "name");
#define X(name) out->name = json_number(kernel, #name);
	PROFILE_KERNEL_NUMBERS(X)
#undef X
	out->samples = out->samples_elsewhere;
	out->lines = calloc(lines ? lines->count + 1 : 1, sizeof(*out->lines));
	const struct json *line = lines && out->lines ? lines->first : NULL;
	for (; line; line = line->next) {
		read_line(&out->lines[out->line_count], line);
		out->samples += out->lines[out->line_count++].samples;
	}
	return out->lines;
}

static int read_compare(const void *a, const void *b)
{
	const struct profile_kernel *x = a, *y = b;
	return (x->busy_ns < y->busy_ns) - (x->busy_ns > y->busy_ns);
}

static bool read_kernels(struct profile *out)
{
	const struct json *kernels = json_member(out->json, "kernels", JSON_ARRAY);
	const struct json *counts = json_member(out->json, "counts", JSON_BOOL);
	const struct json *time = json_member(out->json, "time", JSON_BOOL);
	if (json_number(out->json, "kudzu_profile") != 1 || !kernels) {
		return false;
	}
	out->has_counts = counts && counts->number;
	out->has_time = time && time->number;
	out->kernels = calloc(kernels->count + 1, sizeof(*out->kernels));
	bool ok = out->kernels;
	for (const struct json *at = kernels->first; at && ok; at = at->next) {
		ok = read_kernel(&out->kernels[out->kernel_count++], at);
	}
	if (ok) {
		qsort(out->kernels, out->kernel_count, sizeof(*out->kernels), read_compare);
	}
	return ok;
}

bool profile_read(struct profile *out, const char *command, const char *path)
{
	size_t size = 0;
	*out = (struct profile){.text = source_read(path, &size)};
	if (!out->text) {
		fprintf(stderr, "%s: cannot read '%s': %s\n", command, path, strerror(errno));
		return false;
	}
	out->json = json_parse(out->text);
	if (!out->json || !read_kernels(out)) {
		fprintf(stderr, "%s: '%s' is not a profile that KUDZU_PROFILE has written\n",
			command, path);
		profile_free(out);
		return false;
	}
	return true;
}

void profile_free(struct profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++) {
		struct profile_kernel *kernel = &profile->kernels[i];
		for (size_t k = 0; k < kernel->line_count; k++) {
			free(kernel->lines[k].stack);
		}
		free(kernel->lines);
	}
	free(profile->kernels);
	json_free(profile->json);
	free(profile->text);
	*profile = (struct profile){.json = NULL};
}

double profile_time(const struct profile_kernel *kernel, const struct profile_line *line)
{
	return kernel->samples == 0 ? 0
		: (double)kernel->busy_ns * (double)line->samples / (double)kernel->samples;
}

void profile_source(char *out, size_t size, const char *path, uint64_t line)
{
	FILE *file = *path ? fopen(path, "re") : NULL;
	char *text = NULL;
	size_t cap = 0;
	ssize_t len = 0;
	*out = '\0';
	for (uint64_t i = 0; file && i < line && len >= 0; i++) {
		len = getline(&text, &cap, file);
	}
	if (file && len > 0) {
		const char *begin = text + strspn(text, " \t");
		snprintf(out, size, "%.*s", (int)strcspn(begin, "\r\n"), begin);
	}
	if (file) {
		fclose(file);
	}
	free(text);
}
