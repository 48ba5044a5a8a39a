/* SPDX-License-Identifier: MIT */
/*
 * Source -> module: kz_module_compile, and what is loaded: for each device a table from images to
 * modules.
 *
 * A module without variables has no state: whoever compiles the same source gets the same module,
 * with its count raised.  The table has a count too, so that the module stays when its last user has
 * gone, and is there for the next one; what was not asked for the longest goes when there are many.
 *
 * A shared module keeps no count on its device, or the device would never go; each of its users
 * does.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "module/loaded.h"

#include <string.h>

#define BUCKETS 64
#define COUNT_MAX 256
#define IMAGE_SIZE_MAX (INT64_C(64) << 20)

struct loaded {
	struct device_table base;
	pthread_mutex_t lock;
	struct kz_module *buckets[BUCKETS];
	uint64_t clock;
	int64_t count;
	int64_t image_size; /* of all of them */
};

static struct kz_module **bucket_of(struct loaded *table, const struct kz_image *image)
{
	return &table->buckets[(uintptr_t)image / 64 % BUCKETS];
}

/* Take a module out of the table, which loses its count. */
static struct kz_module *take_out(struct loaded *table, struct kz_module **at)
{
	struct kz_module *mod = *at;
	*at = mod->next_loaded;
	mod->next_loaded = NULL;
	table->count--;
	table->image_size -= kz_image_size(mod->image);
	return mod;
}

static struct kz_module *take_out_oldest(struct loaded *table)
{
	struct kz_module **oldest = NULL;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct kz_module **at = &table->buckets[i]; *at; at = &(*at)->next_loaded) {
			if (!oldest || (*at)->last_use < (*oldest)->last_use) {
				oldest = at;
			}
		}
	}
	return take_out(table, oldest);
}

/* A module of this image with one more user; NULL if there is none. */
static struct kz_module *find(struct loaded *table, const struct kz_image *image)
{
	struct kz_module *mod = *bucket_of(table, image);
	while (mod && mod->image != image) {
		mod = mod->next_loaded;
	}
	if (mod) {
		mod->last_use = ++table->clock;
		module_retain(mod);
	}
	return mod;
}

/* Put a new module into the table, which may push an older one out; that is left for the caller. */
static struct kz_module *put(struct loaded *table, struct kz_module *mod)
{
	struct kz_module **bucket = bucket_of(table, mod->image);
	module_share(mod);
	mod->last_use = ++table->clock;
	mod->next_loaded = *bucket;
	*bucket = mod;
	table->count++;
	table->image_size += kz_image_size(mod->image);
	bool full = table->count > 1
		&& (table->count > COUNT_MAX || table->image_size > IMAGE_SIZE_MAX);
	return full ? take_out_oldest(table) : NULL;
}

/* Unload those that nobody else has: the device is about to go. */
static void loaded_end(struct device_table *base)
{
	struct loaded *table = (struct loaded *)base;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (table->buckets[i]) {
			module_drop(take_out(table, &table->buckets[i]));
		}
	}
	pthread_mutex_destroy(&table->lock);
	mem_free(table);
}

/* The table of a device, made by whoever needs it first. */
static struct loaded *table_of(struct kz_device *dev)
{
	struct device_table *there = device_table(dev, DEVICE_MODULES);
	if (there) {
		return (struct loaded *)there;
	}
	struct loaded *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return NULL;
	}
	made->base.end = loaded_end;
	pthread_mutex_init(&made->lock, NULL);
	return (struct loaded *)device_put_table(dev, DEVICE_MODULES, &made->base);
}

kz_status loaded_get(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	kz_error *err)
{
	struct loaded *table = image->rtc.variable_count == 0 ? table_of(dev) : NULL;
	kz_status st;
	if (!table) {
		return module_create(out, dev, image, err);
	}
	if ((st = kz_device_check(dev, err))) {
		return st;
	}
	pthread_mutex_lock(&table->lock);
	*out = find(table, image);
	pthread_mutex_unlock(&table->lock);
	if (*out || (st = module_create(out, dev, image, err)) || (*out)->image != image) {
		return st; /* what was made of another image is known as such to nobody */
	}
	pthread_mutex_lock(&table->lock);
	struct kz_module *pushed_out = put(table, *out);
	pthread_mutex_unlock(&table->lock);
	module_drop(pushed_out);
	return KZ_OK;
}

/* Whether the driver is older than the PTX that the options ask for: a cubin for the device is what
 * the compiler would have made without them. */
static bool ptx_is_too_new(const struct kz_device *dev, const kz_compile_options *options,
	const kz_error *refusal)
{
	return refusal->domain == KZ_DOMAIN_DRIVER
	       && refusal->code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && !dev->ptx_only && options
	       && options->arch && strncmp(options->arch, "compute_", 8) == 0;
}

static kz_status compile_and_load(struct kz_module **out, struct kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err)
{
	struct kz_image *image = NULL;
	kz_status st = image_compile(&image, source, options, dev->info.compute_capability,
		dev->ptx_only, err);
	if (st == KZ_OK) {
		st = loaded_get(out, dev, image, err);
	}
	kz_image_release(image);
	return st;
}

kz_status kz_module_compile(kz_module **out, kz_device *dev, const char *source,
	const kz_compile_options *options, kz_error *err)
{
	kz_error refusal = KZ_ERROR_INIT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, "a device", err))) {
		return st;
	}
	st = compile_and_load(out, dev, source, options, &refusal);
	if (st && ptx_is_too_new(dev, options, &refusal)) {
		kz_compile_options others = *options;
		others.arch = NULL;
		st = compile_and_load(out, dev, source, &others, NULL);
	}
	if (st) {
		(void)error_copy(err, &refusal);
		st = refusal.status;
	}
	kz_error_clear(&refusal);
	return st;
}
