/* SPDX-License-Identifier: MIT */
/*
 * kz_tune: all configurations in turn, and the table of what became of them.
 *
 * A batch of configurations is compiled at once, in several processes, then each is tried.  With a
 * budget the order of the configurations jumps through their numbers by about the golden section of
 * them, so that a part of them is spread over all.
 *
 * A tuning of kz_tuning_find is the same object: its table has the kept configuration alone.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "lib/core/capture.h"
#include "lib/module/warm.h"
#include "lib/tune/tune_kept.h"
#include "lib/tune/tune_trial.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

struct kz_tuning {
	uint32_t tag;              /* OBJECT_TUNING */
	struct kz_device *device;  /* counted */
	struct tune_space space;
	struct tune_trial *trials; /* the best one first */
	size_t count, room;
	kz_tuning_info info;
	struct kz_module *module;  /* of the best one */
	struct kz_kernel *kernel;
};

/* The call */

static kz_status tune_check_problem(kz_dim3 problem, kz_error *err)
{
	return problem.x >= 1 && problem.y >= 1 && problem.z >= 1 ? KZ_OK
		: error_set(err, KZ_INVALID, "argument 'problem': expected extents of at least 1, "
			"got (%lld, %lld, %lld)", (long long)problem.x, (long long)problem.y,
			(long long)problem.z);
}

static kz_status tune_check_number(const char *name, int64_t number, int64_t most, kz_error *err)
{
	return number >= 0 && number <= most ? KZ_OK
		: error_set(err, KZ_INVALID, "options.%s: expected 0 to %lld, got %lld", name,
			(long long)most, (long long)number);
}

static kz_status tune_read_options(kz_tune_options *out, const kz_tune_options *options,
	kz_error *err)
{
	kz_status st;
	*out = options ? *options : (kz_tune_options)KZ_TUNE_OPTIONS_INIT;
	if (out->size != sizeof(*out)) {
		return struct_refuse("kz_tune_options", out->size, sizeof(*out), err);
	}
	if ((st = tune_check_number("warm_ups", out->warm_ups, INT32_MAX, err))
	    || (st = tune_check_number("repeats", out->repeats, INT32_MAX, err))
	    || (st = tune_check_number("restore", out->restore, KZ_TUNE_RESTORE_NEVER, err))
	    || (st = tune_check_number("processes", out->processes, INT32_MAX, err))
	    || (st = tune_check_number("max_trials", out->max_trials, INT64_MAX, err))) {
		return st;
	}
	if (!(out->max_seconds >= 0)) {
		return error_set(err, KZ_INVALID, "options.max_seconds: expected 0 or more, got %g",
			out->max_seconds);
	}
	out->warm_ups = out->warm_ups ? out->warm_ups : 2;
	out->repeats = out->repeats ? out->repeats : 7;
	return KZ_OK;
}

static kz_status tune_read_launch(struct tune_run *run, const kz_launch_options *launch,
	kz_error *err)
{
	run->launch = launch ? *launch : (kz_launch_options)KZ_LAUNCH_OPTIONS_INIT;
	if (run->launch.size != sizeof(run->launch)) {
		return struct_refuse("kz_launch_options", run->launch.size, sizeof(run->launch),
			err);
	}
	kz_status st = stream_pick(&run->stream, run->dev, run->launch.stream, err);
	run->launch.stream = run->stream;
	return st ? st : stream_check_free(run->stream, err);
}

static kz_status tune_check_args(kz_args args, kz_error *err)
{
	for (size_t i = 0; i < args.count; i++) {
		if (args_is_host(&args.items[i])) {
			return error_set(err, KZ_ARGUMENT, "argument %zu: a trial copies no host "
				"memory, pass an array or a buffer", i + 1);
		}
	}
	return KZ_OK;
}

static kz_status tune_create(kz_tuning **out, kz_device *dev, const kz_tunable *tunable,
	kz_dim3 problem, kz_error *err)
{
	kz_status st;
	if ((st = object_check_as(dev, OBJECT_DEVICE, "dev", err))
	    || (st = tune_check_problem(problem, err))) {
		return st;
	}
	kz_tuning *tuning = mem_zalloc(1, sizeof(*tuning));
	if (!tuning) {
		return error_no_memory(err);
	}
	tuning->tag = OBJECT_TUNING;
	tuning->device = device_retain(dev);
	tuning->info = (kz_tuning_info)KZ_TUNING_INFO_INIT;
	if ((st = tune_space_init(&tuning->space, tunable, err))) {
		kz_tuning_release(tuning);
		return st;
	}
	tuning->info.configurations = tuning->space.configurations;
	*out = tuning;
	return KZ_OK;
}

