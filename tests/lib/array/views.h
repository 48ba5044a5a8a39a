/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_H
#define VIEWS_H

/* What the tests of views share: a look at a view's shape and elements. */
#include "lib/array/shape.h"
#include "support/device_test.h"

#include <string.h>

/* The view has this shape and these elements; it is given back. */
static inline void check_view(kz_array *view, kz_shape shape, const int32_t *want, int line)
{
	int32_t host[256];
	kz_shape has = kz_array_shape(view);
	ck_assert_msg(shape_equal(&has, &shape), "line %d: shape %s", line, shape_text(&has).text);
	int64_t size = kz_array_size(view);
	ok(kz_array_get(view, host, size, &err));
	ck_assert_msg(memcmp(host, want, (size_t)size) == 0, "line %d: elements", line);
	kz_array_release(view);
}

#define holds(view, shape, ...) \
	check_view(view, shape, (const int32_t[]){__VA_ARGS__}, __LINE__)
#define S(...) KZ_SHAPE(__VA_ARGS__)

#endif
