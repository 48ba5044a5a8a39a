/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/runtime/device_printf.c against printf of the C library, with the same values: every
 * conversion with random flags, widths, precisions and sizes, and what is special in kernels.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/runtime/device_printf.h"
#include "support/suite.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

/* Arguments as a kernel lays them out. */
static struct {
	_Alignas(8) uint8_t bytes[256];
	size_t size;
} args;

static void push(const void *value, size_t size)
{
	args.size = round_up(args.size, size);
	memcpy(args.bytes + args.size, value, size);
	args.size += size;
}

static char *printed;
static size_t printed_size;

static bool write_file(void *file, const char *text, size_t size)
{
	return fwrite(text, 1, size, file) == size;
}

static int print(const char *format)
{
	FILE *out = open_memstream(&printed, &printed_size);
	ck_assert_ptr_nonnull(out);
	int count = print_device(write_file, out, format, args.bytes);
	fclose(out);
	return count;
}

static void expect(const char *format, int count, const char *want)
{
	int got = print(format);
	ck_assert_msg(strcmp(printed, want) == 0, "\"%s\": \"%s\", not \"%s\"", format, printed,
		want);
	ck_assert_int_eq(got, count);
	free(printed);
	args.size = 0;
}

static uint64_t random_bits(void)
{
	uint64_t bits = (uint64_t)random_below(1 << 24) << 40 ^ (uint64_t)random_below(1 << 24)
		<< 20
		^ random_below(1 << 24);
	return bits >> random_below(64);
}

/* "%-0*.3", and how often a star stands in it, with what for. */
static int random_head(char *head, int stars[2])
{
	static const char flags[] = "#0- +";
	int count = 0;
	*head++ = '%';
	for (size_t i = 0; i < strlen(flags); i++) {
		if (random_below(4) == 0) {
			*head++ = flags[i];
		}
	}
	int width = (int)random_below(30) - 5, precision = (int)random_below(20) - 3;
	switch (random_below(3)) {
	case 0:
		head += sprintf(head, "%d", abs(width) + 1);
		break;
	case 1:
		*head++ = '*';
		stars[count++] = width;
		break;
	default:
		break;
	}
	switch (random_below(4)) {
	case 0:
		head += sprintf(head, ".%d", abs(precision));
		break;
	case 1:
		strcpy(head, ".*");
		head += 2;
		stars[count++] = precision;
		break;
	case 2:
		*head++ = '.';
		break;
	default:
		break;
	}
	*head = '\0';
	return count;
}

/* What the host's printf says of a value of that type, after the stars. */
#define HOST(value) \
	(count == 0 ? snprintf(want, sizeof(want), format, value) \
	: count == 1 ? snprintf(want, sizeof(want), format, stars[0], value) \
	: snprintf(want, sizeof(want), format, stars[0], stars[1], value))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void try_integer(const char *head, const int *stars, int count)
{
	static const char *const sizes[] = {"", "l", "ll", "h", "hh", "z"};
	static const char letters[] = "diouxXc";
	char format[64], want[256];
	const char *size = sizes[random_below(countof(sizes))];
	char letter = letters[random_below(sizeof(letters) - 1)];
	uint64_t value = random_bits();
	if (letter == 'c') {
		size = "";
		value = 'a' + value % 26;
	}
	snprintf(format, sizeof(format), "<%s%s%c>", head, size, letter);
	bool is_long = strchr("lz", size[0]) && size[0];
	if (is_long) {
		push(&value, 8);
		HOST(value);
	} else {
		uint32_t narrow = (uint32_t)value;
		push(&narrow, 4);
		HOST(narrow);
	}
	expect(format, count + 1, want);
}

static void try_real(const char *head, const int *stars, int count)
{
	static const double values[] = {0.0, -0.0, 1.0, -1.5, 0.1, 1e300, 1e-310, INFINITY, NAN};
	static const char letters[] = "fFeEgGaA";
	char format[64], want[512];
	uint64_t bits = random_bits() << random_below(30);
	double value;
	memcpy(&value, &bits, sizeof(value));
	if (random_below(2)) {
		value = values[random_below(countof(values))];
	}
	snprintf(format, sizeof(format), "[%s%c]", head,
		letters[random_below(sizeof(letters) - 1)]);
	push(&value, 8);
	HOST(value);
	expect(format, count + 1, want);
}

static void try_pointer(const char *head, const int *stars, int count)
{
	static const char *const texts[] = {"", "a", "some text", "the quick brown fox"};
	char format[64], want[256];
	const char *text = texts[random_below(countof(texts))];
	snprintf(format, sizeof(format), "%s%c %%%%", head, "sp"[random_below(2)]);
	push(&text, 8);
	HOST(text);
	expect(format, count + 1, want);
}

START_TEST(print_agrees_with_the_c_library)
{
	random_state = (uint32_t)_i;
	for (int i = 0; i < 3000; i++) {
		static void (*const tries[])(const char *, const int *, int) = {try_integer,
			try_real, try_pointer};
		char head[32];
		int stars[2];
		int count = random_head(head, stars);
		for (int k = 0; k < count; k++) {
			push(&stars[k], 4);
		}
		tries[random_below(3)](head, stars, count);
	}
}
END_TEST

#pragma GCC diagnostic pop

START_TEST(print_aligns_each_argument_to_its_size)
{
	int a = 1, b = -2, c = 'x';
	double d = 2.5;
	long long l = -3;
	push(&a, 4);
	push(&d, 8);
	push(&b, 4);
	push(&c, 4);
	push(&l, 8);
	expect("%d %g %d%c %lld\n", 5, "1 2.5 -2x -3\n");
}
END_TEST

START_TEST(print_leaves_alone_what_it_does_not_know)
{
	int value = 7;
	expect("100%", 0, "100%");
	expect("%% %y %", 0, "% %y %");
	push(&value, 4);
	expect("%n%d", 1, "%n7");
	push(&value, 4);
	expect("%-5!%d", 1, "%-5!7");
	expect("", 0, "");
}
END_TEST

START_TEST(print_says_what_went_wrong)
{
	ck_assert_int_eq(print(NULL), -1);
	free(printed);
	FILE *closed = fopen("/dev/null", "r");
	ck_assert_int_eq(print_device(write_file, closed, "text", args.bytes), -2);
	ck_assert_int_eq(errno, EBADF);
	fclose(closed);
}
END_TEST

START_TEST(print_writes_long_texts_or_says_that_it_cannot)
{
	int width = 100000;
	const char *text = "end";
	push(&width, 4);
	push(&text, 8);
	mem_fail_after(0);
	ck_assert_int_eq(print_device(write_file, NULL, "%*s", args.bytes), -2);
	ck_assert_int_eq(errno, ENOMEM);
	mem_fail_after(-1);
	ck_assert_int_eq(print("%*s"), 2);
	ck_assert_uint_eq(printed_size, 100000);
	ck_assert_str_eq(printed + 99997, "end");
	free(printed);
}
END_TEST

SUITE(print)
{
	Suite *s = suite_create("print");
	TCase *tc = suite_add_case(s, "print");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, print_agrees_with_the_c_library, 0, 4);
	tcase_add_tests(tc, 1, print_aligns_each_argument_to_its_size,
		print_leaves_alone_what_it_does_not_know, print_says_what_went_wrong,
		print_writes_long_texts_or_says_that_it_cannot);
	return s;
}
