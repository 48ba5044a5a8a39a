/* SPDX-License-Identifier: MIT */
/*
 * The file of KUDZU_CHECK_REPORT.  It exists as soon as a check is active: an empty list says that
 * nothing was found, and a missing file that nothing was checked.  Each report writes it again, and
 * thus makes it complete, whenever the program ends or is killed.
 *
 * All processes of a run share the file, under a lock.  Each report is one line, which begins with
 * the number of its process.  A process takes the lines of the others as they are, and writes its
 * own ones anew.
 */
#include "base/common.h"

#include "cpu/check/report_file.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "base/file.h"
#include "base/str.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- JSON --- */

static void report_file_add_json(struct str *out, const struct report_file *file,
	const struct kudzu_report *report)
{
	str_addf(out, "{\"process\": %ld, ", (long)file->process);
	if (report == file->rest) {
		str_addf(out, "\"dropped\": %" PRIu64 ", ", report->count);
	}
	str_add(out, "\"check\": ");
	str_add_json(out, report->check);
	str_add(out, ", \"kernel\": ");
	str_add_json(out, report->kernel);
	str_addf(out, ", \"count\": %" PRIu64 ", \"sides\": [", report->count);
	for (int i = 0; i < report->side_count; i++) {
		const struct kudzu_report_side *side = &report->sides[i];
		str_addf(out, "%s{\"what\": ", i > 0 ? ", " : "");
		str_add_json(out, side->what);
		str_add(out, ", \"file\": ");
		str_add_json(out, side->file);
		str_addf(out, ", \"line\": %d, \"column\": %d, \"block\": [%u, %u, %u], "
			"\"thread\": [%u, %u, %u]}", side->line, side->column, side->block[0],
			side->block[1], side->block[2], side->thread[0], side->thread[1],
			side->thread[2]);
	}
	str_add(out, "], \"text\": ");
	str_add_json(out, report->text);
	str_addc(out, '}');
}

/* How many reports were dropped, by these lines. */
static uint64_t report_file_dropped(const char *lines)
{
	uint64_t all = 0, dropped;
	for (const char *line = lines; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		all += sscanf(line, "{\"process\": %*d, \"dropped\": %" SCNu64, &dropped) == 1
			? dropped : 0;
	}
	return all;
}

static void report_file_make_json(struct str *out, const struct report_file *file,
	const char *lines)
{
	const char *between = "";
	str_add(out, "{\"run\": ");
	str_add_json(out, file->run);
	str_add(out, ", \"checks\": [");
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		if (file->checks >> i & 1) {
			str_addf(out, "%s\"%s\"", between, check_name((enum check)i));
			between = ", ";
		}
	}
	str_addf(out, "], \"dropped\": %" PRIu64 ", \"reports\": [",
		report_file_dropped(lines));
	between = "\n";
	for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
		str_add(out, between);
		str_addn(out, line, strcspn(line, "\n"));
		between = ",\n";
	}
	str_add(out, "]}\n");
}

/* --- XML --- */

/* A report is one line, so line ends are entities. */
static void report_file_add_text(struct str *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;"
			: *text == '&' ? "&amp;" : *text == '"' ? "&quot;"
			: *text == '\n' ? "&#10;" : NULL;
		if (entity) {
			str_add(out, entity);
		} else if ((unsigned char)*text >= ' ' || *text == '\t') {
			str_addc(out, *text); // XML has no other control characters
		}
	}
}

static void report_file_add_xml(struct str *out, const struct report_file *file,
	const struct kudzu_report *report)
{
	str_addf(out, "<!-- %ld --><testcase classname=\"%s\" name=\"", (long)file->process,
		report->check);
	report_file_add_text(out, report->kernel);
	str_addf(out, ":%d\"><failure message=\"", report->sides[0].line);
	report_file_add_text(out, report->sides[0].what);
	str_add(out, "\">");
	report_file_add_text(out, report->text);
	str_add(out, "</failure></testcase>");
}

