/* SPDX-License-Identifier: MIT */
/*
 * Files with kernels.  The text decides what a file is: an image has a zero byte, PTX begins with
 * .version after comments, and the rest is CUDA C++.
 */
#include "cli/source.h"

#include "cli/progress.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *source_read_stream(FILE *file, size_t *size)
{
	size_t room = 65536, used = 0;
	char *data = malloc(room);
	while (data) {
		size_t got = fread(data + used, 1, room - used - 1, file);
		used += got;
		if (got == 0) {
			break;
		}
		if (room - used < 2) {
			char *grown = realloc(data, room *= 2);
			if (!grown) {
				free(data);
			}
			data = grown;
		}
	}
	if (data && ferror(file)) {
		free(data);
		return NULL;
	}
	if (data) {
		data[used] = '\0';
		*size = used;
	}
	return data;
}

char *source_read(const char *path, size_t *size)
{
	if (strcmp(path, "-") == 0) {
		return source_read_stream(stdin, size);
	}
	FILE *file = fopen(path, "re");
	if (!file) {
		return NULL;
	}
	char *data = source_read_stream(file, size);
	int code = errno;
	fclose(file);
	errno = code;
	return data;
}

static bool source_is_ptx(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n");
		if (strncmp(text, "//", 2) == 0) {
			text += strcspn(text, "\n");
		} else if (strncmp(text, "/*", 2) == 0 && strstr(text, "*/")) {
			text = strstr(text, "*/") + 2;
		} else {
			return strncmp(text, ".version", 8) == 0;
		}
	}
}

static bool source_is_image(const struct source *source)
{
	/* No source has a zero byte, and the library explains a bad image better than the
	 * compiler. */
	return source_is_ptx(source->data) || memchr(source->data, 0, source->size);
}

/* Whether there is nothing but text in front of the first zero byte.  Images have a number there
 * that no text has; libraries and bundles begin with words. */
static bool source_is_broken_text(const struct source *source)
{
	const char *end = memchr(source->data, 0, source->size);
	const char *at = source->data;
	if (!end || end == at || strncmp(at, "!<arch>\n", 8) == 0
	    || strncmp(at, "KZBNDL\r\n", 8) == 0) {
		return false;
	}
	while (at < end && (!iscntrl((unsigned char)*at) || isspace((unsigned char)*at))) {
		at++;
	}
	return at == end;
}

bool source_open(struct source *out, const char *command, const char *path)
{
	*out = (struct source){.path = path};
	out->data = source_read(path, &out->size);
	if (!out->data) {
		fprintf(stderr, "kudzu %s: cannot read '%s': %s\n", command, path, strerror(errno));
		return false;
	}
	if (source_is_broken_text(out)) {
		fprintf(stderr, "kudzu %s: '%s' is neither an image nor a source: byte %zu is 0; "
			"save a source as UTF-8\n", command, path, strlen(out->data) + 1);
		source_close(out);
		return false;
	}
	out->is_image = source_is_image(out);
	return true;
}

const char *source_name(const struct source *source)
{
	return strcmp(source->path, "-") == 0 ? "<stdin>" : source->path;
}

void source_close(struct source *source)
{
	free(source->data);
	source->data = NULL;
}

bool source_options_init(struct source_options *options, int words)
{
	options->compile = (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	options->include_dirs = calloc((size_t)words + 1, sizeof(char *));
	options->defines = calloc((size_t)words + 1, sizeof(char *));
	options->compile.include_dirs = options->include_dirs;
	options->compile.defines = options->defines;
	return options->include_dirs && options->defines;
}

void source_options_finish(struct source_options *options)
{
	free(options->include_dirs);
	free(options->defines);
}

static void source_list_add(const char **list, const char *text)
{
	while (*list) {
		list++;
	}
	*list = text;
}

bool source_options_take(struct source_options *options, int option, char *value)
{
	switch (option) {
	case 'I':
		source_list_add(options->include_dirs, value);
		return true;
	case 'D':
		source_list_add(options->defines, value);
		return true;
	case 'a':
		options->compile.arch = value;
		return true;
	case 's':
		options->compile.std = value;
		return true;
	default:
		return false;
	}
}

kz_status source_load(kz_module **out, kz_device *dev, const struct source *source,
	const struct source_options *options, const char *instance, kz_error *err)
{
	const char *instances[] = {instance, NULL};
	kz_compile_options compile = options->compile;
	if (source->is_image) {
		return kz_module_load(out, dev, source->data, (int64_t)source->size, err);
	}
	compile.name = source_name(source);
	compile.instances = instance ? instances : NULL;
	progress_begin("kudzu: compiling '%s'", compile.name);
	kz_status st = kz_module_compile(out, dev, source->data, &compile, err);
	progress_end();
	return st;
}

kz_status source_watch(kz_watcher **out, kz_device *dev, const char *path,
	const struct source_options *options, const char *instance, kz_error *err)
{
	const char *instances[] = {instance, NULL};
	kz_compile_options compile = options->compile;
	compile.instances = instance ? instances : NULL;
	return kz_watcher_create(out, dev, path, &compile, err);
}
