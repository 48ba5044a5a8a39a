/* SPDX-License-Identifier: MIT */
/*
 * Looking for one name: in all places where it might be.  Files that are there are read, and are
 * texts whose names will be looked for.  See reach.c.
 */
#include "base/common.h"

#include "cache/reach_inner.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILES_MAX 20000             /* of one compile */
#define FILE_SIZE_MAX (64 << 20)
#define REST_NS INT64_C(2000000000) /* some file systems count seconds */

static const char changed[] = "a header changed while it was read";

/* What is known of a file. */
struct facts {
	struct facts *next;
	char key[48]; /* device and inode, as text */
	struct stat id;
	struct hash hash;
	struct includes includes;
	bool rested;   /* the times were old when it was read */
	uint64_t walk; /* in which it was read: others of its texts may be in use */
};

static struct {
	struct map by_inode;
	struct facts *all;
	size_t count;
	uint64_t walks;
} known = {.by_inode = MAP_INIT};

void search_next_walk(void)
{
	known.walks++;
}

size_t search_known(void)
{
	return known.count;
}

void search_forget(void)
{
	while (known.all) {
		struct facts *facts = known.all;
		known.all = facts->next;
		includes_free(&facts->includes);
		mem_free(facts);
	}
	map_free(&known.by_inode);
	known.by_inode = (struct map)MAP_INIT;
	known.count = 0;
}

void search_give_up(struct search *search, const char *why)
{
	if (!search->out->why_not) {
		search->out->why_not = why;
	}
}

bool search_is_over(const struct search *search)
{
	return search->out->why_not || search->out->no_memory;
}

/* Mark a text; false if it was marked before, or memory runs out. */
static bool mark(struct search *search, struct map *map, const char *text)
{
	if (map_get(map, text)) {
		return false;
	}
	char *copy = arena_strndup(&search->arena, text, strlen(text));
	if (!copy || !map_put(map, copy, copy)) {
		search->out->no_memory = true;
		return false;
	}
	return true;
}

/* Files */

static int64_t to_ns(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size
	       && to_ns(a->st_mtim) == to_ns(b->st_mtim)
	       && to_ns(a->st_ctim) == to_ns(b->st_ctim);
}

static bool has_rested(const struct stat *id)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t rest = to_ns(now) - REST_NS;
	return to_ns(id->st_ctim) < rest && to_ns(id->st_mtim) < rest;
}

/* The record of a file, a new one if there is none; NULL when memory runs out. */
static struct facts *facts_of(const struct stat *id)
{
	char key[48];
	snprintf(key, sizeof(key), "%llx:%llx", (unsigned long long)id->st_dev,
		(unsigned long long)id->st_ino);
	struct facts *facts = map_get(&known.by_inode, key);
	if (facts) {
		return facts;
	}
	facts = mem_zalloc(1, sizeof(*facts));
	if (!facts) {
		return NULL;
	}
	memcpy(facts->key, key, sizeof(key));
	if (!map_put(&known.by_inode, facts->key, facts)) {
		mem_free(facts);
		return NULL;
	}
	facts->next = known.all;
	known.all = facts;
	known.count++;
	return facts;
}

/* Read a file into its record. */
static void read_facts(struct search *search, struct facts *facts, const char *path,
	const struct stat *id)
{
	char *data;
	size_t size;
	struct stat after;
	bool rested = has_rested(id);
	facts->rested = false;
	kz_status st = file_read(&data, &size, path, NULL);
	if (st) {
		search->out->no_memory |= st == KZ_NO_MEMORY;
		search_give_up(search, "a header cannot be read");
		return;
	}
	includes_free(&facts->includes);
	facts->hash = hash_of(data, size);
	search->out->no_memory |= !includes_scan(&facts->includes, data, size);
	mem_free(data);
	if (stat(path, &after) != 0 || !is_same(id, &after)) {
		search_give_up(search, changed);
	}
	facts->id = *id;
	facts->rested = rested && !search_is_over(search);
	facts->walk = known.walks;
}

