/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_TEXTURE_H
#define LIB_ARRAY_TEXTURE_H

/*
 * Textures and surfaces, as launches see them.
 *
 * What they read counts as memory: a launch uses it in its stream as it uses that of an array.  So
 * an object can end when the last use of its texels has passed.
 */
#include "lib/core/memory.h"

struct texture_object {
	uint32_t tag;          /* OBJECT_TEXTURE, OBJECT_SURFACE */
	struct memory *memory; /* the texels; counted */
	unsigned long long handle;
};

struct kz_texture {
	struct texture_object object;
};

struct kz_surface {
	struct texture_object object;
};

#endif
