/* SPDX-License-Identifier: MIT */
/*
 * Requests to workers as bytes, and the worker.
 *
 * A request is a list of fields, each a letter, the number of bytes, and the bytes.  A table says
 * which member of struct warm_request a field is.  A list of texts is one field for each text.
 * Both sides are the same build of the library, but what comes over a socket is checked all the
 * same.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "lib/module/image_cache.h"
#include "lib/cache/cache.h"
#include "lib/module/warm.h"

#include <kudzu/warm.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than any source has. */
#define REQUEST_MAX ((uint64_t)1 << 32)

enum kind { TEXT, LIST, NUMBER };

static const struct field {
	char letter;
	uint8_t kind;
	uint16_t offset;
} fields[] = {
#define OPTION(letter, kind, member) \
	{letter, kind, offsetof(struct warm_request, options) + offsetof(kz_compile_options, \
		member)}
	{'s', TEXT, offsetof(struct warm_request, source)},
	{'c', NUMBER, offsetof(struct warm_request, device_cc)},
	{'p', NUMBER, offsetof(struct warm_request, ptx_only)},
	OPTION('n', TEXT, name),
	OPTION('I', LIST, include_dirs),
	OPTION('h', LIST, header_names),
	OPTION('H', LIST, header_texts),
	OPTION('D', LIST, defines),
	OPTION('t', LIST, instances),
	OPTION('o', LIST, nvrtc_options),
	OPTION('a', TEXT, arch),
	OPTION('l', NUMBER, line_info),
	OPTION('g', NUMBER, debug),
	OPTION('f', NUMBER, fast_math),
	OPTION('q', NUMBER, no_prelude),
	OPTION('F', NUMBER, fast_compile),
	OPTION('x', TEXT, std),
	OPTION('r', NUMBER, max_registers),
	OPTION('R', NUMBER, relocatable),
	OPTION('k', NUMBER, keep_source),
	OPTION('P', NUMBER, pch),
#undef OPTION
};
_Static_assert(offsetof(kz_compile_options, reserved) == 120 && sizeof(int) == sizeof(int32_t),
	"a new option has a field, too");

void warm_hello(uint8_t out[WARM_HELLO_SIZE])
{
	_Static_assert((int)WARM_HELLO_SIZE == DL_BUILD_ID_SIZE, "a build id fits");
	memset(out, 0, WARM_HELLO_SIZE);
	(void)dl_build_id(out, fields); /* zeros are equal, too: then nothing is cached on disk */
}

/* Writing */

static void request_add(struct str *out, char letter, const void *bytes, uint64_t size)
{
	str_addc(out, letter);
	str_addn(out, (const char *)&size, sizeof(size));
	str_addn(out, bytes, (size_t)size);
}

void warm_write(struct str *out, const struct warm_request *request)
{
	uint64_t size = 0;
	size_t begin = out->len;
	str_addn(out, (const char *)&size, sizeof(size));
	for (size_t i = 0; i < countof(fields); i++) {
		const struct field *field = &fields[i];
		const void *at = (const char *)request + field->offset;
		if (field->kind == NUMBER) {
			request_add(out, field->letter, at, sizeof(int32_t));
		} else if (field->kind == TEXT && *(const char *const *)at) {
			const char *text = *(const char *const *)at;
			request_add(out, field->letter, text, strlen(text) + 1);
		} else if (field->kind == LIST) {
			const char *const *list = *(const char *const *const *)at;
			for (; list && *list; list++) {
				request_add(out, field->letter, *list, strlen(*list) + 1);
			}
		}
	}
	size = out->len - begin - sizeof(size);
	if (!out->failed) {
		memcpy(out->data + begin, &size, sizeof(size));
	}
}

/* Reading */

struct part {
	char letter;
	const char *bytes;
	uint64_t size;
};

/* The field at *at, which moves on. */
static bool request_next_part(struct part *out, size_t *at, const char *bytes, size_t size)
{
	const size_t head = 1 + sizeof(out->size);
	if (size - *at < head) {
		return false;
	}
	out->letter = bytes[*at];
	memcpy(&out->size, bytes + *at + 1, sizeof(out->size));
	out->bytes = bytes + *at + head;
	if (out->size > size - *at - head) {
		return false;
	}
	*at += head + (size_t)out->size;
	return true;
}

