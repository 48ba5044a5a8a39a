/* SPDX-License-Identifier: MIT */
/*
 * The kernels that the library generated for a device: an open hash table from keys to kernels.
 *
 * A key is any bytes; equal keys mean equal sources.  The first thread that asks for a key puts an
 * entry without a kernel in the table, compiles without holding the lock, and fills the entry in;
 * others wait for that.  Entries stay while the device lives.  If a compile fails, its entry loses
 * its key, so that the next call tries again.
 *
 * `recent` has kernels that were found lately, by the low bits of their hash, and is read without
 * the lock.
 *
 * The modules hold no count on their device: with one, the device would never end.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "ops/kernels.h"
#include "module/module.h"

#include <string.h>

enum { RECENT = 64 };

struct entry {
	uint64_t hash;
	void *key;
	size_t size;
	struct kz_module *module;
	struct kz_kernel *kernel; /* NULL while it is being compiled */
	bool failed;              /* there is no kernel, and nobody at work on one */
};

struct kernel_table {
	struct device_table base;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry **slots;
	size_t room; /* a power of two, or 0 */
	size_t count;
	int64_t compiled_count;
	_Atomic(int64_t) hit_count;
	_Atomic(struct entry *) recent[RECENT]; /* entries with kernels, which stay as they are */
};

/* The table of a device; NULL if nobody has made one. */
static struct kernel_table *kernels_table_there(const struct kz_device *dev)
{
	return (struct kernel_table *)device_table(dev, DEVICE_KERNELS);
}

/* Quick rather than good: keys are few and short. */
static uint64_t hash_key(const void *key, size_t size)
{
	const unsigned char *bytes = key;
	uint64_t hash = size, word = 0;
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, size);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static bool is_of(const struct entry *entry, uint64_t hash, const void *key, size_t size)
{
	return entry->hash == hash && entry->size == size && memcmp(entry->key, key, size) == 0;
}

static struct entry **find_slot(const struct kernel_table *table, uint64_t hash, const void *key,
	size_t size)
{
	size_t i = hash & (table->room - 1);
	while (table->slots[i] && !is_of(table->slots[i], hash, key, size)) {
		i = (i + 1) & (table->room - 1);
	}
	return &table->slots[i];
}

/* Keep at least half of the slots empty. */
static bool kernels_grow(struct kernel_table *table)
{
	if (table->room > 2 * table->count) {
		return true;
	}
	struct kernel_table larger = {.room = table->room ? 2 * table->room : 64};
	larger.slots = mem_zalloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots) {
		return false;
	}
	for (size_t i = 0; i < table->room; i++) {
		struct entry *entry = table->slots[i];
		if (entry) {
			*find_slot(&larger, entry->hash, entry->key, entry->size) = entry;
		}
	}
	mem_free(table->slots);
	table->slots = larger.slots;
	table->room = larger.room;
	return true;
}

static void kernels_free_entry(struct entry *entry)
{
	if (entry) {
		module_drop(entry->module);
		mem_free(entry->key);
		mem_free(entry);
	}
}

/* The entry of a key, a new one if there is none; NULL when memory runs out.  Under the lock. */
static struct entry *find_or_add(struct kernel_table *table, const struct kernels_want *want,
	uint64_t hash)
{
	if (!kernels_grow(table)) {
		return NULL;
	}
	struct entry **slot = find_slot(table, hash, want->key, want->size);
	if (*slot) {
		return *slot;
	}
	struct entry *entry = mem_zalloc(1, sizeof(*entry));
	if (entry && !(entry->key = mem_alloc(want->size))) {
		kernels_free_entry(entry);
		return NULL;
	}
	if (entry) {
		memcpy(entry->key, want->key, want->size);
		entry->hash = hash;
		entry->size = want->size;
		entry->failed = true;
		*slot = entry;
		table->count++;
	}
	return entry;
}

