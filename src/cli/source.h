/* SPDX-License-Identifier: MIT */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

/* Files with kernels: source text or images, and the options to compile them with. */
#include <kudzu/kudzu.h>

#include <stdbool.h>

/* Read a whole file, or standard input for "-"; a zero byte follows.  Freed with free.  NULL, with
 * errno, if it cannot be read. */
char *source_read(const char *path, size_t *size);

/* What a file that was read holds. */
struct source {
	const char *path;
	char *data;
	size_t size;
	bool is_image; /* PTX, a cubin, a fat binary, ...; else CUDA C++ */
};

/* Read a file; false after a message that begins with "kudzu COMMAND". */
bool source_open(struct source *out, const char *command, const char *path);
const char *source_name(const struct source *source); /* as compilers call it */
void source_close(struct source *source);

/* How to compile; the lists end with NULL. */
struct source_options {
	kz_compile_options compile;
	const char **include_dirs;
	const char **defines;
};

/* Make room for as many folders and macros as there are words.  False without memory. */
bool source_options_init(struct source_options *options, int words);
void source_options_finish(struct source_options *options);
/* Take -I, -D, --arch (a) or --std (s); false for any other option. */
bool source_options_take(struct source_options *options, int option, char *value);

/* Compile or load it for a device.  `instance` is an instance of a template that it must have,
 * or NULL. */
kz_status source_load(kz_module **out, kz_device *dev, const struct source *source,
	const struct source_options *options, const char *instance, kz_error *err);
/* Watch a file, and compile or load it so. */
kz_status source_watch(kz_watcher **out, kz_device *dev, const char *path,
	const struct source_options *options, const char *instance, kz_error *err);

#endif
