/* SPDX-License-Identifier: MIT */
/*
 * Objects that were never released, and where the program created them; see <kudzu/leaks.h>.
 *
 * While a list is kept, each handle that the library gives out has an entry in a hash table, by its
 * address.  Its release takes the entry away.  An entry has the address of the program's call; its
 * file and line are looked up for the report (base/place.h).
 *
 * A call that puts its result over a handle, as kz_add(&a, a, 1, &err), loses the object if no
 * other variable has that handle.  What a result's place held before may also be what an earlier
 * call left on the stack: its bits are looked up in the table and nothing else, and what they name
 * is a suspicion.  It becomes a certainty when the object is live still as the device is closed or
 * the trace ends; only then do the report and the trace name the call.
 *
 * What kind an object is, and its size, is read from the object when the report is made.  The lock
 * keeps objects from ending meanwhile.
 */
#include "base/common.h"

#include "lib/core/leaks.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/place.h"
#include "lib/core/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUCKETS = 4096, CALL_SIZE = 32 };

/* The last call whose result was put over a handle. */
struct loss {
	char call[CALL_SIZE]; /* "kz_add"; "": there was none */
	uintptr_t place;      /* 0: not known, as in the following */
	uint64_t ns;
	int thread;
};

struct leak {
	struct leak *next;
	const void *object;
	const struct kz_device *device; /* NULL: of none */
	uintptr_t place;
	struct loss *loss;              /* NULL: none */
	bool is_told;                   /* the loss, by leaks_tell_losses */
};

/* Objects of one kind that were created at one place, and lost at one. */
struct leak_group {
	uint32_t tag;
	int64_t count;
	int64_t size;
	uintptr_t at;
	struct loss loss;
	const struct leak_names *names; /* of the places */
};

struct leak_names {
	struct place created, lost;
};

static struct {
	pthread_mutex_t lock;
	struct leak *buckets[BUCKETS];
	size_t count;
	int64_t missing;    /* that there was no memory for */
	FILE *file;         /* of KUDZU_LEAKS; it stays open */
	int fd;             /* of the file */
	int64_t offset;     /* of its end; -1: a pipe */
} leaks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The list */

