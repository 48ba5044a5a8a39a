/* SPDX-License-Identifier: MIT */
/*
 * Reading, printing and freeing error values, and looking up native codes; base/error.c fills error
 * values in.
 *
 * Printing goes through a sink, which is a stream or a buffer.  It never allocates, so an error
 * about memory prints as well as any other; but to find the line of the program, while KUDZU_LEAKS
 * is set, and without memory there is an offset in its place.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/place.h"
#include "lib/cuda/codes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct sink {
	FILE *stream; /* or NULL: the buffer */
	char *buffer;
	size_t size;
	size_t len; /* of the whole text, also of what did not fit */
};

static void error_sink_addn(struct sink *sink, const char *text, size_t len)
{
	if (sink->stream) {
		fwrite(text, 1, len, sink->stream);
	} else if (sink->len < sink->size) {
		size_t room = sink->size - sink->len;
		memcpy(sink->buffer + sink->len, text, len < room ? len : room);
	}
	sink->len += len;
}

static void error_sink_add(struct sink *sink, const char *text)
{
	error_sink_addn(sink, text, strlen(text));
}

static void error_sink_number(struct sink *sink, const char *before, int number)
{
	char digits[16];
	snprintf(digits, sizeof(digits), "%d", number);
	error_sink_add(sink, before);
	error_sink_add(sink, digits);
}

static void error_sink_line(struct sink *sink, const char *label, const char *text)
{
	if (text) {
		error_sink_add(sink, label);
		error_sink_add(sink, text);
		error_sink_add(sink, "\n");
	}
}

/* A text of several lines, each after `indent`, the last one ended. */
static void error_sink_lines(struct sink *sink, const char *indent, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		if (len > 0) {
			error_sink_add(sink, indent);
			error_sink_addn(sink, text, len);
		}
		error_sink_add(sink, "\n");
		text += len + (text[len] == '\n');
	}
}

static void error_print_place(struct sink *sink, const kz_error *err)
{
	if (err->file) {
		error_sink_add(sink, "  at:   ");
		error_sink_add(sink, err->file);
		if (err->line > 0) {
			error_sink_number(sink, ":", err->line);
		}
		if (err->line > 0 && err->column > 0) {
			error_sink_number(sink, ":", err->column);
		}
		error_sink_add(sink, "\n");
	}
}

/* What a code without a symbolic name is: a number of LAPACK's tells a row or a column. */
static const char *error_name_code(kz_domain domain)
{
	return domain == KZ_DOMAIN_LAPACK ? "info" : "unknown code";
}

static void error_print_call(struct sink *sink, const kz_error *err)
{
	bool native = err->name || err->code != 0;
	if (!err->call && !native) {
		return;
	}
	error_sink_add(sink, "  call: ");
	error_sink_add(sink, err->call ? err->call : kz_domain_name(err->domain));
	if (native) {
		error_sink_add(sink, " -> ");
		error_sink_add(sink, err->name ? err->name : error_name_code(err->domain));
		error_sink_number(sink, " (", err->code);
		error_sink_add(sink, ")");
	}
	error_sink_add(sink, "\n");
}

/* Which call of the program failed. */
static void error_print_caller(struct sink *sink, const char *label, const kz_error *err)
{
	if (err->reserved[1] != 0) {
		struct place place;
		struct place_finder *finder = place_finder_create();
		place_find(&place, finder, (uintptr_t)err->reserved[1]);
		place_finder_free(finder);
		error_sink_add(sink, label);
		error_sink_add(sink, place.file[0] ? place.file : "an unknown place");
		if (place.line > 0) {
			error_sink_number(sink, ":", place.line);
		}
		error_sink_add(sink, "\n");
	}
}

/* The error has room for the first failure only, so a person who sees that learns of the others. */
static void error_print_later(struct sink *sink, const kz_error *err)
{
	const uint64_t later = err->reserved[0];
	char text[160];
	if (later > 0) {
		snprintf(text, sizeof(text), "%"PRIu64" later failure%s came while this error was "
			"not cleared (kz_error_clear)", later, later == 1 ? "" : "s");
		error_sink_line(sink, "note: ", text);
	}
}

static void print_error(struct sink *sink, const kz_error *err)
{
	if (!err || err->status == KZ_OK) {
		return;
	}
	bool has_log = err->log && err->log[0];
	if (has_log && err->status == KZ_COMPILE) {
		/* The log is the compiler's diagnostics, and says all that the message says. */
		error_sink_lines(sink, "", err->log);
		error_sink_line(sink, "hint: ", err->hint);
		error_print_caller(sink, "from: ", err);
		error_print_later(sink, err);
		return;
	}
	error_sink_line(sink, "kudzu: ", err->message);
	error_print_place(sink, err);
	error_print_call(sink, err);
	error_print_caller(sink, "  from: ", err);
	if (err->flags & KZ_ERROR_MAYBE_ASYNC) {
		error_sink_line(sink, "  note: ", "the cause may be work that was started earlier");
	}
	if (err->flags & KZ_ERROR_STICKY) {
		error_sink_line(sink, "  note: ", "sticky: every later call on this device fails");
	}
	error_sink_line(sink, "  hint: ", err->hint);
	if (has_log) {
		error_sink_line(sink, "  log:", "");
		error_sink_lines(sink, "    ", err->log);
	}
	error_print_later(sink, err);
}

void kz_error_clear(kz_error *err)
{
	if (err) {
		mem_free(err->file);
		mem_free(err->log);
		*err = (kz_error)KZ_ERROR_INIT;
	}
}

