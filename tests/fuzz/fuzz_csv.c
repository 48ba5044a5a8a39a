/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as CSV text, onto the stub driver's device.  The first byte chooses the
 * options. */
#include "base/common.h"

#include <kudzu/kudzu.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kz_device *dev;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const kz_dtype dtypes[] = {KZ_F64, KZ_F32, KZ_I32, KZ_BOOL};
	static const int64_t columns[] = {-1, 0};
	static const char delimiters[] = {0, ' ', '\t', ';'};
	kz_error err = KZ_ERROR_INIT;
	char names[64];
	kz_array *array = NULL;
	if (!dev && kz_device_open(&dev, "cuda:0", &err)) {
		kz_error_print(&err, stderr);
		abort();
	}
	const unsigned how = size > 0 ? data[0] : 0;
	kz_csv_options options = {.size = sizeof(options), .dtype = dtypes[how % 4],
		.delimiter = delimiters[how / 4 % 4], .header = how / 16 % 2 > 0,
		.comment = how / 32 % 2 ? '#' : 0,
		.missing = how / 64 % 2 ? KZ_CSV_FILL : KZ_CSV_NAN};
	if (how / 128) {
		options.columns = columns;
		options.column_count = 2;
		options.names = options.header ? names : NULL;
		options.names_size = sizeof(names);
	}
	char *text = malloc(size + (size == 0));
	memcpy(text, data, size);
	const kz_status st = size > 0 ? kz_csv_read(&array, dev, text + 1, (int64_t)size - 1,
		&options, &err) : KZ_OK;
	if (st && st != KZ_INVALID && st != KZ_RANGE && st != KZ_UNSUPPORTED) {
		kz_error_print(&err, stderr);
		abort();
	}
	free(text);
	kz_array_release(array);
	kz_error_clear(&err);
	return 0;
}
