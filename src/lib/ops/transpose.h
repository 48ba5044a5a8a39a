/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_TRANSPOSE_H
#define LIB_OPS_TRANSPOSE_H

/* Copies that transpose matrices, by tiles. */
#include "lib/core/memory.h"

/*
 * A copy of elements of `size` bytes, 1, 2, 4, 8 or 16.  The target's last axis and the source's
 * axis `turned` are without gaps.  Strides are in bytes.
 */
struct transpose {
	struct kz_device *device;
	struct kz_stream *stream;
	struct memory *memory[2]; /* target, source */
	CUdeviceptr address[2];
	const int64_t *strides[2];
	const int64_t *dims;
	int ndim;
	int turned;
	int64_t size;
	bool compile_only;
};

/* Whether a copy, otherwise as in struct transpose, is one for transpose_run; sets `turned`. */
bool transpose_suits(struct transpose *copy);
kz_status transpose_run(const struct transpose *copy, kz_error *err);

#endif
