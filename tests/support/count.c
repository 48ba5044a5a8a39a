/* SPDX-License-Identifier: MIT */
/* How much a test tries; see count.h. */
#include "base/common.h"

#include "count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int support_how_many(int slow, int usual, int brief)
{
	return getenv("KUDZU_TEST_SLOW") ? slow : getenv("KUDZU_TEST_BRIEF") ? brief : usual;
}

void support_choose_sample(void)
{
	enum { SECONDS_OF_A_DAY = 86400 };
	const char *sample = getenv("KUDZU_TEST_SAMPLE");
	char day[24];
	if (sample && strcmp(sample, "today") == 0) {
		snprintf(day, sizeof(day), "%lld", (long long)time(NULL) / SECONDS_OF_A_DAY);
		setenv("KUDZU_TEST_SAMPLE", day, 1);
		printf("KUDZU_TEST_SAMPLE=%s\n", day);
		fflush(stdout);
	}
}

static uint64_t count_seed(void)
{
	const char *sample = getenv("KUDZU_TEST_SAMPLE");
	return sample ? strtoull(sample, NULL, 0) : 1;
}

bool support_is_tried(int i, int of, int usual, int brief)
{
	const uint64_t mixed = count_seed() * UINT64_C(0x9e3779b97f4a7c15);
	const int tried = support_how_many(of, usual, brief),
		from = (int)((mixed >> 33) % (uint64_t)of);
	/* As Bresenham draws the points of a line. */
	return (int64_t)((i + from) % of) * tried % of < tried;
}

bool support_is_way_tried(const char *test, int way)
{
	uint64_t mixed = UINT64_C(0xcbf29ce484222325) ^ count_seed(); /* FNV-1a */
	for (const char *at = test; *at; at++) {
		mixed = (mixed ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	}
	return getenv("KUDZU_TEST_SLOW") || (int)(mixed >> 40 & 1) == way;
}
