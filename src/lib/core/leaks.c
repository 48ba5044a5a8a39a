/* SPDX-License-Identifier: MIT */
/*
 * Objects that were never released, and where the program created them; see <kudzu/leaks.h>.
 *
 * While a list is kept, each handle that the library gives out has an entry in a hash table, by its
 * address.  Its release takes the entry away.  A thread's place is what the macros of KZ_LEAKS said last.
 * A file's name is copied, since the object that has the text may be unloaded before the report.
 *
 * A call that puts its result over a handle, as kz_add(&a, a, 1, &err), loses the object if no other
 * variable has that handle.  What a result's place held before may also be what an earlier call left on
 * the stack: its bits are looked up in the table and nothing else, and what they name is a suspicion.
 * It becomes a certainty when the object is live still as the device is closed or the trace ends; only
 * then do the report and the trace name the call.
 *
 * What kind an object is, and its size, is read from the object when the report is made.  The lock keeps
 * objects from ending meanwhile.
 */
#include "base/common.h"

#include "lib/core/leaks.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "lib/core/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUCKETS = 4096, FILE_SIZE = 64, CALL_SIZE = 32 };

struct place {
	char file[FILE_SIZE];
	int32_t line;
};

/* The last call whose result was put over a handle. */
struct loss {
	char call[CALL_SIZE]; /* "kz_add"; "": there was none */
	struct place place;
};

struct leak {
	struct leak *next;
	const void *object;
	const struct kz_device *device; /* NULL: of none */
	struct place place;
	struct loss *loss;              /* NULL: none */
	uint64_t loss_ns;
	int loss_thread;
	bool is_told;                   /* the loss, by leaks_tell_losses */
};

/* Objects of one kind that were created at one place, and lost at one. */
struct leak_group {
	uint32_t tag;
	int64_t count;
	int64_t size;
	struct place place;
	struct loss loss;
};

static _Thread_local struct place here;

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

void kz_leak_enter(const char *file, int line)
{
	size_t length = file ? strlen(file) : 0;
	size_t skipped = length < FILE_SIZE ? 0 : length - (FILE_SIZE - 1);
	memcpy(here.file, file ? file + skipped : "", length - skipped + 1);
	here.line = line;
	atomic_store_explicit(&leaks_on, true, memory_order_relaxed);
}

kz_status kz_leak_leave(kz_status st)
{
	here = (struct place){.line = 0};
	return st;
}

