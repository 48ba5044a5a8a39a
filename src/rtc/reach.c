/* SPDX-License-Identifier: MIT */
/*
 * The files that a compile may read.
 *
 * From the source on, each file that is named (includes.c) is looked for in every place where NVRTC
 * might: beside the file that names it, in the folder of the source, in all include folders.  All
 * that are there count, not only the first: then no order of search has to be known, and a file that
 * appears in front of another is noticed like any change.  A header in memory has precedence over
 * files (measured), so files of its name are not looked for.
 *
 * What is in a file is remembered for the process, with the times of the file: they say whether it
 * is still the same.  A file that has just been changed may change again within one tick of its
 * times, so it is read each time until it has come to rest.
 *
 * CUDA's own headers are many, and change only when another CUDA is installed: what each of them
 * brings with it is found once per process, and by the next one taken from the disk, as long as the
 * times of all those files are what they were (looked.c).  Names in them are still looked for in the
 * caller's folders, for what is there may come first.
 */
#include "../base/common.h"

#include "reach.h"

#include "../base/alloc.h"
#include "../base/arena.h"
#include "../base/file.h"
#include "../base/map.h"
#include "../base/str.h"
#include "includes.h"
#include "looked.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILES_MAX 20000             /* of one compile */
#define FACTS_MAX 20000             /* remembered */
#define FILE_SIZE_MAX (64 << 20)
#define REST_NS INT64_C(2000000000) /* some file systems count seconds */

static const char changed[] = "a header changed while it was read";

/* What a CUDA header brings with it. */
struct closure {
	struct closure *next;
	char *key;              /* the folders and the name */
	struct hash hash;       /* names and contents */
	int64_t count;          /* of headers */
	struct includes includes; /* all that they name */
};

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
	pthread_mutex_t lock;
	struct map by_inode;
	struct facts *all;
	struct map by_name;
	struct closure *closures;
	size_t count;
	uint64_t walks;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER, .by_inode = MAP_INIT, .by_name = MAP_INIT};

/* A folder that is searched. */
struct root {
	const char *path;
	const char *label;
	bool is_cuda;
};

/* A text whose names are to be looked for. */
struct text {
	struct text *next;
	const struct includes *includes;
	const char *folder; /* of the file; NULL: it is in memory */
	const char *label;
	bool is_cuda;
};

struct search {
	struct hash_state cuda;
	struct reach *out;
	const struct rtc_request *request;
	struct arena arena;
	struct root *roots;
	size_t root_count;
	size_t cuda_begin; /* of the roots, those of CUDA are the last */
	struct map names;  /* looked for in the roots */
	struct str *collected; /* each of them, as in struct includes; may be NULL */
	struct map folders; /* below roots: is_there or is_missing */
	struct map paths;  /* looked at */
	struct map places; /* device, inode and path of files that were taken */
	struct text *first;
	struct text **end;
	size_t file_count;
	size_t cap;
	struct looked *looked; /* what was looked at; may be NULL */
	bool is_restless;      /* a file among it has just been changed */
};

static void give_up(struct search *search, const char *why)
{
	if (!search->out->why_not) {
		search->out->why_not = why;
	}
}

static bool is_over(const struct search *search)
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

static void closure_free(struct closure *closure);

static void forget_all(void)
{
	while (known.all) {
		struct facts *facts = known.all;
		known.all = facts->next;
		includes_free(&facts->includes);
		mem_free(facts);
	}
	while (known.closures) {
		struct closure *closure = known.closures;
		known.closures = closure->next;
		closure_free(closure);
	}
	map_free(&known.by_inode);
	map_free(&known.by_name);
	known.by_inode = known.by_name = (struct map)MAP_INIT;
	known.count = 0;
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
		give_up(search, "a header cannot be read");
		return;
	}
	includes_free(&facts->includes);
	facts->hash = hash_of(data, size);
	search->out->no_memory |= !includes_scan(&facts->includes, data, size);
	mem_free(data);
	if (stat(path, &after) != 0 || !is_same(id, &after)) {
		give_up(search, changed);
	}
	facts->id = *id;
	facts->rested = rested && !is_over(search);
	facts->walk = known.walks;
}