static struct leak **leaks_bucket(const void *object)
{
	uint64_t bits = (uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
	return &leaks.buckets[bits >> 52];
}

void leaks_add(const void *object, const struct kz_device *dev)
{
	struct leak *leak = mem_alloc(sizeof(*leak));
	struct leak **first = leaks_bucket(object);
	const uintptr_t place = place_here();
	pthread_mutex_lock(&leaks.lock);
	if (leak) {
		*leak = (struct leak){.next = *first, .object = object, .device = dev,
			.place = place};
		*first = leak;
		leaks.count++;
	} else {
		leaks.missing++;
	}
	pthread_mutex_unlock(&leaks.lock);
}

void leaks_remove(const void *object)
{
	struct leak **link = leaks_bucket(object);
	pthread_mutex_lock(&leaks.lock);
	while (*link && (*link)->object != object) {
		link = &(*link)->next;
	}
	struct leak *leak = *link;
	if (leak) {
		*link = leak->next;
		leaks.count--;
	}
	pthread_mutex_unlock(&leaks.lock);
	if (leak) {
		mem_free(leak->loss);
	}
	mem_free(leak);
}

/* Under the lock. */
static struct leak *leaks_find(const void *object)
{
	struct leak *leak = *leaks_bucket(object);
	while (leak && leak->object != object) {
		leak = leak->next;
	}
	return leak;
}

static bool leaks_has(const void *object)
{
	pthread_mutex_lock(&leaks.lock);
	bool found = leaks_find(object);
	pthread_mutex_unlock(&leaks.lock);
	return found;
}

void leaks_overwrite(const void *out, size_t size, const char *call)
{
	for (size_t i = 0; out && call && i + sizeof(void *) <= size; i += sizeof(void *)) {
		const void *held;
		memcpy(&held, (const char *)out + i, sizeof(held));
		if (!held || !leaks_has(held)) {
			continue;
		}
		const uintptr_t place = place_here();
		pthread_mutex_lock(&leaks.lock);
		struct leak *leak = leaks_find(held);
		if (leak && !leak->loss) {
			/* Without memory the loss stays unknown. */
			leak->loss = mem_alloc(sizeof(*leak->loss));
		}
		if (leak && leak->loss) {
			const bool is_whole = strncmp(call, "kz_", 3) == 0;
			*leak->loss = (struct loss){.place = place, .ns = clock_now_ns(),
				.thread = gettid()};
			snprintf(leak->loss->call, CALL_SIZE, "%s%s", is_whole ? "" : "kz_", call);
		}
		pthread_mutex_unlock(&leaks.lock);
	}
}

/* Groups */

static int64_t leak_size(const void *object)
{
	const struct kz_buffer *buffer = object;
	const struct kz_pinned *pinned = object;
	return object_is(object, OBJECT_ARRAY) ? leaks_array_size(object)
		: object_is(object, OBJECT_BUFFER) ? buffer->size
		: object_is(object, OBJECT_PINNED) ? pinned->memory->size : 0;
}

static int leaks_compare_address(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	int order = (a->at > b->at) - (a->at < b->at);
	order = order ? order : (a->tag > b->tag) - (a->tag < b->tag);
	order = order ? order : (a->loss.place > b->loss.place) - (a->loss.place < b->loss.place);
	return order ? order : strcmp(a->loss.call, b->loss.call);
}

static int leaks_compare_one_place(const struct place *a, const struct place *b)
{
	int order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int leaks_compare_place(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	int order = leaks_compare_one_place(&a->names->created, &b->names->created);
	order = order ? order : (a->tag > b->tag) - (a->tag < b->tag);
	order = order ? order : leaks_compare_one_place(&a->names->lost, &b->names->lost);
	return order ? order : strcmp(a->loss.call, b->loss.call);
}

static int leaks_compare_size(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	int order = (a->size < b->size) - (a->size > b->size);
	return order ? order : leaks_compare_place(left, right);
}

static struct leak_group leaks_group_of(const struct leak *leak)
{
	return (struct leak_group){*(const uint32_t *)leak->object, 1, leak_size(leak->object),
		leak->place, leak->loss ? *leak->loss : (struct loss){.call = ""}, NULL};
}

/* Each entry of a device as a group of its own; NULL when memory runs out. */
static struct leak_group *leaks_copy(const struct kz_device *dev, size_t *count, int64_t *missing)
{
	*count = 0;
	pthread_mutex_lock(&leaks.lock);
	*missing = leaks.missing;
	struct leak_group *groups = mem_zalloc(leaks.count + 1, sizeof(*groups));
	for (size_t i = 0; groups && i < BUCKETS; i++) {
		for (const struct leak *leak = leaks.buckets[i]; leak; leak = leak->next) {
			if (!leak->device || leak->device == dev) {
				groups[(*count)++] = leaks_group_of(leak);
			}
		}
	}
	pthread_mutex_unlock(&leaks.lock);
	return groups;
}

typedef int leaks_order_fn(const void *left, const void *right);

static size_t leaks_merge(struct leak_group *groups, size_t count, leaks_order_fn *order)
{
	size_t made = 0;
	qsort(groups, count, sizeof(*groups), order);
	for (size_t i = 0; i < count; i++) {
		if (made > 0 && order(&groups[made - 1], &groups[i]) == 0) {
			groups[made - 1].count += groups[i].count;
			groups[made - 1].size += groups[i].size;
		} else {
			groups[made++] = groups[i];
		}
	}
	return made;
}

/* Look up the places of all groups; from mem_alloc, NULL when memory runs out. */
static struct leak_names *leaks_find_names(struct leak_group *groups, size_t count)
{
	struct leak_names *names = mem_zalloc(count + 1, sizeof(*names));
	struct place_finder *finder = names && count > 0 ? place_finder_create() : NULL;
	for (size_t i = 0; names && i < count; i++) {
		place_find(&names[i].created, finder, groups[i].at);
		place_find(&names[i].lost, finder, groups[i].loss.place);
		groups[i].names = &names[i];
	}
	place_finder_free(finder);
	return names;
}

static kz_leak leaks_public(const struct leak_group *group)
{
	return (kz_leak){object_kind(group->tag), group->count, group->size,
		group->names->created.file, group->names->created.line, group->loss.call,
		group->names->lost.file, group->names->lost.line};
}

kz_status kz_device_list_leaks(kz_device *dev, kz_leak_fn *each, void *user, kz_error *err)
{
	error_scope(err);
	size_t count;
	int64_t missing;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (!each && (st = error_set(err, KZ_INVALID, "%s: expected a function, got NULL",
		__func__)))) {
		return st;
	}
	if (!atomic_load(&leaks_on)) {
		return error_set(err, KZ_STATE, "no list of live objects is kept: set KUDZU_LEAKS");
	}
	struct leak_group *groups = leaks_copy(dev, &count, &missing);
	count = groups ? leaks_merge(groups, count, leaks_compare_address) : 0;
	struct leak_names *names = groups ? leaks_find_names(groups, count) : NULL;
	if (!names) {
		mem_free(groups);
		return error_no_memory(err);
	}
	count = leaks_merge(groups, count, leaks_compare_place);
	qsort(groups, count, sizeof(*groups), leaks_compare_size);
	for (size_t i = 0; i < count; i++) {
		const kz_leak leak = leaks_public(&groups[i]);
		each(user, &leak);
	}
	mem_free(names);
	mem_free(groups);
	return missing == 0 ? KZ_OK : error_set(err, KZ_NO_MEMORY,
		"%lld objects are missing from the list because memory had run out",
		(long long)missing);
}

/* Text */

struct leaks_text {
	FILE *stream;
	const char *device;
	int64_t count;
};

static void leaks_print_place(FILE *stream, const char *before, const char *file, int32_t line)
{
	if (*file) {
		fprintf(stream, line > 0 ? "%s%s:%" PRId32 : "%s%s", before, file, line);
	}
}

static void leaks_print_one(void *user, const kz_leak *leak)
{
	struct leaks_text *text = user;
	text->count += leak->count;
	fprintf(text->stream, "%s: %" PRId64 " %s%s", text->device, leak->count, leak->kind,
		*leak->kind ? plural(leak->count) : "");
	if (leak->size > 0) {
		fprintf(text->stream, ", %" PRId64 " byte%s", leak->size, plural(leak->size));
	}
	leaks_print_place(text->stream, ", created at ", leak->file, leak->line);
	if (*leak->lost_call) {
		fprintf(text->stream, "; %s", leak->lost_call);
		leaks_print_place(text->stream, " at ", leak->lost_file, leak->lost_line);
		fputs(" put its result into the same variable", text->stream);
	}
	fputc('\n', text->stream);
}

static kz_status leaks_print_counted(int64_t *count, struct kz_device *dev, FILE *stream,
	kz_error *err)
{
	struct leaks_text text = {stream, dev->name, 0};
	kz_status st = atomic_load(&leaks_on)
		? kz_device_list_leaks(dev, leaks_print_one, &text, err) : KZ_OK;
	*count = text.count;
	return st;
}

kz_status leaks_print(struct kz_device *dev, FILE *stream, kz_error *err)
{
	int64_t count;
	return leaks_print_counted(&count, dev, stream, err);
}

/* Under the lock: copy the losses that were not told yet, as far as `groups` are, and count
 * them. */
static size_t leaks_take_losses(struct leak_group *groups, const struct kz_device *dev)
{
	size_t count = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct leak *leak = leaks.buckets[i]; leak; leak = leak->next) {
			if (!leak->loss || leak->is_told || (dev && leak->device != dev)) {
				continue;
			}
			if (groups) {
				groups[count] = leaks_group_of(leak);
				leak->is_told = true;
			}
			count++;
		}
	}
	return count;
}

