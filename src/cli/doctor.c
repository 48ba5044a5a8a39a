/* SPDX-License-Identifier: MIT */
/*
 * kudzu doctor: prints the findings of kz_diagnose, a line for each, and below a problem its log
 * and what to do.  The last line says whether kernels can run, and so does the exit status.  --json
 * prints the same for programs.
 */
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/words.h"

#include <kudzu/kudzu.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a verdict looks: its mark, and the terminal's colour for it. */
static const struct look {
	const char *mark;
	const char *colour;
} looks[] = {
	[KZ_VERDICT_OK] = {"ok", "\033[32m"},
	[KZ_VERDICT_NOTE] = {"--", "\033[33m"},
	[KZ_VERDICT_PROBLEM] = {"!!", "\033[31m"},
};

static int doctor_topic_width(const kz_diagnosis *diagnosis)
{
	size_t width = 0;
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		size_t length = strlen(kz_diagnosis_finding(diagnosis, i)->topic);
		width = length > width ? length : width;
	}
	return (int)width;
}

static void doctor_print_mark(kz_verdict verdict, bool colour)
{
	const struct look *look = &looks[verdict];
	printf("%s%s%s", colour ? look->colour : "", look->mark, colour ? "\033[0m" : "");
}

/* Print the lines of a log below the text that they explain. */
static void doctor_print_log(const char *log, int width)
{
	while (*log) {
		size_t length = strcspn(log, "\n");
		printf("    %-*s  %.*s\n", width, "", (int)length, log);
		log += length + (log[length] == '\n');
	}
}

static void doctor_print_findings(const kz_diagnosis *diagnosis)
{
	bool colour = report_wants_colour(STDOUT_FILENO);
	int width = doctor_topic_width(diagnosis);
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		doctor_print_mark(finding->verdict, colour);
		printf("  %-*s  %s\n", width, finding->topic, finding->text);
		if (finding->log) {
			doctor_print_log(finding->log, width);
		}
		if (finding->fix) {
			printf("    %-*s  fix: %s\n", width, "", finding->fix);
		}
	}
	bool usable = kz_diagnosis_usable(diagnosis);
	putchar('\n');
	doctor_print_mark(usable ? KZ_VERDICT_OK : KZ_VERDICT_PROBLEM, colour);
	printf("  kernels can%s run here\n", usable ? "" : "not");
}

static void doctor_print_member(const char *name, const char *text, const char *end)
{
	printf("      \"%s\": ", name);
	report_json_string(text);
	printf("%s\n", end);
}

static void doctor_print_json(const kz_diagnosis *diagnosis)
{
	static const char *const verdicts[] = {
		[KZ_VERDICT_OK] = "ok", [KZ_VERDICT_NOTE] = "note",
		[KZ_VERDICT_PROBLEM] = "problem",
	};
	int64_t count = kz_diagnosis_count(diagnosis);
	printf("{\n  \"version\": ");
	report_json_string(kz_version_string());
	printf(",\n  \"usable\": %s,\n  \"findings\": [\n",
		kz_diagnosis_usable(diagnosis) ? "true" : "false");
	for (int64_t i = 0; i < count; i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		printf("    {\n");
		doctor_print_member("verdict", verdicts[finding->verdict], ",");
		doctor_print_member("topic", finding->topic, ",");
		doctor_print_member("text", finding->text, ",");
		doctor_print_member("fix", finding->fix, ",");
		doctor_print_member("log", finding->log, "");
		printf("    }%s\n", i + 1 < count ? "," : "");
	}
	printf("  ]\n}\n");
}

int doctor_main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	kz_diagnosis *diagnosis = NULL;
	bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
	if (argc == 2 && !json) {
		static const struct option options[] = {
			{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
		if (strncmp(argv[1], "--", 2) == 0
		    && !words_check_long("kudzu doctor", argv[1], options)) {
			return CLI_USAGE;
		}
		fprintf(stderr, "kudzu doctor: unexpected argument '%s'\n", argv[1]);
		return CLI_USAGE;
	}
	if (kz_diagnose(&diagnosis, &err)) {
		report_error(&err);
		kz_error_clear(&err);
		return CLI_FAILED;
	}
	if (json) {
		doctor_print_json(diagnosis);
	} else {
		doctor_print_findings(diagnosis);
	}
	int status = kz_diagnosis_usable(diagnosis) ? CLI_OK : CLI_FAILED;
	kz_diagnosis_release(diagnosis);
	return status;
}
