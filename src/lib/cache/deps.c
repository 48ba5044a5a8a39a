/* SPDX-License-Identifier: MIT */
/*
 * The dependency scan.  It begins with the names in #include lines of the source and other texts in
 * memory (includes.c), looks for each in every place where NVRTC might, and goes on with the names
 * in the files that are there.  All files of a name count, not only the first: so no order of
 * search has to be known, and a file that appears in front of another changes the key.  A header in
 * memory has precedence over files, so nobody looks for files of its name.
 *
 * A scan also notes each path that it looked at, with what stat said, "nothing" included.  As long
 * as stat says the same of all of them the result holds: stat validation.  That is how a result
 * that an earlier process left in the store is used again, and one that this process has made
 * lately.  In a process that has validated CUDA's own headers once only the caller's paths are
 * looked at again.
 *
 * The ctime of a file has the resolution of a clock tick.  So a file that changed in this tick is
 * read when the tick has passed; then no later change can leave its ctime as it was.
 */
#include "base/common.h"

#include "lib/cache/deps.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/map.h"
#include "base/store.h"
#include "base/str.h"
#include "lib/rtc/cuda_headers.h"
#include "lib/rtc/headers.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* Files of one compile, the size of one, waits for a tick in one scan, results that are
 * remembered. */
enum { FILES_MAX = 20000, FILE_SIZE_MAX = 64 << 20, WAITS_MAX = 50, RECENT = 64 };

static const char deps_kind[] = "deps";
static const char deps_changed[] = "a header changed while it was read";

/* Stat validation */

void deps_add_stat(struct hash_state *state, const struct stat *info)
{
	int64_t facts[9] = {info ? info->st_mode & S_IFMT : 0};
	if (info && S_ISREG(info->st_mode)) {
		facts[1] = (int64_t)info->st_dev;
		facts[2] = (int64_t)info->st_ino;
		facts[3] = info->st_size;
		facts[4] = info->st_mtim.tv_sec;
		facts[5] = info->st_mtim.tv_nsec;
		facts[6] = info->st_ctim.tv_sec;
		facts[7] = info->st_ctim.tv_nsec;
	}
	hash_add(state, facts, sizeof(facts));
}

/* A file system that counts whole seconds, or two, takes that long. */
bool deps_is_rested(const struct stat *info)
{
	struct timespec now, changed = info->st_ctim;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	changed.tv_sec += changed.tv_nsec == 0 ? 2 : 0;
	return changed.tv_sec < now.tv_sec
		|| (changed.tv_sec == now.tv_sec && changed.tv_nsec < now.tv_nsec);
}

/* Paths, each a byte that says with how much of the one before it begins, the rest, and a zero. */
struct deps_paths {
	struct str list, last;
	struct hash_state stats;
};

static void deps_add_path(struct deps_paths *paths, const char *path, const struct stat *info)
{
	const char *last = paths->last.data ? paths->last.data : "";
	size_t shared = 0;
	while (shared < UINT8_MAX && path[shared] && path[shared] == last[shared]) {
		shared++;
	}
	str_addc(&paths->list, (char)shared);
	str_addn(&paths->list, path + shared, strlen(path + shared) + 1);
	str_clear(&paths->last);
	str_add(&paths->last, path);
	paths->list.failed |= paths->last.failed;
	deps_add_stat(&paths->stats, info);
}

/* Step to the next path of a list; false at its end, and *at is less than `size` if it is no
 * list. */
static bool deps_next_path(char path[PATH_MAX], size_t *at, const char *list, size_t size)
{
	size_t shared = *at < size ? (uint8_t)list[*at] : 0;
	size_t begin = *at + 1;
	size_t rest = begin < size ? strnlen(list + begin, size - begin) : 0;
	if (begin >= size || rest == size - begin || rest >= PATH_MAX - shared) {
		return false;
	}
	memcpy(path + shared, list + begin, rest + 1);
	*at = begin + rest + 1;
	return true;
}

