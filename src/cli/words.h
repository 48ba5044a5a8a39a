/* SPDX-License-Identifier: MIT */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

/* The words of a command: options, the words that are not options, and typing mistakes. */
#include <getopt.h>
#include <stdbool.h>

/* argv[0] is the name that messages begin with; argv[1] to argv[count] are the words that are not
 * options, as far as they have been read. */
struct words {
	int argc;
	char **argv;
	int count;
};

struct words words_begin(int argc, char **argv);
/* The next option, as getopt_long has it; '?' after a message, -1 at the end.  `short_options`
 * begins with '-'.  A negative number is not an option. */
int words_next(struct words *words, const char *short_options, const struct option *options);

/* False, after a message that begins with `name`, if a word "--..." is not one of the options. */
bool words_check_long(const char *name, const char *word, const struct option *options);

/* The name that the user may have meant by a word. */
struct suggestion {
	const char *word;
	const char *name; /* NULL: no name is like it */
	int distance;
};

void suggestion_offer(struct suggestion *suggestion, const char *name);

#endif
