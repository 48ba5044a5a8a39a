/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any text as an argument of `kudzu run`, and as the signature and source of a kernel.
 * What is refused must have its place in the text, what is taken must fill its array.
 */
#include "cli/argument.h"
#include "cli/numeral.h"
#include "cli/parameters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_argument(const char *text)
{
	struct argument argument;
	struct argument_fault fault;
	if (!argument_parse(&argument, text, &fault)) {
		assert(fault.message[0] && fault.offset + fault.length <= strlen(text));
		return;
	}
	int64_t element = kz_dtype_size(argument.dtype);
	if (argument.kind == ARGUMENT_SCALAR || argument.kind == ARGUMENT_ARRAY) {
		assert(element > 0 && element <= NUMERAL_MAX_SIZE && argument.count >= 0);
		assert(argument.count <= INT64_MAX / element);
	}
	if ((argument.kind == ARGUMENT_SCALAR || argument.kind == ARGUMENT_ARRAY)
	    && argument.count < 100000) {
		/* Exactly as large as it may need: the sanitizer sees one byte more. */
		size_t bytes = (size_t)(argument.count * element);
		char *elements = malloc(bytes ? bytes : 1);
		argument_fill(&argument, elements);
		free(elements);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct parameters parameters;
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	check_argument(text);
	char *source = strchr(text, '\n');
	if (source) {
		*source++ = '\0';
		parameters_read(&parameters, text, source);
		for (size_t i = 0; i < parameters.count; i++) {
			assert(parameters.items[i].name[0]);
		}
	}
	free(text);
	return 0;
}