/* Whether stat says the same of all paths. */
static bool deps_paths_hold(const char *list, size_t size, struct hash stats)
{
	char path[PATH_MAX] = "";
	struct hash_state state;
	struct stat info;
	size_t at = 0;
	hash_begin(&state);
	while (deps_next_path(path, &at, list, size)) {
		deps_add_stat(&state, stat(path, &info) == 0 ? &info : NULL);
	}
	return at == size && hash_equal(stats, hash_end(&state));
}

struct hash deps_folders(const struct deps *deps)
{
	char path[PATH_MAX] = "", folder[PATH_MAX];
	struct hash_state state;
	struct stat info;
	hash_begin(&state);
	for (size_t at = 0; deps_next_path(path, &at, deps->bytes, deps->head.own_size);) {
		strcpy(folder, path);
		info = (struct stat){.st_ino = 0};
		do { /* the nearest that is there */
			char *slash = strrchr(folder, '/');
			strcpy(slash ? slash + (slash == folder) : folder, slash ? "" : ".");
		} while (stat(folder, &info) != 0 && strcmp(folder, ".") != 0
			&& strcmp(folder, "/") != 0);
		const int64_t facts[] = {(int64_t)info.st_dev, (int64_t)info.st_ino,
			info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
		hash_add(&state, facts, sizeof(facts));
	}
	return hash_end(&state);
}

bool deps_hold(const struct deps *deps, bool all)
{
	const struct deps_head *head = &deps->head;
	return deps_paths_hold(deps->bytes, head->own_size, head->own_stats)
		&& (!all || deps_paths_hold(deps->bytes + head->own_size, head->cuda_size,
			head->cuda_stats));
}

struct deps *deps_retain(struct deps *deps)
{
	if (deps) {
		atomic_fetch_add(&deps->refs, 1);
	}
	return deps;
}

void deps_release(struct deps *deps)
{
	if (deps && atomic_fetch_sub(&deps->refs, 1) == 1) {
		mem_free(deps->bytes);
		mem_free(deps);
	}
}

/* The scan */

/* A folder that is searched. */
struct deps_root {
	const char *path;
	const char *label;
	bool is_cuda;
};

/* A text whose names are to be looked for. */
struct deps_text {
	struct deps_text *next;
	const char *names; /* as in struct includes */
	size_t size;
	const char *folder; /* of the file; NULL: the text is in memory */
	const char *label;
	bool is_cuda;
};

struct deps_scan {
	struct deps_paths own, cuda;
	struct hash_state cuda_hash;
	const struct rtc_request *request;
	struct arena arena;
	struct deps_root *roots;
	size_t root_count;
	struct map seen; /* by a letter and a text: p a path, n and c a name in a text of the
	                  * caller's or CUDA's, f a folder below a root, i a file by device, inode
	                  * and path */
	struct deps_text *first;
	struct deps_text **end;
	struct str files;
	uint64_t cuda_count, missing_parts;
	size_t file_count;
	int waits;
	bool has_place, is_restless, no_memory;
	bool goes_on; /* without what cannot be known */
	const char *why_not;
};

static bool deps_is_over(const struct deps_scan *scan)
{
	return scan->why_not || scan->no_memory;
}

/* Not all can be known. */
static void deps_give_up(struct deps_scan *scan, const char *why_not)
{
	scan->why_not = scan->goes_on ? NULL : why_not;
}

/* Mark a text, which stays; false if it was marked before or memory runs out. */
static bool deps_mark(struct deps_scan *scan, char *text)
{
	if (text && map_get(&scan->seen, text)) {
		return false;
	}
	bool ok = text && map_put(&scan->seen, text, text);
	scan->no_memory |= !ok;
	return ok;
}

/* A path with "/./" and "name/.." taken out, as text: links are not followed. */
static void deps_normalize(char *path)
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

/* Whether this is the first path to a file, but for dots: headers may include each other in a
 * circle. */
static bool deps_take(struct deps_scan *scan, const struct stat *info, const char *path)
{
	char *place = arena_printf(&scan->arena, "i%llx:%llx:%s/", (unsigned long long)info->st_dev,
		(unsigned long long)info->st_ino, path);
	if (place) {
		deps_normalize(strchr(strchr(place, ':') + 1, ':') + 1);
	}
	return deps_mark(scan, place);
}

static void deps_push_text(struct deps_scan *scan, const struct str *names, const char *folder,
	const char *label, bool is_cuda)
{
	struct deps_text *text = arena_alloc(&scan->arena, 1, sizeof(*text));
	char *copy = arena_alloc(&scan->arena, 1, names->len + 1);
	if (!text || !copy) {
		scan->no_memory = true;
		return;
	}
	memcpy(copy, names->len ? names->data : "", names->len);
	*text = (struct deps_text){NULL, copy, names->len, folder, label, is_cuda};
	*scan->end = text;
	scan->end = &text->next;
}

/* The part of a path or label up to its last slash; up to `other` where it has none. */
static const char *deps_folder(struct deps_scan *scan, const char *path, size_t other)
{
	const char *slash = strrchr(path, '/');
	char *folder = arena_strndup(&scan->arena, path,
		slash ? (size_t)(slash + 1 - path) : other);
	scan->no_memory |= !folder;
	return folder;
}

/* Read a file that has come to rest: wait for the end of the tick in which it changed. */
static char *deps_read(struct deps_scan *scan, const char *path, struct stat *info, size_t *size)
{
	const struct timespec tick = {.tv_nsec = 1000000};
	struct stat after;
	char *data = NULL;
	while (!deps_is_rested(info) && scan->waits++ < WAITS_MAX) {
		nanosleep(&tick, NULL);
		if (stat(path, info) != 0) {
			break;
		}
	}
	scan->is_restless |= !deps_is_rested(info);
	kz_status st = file_read(&data, size, path, NULL);
	if (st) {
		scan->no_memory |= st == KZ_NO_MEMORY;
		deps_give_up(scan, "a header cannot be read");
	} else if (stat(path, &after) != 0 || after.st_ino != info->st_ino
	    || after.st_size != (off_t)*size
	    || memcmp(&after.st_ctim, &info->st_ctim, sizeof(after.st_ctim)) != 0) {
		deps_give_up(scan, deps_changed);
	}
	return data;
}

static void deps_add_file(struct deps_scan *scan, const char *path, const char *label,
	struct stat *info, bool is_cuda)
{
	struct includes includes = {.names = STR_INIT};
	size_t size = 0;
	char *data = deps_read(scan, path, info, &size);
	struct hash hash = hash_of(data, size);
	int64_t long_size = (int64_t)size;
	scan->no_memory |= data && !includes_scan(&includes, data, size);
	mem_free(data);
	deps_add_path(is_cuda ? &scan->cuda : &scan->own, path, info);
	if (is_cuda) {
		hash_add(&scan->cuda_hash, label, strlen(label) + 1);
		hash_add(&scan->cuda_hash, &hash, sizeof(hash));
		scan->cuda_count++;
	} else {
		str_addn(&scan->files, label, strlen(label) + 1);
		str_addn(&scan->files, (const char *)&long_size, sizeof(long_size));
		str_addn(&scan->files, (const char *)&hash, sizeof(hash));
		if (includes.has_time || includes.has_macro) {
			deps_give_up(scan, includes_why_not(&includes));
		}
	}
	scan->has_place |= includes.has_place;
	const char *folder = deps_folder(scan, path, 0);
	const char *label_folder = deps_folder(scan, label, strcspn(label, ":") + 1);
	if (!deps_is_over(scan)) {
		deps_push_text(scan, &includes.names, folder, label_folder, is_cuda);
	}
	includes_free(&includes);
}

/* Look at a place where a file may be; `folder` and `label` end where the name begins.  True if
 * there is one. */
static bool deps_look_at(struct deps_scan *scan, const char *folder, const char *label,
	const char *name, bool is_cuda)
{
	size_t len = strlen(folder);
	const char *slash = len && folder[len - 1] != '/' ? "/" : "";
	char *path = arena_printf(&scan->arena, "p%s%s%s", folder, slash, name);
	struct stat info;
	bool is_new = deps_mark(scan, path);
	bool is_there = path && stat(++path, &info) == 0;
	bool is_file = is_there && !S_ISDIR(info.st_mode);
	if (!is_new) {
		return is_file;
	}
	if (!is_file || !deps_take(scan, &info, path)) {
		deps_add_path(is_cuda ? &scan->cuda : &scan->own, path, is_there ? &info : NULL);
		return is_file;
	}
	if (!S_ISREG(info.st_mode) || info.st_size > FILE_SIZE_MAX
	    || ++scan->file_count > FILES_MAX) {
		deps_give_up(scan, "there are too many headers, or one is not a regular file");
		deps_add_path(is_cuda ? &scan->cuda : &scan->own, path, &info);
		return true;
	}
	char *name_label = arena_printf(&scan->arena, "%s%s", label, name);
	scan->no_memory |= !name_label;
	if (name_label) {
		deps_add_file(scan, path, name_label, &info, is_cuda);
	}
	return true;
}

/* Whether the first folder of a name is there below a root: most names of CUDA's headers are in a
 * folder that the caller's folders do not have. */
static bool deps_has_first_folder(struct deps_scan *scan, const struct deps_root *root,
	const char *name)
{
	static char there[] = "there", missing[] = "missing";
	size_t len = strcspn(name, "/");
	struct stat info;
	if (!name[len] || !root->path[0]) {
		return true;
	}
	char *folder = arena_printf(&scan->arena, "f%s/%.*s", root->path, (int)len, name);
	char *known = folder ? map_get(&scan->seen, folder) : NULL;
	if (folder && !known) {
		known = stat(folder + 1, &info) == 0 ? there : missing;
		deps_add_path(root->is_cuda ? &scan->cuda : &scan->own, folder + 1,
			known == there ? &info : NULL);
		folder = map_put(&scan->seen, folder, known) ? folder : NULL;
	}
	scan->no_memory |= !folder;
	return folder && known == there;
}

/* Look for a name, which comes with its quote or bracket, in all places where it may be. */
static void deps_look_for(struct deps_scan *scan, const struct deps_text *text, const char *quoted)
{
	const struct rtc_request *request = scan->request;
	const char *name = quoted + 1;
	for (size_t i = 0; i < request->header_count; i++) {
		if (strcmp(request->header_names[i], name) == 0) {
			return;
		}
	}
	if (name[0] == '/') {
		deps_look_at(scan, "", "", name, text->is_cuda);
		return;
	}
	bool found = false;
	if (text->folder && quoted[0] == '"') {
		found = deps_look_at(scan, text->folder, text->label, name, text->is_cuda);
	}
	if (!deps_mark(scan, arena_printf(&scan->arena, "%c%s", text->is_cuda ? 'c' : 'n', name))) {
		return;
	}
	/* The first root is the folder of the source, where no name of CUDA's headers is looked
	 * for. */
	for (size_t i = text->is_cuda; i < scan->root_count && !deps_is_over(scan); i++) {
		const struct deps_root *root = &scan->roots[i];
		if (deps_has_first_folder(scan, root, name)) {
			found |= deps_look_at(scan, root->path, root->label, name, root->is_cuda);
		}
	}
	enum cuda_part part = found ? CUDA_PART_COUNT : cuda_part_of(name, strlen(name));
	scan->missing_parts |= part < CUDA_PART_COUNT ? 1u << part : 0;
	const char *libcxx = headers_libcxx(scan->request, name);
	const char *next = libcxx ? arena_printf(&scan->arena, "<%s", libcxx) : NULL;
	scan->no_memory |= libcxx && !next;
	if (next) {
		deps_look_for(scan, text, next);
	}
}

/* Where it begins */

/* The folder or file that an option names: "-Ifolder", "-I folder", "--include-path=folder". */
static const char *deps_option_value(const char *option, const char *name, const char *long_name)
{
	const char *const names[] = {name, long_name};
	for (size_t i = 0; i < countof(names); i++) {
		size_t len = strlen(names[i]);
		if (strncmp(option, names[i], len) == 0 && option[len]) {
			return option + len + strspn(option + len, " =");
		}
	}
	return NULL;
}

/* Whether an option makes a compile read or write files that nobody looks for here, or differ each
 * time; or names a file or folder in the next option.  NVRTC drops blanks around an option; nobody
 * does that here. */
static bool deps_option_is_opaque(const char *option)
{
	static const char *const beginnings[] = {
		"@", "-optf", "--options-file", "-time", "--time", "-fdevice-time",
		"--fdevice-time", "-pch", "--pch", "-create-pch", "--create-pch", "-use-pch",
		"--use-pch",
	};
	for (size_t i = 0; i < countof(beginnings); i++) {
		if (strncmp(option, beginnings[i], strlen(beginnings[i])) == 0) {
			return true;
		}
	}
	size_t len = strlen(option);
	if (len > 0
	    && (isspace((unsigned char)option[0]) || isspace((unsigned char)option[len - 1]))) {
		return true;
	}
	return strcmp(option, "-I") == 0 || strcmp(option, "--include-path") == 0
	       || strcmp(option, "-include") == 0 || strcmp(option, "--pre-include") == 0;
}

/* What the texts in memory ask for; false when memory runs out. */
static bool deps_scan_texts(struct includes *out, const char **why_not,
	const struct rtc_request *request, const struct source_facts *facts)
{
	bool ok = true;
	includes_add(out, &facts->includes);
	for (size_t i = 0; i < request->header_count && ok; i++) {
		ok = includes_scan(out, request->header_texts[i], strlen(request->header_texts[i]));
	}
	for (size_t i = 0; i < request->define_count && ok; i++) {
		ok = includes_scan(out, request->defines[i], strlen(request->defines[i]));
	}
	for (size_t i = 0; i < request->option_count && ok; i++) {
		const char *option = request->options[i];
		const char *file = deps_option_value(option, "-include", "--pre-include");
		ok = includes_scan(out, option, strlen(option));
		if (deps_option_is_opaque(option)) {
			*why_not = "an NVRTC option names files, or asks for timings";
		} else if (file) {
			str_addc(&out->names, '"');
			str_addn(&out->names, file, strlen(file) + 1);
		}
	}
	*why_not = *why_not ? *why_not : includes_why_not(out);
	return ok && !out->names.failed;
}

static void deps_add_root(struct deps_scan *scan, const char *path, const char *kind, size_t index,
	bool is_cuda)
{
	char *label = arena_printf(&scan->arena, "%s%zu:", kind, index);
	scan->no_memory |= !label;
	scan->roots[scan->root_count++] = (struct deps_root){path, label, is_cuda};
}

static void deps_add_roots(struct deps_scan *scan, const struct compiler *compiler)
{
	const struct rtc_request *request = scan->request;
	scan->roots = arena_alloc(&scan->arena, 1 + request->include_count + request->option_count
		+ compiler->include_count, sizeof(*scan->roots));
	if (!scan->roots) {
		scan->no_memory = true;
		return;
	}
	const char *folder = deps_folder(scan, request->name ? request->name : "", 0);
	scan->roots[scan->root_count++] = (struct deps_root){folder, "source:", false};
	for (size_t i = 0; i < request->include_count; i++) {
		deps_add_root(scan, request->include_dirs[i], "", i, false);
	}
	for (size_t i = 0; i < request->option_count; i++) {
		folder = deps_option_value(request->options[i], "-I", "--include-path");
		if (folder) {
			deps_add_root(scan, folder, "option", i, false);
		}
	}
	for (size_t i = 0; i < compiler->include_count; i++) {
		deps_add_root(scan, compiler->include_dirs[i], "cuda", i, true);
	}
}

/* Make a result of the head and the parts, which are one after the other. */
static struct deps *deps_create(const struct deps_head *head, const char *bytes, struct hash key,
	bool is_rested)
{
	struct deps *deps = mem_zalloc(1, sizeof(*deps));
	size_t size = head->own_size + head->cuda_size + head->files_size;
	char *copy = deps ? mem_alloc(size) : NULL;
	if (!copy) {
		mem_free(deps);
		return NULL;
	}
	memcpy(copy, bytes, size);
	*deps = (struct deps){.key = key, .is_rested = is_rested, .head = *head, .bytes = copy};
	atomic_init(&deps->refs, 1);
	return deps;
}

/* Look at all files, and keep in the store what was found; *out is NULL if that is not known.
 * Without a key the walk goes on without what cannot be known, and keeps nothing. */
static bool deps_walk(struct deps **out, const char **why_not, const struct rtc_request *request,
	const struct compiler *compiler, const struct str *names, const struct str *key)
{
	struct deps_scan scan = {.request = request, .arena = ARENA_INIT, .goes_on = !key};
	struct str entry = STR_INIT;
	struct store *store = key ? store_default() : NULL;
	scan.end = &scan.first;
	hash_begin(&scan.own.stats);
	hash_begin(&scan.cuda.stats);
	hash_begin(&scan.cuda_hash);
	deps_add_roots(&scan, compiler);
	deps_push_text(&scan, names, NULL, "", false);
	for (struct deps_text *text = scan.first; text; text = text->next) {
		for (size_t at = 0; at < text->size && !deps_is_over(&scan);
			at += strlen(text->names + at) + 1) {
			deps_look_for(&scan, text, text->names + at);
		}
	}
	const struct deps_head head = {hash_end(&scan.own.stats), hash_end(&scan.cuda.stats),
		hash_end(&scan.cuda_hash), scan.cuda_count, scan.file_count, scan.has_place,
		scan.missing_parts,
		scan.own.list.len, scan.cuda.list.len, scan.files.len};
	str_addn(&entry, (const char *)&head, sizeof(head));
	str_addn(&entry, scan.own.list.data, scan.own.list.len);
	str_addn(&entry, scan.cuda.list.data, scan.cuda.list.len);
	str_addn(&entry, scan.files.data, scan.files.len);
	bool ok = !scan.no_memory && !entry.failed && !scan.own.list.failed
		&& !scan.cuda.list.failed
		&& !scan.files.failed;
	*why_not = scan.why_not;
	*out = NULL;
	if (ok && !scan.why_not) {
		*out = deps_create(&head, entry.data + sizeof(head),
			key ? hash_of(key->data, key->len) : (struct hash){0, 0},
			!scan.is_restless);
		ok = *out;
	}
	if (*out && (*out)->is_rested && store) {
		(void)store_put(store, key->data, key->len, entry.data, entry.len);
	}
	str_free(&entry);
	str_free(&scan.files);
	str_free(&scan.own.list);
	str_free(&scan.own.last);
	str_free(&scan.cuda.list);
	str_free(&scan.cuda.last);
	map_free(&scan.seen);
	arena_free(&scan.arena);
	return ok;
}

/* Results */

static void deps_add_list(struct str *out, const char *const *texts, size_t count)
{
	str_addn(out, (const char *)&count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		str_addn(out, texts[i], strlen(texts[i]) + 1);
	}
}

/* All that a scan depends on but files. */
static void deps_make_key(struct str *out, const struct rtc_request *request,
	const struct compiler *compiler, const struct str *names)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t id_size = dl_build_id(id, deps_kind);
	const char *name = request->name ? request->name : "";
	str_addn(out, deps_kind, sizeof(deps_kind));
	str_addn(out, (const char *)id, id_size);
	str_add(out, request->no_prelude ? " no prelude " : "");
	str_addn(out, (const char *)&names->len, sizeof(names->len));
	str_addn(out, names->data, names->len);
	str_addn(out, name, strlen(name) + 1);
	deps_add_list(out, request->header_names, request->header_count);
	deps_add_list(out, request->include_dirs, request->include_count);
	deps_add_list(out, request->options, request->option_count);
	deps_add_list(out, compiler->include_dirs, compiler->include_count);
}

