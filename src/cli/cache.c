/* SPDX-License-Identifier: MIT */
/*
 * kudzu cache: shows what is in the cache on disk, empties it, and tells why a compile is not a hit.
 */
#include "cli.h"

#include <kudzu/kudzu.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST_MAX 64

static int fail(kz_error *err)
{
	kz_error_print(err, stderr);
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
	struct kind kinds[4];
	int used;
};

static int print_entry(void *arg, const kz_cache_entry *entry)
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

static int count_entry(void *arg, const kz_cache_entry *entry)
{
	struct totals *totals = arg;
	int i = 0;
	while (i < totals->used && strcmp(totals->kinds[i].name, entry->kind) != 0) {
		i++;
	}
	if (i == totals->used && totals->used < (int)(sizeof(totals->kinds) / sizeof(struct kind))) {
		snprintf(totals->kinds[i].name, sizeof(totals->kinds[i].name), "%s", entry->kind);
		totals->used++;
	}
	if (i < totals->used) {
		totals->kinds[i].count++;
		totals->kinds[i].size += entry->size;
	}
	return 0;
}

static int list_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	return kz_cache_list(print_entry, NULL, &err) ? fail(&err) : CLI_OK;
}

static int stats_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	struct totals totals = {.used = 0};
	if (kz_cache_stats(&figures, &err)) {
		return fail(&err);
	}
	printf("folder  %s\n", figures.folder ? figures.folder : "none");
	if (figures.why_off) {
		printf("off     %s\n", figures.why_off);
		return CLI_OK;
	}
	if (kz_cache_list(count_entry, &totals, &err)) {
		return fail(&err);
	}
	for (int i = 0; i < totals.used; i++) {
		const struct kind *kind = &totals.kinds[i];
		printf("%-7s %" PRId64 " file%s, %" PRId64 " bytes\n", kind->name, kind->count,
			kind->count == 1 ? "" : "s", kind->size);
	}
	printf("limit   %" PRId64 " bytes\n", figures.size_max);
	return CLI_OK;
}

static int clear_main(void)
{
	kz_error err = KZ_ERROR_INIT;
	int64_t count = 0;
	if (kz_cache_clear(&count, &err)) {
		return fail(&err);
	}
	printf("removed %" PRId64 " file%s\n", count, count == 1 ? "" : "s");
	return CLI_OK;
}

/* A whole file, freed with free; NULL, with errno, if it cannot be read. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	if (!file) {
		return NULL;
	}
	ssize_t length = getdelim(&text, &size, '\0', file);
	bool failed = ferror(file);
	fclose(file);
	if (failed) {
		free(text);
		return NULL;
	}
	return length < 0 ? strdup("") : text;
}

/* What the words after `why` say. */
struct question {
	const char *file;
	kz_compile_options options;
	const char *include_dirs[LIST_MAX + 1];
	const char *defines[LIST_MAX + 1];
	int include_count;
	int define_count;
};

static bool add_word(const char **list, int *count, const char *word)
{
	if (*count == LIST_MAX) {
		fprintf(stderr, "kudzu cache why: more than %d folders or defines\n", LIST_MAX);
		return false;
	}
	list[(*count)++] = word;
	return true;
}

static bool read_question(struct question *question, int argc, char **argv)
{
	static const struct option options[] = {
		{"arch", required_argument, NULL, 'a'},
		{"name", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	bool ok = true;
	for (int c; ok && (c = getopt_long(argc, argv, "I:D:", options, NULL)) != -1;) {
		switch (c) {
		case 'I':
			ok = add_word(question->include_dirs, &question->include_count, optarg);
			break;
		case 'D':
			ok = add_word(question->defines, &question->define_count, optarg);
			break;
		case 'a':
			question->options.arch = optarg;
			break;
		case 'n':
			question->options.name = optarg;
			break;
		default:
			return false;
		}
	}
	if (ok && optind + 1 != argc) {
		fprintf(stderr, "kudzu cache why: expected one file; see `kudzu help cache`\n");
		return false;
	}
	question->file = ok ? argv[optind] : NULL;
	question->options.include_dirs = question->include_dirs;
	question->options.defines = question->defines;
	return ok;
}

static int why_main(int argc, char **argv)
{
	static char name[] = "kudzu cache why";
	struct question question = {.options = KZ_COMPILE_OPTIONS_INIT};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	char text[4096];
	argv[0] = name;
	optind = 0; /* begin again, with other words */
	if (!read_question(&question, argc, argv)) {
		return CLI_USAGE;
	}
	char *source = read_file(question.file);
	if (!source) {
		fprintf(stderr, "kudzu cache why: cannot read '%s': %s\n", question.file,
			strerror(errno));
		return CLI_FAILED;
	}
	int status = CLI_OK;
	if (kz_device_open(&dev, NULL, &err)
	    || kz_cache_why(text, sizeof(text), dev, source, &question.options, &err)) {
		status = fail(&err);
	} else {
		fputs(text, stdout);
		status = strncmp(text, "hit", 3) == 0 ? CLI_OK : CLI_FAILED;
	}
	kz_device_close(dev);
	free(source);
	return status;
}

int cache_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} commands[] = {{"list", list_main}, {"stats", stats_main}, {"clear", clear_main}};
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "why") == 0) {
		return why_main(argc - 1, argv + 1);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(what, commands[i].name) == 0 && argc == 2) {
			return commands[i].run();
		}
	}
	fprintf(stderr, "kudzu cache: expected list, stats, clear or why FILE; see `kudzu help cache`\n");
	return CLI_USAGE;
}
