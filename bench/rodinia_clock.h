/* SPDX-License-Identifier: MIT */
#ifndef RODINIA_CLOCK_H
#define RODINIA_CLOCK_H

/* What bench/rodinia.sh puts into Rodinia's OpenMP programs: a clock around what they compute, and
 * files with what they compute from and with the result, for bench_rodinia. */
#include <stdio.h>
#include <time.h>

static double rodinia_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Append to a file in the current folder. */
static void rodinia_save(const char *name, const void *from, size_t size)
{
	FILE *file = fopen(name, "ab");
	if (!file || fwrite(from, 1, size, file) != size || fclose(file)) {
		perror(name);
	}
}

static double rodinia_start;
#define RODINIA_BEGIN() (rodinia_start = rodinia_seconds())
#define RODINIA_END() fprintf(stderr, "seconds %.9f\n", rodinia_seconds() - rodinia_start)

#endif
