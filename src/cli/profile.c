/* SPDX-License-Identifier: MIT */
/*
 * kudzu profile: shows a profile that KUDZU_PROFILE has written, as a table, as stacks, or as
 * source with numbers beside it.  kudzu run --profile makes one of its launch.
 */
#define _GNU_SOURCE
#include "cli/profile.h"

#include "cli/cli.h"
#include "cli/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[] = "kudzu profile"; /* getopt's messages begin with it */

/* --- The table --- */

enum { TABLE_LINES = 30 };

/* The numbers of a line, wherever it was inlined. */
static void profile_merge(struct profile_line *into, const struct profile_line *line)
{
#define X(name) into->name += line->name;
	PROFILE_NUMBERS(X)
#undef X
}

/* The lines of a kernel, each once; freed with free, NULL without memory. */
static struct profile_line *profile_merge_all(size_t *count, const struct profile_kernel *kernel)
{
	struct profile_line *all = calloc(kernel->line_count + 1, sizeof(*all));
	*count = 0;
	for (size_t i = 0; all && i < kernel->line_count; i++) {
		const struct profile_line *line = &kernel->lines[i];
		size_t k = 0;
		while (k < *count && (all[k].line != line->line
			|| strcmp(all[k].file, line->file) != 0)) {
			k++;
		}
		if (k == *count) {
			all[(*count)++] = (struct profile_line){.file = line->file,
				.line = line->line};
		}
		profile_merge(&all[k], line);
	}
	return all;
}

static int profile_compare(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;
	const uint64_t by[][2] = {{x->samples, y->samples},
		{x->thread_instructions, y->thread_instructions}};
	for (size_t i = 0; i < 2; i++) {
		if (by[i][0] != by[i][1]) {
			return by[i][0] < by[i][1] ? 1 : -1;
		}
	}
	return x->line < y->line ? -1 : x->line > y->line;
}

/* "12.3M", with five columns at most. */
static const char *profile_short(char out[16], uint64_t number)
{
	static const char units[] = " kMGTPE";
	double value = (double)number;
	size_t unit = 0;
	for (; value >= 999.5 && units[unit + 1]; unit++) {
		value /= 1000;
	}
	if (number == 0) {
		snprintf(out, 16, "-");
	} else if (unit == 0) {
		snprintf(out, 16, "%d", (int)number);
	} else {
		snprintf(out, 16, "%.*f%c", value < 9.95 ? 2 : value < 99.5 ? 1 : 0, value,
			units[unit]);
	}
	return out;
}

static const char *profile_ratio(char out[16], uint64_t over, uint64_t under)
{
	if (under == 0) {
		snprintf(out, 16, "-");
	} else {
		snprintf(out, 16, "%.1f", (double)over / (double)under);
	}
	return out;
}

static void profile_print_line(FILE *to, const struct profile_kernel *kernel,
	const struct profile_line *line)
{
	char cells[7][16], source[64], share[16];
	const bool is_warp = kernel->width > 1;
	const char *slash = strrchr(line->file, '/');
	profile_source(source, sizeof(source), line->file, line->line);
	snprintf(share, sizeof(share), "-");
	if (kernel->samples > 0) {
		snprintf(share, sizeof(share), "%.1f%%",
			100.0 * (double)line->samples / (double)kernel->samples);
	}
	fprintf(to, "%6s %6s %5s %6s %6s %6s %6s %6s  %s:%" PRIu64 "  %s\n", share,
		profile_short(cells[0], line->instructions),
		is_warp ? profile_ratio(cells[1], line->thread_instructions, line->instructions)
			: "-",
		profile_short(cells[2], line->global_bytes),
		is_warp ? profile_ratio(cells[3], line->lines, line->requests) : "-",
		profile_short(cells[4], line->shared_bytes),
		profile_short(cells[5], line->barrier_waits),
		profile_short(cells[6], line->contended),
		*line->file == '\0' ? "PTX" : slash ? slash + 1 : line->file, line->line, source);
}

void profile_print_table(FILE *to, const struct profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];
		size_t count;
		struct profile_line *all = profile_merge_all(&count, kernel);
		fprintf(to, "%s%s: %" PRIu64 " launch%s, %" PRIu64 " threads, %.3f ms",
			i > 0 ? "\n" : "", kernel->name, kernel->launches,
			kernel->launches == 1 ? "" : "es", kernel->threads,
			1e-6 * (double)kernel->wall_ns);
		fprintf(to, ", %.3f ms of all workers\n%6s %6s %5s %6s %6s %6s %6s %6s\n",
			1e-6 * (double)kernel->busy_ns, "time", "warps", "lanes", "bytes",
			"lines", "shared", "waits", "shares");
		if (all) {
			qsort(all, count, sizeof(*all), profile_compare);
		}
		for (size_t k = 0; all && k < count && k < TABLE_LINES; k++) {
			profile_print_line(to, kernel, &all[k]);
		}
		if (count > TABLE_LINES) {
			fprintf(to, "and %zu more lines\n", count - TABLE_LINES);
		}
		free(all);
	}
	if (profile->kernel_count == 0) {
		fprintf(to, "no kernel was launched\n");
	}
}

