/* SPDX-License-Identifier: MIT */
/*
 * kudzu debug: becomes gdb, which runs a program whose kernels it sees.
 *
 * With KUDZU_DEBUG=1 the CPU device tells gdb of the code that it makes.  gdb does not know blocks
 * and threads; debug.py adds commands for these.  The assembler includes that file into this
 * program, and gdb reads it from a file in memory.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char debug_script[] __attribute__((__visibility__("hidden")));
__asm__(".section .rodata\n"
	".hidden debug_script\n.globl debug_script\ndebug_script:\n"
	".incbin \"src/cli/debug.py\"\n.byte 0\n.text\n");

enum { DEBUG_MOST_WORDS = 16 }; /* in front of those of the command line */

struct debug {
	const char **words; /* of gdb */
	size_t count;
	char self[PATH_MAX];
	char load[96];      /* the word that has gdb read the script */
};

static void debug_add(struct debug *debug, const char *word)
{
	debug->words[debug->count++] = word;
}

/* gdb, and what it does first. */
static bool debug_begin(struct debug *debug)
{
	int file = memfd_create("debug.py", 0);
	size_t size = strlen(debug_script);
	ssize_t length = readlink("/proc/self/exe", debug->self, sizeof(debug->self) - 1);
	if (file < 0 || write(file, debug_script, size) != (ssize_t)size || length < 0
	    || setenv("KUDZU_DEBUG", "1", 1) != 0 || setenv("KUDZU_DEVICE", "cpu", 0) != 0) {
		fprintf(stderr, "kudzu debug: cannot prepare for gdb: %s\n", strerror(errno));
		return false;
	}
	debug->self[length] = '\0';
	snprintf(debug->load, sizeof(debug->load),
		"python exec(compile(open('/proc/self/fd/%d').read(), 'debug.py', 'exec'))", file);
	debug_add(debug, "gdb");
	debug_add(debug, "-q");
	debug_add(debug, "-ex");
	debug_add(debug, debug->load);
	return true;
}

/* A GPU has a debugger of its own. */
static bool debug_check_device(const char *device)
{
	if (device && strncmp(device, "cuda", 4) == 0) {
		fprintf(stderr, "kudzu debug: '%s' is a GPU, for which there is cuda-gdb; expected "
			"the CPU device\n", device);
		return false;
	}
	return true;
}

/* The --device of `kudzu run`; NULL: it is not there. */
static const char *debug_find_device(char **words)
{
	static const char option[] = "--device";
	const size_t len = strlen(option);
	for (; *words; words++) {
		if (strncmp(*words, option, len) == 0 && (*words)[len] == '=') {
			return *words + len + 1;
		}
		if (strcmp(*words, option) == 0) {
			return words[1];
		}
	}
	return NULL;
}

/* Take the words for gdb off the front; false after a message. */
static bool debug_read_options(struct debug *debug, char ***words)
{
	for (; **words; ++*words) {
		if (strcmp(**words, "--batch") == 0) {
			debug_add(debug, "-batch");
		} else if (strcmp(**words, "-x") == 0 && (*words)[1] && debug->count < 10) {
			debug_add(debug, "-x");
			debug_add(debug, *++*words);
		} else {
			break;
		}
	}
	if (**words && (strcmp(**words, "-x") == 0)) {
		fprintf(stderr, "kudzu debug: -x needs a file, and not more than three\n");
		return false;
	}
	return true;
}

int debug_main(int argc, char **argv)
{
	struct debug debug = {.count = 0};
	char **words = argv + 1;
	if (*words && strcmp(*words, "--script") == 0) {
		fputs(debug_script, stdout);
		return CLI_OK;
	}
	debug.words = calloc((size_t)argc + DEBUG_MOST_WORDS, sizeof(*debug.words));
	if (!debug.words || !debug_begin(&debug) || !debug_read_options(&debug, &words)) {
		free(debug.words);
		return CLI_USAGE;
	}
	if (!*words || (strcmp(*words, "--") == 0 && !words[1])) {
		fprintf(stderr, "kudzu debug: no file or program given; see `kudzu help debug`\n");
		free(debug.words);
		return CLI_USAGE;
	}
	const bool is_program = strcmp(*words, "--") == 0;
	const char *device = is_program ? NULL : debug_find_device(words);
	if (!debug_check_device(device ? device : secure_getenv("KUDZU_DEVICE"))) {
		free(debug.words);
		return CLI_USAGE;
	}
	debug_add(&debug, "--args");
	if (is_program) {
		words++;
	} else {
		debug_add(&debug, debug.self);
		if (strcmp(*words, "cpu") != 0) {
			debug_add(&debug, "run");
		}
	}
	while (*words) {
		debug_add(&debug, *words++);
	}
	execvp(debug.words[0], (char *const *)debug.words);
	const int code = errno;
	fprintf(stderr, "kudzu debug: cannot run gdb: %s%s\n", strerror(code),
		code == ENOENT ? "; install it, on Debian with apt-get install gdb" : "");
	free(debug.words);
	return code == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}
