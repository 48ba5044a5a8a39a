/* SPDX-License-Identifier: MIT */
/*
 * kudzu doctor: prints what kz_diagnose finds, one line each with the texts aligned, what failed
 * followed by the reasons and the remedy; then the verdict, which is the exit status too.
 */
#include "cli.h"

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

/* https://no-color.org: set and not empty, whatever it says. */
static bool wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR");
	return !(no_color && *no_color) && isatty(STDOUT_FILENO);
}

static int topic_width(const kz_diagnosis *diagnosis)
{
	size_t width = 0;
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		size_t length = strlen(kz_diagnosis_finding(diagnosis, i)->topic);
		width = length > width ? length : width;
	}
	return (int)width;
}

static void print_mark(kz_verdict verdict, bool colour)
{
	const struct look *look = &looks[verdict];
	printf("%s%s%s", colour ? look->colour : "", look->mark, colour ? "\033[0m" : "");
}

/* The lines of a log below the text that they explain. */
static void print_log(const char *log, int width)
{
	while (*log) {
		size_t length = strcspn(log, "\n");
		printf("    %-*s  %.*s\n", width, "", (int)length, log);
		log += length + (log[length] == '\n');
	}
}

static void print_findings(const kz_diagnosis *diagnosis)
{
	bool colour = wants_colour();
	int width = topic_width(diagnosis);
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		print_mark(finding->verdict, colour);
		printf("  %-*s  %s\n", width, finding->topic, finding->text);
		if (finding->log) {
			print_log(finding->log, width);
		}
		if (finding->fix) {
			printf("    %-*s  fix: %s\n", width, "", finding->fix);
		}
	}
	bool usable = kz_diagnosis_usable(diagnosis);
	putchar('\n');
	print_mark(usable ? KZ_VERDICT_OK : KZ_VERDICT_PROBLEM, colour);
	printf("  kernels can%s run here\n", usable ? "" : "not");
}

int doctor_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	kz_error err = KZ_ERROR_INIT;
	kz_diagnosis *diagnosis = NULL;
	if (kz_diagnose(&diagnosis, &err)) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
		return CLI_FAILED;
	}
	print_findings(diagnosis);
	int status = kz_diagnosis_usable(diagnosis) ? CLI_OK : CLI_FAILED;
	kz_diagnosis_release(diagnosis);
	return status;
}
