/* SPDX-License-Identifier: MIT */
/*
 * The words of a command.  getopt_long reads the options; two things are done before it sees a
 * word.  A negative number is set aside with the words that are not options, for getopt would take
 * it for options.  An unknown long option is reported with the option that is most like it.
 *
 * Likeness is the distance of Damerau and Levenshtein (optimal string alignment): how many letters
 * are wrong, missing, too many or swapped with their neighbours.
 */
#include "cli/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 64 /* a longer word is not a mistyped name */

static int words_least(int a, int b)
{
	return a < b ? a : b;
}

/* The names and words are at most LONGEST letters long. */
static int words_distance(const char *a, const char *b)
{
	int rows[LONGEST + 1][LONGEST + 1];
	int a_length = (int)strlen(a), b_length = (int)strlen(b);
	for (int i = 0; i <= a_length; i++) {
		for (int j = 0; j <= b_length; j++) {
			if (i == 0 || j == 0) {
				rows[i][j] = i + j;
				continue;
			}
			int least = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			least = words_least(least, rows[i - 1][j] + 1);
			least = words_least(least, rows[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				least = words_least(least, rows[i - 2][j - 2] + 1);
			}
			rows[i][j] = least;
		}
	}
	return rows[a_length][b_length];
}

void suggestion_offer(struct suggestion *suggestion, const char *name)
{
	size_t length = strlen(suggestion->word);
	if (length < 2 || length > LONGEST || strlen(name) > LONGEST) {
		return;
	}
	/* A beginning of a name is as near as a name with one mistake. */
	bool begins = strncmp(name, suggestion->word, length) == 0;
	int distance = begins ? 1 : words_distance(suggestion->word, name);
	if (distance <= (int)(length + 2) / 3
	    && (!suggestion->name || distance < suggestion->distance)) {
		suggestion->name = name;
		suggestion->distance = distance;
	}
}

bool words_check_long(const char *name, const char *word, const struct option *options)
{
	char typed[LONGEST + 1] = "";
	size_t length = strcspn(word + 2, "=");
	struct suggestion suggestion = {.word = typed};
	if (length <= LONGEST) {
		memcpy(typed, word + 2, length);
	}
	for (const struct option *option = options; option->name; option++) {
		if (strncmp(option->name, word + 2, length) == 0) {
			return true; /* getopt takes the beginning of a name, too */
		}
		suggestion_offer(&suggestion, option->name);
	}
	suggestion_offer(&suggestion, "help");
	fprintf(stderr, "%s: unrecognized option '%.*s'", name, (int)length + 2, word);
	if (suggestion.name) {
		fprintf(stderr, "; did you mean '--%s'?", suggestion.name);
	}
	fputc('\n', stderr);
	return false;
}

static bool words_is_negative(const char *word)
{
	return word[0] == '-' && (isdigit((unsigned char)word[1]) || word[1] == '.'
		|| strncmp(word + 1, "inf", 3) == 0 || strncmp(word + 1, "nan", 3) == 0);
}

struct words words_begin(int argc, char **argv)
{
	/* Another list of words than the one before: getopt begins again for 0, and looks at no
	 * word of this one yet. */
	optind = 0;
	(void)getopt_long(1, argv, "-", &(struct option){0}, NULL);
	return (struct words){.argc = argc, .argv = argv};
}

int words_next(struct words *words, const char *short_options, const struct option *options)
{
	while (optind < words->argc) {
		char *word = words->argv[optind];
		if (words_is_negative(word)) {
			words->argv[++words->count] = word;
			optind++;
			continue;
		}
		if (strncmp(word, "--", 2) == 0 && word[2] != '\0'
		    && !words_check_long(words->argv[0], word, options)) {
			return '?';
		}
		int option = getopt_long(words->argc, words->argv, short_options, options, NULL);
		if (option == -1) {
			break; /* at "--" */
		}
		if (option != 1) {
			return option;
		}
		words->argv[++words->count] = optarg;
	}
	while (optind < words->argc) {
		words->argv[++words->count] = words->argv[optind++];
	}
	return -1;
}
