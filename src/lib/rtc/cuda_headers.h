/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_CUDA_HEADERS_H
#define LIB_RTC_CUDA_HEADERS_H

/* CUDA's headers come in four parts, which NVIDIA packages one by one: which part has a header, and
 * which package has the part. */
#include "base/common.h"

enum cuda_part {
	CUDA_PART_RUNTIME, /* cuda_fp16.h, cooperative_groups.h, mma.h */
	CUDA_PART_CRT,     /* what those include from crt/ */
	CUDA_PART_CCCL,    /* CUB, libcu++, Thrust */
	CUDA_PART_CURAND,
	CUDA_PART_COUNT
};

struct cuda_part_info {
	const char *what;     /* some headers of it, for people */
	const char *is;       /* the verb of those: "is", "are" */
	const char *marks[2]; /* where one of these files is, the part is; the second may be NULL */
	const char *pip;      /* its package on PyPI since CUDA 13 */
	const char *pip12;    /* of CUDA 12 */
	const char *apt;      /* in NVIDIA's apt repository; "-13-5" follows, as of CUDA 13.5 */
	const char *hint;     /* what to do where it is missing */
};
extern const struct cuda_part_info cuda_parts[CUDA_PART_COUNT]
	__attribute__((__visibility__("hidden")));

/* The part that has a header of this name, as a source includes it; CUDA_PART_COUNT: none of
 * them. */
enum cuda_part cuda_part_of(const char *name, size_t len);

/* The parts that a folder has, as bits (1 << part); false when memory runs out. */
bool cuda_parts_find(unsigned *parts, const char *folder);
/* The parts that some folders have together. */
bool cuda_parts_find_all(unsigned *parts, const char *const *folders, size_t count);

#endif
