/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_LINK_HOST_H
#define CPU_PTX_LINK_HOST_H

/* Objects, programs and libraries of the host, as the linker takes them. */
#include "base/common.h"

/* Takes a fat binary; false ends the walk. */
typedef bool link_host_fn(void *arg, const void *fatbin, size_t size);

/* Pass each fat binary in an object or a program, or in the objects of a library, to a function. */
void link_walk_host(const char *data, size_t size, link_host_fn *take, void *arg);

struct link_member {
	const char *name; /* as in its header: not terminated */
	const char *data;
	size_t size;
};

/* Get the member of a library at *at, and move *at to the next one.  Begin with 0.  False at the
 * end, for bytes that are not a library, and for a member that is cut short. */
bool link_next_member(const char *library, size_t size, size_t *at, struct link_member *out);

#endif
