/* SPDX-License-Identifier: MIT */
/*
 * The size of the device's memory.  In a container the physical memory is not what a process may
 * use: its control group has the last word, or one that holds that group.
 */
#include "../base/common.h"

#include "capacity.h"

#include <ctype.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number in the C locale, whatever the program's is. */
static double parse_number(const char *text, char **end)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
	double number = c != (locale_t)0 ? strtod_l(text, end, c) : strtod(text, end);
	if (c != (locale_t)0) {
		freelocale(c);
	}
	return number;
}

bool capacity_parse(size_t *out, const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	if (!isdigit((unsigned char)*text) && *text != '.') {
		return false;
	}
	double number = parse_number(text, &end);
	const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit != NULL) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		end++;
	}
	if (*end != '\0' || !(number >= 1 && number < 0x1p62)) {
		return false;
	}
	*out = (size_t)number;
	return true;
}

/* The number in a file; SIZE_MAX if there is none, or "max". */
static size_t read_number(const char *path)
{
	unsigned long long number;
	FILE *file = fopen(path, "re");
	bool found = file != NULL && fscanf(file, "%llu", &number) == 1;
	if (file != NULL) {
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
		size_t own = read_number(name);
		limit = own < limit ? own : limit;
	}
	return limit;
}

/* /proc/self/cgroup has a line for each hierarchy, number:controllers:path; that of version 2 has
 * no controllers. */
static size_t limit_of_groups(void)
{
	char line[PATH_MAX];
	size_t limit = SIZE_MAX;
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *controllers = strchr(line, ':');
		char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		if (path == NULL) {
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
	if (file != NULL) {
		fclose(file);
	}
	return limit;
}

size_t capacity_bytes(void)
{
	size_t size;
	const char *wish = getenv("KUDZU_CPU_MEMORY");
	if (wish != NULL && capacity_parse(&size, wish)) {
		return size;
	}
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);
	size_t limit = limit_of_groups();
	size = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
	return limit < size ? limit : size;
}
