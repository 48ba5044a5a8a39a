/* SPDX-License-Identifier: MIT */
/*
 * The kernels that are ready to launch on a device: an open hash table from keys to kernels.
 *
 * A key is a family and any bytes; equal keys mean equal sources.  The first thread that asks for a
 * key puts an entry without a kernel in the table, compiles without holding the lock, and fills it
 * in; others wait for that.  If the compile fails the next thread tries again.  A second key may
 * lead to a kernel that is there, with a value of its own: what else the caller has to know to
 * launch it.
 *
 * Readers take no lock.  An entry stays as it is once it has a kernel, and stays where it is while
 * the device lives.  When the table grows, the old slots stay for those who still read them.
 *
 * The modules hold no count on their device: with one, the device would never end.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/trace.h"
#include "lib/module/module.h"
#include "lib/ops/kernels.h"
#include "lib/ops/user_text.h"
#include "lib/array/array.h"

#include <kudzu/ops.h>

#include <string.h>

struct kernels_entry {
	uint64_t hash;
	const struct schedule *schedule; /* of its family; NULL: a key of kernels_keep */
	size_t size, value_size;
	_Atomic(struct kz_kernel *) kernel; /* NULL while it is being compiled */
	struct kz_module *module;           /* NULL: another entry has it */
	bool failed;                        /* there is no kernel, and nobody at work on one */
	_Alignas(16) char bytes[];          /* the value, and the key after it */
};

struct kernels_slots {
	struct kernels_slots *smaller; /* those before the table grew */
	size_t room;                   /* a power of two */
	_Atomic(struct kernels_entry *) at[];
};

struct kernel_table {
	struct device_table base;
	pthread_mutex_t lock; /* of all who write */
	pthread_cond_t changed;
	_Atomic(struct kernels_slots *) slots; /* NULL: there is no entry */
	size_t count;
	int64_t compiled_count;
	_Atomic(int64_t) hit_count;
};

/* The table of a device; NULL if nobody has made one. */
static struct kernel_table *kernels_table_there(const struct kz_device *dev)
{
	return (struct kernel_table *)device_table(dev, DEVICE_KERNELS);
}

/* What an entry is found by. */
struct kernels_key {
	const struct schedule *schedule; /* tells families apart, and kinds of devices */
	const void *bytes;
	size_t size;
};

