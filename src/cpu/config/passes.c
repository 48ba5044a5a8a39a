/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/config/passes.h"

#include <string.h>

static const char *const passes_names[] = {
#define X(symbol, name, file) name,
#include "cpu/config/passes.def"
#undef X
};

bool passes_parse(const char *text, uint64_t *out)
{
	*out = 0;
	for (const char *next = text;; next++) {
		size_t len = strcspn(next, ","), pass = 0;
		while (pass < PASS_COUNT && (*next != '-' || len != strlen(passes_names[pass]) + 1
			|| strncmp(next + 1, passes_names[pass], len - 1) != 0)) {
			pass++;
		}
		if (pass == PASS_COUNT) {
			return false;
		}
		*out |= UINT64_C(1) << pass;
		next += len;
		if (*next == '\0') {
			return true;
		}
	}
}
