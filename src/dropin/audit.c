/* SPDX-License-Identifier: MIT */
/*
 * An auditor of the dynamic loader (rtld-audit(7)): `kudzu cpu` names it in LD_AUDIT.
 *
 * Programs find NVIDIA's libraries by names of all kinds: a soname, an absolute path into a
 * toolkit, a wheel of Python, a path that a library has in itself.  LD_LIBRARY_PATH decides on few
 * of them.  The loader tells an auditor of each name before it looks for it, and takes another name
 * in its place, so here is one table of names for all those ways.
 *
 * Two kinds of libraries are put in their places.  The driver, the runtime and NVML are replaced.
 * NVRTC and nvJitLink get a library in front of them, in the folder front: it has the few functions
 * that behave differently, and needs a library kudzu-real-NAME.  That is the name by which it gets
 * what the program had asked for.  All other functions are found in the latter, because the loader
 * looks for a symbol in a library first, and then in those that it needs.
 *
 * The loader gives an auditor a C library of its own, which would take longer to load than a small
 * program does.  So this file uses none, and asks the kernel itself.
 */
#include "base/common.h"

#include <fcntl.h>
#include <link.h>
#include <linux/limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AUDIT_EXPORT __attribute__((visibility("default")))
#define AUDIT_FILE "/libkudzu-audit.so"
#define AUDIT_REAL "kudzu-real-"
#define AUDIT_NEWEST "13"

static const struct audit_row {
	const char *stem;    /* of the name that a program asks for, before a version */
	const char *target;  /* in our folder */
	const char *version; /* of the target; NULL: the major version that the program asks for */
	bool is_in_front;
} audit_rows[] = {
	{"libcuda.so", "libcuda.so", "1", false},
	{"libnvidia-ml.so", "libnvidia-ml.so", "1", false},
	{"libcudart.so", "libcudart.so", NULL, false},
	{"libnvrtc.so", "front/libnvrtc.so", NULL, true},
	{"libnvrtc.alt.so", "front/libnvrtc.so", NULL, true},
	{"libnvJitLink.so", "front/libnvJitLink.so", NULL, true},
};

static char audit_folder[PATH_MAX]; /* "": unknown, and nothing is redirected */

/* What the program has asked for when it got a library in front.  The loader's lock guards it. */
static struct {
	char target[PATH_MAX];
	char real[PATH_MAX];
} audit_asked[8];

/* --- What the C library would have done --- */

static long audit_call(long number, const char *path, void *room, size_t size)
{
#if defined(__x86_64__)
	register long last __asm__("r10") = (long)size;
	long result = number;
	__asm__ volatile("syscall" : "+a"(result)
		: "D"((long)AT_FDCWD), "S"(path), "d"(room), "r"(last) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long call __asm__("x8") = number;
	register long result __asm__("x0") = AT_FDCWD;
	register const char *second __asm__("x1") = path;
	register void *third __asm__("x2") = room;
	register size_t last __asm__("x3") = size;
	__asm__ volatile("svc 0" : "+r"(result)
		: "r"(call), "r"(second), "r"(third), "r"(last) : "memory");
	return result;
#else
#error "audit_call: how does this processor call the kernel?"
#endif
}

static size_t audit_length(const char *text)
{
	size_t length = 0;
	while (text[length]) {
		length++;
	}
	return length;
}

/* How many characters two texts have in common at their beginning. */
static size_t audit_common(const char *a, const char *b)
{
	size_t count = 0;
	while (a[count] && a[count] == b[count]) {
		count++;
	}
	return count;
}

static bool audit_begins(const char *text, const char *with)
{
	return !with[audit_common(text, with)];
}

static bool audit_same(const char *a, const char *b)
{
	return audit_begins(a, b) && audit_begins(b, a);
}

/* Append to a text in a buffer of PATH_MAX bytes; false if there is no room. */
static bool audit_append(char *out, const char *text, size_t length)
{
	const size_t used = audit_length(out);
	if (length >= PATH_MAX - used) {
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		out[used + i] = text[i];
	}
	out[used + length] = '\0';
	return true;
}

static const char *audit_base(const char *path)
{
	const char *base = path;
	for (; *path; path++) {
		base = *path == '/' ? path + 1 : base;
	}
	return base;
}

/* --- Which library is meant --- */

/* Find the row of a file's name, and what follows the stem: "" or ".13.0.88". */
static const struct audit_row *audit_row_of(const char *base, const char **version)
{
	for (size_t i = 0; i < countof(audit_rows); i++) {
		const size_t length = audit_common(base, audit_rows[i].stem);
		if (!audit_rows[i].stem[length] && (!base[length] || base[length] == '.')) {
			*version = base + length;
			return &audit_rows[i];
		}
	}
	return NULL;
}

/* The path of our library of a row, if there is one in the folder. */
static bool audit_target(char *out, const struct audit_row *row, const char *version)
{
	const char *major = row->version ? row->version : *version ? version + 1 : AUDIT_NEWEST;
	size_t length = 0;
	while (major[length] && major[length] != '.') {
		length++;
	}
	*out = '\0';
	return audit_append(out, audit_folder, audit_length(audit_folder))
		&& audit_append(out, "/", 1)
		&& audit_append(out, row->target, audit_length(row->target))
		&& audit_append(out, ".", 1) && audit_append(out, major, length)
		&& audit_call(SYS_faccessat, out, NULL, 0) == 0;
}

/* --- The search path that a program has in itself --- */

/* The folder of an object of the program. */
static bool audit_origin(char *out, const struct link_map *map)
{
	const char *name = map->l_name;
	char program[PATH_MAX];
	if (!*name) {
		const long length = audit_call(SYS_readlinkat, "/proc/self/exe", program,
			sizeof(program) - 1);
		program[length > 0 ? length : 0] = '\0';
		name = program;
	}
	const char *base = audit_base(name);
	*out = '\0';
	return base > name && audit_append(out, name, (size_t)(base - name - 1));
}

/* A file in a folder of DT_RUNPATH, if it is there. */
static bool audit_in_folder(char *out, const struct link_map *map, const char *folder,
	const char *base)
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	size_t length = 0;
	*out = '\0';
	for (size_t i = 0; i < countof(origins); i++) {
		if (audit_begins(folder, origins[i]) && audit_origin(out, map)) {
			folder += audit_length(origins[i]);
		}
	}
	while (folder[length] && folder[length] != ':') {
		length++;
	}
	return audit_append(out, folder, length) && audit_append(out, "/", 1)
		&& audit_append(out, base, audit_length(base))
		&& audit_call(SYS_faccessat, out, NULL, 0) == 0;
}

