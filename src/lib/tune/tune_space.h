/* SPDX-License-Identifier: MIT */
#ifndef LIB_TUNE_TUNE_SPACE_H
#define LIB_TUNE_TUNE_SPACE_H

/*
 * tune finds the fastest configuration of a kernel: the space of configurations (this header),
 * trials of them, and what is kept of a tuning for later programs.
 *
 * This header: a table of parameters, and its configurations by their numbers.
 */
#include "base/arena.h"
#include "base/str.h"
#include "lib/core/device.h"

#include <kudzu/tune.h>

enum { TUNE_PARAMETERS_MAX = 64, TUNE_CONFIGURATIONS_MAX = 1000000 };

/* Copies of what a tunable says, as far as it is needed when the call has ended. */
struct tune_space {
	struct arena arena;
	const kz_tune_parameter *parameters; /* each with a name */
	bool *is_compiled;      /* of each: the compiler sees its value */
	size_t count;
	kz_dim3 block;          /* where no parameter says it */
	int64_t shared_size;
	kz_tune_accept_fn *accept;
	void *user;
	int64_t configurations;
};

/* Check the table and copy it.  tune_space_finish frees it, also after a failure. */
kz_status tune_space_init(struct tune_space *out, const kz_tunable *tunable, kz_error *err);
void tune_space_finish(struct tune_space *space);

/* The values of configuration `index`, as kz_tune_config has them. */
void tune_space_values(int64_t *values, const struct tune_space *space, int64_t index);
/* Its number, from the places of its values in the table; -1: there is none. */
int64_t tune_space_index(const struct tune_space *space, const uint32_t *places);
/* The place of its value in the list of parameter `i`. */
size_t tune_space_place(const struct tune_space *space, int64_t index, size_t i);
/* "block_x=64 T=float", from the arena; NULL without memory. */
const char *tune_space_text(struct tune_space *space, int64_t index);
/* Fill in the rest of a configuration whose values and text are there.  False: the device cannot
 * launch it, or the program refuses it. */
bool tune_space_accepts(kz_tune_config *config, const struct tune_space *space,
	const kz_device_info *device, kz_dim3 problem);

/* What the compiler gets for a configuration.  The lists and the name are from the arena. */
struct tune_compile {
	kz_compile_options options;
	const char *kernel;  /* "scale<float, 4>" */
};
/* False without memory. */
bool tune_space_compile(struct tune_compile *out, struct tune_space *space,
	const kz_tunable *tunable, int64_t index);
/* Whether the compiler gets the same for both. */
bool tune_space_compiles_same(const struct tune_space *space, int64_t a, int64_t b);

#endif
