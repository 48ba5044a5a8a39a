/* SPDX-License-Identifier: MIT */
/* Arrays by name in .npz files: zip archives (zip.c) of .npy files (npy.c). */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/array/npy.h"
#include "lib/array/shape.h"
#include "lib/array/zip.h"

#include <kudzu/npy.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".npy"

enum { HEADER_LIMIT = 1 << 20 }; /* a hundred times what numpy reads */

struct kz_npz {
	uint32_t tag; /* OBJECT_NPZ */
	struct zip zip;
	char *path;
};

/* The arrays' own names: those of the entries without the suffix. */
static void npz_cut_suffixes(struct zip *zip)
{
	for (int64_t i = 0; i < zip->count; i++) {
		char *name = zip->entries[i].name;
		size_t len = strlen(name);
		if (len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0) {
			name[len - strlen(SUFFIX)] = '\0';
		}
	}
}

static kz_status npz_new(struct kz_npz **out, int fd, const char *data, int64_t size,
	const char *name, kz_error *err)
{
	struct kz_npz *npz = mem_zalloc(1, sizeof(*npz));
	if (!npz) {
		if (fd >= 0) {
			close(fd);
		}
		return error_no_memory(err);
	}
	npz->tag = OBJECT_NPZ;
	npz->path = mem_strdup(name);
	npz->zip = (struct zip){fd, data, size, npz->path, NULL, 0};
	kz_status st = npz->path ? zip_init(&npz->zip, err) : error_no_memory(err);
	if (st) {
		kz_npz_close(npz);
		return st;
	}
	npz_cut_suffixes(&npz->zip);
	object_give(npz, NULL);
	*out = npz;
	return KZ_OK;
}

kz_status kz_npz_open(kz_npz **out, const char *path, kz_error *err)
{
	error_scope(err);
	struct stat found;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = pointer_check(path, "a path", err))) {
		return st;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return error_os(err, errno, "open", "cannot open '%s'", path);
	}
	if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
		close(fd);
		return error_set(err, KZ_IO, "cannot read '%s': expected a regular file", path);
	}
	return npz_new(out, fd, NULL, found.st_size, path, err);
}

kz_status kz_npz_open_memory(kz_npz **out, const void *data, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = pointer_check(data, "host memory", err))) {
		return st;
	}
	if (size < 0) {
		return error_set(err, KZ_INVALID,
			"expected a size of host memory of at least 0, got %lld",
			(long long)size);
	}
	return npz_new(out, -1, data, size, "the data", err);
}

void kz_npz_close(kz_npz *npz)
{
	if (object_is(npz, OBJECT_NPZ)) {
		object_end(&npz->tag);
		zip_finish(&npz->zip);
		if (npz->zip.fd >= 0) {
			close(npz->zip.fd);
		}
		mem_free(npz->path);
		object_free(npz);
	}
}

int64_t kz_npz_count(const kz_npz *npz)
{
	return object_is(npz, OBJECT_NPZ) ? npz->zip.count : 0;
}

const char *kz_npz_name(const kz_npz *npz, int64_t index)
{
	return object_is(npz, OBJECT_NPZ) && index >= 0 && index < npz->zip.count
		? npz->zip.entries[index].name : NULL;
}

/* Read a member as far as its header. */
static kz_status npz_read_header(struct npy *npy, struct zip_stream *stream, const char *name,
	kz_error *err)
{
	char head[NPY_HEAD];
	int64_t size = stream->entry->size, bytes = 0;
	kz_status st = size < NPY_HEAD ? KZ_OK : zip_stream_read(stream, head, NPY_HEAD, err);
	if (st) {
		return st;
	}
	if (size >= NPY_HEAD && (bytes = npy_header_size(head)) > HEADER_LIMIT) {
		return error_set(err, KZ_INVALID, "%s: expected a header of at most %d bytes, got "
			"%lld", name, HEADER_LIMIT, (long long)bytes);
	}
	if (bytes < NPY_HEAD || bytes > size) {
		return error_set(err, KZ_INVALID, "%s: expected a .npy file, got %lld bytes of "
			"something else", name, (long long)size);
	}
	char *header = mem_alloc((size_t)bytes);
	if (!header) {
		return error_no_memory(err);
	}
	memcpy(header, head, NPY_HEAD);
	st = zip_stream_read(stream, header + NPY_HEAD, bytes - NPY_HEAD, err);
	st = st ? st : npy_parse(npy, header, bytes, name, err);
	mem_free(header);
	return st;
}

