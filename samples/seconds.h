/* SPDX-License-Identifier: MIT */
#ifndef SECONDS_H
#define SECONDS_H

/* Python's time.time(), and how print() writes its differences. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double seconds_now(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* "Tiempo en paralelo: 5.888938903808594e-05 s" on standard error: the fewest digits that give the
 * same double when they are read. */
static inline void seconds_print(const char *what, double seconds)
{
	char text[32];
	int digits = 1;
	do {
		snprintf(text, sizeof(text), "%.*g", digits, seconds);
	} while (strtod(text, NULL) != seconds && digits++ < 17);
	fprintf(stderr, "%s: %s s\n", what, text);
}

#endif
