/* SPDX-License-Identifier: MIT */
/*
 * Fill in a kz_error.  The first failure is kept.  Its message is one line of whole UTF-8
 * characters, whatever a name or a path in it contains.
 */
#include "base/error.h"
#undef error_set /* of the analyzer */
#undef error_os
#undef error_foreign
#undef error_retell

#include "base/alloc.h"
#include "base/place.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* End a message that did not fit with "...", and do not cut through a character. */
static void error_cut_message(char *message, size_t size)
{
	size_t end = size - sizeof("...");
	while (end > 0 && ((unsigned char)message[end] & 0xc0) == 0x80) {
		end--;
	}
	memcpy(message + end, "...", sizeof("..."));
}

static void error_write_message(char *message, size_t size, const char *format, va_list args)
{
	int len = str_formatv(message, size, format, args);
	if (len >= (int)size) {
		error_cut_message(message, size);
	}
	for (char *c = message; *c; c++) {
		if ((unsigned char)*c < ' ') {
			*c = ' ';
		}
	}
}

/* Set all of a clean error but its message. */
static void error_fill(kz_error *err, kz_status status, const struct foreign_code *code)
{
	bool has_place = atomic_load_explicit(&place_is_in_errors, memory_order_relaxed);
	*err = (kz_error){
		.status = status,
		.domain = code->domain,
		.code = code->code,
		.name = code->name,
		.call = code->call,
		.flags = code->flags,
		.reserved = {0, has_place ? place_here() : 0},
	};
}

/* Count a failure that came while the error held an earlier one. */
static void error_count_later(kz_error *err)
{
	if (err) {
		err->reserved[0]++;
	}
}

kz_status error_set(kz_error *err, kz_status status, const char *format, ...)
{
	assert(status != KZ_OK);
	if (error_is_clean(err)) {
		va_list args;
		va_start(args, format);
		error_fill(err, status, &(struct foreign_code){.domain = KZ_DOMAIN_LIBRARY});
		error_write_message(err->message, sizeof(err->message), format, args);
		va_end(args);
	} else {
		error_count_later(err);
	}
	return status;
}

static kz_status error_os_status(int code)
{
	switch (code) {
	case ENOENT:
	case ENOTDIR:
		return KZ_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return KZ_PERMISSION;
	case ENOMEM:
		return KZ_NO_MEMORY;
	case ETIMEDOUT:
		return KZ_TIMEOUT;
	default:
		return KZ_IO;
	}
}

kz_status error_os(kz_error *err, int code, const char *call, const char *format, ...)
{
	kz_status st = error_os_status(code);
	if (error_is_clean(err)) {
		char what[sizeof(err->message)];
		const char *text = strerrordesc_np(code);
		va_list args;
		va_start(args, format);
		vsnprintf(what, sizeof(what), format, args);
		va_end(args);
		const struct foreign_code foreign = {KZ_DOMAIN_OS, code, strerrorname_np(code),
			.call = call};
		error_foreign(err, st, &foreign, "%s: %s", what, text ? text : "unknown error");
	} else {
		error_count_later(err);
	}
	return st;
}

kz_status error_foreign(kz_error *err, kz_status status, const struct foreign_code *code,
	const char *format, ...)
{
	assert(status != KZ_OK);
	if (error_is_clean(err)) {
		va_list args;
		va_start(args, format);
		error_fill(err, status, code);
		error_write_message(err->message, sizeof(err->message), format, args);
		va_end(args);
	} else {
		error_count_later(err);
	}
	return status;
}

kz_status error_retell(kz_error *err, const kz_error *from, const char *format, ...)
{
	assert(from->status != KZ_OK);
	if (error_is_clean(err)) {
		const struct foreign_code code = {from->domain, from->code, from->name,
			from->call, from->flags};
		va_list args;
		va_start(args, format);
		error_fill(err, from->status, &code);
		error_write_message(err->message, sizeof(err->message), format, args);
		va_end(args);
	} else {
		error_count_later(err);
	}
	return from->status;
}

void error_add_hint(kz_error *err, const char *hint)
{
	if (err) {
		err->hint = hint;
	}
}

/* Replace what a message begins with: `skip` of its characters, by a text of at most 99. */
static printf_like(3, 4) void error_begin_message(kz_error *err, size_t skip, const char *format,
	...)
{
	char message[sizeof(err->message)], begin[100];
	va_list args;
	va_start(args, format);
	vsnprintf(begin, sizeof(begin), format, args);
	va_end(args);
	memcpy(message, err->message, sizeof(message));
	int len = snprintf(err->message, sizeof(err->message), "%s%s", begin, message + skip);
	if (len >= (int)sizeof(err->message)) {
		error_cut_message(err->message, sizeof(err->message));
	}
}

void error_add_argument(kz_error *err, const char *call, const char *argument)
{
	if (err) {
		error_begin_message(err, 0, "%s: argument '%s': ", call, argument);
	}
}

/* The length of the name of a function that a message begins with, or 0: "kz_add" or, without its
 * prefix, the name that is asked for. */
static size_t error_named_length(const char *message, const char *name)
{
	const size_t len = strlen(name);
	if (strncmp(message, "kz_", 3) == 0) {
		return strspn(message, "abcdefghijklmnopqrstuvwxyz_0123456789");
	}
	return strncmp(message, name, len) == 0 && strchr(": ", message[len]) ? len : 0;
}

void error_name_call(kz_error *err, const char *name)
{
	const bool is_mistake = err->domain == KZ_DOMAIN_LIBRARY && (err->status == KZ_INVALID
		|| err->status == KZ_RANGE || err->status == KZ_STATE);
	if (!is_mistake || err->file) {
		return;
	}
	name += strncmp(name, "kz_", 3) == 0 ? 3 : 0;
	const char *message = err->message;
	size_t named = error_named_length(message, name);
	if (strncmp(message, "kz_", 3) == 0 && message[named] != ':') {
		/* "kz_add takes 2 operands" names the function, "kz_scan_options has size 3" does
		 * not. */
		if (named == strlen(name) + 3 && strncmp(message + 3, name, named - 3) == 0) {
			return;
		}
		named = 0;
	}
	error_begin_message(err, named, "kz_%s%s", name, named ? "" : ": ");
}

void error_add_place(kz_error *err, const char *file, int line, int column)
{
	if (err) {
		mem_free(err->file);
		err->file = file ? mem_strdup(file) : NULL;
		err->line = line;
		err->column = column;
	}
}

void error_take_log(kz_error *err, char *log)
{
	if (!err) {
		mem_free(log);
		return;
	}
	mem_free(err->log);
	err->log = log;
}

kz_status error_copy(kz_error *err, const kz_error *from)
{
	if (from->status == KZ_OK) {
		return KZ_OK;
	}
	if (error_is_clean(err)) {
		*err = *from;
		err->reserved[0] = 0;
		err->file = from->file ? mem_strdup(from->file) : NULL;
		err->log = from->log ? mem_strdup(from->log) : NULL;
	} else {
		error_count_later(err);
	}
	return from->status;
}
