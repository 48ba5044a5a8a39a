/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PTX_LINK_H
#define CPU_PTX_PTX_LINK_H

/* Several PTX modules into one, as text. */
#include "base/str.h"
#include "cpu/ptx/ptx.h"

struct linker;

enum link_status {
	LINK_OK,
	LINK_NO_MEMORY,
	LINK_BAD_PTX,    /* see diag */
	LINK_BAD_SYMBOL  /* see errors: defined twice, or not at all */
};

struct linker *linker_create(void); /* NULL: no memory */
void linker_release(struct linker *linker); /* NULL is fine */

/* Take a copy of a module in; a failure leaves it out.  Messages for the user are appended to
 * `errors`, a line each. */
enum link_status linker_add(struct linker *linker, const char *text, size_t size,
	const char *name, struct ptx_diag *diag, struct str *errors);
/* Whether this PTX is that of CUDA's device runtime. */
bool link_is_runtime_text(const char *text, size_t size);
/* Whether these bytes are libcudadevrt.a, CUDA's device runtime. */
bool link_is_runtime(const char *data, size_t size);
/* Take in what cooperative groups need of it: cudaCGGetIntrinsicHandle, cudaCGSynchronize, ... */
enum link_status linker_add_runtime(struct linker *linker, struct ptx_diag *diag,
	struct str *errors);
/* Limit the registers of each kernel that has no limit of its own. */
void linker_limit_registers(struct linker *linker, uint32_t count);
size_t linker_count(const struct linker *linker);
/* One module of all that was taken in, appended to `out`. */
enum link_status linker_finish(struct linker *linker, struct str *out, struct str *errors);

#endif
