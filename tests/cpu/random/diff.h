/* SPDX-License-Identifier: MIT */
#ifndef DIFF_H
#define DIFF_H

/*
 * Runs generated programs (gen.h) on the CPU device and compares what they leave in memory with
 * their interpretation, bit by bit.  Every program runs at W=1 and at W=32, with one worker and
 * with several.
 */
#include "gen.h"

/* Make PTX of a program; false, with the reason in `why`, if that fails. */
typedef bool diff_print(struct str *ptx, const struct gen_program *program, struct str *why);

struct diff {
	diff_print *print;
	struct gen_options options;
	bool ops[512];
	unsigned long refused; /* programs that other drivers than ours do not load */
	bool lost;             /* a kernel has failed: another driver than ours runs nothing any
	                          more */
	int text_fd;           /* a file for the PTX of the program at hand; -1: nobody wants it */
	struct str report;     /* of the first program that fails */
};

/* What diff_try is at, for who sees it die. */
extern const char *volatile diff_doing;

/* Find out what the device runs, for programs that keep within these features.  False: the report
 * says why. */
bool diff_init(struct diff *diff, diff_print *print, unsigned features);
void diff_free(struct diff *diff);
/* PTX without a detour, and by way of CUDA C, compiled for compute_75 and compute_100. */
diff_print diff_ptx, diff_cuda_75, diff_cuda_100;
/* False if the program of this seed fails; the report says how, with the smallest part of the
 * program found that still does. */
bool diff_try(struct diff *diff, uint64_t seed);

#endif
