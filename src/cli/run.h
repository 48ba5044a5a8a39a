/* SPDX-License-Identifier: MIT */
#ifndef CLI_RUN_H
#define CLI_RUN_H

/* What the files of `kudzu run` share, some of it with `kudzu bench`. */
#include "cli/argument.h"
#include "cli/parameters.h"
#include "cli/source.h"
#include "cli/words.h"

#define RUN_MAX PARAMETERS_MAX

/* --out NAME=FILE, --plot NAME or --plot NAME=FILE */
struct run_out {
	char name[64];
	const char *path; /* NULL: on standard output */
	bool is_plot;
};

/* What the command line asks for. */
struct run {
	const char *file;
	const char *kernel; /* NULL: the only one */
	const char *device; /* NULL: the default */
	struct source_options source;
	kz_dim3 grid, block;
	int64_t shared_size;
	int64_t times;       /* --time; 0: not asked for */
	const char *check;   /* --check: which checks; NULL: not asked for */
	const char *report;  /* --report, a file; NULL: none */
	const char *profile; /* of `profiles`: a file; NULL: a table on standard output */
	int64_t schedules;   /* --schedules; 0: not asked for */
	int64_t seed;        /* of the schedule that runs; 0: the usual order, */
	char *kept[RUN_MAX]; /* in which the arrays got these bytes; */
	int64_t differing;   /* so many seeds have given others, */
	int64_t first_seed;  /* and this one first */
	struct run_out outs[RUN_MAX];
	int out_count;
	bool has_grid, has_block;
	bool is_cooperative;
	bool watch;
	bool profiles;     /* --profile */
	bool is_rehearsal; /* of --schedules: nothing is shown */
	char **words;      /* the arguments of the kernel ... */
	size_t count;
	struct argument arguments[RUN_MAX]; /* ... and what they say */
};

/* The arguments on the device, as a launch takes them. */
struct run_values {
	kz_arg args[RUN_MAX];
	kz_array *arrays[RUN_MAX]; /* NULL for an argument that is not an array */
	char *bytes[RUN_MAX];      /* what small vectors are; else NULL */
	size_t failed;             /* the argument that could not be made */
};

kz_status run_values_create(struct run_values *out, kz_device *dev, const struct run *run,
	const struct parameters *parameters, kz_error *err);
void run_values_finish(struct run_values *values);
/* Bytes and elements: of all arrays, and of the largest. */
int64_t run_values_size(const struct run_values *values);
int64_t run_values_count(const struct run_values *values);
/* Launch a kernel with them. */
kz_status run_launch(const struct run *run, kz_kernel *kernel, const struct run_values *values,
	kz_error *err);

/* "run" or "bench": what messages begin with. */
extern const char *run_command;
/* A number, the extents "8,8", and the arguments of the kernel, from words; false after a
 * message. */
bool run_read_count(int64_t *out, int64_t least, int64_t most, const char *option,
	const char *text, const char *expected);
bool run_read_dim(kz_dim3 *out, const char *option, const char *text);
/* The words that are not options: the file, which must be there, and what the kernel gets. */
bool run_take_words(struct run *run, const struct words *words);
bool run_read_arguments(struct run *run);
/* Print an error, and clear it: the exit status.  One about an argument is shown with its word. */
int run_fail(const struct run *run, kz_error *err);
/* Find the kernel that the words name, or the only one.  If there are several and none is named,
 * that is a mistake if there `must` be one; else *out is NULL.  The exit status. */
int run_find_kernel(kz_kernel **out, const struct run *run, kz_module *mod,
	const struct source *source, bool must);

/* run_check.c: --check.  Turn the checks on, before the device is opened: false if memory runs
 * out.  Print what they have found: the exit status. */
bool run_check_begin(const char *checks, const char *report);
int run_check_end(kz_device *dev);
/* Say which element of which argument a failure of the device is about, as text that is freed with
 * free; NULL if it is not about an argument. */
char *run_check_explain(const struct run_values *values, const struct parameters *parameters,
	const kz_error *err);

/* --schedules, see run_schedules.c.  Begin a run under a seed, 0 for the usual order, on a device
 * of which nothing is shown then. */
void run_schedules_set(struct run *run, int64_t seed);
kz_status run_schedules_mute(const struct run *run, kz_device *dev, kz_error *err);
/* It has ended: keep or compare the arrays; or it has failed under a seed, which clears the error.
 * When all have ended, the exit status. */
kz_status run_schedules_note(struct run *run, const struct run_values *values,
	const struct parameters *parameters, kz_error *err);
int run_schedules_fail(struct run *run, kz_error *err);
int run_schedules_end(const struct run *run);
void run_schedules_finish(struct run *run);

/* Print the parameters of the kernels of a module, each with a call that can be pasted. */
void run_list(const struct run *run, kz_module *mod, const struct source *source);
/* Print the arrays after a launch, and save those of --out. */
kz_status run_show(const struct run *run, const struct run_values *values,
	const struct parameters *parameters, kz_error *err);
/* "1.23 ms" */
void run_format_time(char *out, size_t size, double ms);
/* Launch again and again, and print how long it takes. */
kz_status run_time(const struct run *run, kz_device *dev, kz_kernel *kernel,
	const struct run_values *values, kz_error *err);

#endif