void search_push_text(struct search *search, const struct includes *includes,
	const char *folder, const char *label, bool is_cuda)
{
	struct text *text = arena_alloc(&search->arena, 1, sizeof(*text));
	if (!text) {
		search->out->no_memory = true;
		return;
	}
	*text = (struct text){NULL, includes, folder, label, is_cuda};
	*search->end = text;
	search->end = &text->next;
	search->out->has_place |= includes->has_place;
	if (includes->has_time && !is_cuda) {
		search_give_up(search, "the date or time gets into the output");
	}
	if (includes->has_macro && !is_cuda) {
		search_give_up(search, "a macro says what is included");
	}
}

static void add_file(struct search *search, const char *label, const struct facts *facts,
	bool is_cuda)
{
	struct reach *out = search->out;
	if (is_cuda) {
		hash_add(&search->cuda, label, strlen(label) + 1);
		hash_add(&search->cuda, &facts->hash, sizeof(facts->hash));
		out->cuda_count++;
		return;
	}
	if (out->count == search->cap) {
		size_t cap = search->cap ? 2 * search->cap : 16;
		struct reach_file *grown = mem_realloc(out->files, cap * sizeof(*grown));
		if (!grown) {
			out->no_memory = true;
			return;
		}
		out->files = grown;
		search->cap = cap;
	}
	char *copy = mem_strdup(label);
	if (!copy) {
		out->no_memory = true;
		return;
	}
	out->files[out->count++] = (struct reach_file){copy, facts->hash, facts->id.st_size};
}

/* A path with "/./" and "name/.." taken out, as text: links are not followed. */
static void normalize(char *path)
{
	char *out = path;
	const char *in = path;
	char *floor = path + (*path == '/');
	while (*in) {
		size_t len = strcspn(in, "/");
		bool dot = len == 1 && in[0] == '.';
		bool up = len == 2 && in[0] == '.' && in[1] == '.';
		if (up && out > floor && !(out - floor >= 3 && memcmp(out - 3, "../", 3) == 0)) {
			for (out--; out > floor && out[-1] != '/'; out--) {
			}
		} else if (len > 0 && !dot) {
			memmove(out, in, len);
			out += len;
			*out++ = '/';
		} else if (in == path && len == 0) {
			*out++ = '/';
		}
		in += len;
		in += *in == '/';
	}
	*out = '\0';
}

/* Whether a file was taken before, by any path that is the same but for dots. */
static bool is_taken(struct search *search, const struct facts *facts, const char *path)
{
	char *copy = arena_printf(&search->arena, "/%s", path); /* room for a last slash */
	if (!copy) {
		search->out->no_memory = true;
		return true;
	}
	memmove(copy, copy + 1, strlen(copy));
	normalize(copy);
	char *place = arena_printf(&search->arena, "%s:%s", facts->key, copy);
	if (!place) {
		search->out->no_memory = true;
		return true;
	}
	return !mark(search, &search->places, place);
}

/* The part before the name, with the slash. */
const char *search_folder_of(struct search *search, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = arena_strndup(&search->arena, path, slash ? (size_t)(slash + 1 - path) : 0);
	search->out->no_memory |= !folder;
	return folder;
}

/* stat, of which a note is made. */
static bool look(struct search *search, const char *path, struct stat *id)
{
	bool is_there = stat(path, id) == 0;
	if (search->looked) {
		looked_add(search->looked, path, is_there ? id : NULL);
	}
	return is_there;
}

