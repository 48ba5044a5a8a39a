/* SPDX-License-Identifier: MIT */
/*
 * How a library in front finds NVIDIA's: it is loaded already, for the library in front needs it.
 * libnvrtc.so.13 needs kudzu-real-libnvrtc.so.13, so the name follows from our own.
 */
#include "base/common.h"

#include "dropin/front.h"

#include "base/alloc.h"
#include "base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *front_open(void)
{
	static const char here;
	char name[64];
	char *path = dl_path(&here);
	const char *base = path ? strrchr(path, '/') : NULL;
	snprintf(name, sizeof(name), "kudzu-real-%s", base ? base + 1 : "");
	mem_free(path);
	return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

void *front_find(void *real, const char *name)
{
	return real ? dl_symbol(real, name) : NULL;
}
