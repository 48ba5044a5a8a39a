/* SPDX-License-Identifier: MIT */
/* An nvJitLink that knows the option -arch alone, takes LTO code with -lto, and "links" that to one
 * function in PTX, or, of two inputs, to that and another one, which calls an undefined one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PTX ".version 8.0\n.target sm_80\n.address_size 64\n"                                      \
	".visible .func (.param .b32 r) plus(.param .b32 x)\n"                                     \
	"{\n"                                                                                      \
	"	.reg .b32 %r<2>;\n"                                                                \
	"	ld.param.b32 %r1, [x];\n"                                                          \
	"	add.u32 %r1, %r1, 37;\n"                                                           \
	"	st.param.b32 [r], %r1;\n"                                                          \
	"	ret;\n"                                                                            \
	"}\n"

#define MORE ".extern .func beyond;\n.visible .func caller()\n{\n	call beyond;\n	ret;\n}\n"

#define FUNCTION(name, parameters)                                                                 \
	int name parameters;                                                                       \
	int name parameters

static int has_lto, has_ptx, inputs;
static const char *error = "";

FUNCTION(nvJitLinkCreate, (void **handle, uint32_t count, const char **options))
{
	*handle = &has_lto;
	has_lto = has_ptx = inputs = 0;
	error = "";
	for (uint32_t i = 0; i < count; i++) {
		has_lto = has_lto || strcmp(options[i], "-lto") == 0;
		has_ptx = has_ptx || strcmp(options[i], "-ptx") == 0;
		if (strcmp(options[i], "-bad") == 0) {
			error = "unknown option -bad";
			return 1;
		}
	}
	return 0;
}

FUNCTION(nvJitLinkDestroy, (void **handle))
{
	*handle = NULL;
	return 0;
}

FUNCTION(nvJitLinkAddData, (void *handle, int type, const void *data, size_t size,
	const char *name))
{
	(void)handle;
	(void)data;
	(void)size;
	(void)name;
	inputs++;
	return type == 3 && has_lto ? 0 : 6;
}

FUNCTION(nvJitLinkComplete, (void *handle))
{
	(void)handle;
	return has_ptx && inputs > 0 ? 0 : 6;
}

FUNCTION(nvJitLinkGetLinkedPtxSize, (void *handle, size_t *size))
{
	(void)handle;
	*size = inputs == 2 ? sizeof(PTX MORE) : sizeof(PTX);
	return 0;
}

FUNCTION(nvJitLinkGetLinkedPtx, (void *handle, char *ptx))
{
	(void)handle;
	strcpy(ptx, inputs == 2 ? PTX MORE : PTX);
	return 0;
}

FUNCTION(nvJitLinkGetErrorLogSize, (void *handle, size_t *size))
{
	(void)handle;
	*size = *error ? strlen(error) + 1 : 0;
	return 0;
}

FUNCTION(nvJitLinkGetErrorLog, (void *handle, char *log))
{
	(void)handle;
	strcpy(log, error);
	return 0;
}

FUNCTION(nvJitLinkGetInfoLogSize, (void *handle, size_t *size))
{
	(void)handle;
	*size = 1;
	return 0;
}

FUNCTION(nvJitLinkGetInfoLog, (void *handle, char *log))
{
	(void)handle;
	*log = '\0';
	return 0;
}

/* A function that the library in front does not know. */
FUNCTION(nvJitLinkOfTomorrow, (void *handle))
{
	return handle == &has_lto ? 0 : 3;
}

FUNCTION(nvJitLinkVersion, (unsigned *major, unsigned *minor))
{
	*major = 13;
	*minor = 77;
	return 0;
}
