/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_SHARE_H
#define CPU_MEM_SHARE_H

/*
 * Memory that other processes can map, too: parts of files that have no name.  A process finds such
 * a file through the one that has it open, or is given it, and a signature in the file tells that
 * it is the one that was meant.
 */
#include "base/common.h"

/* Drawn by lot, one for each thing that is shared. */
struct share_token {
	uint64_t words[2];
};

/* What goes from process to process; it is what the bytes of CUDA's own types hold. */
struct share_handle {
	uint32_t kind;             /* a number of ours for each type */
	int32_t process;
	int32_t file;              /* its number there */
	uint32_t unused;
	uint64_t offset;
	uint64_t size;
	struct share_token token;
	struct share_token pool;
};

/* What an allocation has to do with files. */
enum share_kind {
	SHARE_EXPORTED, /* it has a file of its own */
	SHARE_POOL,     /* it is a part of its pool's file */
	SHARE_FOREIGN   /* it is another process's memory */
};

struct share {
	enum share_kind kind;
	int file;                  /* of foreign memory: needed only until it is mapped */
	uint64_t offset;
	struct share_token token;
	unsigned opens;            /* of foreign memory: how often it was opened */
};

/* A file that can only grow; -1 if there are no more. */
int share_create(uint64_t size);
bool share_is_file(int file);
bool share_grow(int file, uint64_t size);
bool share_draw(struct share_token *out);
/* Put a token at a place of a file, or see whether it is there. */
bool share_sign(int file, uint64_t offset, const struct share_token *token);
bool share_is_signed(int file, uint64_t offset, const struct share_token *token);
bool share_same(const struct share_token *a, const struct share_token *b);

enum share_result { SHARE_OPENED, SHARE_GONE, SHARE_FAILED };
/* Open the file of a handle: another process's, signed at `offset`, of at least `size` bytes. */
enum share_result share_open(const struct share_handle *handle, uint64_t offset, uint64_t size,
	int *file);

/* The allocation of `size` bytes has gone from this process.  Frees the share; NULL is fine. */
void share_end(struct share *share, size_t size);

/* Put a file in the place of private pages and what they hold, while others use them; false when
 * memory runs out.  One thread at a time. */
bool share_move(uint64_t start, size_t size, int file);
/* For handlers of faults: whether the access may succeed when it is made again, because the pages
 * were being moved. */
bool share_may_retry(uint64_t address);

#endif
