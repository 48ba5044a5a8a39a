/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_SHARE_H
#define CPU_MEM_SHARE_H

/*
 * Memory that other processes can map, too: parts of files without a name.  A process opens such a
 * file through a process that has it open, or gets a descriptor of it.  A token in the file proves
 * that it is the right one.
 */
#include "base/common.h"

/* A random token for each shared allocation, pool or event. */
struct share_token {
	uint64_t words[2];
};

/* The handle that processes pass to each other, as bytes in CUDA's own types. */
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

/* How an allocation is shared. */
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

/* Create a file that can only grow; -1 on failure. */
int share_create(uint64_t size);
bool share_is_file(int file);
bool share_grow(int file, uint64_t size);
bool share_draw(struct share_token *out);
/* Write a token at an offset of a file, or compare it. */
bool share_sign(int file, uint64_t offset, const struct share_token *token);
bool share_is_signed(int file, uint64_t offset, const struct share_token *token);
bool share_same(const struct share_token *a, const struct share_token *b);

enum share_result {
	SHARE_OPENED,
	SHARE_GONE,
	SHARE_FORBIDDEN, /* the process belongs to another user, or may not be looked into */
	SHARE_FAILED
};
/* Open the file of a handle, which another process has.  It must have the token at `offset`, and at
 * least `size` bytes. */
enum share_result share_open(const struct share_handle *handle, uint64_t offset, uint64_t size,
	int *file);

/* This process has freed the allocation of `size` bytes: free the share.  NULL is fine. */
void share_end(struct share *share, size_t size);

/* Move private pages into a file, while other threads use them.  False when memory runs out.  One
 * thread at a time. */
bool share_move(uint64_t start, size_t size, int file);
/* For handlers of faults: whether to try the access again, because its pages were being moved. */
bool share_may_retry(uint64_t address);

#endif
