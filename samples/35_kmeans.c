/* SPDX-License-Identifier: MIT */
/*
 * k-means: points fall into clusters, each around the mean of its points.  It teaches to write an
 * algorithm with operations on arrays alone: shapes that broadcast, (points, 1) against (clusters),
 * give all distances in one fused expression; argmin finds the nearest mean; bincount, with and
 * without weights, adds up the points of each cluster.
 *
 * The points lie around known centres, and the same steps are made on the host.
 */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { POINTS = 20000, CLUSTERS = 5, MAX_STEPS = 50 };

static const double centres[CLUSTERS][2] = {{0, 0}, {4, 1}, {-3, 3}, {1, 5}, {-2, -4}};

/* The sum of uniform numbers is nearly normal. */
static double draw(uint64_t *state)
{
	double sum = 0;
	for (int i = 0; i < 6; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 33) / 2147483648.0 - 0.5;
	}
	return sum * 1.6;
}

static void make_points(double *x, double *y)
{
	uint64_t state = 7;
	for (int i = 0; i < POINTS; i++) {
		x[i] = centres[i % CLUSTERS][0] + draw(&state);
		y[i] = centres[i % CLUSTERS][1] + draw(&state);
	}
}

/* The first means: the first point, then always the point that is farthest from all before. */
static void choose_means(double *mx, double *my, const double *x, const double *y)
{
	int chosen = 0;
	for (int k = 0; k < CLUSTERS; k++) {
		double farthest = -1;
		mx[k] = x[chosen];
		my[k] = y[chosen];
		for (int i = 0; i < POINTS; i++) {
			double nearest = INFINITY;
			for (int j = 0; j <= k; j++) {
				nearest = fmin(nearest, hypot(x[i] - mx[j], y[i] - my[j]));
			}
			if (nearest > farthest) {
				farthest = nearest;
				chosen = i;
			}
		}
	}
}

/* One coordinate of the means: sums of the points of each cluster, by their numbers. */
static void move_means(kz_array **means, kz_array *label, kz_array *counts, kz_array *values)
{
	kz_array *flat = NULL, *sums = NULL;
	CHECK(kz_array_ravel(&flat, values, &err));
	CHECK(kz_bincount(&sums, label,
		KZ_WITH(kz_bincount_options, .minlength = CLUSTERS, .weights = flat), &err));
	kz_array_release(*means);
	*means = NULL;
	CHECK(kz_divide(means, sums, counts, &err));
	kz_release_all(sums, flat);
}

/* Move the means until no point changes its cluster; how many steps that took, and the labels. */
static int cluster(int64_t *labels, double *mx, double *my, kz_device *dev, const double *x,
	const double *y)
{
	const int64_t size = POINTS * (int64_t)sizeof(double);
	const int64_t means_size = CLUSTERS * (int64_t)sizeof(double);
	kz_array *px = NULL, *py = NULL, *ax = NULL, *ay = NULL, *label = NULL, *last = NULL;
	kz_array *square = NULL, *counts = NULL, *moved = NULL;
	int64_t changes = 1;
	int steps = 0;
	CHECK(kz_array_from(&px, dev, KZ_F64, KZ_SHAPE(POINTS, 1), x, size, &err));
	CHECK(kz_array_from(&py, dev, KZ_F64, KZ_SHAPE(POINTS, 1), y, size, &err));
	CHECK(kz_array_from(&ax, dev, KZ_F64, KZ_SHAPE(CLUSTERS), mx, means_size, &err));
	CHECK(kz_array_from(&ay, dev, KZ_F64, KZ_SHAPE(CLUSTERS), my, means_size, &err));
	CHECK(kz_array_full(&last, dev, KZ_I64, KZ_SHAPE(POINTS), &(int64_t){-1}, 8, &err));
	for (; changes > 0 && steps < MAX_STEPS; steps++) {
		CHECK(kz_eval(&square, "(px - ax)*(px - ax) + (py - ay)*(py - ay)", NULL, &err,
			KZ_VARS(px, py, ax, ay)));
		CHECK(kz_argmin(&label, square, KZ_AXES(1), &err));
		CHECK(kz_not_equal(&moved, label, last, &err));
		CHECK(kz_count_nonzero_get(&changes, moved, &err));
		CHECK(kz_bincount(&counts, label,
			KZ_WITH(kz_bincount_options, .minlength = CLUSTERS), &err));
		move_means(&ax, label, counts, px);
		move_means(&ay, label, counts, py);
		kz_release_all(square, moved, counts, last);
		last = label;
	}
	CHECK(kz_array_get(last, labels, POINTS * (int64_t)sizeof(*labels), &err));
	CHECK(kz_array_get(ax, mx, means_size, &err));
	CHECK(kz_array_get(ay, my, means_size, &err));
	kz_release_all(last, ay, ax, py, px);
	return steps;
}

/* The same on the host. */
static int cluster_on_host(int64_t *labels, double *mx, double *my, const double *x,
	const double *y)
{
	int changes = 1, steps = 0;
	memset(labels, -1, POINTS * sizeof(*labels));
	for (; changes > 0; steps++) {
		double sx[CLUSTERS] = {0}, sy[CLUSTERS] = {0}, count[CLUSTERS] = {0};
		changes = 0;
		for (int i = 0; i < POINTS; i++) {
			int best = 0;
			double least = INFINITY;
			for (int k = 0; k < CLUSTERS; k++) {
				double dx = x[i] - mx[k], dy = y[i] - my[k];
				if (dx * dx + dy * dy < least) {
					least = dx * dx + dy * dy;
					best = k;
				}
			}
			changes += labels[i] != best;
			labels[i] = best;
			count[best]++;
			sx[best] += x[i];
			sy[best] += y[i];
		}
		for (int k = 0; k < CLUSTERS; k++) {
			mx[k] = sx[k] / count[k];
			my[k] = sy[k] / count[k];
		}
	}
	return steps;
}

int main(void)
{
	static double x[POINTS], y[POINTS];
	static int64_t labels[POINTS], expected[POINTS];
	double mx[CLUSTERS], my[CLUSTERS], hx[CLUSTERS], hy[CLUSTERS];
	kz_device *dev = NULL;
	make_points(x, y);
	choose_means(mx, my, x, y);
	memcpy(hx, mx, sizeof(hx));
	memcpy(hy, my, sizeof(hy));

	CHECK(kz_device_open(&dev, NULL, &err));
	int steps = cluster(labels, mx, my, dev, x, y);
	int host_steps = cluster_on_host(expected, hx, hy, x, y);
	int same = 0;
	for (int i = 0; i < POINTS; i++) {
		same += labels[i] == expected[i];
	}
	for (int k = 0; k < CLUSTERS; k++) {
		int nearest = 0;
		for (int c = 1; c < CLUSTERS; c++) {
			if (hypot(mx[k] - centres[c][0], my[k] - centres[c][1])
			    < hypot(mx[k] - centres[nearest][0], my[k] - centres[nearest][1])) {
				nearest = c;
			}
		}
		printf("cluster %d: (%.2f, %.2f), made around (%g, %g)\n", k, mx[k], my[k],
			centres[nearest][0], centres[nearest][1]);
	}
	printf("%d steps, on the host %d; %d of %d points in the host's cluster\n", steps,
		host_steps, same, POINTS);
	kz_device_close(dev);
	return 0;
}