/* NVIDIA's library is looked for as the library in front has it, which needs it.  The path that
 * only the asking object has (DT_RUNPATH) is therefore looked through here. */
static bool audit_in_runpath(char *out, const struct link_map *map, const char *base)
{
	uintptr_t texts = 0;
	const ElfW(Dyn) *runpath = NULL;
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_RUNPATH) {
			runpath = entry;
		} else if (entry->d_tag == DT_STRTAB) {
			/* The loader of some processors leaves it relative. */
			texts = entry->d_un.d_ptr;
			texts += texts < map->l_addr ? map->l_addr : 0;
		}
	}
	const char *folder = runpath && texts ? (const char *)texts + runpath->d_un.d_val : NULL;
	while (folder) {
		if (*folder && *folder != ':' && audit_in_folder(out, map, folder, base)) {
			return true;
		}
		while (*folder && *folder != ':') {
			folder++;
		}
		folder = *folder ? folder + 1 : NULL;
	}
	return false;
}

/* --- What the program has asked for --- */

/* Keep what the program asked for until the library in front is loaded. */
static bool audit_remember(const char *target, const char *real)
{
	for (size_t i = 0; i < countof(audit_asked); i++) {
		if (!*audit_asked[i].target || audit_same(target, audit_asked[i].target)) {
			*audit_asked[i].target = *audit_asked[i].real = '\0';
			return audit_append(audit_asked[i].target, target, audit_length(target))
				&& audit_append(audit_asked[i].real, real, audit_length(real));
		}
	}
	return false;
}

/* The name that was asked for when the library in front with the name `base` was given. */
static const char *audit_real(const char *base)
{
	for (size_t i = 0; i < countof(audit_asked); i++) {
		const char *target = audit_base(audit_asked[i].target);
		if (audit_same(target, base)) {
			return audit_asked[i].real;
		}
	}
	return base;
}

static const char *audit_redirect(const char *name, const struct link_map *asking)
{
	static char target[PATH_MAX];
	char link[PATH_MAX], found[PATH_MAX];
	const char *version;
	const char *base = audit_base(name);
	const struct audit_row *row = audit_row_of(base, &version);
	if (!row) {
		return name;
	}
	if (!*version && base > name) {
		/* libnvrtc.so is a link to the library with its version. */
		const long length = audit_call(SYS_readlinkat, name, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		const char *linked;
		version = audit_row_of(audit_base(link), &linked) == row ? linked : version;
	}
	if (!audit_target(target, row, version) || audit_same(name, target)) {
		return name;
	}
	const char *real = base == name && row->is_in_front && audit_in_runpath(found, asking, base)
		? found : name;
	return row->is_in_front && !audit_remember(target, real) ? name : target;
}

/* --- The loader's interface --- */

extern void *__libc_stack_end; /* where the kernel has put argc, argv and the environment */

/* Our folder is that of the path by which the loader was told of this library. */
static void audit_find_folder(void)
{
	static const char variable[] = "LD_AUDIT=";
	const long *start = __libc_stack_end;
	for (char *const *entry = (char *const *)(start + 1 + *start + 1); *entry; entry++) {
		if (!audit_begins(*entry, variable)) {
			continue;
		}
		for (const char *path = *entry + sizeof(variable) - 1; *path;) {
			size_t length = 0;
			while (path[length] && path[length] != ':') {
				length++;
			}
			const size_t file = sizeof(AUDIT_FILE) - 1;
			if (length > file && audit_begins(path + length - file, AUDIT_FILE)) {
				audit_append(audit_folder, path, length - file);
				return;
			}
			path += length + (path[length] == ':');
		}
	}
}

AUDIT_EXPORT unsigned int la_version(unsigned int version)
{
	audit_find_folder();
	return version; /* what is used here is in every version */
}

/* `cookie` is where the link map of the asking object stands, for no other was put there. */
AUDIT_EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	if (flag != LA_SER_ORIG || !*audit_folder) {
		return (char *)name;
	}
	return (char *)(audit_begins(name, AUDIT_REAL) ? audit_real(name + sizeof(AUDIT_REAL) - 1)
		: audit_redirect(name, (const struct link_map *)*cookie));
}
