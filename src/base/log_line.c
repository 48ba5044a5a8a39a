/* SPDX-License-Identifier: MIT */
/* Lines for stderr, each in one write, so that those of several threads stay apart. */
#include "base/common.h"

#include "base/log_line.h"

#include "base/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void log_line_write(const char *part, const char *format, va_list values)
{
	char line[1024];
	int len = snprintf(line, sizeof(line), "kudzu %s: ", part);
	int more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, format, values);
	if (more < 0) {
		return;
	}
	size_t size = strlen(line);
	line[size++] = '\n';
	for (size_t done = 0; done < size;) {
		const ssize_t written = write(STDERR_FILENO, line + done, size - done);
		if (written <= 0) {
			return;
		}
		done += (size_t)written;
	}
}

void log_line(const char *part, const char *format, ...)
{
	const char *wanted = env_get("KUDZU_LOG");
	if (wanted && *wanted && strcmp(wanted, "0") != 0) {
		va_list values;
		va_start(values, format);
		log_line_write(part, format, values);
		va_end(values);
	}
}

void log_line_always(const char *part, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	log_line_write(part, format, values);
	va_end(values);
}
