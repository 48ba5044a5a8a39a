/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_NPY_H
#define KUDZU_NPY_H

/*
 * Arrays in numpy's files: a .npy file holds one, a .npz file several with names.
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
 * Kudzu reads all versions of the format, in either byte order, in C and in Fortran order.  A
 * loaded array is row-major and in the byte order of the machine.  numpy can read the files that
 * Kudzu writes on any machine.  It has no names for bfloat16, 8-bit floats and structs:
 * these become raw elements of their size, which ml_dtypes' types can view.
 * A file is written beside the old one and then renamed, so readers find the old file or the new
 * one.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an array from a .npy file.
 *
 * @param dtype the dtype that the elements must have; 0 for that of the file.  A struct,
 *        KZ_BF16, and an 8-bit float accept raw and structured elements of their size; 0
 *        does not.
 * @return KZ_OK; KZ_NOT_FOUND or KZ_IO if the file cannot be read; KZ_INVALID if it is damaged or
 *         has other elements; KZ_UNSUPPORTED for elements without a dtype (strings, objects,
 *         dates) and for more than KZ_MAX_DIMS extents; as kz_array_create.
 * Ownership: release the array with kz_array_release.
 */
KZ_API KZ_NODISCARD kz_status kz_array_load(kz_array **out, kz_device *dev, const char *path,
	kz_dtype dtype, kz_error *err);

/**
 * Write an array to a .npy file.
 *
 * @return KZ_OK; KZ_IO, KZ_PERMISSION or KZ_NOT_FOUND if it cannot be written; an existing file is
 *         then unchanged.
 */
KZ_API KZ_NODISCARD kz_status kz_array_save(kz_array *array, const char *path, kz_error *err);

/**
 * Create an array from the contents of a .npy file in memory; as kz_array_load.
 *
 * @param data host memory.
 * @param size bytes at `data`; may be more than the array needs.
 */
KZ_API KZ_NODISCARD kz_status kz_npy_read(kz_array **out, kz_device *dev, const void *data,
	int64_t size, kz_dtype dtype, kz_error *err);

/** Return the size of an array as a .npy file in bytes; 0 for NULL, INT64_MAX if it is more. */
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
 * @return KZ_OK; KZ_NOT_FOUND or KZ_IO if the file cannot be read; KZ_INVALID if it is not a zip
 *         archive, or a damaged one, such as one whose entries share bytes.
 * Ownership: close it with kz_npz_close.
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

/** Close a .npz file.  NULL is fine.  Arrays from it stay valid. */
KZ_API void kz_npz_close(kz_npz *npz);

/** Return the number of arrays. */
KZ_API int64_t kz_npz_count(const kz_npz *npz);

/** Return the name of array `index`, in the order of the file; NULL beyond the last.  Borrowed. */
KZ_API const char *kz_npz_name(const kz_npz *npz, int64_t index);

/**
 * Create an array from one in the file; as kz_array_load.
 *
 * Compressed files (numpy.savez_compressed) need zlib, which is loaded at run time.
 *
 * @param name as kz_npz_name returns it, without ".npy".
 * @return as kz_array_load; also KZ_NOT_FOUND for an unknown name; KZ_UNSUPPORTED for an entry
 *         that is encrypted or of an unknown kind, and for a compressed one without zlib.
 * Ownership: release the array with kz_array_release.
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
 * @return KZ_OK; KZ_INVALID for an empty name or one that occurs twice; as kz_array_save.
 */
KZ_API KZ_NODISCARD kz_status kz_npz_save(const char *path, const kz_npz_item *items,
	int64_t count, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
