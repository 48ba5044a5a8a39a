/* SPDX-License-Identifier: MIT */
#ifndef CACHE_REACH_INNER_H
#define CACHE_REACH_INNER_H

/* What the files of reach.c share: a search, from a text to the files that it reaches.  All of it,
 * and what the process remembers, is for who has the lock of reach_find. */
#include "base/arena.h"
#include "base/map.h"
#include "cache/includes.h"
#include "cache/looked.h"
#include "cache/reach.h"

/* A folder that is searched. */
struct root {
	const char *path;
	const char *label;
	bool is_cuda;
};

/* A text whose names are to be looked for. */
struct text {
	struct text *next;
	const struct includes *includes;
	const char *folder; /* of the file; NULL: it is in memory */
	const char *label;
	bool is_cuda;
};

struct search {
	struct hash_state cuda;
	struct reach *out;
	const struct rtc_request *request;
	struct arena arena;
	struct root *roots;
	size_t root_count;
	size_t cuda_begin; /* of the roots, those of CUDA are the last */
	struct map names;  /* looked for in the roots */
	struct str *collected; /* each of them, as in struct includes; may be NULL */
	struct map folders; /* below roots: is_there or is_missing */
	struct map paths;  /* looked at */
	struct map places; /* device, inode and path of files that were taken */
	struct text *first;
	struct text **end;
	size_t file_count;
	size_t cap;
	struct looked *looked; /* what was looked at; may be NULL */
	bool is_restless;      /* a file among it has just been changed */
};

void search_begin(struct search *search);
/* All that it has found is in search->out. */
void search_end(struct search *search);

/* What the search looks for cannot be known, or memory has run out. */
bool search_is_over(const struct search *search);
void search_give_up(struct search *search, const char *why);

/* The part of a path before the name, with the slash; NULL when memory runs out. */
const char *search_folder_of(struct search *search, const char *path);
/* Have names of a text be looked for; what it says about all of the compile counts. */
void search_push_text(struct search *search, const struct includes *includes, const char *folder,
	const char *label, bool is_cuda);
/* Take the files of a name, which comes with its quote or bracket: all that there are.  True if the
 * name may be that of one of CUDA's own headers as well, whose folders this search leaves out. */
bool search_look_for(struct search *search, const struct text *text, const char *quoted);

/* reach_closure.c: the same, with what one of CUDA's own headers brings with it. */
void reach_look_for(struct search *search, const struct text *text, const char *quoted);
/* The same with all names of the texts that are there, and of those that they lead to. */
void reach_look_for_all(struct search *search);

/* Files are read once in a walk.  How many things are remembered, and forget them. */
void search_next_walk(void);
size_t search_known(void);
void search_forget(void);
size_t closure_known(void);
void closure_forget(void);

#endif
