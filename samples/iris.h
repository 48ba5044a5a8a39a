/* SPDX-License-Identifier: MIT */
#ifndef IRIS_H
#define IRIS_H

/*
 * Fisher's irises: sepal length and width, petal length and width in cm, of 50 setosa, 50
 * versicolor and 50 virginica.  These are the rows of the UCI Machine Learning Repository, so rows
 * 35 and 38 are alike; newer copies follow Fisher's paper there.
 */
#include <kudzu/random.h>
#include <string.h>

enum { IRIS_ROWS = 150, IRIS_COLUMNS = 4, IRIS_KINDS = 3, IRIS_OF_A_KIND = 50 };

static const float iris[IRIS_ROWS][IRIS_COLUMNS] = {
	{5.1f, 3.5f, 1.4f, 0.2f}, {4.9f, 3.0f, 1.4f, 0.2f}, {4.7f, 3.2f, 1.3f, 0.2f},
	{4.6f, 3.1f, 1.5f, 0.2f}, {5.0f, 3.6f, 1.4f, 0.2f}, {5.4f, 3.9f, 1.7f, 0.4f},
	{4.6f, 3.4f, 1.4f, 0.3f}, {5.0f, 3.4f, 1.5f, 0.2f}, {4.4f, 2.9f, 1.4f, 0.2f},
	{4.9f, 3.1f, 1.5f, 0.1f}, {5.4f, 3.7f, 1.5f, 0.2f}, {4.8f, 3.4f, 1.6f, 0.2f},
	{4.8f, 3.0f, 1.4f, 0.1f}, {4.3f, 3.0f, 1.1f, 0.1f}, {5.8f, 4.0f, 1.2f, 0.2f},
	{5.7f, 4.4f, 1.5f, 0.4f}, {5.4f, 3.9f, 1.3f, 0.4f}, {5.1f, 3.5f, 1.4f, 0.3f},
	{5.7f, 3.8f, 1.7f, 0.3f}, {5.1f, 3.8f, 1.5f, 0.3f}, {5.4f, 3.4f, 1.7f, 0.2f},
	{5.1f, 3.7f, 1.5f, 0.4f}, {4.6f, 3.6f, 1.0f, 0.2f}, {5.1f, 3.3f, 1.7f, 0.5f},
	{4.8f, 3.4f, 1.9f, 0.2f}, {5.0f, 3.0f, 1.6f, 0.2f}, {5.0f, 3.4f, 1.6f, 0.4f},
	{5.2f, 3.5f, 1.5f, 0.2f}, {5.2f, 3.4f, 1.4f, 0.2f}, {4.7f, 3.2f, 1.6f, 0.2f},
	{4.8f, 3.1f, 1.6f, 0.2f}, {5.4f, 3.4f, 1.5f, 0.4f}, {5.2f, 4.1f, 1.5f, 0.1f},
	{5.5f, 4.2f, 1.4f, 0.2f}, {4.9f, 3.1f, 1.5f, 0.1f}, {5.0f, 3.2f, 1.2f, 0.2f},
	{5.5f, 3.5f, 1.3f, 0.2f}, {4.9f, 3.1f, 1.5f, 0.1f}, {4.4f, 3.0f, 1.3f, 0.2f},
	{5.1f, 3.4f, 1.5f, 0.2f}, {5.0f, 3.5f, 1.3f, 0.3f}, {4.5f, 2.3f, 1.3f, 0.3f},
	{4.4f, 3.2f, 1.3f, 0.2f}, {5.0f, 3.5f, 1.6f, 0.6f}, {5.1f, 3.8f, 1.9f, 0.4f},
	{4.8f, 3.0f, 1.4f, 0.3f}, {5.1f, 3.8f, 1.6f, 0.2f}, {4.6f, 3.2f, 1.4f, 0.2f},
	{5.3f, 3.7f, 1.5f, 0.2f}, {5.0f, 3.3f, 1.4f, 0.2f}, {7.0f, 3.2f, 4.7f, 1.4f},
	{6.4f, 3.2f, 4.5f, 1.5f}, {6.9f, 3.1f, 4.9f, 1.5f}, {5.5f, 2.3f, 4.0f, 1.3f},
	{6.5f, 2.8f, 4.6f, 1.5f}, {5.7f, 2.8f, 4.5f, 1.3f}, {6.3f, 3.3f, 4.7f, 1.6f},
	{4.9f, 2.4f, 3.3f, 1.0f}, {6.6f, 2.9f, 4.6f, 1.3f}, {5.2f, 2.7f, 3.9f, 1.4f},
	{5.0f, 2.0f, 3.5f, 1.0f}, {5.9f, 3.0f, 4.2f, 1.5f}, {6.0f, 2.2f, 4.0f, 1.0f},
	{6.1f, 2.9f, 4.7f, 1.4f}, {5.6f, 2.9f, 3.6f, 1.3f}, {6.7f, 3.1f, 4.4f, 1.4f},
	{5.6f, 3.0f, 4.5f, 1.5f}, {5.8f, 2.7f, 4.1f, 1.0f}, {6.2f, 2.2f, 4.5f, 1.5f},
	{5.6f, 2.5f, 3.9f, 1.1f}, {5.9f, 3.2f, 4.8f, 1.8f}, {6.1f, 2.8f, 4.0f, 1.3f},
	{6.3f, 2.5f, 4.9f, 1.5f}, {6.1f, 2.8f, 4.7f, 1.2f}, {6.4f, 2.9f, 4.3f, 1.3f},
	{6.6f, 3.0f, 4.4f, 1.4f}, {6.8f, 2.8f, 4.8f, 1.4f}, {6.7f, 3.0f, 5.0f, 1.7f},
	{6.0f, 2.9f, 4.5f, 1.5f}, {5.7f, 2.6f, 3.5f, 1.0f}, {5.5f, 2.4f, 3.8f, 1.1f},
	{5.5f, 2.4f, 3.7f, 1.0f}, {5.8f, 2.7f, 3.9f, 1.2f}, {6.0f, 2.7f, 5.1f, 1.6f},
	{5.4f, 3.0f, 4.5f, 1.5f}, {6.0f, 3.4f, 4.5f, 1.6f}, {6.7f, 3.1f, 4.7f, 1.5f},
	{6.3f, 2.3f, 4.4f, 1.3f}, {5.6f, 3.0f, 4.1f, 1.3f}, {5.5f, 2.5f, 4.0f, 1.3f},
	{5.5f, 2.6f, 4.4f, 1.2f}, {6.1f, 3.0f, 4.6f, 1.4f}, {5.8f, 2.6f, 4.0f, 1.2f},
	{5.0f, 2.3f, 3.3f, 1.0f}, {5.6f, 2.7f, 4.2f, 1.3f}, {5.7f, 3.0f, 4.2f, 1.2f},
	{5.7f, 2.9f, 4.2f, 1.3f}, {6.2f, 2.9f, 4.3f, 1.3f}, {5.1f, 2.5f, 3.0f, 1.1f},
	{5.7f, 2.8f, 4.1f, 1.3f}, {6.3f, 3.3f, 6.0f, 2.5f}, {5.8f, 2.7f, 5.1f, 1.9f},
	{7.1f, 3.0f, 5.9f, 2.1f}, {6.3f, 2.9f, 5.6f, 1.8f}, {6.5f, 3.0f, 5.8f, 2.2f},
	{7.6f, 3.0f, 6.6f, 2.1f}, {4.9f, 2.5f, 4.5f, 1.7f}, {7.3f, 2.9f, 6.3f, 1.8f},
	{6.7f, 2.5f, 5.8f, 1.8f}, {7.2f, 3.6f, 6.1f, 2.5f}, {6.5f, 3.2f, 5.1f, 2.0f},
	{6.4f, 2.7f, 5.3f, 1.9f}, {6.8f, 3.0f, 5.5f, 2.1f}, {5.7f, 2.5f, 5.0f, 2.0f},
	{5.8f, 2.8f, 5.1f, 2.4f}, {6.4f, 3.2f, 5.3f, 2.3f}, {6.5f, 3.0f, 5.5f, 1.8f},
	{7.7f, 3.8f, 6.7f, 2.2f}, {7.7f, 2.6f, 6.9f, 2.3f}, {6.0f, 2.2f, 5.0f, 1.5f},
	{6.9f, 3.2f, 5.7f, 2.3f}, {5.6f, 2.8f, 4.9f, 2.0f}, {7.7f, 2.8f, 6.7f, 2.0f},
	{6.3f, 2.7f, 4.9f, 1.8f}, {6.7f, 3.3f, 5.7f, 2.1f}, {7.2f, 3.2f, 6.0f, 1.8f},
	{6.2f, 2.8f, 4.8f, 1.8f}, {6.1f, 3.0f, 4.9f, 1.8f}, {6.4f, 2.8f, 5.6f, 2.1f},
	{7.2f, 3.0f, 5.8f, 1.6f}, {7.4f, 2.8f, 6.1f, 1.9f}, {7.9f, 3.8f, 6.4f, 2.0f},
	{6.4f, 2.8f, 5.6f, 2.2f}, {6.3f, 2.8f, 5.1f, 1.5f}, {6.1f, 2.6f, 5.6f, 1.4f},
	{7.7f, 3.0f, 6.1f, 2.3f}, {6.3f, 3.4f, 5.6f, 2.4f}, {6.4f, 3.1f, 5.5f, 1.8f},
	{6.0f, 3.0f, 4.8f, 1.8f}, {6.9f, 3.1f, 5.4f, 2.1f}, {6.7f, 3.1f, 5.6f, 2.4f},
	{6.9f, 3.1f, 5.1f, 2.3f}, {5.8f, 2.7f, 5.1f, 1.9f}, {6.8f, 3.2f, 5.9f, 2.3f},
	{6.7f, 3.3f, 5.7f, 2.5f}, {6.7f, 3.0f, 5.2f, 2.3f}, {6.3f, 2.5f, 5.0f, 1.9f},
	{6.5f, 3.0f, 5.2f, 2.0f}, {6.2f, 3.4f, 5.4f, 2.3f}, {5.9f, 3.0f, 5.1f, 1.8f},
};

/* scikit-learn's train_test_split(random_state=seed): the rows in its order, those of the test
 * first; and the kind of each, 0 to 2. */
static inline void iris_split(float (*rows)[IRIS_COLUMNS], int32_t *kinds, uint32_t seed)
{
	int64_t order[IRIS_ROWS];
	kz_mt19937 rng;
	kz_mt19937_init(&rng, seed);
	kz_mt19937_permutation(order, &rng, IRIS_ROWS);
	for (int i = 0; i < IRIS_ROWS; i++) {
		memcpy(rows[i], iris[order[i]], sizeof(rows[i]));
		kinds[i] = (int32_t)(order[i] / IRIS_OF_A_KIND);
	}
}

#endif