/* Take a file, if there is one. */
static void look_at(struct search *search, const char *path, const char *label, bool is_cuda)
{
	struct stat id;
	if (!mark(search, &search->paths, path)) {
		return;
	}
	search->out->on_disk = true;
	if (!look(search, path, &id) || S_ISDIR(id.st_mode)) {
		return;
	}
	if (!S_ISREG(id.st_mode) || id.st_size > FILE_SIZE_MAX
	    || ++search->file_count > FILES_MAX) {
		search_give_up(search, "there are too many headers, or one is no regular file");
		return;
	}
	struct facts *facts = facts_of(&id);
	if (!facts) {
		search->out->no_memory = true;
		return;
	}
	bool same = is_same(&facts->id, &id);
	if (facts->walk == known.walks && !same) {
		search_give_up(search, changed);
	} else if (facts->walk != known.walks && !(same && facts->rested)) {
		read_facts(search, facts, path, &id);
	}
	search->is_restless |= !facts->rested;
	if (search_is_over(search) || is_taken(search, facts, path)) {
		return;
	}
	add_file(search, label, facts, is_cuda);
	const char *folder = search_folder_of(search, path);
	const char *label_folder = strrchr(label, '/') ? search_folder_of(search, label)
		: arena_strndup(&search->arena, label, strcspn(label, ":") + 1);
	search->out->no_memory |= !label_folder;
	if (!search_is_over(search)) {
		search_push_text(search, &facts->includes, folder, label_folder, is_cuda);
	}
}

/* `folder` and `label` end where the name begins. */
static void look_below(struct search *search, const char *folder, const char *label,
	const char *name, bool is_cuda)
{
	size_t len = strlen(folder);
	const char *slash = len && folder[len - 1] != '/' ? "/" : "";
	char *path = arena_printf(&search->arena, "%s%s%s", folder, slash, name);
	char *name_label = arena_printf(&search->arena, "%s%s", label, name);
	if (!path || !name_label) {
		search->out->no_memory = true;
		return;
	}
	look_at(search, path, name_label, is_cuda);
}

static bool is_in_memory(const struct rtc_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++) {
		if (strcmp(request->header_names[i], name) == 0) {
			return true;
		}
	}
	return false;
}

static char is_there[] = "there";
static char is_missing[] = "missing";

/* Whether the first folder of a name is there below a root; true for a name without one. */
static bool has_first_folder(struct search *search, const struct root *root, const char *name)
{
	size_t len = strcspn(name, "/");
	struct stat id;
	if (!name[len]) {
		return true;
	}
	char *path = arena_printf(&search->arena, "%s/%.*s", root->path, (int)len, name);
	char *known_to_be = path ? map_get(&search->folders, path) : NULL;
	if (path && !known_to_be) {
		known_to_be = look(search, path, &id) ? is_there : is_missing;
		path = map_put(&search->folders, path, known_to_be) ? path : NULL;
	}
	search->out->no_memory |= !path;
	return path && known_to_be == is_there;
}

/* A name with its quote or bracket. */
bool search_look_for(struct search *search, const struct text *text, const char *quoted)
{
	const char *name = quoted + 1;
	if (is_in_memory(search->request, name)) {
		return false;
	}
	if (name[0] == '/') {
		look_at(search, name, name, text->is_cuda);
		return false;
	}
	if (text->folder && quoted[0] == '"') {
		look_below(search, text->folder, text->label, name, text->is_cuda);
	}
	if (search_is_over(search) || !mark(search, &search->names, name)) {
		return false;
	}
	if (search->collected) {
		str_addn(search->collected, quoted, strlen(quoted) + 1);
	}
	/* What a CUDA header names is not looked for beside the source. */
	size_t begin = text->is_cuda && search->cuda_begin > 0 ? 1 : 0;
	size_t end = search->request->source ? search->cuda_begin : search->root_count;
	for (size_t i = begin; i < end && !search_is_over(search); i++) {
		const struct root *root = &search->roots[i];
		if (!text->is_cuda || has_first_folder(search, root, name)) {
			look_below(search, root->path, root->label, name, root->is_cuda);
		}
	}
	return end < search->root_count && !text->is_cuda && !search_is_over(search);
}

void search_begin(struct search *search)
{
	search->end = &search->first;
	hash_begin(&search->cuda);
}

void search_end(struct search *search)
{
	search->out->cuda = hash_end(&search->cuda);
	map_free(&search->names);
	map_free(&search->folders);
	map_free(&search->paths);
	map_free(&search->places);
	arena_free(&search->arena);
}

void reach_free(struct reach *reach)
{
	for (size_t i = 0; i < reach->count; i++) {
		mem_free(reach->files[i].label);
	}
	mem_free(reach->files);
	*reach = (struct reach){0};
}
