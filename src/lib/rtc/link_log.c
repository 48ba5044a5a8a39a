/* SPDX-License-Identifier: MIT */
/*
 * The logs of linkers, a line at a time.
 *
 * All of NVIDIA's linkers write "Undefined reference to 'x' in 'y'", and the compilers in them have
 * words of their own for the same.  A table holds all these forms.  Other lines stay as they are.
 */
#include "base/common.h"

#include "lib/rtc/link_log.h"

#include "base/alloc.h"
#include "lib/cuda/codes.h"
#include "lib/rtc/signature.h"

#include <string.h>

enum form { FORM_UNDEFINED, FORM_TWICE, FORM_AGAIN, FORM_PTX_VERSION, FORM_LTO_ARCH };

/* The text before the quoted symbol, or before the version. */
static const struct {
	const char *words;
	enum form form;
} forms[] = {
	{"Undefined reference to '", FORM_UNDEFINED},
	{"Unresolved extern function '", FORM_UNDEFINED},
	{"Unresolved extern variable '", FORM_UNDEFINED},
	{"Multiple definition of '", FORM_TWICE},
	{"Linking globals named '", FORM_AGAIN},
	{"Unsupported .version ", FORM_PTX_VERSION},
	{"LTOIR arch newer than target", FORM_LTO_ARCH},
};

static bool link_log_is_version(enum form form)
{
	return form == FORM_PTX_VERSION || form == FORM_LTO_ARCH;
}

/* A part of a line. */
struct piece {
	const char *text;
	int len;
};

struct finding {
	enum form form;
	struct piece symbol; /* or the version of the PTX, the architecture of the LTO-IR */
	struct piece where;  /* the input, or the version that can be; empty: unknown */
	struct piece first;
};

void link_log_twice(struct str *log, const char *symbol, size_t len, const char *where,
	const char *first)
{
	str_addf(log, "error   : Multiple definition of '%.*s' in '%s', first defined in '%s'\n",
		(int)len, symbol, where, first);
}

/* Go on to the next quoted word of a line; empty if there is none. */
static struct piece link_log_take_quoted(const char **at, const char *end)
{
	struct piece piece = {"", 0};
	const char *from = memchr(*at, '\'', (size_t)(end - *at));
	const char *to = from ? memchr(from + 1, '\'', (size_t)(end - from - 1)) : NULL;
	if (to) {
		piece = (struct piece){from + 1, (int)(to - from - 1)};
		*at = to + 1;
	}
	return piece;
}

static bool link_log_read_line(struct finding *out, const char *line, const char *end)
{
	for (size_t i = 0; i < countof(forms); i++) {
		size_t len = strlen(forms[i].words);
		const char *at = memmem(line, (size_t)(end - line), forms[i].words, len);
		if (!at) {
			continue;
		}
		*out = (struct finding){.form = forms[i].form};
		if (out->form == FORM_LTO_ARCH) {
			/* "ERROR 90 in LTOIR arch newer than target arch" */
			const char *number = line + strcspn(line, "0123456789\n");
			out->symbol = (struct piece){number, (int)strspn(number, "0123456789")};
			return out->symbol.len > 0;
		}
		at += len;
		if (out->form == FORM_PTX_VERSION) {
			out->symbol = (struct piece){at, (int)strspn(at, "0123456789.")};
			out->where = link_log_take_quoted(&at, end);
			return true;
		}
		at--;
		out->symbol = link_log_take_quoted(&at, end);
		out->where = link_log_take_quoted(&at, end);
		out->first = link_log_take_quoted(&at, end);
		if (out->form == FORM_AGAIN) {
			/* The input comes first: "b.lto: link error: ..." */
			const char *colon = memchr(line, ':', (size_t)(at - line));
			bool is_input = colon
				&& memmem(line, (size_t)(at - line), "link error", 10);
			out->where = (struct piece){line, is_input ? (int)(colon - line) : 0};
		}
		return out->symbol.len > 0;
	}
	return false;
}

