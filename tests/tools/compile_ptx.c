/* SPDX-License-Identifier: MIT */
/*
 * compile_ptx SOURCE ARCH OUT [OPTION...]: CUDA C to PTX, for the tests of the CPU driver, which do
 * without NVRTC.  A step of the build: NVRTC takes a second for some headers, and the runners fork
 * for every test.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/rtc/compile.h"

#include <kudzu/kudzu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	struct rtc_image image = {0};
	struct source_facts facts = {0};
	char *source = NULL;
	size_t size;
	if (argc < 4) {
		fprintf(stderr, "usage: compile_ptx SOURCE ARCH OUT [OPTION...]\n");
		return EXIT_FAILURE;
	}

	struct rtc_request request = {.name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1
		: argv[1], .arch = argv[2], .options = (const char *const *)argv + 4,
		.option_count = (size_t)argc - 4, .ptx_only = true, .no_prelude = true};
	kz_status st = file_read(&source, &size, argv[1], &err);
	if (!st) {
		request.source = source;
		st = source_scan(&facts, source) ? rtc_compile(&image, &request, &facts, &err)
			: error_no_memory(&err);
	}
	FILE *out = st ? NULL : fopen(argv[3], "wb");
	bool written = out && fwrite(image.data, 1, image.size, out) == image.size;
	written = out && fclose(out) == 0 && written;
	if (st) {
		kz_error_print(&err, stderr);
	} else if (!written) {
		perror(argv[3]);
	}
	rtc_image_free(&image);
	source_free(&facts);
	mem_free(source);
	kz_error_clear(&err);
	return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
