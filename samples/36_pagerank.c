/* SPDX-License-Identifier: MIT */
/*
 * PageRank by power iteration: which pages a reader reaches who follows links at random, and once
 * in seven steps opens any page.  It teaches sparse matrices (a page links to few others), an
 * expression that uses a number of the device without a copy to the host, and when to look at a
 * result: a stop test waits for the device, so the program tests once in a few steps.
 *
 * A star of pages has a formula to compare with; a web of random links is compared with the same
 * sums on the host.
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

enum { PAGES = 5000, LINKS = 8, STEPS = 5, MAX_STEPS = 200 };

static const double damping = 0.85;

/* Links as lists: page from[i] links to page to[i]. */
struct web {
	int pages, links;
	int from[PAGES * LINKS], to[PAGES * LINKS];
	double share[PAGES * LINKS]; /* of a page's reader that follows this link */
	double dangling[PAGES];      /* 1 for a page without links, whose reader opens any page */
};

static void finish(struct web *w)
{
	static int out[PAGES];
	memset(out, 0, sizeof(out));
	for (int i = 0; i < w->links; i++) {
		out[w->from[i]]++;
	}
	for (int i = 0; i < w->links; i++) {
		w->share[i] = 1.0 / out[w->from[i]];
	}
	for (int i = 0; i < w->pages; i++) {
		w->dangling[i] = out[i] == 0;
	}
}

/* Page 0 links to all others, and each of them to it. */
static void make_star(struct web *w, int pages)
{
	w->pages = pages;
	w->links = 0;
	for (int i = 1; i < pages; i++) {
		w->from[w->links] = 0;
		w->to[w->links++] = i;
		w->from[w->links] = i;
		w->to[w->links++] = 0;
	}
	finish(w);
}

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Pages link to older pages, of which few are linked to by many; every tenth page has no links. */
static void make_random(struct web *w)
{
	uint64_t state = 1;
	w->pages = PAGES;
	w->links = 0;
	for (int page = 1; page < PAGES; page++) {
		for (int i = 0; i < LINKS && page % 10 != 0; i++) {
			double u = draw(&state) / 2147483648.0;
			w->from[w->links] = page;
			w->to[w->links++] = (int)(page * u * u * u);
		}
	}
	finish(w);
}

/* The ranks, which have the sum 1; the number of steps is returned. */
static int rank_pages(double *ranks, kz_device *dev, const struct web *w)
{
	const int64_t n = w->pages, size = n * (int64_t)sizeof(double);
	kz_array *share = NULL, *to = NULL, *from = NULL, *dangling = NULL, *x = NULL, *last = NULL;
	kz_array *lost = NULL, *y = NULL;
	kz_sparse *links = NULL;
	double change = 1;
	int steps = 0;

	CHECK(kz_array_from(&share, dev, KZ_F64, KZ_SHAPE(w->links), w->share,
		w->links * (int64_t)sizeof(double), &err));
	CHECK(kz_array_from(&to, dev, KZ_I32, KZ_SHAPE(w->links), w->to,
		w->links * (int64_t)sizeof(int), &err));
	CHECK(kz_array_from(&from, dev, KZ_I32, KZ_SHAPE(w->links), w->from,
		w->links * (int64_t)sizeof(int), &err));
	CHECK(kz_array_from(&dangling, dev, KZ_F64, KZ_SHAPE(n), w->dangling, size, &err));
	CHECK(kz_sparse_create_coo(&links, n, n, share, to, from, NULL, &err));
	CHECK(kz_array_full(&x, dev, KZ_F64, KZ_SHAPE(n), &(double){1.0 / (double)n},
		sizeof(double), &err));
	while (change > 1e-12 && steps < MAX_STEPS) {
		for (int i = 0; i < STEPS; i++, steps++) {
			kz_array_release(last);
			last = x;
			x = NULL;
			CHECK(kz_dot(&lost, last, dangling, NULL, &err)); /* stays on the device */
			CHECK(kz_sparse_matmul(&y, links, KZ_MATRIX_AS_IS, last, NULL, &err));
			CHECK(kz_eval(&x, "d * (y + lost / n) + (1 - d) / n", NULL, &err,
				KZ_VARS(y, lost, n, KZ_VAR("d", damping))));
			kz_release_all(lost, y);
		}
		CHECK(kz_eval(&y, "abs(x - last)", NULL, &err, KZ_VARS(x, last)));
		CHECK(kz_sum_get(&change, y, &err)); /* waits */
		kz_array_release(y);
	}
	CHECK(kz_array_get(x, ranks, size, &err));
	kz_release_all(last, x, links, dangling, from, to, share);
	return steps;
}

/* The same on the host. */
static void rank_on_host(double *x, const struct web *w, int steps)
{
	static double y[PAGES];
	for (int i = 0; i < w->pages; i++) {
		x[i] = 1.0 / w->pages;
	}
	for (int step = 0; step < steps; step++) {
		double lost = 0;
		memset(y, 0, sizeof(y));
		for (int i = 0; i < w->links; i++) {
			y[w->to[i]] += w->share[i] * x[w->from[i]];
		}
		for (int i = 0; i < w->pages; i++) {
			lost += w->dangling[i] * x[i];
		}
		for (int i = 0; i < w->pages; i++) {
			x[i] = damping * (y[i] + lost / w->pages) + (1 - damping) / w->pages;
		}
	}
}

int main(void)
{
	static struct web web;
	static double ranks[PAGES], expected[PAGES];
	kz_device *dev = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));

	const int n = 1000;
	make_star(&web, n);
	rank_pages(ranks, dev, &web);
	const double hub = (1 + damping * (n - 1)) / (n * (1 + damping));
	printf("star: its centre has the rank %.6f, by the formula %.6f\n", ranks[0], hub);

	make_random(&web);
	const int steps = rank_pages(ranks, dev, &web);
	rank_on_host(expected, &web, steps);
	double worst = 0, sum = 0;
	for (int i = 0; i < PAGES; i++) {
		worst = fmax(worst, fabs(ranks[i] - expected[i]) / expected[i]);
		sum += ranks[i];
	}
	printf("web: %d pages, %d links, the ranks' sum is %.6f\n", web.pages, web.links, sum);
	printf("web: the ranks are %s\n", worst < 1e-9 ? "those of the host" : "wrong");
	printf("web: the first pages have");
	for (int i = 0; i < 5; i++) {
		printf(" %.5f", ranks[i]);
	}
	printf("\n");
	fprintf(stderr, "%d steps\n", steps);
	kz_device_close(dev);
	return 0;
}
