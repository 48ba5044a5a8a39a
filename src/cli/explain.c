/* SPDX-License-Identifier: MIT */
/*
 * kudzu explain: what an error code means, and what to do about it.
 *
 * A code is a number, or a name from NVIDIA's driver or runtime, or of a status of Kudzu.  One
 * number may mean something in several libraries; each of them gets its paragraph.
 */
#include "cli/cli.h"
#include "cli/words.h"

#include <kudzu/kudzu.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 128
#define LARGEST_CODE 1000 /* the driver's CUDA_ERROR_UNKNOWN is 999 */

/* A name as the tables have it: "cudaErrorIllegalAddress" is CUDA_ERROR_ILLEGAL_ADDRESS, and of
 * "nvrtc_error_compilation" all letters are large. */
static void explain_normalize(char out[LONGEST_NAME], const char *word)
{
	size_t length = 0;
	for (const char *at = word; *at && length + 2 < LONGEST_NAME; at++) {
		if (at > word && isupper((unsigned char)*at) && islower((unsigned char)at[-1])) {
			out[length++] = '_';
		}
		out[length++] = (char)toupper((unsigned char)*at);
	}
	out[length] = '\0';
}

static void explain_native(kz_domain domain, int code)
{
	const char *name, *text, *hint = kz_native_code_hint(domain, code);
	kz_status st = kz_native_code(&name, &text, domain, code);
	printf("%s (%s %d): %s\n", name, kz_domain_name(domain), code, text);
	if (hint[0]) {
		printf("  what to do: %s\n", hint);
	}
	printf("  Kudzu's status: %s, %s\n", kz_status_name(st), kz_status_string(st));
}

struct explain_search {
	const char *name; /* NULL: the number is meant */
	int code;
	bool found;
	struct suggestion suggestion;
};

/* Explain each native code that is searched for. */
static void explain_take_native(struct explain_search *search)
{
	for (int i = 0; i < (KZ_DOMAIN_OS - KZ_DOMAIN_DRIVER) * LARGEST_CODE; i++) {
		const kz_domain domain = (kz_domain)(KZ_DOMAIN_DRIVER + i / LARGEST_CODE);
		const int code = i % LARGEST_CODE;
		const char *name;
		kz_native_code(&name, NULL, domain, code);
		if (!name) {
			continue;
		}
		if (search->name ? strcmp(name, search->name) == 0 : code == search->code) {
			explain_native(domain, code);
			search->found = true;
		} else if (search->name) {
			suggestion_offer(&search->suggestion, name);
		}
	}
}

/* Explain the status that has this name. */
static void explain_take_status(struct explain_search *search)
{
	for (int i = KZ_OK; search->name && i <= KZ_UNKNOWN; i++) {
		const kz_status st = (kz_status)i;
		const char *name = kz_status_name(st);
		if (strcmp(name, search->name) == 0) {
			printf("%s (%d): %s\n", name, i, kz_status_string(st));
			search->found = true;
		} else {
			suggestion_offer(&search->suggestion, name);
		}
	}
}

int explain_main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "kudzu explain: expected one error code, such as 700, "
			"CUDA_ERROR_ILLEGAL_ADDRESS or KZ_FAULT\n");
		return CLI_USAGE;
	}
	char name[LONGEST_NAME], *end;
	explain_normalize(name, argv[1]);
	long number = strtol(argv[1], &end, 10);
	bool is_number = end > argv[1] && !*end && number >= 0 && number < LARGEST_CODE;
	struct explain_search search = {
		.name = is_number ? NULL : name,
		.code = is_number ? (int)number : 0,
		.suggestion = {.word = name},
	};
	explain_take_status(&search);
	explain_take_native(&search);
	if (search.found) {
		return CLI_OK;
	}
	fprintf(stderr, "kudzu explain: no library has an error code '%s'", argv[1]);
	if (search.suggestion.name) {
		fprintf(stderr, "; did you mean '%s'?", search.suggestion.name);
	}
	fputc('\n', stderr);
	return CLI_FAILED;
}