/* Read a member, whose elements must be all that follows the header. */
static kz_status npz_read_member(kz_array **out, kz_device *dev, struct zip_stream *stream,
	const char *name, kz_dtype dtype, kz_error *err)
{
	struct npy npy;
	kz_status st;
	if ((st = npz_read_header(&npy, stream, name, err))
	    || (st = npy_check(&npy, dtype, stream->entry->size, err))) {
		return st;
	}
	if (npy.bytes < stream->left) {
		return error_set(err, KZ_INVALID, "%s: expected %lld byte%s of elements for shape "
			"%s, got %lld",
			name, (long long)npy.bytes, plural(npy.bytes), shape_text(&npy.shape).text,
			(long long)stream->left);
	}
	char *elements = mem_alloc((size_t)npy.bytes + 1);
	if (!elements) {
		return error_no_memory(err);
	}
	if (!(st = zip_stream_read(stream, elements, npy.bytes, err))
	    && !(st = zip_stream_end(stream, err))) {
		st = npy_make(out, dev, &npy, elements, err);
	}
	mem_free(elements);
	return st;
}

kz_status kz_npz_load(kz_array **out, kz_npz *npz, kz_device *dev, const char *name,
	kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	kz_status st;
	struct zip_stream stream;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(npz, OBJECT_NPZ, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(name, "a name", err))) {
		return st;
	}
	const struct zip_entry *entry = NULL;
	for (int64_t i = npz->zip.count; i-- > 0 && !entry;) { /* the last of a name counts */
		entry = strcmp(npz->zip.entries[i].name, name) == 0 ? &npz->zip.entries[i] : NULL;
	}
	if (!entry) {
		return error_set(err, KZ_NOT_FOUND, "%s: no array is called '%s'", npz->path, name);
	}
	st = zip_stream_init(&stream, &npz->zip, entry, err);
	st = st ? st : npz_read_member(out, dev, &stream, name, dtype, err);
	zip_stream_finish(&stream);
	return st;
}

/* Writing */

static kz_status npz_check_items(const kz_npz_item *items, int64_t count, kz_error *err)
{
	if (count < 0 || (!items && count > 0)) {
		return error_set(err, KZ_INVALID, count < 0 ?
			"expected a count of at least 0, got %lld"
			: "kz_npz_save: expected %lld arrays with names, got NULL",
			(long long)count);
	}
	for (int64_t i = 0; i < count; i++) {
		const char *name = items[i].name;
		if (!items[i].array || !name || !name[0]) {
			return error_set(err, KZ_INVALID,
				"item %lld: expected an array and its name, got %s", (long long)i,
				items[i].array ? "no name" : "no array");
		}
		for (int64_t k = 0; k < i; k++) {
			if (strcmp(items[k].name, name) == 0) {
				return error_set(err, KZ_INVALID, "two arrays are called '%s'",
					name);
			}
		}
	}
	return KZ_OK;
}

static kz_status npz_add_item(struct zip_writer *zip, const kz_npz_item *item, kz_error *err)
{
	struct str name = STR_INIT;
	char *data = NULL;
	int64_t size;
	str_add(&name, item->name);
	str_add(&name, SUFFIX);
	kz_status st = name.failed ? error_no_memory(err)
		: npy_write(&data, &size, item->array, err);
	st = st ? st : zip_add(zip, name.data, data, size, err);
	mem_free(data);
	str_free(&name);
	return st;
}

kz_status kz_npz_save(const char *path, const kz_npz_item *items, int64_t count, kz_error *err)
{
	error_scope(err);
	struct file_writer file;
	kz_status st;
	if ((st = pointer_check(path, "a path", err)) || (st = npz_check_items(items, count, err))
	    || (st = file_begin(&file, path, err))) {
		return st;
	}
	struct zip_writer zip = {&file, STR_INIT, 0, 0};
	for (int64_t i = 0; !st && i < count; i++) {
		st = npz_add_item(&zip, &items[i], err);
	}
	st = st ? st : zip_end(&zip, err);
	str_free(&zip.directory);
	if (st) {
		file_abandon(&file);
		return st;
	}
	return file_commit(&file, err);
}
