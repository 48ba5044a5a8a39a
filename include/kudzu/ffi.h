/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_FFI_H
#define KUDZU_FFI_H

/*
 * For callers that have no C compiler: bindings of other languages, by libffi or their own means.
 *
 *	err = kz_error_create()
 *	size = kz_struct_init(NULL, 0, "kz_compile_options")
 *	options = (size bytes)
 *	kz_struct_init(options, size, "kz_compile_options")
 *	...
 *	kz_error_release(err)
 *
 * They need no macro.  Functions that the headers write out (kz_dim, kz_arg_f32) are in the library
 * under the same names, structs are passed by value as the platform's ABI says, and docs/ffi.md has
 * what stands behind each macro.  tests/ffi/test.py is a program in Python.
 */
#include <kudzu/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialize a struct of this library as its macro does: KZ_LAUNCH_OPTIONS_INIT for
 * "kz_launch_options"; zeros for those that have no macro.
 *
 * With this library's size: a binding that declares the struct compares it with its own.
 *
 * @param out the struct, host memory; NULL to learn the size.
 * @param size bytes at `out`.  Nothing is written if the struct takes more.
 * @param name of the type, without "struct".
 * @return the bytes of the struct; 0 for a name that no public struct has.
 */
KZ_API size_t kz_struct_init(void *out, size_t size, const char *name);

#ifdef __cplusplus
}
#endif

#endif