/* --- Stacks --- */

/* A frame must not have what separates frames, and counts. */
static void profile_print_frame(FILE *to, const char *text)
{
	for (; *text; text++) {
		fputc(*text == ';' ? ':' : *text, to);
	}
}

/* In microseconds of the time of all workers; without samples, in instructions of threads. */
void profile_print_folded(FILE *to, const struct profile *profile)
{
	bool has_samples = false;
	for (size_t i = 0; i < profile->kernel_count; i++) {
		has_samples |= profile->kernels[i].samples > profile->kernels[i].samples_elsewhere;
	}
	for (size_t i = 0; i < profile->kernel_count; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];
		for (size_t k = 0; k < kernel->line_count; k++) {
			const struct profile_line *line = &kernel->lines[k];
			const char *slash = strrchr(line->file, '/');
			const uint64_t weight = has_samples
				? (uint64_t)(1e-3 * profile_time(kernel, line) + .5)
				: line->thread_instructions;
			if (weight == 0) {
				continue;
			}
			profile_print_frame(to, kernel->name);
			fprintf(to, ";%s%s%s:%" PRIu64 " %" PRIu64 "\n",
				line->stack ? line->stack : "", line->stack ? ";" : "",
				*line->file == '\0' ? "PTX" : slash ? slash + 1 : line->file,
				line->line, weight);
		}
	}
}

/* --- The command --- */

static bool profile_ends_with(const char *path, const char *end)
{
	const size_t len = strlen(path), end_len = strlen(end);
	return len > end_len && strcmp(path + len - end_len, end) == 0;
}

typedef void profile_print_fn(FILE *to, const struct profile *profile);

/* The form that the name of a file asks for; NULL: none. */
static profile_print_fn *profile_form_of(const char *path)
{
	return profile_ends_with(path, ".html") ? profile_print_html
		: profile_ends_with(path, ".folded") ? profile_print_folded
		: profile_ends_with(path, ".txt") ? profile_print_table : NULL;
}

/* Write one form to a file; to standard output if `path` is NULL. */
static bool profile_put(const struct profile *profile, const char *command, const char *path,
	profile_print_fn *print)
{
	FILE *to = path ? fopen(path, "we") : stdout;
	if (to) {
		print(to, profile);
	}
	if (!to || ferror(to) || (path && fclose(to) != 0)) {
		fprintf(stderr, "%s: cannot write '%s': %s\n", command, path ? path : "-",
			strerror(errno));
		return false;
	}
	return true;
}

int profile_main(int argc, char **argv)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	struct profile profile;
	const char *output = NULL;
	argv[0] = name;
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-o:", options)) != -1;) {
		if (c != 'o') {
			return CLI_USAGE;
		}
		output = optarg;
	}
	if (words.count != 1) {
		fprintf(stderr, "%s: expected one file, which KUDZU_PROFILE has written\n", name);
		return CLI_USAGE;
	}
	if (output && !profile_form_of(output)) {
		fprintf(stderr, "%s: --output: expected a name that ends in .html, .folded or "
			".txt, got '%s'\n", name, output);
		return CLI_USAGE;
	}
	if (!profile_read(&profile, name, words.argv[1])) {
		return CLI_USAGE;
	}
	bool ok = profile_put(&profile, name, output,
		output ? profile_form_of(output) : profile_print_table);
	profile_free(&profile);
	return ok ? CLI_OK : CLI_FAILED;
}

/* --- kudzu run --profile --- */

static char run_name[] = "kudzu run";
static char run_file[] = "/tmp/kudzu-profile-XXXXXX";

bool profile_run_begin(const char *path)
{
	const bool is_json = path && profile_ends_with(path, ".json");
	if (path && !is_json && !profile_form_of(path)) {
		fprintf(stderr, "%s: --profile: expected a name that ends in .html, .folded, .txt "
			"or .json, got '%s'\n", run_name, path);
		return false;
	}
	const int file = is_json ? -1 : mkstemp(run_file);
	if (!is_json && file < 0) {
		fprintf(stderr, "%s: --profile: cannot write '%s': %s\n", run_name, run_file,
			strerror(errno));
		return false;
	}
	if (file >= 0) {
		close(file);
	}
	return setenv("KUDZU_PROFILE", is_json ? path : run_file, 1) == 0;
}

bool profile_run_end(const char *path, bool shows)
{
	struct profile profile;
	if (path && profile_ends_with(path, ".json")) {
		return true;
	}
	bool ok = shows && profile_read(&profile, run_name, run_file);
	if (ok) {
		ok = profile_put(&profile, run_name, path,
			path ? profile_form_of(path) : profile_print_table);
		profile_free(&profile);
	}
	unlink(run_file);
	return ok;
}
