/* SPDX-License-Identifier: MIT */
/*
 * Images in memory: a table from requests to images, and to the modules loaded from these.
 *
 * A request is compared as it is, all of its texts.  Where a compile reads files the entry has
 * their list, too (lib/cache/deps.h), and a hit is one only if stat says that no file has changed.
 *
 * The first thread with a request puts an entry without an image in the table and compiles without
 * the lock.  Others with the same request wait for that; if it fails each goes on for itself, since
 * each needs an error of its own.
 *
 * A module without variables has no state.  So every compile of the same source returns the same
 * module, with its count raised.  The table has a count too: the module stays as long as its image
 * is in the table.  While nobody else uses the module, what it takes counts as images do.  A shared
 * module keeps no count on its device, or the device would never end; each of its users does.  So a
 * device that ends waits until no module that left the table is being unloaded.
 */
#include "base/common.h"

#include "lib/module/image_cache.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "lib/cache/cache.h"
#include "lib/core/trace.h"

#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1024, COUNT_MAX = 1024, SIZE_MAX_ALL = 64 << 20 };

struct image_entry {
	struct image_entry *next;
	struct hash hash;       /* of the request */
	struct str request;
	struct kz_image *image; /* NULL while it is being made */
	struct kz_module *modules; /* of it, one for a device */
	struct deps *deps;      /* what the image depends on; NULL: on no file */
	pid_t maker;            /* the process that makes it */
	int64_t size;
	uint64_t used;          /* by the table's clock */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct image_entry *buckets[BUCKETS];
	uint64_t clock;
	int64_t count;
	int64_t size;
	int64_t kept;    /* bytes of the modules that nobody but the table has */
	int64_t hits;
	int64_t leaving; /* modules that were taken out and not dropped yet */
} images = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Where the entry of a request is, or would be. */
static struct image_entry **image_find(const struct str *request, struct hash hash)
{
	struct image_entry **at = &images.buckets[hash.low % BUCKETS];
	while (*at && !(hash_equal((*at)->hash, hash) && (*at)->request.len == request->len
			&& memcmp((*at)->request.data, request->data, request->len) == 0)) {
		at = &(*at)->next;
	}
	return at;
}

/* Somebody uses a module of the table again, or it leaves. */
static void image_unkeep(struct kz_module *mod)
{
	images.kept -= mod->kept_size;
	mod->kept_size = 0;
}

/* Take an entry out; its image may live on elsewhere.  Its modules go to a list, for they must be
 * dropped without the lock. */
static void image_take_out(struct image_entry **at, struct kz_module **modules)
{
	struct image_entry *entry = *at;
	*at = entry->next;
	images.count -= entry->image ? 1 : 0;
	images.size -= entry->size;
	while (entry->modules) {
		struct kz_module *mod = entry->modules;
		image_unkeep(mod);
		entry->modules = mod->next_shared;
		mod->next_shared = *modules;
		*modules = mod;
		images.leaving++;
	}
	if (entry->image) {
		entry->image->entry = NULL;
	}
	image_release(entry->image);
	deps_release(entry->deps);
	str_free(&entry->request);
	mem_free(entry);
}

/* Take out the images that were used longest ago, until the others are within the limits. */
static void image_make_room(struct kz_module **modules)
{
	while (images.count > 1
	       && (images.count > COUNT_MAX || images.size + images.kept > SIZE_MAX_ALL)) {
		struct image_entry **oldest = NULL;
		for (size_t i = 0; i < BUCKETS; i++) {
			for (struct image_entry **at = &images.buckets[i]; *at; at = &(*at)->next) {
				if ((*at)->image && (!oldest || (*at)->used < (*oldest)->used)) {
					oldest = at;
				}
			}
		}
		if (oldest) {
			image_take_out(oldest, modules);
		}
	}
}

/* Drop what was taken out, without the lock. */
static void image_drop_modules(struct kz_module *modules)
{
	while (modules) {
		struct kz_module *mod = modules;
		modules = mod->next_shared;
		mod->next_shared = NULL;
		module_drop(mod);
		pthread_mutex_lock(&images.lock);
		images.leaving--;
		pthread_cond_broadcast(&images.changed);
		pthread_mutex_unlock(&images.lock);
	}
}

