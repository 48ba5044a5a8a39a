/* SPDX-License-Identifier: MIT */
/*
 * Write and read bundles: a header, a table of contents, the images as pack.c writes them, and a
 * source.
 *
 * The header has a hash of all that follows it, so damage is found before anything is read; and
 * since anyone can make a hash that fits, what is read is checked all the same.  Numbers are those
 * of this machine: they are little-endian on every machine that Kudzu runs on.
 */
#include "base/common.h"

#include "lib/module/load.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "lib/cache/pack.h"

#include <kudzu/bundle.h>

#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'K', 'Z', 'B', 'N', 'D', 'L', '\r', '\n'};

struct header {
	char magic[8];
	struct hash hash;      /* of all after it */
	uint64_t size;         /* of the file */
	uint64_t count;        /* of the images */
	uint64_t source;       /* where the source begins, to the end of the file */
};

struct row {
	char arch[24];         /* "sm_90" */
	uint32_t kind;         /* an enum rtc_kind */
	uint32_t reserved;
	uint64_t offset;       /* from the beginning of the file */
	uint64_t size;
};

#define HASHED_FROM (offsetof(struct header, hash) + sizeof(struct hash))

static enum rtc_kind bundle_kind_of(const struct rtc_image *image)
{
	return image->is_lto ? RTC_LTO : image->is_ptx ? RTC_PTX : RTC_CUBIN;
}

/* The file, all but the hash; false when memory runs out. */
static bool bundle_build(struct str *out, kz_image *const *images, size_t count, const char *source)
{
	struct header header = {.count = count};
	struct row *rows = mem_zalloc(count, sizeof(*rows));
	if (!rows) {
		return false;
	}
	memcpy(header.magic, magic, sizeof(magic));
	str_addn(out, (const char *)&header, sizeof(header));
	size_t rows_at = out->len;
	str_addn(out, (const char *)rows, count * sizeof(*rows));
	for (size_t i = 0; i < count; i++) {
		rows[i].kind = bundle_kind_of(&images[i]->rtc);
		memcpy(rows[i].arch, images[i]->rtc.arch, sizeof(rows[i].arch));
		rows[i].offset = out->len;
		pack_image(out, &images[i]->rtc);
		rows[i].size = out->len - rows[i].offset;
	}
	header.source = out->len;
	str_add(out, source ? source : "");
	header.size = out->len;
	if (!out->failed) {
		memcpy(out->data, &header, sizeof(header));
		memcpy(out->data + rows_at, rows, count * sizeof(*rows));
		header.hash = hash_of(out->data + HASHED_FROM, out->len - HASHED_FROM);
		memcpy(out->data, &header, sizeof(header));
	}
	mem_free(rows);
	return !out->failed;
}

kz_status kz_bundle_save(const char *path, kz_image *const *images, int64_t count,
	const char *source, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = pointer_check(path, "the path of a file", err))
	    || (st = pointer_check(images, "a list of images", err))) {
		return st;
	}
	if (count <= 0) {
		return error_set(err, KZ_INVALID, "expected 1 image or more, got %lld",
			(long long)count);
	}
	for (int64_t i = 0; i < count; i++) {
		if ((st = object_check(images[i], OBJECT_IMAGE, err))) {
			return st;
		}
	}
	struct str text = STR_INIT;
	st = bundle_build(&text, images, (size_t)count, source)
		? file_replace(path, text.data, text.len, err)
		: error_no_memory(err);
	str_free(&text);
	return st;
}