void kz_tuning_release(kz_tuning *tuning)
{
	if (!object_is(tuning, OBJECT_TUNING)) {
		return;
	}
	object_end(&tuning->tag);
	for (size_t i = 0; i < tuning->count; i++) {
		kz_module_release(tuning->trials[i].module);
		kz_error_clear(&tuning->trials[i].error);
	}
	mem_free(tuning->trials);
	kz_module_release(tuning->module);
	tune_space_finish(&tuning->space);
	device_release(tuning->device);
	object_free(tuning);
}

/* Trials */

/* Add a trial of a configuration; *is_possible is false for one that is not to be tried. */
static kz_status tune_add(bool *is_possible, kz_tuning *tuning, const kz_tunable *tunable,
	int64_t index, const struct tune_run *run, kz_error *err)
{
	struct tune_space *space = &tuning->space;
	struct tune_trial *trials = mem_grow(tuning->trials, tuning->count, &tuning->room,
		sizeof(*trials));
	if (!trials) {
		return error_no_memory(err);
	}
	tuning->trials = trials;
	struct tune_trial *trial = &tuning->trials[tuning->count];
	const struct arena_mark before = arena_mark(&space->arena);
	int64_t *values = arena_alloc(&space->arena, space->count, sizeof(*values));
	*trial = (struct tune_trial){.index = index, .error = KZ_ERROR_INIT};
	kz_tune_config config = {.values = values, .text = tune_space_text(space, index)};
	if (!values || !config.text) {
		return error_no_memory(err);
	}
	tune_space_values(values, space, index);
	*is_possible = tune_space_accepts(&config, space, &tuning->device->info, run->problem);
	if (!*is_possible) {
		arena_reset(&space->arena, &before);
		return KZ_OK;
	}
	trial->result = (kz_tune_result){.text = config.text, .values = values,
		.block = config.block, .grid = config.grid, .shared_size = config.shared_size};
	tuning->count++;
	return tune_space_compile(&trial->compile, space, tunable, index) ? KZ_OK
		: error_no_memory(err);
}

/* Compile what a batch needs, each source once. */
static kz_status tune_compile_batch(kz_tuning *tuning, size_t first, const struct tune_run *run,
	kz_error *err)
{
	kz_warm_up_source sources[BATCH] = {{0}};
	kz_error errors[BATCH];
	size_t owners[BATCH], count = 0, owner[BATCH];
	for (size_t i = first; i < tuning->count; i++) {
		size_t k = 0;
		while (k < count && !tune_space_compiles_same(&tuning->space,
				tuning->trials[i].index, tuning->trials[owners[k]].index)) {
			k++;
		}
		if (k == count) {
			owners[count] = i;
			sources[count] = (kz_warm_up_source){run->tunable->source,
				&tuning->trials[i].compile.options};
			errors[count] = (kz_error)KZ_ERROR_INIT;
			count++;
		}
		owner[i - first] = k;
	}
	struct warm_outcome outcome = {.errors = errors};
	kz_status st = warm_up_each(run->dev, sources, (int64_t)count, run->options->processes,
		&outcome, err);
	for (size_t i = first; i < tuning->count && !st; i++) {
		(void)error_copy(&tuning->trials[i].error, &errors[owner[i - first]]);
	}
	for (size_t k = 0; k < count; k++) {
		kz_error_clear(&errors[k]);
	}
	return st;
}

/* The trial's module is the best so far, or nobody needs it. */
static void tune_compare(kz_tuning *tuning, struct tune_trial *trial, struct tune_run *run)
{
	if (trial->module && (!tuning->module || trial->result.time.median_ms < run->best_ms)) {
		struct kz_module *before = tuning->module;
		run->best_ms = trial->result.time.median_ms;
		tuning->module = trial->module;
		trial->module = before;
	}
	kz_module_release(trial->module);
	trial->module = NULL; /* only the tuning has one */
}

