/* SPDX-License-Identifier: MIT */
/*
 * kudzu run: launches a kernel of a file, with arguments from the command line.
 *
 * All words are read first, so that a typing mistake costs no compile.  Then the command opens the
 * device, compiles, makes the arguments, launches and prints; with --watch it does so after each
 * change of the file or of a header of it.
 */
#define _GNU_SOURCE
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/profile.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char name[] = "kudzu run"; /* getopt's messages begin with it */

/* --time keeps the time of each launch. */
#define MAX_LAUNCHES 10000000
#define MAX_SCHEDULES 1000000

/* The command line */

static bool run_read_out(struct run *run, const char *text, bool is_plot)
{
	const char *equals = strchr(text, '=');
	struct run_out *out = &run->outs[run->out_count];
	size_t length = equals ? (size_t)(equals - text) : is_plot ? strlen(text) : 0;
	if (length == 0 || length >= sizeof(out->name) || (equals && equals[1] == '\0')) {
		fprintf(stderr, "%s: %s, got '%s'\n", name, is_plot
			? "--plot: expected PARAMETER, or PARAMETER=FILE as in y=picture.png"
			: "--out: expected PARAMETER=FILE, as in y=result.npy", text);
		return false;
	}
	if (run->out_count == RUN_MAX) {
		fprintf(stderr, "%s: more than %d times --out or --plot\n", name, RUN_MAX);
		return false;
	}
	memcpy(out->name, text, length);
	out->name[length] = '\0';
	out->path = equals ? equals + 1 : NULL;
	out->is_plot = is_plot;
	run->out_count++;
	return true;
}

static bool run_read_option(struct run *run, int option, char *value)
{
	switch (option) {
	case 'k':
		run->kernel = value;
		return true;
	case 'g':
		return run->has_grid = run_read_dim(&run->grid, "grid", value);
	case 'b':
		return run->has_block = run_read_dim(&run->block, "block", value);
	case 'm':
		return run_read_count(&run->shared_size, 0, INT64_MAX, "shared", value,
			"bytes, 0 or more");
	case 'C':
		return run->is_cooperative = true;
	case 'o':
		return run_read_out(run, value, false);
	case 'p':
		return run_read_out(run, value, true);
	case 't':
		return run_read_count(&run->times, 1, MAX_LAUNCHES, "time", value,
			"1 to 10000000 launches");
	case 'S':
		return run_read_count(&run->schedules, 1, MAX_SCHEDULES, "schedules", value,
			"1 to 1000000 orders");
	case 'w':
		return run->watch = true;
	case 'd':
		run->device = value;
		return true;
	case 'c':
		run->check = value ? value : "memory";
		return true;
	case 'R':
		run->report = value;
		return true;
	case 'P':
		run->profile = value;
		return run->profiles = true;
	default:
		return source_options_take(&run->source, option, value);
	}
}

static bool run_read_words(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{"kernel", required_argument, NULL, 'k'},
		{"grid", required_argument, NULL, 'g'},
		{"block", required_argument, NULL, 'b'},
		{"shared", required_argument, NULL, 'm'},
		{"cooperative", no_argument, NULL, 'C'},
		{"out", required_argument, NULL, 'o'},
		{"plot", required_argument, NULL, 'p'},
		{"time", required_argument, NULL, 't'},
		{"schedules", required_argument, NULL, 'S'},
		{"watch", no_argument, NULL, 'w'},
		{"device", required_argument, NULL, 'd'},
		{"check", optional_argument, NULL, 'c'},
		{"report", required_argument, NULL, 'R'},
		{"profile", optional_argument, NULL, 'P'},
		{"arch", required_argument, NULL, 'a'},
		{"std", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	argv[0] = name;
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-k:a:I:D:", options)) != -1;) {
		if (!run_read_option(run, c, optarg)) {
			return false;
		}
	}
	if (!run_take_words(run, &words)) {
		return false;
	}
	if (run->watch && strcmp(run->file, "-") == 0) {
		fprintf(stderr, "%s: --watch needs a file, standard input does not change\n", name);
		return false;
	}
	if (run->profiles && (run->watch || run->schedules)) {
		fprintf(stderr, "%s: --profile is for one run, not for --watch or --schedules\n",
			name);
		return false;
	}
	return run_read_arguments(run);
}

/* One run */

/* After a failure: print what --check has found, and which argument it is about; false if it has
 * found nothing, so that the failure is another one. */