/* A test for each check that has found nothing, and one that failed for each report. */
static void report_file_make_xml(struct str *out, const struct report_file *file,
	const char *lines)
{
	size_t good = 0, bad = 0;
	struct str body = STR_INIT;
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		const char *check = check_name((enum check)i);
		char class[64];
		snprintf(class, sizeof(class), "><testcase classname=\"%s\"", check);
		if (file->checks >> i & 1 && !strstr(lines, class)) {
			str_addf(&body, "<testcase classname=\"%s\" name=\"%s\"/>\n", check, check);
			good++;
		}
	}
	for (const char *at = lines; *at; at++) {
		bad += *at == '\n';
	}
	str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kudzu\" id=\"");
	report_file_add_text(out, file->run);
	str_addf(out, "\" tests=\"%zu\" failures=\"%zu\">\n", good + bad, bad);
	str_addn(out, body.data ? body.data : "", body.len);
	str_add(out, lines);
	str_add(out, "</testsuite>\n");
	out->failed |= body.failed;
	str_free(&body);
}

/* --- Files --- */

static bool report_file_is_xml(const struct report_file *file)
{
	const size_t length = strlen(file->path);
	return length >= 4 && strcmp(file->path + length - 4, ".xml") == 0;
}

/* The lines of the other processes in a file, if it is of this run. */
static void report_file_add_others(struct str *lines, const struct report_file *file,
	const char *old)
{
	const bool is_xml = report_file_is_xml(file);
	struct str run = STR_INIT;
	str_add(&run, is_xml ? " id=\"" : "{\"run\": ");
	if (is_xml) {
		report_file_add_text(&run, file->run);
		str_addc(&run, '"');
	} else {
		str_add_json(&run, file->run);
	}
	lines->failed |= run.failed;
	const char *line = !run.failed && strstr(old, run.data) ? old : "";
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		long process;
		size_t length = strcspn(line, "\n");
		if (sscanf(line, is_xml ? "<!-- %ld" : "{\"process\": %ld", &process) == 1
		    && process != (long)file->process) {
			length -= line[length - 1] == ',' ? 1 // JSON
				: strncmp(line + length - 2, "]}", 2) == 0 ? 2 : 0;
			str_addn(lines, line, length);
			str_addc(lines, '\n');
		}
	}
	str_free(&run);
}

/* Make the text of a file that has this text now. */
static void report_file_make(struct str *out, const struct report_file *file, const char *old)
{
	const bool is_xml = report_file_is_xml(file);
	struct str lines = STR_INIT;
	report_file_add_others(&lines, file, old);
	for (size_t i = 0; i < file->count; i++) {
		(is_xml ? report_file_add_xml : report_file_add_json)(&lines, file,
			&file->reports[i]);
		str_addc(&lines, '\n');
	}
	const char *text = lines.data ? lines.data : "";
	(is_xml ? report_file_make_xml : report_file_make_json)(out, file, text);
	out->failed |= lines.failed;
	str_free(&lines);
}

/* All of an open file; NULL when memory runs out. */
static char *report_file_read(int fd)
{
	struct stat info;
	const size_t size = fstat(fd, &info) == 0 ? (size_t)info.st_size : 0;
	char *old = mem_alloc(size + 1);
	const int64_t got = old ? file_read_some(fd, old, size) : 0;
	if (old) {
		old[got > 0 ? got : 0] = '\0';
	}
	return old;
}

/* One that is not a regular file, such as /dev/stderr, has no text of others. */
static bool report_file_put(const struct report_file *file)
{
	struct str text = STR_INIT;
	report_file_make(&text, file, "");
	const bool ok = !text.failed && file_put(file->path, text.data, text.len);
	str_free(&text);
	return ok;
}

bool report_file_write(const struct report_file *file)
{
	struct stat info;
	if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode)) {
		return report_file_put(file);
	}
	const int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0) {
		return false;
	}
	struct str text = STR_INIT;
	bool ok = flock(fd, LOCK_EX) == 0;
	char *old = ok ? report_file_read(fd) : NULL;
	if (old) {
		report_file_make(&text, file, old);
	}
	// The new text is longer as a rule: a process that is killed here leaves a whole file.
	ok = old && !text.failed && file_write(fd, text.data, text.len, 0)
		&& file_extend(fd, text.len);
	flock(fd, LOCK_UN); // a forked child may have the file
	close(fd);
	str_free(&text);
	mem_free(old);
	return ok;
}
