/* SPDX-License-Identifier: MIT */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

/* Pixels, as `kudzu run --plot` draws arrays: on a terminal, or in a PNG file. */
#include <kudzu/kudzu.h>

#include <stdbool.h>
#include <stdio.h>

struct picture {
	int64_t width, height;
	unsigned char *rgb; /* rows of 3 * width bytes; freed with free */
};

/* What to draw, and within how many pixels. */
struct plot {
	const double *values; /* row-major */
	int64_t rows, columns;
	int channels;         /* 1, or 3 and 4 for bytes that are colours */
	double low, high;     /* of the values that are finite */
};

/* Whether it is one row of numbers, which is drawn as a curve. */
bool picture_is_curve(const struct plot *plot);
/* Draw a matrix, an element a pixel, or one row as a curve.  The picture is scaled to fit into
 * `width` times `height` pixels; 0 keeps a matrix as large as it is.  False without memory. */
bool picture_draw(struct picture *out, const struct plot *plot, int64_t width, int64_t height);
/* Print two rows of pixels a line; without colours, light and dark are dots. */
void picture_print(const struct picture *picture, FILE *file, bool colour);
/* False, with errno, if the file cannot be written. */
bool picture_save(const struct picture *picture, const char *path);

/* plot.c: show an array on standard output, under its name, or save it as a PNG file; path NULL:
 * the former. */
kz_status plot_show(const char *name, kz_array *array, const char *path, kz_error *err);

#endif
