/* SPDX-License-Identifier: MIT */
/* Arrays as pixels, pixels as text, and the line that says what takes so long. */
#define _GNU_SOURCE
#include "cli/picture.h"
#include "cli/progress.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DARK = 0x440154, LIGHT = 0xfde725, RED = 0xe62828, WHITE = 0xffffff };

static unsigned pixel_at(const struct picture *picture, int64_t x, int64_t y)
{
	const unsigned char *rgb = picture->rgb + 3 * (y * picture->width + x);
	return (unsigned)(rgb[0] << 16 | rgb[1] << 8 | rgb[2]);
}

static struct picture drawn(const struct plot *plot, int64_t width, int64_t height)
{
	struct picture picture;
	ck_assert(picture_draw(&picture, plot, width, height));
	return picture;
}

START_TEST(the_least_is_dark_the_greatest_light_and_a_nan_red)
{
	const double values[] = {-2, 6, NAN, 6, -2, INFINITY};
	const struct plot plot = {values, 2, 3, 1, -2, 6};
	const unsigned expected[] = {DARK, LIGHT, RED, LIGHT, DARK, LIGHT};
	struct picture picture = drawn(&plot, 0, 0);
	ck_assert_int_eq(picture.width, 3);
	ck_assert_int_eq(picture.height, 2);
	for (int i = 0; i < 6; i++) {
		ck_assert_uint_eq(pixel_at(&picture, i % 3, i / 3), expected[i]);
	}
	free(picture.rgb);
}
END_TEST

START_TEST(a_matrix_is_scaled_to_fit)
{
	double values[40 * 20];
	for (int i = 0; i < 40 * 20; i++) {
		values[i] = i % 2; /* each pixel covers as many of both */
	}
	struct picture smaller = drawn(&(struct plot){values, 40, 20, 1, 0, 1}, 10, 10);
	ck_assert_int_eq(smaller.width, 5);
	ck_assert_int_eq(smaller.height, 10);
	const unsigned middle = pixel_at(&smaller, 0, 0);
	ck_assert(middle != DARK && middle != LIGHT);
	ck_assert_uint_eq(pixel_at(&smaller, 4, 9), middle);
	struct picture larger = drawn(&(struct plot){values, 1 + 1, 2, 1, 0, 1}, 12, 8);
	ck_assert_int_eq(larger.width, 4);
	ck_assert_int_eq(larger.height, 4);
	ck_assert_uint_eq(pixel_at(&larger, 1, 1), DARK);
	ck_assert_uint_eq(pixel_at(&larger, 2, 1), LIGHT);
	free(larger.rgb);
	free(smaller.rgb);
}
END_TEST

START_TEST(bytes_with_channels_are_colours)
{
	const double values[] = {1, 2, 3, 255, 250, 0, 128, 7};
	struct picture picture = drawn(&(struct plot){values, 1, 2, 4, 0, 255}, 0, 0);
	ck_assert_uint_eq(pixel_at(&picture, 0, 0), 0x010203);
	ck_assert_uint_eq(pixel_at(&picture, 1, 0), 0xfa0080);
	free(picture.rgb);
}
END_TEST

START_TEST(a_curve_keeps_its_peaks)
{
	double values[1000] = {0};
	values[437] = 5;
	values[900] = NAN;
	struct picture picture = drawn(&(struct plot){values, 1, 1000, 1, 0, 5}, 10, 4);
	for (int64_t x = 0; x < 10; x++) {
		ck_assert_uint_eq(pixel_at(&picture, x, 0), x == 4 ? WHITE : 0);
		ck_assert_uint_eq(pixel_at(&picture, x, 3), WHITE);
	}
	free(picture.rgb);
}
END_TEST

START_TEST(a_curve_shows_where_there_are_only_nans)
{
	const double values[] = {1, NAN, NAN, 0};
	struct picture picture = drawn(&(struct plot){values, 1, 4, 1, 0, 1}, 4, 4);
	ck_assert_uint_eq(pixel_at(&picture, 0, 0), WHITE);
	ck_assert_uint_eq(pixel_at(&picture, 2, 0), 0);
	ck_assert_uint_eq(pixel_at(&picture, 2, 3), RED);
	ck_assert_uint_eq(pixel_at(&picture, 3, 3), WHITE);
	ck_assert_uint_eq(pixel_at(&picture, 3, 0), 0);
	free(picture.rgb);
}
END_TEST

/* Three rows, so the last line of text has one row of pixels only. */
static const struct {
	bool colour;
	const char *text;
} prints[] = {
	{false, "\u2580\u2584\u2588 \n  \u2580 \n"},
	{true, "\033[38;2;255;255;255m\033[48;2;0;0;0m\u2580"
		"\033[38;2;0;0;0m\033[48;2;255;255;255m\u2580"
		"\033[38;2;255;255;255m\033[48;2;255;255;255m\u2580"
		"\033[38;2;0;0;0m\033[48;2;0;0;0m\u2580\033[0m\n"
		"\033[38;2;0;0;0m\u2580\033[38;2;0;0;0m\u2580\033[38;2;255;255;255m\u2580"
		"\033[38;2;0;0;0m\u2580\033[0m\n"},
};

START_TEST(two_rows_of_pixels_are_a_line_of_text)
{
	static const char pixels[] = "#.#." ".##." "..#.";
	unsigned char rgb[3 * 12];
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	for (int i = 0; i < 12; i++) {
		memset(rgb + 3 * i, pixels[i] == '#' ? 255 : 0, 3);
	}
	picture_print(&(struct picture){4, 3, rgb}, file, prints[_i].colour);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(text, prints[_i].text);
	free(text);
}
END_TEST

/* Read from a terminal until a text is there. */
static void await(int terminal, char *out, size_t size, const char *text)
{
	size_t count = 0;
	do {
		ssize_t got = read(terminal, out + count, size - 1 - count);
		ck_assert_int_gt(got, 0);
		count += (size_t)got;
		out[count] = '\0';
	} while (!strstr(out, text));
}

START_TEST(progress_is_shown_on_a_terminal_and_removed)
{
	char text[256];
	int terminal, other;
	ck_assert_int_eq(openpty(&terminal, &other, NULL, NULL, NULL), 0);
	ck_assert_int_eq(dup2(other, STDERR_FILENO), STDERR_FILENO);
	progress_begin("compiling '%s'", "x.cu");
	await(terminal, text, sizeof(text), " s");
	ck_assert_str_eq(text, "\rcompiling 'x.cu', 1 s");
	progress_end();
	await(terminal, text, sizeof(text), "\033[K");
	progress_begin("what is quick");
	progress_end();
	fputs("next", stderr);
	await(terminal, text, sizeof(text), "next");
	ck_assert_str_eq(text, "next");
}
END_TEST

SUITE(picture)
{
	Suite *s = suite_create("picture");
	TCase *tc = suite_add_case(s, "pixels");
	tcase_add_test(tc, the_least_is_dark_the_greatest_light_and_a_nan_red);
	tcase_add_test(tc, a_matrix_is_scaled_to_fit);
	tcase_add_test(tc, bytes_with_channels_are_colours);
	tcase_add_test(tc, a_curve_keeps_its_peaks);
	tcase_add_test(tc, a_curve_shows_where_there_are_only_nans);
	tcase_add_loop_test(tc, two_rows_of_pixels_are_a_line_of_text, 0,
		sizeof(prints) / sizeof(*prints));
	tc = suite_add_case(s, "progress");
	tcase_add_test(tc, progress_is_shown_on_a_terminal_and_removed);
	return s;
}
