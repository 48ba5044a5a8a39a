/* SPDX-License-Identifier: MIT */
/*
 * kudzu compile: compiles files into the cache, where the programs that run them find the images;
 * or writes an image to a file.
 *
 * kz_warm_up compiles several files in several processes, but reports one failure only.  A user
 * wants to see all of them, so each file is then compiled here too.  Good files come from the
 * cache; bad ones are compiled twice, for their messages.
 */
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/source.h"
#include "cli/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MAX_JOBS 1024

static char name[] = "kudzu compile"; /* getopt's messages begin with it */

struct task {
	struct source_options source;
	const char *output;       /* NULL: only the cache */
	char arch[32];            /* of the options, where the output decides on it */
	char **files;
	int count;
	int64_t jobs;             /* 0: as many as there are cores */
	struct source *sources;   /* of the files; without data: it cannot be read */
	kz_compile_options *each; /* for each of them, with its name */
};

/* The command line */

static bool compile_read_jobs(struct task *task, const char *text)
{
	char *end = NULL;
	task->jobs = strtol(text, &end, 10);
	if (end == text || *end || task->jobs < 1 || task->jobs > MAX_JOBS) {
		fprintf(stderr, "%s: expected 1 to %d jobs, got '%s'\n", name, MAX_JOBS, text);
		return false;
	}
	return true;
}

/* False after a message if a word is no option. */
static bool compile_read_words(struct task *task, int argc, char **argv)
{
	static const struct option options[] = {
		{"arch", required_argument, NULL, 'a'},
		{"std", required_argument, NULL, 's'},
		{"jobs", required_argument, NULL, 'j'},
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	argv[0] = name;
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-a:j:o:I:D:", options)) != -1;) {
		if (c == 'o') {
			task->output = optarg;
		} else if (c == 'j' ? !compile_read_jobs(task, optarg)
				: !source_options_take(&task->source, c, optarg)) {
			return false;
		}
	}
	task->files = argv + 1;
	task->count = words.count;
	return true;
}

/* How the name of an architecture begins, by the ending of the output's name. */
static const char *compile_prefix_of(const char *output)
{
	static const struct {
		const char *suffix;
		const char *prefix;
	} kinds[] = {{".ptx", "compute_"}, {".cubin", "sm_"}, {".ltoir", "lto_"}};
	const char *suffix = strrchr(output, '.');
	for (size_t i = 0; suffix && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(suffix, kinds[i].suffix) == 0) {
			return kinds[i].prefix;
		}
	}
	return NULL;
}

/* Choose an architecture of the kind that the output needs; --arch may give it.  False if there
 * is none. */
static bool compile_pick_arch(struct task *task)
{
	const char *prefix = compile_prefix_of(task->output);
	const char *arch = task->source.compile.arch;
	const char *number = arch ? strchr(arch, '_') : NULL;
	if (prefix && number) {
		snprintf(task->arch, sizeof(task->arch), "%s%s", prefix, number + 1);
		task->source.compile.arch = task->arch;
		return true;
	}
	if (prefix && !arch && strcmp(prefix, "lto_") == 0) {
		/* The oldest as PTX: the linker makes newer code of it. */
		task->source.compile.arch = "lto_75";
	}
	return task->source.compile.arch || (prefix && strcmp(prefix, "compute_") == 0);
}

/* Whether the options go together; if not, a message says which do not. */
static bool compile_check_task(struct task *task)
{
	const char *problem = NULL;
	if (task->count == 0) {
		problem = "no file given";
	} else if (task->output && task->count > 1) {
		problem = "-o takes one file";
	} else if (task->output && !compile_pick_arch(task)) {
		problem = "-o needs an architecture, such as -a sm_90 for a .cubin, or a file name "
			"that ends in .ptx or .ltoir";
	}
	if (problem) {
		fprintf(stderr, "%s: %s\n", name, problem);
	}
	return !problem;
}

/* Compiling */

/* For an architecture: no device is needed. */
static bool compile_image(const struct task *task, const char *source,
	const kz_compile_options *options, kz_error *err)
{
	kz_image *image = NULL;
	progress_begin("%s: '%s'", name, options->name);
	kz_status st = kz_compile(&image, source, options, err);
	progress_end();
	if (st == KZ_OK) {
		report_log(kz_image_log(image));
	}
	if (st == KZ_OK && task->output) {
		st = kz_image_save(image, task->output, err);
	}
	kz_image_release(image);
	return st == KZ_OK;
}

