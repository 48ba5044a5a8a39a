/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_LINK_SCAN_H
#define CPU_PTX_LINK_SCAN_H

/* The inputs of the linker, cut into items: what link_scan.c makes and ptx_link.c reads. */
#include "base/arena.h"
#include "base/map.h"
#include "cpu/ptx/lex.h"
#include "cpu/ptx/ptx_link.h"

enum linkage { LINK_LOCAL, LINK_EXTERN, LINK_WEAK, LINK_STRONG };
enum item_kind { ITEM_OTHER, ITEM_FUNCTION, ITEM_VARIABLE };

struct name {
	const char *text;
	struct item *item;
	struct name *next;      /* of the same item */
	const char *renamed;    /* how it is written, NULL as it is */
	size_t uses;            /* in its input, its declarations included */
	size_t declarations;
};

struct item {
	enum item_kind kind;
	enum linkage linkage;
	bool is_alias;          /* .alias: a definition; what it declares is another item */
	bool is_shared;         /* .extern .shared: dynamic shared memory */
	bool is_entry;
	bool limits_registers;  /* .maxnreg: of a function */
	const char *start;
	const char *head_end;   /* of a definition: where the body or the initial value begins */
	const char *end;
	struct name *names;
	struct item *next;
};

struct input {
	const char *name;
	const char *text;
	size_t size;
	size_t index;           /* from 1 */
	uint64_t first_file;    /* what is added to its file numbers */
	uint64_t file_count;
	struct map names;       /* -> struct name: the one that defines it, if any does */
	struct item *items;
	struct item **last;
	struct input *next;
};

/* What a name that all inputs share means. */
struct global {
	struct item *chosen;
	struct input *input;
	bool is_emitted;
};

struct linker {
	struct arena arena;
	struct input *inputs;
	struct input **last;
	size_t count;
	uint32_t max_registers; /* of a kernel; 0: no limit */
	struct map globals;     /* -> struct global */
	int version_major;
	int version_minor;
	int target;
	const char *target_text; /* of the newest target: "sm_89" */
	size_t target_len;
};

/* A word that may be a name: no directive. */
static inline bool link_is_name(const struct lex_token *token)
{
	return token->kind == TOKEN_WORD && token->text[0] != '.';
}

/* Fill in the items and names of an input, and what its header says in the linker.  False, with
 * the reason in diag, where the text is not what parse_module takes, or memory runs out. */
bool link_scan(struct linker *linker, struct input *input, struct ptx_diag *diag);

#endif