void kz_error_print(const kz_error *err, FILE *stream)
{
	struct sink sink = {.stream = stream};
	if (!stream) {
		return;
	}
	flockfile(stream); /* the lines of one error stay together */
	print_error(&sink, err);
	funlockfile(stream);
}

size_t kz_error_format(const kz_error *err, char *buffer, size_t size)
{
	struct sink sink = {.buffer = buffer, .size = buffer && size ? size - 1 : 0};
	print_error(&sink, err);
	if (buffer && size > 0) {
		buffer[sink.len < sink.size ? sink.len : sink.size] = '\0';
	}
	return sink.len;
}

kz_status kz_error_status(const kz_error *err)
{
	return err ? err->status : KZ_OK;
}

const char *kz_error_message(const kz_error *err)
{
	return err ? err->message : "";
}

kz_domain kz_error_domain(const kz_error *err)
{
	return err ? err->domain : KZ_DOMAIN_LIBRARY;
}

int32_t kz_error_code(const kz_error *err)
{
	return err ? err->code : 0;
}

uint32_t kz_error_flags(const kz_error *err)
{
	return err ? err->flags : 0;
}

static const char *error_text_or_empty(const char *text)
{
	return text ? text : "";
}

const char *kz_error_name(const kz_error *err)
{
	return error_text_or_empty(err ? err->name : NULL);
}

const char *kz_error_call(const kz_error *err)
{
	return error_text_or_empty(err ? err->call : NULL);
}

const char *kz_error_hint(const kz_error *err)
{
	return error_text_or_empty(err ? err->hint : NULL);
}

const char *kz_error_file(const kz_error *err)
{
	return error_text_or_empty(err ? err->file : NULL);
}

int32_t kz_error_line(const kz_error *err)
{
	return err ? err->line : 0;
}

int32_t kz_error_column(const kz_error *err)
{
	return err ? err->column : 0;
}

const char *kz_error_log(const kz_error *err)
{
	return error_text_or_empty(err ? err->log : NULL);
}

kz_error *kz_error_create(void)
{
	return mem_zalloc(1, sizeof(kz_error));
}

void kz_error_release(kz_error *err)
{
	kz_error_clear(err);
	mem_free(err);
}

static const struct {
	const char *name;
	const char *text;
} statuses[] = {
#define X(status, text) [KZ_##status] = {"KZ_" #status, text}
	X(OK, "success"),
	X(INVALID, "invalid argument"),
	X(NO_MEMORY, "out of host memory"),
	X(DEVICE_MEMORY, "out of device memory"),
	X(NOT_FOUND, "not found"),
	X(UNSUPPORTED, "not supported"),
	X(NO_DRIVER, "no usable driver"),
	X(NO_DEVICE, "no usable device"),
	X(NO_COMPILER, "no usable compiler"),
	X(COMPILE, "the source does not compile"),
	X(LINK, "the images do not link"),
	X(BAD_IMAGE, "the device cannot load the image"),
	X(VERSION, "versions that do not fit together"),
	X(ARGUMENT, "wrong kernel argument"),
	X(LAUNCH, "the launch failed"),
	X(FAULT, "a kernel did something illegal"),
	X(TIMEOUT, "timed out"),
	X(NOT_READY, "not ready yet"),
	X(STATE, "not possible now"),
	X(RANGE, "out of range"),
	X(IO, "a file or system call failed"),
	X(PERMISSION, "not permitted"),
	X(HARDWARE, "the device failed"),
	X(NUMERIC, "no numerical result"),
	X(UNKNOWN, "unknown failure"),
#undef X
};

static const char *const domains[] = {
	[KZ_DOMAIN_LIBRARY] = "library",
	[KZ_DOMAIN_DRIVER] = "driver",
	[KZ_DOMAIN_NVRTC] = "nvrtc",
	[KZ_DOMAIN_NVJITLINK] = "nvjitlink",
	[KZ_DOMAIN_PTX] = "ptx",
	[KZ_DOMAIN_LLVM] = "llvm",
	[KZ_DOMAIN_CUBLAS] = "cublas",
	[KZ_DOMAIN_CUSOLVER] = "cusolver",
	[KZ_DOMAIN_CUFFT] = "cufft",
	[KZ_DOMAIN_CURAND] = "curand",
	[KZ_DOMAIN_NCCL] = "nccl",
	[KZ_DOMAIN_MPI] = "mpi",
	[KZ_DOMAIN_OS] = "os",
	[KZ_DOMAIN_LAPACK] = "lapack",
};

const char *kz_status_name(kz_status status)
{
	return statuses[(unsigned)status < countof(statuses) ? status : KZ_UNKNOWN].name;
}

const char *kz_status_string(kz_status status)
{
	return statuses[(unsigned)status < countof(statuses) ? status : KZ_UNKNOWN].text;
}

const char *kz_domain_name(kz_domain domain)
{
	return (unsigned)domain < countof(domains) ? domains[domain] : "unknown";
}

kz_status kz_native_code(const char **name, const char **text, kz_domain domain, int code)
{
	const struct native_code *known = codes_find(domain, code);
	if (name) {
		*name = known ? known->name : NULL;
	}
	if (text) {
		*text = known ? known->text : NULL;
	}
	return known ? known->status : KZ_UNKNOWN;
}

const char *kz_native_code_hint(kz_domain domain, int code)
{
	const struct native_code *known = codes_find(domain, code);
	return known && known->hint ? known->hint : "";
}

int kz_native_code_count(kz_domain domain)
{
	return codes_count(domain);
}
