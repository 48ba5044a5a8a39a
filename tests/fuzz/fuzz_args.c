/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any text as the argument list of a user's kernel.  What is read must be found again in
 * the text, and what is refused must have its place there.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/ops/declare.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const struct declarations *list, const char *text)
{
	assert(list->count >= 1 && list->count <= DECLARE_MAX);
	assert(strlen(list->list) == strlen(text));
	for (size_t i = 0; i < list->count; i++) {
		const struct declaration *item = &list->items[i];
		size_t len = strlen(item->text), name_len = strlen(item->name);
		assert(strstr(text, item->text));
		assert(name_len > 0 && len > name_len);
		assert(strcmp(item->text + len - name_len, item->name) == 0);
		assert(item->type[0]);
		assert(item->letter || (item->size > 0 && item->kind != PARAM_UNKNOWN));
		assert(!item->is_raw || item->is_pointer);
	}
}

static void check_error(const kz_error *err, const char *text)
{
	int lines = 1;
	for (const char *c = text; *c; c++) {
		lines += *c == '\n';
	}
	assert(err->message[0] && err->log && strcmp(err->file, "fuzz: arguments") == 0);
	assert(err->line >= 1 && err->line <= lines);
	assert(err->column >= 1 && (size_t)err->column <= strlen(text) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static kz_dtype dtype;
	struct arena arena = ARENA_INIT;
	struct declarations list;
	kz_error err = KZ_ERROR_INIT;
	char *text = mem_strndup((const char *)data, size);
	if (!dtype) {
		(void)kz_dtype_register(&dtype, "struct pair<int, float>", 8, NULL);
	}
	kz_status st = declare_read(&list, &arena, text, "fuzz", &err);
	assert(st == err.status && (st == KZ_OK || st == KZ_INVALID));
	if (st) {
		check_error(&err, text);
	} else {
		check_list(&list, text);
	}
	kz_error_clear(&err);
	arena_free(&arena);
	mem_free(text);
	return 0;
}
