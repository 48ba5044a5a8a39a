/* SPDX-License-Identifier: MIT */
/*
 * Draws numbers as pixels.
 *
 * A matrix has a pixel for each element, from dark blue for the least to yellow for the greatest,
 * and red for a NaN.  If it is larger than the space, a pixel is the mean of the elements that it
 * covers; if it is smaller, an element is a square of pixels.  A row is a curve: each column of
 * pixels is filled from the least to the greatest of its elements, and to the column before, as
 * oscilloscopes do, so that no peak is lost however long the row is.
 *
 * A terminal shows two rows of pixels in a line of text, by the character for an upper half block
 * in the colour of the upper pixel, on the colour of the lower one.
 */
#include "cli/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char not_a_number[3] = {230, 40, 40};

/* The colour of 0 to 1: ten points of matplotlib's viridis (public domain), and lines between. */
static void picture_map(unsigned char *out, double value)
{
	static const unsigned char points[][3] = {{68, 1, 84}, {72, 40, 120}, {62, 74, 137},
		{49, 104, 142}, {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {109, 205, 89},
		{180, 222, 44}, {253, 231, 37}};
	const int last = sizeof(points) / sizeof(*points) - 1;
	const double place = fmin(fmax(value, 0), 1) * last;
	const int index = place < last ? (int)place : last - 1;
	for (int k = 0; k < 3; k++) {
		out[k] = (unsigned char)lrint(points[index][k]
			+ (place - index) * (points[index + 1][k] - points[index][k]));
	}
}

static double picture_level(const struct plot *plot, double value)
{
	return plot->high > plot->low ? (value - plot->low) / (plot->high - plot->low) : 0.5;
}

/* Matrices */

/* The pixel for the elements [row, row_end) x [column, column_end). */
static void picture_mix(unsigned char *out, const struct plot *plot, int64_t row, int64_t row_end,
	int64_t column, int64_t column_end)
{
	double sums[3] = {0};
	const double count = (double)(row_end - row) * (double)(column_end - column);
	for (int64_t i = row; i < row_end; i++) {
		for (int64_t j = column; j < column_end; j++) {
			const double *element = plot->values
				+ (i * plot->columns + j) * plot->channels;
			for (int k = 0; k < (plot->channels > 1 ? 3 : 1); k++) {
				sums[k] += element[k];
			}
		}
	}
	if (plot->channels > 1) {
		for (int k = 0; k < 3; k++) {
			out[k] = (unsigned char)lrint(sums[k] / count);
		}
	} else if (isnan(sums[0])) {
		memcpy(out, not_a_number, 3);
	} else {
		picture_map(out, picture_level(plot, sums[0] / count));
	}
}

/* As large as fits; a smaller matrix fills at most half of the space, an element in whole
 * pixels. */
static void picture_fit(struct picture *out, const struct plot *plot, int64_t width,
	int64_t height)
{
	out->width = plot->columns;
	out->height = plot->rows;
	if (!width) {
		return;
	}
	if (out->width > width || out->height > height) {
		const double scale = fmin((double)width / (double)plot->columns,
			(double)height / (double)plot->rows);
		out->width = (int64_t)fmax(1, floor(scale * (double)plot->columns));
		out->height = (int64_t)fmax(1, floor(scale * (double)plot->rows));
	} else {
		const int64_t across = width / 2 / plot->columns, down = height / 2 / plot->rows;
		const int64_t times = across < down ? across : down;
		out->width *= times > 1 ? times : 1;
		out->height *= times > 1 ? times : 1;
	}
}

static void picture_fill(const struct picture *picture, const struct plot *plot)
{
	const int64_t width = picture->width, height = picture->height;
	for (int64_t y = 0; y < height; y++) {
		const int64_t row = y * plot->rows / height;
		int64_t row_end = (y + 1) * plot->rows / height;
		row_end = row_end > row ? row_end : row + 1;
		for (int64_t x = 0; x < width; x++) {
			const int64_t column = x * plot->columns / width;
			const int64_t end = (x + 1) * plot->columns / width;
			picture_mix(picture->rgb + 3 * (y * width + x), plot, row, row_end, column,
				end > column ? end : column + 1);
		}
	}
}

/* Curves */

static int64_t picture_height_of(const struct plot *plot, int64_t height, double value)
{
	const double level = fmin(fmax(picture_level(plot, value), 0), 1);
	return height - 1 - (int64_t)lrint(level * (double)(height - 1));
}

static void picture_trace(const struct picture *picture, const struct plot *plot)
{
	const int64_t width = picture->width, height = picture->height;
	double before = NAN; /* the last value to the left */
	for (int64_t x = 0; x < width; x++) {
		const int64_t first = x * plot->columns / width;
		int64_t end = (x + 1) * plot->columns / width;
		end = end > first ? end : first + 1;
		double low = before, high = before;
		bool has_nan = false;
		for (int64_t i = first; i < end; i++) {
			const double value = plot->values[i];
			has_nan = has_nan || isnan(value);
			low = fmin(low, value); /* of a number and a NaN the number */
			high = fmax(high, value);
		}
		before = plot->values[end - 1];
		const int64_t top = isnan(low) ? 0 : picture_height_of(plot, height, high);
		const int64_t bottom = isnan(low) ? -1 : picture_height_of(plot, height, low);
		for (int64_t y = 0; y < height; y++) {
			unsigned char *pixel = picture->rgb + 3 * (y * width + x);
			if (y >= top && y <= bottom) {
				memset(pixel, 255, 3);
			} else if (has_nan && y == height - 1) {
				memcpy(pixel, not_a_number, 3);
			}
		}
	}
}

bool picture_is_curve(const struct plot *plot)
{
	return plot->rows == 1 && plot->channels == 1;
}

bool picture_draw(struct picture *out, const struct plot *plot, int64_t width, int64_t height)
{
	const bool is_curve = picture_is_curve(plot);
	if (is_curve) {
		out->width = width;
		out->height = height;
	} else {
		picture_fit(out, plot, width, height);
	}
	out->rgb = calloc((size_t)out->height, 3 * (size_t)out->width);
	if (!out->rgb) {
		return false;
	}
	if (is_curve) {
		picture_trace(out, plot);
	} else {
		picture_fill(out, plot);
	}
	return true;
}

/* Terminals */

/* Whether a pixel is light, by ordered dithering: the limits of a square of 4 x 4 pixels are
 * spread over all levels of brightness (Bayer 1973). */
static bool picture_is_light(const struct picture *picture, int64_t x, int64_t y)
{
	static const int limits[4][4] = {
		{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
	const unsigned char *pixel = picture->rgb + 3 * (y * picture->width + x);
	const double luma = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
	return luma > 255.0 / 16 * (limits[y % 4][x % 4] + 0.5);
}

static void picture_print_dots(const struct picture *picture, int64_t y, FILE *file)
{
	static const char *const blocks[] = {" ", "\u2580", "\u2584", "\u2588"};
	const bool has_lower = y + 1 < picture->height;
	for (int64_t x = 0; x < picture->width; x++) {
		const int upper = picture_is_light(picture, x, y);
		const int lower = has_lower && picture_is_light(picture, x, y + 1);
		fputs(blocks[upper + 2 * lower], file);
	}
}

static void picture_print_colours(const struct picture *picture, int64_t y, FILE *file)
{
	for (int64_t x = 0; x < picture->width; x++) {
		const unsigned char *upper = picture->rgb + 3 * (y * picture->width + x);
		fprintf(file, "\033[38;2;%d;%d;%dm", upper[0], upper[1], upper[2]);
		if (y + 1 < picture->height) {
			const unsigned char *lower = upper + 3 * picture->width;
			fprintf(file, "\033[48;2;%d;%d;%dm", lower[0], lower[1], lower[2]);
		}
		fputs("\u2580", file);
	}
	fputs("\033[0m", file);
}

void picture_print(const struct picture *picture, FILE *file, bool colour)
{
	for (int64_t y = 0; y < picture->height; y += 2) {
		if (colour) {
			picture_print_colours(picture, y, file);
		} else {
			picture_print_dots(picture, y, file);
		}
		fputc('\n', file);
	}
}
