/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_NPY_H
#define KUDZU_NPY_H

/*
 * Arrays in numpy's files: .npy holds one, .npz several by name.
 *
 *	if (kz_array_load(&a, dev, "in.npy", KZ_F32, &err)
 *	    || kz_array_save(a, "out.npy", &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 *	if (kz_npz_open(&npz, "weights.npz", &err)
 *	    || kz_npz_load(&w, npz, dev, "w", 0, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_npz_close(npz);
 *
 * All versions of the format are read, of either byte order, in C and in Fortran order; what is
 * loaded is row-major and in the byte order of the machine.  What is written numpy reads on any
 * machine; bfloat16 and structs, for which it has no name, become raw elements of their size.
 * A file is written beside the old one and then renamed, so that readers find one or the other.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an array from a .npy file.
 *
 * @param dtype what the elements have to be; 0 for whatever the file has.  A struct, or KZ_BF16,
 *        takes raw and structured elements of its size; 0 refuses these.
 * @return KZ_OK; KZ_NOT_FOUND or KZ_IO when the file cannot be read; KZ_INVALID when it is damaged
 *         or has other elements; KZ_UNSUPPORTED for elements that no dtype has (strings, objects,
 *         dates) and for more than KZ_MAX_DIMS extents; as kz_array_create.
 */
KZ_API KZ_NODISCARD kz_status kz_array_load(kz_array **out, kz_device *dev, const char *path,
	kz_dtype dtype, kz_error *err);

/**
 * Write an array to a .npy file.
 *
 * @return KZ_OK; KZ_IO, KZ_PERMISSION or KZ_NOT_FOUND when it cannot be written: a file of that
 *         name is then as it was.
 */
KZ_API KZ_NODISCARD kz_status kz_array_save(kz_array *array, const char *path, kz_error *err);

/**
 * Create an array from the contents of a .npy file in memory; as kz_array_load.
 *
 * @param data host memory.
 * @param size bytes at `data`; more than the array takes are no harm.
 */
KZ_API KZ_NODISCARD kz_status kz_npy_read(kz_array **out, kz_device *dev, const void *data,
	int64_t size, kz_dtype dtype, kz_error *err);

/** Return the bytes that an array takes as a .npy file; 0 for NULL. */
KZ_API int64_t kz_npy_size(const kz_array *array);

/**
 * Write the contents of a .npy file to memory.
 *
 * @param to host memory of `size` bytes.
 * @param size bytes at `to`; must be kz_npy_size: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_npy_write(kz_array *array, void *to, int64_t size,
	kz_error *err);

/** A .npz file that is open for reading; opaque. */
typedef struct kz_npz kz_npz;

/**
 * Open a .npz file.
 *
 * @return KZ_OK; KZ_NOT_FOUND or KZ_IO when the file cannot be read; KZ_INVALID when it is no zip
 *         archive, or a damaged one.
 * Ownership: give it back with kz_npz_close.
 * Threads: one at a time.
 */
KZ_API KZ_NODISCARD kz_status kz_npz_open(kz_npz **out, const char *path, kz_error *err);

/**
 * Open the contents of a .npz file in memory; as kz_npz_open.
 *
 * @param data host memory, borrowed until kz_npz_close.
 */
KZ_API KZ_NODISCARD kz_status kz_npz_open_memory(kz_npz **out, const void *data, int64_t size,
	kz_error *err);

/** Close a .npz file.  NULL is fine; arrays from it live on. */
KZ_API void kz_npz_close(kz_npz *npz);

/** Return how many arrays there are. */
KZ_API int64_t kz_npz_count(const kz_npz *npz);

/** Return the name of an array, from 0 in the order of the file; NULL beyond its end.  Borrowed. */
KZ_API const char *kz_npz_name(const kz_npz *npz, int64_t index);

/**
 * Create an array from one in the file; as kz_array_load.
 *
 * Compressed files (numpy.savez_compressed) need zlib, which is found at run time.
 *
 * @param name as kz_npz_name has it, without ".npy".
 * @return also KZ_NOT_FOUND for a name that is not there; KZ_UNSUPPORTED for an encrypted or
 *         unknown kind of entry and for a compressed one without zlib.
 */
KZ_API KZ_NODISCARD kz_status kz_npz_load(kz_array **out, kz_npz *npz, kz_device *dev,
	const char *name, kz_dtype dtype, kz_error *err);

/** One array of a .npz file to write. */
typedef struct kz_npz_item {
	const char *name; /**< without ".npy" */
	kz_array *array;  /**< any strides; borrowed */
} kz_npz_item;

/**
 * Write arrays to a .npz file, uncompressed, as numpy.savez does.
 *
 * @param items `count` of them, with different names.
 * @return KZ_OK; KZ_INVALID for a name that is empty or there twice; as kz_array_save.
 */
KZ_API KZ_NODISCARD kz_status kz_npz_save(const char *path, const kz_npz_item *items,
	int64_t count, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