void leaks_tell_losses(const struct kz_device *dev, leaks_loss_fn *tell)
{
	struct leak_group *groups = NULL;
	pthread_mutex_lock(&leaks.lock);
	const size_t count = leaks_take_losses(NULL, dev);
	if (count > 0 && (groups = mem_zalloc(count, sizeof(*groups)))) {
		(void)leaks_take_losses(groups, dev);
	}
	pthread_mutex_unlock(&leaks.lock);
	struct leak_names *names = groups ? leaks_find_names(groups, count) : NULL;
	if (count > 0 && !names) {
		tell(NULL, 0, 0);
	}
	for (size_t i = 0; names && i < count; i++) {
		const kz_leak leak = leaks_public(&groups[i]);
		tell(&leak, groups[i].loss.ns, groups[i].loss.thread);
	}
	mem_free(names);
	mem_free(groups);
}

/* The file */

/* A limit on file sizes must not end the process, so the text goes through file_write. */
static ssize_t leaks_write(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	if (!file_write(leaks.fd, text, size, leaks.offset)) {
		return 0; /* which is how a cookie fails */
	}
	leaks.offset += leaks.offset < 0 ? 0 : (int64_t)size;
	return (ssize_t)size;
}

static FILE *leaks_open(const char *path)
{
	leaks.fd = file_open_asked(path);
	if (leaks.fd < 0) {
		return NULL;
	}
	leaks.offset = lseek(leaks.fd, 0, SEEK_CUR);
	FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = leaks_write});
	if (!file) {
		close(leaks.fd);
		errno = ENOMEM;
	}
	return file;
}

