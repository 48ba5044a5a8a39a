/* SPDX-License-Identifier: MIT */
/*
 * Arrays in .npy files: a header (npy_parse.c), then the elements as they lie in memory.
 *
 * Nothing is allocated before the file is known to be as long as the header's extents need.
 * Elements in Fortran order are an array with other strides, and the transfer to the device
 * reorders them. Elements of the other byte order are swapped in a copy first.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/array/npy.h"
#include "lib/array/shape.h"

#include <kudzu/npy.h>

#include <stdio.h>
#include <string.h>

/* As numpy does, leave room in the header for an extent to grow, and align the beginning of the
 * elements. */
enum { GROWTH = 21, ALIGNMENT = 64, HEADER_MAX = 1024 };

static const struct {
	char kind;
	char size;
	kz_dtype dtype;
} types[] = {
	{'b', 1, KZ_BOOL}, {'i', 1, KZ_I8}, {'i', 2, KZ_I16}, {'i', 4, KZ_I32}, {'i', 8, KZ_I64},
	{'u', 1, KZ_U8}, {'u', 2, KZ_U16}, {'u', 4, KZ_U32}, {'u', 8, KZ_U64}, {'f', 2, KZ_F16},
	{'f', 4, KZ_F32}, {'f', 8, KZ_F64}, {'c', 8, KZ_C64}, {'c', 16, KZ_C128},
	{'f', 1, KZ_F8_E5M2},
};

/* Reading */

static kz_dtype npy_dtype(const struct npy *npy)
{
	for (size_t i = 0; i < countof(types); i++) {
		if (types[i].kind == npy->kind && types[i].size == npy->size) {
			return types[i].dtype;
		}
	}
	return 0;
}

/* Whether elements are written without a type.  numpy writes e5m2 as '<f1', but cannot read it. */
static bool npy_is_raw(kz_dtype dtype)
{
	return dtype == KZ_BF16 || dtype_is_storage(dtype) || dtype_is_struct(dtype);
}

/* Which dtype the elements get; `want` is what they have to be, or 0. */
static kz_status npy_choose_dtype(struct npy *npy, kz_dtype want, kz_error *err)
{
	kz_dtype found = npy_dtype(npy);
	npy->dtype = want;
	if (want && !kz_dtype_name(want)) {
		return error_set(err, KZ_INVALID, "%s: %u is not a dtype", npy->name,
			(unsigned)want);
	}
	if (found && (!want || want == found)) {
		npy->dtype = found;
		return KZ_OK;
	}
	bool raw = npy->kind == 'V';
	if (raw && npy_is_raw(want) && npy->size == kz_dtype_size(want) && !npy->swapped) {
		return KZ_OK;
	}
	if (want && (found || raw)) {
		return error_set(err, KZ_INVALID,
			"%s: expected elements of %s, %lld byte%s each, got %s", npy->name,
			kz_dtype_name(want), (long long)kz_dtype_size(want),
			plural(kz_dtype_size(want)), npy->type);
	}
	return error_set(err, raw ? KZ_INVALID : KZ_UNSUPPORTED, raw
		? "%s: expected elements that have a dtype, got %s: name a struct of their size"
		: "%s: expected elements that have a dtype, got %s", npy->name, npy->type);
}

/* The bytes of all elements, which must be in the file. */
static kz_status npy_check_size(struct npy *npy, int64_t size, kz_error *err)
{
	int64_t count;
	kz_status st;
	if (npy->shape.ndim > KZ_MAX_DIMS) {
		return error_set(err, KZ_UNSUPPORTED, "%s: expected at most %d extents, got %lld",
			npy->name, KZ_MAX_DIMS, (long long)npy->shape.ndim);
	}
	if ((st = shape_count(&count, &npy->shape, npy->size, npy->type, err))) {
		return st;
	}
	npy->bytes = count * npy->size;
	if (npy->bytes > size - npy->data) {
		return error_set(err, KZ_INVALID,
			"%s: expected %lld byte%s of elements for shape %s, got %lld", npy->name,
			(long long)npy->bytes, plural(npy->bytes), shape_text(&npy->shape).text,
			(long long)(size - npy->data));
	}
	return KZ_OK;
}

