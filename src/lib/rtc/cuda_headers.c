/* SPDX-License-Identifier: MIT */
/*
 * The parts of CUDA's headers and their packages.
 *
 * A toolkit has all parts.  With NVIDIA's packages each part is installed by itself, NVRTC's
 * package has none of them, and a header of one part includes headers of others: cuda_fp16.h asks
 * for nv/target.  So an error about a missing header names the package of its part.
 */
#include "base/common.h"

#include "lib/rtc/cuda_headers.h"

#include "base/alloc.h"
#include "base/file.h"

#include <string.h>

#define HINT(what, pip, pip12, apt) what " in the package " pip " of PyPI (" pip12 " for CUDA " \
	"12) and " apt "-13-0, -12-8, ... of NVIDIA's apt repository: install that of NVRTC's " \
	"version, or set KUDZU_CUDA_INCLUDE to its folder"
#define PART(what, is, mark, other, pip, pip12, apt) \
	{what, is, {mark, other}, pip, pip12, apt, HINT(what " " is, pip, pip12, apt)}
const struct cuda_part_info cuda_parts[CUDA_PART_COUNT] = {
	[CUDA_PART_RUNTIME] = PART("the headers of CUDA's types and of cooperative groups", "are",
		"cuda_fp16.h", "cooperative_groups.h", "nvidia-cuda-runtime",
		"nvidia-cuda-runtime-cu12", "cuda-cudart-dev"),
	[CUDA_PART_CRT] = PART("the folder crt", "is", "crt/mma.h", NULL, "nvidia-cuda-crt",
		"nvidia-cuda-nvcc-cu12", "cuda-crt"),
	[CUDA_PART_CCCL] = PART("CUB, libcu++ and nv/target", "are", "cuda/std/cstdint",
		"cccl/cuda/std/cstdint", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12", "cuda-cccl"),
	[CUDA_PART_CURAND] = PART("cuRAND", "is", "curand_kernel.h", NULL, "nvidia-curand",
		"nvidia-curand-cu12", "libcurand-dev"),
};

/* The first that fits.  A name that ends in a slash or an underscore is the beginning of one. */
static const struct {
	const char *name;
	enum cuda_part part;
} cuda_headers[] = {
	{"crt/", CUDA_PART_CRT}, {"cub/", CUDA_PART_CCCL}, {"cuda/", CUDA_PART_CCCL},
	{"nv/", CUDA_PART_CCCL}, {"thrust/", CUDA_PART_CCCL},
	{"curand.h", CUDA_PART_CURAND}, {"curand_", CUDA_PART_CURAND},
	{"cooperative_groups.h", CUDA_PART_RUNTIME}, {"cooperative_groups/", CUDA_PART_RUNTIME},
	{"cuComplex.h", CUDA_PART_RUNTIME}, {"cuda.h", CUDA_PART_RUNTIME},
	{"cuda_", CUDA_PART_RUNTIME}, {"cudart_", CUDA_PART_RUNTIME},
	{"device_", CUDA_PART_RUNTIME}, {"driver_", CUDA_PART_RUNTIME},
	{"builtin_types.h", CUDA_PART_RUNTIME}, {"channel_descriptor.h", CUDA_PART_RUNTIME},
	{"library_types.h", CUDA_PART_RUNTIME}, {"math_constants.h", CUDA_PART_RUNTIME},
	{"math_functions.h", CUDA_PART_RUNTIME}, {"mma.h", CUDA_PART_RUNTIME},
	{"surface_types.h", CUDA_PART_RUNTIME}, {"texture_types.h", CUDA_PART_RUNTIME},
	{"vector_functions.h", CUDA_PART_RUNTIME}, {"vector_types.h", CUDA_PART_RUNTIME},
};

enum cuda_part cuda_part_of(const char *name, size_t len)
{
	for (size_t i = 0; i < countof(cuda_headers); i++) {
		const char *entry = cuda_headers[i].name;
		size_t entry_len = strlen(entry);
		bool is_beginning = strchr("/_", entry[entry_len - 1]);
		if (len >= entry_len && memcmp(name, entry, entry_len) == 0
		    && (is_beginning || len == entry_len)) {
			return cuda_headers[i].part;
		}
	}
	return CUDA_PART_COUNT;
}

bool cuda_parts_find(unsigned *parts, const char *folder)
{
	enum { MARKS = countof(cuda_parts[0].marks) };
	*parts = 0;
	for (unsigned i = 0; i < CUDA_PART_COUNT * MARKS && file_is_folder(folder); i++) {
		unsigned part = i / MARKS;
		const char *mark = cuda_parts[part].marks[i % MARKS];
		char *path = mark ? file_join(folder, mark) : NULL;
		if (mark && !path) {
			return false;
		}
		*parts |= path && file_is_regular(path) ? 1u << part : 0;
		mem_free(path);
	}
	return true;
}

bool cuda_parts_find_all(unsigned *parts, const char *const *folders, size_t count)
{
	bool ok = true;
	*parts = 0;
	for (size_t i = 0; i < count && ok; i++) {
		unsigned found;
		ok = cuda_parts_find(&found, folders[i]);
		*parts |= found;
	}
	return ok;
}