kz_status leaks_begin_asked(kz_error *err)
{
	kz_status st = KZ_OK;
	if (env_get("KUDZU_LEAKS")) {
		(void)place_here();
	}
	pthread_mutex_lock(&leaks.lock);
	const char *path = leaks.file ? NULL : env_get("KUDZU_LEAKS");
	if (path && *path) {
		leaks.file = leaks_open(path);
		st = leaks.file ? KZ_OK : error_os(err, errno, "open",
			"KUDZU_LEAKS: cannot write the report to '%s'", path);
	}
	if (leaks.file) {
		atomic_store(&place_is_in_errors, true);
		atomic_store(&leaks_on, true);
	}
	pthread_mutex_unlock(&leaks.lock);
	return st;
}

/* A thread of the parent may have had the lock, and the list in pieces. */
void leaks_on_fork(void)
{
	pthread_mutex_init(&leaks.lock, NULL);
	memset(leaks.buckets, 0, sizeof(leaks.buckets));
	leaks.count = 0;
	leaks.missing = 0;
	if (leaks.file) { /* the file is the parent's */
		close(leaks.fd);
		leaks.file = NULL;
	}
	atomic_store(&leaks_on, false);
}

void leaks_report_close(struct kz_device *dev)
{
	int64_t count = 0;
	if (!leaks.file) {
		return;
	}
	flockfile(leaks.file);
	fprintf(leaks.file, "%s: closed; live objects:\n", dev->name);
	kz_status st = leaks_print_counted(&count, dev, leaks.file, NULL);
	if (st || count == 0) {
		fprintf(leaks.file, "%s: %s\n", dev->name, st ?
			"some are missing because memory had run out"
			: "none");
	}
	(void)fflush(leaks.file);
	funlockfile(leaks.file);
	atomic_store(&dev->has_leaks, count > 0);
}

void leaks_report_end(struct kz_device *dev)
{
	if (leaks.file && atomic_load(&dev->has_leaks)) {
		fprintf(leaks.file, "%s: all of its objects were released after that\n", dev->name);
		(void)fflush(leaks.file);
	}
}
