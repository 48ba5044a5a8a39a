/* SPDX-License-Identifier: MIT */
/*
 * What `kudzu run` and `kudzu bench` share besides the arrays: reading numbers, extents and
 * arguments from words, finding the kernel, and saying what is wrong.
 */
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *run_command = "run";

/* Words */

bool run_read_count(int64_t *out, int64_t least, int64_t most, const char *option,
	const char *text, const char *expected)
{
	char *end = NULL;
	errno = 0;
	long long value = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : -1;
	if (errno || value < least || value > most || (end && *end)) {
		fprintf(stderr, "kudzu %s: --%s: expected %s, got '%s'\n", run_command,
			option, expected, text);
		return false;
	}
	*out = value;
	return true;
}

/* "8,8" */
bool run_read_dim(kz_dim3 *out, const char *option, const char *text)
{
	int64_t *const extents[] = {&out->x, &out->y, &out->z};
	char message[96];
	char *end = NULL;
	const char *at = text;
	*out = kz_dim(1, 1, 1);
	for (size_t i = 0; i < 3; i++) {
		errno = 0;
		*extents[i] = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
		if (errno || *extents[i] < 0 || (*end && (*end != ',' || i == 2))) {
			break;
		}
		if (!*end) {
			return true;
		}
		at = end + 1;
	}
	size_t length = strcspn(at, ",");
	snprintf(message, sizeof(message), "--%s: expected one to three numbers, as in 8 or 16,16",
		option);
	report_place(run_command, message, text, (size_t)(at - text), length);
	return false;
}

bool run_take_words(struct run *run, const struct words *words)
{
	if (words->count == 0) {
		fprintf(stderr, "kudzu %s: no file given; see `kudzu help %s`\n", run_command,
			run_command);
		return false;
	}
	run->file = words->argv[1];
	run->words = words->argv + 2;
	run->count = (size_t)(words->count - 1);
	return true;
}

bool run_read_arguments(struct run *run)
{
	if (run->count > RUN_MAX) {
		fprintf(stderr, "kudzu %s: %zu arguments, and a kernel takes at most %d\n",
			run_command, run->count, RUN_MAX);
		return false;
	}
	for (size_t i = 0; i < run->count; i++) {
		struct argument_fault fault;
		if (!argument_parse(&run->arguments[i], run->words[i], &fault)) {
			char message[256];
			snprintf(message, sizeof(message), "argument %zu: %s", i + 1,
				fault.message);
			report_place(run_command, message, run->words[i], fault.offset,
				fault.length);
			return false;
		}
	}
	return true;
}

/* Failures */

int run_fail(const struct run *run, kz_error *err)
{
	size_t index = 0;
	if (err->status == KZ_ARGUMENT && sscanf(err->message, "argument %zu of", &index) == 1
	    && index >= 1 && index <= run->count) {
		const char *word = run->words[index - 1];
		report_place(run_command, err->message, word, 0, strlen(word));
	} else if (report_status(err) == CLI_USAGE) {
		fprintf(stderr, "kudzu %s: %s\n", run_command, err->message);
	} else {
		report_error(err);
	}
	int status = report_status(err);
	kz_error_clear(err);
	return status;
}

/* Templates */

/* The name of the kernel whose declaration goes on with `text`, after __global__:
 * "void __launch_bounds__(256) scale(".  NULL if it has no name. */
static const char *run_read_kernel_name(size_t *length, const char *text)
{
	const char *name = NULL;
	*length = 0;
	while (*text && !strchr("{;", *text)) {
		if (isalpha((unsigned char)*text) || *text == '_') {
			name = text;
			while (isalnum((unsigned char)*text) || *text == '_') {
				text++;
			}
			*length = (size_t)(text - name);
		} else if (*text == '(' && name && strncmp(name, "__", 2) != 0) {
			return name;
		} else {
			text += *text == '(' ? strcspn(text, ")") : 1;
		}
	}
	return NULL;
}

/* Whether the library knows the name as a template's: it gives a hint then. */
static bool run_is_template(kz_module *mod, const char *name)
{
	kz_kernel *kernel;
	kz_error err = KZ_ERROR_INIT;
	kz_status st = kz_module_kernel(&kernel, mod, name, &err);
	bool is_template = st == KZ_NOT_FOUND && err.hint;
	kz_error_clear(&err);
	return is_template;
}

