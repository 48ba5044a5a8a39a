/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_PARTS_H
#define LIB_RTC_PARTS_H

/*
 * What a linker is given, taken apart: of fat binaries the entry that suits the target, of host
 * objects the fat binaries in them, of libraries the members that something else needs.
 */
#include "base/arena.h"
#include "base/error.h"

enum rtc_kind {
	RTC_UNKNOWN,
	RTC_PTX,
	RTC_CUBIN,
	RTC_LTO,
	RTC_FATBIN,
	RTC_OBJECT,   /* of the host's compiler */
	RTC_LIBRARY   /* an archive of objects */
};

/* By the first bytes. */
enum rtc_kind rtc_kind_of(const void *data, size_t size);
/* "PTX", "a cubin", ... */
const char *rtc_kind_text(enum rtc_kind kind);

/* What the parts are for. */
struct rtc_target {
	int cc;            /* 89 */
	bool ptx_only;     /* it loads no cubin */
};

/* How well an entry of a fat binary, or an image of a bundle, suits a target.  From the best: the
 * exact cubin, one of a lower minor number, the newest PTX that is not newer, LTO code.  0: not at
 * all. */
int rtc_rank(enum rtc_kind kind, int arch, const struct rtc_target *target);

struct part {
	enum rtc_kind kind;  /* PTX, CUBIN, LTO; FATBIN is one of LTO code alone */
	const char *name;    /* "libmath.a(sin.o)" */
	const char *data;    /* PTX is zero-terminated */
	size_t size;         /* PTX: without the zero */
	bool is_optional;    /* of a library: taken only if something needs it */
	bool is_taken;
	struct part *next;
};

struct parts {
	struct arena arena;
	struct rtc_target target;
	struct part *first;
	struct part **last;
};

void parts_init(struct parts *parts, const struct rtc_target *target);
void parts_free(struct parts *parts);

/* Add one file; what is used of it is copied.  KZ_BAD_IMAGE, KZ_VERSION where nothing in it suits
 * the target, KZ_NO_MEMORY. */
kz_status parts_add(struct parts *parts, const char *name, const void *data, size_t size,
	kz_error *err);

/* An entry of a fat binary. */
struct parts_entry {
	enum rtc_kind kind;
	char *data;      /* freed with mem_free; zero-terminated beyond its size */
	size_t size;
	const char *end; /* of the fat binary */
};

/* Take out the entry of a fat binary that suits a target.  LTO code stays in a fat binary of its
 * own.  KZ_VERSION with a list of what there is, KZ_BAD_IMAGE, KZ_UNSUPPORTED, KZ_NO_MEMORY. */
kz_status parts_pick(struct parts_entry *out, const struct rtc_target *target, const char *name,
	const void *data, size_t size, kz_error *err);

/* Take what is needed of libraries, all where there is nothing else; KZ_LINK if two parts define
 * the same. */
kz_status parts_resolve(struct parts *parts, kz_error *err);

/* symbols.c: what a part defines and needs. */
enum symbol_kind { SYMBOL_STRONG, SYMBOL_WEAK, SYMBOL_UNDEFINED };
typedef bool symbol_found(void *arg, const char *name, size_t len, enum symbol_kind kind);
/* Stops, and returns false, when `found` does. */
bool symbols_of(const struct part *part, symbol_found *found, void *arg);

#endif