kz_status npy_check(struct npy *npy, kz_dtype wanted, int64_t size, kz_error *err)
{
	kz_status st = npy_choose_dtype(npy, wanted, err);
	return st ? st : npy_check_size(npy, size, err);
}

static bool npy_is_normal(const struct npy *npy)
{
	return !npy->swapped && npy->kind != 'b';
}

/* Turn the bytes of each number around; those of a bool become 0 or 1. */
static void npy_normalize(char *data, int64_t size, const struct npy *npy)
{
	int64_t unit = npy->kind == 'c' ? npy->size / 2 : npy->size;
	if (npy->kind == 'b') {
		for (int64_t i = 0; i < size; i++) {
			data[i] = data[i] != 0;
		}
		return;
	}
	for (int64_t i = 0; i < size; i += unit) {
		for (int64_t k = 0; k < unit / 2; k++) {
			char byte = data[i + k];
			data[i + k] = data[i + unit - 1 - k];
			data[i + unit - 1 - k] = byte;
		}
	}
}

static kz_status npy_make_normal(struct kz_array **out, struct kz_device *dev,
	const struct npy *npy, const char *elements, kz_error *err)
{
	int64_t strides[KZ_MAX_DIMS], stride = npy->size;
	for (int64_t i = 0; i < npy->shape.ndim; i++) {
		strides[i] = stride;
		stride *= npy->shape.dims[i] ? npy->shape.dims[i] : 1;
	}
	return kz_array_from_strided(out, dev, npy->dtype, npy->shape, elements, npy->bytes,
		npy->fortran ? strides : NULL, 0, err);
}

kz_status npy_make(struct kz_array **out, struct kz_device *dev, const struct npy *npy,
	char *elements, kz_error *err)
{
	if (!npy_is_normal(npy)) {
		npy_normalize(elements, npy->bytes, npy);
	}
	return npy_make_normal(out, dev, npy, elements, err);
}

/* An array of the elements of a file, all of which is at `data`; its header was checked. */
static kz_status npy_read(struct kz_array **out, struct kz_device *dev, const struct npy *npy,
	const char *data, kz_error *err)
{
	const char *elements = data + npy->data;
	if (npy->bytes == 0 || npy_is_normal(npy)) {
		return npy_make_normal(out, dev, npy, elements, err);
	}
	char *copy = mem_alloc((size_t)npy->bytes);
	if (!copy) {
		return error_no_memory(err);
	}
	memcpy(copy, elements, (size_t)npy->bytes);
	kz_status st = npy_make(out, dev, npy, copy, err);
	mem_free(copy);
	return st;
}

kz_status kz_npy_read(kz_array **out, kz_device *dev, const void *data, int64_t size,
	kz_dtype dtype, kz_error *err)
{
	error_scope(err);
	struct npy npy;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (size < 0 || (!data && size > 0)) {
		return error_set(err, KZ_INVALID, size < 0
			? "%s: expected a size of host memory of at least 0, got %lld"
			: "%s: expected %lld bytes of host memory, got NULL", __func__,
			(long long)size);
	}
	data = size > 0 ? data : "";
	if ((st = npy_parse(&npy, data, size, "the data", err))
	    || (st = npy_check(&npy, dtype, size, err))) {
		return st;
	}
	return npy_read(out, dev, &npy, data, err);
}

kz_status kz_array_load(kz_array **out, kz_device *dev, const char *path, kz_dtype dtype,
	kz_error *err)
{
	error_scope(err);
	struct npy npy;
	char *data;
	size_t size;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(path, "a path", err))
	    || (st = file_read(&data, &size, path, err))) {
		return st;
	}
	if (!(st = npy_parse(&npy, data, (int64_t)size, path, err))
	    && !(st = npy_check(&npy, dtype, (int64_t)size, err))) {
		st = npy_read(out, dev, &npy, data, err);
	}
	mem_free(data);
	return st;
}

