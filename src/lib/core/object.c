/* SPDX-License-Identifier: MIT */
/*
 * Handles that are no longer, or never were, what a call expects.
 *
 * The tag of an object that has ended must stay readable, and its memory must not become another
 * object at once, or the second release of one handle would end that object.  So the memory of
 * ended objects stands in a ring, and the oldest is freed when the next one comes.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/object.h"

#include <ctype.h>
#include <stdio.h>

enum { QUARANTINE = 256 };

atomic_bool leaks_on;

static void *_Atomic quarantine[QUARANTINE];
static atomic_uint quarantine_next;

void object_quarantine(void *memory)
{
	if (memory) {
		unsigned at = atomic_fetch_add_explicit(&quarantine_next, 1, memory_order_relaxed);
		mem_free(atomic_exchange(&quarantine[at % QUARANTINE], memory));
	}
}

const char *object_kind_name(uint32_t kind)
{
	static const char *const names[] = {
#define X(kind, name) name,
		OBJECT_KINDS(X)
#undef X
	};
	bool known = kind > OBJECT_NONE && kind < OBJECT_END;
	return known ? names[kind - OBJECT_NONE - 1] : NULL;
}

const char *object_kind(uint32_t tag)
{
	const char *name = object_kind_name(tag);
	return name ? strchr(name, ' ') + 1 : "object";
}

const char *object_describe(char *text, size_t size, const void *object)
{
	uint32_t tag = object ? *(const uint32_t *)object : 0;
	const char *name = object_kind_name(tag);
	const char *ended = object_kind_name(~tag);
	if (!object) {
		snprintf(text, size, "NULL");
	} else if (ended) {
		snprintf(text, size, "%s that was released", ended);
	} else {
		snprintf(text, size, "%s", name ? name : "something that is not a Kudzu object, or "
			"that was released long ago");
	}
	return text;
}

kz_status argument_refuse(const char *argument, const char *what, const char *found, kz_error *err)
{
	return error_set(err, KZ_INVALID, "argument '%s': expected %s, got %s", argument, what,
		found);
}

kz_status object_refuse(const void *object, enum object_kind kind,
	const char *argument, kz_error *err)
{
	char found[80];
	return argument_refuse(argument, object_kind_name((uint32_t)kind),
		object_describe(found, sizeof(found), object), err);
}

kz_status struct_refuse(const char *name, size_t size, size_t expected, kz_error *err)
{
	char macro[64] = "";
	for (size_t i = 0; name[i] && i < sizeof(macro) - 1; i++) {
		macro[i] = (char)toupper((unsigned char)name[i]);
	}
	return error_set(err, KZ_INVALID, "%s has size %zu, expected %zu: initialize it with "
		"%s_INIT", name, size, expected, macro);
}