/* As a program does that compiles for its device. */
static bool compile_module(kz_device *dev, const char *source, const kz_compile_options *options,
	kz_error *err)
{
	kz_module *mod = NULL;
	progress_begin("%s: '%s'", name, options->name);
	kz_status st = kz_module_compile(&mod, dev, source, options, err);
	progress_end();
	if (st == KZ_OK) {
		report_log(kz_module_log(mod));
	}
	kz_module_release(mod);
	return st == KZ_OK;
}

static bool compile_file(const struct task *task, kz_device *dev, int index)
{
	kz_error err = KZ_ERROR_INIT;
	const char *source = task->sources[index].data;
	const kz_compile_options *options = &task->each[index];
	bool ok = !source || (dev ? compile_module(dev, source, options, &err)
		: compile_image(task, source, options, &err));
	report_error(&err);
	kz_error_clear(&err);
	return ok;
}

/* Compile into the cache, several files at a time.  A file that fails here fails again below,
 * where its errors are printed. */
static void compile_warm_up(const struct task *task, kz_device *dev)
{
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	kz_warm_up_source *list = calloc((size_t)task->count, sizeof(*list));
	int64_t count = 0;
	for (int i = 0; list && i < task->count; i++) {
		if (task->sources[i].data) {
			list[count++] = (kz_warm_up_source){task->sources[i].data, &task->each[i]};
		}
	}
	/* Without a cache on disk it would all be done twice. */
	if (count > 1 && task->jobs != 1 && kz_cache_stats(&figures, NULL) == KZ_OK
	    && !figures.why_off) {
		(void)!kz_warm_up(dev, list, count, task->jobs, NULL, NULL);
	}
	free(list);
}

static bool compile_open_sources(struct task *task)
{
	bool ok = true; /* files that can be read are compiled in any case */
	for (int i = 0; i < task->count; i++) {
		ok = source_open(&task->sources[i], "compile", task->files[i]) && ok;
		task->each[i] = task->source.compile;
		task->each[i].name = task->files[i];
	}
	return ok;
}

static int compile_all(struct task *task)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	bool readable = compile_open_sources(task), ok = true;
	if (!task->source.compile.arch && !task->output && kz_device_open(&dev, NULL, &err)) {
		report_error(&err);
		kz_error_clear(&err);
		ok = false;
	} else {
		progress_begin("%s: %d file%s", name, task->count, task->count == 1 ? "" : "s");
		compile_warm_up(task, dev);
		progress_end();
		for (int i = 0; i < task->count; i++) {
			ok = compile_file(task, dev, i) && ok;
		}
	}
	kz_device_close(dev);
	for (int i = 0; i < task->count; i++) {
		source_close(&task->sources[i]);
	}
	return !readable ? CLI_USAGE : ok ? CLI_OK : CLI_FAILED;
}

int compile_main(int argc, char **argv)
{
	struct task task = {.sources = calloc((size_t)argc, sizeof(*task.sources)),
		.each = calloc((size_t)argc, sizeof(*task.each))};
	int status = CLI_FAILED;
	if (!source_options_init(&task.source, argc) || !task.sources || !task.each) {
		fprintf(stderr, "%s: out of memory\n", name);
	} else {
		status = compile_read_words(&task, argc, argv) && compile_check_task(&task)
			? compile_all(&task)
			: CLI_USAGE;
	}
	source_options_finish(&task.source);
	free(task.sources);
	free(task.each);
	return status;
}

/* kudzu worker: compiles for a program that warms up; see kudzu/warm.h. */
int worker_main(int argc, char **argv)
{
	struct stat input;
	(void)argc;
	(void)argv;
	if (fstat(0, &input) != 0 || !S_ISSOCK(input.st_mode)) {
		fprintf(stderr, "kudzu worker: only kz_warm_up starts this command, with a socket "
			"as its standard input\n");
		return CLI_USAGE;
	}
	return kz_warm_up_serve(0) ? CLI_FAILED : CLI_OK;
}