/* Write "scale<float, 16>" for "template <class T, int N>", which the source has at `text`. */
static void run_write_instance(char *out, size_t size, const char *name, const char *text)
{
	static const struct {
		const char *word, *value;
	} kinds[] = {{"class", "float"}, {"typename", "float"}, {"bool", "true"}, {"", "16"}};
	size_t length = (size_t)snprintf(out, size, "%s", name);
	int depth = 0;
	text += strcspn(text, "<");
	for (; *text && length < size; text++) {
		const bool begins = (*text == '<' && depth == 0) || (*text == ',' && depth == 1);
		depth += (*text == '<') - (*text == '>');
		if (begins) {
			const char *kind = text + 1 + strspn(text + 1, " \t\n");
			size_t i = 0;
			while (strncmp(kind, kinds[i].word, strlen(kinds[i].word)) != 0) {
				i++;
			}
			length += (size_t)snprintf(out + length, size - length, "%s%s",
				*text == '<' ? "<" : ", ", kinds[i].value);
		}
		if (*text == '>' && depth == 0) {
			break;
		}
	}
	if (length < size) {
		snprintf(out + length, size - length, ">");
	}
}

/* The name of the next kernel in a source, or NULL; *at goes on there, and *template is the last
 * "template" before it. */
static const char *run_next_kernel(size_t *length, const char **at, const char **template)
{
	static const char keyword[] = "template", global[] = "__global__";
	const char *name = NULL;
	for (; **at && !name; ++*at) {
		if (strncmp(*at, keyword, strlen(keyword)) == 0) {
			*template = *at;
		} else if (strncmp(*at, global, strlen(global)) == 0) {
			name = run_read_kernel_name(length, *at + strlen(global));
		}
	}
	return name;
}

/* Refuse to choose an instance of a template: of the one that --kernel names, or of the first in
 * the source.  False if none is seen there; those in namespaces are seen by --kernel only. */
static bool run_refuse_template(const struct run *run, kz_module *mod, const struct source *source)
{
	const char *at = source->is_image ? "" : source->data, *template = NULL, *found;
	const char *colon = run->kernel ? strrchr(run->kernel, ':') : NULL;
	const char *wanted = colon ? colon + 1 : run->kernel;
	char name[128], instance[256];
	size_t length;
	while ((found = run_next_kernel(&length, &at, &template))) {
		snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length
			: sizeof(name) - 1), found);
		const char *whole = run->kernel ? run->kernel : name;
		if (template && (!wanted || strcmp(wanted, name) == 0)
		    && run_is_template(mod, whole)) {
			run_write_instance(instance, sizeof(instance), whole, template);
			fprintf(stderr, "kudzu %s: '%s' is a template: choose an instance by "
				"--kernel '%s'\n", run_command, whole, instance);
			return true;
		}
	}
	return false;
}

/* The library gives a hint if the name is a template's; that hint is about the library's
 * options. */
static int run_fail_kernel(const struct run *run, kz_module *mod, const struct source *source,
	kz_error *err)
{
	if (err->status != KZ_NOT_FOUND || !err->hint || !run->kernel) {
		return run_fail(run, err);
	}
	if (!run_refuse_template(run, mod, source)) {
		fprintf(stderr, "kudzu %s: '%s' is a template: choose an instance by --kernel "
			"'%s<float>'\n", run_command, run->kernel, run->kernel);
	}
	kz_error_clear(err);
	return CLI_USAGE;
}

int run_find_kernel(kz_kernel **out, const struct run *run, kz_module *mod,
	const struct source *source, bool must)
{
	int64_t count = kz_module_kernel_count(mod);
	kz_error err = KZ_ERROR_INIT;
	*out = NULL;
	if (count == 0 && !run->kernel && run_refuse_template(run, mod, source)) {
		return CLI_USAGE;
	}
	if (count == 0 && !run->kernel) {
		fprintf(stderr, "kudzu %s: there is no kernel in '%s'%s\n", run_command, run->file,
			source->is_image ? "" : strstr(source->data, "template")
			? "; an instance of a template is chosen by --kernel 'f<float>'"
			: "; a kernel begins with __global__");
		return CLI_USAGE;
	}
	if (!run->kernel && count > 1) {
		if (must) {
			fprintf(stderr, "kudzu %s: there are %" PRId64 " kernels in '%s': choose "
				"one by --kernel\n", run_command, count, run->file);
		}
		return must ? CLI_USAGE : CLI_OK;
	}
	return kz_module_kernel(out, mod, run->kernel ? run->kernel : kz_module_kernel_name(mod, 0),
		       &err) ? run_fail_kernel(run, mod, source, &err) : CLI_OK;
}
