/* SPDX-License-Identifier: MIT */
/*
 * An image as bytes, and back.
 *
 * A mark with the version of the format, then the fields of struct rtc_image.  Numbers are as many
 * bytes as they need, of 7 bits each, lowest first, and all but the last with the eighth set; a text
 * is its length + 1, its bytes and a zero, and one that is not there is a 0.  So an image that is
 * read has its texts where they lie in the bytes: of a thousand kernels nothing is copied, and three
 * pieces of memory are all that there are.
 *
 * Most of a big module's kernels take the same parameters as another one, and are called what their
 * symbol is: that is said in a number each, and the kernels share one list.  New memory costs more
 * than reading does, by far, so what counts is how many bytes there are. 
 *
 * The reader takes nothing for granted: each length is compared with what is left, each count with
 * what that many items must take at least.  Whether the bytes are those that were written is for who
 * keeps them to know, by a checksum.
 */
#include "base/common.h"

#include "cache/pack.h"

#include "base/alloc.h"

#include <endian.h>
#include <string.h>

/* Change it with the format. */
static const char mark[8] = {'k', 'z', 'i', 'm', 'a', 'g', 'e', '7'};

/* A new field must be packed, too. */
_Static_assert(sizeof(struct rtc_image) == 104, "pack the new field of struct rtc_image");
_Static_assert(sizeof(struct rtc_kernel) == 40, "pack the new field of struct rtc_kernel");
_Static_assert(sizeof(struct rtc_variable) == 56, "pack the new field of struct rtc_variable");
_Static_assert(sizeof(struct rtc_param) == 32, "pack the new field of struct rtc_param");

/* The fewest bytes of a parameter, of a kernel and of a variable. */
enum { PARAM_SIZE = 4, KERNEL_SIZE = 5, VARIABLE_SIZE = 10 };
/* The most of a number. */
enum { NUMBER_SIZE = 10 };

static void add_number(struct str *out, uint64_t value)
{
	char bytes[NUMBER_SIZE];
	size_t size = 0;
	for (; value >= 0x80; value >>= 7) {
		bytes[size++] = (char)(value | 0x80);
	}
	bytes[size++] = (char)value;
	str_addn(out, bytes, size);
}

/* One that is always 8 bytes: it is not known yet, or any. */
static void add_fixed(struct str *out, uint64_t value)
{
	uint64_t bytes = htole64(value);
	str_addn(out, (const char *)&bytes, sizeof(bytes));
}

static void set_fixed(struct str *out, size_t at, uint64_t value)
{
	uint64_t bytes = htole64(value);
	if (!out->failed) {
		memcpy(out->data + at, &bytes, sizeof(bytes));
	}
}

/* From -1 up. */
static void add_extent(struct str *out, int64_t value)
{
	add_number(out, (uint64_t)value + 1);
}

/* The data of an image, 16 bytes from the start: machine code is read as structs. */
static void add_bytes(struct str *out, const char *data, size_t size)
{
	add_fixed(out, size);
	str_addn(out, data, size);
	str_addc(out, '\0');
}

static void add_text(struct str *out, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	add_number(out, text ? size + 1 : 0);
	if (text) {
		str_addn(out, text, size + 1);
	}
}

static void add_param(struct str *out, const struct rtc_param *param)
{
	add_number(out, (uint64_t)param->kind);
	add_extent(out, param->size);
	add_extent(out, param->offset);
	add_text(out, param->type);
}

/* Which kernel had a list of parameters first, as far as one place for each hash tells. */
struct lists {
	size_t first[256]; /* its number + 1 */
};

static bool same_params(const struct rtc_kernel *a, const struct rtc_kernel *b)
{
	bool same = a->param_count == b->param_count;
	for (size_t i = 0; same && i < a->param_count; i++) {
		const struct rtc_param *x = &a->params[i], *y = &b->params[i];
		same = x->kind == y->kind && x->size == y->size && x->offset == y->offset
			&& !x->type == !y->type && (!x->type || strcmp(x->type, y->type) == 0);
	}
	return same;
}

/* Not of the types: they follow from the rest, nearly always. */
static size_t list_place(const struct rtc_kernel *kernel)
{
	uint64_t hash = kernel->param_count;
	for (size_t i = 0; i < kernel->param_count; i++) {
		const struct rtc_param *param = &kernel->params[i];
		hash = hash * 31 + (uint64_t)param->size * 8 + (uint64_t)param->kind;
	}
	return (hash * 0x9e3779b97f4a7c15u) >> 56;
}

/* The number + 1 of an earlier kernel with the same parameters, 0 if there is none: remember this. */
static size_t find_like(struct lists *lists, const struct rtc_image *image, size_t i)
{
	const struct rtc_kernel *kernel = &image->kernels[i];
	size_t *place = &lists->first[list_place(kernel)];
	size_t like = *place;
	if (like > 0 && same_params(&image->kernels[like - 1], kernel)) {
		return like;
	}
	*place = i + 1;
	return 0;
}

