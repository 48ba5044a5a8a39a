/* SPDX-License-Identifier: MIT */
/*
 * kudzu cache: shows what is in the cache on disk, empties it, and tells why a compile is not a
 * hit.
 */
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/source.h"
#include "cli/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int cache_fail(kz_error *err)
{
	report_error(err);
	kz_error_clear(err);
	return CLI_FAILED;
}

/* What there is of one kind. */
struct kind {
	char name[16];
	int64_t count;
	int64_t size;
};

struct totals {
	struct kind kinds[8];
	int used;
};

static int cache_print_entry(void *arg, const kz_cache_entry *entry)
{
	char when[32] = "?";
	time_t seconds = (time_t)(entry->used_ns / 1000000000);
	struct tm broken;
	(void)arg;
	if (localtime_r(&seconds, &broken)) {
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &broken);
	}
	printf("%-6s %10" PRId64 "  %s  %-12s %s\n", entry->kind, entry->size, when, entry->arch,
		entry->name);
	return 0;
}

static int cache_count_entry(void *arg, const kz_cache_entry *entry)
{
	struct totals *totals = arg;
	int i = 0;
	while (i < totals->used && strcmp(totals->kinds[i].name, entry->kind) != 0) {
		i++;
	}
	if (i == totals->used
	    && totals->used < (int)(sizeof(totals->kinds) / sizeof(struct kind))) {
		snprintf(totals->kinds[i].name, sizeof(totals->kinds[i].name), "%s", entry->kind);
		totals->used++;
	}
	if (i < totals->used) {
		totals->kinds[i].count++;
		totals->kinds[i].size += entry->size;
	}
	return 0;
}

static int cache_list_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	return kz_cache_list(cache_print_entry, NULL, &err) ? cache_fail(&err) : CLI_OK;
}

static int cache_stats_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	struct totals totals = {.used = 0};
	if (kz_cache_stats(&figures, &err)) {
		return cache_fail(&err);
	}
	printf("folder  %s\n", figures.folder ? figures.folder : "none");
	if (figures.why_off) {
		printf("off     %s\n", figures.why_off);
		return CLI_OK;
	}
	if (kz_cache_list(cache_count_entry, &totals, &err)) {
		return cache_fail(&err);
	}
	for (int i = 0; i < totals.used; i++) {
		const struct kind *kind = &totals.kinds[i];
		printf("%-7s %" PRId64 " file%s, %" PRId64 " bytes\n", kind->name, kind->count,
			kind->count == 1 ? "" : "s", kind->size);
	}
	printf("limit   %" PRId64 " bytes\n", figures.size_max);
	return CLI_OK;
}

static int cache_clear_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	int64_t count = 0;
	if (kz_cache_clear(&count, &err)) {
		return cache_fail(&err);
	}
	printf("removed %" PRId64 " file%s\n", count, count == 1 ? "" : "s");
	return CLI_OK;
}

/* Read the words after `why`; NULL if they make no sense. */
static const char *cache_read_question(struct source_options *question, int argc, char **argv)
{
	static const struct option options[] = {
		{"arch", required_argument, NULL, 'a'},
		{"std", required_argument, NULL, 's'},
		{"name", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-I:D:a:", options)) != -1;) {
		if (c == 'n') {
			question->compile.name = optarg;
		} else if (!source_options_take(question, c, optarg)) {
			return NULL;
		}
	}
	if (words.count != 1) {
		fprintf(stderr, "kudzu cache why: expected one file; see `kudzu help cache`\n");
		return NULL;
	}
	return argv[1];
}

enum { ANSWER = 4096 };

static bool cache_is_hit(const char *answer)
{
	return strncmp(answer, "hit", 3) == 0;
}

/* The number of lines of an answer: fewer lines mean fewer differences. */
static int cache_lines_of(const char *answer)
{
	int lines = 0;
	for (const char *at = answer; *at; at++) {
		lines += *at == '\n';
	}
	return lines;
}

/* A source that a program compiles may have no name; the command `compile` gives it that of the
 * file.  So without a name both are tried.  A hit wins, else the answer with fewer differences. */
static int cache_why(const struct source_options *question, const char *source, const char *file)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_compile_options compile = question->compile;
	const char *names[] = {compile.name ? compile.name : file, compile.name};
	char answers[2][ANSWER];
	kz_status st = kz_device_open(&dev, NULL, &err);
	for (int i = 0; i < 2 && !st; i++) {
		compile.name = names[i];
		st = kz_cache_why(answers[i], ANSWER, dev, source, &compile, &err);
	}
	int status = CLI_FAILED;
	if (st) {
		status = cache_fail(&err);
	} else {
		bool none = !cache_is_hit(answers[0])
			&& (cache_is_hit(answers[1])
				|| cache_lines_of(answers[1]) < cache_lines_of(answers[0]));
		fputs(answers[none], stdout);
		status = cache_is_hit(answers[none]) ? CLI_OK : CLI_FAILED;
	}
	kz_device_close(dev);
	return status;
}

static int cache_why_main(int argc, char **argv)
{
	static char name[] = "kudzu cache why";
	struct source_options question;
	struct source source;
	int status = CLI_USAGE;
	argv[0] = name;
	if (!source_options_init(&question, argc)) {
		fprintf(stderr, "%s: out of memory\n", name);
		status = CLI_FAILED;
	} else {
		const char *file = cache_read_question(&question, argc, argv);
		if (file && source_open(&source, "cache why", file)) {
			status = cache_why(&question, source.data, file);
			source_close(&source);
		}
	}
	source_options_finish(&question);
	return status;
}

int cache_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} commands[] = {{"list", cache_list_main}, {"stats", cache_stats_main},
		{"clear", cache_clear_main}};
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "why") == 0) {
		return cache_why_main(argc - 1, argv + 1);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(what, commands[i].name) == 0 && argc == 2) {
			return commands[i].run();
		}
	}
	struct suggestion suggestion = {.word = what};
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		suggestion_offer(&suggestion, commands[i].name);
	}
	suggestion_offer(&suggestion, "why");
	bool mistyped = suggestion.name && suggestion.distance > 0;
	fprintf(stderr, "kudzu cache: expected list, stats, clear or why FILE; %s%s%s\n",
		mistyped ? "did you mean '" : "see `kudzu help cache`",
		mistyped ? suggestion.name : "", mistyped ? "'?" : "");
	return CLI_USAGE;
}