/* Quick rather than good: keys are few and short. */
static uint64_t kernels_hash(const struct kernels_key *key)
{
	const unsigned char *bytes = key->bytes;
	size_t size = key->size;
	uint64_t hash = size + (uintptr_t)key->schedule, word = 0;
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

/* Where the entry of a key is, or would be. */
static _Atomic(struct kernels_entry *) *kernels_slot(struct kernels_slots *slots, uint64_t hash,
	const struct kernels_key *key)
{
	for (size_t i = hash;; i++) {
		_Atomic(struct kernels_entry *) *slot = &slots->at[i & (slots->room - 1)];
		const struct kernels_entry *entry = atomic_load_explicit(slot,
			memory_order_acquire);
		if (!entry || (entry->hash == hash && entry->size == key->size
				&& entry->schedule == key->schedule
				&& memcmp(entry->bytes + entry->value_size, key->bytes,
					key->size) == 0)) {
			return slot;
		}
	}
}

/* The entry of a key if its kernel is there; without the lock. */
static struct kernels_entry *kernels_find_ready(struct kernel_table *table, uint64_t hash,
	const struct kernels_key *key)
{
	struct kernels_slots *slots = table
		? atomic_load_explicit(&table->slots, memory_order_acquire) : NULL;
	struct kernels_entry *entry = slots ? *kernels_slot(slots, hash, key) : NULL;
	return entry && atomic_load_explicit(&entry->kernel, memory_order_acquire) ? entry : NULL;
}

/* Keep at least half of the slots empty. */
static bool kernels_grow(struct kernel_table *table)
{
	struct kernels_slots *slots = table->slots;
	if (slots && slots->room > 2 * table->count) {
		return true;
	}
	size_t room = slots ? 2 * slots->room : 64;
	struct kernels_slots *larger = mem_zalloc(1, sizeof(*larger) + room * sizeof(*larger->at));
	if (!larger) {
		return false;
	}
	larger->room = room;
	larger->smaller = slots;
	for (size_t i = 0; slots && i < slots->room; i++) {
		struct kernels_entry *entry = slots->at[i];
		if (entry) {
			struct kernels_key key = {entry->schedule, entry->bytes + entry->value_size,
				entry->size};
			*kernels_slot(larger, entry->hash, &key) = entry;
		}
	}
	atomic_store_explicit(&table->slots, larger, memory_order_release);
	return true;
}

/* The entry of a key, a new one if there is none; NULL when memory runs out.  Under the lock. */
static struct kernels_entry *kernels_find_or_add(struct kernel_table *table, uint64_t hash,
	const struct kernels_key *key, const void *value, size_t value_size,
	struct kz_kernel *kernel)
{
	if (!kernels_grow(table)) {
		return NULL;
	}
	_Atomic(struct kernels_entry *) *slot = kernels_slot(table->slots, hash, key);
	if (*slot) {
		return *slot;
	}
	struct kernels_entry *entry = mem_zalloc(1, sizeof(*entry) + value_size + key->size);
	if (entry) {
		entry->hash = hash;
		entry->schedule = key->schedule;
		entry->size = key->size;
		entry->value_size = value_size;
		entry->failed = !kernel;
		atomic_init(&entry->kernel, kernel);
		memcpy(entry->bytes, value, value_size);
		memcpy(entry->bytes + value_size, key->bytes, key->size);
		atomic_store_explicit(slot, entry, memory_order_release);
		table->count++;
	}
	return entry;
}

static const char *kernels_name(const struct kernels_want *want)
{
	return want->what ? want->what : want->family->name;
}

/* KZ_SERIAL: a block runs a thread at a time. */
static void kernels_write_schedule(struct str *source, const struct kernel_family *family,
	const struct kz_device *dev)
{
	const struct schedule *schedule = schedule_of(family->schedules, dev);
	str_add(source, "#define KZ_POINTER(type) type *\n");
	str_addf(source, "%s#define KZ_THREADS %d\n#define KZ_TILE_SIZE %d\n"
		"#define KZ_PER_THREAD %d\n",
		schedule_kind(dev) == SCHEDULE_ONE ? "#define KZ_SERIAL\n" : "", schedule->threads,
		schedule->tile, schedule->each);
}

/* As fast as the options say, if NVRTC knows how: it does from CUDA 12.9 on. */
static kz_status kernels_compile_source(struct kz_module **out, struct kz_device *dev,
	const char *source, kz_compile_options *options, kz_error *err)
{
	const bool mine = error_is_clean(err);
	kz_status st = kz_module_compile(out, dev, source, options, err);
	if (st == KZ_VERSION && options->fast_compile) {
		if (mine) {
			kz_error_clear(err);
		}
		options->fast_compile = KZ_FAST_COMPILE_OFF;
		st = kz_module_compile(out, dev, source, options, err);
	}
	return st;
}

static kz_status kernels_compile(struct kz_module **out, struct kz_kernel **kernel,
	struct kz_device *dev, const struct kernels_want *want, kz_error *err)
{
	/* Each operation rounds, fused or not, as it does alone. */
	static const char *const nvrtc_options[] = {"--fmad=false", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	struct str source = STR_INIT;
	struct kz_module *module = NULL;
	bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	kernels_write_schedule(&source, want->family, dev);
	want->family->write(&source, want->context ? want->context : want->key);
	options.name = kernels_name(want);
	options.nvrtc_options = nvrtc_options;
	options.no_prelude = 1;
	options.fast_compile = want->family->is_brief && schedule_kind(dev) == SCHEDULE_ONE
		? KZ_FAST_COMPILE_MIN : KZ_FAST_COMPILE_OFF;
	if (source.failed) {
		st = error_no_memory(err);
	} else if (!(st = kernels_compile_source(&module, dev, source.data, &options, err))) {
		st = kz_module_kernel(kernel, module, "kz_kernel", err);
	} else if (st == KZ_COMPILE && mine) {
		user_text_explain(err, kernels_name(want), source.data);
	}
	str_free(&source);
	if (st) {
		kz_module_release(module);
		return st;
	}
	module_forget_device(module);
	*out = module;
	return KZ_OK;
}

/* Find an entry that is not ready, or compile it. */
static kz_status kernels_make(struct kz_kernel **out, struct kernel_table *table,
	struct kz_device *dev, const struct kernels_want *want, uint64_t hash, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&table->lock);
	const struct kernels_key key = {schedule_of(want->family->schedules, dev), want->key,
		want->size};
	struct kernels_entry *entry = kernels_find_or_add(table, hash, &key, "", 0, NULL);
	while (entry && !entry->kernel && !entry->failed) {
		pthread_cond_wait(&table->changed, &table->lock);
	}
	*out = entry ? entry->kernel : NULL;
	if (!entry) {
		st = error_no_memory(err);
	} else if (*out) {
		atomic_fetch_add_explicit(&table->hit_count, 1, memory_order_relaxed);
	} else {
		struct kz_module *module = NULL;
		entry->failed = false;
		pthread_mutex_unlock(&table->lock);
		st = kernels_compile(&module, out, dev, want, err);
		pthread_mutex_lock(&table->lock);
		*out = st ? NULL : *out;
		entry->module = module;
		atomic_store_explicit(&entry->kernel, *out, memory_order_release);
		entry->failed = st != KZ_OK;
		table->compiled_count += st == KZ_OK;
		pthread_cond_broadcast(&table->changed);
	}
	pthread_mutex_unlock(&table->lock);
	return st;
}

/* Unload all kernels: the device ends. */
static void kernels_end(struct device_table *base)
{
	struct kernel_table *table = (struct kernel_table *)base;
	struct kernels_slots *slots = table->slots;
	for (size_t i = 0; slots && i < slots->room; i++) {
		struct kernels_entry *entry = slots->at[i];
		if (entry) {
			module_drop(entry->module);
			mem_free(entry);
		}
	}
	while (slots) {
		struct kernels_slots *smaller = slots->smaller;
		mem_free(slots);
		slots = smaller;
	}
	pthread_cond_destroy(&table->changed);
	pthread_mutex_destroy(&table->lock);
	mem_free(table);
}

/* The table of a device, which the first call that needs it makes. */
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
	const struct kernels_key key = {schedule_of(want->family->schedules, dev), want->key,
		want->size};
	uint64_t hash = kernels_hash(&key);
	const struct kernels_entry *entry = kernels_find_ready(table, hash, &key);
	if (likely(entry)) {
		atomic_fetch_add_explicit(&table->hit_count, 1, memory_order_relaxed);
		*out = entry->kernel;
		return KZ_OK;
	}
	return kernels_make(out, table, dev, want, hash, err);
}

