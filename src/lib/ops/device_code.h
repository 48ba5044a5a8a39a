/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_DEVICE_CODE_H
#define LIB_OPS_DEVICE_CODE_H

/*
 * The texts of kernels/NAME.cuh, from which kernels are generated; zero-terminated.
 *
 * What a kernel shares with the C that launches it, structs and sizes, stands first in its .cuh and
 * is C, too.  C includes the file and sees that part; what is for NVRTC alone is within
 * `#ifdef __CUDACC_RTC__`.
 */
#define DEVICE_CODE(X) \
	X(real) X(elementary) X(integer) X(half) X(float8) X(complex) X(reduce) \
	X(reduce_serial) X(reduce_threads) X(chunks) X(indexing) X(matmul) X(scan) \
	X(transpose) X(custom) X(custom_complex) X(draw) X(philox) X(sequence) X(sobol) \
	X(lapack) X(solver) X(sparse) X(key_order) X(sort) X(sort_merge) X(search) \
	X(histogram) X(scatter) X(fft) X(chirp) X(choice) X(sort_buckets) X(segmented) \
	X(fft_real) X(points) X(dct) X(select) X(convolve) X(special) X(look_back) \
	X(sort_sweep) X(comm)

#define X(name) extern const char device_##name[] __attribute__((__visibility__("hidden")));
DEVICE_CODE(X)
#undef X

/* A member that is a pointer in the kernel, which has the macro from kernels.c, and an address
 * here. */
#define KZ_POINTER(type) CUdeviceptr

#endif
