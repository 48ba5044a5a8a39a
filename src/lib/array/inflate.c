/* SPDX-License-Identifier: MIT */
/*
 * Inflate with zlib.
 *
 * Only compressed .npz files need zlib, so it is not linked.  The first such file opens it; if it
 * is not there, the call fails with an error value.  Once found it stays.  What is declared here is
 * zlib's ABI, which has not changed since 1.0.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "lib/array/inflate.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct z_stream {
	const unsigned char *next_in;
	unsigned avail_in;
	unsigned long total_in;
	unsigned char *next_out;
	unsigned avail_out;
	unsigned long total_out;
	const char *message;
	void *state;
	void *(*allocate)(void *user, unsigned count, unsigned size);
	void (*release)(void *user, void *memory);
	void *user;
	int data_type;
	unsigned long adler;
	unsigned long reserved;
};

enum { Z_NO_FLUSH = 0, Z_OK = 0, Z_STREAM_END = 1, Z_MEM_ERROR = -4, RAW_WINDOW = -15 };

static struct zlib {
	int (*inflateInit2_)(struct z_stream *stream, int window, const char *version, int size);
	int (*inflate)(struct z_stream *stream, int flush);
	int (*inflateEnd)(struct z_stream *stream);
} zlib;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char reason[300]; /* why there is none; "" if there is */

static void inflate_find_zlib(void)
{
	static const struct dl_row rows[] = {
		{"inflateInit2_", offsetof(struct zlib, inflateInit2_), true},
		{"inflate", offsetof(struct zlib, inflate), true},
		{"inflateEnd", offsetof(struct zlib, inflateEnd), true},
	};
	const char *chosen = env_get("KUDZU_ZLIB");
	const bool is_chosen = chosen && chosen[0];
	char why[200];
	void *object = dl_open(is_chosen ? chosen : "libz.so.1", why, sizeof(why));
	if (!object || dl_fill(object, rows, countof(rows), &zlib)) {
		snprintf(reason, sizeof(reason), "%s%s", is_chosen ? "KUDZU_ZLIB: " : "",
			object ? "the library lacks functions that Kudzu needs" : why);
	}
}

static void *inflate_allocate(void *user, unsigned count, unsigned size)
{
	(void)user;
	return mem_zalloc(count, size);
}

static void inflate_release(void *user, void *memory)
{
	(void)user;
	mem_free(memory);
}

static unsigned inflate_at_most(int64_t size)
{
	return size < INT_MAX ? (unsigned)size : INT_MAX;
}

struct inflate {
	struct z_stream stream;
};

kz_status inflate_create(struct inflate **out, const char *name, kz_error *err)
{
	*out = NULL;
	pthread_once(&once, inflate_find_zlib);
	if (reason[0]) {
		return error_set(err, KZ_UNSUPPORTED,
			"%s: compressed, which needs zlib: %s", name, reason);
	}
	struct inflate *inflate = mem_zalloc(1, sizeof(*inflate));
	if (!inflate) {
		return error_no_memory(err);
	}
	inflate->stream.allocate = inflate_allocate;
	inflate->stream.release = inflate_release;
	if (zlib.inflateInit2_(&inflate->stream, RAW_WINDOW, "1.2.11",
		(int)sizeof(inflate->stream)) != Z_OK) {
		mem_free(inflate);
		return error_no_memory(err);
	}
	*out = inflate;
	return KZ_OK;
}

void inflate_free(struct inflate *inflate)
{
	if (inflate) {
		(void)zlib.inflateEnd(&inflate->stream);
		mem_free(inflate);
	}
}

enum inflate_state inflate_some(struct inflate *inflate, const char **from, int64_t *from_size,
	char **to, int64_t *to_size)
{
	struct z_stream *stream = &inflate->stream;
	unsigned in = inflate_at_most(*from_size), out = inflate_at_most(*to_size);
	stream->next_in = (const unsigned char *)*from;
	stream->next_out = (unsigned char *)*to;
	stream->avail_in = in;
	stream->avail_out = out;
	int code = zlib.inflate(stream, Z_NO_FLUSH);
	in -= stream->avail_in;
	out -= stream->avail_out;
	*from += in;
	*from_size -= in;
	*to += out;
	*to_size -= out;
	return code == Z_STREAM_END ? INFLATE_END
		: code == Z_OK && in + out > 0 ? INFLATE_MORE
		: code == Z_MEM_ERROR ? INFLATE_NO_MEMORY : INFLATE_DAMAGED;
}
