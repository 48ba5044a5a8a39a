/* SPDX-License-Identifier: MIT */
/*
 * Images: what a compile makes, or what somebody has compiled before, as an object that is counted.
 *
 * An image is a struct rtc_image that nobody changes any more.  A module holds one and reads in it
 * what is known of its kernels; several modules, of several devices, may hold the same.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "module/compiled.h"
#include "module/module.h"
#include "cache/cache.h"
#include "rtc/keep.h"
#include "cache/listed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

kz_status image_take(struct kz_image **out, struct rtc_image *image, kz_error *err)
{
	struct kz_image *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		rtc_image_free(image);
		return error_no_memory(err);
	}
	atomic_init(&made->refs, 1);
	made->rtc = *image;
	*out = made;
	return KZ_OK;
}

kz_image *kz_image_retain(kz_image *image)
{
	if (image) {
		atomic_fetch_add(&image->refs, 1);
	}
	return image;
}

void kz_image_release(kz_image *image)
{
	if (!image || atomic_fetch_sub(&image->refs, 1) != 1) {
		return;
	}
	rtc_image_free(&image->rtc);
	mem_free(image);
}

static size_t list_count(const char *const *list)
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

static void read_defaults(void)
{
	const char *text = secure_getenv("KUDZU_NVRTC_OPTIONS");
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

/* Who passes no options as they are gets those of the environment. */
static kz_status add_defaults(struct rtc_request *request, kz_error *err)
{
	if (request->option_count > 0) {
		return KZ_OK;
	}
	pthread_once(&default_once, read_defaults);
	if (default_too_long) {
		return error_set(err, KZ_INVALID, "KUDZU_NVRTC_OPTIONS: expected at most %d bytes",
			DEFAULTS_SIZE - 1);
	}
	request->options = default_count > 0 ? default_options : request->options;
	request->option_count = default_count;
	return KZ_OK;
}

static kz_status read_given(struct rtc_request *request, const kz_compile_options *options,
	kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return error_set(err, KZ_INVALID, "kz_compile_options has size %zu, expected %zu",
			options->size, sizeof(*options));
	}
	request->name = options->name;
	request->include_dirs = options->include_dirs;
	request->include_count = list_count(options->include_dirs);
	request->header_names = options->header_names;
	request->header_texts = options->header_texts;
	request->header_count = list_count(options->header_names);
	request->defines = options->defines;
	request->define_count = list_count(options->defines);
	request->instances = options->instances;
	request->instance_count = list_count(options->instances);
	request->options = options->nvrtc_options;
	request->option_count = list_count(options->nvrtc_options);
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
	if (request->header_count != list_count(options->header_texts)) {
		return error_set(err, KZ_INVALID, "%zu header names, but %zu header texts",
			request->header_count, list_count(options->header_texts));
	}
	return KZ_OK;
}

/* What some editors put before a text in UTF-8, the byte order mark: nvcc takes it, NVRTC does not. */
static const char *behind_mark(const char *source)
{
	bool marked = source && source[0] == '\xef' && source[1] == '\xbb' && source[2] == '\xbf';
	return marked ? source + 3 : source;
}

kz_status image_read_options(struct rtc_request *request, const kz_compile_options *options,
	kz_error *err)
{
	kz_status st = options ? read_given(request, options, err) : KZ_OK;
	request->source = behind_mark(request->source);
	return st ? st : add_defaults(request, err);
}

kz_status image_make(struct kz_image **out, struct key *key, const struct rtc_request *request,
	const struct key_bytes *begun, kz_error *err)
{
	struct rtc_image image;
	kz_status st = cache_compile(&image, key, request, begun, err);
	return st ? st : image_take(out, &image, err);
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
	if ((st = image_read_options(&request, options, err))) {
		return st;
	}
	if (options && options->keep_source && request.source
	    && (request.line_info || request.debug)) {
		if ((st = keep_source(&kept, request.source, request.name, err))) {
			return st;
		}
		request.name = kept;
	}
	st = compiled_get(out, &request, err);
	mem_free(kept);
	return st;
}

kz_status kz_compile(kz_image **out, const char *source, const kz_compile_options *options,
	kz_error *err)
{
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	return st ? st : image_compile(out, source, options, 0, false, err);
}

kz_status kz_image_create(kz_image **out, const void *data, int64_t size, kz_error *err)
{
	struct rtc_image image;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(data, "an image", err))) {
		return st;
	}
	if (size <= 0) {
		return error_set(err, KZ_INVALID, "expected the bytes of an image, got a size of %lld",
			(long long)size);
	}
	st = listed_inspect(&image, data, (size_t)size, err);
	return st ? st : image_take(out, &image, err);
}

kz_status kz_image_save(const kz_image *image, const char *path, kz_error *err)
{
	struct file_writer file;
	kz_status st;
	if ((st = object_check(image, "an image", err))
	    || (st = object_check(path, "the path of a file", err))
	    || (st = file_begin(&file, path, err))) {
		return st;
	}
	st = file_add(&file, rtc_image_data(&image->rtc), image->rtc.size, err);
	if (st) {
		file_abandon(&file);
		return st;
	}
	return file_commit(&file, err);
}

const void *kz_image_data(const kz_image *image, int64_t *size)
{
	if (size) {
		*size = kz_image_size(image);
	}
	return image ? rtc_image_data(&image->rtc) : NULL;
}

int64_t kz_image_size(const kz_image *image)
{
	return image ? (int64_t)image->rtc.size : 0;
}

kz_image_kind kz_image_get_kind(const kz_image *image)
{
	if (!image) {
		return KZ_IMAGE_NONE;
	}
	return image->rtc.is_ptx ? KZ_IMAGE_PTX
		: image->rtc.is_lto ? KZ_IMAGE_LTOIR : KZ_IMAGE_CUBIN;
}

const char *kz_image_arch(const kz_image *image)
{
	return image ? image->rtc.arch : "";
}

const char *kz_image_log(const kz_image *image)
{
	return image && image->rtc.log ? image->rtc.log : "";
}

int64_t kz_image_kernel_count(const kz_image *image)
{
	return image ? (int64_t)image->rtc.kernel_count : 0;
}

const char *kz_image_kernel_name(const kz_image *image, int64_t index)
{
	return index >= 0 && index < kz_image_kernel_count(image)
		? image->rtc.kernels[index].name : NULL;
}
