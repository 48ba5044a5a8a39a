/* SPDX-License-Identifier: MIT */
#ifndef CLI_PARAMETERS_H
#define CLI_PARAMETERS_H

/* The parameters of a kernel: types from its signature, names from its source. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARAMETERS_MAX 64

struct parameter {
	char name[64];  /* "x"; "arg2" where the source has none */
	char type[128]; /* "const float *"; "" if it is not known */
};

struct parameters {
	bool known; /* false: nobody can tell how many there are */
	size_t count;
	struct parameter items[PARAMETERS_MAX];
};

/*
 * Read the parameters of a kernel.
 *
 * The signature is that of kz_kernel_signature, "saxpy(float, const float *)"; the source is CUDA
 * C++, or NULL where there is none.  Names are found only where the source declares the kernel with
 * as many parameters: one that a macro writes has none.
 */
void parameters_read(struct parameters *out, const char *signature, const char *source);

/* The index of a name; -1 if no parameter has it. */
int parameters_find(const struct parameters *parameters, const char *name);

#endif
