/* SPDX-License-Identifier: MIT */
#ifndef CORPUS_H
#define CORPUS_H

/*
 * Run the kernels of tests/data/cuda through the driver API.  A case is one kernel (or a few) and
 * the host side of it: make inputs, launch, compare with the same computation in C.  It is run for
 * every architecture that gives its source other PTX than the one before, with every width of the
 * generator and one worker or two; what it gets by corpus_get must be the same bytes each time.
 *
 * The sources are compiled with --fmad=false, so that C can say the last bit of most results.
 */
#include "base/common.h"

#include "base/cuda_abi.h"

#include <check.h>

struct corpus_case {
	const char *source;  /* tests/data/cuda/SOURCE.cu */
	const char *kernel;
	void (*run)(void);
	int from;            /* the first architecture that has it; 0: all */
	int until;           /* the last one; 0: all */
};

/* The tables of cases, each ending with a case without a source. */
extern const struct corpus_case corpus_basic[], corpus_stencil[], corpus_int[], corpus_half[],
	corpus_atomics[], corpus_warp[], corpus_calls[], corpus_math[], corpus_memory[],
	corpus_random[], corpus_cg[], corpus_texture[];

struct corpus_size {
	unsigned grid[3];
	unsigned block[3];
	unsigned shared;
	bool cooperative;
};

enum { CORPUS_ARCHS = 4 };

/* Run a case for the architecture of that index. */
void corpus_run(const struct corpus_case *c, int arch_index);
/* Load the PTX of a source and expect a refusal with CUDA_ERROR_NOT_SUPPORTED and this text. */
void corpus_refused(const char *source, int arch, const char *text);

/* For cases: what runs now. */
int corpus_arch(void);

/* Memory of the device, with a guard after it; it lives as long as the case. */
CUdeviceptr corpus_put(const void *data, size_t size);
CUdeviceptr corpus_room(size_t size);
void corpus_set(CUdeviceptr address, const void *data, size_t size);
/* Read it back.  What corpus_get reads must not depend on width and workers. */
void corpus_get(CUdeviceptr address, void *out, size_t size);
void corpus_peek(CUdeviceptr address, void *out, size_t size);
/* A variable of the module, of this size. */
CUdeviceptr corpus_global(const char *name, size_t size);

/* A line of blocks of a line of threads. */
struct corpus_size corpus_line(unsigned grid, unsigned block);
/* Launch and wait. */
void corpus_launch(const char *kernel, struct corpus_size size, void **args);
CUresult corpus_sync(void);
CUresult corpus_try(const char *kernel, struct corpus_size size, void **args);

/* Equal in every byte; the message says where. */
void corpus_same(const void *got, const void *want, size_t count, size_t element);
void corpus_near(const char *what, size_t index, double got, double want, double within);
/* "20_nbody mandel compute_75 width 1 workers 2", to go with other checks. */
const char *corpus_where(void);

/* Random inputs, the same in every run of a case. */
uint32_t corpus_u32(void);
uint64_t corpus_u64(void);
float corpus_float(float low, float high);
double corpus_double(double low, double high);
void corpus_floats(float *out, size_t count); /* in [-0.25, 0.75) */

#endif