bool bundle_is(const void *data, size_t size)
{
	return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

static kz_status bundle_fail_damaged(const char *name, const char *what, kz_error *err)
{
	return error_set(err, KZ_BAD_IMAGE, "'%s' is a damaged bundle: %s", name, what);
}

/* A bundle that is read. */
struct bundle {
	const char *name;
	const char *data;
	size_t size;
	struct header header;
};

static kz_status bundle_read_header(struct bundle *bundle, kz_error *err)
{
	struct header *header = &bundle->header;
	const char *name = bundle->name, *data = bundle->data;
	size_t size = bundle->size;
	if (size < sizeof(*header)) {
		return bundle_fail_damaged(name, "it ends within its header", err);
	}
	memcpy(header, data, sizeof(*header));
	if (header->size != size) {
		return bundle_fail_damaged(name, size < header->size ? "it is cut off"
			: "it is longer than it says", err);
	}
	if (!hash_equal(header->hash, hash_of(data + HASHED_FROM, size - HASHED_FROM))) {
		return bundle_fail_damaged(name, "its hash does not fit", err);
	}
	if (header->source > size || header->source < sizeof(*header)
	    || header->count > (header->source - sizeof(*header)) / sizeof(struct row)) {
		return bundle_fail_damaged(name, "its list does not fit into it", err);
	}
	return KZ_OK;
}

/* "sm_90": 90.  Code of one chip's own features, "sm_90a", runs on no other. */
static int bundle_row_rank(const struct row *row, const struct rtc_target *target)
{
	char arch[sizeof(row->arch) + 1] = "";
	memcpy(arch, row->arch, sizeof(row->arch));
	const char *digits = strpbrk(arch, "0123456789");
	int cc = digits ? (int)strtol(digits, NULL, 10) : 0;
	return strchr(arch, 'a') && cc != target->cc ? 0 : rtc_rank(row->kind, cc, target);
}

static kz_status bundle_unpack(struct kz_image **out, const struct bundle *bundle,
	const struct row *row, kz_error *err)
{
	struct rtc_image image;
	if (row->offset > bundle->size || row->size > bundle->size - row->offset) {
		return bundle_fail_damaged(bundle->name, "an image lies beyond its end", err);
	}
	kz_status st = unpack_image(&image, bundle->data + row->offset, row->size, NULL);
	if (st == KZ_BAD_IMAGE) { /* though its hash is right */
		return error_set(err, KZ_VERSION, "bundle '%s' was written by another version of "
			"Kudzu: write it again by this one", bundle->name);
	}
	if (st) {
		return error_no_memory(err);
	}
	return image_take(out, &image, err);
}

/* No image suits; a source may. */
static kz_status bundle_compile(struct kz_image **out, const struct bundle *bundle,
	const struct rtc_target *target, const struct str *list, kz_error *err)
{
	const struct header *header = &bundle->header;
	bool mine = error_is_clean(err);
	if (list->failed) {
		return error_no_memory(err);
	}
	if (header->source == header->size) {
		error_set(err, KZ_VERSION, "bundle '%s' has nothing for compute capability %d.%d: "
			"it has %s, and no source", bundle->name, target->cc / 10, target->cc % 10,
			header->count ? list->data : "no images");
		if (mine) {
			error_add_hint(err, "put PTX of an old architecture into the bundle, which "
				"every newer device loads");
		}
		return KZ_VERSION;
	}
	char *source = mem_strndup(bundle->data + header->source, header->size - header->source);
	kz_status st = source ? image_compile(out, source, NULL, target->cc, target->ptx_only, err)
		: error_no_memory(err);
	mem_free(source);
	return st;
}

kz_status bundle_pick(struct kz_image **out, const struct rtc_target *target, const char *name,
	const void *data, size_t size, kz_error *err)
{
	struct bundle bundle = {.name = name, .data = data, .size = size};
	struct row row, best = {.size = 0};
	struct str list = STR_INIT;
	int best_rank = 0;
	kz_status st = bundle_read_header(&bundle, err);
	if (st) {
		return st;
	}
	for (uint64_t i = 0; i < bundle.header.count; i++) {
		memcpy(&row, bundle.data + sizeof(bundle.header) + i * sizeof(row), sizeof(row));
		str_addf(&list, "%s%.*s", i ? ", " : "", (int)strnlen(row.arch, sizeof(row.arch)),
			row.arch);
		int rank = bundle_row_rank(&row, target);
		if (rank > best_rank) {
			best = row;
			best_rank = rank;
		}
	}
	st = best_rank > 0 ? bundle_unpack(out, &bundle, &best, err)
		: bundle_compile(out, &bundle, target, &list, err);
	str_free(&list);
	return st;
}
