/* SPDX-License-Identifier: MIT */
/*
 * Compiling a source in a file.
 *
 * The compiler searches the folder of the source's name, so the path as the name is all that it
 * takes for a file to find its headers.  If the options have another name, the folder becomes the
 * first of the include folders.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/module/load.h"

#include <string.h>
#include <sys/stat.h>

enum { SOURCE_FILE_MOST = 64 << 20 };

kz_status source_file_read(char **data, size_t *size, const char *path, kz_error *err)
{
	struct stat info;
	if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > SOURCE_FILE_MOST) {
		return error_set(err, KZ_RANGE, "'%s' has %lld bytes, expected %d at most", path,
			(long long)info.st_size, SOURCE_FILE_MOST);
	}
	return file_read(data, size, path, err);
}

bool source_file_is_image(const char *data, size_t size)
{
	return bundle_is(data, size) || rtc_kind_of(data, size) != RTC_UNKNOWN;
}

void source_file_options_finish(struct source_file_options *options)
{
	mem_free(options->dirs);
	mem_free(options->folder);
}

kz_status source_file_options_init(struct source_file_options *out, const char *path,
	const kz_compile_options *options, kz_error *err)
{
	size_t count = 0;
	*out = (struct source_file_options){.options = KZ_COMPILE_OPTIONS_INIT};
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_compile_options", options->size, sizeof(*options), err);
	}
	out->options = options ? *options : out->options;
	if (!out->options.name) {
		out->options.name = path;
		return KZ_OK;
	}
	const char *const *given = out->options.include_dirs;
	while (given && given[count]) {
		count++;
	}
	out->dirs = mem_zalloc(count + 2, sizeof(*out->dirs));
	out->folder = file_folder(path);
	if (!out->dirs || !out->folder) {
		source_file_options_finish(out);
		return error_no_memory(err);
	}
	out->dirs[0] = out->folder;
	for (size_t i = 0; i < count; i++) {
		out->dirs[i + 1] = given[i];
	}
	out->options.include_dirs = out->dirs;
	return KZ_OK;
}

/* NVRTC would stop at a zero byte. */
static kz_status source_file_check(const struct module_bytes *file, kz_error *err)
{
	const char *zero = memchr(file->data, 0, file->size);
	const bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	if (source_file_is_image(file->data, file->size)) {
		st = error_set(err, KZ_INVALID, "'%s' is an image, expected CUDA C source",
			file->name);
		error_add_hint(mine ? err : NULL, "kz_module_load_file loads images");
	} else if (zero) {
		st = error_set(err, KZ_INVALID, "'%s' is not a source: byte %lld is 0", file->name,
			(long long)(zero - (const char *)file->data) + 1);
		error_add_hint(mine ? err : NULL, "save a source as UTF-8");
	}
	return st;
}

kz_status source_file_compile(struct kz_module **out, struct kz_device *dev,
	const struct module_bytes *file, const kz_compile_options *options, kz_error *err)
{
	struct source_file_options own;
	kz_status st = source_file_check(file, err);
	if (st || (st = source_file_options_init(&own, file->name, options, err))) {
		return st;
	}
	st = kz_module_compile(out, dev, file->data, &own.options, err);
	source_file_options_finish(&own);
	return st;
}

kz_status kz_module_compile_file(kz_module **out, kz_device *dev, const char *path,
	const kz_compile_options *options, kz_error *err)
{
	error_scope(err);
	char *text = NULL;
	size_t size = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(path, "the path of a file", err))
	    || (st = source_file_read(&text, &size, path, err))) {
		return st;
	}
	const struct module_bytes file = {path, text, size};
	st = source_file_compile(out, dev, &file, options, err);
	mem_free(text);
	return st;
}
