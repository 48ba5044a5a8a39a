/* SPDX-License-Identifier: MIT */
/*
 * The key of a compile.
 *
 * It is a list of parts: a name, a zero, the number of bytes, the bytes.  The source and the options
 * are in it as they are, headers by their hash: a key says for itself what it is about, which is
 * what `kudzu cache why` lives on.
 *
 * Paths of include folders are left out as long as none can get into the output, so that a project
 * that moves finds its images again.  Where they can (debug information, __FILE__), or did (in a
 * warning), they are the last part.  The request comes first, as the table of images in memory has it.
 */
#include "base/common.h"

#include "cache/key.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "cache/reach.h"

#include <kudzu/version.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Change it with the meaning of a part. */
#define FORMAT "1"

/* What most keys, and requests, have besides a source; and from where on a source is a long one. */
enum { ROOM = 1024, REQUEST_ROOM = 256, LONG_SOURCE = 32768 };

/* A new field must get into the key, too: see add_request.  pch_folder is called by a key. */
_Static_assert(sizeof(struct rtc_request) == 152, "add the new field of struct rtc_request");

static void add_head(struct str *out, const char *name, uint64_t size)
{
	str_addn(out, name, strlen(name) + 1);
	str_addn(out, (const char *)&size, sizeof(size));
}

static void add_part(struct str *out, const char *name, const void *data, uint64_t size)
{
	add_head(out, name, size);
	str_addn(out, data, (size_t)size);
}

/* One that is another's: all but its bytes, which belong here. */
static void add_apart(struct key_bytes *out, const char *name, const char *data, uint64_t size)
{
	add_head(&out->own, name, size);
	out->source = data;
	out->source_size = (size_t)size;
	out->source_at = out->own.len;
}

static void add_text(struct str *out, const char *name, const char *text)
{
	add_part(out, name, text, strlen(text));
}

/* A part that is written piece by piece: begin it, add, end it. */
static size_t begin_part(struct str *out, const char *name)
{
	add_part(out, name, "", 0);
	return out->len;
}

static void end_part(struct str *out, size_t begin)
{
	uint64_t size = out->len - begin;
	if (!out->failed) {
		memcpy(out->data + begin - sizeof(size), &size, sizeof(size));
	}
}

/* Texts, each with its zero. */
static void add_list(struct str *out, const char *name, const char *const *texts, size_t count)
{
	size_t begin = begin_part(out, name);
	for (size_t i = 0; i < count; i++) {
		str_addn(out, texts[i], strlen(texts[i]) + 1);
	}
	end_part(out, begin);
}

static void add_options(struct str *out, const struct rtc_request *request)
{
	size_t begin = begin_part(out, "options");
	str_add(out, request->line_info ? "line info, " : "");
	str_add(out, request->debug ? "debug, " : "");
	str_add(out, request->fast_math ? "fast math, " : "");
	str_add(out, request->no_prelude ? "no prelude, " : "");
	str_add(out, request->relocatable ? "relocatable, " : "");
	str_add(out, request->pch ? "pch, " : ""); /* without the warnings of some headers */
	str_add(out, "fast compile ");
	str_addi(out, request->fast_compile);
	str_add(out, ", registers ");
	str_addi(out, request->max_registers);
	str_add(out, ", std ");
	str_add(out, request->std ? request->std : "default");
	str_addc(out, '\0');
	for (size_t i = 0; i < request->option_count; i++) {
		str_addn(out, request->options[i], strlen(request->options[i]) + 1);
	}
	end_part(out, begin);
}

static void add_arch(struct str *out, const struct rtc_request *request)
{
	size_t begin = begin_part(out, "architecture");
	if (request->arch) {
		str_add(out, request->arch);
	} else {
		str_add(out, "for ");
		str_addi(out, request->device_cc);
	}
	str_add(out, request->ptx_only ? ", PTX" : "");
	end_part(out, begin);
}

static void add_memory_headers(struct str *out, const struct rtc_request *request)
{
	size_t begin = begin_part(out, "headers in memory");
	for (size_t i = 0; i < request->header_count; i++) {
		const char *name = request->header_names[i];
		size_t size = strlen(request->header_texts[i]);
		struct hash hash = hash_of(request->header_texts[i], size);
		str_addn(out, name, strlen(name) + 1);
		str_addn(out, (const char *)&size, sizeof(size));
		str_addn(out, (const char *)&hash, sizeof(hash));
	}
	end_part(out, begin);
}

/* Memory for a source and more, at once: else it would come in steps. */
static void reserve(struct str *out, size_t size, size_t more)
{
	char *data = mem_alloc(size + more);
	if (data) {
		mem_expect(data, size);
		*out = (struct str){data, 0, size + more, false};
	}
}

/* A request; its source only up to that size. */
static void add_request(struct key_bytes *out, const struct rtc_request *request, size_t most,
	size_t room)
{
	struct str *own = &out->own;
	size_t size = strlen(request->source);
	bool is_apart = size > most;
	reserve(own, is_apart ? 0 : size, room);
	str_addn(own, KEY_KIND, sizeof(KEY_KIND));
	add_text(own, "name", request->name ? request->name : "kernel.cu");
	if (is_apart) {
		add_apart(out, "source", request->source, size);
	} else {
		add_part(own, "source", request->source, size);
	}
	add_arch(own, request);
	add_options(own, request);
	add_list(own, "defines", request->defines, request->define_count);
	add_list(own, "instances", request->instances, request->instance_count);
	add_memory_headers(own, request);
}

