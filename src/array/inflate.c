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
#include "array/inflate.h"

#include <limits.h>
#include <pthread.h>
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
static char reason[200]; /* why there is none; "" if there is */

static void find_zlib(void)
{
	static const struct dl_row rows[] = {
		{"inflateInit2_", offsetof(struct zlib, inflateInit2_), true},
		{"inflate", offsetof(struct zlib, inflate), true},
		{"inflateEnd", offsetof(struct zlib, inflateEnd), true},
	};
	const char *chosen = env_get("KUDZU_ZLIB");
	void *object = dl_open(chosen ? chosen : "libz.so.1", reason, sizeof(reason));
	if (object && dl_fill(object, rows, countof(rows), &zlib)) {
		strcpy(reason, "libz.so.1 lacks functions");
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

static unsigned at_most(int64_t size)
{
	return size < INT_MAX ? (unsigned)size : INT_MAX;
}

/* zlib counts in 32 bits: give it pieces, until it is done or can do no more. */
static int inflate_run(struct z_stream *stream, int64_t size, int64_t from_size)
{
	int code = Z_OK;
	while (code == Z_OK) {
		unsigned in = at_most(from_size), out = at_most(size);
		stream->avail_in = in;
		stream->avail_out = out;
		code = zlib.inflate(stream, Z_NO_FLUSH);
		from_size -= in - stream->avail_in;
		size -= out - stream->avail_out;
	}
	return code == Z_STREAM_END && size == 0 ? Z_OK : code == Z_MEM_ERROR ? code : -1;
}

kz_status inflate_all(char *to, int64_t size, const char *from, int64_t from_size,
	const char *name, kz_error *err)
{
	struct z_stream stream = {
		.next_in = (const unsigned char *)from, .next_out = (unsigned char *)to,
		.allocate = inflate_allocate, .release = inflate_release,
	};
	pthread_once(&once, find_zlib);
	if (reason[0]) {
		return error_set(err, KZ_UNSUPPORTED,
			"%s: compressed, which needs zlib: %s", name, reason);
	}
	int code = zlib.inflateInit2_(&stream, RAW_WINDOW, "1.2.11", (int)sizeof(stream));
	if (code == Z_OK) {
		code = inflate_run(&stream, size, from_size);
		(void)zlib.inflateEnd(&stream);
	}
	if (code == Z_MEM_ERROR) {
		return error_no_memory(err);
	}
	return code == Z_OK ? KZ_OK : error_set(err, KZ_INVALID,
		"%s: damaged: expected deflated data of %lld bytes", name, (long long)size);
}
