/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile as one HTML page that needs no other files: for each kernel its sources, with
 * the numbers of each line beside it.  The darker a line, the more of the kernel's time it took.
 */
#define _GNU_SOURCE
#include "cli/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char html_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<title>Kudzu profile</title>\n"
	"<style>body{font:14px sans-serif;margin:1em}table{border-collapse:collapse;font:12px "
	"monospace}td,th{padding:0 .6em;text-align:right;white-space:pre}td.s,th.s{text-align:left}"
	"th{border-bottom:1px solid #888}tr:hover{outline:1px solid #888}</style></head><body>\n";

static void html_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		case '\r':
		case '\n':
			break;
		default:
			fputc(*text, to);
		}
	}
}

static void html_number(FILE *to, uint64_t number)
{
	if (number == 0) {
		fputs("<td></td>", to);
	} else {
		fprintf(to, "<td>%" PRIu64 "</td>", number);
	}
}

static void html_ratio(FILE *to, uint64_t over, uint64_t under, bool is_known)
{
	if (under == 0 || !is_known) {
		fputs("<td></td>", to);
	} else {
		fprintf(to, "<td>%.1f</td>", (double)over / (double)under);
	}
}

/* The sums of a line of a file over all places that it was inlined at; false: it has none. */
static bool html_find_line(struct profile_line *out, const struct profile_kernel *kernel,
	const char *file, uint64_t number)
{
	bool found = false;
	*out = (struct profile_line){.file = file, .line = number};
	for (size_t i = 0; i < kernel->line_count; i++) {
		const struct profile_line *line = &kernel->lines[i];
		if (line->line == number && strcmp(line->file, file) == 0) {
			found = true;
#define X(name) out->name += line->name;
			PROFILE_NUMBERS(X)
#undef X
		}
	}
	return found;
}

static void html_row(FILE *to, const struct profile_kernel *kernel, const char *file,
	uint64_t number, const char *text)
{
	struct profile_line line;
	const bool has_numbers = html_find_line(&line, kernel, file, number);
	const double share = kernel->samples == 0 ? 0
		: (double)line.samples / (double)kernel->samples;
	fprintf(to, "<tr style=\"background:rgba(255,120,0,%.2f)\"><td>%" PRIu64 "</td>", share,
		number);
	if (!has_numbers) {
		fputs("<td colspan=\"11\"></td>", to);
	} else {
		const bool is_warp = kernel->width > 1;
		fprintf(to, "<td>%.1f%%</td><td>%.3f</td>", 100 * share,
			1e-6 * profile_time(kernel, &line));
		html_number(to, line.instructions);
		html_ratio(to, line.thread_instructions, line.instructions, is_warp);
		html_number(to, line.global_bytes);
		html_ratio(to, line.lines, line.requests, is_warp);
		html_number(to, line.shared_bytes);
		html_number(to, line.local_bytes);
		html_number(to, line.barrier_waits);
		html_number(to, line.atomics);
		html_number(to, line.contended);
	}
	fputs("<td class=\"s\">", to);
	html_text(to, text);
	fputs("</td></tr>\n", to);
}

/* All lines of a file that can be read; else those that have numbers. */
static void html_file(FILE *to, const struct profile_kernel *kernel, const char *path)
{
	FILE *file = *path ? fopen(path, "re") : NULL;
	char *text = NULL;
	size_t cap = 0;
	fputs("<h3>", to);
	html_text(to, *path ? path : "lines of PTX: the source has no line information");
	fputs("</h3>\n<table><tr><th>line</th><th>time</th><th>ms</th><th>instructions</th>"
		"<th>lanes</th><th>global bytes</th><th>lines</th><th>shared bytes</th>"
		"<th>local bytes</th><th>waits</th><th>atomics</th><th>contended</th>"
		"<th class=\"s\">source</th></tr>\n", to);
	for (uint64_t i = 1; file && getline(&text, &cap, file) >= 0; i++) {
		html_row(to, kernel, path, i, text);
	}
	for (size_t i = 0; !file && i < kernel->line_count; i++) {
		if (strcmp(kernel->lines[i].file, path) == 0) {
			html_row(to, kernel, path, kernel->lines[i].line, "");
		}
	}
	fputs("</table>\n", to);
	if (file) {
		fclose(file);
	}
	free(text);
}

static bool html_is_first(const struct profile_kernel *kernel, size_t index)
{
	bool first = true;
	for (size_t i = 0; i < index && first; i++) {
		first = strcmp(kernel->lines[i].file, kernel->lines[index].file) != 0;
	}
	return first;
}

void profile_print_html(FILE *to, const struct profile *profile)
{
	fputs(html_head, to);
	for (size_t i = 0; i < profile->kernel_count; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];
		fputs("<h2>", to);
		html_text(to, kernel->name);
		fprintf(to, "</h2>\n<p>%" PRIu64 " launches, %" PRIu64 " blocks, %" PRIu64
			" threads; %.3f ms, %.3f ms of all workers</p>\n", kernel->launches,
			kernel->blocks, kernel->threads, 1e-6 * (double)kernel->wall_ns,
			1e-6 * (double)kernel->busy_ns);
		for (size_t k = 0; k < kernel->line_count; k++) {
			if (html_is_first(kernel, k)) {
				html_file(to, kernel, kernel->lines[k].file);
			}
		}
	}
	fputs("</body></html>\n", to);
}
