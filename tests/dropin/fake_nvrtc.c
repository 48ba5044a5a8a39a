/* SPDX-License-Identifier: MIT */
/* An NVRTC that compiles nothing: its PTX says with which options it was called.  nvrtcNewest is a
 * function that the library in front does not know. */
#include <stdio.h>
#include <string.h>

static char ptx[256];

int nvrtcCompileProgram(void *program, int count, const char *const *options);
int nvrtcGetPTXSize(void *program, size_t *size);
int nvrtcGetPTX(void *program, char *out);
int nvrtcGetCUBINSize(void *program, size_t *size);
int nvrtcGetCUBIN(void *program, char *out);
int nvrtcDestroyProgram(void **program);
int nvrtcNewest(void);

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
	(void)program;
	ptx[0] = '\0';
	for (int i = 0; i < count; i++) {
		snprintf(ptx + strlen(ptx), sizeof(ptx) - strlen(ptx), "[%s]", options[i]);
	}
	return 0;
}

int nvrtcGetPTXSize(void *program, size_t *size)
{
	(void)program;
	*size = strstr(ptx, "[-dlto]") ? 1 : strlen(ptx) + 1;
	return 0;
}

int nvrtcGetPTX(void *program, char *out)
{
	(void)program;
	strcpy(out, ptx);
	return 0;
}

/* As NVIDIA's: there is machine code for "sm_" alone. */
int nvrtcGetCUBINSize(void *program, size_t *size)
{
	(void)program;
	*size = strstr(ptx, "arch=sm_") ? 5 : 0;
	return 0;
}

int nvrtcGetCUBIN(void *program, char *out)
{
	(void)program;
	strcpy(out, "cubin");
	return 0;
}

int nvrtcDestroyProgram(void **program)
{
	*program = NULL;
	return 0;
}

int nvrtcNewest(void)
{
	return 42;
}