/* Writing */

/* numpy's own header, byte for byte; returns its bytes.  One of KZ_MAX_DIMS extents fits. */
static size_t npy_make_header(char text[HEADER_MAX], const struct kz_array *array)
{
	const kz_shape *shape = &array->shape;
	char kind = 'V';
	for (size_t i = 0; i < countof(types); i++) {
		bool is_named = types[i].dtype == array->dtype && !npy_is_raw(array->dtype);
		kind = is_named ? types[i].kind : kind;
	}
	int64_t item = kz_dtype_size(array->dtype);
	memcpy(text, "\x93NUMPY\x01", 8);
	size_t len = 10 + (size_t)snprintf(text + 10, HEADER_MAX - 10,
		"{'descr': '%c%c%lld', 'fortran_order': False, 'shape': (",
		kind == 'V' || item == 1 ? '|' : '<', kind, (long long)item);
	int first = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int digits = snprintf(text + len, HEADER_MAX - len, "%lld",
			(long long)shape->dims[i]);
		first = i == 0 ? digits : first;
		len += (size_t)digits;
		len += (size_t)snprintf(text + len, HEADER_MAX - len, "%s",
			shape->ndim == 1 ? "," : i + 1 < shape->ndim ? ", " : "");
	}
	len += (size_t)snprintf(text + len, HEADER_MAX - len, "), }%*s",
		shape->ndim ? GROWTH - first : 0, "");
	size_t end = len + 1 + ALIGNMENT - (len + 1) % ALIGNMENT;
	memset(text + len, ' ', end - len);
	text[end - 1] = '\n';
	text[8] = (char)((end - 10) & 255);
	text[9] = (char)((end - 10) >> 8);
	return end;
}

int64_t kz_npy_size(const kz_array *array)
{
	char header[HEADER_MAX];
	int64_t size = kz_array_size(array);
	int64_t length = array ? (int64_t)npy_make_header(header, array) : 0;
	return size > INT64_MAX - length ? INT64_MAX : length + size;
}

kz_status kz_npy_write(kz_array *array, void *to, int64_t size, kz_error *err)
{
	error_scope(err);
	char header[HEADER_MAX];
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	size_t len = npy_make_header(header, array);
	int64_t need = kz_npy_size(array);
	if (kz_array_size(array) != need - (int64_t)len) {
		return error_set(err, KZ_RANGE, "an array of %lld bytes is too large for a .npy "
			"file", (long long)kz_array_size(array));
	}
	if (size != need) {
		return error_set(err, KZ_RANGE,
			"expected %lld bytes of host memory for a .npy file, got %lld",
			(long long)need, (long long)size);
	}
	if ((st = pointer_check(to, "host memory", err))
	    || (st = array_check_capture(array, err))) {
		return st;
	}
	memcpy(to, header, len);
	return kz_array_get(array, (char *)to + len, kz_array_size(array), err);
}

kz_status npy_write(char **data, int64_t *size, struct kz_array *array, kz_error *err)
{
	*size = kz_npy_size(array);
	*data = mem_alloc((size_t)*size);
	if (!*data) {
		return error_no_memory(err);
	}
	kz_status st = kz_npy_write(array, *data, *size, err);
	if (st) {
		mem_free(*data);
		*data = NULL;
	}
	return st;
}

kz_status kz_array_save(kz_array *array, const char *path, kz_error *err)
{
	error_scope(err);
	char *data;
	int64_t size;
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = pointer_check(path, "a path", err))
	    || (st = array_check_capture(array, err))
	    || (st = npy_write(&data, &size, array, err))) {
		return st;
	}
	st = file_replace(path, data, (size_t)size, err);
	mem_free(data);
	return st;
}