/* The step from one configuration to the next, which has no divisor in common with their number. */
static int64_t tune_choose_step(int64_t count)
{
	int64_t step = (int64_t)(0.618 * (double)count);
	for (step = step > 1 ? step : 1;; step++) {
		int64_t a = count, b = step;
		while (b) {
			int64_t rest = a % b;
			a = b;
			b = rest;
		}
		if (a == 1) {
			return step;
		}
	}
}

/* What the budget leaves. */
struct tune_budget {
	int64_t trials;
	uint64_t end_ns; /* 0: none */
};

static bool tune_is_over(const struct tune_budget *budget, size_t tried)
{
	return (budget->trials && (int64_t)tried >= budget->trials)
		|| (budget->end_ns && tried && clock_now_ns() >= budget->end_ns);
}

static kz_status tune_try_batch(kz_tuning *tuning, size_t first, struct tune_run *run,
	const struct tune_budget *budget, kz_error *err)
{
	kz_status st = tune_compile_batch(tuning, first, run, err);
	size_t i = first;
	for (; i < tuning->count && !st && !tune_is_over(budget, i); i++) {
		st = tune_trial_run(&tuning->trials[i], run, err);
		tune_compare(tuning, &tuning->trials[i], run);
	}
	/* What was compiled and not tried. */
	for (size_t k = i; k < tuning->count; k++) {
		kz_error_clear(&tuning->trials[k].error);
	}
	tuning->info.left += (int64_t)(tuning->count - i);
	tuning->count = i;
	return st;
}

static kz_status tune_try_all(kz_tuning *tuning, struct tune_run *run, kz_error *err)
{
	const kz_tune_options *options = run->options;
	const int64_t count = tuning->space.configurations;
	const bool has_budget = options->max_trials > 0 || options->max_seconds > 0;
	const int64_t step = has_budget ? tune_choose_step(count) : 1;
	struct tune_budget budget = {.trials = options->max_trials};
	size_t first = 0;
	kz_status st = KZ_OK;
	if (options->max_seconds > 0 && options->max_seconds < 1e9) {
		budget.end_ns = clock_now_ns() + (uint64_t)(1e9 * options->max_seconds);
	}
	for (int64_t k = 0; k < count && !st; k++) {
		bool is_possible = false;
		if (tune_is_over(&budget, tuning->count)) {
			tuning->info.left += count - k;
			break;
		}
		st = tune_add(&is_possible, tuning, run->tunable, k * step % count, run, err);
		tuning->info.skipped += !st && !is_possible;
		if (!st && tuning->count - first == BATCH) {
			st = tune_try_batch(tuning, first, run, &budget, err);
			first = tuning->count;
		}
	}
	return st || tuning->count == first ? st : tune_try_batch(tuning, first, run, &budget, err);
}

/* The table */

static int tune_order(const void *a, const void *b)
{
	const struct tune_trial *one = a, *other = b;
	const kz_tune_result *x = &one->result, *y = &other->result;
	if (x->outcome != y->outcome) {
		return x->outcome < y->outcome ? -1 : 1;
	}
	if (x->time.median_ms != y->time.median_ms) {
		return x->time.median_ms < y->time.median_ms ? -1 : 1;
	}
	return one->index < other->index ? -1 : 1;
}

/* Fail because no configuration was timed. */
static kz_status tune_refuse(const kz_tuning *tuning, const char *kernel, kz_error *err)
{
	const long long all = (long long)tuning->info.configurations;
	if (tuning->count == 0) {
		return error_set(err, KZ_INVALID, "no configuration of '%s' is possible: all %lld "
			"exceed the device, or 'accept' refuses them", kernel, all);
	}
	for (size_t i = 0; i < tuning->count; i++) {
		const struct tune_trial *trial = &tuning->trials[i];
		if (trial->result.outcome == KZ_TUNE_FAILED) {
			return tune_trial_retell(err, trial, "no configuration works; ", kernel);
		}
	}
	return error_set(err, KZ_NOT_FOUND, "no configuration of '%s' has right results: 'check' "
		"refuses all %zu that were tried", kernel, tuning->count);
}

