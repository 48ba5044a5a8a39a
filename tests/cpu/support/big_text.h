/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BIG_TEXT_H
#define TESTS_BIG_TEXT_H

/* Big PTX of many kernels, which the driver parses one by one once it knows the text. */
#include "api.h"

#include "base/str.h"
#include "cpu/ptx/ptx.h"

#define BIG_HEAD ".version 8.5\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n"

enum { BIG_TEXT_SIZE = 1 << 19 };
extern char big_text[BIG_TEXT_SIZE];
extern const char big_globals[];

/* A device, with a cache of its own. */
void big_setup(void);
void big_teardown(void);

/* `count` kernels k0, k1, ..., and what comes after them, into big_text. */
const char *big_write(int count, const char *behind);
CUmodule big_load(const char *ptx);
/* What kernel `number` computes: 2 * (number + 7). */
uint32_t big_run(CUmodule module, int number);
/* Whether the driver need not check a text again. */
bool big_is_known(const char *ptx);

/* A module that is good; a function of it, as text. */
void big_parse(struct ptx_module *out, const char *ptx, size_t size);
void big_tell(struct str *out, const struct ptx_func *func);
/* What NVRTC makes of the sources in tests/data/cuda, as far as the parser takes it: the sum of
 * what `count` says of each; *files: how many there are. */
size_t big_sum_of_files(size_t (*count)(const char *ptx, size_t size), size_t *files);

#endif