static bool request_take_part(struct warm_request *out, const struct part *part)
{
	const struct field *field = fields;
	while (field < fields + countof(fields) && field->letter != part->letter) {
		field++;
	}
	if (field == fields + countof(fields)) {
		return false;
	}
	void *at = (char *)out + field->offset;
	if (field->kind == NUMBER) {
		memcpy(at, part->bytes, part->size == sizeof(int32_t) ? sizeof(int32_t) : 0);
		return part->size == sizeof(int32_t);
	}
	const char *text = part->bytes;
	if (part->size == 0 || memchr(text, 0, (size_t)part->size) != text + part->size - 1) {
		return false;
	}
	if (field->kind == TEXT) {
		*(const char **)at = text;
		return true;
	}
	/* One more text in a list that ends with NULL. */
	const char ***list = at;
	size_t count = 0;
	while (*list && (*list)[count]) {
		count++;
	}
	const char **longer = mem_realloc(*list, (count + 2) * sizeof(*longer));
	if (!longer) {
		return false;
	}
	longer[count] = text;
	longer[count + 1] = NULL;
	*list = longer;
	return true;
}

bool warm_read(struct warm_request *out, const char *bytes, size_t size)
{
	struct part part;
	*out = (struct warm_request){.options = KZ_COMPILE_OPTIONS_INIT};
	bool ok = true;
	for (size_t at = 0; ok && at < size;) {
		ok = request_next_part(&part, &at, bytes, size) && request_take_part(out, &part);
	}
	ok = ok && out->source;
	if (!ok) {
		warm_free(out);
	}
	return ok;
}

void warm_free(struct warm_request *request)
{
	for (size_t i = 0; i < countof(fields); i++) {
		if (fields[i].kind == LIST) {
			void **list = (void **)((char *)request + fields[i].offset);
			mem_free(*list);
			*list = NULL;
		}
	}
}

/* The worker */

kz_status warm_compile(enum warm_answer *answer, const struct warm_request *request, kz_error *err)
{
	struct kz_image *image = NULL;
	struct cache_counts before, after;
	cache_counts(&before);
	kz_status st = image_compile(&image, request->source, &request->options, request->device_cc,
		request->ptx_only != 0, err);
	cache_counts(&after);
	image_release(image);
	*answer = st ? WARM_FAILED : after.compiles > before.compiles ? WARM_COMPILED : WARM_CACHED;
	return st;
}

static bool request_read_all(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = read(fd, (char *)to + done, size - done);
		if (count == 0 || (count < 0 && errno != EINTR)) {
			return false;
		}
		done += count > 0 ? (size_t)count : 0;
	}
	return true;
}

bool warm_send(int socket, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = send(socket, (const char *)from + done, size - done, MSG_NOSIGNAL);
		if (count < 0 && errno != EINTR) {
			return false;
		}
		done += count > 0 ? (size_t)count : 0;
	}
	return true;
}

/* Serve one request; false if the bytes are not a request. */
static bool request_serve(int fd, uint64_t size)
{
	struct warm_request request;
	enum warm_answer answer = WARM_FAILED;
	char *bytes = size <= REQUEST_MAX ? mem_alloc((size_t)size) : NULL;
	bool ok = bytes && request_read_all(fd, bytes, (size_t)size)
		&& warm_read(&request, bytes, (size_t)size);
	if (ok) {
		/* The caller compiles again what fails, to have the error. */
		(void)warm_compile(&answer, &request, NULL);
		warm_free(&request);
		char letter = (char)answer;
		ok = warm_send(fd, &letter, 1);
	}
	mem_free(bytes);
	return ok;
}

int kz_warm_up_serve(int socket)
{
	uint8_t hello[WARM_HELLO_SIZE];
	uint64_t size;
	warm_hello(hello);
	bool ok = warm_send(socket, hello, sizeof(hello));
	while (ok && request_read_all(socket, &size, sizeof(size))) {
		ok = request_serve(socket, size);
	}
	return ok ? 0 : 1;
}
