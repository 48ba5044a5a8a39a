/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_NPY_H
#define LIB_ARRAY_NPY_H

/* The .npy format as .npz uses it. */
#include "lib/array/array.h"

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
	const char *name; /* of the file, for errors */
	/* npy_check sets these */
	kz_dtype dtype;   /* of the array */
	int64_t bytes;    /* of all elements */
};

/* The bytes of the header, its length included, by the first NPY_HEAD bytes; 0 if they begin no
 * .npy file. */
enum { NPY_HEAD = 12 };
int64_t npy_header_size(const char *head);

/* Read a header.  The elements are inside `size` bytes; ndim may not be right beyond 16. */
kz_status npy_parse(struct npy *out, const char *data, int64_t size, const char *name,
	kz_error *err);

/* Check a header against what the elements have to be, or 0, and against the size of the whole
 * file. */
kz_status npy_check(struct npy *npy, kz_dtype wanted, int64_t size, kz_error *err);
/* An array of the elements, which are changed on the way. */
kz_status npy_make(struct kz_array **out, struct kz_device *dev, const struct npy *npy,
	char *elements, kz_error *err);

#endif
