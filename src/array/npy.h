/* SPDX-License-Identifier: MIT */
#ifndef ARRAY_NPY_H
#define ARRAY_NPY_H

/* The .npy format as .npz uses it. */
#include "array/array.h"

#include <kudzu/npy.h>

/* kz_npy_read with a name for messages: the file's. */
kz_status npy_read(struct kz_array **out, struct kz_device *dev, const char *data, int64_t size,
	const char *name, kz_dtype dtype, kz_error *err);
/* The contents of a .npy file, freed with mem_free. */
kz_status npy_write(char **data, int64_t *size, struct kz_array *array, kz_error *err);

/* The contents of a header. */
struct npy {
	char type[48];    /* the elements' type as it stands there, cut */
	int64_t size;     /* of an element */
	char kind;        /* b i u f c as numpy has them, V for raw and structured ones, else ? */
	bool swapped;     /* bytes are in the other order (of a field, if structured) */
	bool fortran;
	kz_shape shape;
	int64_t data;     /* where the elements begin */
};

/* Read a header.  The elements are inside `size` bytes; ndim may not be right beyond 16. */
kz_status npy_parse(struct npy *out, const char *data, int64_t size, const char *name,
	kz_error *err);

#endif
