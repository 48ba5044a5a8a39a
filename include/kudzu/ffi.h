/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_FFI_H
#define KUDZU_FFI_H

/*
 * For callers that have no C compiler: bindings of other languages.
 *
 *	err = kz_error_create()
 *	size = kz_struct_init(NULL, 0, "kz_compile_options")
 *	options = (size bytes)
 *	kz_struct_init(options, size, "kz_compile_options")
 *	...
 *	kz_error_release(err)
 *
 * Such callers need no macro: docs/ffi.md names the function behind each.  The library also
 * exports the functions that the headers define (kz_dim, kz_arg_f32).  Structs are passed by value
 * as the platform's ABI says.  tests/ffi/test.py is a program in Python.
 */
#include <kudzu/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialize a struct of this library as its macro does, KZ_LAUNCH_OPTIONS_INIT for
 * "kz_launch_options".  A struct without such a macro gets zeros.
 *
 * A binding that declares the struct should compare the result with its own size.
 *
 * @param out host memory; NULL to learn the size.
 * @param size bytes at `out`.  Nothing is written if the struct is larger.
 * @param name of the type, without "struct".
 * @return the size of the struct in bytes; 0 for a name that no public struct has.
 */
KZ_API size_t kz_struct_init(void *out, size_t size, const char *name);

#ifdef __cplusplus
}
#endif

#endif
