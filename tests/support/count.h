/* SPDX-License-Identifier: MIT */
#ifndef COUNT_H
#define COUNT_H

/*
 * How much a test tries: all with KUDZU_TEST_SLOW, which is for `make check-long`; few with
 * KUDZU_TEST_BRIEF, which is for sanitizers; else as much as takes a second or less.
 */
#include <stdbool.h>

/*
 * KUDZU_TEST_SAMPLE=today becomes the number of the day, which this prints, so that the runs of
 * many days try all.  Set it for the processes of the tests.  Without the variable it is 1.
 */
void support_choose_sample(void);
int support_how_many(int slow, int usual, int brief);
/*
 * Whether case `i` of a table `of` so many is tried: with KUDZU_TEST_SLOW each is, else `usual` of
 * them, or `brief`, at even distances.  KUDZU_TEST_SAMPLE says which.
 */
bool support_is_tried(int i, int of, int usual, int brief);
/* Whether a test tries way 0 or 1 of two: with KUDZU_TEST_SLOW both, else the one that its name and
 * KUDZU_TEST_SAMPLE choose, so that about half of the tests of a suite try each. */
bool support_is_way_tried(const char *test, int way);

#endif
