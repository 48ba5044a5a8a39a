/* SPDX-License-Identifier: MIT */
/*
 * Writes pictures as PNG files (ISO/IEC 15948), which every program for pictures shows.
 *
 * The pixels are not compressed: deflate has blocks of bytes as they are (RFC 1951, 3.2.4), and a
 * picture of an array is looked at once.  So the command needs no library for it.
 */
#include "cli/picture.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PNG_BLOCK = 65535 }; /* the most bytes of a block of deflate */

/* A file, and the checksums of what is being written. */
struct png {
	FILE *file;
	uint32_t crc;    /* of the chunk: ISO 3309, bits reversed */
	uint32_t a, b;   /* of the pixels: Adler-32 (RFC 1950) */
};

static void png_put(struct png *png, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	for (size_t i = 0; i < size; i++) {
		png->crc ^= bytes[i];
		for (int k = 0; k < 8; k++) {
			png->crc = png->crc >> 1 ^ (png->crc & 1 ? 0xedb88320u : 0);
		}
	}
	fwrite(data, 1, size, png->file);
}

static void png_put_u32(struct png *png, uint32_t value)
{
	const unsigned char bytes[] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
		(unsigned char)(value >> 8), (unsigned char)value};
	png_put(png, bytes, sizeof(bytes));
}

/* The checksum covers the name and the data. */
static void png_begin_chunk(struct png *png, const char *name, uint32_t size)
{
	png_put_u32(png, size);
	png->crc = ~0u;
	png_put(png, name, 4);
}

static void png_end_chunk(struct png *png)
{
	png_put_u32(png, ~png->crc);
}

/* A row of pixels in blocks of their own; its first byte says that it is not filtered. */
static void png_put_row(struct png *png, const unsigned char *pixels, size_t size, bool is_last)
{
	size_t left = size + 1;
	for (bool is_first = true; left > 0; is_first = false) {
		const size_t count = left < PNG_BLOCK ? left : PNG_BLOCK;
		const unsigned char head[] = {is_last && left == count, (unsigned char)count,
			(unsigned char)(count >> 8), (unsigned char)~count,
			(unsigned char)(~count >> 8), 0};
		const size_t data = is_first ? count - 1 : count;
		png_put(png, head, is_first ? 6 : 5);
		png_put(png, pixels, data);
		if (is_first) {
			png->b = (png->b + png->a) % 65521; /* of the byte 0 */
		}
		for (size_t i = 0; i < data; i++) {
			png->a = (png->a + pixels[i]) % 65521;
			png->b = (png->b + png->a) % 65521;
		}
		pixels += data;
		left -= count;
	}
}

static void png_put_picture(struct png *png, const struct picture *picture)
{
	static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	static const unsigned char kind[] = {8, 2, 0, 0, 0}; /* RGB, 8 bits each */
	const size_t size = 3 * (size_t)picture->width;
	const size_t blocks = size / PNG_BLOCK + 1;
	png_put(png, signature, sizeof(signature));
	png_begin_chunk(png, "IHDR", 13);
	png_put_u32(png, (uint32_t)picture->width);
	png_put_u32(png, (uint32_t)picture->height);
	png_put(png, kind, sizeof(kind));
	png_end_chunk(png);
	png_begin_chunk(png, "IDAT",
		(uint32_t)(2 + (size_t)picture->height * (size + 1 + 5 * blocks) + 4));
	png_put(png, "\x78\x01", 2);
	for (int64_t y = 0; y < picture->height; y++) {
		png_put_row(png, picture->rgb + (size_t)y * size, size, y + 1 == picture->height);
	}
	png_put_u32(png, png->b << 16 | png->a);
	png_end_chunk(png);
	png_begin_chunk(png, "IEND", 0);
	png_end_chunk(png);
}

bool picture_save(const struct picture *picture, const char *path)
{
	struct png png = {.file = fopen(path, "wb"), .a = 1};
	if (!png.file) {
		return false;
	}
	png_put_picture(&png, picture);
	const bool failed = ferror(png.file);
	return fclose(png.file) == 0 && !failed;
}