/* All has been tried: sort it, and find the best kernel. */
static kz_status tune_settle(kz_tuning *tuning, const struct tune_run *run, const struct str *key,
	kz_error *err)
{
	const char *name = run->tunable->kernel;
	tuning->info.tried = (int64_t)tuning->count;
	tuning->info.launches = run->launches;
	if (!tuning->module) {
		return tune_refuse(tuning, name, err);
	}
	qsort(tuning->trials, tuning->count, sizeof(*tuning->trials), tune_order);
	const struct tune_trial *best = &tuning->trials[0];
	for (size_t i = 0; i < tuning->count; i++) { /* none moves any more */
		struct tune_trial *trial = &tuning->trials[i];
		if (trial->result.outcome == KZ_TUNE_FAILED) {
			trial->result.message = kz_error_message(&trial->error);
		}
	}
	kz_status st = kz_module_kernel(&tuning->kernel, tuning->module, best->compile.kernel, err);
	if (!st && !run->options->keep_nothing) {
		tune_kept_put(key, &tuning->space, best->index, &best->result);
	}
	return st;
}

/* Make a tuning of what was kept; *found is false if nothing was. */
static kz_status tune_load(bool *found, const char **why, kz_tuning *tuning,
	const struct tune_run *run, const struct str *key, kz_error *err)
{
	kz_tune_result times = {.repeats = 0};
	bool is_possible = false;
	int64_t index = tune_kept_get(&times, why, key, &tuning->space);
	kz_status st = index < 0 ? KZ_OK
		: tune_add(&is_possible, tuning, run->tunable, index, run, err);
	*found = is_possible;
	if (st || !is_possible) {
		return st;
	}
	struct tune_trial *trial = &tuning->trials[0];
	trial->result.repeats = times.repeats;
	trial->result.time = times.time;
	tuning->info.kept = 1;
	if ((st = kz_module_compile(&tuning->module, run->dev, run->tunable->source,
		     &trial->compile.options, err))) {
		return st;
	}
	return kz_module_kernel(&tuning->kernel, tuning->module, trial->compile.kernel, err);
}

static kz_status tune_run(kz_tuning *tuning, struct tune_run *run, kz_error *err)
{
	struct str key = STR_INIT;
	bool found = false;
	const char *why;
	kz_status st = tune_kept_key(&key, run->dev, &tuning->space, run->tunable, run->problem,
		err);
	if (!st && run->options->use_kept) {
		st = tune_load(&found, &why, tuning, run, &key, err);
	}
	if (!st && !found) {
		st = tune_run_begin(run, err);
		st = st ? st : tune_try_all(tuning, run, err);
		st = tune_run_end(run, st, err);
		st = st ? st : tune_settle(tuning, run, &key, err);
	}
	str_free(&key);
	return st;
}

kz_status kz_tune(kz_tuning **out, kz_device *dev, const kz_tunable *tunable, kz_dim3 problem,
	const kz_tune_options *options, kz_error *err, kz_args args)
{
	error_scope(err);
	kz_tune_options read;
	kz_tuning *tuning = NULL;
	struct tune_run run = {.dev = dev, .tunable = tunable, .options = &read,
		.problem = problem, .args = args};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = tune_read_options(&read, options, err))
	    || (st = tune_create(&tuning, dev, tunable, problem, err))) {
		return st;
	}
	run.space = &tuning->space;
	if (!(st = tune_read_launch(&run, read.launch, err))
	    && !(st = tune_check_args(args, err))) {
		st = tune_run(tuning, &run, err);
	}
	if (st) {
		kz_tuning_release(tuning);
		return st;
	}
	object_give(tuning, dev);
	*out = tuning;
	return KZ_OK;
}

kz_status kz_tuning_find(kz_tuning **out, kz_device *dev, const kz_tunable *tunable,
	kz_dim3 problem, kz_error *err)
{
	error_scope(err);
	kz_tuning *tuning = NULL;
	struct str key = STR_INIT;
	bool found = false;
	const char *why = "";
	struct tune_run run = {.dev = dev, .tunable = tunable, .problem = problem};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = tune_create(&tuning, dev, tunable, problem, err))) {
		return st;
	}
	if (!(st = tune_kept_key(&key, dev, &tuning->space, tunable, problem, err))
	    && !(st = tune_load(&found, &why, tuning, &run, &key, err)) && !found) {
		st = error_set(err, KZ_NOT_FOUND, "nothing was kept for '%s': %s", tunable->kernel,
			why);
	}
	str_free(&key);
	if (st) {
		kz_tuning_release(tuning);
		return st;
	}
	object_give(tuning, dev);
	*out = tuning;
	return KZ_OK;
}

