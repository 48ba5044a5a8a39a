/* SPDX-License-Identifier: MIT */
#ifndef PART_H
#define PART_H

/*
 * A part of an array as MPI takes it.  The memory of a CPU device is the host's, and a CUDA-aware
 * MPI takes the address of a GPU's memory; any other MPI gets a copy in pinned memory.
 */
#include <kudzu/kudzu.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

/* A call of Kudzu that fails prints where and why, and ends all ranks. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		int rank_; \
		MPI_Comm_rank(MPI_COMM_WORLD, &rank_); \
		fprintf(stderr, "rank %d, %s:%d: this call failed:\n", rank_, __FILE__, __LINE__); \
		kz_error_print(&err, stderr); \
		MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

struct part {
	kz_array *array;   /* without gaps */
	kz_pinned *pinned; /* NULL: MPI takes the array's own memory */
	void *address;     /* what MPI reads and writes */
};

static inline int part_is_cuda_aware(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
	return MPIX_Query_cuda_support();
#else
	return 0;
#endif
}

/* Takes the array. */
static inline struct part part_make(kz_array *array)
{
	struct part part = {array, NULL, NULL};
	kz_device *dev = kz_array_device(array);
	if (!kz_device_is_cuda(dev)) {
		CHECK(kz_array_host(&part.address, array, &err));
	} else if (part_is_cuda_aware()) {
		part.address = (void *)(uintptr_t)kz_array_address(array);
	} else {
		CHECK(kz_pinned_create(&part.pinned, dev, kz_array_size(array), &err));
		part.address = kz_pinned_pointer(part.pinned);
	}
	return part;
}

/* Before MPI reads the part, and after MPI has written it.  The work on the array is done. */
static inline void part_send(struct part *part)
{
	if (part->pinned) {
		CHECK(kz_array_get(part->array, part->address, kz_array_size(part->array), &err));
	}
}

static inline void part_received(struct part *part)
{
	if (part->pinned) {
		CHECK(kz_array_set(part->array, part->address, kz_array_size(part->array), &err));
	}
}

static inline void part_release(struct part *part)
{
	kz_pinned_release(part->pinned);
	kz_array_release(part->array);
}

#endif