static void add_kernel(struct str *out, const struct rtc_kernel *kernel, size_t like)
{
	bool is_plain = strcmp(kernel->name, kernel->lowered) == 0;
	add_text(out, kernel->name);
	add_text(out, is_plain ? NULL : kernel->lowered);
	add_number(out, kernel->params_known);
	add_number(out, like);
	if (like > 0) {
		return;
	}
	add_number(out, kernel->param_count);
	for (size_t i = 0; i < kernel->param_count; i++) {
		add_param(out, &kernel->params[i]);
	}
}

/* How many there are in all goes before them, when it is known. */
static void add_kernels(struct str *out, const struct rtc_image *image)
{
	struct lists lists = {{0}};
	uint64_t count = 0;
	add_number(out, image->kernel_count);
	size_t at = out->len;
	add_fixed(out, 0);
	for (size_t i = 0; i < image->kernel_count; i++) {
		size_t like = find_like(&lists, image, i);
		add_kernel(out, &image->kernels[i], like);
		count += like > 0 ? 0 : image->kernels[i].param_count;
	}
	set_fixed(out, at, count);
}

static void add_variable(struct str *out, const struct rtc_variable *variable)
{
	add_text(out, variable->name);
	add_text(out, variable->lowered);
	add_text(out, variable->type);
	add_extent(out, variable->size);
	add_extent(out, variable->align);
	add_number(out, (uint64_t)variable->space);
	add_number(out, (uint64_t)variable->kind);
	add_extent(out, variable->element_size);
}

/* All but mark and data. */
static void add_facts(struct str *out, const struct rtc_image *image)
{
	add_number(out, image->is_ptx);
	add_number(out, image->is_lto);
	add_text(out, image->arch);
	add_text(out, image->log);
	add_text(out, image->templates);
	add_kernels(out, image);
	add_number(out, image->variable_count);
	for (size_t i = 0; i < image->variable_count; i++) {
		add_variable(out, &image->variables[i]);
	}
}

void pack_image(struct str *out, const struct rtc_image *image)
{
	str_addn(out, mark, sizeof(mark));
	add_bytes(out, image->data, image->size);
	add_facts(out, image);
}

/* What is left to read; once something was wrong, all that follows is nothing. */
struct reader {
	char *at;
	size_t left;
	struct rtc_param *params; /* those that no kernel has yet */
	size_t param_count;
	bool bad;
	bool no_memory;
};

static uint64_t read_fixed(struct reader *in)
{
	uint64_t value;
	if (in->bad || in->left < sizeof(value)) {
		in->bad = true;
		return 0;
	}
	memcpy(&value, in->at, sizeof(value));
	in->at += sizeof(value);
	in->left -= sizeof(value);
	return le64toh(value);
}

static uint64_t read_number(struct reader *in)
{
	uint64_t value = 0;
	if (likely(in->left > 0 && !in->bad && (uint8_t)*in->at < 0x80)) {
		in->left--;
		return (uint8_t)*in->at++;
	}
	for (size_t i = 0; i < in->left && i < NUMBER_SIZE && !in->bad; i++) {
		uint64_t byte = (uint8_t)in->at[i];
		value |= (byte & 0x7f) << (7 * i);
		if (byte < 0x80 && (i < NUMBER_SIZE - 1 || byte <= 1)) {
			in->at += i + 1;
			in->left -= i + 1;
			return value;
		}
	}
	in->bad = true;
	return 0;
}

/* What may be up to `max`. */
static uint64_t check_up_to(struct reader *in, uint64_t value, uint64_t max)
{
	in->bad |= value > max;
	return in->bad ? 0 : value;
}

static uint64_t read_up_to(struct reader *in, uint64_t max)
{
	return check_up_to(in, read_number(in), max);
}

/* An int64_t from -1 up. */
static int64_t read_extent(struct reader *in)
{
	return (int64_t)(read_up_to(in, (uint64_t)INT64_MAX + 1) - 1);
}

/* Where `size` bytes with a zero behind them lie; NULL if something is wrong. */
static char *read_bytes(struct reader *in, uint64_t size)
{
	if (in->bad || size >= in->left || in->at[size] != '\0') {
		in->bad = true;
		return NULL;
	}
	char *bytes = in->at;
	in->at += size + 1;
	in->left -= (size_t)size + 1;
	return bytes;
}

static char *read_text(struct reader *in, bool may_be_absent)
{
	uint64_t len = read_number(in);
	if (len == 0) {
		in->bad |= !may_be_absent;
		return NULL;
	}
	char *text = read_bytes(in, --len);
	in->bad |= text && strlen(text) != len;
	return in->bad ? NULL : text;
}

static void read_param(struct reader *in, struct rtc_param *param)
{
	param->kind = (enum param_kind)read_up_to(in, PARAM_ENUM);
	param->size = read_extent(in);
	param->offset = read_extent(in);
	param->type = read_text(in, true);
}

