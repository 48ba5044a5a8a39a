/* SPDX-License-Identifier: MIT */
#ifndef LIB_TUNE_TUNE_TRIAL_H
#define LIB_TUNE_TUNE_TRIAL_H

/* Trials of configurations on the program's arguments. */
#include "lib/core/stream.h"
#include "lib/module/module.h"
#include "lib/tune/tune_space.h"

/* What the trials of a tuning share. */
struct tune_run {
	struct kz_device *dev;
	struct tune_space *space;
	const kz_tunable *tunable;
	const kz_tune_options *options; /* with numbers for what the program has left at 0 */
	kz_launch_options launch;
	kz_dim3 problem;
	kz_args args;
	kz_stream *stream;
	kz_event *start, *stop;
	struct tune_saved *saved;  /* one for each argument; NULL: nothing is saved yet */
	bool has_failed;           /* to save the arguments, or to put them back */
	double *times;             /* of the repeats */
	double best_ms;            /* the median of the fastest so far; 0: there is none */
	int64_t launches;
};

/* A configuration that was tried.  The texts and values are in the arena of the space. */
struct tune_trial {
	kz_tune_result result;
	struct tune_compile compile;
	int64_t index;
	kz_error error;            /* why it failed */
	struct kz_module *module;  /* of one that was timed to the end; release it */
};

kz_status tune_run_begin(struct tune_run *run, kz_error *err);
/* Put back what the kernel has changed, if it must be, and give all back.  A failure of the tuning
 * comes in as `st`, and wins. */
kz_status tune_run_end(struct tune_run *run, kz_status st, kz_error *err);
/* Try a configuration whose trial has its index, values, text, extents and compile options.
 * KZ_OK, whatever became of the configuration; a failure is one of the whole tuning. */
kz_status tune_trial_run(struct tune_trial *trial, struct tune_run *run, kz_error *err);
/* Fail with what has become of a trial: BEFORE "block_x=64 of 'scale': " and the reason. */
kz_status tune_trial_retell(kz_error *err, const struct tune_trial *trial, const char *before,
	const char *kernel);

#endif