static kz_status kernels_compile(struct entry *entry, struct kz_device *dev,
	const struct kernels_want *want, kz_error *err)
{
	/* Each operation rounds, fused or not, as it does alone. */
	static const char *const nvrtc_options[] = {"--fmad=false", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	struct str source = STR_INIT;
	struct kz_module *module = NULL;
	struct kz_kernel *kernel = NULL;
	kz_status st = KZ_OK;
	want->write(&source, want->context);
	options.name = want->what;
	options.nvrtc_options = nvrtc_options;
	options.no_prelude = 1;
	if (source.failed) {
		st = error_no_memory(err);
	} else if (!(st = kz_module_compile(&module, dev, source.data, &options, err))) {
		st = kz_module_kernel(&kernel, module, "kz_kernel", err);
	}
	str_free(&source);
	if (st) {
		kz_module_release(module);
		return st;
	}
	module_forget_device(module);
	entry->module = module;
	entry->kernel = kernel;
	return KZ_OK;
}

/* Compile an entry that this thread has taken; the lock is held before and after. */
static kz_status kernels_fill(struct kernel_table *table, struct entry *entry,
	struct kz_device *dev, const struct kernels_want *want, kz_error *err)
{
	struct entry made = {.kernel = NULL};
	entry->failed = false;
	pthread_mutex_unlock(&table->lock);
	kz_status st = kernels_compile(&made, dev, want, err);
	pthread_mutex_lock(&table->lock);
	entry->module = made.module;
	entry->kernel = made.kernel;
	entry->failed = st != KZ_OK;
	table->compiled_count += st == KZ_OK;
	pthread_cond_broadcast(&table->changed);
	return st;
}

static kz_status kernels_find(struct kz_kernel **out, struct kernel_table *table,
	struct kz_device *dev, const struct kernels_want *want, uint64_t hash, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&table->lock);
	struct entry *entry = find_or_add(table, want, hash);
	while (entry && !entry->kernel && !entry->failed) {
		pthread_cond_wait(&table->changed, &table->lock);
	}
	if (!entry) {
		st = error_no_memory(err);
	} else if (entry->kernel) {
		atomic_fetch_add_explicit(&table->hit_count, 1, memory_order_relaxed);
	} else {
		st = kernels_fill(table, entry, dev, want, err);
	}
	*out = st ? NULL : entry->kernel;
	if (!st) {
		atomic_store_explicit(&table->recent[hash % RECENT], entry, memory_order_release);
	}
	pthread_mutex_unlock(&table->lock);
	return st;
}

/* Unload all kernels: the device ends. */
static void kernels_end(struct device_table *base)
{
	struct kernel_table *table = (struct kernel_table *)base;
	for (size_t i = 0; i < table->room; i++) {
		kernels_free_entry(table->slots[i]);
	}
	mem_free(table->slots);
	pthread_cond_destroy(&table->changed);
	pthread_mutex_destroy(&table->lock);
	mem_free(table);
}

/* The table of a device, made by whoever needs it first. */
static struct kernel_table *kernels_table_of(struct kz_device *dev)
{
	struct kernel_table *table = kernels_table_there(dev);
	if (table) {
		return table;
	}
	struct kernel_table *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return NULL;
	}
	made->base.end = kernels_end;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->changed, NULL);
	return (struct kernel_table *)device_put_table(dev, DEVICE_KERNELS, &made->base);
}

kz_status kernels_get(struct kz_kernel **out, struct kz_device *dev,
	const struct kernels_want *want, kz_error *err)
{
	struct kernel_table *table = kernels_table_of(dev);
	if (!table) {
		return error_no_memory(err);
	}
	uint64_t hash = hash_key(want->key, want->size);
	struct entry *entry = atomic_load_explicit(&table->recent[hash % RECENT],
		memory_order_acquire);
	if (likely(entry && is_of(entry, hash, want->key, want->size))) {
		atomic_fetch_add_explicit(&table->hit_count, 1, memory_order_relaxed);
		*out = entry->kernel;
		return KZ_OK;
	}
	return kernels_find(out, table, dev, want, hash, err);
}

void kernels_hit(struct kz_device *dev)
{
	struct kernel_table *table = kernels_table_there(dev);
	atomic_fetch_add_explicit(&table->hit_count, 1, memory_order_relaxed);
}

void kernels_count(struct kz_device *dev)
{
	struct kernel_table *table = kernels_table_of(dev);
	if (table) {
		pthread_mutex_lock(&table->lock);
		table->compiled_count++;
		pthread_mutex_unlock(&table->lock);
	}
}

void kz_device_kernel_stats(const kz_device *dev, kz_kernel_stats *out)
{
	struct kernel_table *table = dev ? kernels_table_there(dev) : NULL;
	if (!out) {
		return;
	}
	*out = (kz_kernel_stats){0, 0};
	if (table) {
		pthread_mutex_lock(&table->lock);
		out->compiled_count = table->compiled_count;
		out->hit_count = atomic_load_explicit(&table->hit_count, memory_order_relaxed);
		pthread_mutex_unlock(&table->lock);
	}
}

kz_status kernels_launch(const struct kernels_call *call, kz_error *err)
{
	struct kz_device *dev = call->kernel->module->device;
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	for (int i = 0; st == KZ_OK && i < call->used_count; i++) {
		st = memory_use(call->used[i], call->stream, err);
	}
	if (st == KZ_OK) {
		CUresult code = dev->drv->LaunchKernel(call->kernel->handle,
			(unsigned)call->grid.x, (unsigned)call->grid.y, (unsigned)call->grid.z,
			(unsigned)call->block.x, (unsigned)call->block.y, (unsigned)call->block.z,
			(unsigned)call->shared_size, call->stream->handle, call->params, NULL);
		st = device_ok(dev, code, "cuLaunchKernel", err);
	}
	for (int i = 0; st == KZ_OK && i < call->used_count; i++) {
		st = memory_used(call->used[i], call->stream, err);
	}
	device_leave(dev, &scope);
	return st;
}
