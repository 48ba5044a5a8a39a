/* SPDX-License-Identifier: MIT */
/*
 * A struct on the host against the same struct on the device.
 *
 * NVRTC has no offsetof, but a pointer to a member is its offset, and a constant one is in PTX as
 * the value of a variable.  So a few lines are added to the source: a variable with the size and
 * alignment of the struct, and for each member one with its offset, size and kind.  The source is
 * compiled to PTX, and the values are read there.
 *
 * Each question is a line of a file of its own.  So an error of the compiler tells which question
 * the source has no answer to.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/module/module.h"

#include <kudzu/layout.h>

#include <stdlib.h>
#include <string.h>

#define TAIL_FILE "kudzu/layout"

/* The lines of that file: the type, its size and alignment, then the members. */
#define LINE_MEMBERS 3

/* At most so many numbers in a variable, of 8 bytes each. */
#define VALUES_MAX 3

/* A blank line ends a comment that a backslash carries over the end of the source.  The class is
 * asked for by decltype of the member: the member may be of a base class, whose offsets differ. */
static const char prologue[] =
	"\n\n#line 1 \"kudzu/layout.h\"\n"
	"namespace kudzu_layout {\n"
	"typedef unsigned long long number;\n"
	"template<class T> struct kind { enum { is = 0 }; };\n"
	"template<> struct kind<bool> { enum { is = 1 }; };\n"
	"template<> struct kind<signed char> { enum { is = 2 }; };\n"
	"template<> struct kind<short> { enum { is = 2 }; };\n"
	"template<> struct kind<int> { enum { is = 2 }; };\n"
	"template<> struct kind<long> { enum { is = 2 }; };\n"
	"template<> struct kind<long long> { enum { is = 2 }; };\n"
	"template<> struct kind<unsigned char> { enum { is = 3 }; };\n"
	"template<> struct kind<unsigned short> { enum { is = 3 }; };\n"
	"template<> struct kind<unsigned int> { enum { is = 3 }; };\n"
	"template<> struct kind<unsigned long> { enum { is = 3 }; };\n"
	"template<> struct kind<unsigned long long> { enum { is = 3 }; };\n"
	"template<> struct kind<float> { enum { is = 4 }; };\n"
	"template<> struct kind<double> { enum { is = 4 }; };\n"
	"template<class S, class M> struct member { M S::*at; number size, kind; };\n"
	"}\n"
	"#line 1 \"" TAIL_FILE "\"\n";

static void layout_write_questions(struct str *text, const char *source, const kz_layout *layout)
{
	str_add(text, source);
	str_add(text, prologue);
	str_addf(text, "typedef %s kudzu_layout_type;\n", layout->type);
	str_add(text, "extern \"C\" __device__ kudzu_layout::number kudzu_layout_struct[2] = "
		"{sizeof(kudzu_layout_type), alignof(kudzu_layout_type)};\n");
	for (size_t i = 0; i < layout->count; i++) {
		const char *name = layout->members[i].name;
		str_addf(text, "extern \"C\" __device__ kudzu_layout::member<kudzu_layout_type, "
			"decltype(kudzu_layout_type::%s)> kudzu_layout_%zu = "
			"{&kudzu_layout_type::%s, sizeof(kudzu_layout_type::%s), "
			"kudzu_layout::kind<decltype(kudzu_layout_type::%s)>::is};\n",
			name, i, name, name, name);
	}
}

/* The numbers of a variable of PTX, `.b8 name[24] = {4, 0, ...};` or `.u64 name[2] = {24, 8};`,
 * where zeros at the end are left out. */
static bool layout_read_values(uint64_t values[VALUES_MAX], const char *ptx, const char *name)
{
	unsigned char bytes[VALUES_MAX * 8] = {0};
	const char *at = strstr(ptx, name);
	if (!at) {
		return false;
	}
	bool wide = at >= ptx + 5 && memcmp(at - 5, ".u64 ", 5) == 0;
	size_t max = wide ? VALUES_MAX : sizeof(bytes);
	const char *end = at + strcspn(at, ";");
	at += strcspn(at, "{;");
	memset(values, 0, VALUES_MAX * sizeof(*values));
	for (size_t i = 0; at < end && i < max; i++) {
		char *next;
		unsigned long long value = strtoull(at + 1, &next, 10);
		if (next == at + 1) {
			return false;
		}
		if (wide) {
			values[i] = value;
		} else {
			bytes[i] = (unsigned char)value;
		}
		at = next + strcspn(next, ",};");
		at = *at == '}' ? end : at;
	}
	if (!wide) {
		memcpy(values, bytes, sizeof(bytes));
	}
	return true;
}

static const char *layout_kind_name(uint64_t kind)
{
	static const char *const names[] = {"something else", "a bool", "a signed integer",
		"an unsigned integer", "a floating-point number"};
	return names[kind < countof(names) ? kind : 0];
}

static kz_status layout_differ(kz_error *err, const char *what, const char *value, uint64_t host,
	uint64_t device)
{
	return error_set(err, KZ_ARGUMENT, "%s: %s %llu on the host, %llu on the device", what,
		value, (unsigned long long)host, (unsigned long long)device);
}