static void push_text(struct search *search, const struct includes *includes,
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
		give_up(search, "the date or time gets into the output");
	}
	if (includes->has_macro && !is_cuda) {
		give_up(search, "a macro says what is included");
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
static const char *folder_of(struct search *search, const char *path)
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
		give_up(search, "there are too many headers, or one is no regular file");
		return;
	}
	struct facts *facts = facts_of(&id);
	if (!facts) {
		search->out->no_memory = true;
		return;
	}
	bool same = is_same(&facts->id, &id);
	if (facts->walk == known.walks && !same) {
		give_up(search, changed);
	} else if (facts->walk != known.walks && !(same && facts->rested)) {
		read_facts(search, facts, path, &id);
	}
	search->is_restless |= !facts->rested;
	if (is_over(search) || is_taken(search, facts, path)) {
		return;
	}
	add_file(search, label, facts, is_cuda);
	const char *folder = folder_of(search, path);
	const char *label_folder = strrchr(label, '/') ? folder_of(search, label)
		: arena_strndup(&search->arena, label, strcspn(label, ":") + 1);
	search->out->no_memory |= !label_folder;
	if (!is_over(search)) {
		push_text(search, &facts->includes, folder, label_folder, is_cuda);
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

static void add_closure(struct search *search, const char *name);

/* A name with its quote or bracket. */
static void look_for(struct search *search, const struct text *text, const char *quoted)
{
	const char *name = quoted + 1;
	if (is_in_memory(search->request, name)) {
		return;
	}
	if (name[0] == '/') {
		look_at(search, name, name, text->is_cuda);
		return;
	}
	if (text->folder && quoted[0] == '"') {
		look_below(search, text->folder, text->label, name, text->is_cuda);
	}
	if (is_over(search) || !mark(search, &search->names, name)) {
		return;
	}
	if (search->collected) {
		str_addn(search->collected, quoted, strlen(quoted) + 1);
	}
	/* What a CUDA header names is not looked for beside the source. */
	size_t begin = text->is_cuda && search->cuda_begin > 0 ? 1 : 0;
	size_t end = search->request->source ? search->cuda_begin : search->root_count;
	for (size_t i = begin; i < end && !is_over(search); i++) {
		const struct root *root = &search->roots[i];
		if (!text->is_cuda || has_first_folder(search, root, name)) {
			look_below(search, root->path, root->label, name, root->is_cuda);
		}
	}
	if (end < search->root_count && !text->is_cuda && !is_over(search)) {
		add_closure(search, name);
	}
}

static void look_for_all(struct search *search, const struct text *text)
{
	const struct str *names = &text->includes->names;
	for (size_t at = 0; at < names->len && !is_over(search);
		at += strlen(names->data + at) + 1) {
		look_for(search, text, names->data + at);
	}
}

/* CUDA's own headers */

static void begin_search(struct search *search)
{
	search->end = &search->first;
	hash_begin(&search->cuda);
}

static void end_search(struct search *search)
{
	search->out->cuda = hash_end(&search->cuda);
	map_free(&search->names);
	map_free(&search->folders);
	map_free(&search->paths);
	map_free(&search->places);
	arena_free(&search->arena);
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
	begin_search(&search);
	search.collected = &closure->includes.names;
	search.roots = outer->roots + outer->cuda_begin;
	search.root_count = outer->root_count - outer->cuda_begin;
	char *quoted = arena_printf(&search.arena, "<%s", name);
	out.no_memory = !quoted;
	if (quoted) {
		look_for(&search, &nowhere, quoted);
	}
	for (const struct text *text = search.first; text && !is_over(&search); text = text->next) {
		look_for_all(&search, text);
	}
	end_search(&search);
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

static void closure_free(struct closure *closure)
{
	if (closure) {
		includes_free(&closure->includes);
		mem_free(closure->key);
		mem_free(closure);
	}
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
	closure->next = known.closures;
	known.closures = closure;
	known.count++;
	return closure;
}

static void add_closure(struct search *search, const char *name)
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
	push_text(search, &closure->includes, NULL, "", true);
}

/* Options */

/* The folder or file that an option names: "-Ifolder", "-I folder", "--include-path=folder". */
static const char *option_value(const char *option, const char *const *names)
{
	for (; *names; names++) {
		size_t len = strlen(*names);
		if (strncmp(option, *names, len) == 0 && option[len]) {
			return option + len + strspn(option + len, " =");
		}
	}
	return NULL;
}

static const char *const folder_options[] = {"-I", "--include-path", NULL};
static const char *const file_options[] = {"-include", "--pre-include", NULL};

bool reach_option_is_opaque(const char *option)
{
	static const char *const beginnings[] = {
		"@", "-optf", "--options-file", "-time", "--time", "-fdevice-time", "--fdevice-time",
		"-pch", "--pch", "-create-pch", "--create-pch", "-use-pch", "--use-pch",
	};
	for (size_t i = 0; i < countof(beginnings); i++) {
		if (strncmp(option, beginnings[i], strlen(beginnings[i])) == 0) {
			return true;
		}
	}
	/* A folder, or a file, that is the next option. */
	return strcmp(option, "-I") == 0 || strcmp(option, "--include-path") == 0
	       || strcmp(option, "-include") == 0 || strcmp(option, "--pre-include") == 0;
}

/* Beginning */

static void add_root(struct search *search, const char *path, const char *kind, size_t index,
	bool is_cuda)
{
	char *label = arena_printf(&search->arena, "%s%zu:", kind, index);
	search->out->no_memory |= !label;
	search->roots[search->root_count++] = (struct root){path, label, is_cuda};
}

/* Where the source is said to be: its name may have a folder. */
static void add_source_root(struct search *search)
{
	const char *name = search->request->name ? search->request->name : "";
	search->roots[search->root_count++] = (struct root){
		.path = folder_of(search, name),
		.label = "source:",
	};
}

static void add_roots(struct search *search, const char *const *cuda_dirs, size_t cuda_count)
{
	const struct rtc_request *request = search->request;
	search->roots = arena_alloc(&search->arena,
		1 + request->include_count + request->option_count + cuda_count,
		sizeof(*search->roots));
	if (!search->roots) {
		search->out->no_memory = true;
		return;
	}
	add_source_root(search);
	for (size_t i = 0; i < request->include_count; i++) {
		add_root(search, request->include_dirs[i], "", i, false);
	}
	for (size_t i = 0; i < request->option_count; i++) {
		const char *folder = option_value(request->options[i], folder_options);
		if (folder) {
			add_root(search, folder, "option", i, false);
		}
	}
	search->cuda_begin = search->root_count;
	for (size_t i = 0; i < cuda_count; i++) {
		add_root(search, cuda_dirs[i], "cuda", i, true);
	}
}

/* A text that is in memory; what is found in it lives as long as the search. */
static void add_memory_text(struct search *search, struct includes *includes, const char *text)
{
	if (!includes_scan(includes, text, strlen(text))) {
		search->out->no_memory = true;
		return;
	}
	push_text(search, includes, NULL, "", false);
}

static void add_options(struct search *search)
{
	const struct rtc_request *request = search->request;
	struct text nowhere = {.includes = NULL};
	for (size_t i = 0; i < request->option_count && !is_over(search); i++) {
		const char *option = request->options[i];
		const char *file = option_value(option, file_options);
		if (reach_option_is_opaque(option)) {
			give_up(search, "an option of NVRTC names files, or asks for times");
		} else if (file) {
			char *quoted = arena_printf(&search->arena, "\"%s", file);
			if (quoted) {
				look_for(search, &nowhere, quoted);
			}
			search->out->no_memory |= !quoted;
		}
	}
}

/* Where texts in memory are: the source, the headers, the defines. */
static size_t collect_texts(const char **texts, const struct rtc_request *request)
{
	size_t count = 0;
	texts[count++] = request->source;
	for (size_t i = 0; i < request->header_count; i++) {
		texts[count++] = request->header_texts[i];
	}
	for (size_t i = 0; i < request->define_count; i++) {
		texts[count++] = request->defines[i];
	}
	for (size_t i = 0; i < request->option_count; i++) {
		texts[count++] = request->options[i];
	}
	return count;
}

/* Without a name in any of the texts there is nothing to look for, and no place to look. */
static void search_all(struct search *search, const char *const *cuda_dirs, size_t cuda_count)
{
	const struct rtc_request *request = search->request;
	size_t room = 1 + request->header_count + request->define_count + request->option_count;
	const char **texts = arena_alloc(&search->arena, room, sizeof(*texts));
	struct includes *includes = arena_alloc(&search->arena, room, sizeof(*includes));
	if (!texts || !includes) {
		search->out->no_memory = true;
		return;
	}
	size_t count = collect_texts(texts, request);
	bool has_names = request->option_count > 0;
	for (size_t i = 0; i < count && !is_over(search); i++) {
		add_memory_text(search, &includes[i], texts[i]);
		has_names |= includes[i].names.len > 0;
	}
	if (has_names && !is_over(search)) {
		add_roots(search, cuda_dirs, cuda_count);
	}
	add_options(search);
	for (const struct text *text = search->first; text && !is_over(search); text = text->next) {
		look_for_all(search, text);
	}
	for (size_t i = 0; i < count; i++) {
		includes_free(&includes[i]);
	}
}

void reach_find(struct reach *out, const struct rtc_request *request,
	const char *const *cuda_dirs, size_t cuda_count)
{
	struct search search = {.out = out, .request = request, .arena = ARENA_INIT};
	*out = (struct reach){0};
	begin_search(&search);
	pthread_mutex_lock(&known.lock);
	known.walks++;
	if (known.count > FACTS_MAX) {
		forget_all();
	}
	search_all(&search, cuda_dirs, cuda_count);
	pthread_mutex_unlock(&known.lock);
	end_search(&search);
}

void reach_free(struct reach *reach)
{
	for (size_t i = 0; i < reach->count; i++) {
		mem_free(reach->files[i].label);
	}
	mem_free(reach->files);
	*reach = (struct reach){0};
}
