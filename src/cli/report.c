/* SPDX-License-Identifier: MIT */
/*
 * What commands say on standard error.
 *
 * The library formats errors, and this file adds gcc's colours line by line: the place of a
 * diagnostic is bold, its kind red, magenta or cyan, and its caret green.
 */
#define _GNU_SOURCE
#include "cli/report.h"

#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define MAGENTA "\033[1;35m"
#define CYAN "\033[1;36m"
#define PLAIN "\033[0m"

/* https://no-color.org: set and not empty, whatever it says. */
bool report_wants_colour(int fd)
{
	const char *no_color = secure_getenv("NO_COLOR");
	const char *term = secure_getenv("TERM");
	return !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0) && isatty(fd);
}

static const struct {
	const char *word;
	const char *colour;
} kinds[] = {
	{": error: ", RED}, {": warning: ", MAGENTA}, {": note: ", CYAN},
};

/* Whether a line has nothing but a caret and blanks. */
static bool report_is_caret(const char *line, size_t length)
{
	size_t carets = 0;
	for (size_t i = 0; i < length; i++) {
		carets += line[i] == '^';
		if (!isspace((unsigned char)line[i]) && line[i] != '^' && line[i] != '~') {
			return false;
		}
	}
	return carets == 1;
}

static void report_colour_line(FILE *out, const char *line, size_t length)
{
	if (report_is_caret(line, length)) {
		fprintf(out, GREEN "%.*s" PLAIN, (int)length, line);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *word = memmem(line, length, kinds[i].word, strlen(kinds[i].word));
		if (word) {
			size_t place = (size_t)(word - line) + 1, kind = strlen(kinds[i].word) - 3;
			fprintf(out, BOLD "%.*s" PLAIN " %s%.*s" PLAIN, (int)place, line,
				kinds[i].colour, (int)kind, word + 2);
			fwrite(word + 2 + kind, 1, length - place - 1 - kind, out);
			return;
		}
	}
	fwrite(line, 1, length, out);
}

char *report_colour(const char *text, bool colour)
{
	char *out = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&out, &size);
	if (!file) {
		return NULL;
	}
	while (*text) {
		size_t length = strcspn(text, "\n");
		if (colour) {
			report_colour_line(file, text, length);
		} else {
			fwrite(text, 1, length, file);
		}
		text += length;
		if (*text) {
			fputc('\n', file);
			text++;
		}
	}
	if (fclose(file)) {
		free(out);
		return NULL;
	}
	return out;
}

void report_log(const char *log)
{
	char *text = report_colour(log, report_wants_colour(STDERR_FILENO));
	fputs(text ? text : log, stderr);
	free(text);
}

void report_error(const kz_error *err)
{
	size_t size = kz_error_format(err, NULL, 0) + 1;
	char *text = malloc(size);
	if (text) {
		kz_error_format(err, text, size);
		report_log(text);
	} else {
		kz_error_print(err, stderr);
	}
	free(text);
}

void report_place(const char *command, const char *message, const char *text, size_t offset,
	size_t length)
{
	bool colour = report_wants_colour(STDERR_FILENO);
	fprintf(stderr, "kudzu %s: %s\n  %s\n  ", command, message, text);
	for (size_t i = 0; i < offset && text[i]; i++) {
		/* One column for each character, not for each byte. */
		if ((text[i] & 0xc0) != 0x80) {
			fputc(text[i] == '\t' ? '\t' : ' ', stderr);
		}
	}
	fputs(colour ? GREEN "^" : "^", stderr);
	for (size_t i = 1; i < length; i++) {
		if ((text[offset + i] & 0xc0) != 0x80) {
			fputc('~', stderr);
		}
	}
	fputs(colour ? PLAIN "\n" : "\n", stderr);
}

int report_status(const kz_error *err)
{
	switch (err->status) {
	case KZ_INVALID:
	case KZ_NOT_FOUND:
	case KZ_ARGUMENT:
	case KZ_RANGE:
	case KZ_NO_MEMORY:
	case KZ_DEVICE_MEMORY:
		return CLI_USAGE;
	case KZ_LAUNCH:
		/* The library refused the launch; a failure that the driver reports is the
		 * kernel's. */
		return err->domain == KZ_DOMAIN_LIBRARY ? CLI_USAGE : CLI_FAILED;
	default:
		return CLI_FAILED;
	}
}

kz_status report_no_memory(kz_error *err)
{
	if (err->status == KZ_OK) {
		err->status = KZ_NO_MEMORY;
		snprintf(err->message, sizeof(err->message), "out of memory");
	}
	return KZ_NO_MEMORY;
}

void report_json_string(const char *text)
{
	if (!text) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\') {
			printf("\\%c", c);
		} else if (c < 0x20) {
			printf("\\u%04x", c);
		} else {
			putchar(c);
		}
	}
	putchar('"');
}
