/* SPDX-License-Identifier: MIT */
/*
 * Element types: a table of the built-in ones, indexed by number, and a list of the structs that a
 * program registers.
 *
 * The list only grows, so what was read from it stays valid.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/dtype.h"
#include "lib/core/object.h"

#include <pthread.h>
#include <string.h>

struct dtype {
	int64_t size;
	const char *name;
	const char *ctype;
};

static const struct dtype builtin[DTYPE_BUILTIN] = {
#define DTYPE(number, size, kind, name, ctype) [number] = {size, name, ctype},
#include "lib/core/dtype.def"
#undef DTYPE
};

const uint8_t dtype_sizes[DTYPE_BUILTIN] = {
#define DTYPE(number, size, kind, name, ctype) [number] = size,
#include "lib/core/dtype.def"
#undef DTYPE
};

const uint8_t dtype_kinds[DTYPE_BUILTIN] = {
#define DTYPE(number, size, kind, name, ctype) [number] = DTYPE_##kind,
#include "lib/core/dtype.def"
#undef DTYPE
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dtype *structs; /* these three are guarded by lock */
static size_t struct_count;
static size_t struct_room;

static struct dtype dtype_find(kz_dtype dtype)
{
	struct dtype found = {0, NULL, NULL};
	if (dtype_is_builtin(dtype)) {
		return builtin[dtype];
	}
	if (dtype_is_struct(dtype)) {
		pthread_mutex_lock(&lock);
		if (dtype - KZ_DTYPE_STRUCT < struct_count) {
			found = structs[dtype - KZ_DTYPE_STRUCT];
		}
		pthread_mutex_unlock(&lock);
	}
	return found;
}

int64_t kz_dtype_size(kz_dtype dtype)
{
	return dtype_find(dtype).size;
}

const char *kz_dtype_name(kz_dtype dtype)
{
	return dtype_find(dtype).name;
}

const char *dtype_refused(kz_dtype dtype)
{
#define DTYPE(number, size, kind, name, ctype) \
	[number] = name " (it is only stored: convert it with kz_array_astype)",
	static const char *const advice[DTYPE_BUILTIN] = {
#include "lib/core/dtype.def"
	};
#undef DTYPE
	return dtype_is_storage(dtype) ? advice[dtype] : kz_dtype_name(dtype);
}

const char *kz_dtype_ctype(kz_dtype dtype)
{
	return dtype_find(dtype).ctype;
}

/* "struct point" and "point" are one. */
static const char *dtype_bare_name(const char *name)
{
	return strncmp(name, "struct ", 7) == 0 ? name + 7 : name;
}

/* Whether two names are the same but for blanks. */
static bool dtype_same_name(const char *a, const char *b)
{
	a = dtype_bare_name(a);
	b = dtype_bare_name(b);
	for (;; a++, b++) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		if (*a != *b || !*a) {
			return *a == *b;
		}
	}
}

kz_dtype dtype_struct(const char *name)
{
	kz_dtype found = 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < struct_count && !found; i++) {
		found = dtype_same_name(structs[i].name, name) ? KZ_DTYPE_STRUCT + (kz_dtype)i : 0;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* Append to the list; the lock is held. */
static kz_status dtype_add_struct(const char *name, int64_t size, kz_error *err)
{
	struct dtype *grown = mem_grow(structs, struct_count, &struct_room, sizeof(*structs));
	if (!grown) {
		return error_no_memory(err);
	}
	structs = grown;
	char *copy = mem_strdup(name);
	if (!copy) {
		return error_no_memory(err);
	}
	structs[struct_count++] = (struct dtype){size, copy, copy};
	return KZ_OK;
}

static kz_status dtype_register_struct(size_t *index, const char *name, int64_t size, kz_error *err)
{
	for (*index = 0; *index < struct_count; (*index)++) {
		const struct dtype *known = &structs[*index];
		if (strcmp(known->name, name) == 0) {
			return known->size == size ? KZ_OK : error_set(err, KZ_INVALID,
				"'%s' is registered with %lld byte%s, got %lld", name,
				(long long)known->size, plural(known->size), (long long)size);
		}
	}
	return dtype_add_struct(name, size, err);
}

/* A struct's name stands in generated code.  "float2" is free: complex64 only has its layout. */
static kz_status dtype_check_name(const char *name, kz_error *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:<>,* ";
	if (!name || !name[0]) {
		return error_set(err, KZ_INVALID, "expected the name of a struct, got none");
	}
	if (name[strspn(name, letters)]) {
		return error_set(err, KZ_INVALID, "expected the name of a struct, got '%s'", name);
	}
	for (kz_dtype i = 0; (i = dtype_next(i, DTYPE_EXACT | DTYPE_FLOAT | DTYPE_STORAGE));) {
		if (strcmp(name, builtin[i].ctype) == 0) {
			return error_set(err, KZ_INVALID, "'%s' is the built-in %s", name,
				builtin[i].name);
		}
	}
	return KZ_OK;
}

kz_status kz_dtype_register(kz_dtype *out, const char *name, int64_t size, kz_error *err)
{
	error_scope(err);
	size_t index = 0;
	kz_status st;
	if (!out) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	*out = 0;
	if ((st = dtype_check_name(name, err))) {
		return st;
	}
	if (size < 1) {
		return error_set(err, KZ_INVALID, "expected a size from 1 for '%s', got %lld", name,
			(long long)size);
	}
	pthread_mutex_lock(&lock);
	st = dtype_register_struct(&index, name, size, err);
	pthread_mutex_unlock(&lock);
	if (!st) {
		*out = KZ_DTYPE_STRUCT + (kz_dtype)index;
	}
	return st;
}