static bool run_fail_check(const struct run *run, kz_device *dev, const struct run_values *values,
	const struct parameters *parameters, kz_error *err)
{
	if (!run->check || run_check_end(dev) != CLI_REPORTS) {
		return false;
	}
	char *text = run_check_explain(values, parameters, err);
	if (text) {
		report_log(text);
	}
	free(text);
	kz_error_clear(err);
	return true;
}

/* Without --grid and --block there is a thread for each element of the largest array. */
static void run_choose_extents(struct run *run, kz_kernel *kernel, const struct run_values *values)
{
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	int64_t count = run_values_count(values);
	if (!run->has_block) {
		int64_t most = kz_kernel_describe(kernel, &info, NULL) == KZ_OK
			&& info.max_threads_per_block < 256 ? info.max_threads_per_block : 256;
		run->block = kz_dim(count < 1 ? 1 : count < most ? count : most, 1, 1);
	}
	if (!run->has_grid) {
		int64_t threads = run->block.x > 0 ? run->block.x : 1;
		run->grid = kz_dim(count < 1 ? 1 : (count - 1) / threads + 1, 1, 1);
	}
}

/* Called once the launch has been accepted: a refusal is printed in one line. */
static void run_show_extents(const struct run *run, const struct run_values *values)
{
	if (!run->is_rehearsal && run_values_count(values) > 0
	    && (!run->has_grid || !run->has_block)) {
		fprintf(stderr, "%s: --grid %" PRId64 " --block %" PRId64 ", one thread for each "
			"element of the largest array\n", name, run->grid.x, run->block.x);
	}
}

static bool run_check_outs(const struct run *run, const struct parameters *parameters)
{
	for (int i = 0; i < run->out_count; i++) {
		int index = parameters_find(parameters, run->outs[i].name);
		if (index < 0) {
			(void)sscanf(run->outs[i].name, "arg%d", &index);
			index--;
		}
		const char *problem = index < 0 || (size_t)index >= run->count ? "no parameter '%s'"
			: run->arguments[index].kind != ARGUMENT_ARRAY
				&& run->arguments[index].kind != ARGUMENT_FILE
			? "the argument for '%s' is not an array" : NULL;
		if (problem) {
			fprintf(stderr, "%s: --%s: ", name, run->outs[i].is_plot ? "plot" : "out");
			fprintf(stderr, problem, run->outs[i].name);
			fputc('\n', stderr);
			return false;
		}
	}
	return true;
}

static kz_status run_launch_and_show(struct run *run, kz_device *dev, kz_kernel *kernel,
	const struct run_values *values, const struct parameters *parameters, kz_error *err)
{
	kz_status st;
	run_choose_extents(run, kernel, values);
	fflush(stdout); /* what the kernel prints comes after */
	if ((st = run_launch(run, kernel, values, err))) {
		return st;
	}
	run_show_extents(run, values);
	if ((st = kz_device_synchronize(dev, err))
	    || (run->schedules && (st = run_schedules_note(run, values, parameters, err)))
	    || (!run->is_rehearsal && (st = run_show(run, values, parameters, err)))) {
		return st;
	}
	return run->times && !run->is_rehearsal ? run_time(run, dev, kernel, values, err) : KZ_OK;
}

static int run_kernel(struct run *run, kz_device *dev, kz_kernel *kernel,
	const struct source *source)
{
	struct parameters parameters;
	struct run_values values;
	kz_error err = KZ_ERROR_INIT;
	int status = CLI_OK;
	parameters_read(&parameters, kz_kernel_signature(kernel),
		source->is_image ? NULL : source->data);
	if (!run_check_outs(run, &parameters)) {
		return CLI_USAGE;
	}
	if (run_values_create(&values, dev, run, &parameters, &err)) {
		const char *word = run->words[values.failed];
		report_place("run", err.message, word, 0, strlen(word));
		status = report_status(&err);
		kz_error_clear(&err);
	} else if (run_launch_and_show(run, dev, kernel, &values, &parameters, &err)) {
		status = run->seed > 0 ? run_schedules_fail(run, &err)
			: run_fail_check(run, dev, &values, &parameters, &err) ? CLI_REPORTS
			: run_fail(run, &err);
	} else if (run->check) {
		status = run_check_end(dev);
	}
	run_values_finish(&values);
	return status;
}

/* Whether this only asks what there is to run. */
static bool run_is_question(const struct run *run)
{
	return run->count == 0 && !run->has_grid && !run->has_block && !run->times
		&& run->out_count == 0 && run->shared_size == 0 && !run->is_cooperative;
}