/* Look for the image of a request; the lock is held, and given back for a look at files.  If no
 * image holds and no thread makes one, a new entry is added for this thread to fill. */
static struct kz_image *image_look(struct image_entry **mine, const struct str *request,
	struct hash hash, struct kz_module **modules)
{
	bool waited = false;
	struct image_entry *entry;
	while ((entry = *image_find(request, hash)) && !entry->image) {
		if (entry->maker != getpid()) { /* a thread of the process that forked this one */
			image_take_out(image_find(request, hash), modules);
			break;
		}
		pthread_cond_wait(&images.changed, &images.lock);
		waited = true;
	}
	entry = *image_find(request, hash);
	if (entry) {
		struct kz_image *image = kz_image_retain(entry->image);
		struct deps *deps = deps_retain(entry->deps);
		entry->used = ++images.clock;
		bool holds = !deps;
		if (deps) {
			pthread_mutex_unlock(&images.lock);
			holds = deps_hold(deps, false);
			pthread_mutex_lock(&images.lock);
			deps_release(deps);
		}
		if (holds) {
			images.hits++;
			return image;
		}
		struct image_entry **at = image_find(request, hash);
		if (*at && (*at)->image == image) {
			image_take_out(at, modules);
		}
		image_release(image);
	}
	*mine = waited || *image_find(request, hash) ? NULL : mem_zalloc(1, sizeof(**mine));
	if (*mine) {
		(*mine)->hash = hash;
		(*mine)->request = *request;
		(*mine)->maker = getpid();
		*image_find(request, hash) = *mine;
	}
	return NULL;
}

/* Fill an entry that this thread has put in the table, or take it out: there is no image. */
static void image_settle(struct image_entry *entry, struct kz_image *image, struct deps *deps)
{
	struct kz_module *modules = NULL;
	pthread_mutex_lock(&images.lock);
	if (image) {
		entry->image = kz_image_retain(image);
		image->entry = entry;
		entry->deps = deps_retain(deps);
		entry->size = (int64_t)(image->rtc.size + entry->request.len);
		entry->used = ++images.clock;
		images.count++;
		images.size += entry->size;
	} else {
		image_take_out(image_find(&entry->request, entry->hash), &modules);
	}
	image_make_room(&modules);
	pthread_cond_broadcast(&images.changed);
	pthread_mutex_unlock(&images.lock);
	image_drop_modules(modules);
}

kz_status image_cache_get(struct kz_image **out, const struct rtc_request *request, kz_error *err)
{
	struct str bytes = STR_INIT;
	struct image_entry *mine = NULL;
	struct kz_module *modules = NULL;
	struct rtc_image image;
	struct deps *deps = NULL;
	bool is_known = false;
	*out = NULL;
	if (key_of_request(&bytes, request)) {
		struct hash hash = hash_of(bytes.data, bytes.len);
		pthread_mutex_lock(&images.lock);
		*out = image_look(&mine, &bytes, hash, &modules);
		pthread_mutex_unlock(&images.lock);
		image_drop_modules(modules);
	}
	if (!mine) {
		str_free(&bytes);
	}
	if (*out) {
		return KZ_OK;
	}
	uint64_t start = clock_now_ns();
	kz_status st = cache_compile(&image, &deps, &is_known, request, err);
	if (unlikely(trace_is_on())) {
		trace_host(start, "compile", request->name ? request->name : "kernel.cu",
			"\"status\":\"%s\",\"source_bytes\":%zu", kz_status_name(st),
			strlen(request->source));
	}
	st = st ? st : image_take(out, &image, err);
	if (mine) {
		image_settle(mine, is_known ? *out : NULL, deps);
	}
	deps_release(deps);
	return st;
}

/* Modules */

struct image_modules {
	struct device_table base;
	struct kz_device *device;
};

/* Take the modules of a device out of the table: all, or those that nobody else has. */
static struct kz_module *image_take_modules(const struct kz_device *dev, bool only_kept)
{
	struct kz_module *modules = NULL;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct image_entry *entry = images.buckets[i]; entry; entry = entry->next) {
			struct kz_module **at = &entry->modules;
			while (*at && (*at)->device != dev) {
				at = &(*at)->next_shared;
			}
			struct kz_module *mod = *at;
			if (mod && !(only_kept && atomic_load(&mod->handles) > 0)) {
				image_unkeep(mod);
				*at = mod->next_shared;
				mod->next_shared = modules;
				modules = mod;
				images.leaving++;
			}
		}
	}
	return modules;
}

