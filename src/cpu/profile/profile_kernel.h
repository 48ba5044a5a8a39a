/* SPDX-License-Identifier: MIT */
#ifndef CPU_PROFILE_PROFILE_KERNEL_H
#define CPU_PROFILE_PROFILE_KERNEL_H

/* What the files of cpu/profile share. */
#include "cpu/profile/profile.h"

/* A place in a source. */
struct profile_place {
	char *file;            /* NULL: the text of the module */
	uint32_t line;
	char *function;        /* that was put in the place of a call; NULL: the kernel */
	size_t caller;         /* the place of that call plus 1; 0: none */
};

/* An instruction, as far as counters are about it. */
struct profile_inst {
	uint32_t ptx_line;
	uint32_t place;
	uint32_t block;
	uint32_t access;       /* its first counter; 0: it has none */
	uint32_t bytes;        /* of an access, for each lane */
	uint8_t space;         /* enum ptx_space */
	bool is_atomic;
	bool is_barrier;
	bool is_unreached;     /* its block can never run */
};

struct profile_kernel {
	struct profile_kernel *next;
	struct hash text_hash; /* of its module */
	size_t text_size;
	size_t index;          /* in that */
	char *symbol;
	char name[256];        /* as in the source; empty before its first launch */
	struct profile_place *places;
	uint64_t *samples;     /* by place, of code that is gone */
	size_t place_count;
	struct profile_inst *insts;
	size_t inst_count;
	uint64_t *counters;
	size_t counter_count;
	uint32_t width;        /* of the code that was made last */
	bool is_counted;
	uint64_t launches, blocks, threads, wall_ns, busy_ns;
	uint64_t elsewhere;    /* samples that hit no line */
	struct profile_code *codes;
};

/* Where code of a line of PTX begins. */
struct profile_row {
	uint32_t offset;
	uint32_t ptx_line;
};

struct profile_code {
	struct profile_kernel *kernel;
	struct profile_code *next;
	uintptr_t begin;
	size_t size;           /* of the code; 0: there are no samples */
	atomic_uint *samples;  /* by byte of it */
	atomic_uint elsewhere; /* samples outside of it */
	struct profile_row *rows;
	size_t row_count;
};

/* profile_lines.c: the rows of an object that was made with line numbers, by offset; false: no
 * memory. */
bool profile_lines_read(struct profile_row **out, size_t *count, const void *object, size_t size);

/* profile_sample.c */
void profile_sample_begin(void);

/* jitdump.c: begin the file in a folder, false: errno says why; add code that was loaded, with so
 * many bytes. */
bool profile_jitdump_begin(const char *folder);
void profile_jitdump_add(const struct profile_code *code, size_t size);

/* profile_write.c */
struct str;
void profile_write_all(struct str *out, const struct profile_kernel *kernels);
/* The place of a line of PTX; SIZE_MAX: the kernel has nothing of it. */
size_t profile_find_place(const struct profile_kernel *kernel, uint32_t ptx_line);
/* Add the samples of code that will be gone to its kernel's. */
void profile_keep_samples(struct profile_code *code);

#endif
