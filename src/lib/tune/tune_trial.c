/* SPDX-License-Identifier: MIT */
/*
 * One trial: compile, launch once, have the result checked, launch again and take the time.
 *
 * The first launch is for the check, and for all that drivers do at a first launch.  A failure
 * belongs to the configuration, unless it is one of the machine: no memory, no compiler, or a
 * device that is lost.
 *
 * Before the first launch of all, the memory that kernels may change is copied: whatever they take
 * by a pointer to something that is not const.
 */
#include "base/common.h"

#include "lib/tune/tune_trial.h"

#include "base/alloc.h"

#include <kudzu/ops.h>
#include <kudzu/prepared.h>

#include <string.h>

/* The program's memory */

struct tune_saved {
	kz_array *array;   /* a copy of an array ... */
	kz_buffer *buffer; /* ... or of a buffer; else both are NULL */
};

/* Whether a kernel may write what the argument points to. */
static bool trial_may_write(const struct kz_kernel *kernel, size_t i)
{
	const char *type = i < kernel->param_count ? kernel->params[i].type : NULL;
	return !type || strncmp(type, "const ", 6) != 0;
}

/* Where the memory of a device is copied, which may be a peer. */
static kz_stream *trial_stream(const struct tune_run *run, kz_device *dev)
{
	return dev == run->dev ? run->stream : kz_device_stream(dev);
}

static kz_status trial_save_argument(struct tune_saved *saved, const struct tune_run *run,
	const kz_arg *arg, kz_error *err)
{
	if (args_is_array(arg)) {
		kz_array *array = (kz_array *)arg->value.p;
		return kz_array_copy_on(&saved->array, array,
			trial_stream(run, kz_array_device(array)), err);
	}
	kz_buffer *buffer = (kz_buffer *)arg->value.p;
	kz_device *dev = kz_buffer_device(buffer);
	int64_t size = kz_buffer_size(buffer);
	if (size == 0) {
		return KZ_OK;
	}
	kz_status st = kz_buffer_create(&saved->buffer, dev, size, err);
	return st ? st : kz_copy_dtod_on(saved->buffer, 0, buffer, 0, size,
		trial_stream(run, dev), err);
}

static kz_status trial_save(struct tune_run *run, const struct kz_kernel *kernel, kz_error *err)
{
	run->saved = mem_zalloc(run->args.count + 1, sizeof(*run->saved));
	if (!run->saved) {
		return error_no_memory(err);
	}
	kz_status st = KZ_OK;
	for (size_t i = 0; i < run->args.count && !st; i++) {
		const kz_arg *arg = &run->args.items[i];
		if ((args_is_array(arg) || arg->kind == KZ_ARG_BUFFER)
		    && trial_may_write(kernel, i)) {
			st = trial_save_argument(&run->saved[i], run, arg, err);
		}
	}
	return st;
}

static kz_status trial_restore(struct tune_run *run, kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; run->saved && i < run->args.count && !st; i++) {
		const struct tune_saved *saved = &run->saved[i];
		void *to = (void *)run->args.items[i].value.p;
		if (saved->array) {
			st = kz_array_assign_on(to, saved->array,
				trial_stream(run, kz_array_device(to)), err);
		} else if (saved->buffer) {
			st = kz_copy_dtod_on(to, 0, saved->buffer, 0,
				kz_buffer_size(saved->buffer),
				trial_stream(run, kz_buffer_device(to)), err);
		}
	}
	return st;
}

/* Before a launch: the first of a configuration, or a further one. */
static kz_status trial_prepare(struct tune_run *run, const struct kz_kernel *kernel, bool first,
	kz_error *err)
{
	if (run->options->restore == KZ_TUNE_RESTORE_NEVER
	    || (!first && run->options->restore == KZ_TUNE_RESTORE_CONFIG)) {
		return KZ_OK;
	}
	kz_status st = run->saved ? trial_restore(run, err) : trial_save(run, kernel, err);
	run->has_failed = st;
	return st;
}

kz_status tune_run_begin(struct tune_run *run, kz_error *err)
{
	kz_status st;
	run->times = mem_zalloc((size_t)run->options->repeats, sizeof(*run->times));
	if (!run->times) {
		return error_no_memory(err);
	}
	st = kz_event_create(&run->start, run->dev, err);
	return st ? st : kz_event_create(&run->stop, run->dev, err);
}

kz_status tune_run_end(struct tune_run *run, kz_status st, kz_error *err)
{
	kz_status restored = run->has_failed ? KZ_OK : trial_restore(run, st ? NULL : err);
	if (!restored && run->saved && !run->has_failed) {
		restored = kz_stream_synchronize(run->stream, st ? NULL : err);
	}
	for (size_t i = 0; run->saved && i < run->args.count; i++) {
		kz_array_release(run->saved[i].array);
		kz_buffer_release(run->saved[i].buffer);
	}
	mem_free(run->saved);
	mem_free(run->times);
	kz_event_release(run->start);
	kz_event_release(run->stop);
	return st ? st : restored;
}

/* Times */