/* The device ends: unload the modules that nobody else has. */
static void image_modules_end(struct device_table *base)
{
	struct kz_device *dev = ((struct image_modules *)base)->device;
	pthread_mutex_lock(&images.lock);
	while (images.leaving > 0) { /* some may be of this device */
		pthread_cond_wait(&images.changed, &images.lock);
	}
	struct kz_module *modules = image_take_modules(dev, false);
	pthread_mutex_unlock(&images.lock);
	image_drop_modules(modules);
	mem_free(base);
}

static void image_modules_trim(struct device_table *base)
{
	pthread_mutex_lock(&images.lock);
	struct kz_module *modules = image_take_modules(((struct image_modules *)base)->device,
		true);
	pthread_mutex_unlock(&images.lock);
	image_drop_modules(modules);
}

/* See to it that the device ends its modules; false when memory runs out. */
static bool image_modules_begin(struct kz_device *dev)
{
	struct image_modules *made = device_table(dev, DEVICE_MODULES) ? NULL
		: mem_zalloc(1, sizeof(*made));
	if (made) {
		made->base.end = image_modules_end;
		made->base.trim = image_modules_trim;
		made->device = dev;
		(void)device_put_table(dev, DEVICE_MODULES, &made->base);
	}
	return device_table(dev, DEVICE_MODULES);
}

/* The module of an image on a device, with one more user; NULL if there is none. */
static struct kz_module *image_module(const struct image_entry *entry, const struct kz_device *dev)
{
	struct kz_module *mod = entry ? entry->modules : NULL;
	while (mod && mod->device != dev) {
		mod = mod->next_shared;
	}
	if (mod) {
		image_unkeep(mod);
		atomic_fetch_add(&mod->handles, 1);
		module_retain(mod);
	}
	return mod;
}

/* Whether a module has not left the table. */
static bool image_has_module(const struct kz_module *mod)
{
	const struct kz_module *at = mod->image->entry ? mod->image->entry->modules : NULL;
	while (at && at != mod) {
		at = at->next_shared;
	}
	return at;
}

bool image_cache_module(struct kz_module **out, struct kz_device *dev, struct kz_image *image)
{
	bool is_shared = image->rtc.variable_count == 0 && image_modules_begin(dev);
	*out = NULL;
	if (is_shared) {
		pthread_mutex_lock(&images.lock);
		*out = image_module(image->entry, dev);
		pthread_mutex_unlock(&images.lock);
	}
	return is_shared;
}

struct kz_module *image_cache_share(struct kz_module *made)
{
	pthread_mutex_lock(&images.lock);
	struct image_entry *entry = made->image->entry;
	struct kz_module *other = image_module(entry, made->device);
	if (entry && !other) {
		module_share(made);
		made->next_shared = entry->modules;
		entry->modules = made;
	}
	pthread_mutex_unlock(&images.lock);
	return other ? other : made;
}

void image_cache_keep(struct kz_module *mod)
{
	struct kz_module *modules = NULL;
	if (!mod->is_shared || atomic_load(&mod->handles) > 0) {
		return;
	}
	const int64_t size = module_measure(mod);
	pthread_mutex_lock(&images.lock);
	if (atomic_load(&mod->handles) == 0 && image_has_module(mod)) {
		images.kept += size - mod->kept_size;
		mod->kept_size = size;
		image_make_room(&modules);
	}
	pthread_mutex_unlock(&images.lock);
	image_drop_modules(modules);
}

void image_cache_clear(void)
{
	struct kz_module *modules = NULL;
	pthread_mutex_lock(&images.lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct image_entry **at = &images.buckets[i]; *at;) {
			if ((*at)->image) {
				image_take_out(at, &modules);
			} else {
				at = &(*at)->next;
			}
		}
	}
	pthread_mutex_unlock(&images.lock);
	image_drop_modules(modules);
}

void image_cache_counts(struct image_cache_counts *out)
{
	pthread_mutex_lock(&images.lock);
	*out = (struct image_cache_counts){images.hits, images.count,
		images.size + images.kept};
	pthread_mutex_unlock(&images.lock);
}