/* What an earlier process has found, if it holds. */
static struct deps *deps_load(const struct str *key, struct hash hash)
{
	struct store *store = store_default();
	struct deps_head head;
	struct deps *deps = NULL;
	char *value = NULL;
	size_t size = 0;
	if (store && store_get(store, key->data, key->len, &value, &size) == STORE_HIT
	    && size >= sizeof(head)) {
		memcpy(&head, value, sizeof(head));
		size -= sizeof(head);
		bool fits = head.own_size <= size && head.cuda_size <= size - head.own_size
			&& head.files_size == size - head.own_size - head.cuda_size;
		deps = fits ? deps_create(&head, value + sizeof(head), hash, true) : NULL;
	}
	mem_free(value);
	if (deps && !deps_hold(deps, true)) {
		deps_release(deps);
		deps = NULL;
	}
	return deps;
}

/* The last results of this process, by the low bits of their keys' hashes. */
static struct deps *deps_recent[RECENT];
static pthread_mutex_t deps_lock = PTHREAD_MUTEX_INITIALIZER;

static struct deps *deps_find_recent(struct hash hash)
{
	pthread_mutex_lock(&deps_lock);
	struct deps *there = deps_recent[hash.low % RECENT];
	struct deps *deps = there && hash_equal(there->key, hash) ? deps_retain(there) : NULL;
	pthread_mutex_unlock(&deps_lock);
	if (deps && !deps_hold(deps, false)) {
		deps_release(deps);
		deps = NULL;
	}
	return deps;
}

