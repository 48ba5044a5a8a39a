/* SPDX-License-Identifier: MIT */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

/* What the files of `kudzu profile` and `kudzu run --profile` share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The numbers of a line, as docs/profiling.md describes them. */
#define PROFILE_NUMBERS(X) \
	X(instructions) X(thread_instructions) X(global_bytes) X(shared_bytes) X(local_bytes) \
	X(requests) X(lines) X(barrier_waits) X(atomics) X(contended) X(samples)
#define PROFILE_KERNEL_NUMBERS(X) \
	X(launches) X(blocks) X(threads) X(width) X(wall_ns) X(busy_ns) X(samples_elsewhere)

struct profile_line {
	const char *file;     /* "": the text of the module */
	uint64_t line;
	char *stack;          /* the calls that it was inlined for, outermost first: "k.cu:7;f" */
#define X(name) uint64_t name;
	PROFILE_NUMBERS(X)
#undef X
};

struct profile_kernel {
	const char *name;
#define X(name) uint64_t name;
	PROFILE_KERNEL_NUMBERS(X)
#undef X
	struct profile_line *lines;
	size_t line_count;
	uint64_t samples;     /* of all lines and elsewhere */
};

struct profile {
	char *text;           /* of the file: it has the strings */
	struct json *json;
	bool has_counts, has_time;
	struct profile_kernel *kernels; /* the one that took longest first */
	size_t kernel_count;
};

/* False after a message that begins with the command. */
bool profile_read(struct profile *out, const char *command, const char *path);
void profile_free(struct profile *profile);
/* The time of a line in nanoseconds, by its share of the samples. */
double profile_time(const struct profile_kernel *kernel, const struct profile_line *line);
/* The text of a file's line, without its blanks, up to `size` - 1 bytes; "" if it is not there. */
void profile_source(char *out, size_t size, const char *path, uint64_t line);

/* The forms: a table, stacks for flame graphs, source with numbers beside it. */
void profile_print_table(FILE *to, const struct profile *profile);
void profile_print_folded(FILE *to, const struct profile *profile);
void profile_print_html(FILE *to, const struct profile *profile);

/* kudzu run --profile[=FILE]: to be called before the device is opened, and after it is closed,
 * with whether there is something to show.  False after a message. */
bool profile_run_begin(const char *path);
bool profile_run_end(const char *path, bool shows);

#endif
