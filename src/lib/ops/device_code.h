/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_DEVICE_CODE_H
#define LIB_OPS_DEVICE_CODE_H

/* The texts of kernels/NAME.cuh, from which kernels are generated; zero-terminated. */
#define DEVICE_CODE(X) \
	X(real) X(elementary) X(integer) X(half) X(float8) X(complex) X(reduce) X(reduce_serial) \
	X(reduce_threads) X(chunks) X(indexing) X(matmul) X(scan) X(transpose) X(custom) \
	X(custom_complex) X(draw) X(lapack) X(solver) X(sparse) X(key_order) X(sort) \
	X(sort_merge) X(search) X(histogram) X(scatter) X(fft) X(chirp) X(choice) \
	X(sort_buckets) X(segmented) X(fft_real) X(points) X(dct) X(select) X(convolve)

#define X(name) extern const char device_##name[] __attribute__((__visibility__("hidden")));
DEVICE_CODE(X)
#undef X

#endif
