/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_WARM_H
#define LIB_MODULE_WARM_H

/* kz_warm_up: what goes over the socket to its workers, and what it is made of. */
#include "base/str.h"
#include "lib/module/module.h"

#include <kudzu/warm.h>

/* A compile, as image_compile takes it. */
struct warm_request {
	const char *source;
	kz_compile_options options;
	int32_t device_cc;
	int32_t ptx_only;
};

/* What a worker says first: its build of the library, since other builds have other keys. */
enum { WARM_HELLO_SIZE = 64 };
void warm_hello(uint8_t out[WARM_HELLO_SIZE]);

/* And then for each request. */
enum warm_answer { WARM_CACHED = 'c', WARM_COMPILED = 'n', WARM_FAILED = 'f' };

/* Add a request as bytes: their number in 8 bytes, then fields. */
void warm_write(struct str *out, const struct warm_request *request);

/* Read a request from its bytes, which come without their number.  The texts stay in them;
 * warm_free frees the lists.  False if they are no request, or memory runs out. */
bool warm_read(struct warm_request *out, const char *bytes, size_t size);
void warm_free(struct warm_request *request);

/* Send all of it; false when the other end is gone. */
bool warm_send(int socket, const void *from, size_t size);

/* Compile it, on this thread. */
kz_status warm_compile(enum warm_answer *answer, const struct warm_request *request, kz_error *err);

/* Compile sources as kz_warm_up does.  With `errors` the call succeeds even if a source does not
 * compile, and the source's error is there. */
struct warm_outcome {
	kz_error *errors; /* one for each source, clean; NULL: the call fails with the first one */
	kz_warm_up_result result;
};
kz_status warm_up_each(kz_device *dev, const kz_warm_up_source *sources, int64_t count,
	int64_t processes, struct warm_outcome *outcome, kz_error *err);

#endif
