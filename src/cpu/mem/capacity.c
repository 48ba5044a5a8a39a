/* SPDX-License-Identifier: MIT */
/*
 * The size of the device's memory.  In a container a process may not use all physical memory.  The
 * limit may be set for its control group, for a group above it, or for its address space (ulimit
 * -v), of which the rest of the process needs a part.
 */
#include "base/common.h"

#include "cpu/mem/capacity.h"

#include "cpu/config/settings.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file; SIZE_MAX if there is none, or "max". */
static size_t capacity_read_number(const char *path)
{
	unsigned long long number;
	FILE *file = fopen(path, "re");
	bool found = file && fscanf(file, "%llu", &number) == 1;
	if (file) {
		fclose(file);
	}
	return found && number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

size_t capacity_of_group(const char *root, const char *path, const char *file)
{
	char folder[PATH_MAX];
	char name[PATH_MAX + NAME_MAX];
	size_t limit = SIZE_MAX;
	int len = snprintf(folder, sizeof(folder), "%s%s", root, path);
	if (len < 0 || (size_t)len >= sizeof(folder)) {
		return limit;
	}
	for (char *end = folder + len; end >= folder + strlen(root); end--) {
		if (end != folder + len && *end != '/') {
			continue;
		}
		*end = '\0';
		snprintf(name, sizeof(name), "%s/%s", folder, file);
		size_t own = capacity_read_number(name);
		limit = own < limit ? own : limit;
	}
	return limit;
}

/* /proc/self/cgroup has a line for each hierarchy, number:controllers:path; the line of version 2
 * has no controllers. */
static size_t capacity_limit_of_groups(void)
{
	char line[PATH_MAX];
	size_t limit = SIZE_MAX;
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path) {
			continue;
		}
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		size_t own = SIZE_MAX;
		if (strcmp(controllers + 1, "") == 0) {
			own = capacity_of_group("/sys/fs/cgroup", path, "memory.max");
		} else if (strcmp(controllers + 1, "memory") == 0) {
			own = capacity_of_group("/sys/fs/cgroup/memory", path,
				"memory.limit_in_bytes");
		}
		limit = own < limit ? own : limit;
	}
	if (file) {
		fclose(file);
	}
	return limit;
}

size_t capacity_addresses(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
		? (size_t)limit.rlim_cur / 4 : SIZE_MAX;
}

size_t capacity_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);
	size_t limit = capacity_limit_of_groups();
	size_t size = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
	size = limit < size ? limit : size;
	limit = capacity_addresses();
	return settings_get(SETTING_MEMORY, limit < size ? limit : size);
}
