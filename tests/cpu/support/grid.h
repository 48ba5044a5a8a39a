/* SPDX-License-Identifier: MIT */
#ifndef GRID_H
#define GRID_H

/*
 * Compile one PTX kernel and run a block or a grid of it, by the launcher, with warps of any width.
 * Kernels are made of a body: %rd0 points to grid.memory, %rd9 to the GRID_WORDS words there of the
 * thread, whose number is %r0.
 */
#include "base/str.h"
#include "cpu/exec/launch.h"
#include "driver.h"

#include <check.h>
#include <sys/mman.h>

#define GRID_WORDS 64

struct grid {
	_Alignas(64) uint32_t memory[BLOCK_MAX_THREADS][GRID_WORDS];
	struct launch_failure failure;
	uint32_t size[3];    /* in blocks; grid_setup makes it one */
	uint32_t row;        /* threads side by side in a block; grid_setup makes it 0: all */
};

extern struct grid grid;

/* Add the kernel of a body, all but the lines that say for which version and target. */
static inline void grid_add_text(struct str *text, const char *declarations, const char *body)
{
	str_addf(text, "%s\n.visible .entry k(.param .u64 p)\n{\n"
		".reg .pred %%p<9>; .reg .b32 %%r<60>; .reg .b64 %%rd<30>; .reg .f32 %%f<30>;\n"
		".reg .b16 %%h<9>; .reg .f64 %%fd<30>;\n"
		"ld.param.u64 %%rd0, [p]; mov.u32 %%r0, %%tid.x;\n%s"
		"mad.wide.u32 %%rd9, %%r0, %d, %%rd0;\n%s\nret;\n}\n", declarations,
		grid.row ? "mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r0, %r1, %r2, "
		"%r0;\n"
			: "", GRID_WORDS * 4, body);
}

enum { GRID_PAGE = 4096 };

/* Map a page for the threads to access, with one after it that they may not.  Where it ends. */
static inline uint64_t grid_map_page(void)
{
	uint8_t *pages = mmap(NULL, 2 * GRID_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + GRID_PAGE, GRID_PAGE, PROT_NONE), 0);
	return (uintptr_t)pages + GRID_PAGE;
}

static inline void grid_unmap_page(uint64_t end)
{
	munmap((void *)(uintptr_t)(end - GRID_PAGE), 2 * GRID_PAGE);
}

/* Call in a checked fixture. */
void grid_setup(void);
void grid_teardown(void);
/* Run `threads` threads of the body at a width of 1, 8, 16 or 32; what the launch returns. */
CUresult grid_run(uint32_t width, uint32_t threads, const char *declarations, const char *body);
/* The same; *width becomes the width that the compiler chooses. */
CUresult grid_run_chosen(uint32_t *width, uint32_t threads, const char *declarations,
	const char *body);
/* The same as grid_run, which must succeed. */
static inline void grid_ok(uint32_t width, uint32_t threads, const char *declarations,
	const char *body)
{
	CUresult result = grid_run(width, threads, declarations, body);
	ck_assert_msg(result == CUDA_SUCCESS, "%d: %s, %s", (int)result, grid.failure.what,
		grid.failure.where);
}

#endif