static void read_params(struct reader *in, struct rtc_kernel *kernel)
{
	kernel->param_count = (size_t)read_up_to(in, in->param_count);
	kernel->params = kernel->param_count ? in->params : NULL;
	in->params += kernel->param_count;
	in->param_count -= kernel->param_count;
	for (size_t i = 0; i < kernel->param_count && !in->bad; i++) {
		read_param(in, &kernel->params[i]);
	}
}

/* Number i of those that begin at `kernels`. */
static void read_kernel(struct reader *in, struct rtc_kernel *kernels, size_t i)
{
	struct rtc_kernel *kernel = &kernels[i];
	kernel->name = read_text(in, false);
	kernel->lowered = read_text(in, true);
	kernel->lowered = kernel->lowered ? kernel->lowered : kernel->name;
	kernel->params_known = read_up_to(in, 1);
	size_t like = (size_t)read_up_to(in, i);
	if (like > 0) {
		kernel->params = kernels[like - 1].params;
		kernel->param_count = kernels[like - 1].param_count;
	} else {
		read_params(in, kernel);
	}
}

/* The kernels, and behind them in the same piece of memory the parameters of all. */
static void read_kernels(struct reader *in, struct rtc_image *image)
{
	size_t size, rest, count = (size_t)read_up_to(in, in->left / KERNEL_SIZE);
	in->param_count = (size_t)check_up_to(in, read_fixed(in), in->left / PARAM_SIZE);
	if (count > 0) {
		bool fits = size_mul(&size, count, sizeof(*image->kernels))
			&& size_mul(&rest, in->param_count, sizeof(*in->params))
			&& size_add(&rest, size, rest);
		image->kernels = fits ? mem_alloc(rest) : NULL;
		if (!image->kernels) {
			in->bad = in->no_memory = true;
			return;
		}
		mem_expect(image->kernels, rest);
		in->params = (struct rtc_param *)(image->kernels + count);
	}
	for (; image->kernel_count < count && !in->bad; image->kernel_count++) {
		read_kernel(in, image->kernels, image->kernel_count);
	}
	in->bad |= in->param_count > 0;
}

static void read_variable(struct reader *in, struct rtc_variable *variable)
{
	variable->name = read_text(in, false);
	variable->lowered = read_text(in, false);
	variable->type = read_text(in, true);
	variable->size = read_extent(in);
	variable->align = read_extent(in);
	variable->space = (enum variable_space)read_up_to(in, VARIABLE_MANAGED);
	variable->kind = (enum param_kind)read_up_to(in, PARAM_ENUM);
	variable->element_size = read_extent(in);
}

static void read_variables(struct reader *in, struct rtc_image *image)
{
	size_t count = (size_t)read_up_to(in, in->left / VARIABLE_SIZE);
	image->variables = count ? mem_zalloc(count, sizeof(*image->variables)) : NULL;
	if (count && !image->variables) {
		in->bad = in->no_memory = true;
	}
	for (; image->variable_count < count && !in->bad; image->variable_count++) {
		read_variable(in, &image->variables[image->variable_count]);
	}
}

static void read_arch(struct reader *in, struct rtc_image *image)
{
	const char *arch = read_text(in, false);
	if (arch && strlen(arch) < sizeof(image->arch)) {
		strcpy(image->arch, arch);
	} else {
		in->bad = true;
	}
}

static void read_image(struct reader *in, struct rtc_image *image)
{
	image->size = (size_t)check_up_to(in, read_fixed(in), in->left);
	image->data = read_bytes(in, image->size);
	image->is_ptx = read_up_to(in, 1);
	image->is_lto = read_up_to(in, 1);
	in->bad |= image->is_ptx && image->is_lto;
	read_arch(in, image);
	image->log = read_text(in, true);
	image->templates = read_text(in, true);
	read_kernels(in, image);
	read_variables(in, image);
}

kz_status unpack_image_take(struct rtc_image *out, char *data, size_t size, kz_error *err)
{
	struct reader in = {.at = data, .left = size};
	*out = (struct rtc_image){.packed = data};
	if (size < sizeof(mark) || memcmp(data, mark, sizeof(mark)) != 0) {
		rtc_image_free(out);
		return error_set(err, KZ_BAD_IMAGE, "expected a packed image of this version");
	}
	in.at += sizeof(mark);
	in.left -= sizeof(mark);
	read_image(&in, out);
	if (!in.bad && in.left == 0) {
		return KZ_OK;
	}
	rtc_image_free(out);
	return in.no_memory ? error_no_memory(err)
		: error_set(err, KZ_BAD_IMAGE, "the packed image is damaged");
}

kz_status unpack_image(struct rtc_image *out, const void *data, size_t size, kz_error *err)
{
	char *copy = mem_alloc(size > 0 ? size : 1);
	if (!copy) {
		*out = (struct rtc_image){0};
		return error_no_memory(err);
	}
	memcpy(copy, data, size);
	return unpack_image_take(out, copy, size, err);
}