const void *kernels_find(const struct kz_device *dev, const void *key, size_t size)
{
	const struct kernels_key own = {NULL, key, size};
	const struct kernels_entry *entry = kernels_find_ready(kernels_table_there(dev),
		kernels_hash(&own), &own);
	return entry ? entry->bytes : NULL;
}

void kernels_keep(struct kz_device *dev, const void *key, size_t size, const void *value,
	size_t value_size, struct kz_kernel *kernel)
{
	const struct kernels_key own = {NULL, key, size};
	struct kernel_table *table = kernels_table_of(dev);
	if (table) {
		pthread_mutex_lock(&table->lock);
		(void)kernels_find_or_add(table, kernels_hash(&own), &own, value, value_size,
			kernel);
		pthread_mutex_unlock(&table->lock);
	}
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

static void kernels_trace(const struct kernels_run *run, kz_dim3 block, int64_t shared,
	struct trace_op *op, kz_status st)
{
	long long size = run->shared_size + shared;
	trace_op_end(op, st, "launch", TRACE_LAUNCH_ARGS,
		(long long)run->stream->number, (long long)run->grid.x, (long long)run->grid.y,
		(long long)run->grid.z, (long long)block.x, (long long)block.y,
		(long long)block.z, size);
}

typedef kz_status kernels_order(struct memory *memory, struct kz_stream *stream, kz_error *err);

/* Call `order` for all memory that a launch uses. */
static kz_status kernels_each_memory(const struct kernels_run *run, kernels_order *order,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; !st && i < run->used_count; i++) {
		st = order(run->used[i], run->stream, err);
	}
	for (int i = 0; !st && i < run->array_count; i++) {
		st = run->arrays[i] ? order(run->arrays[i]->buffer->memory, run->stream, err)
			: KZ_OK;
	}
	return st;
}

static kz_status kernels_launch(struct kz_kernel *kernel, const struct kernels_run *run,
	kz_error *err)
{
	struct kz_device *dev = run->stream->device;
	const kz_dim3 block = run->block.x ? run->block
		: kz_dim(schedule_of(run->want.family->schedules, dev)->threads, 1, 1);
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	st = module_capture(kernel->module, run->stream, err);
	st = st ? st : kernels_each_memory(run, memory_use, err);
	if (!st) {
		struct trace_op op;
		bool is_traced = unlikely(trace_is_on());
		if (is_traced) {
			trace_op_begin(&op, run->stream, kernel->info->name);
		}
		CUresult code = dev->drv->LaunchKernel(kernel->handle,
			(unsigned)run->grid.x, (unsigned)run->grid.y, (unsigned)run->grid.z,
			(unsigned)block.x, (unsigned)block.y, (unsigned)block.z,
			(unsigned)run->shared_size, run->stream->handle, run->params, NULL);
		st = device_ok(dev, code, "cuLaunchKernel", err);
		if (is_traced) {
			kernels_trace(run, block, kernel->static_shared, &op, st);
		}
	}
	st = st ? st : kernels_each_memory(run, memory_used, err);
	device_leave(dev, &scope);
	return st;
}

kz_status kernels_run(const struct kernels_run *run, kz_error *err)
{
	struct kz_kernel *kernel = run->kernel;
	kz_status st;
	if (!kernel && ((st = kernels_get(&kernel, run->stream->device, &run->want, err))
		|| (run->function
			&& (st = kz_module_kernel(&kernel, kernel->module, run->function, err))))) {
		return st;
	}
	return kernels_launch(kernel, run, err);
}