static kz_status layout_compare_member(const char *ptx, const kz_layout *layout, size_t index,
	kz_error *err)
{
	const kz_layout_member *host = &layout->members[index];
	uint64_t device[VALUES_MAX];
	char name[48];
	char what[256];
	snprintf(name, sizeof(name), "kudzu_layout_%zu[", index);
	snprintf(what, sizeof(what), "member '%.100s' of '%.100s'", host->name, layout->type);
	if (!layout_read_values(device, ptx, name)) {
		return error_set(err, KZ_BAD_IMAGE, "%s: the compiler gave no offset", what);
	}
	if (device[0] != host->offset) {
		return layout_differ(err, what, "offset", host->offset, device[0]);
	}
	if (device[1] != host->size) {
		return layout_differ(err, what, "size", host->size, device[1]);
	}
	if (device[2] != (uint64_t)host->kind && device[2] != KZ_LAYOUT_OTHER
	    && host->kind != KZ_LAYOUT_OTHER) {
		return error_set(err, KZ_ARGUMENT, "%s: %s on the host, %s on the device", what,
			layout_kind_name((uint64_t)host->kind), layout_kind_name(device[2]));
	}
	return KZ_OK;
}

/* Members first: what is wrong with them explains the rest. */
static kz_status layout_compare(const char *ptx, const kz_layout *layout, kz_error *err)
{
	uint64_t whole[VALUES_MAX];
	char what[128];
	kz_status st = KZ_OK;
	for (size_t i = 0; !st && i < layout->count; i++) {
		st = layout_compare_member(ptx, layout, i, err);
	}
	if (st) {
		return st;
	}
	snprintf(what, sizeof(what), "'%.100s'", layout->type);
	if (!layout_read_values(whole, ptx, "kudzu_layout_struct[")) {
		return error_set(err, KZ_BAD_IMAGE, "%s: the compiler gave no size", what);
	}
	if (whole[0] != layout->size) {
		return layout_differ(err, what, "size", layout->size, whole[0]);
	}
	return whole[1] != layout->align
		? layout_differ(err, what, "alignment", layout->align, whole[1])
		: KZ_OK;
}

/* Explain a compile that failed at one of our lines.  Takes the error over. */
static kz_status layout_explain(kz_error *own, const kz_layout *layout, kz_error *err)
{
	bool ours = own->status == KZ_COMPILE && own->file && strcmp(own->file, TAIL_FILE) == 0;
	size_t member = ours && own->line >= LINE_MEMBERS ? (size_t)own->line - LINE_MEMBERS : 0;
	kz_status st = own->status;
	if (!ours) {
		error_copy(err, own);
	} else if (own->line >= LINE_MEMBERS && member < layout->count) {
		st = error_set(err, KZ_NOT_FOUND, "member '%.80s' of '%.80s' on the device: %s",
			layout->members[member].name, layout->type, own->message);
	} else {
		st = error_set(err, KZ_NOT_FOUND, "type '%.100s' on the device: %s", layout->type,
			own->message);
	}
	kz_error_clear(own);
	return st;
}

static kz_status layout_check_names(const kz_layout *layout, kz_error *err)
{
	if (!layout->type || (layout->count > 0 && !layout->members)) {
		return error_set(err, KZ_INVALID, "kz_layout_check: argument 'layout': expected "
			"the layout of a struct, got NULL");
	}
	for (size_t i = 0; i < layout->count; i++) {
		if (!layout->members[i].name) {
			return error_set(err, KZ_INVALID, "kz_layout_check: argument 'layout': "
				"member %zu of '%s' has no name", i,
				layout->type);
		}
	}
	return KZ_OK;
}

/* PTX of the source with our questions; its kernels are of no interest. */
static kz_status layout_ask(kz_image **out, const char *text, const kz_compile_options *given,
	kz_error *err)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	char arch[32] = "compute_";
	if (given) {
		options = *given;
	}
	if (given && given->size == sizeof(*given)) {
		const char *number = options.arch ? strchr(options.arch, '_') : NULL;
		if (number && strlen(number) < sizeof(arch) - strlen(arch)) {
			strcat(arch, number + 1);
			options.arch = arch;
		}
		options.debug = options.line_info = options.relocatable = 0;
	}
	return image_compile(out, text, &options, 0, true, err);
}

kz_status kz_layout_check(const char *source, const kz_compile_options *options, kz_layout layout,
	kz_error *err)
{
	error_scope(err);
	struct str text = STR_INIT;
	kz_image *image = NULL;
	kz_error own = KZ_ERROR_INIT;
	kz_status st;
	if ((st = pointer_check(source, "source text", err)) || (st = layout_check_names(&layout,
		err))) {
		return st;
	}
	layout_write_questions(&text, source, &layout);
	if (text.failed) {
		st = error_no_memory(err);
	} else if (layout_ask(&image, text.data, options, &own)) {
		st = layout_explain(&own, &layout, err);
	} else {
		st = layout_compare(image->rtc.data, &layout, err);
	}
	image_release(image);
	str_free(&text);
	return st;
}
