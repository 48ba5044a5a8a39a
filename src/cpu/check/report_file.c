/* SPDX-License-Identifier: MIT */
/*
 * The file of KUDZU_CHECK_REPORT.  It exists as soon as a check is active: an empty list says that
 * nothing was found, and a missing file that nothing was checked.  It is written again for each
 * report, so it is complete whenever the program ends.
 */
#include "base/common.h"

#include "cpu/check/report_file.h"

#include "base/checks.h"
#include "base/file.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

/* --- JSON --- */

static void report_file_add_json(struct str *out, const struct kudzu_report *report)
{
	str_add(out, "{\"check\": ");
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

static void report_file_make_json(struct str *out, unsigned checks,
	const struct kudzu_report *reports, size_t count)
{
	const char *between = "";
	str_add(out, "{\"checks\": [");
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		if (checks >> i & 1) {
			str_addf(out, "%s\"%s\"", between, check_name((enum check)i));
			between = ", ";
		}
	}
	str_add(out, "], \"reports\": [");
	for (size_t i = 0; i < count; i++) {
		str_add(out, i > 0 ? ",\n" : "\n");
		report_file_add_json(out, &reports[i]);
	}
	str_add(out, "]}\n");
}

/* --- XML --- */

static void report_file_add_xml(struct str *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;"
			: *text == '&' ? "&amp;" : *text == '"' ? "&quot;" : NULL;
		if (entity) {
			str_add(out, entity);
		} else if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t') {
			str_addc(out, *text); // XML has no other control characters
		}
	}
}

static size_t report_file_count(const char *check, const struct kudzu_report *reports, size_t count)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		found += strcmp(reports[i].check, check) == 0;
	}
	return found;
}

/* A test for each check that has found nothing, and one that failed for each report. */
static void report_file_make_xml(struct str *out, unsigned checks,
	const struct kudzu_report *reports, size_t count)
{
	size_t good = 0;
	struct str body = STR_INIT;
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		const char *check = check_name((enum check)i);
		if (checks >> i & 1 && report_file_count(check, reports, count) == 0) {
			str_addf(&body, "<testcase classname=\"%s\" name=\"%s\"/>\n", check, check);
			good++;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct kudzu_report *report = &reports[i];
		str_addf(&body, "<testcase classname=\"%s\" name=\"", report->check);
		report_file_add_xml(&body, report->kernel);
		str_addf(&body, ":%d\"><failure message=\"", report->sides[0].line);
		report_file_add_xml(&body, report->sides[0].what);
		str_add(&body, "\">");
		report_file_add_xml(&body, report->text);
		str_add(&body, "</failure></testcase>\n");
	}
	str_addf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kudzu\" "
		"tests=\"%zu\" failures=\"%zu\">\n", good + count, count);
	str_addn(out, body.data ? body.data : "", body.len);
	str_add(out, "</testsuite>\n");
	out->failed |= body.failed;
	str_free(&body);
}

bool report_file_write(const char *path, unsigned checks, const struct kudzu_report *reports,
	size_t count)
{
	struct str text = STR_INIT;
	const size_t length = strlen(path);
	if (length >= 4 && strcmp(path + length - 4, ".xml") == 0) {
		report_file_make_xml(&text, checks, reports, count);
	} else {
		report_file_make_json(&text, checks, reports, count);
	}
	const bool ok = !text.failed && file_put(path, text.data, text.len);
	str_free(&text);
	return ok;
}
