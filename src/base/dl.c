/* SPDX-License-Identifier: MIT */
/* Shared objects found at run time.  RTLD_LOCAL: what we load must not answer for others. */
#include "dl.h"

#include "alloc.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *dl_open(const char *path, char *why, size_t why_size)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object && why_size > 0) {
		const char *reason = dlerror();
		snprintf(why, why_size, "%s", reason ? reason : "unknown reason");
	}
	return object;
}

void *dl_symbol(void *object, const char *name)
{
	return dlsym(object, name);
}

void dl_close(void *object)
{
	if (object) {
		dlclose(object);
	}
}

/* The loader knows the program by no name, and argv[0] need not be a path: ask the kernel. */
static char *program_path(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
	return len > 0 && (size_t)len < sizeof(path) ? mem_strndup(path, (size_t)len) : NULL;
}

char *dl_path(const void *address)
{
	Dl_info info;
	struct link_map *map;
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP)) {
		return NULL;
	}
	if (!map->l_name[0]) {
		return program_path();
	}
	char path[PATH_MAX];
	return mem_strdup(realpath(map->l_name, path) ? path : map->l_name);
}

const char *dl_fill(void *object, const struct dl_row *rows, size_t count, void *table)
{
	const char *missing = NULL;
	for (size_t i = 0; i < count; i++) {
		void *symbol = dl_symbol(object, rows[i].symbol);
		memcpy((char *)table + rows[i].slot, &symbol, sizeof(symbol));
		if (!symbol && rows[i].needed && !missing) {
			missing = rows[i].symbol;
		}
	}
	return missing;
}
