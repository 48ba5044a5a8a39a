/* SPDX-License-Identifier: MIT */
#ifndef IMAGE_H
#define IMAGE_H

/* PNG files of RGB pixels, by libpng's simplified interface.  Both functions return 0, or print why
 * they failed and return 1. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write rows of 3 * width bytes. */
static inline int image_write(const char *path, const unsigned char *pixels, int width, int height)
{
	png_image image;
	memset(&image, 0, sizeof(image));
	image.version = PNG_IMAGE_VERSION;
	image.width = (png_uint_32)width;
	image.height = (png_uint_32)height;
	image.format = PNG_FORMAT_RGB;
	if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL)) {
		fprintf(stderr, "%s: not written: %s\n", path, image.message);
		return 1;
	}
	return 0;
}

/* Read a picture of any kind of pixels as RGB; the caller frees it. */
static inline int image_read(const char *path, unsigned char **pixels, int *width, int *height)
{
	png_image image;
	memset(&image, 0, sizeof(image));
	image.version = PNG_IMAGE_VERSION;
	*pixels = NULL;
	if (png_image_begin_read_from_file(&image, path)) {
		image.format = PNG_FORMAT_RGB;
		*pixels = malloc(PNG_IMAGE_SIZE(image));
		if (*pixels && png_image_finish_read(&image, NULL, *pixels, 0, NULL)) {
			*width = (int)image.width;
			*height = (int)image.height;
			return 0;
		}
		free(*pixels);
		*pixels = NULL;
		png_image_free(&image);
	}
	fprintf(stderr, "%s: cannot be read as a PNG: %s\n", path,
		image.message[0] ? image.message : "no memory");
	return 1;
}

#endif
