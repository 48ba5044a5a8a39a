/* SPDX-License-Identifier: MIT */
/*
 * printf of kernels.  The host's snprintf does each conversion, in a form in which width and
 * precision are arguments and integers are long long.  A conversion that printf does not have is
 * printed as it stands in the format, and takes no argument.
 *
 * The format and the strings are memory of the kernel, which may not exist.  A fault leaves by a
 * jump, so everything is read, and its length known, before memory is allocated for a text that is
 * too long for the stack.
 */
#include "base/common.h"

#include "cpu/runtime/device_printf.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/mem/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *data;
	size_t len;    /* more than cap if it did not fit */
	size_t cap;
	int error;     /* errno; 0: none */
};

/* The arguments that have not been printed yet. */
struct args {
	const uint8_t *next;
	int count;     /* taken so far */
};

/* One conversion of a format. */
struct conversion {
	char flags[8];
	int width;
	int precision; /* -1: none */
	size_t size;   /* of an integer */
	char letter;
};

static void printf_add(struct text *text, const char *from, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text->len + i < text->cap) {
			text->data[text->len + i] = from[i];
		}
	}
	text->len += len;
}

static void printf_take(struct args *args, void *out, size_t size)
{
	uintptr_t at = ((uintptr_t)args->next + size - 1) & ~(uintptr_t)(size - 1);
	memcpy(out, (const void *)at, size);
	args->next = (const uint8_t *)at + size;
	args->count++;
}

static int printf_take_int(struct args *args)
{
	int value;
	printf_take(args, &value, sizeof(value));
	return value;
}

/* Read digits, or the next argument for a star.  *found says whether there are any. */
static int printf_read_number(const char **format, struct args *args, bool *found)
{
	const char *p = *format;
	long value = 0;
	*found = *p == '*' || (*p >= '0' && *p <= '9');
	if (*p == '*') {
		*format = p + 1;
		return printf_take_int(args);
	}
	for (; *p >= '0' && *p <= '9'; p++) {
		value = value < INT32_MAX / 10 - 1 ? value * 10 + (*p - '0') : value;
	}
	*format = p;
	return (int)value;
}

static void printf_read_size(struct conversion *c, const char **format)
{
	static const struct {
		const char *letters;
		size_t size;
	} sizes[] = {{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 8}, {"j", 8}, {"z", 8}, {"t", 8}};
	c->size = sizeof(int);
	for (size_t i = 0; i < countof(sizes); i++) {
		size_t len = strlen(sizes[i].letters);
		if (strncmp(*format, sizes[i].letters, len) == 0) {
			c->size = sizes[i].size;
			*format += len;
			return;
		}
	}
}

/* Read a conversion after its %.  False if it is not a valid one. */
static bool printf_read_conversion(struct conversion *c, const char **format, struct args *args)
{
	size_t flags = 0;
	bool found;
	memset(c, 0, sizeof(*c));
	for (; **format != '\0' && strchr("#0- +", **format); ++*format) {
		if (!strchr(c->flags, **format)) {
			c->flags[flags++] = **format;
		}
	}
	c->width = printf_read_number(format, args, &found);
	c->precision = -1;
	if (**format == '.') {
		++*format;
		c->precision = printf_read_number(format, args, &found);
	}
	printf_read_size(c, format);
	c->letter = **format;
	if (c->letter == '\0' || !strchr("diouxXcspfFeEgGaA", c->letter)) {
		return false;
	}
	++*format;
	return true;
}

static long long printf_take_signed(struct args *args, size_t size)
{
	long long value;
	if (size == 8) {
		printf_take(args, &value, sizeof(value));
		return value;
	}
	int narrow = printf_take_int(args);
	return size == 1 ? (signed char)narrow : size == 2 ? (short)narrow : narrow;
}

static unsigned long long printf_take_unsigned(struct args *args, size_t size)
{
	unsigned long long value = (unsigned long long)printf_take_signed(args, size);
	return size == 8 ? value : value & ((1ull << 8 * size) - 1);
}

/* Print one value with snprintf. */
static void printf_convert(struct text *text, const struct conversion *c, struct args *args)
{
	char spec[24];
	bool is_integer = strchr("diouxX", c->letter);
	size_t room = text->len < text->cap ? text->cap - text->len : 0;
	char *out = room > 0 ? text->data + text->len : NULL;
	int len;
	snprintf(spec, sizeof(spec), "%%%s*.*%s%c", c->flags, is_integer ? "ll" : "", c->letter);
	if (c->letter == 'd' || c->letter == 'i') {
		len = snprintf(out, room, spec, c->width, c->precision,
			printf_take_signed(args, c->size));
	} else if (is_integer) {
		len = snprintf(out, room, spec, c->width, c->precision,
			printf_take_unsigned(args, c->size));
	} else if (c->letter == 'c') {
		len = snprintf(out, room, spec, c->width, c->precision, printf_take_int(args));
	} else if (c->letter == 's' || c->letter == 'p') {
		const void *pointer;
		printf_take(args, &pointer, sizeof(pointer));
		len = snprintf(out, room, spec, c->width, c->precision, pointer);
	} else {
		double value;
		printf_take(args, &value, sizeof(value));
		len = str_format(out, room, spec, c->width, c->precision, value);
	}
	text->error = len < 0 ? EOVERFLOW : text->error;
	text->len += len > 0 ? (size_t)len : 0;
}

/* Print everything; the number of arguments. */
static int printf_format(struct text *text, const char *format, const uint8_t *first)
{
	struct args args = {first, 0};
	while (*format != '\0') {
		size_t plain = strcspn(format, "%");
		printf_add(text, format, plain);
		format += plain;
		if (*format == '\0') {
			break;
		}
		const char *start = format++;
		struct conversion c;
		if (*format == '%') {
			printf_add(text, format++, 1);
		} else if (printf_read_conversion(&c, &format, &args)) {
			printf_convert(text, &c, &args);
		} else {
			printf_add(text, start, (size_t)(format - start));
		}
	}
	return args.count;
}

/* Print the text once more into memory if the stack was too small for it, and write it. */
static bool printf_write_text(print_write_fn *write, void *to, struct text text, const char *format,
	const uint8_t *args)
{
	char *memory = NULL;
	if (text.len >= text.cap && !text.error) {
		size_t cap = text.len + 1;
		memory = mem_alloc(cap);
		text = (struct text){.data = memory, .cap = cap, .error = memory ? 0 : ENOMEM};
		if (memory) {
			printf_format(&text, format, args);
		}
	}
	size_t len = text.len < text.cap ? text.len : text.cap - 1;
	if (!text.error && len > 0 && !write(to, text.data, len)) {
		text.error = errno;
	}
	mem_free(memory);
	errno = text.error;
	return !text.error;
}

int print_device(print_write_fn *write, void *to, const char *format, const uint8_t *args)
{
	char buffer[1024];
	struct text text = {.data = buffer, .cap = sizeof(buffer)};
	if (!format) {
		return -1;
	}
	fault_hold(); // snprintf may hold the lock of malloc
	int count = printf_format(&text, format, args);
	bool ok = printf_write_text(write, to, text, format, args);
	fault_release();
	return ok ? count : PRINT_LOST;
}