/* Results */

kz_status kz_tuning_launch(kz_tuning *tuning, kz_dim3 problem, const kz_launch_options *options,
	kz_error *err, kz_args args)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(tuning, OBJECT_TUNING, err))
	    || (st = tune_check_problem(problem, err))) {
		return st;
	}
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_launch_options", options->size, sizeof(*options), err);
	}
	const kz_tune_result *best = &tuning->trials[0].result;
	kz_tune_config config = {.text = best->text, .values = best->values};
	kz_launch_options launch = options ? *options
		: (kz_launch_options)KZ_LAUNCH_OPTIONS_INIT;
	if (!tune_space_accepts(&config, &tuning->space, &tuning->device->info, problem)) {
		return error_set(err, KZ_INVALID, "configuration %s: 'accept' refuses the size "
			"(%lld, %lld, %lld)", best->text, (long long)problem.x,
			(long long)problem.y, (long long)problem.z);
	}
	launch.shared_size = launch.shared_size ? launch.shared_size : config.shared_size;
	return kz_launch(tuning->kernel, config.grid, config.block, &launch, err, args);
}

kz_kernel *kz_tuning_kernel(const kz_tuning *tuning)
{
	return object_is(tuning, OBJECT_TUNING) ? tuning->kernel : NULL;
}

int64_t kz_tuning_count(const kz_tuning *tuning)
{
	return object_is(tuning, OBJECT_TUNING) ? (int64_t)tuning->count : 0;
}

const kz_tune_result *kz_tuning_result(const kz_tuning *tuning, int64_t index)
{
	return index >= 0 && index < kz_tuning_count(tuning) ? &tuning->trials[index].result : NULL;
}

kz_status kz_tuning_describe(kz_tuning *tuning, kz_tuning_info *info, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(tuning, OBJECT_TUNING, err))
	    || (st = pointer_check(info, "a place", err))) {
		return st;
	}
	if (info->size != sizeof(*info)) {
		return struct_refuse("kz_tuning_info", info->size, sizeof(*info), err);
	}
	*info = tuning->info;
	return KZ_OK;
}

static void tune_write_line(struct str *out, const kz_tune_result *result)
{
	static const char *const words[] = {[KZ_TUNE_TIMED] = "", [KZ_TUNE_SLOWER] = "  given up",
		[KZ_TUNE_WRONG] = "wrong results", [KZ_TUNE_FAILED] = ""};
	if (result->repeats > 0) {
		str_addf(out, "%12.6f ms  [%.6f, %.6f]", result->time.median_ms,
			result->time.q1_ms, result->time.q3_ms);
	}
	str_addf(out, "%s%s  %s\n", words[result->outcome],
		result->outcome == KZ_TUNE_FAILED ? result->message : "", result->text);
}

static kz_status tune_write(struct str *out, kz_tuning *tuning, kz_error *err)
{
	kz_status st = object_check(tuning, OBJECT_TUNING, err);
	if (st) {
		return st;
	}
	for (size_t i = 0; i < tuning->count; i++) {
		tune_write_line(out, &tuning->trials[i].result);
	}
	return out->failed ? error_no_memory(err) : KZ_OK;
}

kz_status kz_tuning_print(kz_tuning *tuning, FILE *stream, kz_error *err)
{
	error_scope(err);
	struct str text = STR_INIT;
	kz_status st = pointer_check(stream, "a FILE", err);
	st = st ? st : tune_write(&text, tuning, err);
	st = st ? st : file_show(stream, &text, "a tuning", err);
	str_free(&text);
	return st;
}

kz_status kz_tuning_format(kz_tuning *tuning, char *buffer, int64_t size, int64_t *length,
	kz_error *err)
{
	error_scope(err);
	struct str text = STR_INIT;
	kz_status st = tune_write(&text, tuning, err);
	if (buffer && size > 0) {
		buffer[0] = '\0';
	}
	if (!st && buffer && size > 0) {
		str_copy(buffer, (size_t)size, &text);
	}
	if (length) {
		*length = st ? 0 : (int64_t)text.len;
	}
	str_free(&text);
	return st;
}
