/* SPDX-License-Identifier: MIT */
/*
 * The key of a compile.
 *
 * It is a list of parts: a name, a zero, the number of bytes, the bytes.  The source and the
 * options are in it as they are, headers by their hash: a key says for itself what it is about, and
 * `kudzu cache why` compares keys part by part.
 *
 * Paths of include folders are left out as long as none can get into the output, so that a project
 * that moves finds its images again.  Where they can (debug information, __FILE__), or did (in a
 * warning), they are the last part.
 */
#include "base/common.h"

#include "lib/cache/key.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/hash.h"

#include <kudzu/version.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Change it with the meaning of a part. */
#define FORMAT "2"

/* A new field must get into the key, too: see key_add_request.  pch_folder is called by a key, and
 * the folders of the bundle are the compiler's. */
_Static_assert(sizeof(struct rtc_request) == 184, "add the new field of struct rtc_request");

static void key_add_part(struct str *out, const char *name, const void *data, uint64_t size)
{
	str_addn(out, name, strlen(name) + 1);
	str_addn(out, (const char *)&size, sizeof(size));
	str_addn(out, data, (size_t)size);
}

static void key_add_text(struct str *out, const char *name, const char *text)
{
	key_add_part(out, name, text, strlen(text));
}

/* A part that is written piece by piece: begin it, add, end it. */
static size_t key_begin_part(struct str *out, const char *name)
{
	key_add_part(out, name, "", 0);
	return out->len;
}

static void key_end_part(struct str *out, size_t begin)
{
	uint64_t size = out->len - begin;
	if (!out->failed) {
		memcpy(out->data + begin - sizeof(size), &size, sizeof(size));
	}
}

/* Texts, each with its zero. */
static void key_add_list(struct str *out, const char *name, const char *const *texts, size_t count)
{
	size_t begin = key_begin_part(out, name);
	for (size_t i = 0; i < count; i++) {
		str_addn(out, texts[i], strlen(texts[i]) + 1);
	}
	key_end_part(out, begin);
}

static void key_add_request(struct str *out, const struct rtc_request *request)
{
	str_addn(out, KEY_KIND, sizeof(KEY_KIND));
	key_add_text(out, "name", request->name ? request->name : "kernel.cu");
	key_add_text(out, "source", request->source);

	size_t begin = key_begin_part(out, "architecture");
	if (request->arch) {
		str_add(out, request->arch);
	} else {
		str_add(out, "for ");
		str_addi(out, request->device_cc);
	}
	str_add(out, request->ptx_only ? ", PTX" : "");
	key_end_part(out, begin);

	begin = key_begin_part(out, "options");
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
	key_end_part(out, begin);

	key_add_list(out, "defines", request->defines, request->define_count);
	key_add_list(out, "instances", request->instances, request->instance_count);

	begin = key_begin_part(out, "headers in memory");
	for (size_t i = 0; i < request->header_count; i++) {
		const char *name = request->header_names[i];
		size_t size = strlen(request->header_texts[i]);
		struct hash hash = hash_of(request->header_texts[i], size);
		str_addn(out, name, strlen(name) + 1);
		str_addn(out, (const char *)&size, sizeof(size));
		str_addn(out, (const char *)&hash, sizeof(hash));
	}
	key_end_part(out, begin);
}

/* The version of Kudzu, and the code itself: its build id.  False if it has none. */
static bool key_add_code(struct str *out)
{
	static const char version[] = {KZ_VERSION_MAJOR, KZ_VERSION_MINOR, KZ_VERSION_PATCH};
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t size = dl_build_id(id, FORMAT);
	size_t begin = key_begin_part(out, "kudzu");
	str_addn(out, version, sizeof(version));
	str_addn(out, (const char *)id, size);
	key_end_part(out, begin);
	return size > 0;
}

static void key_add_files(struct str *out, const struct deps *deps)
{
	const struct deps_head *head = deps ? &deps->head
		: &(const struct deps_head){.cuda_count = 0};
	key_add_part(out, "headers", deps ? deps_files(deps) : "", head->files_size);
	key_add_part(out, "CUDA headers", &head->cuda, head->cuda_count ? sizeof(head->cuda) : 0);
}

void key_add_paths(struct str *out, const struct rtc_request *request)
{
	size_t begin = key_begin_part(out, "include folders");
	char *cwd = getcwd(NULL, 0); /* relative paths begin there */
	str_add(out, cwd ? cwd : "?");
	str_addc(out, '\0');
	free(cwd);
	for (size_t i = 0; i < request->include_count; i++) {
		str_addn(out, request->include_dirs[i], strlen(request->include_dirs[i]) + 1);
	}
	key_end_part(out, begin);
}

bool key_of_request(struct str *out, const struct rtc_request *request)
{
	*out = (struct str)STR_INIT;
	key_add_request(out, request);
	if (request->include_count > 0 || request->line_info || request->debug) {
		key_add_paths(out, request);
	}
	return !out->failed;
}

bool key_make(struct key *out, const struct rtc_request *request, const struct source_facts *facts,
	const struct compiler *compiler)
{
	struct deps_result found;
	*out = (struct key){.bytes = STR_INIT};
	if (!deps_find(&found, request, facts, compiler)) {
		return false;
	}
	out->deps = found.deps;
	out->why_not = found.why_not;
	out->missing_parts = found.missing_parts;
	out->has_paths = request->line_info || request->debug
		|| (found.has_place && request->include_count > 0);
	struct str *bytes = &out->bytes;
	key_add_request(bytes, request);
	key_add_text(bytes, "format", FORMAT);
	out->is_unnamed = !key_add_code(bytes);
	key_add_text(bytes, "compiler", compiler->identity);
	key_add_list(bytes, "CUDA folders", compiler->include_dirs, compiler->include_count);
	key_add_files(bytes, found.deps);
	if (out->has_paths) {
		key_add_paths(bytes, request);
	}
	if (bytes->failed) {
		key_free(out);
		return false;
	}
	return true;
}

void key_free(struct key *key)
{
	str_free(&key->bytes);
	deps_release(key->deps);
	key->deps = NULL;
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