/* Whether a kernel takes nothing, so that there is nothing to ask. */
static bool run_takes_nothing(kz_kernel *kernel)
{
	struct parameters parameters;
	parameters_read(&parameters, kz_kernel_signature(kernel), NULL);
	return parameters.known && parameters.count == 0;
}

static int run_module(struct run *run, kz_device *dev, kz_module *mod, const struct source *source)
{
	kz_kernel *kernel = NULL;
	int status = run_find_kernel(&kernel, run, mod, source, !run_is_question(run));
	if (status != CLI_OK) {
		return status;
	}
	if (run_is_question(run) && !(kernel && run_takes_nothing(kernel))) {
		run_list(run, mod, source);
		return CLI_OK;
	}
	return run_kernel(run, dev, kernel, source);
}

/* The instance of a template that the command line names; NULL: none. */
static const char *run_instance(const struct run *run)
{
	return run->kernel && strchr(run->kernel, '<') ? run->kernel : NULL;
}

static int run_source(struct run *run, const struct source *source)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	int status;
	if (kz_device_open(&dev, run->device, &err)
	    || run_schedules_mute(run, dev, &err)) {
		status = run_fail(run, &err);
	} else if (run->schedules && strcmp(kz_device_name(dev), "cpu") != 0) {
		fprintf(stderr, "%s: --schedules: only the CPU device can run threads in another "
			"order: --device cpu\n", name);
		status = CLI_USAGE;
	} else if (source_load(&mod, dev, source, &run->source, run_instance(run), &err)) {
		status = run_fail(run, &err);
	} else {
		if (!run->is_rehearsal) {
			report_log(kz_module_log(mod));
		}
		status = run_module(run, dev, mod, source);
	}
	kz_module_release(mod);
	kz_device_close(dev);
	return status;
}

static int run_once(struct run *run)
{
	struct source source;
	if (!source_open(&source, "run", run->file)) {
		return CLI_USAGE;
	}
	if (run->schedules) {
		run_schedules_set(run, 0);
	}
	int status = run_source(run, &source);
	for (int64_t seed = 1; seed <= run->schedules && status == CLI_OK; seed++) {
		run_schedules_set(run, seed);
		status = run_source(run, &source);
	}
	status = status == CLI_OK && run->schedules ? run_schedules_end(run) : status;
	source_close(&source);
	return status;
}

/* The profile is complete when the device has been closed. */
static int run_profiled(struct run *run)
{
	if (!profile_run_begin(run->profile)) {
		return CLI_USAGE;
	}
	const int status = run_once(run);
	fflush(stdout);
	return !profile_run_end(run->profile, status == CLI_OK) && status == CLI_OK ? CLI_FAILED
		: status;
}

/* Again and again */

/* Run what is in the file now, and have a watcher of that. */
static void run_watched(struct run *run, kz_watcher **watcher, kz_device **dev)
{
	kz_error err = KZ_ERROR_INIT;
	if (kz_device_open(dev, run->device, &err)
	    || source_watch(watcher, *dev, run->file, &run->source, run_instance(run), &err)
	    || kz_watcher_poll(NULL, *watcher, &err)) {
		(void)run_fail(run, &err);
	} else {
		(void)run_once(run);
	}
	fflush(stdout);
}

/* Until it is interrupted.  Each run has a device of its own, which may end in a fault. */
static int run_watch(struct run *run)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	for (;;) {
		kz_watcher *watcher = NULL;
		kz_device *dev = NULL;
		run_watched(run, &watcher, &dev);
		if (!watcher) {
			kz_device_close(dev);
			return CLI_FAILED;
		}
		while (!kz_watcher_has_changed(watcher)) {
			nanosleep(&pause, NULL);
		}
		kz_watcher_release(watcher);
		kz_device_close(dev);
		fprintf(stderr, "%s: '%s' or a header of it has changed\n", name, run->file);
	}
}

int run_main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof(*run));
	int status = CLI_FAILED;
	run_command = "run";
	if (!run || !source_options_init(&run->source, argc)) {
		fprintf(stderr, "%s: out of memory\n", name);
	} else if (!run_read_words(run, argc, argv)) {
		status = CLI_USAGE;
	} else if (run->check && !run_check_begin(run->check, run->report)) {
		fprintf(stderr, "%s: out of memory\n", name);
	} else if (run->watch) {
		status = run_watch(run);
	} else {
		status = run->profiles ? run_profiled(run) : run_once(run);
	}
	if (run) {
		source_options_finish(&run->source);
		run_schedules_finish(run);
	}
	free(run);
	return status;
}
