/* SPDX-License-Identifier: MIT */
#ifndef CACHE_REACH_H
#define CACHE_REACH_H

/* The files that a compile may read, and what is in them. */
#include "base/hash.h"
#include "rtc/compile.h"

struct reach_file {
	char *label;      /* which include folder, and the path there: "0:sub/my.h", "source:my.h" */
	struct hash hash; /* of what is in it */
	int64_t size;
};

struct reach {
	struct reach_file *files; /* in an order that depends on nothing else; none of CUDA's own */
	size_t count;
	struct hash cuda;    /* of all CUDA headers among them, names and contents */
	int64_t cuda_count;
	bool on_disk;        /* a file was looked for: next time there may be another one */
	bool has_place;      /* the path of a file may get into the output */
	const char *why_not; /* not all can be known; static.  NULL: they are */
	bool no_memory;
};

/* Look for them; CUDA's own headers are in `cuda_dirs`.  Free it whatever came out. */
void reach_find(struct reach *out, const struct rtc_request *request,
	const char *const *cuda_dirs, size_t cuda_count);
void reach_free(struct reach *reach);

/* Whether an option of NVRTC makes a compile read, or write, files that are not looked for here, or
 * differ each time. */
bool reach_option_is_opaque(const char *option);

#endif
