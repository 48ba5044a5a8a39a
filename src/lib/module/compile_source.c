/* SPDX-License-Identifier: MIT */
/*
 * Source -> image: kz_compile, and what the other ways of compiling share.
 *
 * The options of the caller and the environment become a struct rtc_request, which says all that a
 * compile depends on.  image_cache.c then finds the image of the request, or has it made.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/env.h"
#include "lib/core/reports.h"
#include "lib/module/image_cache.h"
#include "lib/rtc/keep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static size_t source_list_count(const char *const *list)
{
	size_t count = 0;
	while (list && list[count]) {
		count++;
	}
	return count;
}

/* KUDZU_NVRTC_OPTIONS, taken apart once. */
enum { DEFAULTS_SIZE = 1024 };
static char default_text[DEFAULTS_SIZE];
static const char *default_options[DEFAULTS_SIZE / 2];
static size_t default_count;
static bool default_too_long;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

static void source_read_defaults(void)
{
	const char *text = env_get("KUDZU_NVRTC_OPTIONS");
	char *rest = NULL;
	size_t len = text ? strlen(text) : 0;
	default_too_long = len >= sizeof(default_text);
	if (len == 0 || default_too_long) {
		return;
	}
	memcpy(default_text, text, len + 1);
	for (char *word = strtok_r(default_text, " \t\n", &rest); word;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		default_options[default_count++] = word;
	}
}

static kz_status source_read_given(struct rtc_request *request, const kz_compile_options *options,
	kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_compile_options", options->size, sizeof(*options), err);
	}
	request->name = options->name;
	request->include_dirs = options->include_dirs;
	request->include_count = source_list_count(options->include_dirs);
	request->header_names = options->header_names;
	request->header_texts = options->header_texts;
	request->header_count = source_list_count(options->header_names);
	request->defines = options->defines;
	request->define_count = source_list_count(options->defines);
	request->instances = options->instances;
	request->instance_count = source_list_count(options->instances);
	request->options = options->nvrtc_options;
	request->option_count = source_list_count(options->nvrtc_options);
	request->arch = options->arch;
	request->line_info = options->line_info != 0;
	request->debug = options->debug != 0;
	request->fast_math = options->fast_math != 0;
	request->no_prelude = options->no_prelude != 0;
	request->relocatable = options->relocatable != 0;
	request->pch = options->pch != 0;
	request->fast_compile = options->fast_compile;
	request->max_registers = options->max_registers;
	request->std = options->std;
	if (request->header_count != source_list_count(options->header_texts)) {
		return error_set(err, KZ_INVALID, "%zu header names, but %zu header texts",
			request->header_count, source_list_count(options->header_texts));
	}
	return KZ_OK;
}

static bool source_is_lto(const struct rtc_request *request)
{
	return request->arch && strncmp(request->arch, "lto_", 4) == 0;
}

/* With a check of the CPU device a report names a line of the source, and not of the PTX.  Then
 * code has line information for all who may load it, in this process or from an image. */
static bool source_is_checked(const struct rtc_request *request)
{
	return reports_want_lines() && !source_is_lto(request);
}

/* For a debugger: the code has its variables, and is made for it by the CPU device. */
static bool source_is_debugged(void)
{
	const char *debug = env_get("KUDZU_DEBUG");
	return debug && strcmp(debug, "1") == 0;
}

kz_status image_read_options(struct rtc_request *request, const kz_compile_options *options,
	kz_error *err)
{
	const char *source = request->source;
	kz_status st = options ? source_read_given(request, options, err) : KZ_OK;
	/* The byte order mark, which some editors put before a text in UTF-8: nvcc takes it, NVRTC
	 * does not. */
	if (source && strncmp(source, "\xef\xbb\xbf", 3) == 0) {
		request->source = source + 3;
	}
	request->line_info |= source_is_checked(request);
	request->debug |= source_is_debugged() && !source_is_lto(request);
	if (st) {
		return st;
	}
	if (request->option_count == 0) {
		/* A caller that passes no options gets those of the environment. */
		pthread_once(&default_once, source_read_defaults);
		if (default_too_long) {
			return error_set(err, KZ_INVALID,
				"KUDZU_NVRTC_OPTIONS: expected at most %d bytes",
				DEFAULTS_SIZE - 1);
		}
		request->options = default_count > 0 ? default_options : request->options;
		request->option_count = default_count;
	}
	return rtc_request_check(request, err);
}

kz_status image_keep_source(char **kept, struct rtc_request *request,
	const kz_compile_options *options, bool writes, kz_error *err)
{
	bool is_asked = options && options->keep_source;
	*kept = NULL;
	if (!(request->line_info || request->debug)
	    || !(is_asked || source_is_checked(request) || source_is_debugged())) {
		return KZ_OK;
	}
	kz_error *reason = is_asked ? err : NULL;
	kz_status st = writes ? keep_source(kept, request->source, request->name, reason)
		: keep_path(kept, request->source, request->name, reason);
	/* A check does without a folder to write to, but then nobody shall look for the file.  A
	 * relative name would get the working directory before it. */
	request->name = st ? "/string of the program" : *kept;
	return is_asked ? st : KZ_OK;
}

kz_status image_compile(struct kz_image **out, const char *source,
	const kz_compile_options *options, int device_cc, bool ptx_only, kz_error *err)
{
	struct rtc_request request = {
		.source = source,
		.device_cc = device_cc,
		.ptx_only = ptx_only,
	};
	char *kept = NULL;
	kz_status st;
	if ((st = image_read_options(&request, options, err))
	    || (st = image_keep_source(&kept, &request, options, true, err))) {
		return st;
	}
	bool mine = error_is_clean(err);
	st = image_cache_get(out, &request, err);
	if (mine && st == KZ_INVALID && err->domain == KZ_DOMAIN_NVRTC
	    && request.options == default_options) {
		error_add_hint(err, "correct KUDZU_NVRTC_OPTIONS, whose options these are, or "
			"unset it");
	}
	mem_free(kept);
	return st;
}

kz_status kz_compile(kz_image **out, const char *source, const kz_compile_options *options,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : pointer_check(source, "source text", err);
	return image_give(out, st ? st : image_compile(out, source, options, 0, false, err));
}
