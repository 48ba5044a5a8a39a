/* SPDX-License-Identifier: MIT */
/*
 * The walk from text to text, and CUDA's own headers.
 *
 * Each name of a text is looked for (reach_search.c), which may lead to more texts.  What a CUDA
 * header brings with it, its closure, is found once per process: by a walk of its own, in CUDA's
 * folders alone.  See reach.c.
 */
#include "base/common.h"

#include "cache/reach_inner.h"

#include "base/alloc.h"
#include "base/str.h"

#include <string.h>

/* What a CUDA header brings with it. */
struct closure {
	struct closure *next;
	char *key;              /* the folders and the name */
	struct hash hash;       /* names and contents */
	int64_t count;          /* of headers */
	struct includes includes; /* all that they name */
};

static struct {
	struct map by_name;
	struct closure *all;
	size_t count;
} known = {.by_name = MAP_INIT};

static void closure_free(struct closure *closure)
{
	if (closure) {
		includes_free(&closure->includes);
		mem_free(closure->key);
		mem_free(closure);
	}
}

size_t closure_known(void)
{
	return known.count;
}

void closure_forget(void)
{
	while (known.all) {
		struct closure *closure = known.all;
		known.all = closure->next;
		closure_free(closure);
	}
	map_free(&known.by_name);
	known.by_name = (struct map)MAP_INIT;
	known.count = 0;
}

/* What is kept of one; the names are behind it. */
struct kept_closure {
	struct hash hash;
	int64_t count;
	int64_t has_place;
};

static void keep_closure(const struct closure *closure, const struct looked *looked)
{
	struct kept_closure kept = {closure->hash, closure->count, closure->includes.has_place};
	const struct str *names = &closure->includes.names;
	struct str value = STR_INIT;
	str_addn(&value, (const char *)&kept, sizeof(kept));
	str_addn(&value, names->data, names->len);
	if (!value.failed) {
		looked_keep(looked, closure->key, value.data, value.len);
	}
	str_free(&value);
}

/* That of an earlier process, if no file of it has changed. */
static bool find_kept_closure(struct closure *closure)
{
	struct kept_closure kept;
	char *value = NULL;
	size_t size = 0;
	if (!looked_find(closure->key, &value, &size) || size < sizeof(kept)
	    || (size > sizeof(kept) && value[size - 1] != '\0')) {
		mem_free(value);
		return false;
	}
	memcpy(&kept, value, sizeof(kept));
	closure->hash = kept.hash;
	closure->count = kept.count;
	closure->includes.has_place = kept.has_place;
	str_addn(&closure->includes.names, value + sizeof(kept), size - sizeof(kept));
	bool ok = !closure->includes.names.failed;
	if (!ok) {
		includes_free(&closure->includes);
		closure->includes = (struct includes){.names = STR_INIT};
	}
	mem_free(value);
	return ok;
}

/* Add what one of CUDA's own headers brings with it. */
static void closure_add(struct search *search, const char *name);

void reach_look_for(struct search *search, const struct text *text, const char *quoted)
{
	if (search_look_for(search, text, quoted)) {
		closure_add(search, quoted + 1);
	}
}

static void look_for_names(struct search *search, const struct text *text)
{
	const struct str *names = &text->includes->names;
	for (size_t at = 0; at < names->len && !search_is_over(search);
		at += strlen(names->data + at) + 1) {
		reach_look_for(search, text, names->data + at);
	}
}

void reach_look_for_all(struct search *search)
{
	const struct text *text = search->first;
	for (; text && !search_is_over(search); text = text->next) {
		look_for_names(search, text);
	}
}

/* Look for a header and what it names among CUDA's. */
static bool find_closure(struct closure *closure, const struct search *outer, const char *name)
{
	static const struct rtc_request nothing = {.source = NULL};
	struct reach out = {0};
	struct looked looked;
	struct search search = {.out = &out, .request = &nothing, .arena = ARENA_INIT,
		.looked = &looked};
	looked_begin(&looked);
	struct text nowhere = {.is_cuda = true};
	search_begin(&search);
	search.collected = &closure->includes.names;
	search.roots = outer->roots + outer->cuda_begin;
	search.root_count = outer->root_count - outer->cuda_begin;
	char *quoted = arena_printf(&search.arena, "<%s", name);
	out.no_memory = !quoted;
	if (quoted) {
		reach_look_for(&search, &nowhere, quoted);
	}
	reach_look_for_all(&search);
	search_end(&search);
	closure->hash = out.cuda;
	closure->count = out.cuda_count;
	closure->includes.has_place = out.has_place;
	bool ok = !out.no_memory && !out.why_not && !closure->includes.names.failed;
	if (ok && !search.is_restless) {
		keep_closure(closure, &looked);
	}
	looked_free(&looked);
	reach_free(&out);
	return ok;
}

/* Taken from what is known, else found; NULL: it cannot be. */
static struct closure *closure_of(const struct search *search, const char *name)
{
	struct str key = STR_INIT;
	for (size_t i = search->cuda_begin; i < search->root_count; i++) {
		str_addf(&key, "%s:", search->roots[i].path);
	}
	str_add(&key, name);
	char *text = str_take(&key);
	struct closure *closure = text ? map_get(&known.by_name, text) : NULL;
	if (closure || !text) {
		mem_free(text);
		return closure;
	}
	closure = mem_zalloc(1, sizeof(*closure));
	if (!closure) {
		mem_free(text);
		return NULL;
	}
	closure->key = text;
	closure->includes = (struct includes){.names = STR_INIT};
	if ((!find_kept_closure(closure) && !find_closure(closure, search, name))
	    || !map_put(&known.by_name, text, closure)) {
		closure_free(closure);
		return NULL;
	}
	closure->next = known.all;
	known.all = closure;
	known.count++;
	return closure;
}

static void closure_add(struct search *search, const char *name)
{
	const struct closure *closure = closure_of(search, name);
	if (!closure) {
		search->out->no_memory = true; /* or CUDA's headers cannot be read: no key either way */
		return;
	}
	search->out->on_disk = true;
	if (closure->count == 0) {
		return;
	}
	hash_add(&search->cuda, name, strlen(name) + 1);
	hash_add(&search->cuda, &closure->hash, sizeof(closure->hash));
	search->out->cuda_count += closure->count;
	/* The caller's folders may have a header of a name in there. */
	search_push_text(search, &closure->includes, NULL, "", true);
}
