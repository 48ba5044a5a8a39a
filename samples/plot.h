/* SPDX-License-Identifier: MIT */
#ifndef PLOT_H
#define PLOT_H

/*
 * A curve as a picture, as matplotlib's plot draws it: an SVG file, which every browser shows, with
 * a frame, five ticks at each axis, and a line through the points.
 */
#include <math.h>
#include <stdio.h>

struct plot {
	const char *title;  /* no markup */
	double first, last; /* the limits of x */
	double x;           /* of y[0]; the next points follow at distances of 1 */
	const float *y;
	int count;
};

enum { PLOT_LEFT = 70, PLOT_RIGHT = 620, PLOT_TOP = 40, PLOT_BOTTOM = 360 };

static inline double plot_place_x(const struct plot *plot, double x)
{
	return PLOT_LEFT + (x - plot->first) / (plot->last - plot->first)
		* (PLOT_RIGHT - PLOT_LEFT);
}

static inline double plot_place_y(const double limits[2], double y)
{
	return PLOT_BOTTOM - (y - limits[0]) / (limits[1] - limits[0]) * (PLOT_BOTTOM - PLOT_TOP);
}

static inline void plot_write_frame(FILE *file, const struct plot *plot, const double limits[2])
{
	fprintf(file, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 640 400'"
		" font-family='sans-serif' font-size='12' text-anchor='middle'>\n"
		"<rect width='640' height='400' fill='white'/>\n"
		"<text x='%d' y='25' font-size='15'>%s</text>\n"
		"<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='black'/>\n",
		(PLOT_LEFT + PLOT_RIGHT) / 2, plot->title, PLOT_LEFT, PLOT_TOP,
		PLOT_RIGHT - PLOT_LEFT, PLOT_BOTTOM - PLOT_TOP);
	for (int i = 0; i < 5; i++) {
		double x = plot->first + (plot->last - plot->first) * i / 4;
		double y = limits[0] + (limits[1] - limits[0]) * i / 4;
		fprintf(file, "<text x='%.2f' y='%d'>%.4g</text>\n"
			"<text x='%d' y='%.2f' text-anchor='end'>%.4g</text>\n",
			plot_place_x(plot, x), PLOT_BOTTOM + 20, x, PLOT_LEFT - 8,
			plot_place_y(limits, y) + 4, y);
	}
}

/* Nonzero, with a message, if the file cannot be written.  Points that are not finite are left
 * out. */
static inline int plot_write(const char *path, const struct plot *plot)
{
	double limits[2] = {INFINITY, -INFINITY};
	for (int i = 0; i < plot->count; i++) {
		limits[0] = isfinite(plot->y[i]) ? fmin(limits[0], plot->y[i]) : limits[0];
		limits[1] = isfinite(plot->y[i]) ? fmax(limits[1], plot->y[i]) : limits[1];
	}
	if (!(limits[0] < limits[1])) { /* a flat line in the middle, or none */
		limits[0] = isfinite(limits[0]) ? limits[0] - 0.5 : 0;
		limits[1] = limits[0] + 1;
	}
	FILE *file = fopen(path, "w");
	if (!file) {
		perror(path);
		return 1;
	}
	plot_write_frame(file, plot, limits);
	fprintf(file, "<polyline fill='none' stroke='#1f77b4' stroke-width='1.5' points='\n");
	for (int i = 0; i < plot->count; i++) {
		if (isfinite(plot->y[i])) {
			fprintf(file, "%.2f,%.2f\n", plot_place_x(plot, plot->x + i),
				plot_place_y(limits, plot->y[i]));
		}
	}
	fprintf(file, "'/>\n</svg>\n");
	int failed = ferror(file);
	failed = fclose(file) || failed;
	if (failed) {
		perror(path);
	}
	return failed;
}

#endif