static kz_status trial_time_launch(double *out, struct tune_run *run, kz_prepared *prepared,
	kz_error *err)
{
	kz_status st;
	run->launches++;
	if ((st = kz_event_record(run->start, run->stream, err))
	    || (st = kz_prepared_launch(prepared, run->stream, err))
	    || (st = kz_event_record(run->stop, run->stream, err))
	    || (st = kz_event_synchronize(run->stop, err))) {
		return st;
	}
	return kz_event_elapsed_ms(out, run->start, run->stop, err);
}

/* Whether a configuration is so slow after some repeats that more of them would change nothing. */
static bool trial_is_hopeless(const struct tune_run *run, double fastest, int64_t repeats)
{
	return run->best_ms > 0 && fastest > run->best_ms * (1 + 3 / (double)repeats);
}

static kz_status trial_time(struct tune_trial *trial, struct tune_run *run,
	const struct kz_kernel *kernel, kz_prepared *prepared, kz_error *err)
{
	kz_tune_result *result = &trial->result;
	const int64_t repeats = run->options->repeats;
	double ignored, fastest = 0;
	kz_status st = KZ_OK;
	/* The launch for the check was the first to warm up. */
	for (int i = 1; i < run->options->warm_ups && !st; i++) {
		st = trial_prepare(run, kernel, false, err);
		st = st ? st : trial_time_launch(&ignored, run, prepared, err);
	}
	while (!st && result->repeats < repeats && result->outcome == KZ_TUNE_TIMED) {
		double *time = &run->times[result->repeats];
		if ((st = trial_prepare(run, kernel, false, err))
		    || (st = trial_time_launch(time, run, prepared, err))) {
			return st;
		}
		fastest = result->repeats == 0 || *time < fastest ? *time : fastest;
		result->repeats++;
		if (result->repeats < repeats && trial_is_hopeless(run, fastest, result->repeats)) {
			result->outcome = KZ_TUNE_SLOWER;
		}
	}
	if (!st) {
		result->time = timing_spread(run->times, result->repeats);
	}
	return st;
}

/* A trial */

static bool trial_is_right(const struct tune_trial *trial, const struct tune_run *run)
{
	const kz_tune_result *result = &trial->result;
	const kz_tune_config config = {.text = result->text, .values = result->values,
		.problem = run->problem, .block = result->block, .grid = result->grid,
		.shared_size = result->shared_size, .reserved = run->space};
	return !run->options->check || run->options->check(run->options->user, &config);
}

/* Launch once, to see that it can be launched and what it computes; then take the time. */
static kz_status trial_launch(struct tune_trial *trial, struct tune_run *run, kz_kernel *kernel,
	kz_error *err)
{
	kz_tune_result *result = &trial->result;
	kz_prepared *prepared = NULL;
	kz_launch_options launch = run->launch;
	kz_status st;
	launch.shared_size = result->shared_size;
	if (!(st = kz_prepared_create(&prepared, kernel, result->grid, result->block, &launch, err,
		      run->args))
	    && !(st = trial_prepare(run, kernel, true, err))) {
		run->launches++;
		st = kz_prepared_launch(prepared, run->stream, err);
		st = st ? st : kz_stream_synchronize(run->stream, err);
		st = st ? st : kz_kernel_optimize(kernel, err);
	}
	if (!st && !trial_is_right(trial, run)) {
		result->outcome = KZ_TUNE_WRONG;
	} else if (!st) {
		st = trial_time(trial, run, kernel, prepared, err);
	}
	kz_prepared_release(prepared);
	return st;
}

/* Whether a failure is none of the configuration. */
static bool trial_ends_all(const struct tune_run *run, kz_status st)
{
	return st == KZ_NO_MEMORY || st == KZ_NO_COMPILER || run->has_failed
		|| atomic_load(&run->dev->lost);
}

kz_status tune_trial_run(struct tune_trial *trial, struct tune_run *run, kz_error *err)
{
	kz_tune_result *result = &trial->result;
	kz_error *why = &trial->error;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_status st = why->status;
	if (!st && !(st = kz_module_compile(&mod, run->dev, run->tunable->source,
			     &trial->compile.options, why))
	    && !(st = kz_module_kernel(&kernel, mod, trial->compile.kernel, why))) {
		st = trial_launch(trial, run, kernel, why);
	}
	if (st || result->outcome != KZ_TUNE_TIMED) {
		kz_module_release(mod);
		mod = NULL;
	}
	trial->module = mod;
	if (!st) {
		return KZ_OK;
	}
	result->outcome = KZ_TUNE_FAILED;
	result->status = st;
	result->repeats = 0;
	if (!trial_ends_all(run, st)) {
		return KZ_OK;
	}
	return tune_trial_retell(err, trial, "configuration ", run->tunable->kernel);
}

kz_status tune_trial_retell(kz_error *err, const struct tune_trial *trial, const char *before,
	const char *kernel)
{
	const kz_error *why = &trial->error;
	bool mine = error_is_clean(err);
	kz_status st = error_retell(err, why, "%s%s of '%s': %s", before, trial->result.text,
		kernel, kz_error_message(why));
	if (mine) {
		error_add_place(err, why->file, why->line, why->column);
		error_add_hint(err, why->hint);
		error_take_log(err, why->log ? mem_strdup(why->log) : NULL);
	}
	return st;
}