bool key_begin(struct key_bytes *out, const struct rtc_request *request)
{
	*out = (struct key_bytes){.own = STR_INIT};
	add_request(out, request, LONG_SOURCE, REQUEST_ROOM);
	return !out->own.failed;
}

struct store_key key_pieces(const struct key_bytes *bytes)
{
	const struct str *own = &bytes->own;
	if (!bytes->source) {
		return store_whole_key(own->data, own->len);
	}
	struct store_key key = {{
		{own->data, bytes->source_at},
		{bytes->source, bytes->source_size},
		{own->data + bytes->source_at, own->len - bytes->source_at},
	}, 0, {0}};
	store_key_finish(&key);
	return key;
}

struct hash key_hash(const struct key_bytes *bytes)
{
	return bytes->source ? key_pieces(bytes).hash : hash_of(bytes->own.data, bytes->own.len);
}

bool key_bytes_equal(const struct key_bytes *a, const struct key_bytes *b)
{
	return a->own.len == b->own.len && memcmp(a->own.data, b->own.data, a->own.len) == 0
		&& (a->source == b->source || (a->source_size == b->source_size
			&& a->source_at == b->source_at
			&& memcmp(a->source, b->source, a->source_size) == 0));
}

/* Which build of this library.  False: it has no build id, and cannot be told from others. */
static bool add_code(struct str *out)
{
	static const char version[] = {KZ_VERSION_MAJOR, KZ_VERSION_MINOR, KZ_VERSION_PATCH};
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t size = dl_build_id(id, FORMAT);
	size_t begin = begin_part(out, "kudzu");
	str_addn(out, version, sizeof(version));
	str_addn(out, (const char *)id, size);
	end_part(out, begin);
	return size > 0;
}

static void add_files(struct str *out, const struct reach *reach)
{
	size_t begin = begin_part(out, "headers");
	for (size_t i = 0; i < reach->count; i++) {
		const struct reach_file *file = &reach->files[i];
		str_addn(out, file->label, strlen(file->label) + 1);
		str_addn(out, (const char *)&file->size, sizeof(file->size));
		str_addn(out, (const char *)&file->hash, sizeof(file->hash));
	}
	end_part(out, begin);
	add_part(out, "CUDA headers", &reach->cuda, reach->cuda_count ? sizeof(reach->cuda) : 0);
}

static void add_paths(struct str *out, const struct rtc_request *request)
{
	size_t begin = begin_part(out, "include folders");
	char *cwd = getcwd(NULL, 0); /* relative paths begin there */
	str_add(out, cwd ? cwd : "?");
	str_addc(out, '\0');
	free(cwd);
	for (size_t i = 0; i < request->include_count; i++) {
		str_addn(out, request->include_dirs[i], strlen(request->include_dirs[i]) + 1);
	}
	end_part(out, begin);
}

/* All but the request. */
static void add_surroundings(struct key *out, const struct rtc_request *request,
	const struct compiler *compiler, const struct reach *reach)
{
	struct str *text = &out->bytes.own;
	add_text(text, "format", FORMAT);
	out->is_unnamed = !add_code(text);
	add_text(text, "compiler", compiler->identity);
	add_list(text, "CUDA folders", compiler->include_dirs, compiler->include_count);
	add_files(text, reach);
	if (out->has_paths) {
		add_paths(text, request);
	}
}

bool key_make(struct key *out, const struct rtc_request *request, const struct key_bytes *begun,
	const struct compiler *compiler, bool paths)
{
	struct reach reach;
	*out = (struct key){.bytes = {.own = STR_INIT}};
	reach_find(&reach, request, compiler->include_dirs, compiler->include_count);
	out->why_not = reach.why_not;
	out->on_disk = reach.on_disk;
	out->has_paths = paths || request->line_info || request->debug
		|| (reach.has_place && request->include_count > 0);
	if (begun) {
		out->bytes = *begun;
		out->bytes.own = (struct str)STR_INIT;
		reserve(&out->bytes.own, begun->own.len, ROOM);
		str_addn(&out->bytes.own, begun->own.data, begun->own.len);
	} else {
		add_request(&out->bytes, request, SIZE_MAX, ROOM);
	}
	add_surroundings(out, request, compiler, &reach);
	bool ok = !reach.no_memory && !out->bytes.own.failed;
	reach_free(&reach);
	if (!ok) {
		key_free(out);
	}
	return ok;
}

void key_free(struct key *key)
{
	str_free(&key->bytes.own);
	key->bytes = (struct key_bytes){.own = STR_INIT};
}

bool key_next(struct key_part *out, size_t *at, const void *key, size_t size)
{
	const char *bytes = key;
	uint64_t part_size;
	if (*at == 0) {
		if (size < sizeof(KEY_KIND) || memcmp(bytes, KEY_KIND, sizeof(KEY_KIND)) != 0) {
			return false;
		}
		*at = sizeof(KEY_KIND);
	}
	const char *name = bytes + *at;
	size_t left = size - *at;
	size_t len = strnlen(name, left);
	if (len == left || left - len - 1 < sizeof(part_size)) {
		return false;
	}
	memcpy(&part_size, name + len + 1, sizeof(part_size));
	left -= len + 1 + sizeof(part_size);
	if (part_size > left) {
		return false;
	}
	*out = (struct key_part){name, name + len + 1 + sizeof(part_size), (size_t)part_size};
	*at = size - left + (size_t)part_size;
	return true;
}

bool key_find(struct key_part *out, const void *key, size_t size, const char *name)
{
	for (size_t at = 0; key_next(out, &at, key, size);) {
		if (strcmp(out->name, name) == 0) {
			return true;
		}
	}
	return false;
}
