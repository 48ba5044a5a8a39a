/* SPDX-License-Identifier: MIT */
/*
 * kudzu compile: compiles files, in several processes at once, and leaves what comes out in the
 * cache, where the programs that run them find it.
 *
 * NVRTC reads headers one thread at a time, so that threads would wait for each other; processes do
 * not.  Process p of n takes the files p, p + n, ...  Each says what is wrong in one write, so that
 * the errors of two files do not mix.
 */
#include "cli.h"

#include <kudzu/kudzu.h>

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_JOBS 1024

struct task {
	kz_compile_options options;
	const char **include_dirs; /* of the options; lists that end with NULL */
	const char **defines;
	const char *output;        /* NULL: only the cache */
	char **files;
	int count;
	long jobs;
};

/* One write for all of it; colours and such are for others. */
static void print_error(const kz_error *err)
{
	size_t size = kz_error_format(err, NULL, 0) + 1;
	char *text = malloc(size);
	if (text) {
		kz_error_format(err, text, size);
		fwrite(text, 1, size - 1, stderr);
	} else {
		kz_error_print(err, stderr);
	}
	free(text);
}

static void print_problem(const char *path, int code)
{
	fprintf(stderr, "kudzu compile: %s: %s\n", path, strerror(code));
}

/* The text of a file, zero-terminated; NULL, after saying why. */
static char *read_file(const char *path)
{
	size_t size = 0;
	size_t room = 65536;
	char *text = malloc(room);
	errno = 0;
	FILE *file = text ? fopen(path, "re") : NULL;
	while (file && text) {
		size_t got = fread(text + size, 1, room - size - 1, file);
		size += got;
		if (got == 0) {
			break;
		}
		if (size + 1 == room) {
			room *= 2;
			char *grown = realloc(text, room);
			if (!grown) {
				free(text);
			}
			text = grown;
		}
	}
	if (!file || !text || ferror(file)) {
		print_problem(path, errno ? errno : ENOMEM);
		free(text);
		text = NULL;
	} else {
		text[size] = '\0';
	}
	if (file) {
		fclose(file);
	}
	return text;
}

/* For an architecture: no device is needed. */
static bool compile_image(const struct task *task, const char *source, kz_error *err)
{
	kz_image *image = NULL;
	kz_status st = kz_compile(&image, source, &task->options, err);
	if (st == KZ_OK) {
		fputs(kz_image_log(image), stderr);
	}
	if (st == KZ_OK && task->output) {
		st = kz_image_save(image, task->output, err);
	}
	kz_image_release(image);
	return st == KZ_OK;
}

/* As a program does that compiles for its device. */
static bool compile_module(const struct task *task, kz_device *dev, const char *source,
	kz_error *err)
{
	kz_module *mod = NULL;
	kz_status st = kz_module_compile(&mod, dev, source, &task->options, err);
	if (st == KZ_OK) {
		fputs(kz_module_log(mod), stderr);
	}
	kz_module_release(mod);
	return st == KZ_OK;
}

static bool compile_file(struct task *task, kz_device *dev, const char *path)
{
	kz_error err = KZ_ERROR_INIT;
	char *source = read_file(path);
	bool ok = source != NULL;
	task->options.name = path;
	if (source) {
		ok = dev ? compile_module(task, dev, source, &err)
			 : compile_image(task, source, &err);
	}
	print_error(&err);
	kz_error_clear(&err);
	free(source);
	return ok;
}

/* The files of one process; true if all compile. */
static bool compile_share(struct task *task, long process)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	bool ok = true;
	if (!task->options.arch && kz_device_open(&dev, NULL, &err)) {
		print_error(&err);
		kz_error_clear(&err);
		return false;
	}
	for (long i = process; i < task->count; i += task->jobs) {
		ok = compile_file(task, dev, task->files[i]) && ok;
	}
	kz_device_close(dev);
	return ok;
}

/* The first process is this one. */
static bool compile_all(struct task *task)
{
	bool ok = true;
	pid_t children[MAX_JOBS];
	long started = 1;
	for (; started < task->jobs; started++) {
		children[started] = fork();
		if (children[started] == 0) {
			_exit(compile_share(task, started) ? CLI_OK : CLI_FAILED);
		}
		if (children[started] < 0) {
			break;
		}
	}
	/* What no process was started for is done here. */
	for (long i = started; i < task->jobs; i++) {
		ok = compile_share(task, i) && ok;
	}
	ok = compile_share(task, 0) && ok;
	for (long i = 1; i < started; i++) {
		int status = -1;
		while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) {
		}
		ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == CLI_OK;
	}
	return ok;
}

static void list_add(const char **list, const char *text)
{
	while (*list) {
		list++;
	}
	*list = text;
}

/* False, after saying why, for words that are no options. */
static bool read_options(struct task *task, int argc, char **argv)
{
	static const struct option options[] = {
		{"arch", required_argument, NULL, 'a'},
		{"jobs", required_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	static char name[] = "kudzu compile";
	char *end = NULL;
	int option;
	argv[0] = name; /* getopt's messages begin with it */
	optind = 0;     /* another list of words than the one before */
	while ((option = getopt_long(argc, argv, "a:j:o:I:D:", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			task->options.arch = optarg;
			break;
		case 'j':
			task->jobs = strtol(optarg, &end, 10);
			if (end == optarg || *end || task->jobs < 1 || task->jobs > MAX_JOBS) {
				fprintf(stderr, "%s: expected 1 to %d jobs, got '%s'\n", name,
					MAX_JOBS, optarg);
				return false;
			}
			break;
		case 'o':
			task->output = optarg;
			break;
		case 'I':
			list_add(task->include_dirs, optarg);
			break;
		case 'D':
			list_add(task->defines, optarg);
			break;
		default:
			return false;
		}
	}
	task->files = argv + optind;
	task->count = argc - optind;
	return true;
}

/* Whether the options go together; says what does not. */
static bool check_task(struct task *task)
{
	const char *problem = NULL;
	if (task->count == 0) {
		problem = "no file given";
	} else if (task->output && !task->options.arch) {
		problem = "-o needs an architecture, -a sm_90 or -a compute_75";
	} else if (task->output && task->count > 1) {
		problem = "-o is for one file";
	}
	if (problem) {
		fprintf(stderr, "kudzu compile: %s\n", problem);
		return false;
	}
	if (task->jobs == 0) {
		task->jobs = sysconf(_SC_NPROCESSORS_ONLN);
	}
	task->jobs = task->jobs < 1 ? 1 : task->jobs > MAX_JOBS ? MAX_JOBS : task->jobs;
	task->jobs = task->jobs > task->count ? task->count : task->jobs;
	return true;
}

int compile_main(int argc, char **argv)
{
	struct task task = {
		.options = KZ_COMPILE_OPTIONS_INIT,
		.include_dirs = calloc((size_t)argc + 1, sizeof(char *)),
		.defines = calloc((size_t)argc + 1, sizeof(char *)),
	};
	int status = CLI_USAGE;
	task.options.include_dirs = task.include_dirs;
	task.options.defines = task.defines;
	if (!task.include_dirs || !task.defines) {
		fprintf(stderr, "kudzu compile: out of memory\n");
		status = CLI_FAILED;
	} else if (read_options(&task, argc, argv) && check_task(&task)) {
		status = compile_all(&task) ? CLI_OK : CLI_FAILED;
	}
	free(task.include_dirs);
	free(task.defines);
	return status;
}