/* nvJitLink's name for what it makes of all LTO code. */
static struct piece link_log_nice_place(struct piece where)
{
	static const char internal[] = "ltoPtx";
	bool is_internal = where.len == sizeof(internal) - 1
		&& memcmp(where.text, internal, sizeof(internal) - 1) == 0;
	return is_internal ? (struct piece){"LTO-IR", 6} : where;
}

static void link_log_add_finding(struct str *out, const struct finding *finding)
{
	struct piece where = link_log_nice_place(finding->where);
	struct piece first = link_log_nice_place(finding->first);
	if (finding->form == FORM_PTX_VERSION) {
		str_addf(out, "the PTX is of version %.*s, the linker knows versions up to %.*s",
			finding->symbol.len, finding->symbol.text, where.len, where.text);
		return;
	}
	if (finding->form == FORM_LTO_ARCH) {
		str_addf(out, "the LTO-IR is for lto_%.*s, newer than what is linked for",
			finding->symbol.len, finding->symbol.text);
		return;
	}
	str_add(out, finding->form == FORM_UNDEFINED ? "undefined symbol '" : "symbol '");
	signature_say(out, finding->symbol.text, (size_t)finding->symbol.len);
	if (finding->form == FORM_UNDEFINED) {
		str_addf(out, where.len ? "', used in '%.*s'" : "'%.*s", where.len, where.text);
	} else if (finding->form == FORM_TWICE) {
		str_addf(out, "' is defined in '%.*s' and in '%.*s'", first.len, first.text,
			where.len, where.text);
	} else {
		str_addf(out, where.len ? "' is defined more than once, again in '%.*s'"
			: "' is defined more than once%.*s", where.len, where.text);
	}
}

/* The whole log, with its findings in our words; *message gets the first of them. */
static int link_log_render(struct str *text, struct str *message, enum form *form, const char *log)
{
	int count = 0;
	for (; *log; log += strcspn(log, "\n"), log += *log == '\n') {
		struct finding finding;
		size_t len = strcspn(log, "\r\n");
		if (!link_log_read_line(&finding, log, log + len)) {
			str_addn(text, log, len);
			str_add(text, len ? "\n" : "");
			continue;
		}
		if (count++ == 0) {
			*form = finding.form;
			link_log_add_finding(message, &finding);
		}
		str_add(text, "error: ");
		link_log_add_finding(text, &finding);
		if (!link_log_is_version(finding.form)) {
			str_addf(text, " (%.*s)", finding.symbol.len, finding.symbol.text);
		}
		str_addc(text, '\n');
	}
	return count;
}

static kz_status link_log_set_error(const struct link_failure *failure, kz_status st,
	const char *message, kz_error *err)
{
	const struct native_code *code = failure ? codes_find(failure->domain, failure->code)
		: NULL;
	if (!failure) {
		return error_set(err, st, "%s", message);
	}
	const struct foreign_code foreign = {failure->domain, failure->code,
		code ? code->name : NULL, failure->call, code ? code->flags : 0};
	return error_foreign(err, st, &foreign, "%s", message);
}

kz_status link_log_fail(const char *log, const struct link_failure *failure, kz_error *err)
{
	struct str text = STR_INIT;
	struct str message = STR_INIT;
	enum form form = FORM_UNDEFINED;
	bool mine = error_is_clean(err);
	int count = link_log_render(&text, &message, &form, log);
	kz_status st = link_log_is_version(form) ? KZ_VERSION : KZ_LINK;
	if (count > 1) {
		str_addf(&message, ", and %d more error%s", count - 1, count == 2 ? "" : "s");
	}
	if (text.failed || message.failed) {
		st = error_no_memory(err);
	} else if (count > 0) {
		link_log_set_error(failure, st, message.data, err);
	} else if (failure && failure->code) {
		st = codes_fail(failure->domain, failure->code, failure->call, NULL, err);
	} else {
		link_log_set_error(failure, st, "the images do not link", err);
	}
	if (mine && text.len > 0 && st != KZ_NO_MEMORY) {
		error_take_log(err, str_take(&text));
	}
	str_free(&text);
	str_free(&message);
	return st;
}

bool link_log_is_bad(const char *log)
{
	return strcasestr(log, "error") || strcasestr(log, "fatal");
}