static struct leak **leaks_bucket(const void *object)
{
	uint64_t bits = (uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
	return &leaks.buckets[bits >> 52];
}

void leaks_add(const void *object, const struct kz_device *dev)
{
	struct leak *leak = mem_alloc(sizeof(*leak));
	struct leak **first = leaks_bucket(object);
	pthread_mutex_lock(&leaks.lock);
	if (leak) {
		*leak = (struct leak){.next = *first, .object = object, .device = dev, .place = here};
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

/* Under the lock.  Without memory the loss stays unknown. */
static void leaks_note_loss(struct leak *leak, const char *call)
{
	leak->loss = leak->loss ? leak->loss : mem_zalloc(1, sizeof(*leak->loss));
	if (leak->loss) {
		const bool is_whole = strncmp(call, "kz_", 3) == 0;
		snprintf(leak->loss->call, CALL_SIZE, "%s%s", is_whole ? "" : "kz_", call);
		leak->loss->place = here;
		leak->loss_ns = clock_now_ns();
		leak->loss_thread = gettid();
	}
}

void leaks_overwrite(const void *out, size_t size, const char *call)
{
	for (size_t i = 0; out && call && i + sizeof(void *) <= size; i += sizeof(void *)) {
		const void *held;
		memcpy(&held, (const char *)out + i, sizeof(held));
		pthread_mutex_lock(&leaks.lock);
		struct leak *leak = held ? *leaks_bucket(held) : NULL;
		while (leak && leak->object != held) {
			leak = leak->next;
		}
		if (leak) {
			leaks_note_loss(leak, call);
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

static int leaks_compare_one_place(const struct place *a, const struct place *b)
{
	int order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int leaks_compare_place(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	int order = leaks_compare_one_place(&a->place, &b->place);
	order = order ? order : (a->tag > b->tag) - (a->tag < b->tag);
	order = order ? order : leaks_compare_one_place(&a->loss.place, &b->loss.place);
	return order ? order : strcmp(a->loss.call, b->loss.call);
}

static int leaks_compare_size(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	int order = (a->size < b->size) - (a->size > b->size);
	return order ? order : leaks_compare_place(left, right);
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
				groups[(*count)++] = (struct leak_group){*(const uint32_t *)leak->object,
					1, leak_size(leak->object), leak->place,
					leak->loss ? *leak->loss : (struct loss){.call = ""}};
			}
		}
	}
	pthread_mutex_unlock(&leaks.lock);
	return groups;
}

static size_t leaks_merge(struct leak_group *groups, size_t count)
{
	size_t made = 0;
	qsort(groups, count, sizeof(*groups), leaks_compare_place);
	for (size_t i = 0; i < count; i++) {
		if (made > 0 && leaks_compare_place(&groups[made - 1], &groups[i]) == 0) {
			groups[made - 1].count++;
			groups[made - 1].size += groups[i].size;
		} else {
			groups[made++] = groups[i];
		}
	}
	qsort(groups, made, sizeof(*groups), leaks_compare_size);
	return made;
}

kz_status kz_device_list_leaks(kz_device *dev, kz_leak_fn *each, void *user, kz_error *err)
{
	size_t count;
	int64_t missing;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (!each && (st = error_set(err, KZ_INVALID, "%s: expected a function, got NULL", __func__)))) {
		return st;
	}
	if (!atomic_load(&leaks_on)) {
		return error_set(err, KZ_STATE, "no list of live objects is kept: set KUDZU_LEAKS, or "
			"compile the program with KZ_LEAKS");
	}
	struct leak_group *groups = leaks_copy(dev, &count, &missing);
	if (!groups) {
		return error_no_memory(err);
	}
	count = leaks_merge(groups, count);
	for (size_t i = 0; i < count; i++) {
		const struct leak_group *group = &groups[i];
		const kz_leak leak = {object_kind(group->tag), group->count, group->size,
			group->place.file, group->place.line, group->loss.call,
			group->loss.place.file, group->loss.place.line};
		each(user, &leak);
	}
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

static void leaks_print_one(void *user, const kz_leak *leak)
{
	struct leaks_text *text = user;
	text->count += leak->count;
	fprintf(text->stream, "%s: %" PRId64 " %s%s", text->device, leak->count, leak->kind,
		*leak->kind ? plural(leak->count) : "");
	if (leak->size > 0) {
		fprintf(text->stream, ", %" PRId64 " byte%s", leak->size, plural(leak->size));
	}
	if (leak->line > 0) {
		fprintf(text->stream, ", created at %s:%d", leak->file, (int)leak->line);
	}
	if (*leak->lost_call) {
		fprintf(text->stream, "; %s", leak->lost_call);
		if (leak->lost_line > 0) {
			fprintf(text->stream, " at %s:%d", leak->lost_file, (int)leak->lost_line);
		}
		fputs(" put its result into the same variable", text->stream);
	}
	fputc('\n', text->stream);
}

static kz_status leaks_print_counted(int64_t *count, struct kz_device *dev, FILE *stream, kz_error *err)
{
	struct leaks_text text = {stream, dev->name, 0};
	kz_status st = atomic_load(&leaks_on) ? kz_device_list_leaks(dev, leaks_print_one, &text, err)
		: KZ_OK;
	*count = text.count;
	return st;
}

kz_status leaks_print(struct kz_device *dev, FILE *stream, kz_error *err)
{
	int64_t count;
	return leaks_print_counted(&count, dev, stream, err);
}

void leaks_tell_losses(const struct kz_device *dev, leaks_loss_fn *tell)
{
	pthread_mutex_lock(&leaks.lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct leak *leak = leaks.buckets[i]; leak; leak = leak->next) {
			if (!leak->loss || leak->is_told || (dev && leak->device != dev)) {
				continue;
			}
			const kz_leak told = {object_kind(*(const uint32_t *)leak->object), 1,
				leak_size(leak->object), leak->place.file, leak->place.line,
				leak->loss->call, leak->loss->place.file, leak->loss->place.line};
			tell(&told, leak->loss_ns, leak->loss_thread);
			leak->is_told = true;
		}
	}
	pthread_mutex_unlock(&leaks.lock);
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
	pthread_mutex_lock(&leaks.lock);
	const char *path = leaks.file ? NULL : env_get("KUDZU_LEAKS");
	if (path && *path) {
		leaks.file = leaks_open(path);
		st = leaks.file ? KZ_OK : error_os(err, errno, "open",
			"KUDZU_LEAKS: cannot write the report to '%s'", path);
	}
	if (leaks.file) {
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
