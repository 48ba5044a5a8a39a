// SPDX-License-Identifier: MIT
// What the kernels of this folder share: BUG is the code that is wrong, FIX what takes its place.
#ifdef FIXED
#define FIX(...) __VA_ARGS__
#define BUG(...)
#else
#define FIX(...)
#define BUG(...) __VA_ARGS__
#endif
