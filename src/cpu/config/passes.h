/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_PASSES_H
#define CPU_CONFIG_PASSES_H

/* The switches of the code generator's passes.  A set of passes has a bit for each. */
#include "base/common.h"

enum pass {
#define X(symbol, name, file) PASS_##symbol,
#include "cpu/config/passes.def"
#undef X
	PASS_COUNT
};
static_assert(PASS_COUNT <= 64, "a set of passes has 64 bits");

#endif
