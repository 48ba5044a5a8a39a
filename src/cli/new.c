/* SPDX-License-Identifier: MIT */
/*
 * kudzu new: a folder with a small C project that uses the library.
 *
 * The assembler includes the files of src/cli/template into this program.  They are written as they
 * are, with the project's name in the place of @NAME@.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPLATES(X) \
	X(makefile, "Makefile", "Makefile") X(main, "main.c", "main.c") \
	X(kernel, "kernel.cu", "kernel.cu") X(readme, "README.md", "README.md") \
	X(gitignore, "gitignore", ".gitignore") X(launch, "launch.json", ".vscode/launch.json")

#define X(name, file, target) \
	extern const char template_##name[] __attribute__((__visibility__("hidden"))); \
	__asm__(".section .rodata\n" \
		".hidden template_" #name "\n.globl template_" #name "\ntemplate_" #name ":\n" \
		".incbin \"src/cli/template/" file "\"\n.byte 0\n.text\n");
TEMPLATES(X)
#undef X

static const struct template {
	const char *file;
	const char *text;
} templates[] = {
#define X(name, file, target) {target, template_##name},
	TEMPLATES(X)
#undef X
};

/* Names that the project's Makefile uses already. */
static bool new_is_taken(const char *name)
{
	static const char *const taken[] = {"run", "clean", "Makefile", "main.c", "kernel.cu",
		"kernel.inc", "README.md"};
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		if (strcmp(name, taken[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* The program's name, which is the last part of the folder's; NULL after a message if it is
 * none. */
static const char *new_check_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool ok = isalnum((unsigned char)*name) && !new_is_taken(name);
	for (const char *c = name; *c; c++) {
		ok = ok && (isalnum((unsigned char)*c) || strchr("_-.", *c));
	}
	if (!ok) {
		fprintf(stderr, "kudzu new: '%s' cannot be the name of a program: expected "
			"letters, digits, _ - and .%s\n", name,
			new_is_taken(name) ? ", and not a name that the Makefile uses" : "");
	}
	return ok ? name : NULL;
}

static bool new_fill(FILE *file, const char *text, const char *name)
{
	static const char mark[] = "@NAME@";
	for (const char *at; (at = strstr(text, mark)); text = at + strlen(mark)) {
		fwrite(text, 1, (size_t)(at - text), file);
		fputs(name, file);
	}
	fputs(text, file);
	return !ferror(file);
}

static bool new_write_template(
	const char *folder, const struct template *template, const char *name)
{
	size_t size = strlen(folder) + strlen(template->file) + 2;
	char *path = malloc(size);
	FILE *file = NULL;
	if (path) {
		snprintf(path, size, "%s/%s", folder, template->file);
		char *slash = strrchr(path, '/');
		*slash = '\0';
		mkdir(path, 0777); // .vscode; the project's own exists
		*slash = '/';
		file = fopen(path, "wxe");
	}
	bool ok = file && new_fill(file, template->text, name);
	ok = (!file || fclose(file) == 0) && ok;
	if (!ok) {
		fprintf(stderr, "kudzu new: cannot write '%s/%s': %s\n", folder, template->file,
			strerror(errno));
	}
	free(path);
	return ok;
}

int new_main(int argc, char **argv)
{
	const char *folder = argc == 2 ? argv[1] : "";
	if (argc != 2) {
		fprintf(stderr, "kudzu new: expected a name; see `kudzu help new`\n");
		return CLI_USAGE;
	}
	const char *name = new_check_name(folder);
	if (!name) {
		return CLI_USAGE;
	}
	if (mkdir(folder, 0777) != 0) {
		int code = errno;
		fprintf(stderr, "kudzu new: cannot make the folder '%s': %s\n", folder,
			strerror(code));
		return code == EEXIST ? CLI_USAGE : CLI_FAILED;
	}
	for (size_t i = 0; i < sizeof(templates) / sizeof(*templates); i++) {
		if (!new_write_template(folder, &templates[i], name)) {
			return CLI_FAILED;
		}
	}
	printf("%s/ has main.c, kernel.cu, a Makefile and a README.md.  To begin:\n\n"
		"  cd %s && make && ./%s\n", folder, folder, name);
	return CLI_OK;
}
