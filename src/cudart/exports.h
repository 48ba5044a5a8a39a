/* SPDX-License-Identifier: MIT */
#ifndef CUDART_EXPORTS_H
#define CUDART_EXPORTS_H

/* Of a row of exports.def: IN_##in(text) is the text where the library that is compiled has the
 * function, else nothing. */
#define IN_ALL(...) __VA_ARGS__
#if KZ_CUDART == 12
#define IN_V12(...) __VA_ARGS__
#define IN_V13(...)
#else
#define IN_V12(...)
#define IN_V13(...) __VA_ARGS__
#endif

#endif
