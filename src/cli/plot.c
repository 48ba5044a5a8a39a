/* SPDX-License-Identifier: MIT */
/*
 * kudzu run --plot: an array as a picture.  Its numbers come to the host as doubles, complex ones
 * as their magnitude; bytes of which the last axis has 3 or 4 are the colours of a picture.
 */
#define _GNU_SOURCE
#include "cli/picture.h"

#include "cli/argument.h"
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	PLOT_COLUMNS = 80,     /* of a terminal that does not tell */
	PLOT_CURVE_LINES = 12,
	PLOT_WIDTH = 640,      /* of a curve in a file */
	PLOT_HEIGHT = 360,
	PLOT_MAX_PIXELS = 1 << 28 /* of a file, whose one chunk has at most 2^31 bytes */
};

static kz_status plot_fail(kz_error *err, kz_status status, const char *message)
{
	if (err->status == KZ_OK) {
		err->status = status;
		snprintf(err->message, sizeof(err->message), "%s", message);
	}
	return status;
}

/* Rows, columns and channels of an array; axes of one element do not count. */
static kz_status plot_set_shape(struct plot *plot, const kz_array *array, kz_error *err)
{
	const kz_shape shape = kz_array_shape(array);
	const int ndim = kz_array_ndim(array);
	const int64_t last = ndim > 0 ? shape.dims[ndim - 1] : 1;
	int64_t extents[2] = {1, 1};
	int count = 0;
	plot->channels = ndim > 2 && kz_array_dtype(array) == KZ_U8 && (last == 3 || last == 4)
		? (int)last : 1;
	for (int i = 0; i < ndim - (plot->channels > 1); i++) {
		if (shape.dims[i] != 1 && count++ < 2) {
			extents[0] = extents[1];
			extents[1] = shape.dims[i];
		}
	}
	plot->rows = extents[0];
	plot->columns = extents[1];
	if (count > 2) {
		return plot_fail(err, KZ_INVALID, "--plot: expected an array of one or two "
			"dimensions, or bytes of three whose last extent is 3 or 4");
	}
	return plot->rows && plot->columns ? KZ_OK
		: plot_fail(err, KZ_INVALID, "--plot: the array has no elements");
}

static void plot_set_limits(struct plot *plot)
{
	plot->low = INFINITY;
	plot->high = -INFINITY;
	for (int64_t i = 0; i < plot->rows * plot->columns * plot->channels; i++) {
		const double value = plot->values[i];
		plot->low = isfinite(value) ? fmin(plot->low, value) : plot->low;
		plot->high = isfinite(value) ? fmax(plot->high, value) : plot->high;
	}
}

/* The numbers of an array, which are freed with free. */
static kz_status plot_read(double **out, kz_array *array, kz_error *err)
{
	const kz_dtype dtype = kz_array_dtype(array);
	kz_array *magnitude = NULL, *numbers = NULL;
	const size_t size = (size_t)kz_array_count(array) * sizeof(**out);
	kz_status st = KZ_OK;
	*out = malloc(size);
	if (!*out) {
		return report_no_memory(err);
	}
	if (((dtype != KZ_C64 && dtype != KZ_C128)
		|| !(st = kz_absolute(&magnitude, array, err)))
	    && !(st = kz_array_astype(&numbers, magnitude ? magnitude : array, KZ_F64, err))) {
		st = kz_array_get(numbers, *out, (int64_t)size, err);
	}
	kz_array_release(magnitude);
	kz_array_release(numbers);
	return st;
}

static int64_t plot_terminal_columns(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
		: PLOT_COLUMNS;
}

/* "y: f32, 64 x 64, 0 to 1.5" */
static void plot_print_title(const char *name, const struct plot *plot, const kz_array *array)
{
	const kz_shape shape = kz_array_shape(array);
	const char *type = argument_dtype_name(kz_array_dtype(array));
	printf("%s: %s[", name, type ? type : kz_dtype_name(kz_array_dtype(array)));
	for (int i = 0; i < kz_array_ndim(array); i++) {
		printf(i ? "x%" PRId64 : "%" PRId64, shape.dims[i]);
	}
	if (plot->low <= plot->high) {
		printf("], %g to %g\n", plot->low, plot->high);
	} else {
		printf("], no number is finite\n");
	}
}

static kz_status plot_print(const char *name, const struct plot *plot, const kz_array *array,
	kz_error *err)
{
	struct picture picture;
	const int64_t columns = plot_terminal_columns();
	if (!picture_draw(&picture, plot, columns,
		    picture_is_curve(plot) ? 2 * PLOT_CURVE_LINES : columns)) {
		return report_no_memory(err);
	}
	plot_print_title(name, plot, array);
	picture_print(&picture, stdout, report_wants_colour(STDOUT_FILENO));
	free(picture.rgb);
	return KZ_OK;
}

static kz_status plot_save(const struct plot *plot, const char *path, kz_error *err)
{
	struct picture picture;
	const bool is_curve = picture_is_curve(plot);
	kz_status st = KZ_OK;
	if (!is_curve && plot->columns > PLOT_MAX_PIXELS / plot->rows) {
		return plot_fail(err, KZ_INVALID,
			"--plot: the array has more elements than a picture can have");
	}
	if (!picture_draw(&picture, plot, is_curve ? PLOT_WIDTH : 0, PLOT_HEIGHT)) {
		return report_no_memory(err);
	}
	if (!picture_save(&picture, path)) {
		char message[sizeof(err->message)];
		snprintf(message, sizeof(message), "cannot write '%.200s': %s", path,
			strerror(errno));
		st = plot_fail(err, KZ_IO, message);
	}
	free(picture.rgb);
	return st;
}

kz_status plot_show(const char *name, kz_array *array, const char *path, kz_error *err)
{
	struct plot plot;
	double *values = NULL;
	kz_status st = plot_set_shape(&plot, array, err);
	if (st == KZ_OK && !(st = plot_read(&values, array, err))) {
		plot.values = values;
		plot_set_limits(&plot);
		st = path ? plot_save(&plot, path, err) : plot_print(name, &plot, array, err);
	}
	free(values);
	return st;
}