static void deps_keep_recent(struct deps *deps)
{
	pthread_mutex_lock(&deps_lock);
	struct deps **place = &deps_recent[deps->key.low % RECENT];
	struct deps *before = *place;
	*place = deps_retain(deps);
	pthread_mutex_unlock(&deps_lock);
	deps_release(before);
}

bool deps_find(struct deps_result *out, const struct rtc_request *request,
	const struct source_facts *facts, const struct compiler *compiler)
{
	struct includes includes = {.names = STR_INIT};
	struct str key = STR_INIT;
	*out = (struct deps_result){.deps = NULL};
	bool ok = deps_scan_texts(&includes, &out->why_not, request, facts);
	if (ok && !out->why_not && includes.names.len > 0) {
		deps_make_key(&key, request, compiler, &includes.names);
		struct hash hash = hash_of(key.data, key.len);
		out->deps = key.failed ? NULL : deps_find_recent(hash);
		if (!out->deps && !key.failed) {
			out->deps = deps_load(&key, hash);
			ok = out->deps || deps_walk(&out->deps, &out->why_not, request, compiler,
				&includes.names, &key);
			if (out->deps && out->deps->is_rested) {
				deps_keep_recent(out->deps);
			}
		}
		ok = ok && !key.failed;
	}
	bool is_known = !out->why_not || (includes.names.len == 0 && !includes.has_macro);
	out->missing_parts = !is_known ? UINT64_MAX : out->deps ? out->deps->head.missing_parts : 0;
	out->has_place = includes.has_place || (out->deps && out->deps->head.has_place);
	includes_free(&includes);
	str_free(&key);
	if (!ok) {
		deps_release(out->deps);
		*out = (struct deps_result){.deps = NULL};
	}
	return ok;
}

bool deps_watch(struct deps **out, const struct rtc_request *request,
	const struct source_facts *facts, const struct compiler *compiler)
{
	struct includes includes = {.names = STR_INIT};
	const char *why_not = NULL;
	*out = NULL;
	bool ok = deps_scan_texts(&includes, &why_not, request, facts);
	if (ok && includes.names.len > 0) {
		ok = deps_walk(out, &why_not, request, compiler, &includes.names, NULL);
	}
	includes_free(&includes);
	return ok;
}
